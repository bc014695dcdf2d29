//! Waiting for one of several.

use crate::channel::Ready;
use crate::wait::{self, Reason, Waiter, Woken};
use thalweg_sync::fence;
use thalweg_sync::time::{self, Duration, Instant};

/// Waits until one of several ends would not wait: a receiver has an item, a sender has room, or the other side is gone. Gives its index; of several that are ready, the
/// first one's.
///
/// Whoever shares an end with others tries it then, as they may be faster. A cancelled task ends here.
///
/// # Panics
///
/// If there are none: that would be a wait for ever.
///
/// ```
/// use thalweg_task::{Runtime, channel, select, spawn};
///
/// let runtime = Runtime::builder().workers(1).start()?;
/// runtime.run(|| {
///     let (numbers, number) = channel::<u32>(4).unwrap();
///     let (words, word) = channel::<&str>(4).unwrap();
///     let other = spawn(move || words.send("seven"));
///     match select(&[&number, &word]) {
///         0 => panic!("nobody sent {:?}", number.try_recv()),
///         _ => assert_eq!(word.try_recv(), Ok("seven")),
///     }
///     other.join().unwrap().unwrap();
///     assert_eq!(select(&[&number, &numbers]), 1); // nothing to receive, but room
///     numbers.try_send(7).unwrap();
/// });
/// # Ok::<(), thalweg_task::StartError>(())
/// ```
pub fn select(ready: &[&dyn Ready]) -> usize {
    assert!(!ready.is_empty(), "there is nothing to select from: the wait would never end");
    select_until(ready, None).expect("without a deadline there is none to miss")
}

/// As [`select`], but gives up after `timeout`.
pub fn select_timeout(ready: &[&dyn Ready], timeout: Duration) -> Option<usize> {
    select_until(ready, Some(time::now().after(timeout)))
}

fn select_until(ready: &[&dyn Ready], deadline: Option<Instant>) -> Option<usize> {
    let first = || ready.iter().position(|one| one.is_ready());
    loop {
        if let Some(first) = first() {
            return Some(first);
        }
        wait::end_if_cancelled();
        let waiter = Waiter::new();
        let keys: Vec<_> = ready
            .iter()
            .map(|one| {
                let ticket = waiter.ticket();
                one.list().0.with(|list| list.push_back(ticket, 0))
            })
            .collect();
        // (channel.2), pairs with (channel.1).
        fence::heavy();
        let mut found = first();
        let woken = match found {
            Some(_) => Woken::TimedOut,
            None => waiter.sleep(Reason::Select, deadline),
        };
        // At most one has granted something (G1).
        let mut granted = None;
        for (at, (one, key)) in ready.iter().zip(keys).enumerate() {
            if !one.list().0.delist(key) {
                granted = Some(at);
            }
        }
        found = match woken {
            Woken::Cancelled => None,
            _ => found.or_else(first),
        };
        if let Some(granted) = granted.filter(|&granted| found != Some(granted)) {
            ready[granted].list().0.grant_first(1);
        }
        match (found, woken) {
            (_, Woken::Cancelled) => wait::end(),
            (Some(found), _) => return Some(found),
            (None, Woken::TimedOut) => return None,
            // Others were faster.
            (None, Woken::Granted(_)) => {}
        }
    }
}
