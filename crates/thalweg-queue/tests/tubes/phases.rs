//! What an entry that is half-way means to others, and that shapes are checked.

use std::collections::VecDeque;
use thalweg_queue::BuildError;
use thalweg_queue::research::faaq::{Bbq, Faaq};
use thalweg_queue::research::tube::{AllocateError, ReserveError, Tube, ring, scqd::Scqd};
use thalweg_sync::sync::Arc;

/// Takes an entry, fills it and hands it on.
fn push<Q: Tube>(tube: &Q, item: Q::Item) -> Result<(), AllocateError> {
    let entry = tube.allocate()?;
    // SAFETY: allocated from this tube a moment ago.
    unsafe { tube.produce(entry, item) };
    Ok(())
}

/// Takes an entry, empties it and hands it back.
fn pop<Q: Tube>(tube: &Q) -> Result<Q::Item, ReserveError> {
    let entry = tube.reserve()?;
    // SAFETY: reserved from this tube a moment ago.
    Ok(unsafe { tube.consume(entry) })
}

/// Entries that are allocated and not produced are neither full nor empty, and a reserved one is no room yet.
fn half_way_is_busy<Q: Tube<Item = u32>>(tube: &Q) {
    for lap in 0..5 {
        assert_eq!(pop(tube), Err(ReserveError::Empty));
        let allocated = tube.allocate().unwrap();
        assert_eq!(tube.reserve().err(), Some(ReserveError::Busy));
        assert_eq!(tube.can_reserve(), Err(ReserveError::Busy));
        // SAFETY: allocated from this tube above.
        unsafe { tube.produce(allocated, lap) };
        let mut filled = 1;
        while push(tube, lap + filled).is_ok() {
            filled += 1;
        }
        assert_eq!(tube.allocate().err(), Some(AllocateError::Full));
        let reserved: Vec<_> = (0..filled).map_while(|_| tube.reserve().ok()).collect();
        assert_eq!(tube.allocate().err(), Some(AllocateError::Busy));
        assert_eq!(tube.can_allocate(), Err(AllocateError::Busy));
        for (number, entry) in (0..).zip(reserved) {
            // SAFETY: reserved from this tube above.
            assert_eq!(unsafe { tube.consume(entry) }, lap + number);
        }
        while pop(tube).is_ok() {}
    }
}

#[test]
fn half_way_is_busy_in_a_ring() {
    for capacity in [1, 2, 3, 4] {
        half_way_is_busy(&ring::Mt::new(capacity).unwrap());
        half_way_is_busy(&ring::Rts::new(capacity).unwrap());
        half_way_is_busy(&ring::Hts::new(capacity).unwrap());
    }
}

#[test]
fn half_way_is_busy_in_blocks() {
    for (blocks, entries) in [(2, 1), (2, 2), (4, 3)] {
        half_way_is_busy(&Faaq::new(blocks, entries).unwrap());
        half_way_is_busy(&Bbq::new(blocks, entries).unwrap());
    }
}

/// Producers that are always half-way with something: whatever is produced in front of the first of them is there, and nothing behind
/// it.
fn what_is_produced_is_there<Q: Tube<Item = u32>>(tube: &Q, half_way: usize) {
    let mut open = VecDeque::new();
    for number in 0..200 {
        while open.len() < half_way {
            open.push_back(tube.allocate().unwrap());
        }
        // SAFETY: allocated from this tube above.
        unsafe { tube.produce(open.pop_front().unwrap(), number) };
        assert_eq!(tube.can_reserve(), Ok(()), "{number} is not delivered");
        assert_eq!(pop(tube), Ok(number));
        let nothing = if open.is_empty() { ReserveError::Empty } else { ReserveError::Busy };
        assert_eq!(pop(tube), Err(nothing));
        if number % 3 == 0 {
            // The second of those that are half-way ends before the first.
            while open.len() < 2 {
                open.push_back(tube.allocate().unwrap());
            }
            let first = open.pop_front().unwrap();
            // SAFETY: as above.
            unsafe { tube.produce(open.pop_front().unwrap(), 1000) };
            assert_eq!(pop(tube), Err(ReserveError::Busy));
            assert_eq!(tube.can_reserve(), Err(ReserveError::Busy));
            // SAFETY: as above.
            unsafe { tube.produce(first, number) };
            assert_eq!([pop(tube), pop(tube)], [Ok(number), Ok(1000)]);
        }
    }
}

#[test]
fn what_is_produced_in_a_block_is_there() {
    for (blocks, entries) in [(2, 3), (2, 64), (4, 100)] {
        for half_way in 1..=3 {
            what_is_produced_is_there(&Faaq::new(blocks, entries).unwrap(), half_way);
            what_is_produced_is_there(&Bbq::new(blocks, entries).unwrap(), half_way);
        }
    }
}

/// RTS: handing on out of order moves the tail once, at the end, over all.
#[test]
fn rts_moves_the_tail_when_all_are_through() {
    let tube = ring::Rts::new(64).unwrap();
    for lap in 0..20 {
        let entries: Vec<_> = (0..8).map(|_| tube.allocate().unwrap()).collect();
        assert_eq!(tube.allocate().err(), Some(AllocateError::Busy), "an eighth of the capacity is half-way");
        for (number, entry) in (0..8).zip(entries).rev() {
            assert_eq!(tube.reserve().err(), Some(ReserveError::Busy));
            // SAFETY: allocated from this tube above.
            unsafe { tube.produce(entry, lap * 8 + number) };
        }
        assert_eq!(tube.len(), 8);
        for number in 0..8 {
            assert_eq!(pop(&tube), Ok(lap * 8 + number));
        }
    }
}

/// HTS lets one in at a time.
#[test]
fn hts_lets_one_in() {
    let tube = ring::Hts::new(4).unwrap();
    let entry = tube.allocate().unwrap();
    assert_eq!(tube.allocate().err(), Some(AllocateError::Busy));
    // SAFETY: allocated from this tube above.
    unsafe { tube.produce(entry, 1) };
    assert_eq!(push(&tube, 2), Ok(()));
    let entry = tube.reserve().unwrap();
    assert_eq!(tube.reserve().err(), Some(ReserveError::Busy));
    // SAFETY: reserved from this tube above.
    assert_eq!(unsafe { tube.consume(entry) }, 1);
    assert_eq!(pop(&tube), Ok(2));
}

/// SCQD: an entry that is half-way stands in nobody's way, in any order of produce and consume.
#[test]
fn scqd_waits_for_nobody() {
    let tube = Scqd::new(4).unwrap();
    let mut late = tube.allocate().unwrap();
    for lap in 0..100 {
        for number in 0..3 {
            assert_eq!(push(&tube, lap * 3 + number), Ok(()));
        }
        assert_eq!(push(&tube, 0), Err(AllocateError::Full), "the fourth entry is in our hands");
        let entries: Vec<_> = (0..3).map(|_| tube.reserve().unwrap()).collect();
        assert_eq!(tube.reserve().err(), Some(ReserveError::Empty));
        for (number, entry) in (0..3).zip(entries).rev() {
            // SAFETY: reserved from this tube above.
            assert_eq!(unsafe { tube.consume(entry) }, lap * 3 + number);
        }
        // SAFETY: allocated from this tube above.
        unsafe { tube.produce(late, 1000) };
        assert_eq!(pop(&tube), Ok(1000));
        late = tube.allocate().unwrap();
    }
}

#[test]
fn wrong_shapes_are_named() {
    let text = |error: BuildError| error.to_string();
    assert_eq!(text(ring::Mt::<u8>::new(0).unwrap_err()), "capacity must be at least 1, not 0");
    assert_eq!(text(Scqd::<u8>::new(0).unwrap_err()), "capacity must be at least 1, not 0");
    assert!(text(ring::Hts::<u8>::new(usize::MAX).unwrap_err()).starts_with("capacity must be at most "));
    assert!(text(ring::Rts::<[u64; 1 << 30]>::new(1 << 30).unwrap_err()).starts_with("capacity must be at most "));
    assert!(Scqd::<u8>::new(1 << 31).is_err());
    assert_eq!(text(Faaq::<u8>::new(3, 1).unwrap_err()), "blocks must be a power of two, not 3; 4 is the next");
    assert_eq!(text(Faaq::<u8>::new(1, 1).unwrap_err()), "blocks must be at least 2, not 1");
    assert_eq!(text(Bbq::<u8>::new(2, 0).unwrap_err()), "entries must be at least 1, not 0");
    assert!((1..200).all(|room| Faaq::<u8>::with_room(room).unwrap().capacity() >= room));
}

/// A tube alone drops what is left in it, wherever it begins in its memory, and what is still being filled hides nothing before it.
fn drops_what_is_left<Q: Tube<Item = Arc<()>>>(new: impl Fn() -> Q) {
    let item = Arc::new(());
    for passed in 0..7 {
        for half_way in [false, true] {
            let tube = new();
            for _ in 0..passed {
                push(&tube, item.clone()).unwrap();
                pop(&tube).unwrap();
            }
            (0..3).for_each(|_| push(&tube, item.clone()).unwrap());
            let entry = half_way.then(|| tube.allocate().unwrap());
            assert_eq!(Arc::strong_count(&item), 4);
            drop((tube, entry));
            assert_eq!(Arc::strong_count(&item), 1, "after {passed}, half-way: {half_way}");
        }
    }
}

#[test]
fn a_tube_drops_what_is_left_in_it() {
    drops_what_is_left(|| ring::Mt::new(5).unwrap());
    drops_what_is_left(|| ring::Rts::new(9).unwrap());
    drops_what_is_left(|| ring::Hts::new(5).unwrap());
    drops_what_is_left(|| ring::Mt::starting_at(u32::MAX - 4, 5).unwrap());
    drops_what_is_left(|| Scqd::new(5).unwrap());
    drops_what_is_left(|| Faaq::new(4, 2).unwrap());
    drops_what_is_left(|| Bbq::new(4, 2).unwrap());
}
