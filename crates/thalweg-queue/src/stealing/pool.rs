//! Several queues, and thieves that choose among them.

use super::policy::{Accept, Policy, Queues, Rng, Victims};
use super::{StealError, Stealer};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;
use thalweg_sync::sync::Arc;

/// The queues of several workers. Each is known by its place.
///
/// ```
/// use thalweg_queue::stealing::{self, Near, Pool, Probabilistic, Random, StealError};
///
/// let queues = (0..4).map(|_| stealing::lifo(8, 64)).collect::<Result<Vec<_>, _>>()?;
/// let (mut owners, stealers): (Vec<_>, Vec<_>) = queues.into_iter().unzip();
/// let pool = Pool::new(stealers).with_nodes([0, 0, 1, 1]); // workers 0 and 1 share their memory, so do 2 and 3
/// let mut thief = pool.thief(3, Probabilistic::new(Near(Random)));
///
/// owners[1].push("task")?;
/// assert_eq!(thief.steal(), Err(StealError::Empty));
/// owners[1].share();
/// assert_eq!(thief.steal(), Ok("task"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Pool<T> {
    members: Arc<Members<T>>,
}

struct Members<T> {
    stealers: Box<[Stealer<T>]>,
    /// The memory node of each queue; nothing if that is not known.
    nodes: Box<[usize]>,
}

impl<T> Pool<T> {
    /// A pool of the queues that these handles steal from, all of them near each other.
    pub fn new(stealers: impl IntoIterator<Item = Stealer<T>>) -> Self {
        let stealers = stealers.into_iter().collect();
        Self { members: Arc::new(Members { stealers, nodes: Box::new([]) }) }
    }

    /// Says on which memory node each queue's owner runs: for [`Near`](super::Near). Thieves that exist already do not learn of it.
    ///
    /// The pool asks no system. Who pins the workers to CPUs knows the nodes of these; on Linux CPU n has the directory
    /// `/sys/devices/system/cpu/cpun/nodem` on node m. Only whether two numbers are equal matters, so they may as well stand for caches
    /// or sockets.
    ///
    /// # Panics
    ///
    /// If there are not as many nodes as queues.
    pub fn with_nodes(self, nodes: impl IntoIterator<Item = usize>) -> Self {
        let nodes: Box<[usize]> = nodes.into_iter().collect();
        assert_eq!(nodes.len(), self.len(), "one memory node for each queue");
        let stealers = self.members.stealers.clone();
        Self { members: Arc::new(Members { stealers, nodes }) }
    }

    /// How many queues there are.
    pub fn len(&self) -> usize {
        self.members.stealers.len()
    }

    /// Whether there are no queues.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A thief for the worker that owns queue number `own`, from which it does not steal.
    ///
    /// # Panics
    ///
    /// If there is no such queue.
    pub fn thief<P: Policy>(&self, own: usize, policy: P) -> Thief<T, P> {
        assert!(own < self.len(), "there is no queue {own}, but {}", self.len());
        let nodes = &self.members.nodes;
        let others: Box<[usize]> = (own + 1..self.len()).chain(0..own).collect();
        let near = others.iter().copied().filter(|&other| nodes.get(other) == nodes.get(own)).collect();
        Thief { members: self.members.clone(), others, near, rng: Rng::new(own as u64), policy }
    }
}

impl<T> Clone for Pool<T> {
    fn clone(&self) -> Self {
        Self { members: self.members.clone() }
    }
}

impl<T> fmt::Debug for Pool<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").field("queues", &self.members.stealers).finish_non_exhaustive()
    }
}

impl<T> Queues for Members<T> {
    fn len(&self, queue: usize) -> usize {
        self.stealers[queue].len()
    }

    fn blocks(&self, queue: usize) -> usize {
        self.stealers[queue].blocks()
    }

    fn has_some(&self, queue: usize, block: usize) -> bool {
        self.stealers[queue].has_some(block)
    }
}

/// Steals from the other queues of a [`Pool`], as its policy chooses.
pub struct Thief<T, P> {
    members: Arc<Members<T>>,
    others: Box<[usize]>,
    near: Box<[usize]>,
    rng: Rng,
    policy: P,
}

impl<T, P: Policy> Thief<T, P> {
    /// Steals an item from a queue that the policy chooses, and if that gives nothing, from any.
    ///
    /// - `Empty`: every other queue was tried, each of its blocks looked at. What was granted before the call, and was not
    ///   taken by others or by its owner, would have been found. So a worker that has announced that it will sleep, and
    ///   finds nothing then, may sleep: with a `fence(SeqCst)` between the two, and another one in owners, between what
    ///   grants and the look at who has announced.
    /// - `Busy`: nothing found, and somebody came first where something was.
    /// - `Closed`: all other owners are gone and nothing is left; also if there is no other queue.
    #[inline]
    pub fn steal(&mut self) -> Result<T, StealError> {
        self.search(|stealer, block| match block {
            None => stealer.steal(),
            Some(block) => stealer.steal_in(block),
        })
    }

    /// Steals up to `most` items of one block as [`steal`](Self::steal), and appends them to `batch`. Returns how many.
    #[inline]
    pub fn steal_into(&mut self, batch: &mut Vec<T>, most: usize) -> Result<usize, StealError> {
        if most == 0 {
            return Ok(0);
        }
        self.search(|stealer, block| match block {
            None => stealer.steal_into(batch, most),
            Some(block) => stealer.steal_into_in(block, batch, most),
        })
    }

    /// Steals an item from one queue: the first that the policy chooses and accepts, in as many choices as there are other queues.
    /// An error says nothing of the others.
    ///
    /// For a worker that has something else to do meanwhile. Before it sleeps, it has to ask [`steal`](Self::steal).
    #[inline]
    pub fn try_steal(&mut self) -> Result<T, StealError> {
        // A policy may try more often: that is for who has nothing else to do.
        for attempt in 0..self.others.len() {
            let Some((victim, block)) = self.choose(attempt) else { continue };
            let stealer = &self.members.stealers[victim];
            let stolen = block.map_or_else(|| stealer.steal(), |block| stealer.steal_in(block));
            match stolen {
                Ok(_) => self.policy.stole(victim),
                Err(_) => self.policy.missed(victim),
            }
            return stolen;
        }
        Err(StealError::Empty)
    }

    /// Whether all other owners are gone. Then it stays so; items may still be left.
    pub fn is_closed(&self) -> bool {
        self.others.iter().all(|&other| self.members.stealers[other].is_closed())
    }

    /// A victim, and the block if only that one is meant; nothing if the policy does not accept its own choice.
    #[inline]
    fn choose(&mut self, attempt: usize) -> Option<(usize, Option<usize>)> {
        let victims = Victims::new(&self.others, &self.near, &*self.members);
        let victim = self.policy.choose(&victims, attempt, &mut self.rng);
        match self.policy.accept(&victims, victim, &mut self.rng) {
            Accept::No => None,
            Accept::Oldest => Some((victim, None)),
            Accept::Block(block) => Some((victim, Some(block))),
        }
    }

    fn search<R>(
        &mut self,
        mut steal: impl FnMut(&Stealer<T>, Option<usize>) -> Result<R, StealError>,
    ) -> Result<R, StealError> {
        if self.others.is_empty() {
            return Err(StealError::Closed);
        }
        for attempt in 0..self.policy.tries(&Victims::new(&self.others, &self.near, &*self.members)) {
            let Some((victim, block)) = self.choose(attempt) else { continue };
            if let Ok(stolen) = steal(&self.members.stealers[victim], block) {
                self.policy.stole(victim);
                return Ok(stolen);
            }
            self.policy.missed(victim);
        }
        // Chance may have missed something. Not all thieves should begin at the same queue.
        let Self { members, others, rng, policy, .. } = self;
        let start = rng.below(others.len());
        let mut closed = true;
        let mut busy = false;
        for &victim in others[start..].iter().chain(&others[..start]) {
            match steal(&members.stealers[victim], None) {
                Ok(stolen) => {
                    policy.stole(victim);
                    return Ok(stolen);
                }
                Err(StealError::Closed) => {}
                Err(error) => {
                    closed = false;
                    busy |= error == StealError::Busy;
                }
            }
        }
        Err(match (busy, closed) {
            (true, _) => StealError::Busy,
            (false, true) => StealError::Closed,
            (false, false) => StealError::Empty,
        })
    }
}

impl<T, P: fmt::Debug> fmt::Debug for Thief<T, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Thief").field("others", &self.others).field("policy", &self.policy).finish_non_exhaustive()
    }
}
