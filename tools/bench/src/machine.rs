//! What an experiment needs from the machine: its CPUs, pinning, CPU time, and a line that describes it.

use std::collections::{HashMap, HashSet};
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

/// Where threads wait until the clock starts: what it takes to start and to pin them is no part of what is measured, and what it takes
/// to wake up who waits for their end is none either.
#[derive(Debug, Default)]
pub struct Start {
    ready: AtomicUsize,
    open: AtomicBool,
    running: AtomicUsize,
    /// When the last of those that the clock waits for ended, and the CPU time by then.
    end: OnceLock<(Instant, Duration)>,
}

/// A thread that the clock waits for.
#[derive(Debug)]
#[must_use = "the clock waits until it is dropped"]
pub struct Running<'a>(&'a Start);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        // With Acquire and Release, so that the others' work is over when the last one looks at the clock.
        if self.0.running.fetch_sub(1, Ordering::AcqRel) == 1 {
            let wall = Instant::now();
            let _ = self.0.end.set((wall, cpu_time()));
        }
    }
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

    /// As [`wait`](Self::wait), of a thread whose work is measured: the clock stops when the last of these has dropped the result.
    pub fn running(&self) -> Running<'_> {
        // Before the thread is ready: the clock starts when all are counted.
        self.running.fetch_add(1, Ordering::Relaxed);
        self.wait();
        Running(self)
    }

    /// Of who measures: waits until so many `threads` are ready, and runs `work`, which ends when they have, against the clock. Its own end
    /// counts only where no thread is [`running`](Self::running).
    pub fn timed<R>(&self, threads: usize, work: impl FnOnce() -> R) -> (R, Timing) {
        while self.ready.load(Ordering::Acquire) < threads {
            std::thread::yield_now();
        }
        let (cpu, wall) = (cpu_time(), Instant::now());
        self.open.store(true, Ordering::Release);
        let result = black_box(work());
        let (end, used) = self.end.get().copied().unwrap_or_else(|| (Instant::now(), cpu_time()));
        (result, Timing { wall: end - wall, cpu: used.saturating_sub(cpu) })
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

/// The CPUs this process may use, one of each core first, lowest number first. Never empty.
///
/// Looked up once, so that a thread which is pinned already does not shrink the answer.
pub fn cpus() -> &'static [usize] {
    static CPUS: OnceLock<Vec<usize>> = OnceLock::new();
    CPUS.get_or_init(|| {
        let count = thread::available_parallelism();
        let allowed = thread::current_affinity().map_or_else(|_| (0..count).collect(), |set| set.cpus().collect());
        let mut cpus = cores_first(allowed, core);
        // No more than a quota on processor time allows: with fewer, the others would be throttled in turn.
        cpus.truncate(count);
        cpus
    })
}

/// The core that `cpu` is a thread of, by the list of its threads; where the system does not say, the CPU alone.
fn core(cpu: usize) -> String {
    let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
    std::fs::read_to_string(path).unwrap_or_else(|_| cpu.to_string())
}

/// Two pinned threads should share no core while there is another: first one CPU of each core, then the second ones, and so on.
fn cores_first(cpus: Vec<usize>, core: impl Fn(usize) -> String) -> Vec<usize> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let turn = |cpu| {
        let turn = seen.entry(core(cpu)).or_default();
        *turn += 1;
        (*turn, cpu)
    };
    let mut turns: Vec<(usize, usize)> = cpus.into_iter().map(turn).collect();
    turns.sort_unstable();
    turns.into_iter().map(|(_, cpu)| cpu).collect()
}

/// How many cores [`cpus`] are threads of.
pub fn cores() -> usize {
    cpus().iter().map(|&cpu| core(cpu)).collect::<HashSet<_>>().len()
}

/// Keeps the calling thread, and those that it starts from now on, to the first `count` of [`cpus`].
pub fn keep_to(count: usize) {
    #[cfg(target_os = "linux")]
    {
        let mut set = rustix::thread::CpuSet::new();
        cpus().iter().take(count).for_each(|&cpu| set.set(cpu));
        // A container may refuse, as in `pin`.
        let _ = rustix::thread::sched_setaffinity(None, &set);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = count;
}

/// Where the threads of a contender go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// All on the first CPU.
    OneCpu,
    /// In contiguous halves on the first two CPUs, of two cores if there are, so that a chain crosses between them once.
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
            Placement::TwoCpus if cores() > 1 => "pinned in halves to two CPUs",
            Placement::TwoCpus if cpus().len() > 1 => "pinned in halves to two threads of one core",
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
            "{}, {} CPUs of {} cores, load {}, {} {}, {}",
            model.map_or("unknown processor", |(_, model)| model.trim()),
            cpus().len(),
            cores(),
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
    fn the_clock_starts_when_the_last_thread_is_ready() {
        let (start, ready) = (Start::default(), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for pause in [0, 50].map(Duration::from_millis) {
                let (start, ready) = (&start, &ready);
                scope.spawn(move || {
                    std::thread::sleep(pause);
                    ready.fetch_add(1, Ordering::Relaxed);
                    start.wait();
                });
            }
            let (seen, _) = start.timed(2, || ready.load(Ordering::Relaxed));
            assert_eq!(seen, 2);
        });
    }

    #[test]
    fn the_clock_stops_with_the_last_thread_that_runs() {
        let (start, pause) = (Start::default(), Duration::from_millis(5));
        let (ended, timing) = std::thread::scope(|scope| {
            // One after the other, the first one last.
            for late in [3, 1] {
                let start = &start;
                scope.spawn(move || {
                    let _running = start.running();
                    std::thread::sleep(late * pause);
                });
            }
            start.timed(2, || {
                // Who waits has their end late.
                std::thread::sleep(20 * pause);
                Instant::now()
            })
        });
        assert!(timing.wall >= 3 * pause, "{timing:?}");
        assert!(ended.elapsed() + timing.wall < 20 * pause, "{timing:?}");
    }

    #[test]
    fn who_only_starts_with_the_clock_does_not_stop_it() {
        let (start, pause) = (Start::default(), Duration::from_millis(5));
        let ((), timing) = std::thread::scope(|scope| {
            scope.spawn(|| start.wait());
            start.timed(1, || std::thread::sleep(pause))
        });
        assert!(timing.wall >= pause, "{timing:?}");
    }

    #[test]
    fn per_unit_and_busy_cpus() {
        let timing = Timing { wall: Duration::from_nanos(1000), cpu: Duration::from_nanos(1500) };
        assert_eq!(timing.nanos_per(500), 2.0);
        assert!((timing.cpus() - 1.5).abs() < 1e-9);
    }

    #[test]
    fn one_thread_of_each_core_comes_first() {
        let pairs = |cpu: usize| (cpu / 2).to_string();
        assert_eq!(cores_first(vec![0, 1, 2, 3], pairs), [0, 2, 1, 3], "0 and 1 are threads of one core");
        assert_eq!(cores_first(vec![1, 4, 5], pairs), [1, 4, 5]);
        assert_eq!(cores_first(vec![0, 1, 2, 3], |cpu| (cpu % 2).to_string()), [0, 1, 2, 3]);
        assert_eq!(cores_first(vec![0, 1], |_| "0-1".into()), [0, 1], "there is no other core");
        assert!(cores() >= 1);
    }

    #[test]
    fn who_is_kept_to_a_number_of_cpus_has_those() {
        let kept = |count| {
            std::thread::spawn(move || {
                keep_to(count);
                thread::current_affinity().map(|set| set.cpus().collect::<Vec<_>>())
            })
        };
        let Ok(one) = kept(1).join().unwrap() else { return };
        assert_eq!(one, cpus()[..1]);
        let two = kept(2).join().unwrap().unwrap();
        assert!(two.len() == cpus().len().min(2) && two.iter().all(|cpu| cpus()[..two.len()].contains(cpu)));
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
