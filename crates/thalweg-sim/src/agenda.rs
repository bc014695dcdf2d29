//! Who goes next: the smallest clock.

/// The times at which places (hardware threads, the timers) go on. Of equal times the first place's is the smallest.
///
/// A tournament tree: the smallest is at the top, a change repairs the path from one leaf.
#[derive(Clone, Debug)]
pub(crate) struct Agenda {
    leaves: usize,
    /// Node `i` has the smaller of `2i` and `2i + 1`; the leaves come last. As many as there may be: so an index needs no check.
    keys: Box<[u64; NODES]>,
}

/// The key of a place that waits for something else than time.
const NEVER: u64 = u64::MAX;
const PLACE_BITS: u32 = 12;
/// How many places there may be.
pub(crate) const MAX_PLACES: usize = 1 << PLACE_BITS;
const NODES: usize = 2 * MAX_PLACES;
/// The latest time that a key has room for: 17 days at 3 GHz.
pub(crate) const LATEST: u64 = u64::MAX >> PLACE_BITS;

/// A time and a place in one word, so that one comparison orders both.
///
/// | 63 ..= 12      | 11 ..= 0 |
/// |----------------|----------|
/// | time in cycles | place    |
#[inline(always)]
fn key(time: u64, place: usize) -> u64 {
    time << PLACE_BITS | place as u64
}

impl Agenda {
    pub(crate) fn new(places: usize) -> Self {
        assert!(places <= MAX_PLACES, "{places} places are more than the {MAX_PLACES} that a key has room for");
        let leaves = places.next_power_of_two();
        let keys = vec![NEVER; NODES].into_boxed_slice().try_into().expect("as many as were made");
        Self { leaves, keys }
    }

    /// `place` goes on at `time`, or at the end of time.
    pub(crate) fn set(&mut self, place: usize, time: u64) {
        self.change(place, key(time.min(LATEST), place));
    }

    /// `place` does not go on by itself.
    pub(crate) fn clear(&mut self, place: usize) {
        self.change(place, NEVER);
    }

    #[inline]
    fn change(&mut self, place: usize, key: u64) {
        let (mut node, mut smaller) = ((self.leaves + place) % NODES, key);
        self.keys[node] = key;
        while node > 1 {
            smaller = smaller.min(self.keys[(node ^ 1) % NODES]);
            node /= 2;
            if self.keys[node % NODES] == smaller {
                return;
            }
            self.keys[node % NODES] = smaller;
        }
    }

    /// The earliest time, and whose it is.
    #[inline]
    pub(crate) fn first(&self) -> Option<(u64, usize)> {
        let key = self.keys[1];
        (key != NEVER).then_some((key >> PLACE_BITS, key as usize & (MAX_PLACES - 1)))
    }

    /// True if `place` at `time` comes before everybody on the agenda.
    #[inline(always)]
    pub(crate) fn is_first(&self, time: u64, place: usize) -> bool {
        key(time, place) <= self.keys[1]
    }

    /// The earliest time; the end of time if there is none.
    #[inline(always)]
    pub(crate) fn earliest(&self) -> u64 {
        self.keys[1] >> PLACE_BITS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_sync::random::Xorshift;

    #[test]
    fn the_smallest_time_is_first_and_of_equal_ones_the_first_place() {
        let mut agenda = Agenda::new(5);
        assert_eq!(agenda.first(), None);
        [(3, 20), (1, 10), (4, 10), (0, 30)].into_iter().for_each(|(place, time)| agenda.set(place, time));
        assert_eq!(agenda.first(), Some((10, 1)));
        assert!(agenda.is_first(10, 0) && !agenda.is_first(10, 2) && agenda.is_first(9, 4));
        agenda.clear(1);
        assert_eq!(agenda.first(), Some((10, 4)));
        agenda.set(4, 40);
        assert_eq!((agenda.first(), agenda.earliest()), (Some((20, 3)), 20));
        (0..5).for_each(|place| agenda.set(place, LATEST + 1 + place as u64));
        assert_eq!(agenda.first(), Some((LATEST, 0)), "no time is later, and none becomes an early one");
    }

    #[test]
    fn it_agrees_with_a_search() {
        let mut agenda = Agenda::new(7);
        let mut times = [None; 7];
        let mut random = Xorshift::new(1);
        for _ in 0..2000 {
            let (place, time) = (random.index(7), random.below(50));
            times[place] = (time < 40).then_some(time);
            match times[place] {
                Some(time) => agenda.set(place, time),
                None => agenda.clear(place),
            }
            let first = (0..7).filter_map(|place| times[place].map(|time| (time, place))).min();
            assert_eq!(agenda.first(), first);
        }
    }
}
