//! The client's heap: use after free, double free, leaks, and addresses that come back.
//!
//! # Invariants
//!
//! - **H1** Blocks that the client allocates in an execution are known from then on, by `live` or `freed`. The
//!   engine's own blocks, and those from outside, are not.
//! - **H2** What the client frees stays mapped until the execution is over, and within it is given out again only by the engine's choice
//!   ([`Keeper::allocates`]). So an access to an address in `freed` is a use after free, and a client that follows a stale pointer reads
//!   stale memory, and does not crash.
//! - **H3** The tables are touched with `CLIENT` off, so that their own memory is not the client's.
//! - **H4** A keeper is asked with no table borrowed: it may switch to another thread of the client, which allocates.

use crate::model::{AddressHasher, ByAddress};
use crate::std::Locals;
use std::alloc::{GlobalAlloc, Layout, System};
use std::backtrace::Backtrace;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::hash::BuildHasherDefault;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;

/// An allocator by which a [`Check`](crate::Check), or a [`Fuzz`](crate::Fuzz), sees what its client allocates and frees.
///
/// With it as the program's allocator, both report accesses of the facade to freed memory, and memory that is freed twice, and say who
/// allocated it, freed it and used it. Both hand freed addresses out again, so that ABA is found: see [`Check::reuse`](crate::Check::reuse). With
/// [`Check::leaks`](crate::Check::leaks), memory that is not freed is reported too. Outside of an engine it is `A`.
///
/// Freed memory stays mapped until the execution is over. A client that follows a stale pointer in plain memory, which no engine sees, reads
/// what was there, and goes on to where it is found out.
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

/// Who runs the client, and is asked on the client's own thread.
pub(crate) trait Keeper {
    /// The running thread, and how many events or steps it has executed.
    fn moment(&self) -> (u32, u64);

    /// The client asks for a block of `layout`. The freed one that it is to get, if any.
    fn allocates(&self, blocks: &Blocks, layout: Layout) -> Option<usize>;

    /// The client frees the live block at `address`.
    fn frees(&self, address: usize, layout: Layout);
}

/// A moment in a thread: when it allocated a block, or freed it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Moment {
    /// The thread.
    pub thread: u32,
    /// How many events it had executed; under the fuzzer, how many steps all threads had done.
    pub after: u64,
    /// The function of the client, and the place in the source where that is known.
    pub place: Option<String>,
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "thread {} after {} events", self.thread, self.after)?;
        self.place.as_ref().map_or(Ok(()), |place| write!(f, " in {place}"))
    }
}

/// A block of the client's heap that was freed, and perhaps handed out again.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FreedBlock {
    /// Its size.
    pub bytes: usize,
    /// Who allocated it.
    pub allocated: Moment,
    /// Who freed it.
    pub freed: Moment,
    /// Who was given its address again.
    pub again: Option<Moment>,
}

impl fmt::Display for FreedBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\n  {} bytes, allocated by {}\n  freed by {}", self.bytes, self.allocated, self.freed)?;
        self.again.as_ref().map_or(Ok(()), |again| write!(f, "\n  handed out again to {again}"))
    }
}

/// What is noted of a moment.
#[derive(Clone, Debug)]
struct Note {
    thread: u32,
    after: u64,
    trace: Option<Arc<Backtrace>>,
}

impl Note {
    fn moment(&self) -> Moment {
        let place = self.trace.as_ref().and_then(|trace| client_frame(&trace.to_string()));
        Moment { thread: self.thread, after: self.after, place }
    }
}

/// The innermost function of a backtrace that is neither of the standard library nor of the engine.
fn client_frame(trace: &str) -> Option<String> {
    const OTHERS: [&str; 8] =
        ["std::", "core::", "alloc::", "__", "rust_", "thalweg_check::", "thalweg_sync::", "backtrace"];
    let mut lines = trace.lines().map(str::trim).peekable();
    while let Some(line) = lines.next() {
        let Some((number, name)) = line.split_once(": ") else { continue };
        let place = lines.next_if(|line| line.starts_with("at "));
        let is_other = || OTHERS.iter().any(|other| name.trim_start_matches('<').starts_with(other));
        if number.parse::<u32>().is_ok() && !is_other() {
            let place = place.map_or(String::new(), |place| format!(" {place}"));
            return Some(format!("{name}{place}"));
        }
    }
    None
}

/// A block that the client has.
#[derive(Clone, Debug)]
struct Live {
    layout: Layout,
    allocated: Note,
    /// Its life before, if its address was handed out again.
    before: Option<Box<Freed>>,
}

/// A block that the client had.
#[derive(Clone, Debug)]
struct Freed {
    layout: Layout,
    allocated: Note,
    freed: Note,
}

/// The blocks of an execution.
#[derive(Default)]
pub(crate) struct Blocks {
    /// By address. Looked at whenever anything is freed.
    live: RefCell<ByAddress<Live>>,
    /// By address (H2).
    freed: RefCell<BTreeMap<usize, Freed>>,
    /// In the order in which they were freed.
    order: RefCell<Vec<(usize, Layout)>>,
    /// The blocks that were handed out again, live or not: the size, and the token of who did.
    again: RefCell<BTreeMap<usize, (usize, u64)>>,
    /// Blocks that executions before had, for those to come: every one asks for the same again.
    spare: RefCell<HashMap<Layout, Vec<usize>, BuildHasherDefault<AddressHasher>>>,
    give_back: RefCell<Option<GiveBack>>,
    /// And who freed it again.
    freed_twice: RefCell<Option<(FreedBlock, Moment)>>,
    installed: Cell<bool>,
    /// Notes have backtraces.
    traces: Cell<bool>,
    keeper: Cell<Option<NonNull<dyn Keeper>>>,
    /// What else belongs to an execution.
    pub(crate) locals: Locals,
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
    /// Calls `body`; what client code allocates meanwhile is known here, and `keeper` is asked about it.
    pub(crate) fn enter<R>(&self, keeper: &dyn Keeper, body: impl FnOnce() -> R) -> R {
        struct Restore<'a>(Option<NonNull<Blocks>>, &'a Blocks, Option<NonNull<dyn Keeper>>);
        impl Drop for Restore<'_> {
            fn drop(&mut self) {
                BLOCKS.set(self.0);
                self.1.keeper.set(self.2);
            }
        }
        // SAFETY: only the lifetime changes. `Restore` takes the pointer away before `keeper` ends, also when unwinding.
        let keeper: NonNull<dyn Keeper> =
            unsafe { std::mem::transmute::<NonNull<dyn Keeper + '_>, NonNull<dyn Keeper>>(NonNull::from(keeper)) };
        let before = self.keeper.replace(Some(keeper));
        let _restore = Restore(BLOCKS.replace(Some(NonNull::from(self))), self, before);
        body()
    }

    /// The running thread.
    pub(crate) fn current_thread(&self) -> Option<u32> {
        self.keeper().map(|keeper| keeper.moment().0)
    }

    fn keeper(&self) -> Option<&dyn Keeper> {
        // SAFETY: `enter` keeps it alive as long as the pointer is set; the reference is used for one call of the allocator, within
        // `enter`.
        self.keeper.get().map(|keeper| unsafe { keeper.as_ref() })
    }

    /// Whether [`Heap`] is the program's allocator. Asks by allocating.
    pub(crate) fn is_installed(&self) -> bool {
        struct Nobody;
        impl Keeper for Nobody {
            fn moment(&self) -> (u32, u64) {
                (0, 0)
            }
            fn allocates(&self, _: &Blocks, _: Layout) -> Option<usize> {
                None
            }
            fn frees(&self, _: usize, _: Layout) {}
        }
        self.enter(&Nobody, || {
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

    /// Until this is called with false, each allocation and each free notes where it is.
    pub(crate) fn trace(&self, traces: bool) {
        self.traces.set(traces);
    }

    fn note(&self) -> Note {
        let (thread, after) = self.keeper().map_or((0, 0), Keeper::moment);
        Note { thread, after, trace: self.traces.get().then(|| Arc::new(Backtrace::force_capture())) }
    }

    /// Whether `address` is in a block that was freed in this execution.
    pub(crate) fn is_freed(&self, address: usize) -> bool {
        let freed = self.freed.borrow();
        if freed.is_empty() {
            // As nearly always, until the client is through.
            return false;
        }
        let block = freed.range(..=address).next_back();
        block.is_some_and(|(&start, block)| address < start + block.layout.size())
    }

    /// The token of who was handed out again the block that `address` is in; it may have been freed since.
    pub(crate) fn again(&self, address: usize) -> Option<u64> {
        let again = self.again.borrow();
        if again.is_empty() {
            return None;
        }
        let (&start, &(bytes, token)) = again.range(..=address).next_back()?;
        (address < start + bytes).then_some(token)
    }

    /// What is known of the block that `address` is in, if it is freed, or was handed out again.
    pub(crate) fn freed_block(&self, address: usize) -> Option<FreedBlock> {
        let freed = self.freed.borrow();
        if let Some((&start, block)) = freed.range(..=address).next_back()
            && address < start + block.layout.size()
        {
            return Some(block.describe(None));
        }
        let start = *self.again.borrow().range(..=address).next_back()?.0;
        let live = self.live.borrow();
        let live = live.get(&start).filter(|live| address < start + live.layout.size())?;
        live.before.as_ref().map(|before| before.describe(Some(&live.allocated)))
    }

    /// The extent of the client's block that `address` is in, live or freed.
    pub(crate) fn extent(&self, address: usize) -> Option<Range<usize>> {
        let extent = |start: usize, layout: Layout| start..start + layout.size();
        let live = self.live.borrow();
        let live =
            live.iter().map(|(&start, block)| extent(start, block.layout)).find(|extent| extent.contains(&address));
        live.or_else(|| {
            let freed = self.freed.borrow();
            let (&start, block) = freed.range(..=address).next_back()?;
            Some(extent(start, block.layout)).filter(|extent| extent.contains(&address))
        })
    }

    /// The freed blocks of `layout`, in the order in which they were freed.
    pub(crate) fn freed_of(&self, layout: Layout) -> Vec<usize> {
        self.order.borrow().iter().filter(|&&(_, other)| other == layout).map(|&(address, _)| address).collect()
    }

    /// Notes who is about to be given the freed block at `address`.
    pub(crate) fn hand_out(&self, address: usize, bytes: usize, token: u64) {
        self.again.borrow_mut().insert(address, (bytes, token));
    }

    /// The block that was freed twice in this execution, if there is one, and by whom the second time.
    pub(crate) fn freed_twice(&self) -> Option<(FreedBlock, Moment)> {
        self.freed_twice.borrow().clone()
    }

    /// How many blocks there are that were not freed, how many bytes they have, and who allocated the first.
    pub(crate) fn leaked(&self) -> Option<(usize, usize, Moment)> {
        let live = self.live.borrow();
        let first =
            live.values().min_by_key(|live| (live.allocated.thread, live.allocated.after, live.layout.size()))?;
        Some((live.len(), live.values().map(|live| live.layout.size()).sum(), first.allocated.moment()))
    }

    /// The execution is over.
    pub(crate) fn end(&self) {
        let _engine = engine_side();
        self.live.borrow_mut().clear();
        self.order.borrow_mut().clear();
        self.again.borrow_mut().clear();
        *self.freed_twice.borrow_mut() = None;
        let freed = std::mem::take(&mut *self.freed.borrow_mut());
        let mut spare = self.spare.borrow_mut();
        freed.into_iter().for_each(|(address, block)| spare.entry(block.layout).or_default().push(address));
    }

    /// A block for the client: a freed one that its engine hands out again, or one of an execution that is over.
    fn another(&self, layout: Layout) -> (Option<*mut u8>, Option<Box<Freed>>) {
        let _engine = engine_side();
        let again = self.keeper().and_then(|keeper| keeper.allocates(self, layout));
        if let Some(address) = again
            && let Some(before) = self.freed.borrow_mut().remove(&address)
        {
            self.order.borrow_mut().retain(|&(other, _)| other != address);
            return (Some(std::ptr::with_exposed_provenance_mut(address)), Some(Box::new(before)));
        }
        let spare = self.spare.borrow_mut().get_mut(&layout).and_then(Vec::pop);
        (spare.map(std::ptr::with_exposed_provenance_mut), None)
    }

    /// The client frees `block`. False if it is none of its own: then it goes back to the allocator.
    fn free(&self, block: *mut u8, layout: Layout) -> bool {
        let _engine = engine_side();
        // The tables are borrowed only while the engine runs, and then hold no such block.
        let is_live = self.live.try_borrow().is_ok_and(|live| live.contains_key(&block.addr()));
        if !is_live {
            let freed = self.freed.try_borrow().ok().and_then(|freed| freed.get(&block.addr()).cloned());
            if let Some(freed) = &freed {
                let mut twice = self.freed_twice.borrow_mut();
                twice.get_or_insert_with(|| (freed.describe(None), self.note().moment()));
            }
            return freed.is_some();
        }
        if let Some(keeper) = self.keeper() {
            keeper.frees(block.addr(), layout);
        }
        let freed = self.note();
        if let Some(live) = self.live.borrow_mut().remove(&block.addr()) {
            let address = block.expose_provenance();
            self.order.borrow_mut().push((address, layout));
            self.freed.borrow_mut().insert(address, Freed { layout, allocated: live.allocated, freed });
        }
        true
    }

    /// The engine frees `block`, which may be the client's.
    fn forget(&self, block: *mut u8) {
        let _engine = engine_side();
        if let Ok(mut live) = self.live.try_borrow_mut() {
            live.remove(&block.addr());
        }
    }
}

impl Freed {
    fn describe(&self, again: Option<&Note>) -> FreedBlock {
        FreedBlock {
            bytes: self.layout.size(),
            allocated: self.allocated.moment(),
            freed: self.freed.moment(),
            again: again.map(Note::moment),
        }
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

/// The blocks of the run on this thread of the system.
pub(crate) fn blocks() -> Option<&'static Blocks> {
    // SAFETY: `enter` keeps the blocks alive as long as the pointer is set; the reference is used for one call of
    // the allocator, within `enter`.
    BLOCKS.get().map(|blocks| unsafe { blocks.as_ref() })
}

impl<A: GlobalAlloc + 'static> Heap<A> {
    /// Notes `block`, which is given out, if the client asked for it (H1).
    fn note(&self, block: *mut u8, layout: Layout, before: Option<Box<Freed>>) {
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
            let live = Live { layout, allocated: blocks.note(), before };
            blocks.live.borrow_mut().insert(block.expose_provenance(), live);
        }
    }

    /// A block that the client gets without `A`, with its life before.
    fn used(&self, layout: Layout) -> (Option<*mut u8>, Option<Box<Freed>>) {
        if CLIENT.get() { blocks().map_or((None, None), |blocks| blocks.another(layout)) } else { (None, None) }
    }
}

// SAFETY: every block is from `A`, and goes back to it at most once: at once, or, if it was in `freed`, when the run is. It is
// given out again, for the same layout, only when it is in `freed`, and then is not any more, or when the execution is over in
// which it was freed.
unsafe impl<A: GlobalAlloc + 'static> GlobalAlloc for Heap<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let (used, before) = self.used(layout);
        // SAFETY: the caller's promise.
        let block = used.unwrap_or_else(|| unsafe { self.0.alloc(layout) });
        self.note(block, layout, before);
        block
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let (used, before) = self.used(layout);
        // SAFETY: the caller's promise; a block that is used again has the layout's size.
        let block = unsafe {
            match used {
                Some(block) => {
                    block.write_bytes(0, layout.size());
                    block
                }
                None => self.0.alloc_zeroed(layout),
            }
        };
        self.note(block, layout, before);
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if let Some(blocks) = blocks() {
            if !CLIENT.get() {
                blocks.forget(block);
            } else if blocks.free(block, layout) {
                return;
            }
        }
        // SAFETY: the caller's promise; the block is not one of ours any more, or never was.
        unsafe { self.0.dealloc(block, layout) };
    }
}

#[cfg(test)]
mod tests {
    use super::client_frame;

    #[test]
    fn the_frame_that_is_shown_is_the_clients() {
        let trace = "   0: std::backtrace::Backtrace::force_capture\n             at /rustc/x/backtrace.rs:1:2\n   \
                     1: <thalweg_check::heap::Heap as core::alloc::GlobalAlloc>::dealloc\n   2: __rust_dealloc\n   \
                     3: stack::pop\n             at ./src/stack.rs:7:9\n   4: main\n";
        assert_eq!(client_frame(trace).unwrap(), "stack::pop at ./src/stack.rs:7:9");
        assert_eq!(client_frame("  9: list::push\n  10: main\n").unwrap(), "list::push");
        assert_eq!(client_frame("disabled backtrace"), None);
    }
}
