//! `queues/wait`: how soon a sleeping consumer has its item, and what sleeping costs.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use serde_json::json;
use thalweg_queue::research::tube::scqd::Scqd;
use thalweg_queue::{Park, growing, mpmc, mpsc, research::cnq, spmc, spsc, spsc::fast_forward};

use super::limits::{self, Parked};
use super::one_to_one::CAPACITY;
use super::stamps::{Clock, Stamps};
use crate::harness::Role::{self, *};
use crate::harness::{BoxError, Contender, Effort, Experiment, Group, Sample};
use crate::machine::{Placement, timed};
use crate::report::record::quantile;

/// The entry for the registry.
pub const EXPERIMENT: Experiment = Experiment { name: "queues/wait", plan };

const UNITS: &[&str] = &["us p50", "us p99", "% of a core, consumer", "% of a core, both"];
const PERIOD: Duration = Duration::from_millis(1);

fn plan(effort: &Effort) -> Result<Vec<Group>, BoxError> {
    let items = effort.messages(1_000);
    let contenders = vec![
        contender::<Spsc>(Ours, "thalweg `spsc`", items),
        contender::<FastForward>(Ours, "thalweg `fast_forward`", items),
        contender::<ChunkRing>(Ours, "thalweg `chunk_ring`", items),
        contender::<Bbq>(Ours, "thalweg `mpmc`", items),
        contender::<CrossbeamChannel>(Peer, "crossbeam-channel", items),
        contender::<SyncChannel>(Peer, "std `sync_channel`", items),
        contender::<CrossfireSpsc>(Peer, "crossfire-spsc", items),
        contender::<Kanal>(Peer, "kanal", items),
        contender::<Flume>(Peer, "flume", items),
        contender::<Thingbuf>(Peer, "thingbuf", items),
        contender::<Parked>(Bound, "limit: a word, and park", items),
    ];
    Ok(vec![Group::new("one item a millisecond", UNITS, contenders), limits::group(effort)])
}

/// A queue whose ends sleep when they have to wait.
pub(super) trait Sleeping: 'static {
    /// A writing end.
    type Tx: Send;
    /// A reading end.
    type Rx: Send;

    /// A queue for [`CAPACITY`] items.
    fn build() -> (Self::Tx, Self::Rx);

    /// Pushes `value` when there is room.
    fn send(tx: &mut Self::Tx, value: u64);

    /// Pops an item when there is one. None if there will be none.
    fn receive(rx: &mut Self::Rx) -> Option<u64>;
}

/// `Name: ends, how they are built, send, receive`.
macro_rules! sleeping {
    ($($Name:ident: $Tx:ty, $Rx:ty; $build:expr; |$tx:ident, $value:ident| $send:expr; |$rx:ident| $receive:expr;)+) => {
        $(
            pub(super) struct $Name;

            impl Sleeping for $Name {
                type Tx = $Tx;
                type Rx = $Rx;

                fn build() -> (Self::Tx, Self::Rx) {
                    $build
                }

                fn send($tx: &mut Self::Tx, $value: u64) {
                    assert!($send, "the consumer is there");
                }

                fn receive($rx: &mut Self::Rx) -> Option<u64> {
                    $receive
                }
            }
        )+
    };
}

const POSSIBLE: &str = "the capacity is possible";

sleeping! {
    Spsc: spsc::Producer<u64, Park>, spsc::Consumer<u64, Park>;
        spsc::with_wait(8, CAPACITY / 8, Park::new()).expect(POSSIBLE);
        |tx, value| tx.push(value).is_ok();
        |rx| rx.pop().ok();
    FastForward: fast_forward::Producer<std::num::NonZeroU64, Park>, fast_forward::Consumer<std::num::NonZeroU64, Park>;
        fast_forward::with_wait(CAPACITY, Park::new()).expect(POSSIBLE);
        |tx, value| std::num::NonZeroU64::new(value).is_some_and(|value| tx.push(value).is_ok());
        |rx| rx.pop().ok().map(std::num::NonZeroU64::get);
    ChunkRing: growing::Producer<u64, Park>, growing::Consumer<u64, Park>;
        growing::with_wait(CAPACITY / 8, CAPACITY, growing::Most::Entries(CAPACITY), Park::new()).expect(POSSIBLE);
        |tx, value| tx.push(value).is_ok();
        |rx| rx.pop().ok();
    Bbq: mpmc::Producer<u64, Park>, mpmc::Consumer<u64, Park>;
        mpmc::with_wait(8, CAPACITY / 8, Park::new()).expect(POSSIBLE);
        |tx, value| tx.push(value).is_ok();
        |rx| rx.pop().ok();
    BbqMpsc: mpsc::Producer<u64, Park>, mpsc::Consumer<u64, Park>;
        mpsc::with_wait(8, CAPACITY / 8, Park::new()).expect(POSSIBLE);
        |tx, value| tx.push(value).is_ok();
        |rx| rx.pop().ok();
    BbqSpmc: spmc::Producer<u64, Park>, spmc::Consumer<u64, Park>;
        spmc::with_wait(8, CAPACITY / 8, Park::new()).expect(POSSIBLE);
        |tx, value| tx.push(value).is_ok();
        |rx| rx.pop().ok();
    Cnq: cnq::Producer<u64, Park, Scqd<u32>>, cnq::Consumer<u64, Park, Scqd<u32>>;
        cnq::with_wait(Scqd::new(CAPACITY / 64).expect(POSSIBLE), CAPACITY / 64, 64, 1024, Park::new()).expect(POSSIBLE);
        |tx, value| tx.push(value).is_ok();
        |rx| rx.pop().ok();
    CnqWide: cnq::Producer<u64, Park, Scqd<u32>>, cnq::Consumer<u64, Park, Scqd<u32>>;
        cnq::with_wait(Scqd::new(CAPACITY / 256).expect(POSSIBLE), CAPACITY / 256, 256, 1024, Park::new()).expect(POSSIBLE);
        |tx, value| tx.push(value).is_ok();
        |rx| rx.pop().ok();
    CrossbeamChannel: crossbeam_channel::Sender<u64>, crossbeam_channel::Receiver<u64>;
        crossbeam_channel::bounded(CAPACITY);
        |tx, value| tx.send(value).is_ok();
        |rx| rx.recv().ok();
    SyncChannel: std::sync::mpsc::SyncSender<u64>, std::sync::mpsc::Receiver<u64>;
        std::sync::mpsc::sync_channel(CAPACITY);
        |tx, value| tx.send(value).is_ok();
        |rx| rx.recv().ok();
    Crossfire: crossfire::MTx<crossfire::mpmc::Array<u64>>, crossfire::MRx<crossfire::mpmc::Array<u64>>;
        crossfire::mpmc::bounded_blocking(CAPACITY);
        |tx, value| tx.send(value).is_ok();
        |rx| rx.recv().ok();
    CrossfireMpsc: crossfire::MTx<crossfire::mpsc::Array<u64>>, crossfire::Rx<crossfire::mpsc::Array<u64>>;
        crossfire::mpsc::bounded_blocking(CAPACITY);
        |tx, value| tx.send(value).is_ok();
        |rx| rx.recv().ok();
    CrossfireSpsc: crossfire::Tx<crossfire::spsc::Array<u64>>, crossfire::Rx<crossfire::spsc::Array<u64>>;
        crossfire::spsc::bounded_blocking(CAPACITY);
        |tx, value| tx.send(value).is_ok();
        |rx| rx.recv().ok();
    Kanal: kanal::Sender<u64>, kanal::Receiver<u64>;
        kanal::bounded(CAPACITY);
        |tx, value| tx.send(value).is_ok();
        |rx| rx.recv().ok();
    Flume: flume::Sender<u64>, flume::Receiver<u64>;
        flume::bounded(CAPACITY);
        |tx, value| tx.send(value).is_ok();
        |rx| rx.recv().ok();
    Thingbuf: thingbuf::mpsc::blocking::Sender<u64>, thingbuf::mpsc::blocking::Receiver<u64>;
        thingbuf::mpsc::blocking::channel(CAPACITY);
        |tx, value| tx.send(value).is_ok();
        |rx| rx.recv();
}

fn contender<Q: Sleeping>(role: Role, name: &str, items: u64) -> Contender {
    let params = json!({
        "items": items, "capacity": CAPACITY, "period_us": PERIOD.as_micros() as u64, "waits": "sleeps",
        "threads": Placement::TwoCpus.word(),
    });
    Contender::new(role, name, params, move || run::<Q>(items))
}

fn run<Q: Sleeping>(items: u64) -> Result<Sample, BoxError> {
    let clock = Clock::new();
    let (mut tx, mut rx) = Q::build();
    let mut arrived = Stamps::with_capacity(items);
    let ((sent, consumer), timing) = timed(|| {
        std::thread::scope(|scope| {
            let producer = scope.spawn(|| {
                Placement::TwoCpus.pin(0, 2);
                let start = Instant::now();
                let mut sum = 0_u64;
                for item in 1..=items {
                    std::thread::sleep((start + PERIOD * item as u32).saturating_duration_since(Instant::now()));
                    let stamp = clock.now();
                    Q::send(&mut tx, stamp);
                    sum = sum.wrapping_add(stamp);
                }
                // Or a consumer that lacks an item would sleep for ever.
                drop(tx);
                sum
            });
            Placement::TwoCpus.pin(1, 2);
            let before = thread_time();
            while arrived.count() < items {
                let Some(stamp) = Q::receive(&mut rx) else { break };
                arrived.take(stamp, clock.now());
            }
            let used = thread_time() - before;
            (producer.join().expect("the producer does not panic"), used)
        })
    });
    let delays = arrived.delays(sent, &clock)?;
    let micros = |q| quantile(&delays, q) / 1e3;
    let consumer = 100.0 * consumer.as_secs_f64() / timing.wall.as_secs_f64();
    let figures = vec![micros(0.5), micros(0.99), consumer, 100.0 * timing.cpus()];
    Ok(Sample { figures, cpus: Some(timing.cpus()) })
}

/// CPU time of the calling thread.
fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::measure;

    #[test]
    fn every_contender_delivers_every_item() {
        let outcome = measure(&EXPERIMENT, &Effort::TINY, &mut Vec::new()).unwrap();
        assert_eq!(outcome.failures, [""; 0]);
        assert!(outcome.records.len() >= 10 * UNITS.len());
    }

    sleeping! {
        Forgets: crossbeam_channel::Sender<u64>, crossbeam_channel::Receiver<u64>;
            crossbeam_channel::bounded(CAPACITY);
            |tx, value| tx.capacity().is_some() && value > 0;
            |rx| rx.recv().ok();
    }

    #[test]
    fn a_consumer_whose_items_are_lost_does_not_sleep_for_ever() {
        assert!(run::<Forgets>(2).is_err());
    }
}
