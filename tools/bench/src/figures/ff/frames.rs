//! FastForward's Figure 12: frames that come from a network at line rate go through three stages, one frame a message, by pointer.
//!
//! The network is a clock: a frame is there when its bytes would be, at a gigabit a second with 20 bytes between frames. What waits in the
//! interface's ring of descriptors beyond its length is dropped there, as by a card. The application works for what the paper's frame rate
//! leaves it beside two operations of the paper's queue, so that a queue which takes longer is seen in the rate.

use serde_json::json;
use thalweg_sync::hint::Access;
use thalweg_sync::{CachePadded, spin, time};

use super::stages::{AS_PRINTED, Contender, FAST_FORWARD, LAMPORT, LOCKED};
use crate::figures::own::queues::Item;
use crate::report::verdict::{Claim, Verdict, shown};
use crate::worlds::experiment::{EVERY, Experiment, Panel, RATE, Setting, said};
use crate::worlds::point::{Figures, Point, Role, Run, together};
use crate::worlds::seen::Seen;
use crate::worlds::{self, Memory};

pub(crate) const EXPERIMENT: Experiment = Experiment::new("ff/figure12", plan)
    .threads(3)
    .panels(&[Panel::Rate, Panel::Of(LINE_RATE), Panel::Of(APPLICATION)])
    .note(|unit, workload| said("The paper", &[(RATE, &[(EVERY, SAYS)])], unit, workload))
    .paper(beside)
    .verdicts(verdicts);

const SAYS: &str = "1.36 million frames a second, the line rate from 74 bytes on; a stage's time is the same for all sizes; Lamport's \
                    queue cannot do it";

/// A third off the paper's number at most comes out, as in the other figures of this paper.
const WITHIN: f64 = 1.0 / 3.0;
/// By contender: million frames a second, and percent of the line rate.
const CLAIMS: [(Contender, Claim, Claim); 2] = [
    (
        FAST_FORWARD,
        rate("fast-forward, frames of 74 bytes, million a second"),
        share("fast-forward, % of the line rate at 74 bytes"),
    ),
    (
        AS_PRINTED,
        rate("as printed, frames of 74 bytes, million a second"),
        share("as printed, % of the line rate at 74 bytes"),
    ),
];

const fn rate(what: &'static str) -> Claim {
    Claim::new("ff/figure12", what, 1.36, WITHIN)
}

const fn share(what: &'static str) -> Claim {
    Claim::new("ff/figure12", what, 100.0, WITHIN)
}

fn verdicts(seen: &Seen<'_>) -> Vec<Verdict> {
    let mut all = Vec::new();
    for ((contender, _), rate, share) in CLAIMS {
        let at = seen.places(|point| point.contender == contender && point.label == "74 bytes").first().copied();
        all.push(rate.verdict(at.and_then(|at| Some(1000.0 / seen.nanos(at)?))));
        all.push(share.verdict(at.and_then(|at| seen.figure(at, LINE_RATE))));
    }
    all.push(shown("ff/figure12", "lamport", "it cannot do the line rate"));
    all
}

/// Forwarded, of what the network sent.
const LINE_RATE: &str = "% of the line rate";
/// From the descriptor to the queue, for a frame.
const INPUT: &str = "ns of input";
/// From queue to queue, for a frame.
const APPLICATION: &str = "ns of application";

const SIZES: [u64; 8] = [64, 74, 96, 128, 256, 512, 1024, 1518];
const ENTRIES: usize = 2048;
/// Descriptors of the interface.
const DESCRIPTORS: u64 = 256;
/// 735 ns for a frame, less two operations of 30 ns.
const WORK_NANOS: u64 = 675;
/// Of so many frames the application's time is taken once.
const SAMPLE: u64 = 64;
/// After the last frame.
const END: u64 = u64::MAX;

/// Two kilobytes, as an interface has them. What is in them does not matter, so only who touches them is told.
const FRAME: usize = 256;
/// And of a descriptor.
const DESCRIPTOR: usize = 2;

/// Nanoseconds from one frame's begin to the next's, at a gigabit a second.
fn gap(bytes: u64) -> u64 {
    (bytes + 20) * 8
}

fn plan(setting: &Setting<'_>) -> Vec<Point> {
    let frames = setting.part(20_000, 600);
    let mhz = setting.world.mhz();
    let threads = setting.threads;
    let mut points = Vec::new();
    for contender in [FAST_FORWARD, AS_PRINTED, LAMPORT, LOCKED] {
        for bytes in SIZES {
            points.push(Point {
                workload: "frames at line rate",
                contender: contender.0,
                label: format!("{bytes} bytes"),
                params: json!({ "messages": frames, "bytes": bytes, "entries": ENTRIES, "work": WORK_NANOS }),
                threads,
                messages: frames,
                device: None,
                client: Box::new(move || forward(contender, frames, bytes, WORK_NANOS * mhz / 1000)),
            });
        }
    }
    points
}

fn forward((_, make): Contender, frames: u64, bytes: u64, work: u64) -> Figures {
    let all = ENTRIES + DESCRIPTORS as usize;
    let memory = Memory::new(FRAME * all);
    let header = |frame: u64, access| memory.touch(FRAME * (frame as usize % all), 8, access);
    let descriptors = Memory::new(DESCRIPTOR * DESCRIPTORS as usize);
    let [(mut to_application, mut from_input), (mut to_output, mut from_application)] =
        [(); 2].map(|()| make(ENTRIES, work));
    let [mut lost, mut input, mut application] = [0_u64; 3].map(CachePadded);
    let next = |pop: &mut Box<dyn FnMut() -> Option<Item> + Send>| loop {
        match pop() {
            Some(item) => break item,
            None => spin::pause(1),
        }
    };
    let give = |push: &mut Box<dyn FnMut(Item) -> bool + Send>, item: u64| {
        let item = Item::new(item).expect("frames are counted from 1");
        while !push(item) {
            spin::pause(1);
        }
    };
    let output: Role<'_> = Box::new(|| {
        while next(&mut from_application).get() != END {
            worlds::work(20);
        }
    });
    let (lost_frames, input_nanos, application_nanos) = (&mut *lost, &mut *input, &mut *application);
    let network: Role<'_> = Box::new(|| {
        let began = time::now();
        let mut frame = 0;
        let mut now = 0;
        while frame < frames {
            let come = now / gap(bytes);
            if frame >= come {
                spin::pause(1);
                now = began.elapsed().as_nanos() as u64;
                continue;
            }
            let kept = come.saturating_sub(DESCRIPTORS).min(frames - 1).max(frame);
            *lost_frames += kept - frame;
            frame = kept;
            let descriptor = DESCRIPTOR * (frame % DESCRIPTORS) as usize;
            descriptors.touch(descriptor, DESCRIPTOR, Access::Read);
            descriptors.touch(descriptor, DESCRIPTOR, Access::Write);
            header(frame, Access::Read);
            frame += 1;
            give(&mut to_application, frame);
            let after = began.elapsed().as_nanos() as u64;
            *input_nanos += after - now;
            now = after;
        }
        give(&mut to_application, END);
    });
    let apply: Role<'_> = Box::new(|| {
        for count in 0_u64.. {
            let mut item = from_input();
            while item.is_none() {
                spin::pause(1);
                item = from_input();
            }
            let frame = item.expect("looked at above").get();
            let began = (count % SAMPLE == 0).then(time::now);
            if frame != END {
                header(frame - 1, Access::Read);
                worlds::work(work);
                header(frame - 1, Access::Write);
            }
            give(&mut to_output, frame);
            if let Some(began) = began {
                *application_nanos += began.elapsed().as_nanos() as u64;
            }
            if frame == END {
                return;
            }
        }
    });
    let figures = together(frames, vec![(2, output), (1, apply), (0, network)]);
    let forwarded = frames - *lost;
    let more = vec![
        (LINE_RATE, 100.0 * forwarded as f64 * gap(bytes) as f64 / figures.nanos as f64),
        (INPUT, *input as f64 / forwarded as f64),
        (APPLICATION, *application as f64 / forwarded.div_ceil(SAMPLE) as f64),
    ];
    Figures { messages: forwarded, more, ..figures }
}

/// The rate of each queue by size, and from which size on it is the line rate.
fn beside(points: &[Point], measured: &[Vec<Run>]) -> String {
    let mut text = format!("{:16}{:>12}{:>18}{:>16}{:>20}\n", "", "", LINE_RATE, INPUT, APPLICATION);
    for (point, runs) in points.iter().zip(measured) {
        let figure = |unit| point.figure(runs, unit).expect("each run measures it");
        text += &format!(
            "{:16}{:>12}{:>18.1}{:>16.0}{:>20.0}\n",
            point.contender,
            point.label,
            figure(LINE_RATE),
            figure(INPUT),
            figure(APPLICATION)
        );
    }
    text + "The paper: " + SAYS + "\n\n"
}

#[cfg(all(test, feature = "machines"))]
mod tests {
    use super::*;
    use thalweg_sim::Machine;

    /// The budget decides: at full size any queue forwards all, at 64 bytes the application is too slow for any.
    #[test]
    fn the_network_sets_the_pace_until_the_stages_do() {
        let machine = Machine::named("x86-4").unwrap();
        let share = |contender, bytes| {
            let figures = |point: &Point| {
                let run = point.run(&machine, 0).unwrap_or_else(|failure| panic!("{}: {failure}", point.title()));
                point.figure(&[run], LINE_RATE).expect("it is measured")
            };
            let points = plan(&Setting::of(&machine, 3));
            let is_it = |point: &&Point| point.contender == contender && point.label == format!("{bytes} bytes");
            figures(points.iter().find(is_it).expect("it is planned"))
        };
        for contender in [FAST_FORWARD.0, LOCKED.0] {
            assert!(share(contender, 1518) > 95.0, "{contender}");
            assert!(share(contender, 64) < 99.0, "{contender}");
        }
    }
}
