//! The two handles. Each keeps a capsule of its own between calls.

use super::DefaultTube;
use super::capsule::{Capsule, Publish};
use super::shared::{Held, Open, Shared};
use super::word::Number;
use crate::drops::Drops;
use crate::edges::edge;
use crate::research::tube::{AllocateError, ReserveError, Tube};
use crate::slip::Slip;
use crate::wait::{Ordinary, Wait, both};
use crate::{TryPopError, TryPushError};
use core::fmt;
use thalweg_sync::atomic::Ordering::{AcqRel, Release};
use thalweg_sync::sync::Arc;

/// A look into a capsule that finds fewer entries than this came too soon.
const FEW: u32 = 32;

/// What a pop says if the tube refuses.
fn why(refusal: ReserveError) -> TryPopError {
    match refusal {
        ReserveError::Empty => TryPopError::Empty,
        ReserveError::Busy => TryPopError::Busy,
    }
}

/// A writing end, with the capsule that it fills. Clones write to the same queue; dropping the last one closes it, and
/// consumers drain what is left.
///
/// A handle that is leaked (`mem::forget`) counts as alive for ever.
pub struct Producer<T, W: Wait = Ordinary, Q: Tube<Item = u32> = DefaultTube> {
    shared: Arc<Shared<T, W, Q>>,
    open: Option<Open<T>>,
    /// Whether the last push that wanted a capsule got none.
    refused: bool,
}

impl<T, W: Wait, Q: Tube<Item = u32>> Producer<T, W, Q> {
    pub(super) fn new(shared: Arc<Shared<T, W, Q>>) -> Self {
        Self { shared, open: None, refused: false }
    }

    /// Pushes, or says why not and gives the value back. `Full` and `Busy` as in the table of the [module](super);
    /// `Closed`: every consumer is gone. A push while the last one leaves may still succeed; its item is dropped with the
    /// queue.
    #[inline]
    pub fn try_push(&mut self, value: T) -> Result<(), TryPushError<T>> {
        let result = self.put(value);
        if result.is_ok() {
            self.shared.ring_consumers();
        }
        result
    }

    /// Pushes, and notifies nobody.
    #[inline(always)]
    fn put(&mut self, value: T) -> Result<(), TryPushError<T>> {
        if self.shared.consumers_gone() {
            return Err(TryPushError::Closed(value));
        }
        if let Some(open) = &mut self.open {
            // SAFETY: `shared` keeps the queue alive.
            let capsule = unsafe { open.place.capsule() };
            // SAFETY: we are the capsule's producer (C1) and have published `filled` entries, fewer than there are.
            unsafe { capsule.write(open.filled, value) };
            match capsule.publish(open.number, open.filled) {
                Publish::Open => {
                    open.filled += 1;
                    if open.filled == open.entries {
                        self.leave();
                    }
                    return Ok(());
                }
                Publish::Last => {
                    self.leave();
                    return Ok(());
                }
                Publish::Refused => {
                    // SAFETY: written above, and refused.
                    let value = unsafe { capsule.take_back(open.filled) };
                    return self.begin_after(value);
                }
            }
        }
        self.begin(value)
    }

    /// Leaves the capsule, which is closed, and begins another with `value`: also if a waker panics that is rung for the first.
    #[cold]
    fn begin_after(&mut self, value: T) -> Result<(), TryPushError<T>> {
        let left = self.open.take();
        let Self { shared, open, refused } = self;
        let mut result = Ok(());
        let leave = || left.into_iter().for_each(|left| shared.leave(left.place.index));
        both(leave, || result = Self::begin_in(shared, open, refused, value));
        result
    }

    /// Begins a capsule with `value`.
    #[cold]
    fn begin(&mut self, value: T) -> Result<(), TryPushError<T>> {
        Self::begin_in(&self.shared, &mut self.open, &mut self.refused, value)
    }

    /// Begins a capsule with `value`, for a producer of these parts.
    fn begin_in(
        shared: &Shared<T, W, Q>,
        open: &mut Option<Open<T>>,
        refused: &mut bool,
        value: T,
    ) -> Result<(), TryPushError<T>> {
        let result = shared.begin(value, *refused);
        *refused = result.is_err();
        match result {
            Ok(begun) => {
                let (is_full, capsule) = (begun.filled == begun.entries, begun.place.index);
                *open = (!is_full).then_some(begun);
                let leave = || {
                    if is_full {
                        shared.leave(capsule);
                    }
                };
                // Consumers too: a waker that panics here keeps `try_push` from it.
                both(|| shared.begun(), || both(leave, || shared.ring_consumers()));
                Ok(())
            }
            Err((AllocateError::Full, value)) => Err(TryPushError::Full(value)),
            Err((AllocateError::Busy, value)) => Err(TryPushError::Busy(value)),
        }
    }

    /// Leaves the capsule, which is full or closed.
    #[cold]
    fn leave(&mut self) {
        if let Some(open) = self.open.take() {
            self.shared.leave(open.place.index);
        }
    }

    fn may_push(&self) -> bool {
        // When it waits the handle has no capsule, so waiting keeps nothing from anybody.
        self.open.is_some() || self.shared.can_begin().is_ok() || self.shared.consumers_gone()
    }

    fn strategy(&self) -> &W {
        &self.shared.wait
    }

    /// Gives up the capsule that this handle fills. To be called before a pause: see the [module](super).
    ///
    /// Items are visible without it. The next push begins another capsule, so this takes room of up to a capsule.
    ///
    /// ```
    /// let (mut tx, mut rx) = thalweg_queue::research::cnq::cnq(64, 16)?;
    /// tx.push(1)?;
    /// tx.flush(); // and now for something else
    /// assert_eq!(rx.pop()?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn flush(&mut self) {
        if let Some(open) = self.open.take() {
            self.shared.give_up(open);
        }
    }

    /// How many items wait, lately. Exact when nobody else uses the queue. Looks at every capsule in use.
    pub fn len(&self) -> usize {
        // The capsules are looked at one after the other, while others push and pop.
        self.shared.waiting().map(|count| count as usize).sum::<usize>().min(self.capacity())
    }

    /// Whether `len` is zero.
    pub fn is_empty(&self) -> bool {
        self.shared.is_drained()
    }

    /// How many entries the capsules have. Fewer items may fill the queue; the [module](super#capacity) says how many are certain
    /// to fit.
    pub fn capacity(&self) -> usize {
        self.shared.capacity()
    }

    /// The k of the k-FIFO promise.
    pub fn k(&self) -> usize {
        self.shared.k
    }

    /// Whether every consumer is gone. Then it stays so, and every push is refused.
    pub fn is_closed(&self) -> bool {
        self.shared.consumers_gone()
    }
}

impl<T, W: Wait, Q: Tube<Item = u32>> Clone for Producer<T, W, Q> {
    fn clone(&self) -> Self {
        self.shared.handles.producers.add();
        Self::new(self.shared.clone())
    }
}

impl<T, W: Wait, Q: Tube<Item = u32>> Drop for Producer<T, W, Q> {
    fn drop(&mut self) {
        let open = self.open.take();
        let flush = || {
            if let Some(open) = open {
                self.shared.give_up(open);
            }
        };
        let leave = || {
            // (cnq.17) Release, pairs with (cnq.16): what was pushed comes before the count.
            if self.shared.handles.producers.leave(edge("cnq.17", Release)) {
                self.shared.wait.notify_all();
            }
        };
        both(flush, leave);
    }
}

impl<T, W: Wait, Q: Tube<Item = u32>> fmt::Debug for Producer<T, W, Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Producer").field("len", &self.len()).field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}

/// A reading end, with the capsule that it empties. Clones read from the same queue; when the last one is dropped,
/// pushes fail from then on and what is in the queue is dropped.
///
/// A handle that is leaked (`mem::forget`) counts as alive for ever, and what is left in its capsule stays there.
///
/// A consumer that waits in `pop` takes from its own capsule first and holds nothing back while it sleeps. One that is *idle*, as it is not
/// popping, keeps what is left of its capsule from all others until [`flush`](Self::flush), the next pop or its drop: nobody else may look
/// into a capsule that has a consumer.
pub struct Consumer<T, W: Wait = Ordinary, Q: Tube<Item = u32> = DefaultTube> {
    shared: Arc<Shared<T, W, Q>>,
    held: Option<Held<T>>,
    /// The oldest unfinished number, lately: what is in the window of this one is in the window.
    oldest: Number,
    /// How long to wait before a look into our capsule, if the last looks found few entries.
    slip: Slip<1>,
    /// Whether the last search found nothing.
    refused: bool,
}

impl<T, W: Wait, Q: Tube<Item = u32>> Consumer<T, W, Q> {
    pub(super) fn new(shared: Arc<Shared<T, W, Q>>) -> Self {
        let oldest = shared.numbers.oldest();
        Self { shared, held: None, oldest, slip: Slip::default(), refused: false }
    }

    /// Pops one of the k oldest items, or says why not. `Empty`, `Busy` and `Closed` as in the table of the
    /// [module](super).
    #[inline]
    pub fn try_pop(&mut self) -> Result<T, TryPopError> {
        match self.take() {
            Some(value) => Ok(value),
            None => {
                // Refused before, most likely refused again: then a look says so for less than a search, and draws nothing in vain.
                if self.refused {
                    self.nothing()?;
                }
                self.search_to_the_end()
            }
        }
    }

    /// Takes an entry that was seen.
    #[inline(always)]
    fn take(&mut self) -> Option<T> {
        // SAFETY: passed on to `take_by`.
        self.take_by(&mut |capsule, number, index| unsafe { capsule.read(number, index) })
    }

    /// Has `read` read or drop an entry that was seen, which is its to take.
    #[inline(always)]
    fn take_by<R>(&mut self, read: &mut impl FnMut(&Capsule<T>, Number, u32) -> R) -> Option<R> {
        let held = self.held.as_mut().filter(|held| held.taken < held.seen)?;
        // SAFETY: `shared` keeps the queue alive.
        let capsule = unsafe { held.place.capsule() };
        // We are the capsule's consumer (C1) and have taken `taken` entries. We saw more, in the window (C6).
        let value = read(capsule, held.number, held.taken);
        held.taken += 1;
        if held.taken == held.seen {
            if held.last {
                self.finish();
            } else {
                // Others may wait for this capsule to be empty: for the window to move, or for the end.
                self.shared.ring_consumers();
            }
        }
        Some(value)
    }

    /// Leaves the capsule, which is over.
    #[cold]
    fn finish(&mut self) {
        if let Some(held) = self.held.take() {
            self.oldest = self.shared.finish(held);
        }
    }

    /// Finds the next entry, or whether it was the last.
    #[cold]
    fn search_to_the_end(&mut self) -> Result<T, TryPopError> {
        if !self.shared.producers_gone() {
            return self.search();
        }
        // All that was pushed is visible now.
        match self.search() {
            Err(_) if self.shared.is_drained() => Err(TryPopError::Closed),
            // Other consumers hold what is left.
            Err(_) => Err(TryPopError::Busy),
            found => found,
        }
    }

    /// Why a search would find nothing, if it would come as far as the tube.
    #[cold]
    #[inline(never)]
    fn nothing(&self) -> Result<(), TryPopError> {
        if self.shared.producers_gone() {
            return Ok(());
        }
        if let Some(held) = &self.held {
            // SAFETY: `shared` keeps the queue alive.
            let capsule = unsafe { held.place.capsule() };
            if !capsule.is_idle(held.number, held.taken) {
                return Ok(());
            }
            // Most often ours is the only capsule that is not finished. Of those before it we know; whether one comes after it is asked
            // after the look at ours, so when that was empty the queue was.
            if self.oldest == held.number && self.shared.numbers.is_last(held.number) {
                return Err(TryPopError::Empty);
            }
        }
        self.shared.can_draw().map_err(why)
    }

    /// Finds the next entry: in our capsule, in a fragment, in the tube.
    fn search(&mut self) -> Result<T, TryPopError> {
        // SAFETY: passed on to `take_by`.
        self.search_by(&mut |capsule, number, index| unsafe { capsule.read(number, index) })
    }

    /// As [`search`](Self::search), taking what is found as [`take_by`](Self::take_by) does.
    fn search_by<R>(&mut self, read: &mut impl FnMut(&Capsule<T>, Number, u32) -> R) -> Result<R, TryPopError> {
        loop {
            let mut blocked = false;
            if let Some(held) = &mut self.held {
                let capsule = &self.shared.capsules[held.place.index];
                self.slip = self.slip.wait(|| capsule.filling());
                let sight = capsule.look(held.number);
                if held.taken < sight.filled {
                    let found = sight.filled - held.taken;
                    self.slip = self.slip.found(found as usize, !sight.last && found < FEW);
                    capsule.ask_to_read(held.taken..sight.filled);
                } else {
                    self.slip = self.slip.found_none();
                }
                if held.taken == sight.filled {
                    if sight.last {
                        self.finish();
                        continue;
                    }
                } else if self.shared.numbers.has_come(held.number, &mut self.oldest) {
                    (held.seen, held.last) = (sight.filled, sight.last);
                    if let Some(value) = self.take_by(read) {
                        self.refused = false;
                        return Ok(value);
                    }
                } else {
                    blocked = true;
                }
            }
            match self.shared.adopt(None) {
                Ok(fragment) => {
                    self.exchange(fragment);
                    continue;
                }
                // What waits in a fragment that nobody may adopt is held up as well.
                Err(held_up) => blocked |= held_up,
            }
            if blocked && self.shared.unblock() {
                continue;
            }
            let drawn = self.shared.draw();
            self.refused = drawn.is_err();
            match drawn {
                Ok(capsule) => {
                    let number = capsule.number;
                    let before = self.held.replace(capsule);
                    let give_back = || {
                        if let Some(held) = before {
                            self.shared.give_back(held);
                        }
                    };
                    both(|| self.shared.drawn(), give_back);
                    // What its producer pushed before it began this capsule is visible now, and goes first: one consumer
                    // gets each producer's items in order.
                    if let Ok(older) = self.shared.adopt(Some(number)) {
                        self.exchange(older);
                    }
                }
                Err(_) if blocked => return Err(TryPopError::Busy),
                Err(refusal) => return Err(why(refusal)),
            }
        }
    }

    /// Goes on with `next`, and gives the capsule that we have back.
    fn exchange(&mut self, next: Held<T>) {
        if let Some(held) = self.held.replace(next) {
            self.shared.give_back(held);
        }
    }

    fn may_pop(&self) -> bool {
        self.held.as_ref().is_some_and(|held| held.taken < held.seen)
            || self.shared.can_pop(self.held.as_ref())
            || self.shared.producers_gone() && self.shared.is_drained()
    }

    fn strategy(&self) -> &W {
        &self.shared.wait
    }

    /// Gives up the capsule that this handle empties, so that others can take what is left in it. To be called before a
    /// pause: see the [module](super).
    ///
    /// ```
    /// let (mut tx, mut rx) = thalweg_queue::research::cnq::cnq(64, 64)?;
    /// tx.push(1)?;
    /// tx.push(2)?;
    /// assert_eq!(rx.pop()?, 1);
    /// let mut other = rx.clone();
    /// assert!(other.try_pop().is_err());
    /// rx.flush();
    /// assert_eq!(other.pop()?, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn flush(&mut self) {
        if let Some(held) = self.held.take() {
            self.shared.give_back(held);
        }
    }

    /// How many items wait, lately. Exact when nobody else uses the queue. Looks at every capsule in use.
    pub fn len(&self) -> usize {
        // The capsules are looked at one after the other, while others push and pop.
        self.shared.waiting().map(|count| count as usize).sum::<usize>().min(self.capacity())
    }

    /// Whether `len` is zero.
    pub fn is_empty(&self) -> bool {
        self.shared.is_drained()
    }

    /// How many entries the capsules have; see [`Producer::capacity`].
    pub fn capacity(&self) -> usize {
        self.shared.capacity()
    }

    /// The k of the k-FIFO promise.
    pub fn k(&self) -> usize {
        self.shared.k
    }

    /// Whether every producer is gone. Then it stays so; items may still be left.
    pub fn is_closed(&self) -> bool {
        self.shared.producers_gone()
    }
}

impl<T, W: Wait, Q: Tube<Item = u32>> Clone for Consumer<T, W, Q> {
    fn clone(&self) -> Self {
        self.shared.handles.consumers.add();
        Self::new(self.shared.clone())
    }
}

impl<T, W: Wait, Q: Tube<Item = u32>> Drop for Consumer<T, W, Q> {
    fn drop(&mut self) {
        let held = self.held.take();
        let mut last = false;
        let flush = || {
            if let Some(held) = held {
                self.shared.give_back(held);
            }
        };
        let leave = || {
            // (cnq.25) AcqRel, pairs with itself: the consumer that leaves last comes after the others, so it finds what they have given
            // back or pushed. Acquire or Release alone would leave that for as long as there are producers. What is left after its
            // last look is dropped by `Shared`.
            last = self.shared.handles.consumers.leave(edge("cnq.25", AcqRel));
            if last {
                self.shared.wait.notify_all();
            }
        };
        both(flush, leave);
        if last {
            let mut drops = Drops::default();
            // SAFETY: passed on to `take_by`.
            let mut discard =
                |capsule: &Capsule<T>, number, index| unsafe { capsule.discard(number, index, &mut drops) };
            while self.search_by(&mut discard).is_ok() {
                while self.take_by(&mut discard).is_some() {}
            }
            self.flush();
        }
    }
}

impl<T, W: Wait, Q: Tube<Item = u32>> fmt::Debug for Consumer<T, W, Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer").field("len", &self.len()).field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}

crate::handles::counted! {
    [T, W: Wait, Q: Tube<Item = u32>] Producer<T, W, Q>;
    [T, W: Wait, Q: Tube<Item = u32>] Consumer<T, W, Q>;
    |end| end.shared.handles, end.shared.wait
}
crate::wait::producer!(exclusive (Producer [T] [Q] T [T, Q: Tube<Item = u32>]));
crate::wait::consumer!(exclusive (Consumer [T] [Q] T [T, Q: Tube<Item = u32>]));
