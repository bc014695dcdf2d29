//! The queues, ours and others', as [`Ends`].

use std::num::NonZeroU64;
use std::sync::Arc;

use super::one_to_one::{Ends, Slices};
use thalweg_queue::Yield;
use thalweg_queue::bytes;
use thalweg_queue::research::tube::ring;
use thalweg_queue::research::tube::scqd::Scqd;
use thalweg_queue::{
    Spin, TryPopError, growing, mpmc, mpsc,
    research::{cnq, faaq, lamport, locked, mesh, ticketed, tube},
    spmc, spsc,
    spsc::fast_forward,
};

/// Contenders whose ends push and pop by methods: `Name: ends, how they are built, push, pop`.
macro_rules! ends {
    ($($(#[$doc:meta])* $Name:ident: $Tx:ty, $Rx:ty; |$capacity:ident| $build:expr; |$tx:ident, $value:ident| $push:expr; |$rx:ident| $pop:expr;)+) => {
        $(
            $(#[$doc])*
            #[derive(Debug)]
            pub(crate) struct $Name;

            impl Ends for $Name {
                type Tx = $Tx;
                type Rx = $Rx;

                fn build($capacity: usize) -> (Self::Tx, Self::Rx) {
                    $build
                }

                #[inline(always)]
                fn push($tx: &mut Self::Tx, $value: u64) -> bool {
                    $push
                }

                #[inline(always)]
                fn pop($rx: &mut Self::Rx) -> Option<u64> {
                    $pop
                }
            }
        )+
    };
}

/// A contender of each queue that one producer and one consumer can use: `make::<Queue>(role, name, fast, more...)`. Those that are
/// not `fast` take ten times as long for an item as the others, or more.
macro_rules! each_queue {
    ($make:ident($($more:expr),*)) => {{
        use $crate::harness::Role::{Ours, Peer};
        vec![
            $make::<Spsc>(Ours, "thalweg `spsc`", true, $($more),*),
            $make::<FastForward>(Ours, "thalweg `fast_forward`", true, $($more),*),
            $make::<ChunkRing>(Ours, "thalweg `chunk_ring`", true, $($more),*),
            $make::<Rtrb>(Peer, "rtrb", true, $($more),*),
            $make::<Ringbuf>(Peer, "ringbuf", true, $($more),*),
            $make::<ArrayQueue>(Peer, "crossbeam ArrayQueue", false, $($more),*),
            $make::<CrossbeamChannel>(Peer, "crossbeam-channel", false, $($more),*),
            $make::<ConcurrentQueue>(Peer, "concurrent-queue", false, $($more),*),
            $make::<Thingbuf>(Peer, "thingbuf", false, $($more),*),
            $make::<CrossfireSpsc>(Peer, "crossfire, spsc", false, $($more),*),
            $make::<Kanal>(Peer, "kanal", false, $($more),*),
            $make::<Flume>(Peer, "flume", false, $($more),*),
        ]
    }};
}
pub(crate) use each_queue;

#[inline(always)]
fn item(value: u64) -> NonZeroU64 {
    NonZeroU64::new(value).expect("items count from 1")
}

fn twice<T>(queue: T) -> (Arc<T>, Arc<T>) {
    let queue = Arc::new(queue);
    (queue.clone(), queue)
}

/// CNQ in capsules of so many entries.
fn capsules(
    capacity: usize,
    entries: usize,
) -> (cnq::Producer<u64, Yield, cnq::DefaultTube>, cnq::Consumer<u64, Yield, cnq::DefaultTube>) {
    let capsules = (capacity / entries).max(2);
    let tube = Scqd::new(capsules).expect("the capacity is possible");
    cnq::with_wait(tube, capsules, capacity / capsules, capacity.min(1024), Yield).expect("the capacity is possible")
}

/// The ends of a channel that holds so many lines.
fn link(entries: usize) -> (thalweg_link::Producer<u64>, thalweg_link::Consumer<u64>) {
    let limits = thalweg_link::Limits { links: 1, entries };
    let supervisor = thalweg_link::Supervisor::software(limits).expect("there is a line for the channel");
    let channel = supervisor.open("items").expect("it is the first channel");
    (channel.producer().expect("there are few ends"), channel.consumer().expect("there are few ends"))
}

/// An item that has come. When every producer is gone, items may still be on their way through the router: then the one that comes, or the
/// end.
fn arrived(rx: &mut thalweg_link::Consumer<u64>) -> Option<u64> {
    loop {
        match rx.try_pop() {
            Err(TryPopError::Empty) if rx.is_closed() => std::thread::yield_now(),
            other => return other.ok(),
        }
    }
}

ends! {
    /// FastForward.
    FastForward: fast_forward::Producer<NonZeroU64, Spin>, fast_forward::Consumer<NonZeroU64, Spin>;
        |capacity| fast_forward::with_wait(capacity, Spin).expect("the capacity is possible");
        |tx, value| tx.try_push(item(value)).is_ok();
        |rx| rx.try_pop().ok().map(NonZeroU64::get);

    /// FastForward, whose consumer keeps a distance as the paper has it.
    FastForwardSlip: fast_forward::Producer<NonZeroU64, Spin>, fast_forward::Consumer<NonZeroU64, Spin>;
        |capacity| {
            let (tx, rx) = fast_forward::with_wait(capacity, Spin).expect("the capacity is possible");
            (tx, rx.with_slip(fast_forward::Slip::default()))
        };
        |tx, value| tx.try_push(item(value)).is_ok();
        |rx| rx.try_pop().ok().map(NonZeroU64::get);

    /// FastForward whose items lie in the slots, each with a flag.
    FastForwardInPlace: fast_forward::Producer<u64, Spin, fast_forward::InPlace<u64>>, fast_forward::Consumer<u64, Spin, fast_forward::InPlace<u64>>;
        |capacity| fast_forward::in_place_with_wait(capacity, Spin).expect("the capacity is possible");
        |tx, value| tx.try_push(value).is_ok();
        |rx| rx.try_pop().ok();

    /// Lamport's queue, as printed.
    Lamport: lamport::Producer<u64, Yield, lamport::Plain>, lamport::Consumer<u64, Yield, lamport::Plain>;
        |capacity| lamport::with_wait::<_, _, lamport::Plain>(capacity, Yield).expect("the capacity is possible");
        |tx, value| tx.try_push(value).is_ok();
        |rx| rx.try_pop().ok();

    /// The same with cached indices.
    LamportCached: lamport::Producer<u64, Yield, lamport::Cached>, lamport::Consumer<u64, Yield, lamport::Cached>;
        |capacity| lamport::with_wait::<_, _, lamport::Cached>(capacity, Yield).expect("the capacity is possible");
        |tx, value| tx.try_push(value).is_ok();
        |rx| rx.try_pop().ok();

    /// A ring behind a lock.
    Locked: locked::Producer<u64, Yield>, locked::Consumer<u64, Yield>;
        |capacity| locked::with_wait(capacity, Yield).expect("the capacity is possible");
        |tx, value| tx.try_push(value).is_ok();
        |rx| rx.try_pop().ok();

    /// BBQ for one and one.
    Spsc: spsc::Producer<u64, Yield>, spsc::Consumer<u64, Yield>;
        |capacity| spsc::with_capacity_and_wait(capacity, Yield).expect("the capacity is possible");
        |tx, value| tx.try_push(value).is_ok();
        |rx| rx.try_pop().ok();

    /// The same, whose ends wait by themselves.
    SpscWaiting: spsc::Producer<u64, Spin>, spsc::Consumer<u64, Spin>;
        |capacity| spsc::with_capacity_and_wait(capacity, Spin).expect("the capacity is possible");
        |tx, value| tx.push(value).is_ok();
        |rx| rx.pop().ok();

    /// The ring of chunks, with as many entries as it may have.
    ChunkRing: growing::Producer<u64, Yield>, growing::Consumer<u64, Yield>;
        |capacity| growing::chunk_ring_with_wait(capacity, growing::Most::Entries(capacity), Yield).expect("the capacity is possible");
        |tx, value| tx.try_push(value).is_ok();
        |rx| rx.try_pop().ok();

    /// BBQ for many and many.
    Bbq: mpmc::Producer<u64, Yield>, mpmc::Consumer<u64, Yield>;
        |capacity| mpmc::with_capacity_and_wait(capacity, Yield).expect("the capacity is possible");
        |tx, value| tx.try_push(value).is_ok();
        |rx| rx.try_pop().ok();

    /// BBQ for many and one.
    BbqMpsc: mpsc::Producer<u64, Yield>, mpsc::Consumer<u64, Yield>;
        |capacity| mpsc::with_capacity_and_wait(capacity, Yield).expect("the capacity is possible");
        |tx, value| tx.try_push(value).is_ok();
        |rx| rx.try_pop().ok();

    /// BBQ for one and many.
    BbqSpmc: spmc::Producer<u64, Yield>, spmc::Consumer<u64, Yield>;
        |capacity| spmc::with_capacity_and_wait(capacity, Yield).expect("the capacity is possible");
        |tx, value| tx.try_push(value).is_ok();
        |rx| rx.try_pop().ok();

    /// BBQ for messages of any size, here of eight bytes, of which each takes 16.
    BbqBytes: bytes::Producer<Yield>, bytes::Consumer<Yield>;
        |capacity| bytes::with_wait(8, capacity / 8 * 16, Yield).expect("the capacity is possible");
        |tx, value| tx.try_push(&value.to_ne_bytes()).is_ok();
        |rx| rx.readable().ok()?.first_chunk().copied().map(u64::from_ne_bytes);

    /// A queue whose parts are reserved.
    Ticketed: ticketed::Producer<u64, Yield>, ticketed::Consumer<u64, Yield>;
        |capacity| ticketed::with_wait(capacity, 0, Yield).expect("the capacity is possible");
        |tx, value| tx.try_push(value).is_ok();
        |rx| rx.try_pop().ok();

    /// A mesh of one ring.
    Mesh: mesh::Producer<u64, Yield>, mesh::Consumer<u64, Yield>;
        |capacity| {
            let (tx, rx) = mesh::with_wait(1, 1, capacity, capacity, Yield).expect("the capacity is possible");
            tx.into_iter().zip(rx).next().expect("there is one of each")
        };
        |tx, value| tx.try_push(value).is_ok();
        |rx| rx.try_pop().ok();

    /// CNQ, 1024-FIFO, in the shape that it has by itself.
    Cnq: cnq::Producer<u64, Yield, cnq::DefaultTube>, cnq::Consumer<u64, Yield, cnq::DefaultTube>;
        |capacity| cnq::cnq_with_wait(capacity, capacity.min(1024), Yield).expect("the capacity is possible");
        |tx, value| tx.try_push(value).is_ok();
        |rx| rx.try_pop().ok();

    /// The same in capsules of 128 entries.
    CnqMiddle: cnq::Producer<u64, Yield, cnq::DefaultTube>, cnq::Consumer<u64, Yield, cnq::DefaultTube>;
        |capacity| capsules(capacity, 128);
        |tx, value| tx.try_push(value).is_ok();
        |rx| rx.try_pop().ok();

    /// The same in capsules of 256 entries: for few producers.
    CnqWide: cnq::Producer<u64, Yield, cnq::DefaultTube>, cnq::Consumer<u64, Yield, cnq::DefaultTube>;
        |capacity| capsules(capacity, 256);
        |tx, value| tx.try_push(value).is_ok();
        |rx| rx.try_pop().ok();

    /// DPDK's way as a tube: threads hand on in the order in which they took.
    TubeMt: tube::Producer<ring::Mt<u64>, Yield>, tube::Consumer<ring::Mt<u64>, Yield>;
        |capacity| tube::with_wait(ring::Mt::new(capacity).expect("the capacity is possible"), Yield);
        |tx, value| tx.try_push(value).is_ok();
        |rx| rx.try_pop().ok();

    /// The same, where the last thread hands on for all.
    TubeRts: tube::Producer<ring::Rts<u64>, Yield>, tube::Consumer<ring::Rts<u64>, Yield>;
        |capacity| tube::with_wait(ring::Rts::new(capacity).expect("the capacity is possible"), Yield);
        |tx, value| tx.try_push(value).is_ok();
        |rx| rx.try_pop().ok();

    /// The same, one thread of a side at a time.
    TubeHts: tube::Producer<ring::Hts<u64>, Yield>, tube::Consumer<ring::Hts<u64>, Yield>;
        |capacity| tube::with_wait(ring::Hts::new(capacity).expect("the capacity is possible"), Yield);
        |tx, value| tx.try_push(value).is_ok();
        |rx| rx.try_pop().ok();

    /// SCQD as a tube.
    TubeScqd: tube::Producer<Scqd<u64>, Yield>, tube::Consumer<Scqd<u64>, Yield>;
        |capacity| tube::with_wait(Scqd::new(capacity).expect("the capacity is possible"), Yield);
        |tx, value| tx.try_push(value).is_ok();
        |rx| rx.try_pop().ok();

    /// BBQ as a tube: pops by exchange.
    TubeBbq: tube::Producer<faaq::Bbq<u64>, Yield>, tube::Consumer<faaq::Bbq<u64>, Yield>;
        |capacity| tube::with_wait(faaq::Bbq::new(8, capacity / 8).expect("the capacity is possible"), Yield);
        |tx, value| tx.try_push(value).is_ok();
        |rx| rx.try_pop().ok();

    /// FAAQ: pops by addition.
    TubeFaaq: tube::Producer<faaq::Faaq<u64>, Yield>, tube::Consumer<faaq::Faaq<u64>, Yield>;
        |capacity| tube::with_wait(faaq::Faaq::new(8, capacity / 8).expect("the capacity is possible"), Yield);
        |tx, value| tx.try_push(value).is_ok();
        |rx| rx.try_pop().ok();

    /// Virtual-Link's channel by way of a routing thread, an item to a line.
    LinkLines: thalweg_link::Producer<u64>, thalweg_link::Consumer<u64>;
        |capacity| link(capacity);
        |tx, value| tx.try_push(value).is_ok();
        |rx| arrived(rx);

    /// The same, seven items to a line. It waits for room itself, and what has not filled a line leaves with the end.
    LinkWords: thalweg_link::Producer<u64>, thalweg_link::Consumer<u64>;
        |capacity| link(capacity / 7);
        |tx, value| tx.collect(value).is_ok();
        |rx| arrived(rx);

    /// A bounded channel of the standard library.
    SyncChannel: std::sync::mpsc::SyncSender<u64>, std::sync::mpsc::Receiver<u64>;
        |capacity| std::sync::mpsc::sync_channel(capacity);
        |tx, value| tx.try_send(value).is_ok();
        |rx| rx.try_recv().ok();

    /// The published SPSC ring that is fastest here.
    Rtrb: rtrb::Producer<u64>, rtrb::Consumer<u64>;
        |capacity| rtrb::RingBuffer::new(capacity);
        |tx, value| tx.push(value).is_ok();
        |rx| rx.pop().ok();

    /// Another SPSC ring, with its caching ends.
    Ringbuf: ringbuf::HeapProd<u64>, ringbuf::HeapCons<u64>;
        |capacity| ringbuf::traits::Split::split(ringbuf::HeapRb::new(capacity));
        |tx, value| ringbuf::traits::Producer::try_push(tx, value).is_ok();
        |rx| ringbuf::traits::Consumer::try_pop(rx);

    /// crossbeam's bounded queue.
    ArrayQueue: Arc<crossbeam_queue::ArrayQueue<u64>>, Arc<crossbeam_queue::ArrayQueue<u64>>;
        |capacity| twice(crossbeam_queue::ArrayQueue::new(capacity));
        |tx, value| tx.push(value).is_ok();
        |rx| rx.pop();

    /// crossbeam's channel.
    CrossbeamChannel: crossbeam_channel::Sender<u64>, crossbeam_channel::Receiver<u64>;
        |capacity| crossbeam_channel::bounded(capacity);
        |tx, value| tx.try_send(value).is_ok();
        |rx| rx.try_recv().ok();

    /// smol's queue.
    ConcurrentQueue: Arc<concurrent_queue::ConcurrentQueue<u64>>, Arc<concurrent_queue::ConcurrentQueue<u64>>;
        |capacity| twice(concurrent_queue::ConcurrentQueue::bounded(capacity));
        |tx, value| tx.push(value).is_ok();
        |rx| rx.pop().ok();

    /// A channel around a lock.
    Kanal: kanal::Sender<u64>, kanal::Receiver<u64>;
        |capacity| kanal::bounded(capacity);
        |tx, value| tx.try_send(value).unwrap_or(false);
        |rx| rx.try_recv().ok().flatten();

    /// Another one.
    Flume: flume::Sender<u64>, flume::Receiver<u64>;
        |capacity| flume::bounded(capacity);
        |tx, value| tx.try_send(value).is_ok();
        |rx| rx.try_recv().ok();

    /// A queue whose entries are reused in place.
    Thingbuf: Arc<thingbuf::ThingBuf<u64>>, Arc<thingbuf::ThingBuf<u64>>;
        |capacity| twice(thingbuf::ThingBuf::new(capacity));
        |tx, value| tx.push(value).is_ok();
        |rx| rx.pop();

    /// A channel of several flavours, here one to one.
    CrossfireSpsc: crossfire::Tx<crossfire::spsc::Array<u64>>, crossfire::Rx<crossfire::spsc::Array<u64>>;
        |capacity| crossfire::spsc::bounded_blocking(capacity);
        |tx, value| tx.try_send(value).is_ok();
        |rx| rx.try_recv().ok();

    /// The same, many to one.
    CrossfireMpsc: crossfire::MTx<crossfire::mpsc::Array<u64>>, crossfire::Rx<crossfire::mpsc::Array<u64>>;
        |capacity| crossfire::mpsc::bounded_blocking(capacity);
        |tx, value| tx.try_send(value).is_ok();
        |rx| rx.try_recv().ok();

    /// The same, many to many.
    Crossfire: crossfire::MTx<crossfire::mpmc::Array<u64>>, crossfire::MRx<crossfire::mpmc::Array<u64>>;
        |capacity| crossfire::mpmc::bounded_blocking(capacity);
        |tx, value| tx.try_send(value).is_ok();
        |rx| rx.try_recv().ok();
}

/// The ring of chunks, with a `PART`th of its entries at first.
#[derive(Debug)]
pub(crate) struct ChunkRingFrom<const PART: usize>;

impl<const PART: usize> Ends for ChunkRingFrom<PART> {
    type Tx = <ChunkRing as Ends>::Tx;
    type Rx = <ChunkRing as Ends>::Rx;

    fn build(capacity: usize) -> (Self::Tx, Self::Rx) {
        let most = growing::Most::Entries(capacity);
        growing::chunk_ring_with_wait(capacity / PART, most, Yield).expect("the capacity is possible")
    }

    #[inline(always)]
    fn push(tx: &mut Self::Tx, value: u64) -> bool {
        ChunkRing::push(tx, value)
    }

    #[inline(always)]
    fn pop(rx: &mut Self::Rx) -> Option<u64> {
        ChunkRing::pop(rx)
    }
}

impl Slices for Spsc {
    #[inline]
    fn push_slice(tx: &mut Self::Tx, values: &[u64]) -> usize {
        tx.try_push_slice(values).unwrap_or(0)
    }

    #[inline]
    fn pop_slice(rx: &mut Self::Rx, into: &mut [u64]) -> usize {
        rx.try_pop_slice(into).unwrap_or(0)
    }
}

impl Slices for Bbq {
    #[inline]
    fn push_slice(tx: &mut Self::Tx, values: &[u64]) -> usize {
        tx.try_push_slice(values).unwrap_or(0)
    }

    #[inline]
    fn pop_slice(rx: &mut Self::Rx, into: &mut [u64]) -> usize {
        rx.try_pop_slice(into).unwrap_or(0)
    }
}

/// kanal, which takes out what is there at once, and puts in one by one.
#[derive(Debug)]
pub(crate) struct KanalBatches;

impl Ends for KanalBatches {
    type Tx = kanal::Sender<u64>;
    /// What was taken out, and how many of that are popped.
    type Rx = (kanal::Receiver<u64>, Vec<u64>, usize);

    fn build(capacity: usize) -> (Self::Tx, Self::Rx) {
        let (tx, rx) = kanal::bounded(capacity);
        (tx, (rx, Vec::with_capacity(capacity), 0))
    }

    fn push(tx: &mut Self::Tx, value: u64) -> bool {
        Kanal::push(tx, value)
    }

    fn pop((rx, drained, popped): &mut Self::Rx) -> Option<u64> {
        if *popped == drained.len() {
            drained.clear();
            *popped = 0;
            rx.drain_into(drained).ok()?;
        }
        let value = *drained.get(*popped)?;
        *popped += 1;
        Some(value)
    }
}

impl Slices for KanalBatches {
    fn push_slice(tx: &mut Self::Tx, values: &[u64]) -> usize {
        values.iter().take_while(|&&value| Self::push(tx, value)).count()
    }

    fn pop_slice(rx: &mut Self::Rx, into: &mut [u64]) -> usize {
        let popped = std::iter::from_fn(|| Self::pop(rx));
        into.iter_mut().zip(popped).map(|(place, value)| *place = value).count()
    }
}

impl Slices for Rtrb {
    #[inline]
    fn push_slice(tx: &mut Self::Tx, values: &[u64]) -> usize {
        tx.push_partial_slice(values).0.len()
    }

    #[inline]
    fn pop_slice(rx: &mut Self::Rx, into: &mut [u64]) -> usize {
        rx.pop_partial_slice(into).0.len()
    }
}

/// A number in the disruptor's ring.
#[derive(Debug, Default)]
pub(crate) struct Event(u64);

/// The ring of the LMAX disruptor, whose consumer polls. Its events stay in place, so both ends copy.
macro_rules! disruptors {
    ($($(#[$doc:meta])* $Name:ident: $Tx:ident, $barrier:ident, $build:ident;)+) => {
        $(
            $(#[$doc])*
            #[derive(Debug)]
            pub(crate) struct $Name;

            impl Ends for $Name {
                type Tx = disruptor::$Tx<Event, disruptor::SingleConsumerBarrier>;
                type Rx = disruptor::EventPoller<Event, disruptor::$barrier>;

                fn build(capacity: usize) -> (Self::Tx, Self::Rx) {
                    let (rx, ring) =
                        disruptor::$build(capacity, Event::default, disruptor::BusySpin).new_event_poller();
                    (ring.build(), rx)
                }

                fn push(tx: &mut Self::Tx, value: u64) -> bool {
                    disruptor::Producer::try_publish(tx, |event| event.0 = value).is_ok()
                }

                fn pop(rx: &mut Self::Rx) -> Option<u64> {
                    let mut events = rx.take(1).ok()?;
                    (&mut events).next().map(|event| event.0)
                }
            }

            impl Slices for $Name {
                /// All or nothing: it has no call that pushes as many as there is room for.
                #[inline]
                fn push_slice(tx: &mut Self::Tx, values: &[u64]) -> usize {
                    let published = disruptor::Producer::try_batch_publish(tx, values.len(), |events| {
                        events.zip(values).for_each(|(event, &value)| event.0 = value);
                    });
                    published.map_or(0, |_| values.len())
                }

                #[inline]
                fn pop_slice(rx: &mut Self::Rx, into: &mut [u64]) -> usize {
                    let Ok(mut events) = rx.take(into.len() as u64) else { return 0 };
                    into.iter_mut().zip(&mut events).map(|(place, event)| *place = event.0).count()
                }
            }
        )+
    };
}

disruptors! {
    /// The disruptor for one producer.
    Disruptor: SingleProducer, SingleProducerBarrier, build_single_producer;
    /// The disruptor for many.
    DisruptorMany: MultiProducer, MultiProducerBarrier, build_multi_producer;
}

impl Slices for Ringbuf {
    #[inline]
    fn push_slice(tx: &mut Self::Tx, values: &[u64]) -> usize {
        ringbuf::traits::Producer::push_slice(tx, values)
    }

    #[inline]
    fn pop_slice(rx: &mut Self::Rx, into: &mut [u64]) -> usize {
        ringbuf::traits::Consumer::pop_slice(rx, into)
    }
}

/// DPDK's ring in one of its modes.
#[cfg(thalweg_dpdk)]
#[derive(Debug)]
pub(crate) struct Dpdk<const MODE: i32>;

#[cfg(thalweg_dpdk)]
impl<const MODE: i32> Ends for Dpdk<MODE> {
    type Tx = Arc<crate::peers::dpdk::Ring<MODE>>;
    type Rx = Arc<crate::peers::dpdk::Ring<MODE>>;

    fn build(capacity: usize) -> (Self::Tx, Self::Rx) {
        twice(crate::peers::dpdk::Ring::new(capacity))
    }

    /// One less than the others: one entry stays free, and twice the memory would make another ring of it.
    fn room(capacity: usize) -> usize {
        capacity - 1
    }

    #[inline(always)]
    fn push(tx: &mut Self::Tx, value: u64) -> bool {
        tx.push(&[value]) == 1
    }

    #[inline(always)]
    fn pop(rx: &mut Self::Rx) -> Option<u64> {
        let mut value = 0;
        (rx.pop(std::slice::from_mut(&mut value)) == 1).then_some(value)
    }
}

#[cfg(thalweg_dpdk)]
impl<const MODE: i32> Slices for Dpdk<MODE> {
    #[inline]
    fn push_slice(tx: &mut Self::Tx, values: &[u64]) -> usize {
        tx.push(values)
    }

    #[inline]
    fn pop_slice(rx: &mut Self::Rx, into: &mut [u64]) -> usize {
        rx.pop(into)
    }
}
