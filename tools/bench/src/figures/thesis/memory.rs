//! The relaxed queues of the thesis' Table 3.2 that stand beside CNQ, and its Figure 3.12: how much memory each queue holds.
//!
//! Of that table's eight there are BSQ, RADQ and LLDQ, with their authors' defaults (80 slots in a segment, 80 partial queues). USQ is BSQ with a list of segments.
//! RDQ and SQ are from before BSQ, which its paper measures above both, LRUQ is a balancer of the same distributed queues, and RTSQ is from a thesis.

use crate::baselines::distributed::Distributed;
use crate::baselines::k_fifo::KFifo;
use crate::figures::own::queues::{Contender, HELD, Item, unclosed};
use crate::figures::thesis::queues::{many, of_a_megabyte};
use crate::report::verdict::{Claim, Verdict, shown};
use crate::worlds::experiment::{Experiment, Panel, Says, Setting, said};
use crate::worlds::point::{Point, Run};
use crate::worlds::seen::{Seen, range};

/// The thesis leaves it out of the latencies.
pub(crate) const BSQ: &str = "bsq";

/// What CNQ is compared with besides FIFO queues. RADQ and LLDQ grow: `capacity` is what the others hold.
pub(crate) fn relaxed(capacity: usize) -> [Contender; 3] {
    // In a queue of a few messages, two segments would be everything.
    let k = if capacity >= 20 * 80 { 80 } else { capacity / 4 };
    let bsq = Contender::new(BSQ, capacity, move |producers, consumers| {
        let queue = KFifo::new(capacity / k, k);
        let ends = (vec![queue.clone(); producers], vec![queue; consumers]);
        unclosed(ends, |queue, item| queue.try_push(item.get()), |queue| queue.pop().and_then(Item::new))
    });
    let distributed = |name, make: fn(usize) -> Distributed| {
        Contender::new(name, capacity, move |producers, consumers| {
            let queue = make(producers);
            let ends = (vec![queue.clone(); producers], vec![queue; consumers]);
            let push = |queue: &mut Distributed, item: Item| {
                queue.push(item.get());
                true
            };
            unclosed(ends, push, |queue| queue.pop().and_then(Item::new))
        })
    };
    [bsq, distributed("radq", |_| Distributed::random(80)), distributed("lldq", Distributed::local)]
}

pub(crate) const EXPERIMENT: Experiment = Experiment::new("thesis/3.12", figure_3_12)
    .panels(&[Panel::Of(HELD[1])])
    .note(|unit, workload| said("The thesis", &[(HELD[1], SAYS)], unit, workload))
    .paper(memory)
    .verdicts(verdicts);

/// As Figure 3.10, with eight threads, which Figure 3.11 has, and with as many as there are.
fn figure_3_12(setting: &Setting<'_>) -> Vec<Point> {
    let contenders = of_a_megabyte().map(Contender::weighed);
    let at = |most: usize| {
        let mut numbers = vec![most.min(7), most];
        numbers.dedup();
        numbers
    };
    let mut points = many(setting, &contenders, &["NP1C", "1PNC"], at);
    let at = |most: usize| {
        let mut numbers = vec![most.min(4), most];
        numbers.dedup();
        numbers
    };
    points.extend(many(setting, &contenders, &["NPNC"], at));
    points
}

const GROW: &str = "bounded queues 1 MB, the initial memory; each of the others 100 MB to 1 GB more";
const SAYS: Says =
    &[("NP1C", GROW), ("1PNC", "bounded queues 1 MB, the others less than with many producers"), ("NPNC", GROW)];

/// Queues that ask for memory while items wait. LPRQ gives no memory back before its end, so its bytes are all that it ever asked for.
const GROWING: [&str; 3] = ["lprq", "radq", "lldq"];

/// A bounded queue holds as many bytes as it was made with, or this share more.
const WITHIN: f64 = 0.01;
const AS_MADE: f64 = 1.0 + WITHIN;
/// Threads of the thesis' run.
const THREADS: usize = 8;
const CLAIMS: [(&str, Claim); 3] = [
    ("NP1C", bounded("NP1C, bounded queues at most, over what they are made with")),
    ("1PNC", bounded("1PNC, bounded queues at most, over what they are made with")),
    ("NPNC", bounded("NPNC, bounded queues at most, over what they are made with")),
];

const fn bounded(what: &'static str) -> Claim {
    Claim::new("thesis/3.12", what, 1.0, WITHIN)
}

/// The lines of the bounded queues. How much the others grow depends on the number of messages, which the thesis does not say.
fn verdicts(seen: &Seen<'_>) -> Vec<Verdict> {
    let over = |at: usize| Some(seen.figure(at, HELD[1])? / seen.figure(at, HELD[0])?);
    let mut all = Vec::new();
    for ((workload, claim), (_, says)) in CLAIMS.iter().zip(SAYS) {
        let bounded = seen.places(|point| point.workload == *workload && !GROWING.contains(&point.contender));
        let most = range(bounded.into_iter().map(over)).map(|range| range.1);
        all.push(claim.verdict(most.filter(|_| seen.threads() >= THREADS)));
        all.push(shown(claim.figure, &format!("{workload}, queues that grow"), says));
    }
    all
}

/// The thesis does not say how many messages its runs have. A queue that grows does so significantly if it holds so many bytes more than it was made with, for each
/// message of the run: with nodes of 64 bytes, for nearly a third of all messages at once. In a whole run, of four megabytes of messages, it is ten times the megabyte.
const SIGNIFICANT: f64 = 20.0;

/// What the queues of each kind hold, and whether that is as the thesis says.
fn memory(points: &[Point], measured: &[Vec<Run>]) -> String {
    let held = |at: usize| HELD.map(|unit| points[at].figure(&measured[at], unit).expect("it was weighed"));
    let grows = |at: usize| GROWING.contains(&points[at].contender);
    let of = |workload: &str, kind: bool| -> Vec<usize> {
        (0..points.len()).filter(|&at| points[at].workload == workload && grows(at) == kind).collect()
    };
    // The most of each queue that grows, whatever the number of threads: bytes, and bytes more for each message.
    let most = |workload: &str| {
        GROWING.map(|name| {
            let its = of(workload, true).into_iter().filter(|&at| points[at].contender == name);
            let each = its.map(|at| (held(at)[1], (held(at)[1] - held(at)[0]) / points[at].messages as f64));
            each.fold((0.0, 0.0), |a: (f64, f64), b| (a.0.max(b.0), a.1.max(b.1)))
        })
    };
    let many = most("NP1C");
    let mut text = String::from("megabytes that the queues hold at most\n");
    for (workload, says) in SAYS {
        let bounded = of(workload, false);
        let (least, largest) = bounded
            .iter()
            .map(|&at| held(at)[1])
            .fold((f64::MAX, 0.0), |(least, largest), bytes| (bytes.min(least), bytes.max(largest)));
        let times = bounded.iter().map(|&at| held(at)[1] / held(at)[0]).fold(0.0, f64::max);
        let of_each = most(workload);
        let grown = of_each.iter().zip(GROWING).map(|((bytes, each), name)| {
            format!(", {name} {:.2} ({each:.1} bytes more for each message)", bytes / MEGA)
        });
        let is_so = times <= AS_MADE
            && match *workload {
                "1PNC" => of_each.iter().zip(many).all(|(one, many)| one.0 < many.0),
                _ => of_each.iter().all(|(_, each)| *each >= SIGNIFICANT),
            };
        text += &format!(
            "{workload:6}bounded {:.2} to {:.2}, {times:.3} times what they are made with{}: {}. The thesis: {says}\n",
            least / MEGA,
            largest / MEGA,
            grown.collect::<String>(),
            if is_so { "as there" } else { "not as there" },
        );
    }
    text + "\n"
}

const MEGA: f64 = 1024.0 * 1024.0;

#[cfg(all(test, feature = "machines"))]
mod tests {
    use super::*;
    use thalweg_sim::Machine;

    fn measured(contenders: &[Contender], workload: &'static str) -> Vec<[f64; 2]> {
        let machine = Machine::named("x86-88t").unwrap();
        let points = many(&Setting::of(&machine, 4), contenders, &[workload], |most| vec![most]);
        let of = |point: &Point| {
            let run = point.run(&machine, 0).unwrap_or_else(|failure| panic!("{}: {failure}", point.title()));
            HELD.map(|unit| point.figure(std::slice::from_ref(&run), unit).unwrap())
        };
        points.iter().map(of).collect()
    }

    /// What a queue is made of is counted to the byte, and a bounded one asks for no more.
    #[test]
    fn a_bounded_queue_holds_its_slots_from_the_beginning() {
        let [bsq, ..] = relaxed(131_072).map(Contender::weighed);
        let [[made, most]] = measured(&[bsq], "NP1C")[..] else { panic!("one point") };
        let slots = 8.0 * (131_072 / 80 * 80) as f64;
        assert!(made >= slots && made < slots + 2048.0, "{made} bytes for slots of {slots}");
        assert!((made..made + 64.0).contains(&most), "{most} bytes of {made}");
    }

    /// A consumer that is slower than three producers leaves nodes behind, of 64 bytes each; and nodes that came back are used again.
    #[test]
    fn a_queue_that_grows_holds_a_node_for_each_message_that_waits() {
        let [_, radq, lldq] = relaxed(131_072).map(Contender::weighed);
        let messages = (4 * 131_072 / 50) as f64;
        for [made, most] in measured(&[radq, lldq], "NP1C") {
            let nodes = (most - made) / 64.0;
            assert!(nodes > messages / 4.0 && nodes <= messages, "{nodes} nodes for {messages} messages");
        }
        let [_, radq, _] = relaxed(131_072).map(Contender::weighed);
        let [[made, most]] = measured(&[radq], "1PNC")[..] else { panic!("one point") };
        assert!(most - made < 64.0 * messages / 10.0, "{} bytes where nothing has to wait", most - made);
    }

    #[test]
    fn the_figure_runs_on_a_small_part_of_a_machine() {
        let machine = Machine::named("x86-88t").unwrap();
        let points = figure_3_12(&Setting::of(&machine, 4));
        let measured: Vec<Vec<Run>> = (points.iter())
            .map(|point| vec![point.run(&machine, 0).unwrap_or_else(|e| panic!("{}: {e}", point.title()))])
            .collect();
        let text = memory(&points, &measured);
        let lines: Vec<_> = text.lines().filter(|line| line.contains("The thesis")).collect();
        assert!(lines.len() == 3 && lines.iter().all(|line| line.contains(" 1.000 times what")), "{text}");
    }
}
