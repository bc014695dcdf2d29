//! The loops over queues that are not in Rust: threads, places, waiting and the check are those of all contenders, the loops over items are
//! theirs, so that a call is no part of an item's cost.

use std::hint::spin_loop;
use std::num::NonZeroUsize;

use super::crew::Crew;
use super::one_to_one::{Received, between};
use crate::peers::Checked;

/// One producer and one consumer, each with a CPU: so many attempts are made, with a pause between them, before a call returns.
pub(super) const SPINS: u32 = 1024;

/// Pushes the numbers from 1 to `items`, one by one: `push` begins with a number and says how many it has pushed when it was refused too often,
/// which `pause` follows if that is none. Ends early if no consumer is left.
pub(super) fn push_all(items: u64, consumers: &Crew, mut push: impl FnMut(u64) -> usize, pause: impl Fn()) {
    let mut next = 1;
    while next <= items {
        let pushed = consumers.until(|| NonZeroUsize::new(push(next)), &pause);
        let Some(pushed) = pushed else { return };
        next += pushed.get() as u64;
    }
}

/// Pops `items` numbers, one by one: `pop` takes as many as it is asked for, or fewer if too often nothing is there, which `pause` follows if that
/// is none. Ends early if no producer is left.
pub(super) fn pop_all(
    received: &mut Received,
    items: u64,
    producers: &Crew,
    mut pop: impl FnMut(&mut Received, u64),
    pause: impl Fn(),
) {
    while received.count() < items {
        let before = received.count();
        let attempt = || {
            pop(received, items - before);
            (received.count() > before).then_some(())
        };
        if producers.until(attempt, &pause).is_none() {
            return;
        }
    }
}

/// Numbers from 1 to `items` go through a queue, one by one; producer and consumer each have a CPU, and both ends live as long as one of
/// the closures.
pub(super) fn one_by_one(
    items: u64,
    mut push: impl FnMut(u64) -> usize + Send,
    mut pop: impl FnMut(&mut Received, u64) + Send,
) -> Checked {
    between(
        items,
        move |consumers| {
            push_all(items, consumers, &mut push, spin_loop);
            push
        },
        move |producers| {
            let mut received = Received::default();
            pop_all(&mut received, items, producers, &mut pop, spin_loop);
            received.told()
        },
    )
}
