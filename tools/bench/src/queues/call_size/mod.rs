//! `queues/call-size`: how much machine code a call of `try_push` and of `try_pop` is, as a loop has it that goes on with what the call gives.
//!
//! Each call stands alone in a function that is not inlined, and that gives what the call gives. The symbol table of this program says how many
//! bytes that function has: all that the compiler puts where a program calls, be it taken often or seldom. What it leaves out of line is one call
//! there. It stands once in a program for each type of item, however many calls there are, so it has a figure of its own: the sizes of all
//! functions of the queue's own crate that the call reaches by direct calls and jumps, each once. Not counted are the standard library,
//! other crates (locks, wakers), and what is called by a pointer. Padding between functions is no code.

use std::hint::black_box;
use std::sync::Arc;

use serde_json::json;
use thalweg_queue::{Park, TryPopError, Yield, bytes, growing, mpmc, mpsc, overwriting, spmc, spsc, unbounded};

use self::symbols::{Functions, address_of};
use super::one_to_one::CAPACITY;
use crate::harness::Role::{self, *};
use crate::harness::{BoxError, Contender, Effort, Experiment, Group, Sample};

mod symbols;

/// The entry for the registry.
pub const EXPERIMENT: Experiment = Experiment { name: "queues/call-size", plan };

const UNITS: &[&str] =
    &["bytes of try_push", "bytes of try_pop", "bytes of try_push, out of line", "bytes of try_pop, out of line"];

fn plan(_: &Effort) -> Result<Vec<Group>, BoxError> {
    let (functions, why) = match Functions::of_this_program() {
        Ok(functions) => (Some(Arc::new(functions)), None),
        Err(error) => (None, Some(format!("nothing is counted: {error}"))),
    };
    let contenders = functions.map_or_else(Vec::new, |functions| contenders(&functions));
    let mut group = Group::new("one call, u64", UNITS, contenders);
    group.absent.extend(why);
    Ok(vec![group])
}

/// A queue of `u64`, and what its attempts give.
trait Calls: 'static {
    type Tx;
    type Rx;

    fn build() -> (Self::Tx, Self::Rx);

    fn push(tx: &mut Self::Tx, value: u64) -> impl Sized + use<Self>;

    fn pop(rx: &mut Self::Rx) -> impl Popped + use<Self>;
}

/// What a pop gives.
trait Popped {
    fn value(self) -> Option<u64>;
}

impl Popped for Option<u64> {
    fn value(self) -> Option<u64> {
        self
    }
}

impl<E> Popped for Result<u64, E> {
    fn value(self) -> Option<u64> {
        self.ok()
    }
}

impl<E> Popped for Result<Option<u64>, E> {
    fn value(self) -> Option<u64> {
        self.ok().flatten()
    }
}

#[inline(never)]
fn try_push<Q: Calls>(tx: &mut Q::Tx, value: u64) -> impl Sized + use<Q> {
    Q::push(tx, value)
}

#[inline(never)]
fn try_pop<Q: Calls>(rx: &mut Q::Rx) -> impl Popped + use<Q> {
    Q::pop(rx)
}

/// The function by a pointer that the compiler cannot see through: else it would make one for the arguments at hand.
fn unseen_push<Tx, R>(function: fn(&mut Tx, u64) -> R) -> fn(&mut Tx, u64) -> R {
    black_box(function)
}

/// As [`unseen_push`].
fn unseen_pop<Rx, R>(function: fn(&mut Rx) -> R) -> fn(&mut Rx) -> R {
    black_box(function)
}

fn contender<Q: Calls>(role: Role, name: &str, home: &'static str, functions: &Arc<Functions>) -> Contender {
    let functions = functions.clone();
    let params =
        json!({ "item": "u64", "counted": "what the call gives is returned; out of line: functions of its crate" });
    Contender::new(role, name, params, move || {
        let (push, pop) = (unseen_push(try_push::<Q>), unseen_pop(try_pop::<Q>));
        let (mut tx, mut rx) = Q::build();
        push(&mut tx, 7);
        match pop(&mut rx).value() {
            Some(7) => {}
            other => return Err(format!("{other:?} was popped, not 7").into()),
        }
        let calls = [address_of(push as *const ()), address_of(pop as *const ())];
        let inline = calls.map(|call| functions.size(call).map(|bytes| bytes as f64));
        let outside = calls.map(|call| functions.reached(call, home).map_or(f64::NAN, |bytes| bytes as f64));
        let [push, pop] = inline;
        Ok(Sample { figures: vec![push?, pop?, outside[0], outside[1]], cpus: None })
    })
}

/// `Name, role, crate: ends, how they are built, push, pop`, and a contender of each.
macro_rules! calls {
    ($($Name:ident, $role:ident $name:literal $home:literal: $Tx:ty, $Rx:ty; $build:expr; |$tx:ident, $value:ident| $push:expr; |$rx:ident| $pop:expr;)+) => {
        $(
            struct $Name;

            impl Calls for $Name {
                type Tx = $Tx;
                type Rx = $Rx;

                fn build() -> (Self::Tx, Self::Rx) {
                    $build
                }

                #[inline(always)]
                fn push($tx: &mut Self::Tx, $value: u64) -> impl Sized + use<> {
                    $push
                }

                #[inline(always)]
                fn pop($rx: &mut Self::Rx) -> impl Popped + use<> {
                    $pop
                }
            }
        )+

        fn contenders(functions: &Arc<Functions>) -> Vec<Contender> {
            vec![$(contender::<$Name>($role, $name, $home, functions)),+]
        }
    };
}

fn twice<T>(queue: T) -> (Arc<T>, Arc<T>) {
    let queue = Arc::new(queue);
    (queue.clone(), queue)
}

calls! {
    Mpmc, Ours "thalweg `mpmc`" "thalweg_queue": mpmc::Sender<u64>, mpmc::Receiver<u64>;
        mpmc::channel(CAPACITY).expect("the capacity is possible"); |tx, value| tx.try_push(value); |rx| rx.try_pop();
    MpmcYielding, Ours "thalweg `mpmc`, yielding" "thalweg_queue": mpmc::Producer<u64, Yield>, mpmc::Consumer<u64, Yield>;
        mpmc::with_capacity_and_wait(CAPACITY, Yield).expect("the capacity is possible");
        |tx, value| tx.try_push(value); |rx| rx.try_pop();
    Mpsc, Ours "thalweg `mpsc`" "thalweg_queue": mpsc::Sender<u64>, mpsc::Receiver<u64>;
        mpsc::channel(CAPACITY).expect("the capacity is possible"); |tx, value| tx.try_push(value); |rx| rx.try_pop();
    Spmc, Ours "thalweg `spmc`" "thalweg_queue": spmc::Sender<u64>, spmc::Receiver<u64>;
        spmc::channel(CAPACITY).expect("the capacity is possible"); |tx, value| tx.try_push(value); |rx| rx.try_pop();
    Spsc, Ours "thalweg `spsc`" "thalweg_queue": spsc::Sender<u64>, spsc::Receiver<u64>;
        spsc::channel(CAPACITY).expect("the capacity is possible"); |tx, value| tx.try_push(value); |rx| rx.try_pop();
    Growing, Ours "thalweg `growing`" "thalweg_queue": growing::Sender<u64>, growing::Receiver<u64>;
        growing::channel(CAPACITY).expect("the capacity is possible"); |tx, value| tx.try_push(value); |rx| rx.try_pop();
    Overwriting, Ours "thalweg `overwriting`" "thalweg_queue": overwriting::Sender<u64>, overwriting::Receiver<u64>;
        overwriting::channel(CAPACITY).expect("the capacity is possible");
        |tx, value| tx.try_push(value); |rx| rx.try_pop();
    Bytes, Ours "thalweg `bytes`, of 8 bytes" "thalweg_queue": bytes::Sender, bytes::Receiver;
        bytes::channel(16 * CAPACITY).expect("the capacity is possible");
        |tx, value| tx.try_push(&value.to_ne_bytes()); |rx| word(rx.readable());
    Unbounded, Ours "thalweg unbounded `mpmc`" "thalweg_queue": unbounded::mpmc::Sender<u64>, unbounded::mpmc::Receiver<u64>;
        unbounded::mpmc::channel(); |tx, value| tx.try_push(value); |rx| rx.try_pop();
    ArrayQueue, Peer "crossbeam ArrayQueue" "crossbeam_queue": Arc<crossbeam_queue::ArrayQueue<u64>>, Arc<crossbeam_queue::ArrayQueue<u64>>;
        twice(crossbeam_queue::ArrayQueue::new(CAPACITY)); |tx, value| tx.push(value); |rx| rx.pop();
    CrossbeamChannel, Peer "crossbeam-channel" "crossbeam_channel": crossbeam_channel::Sender<u64>, crossbeam_channel::Receiver<u64>;
        crossbeam_channel::bounded(CAPACITY); |tx, value| tx.try_send(value); |rx| rx.try_recv();
    ConcurrentQueue, Peer "concurrent-queue" "concurrent_queue": Arc<concurrent_queue::ConcurrentQueue<u64>>, Arc<concurrent_queue::ConcurrentQueue<u64>>;
        twice(concurrent_queue::ConcurrentQueue::bounded(CAPACITY)); |tx, value| tx.push(value); |rx| rx.pop();
    Crossfire, Peer "crossfire" "crossfire": crossfire::MTx<crossfire::mpmc::Array<u64>>, crossfire::MRx<crossfire::mpmc::Array<u64>>;
        crossfire::mpmc::bounded_blocking(CAPACITY); |tx, value| tx.try_send(value); |rx| rx.try_recv();
    Kanal, Peer "kanal" "kanal": kanal::Sender<u64>, kanal::Receiver<u64>;
        kanal::bounded(CAPACITY); |tx, value| tx.try_send(value); |rx| rx.try_recv();
    Flume, Peer "flume" "flume": flume::Sender<u64>, flume::Receiver<u64>;
        flume::bounded(CAPACITY); |tx, value| tx.try_send(value); |rx| rx.try_recv();
    Thingbuf, Peer "thingbuf" "thingbuf": Arc<thingbuf::ThingBuf<u64>>, Arc<thingbuf::ThingBuf<u64>>;
        twice(thingbuf::ThingBuf::new(CAPACITY)); |tx, value| tx.push(value); |rx| rx.pop();
    Rtrb, Peer "rtrb" "rtrb": rtrb::Producer<u64>, rtrb::Consumer<u64>;
        rtrb::RingBuffer::new(CAPACITY); |tx, value| tx.push(value); |rx| rx.pop();
    Ringbuf, Peer "ringbuf" "ringbuf": ringbuf::HeapProd<u64>, ringbuf::HeapCons<u64>;
        ringbuf::traits::Split::split(ringbuf::HeapRb::new(CAPACITY));
        |tx, value| ringbuf::traits::Producer::try_push(tx, value); |rx| ringbuf::traits::Consumer::try_pop(rx);
}

/// What a message of eight bytes says.
#[inline(always)]
fn word(message: Result<bytes::ReadGrant<'_, Park>, TryPopError>) -> Result<Option<u64>, TryPopError> {
    message.map(|message| message.first_chunk().copied().map(u64::from_ne_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::measure;

    #[test]
    fn every_call_gives_what_was_pushed_and_has_a_size() {
        let outcome = measure(&EXPERIMENT, &Effort::TINY, &mut Vec::new()).unwrap();
        assert_eq!(outcome.failures, [""; 0]);
        let inline = outcome.records.iter().filter(|record| !record.unit.ends_with("out of line"));
        let sizes: Vec<_> = inline.map(|record| record.spread.median).collect();
        assert_eq!(sizes.len(), 2 * 18);
        // Without optimization a call is up to twenty thousand bytes.
        assert!(sizes.iter().all(|size| (1.0..100_000.0).contains(size)), "{sizes:?}");
    }
}
