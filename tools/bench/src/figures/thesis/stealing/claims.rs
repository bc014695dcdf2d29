//! The thesis' numbers of these figures as data, and ours beside them.

use super::ends::{ABP, ABP_SC, BBQ, FIFO, LIFO, PLAIN, PLAIN_RING};
use super::{Act, BWOS_SC, WORKERS};
use crate::report::verdict::{Claim, Verdict, shown};
use crate::worlds::seen::{Seen, range};

/// A third off the thesis' number at most comes out: a model has other prices than the thesis' machine, and what is stolen costs what a line does.
const WITHIN: f64 = 1.0 / 3.0;

const fn claim(figure: &'static str, what: &'static str, paper: f64) -> Claim {
    Claim::new(figure, what, paper, WITHIN)
}

const ABP_ALONE: Claim = claim("thesis/4.1", "alone, abp over a plain stack", 0.19).at_most();
const BBQ_ALONE: Claim = claim("thesis/4.1", "alone, bbq over a plain ring", 0.25).at_most();
const BWOS_ALONE: Claim = claim("thesis/4.1", "alone, bwos over a plain stack", 0.893);
const FIFO_ALONE: Claim = claim("thesis/4.1", "alone, bwos over a plain ring", 0.946);
/// By workload: what abp loses to a hundredth.
const ABP_LOSES: [(&str, Act, Claim); 3] = [
    ("a thief on the same die", Act::Steal, claim("thesis/4.1", "1 % stolen on the same die costs abp, %,", 17.8)),
    (
        "a thief on another socket",
        Act::Steal,
        claim("thesis/4.1", "1 % stolen from another socket costs abp, %,", 25.2),
    ),
    ("asked on another socket", Act::Ask, claim("thesis/4.1", "1 % asked from another socket costs abp, %,", 34.4)),
];
const LINES: &str = "who reads or writes a line costs its writer much, in either node; with 64 lines much less";

const OVER_ABP: [(u64, Claim); 2] = [
    (0, claim("thesis/4.9", "nothing stolen, bwos over abp", 4.55)),
    (10, claim("thesis/4.9", "10 % to be stolen, bwos over abp", 12.59)),
];
const BWOS_LOSES: Claim = claim("thesis/4.9", "20 % to be stolen costs bwos, %,", 0.53);
const ABP_LOSES_MORE: Claim = claim("thesis/4.9", "20 % to be stolen costs abp, %,", 71.9);
/// The thesis has other numbers of each kind of machine: x86, then ARM.
const WEAK_BWOS: [Claim; 2] = weak("weak barriers, bwos over bwos (sc)", [5.39, 3.38]);
const WEAK_ABP: [Claim; 2] = weak("weak barriers, abp (opt) over abp (sc)", [1.65, 2.03]);

const fn weak(what: &'static str, [x86, arm]: [f64; 2]) -> [Claim; 2] {
    [claim("thesis/4.9", what, x86), claim("thesis/4.9", what, arm)]
}

const OVER_BBQ: [(u64, Claim); 2] = [
    (0, claim("thesis/4.10", "nothing stolen, bwos over bbq", 8.9)),
    (10, claim("thesis/4.10", "10 % to be stolen, bwos over bbq", 11.2)),
];
const FIFO_LOSES: Claim = claim("thesis/4.10", "20 % to be stolen costs bwos, %,", 9.35);

const POOL_ALONE: Claim = claim("thesis/4.11", "a factor of 0 %, the best of bwos over abp", 4.69);
const POOL_MOST: Claim = claim("thesis/4.11", "a factor of more, the best of bwos over abp at most", 7.90);
const NUMA: Claim = claim("thesis/4.11", "numa over best of two at most", 2.21);
const BOTH: Claim = claim("thesis/4.11", "a factor of 100 %, probabilistic numa over numa", 1.34);

/// How many times the rate of the second contender the first has at that share.
fn times(seen: &Seen<'_>, workload: &str, [one, other]: [&str; 2], percent: u64) -> Option<f64> {
    let nanos = |contender| seen.nanos_of(workload, contender, &Act::Steal.aim(percent));
    Some(nanos(other)? / nanos(one)?)
}

/// How many percent of its rate with nothing stolen or asked a contender loses.
fn loss(seen: &Seen<'_>, workload: &str, contender: &str, act: Act, percent: u64) -> Option<f64> {
    let nanos = |percent| seen.nanos_of(workload, contender, &act.aim(percent));
    Some(100.0 * (1.0 - nanos(0)? / nanos(percent)?))
}

pub(super) fn of_4_1(seen: &Seen<'_>) -> Vec<Verdict> {
    let mut all = Vec::new();
    for (claim, workload, pair) in [
        (ABP_ALONE, "alone", [ABP.0, PLAIN.0]),
        (BWOS_ALONE, "alone", [LIFO.0, PLAIN.0]),
        (BBQ_ALONE, "FIFO, alone", [BBQ.0, PLAIN_RING.0]),
        (FIFO_ALONE, "FIFO, alone", [FIFO.0, PLAIN_RING.0]),
    ] {
        all.push(claim.verdict(times(seen, workload, pair, 0)));
    }
    for (workload, act, claim) in ABP_LOSES {
        all.push(claim.verdict(loss(seen, workload, ABP.0, act, 1)));
    }
    all.push(shown("thesis/4.1", "lines", LINES));
    all
}

pub(super) fn of_4_9(seen: &Seen<'_>) -> Vec<Verdict> {
    let workload = "LIFO";
    let mut all = Vec::new();
    for (percent, claim) in OVER_ABP {
        all.push(claim.verdict(times(seen, workload, [LIFO.0, ABP.0], percent)));
    }
    all.push(BWOS_LOSES.verdict(loss(seen, workload, LIFO.0, Act::Steal, 20)));
    all.push(ABP_LOSES_MORE.verdict(loss(seen, workload, ABP.0, Act::Steal, 20)));
    let machine = usize::from(seen.is_arm());
    all.push(WEAK_BWOS[machine].verdict(times(seen, workload, [LIFO.0, BWOS_SC], 0)));
    all.push(WEAK_ABP[machine].verdict(times(seen, workload, [ABP.0, ABP_SC.0], 0)));
    all
}

pub(super) fn of_4_10(seen: &Seen<'_>) -> Vec<Verdict> {
    let over = OVER_BBQ.map(|(percent, claim)| claim.verdict(times(seen, "FIFO", [FIFO.0, BBQ.0], percent)));
    let loses = FIFO_LOSES.verdict(loss(seen, "FIFO", FIFO.0, Act::Steal, 20));
    over.into_iter().chain([loses]).collect()
}

/// Of the LIFO queues. Where some of the eight workers would share a hardware thread, it is not the thesis' figure.
pub(super) fn of_4_11(seen: &Seen<'_>) -> Vec<Verdict> {
    let nanos = |contender: &str, factor: u64| {
        let all = seen.nanos_of("pool", contender, &format!("balancing factor {factor} %"));
        all.filter(|_| seen.threads() >= WORKERS)
    };
    let best_over_abp = |factor: u64| {
        let label = format!("balancing factor {factor} %");
        let of_bwos =
            seen.places(|one| one.workload == "pool" && one.label == label && one.contender.starts_with("bwos"));
        Some(nanos("abp, best of two", factor)? / range(of_bwos.into_iter().map(|at| seen.nanos(at)))?.0)
    };
    let over = |one, other, factor| Some(nanos(other, factor)? / nanos(one, factor)?);
    let most = |of: &dyn Fn(u64) -> Option<f64>| range([1, 10, 100].map(of)).map(|range| range.1);
    vec![
        POOL_ALONE.verdict(best_over_abp(0)),
        POOL_MOST.verdict(most(&best_over_abp)),
        NUMA.verdict(most(&|factor| over("bwos, numa", "bwos, best of two", factor))),
        BOTH.verdict(over("bwos, probabilistic numa", "bwos, numa", 100)),
    ]
}
