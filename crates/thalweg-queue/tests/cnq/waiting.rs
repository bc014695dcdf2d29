//! Producers that sleep, over a tube that is `Busy` when the test says so.

use crate::hts;
use std::pin::Pin;
use std::sync::Arc; // what a waker is made of
use std::task::{Context, Poll, Wake, Waker};
use thalweg_queue::research::tube::ring::Hts;
use thalweg_queue::research::tube::{AllocateError, ReserveError, Tube};
use thalweg_queue::{Park, PushError, TryPushError, research::cnq};
use thalweg_sync::atomic::{AtomicBool, Ordering::Relaxed};
use thalweg_sync::sync::Mutex;

/// A waker that notes that it was woken.
#[derive(Default)]
struct Note(AtomicBool);

impl Wake for Note {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Relaxed);
    }
}

type Pushing = Pin<Box<dyn Future<Output = Result<(), PushError<u32>>> + Send>>;

/// A push in another task, which is polled where a test wants it to be.
struct Other {
    pushing: Pushing,
    note: Arc<Note>,
}

impl Other {
    fn poll(&mut self) -> Poll<Result<(), PushError<u32>>> {
        self.pushing.as_mut().poll(&mut Context::from_waker(&Waker::from(self.note.clone())))
    }
}

/// A tube that refuses one entry as `Busy`: another operation was half-way then, and has ended when it says so. Meanwhile the
/// other task is polled.
struct OnceBusy {
    tube: Hts<u32>,
    other: Arc<Mutex<Option<Other>>>,
    is_due: Arc<AtomicBool>,
}

impl std::fmt::Debug for OnceBusy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(&self.tube, f)
    }
}

// SAFETY: it is the tube inside, which keeps the promise, but for one refusal.
unsafe impl Tube for OnceBusy {
    type Item = u32;
    type Allocated = <Hts<u32> as Tube>::Allocated;
    type Reserved = <Hts<u32> as Tube>::Reserved;

    fn allocate(&self) -> Result<Self::Allocated, AllocateError> {
        if self.is_due.swap(false, Relaxed) {
            assert!(self.other.lock().unwrap().as_mut().unwrap().poll().is_pending(), "there is no free capsule");
            return Err(AllocateError::Busy);
        }
        self.tube.allocate()
    }

    unsafe fn produce(&self, entry: Self::Allocated, item: u32) {
        // SAFETY: the caller's promise.
        unsafe { self.tube.produce(entry, item) };
    }

    fn reserve(&self) -> Result<Self::Reserved, ReserveError> {
        self.tube.reserve()
    }

    unsafe fn consume(&self, entry: Self::Reserved) -> u32 {
        // SAFETY: the caller's promise.
        unsafe { self.tube.consume(entry) }
    }

    fn can_allocate(&self) -> Result<(), AllocateError> {
        self.tube.can_allocate()
    }

    fn can_reserve(&self) -> Result<(), ReserveError> {
        self.tube.can_reserve()
    }

    fn capacity(&self) -> usize {
        self.tube.capacity()
    }

    fn len(&self) -> usize {
        self.tube.len()
    }
}

/// A push takes the last free capsule, the spare one, finds the tube `Busy`, and puts it back: who found none meanwhile is told.
#[test]
fn a_capsule_that_is_put_back_is_room() {
    let (other, is_due) = (Arc::new(Mutex::new(None)), Arc::new(AtomicBool::new(false)));
    let tube = OnceBusy { tube: hts(3), other: other.clone(), is_due: is_due.clone() };
    let (mut tx, mut rx) = cnq::with_wait(tube, 2, 1, 2, Park::new()).unwrap();
    (0..2).for_each(|number| tx.try_push(number).unwrap());
    let note = Arc::new(Note::default());
    let mut late = tx.clone();
    let pushing = Box::pin(async move { late.push_async(2).await });
    *other.lock().unwrap() = Some(Other { pushing, note: note.clone() });
    is_due.store(true, Relaxed);
    assert_eq!(tx.try_push(3), Err(TryPushError::Busy(3)));
    assert!(note.0.load(Relaxed), "the other one sleeps beside a free capsule");
    // Taken out, since it has the queue in it, which has it in turn.
    let mut woken = other.lock().unwrap().take().unwrap();
    assert_eq!(woken.poll(), Poll::Ready(Ok(())));
    assert_eq!([rx.try_pop(), rx.try_pop(), rx.try_pop()], [Ok(0), Ok(1), Ok(2)]);
}

/// Only its consumer can leave a capsule that its producer gave up: it must not sleep then.
#[test]
fn who_gives_a_capsule_up_wakes_its_consumer() {
    let (mut tx, mut rx) = cnq::with_wait(Hts::new(2).unwrap(), 2, 4, 4, Park::new()).unwrap();
    let mut other = tx.clone();
    tx.try_push(0).unwrap();
    assert_eq!(rx.try_pop(), Ok(0));
    other.try_push(1).unwrap();
    assert_eq!(rx.try_pop(), Ok(1));
    let note = Arc::new(Note::default());
    let mut popping = Box::pin(rx.pop_async());
    assert!(popping.as_mut().poll(&mut Context::from_waker(&Waker::from(note.clone()))).is_pending());
    other.flush();
    assert!(note.0.load(Relaxed), "the consumer sleeps with the capsule");
}
