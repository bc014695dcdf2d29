//! Memory of a `static`, in which a queue is built when its ends are taken.

use crate::BuildError;
use crate::cursor::Layout;
use crate::memory::{Provider, Room, lines};
use crate::share::{Home, Placed, Share};
use core::fmt;
use core::mem::MaybeUninit;
use core::ptr::NonNull;
use thalweg_sync::cell::Slot;

/// Memory for a `Q` and, beside it, for what it asks for, of the size and alignment of an `M`.
///
/// - **M1** Who has [taken](Home::take) the home may write the memory, until a [`Share`] in what is built there is made. After that, the shares
///   say who does what; the last one has the home.
pub(crate) struct StaticMemory<Q, M> {
    home: Home,
    queue: Slot<MaybeUninit<Q>>,
    memory: Slot<MaybeUninit<M>>,
}

impl<Q, M> StaticMemory<Q, M> {
    pub(crate) const fn new() -> Self {
        Self { home: Home::new(), queue: Slot::new(MaybeUninit::uninit()), memory: Slot::new(MaybeUninit::uninit()) }
    }
}

impl<Q: Placed, M> StaticMemory<Q, M> {
    /// Builds a queue here by `build`, and says what else that gives. None if there is one already, a handle of which is left.
    pub(crate) fn build<R>(
        &'static self,
        build: impl FnOnce(&mut Lent) -> Result<(Q, R), BuildError>,
    ) -> Option<(Share<Q>, R)> {
        if !self.home.take() {
            return None;
        }
        let memory = self.memory.with_mut(|memory| memory);
        let mut lent = Lent { next: memory.cast(), left: size_of::<M>(), home: &self.home };
        let (queue, rest) = build(&mut lent).expect("its shape was checked, and the memory is made for it");
        // SAFETY: by M1 nobody else is here.
        let place = self.queue.with_mut(|place| unsafe { NonNull::from((*place).write(queue)) });
        // SAFETY: it lies in a static, whose home was taken above, and was given to the queue by its source.
        Some((unsafe { Share::placed(place) }, rest))
    }
}

impl<Q, M> fmt::Debug for StaticMemory<Q, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.home.fmt(f)
    }
}

/// What is left of a place's memory.
pub(crate) struct Lent {
    next: *mut u8,
    left: usize,
    home: &'static Home,
}

impl Provider for Lent {
    fn room<T>(&mut self, count: usize) -> Result<Room<T>, BuildError> {
        let layout = lines::<T>(count)?;
        let skipped = self.next.align_offset(layout.align());
        let Some(left) = self.left.checked_sub(skipped.saturating_add(layout.size())) else {
            return Err(BuildError::OutOfMemory { bytes: layout.size() });
        };
        let first = self.next.wrapping_add(skipped);
        (self.next, self.left) = (first.wrapping_add(layout.size()), left);
        // SAFETY: it lies in the place, or at its end, so it is not null. The room is of memory that was not lent before, and that is lent
        // again when all shares are gone (M1).
        Ok(unsafe { Room::lent(NonNull::new_unchecked(first.cast()), count) })
    }

    fn home(&self) -> Option<&'static Home> {
        Some(self.home)
    }
}

/// Memory for `N` items that begin with a line, as a [`Room`] of them takes it.
#[repr(C, align(64))]
pub(crate) struct Row<T, const N: usize>([MaybeUninit<T>; N]);

/// Whether a ring of this shape can be built, known when the program is compiled.
pub(crate) const fn check<T>(blocks: usize, entries: usize) {
    assert!(
        blocks >= 2 && blocks.is_power_of_two(),
        "a queue has a number of blocks that is a power of two, and at least two"
    );
    assert!(entries >= 1, "a block has an entry at least");
    assert!(
        Layout::fits(blocks, entries, size_of::<T>()),
        "so many entries are more than memory has, or a queue can count"
    );
}
