//! Finished outputs of an ordered parallel kernel, put back into the order of its inputs.
//!
//! The ticket of an activation is the place of its input block in the order of the input edge (DANBI §II: "a ticket is issued when popping").
//! Whoever completes the ticket at the front hands on all that is ready; nobody waits for a turn.
//!
//! # Invariants
//!
//! - **R1** A ticket is completed once, and lies within `front..front + slots`: no ticket is drawn while more could be out.
//! - **R2** `front` and taking from a slot belong to the holder of the drain flag.
//! - **R3** Who gives the flag back looks at the front slot once more, so no completed ticket stays behind.

use crate::block::{Block, Chain};
use std::fmt;
use thalweg_sync::CachePadded;
use thalweg_sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering::*, fence};

/// Stands in a slot for "completed, and gave no output".
static NOTHING: u8 = 0;

fn nothing() -> *mut u8 {
    (&raw const NOTHING).cast_mut()
}

pub(crate) struct Reorder {
    slots: Box<[AtomicPtr<u8>]>,
    front: CachePadded<AtomicU64>,
    draining: CachePadded<AtomicBool>,
    /// Messages that are finished and not handed on, if that matters to somebody.
    waiting: Option<CachePadded<AtomicUsize>>,
}

impl Reorder {
    /// With room for `slots` tickets. With `counts`, it knows how many messages [wait](Self::waiting).
    pub(crate) fn new(slots: usize, counts: bool) -> Self {
        Self {
            slots: (0..slots).map(|_| AtomicPtr::new(std::ptr::null_mut())).collect(),
            front: CachePadded(AtomicU64::new(0)),
            draining: CachePadded(AtomicBool::new(false)),
            waiting: counts.then(CachePadded::default),
        }
    }

    fn slot(&self, ticket: u64) -> &AtomicPtr<u8> {
        &self.slots[(ticket % self.slots.len() as u64) as usize]
    }

    /// Whether tickets up to `drawn`, and one more from each of `workers`, would not fit (R1).
    pub(crate) fn is_full(&self, drawn: u64, workers: usize) -> bool {
        // (7) Acquire, pairs with (8): who draws a ticket after this, or after somebody whose pop came behind such a look (9), finds its slot
        //     emptied from the round before. Relaxed could let the emptying wipe out what is stored next. An old `front` only makes this say
        //     "full" too early; the ticket that is drawn then may be one that only the others' fresher looks made room for, hence (9).
        drawn + workers as u64 >= self.front.load(Acquire) + self.slots.len() as u64
    }

    /// Tickets handed on so far.
    pub(crate) fn front(&self) -> u64 {
        self.front.load(Relaxed)
    }

    /// Messages that are finished and not handed on. A snapshot; as long as it is not zero, an activation is not over that will hand them on.
    pub(crate) fn waiting(&self) -> usize {
        // Relaxed, as wherever it changes: a bound for what may be drawn, which guards nothing.
        self.waiting.as_ref().map_or(0, |waiting| waiting.load(Relaxed))
    }

    /// Completes `ticket`, and hands on what is at the front.
    pub(crate) fn complete(&self, ticket: u64, chain: Chain, deliver: impl FnMut(Block)) {
        if let Some(waiting) = &self.waiting {
            waiting.fetch_add(chain.messages(), Relaxed);
        }
        let word = chain.into_word();
        // (1) Release, pairs with (2): who takes the chain sees its blocks. Relaxed would hand out unwritten messages.
        self.slot(ticket).store(if word.is_null() { nothing() } else { word }, Release);
        // (5) With the fence at (6): either we find the flag free below, or its holder finds our slot after giving it back (R3).
        fence(SeqCst);
        self.drain(|| (), deliver);
    }

    /// Hands on what is at the front, unless another worker is at it. `before` runs first, as holder of the drain flag.
    pub(crate) fn drain(&self, before: impl Fn(), mut deliver: impl FnMut(Block)) {
        loop {
            // (3) Acquire, pairs with (4): the next holder sees `front` and the edge as the last one left them (R2).
            if self.draining.load(Relaxed) || self.draining.compare_exchange(false, true, Acquire, Relaxed).is_err() {
                return;
            }
            before();
            let mut front = self.front.load(Relaxed);
            loop {
                // (2) Acquire, pairs with (1).
                let word = self.slot(front).load(Acquire);
                if word.is_null() {
                    break;
                }
                // Relaxed: (8) passes it on to the next user of the slot.
                self.slot(front).store(std::ptr::null_mut(), Relaxed);
                front += 1;
                // (8) Release, pairs with (7).
                self.front.store(front, Release);
                if word != nothing() {
                    // SAFETY: (1) stored a chain, and only the flag's holder takes it, once (R2).
                    let mut chain = unsafe { Chain::from_word(word) };
                    let mut handed_on = 0;
                    while let Some(block) = chain.pop() {
                        handed_on += block.unread();
                        deliver(block);
                    }
                    // Now that they count on their edge.
                    if let Some(waiting) = &self.waiting {
                        waiting.fetch_sub(handed_on, Relaxed);
                    }
                }
            }
            // (4) Release, pairs with (3).
            self.draining.store(false, Release);
            // (6) With (5).
            fence(SeqCst);
            if self.slot(front).load(Relaxed).is_null() {
                return;
            }
        }
    }
}

impl Reorder {
    /// Takes what was not handed on, once nobody completes tickets any more, in no particular order.
    pub(crate) fn take_rest(&mut self, mut each: impl FnMut(Block)) {
        for slot in &mut self.slots {
            let word = slot.load(Relaxed);
            slot.store(std::ptr::null_mut(), Relaxed);
            if !word.is_null() && word != nothing() {
                // SAFETY: a chain that nobody took, and nobody will: the slot is empty now.
                let mut chain = unsafe { Chain::from_word(word) };
                while let Some(block) = chain.pop() {
                    each(block);
                }
            }
        }
    }
}

impl Drop for Reorder {
    fn drop(&mut self) {
        self.take_rest(drop);
    }
}

impl fmt::Debug for Reorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reorder").field("front", &self.front()).field("slots", &self.slots.len()).finish()
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use crate::block::stride;
    use thalweg_sync::cell::Slot;
    use thalweg_sync::sync::Arc;
    use thalweg_sync::{model, thread};

    fn block_with(message: u64) -> Block {
        let mut block = Block::allocate(stride::<u64>(), align_of::<u64>());
        block.open::<u64>(1);
        // SAFETY: opened for one message, and written.
        unsafe {
            block.entry::<u64>(0).write(message);
            block.set_range(0, 1);
        }
        block
    }

    /// Three tickets on two threads: the smallest number with one completed behind another's back while a third is handed on.
    #[test]
    fn everything_is_handed_on_once_in_order_and_nothing_stays_behind() {
        model(|| {
            // A slot, so that loom reports two drainers at once (R2).
            let shared = Arc::new((Reorder::new(4, true), Slot::new(Vec::new())));
            let complete = |ticket: u64, shared: &(Reorder, Slot<Vec<u64>>)| {
                let mut chain = Chain::default();
                if ticket != 1 {
                    chain.push(block_with(ticket));
                }
                shared.0.complete(ticket, chain, |block| {
                    // SAFETY: a block of `u64`; the drain flag is held (R2).
                    shared.1.with_mut(|order| unsafe { (*order).push(block.messages::<u64>()[0]) });
                });
            };
            let other = shared.clone();
            let thread = thread::spawn(move || {
                complete(1, &other);
                complete(0, &other);
            });
            complete(2, &shared);
            thread.join().unwrap();
            // SAFETY: nobody else is left.
            shared.1.with(|order| assert_eq!(unsafe { &*order }, &[0, 2]));
            assert_eq!((shared.0.front(), shared.0.waiting()), (3, 0));
        });
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn no_ticket_is_drawn_that_could_have_no_slot() {
        let ring = Reorder::new(32, false);
        for workers in 1..=8 {
            let drawn = (0..).take_while(|&drawn| !ring.is_full(drawn, workers)).count();
            // Each of the others may be about to draw one, too.
            assert!((16..=32).contains(&(drawn + workers)), "{drawn} tickets, and {workers} workers");
        }
    }
}
