//! Small measurements with one source for two worlds: this machine, and the simulated one.
//!
//! The binary `micro` runs them natively, in a build without engines; `cargo sim calibrate` runs the same functions on a
//! modelled machine, fits the model's latencies to some of them and says how far it is off on the others.
//!
//! | kind | measurements |
//! |---|---|
//! | latency | a chain of dependent loads in each level of the caches, in memory |
//! | code | instructions of a queue, by one thread |
//! | one line | taken from another core; there and back; additions and exchanges by one thread and by two |
//! | streams | lines from one core to another; queues between one producer and one consumer |

mod lines;
mod queues;

pub use lines::cycles_nanos;

use thalweg_sync::atomic::{AtomicUsize, Ordering::*};
use thalweg_sync::time::Instant;
use thalweg_sync::{CachePadded, spin, thread, time};

/// A measurement.
#[derive(Clone, Copy, Debug)]
pub struct Micro {
    /// Its name: what it is, and with how many threads.
    pub name: &'static str,
    /// What one round is.
    pub what: &'static str,
    /// How many rounds natively, and how many on a simulated machine, which needs no warm-up and has no noise.
    pub rounds: (u64, u64),
    /// It takes too much memory, or too long, on a simulated machine.
    pub native_only: bool,
    /// What of it the model leaves out, where it is known to be off for that; else nothing.
    pub unmodelled: &'static str,
    run: fn(&Hardware, u64) -> f64,
}

/// Where threads run, and how large the caches are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hardware {
    /// The CPUs of the two threads.
    pub cpus: [usize; 2],
    /// The size of a first-level cache in bytes.
    pub l1: usize,
    /// The size of a second-level cache in bytes.
    pub l2: usize,
}

impl Micro {
    /// Nanoseconds for a round. It checks its own result.
    ///
    /// # Panics
    ///
    /// If a message was lost, or changed.
    pub fn run(&self, place: &Hardware, rounds: u64) -> f64 {
        (self.run)(place, rounds)
    }
}

const fn micro(name: &'static str, what: &'static str, rounds: (u64, u64), run: fn(&Hardware, u64) -> f64) -> Micro {
    Micro { name, what, rounds, native_only: false, unmodelled: "", run }
}

/// A measurement for which the model is known to lack something.
const fn without(unmodelled: &'static str, micro: Micro) -> Micro {
    Micro { unmodelled, ..micro }
}

/// Of lines that the other side has read.
const CLAIMED: &str = "that a line is claimed back in less time now and then than by a stream of stores";

/// All measurements.
pub const ALL: [Micro; 19] = [
    micro("load/l1", "a load that depends on the one before, in a first-level cache", (20_000_000, 50_000), lines::l1),
    micro("load/l2", "the same in a second-level cache", (5_000_000, 50_000), lines::l2),
    micro("load/llc", "the same in the last-level cache", (2_000_000, 150_000), lines::llc),
    Micro { native_only: true, ..micro("load/memory", "the same in memory", (500_000, 0), lines::memory) },
    micro("pause", "a pause of a loop that waits", (1_000_000, 20_000), lines::pause),
    micro(
        "line/taken",
        "a load that depends on the one before, of a line that another core has written",
        (1_000_000, 10_000),
        lines::taken,
    ),
    micro("line/round-trip", "a word goes to another core and comes back", (300_000, 2_000), lines::round_trip),
    without(
        CLAIMED,
        micro("line/each-way", "a word goes there in one line, and back in another", (300_000, 2_000), lines::each_way),
    ),
    micro("add/1", "an addition to a word of one's own", (10_000_000, 50_000), lines::add_alone),
    micro("add/2", "an addition to a word that two threads want", (3_000_000, 50_000), lines::add_contended),
    micro("exchange/1", "a compare-and-exchange that succeeds, alone", (10_000_000, 50_000), lines::exchange_alone),
    micro("exchange/2", "the same by two threads at once", (3_000_000, 50_000), lines::exchange_contended),
    micro("code", "a number through FastForward, pushed and popped by one thread", (10_000_000, 50_000), queues::alone),
    micro("stream/lines", "a number in a line that another core reads", (20_000_000, 200_000), lines::stream),
    micro(
        "stream/shown",
        "the same, with a store to a line of its own after each number",
        (10_000_000, 200_000),
        lines::stream_shown,
    ),
    without(CLAIMED, micro("queue/lamport", "a number through Lamport's queue", (3_000_000, 100_000), queues::lamport)),
    without(
        "lines that a processor fetches far ahead of its own accord, out of those that the other side is in",
        micro("queue/fast-forward", "a number through FastForward", (10_000_000, 100_000), queues::fast_forward),
    ),
    without(
        "stores beyond the three that the queue needs: a compiled push makes twelve",
        micro("queue/bbq-spsc", "a number through BBQ for one and one", (10_000_000, 100_000), queues::bbq_spsc),
    ),
    without(
        CLAIMED,
        micro(
            "queue/bbq",
            "a number through BBQ for many, used by one and one",
            (2_000_000, 100_000),
            queues::bbq_shared,
        ),
    ),
];

/// Runs the two on a CPU each, from the same moment on; gives what `second` gives. The measured time is its own matter.
fn between<R: Send>(place: &Hardware, first: impl FnOnce() + Send, second: impl FnOnce() -> R + Send) -> R {
    let ready = CachePadded(AtomicUsize::new(0));
    let meet = |cpu: usize| {
        // A container may refuse: then the system decides.
        let _ = thread::pin_current(cpu);
        ready.fetch_add(1, AcqRel);
        spin::hold(|| (ready.load(Acquire) == 2).then_some(()));
    };
    thread::scope(|scope| {
        let other = scope.spawn(|| {
            meet(place.cpus[0]);
            first();
        });
        let own = scope.spawn(|| {
            meet(place.cpus[1]);
            second()
        });
        other.join().expect("the first thread does not panic");
        own.join().expect("the second thread does not panic")
    })
}

/// Runs `alone` on the first CPU. A thread of its own: who started it stays where it may run.
fn on_first<R: Send>(place: &Hardware, alone: impl FnOnce() -> R + Send) -> R {
    let on_cpu = || {
        let _ = thread::pin_current(place.cpus[0]);
        alone()
    };
    thread::scope(|scope| scope.spawn(on_cpu).join().expect("the thread does not panic"))
}

/// Nanoseconds since `start`, for each of `rounds`.
fn each(start: Instant, rounds: u64) -> f64 {
    time::now().since(start).as_nanos() as f64 / rounds.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_measurement_runs_and_has_its_own_name() {
        let place = Hardware { cpus: [0, 1], l1: 32 << 10, l2: 256 << 10 };
        for (at, micro) in ALL.iter().enumerate() {
            assert!(micro.run(&place, 20) > 0.0, "{}", micro.name);
            assert!(ALL[..at].iter().all(|other| other.name != micro.name));
        }
        assert!(cycles_nanos() > 0.05);
    }
}
