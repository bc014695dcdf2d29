//! Figures of the thesis on block-based queues, with its words beside them.

mod claims;

use self::claims::{Better, by_latency, by_rate, gains};
use thalweg_queue::Yield;
use thalweg_queue::research::faaq::{Bbq, Faaq};
use thalweg_queue::research::tube::{self, Tube, ring, scqd::Scqd};
use thalweg_queue::{
    research::{cnq, lamport},
    spsc,
};

use crate::baselines::lprq::{self, Lprq};
use crate::baselines::michael_scott::Boost;
use crate::baselines::sp_ring::SpRing;
use crate::baselines::ticket_ring::{self, ticket_ring};
use crate::figures::own::queues::{
    CAPACITY, Contender, FILL, Item, RIGHT, Receiving, Sending, UNFAIR, WAITS, cloned, most, point, sides, single,
    steps, unclosed,
};
use crate::figures::thesis::memory::{BSQ, relaxed};
use crate::worlds::experiment::{Base, EVERY, Experiment, NANOS, Panel, RATE, Says, Setting, said};
use crate::worlds::point::{L1_MISSES, LATENCY, Point, Run};
use crate::worlds::seen::Seen;

/// Messages of a point with one thread on a side; with more, each has fewer.
const MESSAGES: u64 = 8_000;

pub(crate) const EXPERIMENTS: [Experiment; 7] = [
    Experiment::new("thesis/2.8", figure_2_8)
        .here(&[NANOS, UNFAIR])
        .panels(&[Panel::Rate, Panel::Of(L1_MISSES), Panel::Of(LATENCY)])
        .note(|unit, workload| the_thesis(&[(RATE, SAYS_2_8)], unit, workload))
        .paper(|points, measured| beside(SAYS_2_8, points, measured))
        .verdicts(claims::of_2_8),
    Experiment::new("thesis/2.9", figure_2_9)
        .here(&[NANOS, UNFAIR])
        .panels(&[Panel::Rate, Panel::Of(L1_MISSES), Panel::Of(LATENCY), Panel::Of(UNFAIR), Panel::Of(WAITS[1])])
        .note(|unit, workload| the_thesis(&[(RATE, SAYS_2_9), (LATENCY, SAYS_2_9_LATENCY)], unit, workload))
        .paper(|points, measured| {
            beside(SAYS_2_9, points, measured) + &ratios("latency", &by_latency, SAYS_2_9_LATENCY, points, measured)
        })
        .verdicts(claims::of_2_9),
    Experiment::new("thesis/2.9-over", oversubscribed)
        .here(&[NANOS, UNFAIR])
        .note(|unit, workload| the_thesis(&[(RATE, SAYS_2_9_OVER)], unit, workload))
        .paper(|points, measured| {
            let shortest = measured.iter().flatten().map(|(figures, _)| figures.nanos).min().unwrap_or(0);
            format!("what was measured took {} ms at least\n", shortest / 1_000_000)
                + &beside(SAYS_2_9_OVER, points, measured)
        })
        .verdicts(claims::of_2_9_over),
    Experiment::new("thesis/3.7", figure_3_7)
        .here(&[NANOS, UNFAIR])
        .note(|unit, workload| the_thesis(&[(RATE, SAYS_3_7)], unit, workload))
        .paper(|points, measured| beside(SAYS_3_7, points, measured))
        .verdicts(claims::of_3_7),
    Experiment::new("thesis/3.8", figures_3_8_and_3_9)
        .here(&[NANOS, UNFAIR])
        .panels(&[Panel::Rate, Panel::SpeedUp(OVER_ALONE)])
        .note(|unit, workload| the_thesis(&[(OVER_ALONE.unit, &[(EVERY, SAYS_3_8)])], unit, workload))
        .paper(gain_of_cnq)
        .verdicts(claims::of_3_8),
    Experiment::new("thesis/3.10", figure_3_10)
        .here(&[NANOS, UNFAIR])
        .note(|unit, workload| the_thesis(&[(RATE, SAYS_3_10)], unit, workload))
        .paper(|points, measured| beside(SAYS_3_10, points, measured))
        .verdicts(claims::of_3_10),
    Experiment::new("thesis/3.11", figure_3_11)
        .panels(&[Panel::Distribution, Panel::Of(LATENCY), Panel::Of(FILL)])
        .note(|unit, workload| the_thesis(&[(LATENCY, SAYS_3_11)], unit, workload))
        .paper(latencies)
        .verdicts(claims::of_3_11),
];

fn the_thesis(says: &[(&str, Says)], unit: &str, workload: &str) -> String {
    said("The thesis", says, unit, workload)
}

/// A queue that is a tube.
fn over<Q: Tube<Item = Item> + 'static>(name: &'static str, capacity: usize, make: fn(usize) -> Q) -> Contender {
    Contender::new(name, capacity, move |producers, consumers| {
        let (tx, rx) = tube::with_wait(make(capacity), Yield);
        cloned(&tx, &rx, producers, consumers)
    })
}

fn dpdk(capacity: usize) -> Contender {
    over("dpdk-style", capacity, |capacity| ring::Mt::new(capacity).expect(RIGHT))
}

fn scqd(capacity: usize) -> Contender {
    over("scqd", capacity, |capacity| Scqd::new(capacity).expect(RIGHT))
}

fn faaq(capacity: usize) -> Contender {
    over("faaq", capacity, |capacity| Faaq::with_room(capacity).expect(RIGHT))
}

fn tube_bbq(capacity: usize) -> Contender {
    over("bbq", capacity, |capacity| Bbq::with_room(capacity).expect(RIGHT))
}

/// The ring of the Linux kernel, as the thesis has it in user space.
fn linux(capacity: usize) -> Contender {
    Contender::new("linux-style", capacity, move |producers, consumers| {
        let (tx, rx) = ticket_ring(capacity);
        // A push waits for room within its lock, in one attempt.
        let push = |tx: ticket_ring::Producer| -> Sending {
            Box::new(move |item, attempt| {
                attempt();
                tx.push(item.get());
            })
        };
        let pop = |rx: ticket_ring::Consumer| -> Receiving { Box::new(move || rx.pop().and_then(Item::new)) };
        ((0..producers).map(|_| push(tx.clone())).collect(), (0..consumers).map(|_| pop(rx.clone())).collect())
    })
}

/// Boost's bounded queue.
pub(crate) fn boost(capacity: usize) -> Contender {
    Contender::new("boost-style", capacity, move |producers, consumers| {
        let queue = Boost::<1>::new(capacity);
        let ends = (vec![queue.clone(); producers], vec![queue; consumers]);
        unclosed(
            ends,
            |queue, item| queue.try_push(&[item.get()]),
            |queue| queue.try_pop().and_then(|[item]| Item::new(item)),
        )
    })
}

/// What stands for LCRQ. It has no capacity: `capacity` is what the others hold, for the number of messages.
fn lprq(capacity: usize) -> Contender {
    Contender::new("lprq", capacity, |producers, consumers| {
        let queue = Lprq::new(lprq::CELLS);
        let ends = (vec![queue.clone(); producers], vec![queue; consumers]);
        let push = |queue: &mut Lprq, item: Item| {
            queue.push(item.get());
            true
        };
        unclosed(ends, push, |queue| queue.pop().and_then(Item::new))
    })
}

fn of_cnq(name: &'static str, capacity: usize, k: usize) -> Contender {
    Contender::new(name, capacity, move |producers, consumers| {
        let (tx, rx) = cnq::cnq_with_wait(capacity, k, Yield).expect(RIGHT);
        cloned(&tx, &rx, producers, consumers)
    })
}

/// BBQ for one and one.
fn bbq_spsc() -> Contender {
    Contender::new("bbq", CAPACITY, |_, _| {
        let (tx, rx) = spsc::with_wait(8, CAPACITY / 8, Yield).expect(RIGHT);
        single(tx, rx)
    })
}

/// Folly's ring for one and one looks at the other side's index in every operation, as Lamport's does: it is that.
fn folly() -> Contender {
    Contender::new("folly-style", CAPACITY, |_, _| {
        let (tx, rx) = lamport::with_wait::<_, _, lamport::Plain>(CAPACITY, Yield).expect(RIGHT);
        single(tx, rx)
    })
}

/// DPDK's ring in its form for one and one.
fn dpdk_sp() -> Contender {
    Contender::new("dpdk-style, SP/SC", CAPACITY, |_, _| {
        let ring = SpRing::new(CAPACITY);
        let ends = (vec![ring.clone()], vec![ring]);
        unclosed(ends, |ring, item| ring.try_push(item.get()), |ring| ring.try_pop().and_then(Item::new))
    })
}

/// Figure 2.8: one to one, in both workloads; who has a form for that takes it, as there.
fn figure_2_8(setting: &Setting<'_>) -> Vec<Point> {
    let shared = Contender::bbq("bbq, shared", CAPACITY);
    let [folly, dpdk, scqd, linux, boost] = [folly(), dpdk_sp(), scqd(CAPACITY), linux(CAPACITY), boost(CAPACITY)];
    let contenders = [bbq_spsc(), shared, Contender::printed(CAPACITY), folly, dpdk, scqd, linux, boost];
    let one = |workload: &'static str, contender: &Contender| {
        let (label, sides) = ("1P1C".to_owned(), (vec![0], vec![1]));
        point(setting, workload, contender, label, sides, setting.part(5 * MESSAGES, 1))
    };
    let simple = contenders.iter().map(|contender| one("SPSC", contender));
    simple.chain(contenders.iter().map(|contender| one("SPSC, complex", &contender.clone().complex()))).collect()
}

/// Points at which many threads are on one side or on both, so many on each side.
pub(crate) fn many(
    setting: &Setting<'_>,
    contenders: &[Contender],
    workloads: &[&'static str],
    at: fn(usize) -> Vec<usize>,
) -> Vec<Point> {
    let mut points = Vec::new();
    for &workload in workloads {
        for contender in contenders {
            for n in at(most(workload, setting.threads)) {
                let (label, sides) = sides(workload, n, setting.threads);
                // Where a contender collapses, a message costs hundreds of accesses, and with more threads than there are hardware
                // threads, time slices.
                let each = if n < setting.threads { setting.part(100, 20) } else { setting.part(20, 4) };
                // Four times what fits: the quarter that is not measured fills the queue. Quick runs do not get that far.
                let fills = setting.part(4 * contender.capacity as u64, 1);
                let few = setting.part(MESSAGES, 1) / n.min(8) as u64;
                let messages = (each * n as u64).max(fills).max(few);
                points.push(point(setting, workload, contender, label, sides, messages));
            }
        }
    }
    points
}

/// 1, 2, 4 … and as many as there can be.
fn doubled(most: usize) -> Vec<usize> {
    steps(most).into_iter().filter(|n| n.is_power_of_two() || *n == most).collect()
}

fn bounded(capacity: usize) -> [Contender; 6] {
    let (ours, printed) = (Contender::bbq("bbq", capacity), Contender::printed(capacity));
    [ours, printed, scqd(capacity), dpdk(capacity), linux(capacity), boost(capacity)]
}

/// Messages that a queue holds where it is asked how long they are in it.
const SHORT: usize = 128;

fn figure_2_9(setting: &Setting<'_>) -> Vec<Point> {
    let mut points = many(setting, &bounded(CAPACITY), &["NP1C", "1PNC"], doubled);
    let complex = |capacity| bounded(capacity).map(Contender::complex);
    points.extend(many(setting, &complex(CAPACITY), &["NP1C, complex", "1PNC, complex"], doubled));
    points.extend(many(
        setting,
        &complex(SHORT),
        &["NP1C, complex, 128 entries", "1PNC, complex, 128 entries"],
        doubled,
    ));
    points
}

/// Time slices of an oversubscribed run: in a few of them, threads would end before anybody was preempted.
const SLICES: u64 = if cfg!(test) { 1 } else { 30 };

/// Twice to five times as many threads as there are hardware threads.
fn oversubscribed(setting: &Setting<'_>) -> Vec<Point> {
    // With about the messages that each brings through in a slice of 3 ms; the text below the table says how long runs took.
    let [bbq, printed, scqd, dpdk, linux, boost] = bounded(CAPACITY);
    let contenders = [(bbq, 100_000), (printed, 20_000), (scqd, 45_000), (dpdk, 1_000), (linux, 1_000), (boost, 6_000)];
    let mut points = Vec::new();
    for workload in ["NP1C", "1PNC"] {
        for (contender, slice) in &contenders {
            for times in 2..=5 {
                let n = times * setting.threads - 1;
                let (label, sides) = sides(workload, n, setting.threads);
                let messages = setting.part(SLICES * slice, 4 * n as u64);
                points.push(point(setting, workload, contender, label, sides, messages));
            }
        }
    }
    points
}

/// Figure 3.7: the four tubes as FIFO queues.
fn figure_3_7(setting: &Setting<'_>) -> Vec<Point> {
    let tubes = [faaq, tube_bbq, Contender::printed, scqd, dpdk].map(|of| of(CAPACITY));
    many(setting, &tubes, &["NP1C", "1PNC", "NPNC"], doubled)
}

/// Figure 3.10: CNQ beside queues that are FIFO and [relaxed ones](relaxed), all of which count among the others, as there. The thesis' queues have a megabyte, which a k of 10^4 needs. DPDK's ring, and SCQD with many
/// consumers, miss fifty times for a message and more, which would take too long there. With many producers SCQD misses five times, and may be the
/// best of the others.
fn figure_3_10(setting: &Setting<'_>) -> Vec<Point> {
    let mut contenders = with_cnq([1000, 100], CAPACITY).to_vec();
    contenders.push(lprq(CAPACITY));
    contenders.extend(relaxed(CAPACITY));
    let mut points = many(setting, &contenders, &["NP1C", "1PNC", "NPNC"], doubled);
    let all = of_a_megabyte();
    let [without_scqd @ .., _] = &all;
    points.extend(many(setting, &all, &["NP1C, 1 MB"], doubled));
    points.extend(many(setting, without_scqd, &["1PNC, 1 MB", "NPNC, 1 MB"], doubled));
    points
}

/// Messages of eight bytes in a megabyte.
const MEGABYTE: usize = 131_072;

/// Of those with a megabyte, CNQ first and SCQD last.
pub(crate) fn of_a_megabyte() -> [Contender; 10] {
    let [large, small] = [("cnq, k 10000", 10_000), ("cnq, k 1000", 1000)].map(|(name, k)| of_cnq(name, MEGABYTE, k));
    let (bbq, printed) = (Contender::bbq("bbq", MEGABYTE), Contender::printed(MEGABYTE));
    let [bsq, radq, lldq] = relaxed(MEGABYTE);
    [large, small, faaq(MEGABYTE), bbq, printed, lprq(MEGABYTE), bsq, radq, lldq, scqd(MEGABYTE)]
}

/// CNQ with each k, and queues that are FIFO.
fn with_cnq(ks: [usize; 2], capacity: usize) -> [Contender; 7] {
    let cnq = |k| {
        let name = match k {
            1000 => "cnq, k 1000",
            100 => "cnq, k 100",
            _ => "cnq, k 32",
        };
        of_cnq(name, capacity, k)
    };
    let [large, small] = ks.map(cnq);
    let (ours, printed) = (Contender::bbq("bbq", capacity), Contender::printed(capacity));
    [large, small, faaq(capacity), ours, printed, scqd(capacity), dpdk(capacity)]
}

/// Messages that a queue holds in Figures 3.8 and 3.9, so that the capsules of the largest k fit in twice.
const ROOM: usize = 8192;
const KS: [usize; 4] = [32, 256, 1024, 4096];
/// Threads of a side that has many, where k allows all of them: besides, as many as the machine has.
const MANY: usize = 16;

/// A tube by itself for so many messages, and CNQ over it with that k for so many threads on a side.
type Tubes = (fn(usize) -> Contender, fn(usize, usize) -> Contender);

const TUBES: [Tubes; 4] = [
    (dpdk, |k, n| nested("dpdk-style", k, n, |slots| ring::Mt::new(slots).expect(RIGHT))),
    (scqd, |k, n| nested("scqd", k, n, |slots| Scqd::new(slots).expect(RIGHT))),
    (tube_bbq, |k, n| nested("bbq", k, n, |slots| Bbq::with_room(slots).expect(RIGHT))),
    (faaq, |k, n| nested("faaq", k, n, |slots| Faaq::with_room(slots).expect(RIGHT))),
];

fn nested<Q: Tube<Item = u32> + 'static>(name: &'static str, k: usize, n: usize, make: fn(usize) -> Q) -> Contender {
    // Each producer may have a capsule open, and so may each consumer.
    let entries = (k / (2 * n)).clamp(1, ROOM / 8);
    let slots = ROOM / entries;
    Contender::new(name, ROOM, move |producers, consumers| {
        let (tx, rx) = cnq::with_wait(make(slots), slots, entries, k, Yield).expect(RIGHT);
        cloned(&tx, &rx, producers, consumers)
    })
}

/// Figures 3.8 and 3.9: each tube alone, and with CNQ over it. As there, k is at least the number of producers or consumers.
fn figures_3_8_and_3_9(setting: &Setting<'_>) -> Vec<Point> {
    let mut points = Vec::new();
    for workload in ["NP1C", "1PNC", "NPNC"] {
        let most = most(workload, setting.threads);
        let mut numbers = vec![MANY.min(most), most];
        numbers.dedup();
        for n in numbers {
            for (alone, with) in TUBES {
                let mut add = |contender: &Contender, label: String| {
                    let (at, sides) = sides(workload, n, setting.threads);
                    let messages = setting.part(5 * MESSAGES, 20 * n as u64);
                    let mut point = point(setting, workload, contender, label, sides, messages);
                    point.params["at"] = at.into();
                    points.push(point);
                };
                add(&alone(ROOM), ALONE.to_owned());
                KS.iter().filter(|&&k| k >= n).for_each(|&k| add(&with(k, n), format!("k {k}")));
            }
        }
    }
    points
}

/// The label of a tube by itself.
const ALONE: &str = "alone";
const OVER_ALONE: Base = Base {
    unit: "times as fast as the tube alone",
    is: |of, other| other.label == ALONE && other.contender == of.contender,
};

/// Figure 3.11: eight threads. How long a message is in the queue follows from how full that is, so chapter 2 asks it of queues for
/// about 128 messages, in the workload *complex* (section 2.6.2). Chapter 3 says nothing of either, and has k above 128: so both. Of the
/// relaxed queues, BSQ is shown and not compared with, as the thesis leaves it out for "a potential bug".
fn figure_3_11(setting: &Setting<'_>) -> Vec<Point> {
    let all = |ks, capacity| -> Vec<Contender> {
        with_cnq(ks, capacity).into_iter().chain(relaxed(capacity)).map(Contender::complex).collect()
    };
    let (large, short) = (all([1000, 100], CAPACITY), all([100, 32], SHORT));
    let eight = |contenders: &[Contender], workloads: &[&'static str]| {
        let sides = |most: usize| vec![most.min(7)];
        many(setting, contenders, workloads, sides)
    };
    let four = |contenders: &[Contender], workload| many(setting, contenders, &[workload], |most| vec![most.min(4)]);
    let mut points = eight(&short, &["NP1C, 128 entries", "1PNC, 128 entries"]);
    points.extend(four(&short, "NPNC, 128 entries"));
    points.extend(eight(&large, &["NP1C", "1PNC"]));
    points.extend(four(&large, "NPNC"));
    points
}

/// What the thesis says of each workload: the first contender over the best of the others, at most; as the workload, or
/// the contender if a part is one workload only.
const SAYS_2_8: Says = &[
    ("SPSC", "11.3 times the second best, Folly's, up to 42.4 times the others"),
    ("SPSC, complex", "2 times the second best, Folly's"),
];
const SAYS_2_9: Says = &[
    ("NP1C", "up to 10.13 times the second best"),
    ("1PNC", "up to 1.88 times the second best"),
    ("NP1C, complex", "up to 3.65 times the second best"),
    ("1PNC, complex", "up to 2.39 times the second best"),
];
const SAYS_2_9_LATENCY: Says = &[
    ("NP1C, complex, 128 entries", "up to 17.22 times the second best"),
    ("1PNC, complex, 128 entries", "scqd up to 7.45 times bbq"),
];
const SAYS_2_9_OVER: Says =
    &[("NP1C", "with more threads than 12, 2.22 times the second best"), ("1PNC", "1.23 times")];
const SAYS_3_7: Says = &[
    ("NP1C", "up to 1.4 times the second best"),
    ("1PNC", "up to 4.5 times the second best"),
    ("NPNC", "up to 1.6 times the second best"),
];
const SUPERIOR: &str = "cnq superior to the others, more with larger k";
const SAYS_3_10: Says = &[
    ("NP1C", SUPERIOR),
    ("1PNC", SUPERIOR),
    ("NPNC", SUPERIOR),
    ("NP1C, 1 MB", "with k 10^4 6.6 times the second best"),
    ("1PNC, 1 MB", "with k 10^4 14.5 times the second best"),
    ("NPNC, 1 MB", "with k 10^4 6.0 times the second best"),
];
const SAYS_3_8: &str = "over all numbers of threads, faaq up to 3.9 with k 2^8 and 21.1 with 2^12 in NPNC; dpdk up to 1055, 110 and 1752 in\n\
                        NP1C, 1PNC, NPNC; scqd little with small k; most in NPNC, then NP1C, least in 1PNC";
/// The best of the others over the best of CNQ.
const SAYS_3_11: Says = &[
    ("NP1C, 128 entries", "cnq up to 7.9 times less"),
    ("1PNC, 128 entries", "cnq up to 1.3 times less"),
    ("NPNC, 128 entries", "cnq up to 79.4 times less"),
    ("NP1C", "cnq up to 7.9 times less"),
    ("1PNC", "cnq up to 1.3 times less"),
    ("NPNC", "cnq up to 79.4 times less"),
];

/// The first contender's rate beside the others'.
fn beside(says: &[(&str, &str)], points: &[Point], measured: &[Vec<Run>]) -> String {
    ratios("rate", &by_rate, says, points, measured) + "\n"
}

/// The first contender's figure over the best other's, per workload, beside what the thesis says.
fn ratios(what: &str, better: &Better, says: &[(&str, &str)], points: &[Point], measured: &[Vec<Run>]) -> String {
    let seen = Seen::all(points, measured, false);
    let mut text = format!("{what}: how much better the first contender is than the best of the others\n");
    for (workload, says) in says {
        let Some(ratios) = gains(better, workload, &seen) else { continue };
        let most = ratios.iter().copied().fold((0.0, ""), |most, one| if one.0 > most.0 { one } else { most });
        let least = ratios.iter().copied().fold(most, |least, one| if one.0 < least.0 { one } else { least });
        text += &format!(
            "{workload:20}{:>8.2} at most, at {}; {:.2} at least, at {}. The thesis: {says}\n",
            most.0, most.1, least.0, least.1
        );
    }
    text
}

/// Each tube's rate with CNQ over it, over its rate alone.
fn gain_of_cnq(points: &[Point], measured: &[Vec<Run>]) -> String {
    let mut text = format!("{:24}", "with CNQ over alone");
    KS.iter().for_each(|k| text += &format!("{:>10}", format!("k {k}")));
    let nanos = |at: usize| points[at].nanos(&measured[at]).median;
    let mut alone = 0;
    for (at, point) in points.iter().enumerate() {
        if point.label == ALONE {
            alone = at;
            text += &format!("\n{:8}{:16}", point.params["at"].as_str().unwrap_or_default(), point.contender);
            // Of the smallest k there may be none.
            let ks = points[at + 1..].iter().take_while(|next| next.label != ALONE).count();
            text += &" ".repeat(10 * (KS.len() - ks));
        } else {
            text += &format!("{:>10.2}", nanos(alone) / nanos(at));
        }
    }
    text + "\nThe thesis: " + SAYS_3_8 + "\n\n"
}

/// The distribution of the time in the queue; the best of CNQ beside the best of the others by its mean, and how full either was.
fn latencies(points: &[Point], measured: &[Vec<Run>]) -> String {
    let mut text = String::from("so many percent of the messages are in the queue for so many ns at most\n");
    for (at, (point, runs)) in points.iter().zip(measured).enumerate() {
        let Some(shares) = point.distribution(runs) else { continue };
        if at == 0 {
            text += &format!("{:32}{}\n", "", shares.map(|(percent, _)| format!("{percent:>10}")).concat());
        }
        let name = format!("{}, {}", point.workload, point.contender);
        text += &format!("{name:32}{}\n", shares.map(|(_, nanos)| format!("{:>10.0}", nanos.median)).concat());
    }
    text += "\nmessages are in the queue for so long, and so many are in it, both in the mean\n";
    for (workload, says) in SAYS_3_11 {
        let best = |is_cnq: bool| {
            let fits = |at: &usize| {
                let Point { workload: of, contender, .. } = points[*at];
                of == *workload && contender.starts_with("cnq") == is_cnq && contender != BSQ
            };
            let figure = |at: usize, unit| points[at].figure(&measured[at], unit).unwrap_or(f64::NAN);
            let all = (0..points.len()).filter(fits).map(|at| (figure(at, LATENCY), figure(at, FILL), at));
            all.min_by(|one, other| one.0.total_cmp(&other.0)).expect("every workload has both kinds")
        };
        let (mine, other) = (best(true), best(false));
        let says_of =
            |(nanos, fill, at): (f64, f64, usize)| format!("{:12}{nanos:>9.0} ns{fill:>9.1}", points[at].contender);
        text += &format!(
            "{workload:20}{};  {}: {:.2} times. The thesis: {says}\n",
            says_of(mine),
            says_of(other),
            other.0 / mine.0
        );
    }
    text + "\n"
}

#[cfg(all(test, feature = "machines"))]
mod tests {
    use super::*;
    use thalweg_sim::Machine;

    #[test]
    fn every_figure_runs_on_a_small_part_of_a_machine() {
        let machine = Machine::named("x86-88t").unwrap();
        for experiment in &EXPERIMENTS {
            let points = (experiment.plan)(&Setting::of(&machine, 4));
            let run = |point: &Point| vec![point.run(&machine, 0).unwrap_or_else(|e| panic!("{}: {e}", point.title()))];
            let measured: Vec<Vec<Run>> = points.iter().map(run).collect();
            let text = (experiment.paper)(&points, &measured);
            assert!(text.contains("The thesis"), "{}: {text}", experiment.name);
            assert_eq!(run(&points[0]), measured[0], "{}: the same again", experiment.name);
        }
    }

    /// Figure 2.8's shape: whoever shares lines item by item is several times slower.
    #[test]
    fn one_to_one_blocks_are_several_times_as_fast_as_rings() {
        let machine = Machine::named("x86-88t").unwrap();
        let contenders = [bbq_spsc(), folly(), dpdk_sp()];
        let [blocks, rings @ ..] = contenders.map(|contender| {
            let sides = (vec![0], vec![1]);
            point(&Setting::of(&machine, 2), "SPSC", &contender, String::new(), sides, 12_000).nanos_on(&machine)
        });
        for ring in rings {
            assert!(ring / blocks > 3.0, "{ring:.1} ns for a message of a ring, {blocks:.1} of blocks");
        }
    }

    /// Figure 3.9's shape.
    #[test]
    fn capsules_make_a_tube_several_times_as_fast() {
        let machine = Machine::named("x86-88t").unwrap();
        let (alone, with) = TUBES[3];
        let [alone, with] = [alone(ROOM), with(4096, MANY)].map(|contender| {
            let (label, sides) = sides("NPNC", MANY, 2 * MANY);
            // A few capsules for each producer.
            let messages = 4 * 128 * MANY as u64;
            point(&Setting::of(&machine, 2 * MANY), "NPNC", &contender, label, sides, messages).nanos_on(&machine)
        });
        assert!(alone / with > 4.0, "{alone:.1} ns for a message alone, {with:.1} with capsules");
    }
}
