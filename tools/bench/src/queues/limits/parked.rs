//! A word and the standard library's parking: the limit for a consumer that sleeps.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU64, fence};
use std::sync::{Arc, OnceLock};
use std::thread::{self, Thread};

use super::super::wait::Sleeping;

/// One word, and the standard library's parking: what sleeping and waking take by themselves.
#[derive(Debug)]
pub(crate) struct Parked;

/// The word, which is zero when there is no item, and the thread that sleeps.
#[derive(Debug, Default)]
pub(crate) struct Mailbox {
    item: AtomicU64,
    closed: AtomicBool,
    consumer: OnceLock<Thread>,
}

impl Mailbox {
    fn wake(&self) {
        // Together with that of `receive`: either the consumer is seen here, or what was stored before is seen there.
        fence(SeqCst);
        if let Some(consumer) = self.consumer.get() {
            consumer.unpark();
        }
    }
}

/// The sending end.
#[derive(Debug)]
pub(crate) struct Sender(Arc<Mailbox>);

impl Drop for Sender {
    fn drop(&mut self) {
        // Release, for the Acquire in `receive`: the last item is seen before the end.
        self.0.closed.store(true, Release);
        self.0.wake();
    }
}

impl Sleeping for Parked {
    type Tx = Sender;
    type Rx = Arc<Mailbox>;

    fn build() -> (Sender, Arc<Mailbox>) {
        let mailbox = Arc::<Mailbox>::default();
        (Sender(mailbox.clone()), mailbox)
    }

    fn send(tx: &mut Sender, value: u64) {
        while tx.0.item.load(Relaxed) != 0 {
            thread::yield_now();
        }
        tx.0.item.store(value, Relaxed);
        tx.0.wake();
    }

    fn receive(rx: &mut Arc<Mailbox>) -> Option<u64> {
        rx.consumer.get_or_init(thread::current);
        loop {
            fence(SeqCst);
            let closed = rx.closed.load(Acquire);
            match rx.item.swap(0, Relaxed) {
                0 if closed => return None,
                0 => thread::park(),
                item => return Some(item),
            }
        }
    }
}
