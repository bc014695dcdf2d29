//! Running a client on a modelled machine.

use crate::device::{Device, Port};
use crate::failure::Failure;
use crate::machine::{Machine, MachineError};
use crate::pulse::{PATIENCE, Pulse, Silence};
use crate::report::Report;
use crate::threads::State;
use crate::trace::Recorder;
use crate::world::World;
use std::sync::{Arc, mpsc};
use std::time::Duration;

/// A run of a client on a machine.
///
/// ```
/// use thalweg_sim::{Machine, Simulation};
/// use thalweg_sync::{atomic::{AtomicU64, Ordering}, thread};
///
/// let report = Simulation::new(Machine::named("x86-88t")?).threads(8).run(|| {
///     let total = AtomicU64::new(0);
///     thread::scope(|scope| {
///         for _ in 0..8 {
///             scope.spawn(|| (0..20_000).for_each(|_| _ = total.fetch_add(1, Ordering::Relaxed)));
///         }
///     });
///     assert_eq!(total.load(Ordering::Relaxed), 160_000);
/// });
/// // One line, which eight cores take from each other.
/// assert!(report.lines[0].cost.misses > 100);
/// println!("{report}");
/// # Ok::<(), thalweg_sim::MachineError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Simulation {
    machine: Machine,
    threads: usize,
    seed: u64,
    jitter: u64,
    limit: u64,
    stack_bytes: usize,
    device: Option<Device>,
    hits: bool,
    trace: usize,
    patience: Duration,
}

impl Simulation {
    /// A run on all hardware threads of `machine`, with seed 0, at most a minute of simulated time.
    pub fn new(machine: Machine) -> Self {
        let threads = machine.threads();
        Self {
            machine,
            threads,
            seed: 0,
            jitter: 500,
            limit: 60_000_000_000,
            stack_bytes: 256 << 10,
            hits: false,
            trace: 0,
            device: None,
            patience: PATIENCE,
        }
    }

    /// How many hardware threads the program may use: the first of the machine, first each core's first. What
    /// `thread::available_parallelism` says. A program may start more threads; they share these.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Which of the runs that differ by [`jitter`](Self::jitter) only. The same seed is always the same run.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// By up to how many nanoseconds threads start and wake up late, and come from a gate that says so ([`jitter`](crate::jitter)); 500 unless set. The
    /// seed decides by how many.
    pub fn jitter(mut self, nanos: u64) -> Self {
        self.jitter = nanos;
        self
    }

    /// After how many nanoseconds of simulated time the run is given up.
    pub fn limit(mut self, nanos: u64) -> Self {
        self.limit = nanos;
        self
    }

    /// The size of each thread's stack. Memory is used only as far as the stack grows.
    pub fn stack_bytes(mut self, bytes: usize) -> Self {
        self.stack_bytes = bytes;
        self
    }

    /// Gives the machine a message device: the instructions of [`thalweg_sync::link`] go there.
    ///
    /// # Panics
    ///
    /// If no queue of the device could ever carry anything: a number of its [`Routing`](crate::Routing) or
    /// [`Credits`](crate::Credits) is out of range.
    ///
    /// ```
    /// use std::pin::pin;
    /// use thalweg_sim::{Device, Machine, Routing, Simulation};
    /// use thalweg_sync::{atomic::Ordering::{Acquire, Release}, link, spin};
    ///
    /// let device = Device::VirtualLink(Routing::default());
    /// let report = Simulation::new(Machine::named("vl-16")?).device(device).run(|| {
    ///     let (from, to) = (pin!(link::Line::new()), pin!(link::Line::new()));
    ///     let queue = link::Target::new(0, 0).unwrap();
    ///     assert!(link::open(queue));
    ///     link::select(to.as_ref());
    ///     assert!(link::fetch(queue));
    ///     from.store(0, 42, Release);
    ///     link::select(from.as_ref());
    ///     assert!(link::push(queue));
    ///     assert_eq!(from.load(0, Acquire), 0, "the device has it");
    ///     assert_eq!(spin::until(|| Some(to.load(0, Acquire)).filter(|&word| word != 0)), 42);
    /// });
    /// assert_eq!(report.counts.device.injections, 1);
    /// # Ok::<(), thalweg_sim::MachineError>(())
    /// ```
    pub fn device(mut self, device: Device) -> Self {
        if let Some(fault) = device.fault() {
            panic!("{fault}");
        }
        self.device = Some(device);
        self
    }

    /// Counts hits by place in the source too, which makes the simulator a little slower.
    pub fn count_hits(mut self, yes: bool) -> Self {
        self.hits = yes;
        self
    }

    /// Notes up to `events` events for the report's [`Trace`](crate::Trace); 0 is none. An event takes 64 bytes.
    pub fn trace(mut self, events: usize) -> Self {
        self.trace = events;
        self
    }

    /// How long, on the host, a run may go on without anything that the simulator sees, in steps of a sixtieth; a minute
    /// unless set. Time in which its thread waits for a processor does not count, where the system tells (Linux). Then the process ends
    /// ([`try_run`](Self::try_run)).
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Runs `client` as the first thread, and everything that it starts, to the end.
    ///
    /// # Panics
    ///
    /// With the [`Failure`], if there is one.
    pub fn run(&self, client: impl FnOnce() + Send) -> Report {
        match self.try_run(client) {
            Ok(((), report)) => report,
            Err(failure) => panic!("{failure}"),
        }
    }

    /// As [`run`](Self::run), but gives what `client` returns, or the failure. Errors also if the machine has fewer
    /// threads than were asked for.
    ///
    /// # Ends the process
    ///
    /// A client that waits by other means than the facade's never comes back, and nothing can stop it. When the simulator has seen
    /// nothing of it for ten seconds, waits for a processor aside, standard error says so, and in which thread; after a minute
    /// ([`patience`](Self::patience)) the process ends, with status 2 and the ways out on standard error.
    pub fn try_run<R: Send>(&self, client: impl FnOnce() -> R + Send) -> Result<(R, Report), Failure> {
        let threads = self.machine.threads();
        if !(1..=threads).contains(&self.threads) {
            let machine = self.machine.name().to_owned();
            return Err(MachineError::TooManyThreads { machine, asked: self.threads, threads }.into());
        }
        let cycles = |nanos| self.machine.cycles(nanos);
        // A thread of its own: a coroutine that is stuck while it unwinds leaves the thread's panic count wrong for
        // good.
        let pulse = Arc::new(Pulse::default());
        let (running, ended) = mpsc::channel();
        let run = || {
            let _running = running;
            pulse.begin();
            let mut state =
                State::new(self.machine.clone(), self.threads, self.seed, cycles(self.limit), cycles(self.jitter));
            state.port = self.device.as_ref().map(|device| Port::new(device, threads));
            state.notes.hits = self.hits;
            state.notes.trace = (self.trace > 0).then(|| Recorder::new(self.trace));
            let mut returned = None;
            let body = Box::new(|| returned = Some(client()));
            let mut state = World::new(state, self.stack_bytes, pulse.clone()).run(body);
            match (state.failure.take(), returned) {
                (Some(failure), _) => Err(failure),
                (None, Some(value)) => Ok((value, Report::new(&mut state, self.seed))),
                (None, None) => unreachable!("a run without a failure comes to its end"),
            }
        };
        let result = std::thread::scope(|scope| {
            let run = scope.spawn(run);
            pulse.watch(
                &ended,
                self.patience,
                || pulse.starved(),
                |silence| {
                    eprintln!("{}", silence.text(self.patience));
                    if let Silence::GivenUp(_) = silence {
                        std::process::exit(2);
                    }
                },
            );
            run.join()
        });
        result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}
