//! A select whose arms are put together when the program runs.

use super::arm::{Arm, ToPop, ToPush, Waiter};
use super::list::{Arms, Enlist, Selecting, random, until};
use super::timer::{after, at};
use crate::PushError;
use crate::wait::{Deadline, is_over};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;
use thalweg_sync::random::SplitMix;
use thalweg_sync::time::{self, Duration};

/// Several arms, each with what is to be done with its result. It may be waited for again and again.
///
/// An arm that has told its end (every producer gone, a time over, a value pushed) takes no part any more. So a loop ends when nothing can happen:
///
/// ```
/// use thalweg_queue::select::Select;
/// use thalweg_queue::mpmc;
///
/// let queues = [(); 3].map(|()| mpmc::channel(16).unwrap());
/// for (n, (tx, _)) in queues.iter().enumerate() {
///     tx.push(n)?;
/// }
/// let receivers = queues.map(|(_, rx)| rx); // the producers leave
///
/// let mut select = Select::new();
/// for rx in &receivers {
///     select.pop(rx, |item| item.unwrap_or(0));
/// }
/// let mut sum = 0;
/// while let Some(n) = select.wait() {
///     sum += n;
/// }
/// assert_eq!(sum, 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Select<'a, R> {
    arms: Boxes<'a, R>,
    next: usize,
    random: SplitMix,
}

type Boxes<'a, R> = Vec<(ArmId, Box<dyn Then<R> + 'a>)>;

/// An arm of a [`Select`], to be [removed](Select::remove).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ArmId(usize);

/// Why a [`Select`] did nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SelectError {
    /// No arm was ready, now or in time.
    Timeout,
    /// No arm takes part any more, so none will be ready.
    Finished,
}

impl fmt::Display for SelectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Timeout => "no arm of the select was ready in time: wait longer, or push and pop faster",
            Self::Finished => "every arm of the select has told its end: stop waiting, or add one",
        })
    }
}

impl core::error::Error for SelectError {}

/// An arm, and what comes then.
trait Then<R>: Enlist {
    fn attempt(&mut self) -> bool;
    fn then(&mut self) -> R;
}

struct With<A: Arm, F> {
    arm: A,
    then: F,
    output: Option<A::Output>,
    ended: bool,
}

impl<A: Arm, R, F: FnMut(A::Output) -> R> Then<R> for With<A, F> {
    fn attempt(&mut self) -> bool {
        if !self.ended {
            self.output = self.arm.attempt();
        }
        self.ended |= self.output.as_ref().is_some_and(A::is_end);
        self.output.is_some()
    }

    fn then(&mut self) -> R {
        (self.then)(self.output.take().expect("the attempt gave it"))
    }
}

impl<A: Arm, F> Enlist for With<A, F> {
    fn enlist(&mut self, sleeper: Waiter) -> bool {
        !self.ended && Arm::enlist(&mut self.arm, sleeper)
    }

    fn leave(&mut self, chosen: bool) {
        Arm::leave(&mut self.arm, chosen);
    }

    fn deadline(&self) -> Option<Deadline> {
        Arm::deadline(&self.arm)
    }

    fn is_on(&self) -> bool {
        !self.ended && Arm::is_on(&self.arm)
    }
}

impl<R> Arms for &mut Boxes<'_, R> {
    /// Which one is ready.
    type Output = usize;

    fn count(&self) -> usize {
        self.len()
    }

    fn attempt(&mut self, index: usize) -> Option<usize> {
        self[index].1.attempt().then_some(index)
    }

    fn each(&mut self, act: &mut dyn FnMut(&mut dyn Enlist)) {
        self.iter_mut().for_each(|(_, arm)| act(&mut **arm));
    }
}

impl<'a, R> Select<'a, R> {
    /// No arm yet.
    pub fn new() -> Self {
        Self { arms: Vec::new(), next: 0, random: random() }
    }

    fn add<A: Arm + 'a>(&mut self, arm: A, then: impl FnMut(A::Output) -> R + 'a) -> ArmId {
        let id = ArmId(self.next);
        self.next += 1;
        self.arms.push((id, Box::new(With { arm, then, output: None, ended: false })));
        id
    }

    /// An arm that pops from `rx`, over and over. It ends when `then` was given an error.
    pub fn pop<E: ToPop<Arm: 'a>>(&mut self, rx: E, then: impl FnMut(<E::Arm as Arm>::Output) -> R + 'a) -> ArmId {
        self.add(rx.to_pop(), then)
    }

    /// An arm that pushes `value` to `tx`, once. If it is not chosen, the value is dropped with the arm.
    pub fn push<E: ToPush<End: 'a, Item: 'a>>(
        &mut self,
        tx: E,
        value: E::Item,
        then: impl FnMut(Result<(), PushError<E::Item>>) -> R + 'a,
    ) -> ArmId {
        self.add(tx.to_push(value), then)
    }

    /// An arm that pushes what is in `slot` to `tx`. If it is not chosen, the value stays there.
    pub fn push_from<E: ToPush<End: 'a, Item: 'a>>(
        &mut self,
        tx: E,
        slot: &'a mut Option<E::Item>,
        then: impl FnMut(Result<(), PushError<E::Item>>) -> R + 'a,
    ) -> ArmId {
        self.add(tx.to_push_from(slot), then)
    }

    /// An arm that is ready once, when `time` is over, from now on.
    pub fn after(&mut self, time: Duration, mut then: impl FnMut() -> R + 'a) -> ArmId {
        self.add(after(time), move |()| then())
    }

    /// An arm that is ready once, from `deadline` on.
    pub fn at(&mut self, deadline: impl Into<Deadline>, mut then: impl FnMut() -> R + 'a) -> ArmId {
        self.add(at(deadline), move |()| then())
    }

    /// Takes an arm out. False if it was taken out before.
    pub fn remove(&mut self, arm: ArmId) -> bool {
        let before = self.arms.len();
        self.arms.retain(|(id, _)| *id != arm);
        self.arms.len() < before
    }

    /// How many arms take part.
    pub fn len(&self) -> usize {
        self.arms.iter().filter(|(_, arm)| arm.is_on()).count()
    }

    /// Whether no arm takes part.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Does the first thing that is possible, sleeping until then. None if no arm takes part.
    pub fn wait(&mut self) -> Option<R> {
        self.wait_until(None).ok()
    }

    /// Does what is possible now.
    pub fn try_wait(&mut self) -> Result<R, SelectError> {
        self.wait_until(Some(time::now()))
    }

    /// Does the first thing that is possible, sleeping until then, but no longer than `timeout`.
    pub fn wait_timeout(&mut self, timeout: Duration) -> Result<R, SelectError> {
        self.wait_until(Some(time::now().after(timeout)))
    }

    /// As [`wait_timeout`](Self::wait_timeout), until a point in time.
    pub fn wait_deadline(&mut self, deadline: impl Into<Deadline>) -> Result<R, SelectError> {
        self.wait_until(Some(deadline.into()))
    }

    fn wait_until(&mut self, deadline: Option<Deadline>) -> Result<R, SelectError> {
        if self.is_empty() {
            return Err(SelectError::Finished);
        }
        let chosen = until(&mut &mut self.arms, deadline, &mut self.random);
        debug_assert!(chosen.is_some() || deadline.is_some_and(is_over));
        chosen.map(|chosen| self.arms[chosen].1.then()).ok_or(SelectError::Timeout)
    }

    /// As [`wait`](Self::wait), as a future. It may be dropped at any time; then nothing was done.
    pub async fn wait_async(&mut self) -> Option<R> {
        if self.is_empty() {
            return None;
        }
        let chosen = Selecting::new(&mut self.arms).await;
        Some(self.arms[chosen].1.then())
    }
}

impl<R> Default for Select<'_, R> {
    fn default() -> Self {
        Self::new()
    }
}

impl<R> fmt::Debug for Select<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Select").field("len", &self.len()).finish_non_exhaustive()
    }
}
