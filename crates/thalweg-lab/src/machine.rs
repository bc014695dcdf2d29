//! What an experiment needs from the machine: its CPUs, pinning, CPU time, and a line that describes it.

use std::hint::black_box;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use thalweg_sync::thread;

/// Wall-clock time of a piece of work, and the CPU time that all threads of the process used meanwhile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timing {
    /// Elapsed time.
    pub wall: Duration,
    /// CPU time of the whole process, user and system.
    pub cpu: Duration,
}

impl Timing {
    /// Nanoseconds of wall time for each of `units` units of work.
    pub fn nanos_per(&self, units: u64) -> f64 {
        self.wall.as_nanos() as f64 / units.max(1) as f64
    }

    /// How many CPUs were busy on average.
    pub fn cpus(&self) -> f64 {
        self.cpu.as_secs_f64() / self.wall.as_secs_f64().max(1e-9)
    }
}

/// Runs `work` and says how long it took.
pub fn timed<R>(work: impl FnOnce() -> R) -> (R, Timing) {
    let (cpu, wall) = (cpu_time(), Instant::now());
    // Opaque, or the compiler may move work that touches no memory behind the second look at the clock.
    let result = black_box(work());
    let wall = wall.elapsed();
    (result, Timing { wall, cpu: cpu_time().saturating_sub(cpu) })
}

/// Where threads wait until the clock starts: what it takes to start and to pin them is no part of what is measured.
#[derive(Debug, Default)]
pub struct Start {
    ready: AtomicUsize,
    open: AtomicBool,
}

impl Start {
    /// Of a thread that is ready: comes back when the clock runs.
    pub fn wait(&self) {
        self.ready.fetch_add(1, Ordering::Release);
        // Not asleep: waking up would be in the figures.
        while !self.open.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
    }

    /// Of who measures: waits until so many `threads` are ready, and runs `work`, which ends when they have, against the clock.
    pub fn timed<R>(&self, threads: usize, work: impl FnOnce() -> R) -> (R, Timing) {
        while self.ready.load(Ordering::Acquire) < threads {
            std::thread::yield_now();
        }
        timed(|| {
            self.open.store(true, Ordering::Release);
            work()
        })
    }
}

fn cpu_time() -> Duration {
    read(rustix::time::ClockId::ProcessCPUTime)
}

/// CPU time of the calling thread so far, user and system.
pub fn thread_cpu_time() -> Duration {
    read(rustix::time::ClockId::ThreadCPUTime)
}

fn read(clock: rustix::time::ClockId) -> Duration {
    let time = rustix::time::clock_gettime(clock);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The CPUs this process may use, lowest number first. Never empty.
///
/// Looked up once, so that a thread which is pinned already does not shrink the answer.
pub fn cpus() -> &'static [usize] {
    static CPUS: OnceLock<Vec<usize>> = OnceLock::new();
    CPUS.get_or_init(|| match thread::current_affinity() {
        // No more than a quota on processor time allows: with fewer, the others would be throttled in turn.
        Ok(allowed) => allowed.cpus().take(thread::available_parallelism()).collect(),
        Err(_) => (0..thread::available_parallelism()).collect(),
    })
}

/// Where the threads of a contender go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// All on the first CPU.
    OneCpu,
    /// In contiguous halves on the first two CPUs, so that a chain crosses between them once.
    TwoCpus,
}

impl Placement {
    /// Pins the calling thread, the `thread`-th of `threads`.
    pub fn pin(self, thread: usize, threads: usize) {
        let half = match self {
            Placement::OneCpu => 0,
            Placement::TwoCpus => 2 * thread / threads.max(1),
        };
        let cpus = cpus();
        // A container may refuse: the run is still right, only its spread is wider.
        let _ = thread::pin_current(cpus[half.min(cpus.len() - 1)]);
    }

    /// The word for a record's parameters.
    pub fn word(self) -> &'static str {
        match self {
            Placement::OneCpu => "pinned to one CPU",
            Placement::TwoCpus if cpus().len() > 1 => "pinned in halves to two CPUs",
            Placement::TwoCpus => "pinned to the only CPU",
        }
    }
}

/// One line that belongs to every figure: processor, CPUs in use, load before the first run, system, compiler.
pub fn describe() -> &'static str {
    static LINE: OnceLock<String> = OnceLock::new();
    LINE.get_or_init(|| {
        let read = |path| std::fs::read_to_string(path).unwrap_or_default();
        let info = read("/proc/cpuinfo");
        let model = info.lines().find(|line| line.starts_with("model name")).and_then(|line| line.split_once(": "));
        let load = read("/proc/loadavg");
        format!(
            "{}, {} CPUs, load {}, {} {}, {}",
            model.map_or("unknown processor", |(_, model)| model.trim()),
            cpus().len(),
            load.split(' ').next().filter(|load| !load.is_empty()).unwrap_or("unknown"),
            std::env::consts::OS,
            std::env::consts::ARCH,
            env!("THALWEG_LAB_RUSTC"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_follows_work_and_not_sleep() {
        let (_, slept) = timed(|| std::thread::sleep(Duration::from_millis(50)));
        assert!(slept.wall >= Duration::from_millis(50));
        let (_, worked) = timed(|| {
            let start = cpu_time();
            while cpu_time() - start < Duration::from_millis(20) {
                std::hint::spin_loop();
            }
        });
        // Other tests run in this process too, so only the lower bound is certain.
        assert!(worked.cpu >= Duration::from_millis(20));
    }

    #[test]
    fn threads_start_together_and_only_then() {
        let (start, started) = (Start::default(), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            let threads = [(); 3].map(|()| {
                scope.spawn(|| {
                    start.wait();
                    started.fetch_add(1, Ordering::Relaxed);
                })
            });
            assert_eq!(started.load(Ordering::Relaxed), 0);
            start.timed(3, || threads.into_iter().for_each(|thread| thread.join().unwrap()));
        });
        assert_eq!(started.into_inner(), 3);
    }

    #[test]
    fn per_unit_and_busy_cpus() {
        let timing = Timing { wall: Duration::from_nanos(1000), cpu: Duration::from_nanos(1500) };
        assert_eq!(timing.nanos_per(500), 2.0);
        assert!((timing.cpus() - 1.5).abs() < 1e-9);
    }

    #[test]
    fn pinning_stays_in_its_thread() {
        let Ok(before) = thread::current_affinity() else { return };
        let before: Vec<usize> = before.cpus().collect();
        std::thread::spawn(|| Placement::OneCpu.pin(0, 1)).join().unwrap();
        let now: Vec<usize> = thread::current_affinity().unwrap().cpus().collect();
        assert_eq!(now, before);
    }
}
