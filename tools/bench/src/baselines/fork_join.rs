//! Fork and join by stealing, small: the form of Cilk's runtime, and of TBB's under Intel's OpenCL. What `danbi/others` runs beside our
//! streams.
//!
//! A worker puts what it forks on a deque of its own, and takes the newest from there. A worker that has nothing takes the oldest of a victim at random,
//! under the lock of the victim's deque. If the lock is taken or nothing is there, it yields to the operating system, as Cilk's thieves do;
//! the paper finds that this ends the scaling of Cilk's merge sort (section IV-D).
//!
//! Different from there: Cilk's owner takes its lock only when a thief may want the same entry (the THE protocol), ours each time. Cilk's
//! thieves take the rest of the function that forked, ours what was forked, as TBB's do.

use std::collections::VecDeque;
use std::ops::Range;

use thalweg_queue::stealing::Rng;
use thalweg_sync::atomic::Ordering::{Acquire, Relaxed, Release};
use thalweg_sync::atomic::{AtomicBool, Counter};
use thalweg_sync::sync::{Arc, Mutex};
use thalweg_sync::{CachePadded, hint, thread};

use super::bulk::{APPLICATION, RUNTIME};
use crate::worlds::point::{Figures, Role, together};

type Job = Box<dyn FnOnce(&mut Worker<'_>) + Send>;

/// What is done with parts of a range.
type Body = Arc<Box<dyn Fn(&mut Worker<'_>, Range<u64>) + Send + Sync>>;

/// What all workers see.
struct Pool {
    deques: Vec<CachePadded<Mutex<VecDeque<Job>>>>,
    over: CachePadded<AtomicBool>,
    /// Of all thieves: on the host all threads of a run are one.
    yields: Counter,
    jobs: Counter,
}

/// What a run did beside its figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Times that a thief found nothing and yielded.
    pub(crate) yields: u64,
    /// Jobs that were forked and run.
    pub(crate) jobs: u64,
}

/// One of the threads.
pub(crate) struct Worker<'p> {
    pool: &'p Pool,
    number: usize,
    rng: Rng,
}

/// What a forked job will have computed.
pub(crate) struct Forked<T> {
    slot: Arc<Slot<T>>,
}

struct Slot<T> {
    done: AtomicBool,
    result: Mutex<Option<T>>,
}

const POISON: &str = "no job panics";

/// Runs `root` and all that it forks on the first `workers` hardware threads.
pub(crate) fn run<T: Send>(
    workers: usize,
    messages: u64,
    root: impl FnOnce(&mut Worker<'_>) -> T + Send,
) -> (T, Figures, Counts) {
    let pool = Pool {
        deques: (0..workers).map(|_| CachePadded(Mutex::default())).collect(),
        over: CachePadded(AtomicBool::new(false)),
        yields: Counter::new(),
        jobs: Counter::new(),
    };
    let mut result = None;
    let first: Role<'_> = {
        let (pool, result) = (&pool, &mut result);
        Box::new(move || {
            let _task = hint::task(RUNTIME);
            *result = Some(root(&mut pool.worker(0)));
            // Relaxed: the result is read after the threads were joined.
            pool.over.store(true, Relaxed);
        })
    };
    let others = (1..workers).map(|number| {
        let pool = &pool;
        let role: Role<'_> = Box::new(move || {
            let _task = hint::task(RUNTIME);
            let mut worker = pool.worker(number);
            while !pool.over.load(Relaxed) {
                worker.steal();
            }
        });
        (number, role)
    });
    let figures = together(messages, std::iter::once((0, first)).chain(others).collect());
    let counts = Counts { yields: pool.yields.get(), jobs: pool.jobs.get() };
    (result.expect("the root ran"), figures, counts)
}

impl Pool {
    fn worker(&self, number: usize) -> Worker<'_> {
        Worker { pool: self, number, rng: Rng::new(number as u64) }
    }
}

impl Worker<'_> {
    pub(crate) fn workers(&self) -> usize {
        self.pool.deques.len()
    }

    /// Says that the application has worked so long.
    pub(crate) fn works(&self, nanos: f64) {
        let _task = hint::task(APPLICATION);
        hint::gives(nanos.round() as u64);
    }

    /// Lets others do it.
    pub(crate) fn fork<T: Send + 'static>(
        &mut self,
        job: impl FnOnce(&mut Worker<'_>) -> T + Send + 'static,
    ) -> Forked<T> {
        let slot = Arc::new(Slot { done: AtomicBool::new(false), result: Mutex::new(None) });
        let there = Arc::clone(&slot);
        let job: Job = Box::new(move |worker| {
            let result = job(worker);
            *there.result.lock().expect(POISON) = Some(result);
            // Release: with the Acquire of `join`, what the job did is before what follows the join.
            there.done.store(true, Release);
        });
        self.pool.deques[self.number].lock().expect(POISON).push_back(job);
        Forked { slot }
    }

    /// Waits for it, and meanwhile does what there is to do.
    pub(crate) fn join<T>(&mut self, forked: Forked<T>) -> T {
        // Acquire: the partner of the Release in `fork`.
        while !forked.slot.done.load(Acquire) {
            let own = self.pool.deques[self.number].lock().expect(POISON).pop_back();
            match own {
                Some(job) => self.runs(job),
                None => self.steal(),
            }
        }
        forked.slot.result.lock().expect(POISON).take().expect("a job that is done has a result")
    }

    /// One try, at a victim at random.
    fn steal(&mut self) {
        let workers = self.workers();
        if workers > 1 {
            let victim = (self.number + 1 + self.rng.below(workers - 1)) % workers;
            let job = self.pool.deques[victim].try_lock().ok().and_then(|mut deque| deque.pop_front());
            if let Some(job) = job {
                return self.runs(job);
            }
        }
        self.pool.yields.add(1);
        thread::yield_now();
    }

    fn runs(&mut self, job: Job) {
        self.pool.jobs.add(1);
        job(self);
    }

    /// Calls `body` for parts of `range`, which is halved down to `grain`, and waits for all.
    pub(crate) fn each(
        &mut self,
        range: Range<u64>,
        grain: u64,
        body: impl Fn(&mut Worker<'_>, Range<u64>) + Send + Sync + 'static,
    ) {
        let body: Body = Arc::new(Box::new(body));
        self.each_of(range, grain.max(1), &body);
    }

    fn each_of(&mut self, range: Range<u64>, grain: u64, body: &Body) {
        let length = range.end - range.start;
        if length <= grain {
            return body(self, range);
        }
        let middle = range.start + length / 2;
        let upper = Arc::clone(body);
        let forked = self.fork(move |worker| worker.each_of(middle..range.end, grain, &upper));
        self.each_of(range.start..middle, grain, body);
        self.join(forked);
    }
}

/// Cilk's merge sort, as its distribution has it: quarters are sorted at once, then merged by twos; a merge is cut at the middle of its longer side.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MergeSort {
    /// Records that are sorted, and merged, by one worker.
    pub(crate) grain: usize,
    /// Of a record that is sorted among n, for each doubling of n.
    pub(crate) sort_nanos: f64,
    /// Of a record that is merged.
    pub(crate) merge_nanos: f64,
}

/// Records that jobs share.
type Run = Arc<Vec<u32>>;

impl MergeSort {
    pub(crate) fn sort(self, worker: &mut Worker<'_>, mut records: Vec<u32>) -> Vec<u32> {
        let length = records.len();
        if length <= self.grain.max(4) {
            records.sort_unstable();
            worker.works(length as f64 * (length.max(2) as f64).log2() * self.sort_nanos);
            return records;
        }
        let mut quarter = || records.split_off(records.len() - length / 4);
        let (d, c, b) = (quarter(), quarter(), quarter());
        let [b, c, d] = [b, c, d].map(|quarter| worker.fork(move |worker| self.sort(worker, quarter)));
        let a = self.sort(worker, records);
        let [d, c, b] = [d, c, b].map(|forked| worker.join(forked));
        let upper = worker.fork(move |worker| self.merge_all(worker, c, d));
        let lower = self.merge_all(worker, a, b);
        let upper = worker.join(upper);
        self.merge_all(worker, lower, upper)
    }

    fn merge_all(self, worker: &mut Worker<'_>, a: Vec<u32>, b: Vec<u32>) -> Vec<u32> {
        let (of_a, of_b) = (0..a.len(), 0..b.len());
        self.merge(worker, (Arc::new(a), of_a), (Arc::new(b), of_b))
    }

    fn merge(self, worker: &mut Worker<'_>, a: (Run, Range<usize>), b: (Run, Range<usize>)) -> Vec<u32> {
        let ((a, of_a), (b, of_b)) = if a.1.len() < b.1.len() { (b, a) } else { (a, b) };
        let length = of_a.len() + of_b.len();
        if length <= self.grain.max(2) {
            worker.works(length as f64 * self.merge_nanos);
            return merged(&a[of_a], &b[of_b]);
        }
        let at_a = of_a.start + of_a.len() / 2;
        let at_b = of_b.start + b[of_b.clone()].partition_point(|record| *record < a[at_a]);
        let upper = ((Arc::clone(&a), at_a..of_a.end), (Arc::clone(&b), at_b..of_b.end));
        let upper = worker.fork(move |worker| self.merge(worker, upper.0, upper.1));
        let mut all = self.merge(worker, (a, of_a.start..at_a), (b, of_b.start..at_b));
        all.extend(worker.join(upper));
        all
    }
}

fn merged(a: &[u32], b: &[u32]) -> Vec<u32> {
    let (mut a, mut b) = (a.iter().copied().peekable(), b.iter().copied().peekable());
    let next = || match (a.peek(), b.peek()) {
        (Some(x), Some(y)) if x <= y => a.next(),
        (Some(_), None) => a.next(),
        _ => b.next(),
    };
    std::iter::from_fn(next).collect()
}

#[cfg(all(test, feature = "machines"))]
mod tests {
    use super::*;
    use thalweg_sim::{Machine, Price, Report, Simulation, price};

    const SORT: MergeSort = MergeSort { grain: 8, sort_nanos: 20.0, merge_nanos: 100.0 };

    fn simulated<T: Send>(workers: usize, client: impl Fn() -> T + Send + Sync) -> (T, Report) {
        let mut result = None;
        let report = Simulation::new(Machine::named("x86-40").unwrap()).threads(workers).run(|| {
            price(APPLICATION, Price { given: 1.0, taken: 0.0 });
            result = Some(client());
        });
        (result.unwrap(), report)
    }

    fn records(count: usize) -> Vec<u32> {
        let mut rng = Rng::new(count as u64);
        (0..count).map(|_| rng.below(count) as u32).collect()
    }

    #[test]
    fn any_number_of_workers_sorts() {
        for workers in [1, 2, 5, 40] {
            for count in [0, 1, 7, 9, 100, 1_001] {
                let mut expected = records(count);
                expected.sort_unstable();
                let sort = || run(workers, 1, |worker| SORT.sort(worker, records(count))).0;
                assert_eq!(simulated(workers, sort).0, expected, "{count} records, {workers} workers");
            }
        }
    }

    #[test]
    fn every_part_is_done_once_and_the_same_seed_is_the_same_run() {
        for workers in [1, 3, 40] {
            let client = || {
                let done: Arc<Vec<Counter>> = Arc::new((0..300).map(|_| Counter::new()).collect());
                let (mine, parts) = (Arc::clone(&done), Arc::new(Counter::new()));
                let called = Arc::clone(&parts);
                let body = move |worker: &mut Worker<'_>, part: Range<u64>| {
                    worker.works(200.0 * (part.end - part.start) as f64);
                    called.add(1);
                    part.for_each(|at| mine[at as usize].add(1));
                };
                let ((), figures, counts) = run(workers, 300, move |worker| worker.each(0..300, 4, body));
                assert_eq!(counts.jobs + 1, parts.get(), "all but one part is forked and run");
                (figures, counts, done.iter().map(Counter::get).collect::<Vec<_>>())
            };
            let first = simulated(workers, client);
            assert!(first.0.2.iter().all(|&times| times == 1), "{:?}", first.0.2);
            assert_eq!(first, simulated(workers, client), "the same again");
        }
    }

    #[test]
    fn one_worker_never_yields_and_takes_what_the_work_costs_and_more_are_faster() {
        let nanos = |workers| {
            let client = || run(workers, 1, |worker| SORT.sort(worker, records(4_096)));
            let ((_, figures, counts), report) = simulated(workers, client);
            let application: u64 =
                report.tasks.iter().filter(|task| task.name == APPLICATION).map(|task| task.nanos).sum();
            assert!(counts.yields > 0 || workers == 1);
            (figures.nanos, application, counts.yields)
        };
        let (one, work, yields) = nanos(1);
        assert_eq!(yields, 0);
        assert!(work < one && one < 2 * work, "{one} ns for {work} of work");
        let (eight, same, _) = nanos(8);
        assert_eq!(work, same, "the work is the same");
        assert!((2.0..8.0).contains(&(one as f64 / eight as f64)), "{one} and {eight} ns");
    }
}
