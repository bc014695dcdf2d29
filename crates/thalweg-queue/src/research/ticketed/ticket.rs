//! Tickets: doing things in the order of pops.

use super::order::Order;
use super::ring::Span;
use crate::wait::Ordinary;
#[cfg(feature = "std")]
use crate::wait::{self, Sleep};
use crate::wait::{Deadline, Side, Wait, both};
use alloc::boxed::Box;
use core::cell::Cell;
use core::fmt;
#[cfg(feature = "std")]
use thalweg_sync::time::{self, Duration};

/// Where tickets are served: counters, each in the order in which the tickets were issued.
#[derive(Debug)]
pub(super) struct Desk<W> {
    pub(super) counters: Box<[Order]>,
    pub(super) wait: W,
}

/// A place in the order of pops, to be served once at each counter of the queue that issued it.
///
/// Counters are numbered from 0. A counter serves tickets in the order of the pops that issued them; a ticket that is
/// dropped is served at once where it has not been, whether its turn has come or not, so a kernel that pushes nowhere,
/// returns early or panics holds nobody up for longer than it lives.
///
/// ```
/// use thalweg_queue::research::ticketed::{ticketed, with_counters};
///
/// let (tx, rx) = with_counters(8, 1)?;
/// let (out, results) = ticketed(8)?;
/// tx.push_all([2, 3])?;
/// let (mut first, mut second) = (rx.reserve(1)?, rx.reserve(1)?);
/// let squares = [first.next().unwrap(), second.next().unwrap()].map(|number| number * number);
/// let tickets = (first.commit(), second.commit());
/// assert!(out.try_reserve_in_turn(1, &tickets.1, 0).is_err()); // it is not its turn
/// out.reserve_in_turn(1, &tickets.0, 0)?.push(squares[0])?;
/// out.reserve_in_turn(1, &tickets.1, 0)?.push(squares[1])?;
/// assert_eq!((results.pop(), results.pop()), (Ok(4), Ok(9)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "dropped at once, it is served without having been used"]
pub struct Ticket<'a, W: Wait = Ordinary> {
    desk: &'a Desk<W>,
    span: Span,
    /// One bit per counter.
    served: Cell<u64>,
}

impl<'a, W: Wait> Ticket<'a, W> {
    pub(super) fn new(desk: &'a Desk<W>, span: Span) -> Self {
        Self { desk, span, served: Cell::new(0) }
    }

    #[track_caller]
    fn counter(&self, counter: usize) -> &'a Order {
        assert!(counter < self.desk.counters.len(), "counter {counter} of {}", self.desk.counters.len());
        assert!(self.served.get() & 1 << counter == 0, "the ticket was served at counter {counter}");
        &self.desk.counters[counter]
    }

    /// Whether every ticket issued before this one was served at `counter`. Then it stays so until this one is.
    ///
    /// # Panics
    ///
    /// If there is no such counter, or if it has served this ticket.
    pub fn is_turn(&self, counter: usize) -> bool {
        self.counter(counter).is_turn(self.span.from)
    }

    /// Waits until it [`is_turn`](Self::is_turn).
    ///
    /// Do not wait while you hold what a ticket before this one needs in order to be served: room in a queue, say.
    ///
    /// # Panics
    ///
    /// As [`is_turn`](Self::is_turn).
    pub fn wait_for_turn(&self, counter: usize) {
        self.wait_for_turn_by(counter, None);
    }

    /// Says whether its turn has come.
    pub(super) fn wait_for_turn_by(&self, counter: usize, deadline: Option<Deadline>) -> bool {
        let order = self.counter(counter);
        self.desk.wait.wait(Side::Room, deadline, || order.is_turn(self.span.from))
    }

    /// As [`wait_for_turn`](Self::wait_for_turn), but no longer than `timeout`. Says whether its turn has come.
    ///
    /// # Panics
    ///
    /// As [`is_turn`](Self::is_turn).
    #[cfg(feature = "std")]
    pub fn wait_for_turn_timeout(&self, counter: usize, timeout: Duration) -> bool {
        self.wait_for_turn_by(counter, Some(time::now().after(timeout)))
    }

    /// As [`wait_for_turn`](Self::wait_for_turn), pending until then. Dropped before it is ready, it changes nothing. Nor does it borrow
    /// the ticket: it is ready, too, when the ticket was served and all before it were.
    ///
    /// # Panics
    ///
    /// As [`is_turn`](Self::is_turn).
    #[cfg(feature = "std")]
    pub fn wait_for_turn_async(&self, counter: usize) -> impl Future<Output = ()> + use<'a, W>
    where
        W: Sleep,
    {
        let (order, from) = (self.counter(counter), self.span.from);
        let attempt = move || order.is_turn(from).then_some(());
        // Who serves a ticket wakes all, so nobody is left to be woken.
        wait::until(self.desk.wait.park(), Side::Room, attempt, || false)
    }

    /// Serves the ticket at `counter` without using it, whether its turn has come or not.
    ///
    /// # Panics
    ///
    /// As [`is_turn`](Self::is_turn).
    pub fn consume(&self, counter: usize) {
        if self.serve(counter) {
            self.notify();
        }
    }

    /// Says whether anybody's turn has come.
    fn serve(&self, counter: usize) -> bool {
        let passed = self.counter(counter).end(self.span.from, self.span.to);
        self.served.set(self.served.get() | 1 << counter);
        passed
    }

    /// Others wait for their turn, or for words of a counter to issue tickets with.
    fn notify(&self) {
        let wait = &self.desk.wait;
        both(|| wait.notify(Side::Room, usize::MAX, || true), || wait.notify(Side::Items, usize::MAX, || true));
    }
}

impl<W: Wait> Drop for Ticket<'_, W> {
    fn drop(&mut self) {
        let served = self.served.get();
        let mut passed = false;
        for counter in 0..self.desk.counters.len() {
            if served & 1 << counter == 0 {
                passed |= self.serve(counter);
            }
        }
        // At the end, and once: a waker may panic, and the ticket is served everywhere then.
        if passed {
            self.notify();
        }
    }
}

impl<W: Wait> fmt::Debug for Ticket<'_, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket").field("number", &self.span.from).finish_non_exhaustive()
    }
}
