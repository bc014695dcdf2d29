//! `ff/figure8`: what an operation costs with stages of some length and queues of some size.

use serde_json::json;

use super::looped::{Looped, stages};
use super::noise::WORK;
use crate::harness::Role::{self, *};
use crate::harness::{BoxError, Contender, Effort, Experiment, Group, Sample};
use crate::queues::contenders::*;
use crate::queues::one_to_one::Ends;
use crate::queues::stamps::Clock;

/// The entry for the registry.
pub(crate) const EXPERIMENT: Experiment = Experiment { name: "ff/figure8", plan };

const POINTS: &[&str] = &["0", "50", "100", "200", "400", "800"];

fn plan(effort: &Effort) -> Result<Vec<Group>, BoxError> {
    let iterations = effort.messages(120_000);
    let group = |workload, entries| {
        let contenders = vec![
            contender::<FastForward>(Ours, "thalweg-fast-forward", entries, iterations),
            contender::<Fenced<FastForward>>(Ours, "thalweg-fast-forward, fenced", entries, iterations),
            contender::<Lamport>(Ours, "thalweg-lamport", entries, iterations),
            contender::<Fenced<Lamport>>(Ours, "thalweg-lamport, fenced", entries, iterations),
            contender::<Locked>(Ours, "thalweg-locked", entries, iterations),
        ];
        Group::sweep(workload, "ns of work of each stage", "ns/operation", POINTS, contenders)
    };
    Ok(vec![
        group("128 entries", 128),
        group("192 entries", 192),
        group("256 entries", 256),
        group("2048 entries", 2048),
    ])
}

fn contender<Q: Ends>(role: Role, name: &str, entries: usize, iterations: u64) -> Contender {
    let params = json!({ "iterations": iterations, "entries": entries, "stages": stages(), "threads": "a CPU each" });
    Contender::new(role, name, params, move || {
        let clock = Clock::new();
        let cost = |nanos| Looped::balanced(entries, iterations, nanos).cost::<Q>(&clock);
        Ok(Sample { figures: WORK.into_iter().map(cost).collect::<Result<_, _>>()?, cpus: None })
    })
}

/// A queue with a store fence before each push, which a machine of weaker order would need (section 5.3).
struct Fenced<Q>(std::marker::PhantomData<fn() -> Q>);

impl<Q: Ends> Ends for Fenced<Q> {
    type Tx = Q::Tx;
    type Rx = Q::Rx;

    fn build(capacity: usize) -> (Q::Tx, Q::Rx) {
        Q::build(capacity)
    }

    #[inline(always)]
    fn push(tx: &mut Q::Tx, value: u64) -> bool {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: every processor of this architecture has the instruction, which only orders stores.
        unsafe {
            core::arch::x86_64::_mm_sfence();
        }
        #[cfg(not(target_arch = "x86_64"))]
        std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
        Q::push(tx, value)
    }

    #[inline(always)]
    fn pop(rx: &mut Q::Rx) -> Option<u64> {
        Q::pop(rx)
    }
}
