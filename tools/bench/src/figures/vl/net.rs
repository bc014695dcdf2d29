//! The contenders behind one face: channels of words, and channels of messages of seven words.

use std::cell::Cell;
use std::num::NonZero;

use thalweg_link::{Consumer, Producer, Supervisor};
use thalweg_queue::Yield;
use thalweg_queue::{Pop, Push, mpmc, research::cnq, spsc::fast_forward};
use thalweg_sim::{Credits, Device, Routing};
use thalweg_sync::link::{self, Target};
use thalweg_sync::spin;

use crate::baselines::mailbox::{self, mailboxes};
use crate::baselines::michael_scott::Boost;

/// Seven words: with a header, a line.
pub(crate) type Message = [u64; 7];

/// Who carries the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Contender {
    /// The baseline of the paper's figures.
    Boost,
    ZeroMq,
    VirtualLink,
    Ideal,
    Caf,
    /// The same, with words of each queue's own and a pool.
    CafPool,
    Bbq,
    FastForward,
    Cnq,
}

impl Contender {
    pub(crate) const ALL: [Self; 9] = [
        Self::Boost,
        Self::ZeroMq,
        Self::VirtualLink,
        Self::Ideal,
        Self::Caf,
        Self::CafPool,
        Self::Bbq,
        Self::FastForward,
        Self::Cnq,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Boost => "boost-style",
            Self::ZeroMq => "zeromq-style",
            Self::VirtualLink => "virtual-link",
            Self::Ideal => "virtual-link-ideal",
            Self::Caf => "caf",
            Self::CafPool => "caf-pool",
            Self::Bbq => "thalweg-bbq",
            Self::FastForward => "thalweg-fast-forward",
            Self::Cnq => "thalweg-cnq",
        }
    }

    /// What the machine has for it; of routing devices, these.
    pub(crate) fn device(self, routing: Routing) -> Option<Device> {
        match self {
            Self::VirtualLink => Some(Device::VirtualLink(routing)),
            Self::Ideal => Some(Device::Ideal),
            Self::Caf => Some(Device::Caf(Credits::default())),
            // A line's words for each, and a quarter of all for one.
            Self::CafPool => Some(Device::Caf(Credits::pooled(8, 128))),
            _ => None,
        }
    }

    /// Whether it can carry what a benchmark needs.
    pub(crate) fn can(self, shared: bool, messages: bool) -> bool {
        match self {
            Self::FastForward => !shared,
            Self::Caf | Self::CafPool => !messages,
            _ => true,
        }
    }
}

/// A writing end for words.
pub(crate) trait Send: std::marker::Send {
    fn send(&mut self, word: u64);

    /// What was sent so far leaves now: nobody waits for more to come.
    fn flush(&mut self) {}
}

/// A reading end for words.
pub(crate) trait Receive: std::marker::Send {
    fn receive(&mut self) -> u64;

    /// A word that is there without asking further.
    fn at_hand(&mut self) -> Option<u64>;
}

pub(crate) type Sender = Box<dyn Send>;
pub(crate) type Receiver = Box<dyn Receive>;
pub(crate) type MessageSender = Box<dyn FnMut(&Message) + std::marker::Send>;
pub(crate) type MessageReceiver = Box<dyn FnMut() -> Message + std::marker::Send>;

/// Makes channels, inside a run.
pub(crate) struct Net {
    contender: Contender,
    supervisor: Supervisor,
    channels: Cell<usize>,
}

/// An end of one of our queues.
struct Ours<E>(E);

impl<P: Push<Item = u64> + std::marker::Send> Send for Ours<P> {
    fn send(&mut self, word: u64) {
        assert!(self.0.push(word).is_ok(), "the other side stays");
    }
}

impl<P: Pop<Item = u64> + std::marker::Send> Receive for Ours<P> {
    fn receive(&mut self) -> u64 {
        self.0.pop().expect("the other side stays")
    }

    fn at_hand(&mut self) -> Option<u64> {
        self.0.try_pop().ok()
    }
}

/// Words that are not zero.
struct NotZero<E>(E);

impl<P: Push<Item = NonZero<u64>> + std::marker::Send> Send for NotZero<P> {
    fn send(&mut self, word: u64) {
        let word = NonZero::new(word.wrapping_add(1)).expect("nobody sends the largest word");
        assert!(self.0.push(word).is_ok(), "the other side stays");
    }
}

impl<P: Pop<Item = NonZero<u64>> + std::marker::Send> Receive for NotZero<P> {
    fn receive(&mut self) -> u64 {
        self.0.pop().expect("the other side stays").get() - 1
    }

    fn at_hand(&mut self) -> Option<u64> {
        Some(self.0.try_pop().ok()?.get() - 1)
    }
}

/// Seven words share a line.
impl Send for Producer<u64> {
    fn send(&mut self, word: u64) {
        self.collect(word).expect("the other side stays");
    }

    fn flush(&mut self) {
        Producer::flush(self).expect("the other side stays");
    }
}

impl Receive for Consumer<u64> {
    fn receive(&mut self) -> u64 {
        self.pop().expect("the other side stays")
    }

    fn at_hand(&mut self) -> Option<u64> {
        self.take()
    }
}

impl Send for Boost<1> {
    fn send(&mut self, word: u64) {
        self.push(&[word]);
    }
}

impl Receive for Boost<1> {
    fn receive(&mut self) -> u64 {
        self.pop()[0]
    }

    fn at_hand(&mut self) -> Option<u64> {
        self.try_pop().map(|[word]| word)
    }
}

impl Send for mailbox::Sender {
    fn send(&mut self, word: u64) {
        mailbox::Sender::send(self, &[word]);
    }
}

impl Receive for mailbox::Receiver {
    fn receive(&mut self) -> u64 {
        mailbox::Receiver::receive(self).0[0]
    }

    fn at_hand(&mut self) -> Option<u64> {
        self.try_receive().map(|(words, _)| words[0])
    }
}

/// A queue of CAF's device.
struct Register(Target);

impl Send for Register {
    fn send(&mut self, word: u64) {
        let mut tries = 0;
        while !link::enqueue(self.0, word) {
            tries += 1;
            spin::pause(tries);
        }
    }
}

impl Receive for Register {
    fn receive(&mut self) -> u64 {
        let mut tries = 0;
        loop {
            if let Some(word) = link::dequeue(self.0) {
                return word;
            }
            tries += 1;
            spin::pause(tries);
        }
    }

    fn at_hand(&mut self) -> Option<u64> {
        link::dequeue(self.0)
    }
}

/// A handle for each of `count` threads.
fn each<E: Clone>(end: E, count: usize) -> Vec<E> {
    vec![end; count]
}

fn boxed<E: Send + 'static>(ends: Vec<E>) -> Vec<Sender> {
    ends.into_iter().map(|end| Box::new(end) as Sender).collect()
}

fn boxed_to_receive<E: Receive + 'static>(ends: Vec<E>) -> Vec<Receiver> {
    ends.into_iter().map(|end| Box::new(end) as Receiver).collect()
}

fn ours<P, C>(tx: P, rx: C, producers: usize, consumers: usize) -> (Vec<Sender>, Vec<Receiver>)
where
    P: Push<Item = u64> + Clone + std::marker::Send + 'static,
    C: Pop<Item = u64> + Clone + std::marker::Send + 'static,
{
    let sending = each(tx, producers).into_iter().map(|end| Box::new(Ours(end)) as Sender).collect();
    let receiving = each(rx, consumers).into_iter().map(|end| Box::new(Ours(end)) as Receiver).collect();
    (sending, receiving)
}

fn our_messages<P, C>(tx: P, rx: C, producers: usize, consumers: usize) -> (Vec<MessageSender>, Vec<MessageReceiver>)
where
    P: Push<Item = Message> + Clone + std::marker::Send + 'static,
    C: Pop<Item = Message> + Clone + std::marker::Send + 'static,
{
    let sending = (each(tx, producers).into_iter())
        .map(|mut end| Box::new(move |message: &Message| assert!(end.push(*message).is_ok())) as MessageSender)
        .collect();
    let receiving = (each(rx, consumers).into_iter())
        .map(|mut end| Box::new(move || end.pop().expect("the other side stays")) as MessageReceiver)
        .collect();
    (sending, receiving)
}

/// Of all devices that the machine has for the contender.
pub(crate) fn supervisor(contender: Contender, routing: Routing) -> Supervisor {
    Supervisor::hardware(if contender == Contender::VirtualLink { routing.devices } else { 1 })
}

const RIGHT: &str = "the capacity is one that the queue can have";

impl Net {
    /// Its channels take the routing devices in turn.
    pub(crate) fn new(contender: Contender, routing: Routing) -> Self {
        Self { contender, supervisor: supervisor(contender, routing), channels: Cell::new(0) }
    }

    fn next(&self) -> usize {
        self.channels.replace(self.channels.get() + 1)
    }

    fn channel(&self) -> thalweg_link::Channel {
        let number = self.next();
        let opened = self.supervisor.open(&format!("channel {number}"));
        opened.unwrap_or_else(|error| panic!("channel {number}: {error}; --device with more links, or entries, has it"))
    }

    /// A channel for words, which holds about `capacity` of them where there is no device.
    pub(crate) fn words(&self, producers: usize, consumers: usize, capacity: usize) -> (Vec<Sender>, Vec<Receiver>) {
        match self.contender {
            Contender::Boost => {
                let queue = Boost::<1>::new(capacity);
                (boxed(each(queue.clone(), producers)), boxed_to_receive(each(queue, consumers)))
            }
            Contender::ZeroMq => {
                let (senders, receivers) = mailboxes(producers, consumers, capacity);
                (boxed(senders), boxed_to_receive(receivers))
            }
            Contender::VirtualLink | Contender::Ideal => {
                let channel = self.channel();
                let producer = |_| channel.producer::<u64>().expect("there are few ends");
                let consumer = |_| channel.consumer::<u64>().expect("there are few ends");
                let (producers, consumers) = ((0..producers).map(producer), (0..consumers).map(consumer));
                (boxed(producers.collect()), boxed_to_receive(consumers.collect()))
            }
            Contender::Caf | Contender::CafPool => {
                let target = Target::new(0, self.next()).expect("there are few queues");
                assert!(link::open(target), "the machine has CAF's device");
                let register = |_| Register(target);
                (
                    boxed((0..producers).map(register).collect()),
                    boxed_to_receive((0..consumers).map(register).collect()),
                )
            }
            Contender::Bbq => {
                let (tx, rx) = mpmc::with_capacity_and_wait(capacity, Yield).expect(RIGHT);
                ours(tx, rx, producers, consumers)
            }
            Contender::Cnq => {
                let (tx, rx) = cnq::cnq_with_wait(capacity.max(256), 64, Yield).expect(RIGHT);
                ours(tx, rx, producers, consumers)
            }
            Contender::FastForward => {
                assert!(producers == 1 && consumers == 1, "FastForward is for one and one");
                let (tx, rx) = fast_forward::with_wait(capacity, Yield).expect(RIGHT);
                (vec![Box::new(NotZero(tx))], vec![Box::new(NotZero(rx))])
            }
        }
    }

    /// A channel for messages between two threads. Boost's queue carries them word by word, as in the paper's programs, and
    /// so does FastForward.
    pub(crate) fn between_two(&self, capacity: usize) -> (MessageSender, MessageReceiver) {
        match self.contender {
            Contender::Boost | Contender::FastForward => {
                let (mut senders, mut receivers) = self.words(1, 1, 7 * capacity);
                let (mut tx, mut rx) = (senders.remove(0), receivers.remove(0));
                (
                    Box::new(move |message| message.iter().for_each(|&word| tx.send(word))),
                    Box::new(move || std::array::from_fn(|_| rx.receive())),
                )
            }
            _ => {
                let (mut senders, mut receivers) = self.messages(1, 1, capacity);
                (senders.remove(0), receivers.remove(0))
            }
        }
    }

    /// How much room a queue has that is given `capacity`, where nothing but the queue holds back who sends and `all` is
    /// what a run sends: Boost's grows, so it never says no (paper, section IV-B, of incast and FIR).
    pub(crate) fn room(&self, capacity: usize, all: usize) -> usize {
        if self.contender == Contender::Boost { all } else { capacity }
    }

    /// A channel for messages, which holds about `capacity` of them where there is no device.
    ///
    /// # Panics
    ///
    /// With contenders that cannot ([`Contender::can`]).
    pub(crate) fn messages(
        &self,
        producers: usize,
        consumers: usize,
        capacity: usize,
    ) -> (Vec<MessageSender>, Vec<MessageReceiver>) {
        match self.contender {
            Contender::Boost => {
                let queue = Boost::<7>::new(capacity);
                let send = |queue: Boost<7>| Box::new(move |message: &Message| queue.push(message)) as MessageSender;
                let receive = |queue: Boost<7>| Box::new(move || queue.pop()) as MessageReceiver;
                (
                    each(queue.clone(), producers).into_iter().map(send).collect(),
                    each(queue, consumers).into_iter().map(receive).collect(),
                )
            }
            Contender::FastForward | Contender::Caf | Contender::CafPool => {
                unreachable!("{} carries words between two threads", self.contender.name())
            }
            Contender::ZeroMq => {
                let (senders, receivers) = mailboxes(producers, consumers, capacity);
                let send =
                    |mut tx: mailbox::Sender| Box::new(move |message: &Message| tx.send(message)) as MessageSender;
                let receive = |mut rx: mailbox::Receiver| Box::new(move || rx.receive().0) as MessageReceiver;
                (senders.into_iter().map(send).collect(), receivers.into_iter().map(receive).collect())
            }
            Contender::VirtualLink | Contender::Ideal => {
                let channel = self.channel();
                let producer = || channel.producer::<Message>().expect("there are few ends");
                let consumer = || channel.consumer::<Message>().expect("there are few ends");
                let send = |mut tx: Producer<Message>| -> MessageSender {
                    Box::new(move |message| tx.push(*message).expect("the other side stays"))
                };
                let receive = |mut rx: Consumer<Message>| -> MessageReceiver {
                    Box::new(move || rx.pop().expect("the other side stays"))
                };
                (
                    (0..producers).map(|_| send(producer())).collect(),
                    (0..consumers).map(|_| receive(consumer())).collect(),
                )
            }
            Contender::Bbq => {
                let (tx, rx) = mpmc::with_capacity_and_wait(capacity, Yield).expect(RIGHT);
                our_messages(tx, rx, producers, consumers)
            }
            Contender::Cnq => {
                let (tx, rx) = cnq::cnq_with_wait(capacity.max(256), 64, Yield).expect(RIGHT);
                our_messages(tx, rx, producers, consumers)
            }
        }
    }
}
