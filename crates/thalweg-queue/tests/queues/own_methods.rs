//! `push` and `pop` of the handles themselves, which wait by a way of their own: not that of [`Push`](thalweg_queue::Push) and
//! [`Pop`](thalweg_queue::Pop), by which the conformance suite goes.

use std::num::NonZeroU64;
use thalweg_queue::growing::Most;
use thalweg_queue::{
    growing, mpsc,
    research::{cnq, lamport},
    spmc, spsc,
    spsc::fast_forward,
};
use thalweg_sync::thread;

/// Under Miri a thread that waits takes most of the time.
const ITEMS: u64 = if cfg!(miri) { 260 } else { 2_000 };

fn number(number: u64) -> NonZeroU64 {
    NonZeroU64::new(number).unwrap()
}

/// Both ends wait many times, as the queue has room for few.
macro_rules! everything_arrives {
    ($($name:ident: $queue:expr;)*) => {$(
        #[test]
        fn $name() {
            #[allow(unused_mut, reason = "ends that can be cloned are used without")]
            let (mut tx, mut rx) = $queue.unwrap();
            thread::scope(|scope| {
                scope.spawn(move || {
                    for item in 1..=ITEMS {
                        tx.push(number(item)).unwrap();
                        if item % 100 == 0 {
                            thread::yield_now();
                        }
                    }
                });
                for item in 1..=ITEMS {
                    assert_eq!(rx.pop(), Ok(number(item)));
                    if item % 130 == 0 {
                        thread::yield_now();
                    }
                }
                assert!(rx.pop().is_err(), "the producer is gone");
            });
        }
    )*};
}

everything_arrives! {
    bbq_spsc: spsc::spsc(2, 3);
    ring_of_chunks: growing::chunk_ring(2, Most::Entries(8));
    fast_forward_of_words: fast_forward::fast_forward(8);
    lamports_queue: lamport::plain(4);
    lamports_queue_cached: lamport::cached(4);
    bbq_mpsc: mpsc::mpsc(2, 3);
    bbq_spmc: spmc::spmc(2, 3);
    nested: cnq::cnq(64, 8);
}
