//! The hook: how an engine watches concurrent code, and runs it.
//!
//! An *engine* takes the place of the machine for everything that goes through this crate. It runs the threads of a
//! program (as coroutines, say), sees each access before it happens, decides who goes next, which value a load
//! returns, and what time it is. A schedule fuzzer, a model checker and a simulated machine are three engines; the
//! code that they watch does not know which, and is the code that runs natively.
//!
//! With the feature `instrument`, every operation of this crate first reads one thread-local: is an engine running on
//! this thread (`enter`)? If not, it goes on natively, so both worlds live in one program; who wants only one of them
//! asks to be told of threads without an engine (`tell_strangers`). Without the feature, nothing here is ever called.
//!
//! # What an engine sees
//!
//! | event | method | what the engine may decide |
//! |---|---|---|
//! | atomic access | [`Engine::atomic`] | when it happens, and what it reads |
//! | fence | [`Engine::fence`] | what it orders |
//! | access to a [`Slot`](crate::cell::Slot) | [`Engine::slot_begin`], [`Engine::slot_end`] | whether it races with another |
//! | access to other memory, announced | [`Engine::touch`] | its cost, whether it races |
//! | end of an object's life | [`Engine::retire`] | to forget the object |
//! | end of a handle's life, [`Arc`](crate::sync::Arc) | [`Engine::release`] | what comes before the object's end |
//! | waiting, [`spin::until`](crate::spin::until) | [`Engine::watch`], [`Engine::wait`], [`Engine::unwatch`] | when to try again |
//! | sleeping, [`park`](crate::park) | [`Engine::park`], [`Engine::unpark`] | when to wake |
//! | threads | [`Engine::spawn`], [`Engine::join`], [`Engine::yield_now`], [`Engine::pause`], [`Engine::pin`] | who runs, and where |
//! | a panic in a [`scope`](crate::thread::scope) | [`Engine::panicked`] | to end the run |
//! | a wait of a condition variable | [`Engine::wakes_unasked`] | to wake it without a reason |
//! | one of several, [`Condvar::notify_one`](crate::sync::Condvar::notify_one) | [`Engine::choose`] | which |
//! | time, work and pauses | [`Engine::now`], [`Engine::work`], [`Engine::relax`], [`Engine::relax_for`] | what time it is |
//! | code of known length, [`hint::code`](crate::hint::code) | [`Engine::code`], [`Engine::code_end`] | how long it takes |
//! | instructions for a message device, [`link`](crate::link) | [`Engine::link`] | whether there is one, and what it does |
//! | what a thread does, [`hint::task`](crate::hint::task) | [`Engine::task`], [`Engine::task_end`] | nothing |
//! | the scheduler of a thread, [`host`](crate::host) | [`Engine::host`], [`Engine::set_host`] | nothing: it keeps it |
//!
//! Locks need no events of their own: in this world a [`Mutex`](crate::sync::Mutex) is an atomic flag and a wait, and a
//! [`Condvar`](crate::sync::Condvar) a list of tokens.
//!
//! # Three kinds of engine behind one hook
//!
//! **Interleavings** (the fuzzer). [`Engine::atomic`] is a scheduling point, then [`Atomic::perform`]: values live in
//! the client's own memory, and every execution is sequentially consistent.
//!
//! **Time** (a simulated machine). The same, and the clock of the calling core advances by what the access costs at
//! that address; the core with the smallest clock goes next.
//!
//! **Weak memory** (a checker of RC11). The engine keeps the stores of each location itself. A load returns any store
//! that the model allows: `Ok(value)` without touching memory. A read-modify-write chooses what it reads, asks
//! [`Atomic::next`] what it writes, and returns `Ok(read)`, or `Err(read)` for a compare-exchange that failed. The
//! value in memory when a location is first met ([`Atomic::peek`]) is its initial store. [`Atomic::poke`] keeps
//! memory at the last store in modification order, because exclusive accesses (`get_mut`, `into_inner`, and all
//! accesses after the run) read memory; [`Engine::touch`] announces the first two. Slots hold what native memory
//! holds, which is right as long as a race ends the run.
//!
//! # What an engine does not see
//!
//! How many handles an `Arc` has, by which `get_mut` and `try_unwrap` decide, and `Weak` and `OnceLock` at all.
//! [`Counter`](crate::atomic::Counter) is no event either; it must never decide anything.

mod access;

pub use access::{Atomic, Operation, Scalar, Span};

use crate::link::Target;
#[cfg(feature = "alloc")]
use alloc::boxed::Box;
use core::any::Any;
use core::panic::Location;
use core::sync::atomic::Ordering;

/// True if this build can run under an engine: it has the feature `instrument`. Natively it is a little slower then, so
/// measurements refuse such a build.
pub const IS_COMPILED_IN: bool = cfg!(all(feature = "instrument", not(loom)));

/// A place in the source: where the client called the facade.
pub type Site = &'static Location<'static>;

/// A thread of an engine's run, as the engine numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ThreadId(pub u64);

/// An instruction for a message device: see [`link`](crate::link), where each is a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkOperation {
    /// Latches the line at this (exposed) address.
    Select {
        /// The address of a [`Line`](crate::link::Line).
        address: usize,
    },
    /// Sends the selected line.
    Push {
        /// The queue.
        target: Target,
    },
    /// Asks for a line.
    Fetch {
        /// The queue.
        target: Target,
    },
    /// Nothing is written any more into the line at this address.
    Unmap {
        /// The address of a [`Line`](crate::link::Line).
        address: usize,
    },
    /// Opens a queue.
    Open {
        /// The queue.
        target: Target,
    },
    /// Gives a queue back.
    Close {
        /// The queue.
        target: Target,
    },
    /// Asks how much is in a queue.
    Holds {
        /// The queue.
        target: Target,
    },
    /// Sends a value.
    Enqueue {
        /// The queue.
        target: Target,
        /// The value.
        value: u64,
    },
    /// Takes a value.
    Dequeue {
        /// The queue.
        target: Target,
    },
}

/// What runs concurrent code in place of the machine. See the [module](self) for the whole picture.
///
/// Every method is called on the logical thread that does the operation, before the operation; an engine that runs
/// threads as coroutines may switch in any of them. An engine uses nothing of this crate in its methods, or it would
/// call itself.
///
/// # Safety
///
/// Unsafe client code relies on what the facade promises. An implementation keeps these promises:
///
/// - [`atomic`](Self::atomic) returns a value that the location held: its first value, or one that an operation on it
///   wrote; and answers `Err` only to a compare-exchange that wrote nothing.
/// - [`join`](Self::join) returns, or unwinds, only when the thread has ended or will never run again. An engine that
///   gives up a run ends each thread only after the threads that it started, because those may borrow from its stack.
/// - A body given to [`spawn`](Self::spawn) runs at most once.
/// - [`link`](Self::link) writes to a selected line in a push that it accepts, and after a fetch; never after
///   [`Unmap`](LinkOperation::Unmap) of the line, until it is selected again, or [`retire`](Self::retire) of its words.
pub unsafe trait Engine {
    /// An atomic access. Returns what it read (anything for a store); `Err` is a compare-exchange that did not write.
    ///
    /// A weak compare-exchange may fail though the value is the expected one.
    fn atomic(&self, access: &Atomic<'_>) -> Result<u64, u64>;

    /// Whether an access may have an ordering that there is natively not: an acquire store is a relaxed one, a relaxed fence
    /// none, and so on. For tools that try out orderings; otherwise such an access panics, as it does natively.
    fn takes_any_ordering(&self) -> bool {
        false
    }

    /// A fence.
    fn fence(&self, ordering: Ordering, at: Site);

    /// An access to a slot begins. It lasts until [`slot_end`](Self::slot_end) with the same span, on the same thread.
    fn slot_begin(&self, span: &Span);

    /// An access to a slot ends; also when it unwinds.
    fn slot_end(&self, span: &Span);

    /// Memory that the facade does not own is accessed about now. Also the exclusive accesses to an atomic
    /// (`get_mut`, `into_inner`).
    fn touch(&self, span: &Span);

    /// The line at `address` was asked for, to be read or written later. Changes nothing but time; by itself nothing at all.
    fn prefetch(&self, address: usize, access: crate::hint::Access) {
        let _ = (address, access);
    }

    /// The running thread has taken the lock whose flag is at `address`. By itself nothing at all: the flag's accesses come besides.
    fn take_lock(&self, address: usize, at: Site) {
        let _ = (address, at);
    }

    /// An atomic or a slot ends its life at this address. Also moved objects end their life only where they are
    /// dropped.
    fn retire(&self, address: usize, bytes: usize);

    /// A handle of the shared object at `object` is dropped next. If `is_last` then says so, the object is too, after
    /// everything that was done before the other handles were dropped.
    fn release(&self, object: usize, is_last: &dyn Fn() -> bool) {
        let _ = (object, is_last);
    }

    /// An attempt of [`spin::until`](crate::spin::until) begins. Attempts nest.
    fn watch(&self);

    /// The innermost attempt failed. Returns when something that it read may have changed. Ends the attempt.
    ///
    /// An attempt whose result depends on more than the engine saw (it wrote, it read the clock, it read nothing) has
    /// to be tried again soon.
    fn wait(&self, at: Site);

    /// The innermost attempt succeeded, or unwinds. Ends the attempt.
    fn unwatch(&self);

    /// Sleeps until [`unpark`](Self::unpark) of the same token, which counts also if it came first, or until the
    /// clock shows `deadline`. May return early.
    ///
    /// The token is the address of an atomic flag of the facade, which makes the edge from `unpark` to `park`.
    fn park(&self, token: usize, deadline: Option<u64>, at: Site);

    /// Wakes whoever sleeps on `token`, now or at its next [`park`](Self::park).
    fn unpark(&self, token: usize, at: Site);

    /// Whether the wait of a [`Condvar`](crate::sync::Condvar) that begins here returns without a notification, as it may; by itself it
    /// does not.
    fn wakes_unasked(&self, at: Site) -> bool {
        let _ = at;
        false
    }

    /// One of `of` possibilities, of which the client may not depend on any: a number below `of`.
    fn choose(&self, of: usize, at: Site) -> usize {
        let _ = (of, at);
        0
    }

    /// Lets others run.
    fn yield_now(&self, at: Site);

    /// A step of back-off, the `tries`-th in a row: [`spin::pause`](crate::spin::pause). An engine that has time tells a
    /// pause from a time slice given up; by itself it lets others run.
    fn pause(&self, tries: u32, at: Site) {
        let _ = tries;
        self.yield_now(at);
    }

    /// Starts a thread. Everything before is visible to it.
    #[cfg(feature = "alloc")]
    fn spawn(&self, body: Box<dyn FnOnce() + Send>, at: Site) -> ThreadId;

    /// Waits until `thread` has ended. Everything that it did is visible afterwards. Threads may be joined more than
    /// once.
    fn join(&self, thread: ThreadId, at: Site);

    /// The closure of a [`scope`](crate::thread::scope) has ended by `panic`, which goes on when the threads of the scope
    /// have ended. They may wait for what the closure does not do any more: an engine for which a panic is the end of the
    /// run ends it here, or another end would be reported. By itself nothing.
    fn panicked(&self, panic: &(dyn Any + Send)) {
        let _ = panic;
    }

    /// Nanoseconds since the start of the run. Never runs backwards.
    fn now(&self, at: Site) -> u64;

    /// About `cycles` cycles of work that touches no shared memory.
    fn work(&self, cycles: u64);

    /// What follows, until [`code_end`](Self::code_end), is about so many instructions in all; by itself nothing. Such stretches nest,
    /// and add up.
    fn code(&self, instructions: u64) {
        let _ = instructions;
    }

    /// The innermost stretch of code of known length ends; also when it unwinds.
    fn code_end(&self) {}

    /// So many pauses of a loop that waits; by itself, work of 32 cycles each.
    fn relax(&self, pauses: u32) {
        self.work(32 * u64::from(pauses));
    }

    /// So many nanoseconds of a loop that waits. By itself nothing, and `nanos` is not asked.
    fn relax_for(&self, nanos: &dyn Fn() -> u32) {
        let _ = nanos;
    }

    /// What [`machine::slow_upgrades`](crate::machine::slow_upgrades) answers: by itself that they are slow, and each byte a line, so that all
    /// that code does then is seen. An engine that has a machine answers for that.
    fn slow_upgrades(&self) -> Option<usize> {
        Some(1)
    }

    /// What the thread does from now on has this name, until [`task_end`](Self::task_end). Tasks nest.
    fn task(&self, name: &str) {
        let _ = name;
    }

    /// The innermost task ends; also when it unwinds.
    fn task_end(&self) {}

    /// The innermost task has taken so many messages.
    fn took(&self, messages: u64) {
        let _ = messages;
    }

    /// The innermost task gives so many messages.
    fn gives(&self, messages: u64) {
        let _ = messages;
    }

    /// The scheduler of user-level threads that the running thread has entered ([`host`](crate::host)). An engine that keeps none has
    /// none: its threads cannot run user-level threads.
    #[cfg(all(feature = "std", not(loom)))]
    fn host(&self) -> Option<crate::host::Host> {
        None
    }

    /// Keeps the scheduler of the running thread, until the thread ends or sets another.
    #[cfg(all(feature = "std", not(loom)))]
    fn set_host(&self, host: Option<crate::host::Host>) {
        let _ = host;
    }

    /// How many threads run at once; at least 1.
    fn parallelism(&self) -> usize;

    /// The thread wants to stay on hardware thread `cpu`.
    fn pin(&self, cpu: usize);

    /// An instruction for a message device. `None`: there is none, or it refuses.
    fn link(&self, operation: LinkOperation, at: Site) -> Option<u64> {
        let _ = (operation, at);
        None
    }
}

#[cfg(all(feature = "instrument", not(loom)))]
mod hook {
    use super::{Engine, Site};
    use core::cell::Cell;
    use core::panic::Location;
    use core::ptr::NonNull;
    use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
    use std::sync::{Mutex, PoisonError};

    std::thread_local! {
        static CURRENT: Cell<Option<NonNull<dyn Engine>>> = const { Cell::new(None) };
        /// This thread is no stranger: it has run an engine, or waits for those that do, or was told of.
        static KNOWN: Cell<bool> = const { Cell::new(false) };
    }

    /// Whom to tell of strangers.
    static TELL: Mutex<Option<fn(Site)>> = Mutex::new(None);

    /// Whether there is somebody to tell. Relaxed: whoever starts a thread hands it on, and on any other thread it may be
    /// noticed late.
    static TOLD: AtomicBool = AtomicBool::new(false);

    /// Runs `body` under `engine`: until it returns, everything that this thread does through the facade goes to
    /// `engine`.
    ///
    /// Only with the feature `instrument`.
    pub fn enter<R>(engine: &dyn Engine, body: impl FnOnce() -> R) -> R {
        struct Restore(Option<NonNull<dyn Engine>>);
        impl Drop for Restore {
            fn drop(&mut self) {
                CURRENT.set(self.0);
            }
        }
        // SAFETY: only the lifetime changes. `Restore` takes the pointer away before `engine` ends, also when
        // unwinding.
        let engine: NonNull<dyn Engine> =
            unsafe { core::mem::transmute::<NonNull<dyn Engine + '_>, NonNull<dyn Engine>>(NonNull::from(engine)) };
        let _restore = Restore(CURRENT.replace(Some(engine)));
        KNOWN.set(true);
        body()
    }

    /// Runs `body`; until it returns, a thread of the process that uses this crate natively is a stranger, and `tell` is
    /// called on it, once, with the place, before it goes on. No strangers are the calling thread and those that have been
    /// in [`enter`], which drop what a run leaves; and dropping alone is no use.
    ///
    /// For a program that is one simulation, where a thread without an engine is a mistake. Calls nest; of two at the same
    /// time the later one counts.
    ///
    /// Only with the feature `instrument`.
    pub fn tell_strangers<R>(tell: fn(Site), body: impl FnOnce() -> R) -> R {
        fn replace(tell: Option<fn(Site)>) -> Option<fn(Site)> {
            let mut place = TELL.lock().unwrap_or_else(PoisonError::into_inner);
            TOLD.store(tell.is_some(), Relaxed);
            core::mem::replace(&mut place, tell)
        }
        struct Restore(Option<fn(Site)>);
        impl Drop for Restore {
            fn drop(&mut self) {
                replace(self.0);
            }
        }
        KNOWN.set(true);
        let _restore = Restore(replace(Some(tell)));
        body()
    }

    #[cold]
    #[inline(never)]
    fn stranger(at: Site) {
        if !KNOWN.replace(true) {
            let tell = *TELL.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(tell) = tell {
                tell(at);
            }
        }
    }

    /// The engine that runs on this thread, for a use by the caller.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn current() -> Option<&'static dyn Engine> {
        current_at(Location::caller())
    }

    /// The engine that runs on this thread, for a use at `at`.
    #[inline(always)]
    pub(crate) fn current_at(at: Site) -> Option<&'static dyn Engine> {
        let engine = entered();
        if engine.is_none() && TOLD.load(Relaxed) {
            stranger(at);
        }
        engine
    }

    /// The engine that runs on this thread, for a destructor.
    #[inline(always)]
    pub(crate) fn entered() -> Option<&'static dyn Engine> {
        // SAFETY: `enter` keeps the engine alive as long as the pointer is set. The reference is used for one
        // operation of the facade, within `enter`; a coroutine that is suspended in one when `enter` ends never runs
        // again.
        CURRENT.get().map(|engine| unsafe { engine.as_ref() })
    }
}

#[cfg(not(all(feature = "instrument", not(loom))))]
mod hook {
    use super::{Engine, Site};

    /// No engine: known when compiling, so that every hook is dead code.
    #[inline(always)]
    pub(crate) const fn current() -> Option<&'static dyn Engine> {
        None
    }

    #[inline(always)]
    pub(crate) const fn current_at(_at: Site) -> Option<&'static dyn Engine> {
        None
    }

    #[inline(always)]
    pub(crate) const fn entered() -> Option<&'static dyn Engine> {
        None
    }
}

pub(crate) use hook::{current, current_at, entered};
#[cfg(all(feature = "instrument", not(loom)))]
pub use hook::{enter, tell_strangers};
