//! The thesis' Figure 2.12: requests that one thread submits, a second one confirms and a third one collects, by io_uring's rings and by BBQ.

use serde_json::json;
use thalweg_queue::stealing::Rng;
use thalweg_queue::{Pop, Push, Yield, spsc};
use thalweg_sync::spin;

use crate::baselines::uring::{self, Completion, Submission};
use crate::figures::own::queues::RIGHT;
use crate::report::verdict::{Claim, Verdict};
use crate::worlds::experiment::{Base, EVERY, Experiment, NANOS, Panel, Setting, said};
use crate::worlds::point::{Figures, Point, Role, Run, together};
use crate::worlds::seen::Seen;

pub(crate) const EXPERIMENT: Experiment = Experiment::new("thesis/2.12", points)
    .here(&[NANOS])
    .panels(&[Panel::Rate, Panel::SpeedUp(OVER_URING)])
    .note(|unit, workload| said("The thesis", &[(OVER_URING.unit, &[(EVERY, SAYS)])], unit, workload))
    .paper(beside_the_thesis)
    .verdicts(verdicts)
    .threads(3);

const OVER_URING: Base = Base {
    unit: "times as fast as io_uring's rings",
    is: |of, other| other.contender == "io_uring" && other.label == of.label,
};

const SAYS: &str =
    "batches of one 6.7 and 6.9 times with 32 and 1024 entries, of 1 to 32 at random 20.9 and 50.5 times";

/// A third off the thesis' number at most comes out: there the kernel's own code is around the rings.
const WITHIN: f64 = 1.0 / 3.0;
/// By workload and entries.
const CLAIMS: [(&str, &str, Claim); 4] = [
    (WORKLOADS[0], "32", claim("batches of one, 32 entries, bbq over io_uring", 6.7)),
    (WORKLOADS[0], "1024", claim("batches of one, 1024 entries, bbq over io_uring", 6.9)),
    (WORKLOADS[1], "32", claim("random batches, 32 entries, bbq over io_uring", 20.9)),
    (WORKLOADS[1], "1024", claim("random batches, 1024 entries, bbq over io_uring", 50.5)),
];

const fn claim(what: &'static str, paper: f64) -> Claim {
    Claim::new("thesis/2.12", what, paper, WITHIN)
}

fn verdicts(seen: &Seen<'_>) -> Vec<Verdict> {
    let times =
        |workload, label| Some(seen.nanos_of(workload, "io_uring", label)? / seen.nanos_of(workload, "bbq", label)?);
    CLAIMS.iter().map(|(workload, label, claim)| claim.verdict(times(workload, label))).collect()
}

/// Entries for submissions. There are twice as many for completions.
const SIZES: [usize; 6] = [32, 64, 128, 256, 512, 1024];
const MOST: usize = 32;
const WORKLOADS: [&str; 2] = ["batches of one", "random batches"];

fn points(setting: &Setting<'_>) -> Vec<Point> {
    let requests = setting.part(16_000, 200);
    let mut points = Vec::new();
    for workload in WORKLOADS {
        for size in SIZES {
            let batch = if workload == WORKLOADS[0] { 1 } else { MOST };
            let mut point = |contender, run: fn(usize, usize, u64) -> Figures| {
                points.push(Point {
                    workload,
                    contender,
                    label: size.to_string(),
                    params: json!({ "requests": requests, "entries": size, "batch": batch, "at": size.to_string() }),
                    threads: setting.threads,
                    messages: requests,
                    device: None,
                    client: Box::new(move || run(size, batch, requests)),
                });
            };
            point("io_uring", by_uring);
            point("bbq", by_bbq);
        }
    }
    points
}

/// The lengths of batches: one, or up to `most` at random.
fn lengths(most: usize, seed: u64) -> impl FnMut() -> usize {
    let mut rng = Rng::new(seed);
    move || 1 + rng.below(most)
}

/// Runs who submits, who confirms and who collects. Each is called until it has handled all requests, with the length of its batch and the number of the first
/// of it, and returns how many it has handled.
fn three(
    batch: usize,
    requests: u64,
    submit: impl FnMut(usize, u64) -> usize + Send,
    confirm: impl FnMut(usize, u64) -> usize + Send,
    collect: impl FnMut(usize, u64) -> usize + Send,
) -> Figures {
    fn role<'a>(
        seed: u64,
        batch: usize,
        requests: u64,
        mut part: impl FnMut(usize, u64) -> usize + Send + 'a,
    ) -> Role<'a> {
        let mut length = lengths(batch, seed);
        Box::new(move || {
            let mut done = 0;
            while done < requests {
                let mut left = length().min((requests - done) as usize);
                while left > 0 {
                    let count = spin::until(|| Some(part(left, done)).filter(|&count| count > 0));
                    done += count as u64;
                    left -= count;
                }
            }
        })
    }
    // The time is that of who collects, which is the last.
    let roles = vec![
        (2, role(3, batch, requests, collect)),
        (1, role(2, batch, requests, confirm)),
        (0, role(1, batch, requests, submit)),
    ];
    together(requests, roles)
}

fn request(number: u64) -> Submission {
    [number; 8]
}

fn by_uring(size: usize, batch: usize, requests: u64) -> Figures {
    let (mut submitter, mut kernel, mut reaper) = uring::rings(size);
    three(
        batch,
        requests,
        move |most, first| {
            let all: [Submission; MOST] = std::array::from_fn(|at| request(first + at as u64));
            submitter.submit(&all[..most])
        },
        move |most, _| kernel.enter(most, |request| [request[0], 0]),
        move |most, mut next| {
            reaper.reap(most, |[number, _]| {
                assert_eq!(number, next, "a request was lost");
                next += 1;
            })
        },
    )
}

fn by_bbq(size: usize, batch: usize, requests: u64) -> Figures {
    let make = |size: usize| (4.max(size / 64), size / 4.max(size / 64));
    let (blocks, entries) = make(size);
    let (mut submissions, mut taken) = spsc::with_wait::<Submission, _>(blocks, entries, Yield).expect(RIGHT);
    let (blocks, entries) = make(2 * size);
    let (mut completions, mut collected) = spsc::with_wait::<Completion, _>(blocks, entries, Yield).expect(RIGHT);
    three(
        batch,
        requests,
        move |most, first| {
            let all: [Submission; MOST] = std::array::from_fn(|at| request(first + at as u64));
            Push::try_push_slice(&mut submissions, &all[..most]).unwrap_or(0)
        },
        move |most, _| {
            let mut batch = [[0; 8]; MOST];
            let count = Pop::try_pop_slice(&mut taken, &mut batch[..most]).unwrap_or(0);
            for request in &batch[..count] {
                completions.push([request[0], 0]).expect("who collects stays until the end");
            }
            count
        },
        move |most, next| {
            let mut batch = [[0; 2]; MOST];
            let count = Pop::try_pop_slice(&mut collected, &mut batch[..most]).unwrap_or(0);
            assert!(
                batch[..count].iter().map(|completion| completion[0]).eq(next..next + count as u64),
                "a request was lost"
            );
            count
        },
    )
}

/// BBQ's time for a request below io_uring's.
fn beside_the_thesis(points: &[Point], measured: &[Vec<Run>]) -> String {
    let mut text = format!("{:20}{:>10}{:>12}{:>12}{:>10}\n", "", "entries", "io_uring", "bbq", "times");
    for at in (0..points.len()).step_by(2) {
        let [theirs, ours] = [at, at + 1].map(|at| points[at].nanos(&measured[at]).median);
        let point = &points[at];
        text +=
            &format!("{:20}{:>10}{theirs:>9.1} ns{ours:>9.1} ns{:>10.2}\n", point.workload, point.label, theirs / ours);
    }
    text + "The thesis: " + SAYS + "\n\n"
}

#[cfg(all(test, feature = "machines"))]
mod tests {
    use super::*;
    use thalweg_sim::Machine;

    #[test]
    fn every_request_is_confirmed_and_collected_in_order() {
        let machine = Machine::named("x86-88t").unwrap();
        let points = points(&Setting::of(&machine, 3));
        assert_eq!(points.len(), 2 * WORKLOADS.len() * SIZES.len());
        let run = |point: &Point| vec![point.run(&machine, 0).unwrap_or_else(|e| panic!("{}: {e}", point.title()))];
        let measured: Vec<Vec<Run>> = points.iter().map(run).collect();
        assert!(beside_the_thesis(&points, &measured).contains("1024"));
    }
}
