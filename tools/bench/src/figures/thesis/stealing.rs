//! Work-stealing queues: the thesis' Figures 4.1, 4.9, 4.10 and 4.11.

mod claims;
pub(crate) mod ends;

use serde_json::json;
#[cfg(feature = "machines")]
use thalweg_queue::edges::table::{self, Strength, Table};
use thalweg_queue::stealing::{self, BestOf, Last, Near, Policy, Pool, Probabilistic, Random, Sequential, Stealer};
use thalweg_sync::atomic::AtomicU64;
use thalweg_sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use thalweg_sync::{CachePadded, spin, time};

use self::ends::{ABP, ABP_SC, BBQ, Contender, Ends, FIFO, LIFO, Owner, PLAIN, PLAIN_RING, READ, Thief, WRITTEN};
use crate::figures::own::queues::RIGHT;
use crate::worlds;
use crate::worlds::experiment::{EVERY, Experiment, NANOS, Panel, RATE, Setting, said};
use crate::worlds::point::{Figures, Point, Role, Run, together};

pub(crate) const EXPERIMENTS: [Experiment; 4] = [
    Experiment::new("thesis/4.1", figure_4_1)
        .here(&[NANOS, ASKED_UNIT])
        .panels(&[Panel::Rate])
        .note(|unit, workload| said("The thesis", &[(RATE, &[(EVERY, SAYS_4_1)])], unit, workload))
        .paper(|points, measured| beside(SAYS_4_1, points, measured))
        .verdicts(claims::of_4_1),
    Experiment::new("thesis/4.9", figure_4_9)
        .here(&[NANOS, STOLEN_UNIT])
        .note(|unit, workload| said("The thesis", &[(RATE, &[(EVERY, SAYS_4_9)])], unit, workload))
        .paper(|points, measured| beside(SAYS_4_9, points, measured))
        .verdicts(claims::of_4_9),
    Experiment::new("thesis/4.10", figure_4_10)
        .here(&[NANOS, STOLEN_UNIT])
        .note(|unit, workload| said("The thesis", &[(RATE, &[(EVERY, SAYS_4_10)])], unit, workload))
        .paper(|points, measured| beside(SAYS_4_10, points, measured))
        .verdicts(claims::of_4_10),
    Experiment::new("thesis/4.11", figure_4_11)
        .here(&[NANOS])
        .note(|unit, workload| said("The thesis", &[(RATE, &[(EVERY, SAYS_4_11)])], unit, workload))
        .paper(|points, measured| beside(SAYS_4_11, points, measured))
        .verdicts(claims::of_4_11),
];

const SAYS_4_1: &str = "alone, less than 0.19 of a plain stack's rate, less than 0.25 of a plain ring's; bwos 0.893 and 0.946 of them;\n\
                        abp with 1 % stolen 17.8 % less in the same node, 25.2 % from the other; asked at 1 % from the other 34.4 % less;\n\
                        who reads or writes a line costs its writer much, in either node; with 64 lines much less";
const SAYS_4_9: &str = "bwos 4.55 times abp (opt) with nothing stolen, 12.59 times with 10 %; 20 % stolen costs bwos 0.53 %, abp 71.9 %;\n\
                        weak barriers make bwos 5.39 times as fast, abp 1.65 times (on arm-96T 3.38 and 2.03)";
const SAYS_4_10: &str = "bwos 8.9 times bbq with nothing stolen, 11.2 times with 10 %; 20 % stolen costs bwos 9.35 %";
const SAYS_4_11: &str = "bwos over abp 4.69 times with a factor of 0 %, up to 7.90 times with more; numa up to 2.21 times the other policies;\n\
                         probabilistic numa 1.34 times numa with 100 %";

/// Entries of each queue, in eight blocks.
const CAPACITY: usize = if cfg!(test) { 512 } else { 8192 };
const BLOCKS: usize = 8;
/// How much is to be stolen of what is put, or at how many of the owner's operations its size is to be asked for, in
/// percent.
const SHARES: [u64; 6] = [0, 1, 5, 10, 20, 30];
/// Of an owner that waits for its thief, before it looks again.
const PAUSES: u32 = 16;
const STOLEN_UNIT: &str = "% stolen";
const ASKED_UNIT: &str = "% asked";

/// The same queue; [`sc`] makes the difference.
#[cfg(feature = "machines")]
const LIFO_SC: Contender = (BWOS_SC, LIFO.1);
const BWOS_SC: &str = "bwos (sc)";
const READ_FROM: [&str; 2] = ["lines, read on the same die", "lines, read on another socket"];
const WRITTEN_FROM: [&str; 2] = ["lines, written on the same die", "lines, written on another socket"];

/// What a thief does.
#[derive(Clone, Copy)]
enum Act {
    /// It takes so many percent of what is put, if it can.
    Steal,
    /// It asks for the size at so many percent of the owner's operations, if it can. Of lines, it reads or writes one.
    Ask,
}

impl Act {
    fn aim(self, percent: u64) -> String {
        match self {
            Act::Steal => format!("{percent} % to be stolen"),
            Act::Ask => format!("{percent} % to be asked"),
        }
    }

    /// Rounds that are not timed: one for the caches, those whose rest fills the queue if less than three quarters of it are stolen, and some
    /// in which the pace of what asks settles.
    fn untimed(self, percent: u64) -> u64 {
        match self {
            Act::Steal => 1 + 400_u64.checked_div(percent).unwrap_or(0),
            Act::Ask => 5,
        }
    }

    fn run(self, make: fn() -> Ends, rounds: u64, percent: u64, thief_at: usize) -> Figures {
        match self {
            Act::Steal => owner_and_thief(make, rounds, percent, thief_at),
            Act::Ask => owner_and_asker(make, rounds, percent, thief_at),
        }
    }
}

/// A counter on a line of its own: on a stack, who shares one with whom is the compiler's choice, and figures are not to depend on it.
fn padded(count: u64) -> CachePadded<AtomicU64> {
    CachePadded(AtomicU64::new(count))
}

/// The owner fills its queue and takes the rest of what it put, again and again; a thief takes so many percent of it. As in the thesis, it
/// is the owner's gets that are lowered: a thief that is slow holds the owner up, instead of stealing less. So the rounds that are timed
/// come after as many as what is left in them needs to fill the queue.
fn owner_and_thief(make: fn() -> Ends, rounds: u64, percent: u64, thief_at: usize) -> Figures {
    let (mut owner, mut thief) = make();
    // What was put and what was stolen, lately. More than all was put at the end.
    let [put, stolen] = [0; 2].map(padded);
    let [share, operations, nanos] = [0; 3].map(padded);
    let own: Role<'_> = Box::new(|| {
        let (mut before, mut taken) = (0, 0);
        // Puts and takes of so many rounds, if each were as long as the queue.
        let mut rounds_of = |count: u64| {
            let begin = (before, taken);
            while before - begin.0 < count * CAPACITY as u64 {
                let most = |more: u64| match percent {
                    0 => u64::MAX,
                    _ => ((before + more) * (100 - percent) / 100).saturating_sub(taken),
                };
                let (more, fewer) = round(&mut *owner, most, |count| put.store(before + count, Relaxed));
                (before, taken) = (before + more, taken + fewer);
                if more + fewer == 0 {
                    spin::relax(PAUSES);
                }
            }
            (before - begin.0, taken - begin.1)
        };
        rounds_of(Act::Steal.untimed(percent));
        let (began, had) = (time::now(), stolen.load(Relaxed));
        let (more, fewer) = rounds_of(rounds);
        nanos.store(began.elapsed().as_nanos() as u64, Relaxed);
        let gone = stolen.load(Relaxed) - had;
        operations.store(more + fewer + gone, Relaxed);
        share.store((100.0 * gone as f64 / more as f64).to_bits(), Relaxed);
        put.store(u64::MAX, Release);
    });
    let steals: Role<'_> = Box::new(|| {
        let mut count = 0;
        let due = |count: u64| {
            spin::until(|| Some(put.load(Acquire)).filter(|put| 100 * count < percent.saturating_mul(*put)))
        };
        while percent > 0 && due(count) < u64::MAX {
            if thief.steal().is_some() {
                count += 1;
                stolen.store(count, Relaxed);
            }
        }
    });
    together(1, vec![(0, own), (thief_at, steals)]);
    let [share, operations, nanos] = [&share, &operations, &nanos].map(|count| count.load(Relaxed));
    Figures { more: vec![(STOLEN_UNIT, f64::from_bits(share))], ..Figures::new(operations, nanos) }
}

/// The owner fills its queue and empties it, again and again; a thief asks for its size at so many percent of these
/// operations, if it can. It goes by how long the rounds took so far: an owner that told more often would pay for that.
fn owner_and_asker(make: fn() -> Ends, rounds: u64, percent: u64, thief_at: usize) -> Figures {
    let (mut owner, mut thief) = make();
    // Nanoseconds of a round. None has been at first, and none is to come at the end.
    let pace = CachePadded(AtomicU64::new(0));
    let [asked, counted, operations, nanos] = [0; 4].map(padded);
    let own: Role<'_> = Box::new(|| {
        let mut before = 0;
        let untimed = Act::Ask.untimed(percent);
        for done in 0..untimed + rounds {
            if done == untimed {
                counted.store(1, Relaxed);
            }
            let began = time::now();
            let (put, taken) = round(&mut *owner, |_| u64::MAX, |_| ());
            let count = put + taken;
            let took = began.elapsed().as_nanos() as u64;
            before += took;
            pace.store(before / (done + 1), Relaxed);
            if done >= untimed {
                operations.fetch_add(count, Relaxed);
                nanos.fetch_add(took, Relaxed);
            }
        }
        pace.store(u64::MAX, Relaxed);
    });
    let asks: Role<'_> = Box::new(|| {
        let (a_round, mut count) = (2 * CAPACITY as u64, 0);
        let mut last: Option<time::Instant> = None;
        let going = || (percent > 0).then(|| pace.load(Relaxed)).filter(|&took| took < u64::MAX);
        while let Some(took) = going() {
            let is_due = |last: time::Instant| last.elapsed().as_nanos() as u64 * percent * a_round >= 100 * took;
            if took > 0 && last.is_none_or(is_due) {
                last = Some(time::now());
                std::hint::black_box(thief.size());
                count += counted.load(Relaxed);
            } else {
                worlds::work(8);
            }
        }
        asked.store(count, Relaxed);
    });
    together(1, vec![(0, own), (thief_at, asks)]);
    let [asked, operations, nanos] = [&asked, &operations, &nanos].map(|count| count.load(Relaxed));
    let share = 100.0 * asked as f64 / operations as f64;
    Figures { more: vec![(ASKED_UNIT, share)], ..Figures::new(operations, nanos) }
}

/// Puts until it is full, and takes until it is empty, or as many as may be taken at `most` of so many that were put. Says now and then how
/// much was put; gives how many items were put and taken.
fn round(owner: &mut dyn Owner, most: impl FnOnce(u64) -> u64, mut tell: impl FnMut(u64)) -> (u64, u64) {
    let put = (0_u64..)
        .take_while(|&item| {
            if item.is_multiple_of(128) {
                tell(item);
            }
            owner.push(item)
        })
        .count() as u64;
    tell(put);
    let taken = (0..most(put)).map_while(|_| owner.pop()).count() as u64;
    (put, taken)
}

/// A point at which one owner works, and perhaps a thief.
fn point(
    setting: &Setting<'_>,
    (workload, thief_at): (&'static str, usize),
    (contender, make): Contender,
    (act, percent): (Act, u64),
) -> Point {
    let rounds = setting.part(8, 1);
    let aim = match act {
        Act::Steal => "to be stolen, %",
        Act::Ask => "to be asked, %",
    };
    Point {
        workload,
        contender,
        label: act.aim(percent),
        params: json!({ "rounds": rounds, "capacity": CAPACITY, "blocks": BLOCKS, (aim): percent, "thief on": thief_at }),
        threads: setting.threads,
        // The counts are of the whole run, with the rounds that are not timed.
        messages: 2 * (rounds + act.untimed(percent)) * CAPACITY as u64,
        device: None,
        client: Box::new(move || act.run(make, rounds, percent, thief_at)),
    }
}

fn curves(setting: &Setting<'_>, act: Act, workload: (&'static str, usize), contenders: &[Contender]) -> Vec<Point> {
    (contenders.iter())
        .flat_map(|&contender| SHARES.map(|percent| point(setting, workload, contender, (act, percent))))
        .collect()
}

fn figure_4_1(setting: &Setting<'_>) -> Vec<Point> {
    let alone = |workload, contender| point(setting, (workload, 1), contender, (Act::Steal, 0));
    let far = setting.world.neighbours().last().map_or(1, |&(_, cpu)| cpu);
    let beside = |act, [die, socket]: [&'static str; 2], contenders: &[Contender]| -> Vec<Point> {
        ([(die, 1), (socket, far)].into_iter().filter(|(_, cpu)| *cpu < setting.threads))
            .flat_map(|place| curves(setting, act, place, contenders))
            .collect()
    };
    let mut points: Vec<Point> = [PLAIN, ABP, ABP_SC, LIFO].map(|contender| alone("alone", contender)).into();
    points.extend([PLAIN_RING, BBQ, FIFO].map(|contender| alone("FIFO, alone", contender)));
    points.extend(beside(Act::Steal, ["a thief on the same die", "a thief on another socket"], &[ABP]));
    points.extend(beside(Act::Ask, ["asked on the same die", "asked on another socket"], &[ABP, LIFO]));
    points.extend(beside(Act::Ask, ["FIFO, asked on the same die", "FIFO, asked on another socket"], &[BBQ, FIFO]));
    points.extend(beside(Act::Ask, READ_FROM, &READ));
    points.extend(beside(Act::Ask, WRITTEN_FROM, &WRITTEN));
    points
}

fn figure_4_9(setting: &Setting<'_>) -> Vec<Point> {
    let curves = |contenders: &[Contender]| curves(setting, Act::Steal, ("LIFO", 1), contenders);
    let mut points = curves(&[LIFO]);
    // On the machine at hand edges are what they are.
    #[cfg(feature = "machines")]
    points.extend(curves(&[LIFO_SC]).into_iter().map(|point| sc(point, &sequential(Table::new()).into())));
    points.extend(curves(&[ABP, ABP_SC]));
    points
}

/// `table`, and every edge of BWoS sequentially consistent. Its owner's fast path has none: what it holds is its own.
#[cfg(feature = "machines")]
fn sequential(table: Table) -> Table {
    (1..=6).fold(table, |table, edge| {
        table.with(&format!("bwos.{edge}"), Strength::Ordering(thalweg_sync::atomic::Ordering::SeqCst))
    })
}

/// The point with the queue's edges as the table says.
#[cfg(feature = "machines")]
fn sc(point: Point, edges: &std::sync::Arc<Table>) -> Point {
    let (client, edges) = (point.client, edges.clone());
    // All threads of a run are on the OS thread that calls its client.
    Point { client: Box::new(move || table::under(edges.clone(), &client)), ..point }
}

fn figure_4_10(setting: &Setting<'_>) -> Vec<Point> {
    curves(setting, Act::Steal, ("FIFO", 1), &[FIFO, BBQ])
}

const WORKERS: usize = 8;

/// Makes the eight owners, each with what steals from the others.
type Crew = fn(&[usize]) -> Vec<Worker>;
type Worker = (Box<dyn Owner>, Box<dyn FnMut() -> Option<u64> + Send>);

fn crew<P: Policy + 'static>(nodes: &[usize], policy: fn() -> P) -> Vec<Worker> {
    pooled(|| stealing::lifo::<u64>(BLOCKS, CAPACITY / BLOCKS).expect(RIGHT), nodes, policy)
}

fn fifo_crew<P: Policy + 'static>(nodes: &[usize], policy: fn() -> P) -> Vec<Worker> {
    pooled(|| stealing::fifo::<u64>(BLOCKS, CAPACITY / BLOCKS).expect(RIGHT), nodes, policy)
}

fn pooled<O: Owner + 'static, P: Policy + 'static>(
    queue: fn() -> (O, Stealer<u64>),
    nodes: &[usize],
    policy: fn() -> P,
) -> Vec<Worker> {
    let (owners, stealers): (Vec<_>, Vec<_>) = (0..WORKERS).map(|_| queue()).unzip();
    let pool = Pool::new(stealers).with_nodes(nodes.iter().copied());
    (owners.into_iter().enumerate())
        .map(|(own, owner)| -> Worker {
            let mut thief = pool.thief(own, policy());
            (Box::new(owner), Box::new(move || thief.try_steal().ok()))
        })
        .collect()
}

/// Other queues under the policy that served them best in the thesis, best of two.
fn rivals<T: Thief + Clone + 'static>(queue: fn() -> (Box<dyn Owner>, T)) -> Vec<Worker> {
    let (owners, thieves): (Vec<_>, Vec<_>) = (0..WORKERS).map(|_| queue()).unzip();
    (owners.into_iter().enumerate())
        .map(|(own, owner)| -> Worker {
            let (mut thieves, mut rng) = (thieves.clone(), stealing::Rng::new(own as u64));
            let steal = move || {
                let [one, other] = [(); 2].map(|()| (own + 1 + rng.below(WORKERS - 1)) % WORKERS);
                let victim = if thieves[one].size() >= thieves[other].size() { one } else { other };
                thieves[victim].steal()
            };
            (owner, Box::new(steal))
        })
        .collect()
}

fn figure_4_11(setting: &Setting<'_>) -> Vec<Point> {
    let lifo: &[(&str, Crew)] = &[
        ("bwos, random", |nodes| crew(nodes, || Random)),
        ("bwos, sequential", |nodes| crew(nodes, || Sequential)),
        ("bwos, last", |nodes| crew(nodes, || Last::new(Random))),
        ("bwos, best of two", |nodes| crew(nodes, || BestOf(2))),
        ("bwos, best of many", |nodes| crew(nodes, || BestOf(WORKERS / 2))),
        ("bwos, numa", |nodes| crew(nodes, || Near(Random))),
        ("bwos, probabilistic", |nodes| crew(nodes, || Probabilistic::new(Random))),
        ("bwos, probabilistic numa", |nodes| crew(nodes, || Probabilistic::new(Near(Random)))),
        ("abp, best of two", |_| rivals(ends::abp_queue)),
    ];
    let fifo: &[(&str, Crew)] = &[
        ("bwos, random", |nodes| fifo_crew(nodes, || Random)),
        ("bwos, best of two", |nodes| fifo_crew(nodes, || BestOf(2))),
        ("bwos, numa", |nodes| fifo_crew(nodes, || Near(Random))),
        ("bwos, probabilistic", |nodes| fifo_crew(nodes, || Probabilistic::new(Random))),
        ("bwos, probabilistic numa", |nodes| fifo_crew(nodes, || Probabilistic::new(Near(Random)))),
        ("bbq, best of two", |_| rivals(ends::bbq_queue)),
    ];
    let far = setting.world.neighbours().last().map_or(0, |&(_, cpu)| cpu);
    // Half of the workers on each of two sockets, as far as there are hardware threads.
    let place = move |worker: usize, threads: usize| {
        if worker < WORKERS / 2 { worker % threads } else { (far + worker - WORKERS / 2) % threads }
    };
    let rounds = setting.part(4, 1);
    let mut points = Vec::new();
    let crews = [("pool", lifo), ("FIFO pool", fifo)];
    let crews = crews.into_iter().flat_map(|(workload, crews)| crews.iter().map(move |crew| (workload, crew)));
    for (workload, &(contender, make)) in crews {
        for factor in [0, 1, 10, 100] {
            let attempts = CAPACITY * factor / 100;
            let threads = setting.threads;
            points.push(Point {
                workload,
                contender,
                label: format!("balancing factor {factor} %"),
                params: json!({ "rounds": rounds, "capacity": CAPACITY, "workers": WORKERS, "attempts": attempts }),
                threads,
                messages: rounds * (2 * WORKERS * CAPACITY) as u64,
                device: None,
                client: Box::new(move || balance(make, rounds, attempts, |worker| place(worker, threads))),
            });
        }
    }
    points
}

/// Each worker fills its queue, empties it, and then tries to steal so often.
fn balance(make: Crew, rounds: u64, attempts: usize, place: impl Fn(usize) -> usize) -> Figures {
    let nodes: Vec<usize> = (0..WORKERS).map(|worker| usize::from(worker >= WORKERS / 2)).collect();
    let operations = padded(0);
    let role = |(mut owner, mut steal): Worker| -> Role<'_> {
        let operations = &operations;
        Box::new(move || {
            let mut own = 0;
            for _ in 0..rounds {
                let (put, taken) = round(&mut *owner, |_| u64::MAX, |_| ());
                own += put + taken;
                own += (0..attempts).filter(|_| steal().is_some()).count() as u64;
            }
            operations.fetch_add(own, AcqRel);
        })
    };
    let roles = make(&nodes).into_iter().enumerate().map(|(worker, ends)| (place(worker), role(ends))).collect();
    let figures = together(1, roles);
    Figures { messages: operations.load(Relaxed), ..figures }
}

/// The rate of each contender over the first one of the workload, point by point.
fn beside(says: &str, points: &[Point], measured: &[Vec<Run>]) -> String {
    let mut text = String::from("rate over the first contender's at the same point, and over its own at the first\n");
    let rate = |at: usize| 1.0 / points[at].nanos(&measured[at]).median;
    let mut from = 0;
    for workload in points.chunk_by(|one, next| one.workload == next.workload) {
        for (offset, point) in workload.iter().enumerate() {
            let at = from + offset;
            let first = (0..workload.len()).map(|other| from + other).find(|&other| points[other].label == point.label);
            let own =
                (0..workload.len()).map(|other| from + other).find(|&other| points[other].contender == point.contender);
            let over = |other: Option<usize>| rate(at) / rate(other.expect("it is one of them itself"));
            let name = format!("{}, {}", point.workload, point.contender);
            text += &format!("{name:44}{:24}{:>8.2}{:>8.2}", point.label, over(first), over(own));
            for unit in [STOLEN_UNIT, ASKED_UNIT] {
                if let Some(share) = point.figure(&measured[at], unit) {
                    text += &format!("{share:>8.1} {unit}");
                }
            }
            text.push('\n');
        }
        from += workload.len();
    }
    text + "The thesis: " + says + "\n\n"
}

#[cfg(all(test, feature = "machines"))]
mod tests {
    use super::ends::PlainRing;
    use super::*;
    use std::collections::VecDeque;
    use thalweg_sim::Machine;

    #[test]
    fn every_figure_runs_and_thieves_come_when_they_are_to() {
        let machine = Machine::named("x86-88t").unwrap();
        for experiment in &EXPERIMENTS {
            let points = (experiment.plan)(&Setting::of(&machine, 23));
            let run = |point: &Point| vec![point.run(&machine, 0).unwrap_or_else(|e| panic!("{}: {e}", point.title()))];
            let measured: Vec<Vec<Run>> = points.iter().map(run).collect();
            for (point, runs) in points.iter().zip(&measured) {
                for unit in [STOLEN_UNIT, ASKED_UNIT] {
                    if let Some(share) = point.figure(runs, unit) {
                        assert_eq!(share > 0.0, !point.label.starts_with("0 %"), "{}: {share} {unit}", point.title());
                    }
                }
            }
            assert!((experiment.paper)(&points, &measured).contains("The thesis: "));
            assert_eq!(run(&points[0]), measured[0], "{}: the same again", experiment.name);
        }
    }

    /// A plain stack has one access for each item that is put or taken.
    #[test]
    fn counts_are_divided_by_all_that_went_through() {
        let machine = Machine::named("x86-88t").unwrap();
        let point = point(&Setting::of(&machine, 2), ("alone", 1), PLAIN, (Act::Steal, 0));
        let (_, report) = point.run(&machine, 0).unwrap_or_else(|failure| panic!("{failure}"));
        let accesses = report.counts.accesses as f64 / point.messages as f64;
        assert!((1.0..1.1).contains(&accesses), "{accesses} accesses for each");
    }

    #[test]
    fn abp_gives_each_item_once() {
        let ((mut owner, mut thief), mut taken) = ((ABP.1)(), Vec::new());
        assert!((0..5).all(|item| owner.push(item)));
        taken.extend([thief.steal(), owner.pop(), thief.steal(), owner.pop(), owner.pop(), owner.pop(), thief.steal()]);
        assert_eq!(taken, [Some(0), Some(4), Some(1), Some(3), Some(2), None, None]);
    }

    /// Figure 4.9's shape where nothing is stolen: an owner that synchronises once a block is ahead of one that does with each item.
    #[test]
    fn an_owner_alone_is_ahead_with_blocks() {
        let machine = Machine::named("x86-88t").unwrap();
        let setting = Setting::of(&machine, 2);
        let [bwos, abp] = [LIFO, ABP].map(|of| point(&setting, ("LIFO", 1), of, (Act::Steal, 0)).nanos_on(&machine));
        assert!(abp / bwos > 2.0, "{bwos:.2} ns for an operation with blocks, {abp:.2} without");
    }

    /// Every edge that is met beside a thief is among those that are made stronger, and an owner notices: it stores one of them for each block.
    #[test]
    fn sequentially_consistent_edges_arrive_at_the_machine() {
        let machine = Machine::named("x86-88t").unwrap();
        let setting = Setting::of(&machine, 2);
        let [weak, strong] = [Table::survey(), sequential(Table::survey())].map(std::sync::Arc::new);
        let nanos = |table: &std::sync::Arc<Table>, percent| {
            sc(point(&setting, ("LIFO", 1), LIFO_SC, (Act::Steal, percent)), table).nanos_on(&machine)
        };
        assert_eq!(nanos(&weak, 5), point(&setting, ("LIFO", 1), LIFO, (Act::Steal, 5)).nanos_on(&machine));
        nanos(&strong, 5);
        let met: Vec<_> = strong.met().into_keys().collect();
        assert_eq!(met, ["bwos.1", "bwos.2", "bwos.3", "bwos.4", "bwos.5", "bwos.6"]);
        let (weak_nanos, strong_nanos) = (nanos(&weak, 0), nanos(&strong, 0));
        assert!(
            strong_nanos > 1.03 * weak_nanos,
            "{weak_nanos:.3} ns as in the source, {strong_nanos:.3} with all of them stronger"
        );
    }

    /// The point at which `of` is asked so often.
    fn asked<'a>(points: &'a [Point], workload: &str, of: Contender, percent: u64) -> &'a Point {
        let is_it = |point: &&Point| {
            (point.workload, point.contender, &*point.label) == (workload, of.0, &*Act::Ask.aim(percent))
        };
        points.iter().find(is_it).expect("the figure has it")
    }

    /// Figure 4.1c's shape: each look at its size costs the owner of an ABP queue, more so from another socket. One that
    /// writes what others see once a block pays no more for more looks.
    #[test]
    fn who_asks_for_the_size_slows_an_owner_down_that_synchronises_with_each_item() {
        let machine = Machine::named("x86-88t").unwrap();
        let points = figure_4_1(&Setting::of(&machine, 23));
        let nanos = |workload, of, percent| asked(&points, workload, of, percent).nanos_on(&machine);
        let [near, far] = ["asked on the same die", "asked on another socket"]
            .map(|workload| nanos(workload, ABP, 1) / nanos(workload, ABP, 0) - 1.0);
        assert!(0.01 < near && near < far, "{near:.3} on the die and {far:.3} from another socket");
        let more = |workload, of| nanos(workload, of, 20) / nanos(workload, of, 1);
        let each = more("asked on another socket", ABP);
        assert!(each > 2.0, "{each:.2} times as long for more looks");
        for (workload, of) in [("asked on another socket", LIFO), ("FIFO, asked on another socket", FIFO)] {
            let blocks = more(workload, of);
            assert!(blocks < 1.2, "{workload}: {blocks:.2} times as long for more looks");
        }
    }

    /// The shape of Figures 4.1e and f: who reads or writes the line costs who writes it much, on either die, and less where
    /// there are many lines.
    #[test]
    fn who_shares_a_line_slows_its_writer_down_and_less_where_there_are_many() {
        let machine = Machine::named("x86-88t").unwrap();
        let points = figure_4_1(&Setting::of(&machine, 23));
        for (workloads, contenders) in [(READ_FROM, READ), (WRITTEN_FROM, WRITTEN)] {
            for workload in workloads {
                let nanos = |of, percent| asked(&points, workload, of, percent).nanos_on(&machine);
                let [one, many] = contenders.map(|of| nanos(of, 5) / nanos(of, 0));
                let is_right = one > 1.5 && many < 0.95 * one;
                assert!(is_right, "{workload}: {one:.2} times as long with one line, {many:.2} with many");
            }
        }
    }

    /// Figure 4.1a's shape for queues that give the oldest first.
    #[test]
    fn a_plain_ring_is_the_upper_bound() {
        let machine = Machine::named("x86-88t").unwrap();
        let setting = Setting::of(&machine, 2);
        let [ring, bbq, bwos] = [PLAIN_RING, BBQ, FIFO]
            .map(|of| point(&setting, ("FIFO, alone", 1), of, (Act::Steal, 0)).nanos_on(&machine));
        assert!(ring < bwos && bwos < bbq / 4.0, "{ring:.2} ns alone, {bwos:.2} with blocks, {bbq:.2} as BBQ");
    }

    #[test]
    fn a_plain_ring_gives_the_oldest_first_and_has_so_much_room() {
        let mut ring = PlainRing(VecDeque::new());
        let taken = |ring: &mut PlainRing| std::iter::from_fn(|| ring.pop()).collect::<Vec<_>>();
        let all: Vec<u64> = (0..CAPACITY as u64).collect();
        assert!(all.iter().all(|&item| ring.push(item)) && !ring.push(0));
        assert_eq!(taken(&mut ring), all);
    }

    /// A thief's size is what the owner has put and nobody has taken.
    #[test]
    fn sizes_are_what_is_left() {
        for (name, make) in [ABP, ABP_SC, BBQ] {
            let (mut owner, mut thief) = make();
            assert!((0..5).all(|item| owner.push(item)));
            assert!(owner.pop().is_some() && thief.steal().is_some());
            assert_eq!(thief.size(), 3, "{name}");
        }
    }
}
