//! Waiting for several ends at once: whichever can go on first does.
//!
//! [`select!`](crate::select!) is written like a `match`, [`select_async!`](crate::select_async!) is the same in an async block, and [`Select`] is for
//! arms whose number is known when the program runs. Arms may be of different queues and of different items:
//!
//! | arm | is ready when | gives |
//! |---|---|---|
//! | `pop(rx) -> item` | there is an item, or every producer is gone | what `pop` gives |
//! | `push(tx, value) -> pushed` | there is room, or every consumer is gone | what `push` gives |
//! | `push_from(tx, slot) -> pushed` | the same; the value is moved out of the `Option` only if it is pushed or refused | the same |
//! | `after(duration)`, `at(instant)` | the time is over | nothing |
//! | `default` | no other arm is ready | nothing |
//!
//! Ends are those of every queue that sleeps ([`Park`](crate::Park)), and receivers of [`oneshot`](crate::oneshot), [`watch`](crate::watch) and
//! [`Tick`]. A queue for one consumer is one like any other: its end is borrowed mutably.
//!
//! ```
//! use std::time::Duration;
//! use thalweg_queue::{mpmc, oneshot, select};
//!
//! let (tx, rx) = mpmc::channel(64)?;
//! let (quit, mut quits) = oneshot::channel::<()>();
//! let worker = std::thread::spawn(move || {
//!     let mut sum = 0;
//!     loop {
//!         select! {
//!             pop(rx) -> item => match item {
//!                 Ok(n) => sum += n,
//!                 Err(_) => return sum,
//!             },
//!             pop(quits) -> _ => return sum,
//!             after(Duration::from_secs(60)) => panic!("nobody is there"),
//!         }
//!     }
//! });
//! (1..=10).try_for_each(|n| tx.push(n))?;
//! drop(tx);
//! assert_eq!(worker.join().unwrap(), 55);
//! drop(quit);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is promised
//!
//! - One arm is chosen, and its operation is done when its body runs. The others have done nothing: no item of theirs is popped, and what
//!   they were to push is not pushed. The value of a `push` that is not chosen is dropped, that of a `push_from` stays where it is.
//! - Of the arms that are ready each is chosen with a probability of at least one in the number of arms.
//! - Who waits sleeps: on the lists of all its queues, and by one timer at most. A wake-up that it does not use goes on to the next who waits there.
//! - An async select may be dropped at any time; then no arm has done anything. Its timers need no executor: one thread of this crate, made with the first,
//!   sleeps until the next is over.
//!
//! A select that finds an arm ready costs what that arm costs, a failed attempt for each it looked at before, and a look at the clock. One that
//! sleeps costs for each queue what a sleep there costs.
//!
//! # Invariants
//!
//! - **Y1** Before it sleeps, a select is in the line of every arm that is on, and has then made an attempt of each (P1 of the
//!   [waiting layer](crate::wait)).
//! - **Y2** When it is over, it is in no line. Where it was woken and the arm is not the chosen one, the next in line is woken (P2).

mod arm;
mod dynamic;
mod list;
mod macros;
mod timer;

pub use arm::{Arm, ToPop, ToPush, push_from};
pub use dynamic::{ArmId, Select, SelectError};
pub use list::{Arms, Either, Selecting, now, sleep, until};
pub use timer::{At, Tick, after, at};
