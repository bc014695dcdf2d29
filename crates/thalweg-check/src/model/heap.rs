//! The client's heap: use after free, double free, leaks.
//!
//! # Invariants
//!
//! - **H1** Blocks that the client allocates in an execution are known from then on, by `live` or `freed`. The
//!   engine's own blocks, and those from outside, are not.
//! - **H2** What the client frees is given out again only when the execution is over. So within an execution no address is used
//!   twice, and an access to a freed one is a use after free, not one of the block's next owner.
//! - **H3** The tables are touched with `CLIENT` off, so that their own memory is not the client's.

use super::places::{AddressHasher, ByAddress};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasherDefault;
use std::ptr::NonNull;

/// An allocator by which a [`Check`](super::Check) sees what its client allocates and frees.
///
/// With it as the program's allocator, a check reports accesses of the facade to freed memory, and memory that is freed
/// twice; with [`Check::leaks`](super::Check::leaks), memory that is not freed. Outside of a check it is `A`.
///
/// ```
/// use thalweg_check::{Check, Heap, Rule};
/// use thalweg_sync::atomic::{AtomicU64, Ordering::Relaxed};
///
/// #[global_allocator]
/// static HEAP: Heap = Heap::new();
///
/// let violation = Check::new().run(|| {
///     let cell = Box::into_raw(Box::new(AtomicU64::new(0)));
///     // SAFETY: it comes from `into_raw`.
///     unsafe {
///         drop(Box::from_raw(cell));
///         (*cell).load(Relaxed);
///     }
/// });
/// assert!(matches!(violation.unwrap_err().rule(), Rule::UseAfterFree { .. }));
/// ```
#[derive(Debug, Default)]
pub struct Heap<A = System>(A);

impl Heap {
    /// Over the system's allocator.
    pub const fn new() -> Self {
        Self(System)
    }
}

impl<A> Heap<A> {
    /// Over another one.
    pub const fn over(allocator: A) -> Self {
        Self(allocator)
    }
}

std::thread_local! {
    /// The blocks of the run on this thread.
    static BLOCKS: Cell<Option<NonNull<Blocks>>> = const { Cell::new(None) };
    /// Client code runs, not the engine.
    static CLIENT: Cell<bool> = const { Cell::new(false) };
}

/// Gives back a block of `layout`, as the allocator that it is from would.
type GiveBack = Box<dyn Fn(*mut u8, Layout)>;

/// The blocks of an execution.
#[derive(Default)]
pub(crate) struct Blocks {
    /// By address. Looked at whenever anything is freed.
    live: RefCell<ByAddress<Layout>>,
    /// By address (H2).
    freed: RefCell<BTreeMap<usize, Layout>>,
    /// Blocks that executions before had, for those to come: every one asks for the same again.
    spare: RefCell<HashMap<Layout, Vec<usize>, BuildHasherDefault<AddressHasher>>>,
    give_back: RefCell<Option<GiveBack>>,
    freed_twice: Cell<bool>,
    installed: Cell<bool>,
}

/// Restores which code runs.
pub(crate) struct Side(bool);

impl Drop for Side {
    fn drop(&mut self) {
        CLIENT.set(self.0);
    }
}

/// The engine runs, until the result is dropped.
pub(crate) fn engine_side() -> Side {
    Side(CLIENT.replace(false))
}

/// The client runs, until the result is dropped.
pub(crate) fn client_side() -> Side {
    Side(CLIENT.replace(true))
}

impl Blocks {
    /// Calls `body`; what client code allocates meanwhile is known here.
    pub(crate) fn enter<R>(&self, body: impl FnOnce() -> R) -> R {
        struct Restore(Option<NonNull<Blocks>>);
        impl Drop for Restore {
            fn drop(&mut self) {
                BLOCKS.set(self.0);
            }
        }
        let _restore = Restore(BLOCKS.replace(Some(NonNull::from(self))));
        body()
    }

    /// Whether [`Heap`] is the program's allocator. Asks by allocating.
    pub(crate) fn is_installed(&self) -> bool {
        self.enter(|| {
            let _client = client_side();
            drop(std::hint::black_box(Box::new(0_u8)));
        });
        self.end();
        self.installed.get()
    }

    /// Whether a client has allocated from [`Heap`].
    pub(crate) fn has_allocated(&self) -> bool {
        self.installed.get()
    }

    /// Whether `address` is in a block that was freed in this execution.
    pub(crate) fn is_freed(&self, address: usize) -> bool {
        let freed = self.freed.borrow();
        if freed.is_empty() {
            // As nearly always, until the client is through.
            return false;
        }
        let block = freed.range(..=address).next_back();
        block.is_some_and(|(&start, layout)| address < start + layout.size())
    }

    /// Whether a block was freed twice in this execution.
    pub(crate) fn is_freed_twice(&self) -> bool {
        self.freed_twice.get()
    }

    /// How many blocks there are that were not freed, and how many bytes they have.
    pub(crate) fn leaked(&self) -> (usize, usize) {
        let live = self.live.borrow();
        (live.len(), live.values().map(Layout::size).sum())
    }

    /// The execution is over.
    pub(crate) fn end(&self) {
        let _engine = engine_side();
        self.live.borrow_mut().clear();
        self.freed_twice.set(false);
        let freed = std::mem::take(&mut *self.freed.borrow_mut());
        let mut spare = self.spare.borrow_mut();
        freed.into_iter().for_each(|(address, layout)| spare.entry(layout).or_default().push(address));
    }

    /// A block of an execution that is over.
    fn again(&self, layout: Layout) -> Option<*mut u8> {
        let _engine = engine_side();
        let address = self.spare.borrow_mut().get_mut(&layout)?.pop()?;
        Some(std::ptr::with_exposed_provenance_mut(address))
    }
}

impl Drop for Blocks {
    fn drop(&mut self) {
        self.end();
        let _engine = engine_side();
        if let Some(give_back) = &*self.give_back.borrow() {
            for (layout, addresses) in self.spare.take() {
                let blocks = addresses.into_iter().map(std::ptr::with_exposed_provenance_mut);
                blocks.for_each(|block| give_back(block, layout));
            }
        }
    }
}

fn blocks() -> Option<&'static Blocks> {
    // SAFETY: `enter` keeps the blocks alive as long as the pointer is set; the reference is used for one call of
    // the allocator, within `enter`.
    BLOCKS.get().map(|blocks| unsafe { blocks.as_ref() })
}

impl<A: GlobalAlloc + 'static> Heap<A> {
    /// Notes `block`, which is given out, if the client asked for it (H1).
    fn note(&self, block: *mut u8, layout: Layout) {
        if CLIENT.get()
            && !block.is_null()
            && let Some(blocks) = blocks()
        {
            let _engine = engine_side();
            blocks.installed.set(true);
            if blocks.give_back.borrow().is_none() {
                let allocator = NonNull::from(&self.0);
                // SAFETY: a program's allocator lives as long as the program.
                let give_back = move |block, layout| unsafe { allocator.as_ref().dealloc(block, layout) };
                *blocks.give_back.borrow_mut() = Some(Box::new(give_back));
            }
            blocks.live.borrow_mut().insert(block.expose_provenance(), layout);
        }
    }
}

// SAFETY: every block is from `A`, and goes back to it at most once: at once, or, if it was in `freed`, when the run is. It is
// given out again, for the same layout, only when the execution is over in which it was freed.
unsafe impl<A: GlobalAlloc + 'static> GlobalAlloc for Heap<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let used = if CLIENT.get() { blocks().and_then(|blocks| blocks.again(layout)) } else { None };
        // SAFETY: the caller's promise.
        let block = used.unwrap_or_else(|| unsafe { self.0.alloc(layout) });
        self.note(block, layout);
        block
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        let block = unsafe { self.0.alloc_zeroed(layout) };
        self.note(block, layout);
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if let Some(blocks) = blocks() {
            let client = CLIENT.get();
            let _engine = engine_side();
            // The engine's tables are borrowed only while the engine runs, and then hold no such block.
            if let Ok(mut live) = blocks.live.try_borrow_mut() {
                let is_live = live.remove(&block.addr()).is_some();
                if is_live && client {
                    drop(live);
                    blocks.freed.borrow_mut().insert(block.expose_provenance(), layout);
                    return;
                }
                if client && blocks.freed.borrow().contains_key(&block.addr()) {
                    blocks.freed_twice.set(true);
                    return;
                }
            }
        }
        // SAFETY: the caller's promise; the block is not one of ours any more, or never was.
        unsafe { self.0.dealloc(block, layout) };
    }
}
