#![doc = include_str!("../README.md")]
//!
//! # What is where
//!
//! | you need | take |
//! |---|---|
//! | workers, their number, names, stacks, places | [`Runtime`], [`Builder`] |
//! | to start a task | [`spawn`](spawn()); [`spawn_now`], and the child runs first; [`scope`](scope()), and it may borrow; [`Options`] for a name or a group |
//! | divide and conquer | [`fork`](fork()): two calls, at the same time if somebody is idle |
//! | its result, or its panic | [`JoinHandle::join`] |
//! | to end it | [`JoinHandle::cancel`]: it unwinds at its next wait |
//! | to let others run, to sleep | [`yield_now`], [`sleep`](sleep()) |
//! | one at a time, some at a time | [`Mutex`], [`Semaphore`] |
//! | to wait for a change | [`Condvar`], ordinary and Hoare's |
//! | to send things | [`channel`](channel()), with [`select`](select()) over several |
//! | to await a future | [`block_on`]: others run while it is pending |
//! | to call what blocks a thread | [`block_in_place`]: helper threads |
//! | to see what hangs | [`Runtime::dump`], [`Builder::watch`] |
//! | to wait in a queue of `thalweg-queue` | its strategy `Park`: in a task it switches stacks |
//!
//! # How tasks run
//!
//! Each worker is a thread. It has a queue of tasks that have not begun, a list of those that have and can run, and stacks. A task begins on
//! the worker that takes it from the queue, its own or an idle one that steals it: from a sibling first, then from its cache, its memory node, and
//! elsewhere ([`Place`]). From then on it stays on that worker: a compiler keeps addresses of thread-locals across calls, so a stack that
//! moved to another thread would use those of the first.
//!
//! The queue is [BWoS](thalweg_queue::stealing): its owner pushes and pops without an atomic operation, and thieves take blocks that it has left or shared. The newest
//! task runs first on its own worker, which keeps few tasks under way; thieves take the oldest: one half of a [`fork`](fork()) at a time, of
//! tasks up to half of the queue. No task starves: each sixteenth
//! choice is for a task that has not begun, each sixty-fourth for the queues that all workers share, and a task that yields lets a new task begin first.
//!
//! Workers with nothing to do sleep and cost nothing. A thread that makes work wakes the nearest sleeping worker.
//!
//! A worker shares what it has when it starts a task while others are idle, and before it runs the next one. A task that starts a few others and
//! then computes for long without a wait, a spawn or a [`yield_now`] can keep up to sixteen of them from thieves that become idle meanwhile.
//!
//! # Waiting from anywhere
//!
//! A worker makes itself known to the facade ([`thalweg_sync::host`]). So whatever waits through the facade, by a
//! [`Parker`](thalweg_sync::park::Parker), [`sleep`](thalweg_sync::thread::sleep) or [`until`](thalweg_sync::spin::until), switches stacks in a task, and needs
//! not know of tasks: queues, streams, and your own code. That is the primitive to wait on a condition of any kind:
//!
//! ```
//! use thalweg_sync::park::Parker;
//! use thalweg_task::{Runtime, spawn};
//!
//! let runtime = Runtime::builder().workers(1).start()?;
//! runtime.run(|| {
//!     let parker = Parker::new(); // of this task
//!     let unparker = parker.unparker();
//!     let other = spawn(move || unparker.unpark()); // any task or thread
//!     parker.park(); // one worker: the other task runs here
//!     other.join().unwrap();
//! });
//! # Ok::<(), thalweg_task::StartError>(())
//! ```
//!
//! A cancelled task does not end in such a wait, as its callers do not expect to unwind there. It ends in the waits of this crate.
//!
//! # How engines see it
//!
//! A worker is one thread of an engine's run, and its tasks are stretches of that thread: a switch of stacks is no event, and orders
//! what comes before and after as program order does. An engine suspends and resumes the worker's thread on whichever stack it is. So the checker and
//! the fuzzer explore workers against each other; the tasks of one worker take turns in one order. A client that needs another order
//! has more workers, or draws the order. A simulated machine adds some forty instructions for each switch.
//!
//! An engine runs no other thread while one unwinds. So under an engine a destructor of a task that unwinds must not wait for another
//! worker. What is on the stacks of a run that is given up is forgotten, not dropped.
//!
//! # What is not promised
//!
//! - A stack is as large as the runtime was told ([`Builder::stack_bytes`]). A task that needs more hits the guard page, and the process ends.
//! - A destructor that waits while its task unwinds switches stacks too. Until it goes on, all tasks of this worker seem to unwind to the
//!   standard library ([`std::thread::panicking`]), which counts panics per thread, and its mutexes that they unlock are poisoned.
//! - A call that blocks the thread (a read from a file, a lock of the standard library) blocks all tasks of the worker, unless it is made by
//!   [`block_in_place`]. [`Builder::watch`] tells of such tasks.
//! - Under loom the crate is empty.
#![cfg(not(loom))]

mod blocking;
mod build;
mod channel;
mod condvar;
mod dump;
mod end;
mod fiber;
mod fork;
mod future;
mod idle;
mod join;
mod mutex;
mod runtime;
mod scope;
mod select;
mod semaphore;
mod short;
mod spawn;
mod stack;
mod task;
mod wait;
mod watch;
mod worker;

pub use blocking::block_in_place;
pub use build::{Builder, Place, StartError};
pub use channel::{Ready, Receiver, Sender, channel};
pub use condvar::Condvar;
pub use dump::{Dump, State, TaskInfo};
pub use fork::fork;
pub use future::block_on;
pub use join::{JoinError, JoinHandle};
pub use mutex::{Mutex, MutexGuard};
pub use runtime::Runtime;
pub use scope::{Scope, ScopedJoinHandle, scope};
pub use select::{select, select_timeout};
pub use semaphore::{Permit, Semaphore};
pub use spawn::{Current, Options, current, is_cancelled, sleep, sleep_until, spawn, spawn_now, yield_now};
pub use task::TaskId;
pub use wait::Reason;
pub use watch::Stall;
