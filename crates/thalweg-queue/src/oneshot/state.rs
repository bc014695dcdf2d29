//! What both ends share, and who frees it.

use crate::drops::Drops;
use crate::edges::edge;
use crate::wait::Sleeper;
use crate::wait::one::One;
use alloc::boxed::Box;
use core::mem::MaybeUninit;
use core::ptr::NonNull;
use thalweg_sync::atomic::AtomicU8;
use thalweg_sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use thalweg_sync::cell::Slot;

/// The value was pushed.
const VALUE: u8 = 1;
/// The sender left without a push.
const END: u8 = 2;
/// The receiver takes no push any more.
const CLOSED: u8 = 4;
/// The receiver has left a sleeper.
const POP_WAITS: u8 = 8;
/// The sender has left a sleeper.
const CLOSE_WAITS: u8 = 16;
/// The sender does not touch the memory any more.
const SENDER_LEFT: u8 = 32;
/// The receiver does not touch the memory any more.
const RECEIVER_LEFT: u8 = 64;

struct Shared<T> {
    state: AtomicU8,
    value: Slot<MaybeUninit<T>>,
    /// Where the receiver waits for a push.
    pop: One,
    /// Where the sender waits for the receiver to close.
    close: One,
}

/// An end's share. Each of its methods says which end calls it.
#[derive(Debug)]
pub(super) struct Link<T>(NonNull<Shared<T>>);

impl<T> Clone for Link<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Link<T> {}

/// What the receiver sees.
#[derive(Clone, Copy)]
pub(super) struct Seen(u8);

impl Seen {
    pub(super) fn value(self) -> bool {
        self.0 & VALUE != 0
    }

    /// No push follows.
    pub(super) fn ended(self) -> bool {
        self.0 & (END | CLOSED) != 0
    }

    pub(super) fn sender_gone(self) -> bool {
        self.0 & (VALUE | END) != 0
    }
}

impl<T> Link<T> {
    pub(super) fn new() -> Self {
        let mut shared = Box::<Shared<T>>::new_uninit();
        let at: *mut Shared<T> = shared.as_mut_ptr();
        // SAFETY: the box's places are ours. The value's is not touched, as it may be large: a slot is nothing but its place, which may be
        // uninitialised. Under loom it is more than that.
        let shared = unsafe {
            (&raw mut (*at).state).write(AtomicU8::new(0));
            #[cfg(loom)]
            (&raw mut (*at).value).write(Slot::new(MaybeUninit::uninit()));
            (&raw mut (*at).pop).write(One::new());
            (&raw mut (*at).close).write(One::new());
            shared.assume_init()
        };
        Self(NonNull::from(Box::leak(shared)))
    }

    fn shared(&self) -> &Shared<T> {
        // SAFETY: the end that calls has not left (O4).
        unsafe { self.0.as_ref() }
    }

    /// The sender's last call: pushes, or gives the value back if the receiver takes none.
    pub(super) fn push(self, value: T) -> Result<(), T> {
        // SAFETY: the value is the sender's while `VALUE` is not set (O1).
        self.shared().value.with_mut(|slot| unsafe { (*slot).write(value) });
        if self.announce(VALUE) {
            return Ok(());
        }
        // SAFETY: as above: it was written, and not announced.
        let value = self.shared().value.with(|slot| unsafe { (*slot).assume_init_read() });
        self.leave(SENDER_LEFT, RECEIVER_LEFT);
        Err(value)
    }

    /// The sender's last call, without a push.
    pub(super) fn end(self) {
        if !self.announce(END) {
            self.leave(SENDER_LEFT, RECEIVER_LEFT);
        }
    }

    /// Announces `event` of the sender, which then has left. False, and not left, if the receiver has closed.
    fn announce(self, event: u8) -> bool {
        let shared = self.shared();
        // Relaxed: what counts is what the exchange finds.
        let mut state = shared.state.load(Relaxed);
        loop {
            if state & CLOSED != 0 {
                return false;
            }
            // Both at once if nobody is to be woken, whose sleeper is in the shared memory.
            let waits = state & POP_WAITS != 0;
            let new = state | event | if waits { 0 } else { SENDER_LEFT };
            // (oneshot.1) Release, pairs with (oneshot.2): the value is visible with `VALUE`, and our last access comes before the memory
            // is freed. No Acquire: a sleeper is seen by way of its lock (O3).
            match shared.state.compare_exchange_weak(state, new, edge("oneshot.1", Release), Relaxed) {
                Ok(_) if waits => {
                    let sleeper = shared.pop.take();
                    self.leave(SENDER_LEFT, RECEIVER_LEFT);
                    wake(sleeper);
                    return true;
                }
                Ok(_) => return true,
                Err(found) => state = found,
            }
        }
    }

    /// What the receiver finds.
    pub(super) fn look(self) -> Seen {
        // (oneshot.2) Acquire, pairs with (oneshot.1) and with (oneshot.3) of the sender: the value is visible, and with `SENDER_LEFT` the
        // memory is the receiver's alone.
        Seen(self.shared().state.load(edge("oneshot.2", Acquire)))
    }

    /// The value, for the receiver, which has seen it and not taken it.
    ///
    /// # Safety
    ///
    /// Once, and after `VALUE` was seen (O1).
    pub(super) unsafe fn take(self) -> T {
        // SAFETY: the caller's.
        self.shared().value.with(|slot| unsafe { (*slot).assume_init_read() })
    }

    /// Leaves the receiver's sleeper. True if there is nothing to wait for any more.
    pub(super) fn wait_for_push(self, sleeper: Sleeper) -> bool {
        self.shared().pop.put(sleeper);
        // Relaxed: the place's lock was taken before the bit is set (O3). What is found is looked at again before it is used.
        let before = self.shared().state.fetch_or(POP_WAITS, Relaxed);
        before & (VALUE | END | CLOSED) != 0
    }

    /// Leaves the sender's sleeper. True if the receiver has closed.
    pub(super) fn wait_for_close(self, sleeper: Sleeper) -> bool {
        self.shared().close.put(sleeper);
        // Relaxed: as above.
        self.shared().state.fetch_or(CLOSE_WAITS, Relaxed) & CLOSED != 0
    }

    /// Whether the receiver has closed, for the sender.
    pub(super) fn closed(self) -> bool {
        // Relaxed: nothing is read by way of it.
        self.shared().state.load(Relaxed) & CLOSED != 0
    }

    /// The receiver takes no push from now on. What it finds.
    pub(super) fn close(self) -> Seen {
        let (seen, sleeper) = self.shut();
        wake(sleeper);
        seen
    }

    fn shut(self) -> (Seen, Option<Sleeper>) {
        // (oneshot.4) Acquire, pairs with (oneshot.1) as a look does.
        let before = self.shared().state.fetch_or(CLOSED, edge("oneshot.4", Acquire));
        let sleeper = if before & CLOSE_WAITS != 0 { self.shared().close.take() } else { None };
        (Seen(before), sleeper)
    }

    /// The receiver's last call. `taken`: it has taken the value.
    pub(super) fn leave_receiver(self, taken: bool) {
        let mut seen = self.look();
        let alone = seen.0 & SENDER_LEFT != 0;
        let mut sleeper = None;
        if !alone {
            (seen, sleeper) = self.shut();
        }
        // First what the sender waits for. The first panic of the two comes out when the memory is left.
        let mut drops = Drops::default();
        drops.one(|| wake(sleeper));
        if seen.value() && !taken {
            // SAFETY: it was seen, is dropped once, and from here on nobody takes it (O1).
            drops.one(|| self.shared().value.with_mut(|slot| unsafe { (*slot).assume_init_drop() }));
        }
        if alone {
            self.free();
        } else {
            self.leave(RECEIVER_LEFT, SENDER_LEFT);
        }
    }

    /// The caller's last access, unless the `other` has left: then it frees the memory.
    fn leave(self, me: u8, other: u8) {
        // (oneshot.3) AcqRel, pairs with itself and, of the sender, with (oneshot.2): the accesses of who leaves first come before the memory is
        // freed.
        if self.shared().state.fetch_or(me, edge("oneshot.3", AcqRel)) & other != 0 {
            self.free();
        }
    }

    fn free(self) {
        // SAFETY: it is a box's, both ends have left, and one of them, the one that saw that, frees it (O4). A value in it was taken or is
        // none (O1): a slot drops nothing.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

fn wake(sleeper: Option<Sleeper>) {
    if let Some(sleeper) = sleeper {
        sleeper.wake();
    }
}
