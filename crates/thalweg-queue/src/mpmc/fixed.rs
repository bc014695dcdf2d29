//! The queue in the memory of a `static`, for many or for one of either side.

use super::block::Block;
use super::shared::Shared;
use super::users::{Many, One, Users};
use super::{Consumer, Producer};
use crate::fixed::{Row, StaticMemory, check};
use crate::share::Share;
use crate::wait::{Ordinary, Wait};
use crate::{mpsc, spmc};
use core::fmt;
use core::mem::MaybeUninit;
use thalweg_sync::atomic::AtomicU8;
use thalweg_sync::cell::Slot;

/// Memory for one queue with `BLOCKS` blocks of `ENTRIES` entries, in a `static`: neither it nor a handle of it allocates, but for ends that sleep.
///
/// The queue and its ends are those of [`with_wait`](super::with_wait), which says what the numbers mean; here they are checked when the program
/// is compiled. On a machine without an operating system the crate is built without default features, and needs no allocator then.
/// [`mpsc`] and [`spmc`] have the same for one handle of a side.
///
/// ```
/// use thalweg_queue::mpmc;
///
/// static EVENTS: mpmc::Static<&str, 2, 16> = mpmc::Static::new();
///
/// let (tx, rx) = EVENTS.take().expect("nobody else takes it");
/// let other = tx.clone();
/// std::thread::scope(|scope| {
///     scope.spawn(move || tx.push("a key").unwrap());
///     scope.spawn(move || other.push("a click").unwrap());
/// });
/// assert_eq!(rx.iter().count(), 2);
/// ```
///
/// ```compile_fail,E0080
/// static EVENTS: thalweg_queue::mpmc::Static<&str, 2, 0> = thalweg_queue::mpmc::Static::new(); // no entry
/// ```
///
/// Memory: the entries, two bytes for each (in lines of 64), and some 500 bytes for each block and 800 more; on a machine of 32 bits without an
/// operating system, where nothing is kept apart for caches, some 100 for each block and 200 more.
pub struct Static<T, const BLOCKS: usize, const ENTRIES: usize, W: Wait = Ordinary, P: Users = Many, C: Users = Many>(
    Here<T, BLOCKS, ENTRIES, W, P, C>,
);

/// The place of the queue.
type Here<T, const BLOCKS: usize, const ENTRIES: usize, W, P, C> =
    StaticMemory<Shared<T, W, P, C>, Memory<T, BLOCKS, ENTRIES, P, C>>;

/// What the queue asks for, in this order.
#[repr(C)]
struct Memory<T, const BLOCKS: usize, const ENTRIES: usize, P: Users, C: Users> {
    blocks: Row<Block<T, P, C>, BLOCKS>,
    parts: [Parts<T, ENTRIES>; BLOCKS],
}

/// The same of a block. One consumer has no marks of its own, and leaves their memory alone.
#[repr(C)]
struct Parts<T, const ENTRIES: usize> {
    written: Row<AtomicU8, ENTRIES>,
    read: Row<AtomicU8, ENTRIES>,
    entries: Row<Slot<MaybeUninit<T>>, ENTRIES>,
}

impl<T: Send, const BLOCKS: usize, const ENTRIES: usize, W: Wait, P: Users, C: Users>
    Static<T, BLOCKS, ENTRIES, W, P, C>
{
    /// No queue yet.
    pub const fn new() -> Self {
        const { check::<T>(BLOCKS, ENTRIES) };
        Self(StaticMemory::new())
    }

    fn build(&'static self) -> Option<Share<Shared<T, W, P, C>>> {
        let build = |memory: &mut _| Ok((Shared::of(memory, 0, (BLOCKS, ENTRIES), W::default())?, ()));
        self.0.build(build).map(|(shared, ())| shared)
    }
}

/// `take`, for some number of handles of either side.
macro_rules! take {
    ($P:ty, $C:ty, $Ends:ty, |$shared:ident| $ends:expr) => {
        impl<T: Send, const BLOCKS: usize, const ENTRIES: usize, W: Wait> Static<T, BLOCKS, ENTRIES, W, $P, $C> {
            /// Builds the queue and takes its ends, which wait by a strategy of this type. `None` while there is an end of a queue that was taken
            /// here before, or a weak one.
            pub fn take(&'static self) -> Option<$Ends> {
                let $shared = self.build()?;
                Some($ends)
            }
        }
    };
}

take!(Many, Many, super::Ends<T, W>, |shared| (Producer::new(shared.clone()), Consumer::new(shared)));
take!(Many, One, mpsc::Ends<T, W>, |shared| mpsc::ends(shared));
take!(One, Many, spmc::Ends<T, W>, |shared| spmc::ends(shared));

impl<T: Send, const BLOCKS: usize, const ENTRIES: usize, W: Wait, P: Users, C: Users> Default
    for Static<T, BLOCKS, ENTRIES, W, P, C>
{
    fn default() -> Self {
        Self::new()
    }
}

impl<T, const BLOCKS: usize, const ENTRIES: usize, W: Wait, P: Users, C: Users> fmt::Debug
    for Static<T, BLOCKS, ENTRIES, W, P, C>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Static").field("blocks", &BLOCKS).field("entries", &ENTRIES).finish_non_exhaustive()
    }
}
