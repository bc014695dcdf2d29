//! No `try_` waits: whatever another thread does at each of its steps, it comes back without having stood back, or given up its time slice.
//!
//! An engine shows a rival every access of the end that tries. Before the first ones that write, the rival does the same and is faster, so
//! every loop that there is meets who it lost to. What the engine is asked for besides accesses is counted: there is no clock in this. Queues
//! that have a lock are left out, as their ends wait for who has it.

use std::cell::{Cell, RefCell};
use thalweg_queue::overwriting::drop_old;
use thalweg_queue::research::{cnq, ticketed};
use thalweg_queue::{Pop, Push, Yield, bytes, growing, mpmc, mpsc, spmc, spsc, unbounded};
use thalweg_sync::atomic::Ordering;
use thalweg_sync::engine::{Atomic, Engine, LinkOperation, Operation, Site, Span, ThreadId, enter};

/// One thread, and a rival that does what it does.
struct Watched<'a> {
    rival: RefCell<&'a mut dyn FnMut()>,
    /// How often the rival is yet to be faster.
    left: Cell<u32>,
    /// The rival is at it, or nobody tries: what is done counts for nobody.
    away: Cell<bool>,
    waits: Cell<u32>,
    pauses: Cell<u32>,
}

impl Watched<'_> {
    /// What `body` waits beside a rival that is faster up to `times` times: how often it waits, and how many pauses it makes.
    fn waits(rival: &mut dyn FnMut(), times: u32, body: impl FnOnce()) -> (u32, u32) {
        let (left, rival) = (Cell::new(times), RefCell::new(rival));
        let this = Watched { rival, left, away: Cell::new(false), waits: Cell::new(0), pauses: Cell::new(0) };
        enter(&this, body);
        (this.waits.get(), this.pauses.get())
    }

    fn waited(&self) {
        self.waits.set(self.waits.get() + u32::from(!self.away.get()));
    }
}

// SAFETY: accesses are performed as they come, on the one thread that there is.
unsafe impl Engine for Watched<'_> {
    fn atomic(&self, access: &Atomic<'_>) -> Result<u64, u64> {
        if !self.away.get() && self.left.get() > 0 && access.operation() != Operation::Load {
            self.left.set(self.left.get() - 1);
            self.away.set(true);
            (self.rival.borrow_mut())();
            self.away.set(false);
        }
        access.perform()
    }
    fn wait(&self, _at: Site) {
        panic!("nobody else would end this wait");
    }
    fn park(&self, _token: usize, _deadline: Option<u64>, _at: Site) {
        panic!("nobody else would wake this thread");
    }
    fn watch(&self) {
        self.waited();
    }
    fn yield_now(&self, _at: Site) {
        self.waited();
    }
    fn pause(&self, _tries: u32, _at: Site) {
        self.waited();
    }
    fn relax_for(&self, nanos: &dyn Fn() -> u32) {
        self.waits.set(self.waits.get() + u32::from(!self.away.get() && nanos() > 0));
    }
    fn relax(&self, pauses: u32) {
        self.pauses.set(self.pauses.get() + if self.away.get() { 0 } else { pauses });
    }
    fn now(&self, _at: Site) -> u64 {
        self.waited();
        0
    }
    fn fence(&self, _ordering: Ordering, _at: Site) {}
    fn slot_begin(&self, _span: &Span) {}
    fn slot_end(&self, _span: &Span) {}
    fn touch(&self, _span: &Span) {}
    fn retire(&self, _address: usize, _bytes: usize) {}
    fn unwatch(&self) {}
    fn unpark(&self, _token: usize, _at: Site) {}
    fn spawn(&self, _body: Box<dyn FnOnce() + Send>, _at: Site) -> ThreadId {
        unreachable!()
    }
    fn join(&self, _thread: ThreadId, _at: Site) {}
    fn work(&self, _cycles: u64) {}
    fn parallelism(&self) -> usize {
        1
    }
    fn pin(&self, _cpu: usize) {}
    fn link(&self, _operation: LinkOperation, _at: Site) -> Option<u64> {
        None
    }
}

/// A consumer that keeps a distance makes up to 15 pauses before a look, a fraction of a microsecond, once in a call.
const DISTANCE: u32 = 15;

/// `try_push` and `try_pop` beside another end that does the same, or beside none, from empty to full and back.
fn tries<P: Push<Item: From<u8>>, C: Pop>(
    name: &str,
    (mut tx, mut other_tx): (P, Option<P>),
    (mut rx, mut other_rx): (C, Option<C>),
) {
    let none = (0, 0);
    for times in [0, 1, 3, 10] {
        let mut pushed = 0;
        // Some have no end.
        while pushed < 200 {
            let mut rival = || _ = other_tx.as_mut().map(|tx| tx.try_push(0.into()).is_ok());
            let mut done = false;
            let waits = Watched::waits(&mut rival, times, || done = tx.try_push(1.into()).is_ok());
            assert_eq!(waits, none, "{name}: a push, its rival faster {times} times, after {pushed}");
            pushed += 1;
            if !done {
                break;
            }
        }
        let mut popped = 0;
        loop {
            let mut rival = || _ = other_rx.as_mut().map(|rx| rx.try_pop().is_ok());
            let mut done = false;
            let (waits, pauses) = Watched::waits(&mut rival, times, || done = rx.try_pop().is_ok());
            assert!(
                waits == 0 && pauses <= DISTANCE,
                "{name}: a pop waits {waits} times, {pauses} pauses, after {popped}"
            );
            popped += 1;
            if !done {
                break;
            }
        }
        while other_rx.as_mut().is_some_and(|rx| rx.try_pop().is_ok()) {}
    }
}

macro_rules! tries {
    (both $($name:ident: $queue:expr;)+) => {$(
        let (tx, rx) = $queue;
        tries(stringify!($name), (tx.clone(), Some(tx)), (rx.clone(), Some(rx)));
    )+};
    (producers $($name:ident: $queue:expr;)+) => {$(
        let (tx, rx) = $queue;
        tries(stringify!($name), (tx.clone(), Some(tx)), (rx, None));
    )+};
    (consumers $($name:ident: $queue:expr;)+) => {$(
        let (tx, rx) = $queue;
        tries(stringify!($name), (tx, None), (rx.clone(), Some(rx)));
    )+};
    (none $($name:ident: $queue:expr;)+) => {$(
        let (tx, rx) = $queue;
        tries(stringify!($name), (tx, None), (rx, None));
    )+};
}

#[test]
fn no_try_waits() {
    tries! { both
        mpmc: mpmc::channel::<u64>(8).unwrap();
        mpmc_yield: mpmc::with_wait::<u64, _>(2, 1, Yield).unwrap();
        exact: mpmc::exact::<u64>(8).unwrap();
        drop_old: drop_old::<u64>(2, 4).unwrap();
        ticketed: ticketed::ticketed::<u64>(8).unwrap();
        cnq: cnq::cnq::<u64>(8, 2).unwrap();
    }
    tries! { producers
        mpsc: mpsc::channel::<u64>(8).unwrap();
        unbounded_to_one: unbounded::mpsc::channel::<u64>();
    }
    tries! { consumers spmc: spmc::channel::<u64>(8).unwrap(); }
    tries! { none
        spsc: spsc::channel::<u64>(8).unwrap();
        growing: growing::channel::<u64>(8).unwrap();
    }
}

#[test]
fn no_try_of_messages_waits() {
    let (tx, rx) = bytes::channel(64).unwrap();
    let (other_tx, other_rx) = (tx.clone(), rx.clone());
    let mut rival = || _ = other_tx.try_push(&[1; 3]);
    for _ in 0..20 {
        assert_eq!(Watched::waits(&mut rival, 3, || _ = tx.try_push(&[2; 5])), (0, 0));
    }
    let mut rival = || _ = other_rx.try_pop(&mut vec![]);
    for _ in 0..20 {
        assert_eq!(Watched::waits(&mut rival, 3, || _ = rx.try_pop(&mut vec![])), (0, 0));
    }
}

/// What waits anyhow does stand back: so this test would see it.
#[test]
fn a_push_stands_back() {
    let (tx, rx) = mpmc::channel::<u64>(100).unwrap();
    let other = tx.clone();
    let mut rival = || _ = other.try_push(0);
    assert!(Watched::waits(&mut rival, 10, || _ = tx.push(1)).0 > 0);
    let other = rx.clone();
    let mut rival = || _ = other.try_pop();
    assert!(Watched::waits(&mut rival, 10, || _ = rx.pop()).0 > 0);
}
