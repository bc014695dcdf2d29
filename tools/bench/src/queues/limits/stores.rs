//! Stores beside those that a limit needs: what is left of it where a producer writes more for each item.

use std::marker::PhantomData;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use crossbeam_utils::CachePadded;

use super::super::one_to_one::Ends;

/// `Q`, whose producer makes `STORES` more for each item, to a line of its own each, which nobody else ever touches. A store that waits for a
/// line of the other core holds up those behind it, and a core has room for so many: what that comes to for each store, this shows.
#[derive(Debug)]
pub(crate) struct Stores<const STORES: usize, Q>(PhantomData<fn() -> Q>);

/// The producer's lines.
type Lines<const STORES: usize> = Box<[CachePadded<AtomicU64>; STORES]>;

impl<const STORES: usize, Q: Ends> Ends for Stores<STORES, Q> {
    type Tx = (Q::Tx, Lines<STORES>);
    type Rx = Q::Rx;

    fn build(capacity: usize) -> (Self::Tx, Self::Rx) {
        let (tx, rx) = Q::build(capacity);
        ((tx, Box::new(std::array::from_fn(|_| CachePadded::default()))), rx)
    }

    #[inline(always)]
    fn push((tx, lines): &mut Self::Tx, value: u64) -> bool {
        let pushed = Q::push(tx, value);
        if pushed {
            // Atomic, or the compiler would keep the last one only.
            lines.iter().for_each(|line| line.store(value, Relaxed));
        }
        pushed
    }

    #[inline(always)]
    fn pop(rx: &mut Self::Rx) -> Option<u64> {
        Q::pop(rx)
    }
}
