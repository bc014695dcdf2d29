//! Finished outputs of a parallel kernel, put back into the order of its tickets, and the sending ends that they leave by.
//!
//! The ticket of an activation is the place of its input block in the order of the input edge (DANBI §II: "a ticket is issued when popping"); of a
//! kernel whose results leave as they come, its place in the order of completion. Whoever completes the ticket at the front hands on all that is
//! ready; nobody waits for a turn.
//!
//! A block that takes too long is split: its ticket then stands for several parts, each completed by whoever did it, and handed on in their order. So is one
//! at the front that gives more than is to be kept: what its only part has given is handed on before it is complete.
//!
//! # Invariants
//!
//! - **R1** A ticket is completed once, and lies within `front..front + slots`: no ticket is drawn while more could be out.
//! - **R2** `front`, taking from a slot, and `outs` belong to the holder of the drain flag.
//! - **R3** Who gives the flag back looks at the front slot once more, so nothing that can be handed on stays behind: neither a completed ticket, nor a
//!   part of a split one, or some of it, that came after the last look at it.

use crate::block::{Block, Chain};
use std::collections::VecDeque;
use std::fmt;
use std::mem;
use thalweg_sync::CachePadded;
use thalweg_sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering::*, fence};
use thalweg_sync::cell::Slot;
use thalweg_sync::sync::{Arc, Mutex};

/// Stands in a slot for "completed, and gave no output". Aligned, as blocks are, so that a bit is left to tell a split ticket.
static NOTHING: u64 = 0;

fn nothing() -> *mut u8 {
    (&raw const NOTHING).cast_mut().cast()
}

/// The bit of a slot's word that says it is a [`Split`].
const SPLIT: usize = 1;

/// A ticket in several parts.
#[derive(Debug)]
pub(crate) struct Split(Mutex<Parts>);

/// The parts that were not handed on.
#[derive(Debug)]
struct Parts {
    /// The number of the first one.
    first: usize,
    all: VecDeque<Part>,
}

/// What a part has given and was not handed on, and whether that is all.
#[derive(Debug, Default)]
struct Part {
    chain: Chain,
    complete: bool,
}

impl Split {
    fn new(parts: usize) -> Self {
        Self(Mutex::new(Parts { first: 0, all: (0..parts).map(|_| Part::default()).collect() }))
    }

    /// Adds so many parts behind the last one, which must not be complete. Gives the number of the first of them.
    pub(crate) fn extend(&self, parts: usize) -> usize {
        let mut now = self.parts();
        let next = now.first + now.all.len();
        now.all.extend((0..parts).map(|_| Part::default()));
        next
    }

    /// Whether all parts before this one were handed on.
    pub(crate) fn is_first(&self, part: usize) -> bool {
        self.parts().first == part
    }

    fn parts(&self) -> thalweg_sync::sync::MutexGuard<'_, Parts> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Whether some of what this part has given was not handed on. It must not be complete.
    pub(crate) fn holds(&self, part: usize) -> bool {
        let parts = self.parts();
        !parts.all[part - parts.first].chain.is_empty()
    }

    fn add(&self, part: usize, chain: Chain, complete: bool) {
        let mut parts = self.parts();
        let index = part - parts.first;
        parts.all[index].chain.append(chain);
        parts.all[index].complete = complete;
    }

    /// Takes what the first part has given, and goes on to the next one if that is all. `None` if there is nothing yet.
    fn next(&self) -> Option<Chain> {
        let mut parts = self.parts();
        let first = parts.all.front_mut()?;
        let chain = mem::take(&mut first.chain);
        if first.complete {
            parts.all.pop_front();
            parts.first += 1;
        } else if chain.is_empty() {
            return None;
        }
        Some(chain)
    }

    /// Whether all parts were taken.
    fn is_over(&self) -> bool {
        self.parts().all.is_empty()
    }
}

/// The split ticket that a slot's word stands for.
fn as_split(word: *mut u8) -> Option<*const Split> {
    (word.addr() & SPLIT != 0).then(|| word.map_addr(|addr| addr & !SPLIT).cast_const().cast())
}

pub(crate) struct Reorder<S> {
    slots: Box<[AtomicPtr<u8>]>,
    front: CachePadded<AtomicU64>,
    draining: CachePadded<AtomicBool>,
    /// A part of a split ticket has given something since the holder of the drain flag looked.
    fresh: AtomicBool,
    /// Where output leaves (R2).
    outs: Slot<S>,
    /// Messages that are finished and not handed on, if that matters to somebody.
    waiting: Option<CachePadded<AtomicUsize>>,
}

impl<S> Reorder<S> {
    /// With room for `slots` tickets, whose output leaves by `outs`. With `counts`, it knows how many messages [wait](Self::waiting).
    pub(crate) fn new(slots: usize, counts: bool, outs: S) -> Self {
        Self {
            slots: (0..slots).map(|_| AtomicPtr::new(std::ptr::null_mut())).collect(),
            front: CachePadded(AtomicU64::new(0)),
            draining: CachePadded(AtomicBool::new(false)),
            fresh: AtomicBool::new(false),
            outs: Slot::new(outs),
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

    fn note_waiting(&self, chain: &Chain) {
        if let Some(waiting) = &self.waiting {
            waiting.fetch_add(chain.messages(), Relaxed);
        }
    }

    fn fill(&self, ticket: u64, word: *mut u8) {
        // (1) Release, pairs with (2): who takes the chain sees its blocks. Relaxed would hand out unwritten messages.
        self.slot(ticket).store(word, Release);
        // (5) With the fence at (6): either we find the flag free below, or its holder finds our slot after giving it back (R3).
        fence(SeqCst);
    }

    /// Completes `ticket`, and hands on what is at the front.
    pub(crate) fn complete(&self, ticket: u64, chain: Chain, deliver: impl FnMut(&mut S, Block)) {
        self.note_waiting(&chain);
        let word = chain.into_word();
        self.fill(ticket, if word.is_null() { nothing() } else { word });
        self.drain(|_| (), deliver);
    }

    /// Splits `ticket` into so many parts, the first of which has given `chain`, all of it if it is `complete`, and hands on what is at the front. What
    /// the parts give is to be added by [`add_to_part`](Self::add_to_part); their numbers begin with zero.
    pub(crate) fn split(
        &self,
        ticket: u64,
        parts: usize,
        chain: Chain,
        complete: bool,
        deliver: impl FnMut(&mut S, Block),
    ) -> Arc<Split> {
        self.note_waiting(&chain);
        let split = Arc::new(Split::new(parts));
        split.add(0, chain, complete);
        let word = Arc::into_raw(split.clone()).cast::<u8>().cast_mut().map_addr(|addr| addr | SPLIT);
        // (1)
        self.slot(ticket).store(word, Release);
        // (10), for who holds the drain flag and has looked at the slot in vain. After the slot: who takes the mark before would find nothing.
        self.fresh.store(true, Release);
        // (5)
        fence(SeqCst);
        self.drain(|_| (), deliver);
        split
    }

    /// Adds to what a part of a split ticket has given, which is all of it if it is `complete`, and hands on what is at the front.
    pub(crate) fn add_to_part(
        &self,
        split: &Split,
        part: usize,
        chain: Chain,
        complete: bool,
        deliver: impl FnMut(&mut S, Block),
    ) {
        self.note_waiting(&chain);
        split.add(part, chain, complete);
        // (10) Release, pairs with (11): who takes the mark finds what was added.
        self.fresh.store(true, Release);
        // (5) As for a whole ticket: either we find the flag free below, or its holder finds the part fresh.
        fence(SeqCst);
        self.drain(|_| (), deliver);
    }

    /// Hands on what is at the front, unless another worker is at it. `before` runs first, as holder of the drain flag.
    pub(crate) fn drain(&self, before: impl Fn(&mut S), mut deliver: impl FnMut(&mut S, Block)) {
        loop {
            // (3) Acquire, pairs with (4): the next holder sees `front` and the edge as the last one left them (R2).
            if self.draining.load(Relaxed) || self.draining.compare_exchange(false, true, Acquire, Relaxed).is_err() {
                return;
            }
            let front = self.outs.with_mut(|outs| {
                // SAFETY: R2: this thread holds the drain flag until (4).
                let outs = unsafe { &mut *outs };
                before(outs);
                self.drain_to(outs, &mut deliver)
            });
            // (4) Release, pairs with (3).
            self.draining.store(false, Release);
            // (6) With (5).
            fence(SeqCst);
            // A split ticket stays in its slot until its last part was handed on, so for it the mark tells.
            let word = self.slot(front).load(Relaxed);
            let more = if as_split(word).is_some() { self.fresh.load(Relaxed) } else { !word.is_null() };
            if !more {
                return;
            }
        }
    }

    /// Hands on what is at the front; gives the new front. By the holder of the drain flag.
    fn drain_to(&self, outs: &mut S, deliver: &mut impl FnMut(&mut S, Block)) -> u64 {
        if self.fresh.load(Relaxed) {
            // (11) An exchange, so that the mark of a part which is completed just now is not wiped out; Acquire, pairs with (10).
            self.fresh.swap(false, Acquire);
        }
        let mut front = self.front.load(Relaxed);
        loop {
            // (2) Acquire, pairs with (1).
            let word = self.slot(front).load(Acquire);
            if word.is_null() {
                return front;
            }
            if let Some(split) = as_split(word) {
                // SAFETY: (1) stored it, and it is given up below, by who holds the flag (R2).
                let parts = unsafe { &*split };
                while let Some(chain) = parts.next() {
                    self.hand_on(outs, chain, deliver);
                }
                if !parts.is_over() {
                    return front;
                }
                // SAFETY: as above; the slot lets go of it here.
                drop(unsafe { Arc::from_raw(split) });
            }
            // Relaxed: (8) passes it on to the next user of the slot.
            self.slot(front).store(std::ptr::null_mut(), Relaxed);
            front += 1;
            // (8) Release, pairs with (7).
            self.front.store(front, Release);
            if as_split(word).is_none() && word != nothing() {
                // SAFETY: (1) stored a chain, and only the flag's holder takes it, once (R2).
                let chain = unsafe { Chain::from_word(word) };
                self.hand_on(outs, chain, deliver);
            }
        }
    }

    fn hand_on(&self, outs: &mut S, mut chain: Chain, deliver: &mut impl FnMut(&mut S, Block)) {
        let mut handed_on = 0;
        while let Some(block) = chain.pop() {
            handed_on += block.unread();
            deliver(outs, block);
        }
        // Now that they count on their edge.
        if let Some(waiting) = &self.waiting {
            waiting.fetch_sub(handed_on, Relaxed);
        }
    }

    /// The sending ends, once nobody completes tickets any more.
    pub(crate) fn outs_mut(&mut self) -> &mut S {
        self.outs.get_mut()
    }

    /// Takes what was not handed on, once nobody completes tickets any more, in no particular order.
    pub(crate) fn take_rest(&mut self, mut each: impl FnMut(Block)) {
        let mut all = |mut chain: Chain| {
            while let Some(block) = chain.pop() {
                each(block);
            }
        };
        for slot in &mut self.slots {
            let word = slot.load(Relaxed);
            slot.store(std::ptr::null_mut(), Relaxed);
            if let Some(split) = as_split(word) {
                // SAFETY: nobody else takes from the slot, which is empty now.
                let split = unsafe { Arc::from_raw(split) };
                split.parts().all.drain(..).for_each(|part| all(part.chain));
            } else if !word.is_null() && word != nothing() {
                // SAFETY: a chain that nobody took, and nobody will: the slot is empty now.
                all(unsafe { Chain::from_word(word) });
            }
        }
    }
}

impl<S> Drop for Reorder<S> {
    fn drop(&mut self) {
        self.take_rest(drop);
    }
}

impl<S> fmt::Debug for Reorder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reorder").field("front", &self.front()).field("slots", &self.slots.len()).finish()
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use crate::block::stride;
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

    fn take(order: &mut Vec<u64>, block: Block) {
        // SAFETY: a block of `u64`.
        order.push(unsafe { block.messages::<u64>()[0] });
    }

    /// Ticket 0 in two parts, the second of which another thread completes while ticket 1 is: the smallest number with a part that comes while
    /// somebody else holds the drain flag and has looked at it in vain.
    #[test]
    fn the_parts_of_a_split_ticket_are_handed_on_once_in_order() {
        model(|| {
            let shared = Arc::new(Reorder::new(4, true, Vec::new()));
            let chain_of = |message: u64| {
                let mut chain = Chain::default();
                chain.push(0, block_with(message));
                chain
            };
            let split = shared.split(0, 2, chain_of(0), true, take);
            let other = shared.clone();
            let thread = thread::spawn(move || other.add_to_part(&split, 1, chain_of(1), true, take));
            shared.complete(1, chain_of(2), take);
            thread.join().unwrap();
            // SAFETY: nobody else is left.
            shared.outs.with(|order| assert_eq!(unsafe { &*order }, &[0, 1, 2]));
            assert_eq!((shared.front(), shared.waiting()), (2, 0));
        });
    }

    /// What was handed over while another thread held the drain flag is with that one, or was handed on: nothing waits for the next part (R3).
    #[test]
    fn some_of_a_ticket_does_not_wait_for_the_rest() {
        model(|| {
            let shared = Arc::new(Reorder::new(4, true, Vec::new()));
            let other = shared.clone();
            // As a kernel that flushes its spill.
            let thread = thread::spawn(move || other.drain(|_| (), take));
            let mut chain = Chain::default();
            chain.push(0, block_with(0));
            let split = shared.split(0, 1, chain, false, take);
            thread.join().unwrap();
            // SAFETY: nobody else is left.
            shared.outs.with(|order| assert_eq!(unsafe { &*order }, &[0]));
            let mut rest = Chain::default();
            rest.push(0, block_with(1));
            shared.add_to_part(&split, 0, rest, true, take);
            // SAFETY: as above.
            shared.outs.with(|order| assert_eq!(unsafe { &*order }, &[0, 1]));
            assert_eq!((shared.front(), shared.waiting()), (1, 0));
        });
    }

    /// Three tickets on two threads: the smallest number with one completed behind another's back while a third is handed on.
    #[test]
    fn everything_is_handed_on_once_in_order_and_nothing_stays_behind() {
        model(|| {
            // What is guarded is a slot, so loom reports two drainers at once (R2).
            let shared = Arc::new(Reorder::new(4, true, Vec::new()));
            let complete = |ticket: u64, shared: &Reorder<Vec<u64>>| {
                let mut chain = Chain::default();
                if ticket != 1 {
                    chain.push(0, block_with(ticket));
                }
                shared.complete(ticket, chain, take);
            };
            let other = shared.clone();
            let thread = thread::spawn(move || {
                complete(1, &other);
                complete(0, &other);
            });
            complete(2, &shared);
            thread.join().unwrap();
            // SAFETY: nobody else is left.
            shared.outs.with(|order| assert_eq!(unsafe { &*order }, &[0, 2]));
            assert_eq!((shared.front(), shared.waiting()), (3, 0));
        });
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn no_ticket_is_drawn_that_could_have_no_slot() {
        let ring = Reorder::new(32, false, ());
        for workers in 1..=8 {
            let drawn = (0..).take_while(|&drawn| !ring.is_full(drawn, workers)).count();
            // Each of the others may be about to draw one, too.
            assert!((16..=32).contains(&(drawn + workers)), "{drawn} tickets, and {workers} workers");
        }
    }
}
