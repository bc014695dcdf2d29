//! Slots of a buffer, and lists through them.

/// The number of a slot; the hardware's NULL is `None`.
pub(crate) type Link = Option<u16>;

/// Which slots are taken, and the register that points to the next free one (PIFR, CIFR): it moves on as slots are taken,
/// and starts over at the end.
#[derive(Clone, Debug)]
pub(crate) struct Slots {
    valid: Vec<bool>,
    next: usize,
    free: usize,
}

impl Slots {
    /// How many a [`Link`] tells apart.
    pub(crate) const MOST: usize = 1 << 16;

    pub(crate) fn new(slots: usize) -> Self {
        assert!(slots <= Self::MOST, "{slots} entries are more than the {} that a link has room for", Self::MOST);
        Self { valid: vec![false; slots], next: 0, free: slots }
    }

    pub(crate) fn free(&self) -> usize {
        self.free
    }

    /// Takes the slot that the register points to.
    pub(crate) fn take(&mut self) -> Link {
        if self.free == 0 {
            return None;
        }
        let slots = self.valid.len();
        let slot = (0..slots).map(|i| (self.next + i) % slots).find(|&slot| !self.valid[slot])?;
        self.valid[slot] = true;
        self.next = (slot + 1) % slots;
        self.free -= 1;
        Some(slot as u16)
    }

    pub(crate) fn give_back(&mut self, slot: u16) {
        let valid = &mut self.valid[usize::from(slot)];
        debug_assert!(*valid, "slot {slot} is given back twice");
        *valid = false;
        self.free += 1;
    }
}

/// A head and a tail register. Who is next stands in the slots, one field for each list that a slot can be in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct List {
    pub(crate) head: Link,
    pub(crate) tail: Link,
}

impl List {
    /// Appends `slot`; `next` is the list's field of a slot.
    pub(crate) fn append<S>(&mut self, slots: &mut [S], slot: u16, next: impl Fn(&mut S) -> &mut Link) {
        *next(&mut slots[usize::from(slot)]) = None;
        match self.tail {
            Some(tail) => *next(&mut slots[usize::from(tail)]) = Some(slot),
            None => self.head = Some(slot),
        }
        self.tail = Some(slot);
    }

    /// Puts `slot` before all others.
    pub(crate) fn prepend<S>(&mut self, slots: &mut [S], slot: u16, next: impl Fn(&mut S) -> &mut Link) {
        *next(&mut slots[usize::from(slot)]) = self.head;
        self.head = Some(slot);
        self.tail = self.tail.or(Some(slot));
    }

    /// The head goes, `second` is the new one.
    pub(crate) fn advance(&mut self, second: Link) {
        self.head = second;
        if second.is_none() {
            self.tail = None;
        }
    }

    /// Takes the head.
    pub(crate) fn take<S>(&mut self, slots: &mut [S], next: impl Fn(&mut S) -> &mut Link) -> Link {
        let head = self.head?;
        let second = *next(&mut slots[usize::from(head)]);
        self.advance(second);
        Some(head)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "65537 entries are more than")]
    fn slots_have_numbers_of_their_own() {
        Slots::new(65_537);
    }

    #[test]
    fn slots_are_taken_in_turn() {
        let mut slots = Slots::new(3);
        assert_eq!([slots.take(), slots.take()], [Some(0), Some(1)]);
        slots.give_back(0);
        assert_eq!(slots.take(), Some(2), "the register moves on before it starts over");
        assert_eq!([slots.take(), slots.take()], [Some(0), None]);
    }

    #[test]
    fn a_list_is_first_in_first_out_but_for_what_comes_back() {
        let mut slots = [None; 4];
        let mut list = List::default();
        list.append(&mut slots, 2, |slot| slot);
        list.append(&mut slots, 0, |slot| slot);
        list.prepend(&mut slots, 3, |slot| slot);
        let order: Vec<_> = std::iter::from_fn(|| list.take(&mut slots, |slot| slot)).collect();
        assert_eq!(order, [3, 2, 0]);
        assert_eq!(list, List::default());
        list.prepend(&mut slots, 1, |slot| slot);
        assert_eq!((list.head, list.tail), (Some(1), Some(1)));
    }
}
