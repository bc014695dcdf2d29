//! DANBI's runtime as its paper has it (sections II and III), small: what `danbi/scaling` runs.
//!
//! The streams of crate `thalweg` take DANBI's choices and leave its waits out: blocks of messages wait in a ring for their
//! turn, workers do not. What the paper's Figures 3 and 4 compare are those waits. So here is the other form: one burst of
//! messages at a time through shared queues, whose pops issue tickets and whose pushes are served in their order; a thread that has to
//! wait is put aside for another one, and if there is none it stalls.
//!
//! Threads have no stacks: they block only where they use a queue, so what is left to do is a few words ([`Thread`]).
//! Different from the paper, besides: an end of a reservation waits for nobody (`thalweg_queue::research::ticketed`), so all of a stall
//! is at the ticket, where the paper has part of it at the commit.

use crate::worlds;
use thalweg_queue::Yield;
use thalweg_queue::research::ticketed::{self, Ticket};
use thalweg_queue::stealing::Rng;
use thalweg_queue::{TryPopError, TryPushError};
use thalweg_sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use thalweg_sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use thalweg_sync::{CachePadded, hint, spin, thread, time};

/// How the next kernel is chosen: the configurations of Figure 3.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Scheduler {
    /// A kernel at random where a queue is empty or full.
    Random,
    /// The queue's producer or consumer (Algorithm 1).
    Qes,
    /// And, at the end of a thread, a neighbour with a probability that the fill of queues gives.
    Pss,
    /// And else any kernel, with one that grows with the number of waits.
    Prs,
}

/// Messages that a thread takes and gives at once.
pub(crate) const BURST: u64 = 16;
/// C of PRS.
const PATIENCE: u64 = 10_000;
/// Cycles of a switch from one thread to another, and of making one: the paper's have a stack.
const SWITCH: u64 = 50;
const SPAWN: u64 = 200;

/// Kernels, the source first and the sink last, and the queues between them.
pub(crate) struct Graph {
    pub(crate) kernels: Vec<Kernel>,
    /// From which kernel to which.
    pub(crate) queues: Vec<(usize, usize)>,
}

/// A kernel takes a burst of messages from each of its inputs, works, and gives one to each of its outputs.
pub(crate) struct Kernel {
    pub(crate) parallel: bool,
    /// Cycles that it works for the message of that number.
    pub(crate) work: fn(u64) -> u64,
}

/// What a thread stands at.
enum Event {
    Empty(usize),
    Full(usize),
    /// For its turn, or for what is half-way.
    Waiting,
    /// A source that has given all.
    Over,
}

/// A thread of a kernel: how far it is with its messages.
struct Thread<'g> {
    kernel: usize,
    /// The first message of its burst.
    message: Option<u64>,
    ticket: Option<Ticket<'g, Yield>>,
    /// Inputs and outputs that are done.
    inputs: usize,
    outputs: usize,
    worked: bool,
    /// Times that it had to wait since its last queue operation.
    waits: u64,
}

impl Thread<'_> {
    fn new(kernel: usize) -> Self {
        Self { kernel, message: None, ticket: None, inputs: 0, outputs: 0, worked: false, waits: 0 }
    }
}

struct Queue {
    tx: ticketed::Producer<u64, Yield>,
    rx: ticketed::Consumer<u64, Yield>,
}

/// What the threads of a kernel share.
struct Shared<'g> {
    inputs: Vec<usize>,
    outputs: Vec<usize>,
    /// Threads that were put aside.
    aside: (ticketed::Producer<Thread<'g>, Yield>, ticketed::Consumer<Thread<'g>, Yield>),
    /// Of a sequential kernel: there is a thread.
    exists: CachePadded<AtomicBool>,
}

struct Run<'g> {
    graph: &'g Graph,
    queues: &'g [Queue],
    kernels: Vec<Shared<'g>>,
    scheduler: Scheduler,
    messages: u64,
    given: CachePadded<AtomicU64>,
    taken: CachePadded<AtomicU64>,
    over: CachePadded<AtomicBool>,
}

/// What a run gives.
pub(crate) struct Ran {
    /// From when all native threads are there.
    pub(crate) nanos: u64,
    /// User-level threads that there were at a time: their mean over the run, and the most (the paper's Figure 6).
    pub(crate) mean: f64,
    pub(crate) most: usize,
}

/// What a queue has room for on so many cores: a burst of every native thread, which is the paper's max(P * T, C * T).
pub(crate) fn capacity(cores: usize) -> usize {
    cores.next_power_of_two() * BURST as usize
}

/// Runs so many messages through the graph, with a native thread on each of the first `cores` hardware threads and queues of `capacity`, a
/// power of two.
pub(crate) fn run(graph: &Graph, scheduler: Scheduler, cores: usize, capacity: usize, messages: u64) -> Ran {
    let of = |kernel: usize, side: fn(&(usize, usize)) -> usize| -> Vec<usize> {
        (0..graph.queues.len()).filter(|&queue| side(&graph.queues[queue]) == kernel).collect()
    };
    assert!(messages.is_multiple_of(BURST), "whole bursts");
    let queues: Vec<Queue> = (graph.queues.iter().enumerate())
        .map(|(queue, &(_, to))| {
            // A kernel's first input issues its tickets, which are served at its other inputs and at its outputs.
            let inputs = of(to, |queue| queue.1);
            let counters = if inputs[0] == queue { inputs.len() - 1 + of(to, |queue| queue.0).len() } else { 0 };
            let (tx, rx) = ticketed::with_wait(capacity, counters, Yield).expect("a power of two");
            Queue { tx, rx }
        })
        .collect();
    let kernels = (0..graph.kernels.len())
        .map(|kernel| Shared {
            inputs: of(kernel, |queue| queue.1),
            outputs: of(kernel, |queue| queue.0),
            aside: ticketed::with_wait(16 * cores.next_power_of_two(), 0, Yield).expect("a power of two"),
            exists: CachePadded(AtomicBool::new(false)),
        })
        .collect();
    let [given, taken] = [0, 0].map(|zero| CachePadded(AtomicU64::new(zero)));
    let over = CachePadded(AtomicBool::new(false));
    let run = Run { graph, queues: &queues, kernels, scheduler, messages, given, taken, over };
    let ready = CachePadded(AtomicUsize::new(0));
    thread::scope(|scope| {
        let natives: Vec<_> = (0..cores)
            .map(|core| {
                let (run, ready) = (&run, &ready);
                scope.spawn(move || {
                    worlds::pin(core);
                    ready.fetch_add(1, AcqRel);
                    spin::until(|| (ready.load(Acquire) == cores).then_some(()));
                    thalweg_sim::jitter();
                    let began = time::now();
                    let mut native = Native { run, rng: Rng::new(core as u64), began, lives: Vec::new() };
                    native.work(core);
                    (began.elapsed().as_nanos() as u64, native.lives)
                })
            })
            .collect();
        let natives: Vec<_> = natives.into_iter().map(|native| native.join().expect("no kernel panics")).collect();
        let nanos = natives.iter().map(|(nanos, _)| *nanos).max().expect("there is a core");
        let (mean, most) = threads(natives.into_iter().flat_map(|(_, lives)| lives).collect(), nanos);
        Ran { nanos, mean, most }
    })
}

/// When a thread was made (1) or deleted (-1), in nanoseconds from the start.
type Life = (u64, i64);

/// The mean number of threads over so many nanoseconds, and the most.
fn threads(mut lives: Vec<Life>, nanos: u64) -> (f64, usize) {
    lives.sort_unstable();
    let (mut now, mut most, mut area, mut since) = (0_i64, 0, 0.0, 0);
    for (at, change) in lives {
        area += now as f64 * (at - since) as f64;
        since = at;
        now += change;
        most = most.max(now);
    }
    area += now as f64 * nanos.saturating_sub(since) as f64;
    (area / nanos.max(1) as f64, usize::try_from(most).expect("a thread is made before it is deleted"))
}

/// A native thread, with its scheduler.
struct Native<'r, 'g> {
    run: &'r Run<'g>,
    rng: Rng,
    began: time::Instant,
    lives: Vec<Life>,
}

impl<'g> Native<'_, 'g> {
    fn work(&mut self, core: usize) {
        let _task = hint::task("scheduler");
        // The starting kernel, or any other that is parallel.
        let first = if core == 0 { 0 } else { self.rng.below(self.run.graph.kernels.len()) };
        let Some(mut thread) = self.select(first) else { return };
        loop {
            let next = match self.run.advance(&mut thread) {
                Ok(()) => self.ended(thread),
                Err(event) => self.blocked(thread, event),
            };
            match next {
                Some(next) => thread = next,
                None => return,
            }
        }
    }

    /// A thread of kernel `kernel`, or of another one if that is sequential and has one. `None` when the run is over.
    fn select(&mut self, mut kernel: usize) -> Option<Thread<'g>> {
        while !self.run.over.load(Relaxed) {
            let shared = &self.run.kernels[kernel];
            worlds::work(SWITCH);
            if let Ok(thread) = shared.aside.1.try_pop() {
                return Some(thread);
            }
            // AcqRel: what the thread before did with the kernel happened before.
            if self.run.graph.kernels[kernel].parallel
                || !shared.exists.load(Relaxed) && !shared.exists.swap(true, AcqRel)
            {
                worlds::work(SPAWN);
                self.lived(1);
                return Some(Thread::new(kernel));
            }
            kernel = self.rng.below(self.run.graph.kernels.len());
        }
        None
    }

    /// A thread was made, or deleted.
    fn lived(&mut self, change: i64) {
        self.lives.push((self.began.elapsed().as_nanos() as u64, change));
    }

    fn put_aside(&self, thread: Thread<'g>) {
        let aside = &self.run.kernels[thread.kernel].aside.0;
        // There is room for all threads, but a pop may be half-way.
        let mut refused = aside.try_push(thread);
        while let Err(TryPushError::Busy(thread) | TryPushError::Full(thread)) = refused {
            spin::pause(1);
            refused = aside.try_push(thread);
        }
    }

    /// The next thread after one that could not go on.
    fn blocked(&mut self, mut thread: Thread<'g>, event: Event) -> Option<Thread<'g>> {
        let kernel = thread.kernel;
        if let Event::Waiting = event {
            if self.run.over.load(Relaxed) {
                return None;
            }
            thread.waits += 1;
            let _task = hint::task("stall");
            return Some(match self.run.kernels[kernel].aside.1.try_pop() {
                Ok(other) => {
                    worlds::work(SWITCH);
                    self.put_aside(thread);
                    other
                }
                Err(_) => {
                    spin::pause(1);
                    thread
                }
            });
        }
        let began = thread.message.is_some();
        if began || !self.run.graph.kernels[kernel].parallel {
            self.put_aside(thread);
        } else {
            self.lived(-1);
        }
        let (from, to) = match event {
            Event::Empty(queue) | Event::Full(queue) => self.run.graph.queues[queue],
            Event::Over | Event::Waiting => (kernel, kernel),
        };
        let next = match (self.run.scheduler, event) {
            (Scheduler::Random, _) | (_, Event::Over) => self.rng.below(self.run.graph.kernels.len()),
            (_, Event::Empty(_)) => from,
            _ => to,
        };
        self.select(next)
    }

    /// The next thread after one that came to its end.
    fn ended(&mut self, thread: Thread<'g>) -> Option<Thread<'g>> {
        let (kernel, waits) = (thread.kernel, thread.waits);
        if self.run.over.load(Relaxed) {
            return None;
        }
        if !self.run.graph.kernels[kernel].parallel {
            return Some(Thread::new(kernel));
        }
        drop(thread);
        if self.run.scheduler >= Scheduler::Pss
            && let Some(other) = self.speculate(kernel)
        {
            self.lived(-1);
            return self.select(other);
        }
        if self.run.scheduler >= Scheduler::Prs && (self.rng.below(PATIENCE as usize) as u64) < waits {
            let other = self.rng.below(self.run.graph.kernels.len());
            self.lived(-1);
            return self.select(other);
        }
        Some(Thread::new(kernel))
    }

    /// PSS: a fair coin picks the direction, the balanced probability whether to go.
    fn speculate(&mut self, kernel: usize) -> Option<usize> {
        let shared = &self.run.kernels[kernel];
        let fill = |&queue: &usize| {
            let queue = &self.run.queues[queue];
            (queue.rx.len() as f64 / queue.rx.capacity() as f64, queue)
        };
        let chance = self.rng.below(1 << 20) as f64 / f64::from(1 << 20);
        if self.rng.below(2) == 0 {
            let (emptiest, at) =
                shared.inputs.iter().map(|queue| (fill(queue).0, *queue)).min_by(|a, b| a.0.total_cmp(&b.0))?;
            (chance < 1.0 - 2.0 * emptiest).then(|| self.run.graph.queues[at].0)
        } else {
            let (fullest, at) =
                shared.outputs.iter().map(|queue| (fill(queue).0, *queue)).max_by(|a, b| a.0.total_cmp(&b.0))?;
            (chance < 2.0 * fullest - 1.0).then(|| self.run.graph.queues[at].1)
        }
    }
}

impl<'g> Run<'g> {
    /// Goes on with the thread until its end, or until it stands.
    fn advance(&self, thread: &mut Thread<'g>) -> Result<(), Event> {
        let _task = hint::task(if thread.waits > 0 { "stall" } else { "queue" });
        let shared = &self.kernels[thread.kernel];
        while let Some(&queue) = shared.inputs.get(thread.inputs) {
            self.pop(thread, queue)?;
            thread.inputs += 1;
            thread.waits = 0;
        }
        if shared.inputs.is_empty() && thread.message.is_none() {
            thread.message = Some(self.generate()?);
        }
        let message = thread.message.expect("there is an input, or it is a source");
        if !thread.worked {
            let _task = hint::task("application");
            let work = self.graph.kernels[thread.kernel].work;
            worlds::work((message..message + BURST).map(work).sum());
            thread.worked = true;
        }
        while let Some(&queue) = shared.outputs.get(thread.outputs) {
            self.push(thread, queue, message)?;
            thread.outputs += 1;
        }
        if shared.outputs.is_empty() {
            self.finish(message);
        }
        Ok(())
    }

    /// The first input issues the ticket; at the others it is served.
    fn pop(&self, thread: &mut Thread<'g>, queue: usize) -> Result<(), Event> {
        let turn = thread.inputs.checked_sub(1);
        if let (Some(ticket), Some(counter)) = (&thread.ticket, turn)
            && !ticket.is_turn(counter)
        {
            return Err(Event::Waiting);
        }
        let mut take = self.queues[queue].rx.try_reserve(BURST as usize).map_err(|error| match error {
            TryPopError::Empty => Event::Empty(queue),
            _ => Event::Waiting,
        })?;
        let message = take.next().expect("every reservation is written");
        assert!(take.by_ref().eq(message + 1..message + BURST), "bursts stay whole and in order");
        let ticket = take.commit();
        match (&thread.ticket, turn) {
            (Some(first), Some(counter)) => {
                assert_eq!(thread.message, Some(message), "both sides are in order");
                first.consume(counter);
            }
            _ => (thread.message, thread.ticket) = (Some(message), Some(ticket)),
        }
        Ok(())
    }

    fn push(&self, thread: &mut Thread<'g>, queue: usize, message: u64) -> Result<(), Event> {
        let counter = self.kernels[thread.kernel].inputs.len().saturating_sub(1) + thread.outputs;
        let tx = &self.queues[queue].tx;
        let reserved = match &thread.ticket {
            Some(ticket) => tx.try_reserve_in_turn(BURST as usize, ticket, counter),
            None => tx.try_reserve(BURST as usize),
        };
        let mut grant = reserved.map_err(|error| match error {
            TryPushError::Full(()) => Event::Full(queue),
            _ => Event::Waiting,
        })?;
        (message..message + BURST).for_each(|message| grant.push(message).expect("so many were reserved"));
        Ok(())
    }

    /// The source's next burst. Its threads come one after the other.
    fn generate(&self) -> Result<u64, Event> {
        let next = self.given.load(Relaxed);
        if next == self.messages {
            return Err(Event::Over);
        }
        self.given.store(next + BURST, Relaxed);
        Ok(next)
    }

    /// The sink has this burst.
    fn finish(&self, message: u64) {
        assert_eq!(message, self.taken.load(Relaxed), "in order");
        self.taken.store(message + BURST, Relaxed);
        if message + BURST == self.messages {
            self.over.store(true, Relaxed);
        }
    }
}

#[cfg(all(test, feature = "machines"))]
mod tests {
    use super::*;

    #[test]
    fn threads_are_counted_over_time() {
        // One from the start, a second one from 10 to 30, a third one from 20 to 30, of 40.
        let lives = vec![(30, -1), (0, 1), (20, 1), (10, 1), (30, -1)];
        assert_eq!(threads(lives, 40), ((40.0 + 20.0 + 10.0) / 40.0, 3));
    }
}
