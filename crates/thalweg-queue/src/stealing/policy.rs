//! From whom to steal: the policies, of which the page of `bwos` has a table.

use alloc::boxed::Box;
use core::fmt;
use thalweg_sync::random::Xorshift;

/// Chooses victims. One thief asks it: whenever it wants to steal, and again after each choice that gave nothing, up to
/// [`tries`](Self::tries) times. After that [`Thief::steal`](super::Thief::steal) looks at every queue, so a policy may
/// be wrong but not lose work.
pub trait Policy: Send {
    /// The queue to try next: one of [`victims.all()`](Victims::all), which is not empty. `attempt` counts from 0 in
    /// each search.
    fn choose(&mut self, victims: &Victims<'_>, attempt: usize, rng: &mut Rng) -> usize;

    /// Whether to steal from `victim`, which [`choose`](Self::choose) named, and from where.
    fn accept(&mut self, _victims: &Victims<'_>, _victim: usize, _rng: &mut Rng) -> Accept {
        Accept::Oldest
    }

    /// How often to choose in one search.
    fn tries(&self, victims: &Victims<'_>) -> usize {
        victims.all().len()
    }

    /// `victim` gave something.
    fn stole(&mut self, _victim: usize) {}

    /// `victim`, which was accepted, gave nothing.
    fn missed(&mut self, _victim: usize) {}
}

/// What a [`Policy`] says to a victim that was chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Accept {
    /// Do not steal there now: choose again.
    No,
    /// Steal from the oldest block that is known to have something.
    Oldest,
    /// Steal from this block, and only from it.
    Block(usize),
}

/// What a [`Policy`] may know of the other queues. Queues have the numbers of their places in the [`Pool`](super::Pool).
#[derive(Clone, Copy)]
pub struct Victims<'a> {
    all: &'a [usize],
    near: &'a [usize],
    queues: &'a dyn Queues,
}

/// Asks queues whatever their items are.
pub(super) trait Queues {
    fn len(&self, queue: usize) -> usize;
    fn blocks(&self, queue: usize) -> usize;
    fn has_some(&self, queue: usize, block: usize) -> bool;
}

impl<'a> Victims<'a> {
    pub(super) fn new(all: &'a [usize], near: &'a [usize], queues: &'a dyn Queues) -> Self {
        Self { all, near, queues }
    }

    /// The queues to choose from, the own one not among them: those after it, then those before it.
    pub fn all(&self) -> &'a [usize] {
        self.all
    }

    /// Those of the same memory node as the thief.
    pub fn near(&self) -> Self {
        Self { all: self.near, ..*self }
    }

    /// How many items thieves could take from the queue. Costs a load per block, in lines that the owner writes.
    pub fn len(&self, queue: usize) -> usize {
        self.queues.len(queue)
    }

    /// Whether there are no queues to choose from.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// A random block of the queue, if thieves could take something from it. With n blocks of which k have something,
    /// the answer is yes with a probability of k/n. Costs one load.
    pub fn sample(&self, queue: usize, rng: &mut Rng) -> Option<usize> {
        let block = rng.below(self.queues.blocks(queue));
        self.queues.has_some(queue, block).then_some(block)
    }
}

impl fmt::Debug for Victims<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Victims").field("all", &self.all).field("near", &self.near).finish_non_exhaustive()
    }
}

/// Random numbers for choices: xorshift64*.
#[derive(Clone, Debug)]
pub struct Rng(Xorshift);

impl Rng {
    /// The numbers that belong to `seed`.
    pub fn new(seed: u64) -> Self {
        // Spread out, as seeds are often small numbers.
        Self(Xorshift::from_state((seed ^ 0x5DEE_CE66).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1))
    }

    /// A number below `bound`, which is not 0; nearly all equally likely.
    #[inline]
    pub fn below(&mut self, bound: usize) -> usize {
        self.0.index(bound)
    }

    fn one_of(&mut self, victims: &Victims<'_>) -> usize {
        victims.all()[self.below(victims.all().len())]
    }
}

/// Any queue, each with the same probability.
#[derive(Clone, Copy, Debug, Default)]
pub struct Random;

impl Policy for Random {
    fn choose(&mut self, victims: &Victims<'_>, _attempt: usize, rng: &mut Rng) -> usize {
        rng.one_of(victims)
    }
}

/// The queue after the own one, then the next, always in this order.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sequential;

impl Policy for Sequential {
    fn choose(&mut self, victims: &Victims<'_>, attempt: usize, _rng: &mut Rng) -> usize {
        victims.all()[attempt % victims.all().len()]
    }
}

/// The queue that gave something last, as long as it gives; then one that the policy inside names.
#[derive(Clone, Copy, Debug, Default)]
pub struct Last<P = Random> {
    policy: P,
    last: Option<usize>,
}

impl<P> Last<P> {
    /// Leaves it to `policy` where to go when the last queue gives nothing.
    pub fn new(policy: P) -> Self {
        Self { policy, last: None }
    }
}

impl<P: Policy> Policy for Last<P> {
    fn choose(&mut self, victims: &Victims<'_>, attempt: usize, rng: &mut Rng) -> usize {
        self.last = self.last.filter(|last| attempt == 0 && victims.all().contains(last));
        self.last.unwrap_or_else(|| self.policy.choose(victims, attempt, rng))
    }

    fn accept(&mut self, victims: &Victims<'_>, victim: usize, rng: &mut Rng) -> Accept {
        match self.last {
            Some(_) => Accept::Oldest,
            None => self.policy.accept(victims, victim, rng),
        }
    }

    fn tries(&self, victims: &Victims<'_>) -> usize {
        1 + self.policy.tries(victims)
    }

    fn stole(&mut self, victim: usize) {
        self.last = Some(victim);
        self.policy.stole(victim);
    }

    fn missed(&mut self, victim: usize) {
        self.last = None;
        self.policy.missed(victim);
    }
}

/// The longest of so many queues, which are drawn at random: two for *best of two*, half of all for *best of many*. Of
/// 0 as of 1, any queue is taken.
#[derive(Clone, Copy, Debug)]
pub struct BestOf(pub usize);

impl Policy for BestOf {
    fn choose(&mut self, victims: &Victims<'_>, _attempt: usize, rng: &mut Rng) -> usize {
        let mut best = rng.one_of(victims);
        if self.0 > 1 {
            let mut length = victims.len(best);
            for _ in 1..self.0 {
                let other = rng.one_of(victims);
                let longer = victims.len(other);
                if longer > length {
                    (best, length) = (other, longer);
                }
            }
        }
        best
    }
}

/// NUMA-aware: at first the policy inside chooses among the queues of the thief's own memory node, as often as there are
/// such queues, then among all.
#[derive(Clone, Copy, Debug, Default)]
pub struct Near<P>(pub P);

impl<P: Policy> Policy for Near<P> {
    fn choose(&mut self, victims: &Victims<'_>, attempt: usize, rng: &mut Rng) -> usize {
        let near = victims.near();
        match attempt.checked_sub(near.all().len()) {
            None => self.0.choose(&near, attempt, rng),
            Some(attempt) => self.0.choose(victims, attempt, rng),
        }
    }

    fn accept(&mut self, victims: &Victims<'_>, victim: usize, rng: &mut Rng) -> Accept {
        self.0.accept(victims, victim, rng)
    }

    fn tries(&self, victims: &Victims<'_>) -> usize {
        victims.near().all().len() + self.0.tries(victims)
    }

    fn stole(&mut self, victim: usize) {
        self.0.stole(victim);
    }

    fn missed(&mut self, victim: usize) {
        self.0.missed(victim);
    }
}

/// A queue that the policy inside names is accepted with a probability of about its fill: if a random block of it has
/// something (section 4.3.4). So queues are chosen by size, and nobody's size is read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Probabilistic<P> {
    policy: P,
    in_block: bool,
}

impl<P> Probabilistic<P> {
    /// Steals from the oldest block of the queue that was accepted: for LIFO queues.
    pub fn new(policy: P) -> Self {
        Self { policy, in_block: false }
    }

    /// Steals from the block that was looked at: from the middle of FIFO queues, where thieves meet least.
    pub fn in_block(policy: P) -> Self {
        Self { policy, in_block: true }
    }
}

impl<P: Policy> Policy for Probabilistic<P> {
    fn choose(&mut self, victims: &Victims<'_>, attempt: usize, rng: &mut Rng) -> usize {
        self.policy.choose(victims, attempt, rng)
    }

    fn accept(&mut self, victims: &Victims<'_>, victim: usize, rng: &mut Rng) -> Accept {
        match victims.sample(victim, rng) {
            None => Accept::No,
            Some(block) if self.in_block => Accept::Block(block),
            Some(_) => self.policy.accept(victims, victim, rng),
        }
    }

    /// More than the policy inside would: each try looks at one block only.
    fn tries(&self, victims: &Victims<'_>) -> usize {
        4 * self.policy.tries(victims)
    }

    fn stole(&mut self, victim: usize) {
        self.policy.stole(victim);
    }

    fn missed(&mut self, victim: usize) {
        self.policy.missed(victim);
    }
}

impl<P: Policy + ?Sized> Policy for Box<P> {
    fn choose(&mut self, victims: &Victims<'_>, attempt: usize, rng: &mut Rng) -> usize {
        (**self).choose(victims, attempt, rng)
    }

    fn accept(&mut self, victims: &Victims<'_>, victim: usize, rng: &mut Rng) -> Accept {
        (**self).accept(victims, victim, rng)
    }

    fn tries(&self, victims: &Victims<'_>) -> usize {
        (**self).tries(victims)
    }

    fn stole(&mut self, victim: usize) {
        (**self).stole(victim);
    }

    fn missed(&mut self, victim: usize) {
        (**self).missed(victim);
    }
}
