//! A queue as ZeroMQ's between threads: a pipe for each pair of a producer and a consumer, and a mailbox for each consumer.
//!
//! | | |
//! |---|---|
//! | order | FIFO for each pair |
//! | who | any number of producers and consumers, fixed when it is made |
//! | progress | blocking: the mailbox has a lock |
//! | cost | a message slot of a line; a compare-exchange for each flush and each look at an empty pipe; a command with a lock when the reader had gone to sleep |
//!
//! From what ZeroMQ's sources and its guide tell of `ypipe_t`, `mailbox_t`, and its fair queueing and load balancing; the
//! library's own bookkeeping for each message is left out, and a reader polls its mailbox instead of sleeping in the system.
//! A baseline: what Virtual-Link's paper measures against.

use std::collections::VecDeque;

use thalweg_sync::CachePadded;
use thalweg_sync::atomic::AtomicU64;
use thalweg_sync::atomic::AtomicUsize;
use thalweg_sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use thalweg_sync::spin;
use thalweg_sync::sync::{Arc, Mutex};

/// Words of a message: what fits into a line beside its header.
pub(crate) const WORDS: usize = 7;
/// The reader has found the pipe empty and waits for a command.
const ASLEEP: usize = usize::MAX;

/// A message's slot: a header with its length, and its words.
#[derive(Debug)]
#[repr(align(64))]
struct Message {
    words: [AtomicU64; WORDS],
    length: AtomicUsize,
}

/// From one producer to one consumer.
#[derive(Debug)]
struct Pipe {
    /// How many messages were flushed, or [`ASLEEP`].
    flushed: CachePadded<AtomicUsize>,
    /// How many messages the reader has taken, told now and then: the writer's credit.
    taken: CachePadded<AtomicUsize>,
    messages: Box<[Message]>,
}

/// Where commands for a consumer come: which of its pipes has messages again.
#[derive(Debug)]
struct Mailbox {
    waiting: CachePadded<AtomicUsize>,
    commands: Mutex<VecDeque<usize>>,
}

/// A writing end: takes its pipes in turn.
#[derive(Debug)]
pub(crate) struct Sender {
    pipes: Vec<(Arc<Pipe>, Arc<Mailbox>)>,
    /// Of each pipe: messages written, and taken as far as it knows.
    state: Vec<(usize, usize)>,
    turn: usize,
    number: usize,
}

/// A reading end: takes from its pipes in turn.
#[derive(Debug)]
pub(crate) struct Receiver {
    pipes: Vec<Arc<Pipe>>,
    mailbox: Arc<Mailbox>,
    /// Of each pipe: messages taken, and flushed as far as it knows.
    state: Vec<(usize, usize)>,
    active: Vec<bool>,
    turn: usize,
}

/// The ends of a queue for so many messages between each pair.
pub(crate) fn mailboxes(producers: usize, consumers: usize, capacity: usize) -> (Vec<Sender>, Vec<Receiver>) {
    let pipe = || {
        let message = |_| Message { words: std::array::from_fn(|_| AtomicU64::new(0)), length: AtomicUsize::new(0) };
        Arc::new(Pipe {
            flushed: CachePadded(AtomicUsize::new(0)),
            taken: CachePadded(AtomicUsize::new(0)),
            messages: (0..capacity).map(message).collect(),
        })
    };
    let pipes: Vec<Vec<_>> = (0..producers).map(|_| (0..consumers).map(|_| pipe()).collect()).collect();
    let mailbox =
        |_| Arc::new(Mailbox { waiting: CachePadded(AtomicUsize::new(0)), commands: Mutex::new(VecDeque::new()) });
    let mailboxes: Vec<_> = (0..consumers).map(mailbox).collect();
    let senders = (pipes.iter().enumerate())
        .map(|(number, own)| {
            let pipes: Vec<_> = own.iter().cloned().zip(mailboxes.iter().cloned()).collect();
            Sender { state: vec![(0, 0); pipes.len()], pipes, turn: 0, number }
        })
        .collect();
    let receivers = (mailboxes.into_iter().enumerate())
        .map(|(consumer, mailbox)| {
            let pipes: Vec<_> = pipes.iter().map(|own| own[consumer].clone()).collect();
            let (state, active) = (vec![(0, 0); pipes.len()], vec![true; pipes.len()]);
            Receiver { pipes, mailbox, state, active, turn: 0 }
        })
        .collect();
    (senders, receivers)
}

impl Sender {
    /// Sends a message of up to seven words to the next consumer that has room.
    pub(crate) fn send(&mut self, words: &[u64]) {
        let mut tries = 0;
        while !self.try_send(words) {
            tries += 1;
            spin::pause(tries);
        }
    }

    /// As [`send`](Self::send), but false if no consumer has room.
    pub(crate) fn try_send(&mut self, words: &[u64]) -> bool {
        (0..self.pipes.len()).any(|_| {
            let at = self.turn;
            self.turn = (self.turn + 1) % self.pipes.len();
            self.send_to(at, words)
        })
    }

    fn send_to(&mut self, at: usize, words: &[u64]) -> bool {
        let (pipe, mailbox) = &self.pipes[at];
        let (written, taken) = &mut self.state[at];
        if *written - *taken == pipe.messages.len() {
            // Acquire, pairs with the Release in `receive`: the slots were read.
            *taken = pipe.taken.load(Acquire);
            if *written - *taken == pipe.messages.len() {
                return false;
            }
        }
        let message = &pipe.messages[*written % pipe.messages.len()];
        // Relaxed: the flush publishes it.
        message.words.iter().zip(words).for_each(|(place, &word)| place.store(word, Relaxed));
        message.length.store(words.len(), Relaxed);
        let before = *written;
        *written += 1;
        // Release, pairs with the Acquire of the reader's look.
        if pipe.flushed.compare_exchange(before, *written, Release, Relaxed).is_err() {
            // The reader is asleep: nobody but the writer changes that.
            pipe.flushed.store(*written, Release);
            mailbox.commands.lock().expect("nobody panics with a mailbox").push_back(self.number);
            mailbox.waiting.fetch_add(1, Release);
        }
        true
    }
}

impl Receiver {
    /// The next message, if there is one, and how many words it has.
    pub(crate) fn try_receive(&mut self) -> Option<([u64; WORDS], usize)> {
        // Acquire, pairs with the Release of who sent the command.
        while self.mailbox.waiting.load(Acquire) > 0 {
            let command = self.mailbox.commands.lock().expect("nobody panics with a mailbox").pop_front();
            let Some(pipe) = command else { break };
            self.mailbox.waiting.fetch_sub(1, Relaxed);
            self.active[pipe] = true;
        }
        for _ in 0..self.pipes.len() {
            let at = self.turn;
            self.turn = (self.turn + 1) % self.pipes.len();
            if self.active[at] {
                match self.look(at) {
                    Some(message) => return Some(message),
                    None => self.active[at] = false,
                }
            }
        }
        None
    }

    fn look(&mut self, at: usize) -> Option<([u64; WORDS], usize)> {
        let pipe = &self.pipes[at];
        let (taken, flushed) = &mut self.state[at];
        if taken == flushed {
            // AcqRel: the messages that were flushed are there; the writer sees the sleep.
            match pipe.flushed.compare_exchange(*taken, ASLEEP, AcqRel, Acquire) {
                Ok(_) => return None,
                Err(now) => *flushed = now,
            }
        }
        let message = &pipe.messages[*taken % pipe.messages.len()];
        let words = std::array::from_fn(|word| message.words[word].load(Relaxed));
        let length = message.length.load(Relaxed);
        *taken += 1;
        // As the library: credit is given back for half of the room at once.
        if *taken % (pipe.messages.len() / 2).max(1) == 0 {
            pipe.taken.store(*taken, Release);
        }
        Some((words, length))
    }

    /// The next message, and how many words it has.
    pub(crate) fn receive(&mut self) -> ([u64; WORDS], usize) {
        loop {
            if let Some(message) = self.try_receive() {
                return message;
            }
            let mailbox = &self.mailbox;
            spin::until(|| (mailbox.waiting.load(Relaxed) > 0).then_some(()));
        }
    }
}

#[cfg(all(test, feature = "machines"))]
mod tests {
    use super::*;
    use thalweg_sync::thread;

    #[test]
    fn a_pair_has_its_order_and_nothing_is_lost() {
        let (senders, receivers) = mailboxes(2, 2, 8);
        // Who is slow gets fewer: producers pass over a pipe that is full.
        let left = &AtomicUsize::new(2000);
        let sum: u64 = thread::scope(|scope| {
            for (producer, mut tx) in senders.into_iter().enumerate() {
                scope.spawn(move || (1..=1000).for_each(|n| tx.send(&[producer as u64, n])));
            }
            let consumers: Vec<_> = (receivers.into_iter())
                .map(|mut rx| {
                    scope.spawn(move || {
                        let (mut last, mut sum) = ([0; 2], 0);
                        while left.load(Relaxed) > 0 {
                            let Some((words, length)) = rx.try_receive() else {
                                thread::yield_now();
                                continue;
                            };
                            assert_eq!(length, 2);
                            assert!(words[1] > last[words[0] as usize], "in order");
                            last[words[0] as usize] = words[1];
                            sum += words[1];
                            left.fetch_sub(1, Relaxed);
                        }
                        sum
                    })
                })
                .collect();
            consumers.into_iter().map(|consumer| consumer.join().expect("no consumer panics")).sum()
        });
        assert_eq!(sum, 2 * 500_500);
    }
}
