//! FastForward: one producer, one consumer, and no index between them.
//!
//! | | |
//! |---|---|
//! | order | FIFO, linearizable, refusals one by one ([crate page](crate#what-is-promised)) |
//! | who | one producer, one consumer |
//! | items | one word that is never null: [`Word`]. Any `T: Send`: [`in_place`] |
//! | progress | `try_push` and `try_pop` are wait-free, but for a [`Slip`] that was asked for |
//! | cost | one load and one store of a slot per item, no read-modify-write; the producer checks, and the consumer empties, a line of slots at a time |
//!
//! Lamport's queue compares head and tail, so each side keeps reading an index that the other keeps writing. Here
//! the slot itself says whether it is full: null is empty. Head and tail are private to their handles.
//!
//! From J. Giacomoni, T. Moseley, M. Vachharajani, *FastForward for Efficient Pipeline Parallelism: A
//! Cache-Optimized Concurrent Lock-Free Queue*, PPoPP 2008: sections 3.3 (queue), 3.4 (slip), 3.6 (payload behind a
//! pointer, and the store fence that it needs, which here is an ordering); names as there. Different from the paper: slots are
//! emptied and checked by the line, the two ends close, items have destructors, and payloads may lie in the slots.
//!
//! ```
//! use thalweg_queue::{TryPopError, spsc::fast_forward};
//!
//! let (mut tx, mut rx) = fast_forward::fast_forward(1024)?;
//! let producer = std::thread::spawn(move || {
//!     for i in 0..10_000_u64 {
//!         tx.push(Box::new(i)).unwrap(); // waits while the queue is full
//!     }
//! });
//! for i in 0..10_000 {
//!     assert_eq!(*rx.pop()?, i);
//! }
//! producer.join().unwrap();
//! assert_eq!(rx.try_pop(), Err(TryPopError::Closed));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Capacity
//!
//! `capacity` items fit for certain: a push finds room whenever fewer items than that are in the queue. The
//! consumer empties slots a line at a time, when it looks for the item after them; the ring has spare slots to make up for those
//! it holds back, so up to two lines more items may fit. `Full` means that `capacity` items or more are waiting. Any capacity will do; 512
//! to 4096 is where throughput is best.
//!
//! # What the answers mean
//!
//! Each takes effect at one instant between call and return:
//!
//! | answer | at that instant |
//! |---|---|
//! | `try_push`: `Full` | at least `capacity` items are in the queue |
//! | `try_pop`: `Empty` | no item is in the queue |
//! | either: `Closed` | the other end is gone, and for `try_pop` no item is left |
//!
//! Neither is ever `Busy`: nobody can be half-way between the two ends.
//!
//! # Payloads wider than a word
//!
//! A `Box` or an `Arc` carries one by reference: the allocator's work for each item, and the lines of the payload travel apart from
//! the ring's. In a queue of [`in_place`] the payload is the slot's: the producer writes it and then sets the slot's flag, the
//! consumer sees the flag and then reads. Small items take a line for every few of them that way, and words are better off as words.
//!
//! # When an item can be seen
//!
//! At once: a push ends with the store that shows the item, and nothing is collected before that. So an item is there for the next
//! pop also if its producer stops right after it. A [`Slip`] that was asked for holds it back until others have come, but for less than
//! a microsecond if none do.
//!
//! # Invariants
//!
//! - **F1** Slots are filled in ring order by the producer, taken and emptied in ring order by the consumer; no one
//!   else writes them.
//! - **F2** The producer fills a slot only after it has seen it, or a later slot of the same line, empty in this
//!   round; the consumer takes a slot only after it has seen it filled.
//! - **F3** Taken slots that are not yet empty all lie in one line: the consumer's current one or, if it has taken nothing of
//!   that, the one before. There are none when the consumer is gone, nor when it notifies or drops an item while it goes.

mod entry;
mod ring;
mod slip;
mod word;

pub use entry::{AsWord, Entry, InPlace};
pub use slip::Slip;
pub use word::Word;

use crate::drops::Drops;
use crate::grant::{Read, Write};
use crate::held::Held;
use crate::left::Left;
use crate::share::Share;
use crate::wait::{Ordinary, Side, Wait, both};
use crate::{BuildError, TryPopError, TryPushError};
use alloc::vec::Vec;
use core::fmt;
#[cfg(not(loom))]
use core::mem::MaybeUninit;
use ring::{LINE, Ring};
use slip::Slipping;
#[cfg(not(loom))]
use thalweg_sync::hint::Access;
use thalweg_sync::{machine, spin};

/// Both ends of a queue.
pub type Ends<T, W = Ordinary, S = AsWord> = (Producer<T, W, S>, Consumer<T, W, S>);

/// A queue for at least `capacity` items of one word.
///
/// Memory: one word per item and two lines on top. `BuildError` if `capacity` is zero or beyond the address space.
pub fn fast_forward<T: Word + Send>(capacity: usize) -> Result<Ends<T>, BuildError> {
    with_wait(capacity, Ordinary::default())
}

/// As [`fast_forward()`], with ends that [wait](crate::wait) by `wait`.
///
/// ```
/// use thalweg_queue::{Park, spsc::fast_forward};
///
/// let (mut tx, mut rx) = fast_forward::with_wait(1024, Park::new())?;
/// let consumer = std::thread::spawn(move || rx.pop()); // sleeps until the push
/// tx.push(Box::new(7))?;
/// assert_eq!(consumer.join().unwrap(), Ok(Box::new(7)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn with_wait<T: Word + Send, W: Wait>(capacity: usize, wait: W) -> Result<Ends<T, W>, BuildError> {
    build(capacity, wait)
}

/// A queue for at least `capacity` items of any kind, which lie in its slots.
///
/// The producer writes an item and then says so in the slot; nothing is boxed. An item can be written and read where it is:
/// [`Producer::reserve`], [`Consumer::peek`].
///
/// Memory: the items with a byte each, aligned, and two groups of eight on top. `BuildError` if `capacity` is zero or beyond the
/// address space.
///
/// ```
/// use thalweg_queue::spsc::fast_forward;
///
/// let (mut tx, mut rx) = fast_forward::in_place::<[u8; 1500]>(64)?;
/// let mut packet = tx.reserve(1)?;
/// packet.uninit()[0].write([7; 1500]); // or by hand, piece by piece
/// // SAFETY: written above.
/// unsafe { packet.assume_written(1) };
/// packet.commit();
/// assert_eq!(rx.peek()?[0], 7);
/// assert_eq!(rx.pop()?[1499], 7);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn in_place<T: Send>(capacity: usize) -> Result<Ends<T, Ordinary, InPlace<T>>, BuildError> {
    build(capacity, Ordinary::default())
}

/// As [`in_place`], with ends that [wait](crate::wait) by `wait`.
///
/// ```
/// use thalweg_queue::{Park, spsc::fast_forward};
///
/// let (mut tx, mut rx) = fast_forward::in_place_with_wait(8, Park::new())?;
/// let consumer = std::thread::spawn(move || rx.pop()); // sleeps until the push
/// tx.push("hello")?;
/// assert_eq!(consumer.join().unwrap(), Ok("hello"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn in_place_with_wait<T: Send, W: Wait>(capacity: usize, wait: W) -> Result<Ends<T, W, InPlace<T>>, BuildError> {
    build(capacity, wait)
}

fn build<T: Send, W: Wait, S: Entry<T>>(capacity: usize, wait: W) -> Result<Ends<T, W, S>, BuildError> {
    let ring = Share::new(Ring::new(capacity, wait)?);
    let producer = Producer { ring: Held::new(ring.clone()), head: 0, free: 0 };
    let owns = machine::slow_upgrades().is_some();
    Ok((producer, Consumer { ring: Held::new(ring), tail: 0, cleared: true, owns, slip: None }))
}

/// The writing end. Dropping it closes the queue; the consumer drains what is left.
///
/// It moves between threads but cannot be cloned: "one producer" is checked by the compiler.
///
/// ```compile_fail,E0599
/// let (tx, _rx) = thalweg_queue::spsc::fast_forward::<Box<u64>>(64)?;
/// let second = tx.clone();
/// # Ok::<(), thalweg_queue::BuildError>(())
/// ```
///
/// Both ends agree on how long items live:
///
/// ```
/// static KEPT: String = String::new();
/// let (tx, mut rx) = thalweg_queue::spsc::fast_forward::fast_forward::<&'static String>(8)?;
/// {
///     let mut tx: thalweg_queue::spsc::fast_forward::Producer<&String> = tx;
///     tx.push(&KEPT).unwrap();
/// }
/// assert!(rx.pop().unwrap().is_empty());
/// # Ok::<(), thalweg_queue::BuildError>(())
/// ```
///
/// ```compile_fail,E0597
/// let (tx, mut rx) = thalweg_queue::spsc::fast_forward::<&'static String>(8)?;
/// {
///     let gone = String::new();
///     let mut tx: thalweg_queue::spsc::fast_forward::Producer<&String> = tx;
///     tx.push(&gone).unwrap();
/// }
/// assert!(rx.pop().unwrap().is_empty());
/// # Ok::<(), thalweg_queue::BuildError>(())
/// ```
// On lines of its own: every push writes here, and what lies beside it may be read by other threads.
#[repr(align(128))]
pub struct Producer<T, W: Wait = Ordinary, S: Entry<T> = AsWord> {
    ring: Held<Ring<T, W, S>>,
    /// The next slot to fill; behind the last one if that is the first. Of all this, a push writes only this word.
    head: usize,
    /// Where the slots end that are known to be empty: in or at the end of the line of those before it.
    free: usize,
}

/// What a batch has filled: noted and told of also if an item's own code panics, on its way into a slot.
struct Filled<'a, T, W: Wait, S: Entry<T>> {
    ring: &'a Ring<T, W, S>,
    head: &'a mut usize,
    count: usize,
}

impl<T, W: Wait, S: Entry<T>> Drop for Filled<'_, T, W, S> {
    fn drop(&mut self) {
        *self.head += self.count;
        self.ring.wait.notify(Side::Items, 1, || true);
    }
}

impl<T, W: Wait, S: Entry<T>> Producer<T, W, S> {
    /// Pushes, or says why not and gives the value back. Never `Busy`.
    #[inline]
    pub fn try_push(&mut self, value: T) -> Result<(), TryPushError<T>> {
        if self.ring.ends.consumer_gone() {
            return Err(TryPushError::Closed(value));
        }
        if self.free() == 0 {
            return Err(TryPushError::Full(value));
        }
        self.ring.slot(self.head).fill(value);
        self.head += 1;
        self.ring.wait.notify(Side::Items, 1, || true);
        Ok(())
    }

    /// Copies as many of `values` as there is room for, from the first on. Returns how many: at least one, unless there are none.
    ///
    /// ```
    /// let numbers = [1, 2, 3];
    /// let (mut tx, mut rx) = thalweg_queue::spsc::fast_forward::fast_forward(64)?;
    /// assert_eq!(tx.try_push_slice(&[&numbers[0], &numbers[1], &numbers[2]]), Ok(3));
    /// assert_eq!(rx.pop(), Ok(&1));
    /// # Ok::<(), thalweg_queue::BuildError>(())
    /// ```
    pub fn try_push_slice(&mut self, values: &[T]) -> Result<usize, TryPushError<()>>
    where
        T: Copy,
    {
        let mut left = values.iter();
        self.push_batch(values.len(), || left.next().copied())
    }

    /// Moves as many of `values` as there is room for into the queue, from the first on. Returns how many: at least one, unless
    /// there are none.
    pub fn try_push_many(&mut self, values: &mut Vec<T>) -> Result<usize, TryPushError<()>> {
        let mut left = Left::new(values);
        self.push_batch(left.rest.len(), || left.rest.next())
    }

    /// Pushes up to `count` values, of which `next` gives as many: a line at a time.
    #[inline]
    fn push_batch(&mut self, count: usize, mut next: impl FnMut() -> Option<T>) -> Result<usize, TryPushError<()>> {
        if count == 0 {
            return Ok(0);
        }
        if self.ring.ends.consumer_gone() {
            return Err(TryPushError::Closed(()));
        }
        let mut pushed = 0;
        while pushed < count {
            let now = self.free().min(count - pushed);
            if now == 0 {
                break;
            }
            let first = self.head;
            let mut filled = Filled { ring: &self.ring, head: &mut self.head, count: 0 };
            while filled.count < now
                && let Some(value) = next()
            {
                filled.ring.slot(first + filled.count).fill(value);
                filled.count += 1;
            }
            *filled.head = first + filled.count;
            pushed += filled.count;
            let is_whole = filled.count == now;
            core::mem::forget(filled);
            if !is_whole {
                break;
            }
        }
        if pushed == 0 {
            return Err(TryPushError::Full(()));
        }
        self.ring.wait.notify(Side::Items, pushed, || true);
        Ok(pushed)
    }

    fn may_push(&self) -> bool {
        self.ring.slot(self.ring.wrapped(self.head)).is_empty() || self.ring.ends.consumer_gone()
    }

    fn strategy(&self) -> &W {
        &self.ring.wait
    }

    /// How many slots from `head` on can be filled: those that are known to be empty, else the rest of the line, one, or none.
    #[inline(always)]
    fn free(&mut self) -> usize {
        if self.head == self.free {
            self.head = self.ring.wrapped(self.head);
            self.ring.ask_ahead(self.head);
            let rest = LINE - self.head % LINE;
            let free = if self.ring.slot(self.head + rest - 1).is_empty() {
                rest
            } else {
                usize::from(self.ring.slot(self.head).is_empty())
            };
            self.free = self.head + free;
        }
        self.free - self.head
    }

    /// How many items are pushed and not popped, at most: those that the consumer took and whose line it has not emptied yet count. Looks at
    /// as many slots as are empty: for a report, not for each push.
    pub fn len(&self) -> usize {
        let (ring, slots) = (&*self.ring, self.ring.slots());
        slots - (0..slots).take_while(|n| ring.slot((self.head + n) % slots).is_empty()).count()
    }

    /// Whether there is nothing that the consumer has to pop, for certain: see [`len`](Self::len).
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many items fit for certain.
    pub fn capacity(&self) -> usize {
        self.ring.capacity
    }

    /// Whether the consumer is gone. Then it stays so, and every push is refused.
    pub fn is_closed(&self) -> bool {
        self.ring.ends.consumer_gone()
    }
}

impl<T, W: Wait, S: Entry<T>> Drop for Producer<T, W, S> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: the only call, and the last of all.
        leave_producer(unsafe { self.ring.take() });
    }
}

/// Says that the producer is gone. By value: see [`Held`].
#[cold]
#[inline(never)]
fn leave_producer<T, W: Wait, S: Entry<T>>(ring: Share<Ring<T, W, S>>) {
    ring.ends.leave_producer();
    ring.wait.notify_all();
}

impl<T, W: Wait, S: Entry<T>> fmt::Debug for Producer<T, W, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Producer").field("capacity", &self.capacity()).field("closed", &self.is_closed()).finish()
    }
}

/// The reading end. Dropping it closes the queue: pushes fail from then on, and what is in the queue is dropped.
///
/// Like the producer it moves between threads but cannot be cloned.
// On lines of its own, as the producer.
#[repr(align(128))]
pub struct Consumer<T, W: Wait = Ordinary, S: Entry<T> = AsWord> {
    ring: Held<Ring<T, W, S>>,
    /// The next slot to take.
    tail: usize,
    /// Whether the line before `tail`'s is emptied. Looked at where `tail` begins a line.
    cleared: bool,
    /// Whether a line is asked for as one that will be written, before its items are read: where a core is slow to write what it
    /// has read.
    owns: bool,
    slip: Option<Slipping>,
}

impl<T, W: Wait, S: Entry<T>> Consumer<T, W, S> {
    /// Keeps a distance to the producer from now on. Off unless asked for.
    ///
    /// [`Slip`] says what it costs and when it helps, and what its numbers mean beyond their limits.
    #[must_use]
    pub fn with_slip(mut self, slip: Slip) -> Self {
        self.slip = Some(Slipping::new(slip, self.ring.capacity));
        self
    }

    /// Pops the oldest item, or says why not. Never `Busy`.
    #[inline]
    pub fn try_pop(&mut self) -> Result<T, TryPopError> {
        self.keep_distance();
        match self.take() {
            Some(item) => Ok(item),
            None => self.idle(),
        }
    }

    /// Pops what is there, up to `limit` items, onto the end of `into`. Returns how many: at least one, unless `limit` is zero.
    pub fn try_pop_many(&mut self, into: &mut Vec<T>, limit: usize) -> Result<usize, TryPopError> {
        self.pop_batch(limit, |_, item| into.push(item))
    }

    /// Moves what is there into `into`, from the first place on, dropping what was in those places. Returns how many: at least
    /// one, unless `into` is empty.
    pub fn try_pop_slice(&mut self, into: &mut [T]) -> Result<usize, TryPopError> {
        self.pop_batch(into.len(), |at, item| into[at] = item)
    }

    /// Hands up to `limit` items to `take`, each with its number.
    #[inline]
    fn pop_batch(&mut self, limit: usize, mut take: impl FnMut(usize, T)) -> Result<usize, TryPopError> {
        if limit == 0 {
            return Ok(0);
        }
        take(0, self.try_pop()?);
        let mut popped = 1;
        while popped < limit
            && let Some(item) = self.take()
        {
            take(popped, item);
            popped += 1;
        }
        Ok(popped)
    }

    fn may_pop(&self) -> bool {
        self.ring.slot(self.tail).is_filled() || self.ring.ends.producer_gone()
    }

    fn strategy(&self) -> &W {
        &self.ring.wait
    }

    /// The item at the tail.
    #[inline]
    fn take(&mut self) -> Option<T> {
        self.clear();
        // SAFETY: `&mut` of the only consumer; `tail` was emptied after it was taken last, one round ago (F3).
        let raw = unsafe { self.ring.slot(self.tail).take() }?;
        self.advance();
        // SAFETY: taken above.
        Some(unsafe { S::item(raw) })
    }

    /// Goes on to the next slot.
    #[inline(always)]
    fn advance(&mut self) {
        self.tail += 1;
        if self.tail.is_multiple_of(LINE) {
            self.tail = self.ring.wrapped(self.tail);
            self.cleared = false;
            if self.owns {
                self.ring.ask_for(self.tail / LINE);
            }
        }
    }

    /// Empties the line before `tail`'s, if that is not done.
    ///
    /// Not with the last item of that line: whoever is going to answer that would have to wait until the line is its own.
    /// With the next look, it is a look that may find nothing, or the next item of many.
    #[inline(always)]
    fn clear(&mut self) {
        if self.tail.is_multiple_of(LINE) && !self.cleared {
            self.ring.clear_line_before(self.tail);
            self.cleared = true;
            self.ring.wait.notify(Side::Room, LINE, || true);
        }
    }

    /// There was nothing at the tail.
    #[inline]
    fn idle(&mut self) -> Result<T, TryPopError> {
        self.nothing()?;
        self.take().ok_or(TryPopError::Closed)
    }

    /// There was nothing at the tail: an error if that says it all. If not, the producer has left, and may have pushed after our
    /// look and before that.
    #[inline]
    fn nothing(&mut self) -> Result<(), TryPopError> {
        self.slip = self.slip.map(Slipping::looking_soon);
        if self.ring.ends.producer_gone() { Ok(()) } else { Err(TryPopError::Empty) }
    }

    /// Keeps the distance that was asked for.
    #[inline(always)]
    fn keep_distance(&mut self) {
        if let Some(slip) = self.slip
            && self.ring.slot(self.tail).is_filled()
        {
            let (ring, tail) = (&*self.ring, self.tail);
            let filled = |n| ring.slot((tail + n) % ring.slots()).is_filled();
            self.slip = Some(slip.adjusted(filled, || spin::pause(1)));
        }
    }

    /// How many items are pushed and not popped: at least so many, as pushes go on. Looks at as many slots: for a report, not for
    /// each pop.
    pub fn len(&self) -> usize {
        let slots = self.ring.slots();
        // A whole round of filled slots ends where the taken ones begin that are not emptied yet.
        let taken = match self.tail % LINE {
            0 if self.cleared => 0,
            0 => LINE,
            taken => taken,
        };
        (0..slots - taken).take_while(|n| self.ring.slot((self.tail + n) % slots).is_filled()).count()
    }

    /// Whether there is nothing to pop now. "No" stays true until the next pop; "yes" may be outdated at once.
    pub fn is_empty(&self) -> bool {
        !self.ring.slot(self.tail).is_filled()
    }

    /// How many items fit for certain.
    pub fn capacity(&self) -> usize {
        self.ring.capacity
    }

    /// Whether the producer is gone. Then it stays so; items may still be left.
    pub fn is_closed(&self) -> bool {
        self.ring.ends.producer_gone()
    }
}

impl<T, W: Wait, S: Entry<T>> Drop for Consumer<T, W, S> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: the only call, and the last of all.
        leave_consumer(unsafe { self.ring.take() }, self.tail, self.cleared);
    }
}

/// Says that the consumer is gone, which would have taken `tail` next, and drops what is left.
///
/// By value: see [`Held`].
#[cold]
#[inline(never)]
fn leave_consumer<T, W: Wait, S: Entry<T>>(ring: Share<Ring<T, W, S>>, mut tail: usize, cleared: bool) {
    ring.ends.leave_consumer();
    // What is taken before a waker runs, and each slot before its item's own code: either may panic, and the ring drops what it finds
    // (F3).
    if !tail.is_multiple_of(LINE) {
        (tail - tail % LINE..tail).for_each(|slot| ring.slot(slot).clear());
    } else if !cleared {
        ring.clear_line_before(tail);
    }
    let items = || {
        let mut drops = Drops::default();
        // SAFETY: for the only consumer; what it had taken is emptied.
        while unsafe { ring.slot(tail).discard(&mut drops) } {
            tail = ring.wrapped(tail + 1);
        }
    };
    both(|| ring.wait.notify_all(), items);
}

impl<T, W: Wait, S: Entry<T>> fmt::Debug for Consumer<T, W, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer").field("capacity", &self.capacity()).field("closed", &self.is_closed()).finish()
    }
}

crate::ends::ended! {
    [T, W: Wait, S: Entry<T>] Producer<T, W, S>;
    [T, W: Wait, S: Entry<T>] Consumer<T, W, S>;
    |end| end.ring.ends, end.ring.wait
}
crate::wait::producer!(exclusive batches (Producer [T] [S] T [T, S: Entry<T>]));
crate::wait::consumer!(exclusive batches (Consumer [T] [S] T [T, S: Entry<T>]));
// One item at a time: what lies in a slot is not next to what lies in another.
crate::wait::producer!(grants (Producer [T] [InPlace<T>] T [T]));
crate::wait::consumer!(grants (Consumer [T] [InPlace<T>] T [T]));

#[cfg(not(loom))]
impl<T, W: Wait> Producer<T, W, InPlace<T>> {
    /// Gives one entry to be written in place, whatever `count` says: no two lie next to each other.
    pub fn reserve(&mut self, count: usize) -> Result<crate::grant::WriteGrant<&mut Self>, TryPushError<()>> {
        crate::grant::WriteGrant::new(self, count)
    }
}

#[cfg(not(loom))]
impl<T, W: Wait> Consumer<T, W, InPlace<T>> {
    /// Gives one item to be read in place, whatever `count` says: no two lie next to each other.
    pub fn readable(&mut self, count: usize) -> Result<crate::grant::ReadGrant<'_, Self>, TryPopError> {
        crate::grant::ReadGrant::new(self, count)
    }

    /// The oldest item, left where it is.
    pub fn peek(&mut self) -> Result<&T, TryPopError> {
        crate::grant::peek(self)
    }

    /// As [`peek`](Self::peek), by a shared reference. It keeps no distance and empties no line behind it, so `peek` or a pop has to come too,
    /// where the producer waits for room.
    ///
    /// ```
    /// use thalweg_queue::spsc::fast_forward;
    ///
    /// let (mut tx, mut rx) = fast_forward::in_place(8)?;
    /// tx.push("a letter")?;
    /// let (one, other) = (&rx, &rx);
    /// assert_eq!((one.front()?, other.front()?), (&"a letter", &"a letter"));
    /// assert_eq!(rx.pop(), Ok("a letter"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn front(&self) -> Result<&T, TryPopError>
    where
        T: Sync,
    {
        // First: what was pushed before the end is seen by the look that follows.
        let closed = self.is_closed();
        if !self.ring.slot(self.tail).see() {
            return Err(if closed { TryPopError::Closed } else { TryPopError::Empty });
        }
        // SAFETY: the slot at the tail, seen filled, is the consumer's until it is emptied (F2), which needs the end for itself.
        Ok(unsafe { &*self.items(1, Access::Read) })
    }
}

// SAFETY: the slot at the head, seen empty, is the producer's until it is published (F2).
unsafe impl<T, W: Wait> Write for Producer<T, W, InPlace<T>> {
    type Item = T;

    fn room(&mut self, _count: usize) -> Result<usize, TryPushError<()>> {
        if self.ring.ends.consumer_gone() {
            return Err(TryPushError::Closed(()));
        }
        if self.free() == 0 { Err(TryPushError::Full(())) } else { Ok(1) }
    }

    unsafe fn write(&mut self, _offset: usize, value: T) {
        // SAFETY: by the caller's promise the slot is ours.
        unsafe { self.ring.slot(self.head).write(value) };
    }

    #[cfg(not(loom))]
    unsafe fn entries(&self, _count: usize) -> *mut MaybeUninit<T> {
        self.ring.slot(self.head).memory(Access::Write)
    }

    unsafe fn commit(&mut self, _count: usize) {
        self.ring.slot(self.head).publish();
        self.head += 1;
        self.ring.wait.notify(Side::Items, 1, || true);
    }
}

// SAFETY: the slot at the tail, seen filled, is the consumer's until it is cleared (F2).
unsafe impl<T, W: Wait> Read for Consumer<T, W, InPlace<T>> {
    type Item = T;

    fn ready(&mut self, _count: usize) -> Result<usize, TryPopError> {
        self.keep_distance();
        self.clear();
        if self.ring.slot(self.tail).see() {
            return Ok(1);
        }
        self.nothing()?;
        if self.ring.slot(self.tail).see() { Ok(1) } else { Err(TryPopError::Closed) }
    }

    unsafe fn read(&mut self, _offset: usize) -> T {
        // SAFETY: by the caller's promise the slot is ours, and read once.
        unsafe { self.ring.slot(self.tail).read() }
    }

    #[cfg(not(loom))]
    unsafe fn items(&self, _count: usize, access: Access) -> *mut T {
        self.ring.slot(self.tail).memory(access).cast()
    }

    unsafe fn release(&mut self, _count: usize) {
        self.advance();
    }
}
