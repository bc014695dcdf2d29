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
    /// The threads after the first `NEAR`.
    far: Vec<u32>,
}

impl Clock {
    /// How many events of `thread` it has.
    #[inline]
    pub(crate) fn get(&self, thread: u32) -> u32 {
        let thread = thread as usize;
        match self.near.get(thread) {
            Some(&count) => count,
            None => self.far.get(thread - NEAR).copied().unwrap_or(0),
        }
    }

    /// Adds the events of `thread` up to `count` of them.
    #[inline]
    pub(crate) fn raise(&mut self, thread: u32, count: u32) {
        let thread = thread as usize;
        let own = match self.near.get_mut(thread) {
            Some(own) => own,
            None => {
                let place = thread - NEAR;
                if self.far.len() <= place {
                    self.far.resize(place + 1, 0);
                }
                &mut self.far[place]
            }
        };
        *own = (*own).max(count);
    }

    /// Adds every event of `other`.
    #[inline]
    pub(crate) fn join(&mut self, other: &Clock) {
        for (own, theirs) in self.near.iter_mut().zip(&other.near) {
            *own = (*own).max(*theirs);
        }
        if self.far.len() < other.far.len() {
            self.far.resize(other.far.len(), 0);
        }
        for (own, theirs) in self.far.iter_mut().zip(&other.far) {
            *own = (*own).max(*theirs);
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
