//! How many items fit, of queues that are built by what they are to hold.

use thalweg_queue::growing::{Most, chunk_ring_with_wait};
use thalweg_queue::{
    BuildError, Park, Pop, PopTimeoutError, Push, mpmc, mpsc, overwriting, research::faaq, spmc, spsc,
};
use thalweg_sync::thread;
use thalweg_sync::time::Duration;

/// Builds queues for so many items, and fills each wherever it may begin: after some items that came and went.
fn fits<P, C>(build: impl Fn(usize) -> Result<(P, C), BuildError>)
where
    P: Push<Item = usize>,
    C: Pop<Item = usize>,
{
    for capacity in (1..40).chain([100, 1000]) {
        let (mut tx, mut rx) = build(capacity).unwrap();
        let entries = tx.capacity();
        for _ in 0..=entries.min(40) {
            let mut pushed = 0;
            while tx.try_push(pushed).is_ok() {
                pushed += 1;
            }
            assert!((capacity..=entries).contains(&pushed), "{pushed} of {capacity} in {entries}");
            (0..pushed).for_each(|number| assert_eq!(rx.try_pop(), Ok(number)));
            // From here the next round begins one further on.
            tx.try_push(0).unwrap();
            assert_eq!(rx.try_pop(), Ok(0));
        }
    }
    assert_eq!(build(0).err().unwrap().to_string(), "capacity must be at least 1, not 0");
    let refusal = build(usize::MAX).err().unwrap().to_string();
    assert!(refusal.starts_with("capacity must be at most ") && refusal.ends_with(&format!(", not {}", usize::MAX)));
    // The number itself is possible, and what it comes to is not.
    let refusal = build(isize::MAX as usize).err().unwrap().to_string();
    assert!(refusal.starts_with("capacity must be at most "), "{refusal}");
}

#[test]
fn with_room() {
    fits(mpmc::with_room);
    fits(mpsc::with_room);
    fits(spmc::with_room);
    fits(spsc::with_room);
    fits(|capacity| mpmc::with_room_and_wait(capacity, Park::new()));
    fits(|capacity| mpsc::with_room_and_wait(capacity, Park::new()));
    fits(|capacity| spmc::with_room_and_wait(capacity, Park::new()));
    fits(|capacity| spsc::with_room_and_wait(capacity, Park::new()));
}

/// The strategy comes with each of the constructors that choose something; the rest is as without it.
#[test]
fn and_wait() {
    fn sleeps<P, C>((mut tx, mut rx): (P, C), capacity: usize)
    where
        P: Push<Item = u32, Wait = Park> + Send,
        C: Pop<Item = u32, Wait = Park> + Send,
    {
        assert_eq!((tx.capacity(), rx.capacity()), (capacity, capacity));
        assert_eq!(rx.pop_timeout(Duration::from_millis(1)), Err(PopTimeoutError::Timeout));
        thread::scope(|scope| {
            scope.spawn(move || tx.push(7).unwrap());
            assert_eq!(rx.pop(), Ok(7));
        });
    }
    sleeps(mpmc::with_capacity_and_wait(4096, Park::new()).unwrap(), 4096);
    sleeps(mpsc::with_capacity_and_wait(4096, Park::new()).unwrap(), 4096);
    sleeps(spmc::with_capacity_and_wait(4096, Park::new()).unwrap(), 4096);
    sleeps(spsc::with_capacity_and_wait(4096, Park::new()).unwrap(), 4096);
    sleeps(overwriting::with_capacity_and_wait(4096, Park::new()).unwrap(), 4096);
    sleeps(chunk_ring_with_wait(64, Most::Entries(4096), Park::new()).unwrap(), 4096);
    sleeps(faaq::with_wait(4, 16, Park::new()).unwrap(), 3 * 16 + 1);
}
