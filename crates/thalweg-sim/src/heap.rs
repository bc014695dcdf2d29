//! The allocator of programs that run simulations.

use crate::world::World;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::names::LINE;

/// The system's allocator, seen by the simulation.
///
/// With it, where objects lie on the simulated machine depends on the run alone: not on the host's allocator, not on
/// what was allocated before. Without it, allocations that are not aligned to a line share lines as the host happens to
/// place them, and numbers differ a little from host to host; [`Report::layout`](crate::Report::layout) tells.
///
/// ```
/// #[global_allocator]
/// static HEAP: thalweg_sim::Heap = thalweg_sim::Heap;
/// # fn main() {}
/// ```
///
/// Every allocation starts on a line of its own, inside a simulation and outside.
#[derive(Clone, Copy, Debug, Default)]
pub struct Heap;

/// Bytes that a client has asked [`Heap`] for, and not given back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// At this moment.
    pub now: usize,
    /// The most that there were.
    pub most: usize,
}

/// What the running simulation's client holds: all of it, by whichever of its threads. `None` outside of a simulation; zeros if the program's allocator is not
/// [`Heap`]. With `anew`, the most is counted from here on.
///
/// Memory is a count: it takes no simulated time to ask, and the same run holds the same.
///
/// ```
/// use thalweg_sim::{Heap, Machine, Simulation, held};
///
/// #[global_allocator]
/// static HEAP: Heap = Heap;
///
/// Simulation::new(Machine::named("x86-4")?).run(|| {
///     let before = held(true).unwrap().now;
///     drop(vec![0_u8; 1000]);
///     let after = held(false).unwrap();
///     assert_eq!((after.now - before, after.most - before), (0, 1000));
/// });
/// # Ok::<(), thalweg_sim::MachineError>(())
/// ```
pub fn held(anew: bool) -> Option<Held> {
    let world = WORLD.get()?;
    // SAFETY: `watched` takes the pointer away before its borrow of the world ends.
    Some(unsafe { world.as_ref() }.held(anew))
}

thread_local! {
    /// The simulation that runs on this thread.
    static WORLD: Cell<Option<NonNull<World>>> = const { Cell::new(None) };
}

static IN_USE: AtomicBool = AtomicBool::new(false);

/// True if the program's allocator is [`Heap`].
pub(crate) fn is_in_use() -> bool {
    drop(std::hint::black_box(Box::new(0_u8)));
    // Relaxed: set by the allocation above, on this thread, if at all.
    IN_USE.load(Ordering::Relaxed)
}

/// Runs `run`, in which allocations are those of clients of `world`, unless the world is borrowed.
pub(crate) fn watched<R>(world: &World, run: impl FnOnce() -> R) -> R {
    struct Restore(Option<NonNull<World>>);
    impl Drop for Restore {
        fn drop(&mut self) {
            WORLD.set(self.0);
        }
    }
    let _restore = Restore(WORLD.replace(Some(NonNull::from(world))));
    run()
}

/// Tells the simulation, if one runs on this thread.
pub(crate) fn tell(what: impl FnOnce(&World)) {
    if let Some(world) = WORLD.get() {
        // SAFETY: `watched` takes the pointer away before its borrow of the world ends.
        what(unsafe { world.as_ref() });
    }
}

/// Tells of an allocation, unless the system had no memory.
fn allocated(memory: *mut u8, layout: Layout) {
    if !memory.is_null() {
        tell(|world| world.allocated(memory.addr(), layout.size()));
    }
}

/// The layout that is asked of the system: on lines of its own. The same for the same `layout`.
fn on_lines(layout: Layout) -> Layout {
    layout.align_to(LINE).unwrap_or(layout)
}

// SAFETY: memory comes from the system's allocator and goes back to it, both with `on_lines` of the same layout, which
// has at least its size and alignment. `tell` allocates only through a world that is borrowed, and so asks nothing again.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise; the size stays.
        let memory = unsafe { System.alloc(on_lines(layout)) };
        // Relaxed: it says only that this code has run.
        if !IN_USE.load(Ordering::Relaxed) {
            IN_USE.store(true, Ordering::Relaxed);
        }
        allocated(memory, layout);
        memory
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise; the size stays.
        let memory = unsafe { System.alloc_zeroed(on_lines(layout)) };
        allocated(memory, layout);
        memory
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        tell(|world| world.freed(memory.addr()));
        // SAFETY: it came from `alloc` with this layout.
        unsafe { System.dealloc(memory, on_lines(layout)) };
    }
}
