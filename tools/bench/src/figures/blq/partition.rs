//! BLQ's partitioner on and off (its Figure 9): rows of kernels whose messages are a line each, under polling workers and under ours.

use serde_json::json;
use thalweg::Scheme;

use crate::figures::own::streams::{WORK_OF_ROWS, rows};
use crate::report::verdict::{Claim, Verdict};
use crate::worlds::experiment::{Base, EVERY, Experiment, NANOS, Panel, Setting, said};
use crate::worlds::point::{Figures, L1_MISSES, MISSES, Point, Run};
use crate::worlds::seen::{Seen, geometric};

pub(crate) const EXPERIMENT: Experiment = Experiment::new("blq/partition", points)
    .here(&[NANOS])
    .panels(&[Panel::Rate, Panel::SpeedUp(OVER_OFF), Panel::Of(L1_MISSES), Panel::Of(MISSES)])
    .note(|unit, workload| said("The paper", &[(OVER_OFF.unit, &[(EVERY, SAYS)])], unit, workload))
    .paper(beside_the_paper)
    .verdicts(verdicts);

const OVER_OFF: Base =
    Base { unit: "times as fast as without a partition", is: |_, other| other.contender.ends_with(OFF) };
const OFF: &str = "off";

const SAYS: &str = "with the partitioner 40 % fewer first-level misses, and 17 % fewer of the second level";

/// A third off the paper's number at most comes out: it is the mean of ten programs, and here it is of two graphs.
const WITHIN: f64 = 1.0 / 3.0;
/// By unit, under the paper's scheme.
const CLAIMS: [(&str, Claim); 2] = [
    (L1_MISSES, claim("pw_dyn, first-level misses, % fewer with a partition", 40.0)),
    (MISSES, claim("pw_dyn, second-level misses, % fewer with a partition", 17.0)),
];

const fn claim(what: &'static str, paper: f64) -> Claim {
    Claim::new("blq/partition", what, paper, WITHIN)
}

fn verdicts(seen: &Seen<'_>) -> Vec<Verdict> {
    let [(_, off, _), (_, on, _), ..] = CONTENDERS;
    let share = |workload: &str, unit: &str| {
        let misses = |contender: &str| {
            let at = seen.places(|point| point.workload == workload && point.contender == contender);
            seen.figure(*at.first()?, unit)
        };
        Some(misses(on)? / misses(off)?)
    };
    let fewer = |unit| geometric(SHAPES.map(|(workload, ..)| share(workload, unit))).map(|share| 100.0 * (1.0 - share));
    CLAIMS.iter().map(|(unit, claim)| claim.verdict(fewer(unit))).collect()
}

/// The schemes, without a partition and with one.
const CONTENDERS: [(&str, &str, bool); 4] = [
    ("pw_dyn", "pw_dyn, off", false),
    ("pw_dyn", "pw_dyn, on", true),
    ("depth_first", "ours, off", false),
    ("depth_first", "ours, on", true),
];

/// Rows, and kernels in each between its source and its sink.
const SHAPES: [(&str, usize, usize); 2] = [("eight rows of four", 8, 2), ("one row of sixteen", 1, 14)];

fn points(setting: &Setting<'_>) -> Vec<Point> {
    let workers = setting.threads.min(16);
    let mut points = Vec::new();
    for (workload, count, length) in SHAPES {
        let messages = setting.part(16_000, 100) / count as u64 * count as u64;
        for (scheme, contender, partitioned) in CONTENDERS {
            points.push(Point {
                workload,
                contender,
                label: format!("{workers} workers"),
                params: json!({ "messages": messages, "workers": workers, "work": WORK_OF_ROWS }),
                threads: setting.threads,
                messages,
                device: None,
                client: Box::new(move || {
                    let scheme = Scheme::named(scheme).expect("a scheme's name").workers(workers).pinned(true);
                    Figures::timed(messages, || rows(scheme.partitioned(partitioned), count, length, messages))
                }),
            });
        }
    }
    points
}

/// Misses with a partition over those without.
fn beside_the_paper(points: &[Point], measured: &[Vec<Run>]) -> String {
    let mut text = format!("{:24}{:>12}{:>12}\n", "on over off", "time", "L1 misses");
    for at in (0..points.len()).step_by(2) {
        let (off, on) = (&points[at], &points[at + 1]);
        let nanos = on.nanos(&measured[at + 1]).median / off.nanos(&measured[at]).median;
        let misses = |number: usize| points[number].figure(&measured[number], L1_MISSES).unwrap_or(f64::NAN);
        let name = format!("{}, {}", on.workload, on.contender);
        text += &format!("{name:36}{nanos:>8.2}{:>8.2}\n", misses(at + 1) / misses(at));
    }
    text + "The paper: " + SAYS + "\n\n"
}

#[cfg(all(test, feature = "machines"))]
mod tests {
    use super::*;
    use thalweg_sim::Machine;

    #[test]
    fn rows_run_with_and_without_a_partition() {
        let machine = Machine::named("arm-32").unwrap();
        let points = points(&Setting::of(&machine, 4));
        assert_eq!(points.len(), SHAPES.len() * CONTENDERS.len());
        for point in &points {
            point.run(&machine, 0).unwrap_or_else(|error| panic!("{}: {error}", point.title()));
        }
    }
}
