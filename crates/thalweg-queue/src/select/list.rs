//! Several arms, and the one way to wait for them.

use super::arm::{Arm, Waiter};
use crate::wait::{Deadline, Sleeper, is_over};
use core::convert::Infallible;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use thalweg_sync::park::Parker;
use thalweg_sync::random::SplitMix;
use thalweg_sync::{spin, time};

/// Several arms: `(first, (second, (third, ())))`, or those of a [`Select`](super::Select).
pub trait Arms {
    /// What the chosen one gives.
    #[doc(hidden)]
    type Output;

    #[doc(hidden)]
    fn count(&self) -> usize;

    /// An attempt of one.
    #[doc(hidden)]
    fn attempt(&mut self, index: usize) -> Option<Self::Output>;

    /// Does `act` with each: everything but attempts.
    #[doc(hidden)]
    fn each(&mut self, act: &mut dyn FnMut(&mut dyn Enlist));
}

/// What is done with an arm but for attempts.
#[doc(hidden)]
pub trait Enlist {
    fn enlist(&mut self, sleeper: Waiter) -> bool;
    fn leave(&mut self, chosen: bool);
    fn deadline(&self) -> Option<Deadline>;
    fn is_on(&self) -> bool;
}

impl<A: Arm> Enlist for A {
    fn enlist(&mut self, sleeper: Waiter) -> bool {
        Arm::enlist(self, sleeper)
    }

    fn leave(&mut self, chosen: bool) {
        Arm::leave(self, chosen);
    }

    fn deadline(&self) -> Option<Deadline> {
        Arm::deadline(self)
    }

    fn is_on(&self) -> bool {
        Arm::is_on(self)
    }
}

/// What one of two gives.
#[doc(hidden)]
#[derive(Debug)]
pub enum Either<A, B> {
    First(A),
    Later(B),
}

impl Arms for () {
    type Output = Infallible;

    fn count(&self) -> usize {
        0
    }

    fn attempt(&mut self, _index: usize) -> Option<Infallible> {
        None
    }

    fn each(&mut self, _act: &mut dyn FnMut(&mut dyn Enlist)) {}
}

impl<A: Arm, B: Arms> Arms for (A, B) {
    type Output = Either<A::Output, B::Output>;

    fn count(&self) -> usize {
        1 + self.1.count()
    }

    fn attempt(&mut self, index: usize) -> Option<Self::Output> {
        match index.checked_sub(1) {
            None => self.0.attempt().map(Either::First),
            Some(index) => self.1.attempt(index).map(Either::Later),
        }
    }

    fn each(&mut self, act: &mut dyn FnMut(&mut dyn Enlist)) {
        act(&mut self.0);
        self.1.each(act);
    }
}

/// Numbers for choices: of the clock, which is virtual under an engine, so that an execution can be repeated. All bits of a time
/// count for each bit of a number: times are often at regular distances, and so a product of the time would be.
pub(super) fn random() -> SplitMix {
    SplitMix::new(time::now().as_nanos())
}

/// The next number.
fn draw(random: &mut SplitMix) -> usize {
    (random.number() >> 32) as usize
}

/// An attempt of each, from a drawn one on and round.
fn attempt<L: Arms>(arms: &mut L, random: &mut SplitMix) -> Option<L::Output> {
    let count = arms.count();
    if count == 0 {
        return None;
    }
    let drawn = draw(random);
    let (from, up) = (drawn / 2 % count, drawn.is_multiple_of(2));
    // Up or down: who is behind an arm that is never ready is not always the same one.
    let at = |step: usize| (if up { from + step } else { from + count - step }) % count;
    (0..count).map(at).find_map(|index| Some((index, arms.attempt(index)?))).map(|(index, output)| {
        over(arms, Some(index));
        output
    })
}

/// Leaves every line (Y2).
fn over<L: Arms>(arms: &mut L, chosen: Option<usize>) {
    let mut index = 0;
    arms.each(&mut |arm| {
        arm.leave(chosen == Some(index));
        index += 1;
    });
}

/// In line everywhere. True if attempts have to be made once more (Y1).
fn enlist<L: Arms>(arms: &mut L, sleeper: &Waiter) -> bool {
    let mut again = false;
    arms.each(&mut |arm| again |= arm.is_on() && arm.enlist(sleeper.clone()));
    again
}

fn is_on<L: Arms>(arms: &mut L) -> bool {
    let mut on = false;
    arms.each(&mut |arm| on |= arm.is_on());
    on
}

fn some_are_on<L: Arms>(arms: &mut L) {
    assert!(is_on(arms), "no arm of the select is on, so it would wait for ever: give it a `default`");
}

/// The earlier one.
fn earlier(one: Option<Deadline>, other: Option<Deadline>) -> Option<Deadline> {
    one.into_iter().chain(other).min()
}

/// What an arm that is ready gives.
#[doc(hidden)]
pub fn now<L: Arms>(mut arms: L) -> Option<L::Output> {
    attempt(&mut arms, &mut random())
}

/// What the first arm that is ready gives, sleeping until then.
///
/// # Panics
///
/// If no arm is on.
#[doc(hidden)]
pub fn sleep<L: Arms>(mut arms: L) -> L::Output {
    match until(&mut arms, None, &mut random()) {
        Some(output) => output,
        None => unreachable!("without a deadline it waits"),
    }
}

/// The same of arms that may be used again, but no longer than to `deadline`.
#[doc(hidden)]
pub fn until<L: Arms>(arms: &mut L, deadline: Option<Deadline>, random: &mut SplitMix) -> Option<L::Output> {
    /// Leaves every line if an attempt unwinds.
    struct InLine<'a, L: Arms>(&'a mut L);
    impl<L: Arms> Drop for InLine<'_, L> {
        fn drop(&mut self) {
            over(self.0, None);
        }
    }
    if let Some(output) = attempt(arms, random) {
        return Some(output);
    }
    if deadline.is_none() {
        some_are_on(arms);
    }
    if deadline.is_some_and(is_over) {
        return None;
    }
    if let Some(output) = spin::briefly(|| attempt(arms, random)) {
        return Some(output);
    }
    let parker = Parker::new();
    let sleeper = Waiter(Sleeper::Thread(parker.unparker()));
    let mut first = deadline;
    arms.each(&mut |arm| first = earlier(first, if arm.is_on() { arm.deadline() } else { None }));
    let line = InLine(arms);
    loop {
        if enlist(line.0, &sleeper)
            && let Some(output) = attempt(line.0, random)
        {
            return Some(output);
        }
        match first {
            None => parker.park(),
            Some(first) => _ = parker.park_timeout(first.since(time::now())),
        }
        if let Some(output) = attempt(line.0, random) {
            return Some(output);
        }
        if deadline.is_some_and(is_over) {
            // The guard leaves every line, and hands on what it was woken for since.
            return None;
        }
    }
}

/// A select that is pending until an arm is ready.
#[doc(hidden)]
#[derive(Debug)]
#[must_use = "a future does nothing until it is polled"]
pub struct Selecting<L: Arms> {
    arms: L,
    random: SplitMix,
    over: bool,
}

impl<L: Arms> Selecting<L> {
    #[doc(hidden)]
    pub fn new(arms: L) -> Self {
        Self { arms, random: random(), over: false }
    }
}

// Nothing is pinned inside.
impl<L: Arms> Unpin for Selecting<L> {}

impl<L: Arms> Future for Selecting<L> {
    type Output = L::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<L::Output> {
        let Self { arms, random, over } = self.get_mut();
        assert!(!*over, "polled after it was ready");
        let mut output = attempt(arms, random);
        if output.is_none() {
            some_are_on(arms);
            if enlist(arms, &Waiter(Sleeper::Task(cx.waker().clone()))) {
                output = attempt(arms, random);
            }
        }
        *over = output.is_some();
        output.map_or(Poll::Pending, Poll::Ready)
    }
}

impl<L: Arms> Drop for Selecting<L> {
    fn drop(&mut self) {
        if !self.over {
            over(&mut self.arms, None);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{SplitMix, draw};

    /// A loop around a `select!` whose turns all take equally long draws each of its arms as often, whatever that time is.
    #[test]
    fn regular_times_draw_all_arms_alike() {
        for period in (1..2_000).chain((2_000..1_000_000).step_by(997)) {
            let mut drawn = [0_u32; 3];
            (0..600).for_each(|turn| drawn[draw(&mut SplitMix::new(1_000_000_007 + turn * period)) / 2 % 3] += 1);
            assert!(drawn.iter().all(|&count| count > 120), "{drawn:?} with {period} ns for a turn");
        }
    }
}
