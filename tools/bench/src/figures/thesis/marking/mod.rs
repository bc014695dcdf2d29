//! The thesis' Figure 4.12 in small: workers that mark a heap, each with a LIFO queue of its own from which the others steal. There it is a whole Java program, of which
//! this is the part that BWoS changes.
//!
//! A worker takes the newest object that it knows, and marks what it refers to. What its queue has no room for waits on a stack of its own, as in HotSpot. A worker
//! without anything counts itself as idle, and looks for somebody with something; before it steals, it counts itself out. So when all are idle every queue is
//! empty, as only a queue's owner fills it.

mod heap;

use serde_json::json;
use thalweg_queue::stealing::{self, Rng};
use thalweg_sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use thalweg_sync::atomic::{AtomicU64, AtomicUsize};
use thalweg_sync::{CachePadded, spin};

use crate::baselines::abp;
use crate::figures::own::queues::{RIGHT, steps};
use crate::figures::thesis::stealing::ends::{Owner, Thief};
use crate::report::verdict::{Claim, Verdict};
use crate::worlds::experiment::{Base, EVERY, Experiment, NANOS, Panel, Setting, said};
use crate::worlds::point::{Figures, Point, Role, Run, together};
use crate::worlds::seen::{Seen, geometric, range};
use crate::worlds::{self, Tally};
use heap::Heap;

pub(crate) const EXPERIMENT: Experiment = Experiment::new("thesis/4.12", points)
    .here(&[NANOS, STOLEN])
    .panels(&[Panel::Rate, Panel::SpeedUp(OVER_ABP), Panel::Of(STOLEN)])
    .note(|unit, workload| said("The thesis", &[(OVER_ABP.unit, &[(EVERY, SAYS)])], unit, workload))
    .paper(beside_the_thesis)
    .verdicts(verdicts);

const OVER_ABP: Base = Base {
    unit: "times as fast as Chase and Lev's queue",
    is: |of, other| other.contender == CONTENDERS[0].0 && other.label == of.label,
};
const STOLEN: &str = "% stolen";

const SAYS: &str =
    "programs of Renaissance run 1.0355 times as fast in the mean, 1.253 times at most, with 10 % stolen";

/// A third off the thesis' number at most comes out: it is of whole programs, and this is their part that the queue changes.
const WITHIN: f64 = 1.0 / 3.0;
const FIGURE: &str = "thesis/4.12";
const MEAN: Claim = Claim::new(FIGURE, "geometric mean of the heaps with 8 workers", 1.0355, WITHIN);
const MOST: Claim = Claim::new(FIGURE, "the most of the heaps with 8 workers", 1.253, WITHIN);
const EIGHT: &str = "8 workers";

fn verdicts(seen: &Seen<'_>) -> Vec<Verdict> {
    let [theirs, ours] = CONTENDERS.map(|contender| contender.0);
    let times = |heap| Some(seen.nanos_of(heap, theirs, EIGHT)? / seen.nanos_of(heap, ours, EIGHT)?);
    let all = SHAPES.map(|(heap, _)| times(heap));
    vec![MEAN.verdict(geometric(all)), MOST.verdict(range(all).map(|range| range.1))]
}

/// Objects that a queue holds, and in how many blocks.
const CAPACITY: usize = 1024;
const BLOCKS: usize = 16;
/// What is done with an object besides, in instructions: its fields are looked at.
const WORK: u64 = 30;
/// Looks at one's own queue between two at whether somebody is idle.
const LOOK: u64 = 4;

type Ends = (Box<dyn Owner>, Vec<Box<dyn Thief>>);
/// The ends of a queue for one owner and so many thieves.
type Contender = (&'static str, fn(usize) -> Ends);

const CONTENDERS: [Contender; 2] = [("chase-lev", chase_lev), ("bwos", bwos)];

fn chase_lev(thieves: usize) -> Ends {
    let (owner, thief) = abp::abp::<false>(CAPACITY);
    (Box::new(owner), (0..thieves).map(|_| Box::new(thief.clone()) as Box<dyn Thief>).collect())
}

fn bwos(thieves: usize) -> Ends {
    let (owner, thief) = stealing::lifo(BLOCKS, CAPACITY / BLOCKS).expect(RIGHT);
    (Box::new(owner), (0..thieves).map(|_| Box::new(thief.clone()) as Box<dyn Thief>).collect())
}

/// A heap of so many objects, by name.
type Shape = (&'static str, fn(usize) -> Heap);

const SHAPES: [Shape; 4] =
    [("lists", Heap::lists), ("tree", Heap::tree), ("arrays", Heap::arrays), ("skewed", Heap::skewed)];

fn points(setting: &Setting<'_>) -> Vec<Point> {
    let objects = setting.part(40_000, 600);
    let mut points = Vec::new();
    for (workload, make) in SHAPES {
        for workers in steps(setting.threads.min(32)) {
            for (contender, ends) in CONTENDERS {
                points.push(Point {
                    workload,
                    contender,
                    label: format!("{workers} workers"),
                    params: json!({ "objects": objects, "workers": workers, "entries": CAPACITY, "blocks": BLOCKS }),
                    threads: setting.threads,
                    messages: objects,
                    device: None,
                    client: Box::new(move || mark(&make(objects as usize), workers, ends)),
                });
            }
        }
    }
    points
}

/// What all workers see.
struct Shared<'a> {
    heap: &'a Heap,
    /// By object, each on a line of its own, as headers of objects are.
    marks: Vec<CachePadded<AtomicU64>>,
    idle: CachePadded<AtomicUsize>,
    workers: usize,
    stolen: Tally,
    marked: Tally,
}

struct Worker<'a> {
    shared: &'a Shared<'a>,
    owner: Box<dyn Owner>,
    /// Of the others' queues.
    thieves: Vec<Box<dyn Thief>>,
    overflow: Vec<u64>,
    rng: Rng,
}

fn mark(heap: &Heap, workers: usize, ends: fn(usize) -> Ends) -> Figures {
    let shared = Shared {
        heap,
        marks: (0..heap.len()).map(|_| CachePadded::default()).collect(),
        idle: CachePadded::default(),
        workers,
        stolen: Tally::default(),
        marked: Tally::default(),
    };
    let mut of_queue: Vec<Ends> = (0..workers).map(|_| ends(workers - 1)).collect();
    let mut thieves: Vec<Vec<Box<dyn Thief>>> = (0..workers).map(|_| Vec::new()).collect();
    for (queue, (_, of_others)) in of_queue.iter_mut().enumerate() {
        let others = (0..workers).filter(|&worker| worker != queue);
        others.zip(of_others.drain(..)).for_each(|(worker, thief)| thieves[worker].push(thief));
    }
    let roles = of_queue.into_iter().zip(thieves).enumerate().map(|(number, ((owner, _), thieves))| {
        let shared = &shared;
        let role: Role<'_> = Box::new(move || {
            let rng = Rng::new(number as u64);
            let mut worker = Worker { shared, owner, thieves, overflow: Vec::new(), rng };
            if number == 0 {
                worker.find(0);
            }
            worker.work();
        });
        (number, role)
    });
    let figures = together(heap.len() as u64, roles.collect());
    assert_eq!(shared.marked.get(), heap.len() as u64, "an object was not marked");
    let stolen = 100.0 * shared.stolen.get() as f64 / heap.len() as f64;
    Figures { more: vec![(STOLEN, stolen)], ..figures }
}

impl Worker<'_> {
    /// Marks an object, if nobody has, and keeps it for later.
    fn find(&mut self, object: u64) {
        // Relaxed: the heap does not change; who is first goes on with it.
        if self.shared.marks[object as usize].swap(1, Relaxed) == 0 {
            self.shared.marked.add(1);
            if !self.owner.push(object) {
                self.overflow.push(object);
            }
        }
    }

    fn scan(&mut self, object: u64) {
        worlds::work(WORK);
        for &child in self.shared.heap.children(object) {
            self.find(u64::from(child));
        }
    }

    /// Works until everything is marked.
    fn work(&mut self) {
        let mut looks = 0;
        loop {
            while let Some(object) = self.overflow.pop().or_else(|| self.owner.pop()) {
                looks += 1;
                if looks % LOOK == 0 && self.shared.idle.load(Relaxed) > 0 {
                    // Before the scan: the next push or pop takes back what nobody has taken.
                    self.owner.share();
                }
                self.scan(object);
            }
            match self.seek() {
                Some(object) => self.scan(object),
                None => return,
            }
        }
    }

    /// An object of somebody else's; `None` if nobody has any.
    fn seek(&mut self) -> Option<u64> {
        let idle = &self.shared.idle;
        // AcqRel, pairs with the Acquire below: who sees all idle sees all marked.
        idle.fetch_add(1, AcqRel);
        let mut tries = 0;
        loop {
            if idle.load(Acquire) == self.shared.workers {
                return None;
            }
            let victim = self.rng.below(self.thieves.len().max(1));
            if self.thieves.get_mut(victim).is_some_and(|thief| thief.size() > 0) {
                idle.fetch_sub(1, AcqRel);
                if let Some(object) = self.thieves[victim].steal() {
                    self.shared.stolen.add(1);
                    return Some(object);
                }
                idle.fetch_add(1, AcqRel);
            }
            tries += 1;
            spin::pause(tries);
        }
    }
}

/// How many times as fast BWoS is, by heap and workers, and what was stolen.
fn beside_the_thesis(points: &[Point], measured: &[Vec<Run>]) -> String {
    let mut text = format!("{:10}{:>14}{:>10}{:>12}{:>12}\n", "heap", "", "times", "stolen", "chase-lev's");
    for at in (0..points.len()).step_by(2) {
        let times = points[at].nanos(&measured[at]).median / points[at + 1].nanos(&measured[at + 1]).median;
        let stolen = |at: usize| points[at].figure(&measured[at], STOLEN).unwrap_or(f64::NAN);
        let (heap, workers) = (points[at].workload, &points[at].label);
        text += &format!("{heap:10}{workers:>14}{times:>10.2}{:>10.1} %{:>10.1} %\n", stolen(at + 1), stolen(at));
    }
    text + "The thesis: " + SAYS + "\n\n"
}

#[cfg(all(test, feature = "machines"))]
mod tests {
    use super::*;
    use thalweg_sim::Machine;

    #[test]
    fn every_object_is_marked_once_by_any_number_of_workers() {
        let machine = Machine::named("x86-88t").unwrap();
        let points = points(&Setting::of(&machine, 3));
        let run = |point: &Point| vec![point.run(&machine, 0).unwrap_or_else(|e| panic!("{}: {e}", point.title()))];
        let measured: Vec<Vec<Run>> = points.iter().map(run).collect();
        let stolen = |at: usize| points[at].figure(&measured[at], STOLEN).unwrap();
        assert_eq!((stolen(0), stolen(1)), (0.0, 0.0), "alone");
        assert!((2..points.len()).any(|at| stolen(at) > 0.0), "others take part");
        assert!(beside_the_thesis(&points, &measured).contains("skewed"));
    }
}
