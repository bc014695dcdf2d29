#![doc = include_str!("../README.md")]
//!
//! # What is where
//!
//! | you need | take |
//! |---|---|
//! | workers, their number and names | [`Executor`], [`Builder`] |
//! | to start a task, from anywhere | [`Executor::spawn`]; in a task, [`spawn`] |
//! | its result, or its panic | the [`JoinHandle`], which is a future |
//! | to end it | [`JoinHandle::abort`]: its future is dropped |
//! | to wait for a future on a thread | [`block_on`]; [`Executor::run`], which runs it as a task |
//! | to let other tasks run | [`yield_now`] |
//! | timers and sockets | the module `io`, with the feature `io` |
//! | an HTTP server | the example `http`, by hyper |
//! | to see what the workers did | [`Executor::counts`] |
//! | another local queue | [`Builder::queue`]: [`Bwos`] or [`Ring`], or your own [`LocalQueue`] |
//!
//! # How tasks run
//!
//! Each worker has a local queue of tasks that can run, [BWoS](thalweg_queue::stealing) in its FIFO form by default: the worker pushes
//! and pops without an atomic operation, and a thief takes all of a block at once. What is woken by a task that runs goes to the worker's
//! *next* place and runs before the queue, three times in a row at most. What is woken or spawned from elsewhere goes to a queue that all
//! workers share. Each 61st choice of a worker is from there first, so neither side starves the other.
//!
//! Workers with nothing to do sleep and cost nothing.
//!
//! # What is promised
//!
//! The numbers are cited where the code keeps them.
//!
//! A task:
//!
//! - **T1** `RUNNING` is taken by an exact exchange from a state without it, and only its holder touches the future. A task that is `DONE` is
//!   never taken again.
//! - **T2** A wake-up sets `SCHEDULED`. Whoever sets it on a task that neither runs nor is scheduled nor done puts the task in a queue, once. If the
//!   task runs, its holder finds the bit when it lets go, and puts it in a queue. So each wake-up is followed by a poll that sees what came before it,
//!   or the task is done.
//! - **T3** The result is written before `DONE` is set. From then on it is the handle's, if `JOIN` was set at that moment, and otherwise its
//!   holder drops it. The handle clears `JOIN` by one operation, which says whose the result is.
//! - **T4** A handle leaves its waker, then sets `WAITS`. So either it sees `DONE`, or whoever sets `DONE` sees `WAITS` and wakes it.
//! - **T5** References are counted: those of wakers, of the handle, of the queue that the task is in, of its holder, and one of the registry
//!   until it is done. The last one frees the memory. The future is gone by then: a task that is not done is in the registry.
//!
//! The workers:
//!
//! - **S1** Whoever makes a task visible to others looks at the idle afterwards; a worker that is to sleep says so, then looks everywhere once more.
//!   A fence in between on both sides, so one of the two sees the other.
//! - **S2** Nobody is woken while another one searches. The last one that searches and finds something wakes the next; the last one that finds
//!   nothing has looked again after it stopped searching (S1).
//! - **S3** `asleep` is taken back by a swap. If another thread took it, that thread has counted the worker as one that searches, and leaves exactly one
//!   token, which the worker takes.
//! - **S4** A worker shares its local queue before it polls a task while others are idle, or while its polls are long lately. What a local
//!   queue hides from thieves is its owner's to run, so it is delayed by one poll at most, and not lost.
//!
//! The end:
//!
//! - **E1** When the executor is dropped, every task that is left is cancelled: its future is dropped before the drop returns, and nobody
//!   polls it again. The one exception is a task that drops its own executor: its future is dropped when that poll ends.
//! - **E2** No thread is left, but for that task's worker, which ends behind the poll.
//! - **E3** A queue is emptied after nothing can be pushed to it any more: a local one by its worker at its end; the shared one by the drop, and by whoever
//!   pushes and then sees the end. So no cycle of references is left.
//!
//! # Panics
//!
//! A panic in a future comes back at its handle, and harms neither the worker nor other tasks. So does one in a future's destructor.
//!
//! # How engines see it
//!
//! All that is concurrent goes through `thalweg-sync`, so the model checker and the schedule fuzzer of `thalweg-check` run executors as they
//! are. An engine ends its run when a thread unwinds, and runs no other thread meanwhile.
//!
//! # What is not promised
//!
//! - A poll that blocks its thread blocks the worker, what is in its next place, and, if others were busy when it began, up to two blocks of its queue
//!   ([`Bwos`]). Such calls belong on threads of their own.
//! - Tasks are polled in about the order in which they became ready, and no order at all across workers.
//! - Under loom the crate is empty.
#![cfg(not(loom))]

mod block_on;
mod build;
mod executor;
mod idle;
#[cfg(feature = "io")]
pub mod io;
mod join;
mod local;
mod registry;
mod ring;
mod shared;
mod task;
mod worker;
mod yields;

pub use block_on::block_on;
pub use build::{Builder, StartError};
pub use executor::{Counts, Executor, spawn};
pub use join::{JoinError, JoinHandle};
pub use local::{Bwos, LocalQueue};
pub use ring::Ring;
pub use task::TaskRef;
pub use yields::{YieldNow, yield_now};
