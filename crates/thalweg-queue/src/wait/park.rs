//! Sleeping until the other end notifies.
//!
//! Threads and futures are on the same list.

use super::line::{LinePlace, WaitingLine};
use super::{Deadline, Side, Wait, both};
use crate::drops::Drops;
use crate::edges::fenced;
use core::task::Waker;
use thalweg_sync::atomic::Ordering::{Relaxed, SeqCst};
use thalweg_sync::atomic::{self, AtomicUsize};
use thalweg_sync::park::{Parker, Unparker};
use thalweg_sync::sync::{Mutex, MutexGuard};
use thalweg_sync::{CachePadded, fence, spin, time};

/// Waits on the processor for a moment, then sleeps until the other end says so. What async ends need too.
///
/// Each queue has its own, made when the queue is built.
///
/// ```
/// use thalweg_queue::{Park, spsc::fast_forward};
///
/// let (mut tx, mut rx) = fast_forward::with_wait(64, Park::new())?;
/// let consumer = std::thread::spawn(move || rx.pop());
/// tx.push(Box::new(7))?;
/// assert_eq!(consumer.join().unwrap(), Ok(Box::new(7)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Park {
    room: List,
    items: List,
    closed: List,
}

/// A strategy by which `async` ends can wait: [`Park`], and no other.
#[diagnostic::on_unimplemented(
    message = "a queue with `async` ends is built with `Park`",
    label = "the ends of this one wait by `{Self}`",
    note = "most modules have `with_wait(..., Park::new())`"
)]
pub trait Sleep: Wait {
    /// The list of those who wait.
    #[doc(hidden)]
    fn park(&self) -> &Park;
}

impl Sleep for Park {
    fn park(&self) -> &Park {
        self
    }
}

/// Who waits on one side, in the order of arrival.
#[derive(Debug)]
struct List {
    /// The length of the list, to be read without the lock.
    length: CachePadded<AtomicUsize>,
    waiters: Mutex<WaitingLine>,
}

/// Who is to be woken.
///
/// A thread could be a [`Waker`] too; but then it would be in the standard library's `Arc`, at which engines do not look.
#[derive(Clone, Debug)]
pub(crate) enum Sleeper {
    Thread(Unparker),
    Task(Waker),
}

impl Sleeper {
    pub(crate) fn wake(self) {
        match self {
            Self::Thread(thread) => thread.unpark(),
            Self::Task(waker) => waker.wake(),
        }
    }
}

/// Who asks for a place, before there is anything that could wake it.
#[derive(Clone, Copy)]
pub(super) enum Caller<'a> {
    Thread(&'a Parker),
    Task(&'a Waker),
    /// One of several places of whoever waits for several ends at once.
    Several(&'a Sleeper),
}

impl Caller<'_> {
    /// What wakes it. A waker's clone is somebody else's code.
    fn sleeper(self) -> Sleeper {
        match self {
            Self::Thread(parker) => Sleeper::Thread(parker.unparker()),
            Self::Task(waker) => Sleeper::Task(waker.clone()),
            Self::Several(sleeper) => sleeper.clone(),
        }
    }

    /// Whether `sleeper`, which has its place, wakes it. A thread has one parker as long as it waits.
    fn is_woken_by(self, sleeper: &Sleeper) -> bool {
        match (self, sleeper) {
            (Self::Thread(_), Sleeper::Thread(_)) => true,
            (Self::Task(waker), Sleeper::Task(there)) => there.will_wake(waker),
            (Self::Several(Sleeper::Task(waker)), Sleeper::Task(there)) => there.will_wake(waker),
            // Of several, it may be the parker of an earlier wait.
            (Self::Several(_), _) | (Self::Thread(_), Sleeper::Task(_)) | (Self::Task(_), Sleeper::Thread(_)) => false,
        }
    }
}

impl Default for Park {
    fn default() -> Self {
        Self::new()
    }
}

impl Park {
    /// Empty lists.
    pub fn new() -> Self {
        fence::prepare();
        Self { room: List::new(), items: List::new(), closed: List::new() }
    }

    #[inline(always)]
    fn list(&self, side: Side) -> &List {
        match side {
            Side::Room => &self.room,
            Side::Items => &self.items,
            Side::Closed => &self.closed,
        }
    }

    /// Puts `caller` on the list, or in the place that it had there and has not been woken from. True if it is a new place:
    /// then what it waits for has to be looked at once more (P1).
    pub(super) fn enlist(&self, side: Side, place: &mut Option<LinePlace>, caller: Caller<'_>) -> bool {
        let list = self.list(side);
        if let Some(place) = *place
            && list.lock().waiting(place).is_some_and(|there| caller.is_woken_by(there))
        {
            return false;
        }
        let sleeper = caller.sleeper();
        let mut waiters = list.lock();
        if let Some(there) = place.and_then(|place| waiters.waiting(place)) {
            let old = core::mem::replace(there, sleeper);
            // After the lock, since that is somebody else's code.
            drop(waiters);
            drop(old);
            return false;
        }
        // Woken from there, and heard of by this.
        place.take().map(|place| waiters.remove(place));
        *place = Some(waiters.push(sleeper));
        list.note(&waiters);
        drop(waiters);
        // (wait.1) The waiter's fence, pairs with (wait.2): either the one who notifies sees the new length, or the waiter's next
        // look sees what was made visible before. Without it both may look too early, and the waiter sleeps beside an item.
        fenced("wait.1", fence::heavy);
        true
    }

    /// Takes a waiter off the list. False if it was taken off by somebody who wakes it.
    pub(super) fn delist(&self, side: Side, place: LinePlace) -> bool {
        let list = self.list(side);
        let mut waiters = list.lock();
        let removed = waiters.remove(place);
        list.note(&waiters);
        drop(waiters);
        removed.is_some()
    }

    /// Sleeps until `ready` or the deadline.
    #[cold]
    fn sleep(&self, side: Side, deadline: Option<Deadline>, mut ready: impl FnMut() -> bool) -> bool {
        let parker = Parker::new();
        let mut place = None;
        loop {
            // A place that was woken from is a new one the next time, so this looks again after every wake-up.
            if self.enlist(side, &mut place, Caller::Thread(&parker)) && ready() {
                // If somebody took it off the list meanwhile, the caller is about to try what it was woken for.
                place.map(|place| self.delist(side, place));
                return true;
            }
            let over = match deadline {
                None => {
                    parker.park();
                    false
                }
                Some(deadline) => !parker.park_timeout(deadline.since(time::now())),
            };
            if over {
                // Off the list before the last look: what is made visible later wakes the next one instead, and
                // what it was woken for a moment ago this look sees.
                place.map(|place| self.delist(side, place));
                return ready();
            }
            // Who was woken mostly has what it waits for. To be on the list again first would cost a heavy fence, and make it late.
            if ready() {
                place.map(|place| self.delist(side, place));
                return true;
            }
        }
    }
}

impl Wait for Park {
    #[inline(always)]
    fn notify(&self, side: Side, count: usize, worthwhile: impl FnOnce() -> bool) {
        // (wait.2) The notifier's fence, pairs with (wait.1).
        let mut is_fenced = true;
        fenced("wait.2", || is_fenced = fence::light_if_free());
        let list = self.list(side);
        // Relaxed: the fence orders it.
        if !is_fenced || list.length.load(Relaxed) != 0 {
            list.notify(count, worthwhile);
        }
    }

    fn notify_all(&self) {
        let notify = |side| self.notify(side, usize::MAX, || true);
        both(|| notify(Side::Room), || both(|| notify(Side::Items), || notify(Side::Closed)));
    }

    fn wait(&self, side: Side, deadline: Option<Deadline>, mut ready: impl FnMut() -> bool) -> bool {
        spin::briefly(|| ready().then_some(())).is_some() || self.sleep(side, deadline, ready)
    }
}

impl List {
    fn new() -> Self {
        Self { length: CachePadded(AtomicUsize::new(0)), waiters: Mutex::new(WaitingLine::new()) }
    }

    fn lock(&self) -> MutexGuard<'_, WaitingLine> {
        // Nothing panics while the lock is held, unless memory runs out; the list is whole then too.
        self.waiters.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn note(&self, waiters: &WaitingLine) {
        // Relaxed: the lock orders those who write it, the fences those who read it.
        self.length.store(waiters.len(), Relaxed);
    }

    /// Wakes up to `count` who wait, if that is `worthwhile`. Out of line: each push and each pop of a program has the call.
    #[cold]
    #[inline(never)]
    fn notify(&self, count: usize, worthwhile: impl FnOnce() -> bool) {
        // (wait.3) Between what we made visible and our look at what others did, pairs with itself: of those who notify, the
        // one whose fence comes last sees what all of them did (P3). A light fence orders nothing between two of them, so
        // without it each of two consumers that free a block together could find it taken by the other.
        // And it is the fence (wait.2), where that is a full one.
        fenced("wait.3", || atomic::fence(SeqCst));
        // Relaxed: the fence orders it.
        if self.length.load(Relaxed) != 0 && worthwhile() {
            self.wake(count);
        }
    }

    /// Wakes up to `count` of those who are on the list now, the one that waits longest first.
    #[cold]
    fn wake(&self, count: usize) {
        /// Those who are left to wake. Dropped when a waker panics, it goes on with them (P2).
        struct Rest<'a> {
            list: &'a List,
            count: usize,
            end: u64,
        }
        impl Rest<'_> {
            fn wake(&mut self) {
                while let Some(count) = self.count.checked_sub(1) {
                    self.count = count;
                    match self.list.first(self.end) {
                        Some(sleeper) => sleeper.wake(),
                        None => self.count = 0,
                    }
                }
            }
        }
        impl Drop for Rest<'_> {
            fn drop(&mut self) {
                // Nothing, unless a waker has panicked: then each of the others may, too.
                let mut wakers = Drops::default();
                while self.count > 0 {
                    wakers.one(|| self.wake());
                }
            }
        }
        let mut waiters = self.lock();
        let (end, owed) = (waiters.end(), waiters.owed());
        drop(waiters);
        // Tasks that were woken before and are not heard of may never be: a future that is kept or leaked swallows nothing.
        Rest { list: self, count: count.saturating_add(owed), end }.wake();
    }

    /// Takes off who waits longest, if that one came before the place `end`.
    fn first(&self, end: u64) -> Option<Sleeper> {
        let mut waiters = self.lock();
        let first = waiters.first(end);
        self.note(&waiters);
        first
    }
}
