//! The search for an order, after J. Wing and C. Gong, *Testing and Verifying Concurrent Objects*, JPDC 1993, §5, with
//! the memory of G. Lowe, *Testing for Linearizability*, CCPE 2017, §3.2: what was tried from a set of calls and a
//! state is not tried again. Different from both: the order of calls is any partial order, not that of intervals; and
//! a call that is legal and changes nothing is taken at once, because that closes no way.

use super::{History, Specification};
use std::collections::HashSet;
use std::fmt;

/// No order of the calls explains their results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotLinearizable {
    /// The most calls that could be put in order, as their numbers.
    pub longest: Vec<usize>,
    /// Every call that could come next after those, none of which the specification allows.
    pub stuck: Vec<usize>,
    /// The history, printed.
    table: String,
    /// It is linearizable if each refusal is judged apart.
    apart: bool,
}

impl fmt::Display for NotLinearizable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "not linearizable: no order of these calls explains their results")?;
        write!(f, "{}", self.table)?;
        writeln!(f, "the longest order that does: {}", numbers(&self.longest))?;
        write!(f, "none of these can follow: {}", numbers(&self.stuck))?;
        if self.apart {
            write!(
                f,
                "\neach refusal alone has such an order, only all of them together have none: if the object promises no more, as one \
                 without sequentially consistent fences, check it by `linearizable_apart`"
            )?;
        }
        Ok(())
    }
}

impl std::error::Error for NotLinearizable {}

fn numbers(calls: &[usize]) -> String {
    let calls = calls.iter().map(|call| format!("#{call}")).collect::<Vec<_>>();
    if calls.is_empty() { "none".to_owned() } else { calls.join(" ") }
}

/// A set of calls.
type Set = Box<[u64]>;

/// A state on the way, and the ways on from it.
struct Step<S> {
    state: S,
    /// The calls that may come next.
    open: Vec<usize>,
    /// How many of them were tried.
    tried: usize,
    /// The call that led here; none at first.
    call: Option<usize>,
}

impl<O: fmt::Debug> History<O> {
    /// An order of all calls that `initial` explains, as their numbers.
    ///
    /// Exponential in the number of overlapping calls at worst; usually about square in the number of calls.
    pub fn linearize<S: Specification<Operation = O>>(&self, initial: S) -> Result<Vec<usize>, Box<NotLinearizable>> {
        self.search(initial.clone(), |_| true).map_err(|mut error| {
            let refuses = self.calls().iter().any(|call| initial.is_refusal(&call.operation));
            error.apart = refuses && self.linearize_apart(initial).is_ok();
            error
        })
    }

    /// Whether each [refusal](Specification::is_refusal) alone, together with all calls that are none, is explained by
    /// some order.
    ///
    /// Weaker than [`linearize`](Self::linearize), which asks for one order that explains all refusals. On weak memory
    /// two threads may each miss what the other did last: one finds the queue empty, the other finds it full, and there
    /// is an order for either answer but none for both.
    pub fn linearize_apart<S: Specification<Operation = O>>(&self, initial: S) -> Result<(), Box<NotLinearizable>> {
        let refuses = |call: usize| initial.is_refusal(&self.calls()[call].operation);
        self.search(initial.clone(), |call| !refuses(call))?;
        for refusal in (0..self.calls().len()).filter(|&call| refuses(call)) {
            self.search(initial.clone(), |call| call == refusal || !refuses(call))?;
        }
        Ok(())
    }

    /// An order that explains the calls that count; the others may stand anywhere, but keep order.
    fn search<S: Specification<Operation = O>>(
        &self,
        initial: S,
        counts: impl Fn(usize) -> bool,
    ) -> Result<Vec<usize>, Box<NotLinearizable>> {
        let calls = self.calls().len();
        let mut followers = vec![Vec::new(); calls];
        let mut waits = vec![0_usize; calls];
        for (number, call) in self.calls().iter().enumerate() {
            for &before in &call.after {
                followers[before].push(number);
                waits[number] += 1;
            }
        }
        let open = (0..calls).filter(|&call| waits[call] == 0).collect();
        let mut done: Set = vec![0; calls.div_ceil(64)].into();
        let mut met = HashSet::new();
        let mut order: Vec<usize> = Vec::new();
        let (mut longest, mut stuck) = (Vec::new(), Vec::new());
        let mut steps = vec![Step { state: initial, open, tried: 0, call: None }];
        while order.len() < calls {
            let Some(step) = steps.last_mut() else {
                return Err(Box::new(NotLinearizable { longest, stuck, table: self.table(), apart: false }));
            };
            let Some(&call) = step.open.get(step.tried) else {
                if order.len() > longest.len() || stuck.is_empty() {
                    (longest, stuck) = (order.clone(), step.open.clone());
                }
                if let Some(call) = step.call {
                    order.pop();
                    done[call / 64] &= !(1 << (call % 64));
                    followers[call].iter().for_each(|&follower| waits[follower] += 1);
                }
                steps.pop();
                continue;
            };
            step.tried += 1;
            let mut state = step.state.clone();
            if counts(call) && !state.apply(&self.calls()[call].operation) {
                continue;
            }
            if state == step.state {
                step.tried = step.open.len();
            }
            done[call / 64] |= 1 << (call % 64);
            if !met.insert((done.clone(), state.clone())) {
                done[call / 64] &= !(1 << (call % 64));
                continue;
            }
            let mut open = step.open.iter().copied().filter(|&other| other != call).collect::<Vec<_>>();
            for &follower in &followers[call] {
                waits[follower] -= 1;
                if waits[follower] == 0 {
                    open.push(follower);
                }
            }
            open.sort_unstable();
            order.push(call);
            steps.push(Step { state, open, tried: 0, call: Some(call) });
        }
        Ok(order)
    }

    /// The calls, one on a line.
    fn table(&self) -> String {
        let mut table = String::new();
        for (number, call) in self.calls().iter().enumerate() {
            let operation = format!("{:?}", call.operation);
            let after = numbers(&call.after);
            table += &format!("  #{number:<3} thread {:<3} {operation:<24} after {after}\n", call.thread);
        }
        table
    }
}
