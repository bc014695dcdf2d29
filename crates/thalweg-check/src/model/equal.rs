//! Equal threads: of the executions that differ in which of them is which, one is explored.
//!
//! Symmetry together with this sort of search is from M. Kokologiannakis, I. Marmanis, V. Vafeiadis, *SPORE: Combining Symmetry and
//! Partial Order Reduction*, PLDI 2024. Here it is an axiom more: of each orbit it leaves a graph, and it keeps what T2 needs.
//!
//! Each of the equal threads but the first has a *twin*, the one that was started right before it. The *counterpart* of an event is the event of
//! the twin in the same place, if all events before the two are *tied*: the same fences, marks and choices, and reads from the same
//! writes. So the two are the first that may differ.
//!
//! # Invariants
//!
//! - **E1** The counterpart comes before the event in `porf`. So what a revisit keeps has the counterpart of each event that it keeps, and a tie
//!   is not undone below a kept event.
//! - **E2** An event does not choose what comes before the choice of its counterpart: the write of a later place, or a read of the
//!   same or a later one; of choices the same or a lower one. But a read may read an older write that comes after its counterpart (E1).
//! - **E3** Whatever E2 says of two events, it says in each graph that has both; and what is maximal it never forbids, for an event is
//!   added after its counterpart. So T2 holds with E2 as an axiom. Each execution has an order of its threads that meets E2: one in which
//!   E1 has no cycle is that of any order of all events; and two neighbours that break E2 can change places without a cycle, as nothing but
//!   the tie leads from the one to the other.
//! - **E4** The starts of equal threads stand side by side in their parent, and so do their joins, if any: nothing tells the threads apart.
//!   Otherwise that is a violation. That the client does the same when they change places is tried, for some executions.

use super::explore::Explorer;
use super::graph::{EventId, Graph, Kind, Node};
use super::report::Rule;
use super::run::{Ending, Run, current_run};

/// Runs `starts`, and takes the threads that the calling thread starts in it for equal: it does not matter which is which, so
/// of executions that differ in nothing else only one is explored. With `n` equal threads there are up to `n!` times fewer.
///
/// That they are equal is for the client to see to: when two of them change places in an execution, the result has to be one as well, and
/// right if the first was. They run the same code; numbers that they are given may differ, if nobody treats one unlike another; assertions may
/// not ask which thread did something; nobody else joins one of them earlier than another. The checker does not take it on trust altogether: it lets
/// two threads change places in the first 64 executions and one in 64 of the others, and what is wrong then is reported, as
/// [`Rule::Unequal`] if there is no such execution. So an assertion that is asymmetric in every execution is found, and one that is so in a
/// few may be missed: [`Check::equal_threads`](super::Check::equal_threads) explores all.
///
/// A hook ([`Check::on_complete`](super::Check::on_complete)) sees the executions with exchanged threads, too.
///
/// Does nothing else outside of a [`Check`](super::Check).
///
/// ```
/// use thalweg_check::{Check, equal};
/// use thalweg_sync::{atomic::{AtomicU64, Ordering::Relaxed}, sync::Arc, thread};
///
/// let client = || {
///     let counter = Arc::new(AtomicU64::new(0));
///     let threads = equal(|| [(); 3].map(|()| {
///         let counter = counter.clone();
///         thread::spawn(move || counter.fetch_add(1, Relaxed))
///     }));
///     let mut tickets = threads.map(|thread| thread.join().unwrap());
///     tickets.sort();
///     assert_eq!(tickets, [0, 1, 2]);
/// };
/// assert_eq!(Check::new().check(client).complete, 1);
/// assert_eq!(Check::new().equal_threads(false).check(client).complete, 6);
/// ```
pub fn equal<R>(starts: impl FnOnce() -> R) -> R {
    /// As it was before, also when `starts` panics and somebody catches it.
    struct Restore<'a>(&'a Run, Option<Option<(u32, u32)>>);
    impl Drop for Restore<'_> {
        fn drop(&mut self) {
            if !self.0.is_passive() {
                self.0.state().thread_mut().equals = self.1;
            }
        }
    }
    let run = current_run().filter(|run| !run.is_passive());
    let _restore = run.map(|run| Restore(run, run.state().thread_mut().equals.replace(None)));
    starts()
}

impl Run {
    /// The running thread has started `child`, by the event `start`.
    pub(super) fn note_equal(&self, start: EventId, child: u32) -> Result<(), Ending> {
        let mut state = self.state();
        let Some(last) = &mut state.thread_mut().equals else { return Ok(()) };
        let Some((index, twin)) = last.replace((start.index, child)) else { return Ok(()) };
        if index + 1 != start.index {
            let between = EventId { index: start.index - 1, ..start };
            let why = format!("thread {} does something between their starts, at {}", start.thread, {
                state.explorer.graph.node(between).at
            });
            drop(state);
            return self.fail(Rule::Unequal { why });
        }
        if self.limits.equal && twin < child {
            state.explorer.graph.lines[child as usize].twin = Some(twin);
        }
        Ok(())
    }
}

/// Whether two events in the same place of equal threads leave open which thread comes first.
fn is_tied((one, other): (&Node, &Node)) -> bool {
    let same = (one.loc, one.rf) == (other.loc, other.rf);
    match (one.kind, other.kind) {
        (Kind::Read { exclusive: false, spurious, .. }, Kind::Read { exclusive: false, spurious: others, .. }) => {
            same && spurious == others
        }
        (Kind::Fence(_), Kind::Fence(_)) | (Kind::Mark(_), Kind::Mark(_)) => true,
        (Kind::Choose { .. }, Kind::Choose { .. }) | (Kind::Wake, Kind::Wake) => one.value == other.value,
        _ => false,
    }
}

/// Whether E2 says something of two events.
fn is_comparable(one: &Node, other: &Node) -> bool {
    one.loc == other.loc
        && matches!(
            (one.kind, other.kind),
            (Kind::Read { .. }, Kind::Read { .. })
                | (Kind::Write { .. }, Kind::Write { .. })
                | (Kind::Fence(_), Kind::Fence(_))
                | (Kind::Mark(_), Kind::Mark(_))
                | (Kind::Choose { .. }, Kind::Choose { .. })
                | (Kind::Wake, Kind::Wake)
        )
}

impl Graph {
    /// The counterpart of `id`, if it has one.
    #[inline]
    pub(super) fn counterpart(&self, id: EventId) -> Option<EventId> {
        let thread = self.lines[id.thread as usize].twin?;
        let [own, others] = [id.thread, thread].map(|thread| &self.lines[thread as usize].nodes[..]);
        let index = id.index as usize;
        let (event, other) = (&own[index], others.get(index)?);
        let is_first = other.stamp < event.stamp && is_comparable(event, other);
        (is_first && own[..index].iter().zip(others).all(is_tied)).then_some(EventId { thread, ..id })
    }

    /// Two equal threads; another pair for another `number`. None if there are none.
    pub(super) fn equals(&self, number: u64) -> Option<[u32; 2]> {
        let pairs = || (0..).zip(&self.lines).filter_map(|(thread, line)| Some([line.twin?, thread]));
        let count = pairs().count() as u64;
        number.checked_rem(count).and_then(|number| pairs().nth(number as usize))
    }

    /// The first of the equal threads of which `thread` is one.
    fn eldest(&self, mut thread: u32) -> u32 {
        while let Some(twin) = self.lines[thread as usize].twin {
            thread = twin;
        }
        thread
    }

    /// How a thread tells equal ones apart by its joins, if one does (E4).
    pub(super) fn tells_apart(&self) -> Option<String> {
        let group = |node: &Node| match node.kind {
            Kind::Join { child } => Some(self.eldest(child)),
            _ => None,
        };
        (0..).zip(&self.lines).find_map(|(thread, line)| {
            line.nodes.iter().enumerate().find_map(|(index, join)| {
                let eldest = group(join)?;
                let all = (0..self.lines.len() as u32).filter(|&other| self.eldest(other) == eldest).count();
                let side_by_side = |nodes: &mut dyn Iterator<Item = &Node>| {
                    let joins = nodes.take_while(|node| matches!(node.kind, Kind::Join { .. }));
                    joins.filter(|node| group(node) == Some(eldest)).count()
                };
                let (before, after) = line.nodes.split_at(index);
                let joined = side_by_side(&mut after.iter()) + side_by_side(&mut before.iter().rev());
                (joined < all)
                    .then(|| format!("thread {thread} does something between their joins, behind {}", join.at))
            })
        })
    }
}

impl Explorer {
    /// Whether `read` may read `from`, or fail without a reason doing so (E2).
    pub(super) fn is_in_order(&self, read: EventId, from: EventId, spurious: bool) -> bool {
        let Some(other) = self.graph.counterpart(read) else { return true };
        let theirs = self.graph.node(other);
        let Kind::Read { spurious: fails, .. } = theirs.kind else { unreachable!("it is the counterpart of a read") };
        let [own, others] =
            [(from, spurious), (theirs.rf, fails)].map(|(from, fails)| (self.graph.place(from), !fails));
        own >= others || self.comes_before(other, from)
    }

    fn comes_before(&self, one: EventId, other: EventId) -> bool {
        !other.is_init() && one.index < self.graph.node(other).porf.get(one.thread)
    }

    /// The first place where `write` may stand behind what is there (E2).
    pub(super) fn first_in_order(&self, write: EventId) -> usize {
        self.graph.counterpart(write).map_or(0, |other| self.graph.place(other))
    }

    /// The first place where `write`, which has none yet, may stand behind what is there when `read` reads it (E2).
    pub(super) fn first_to_be_read(&self, read: EventId, write: EventId) -> usize {
        let other = self.graph.counterpart(read).filter(|&other| !self.comes_before(other, write));
        other.map_or(0, |other| self.graph.place(self.graph.node(other).rf))
    }

    /// The last value that a choice may be (E2).
    pub(super) fn last_in_order(&self, choice: EventId) -> Option<u32> {
        self.graph.counterpart(choice).map(|other| self.graph.node(other).value as u32)
    }
}
