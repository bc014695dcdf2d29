//! Vector clocks: which events come before an event, as one number per thread.

/// How many threads a clock covers without an allocation.
const NEAR: usize = 6;

/// For each thread, how many of its events come before, counted from its first.
///
/// Sets of events that are closed under program order are exactly these: an event comes with everything before it in
/// its thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clock {
    near: [u32; NEAR],
    /// The threads after the first `NEAR`; none as long as it has no event of theirs. A pointer and no more, as graphs are copied all
    /// the time, and have four clocks for each event.
    #[allow(clippy::box_collection, reason = "a `Vec` takes three words")]
    far: Option<Box<Vec<u32>>>,
}

impl Clock {
    /// No event.
    pub(crate) const EMPTY: &Self = &Self { near: [0; NEAR], far: None };

    /// How many events of `thread` it has.
    #[inline]
    pub(crate) fn get(&self, thread: u32) -> u32 {
        let thread = thread as usize;
        match self.near.get(thread) {
            Some(&count) => count,
            None => self.far.as_ref().and_then(|far| far.get(thread - NEAR)).copied().unwrap_or(0),
        }
    }

    /// Adds the events of `thread` up to `count` of them.
    #[inline]
    pub(crate) fn raise(&mut self, thread: u32, count: u32) {
        let thread = thread as usize;
        let own = match self.near.get_mut(thread) {
            Some(own) => own,
            None => self.far_mut(thread),
        };
        *own = (*own).max(count);
    }

    /// The number of a thread after the first `NEAR`.
    #[cold]
    fn far_mut(&mut self, thread: usize) -> &mut u32 {
        let (far, place) = (self.far.get_or_insert_default(), thread - NEAR);
        if far.len() <= place {
            far.resize(place + 1, 0);
        }
        &mut far[place]
    }

    /// Adds every event of `other`.
    #[inline]
    pub(crate) fn join(&mut self, other: &Clock) {
        for (own, theirs) in self.near.iter_mut().zip(&other.near) {
            *own = (*own).max(*theirs);
        }
        if let Some(theirs) = &other.far {
            let far = self.far.get_or_insert_default();
            if far.len() < theirs.len() {
                far.resize(theirs.len(), 0);
            }
            for (own, theirs) in far.iter_mut().zip(theirs.iter()) {
                *own = (*own).max(*theirs);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_near_and_far_count_alike() {
        let mut one = Clock::default();
        for thread in [0, 3, 20] {
            one.raise(thread, thread + 1);
            one.raise(thread, 1);
            assert_eq!(one.get(thread), thread + 1, "a clock never goes back");
        }
        assert_eq!((one.get(1), one.get(19), one.get(100)), (0, 0, 0));
    }

    #[test]
    fn a_join_has_what_either_has() {
        let (mut one, mut two) = (Clock::default(), Clock::default());
        one.raise(0, 3);
        one.raise(7, 1);
        two.raise(0, 2);
        two.raise(9, 4);
        let mut both = two.clone();
        both.join(&one);
        one.join(&two);
        for clock in [one, both] {
            assert_eq!([0, 7, 9].map(|thread| clock.get(thread)), [3, 1, 4]);
        }
    }
}
