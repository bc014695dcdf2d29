//! The ends of a channel.
//!
//! # Invariants
//!
//! - **Q1** A line of an end is its own, but while it is pushed, and while it is asked for and empty.
//! - **Q2** A consumer asks only for an empty line: what has come is never overwritten.
//! - **Q3** A producer's lines are all taken when it leaves, unless it panics. So when no producer is left, and then the
//!   device holds nothing, everything that was sent is in the lines of consumers.
//! - **Q4** A consumer's line is open, or it is empty, or it was left: under one lock it is moved from the first to the
//!   others. So who sees there, after Q3, that no line was left and every open one is empty, has seen the end.

use std::collections::VecDeque;
use std::fmt;
use std::marker::PhantomData;

use thalweg_queue::{Pop, PopError, Push, PushError, TryPopError, TryPushError, Yield};
use thalweg_sync::CachePadded;
use thalweg_sync::atomic::AtomicUsize;
use thalweg_sync::atomic::Ordering::{Acquire, Relaxed, Release};
use thalweg_sync::link::{self, Target};
use thalweg_sync::spin;
use thalweg_sync::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::control::{CONTROL, Control, get, put};
use crate::endpoint::{Carrier, Endpoint};
use crate::item::Item;
use crate::requests::Requests;
use crate::supervisor::{LinkError, Pages};

/// What the ends of a channel share. Written only when an end comes or goes.
#[derive(Debug)]
pub(crate) struct Shared {
    target: Target,
    /// The queue is a device's, not a router's.
    on_device: bool,
    producers: Side,
    consumers: Side,
    lines: Mutex<Lines>,
}

/// The lines of a channel's consumers (Q4).
#[derive(Debug, Default)]
struct Lines {
    /// Of those that are there.
    open: Vec<Arc<Endpoint>>,
    /// Of those that have left and had not taken everything, the first first.
    left: VecDeque<Received>,
}

/// A consumer's line, and how many of its items were taken.
#[derive(Debug)]
struct Received {
    endpoint: Arc<Endpoint>,
    line: usize,
    taken: usize,
}

impl Received {
    /// What the line says about itself; `None` if it is empty.
    #[inline]
    fn control(&self) -> Option<Control> {
        // (link.10) Acquire, pairs with (link.9): a valid line is whole.
        Control::of(self.endpoint.line(self.line).load(CONTROL, Acquire))
    }

    /// Takes an item. The line is empty after its last one.
    #[inline]
    fn take<T: Item>(&mut self) -> Option<T> {
        let control = self.control()?;
        let line = self.endpoint.line(self.line);
        let item = get(line, self.taken);
        self.taken += 1;
        if self.taken * T::ELEMENTS == control.elements(T::SIZE) {
            // Relaxed: the next request publishes it (link.5).
            line.store(CONTROL, 0, Relaxed);
            self.taken = 0;
        }
        Some(item)
    }
}

/// The ends of one kind.
#[derive(Debug)]
struct Side {
    /// How many there are, in steps of [`ONE`](Self::ONE), and two flags.
    count: CachePadded<AtomicUsize>,
    pages: Mutex<Pages>,
}

impl Side {
    /// There was an end.
    const EVER: usize = 1;
    /// Of the producers: consumers have left lines, which are still to be received, as if a producer were about to send
    /// them. In this word, because who waits for a line watches it.
    const LEFT: usize = 2;
    const ONE: usize = 4;

    fn new() -> Self {
        Self { count: CachePadded(AtomicUsize::new(0)), pages: Mutex::default() }
    }

    fn enter(&self) -> Option<usize> {
        let endpoint = self.pages.lock().unwrap_or_else(PoisonError::into_inner).map()?;
        // Relaxed: an end comes from one that is there, or from the channel itself.
        if self.count.fetch_add(Self::ONE, Relaxed) == 0 {
            self.count.fetch_add(Self::EVER, Relaxed);
        }
        Some(endpoint)
    }

    fn leave(&self, endpoint: usize) {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner).unmap(endpoint);
        // (link.13) Release, pairs with (link.14): what an end did comes before its leaving.
        self.count.fetch_sub(Self::ONE, Release);
    }

    #[inline]
    fn count(&self) -> usize {
        // (link.14) Acquire, pairs with (link.13).
        self.count.load(Acquire)
    }

    /// There were some, and all have left.
    #[inline]
    fn is_gone(&self) -> bool {
        self.count() & !Self::LEFT == Self::EVER
    }

    /// Of the producers: there is something else to do than to wait for a line from one of them.
    #[inline]
    fn is_over(&self) -> bool {
        let count = self.count();
        count & Self::LEFT != 0 || count == Self::EVER
    }
}

impl Shared {
    pub(crate) fn new(target: Target, carrier: &Carrier) -> Self {
        let on_device = matches!(carrier, Carrier::Hardware);
        Self { target, on_device, producers: Side::new(), consumers: Side::new(), lines: Mutex::default() }
    }

    fn lines(&self) -> MutexGuard<'_, Lines> {
        // A panic elsewhere leaves the lists whole.
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A consumer leaves: nothing comes into its lines any more, and what is there stays with the channel.
    fn leave(&self, endpoint: &Arc<Endpoint>, received: impl Iterator<Item = Received>) {
        let mut lines = self.lines();
        lines.open.retain(|open| !Arc::ptr_eq(open, endpoint));
        for received in received.filter(|received| received.control().is_some()) {
            if lines.left.is_empty() {
                // Relaxed: who sees it takes the lock.
                self.producers.count.fetch_add(Side::LEFT, Relaxed);
            }
            lines.left.push_back(received);
        }
    }

    /// Takes an item of a consumer that has left.
    #[cold]
    fn take_left<T: Item>(&self) -> Option<T> {
        let mut lines = self.lines();
        let first = lines.left.front_mut()?;
        let item = first.take();
        if first.taken == 0 {
            lines.left.pop_front();
            if lines.left.is_empty() {
                // Relaxed: who sees it, and that no producer is left, takes the lock before it tells the end.
                self.producers.count.fetch_sub(Side::LEFT, Relaxed);
            }
        }
        item
    }

    /// Whether all has been received. Only right if no producer was left, and then the device held nothing (Q3, Q4).
    fn is_drained(&self) -> bool {
        let lines = self.lines();
        // (link.12) has acquired that they are valid, so an empty one was emptied by its consumer.
        lines.left.is_empty() && lines.open.iter().all(|open| open.is_empty())
    }
}

impl Drop for Shared {
    /// No end is left, and nobody can make one. What a device still holds keeps its queue.
    fn drop(&mut self) {
        if self.on_device {
            link::close(self.target);
        }
    }
}

/// A writing end. [`Clone::clone`] makes another; dropping the last one closes the channel.
pub struct Producer<T: Item> {
    carrier: Carrier,
    shared: Arc<Shared>,
    endpoint: Endpoint,
    number: usize,
    /// Items in the line.
    filled: usize,
    _items: PhantomData<T>,
}

impl<T: Item> Producer<T> {
    pub(crate) fn new(carrier: Carrier, shared: Arc<Shared>) -> Result<Self, LinkError> {
        let number = shared.producers.enter().ok_or(LinkError::TooManyEnds)?;
        let target = shared.target.endpoint(number).ok_or(LinkError::TooManyEnds)?;
        let endpoint = Endpoint::new(&carrier, target, 1);
        Ok(Self { carrier, shared, endpoint, number, filled: 0, _items: PhantomData })
    }

    /// Another writing end of the channel. Errors if there are too many.
    pub fn try_clone(&self) -> Result<Self, LinkError> {
        Self::new(self.carrier.clone(), self.shared.clone())
    }

    /// The line holds an item more.
    fn add(&mut self, value: &T) {
        put(self.endpoint.line(0), self.filled, value);
        self.filled += 1;
        self.mark();
    }

    /// Takes the item that was added last out of the line, as it was not sent: nobody may have it who comes later.
    fn take_back(&mut self) {
        self.filled -= 1;
        if self.filled > 0 {
            self.mark();
        }
    }

    /// Writes the control region.
    fn mark(&self) {
        let line = self.endpoint.line(0);
        // Relaxed: the line is this thread's alone until it is sent (Q1).
        let word = if T::SIZE.bytes() == 8 { 0 } else { line.load(CONTROL, Relaxed) };
        line.store(CONTROL, Control::new(T::SIZE, self.filled * T::ELEMENTS).with_data_of(word), Relaxed);
    }

    /// Sends the line. True if it was taken.
    fn send(&mut self) -> bool {
        let taken = self.endpoint.push();
        if taken {
            self.filled = 0;
        }
        taken
    }

    /// Sends the line, waiting for room. False if every consumer is gone.
    fn send_waiting(&mut self) -> bool {
        let mut tries = 0;
        loop {
            if self.is_closed() {
                return false;
            }
            if self.send() {
                return true;
            }
            tries += 1;
            spin::pause(tries);
        }
    }

    /// Sends `value` now, in a line with what was [collected](Self::collect), or says why not and gives it back. `Full`: the
    /// device has no room for the line.
    pub fn try_push(&mut self, value: T) -> Result<(), TryPushError<T>> {
        if self.is_closed() {
            return Err(TryPushError::Closed(value));
        }
        self.add(&value);
        if self.send() {
            return Ok(());
        }
        self.take_back();
        Err(TryPushError::Full(value))
    }

    /// Sends `value` now, waiting while the device has no room.
    pub fn push(&mut self, value: T) -> Result<(), PushError<T>> {
        self.add(&value);
        if self.send_waiting() {
            return Ok(());
        }
        self.take_back();
        Err(PushError(value))
    }

    /// Puts `value` into the line, which is sent when it is full: seven words in one packet. Waits only then.
    pub fn collect(&mut self, value: T) -> Result<(), PushError<T>> {
        self.add(&value);
        if self.filled == T::PER_LINE && !self.send_waiting() {
            self.take_back();
            return Err(PushError(value));
        }
        Ok(())
    }

    /// Sends what was collected. Without consumers it stays; nobody will have it.
    pub fn flush(&mut self) -> Result<(), PushError<()>> {
        if self.filled == 0 || self.send_waiting() { Ok(()) } else { Err(PushError(())) }
    }

    /// Whether every consumer is gone. Until the channel makes another one ([`Channel::consumer`](crate::Channel::consumer)):
    /// then it is open again, unlike other queues, whose ends come from ends.
    pub fn is_closed(&self) -> bool {
        self.shared.consumers.is_gone()
    }
}

impl<T: Item> Clone for Producer<T> {
    /// # Panics
    ///
    /// If there are 4096 already; [`try_clone`](Self::try_clone) does not.
    fn clone(&self) -> Self {
        self.try_clone().unwrap_or_else(|error| panic!("{error}"))
    }
}

impl<T: Item> Drop for Producer<T> {
    /// Sends what was collected, waiting for room; while the thread panics, nothing.
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = self.flush();
        }
        self.endpoint.leave();
        self.shared.producers.leave(self.number);
    }
}

impl<T: Item> Push for Producer<T> {
    type Item = T;
    type Wait = Yield;

    fn try_push(&mut self, value: T) -> Result<(), TryPushError<T>> {
        Self::try_push(self, value)
    }

    /// True: only the device knows, and a push asks it.
    fn may_push(&self) -> bool {
        true
    }

    fn is_closed(&self) -> bool {
        Self::is_closed(self)
    }

    /// At least one line: what is reserved for the channel.
    fn capacity(&self) -> usize {
        T::PER_LINE
    }

    fn strategy(&self) -> &Yield {
        &Yield
    }

    fn push(&mut self, value: T) -> Result<(), PushError<T>> {
        Self::push(self, value)
    }
}

/// A reading end. [`Clone::clone`] makes another.
///
/// One that has asked for lines, and found none, keeps what comes: it pops again, or is dropped; then the others take what
/// it had not taken. Nobody is told the end before: a thread that has several consumers of a channel, and pops at one of
/// them until the end, drops or empties the others first, or it may wait for itself.
pub struct Consumer<T: Item> {
    carrier: Carrier,
    shared: Arc<Shared>,
    /// The line that is read, or is expected next.
    received: Received,
    requests: Requests,
    /// How many may be under way.
    most: usize,
    number: usize,
    /// Looks at an empty line since it was asked for; `None`: it was not, or in vain.
    asked: Option<u32>,
    _items: PhantomData<T>,
}

/// How many times [`Consumer::try_pop`] looks before it asks again: it does not wait, so nobody tells it that a request was
/// lost.
const LOOKS: u32 = 64;

impl<T: Item> Consumer<T> {
    pub(crate) fn new(carrier: Carrier, shared: Arc<Shared>, most: usize) -> Result<Self, LinkError> {
        let number = shared.consumers.enter().ok_or(LinkError::TooManyEnds)?;
        let target = shared.target.endpoint(number).ok_or(LinkError::TooManyEnds)?;
        let requests = Requests::new(most);
        let endpoint = Arc::new(Endpoint::new(&carrier, target, requests.lines()));
        shared.lines().open.push(endpoint.clone());
        let received = Received { endpoint, line: 0, taken: 0 };
        Ok(Self { carrier, shared, received, requests, most, number, asked: None, _items: PhantomData })
    }

    /// Another reading end of the channel, with as many requests. Errors if there are too many.
    pub fn try_clone(&self) -> Result<Self, LinkError> {
        Self::new(self.carrier.clone(), self.shared.clone(), self.most)
    }

    /// Takes an item that has come. Asks for nothing, and does not look for what others have left.
    #[inline]
    pub fn take(&mut self) -> Option<T> {
        let item = match self.received.take() {
            Some(item) => item,
            None if self.most == 1 => return None,
            None => self.take_after_lost()?,
        };
        if self.received.taken == 0 {
            self.requests.taken();
            self.expect_next();
            self.asked = self.requests.asked().next().map(|_| 0);
        }
        Some(item)
    }

    /// Takes an item of a line before which requests were lost.
    fn take_after_lost(&mut self) -> Option<T> {
        let endpoint = &self.received.endpoint;
        self.received.line = self.requests.come(|line| endpoint.has_come(line))?;
        self.received.take()
    }

    /// The line that is read next.
    fn expect_next(&mut self) {
        let first = self.requests.asked().next();
        self.received.line = first.or(self.requests.next()).unwrap_or(self.received.line);
    }

    /// Asks for lines: again, if what was asked for may be lost, and for as many more as may be under way.
    fn ask(&mut self) {
        let endpoint = &self.received.endpoint;
        let mut made = false;
        if endpoint.forgets() {
            let again = self.requests.again(|line| endpoint.unmap(line), |line| endpoint.has_come(line));
            if let Some(line) = again
                && endpoint.fetch(line)
            {
                self.requests.made(line);
                made = true;
            }
        } else {
            made = self.requests.asked().next().is_some();
        }
        self.asked = (self.ask_more() || made).then_some(0);
        self.expect_next();
    }

    /// Asks for lines beyond those that are asked for. True if a request was made.
    fn ask_more(&mut self) -> bool {
        let mut made = false;
        while let Some(line) = self.requests.next()
            && self.received.endpoint.fetch(line)
        {
            self.requests.made(line);
            made = true;
        }
        made
    }

    /// An item was taken. If it was the last of its line, another one is asked for, where several requests may be under way.
    #[inline]
    fn go_on(&mut self, item: T) -> T {
        if self.most > 1 && self.received.taken == 0 && self.ask_more() {
            self.asked = Some(0);
            self.expect_next();
        }
        item
    }

    /// Whether nothing comes any more. Only right if no producer is left.
    fn is_drained(&self) -> bool {
        self.received.endpoint.holds() == 0 && self.shared.is_drained()
    }

    /// Takes an item that has come, or asks for a line.
    pub fn try_pop(&mut self) -> Result<T, TryPopError> {
        if let Some(item) = self.take() {
            return Ok(self.go_on(item));
        }
        let producers = self.shared.producers.count();
        if producers & Side::LEFT != 0
            && let Some(item) = self.shared.take_left()
        {
            return Ok(item);
        }
        match &mut self.asked {
            Some(looks) if *looks < LOOKS => *looks += 1,
            _ => self.ask(),
        }
        if let Some(item) = self.take() {
            return Ok(self.go_on(item));
        }
        if producers == Side::EVER && self.is_drained() {
            return Err(TryPopError::Closed);
        }
        Err(TryPopError::Empty)
    }

    /// Takes an item, waiting until one comes.
    pub fn pop(&mut self) -> Result<T, PopError> {
        if let Some(item) = self.take() {
            return Ok(self.go_on(item));
        }
        if self.asked.is_none() {
            self.ask();
        }
        let mut tries = 0;
        loop {
            // Who has asked in vain waits for nothing.
            let (endpoint, expected) = (&self.received.endpoint, self.received.line);
            let patience = if self.asked.is_some() { endpoint.patience() } else { 0 };
            let mut looks = 0;
            // True: something has come. False: ask again, or see what others have left, and whether this is the end.
            let come = spin::until(|| {
                looks += 1;
                // `take` looks again. Of several lines a later one may come where a request was lost.
                if endpoint.has_come(expected)
                    || (self.most > 1 && self.requests.asked().any(|line| line != expected && endpoint.has_come(line)))
                {
                    Some(true)
                } else {
                    (looks > patience || self.shared.producers.is_over()).then_some(false)
                }
            });
            let producers = if come { Side::ONE } else { self.shared.producers.count() };
            if producers & Side::LEFT != 0
                && let Some(item) = self.shared.take_left()
            {
                return Ok(item);
            }
            if producers == Side::EVER && self.is_drained() {
                return Err(PopError);
            }
            if let Some(item) = self.take() {
                return Ok(self.go_on(item));
            }
            if self.asked.is_none() || self.is_closed() {
                // Others have all room for requests; or the last lines are on their way, to this end or to another, or there.
                tries += 1;
                spin::pause(tries);
            }
            self.ask();
        }
    }

    /// Asks for the next line already, or for as many as the consumer may ask for, so that they come while the thread does something else.
    pub fn prefetch(&mut self) {
        if self.most > 1 {
            if self.ask_more() {
                self.asked = Some(0);
            }
            self.expect_next();
        } else if self.asked.is_none() && self.received.taken == 0 {
            self.ask();
        }
    }

    /// Whether every producer is gone. Items may still come; and until the channel makes another producer
    /// ([`Channel::producer`](crate::Channel::producer)).
    pub fn is_closed(&self) -> bool {
        self.shared.producers.is_gone()
    }
}

impl<T: Item> Clone for Consumer<T> {
    /// # Panics
    ///
    /// If there are 4096 already; [`try_clone`](Self::try_clone) does not.
    fn clone(&self) -> Self {
        self.try_clone().unwrap_or_else(|error| panic!("{error}"))
    }
}

impl<T: Item> Drop for Consumer<T> {
    /// What is in its lines, and was not taken, stays with the channel, for any other consumer, or one that comes later. It
    /// waits for nothing, and does the same while the thread panics.
    fn drop(&mut self) {
        let Received { endpoint, line: reading, taken } = &self.received;
        endpoint.leave();
        // A line that is read was asked for first, and of one request also if the device did not take it.
        let rest = self.requests.asked().filter(|line| line != reading);
        let received = std::iter::once(*reading).chain(rest).map(|line| {
            let taken = if line == *reading { *taken } else { 0 };
            Received { endpoint: endpoint.clone(), line, taken }
        });
        self.shared.leave(endpoint, received);
        self.shared.consumers.leave(self.number);
    }
}

impl<T: Item> Pop for Consumer<T> {
    type Item = T;
    type Wait = Yield;

    fn try_pop(&mut self) -> Result<T, TryPopError> {
        Self::try_pop(self)
    }

    /// True: only the device knows, and a pop asks it.
    fn may_pop(&self) -> bool {
        true
    }

    fn is_closed(&self) -> bool {
        Self::is_closed(self)
    }

    /// At least one line: what is reserved for the channel.
    fn capacity(&self) -> usize {
        T::PER_LINE
    }

    fn strategy(&self) -> &Yield {
        &Yield
    }

    fn pop(&mut self) -> Result<T, PopError> {
        Self::pop(self)
    }
}

impl<T: Item> fmt::Debug for Producer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Producer")
            .field("target", &self.shared.target)
            .field("filled", &self.filled)
            .finish_non_exhaustive()
    }
}

impl<T: Item> fmt::Debug for Consumer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer")
            .field("target", &self.shared.target)
            .field("taken", &self.received.taken)
            .finish_non_exhaustive()
    }
}
