//! A simulated many-core machine that runs thalweg's concurrent code.
//!
//! Code that goes through [`thalweg_sync`] can be run by an engine instead of the machine. This engine is a machine: its
//! hardware threads run real code, every access goes through modelled caches, and time is what that costs. So how a queue
//! scales on 88 threads is a number that does not depend on the host, and a report says which cache line moved when.
//!
//! ```
//! use thalweg_sim::{Machine, Simulation};
//! use thalweg_sync::{CachePadded, atomic::{AtomicU64, Ordering::Relaxed}, thread};
//!
//! let machine = Machine::named("x86-88t")?;
//! let time_of = |apart: bool| {
//!     Simulation::new(machine.clone()).threads(2).run(move || {
//!         let counters = [CachePadded([AtomicU64::new(0), AtomicU64::new(0)]), CachePadded::default()];
//!         thread::scope(|scope| {
//!             for i in 0..2 {
//!                 let counter = if apart { &counters[i][0] } else { &counters[0][i] };
//!                 scope.spawn(move || (0..10_000).for_each(|_| _ = counter.fetch_add(1, Relaxed)));
//!             }
//!         });
//!     })
//! };
//! // Two counters on one line: false sharing.
//! assert!(time_of(false).nanos > 2 * time_of(true).nanos);
//! # Ok::<(), thalweg_sim::MachineError>(())
//! ```
//!
//! # What is modelled
//!
//! | part | how |
//! |---|---|
//! | cores | in order, but instructions behind a load that waits go on, within a window; SMT threads share a first-level cache, and slow each other down while they execute (not while they pause or wait); clusters share a second level |
//! | caches | sets and ways, LRU; MESI between clusters, by an exact directory; a last level for each die that takes what is read, or what others lose |
//! | contended lines | requests for a line are served in the order in which they come. A buffered store overtakes one waiting request; behind two or more it queues, and its thread stands still with it. Within the window, the thread works during that wait, as behind a load. A core that has done an atomic operation on a line keeps the line for some cycles |
//! | wires | a transfer occupies the network of its die, the link to others, the memory |
//! | stores | wait for their line in a store buffer, in order, while the thread goes on; read-modify-writes and sequentially consistent operations wait for them |
//! | prefetching | the next line, or strides, within a page; streams as far ahead as the window reaches; lines that the program asks for ([`thalweg_sync::hint::prefetch`]) |
//! | memory | pages belong to the die that touches them first |
//! | waiting | `spin::until` sleeps until a line that its attempt read is written, and tries again at its next pause; it keeps a hardware thread that other threads want for 64 pauses; conditions outside of simulated lines are polled |
//! | a message device | if a run has one: Virtual-Link's routing device, or CAF's queues, cycle by cycle ([`Device`]) |
//! | the system | threads share hardware threads by time slices; starting, parking, waking, switching and yielding take their time |
//!
//! The code between two accesses costs one step, and stands for twelve instructions of the window. [`thalweg_sync::hint::code`] says how many instructions
//! there are, [`thalweg_sync::hint::work`] how long a computation takes, and [`thalweg_sync::hint::touch`] which memory it reads.
//!
//! # What is promised
//!
//! - The same program, machine and seed give the same [`Report`], on any host, if the program uses [`Heap`]. The hardware thread with the
//!   smallest clock goes next, of several the one with the smallest number; host addresses decide nothing. Only the names of places in the
//!   source depend on the path of the sources at the build, and on whether they are still there.
//! - A thread is ahead of another by no more than a message between their caches takes, and only while its own cache
//!   answers.
//! - A deadlock, or a lost wake-up, is reported as soon as no thread can go on, with where each waits. A thread that tries again and again, as
//!   for a lock, can always go on. Such threads are named when the time is over, if they wait by [`thalweg_sync::spin`] or a lock.
//!
//! # What is not
//!
//! - Values are sequentially consistent: the machine models time, not weak memory.
//! - Misses overlap only in streams and where the program asks for lines ahead: the machine does not see whether an address depends on a
//!   load before. Code that waits for several other independent misses at once looks slower than it is.
//! - Instructions are counted only where the program says how many there are. Elsewhere an access costs one step, however much is computed
//!   between two.
//! - Atomics are done in the core's own cache, never at the last level.
//! - A transfer occupies the network of the die that asks, and one link out of it, but not the network of the die that answers. A write-back that
//!   makes room is charged to the memory of the line that takes the place.
//! - A line that a write takes from a sibling's first level, within a cluster, counts as no invalidation.
//! - What does not go through the facade costs nothing: plain memory that nobody announced, other libraries' atomics,
//!   system calls. A wait for something outside hangs. A thread of std that uses the facade runs natively; beside [`main`] that
//!   is refused.
//! - Thread-locals belong to the one OS thread, so all threads of a run share them. Statics belong to the process, so all
//!   its runs share them, and a [`Study`] has several at a time: what one leaves there is another's.
//! - The latencies of the [machines](Machine) are what their files say; each says which were measured by whom and which
//!   are guesses. Ratios and shapes carry over to hardware, nanoseconds do not.
//!
//! # Features
//!
//! `run`, on by default, has what runs: [`Simulation`], [`Study`] and [`main`]. It turns the facade's hooks on, in the whole program. Without it
//! machines and reports are plain data.
#![cfg(not(loom))]
#![cfg_attr(
    not(feature = "run"),
    allow(dead_code, unused_imports, reason = "the engine stands still: nothing can enter it")
)]
#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "an engine stands behind the facade, so it must not use it: it would watch itself"
)]

mod access;
mod agenda;
#[cfg(feature = "run")]
mod command;
mod counts;
mod device;
mod engine;
mod fabric;
mod failure;
mod heap;
mod jitter;
mod machine;
mod names;
mod notes;
mod places;
mod prefetch;
mod protocol;
mod pulse;
mod record;
mod report;
#[cfg(feature = "run")]
mod scaling;
#[cfg(feature = "run")]
mod simulation;
mod source;
mod stack;
mod threads;
mod topology;
mod trace;
mod waits;
mod window;
mod world;

#[cfg(feature = "run")]
pub use command::main;
pub use counts::{ByDistance, Cost, Counts, DeviceCounts, Prefetches};
pub use device::vlrd;
pub use device::{Credits, Device, Routing, RoutingError};
pub use failure::{Failure, Reason, Waiting};
pub use heap::{Heap, Held, held};
pub use jitter::jitter;
pub use machine::{Machine, MachineError, Prefetch};
pub use notes::{Latencies, Price, Stamp, price};
pub use record::Record;
pub use report::{FieldReport, Layout, LineReport, Report, SiteReport, TaskReport, ThreadReport};
#[cfg(feature = "run")]
pub use scaling::{Scaling, ScalingPoint, Study, in_parallel};
#[cfg(feature = "run")]
pub use simulation::Simulation;
/// The figures of a [`Record`].
pub use thalweg_figure::Spread;
pub use trace::Trace;
