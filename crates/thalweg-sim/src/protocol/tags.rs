//! A set-associative cache, as far as a protocol cares: which lines are in it, in which state.

/// The state of a line in a private cache. Not in the cache is the fourth, invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum State {
    /// Others may have it too; nobody may write.
    Shared = 1,
    /// Nobody else has it, and it was not written.
    Exclusive = 2,
    /// Nobody else has it, and nobody else has its value.
    Modified = 3,
}

impl State {
    /// True if its holder may write.
    pub(crate) fn is_owned(self) -> bool {
        self != State::Shared
    }
}

/// A line and its state in one word.
///
/// | 31 ..= 2 | 1 ..= 0                |
/// |----------|------------------------|
/// | line     | state; 0: an empty way |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tag(u32);

impl Tag {
    const EMPTY: Tag = Tag(0);

    fn new(line: u32, state: State) -> Self {
        Self(line << 2 | state as u32)
    }

    /// True if it holds `line`, in whichever state.
    #[inline(always)]
    fn holds(self, line: u32) -> bool {
        // An empty tag may look like line 0: the state decides.
        self.0 >> 2 == line && self.0 & 3 != 0
    }

    #[inline(always)]
    fn state(self) -> Option<State> {
        match self.0 & 3 {
            0 => None,
            1 => Some(State::Shared),
            2 => Some(State::Exclusive),
            _ => Some(State::Modified),
        }
    }

    fn pair(self) -> Option<(u32, State)> {
        self.state().map(|state| (self.0 >> 2, state))
    }
}

/// The lines of one cache. Each set is ordered by use, the latest first, then what is empty: the last is the next victim
/// (LRU).
#[derive(Clone, Debug)]
pub(crate) struct Tags {
    entries: Vec<Tag>,
    ways: usize,
    sets: u32,
    /// `sets - 1` if that is a mask.
    mask: Option<u32>,
}

/// How many lines there can be: what a [`Tag`] has room for.
pub(crate) const MAX_LINES: u32 = 1 << 30;

/// Puts `entry` first; the last goes. A loop: sets are too small for a call of `memmove` to pay.
#[inline(always)]
fn to_front(set: &mut [Tag], entry: Tag) {
    let mut next = entry;
    for place in set {
        next = std::mem::replace(place, next);
    }
}

/// The state of `line`, which comes first, as it is in use now.
#[inline(always)]
fn touch(set: &mut [Tag], line: u32) -> Option<State> {
    if set[0].holds(line) {
        return set[0].state();
    }
    let way = set.iter().position(|entry| entry.holds(line))?;
    let entry = set[way];
    to_front(&mut set[..=way], entry);
    entry.state()
}

impl Tags {
    /// An empty cache; `sets` and `ways` are at least 1.
    pub(crate) fn new(sets: u32, ways: usize) -> Self {
        let mask = sets.is_power_of_two().then(|| sets - 1);
        Self { entries: vec![Tag::EMPTY; sets as usize * ways], ways, sets, mask }
    }

    #[inline(always)]
    fn set(&mut self, line: u32) -> &mut [Tag] {
        let set = match self.mask {
            Some(mask) => line & mask,
            None => line % self.sets,
        };
        let first = set as usize * self.ways;
        &mut self.entries[first..first + self.ways]
    }

    /// The state of `line`, which is in use now.
    #[inline(always)]
    pub(crate) fn touch(&mut self, line: u32) -> Option<State> {
        touch(self.set(line), line)
    }

    /// As [`touch`](Self::touch), for a write: an owned line becomes modified. True if it was owned.
    #[inline(always)]
    pub(crate) fn touch_to_write(&mut self, line: u32) -> bool {
        let set = self.set(line);
        let owned = touch(set, line).is_some_and(State::is_owned);
        if owned {
            set[0] = Tag::new(line, State::Modified);
        }
        owned
    }

    /// The state of `line`, which is not a use of it.
    pub(crate) fn state(&mut self, line: u32) -> Option<State> {
        self.set(line).iter().find(|entry| entry.holds(line)).and_then(|entry| entry.state())
    }

    /// Changes the state of `line` if it is here. Returns the one before.
    pub(crate) fn change(&mut self, line: u32, state: State) -> Option<State> {
        let entry = self.set(line).iter_mut().find(|entry| entry.holds(line))?;
        let before = entry.state();
        *entry = Tag::new(line, state);
        before
    }

    /// A modified `line` becomes exclusive: another cache has its value now. True if it was modified.
    pub(crate) fn clean(&mut self, line: u32) -> bool {
        let modified = Tag::new(line, State::Modified);
        let entry = self.set(line).iter_mut().find(|entry| **entry == modified);
        entry.map(|entry| *entry = Tag::new(line, State::Exclusive)).is_some()
    }

    /// Takes `line` out. Returns its state.
    pub(crate) fn remove(&mut self, line: u32) -> Option<State> {
        let set = self.set(line);
        let way = set.iter().position(|entry| entry.holds(line))?;
        let state = set[way].state();
        // What is empty comes last.
        for next in way + 1..set.len() {
            set[next - 1] = set[next];
            if set[next] == Tag::EMPTY {
                return state;
            }
        }
        *set.last_mut().expect("a set has a way") = Tag::EMPTY;
        state
    }

    /// Puts `line` in, or changes its state if it is here. Returns what had to go.
    pub(crate) fn insert(&mut self, line: u32, state: State) -> Option<(u32, State)> {
        let set = self.set(line);
        let way = set.iter().position(|entry| entry.holds(line) || *entry == Tag::EMPTY).unwrap_or(set.len() - 1);
        let before = set[way];
        to_front(&mut set[..=way], Tag::new(line, state));
        if before.holds(line) { None } else { before.pair() }
    }

    /// Every line, with its state.
    #[cfg(test)]
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, State)> + '_ {
        self.entries.iter().filter_map(|entry| entry.pair())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use State::{Exclusive, Modified, Shared};

    #[test]
    fn the_least_recently_used_line_goes() {
        let mut tags = Tags::new(2, 2);
        assert_eq!(tags.insert(0, Shared), None);
        assert_eq!(tags.insert(2, Exclusive), None);
        assert_eq!(tags.insert(1, Shared), None, "the other set");
        assert_eq!(tags.touch(0), Some(Shared));
        assert_eq!(tags.insert(4, Shared), Some((2, Exclusive)));
        assert_eq!((tags.state(0), tags.state(2), tags.state(4)), (Some(Shared), None, Some(Shared)));
    }

    #[test]
    fn a_removed_line_leaves_room() {
        let mut tags = Tags::new(1, 3);
        (0..3).for_each(|line| assert_eq!(tags.insert(line, Shared), None));
        assert_eq!(tags.remove(2), Some(Shared));
        assert_eq!(tags.remove(2), None);
        assert_eq!(tags.insert(3, Shared), None);
        assert_eq!(tags.insert(4, Shared), Some((0, Shared)));
    }

    #[test]
    fn only_an_owned_line_is_written() {
        let mut tags = Tags::new(3, 1);
        tags.insert(5, Exclusive);
        assert!(tags.touch_to_write(5));
        assert_eq!(tags.state(5), Some(Modified));
        assert_eq!(tags.change(5, Shared), Some(Modified));
        assert!(!tags.touch_to_write(5));
        assert!(!tags.touch_to_write(0), "an empty way is not line 0");
        assert_eq!(tags.insert(5, Modified), None, "the same line again");
    }
}
