//! A bare ring of copies: the limit for slices.

use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Release};

use crossbeam_utils::CachePadded;

use super::super::one_to_one::{Ends, Slices};
use super::LINE;
use super::stream::Form;

/// Slices are copied into a ring and out of it, and two indices tell of them: the least that takes and gives slices of any length. Each side
/// remembers the other's index. Nobody asks for lines ahead, whatever the [`Form`].
#[derive(Debug)]
pub(crate) struct Copies<F>(PhantomData<F>);

/// The ring. Entries with numbers from `read` to `written` are the consumer's, the others the producer's (C1).
#[derive(Debug)]
pub(crate) struct Ring {
    items: Box<[UnsafeCell<u64>]>,
    written: CachePadded<AtomicU64>,
    read: CachePadded<AtomicU64>,
}

// SAFETY: an entry belongs to one side at a time (C1), and is handed on with Release and Acquire.
unsafe impl Sync for Ring {}

/// One side: its ring, the number of its next entry, and of the first one that is the other's, as seen last.
#[derive(Debug)]
pub(crate) struct Side {
    ring: Arc<Ring>,
    next: u64,
    end: u64,
}

impl Side {
    /// How many of `wanted` entries are this side's; `look` says where they end now.
    #[inline(always)]
    fn granted(&mut self, wanted: usize, look: impl Fn(&Ring) -> u64) -> usize {
        if self.end - self.next < wanted as u64 {
            self.end = look(&self.ring);
        }
        wanted.min((self.end - self.next) as usize)
    }

    /// The next `count` entries, in two runs as they lie around the ring's end.
    #[inline(always)]
    fn runs(&self, count: usize) -> [&[UnsafeCell<u64>]; 2] {
        let items = &self.ring.items;
        let start = self.next as usize % items.len();
        let first = count.min(items.len() - start);
        [&items[start..start + first], &items[..count - first]]
    }
}

impl<F: Form> Ends for Copies<F> {
    type Tx = Side;
    type Rx = Side;

    fn build(capacity: usize) -> (Side, Side) {
        let counter = || CachePadded::new(AtomicU64::new(0));
        let items = (0..capacity).map(|_| UnsafeCell::new(0)).collect();
        let ring = Arc::new(Ring { items, written: counter(), read: counter() });
        (Side { ring: ring.clone(), next: 0, end: capacity as u64 }, Side { ring, next: 0, end: 0 })
    }

    #[inline(always)]
    fn push(tx: &mut Side, value: u64) -> bool {
        Self::push_slice(tx, &[value]) == 1
    }

    #[inline(always)]
    fn pop(rx: &mut Side) -> Option<u64> {
        let mut value = 0;
        (Self::pop_slice(rx, std::slice::from_mut(&mut value)) == 1).then_some(value)
    }
}

impl<F: Form> Slices for Copies<F> {
    #[inline(always)]
    fn push_slice(tx: &mut Side, values: &[u64]) -> usize {
        let count = tx.granted(values.len(), |ring| ring.read.load(Acquire) + ring.items.len() as u64);
        if count == 0 {
            return 0;
        }
        let [first, second] = tx.runs(count);
        let (head, tail) = values[..count].split_at(first.len());
        // SAFETY: the entries are ours until they are told of (C1), and each run is as long as its part of the values.
        unsafe {
            UnsafeCell::raw_get(first.as_ptr()).copy_from_nonoverlapping(head.as_ptr(), head.len());
            UnsafeCell::raw_get(second.as_ptr()).copy_from_nonoverlapping(tail.as_ptr(), tail.len());
        }
        tx.next += count as u64;
        tx.ring.written.store(tx.next, Release);
        count
    }

    #[inline(always)]
    fn pop_slice(rx: &mut Side, into: &mut [u64]) -> usize {
        let count = rx.granted(into.len(), |ring| ring.written.load(Acquire));
        if count == 0 {
            return 0;
        }
        let [first, second] = rx.runs(count);
        let (head, tail) = into[..count].split_at_mut(first.len());
        // SAFETY: as above: the entries are ours until they are given back.
        unsafe {
            head.as_mut_ptr().copy_from_nonoverlapping(UnsafeCell::raw_get(first.as_ptr()), head.len());
            tail.as_mut_ptr().copy_from_nonoverlapping(UnsafeCell::raw_get(second.as_ptr()), tail.len());
            if F::LEFT {
                let ends_line = |&number: &u64| (number + 1).is_multiple_of(LINE as u64);
                for number in (rx.next..rx.next + count as u64).filter(ends_line) {
                    rx.ring.items[number as usize % rx.ring.items.len()].get().write(0);
                }
            }
        }
        rx.next += count as u64;
        rx.ring.read.store(rx.next, Release);
        count
    }
}
