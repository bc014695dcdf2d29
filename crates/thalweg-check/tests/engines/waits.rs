//! Waits that are tried again, and when that is given up.

use thalweg_check::Check;
use thalweg_sync::sync::{Arc, Mutex};
use thalweg_sync::time::{self, Duration};
use thalweg_sync::{spin, thread};

/// Each attempt takes the lock and gives it back, so it is repeated; the clock runs faster from one to the next.
#[test]
fn a_timed_wait_with_a_lock_in_it() {
    fn wait(lock: &Mutex<bool>) -> bool {
        let end = time::now().after(Duration::from_secs(1));
        spin::until(|| {
            let is_set = *lock.lock().unwrap();
            (is_set || time::now() >= end).then_some(is_set)
        })
    }
    let alone = Check::new().sequential(true).check(|| assert!(!wait(&Mutex::new(false))));
    assert_eq!(alone.complete, 1, "{alone}");
    // Somebody sets it before one of the attempts, or after the last.
    let told = Check::new().check(|| {
        let lock = Arc::new(Mutex::new(false));
        let other = thread::spawn({
            let lock = lock.clone();
            move || *lock.lock().unwrap() = true
        });
        wait(&lock);
        other.join().unwrap();
    });
    assert!((10..100).contains(&told.complete), "{told}");
}
