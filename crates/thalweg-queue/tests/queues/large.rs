//! Items that are larger than a stack: built in place, read in place, and dropped in place. And counts without memory behind them.

use std::mem::MaybeUninit;
use thalweg_queue::grant::{Read, ReadGrant, Write, WriteGrant};
use thalweg_queue::growing::{self, Most};
use thalweg_queue::research::{lamport, ticketed};
use thalweg_queue::stealing::Rng;
use thalweg_queue::{BuildError, mpmc, mpsc, spmc, spsc, spsc::fast_forward};
use thalweg_sync::atomic::{AtomicUsize, Ordering::Relaxed};
use thalweg_sync::{sync::Arc, thread};

/// Three megabytes, where a thread has a stack of two, and a share that is counted when they are dropped.
struct Large {
    share: Arc<AtomicUsize>,
    _bytes: [u8; 3 << 20],
}

impl Drop for Large {
    fn drop(&mut self) {
        self.share.fetch_add(1, Relaxed);
    }
}

fn write(place: &mut MaybeUninit<Large>, share: &Arc<AtomicUsize>) {
    // SAFETY: the place is ours, and any bytes are.
    unsafe {
        (&raw mut (*place.as_mut_ptr()).share).write(share.clone());
        (&raw mut (*place.as_mut_ptr())._bytes).write_bytes(0, 1);
    }
}

fn put<E: Write<Item = Large>>(mut grant: WriteGrant<E>, share: &Arc<AtomicUsize>) {
    write(&mut grant.uninit()[0], share);
    // SAFETY: written.
    unsafe { grant.assume_written(1) };
    assert_eq!(grant.commit(), 1);
}

fn give_up<E: Write<Item = Large>>(mut grant: WriteGrant<E>, share: &Arc<AtomicUsize>) {
    write(&mut grant.uninit()[0], share);
    // SAFETY: written.
    unsafe { grant.assume_written(1) };
}

fn release<E: Read<Item = Large>>(grant: ReadGrant<'_, E>) {
    assert_eq!(grant[0]._bytes[7], 0);
    grant.release(1);
}

/// Three items: one is released, one is left when the consumer goes, and one is given up.
macro_rules! in_place {
    ($queue:expr, $read:expr) => {
        thread::spawn(|| {
            let share = Arc::new(AtomicUsize::new(0));
            #[allow(unused_mut, reason = "some handles are shared")]
            let (mut tx, mut rx) = $queue.unwrap();
            put(tx.reserve(1).unwrap(), &share);
            put(tx.reserve(1).unwrap(), &share);
            $read(rx.readable(1).unwrap());
            give_up(tx.reserve(1).unwrap(), &share);
            assert_eq!(share.load(Relaxed), 2);
            drop((rx, tx));
            assert_eq!(share.load(Relaxed), 3);
        })
        .join()
        .unwrap();
    };
}

#[test]
fn no_item_is_moved_over_the_stack() {
    in_place!(fast_forward::in_place::<Large>(4), release);
    in_place!(spsc::spsc::<Large>(2, 2), release);
    in_place!(growing::chunk_ring::<Large>(4, Most::Entries(4)), release);
    in_place!(lamport::plain::<Large>(4), release);
    in_place!(mpsc::mpsc::<Large>(2, 2), release);
    in_place!(mpmc::shared::<Large>(2, 2), drop);
    in_place!(spmc::spmc::<Large>(2, 2), drop);
    // No grants that lend memory: built only.
    drop(ticketed::ticketed::<Large>(4).unwrap());
}

/// Items without a size need no memory, so a queue may be asked for more of them than there is time to count.
#[test]
fn a_shape_beyond_all_limits_is_refused_at_once() {
    let refused = growing::chunk_ring::<()>(1 << 60, Most::Entries(1 << 60)).unwrap_err();
    assert!(matches!(refused, BuildError::TooLarge { .. } | BuildError::OutOfMemory { .. }), "{refused}");
    let refused = mpmc::shared::<()>(2, 1 << 60).unwrap_err();
    assert!(matches!(refused, BuildError::TooLarge { .. }), "{refused}");
}

#[test]
fn a_number_below_a_bound_beyond_32_bits() {
    let mut random = Rng::new(1);
    let bound = usize::MAX / 3 * 2;
    let numbers: Vec<_> = (0..200).map(|_| random.below(bound)).collect();
    assert!(numbers.iter().all(|&number| number < bound));
    assert!(numbers.iter().any(|&number| number > bound / 2), "all of it is reached");
}
