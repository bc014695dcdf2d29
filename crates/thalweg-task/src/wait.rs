//! Waiting for something that others grant.
//!
//! A [`Waiter`] is the caller, a task or a thread, for one wait. It leaves [`Ticket`]s with those who may grant it something, and
//! sleeps: a task by switching stacks, a thread by parking.
//!
//! # Invariants
//!
//! - **G1** A wait is granted at most one thing, by an exact exchange of its `grant` from 0.
//! - **G2** A ticket on a [`WaitList`] is claimed with the list locked. So a waiter that has taken its ticket off a list, or has found it
//!   gone, gets nothing from that list any more; and a new wait of the same task begins only when its old tickets are gone.
//! - **G3** Who claims a ticket wakes the waiter, after the lock.

use crate::short::Short;
use crate::task::{Cancelled, Task, TaskRef};
use crate::worker::Worker;
use core::fmt;
use core::ptr::NonNull;
use core::task::Waker;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use thalweg_sync::atomic::Ordering::{Acquire, Relaxed, Release};
use thalweg_sync::atomic::{AtomicU32, AtomicUsize};
use thalweg_sync::engine;
use thalweg_sync::park::{Parker, Unparker};
use thalweg_sync::sync::Arc;
use thalweg_sync::time::{self, Instant};

/// What a task waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The end of a task.
    Join(crate::TaskId),
    /// The end of the tasks of a scope.
    Scope,
    /// The other half of a [`fork`](crate::fork()).
    Fork,
    /// A [`Mutex`](crate::Mutex).
    Lock,
    /// A [`Condvar`](crate::Condvar).
    Condvar,
    /// A [`Semaphore`](crate::Semaphore).
    Permit,
    /// An item in a channel.
    Item,
    /// Room in a channel.
    Room,
    /// One of several.
    Select,
    /// Time.
    Sleep,
    /// A future that is pending.
    Future,
    /// A call that blocks, on a helper thread.
    Blocking,
    /// Something outside this crate that waits through the facade: a queue, a stream.
    Park,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Join(task) => return write!(f, "the end of task {task}"),
            Self::Scope => "the end of a scope",
            Self::Fork => "the other half of a fork",
            Self::Lock => "a mutex",
            Self::Condvar => "a condition variable",
            Self::Permit => "a permit of a semaphore",
            Self::Item => "an item in a channel",
            Self::Room => "room in a channel",
            Self::Select => "one of several",
            Self::Sleep => "time",
            Self::Future => "a future",
            Self::Blocking => "a call that blocks",
            Self::Park => "a token (a queue or a stream)",
        })
    }
}

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Woken {
    /// With this, which is not 0.
    Granted(u32),
    TimedOut,
    /// The task is to end. Nothing was granted so far.
    Cancelled,
}

/// A thread that waits, or a future.
pub(crate) struct Outsider {
    grant: AtomicU32,
    wake: Wake,
}

enum Wake {
    Thread(Unparker),
    /// Replaced when the future is polled with another one.
    Future(Short<Option<Waker>>),
}

impl Outsider {
    /// A future's place on a list.
    pub(crate) fn future(waker: Waker) -> Arc<Self> {
        Arc::new(Self { grant: AtomicU32::new(0), wake: Wake::Future(Short::new(Some(waker))) })
    }

    /// The future is polled with this waker.
    pub(crate) fn polled_with(&self, waker: &Waker) {
        if let Wake::Future(place) = &self.wake {
            let new = waker.clone();
            // Dropped after the lock, as it is code of others.
            let _old = place.with(|old| old.replace(new));
        }
    }

    pub(crate) fn granted(&self) -> u32 {
        // (wait.2) Acquire, pairs with (wait.1).
        self.grant.load(Acquire)
    }
}

/// Wakes a waiter, once, with what it is granted.
pub(crate) enum Ticket {
    Task(TaskRef),
    Outsider(Arc<Outsider>),
}

impl Ticket {
    /// Grants `what`, unless the wait got something already. Whoever gets `true` calls [`wake`](Self::wake).
    #[inline]
    pub(crate) fn claim(&self, what: u32) -> bool {
        let grant = match self {
            Self::Task(task) => &task.grant,
            Self::Outsider(outsider) => &outsider.grant,
        };
        // (wait.1) Release, pairs with (wait.2): what came before the grant is visible to the waiter. Relaxed where it failed: nothing is
        // read.
        grant.compare_exchange(0, what, Release, Relaxed).is_ok()
    }

    #[inline]
    pub(crate) fn wake(self) {
        match self {
            Self::Task(task) => task.unpark(),
            Self::Outsider(outsider) => match &outsider.wake {
                Wake::Thread(thread) => thread.unpark(),
                Wake::Future(place) => {
                    if let Some(waker) = place.with(Option::take) {
                        waker.wake();
                    }
                }
            },
        }
    }

    /// As [`wake`](Self::wake), and a task of this worker runs next, before all others that can.
    pub(crate) fn wake_next(self) {
        match self {
            Self::Task(task) => task.unpark_next(),
            other => other.wake(),
        }
    }

    /// Claims and wakes.
    pub(crate) fn grant(self, what: u32) {
        if self.claim(what) {
            self.wake();
        }
    }
}

/// Runs `body`, which does not panic, while others use memory on the caller's stack.
///
/// Only an engine that gives up the run unwinds it. The others may still look at the stack: nothing on it is dropped.
#[inline(always)]
pub(crate) fn or_abandon<R>(body: impl FnOnce() -> R) -> R {
    if !engine::IS_COMPILED_IN {
        return body();
    }
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| {
        Worker::with(|worker| worker.current().map(|_| worker.abandon()));
        resume_unwind(panic)
    })
}

/// The caller, for one wait.
pub(crate) enum Waiter {
    Task(Running),
    Thread(Arc<Outsider>, Parker),
}

/// The task that runs here. It stays on its thread, as the task does.
#[derive(Clone, Copy)]
pub(crate) struct Running(NonNull<Task>);

impl Running {
    /// The task that runs on this thread, if it is a worker's and runs one.
    #[inline]
    pub(crate) fn get() -> Option<Self> {
        Worker::with(|worker| worker.current()).flatten().map(Self)
    }

    pub(crate) fn reference(self) -> TaskRef {
        // SAFETY: a task that runs has the scheduler's reference (T4).
        unsafe { TaskRef::to(self.0) }
    }
}

impl core::ops::Deref for Running {
    type Target = Task;
    #[inline(always)]
    fn deref(&self) -> &Task {
        // SAFETY: whoever has this is the task itself, which has not ended.
        unsafe { self.0.as_ref() }
    }
}

impl Waiter {
    /// The caller: the task that runs here, or else the thread.
    pub(crate) fn new() -> Self {
        match Running::get() {
            Some(task) => {
                // Relaxed: no ticket of an earlier wait is left (G2), and one of this wait is handed over by a lock.
                task.grant.store(0, Relaxed);
                Self::Task(task)
            }
            None => {
                let parker = Parker::new();
                let wake = Wake::Thread(parker.unparker());
                Self::Thread(Arc::new(Outsider { grant: AtomicU32::new(0), wake }), parker)
            }
        }
    }

    pub(crate) fn ticket(&self) -> Ticket {
        match self {
            Self::Task(task) => Ticket::Task(task.reference()),
            Self::Thread(outsider, _) => Ticket::Outsider(outsider.clone()),
        }
    }

    /// What was granted, 0 for nothing.
    pub(crate) fn granted(&self) -> u32 {
        match self {
            // (wait.2) Acquire, pairs with (wait.1).
            Self::Task(task) => task.grant.load(Acquire),
            Self::Thread(outsider, _) => outsider.granted(),
        }
    }

    /// Sleeps until something is granted, the deadline has passed, or the task is to end.
    #[inline(always)]
    pub(crate) fn sleep(&self, reason: Reason, deadline: Option<Instant>) -> Woken {
        self.sleep_while(reason, deadline, true)
    }

    /// As [`sleep`](Self::sleep), for what has to be waited for also if the task is to end.
    #[inline(always)]
    pub(crate) fn sleep_on(&self, reason: Reason) {
        let woken = self.sleep_while(reason, None, false);
        debug_assert!(matches!(woken, Woken::Granted(_)));
    }

    /// As [`sleep_on`](Self::sleep_on), for what others do with memory on the caller's stack.
    pub(crate) fn sleep_borrowed(&self, reason: Reason) {
        or_abandon(|| self.sleep_on(reason));
    }

    #[inline(always)]
    fn sleep_while(&self, reason: Reason, deadline: Option<Instant>, may_end: bool) -> Woken {
        loop {
            match self.granted() {
                0 => {}
                what => return Woken::Granted(what),
            }
            if may_end && self.is_to_end() {
                return Woken::Cancelled;
            }
            if deadline.is_some_and(|deadline| time::now() >= deadline) {
                return Woken::TimedOut;
            }
            match self {
                Self::Task(_) => {
                    Worker::with(|worker| worker.park(reason, deadline));
                }
                Self::Thread(_, parker) => match deadline {
                    None => parker.park(),
                    Some(deadline) => {
                        parker.park_timeout(deadline.since(time::now()));
                    }
                },
            }
        }
    }

    /// Whether the caller is a task that is cancelled and can end here.
    pub(crate) fn is_to_end(&self) -> bool {
        match self {
            Self::Task(task) => task.is_cancelled() && can_end(),
            Self::Thread(..) => false,
        }
    }
}

/// A task that unwinds already does not end at a wait: a destructor waits there.
fn can_end() -> bool {
    !std::thread::panicking()
}

/// Ends the calling task if it is cancelled. At the beginning of a wait.
#[inline]
pub(crate) fn end_if_cancelled() {
    if Running::get().is_some_and(|task| task.is_cancelled()) && can_end() {
        end();
    }
}

/// Unwinds the calling task, which is cancelled.
#[cold]
pub(crate) fn end() -> ! {
    // Without the panic hook: it is no fault.
    resume_unwind(Box::new(Cancelled));
}

/// A ticket's place on a list: no two are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key(u64);

/// Those who wait, in the order of arrival.
pub(crate) struct WaitList {
    /// How many there are, to be read without the lock.
    length: AtomicUsize,
    entries: Short<Entries>,
}

struct Entries {
    list: VecDeque<Waiting>,
    next: u64,
}

struct Waiting {
    key: Key,
    ticket: Ticket,
    /// Whatever the owner of the list wants to know of who waits.
    note: usize,
}

impl fmt::Debug for WaitList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WaitList").field("length", &self.length).finish_non_exhaustive()
    }
}

impl Default for WaitList {
    fn default() -> Self {
        Self::new()
    }
}

impl WaitList {
    pub(crate) const fn new() -> Self {
        Self { length: AtomicUsize::new(0), entries: Short::new(Entries { list: VecDeque::new(), next: 0 }) }
    }

    /// How many wait, now or lately. Exact for who has a fence against the waiter's.
    #[inline]
    pub(crate) fn length(&self) -> usize {
        // Relaxed: a hint, or ordered by the caller's fence.
        self.length.load(Relaxed)
    }

    /// Runs `access` with the list locked.
    #[inline]
    pub(crate) fn with<R>(&self, access: impl FnOnce(&mut Locked<'_>) -> R) -> R {
        self.entries.with(|entries| {
            let result = access(&mut Locked { entries });
            // Relaxed: the lock orders those who write it.
            self.length.store(entries.list.len(), Relaxed);
            result
        })
    }

    /// Takes a waiter off the list. False if its ticket was claimed.
    pub(crate) fn delist(&self, key: Key) -> bool {
        // Dropped after the lock.
        let removed = self.with(|list| list.remove(key));
        removed.is_some()
    }

    /// Grants `what` to the first who got nothing elsewhere, and wakes it. False if there is nobody.
    pub(crate) fn grant_first(&self, what: u32) -> bool {
        match self.with(|list| list.claim_first(|_| what)) {
            Some((ticket, _)) => {
                ticket.wake();
                true
            }
            None => false,
        }
    }

    /// Grants `what` to all who wait now.
    pub(crate) fn grant_all(&self, what: u32) {
        let claimed: Vec<_> = self.with(|list| {
            let all = core::mem::take(&mut list.entries.list);
            all.into_iter().filter(|entry| entry.ticket.claim(what)).collect()
        });
        claimed.into_iter().for_each(|entry| entry.ticket.wake());
    }
}

/// A list, locked.
pub(crate) struct Locked<'a> {
    entries: &'a mut Entries,
}

impl Locked<'_> {
    pub(crate) fn push_back(&mut self, ticket: Ticket, note: usize) -> Key {
        let key = self.key();
        self.entries.list.push_back(Waiting { key, ticket, note });
        key
    }

    pub(crate) fn push_front(&mut self, ticket: Ticket, note: usize) -> Key {
        let key = self.key();
        self.entries.list.push_front(Waiting { key, ticket, note });
        key
    }

    fn key(&mut self) -> Key {
        self.entries.next += 1;
        Key(self.entries.next)
    }

    pub(crate) fn remove(&mut self, key: Key) -> Option<Ticket> {
        let at = self.entries.list.iter().position(|entry| entry.key == key)?;
        self.entries.list.remove(at).map(|entry| entry.ticket)
    }

    /// Takes the first off who got nothing elsewhere, and grants what `what` says for its note. The caller wakes it.
    pub(crate) fn claim_first(&mut self, what: impl Fn(usize) -> u32) -> Option<(Ticket, usize)> {
        while let Some(entry) = self.entries.list.pop_front() {
            if entry.ticket.claim(what(entry.note)) {
                return Some((entry.ticket, entry.note));
            }
        }
        None
    }

    pub(crate) fn first_note(&self) -> Option<usize> {
        self.entries.list.front().map(|entry| entry.note)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.list.is_empty()
    }
}
