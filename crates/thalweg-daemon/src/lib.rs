//! The cores of a machine, shared out among all applications on it (BLQ, §3.1: "a system-wide daemon balances the CPU core allocation across all
//! applications").
//!
//! A [`Daemon`] listens on a Unix socket of its user. An application [joins](Member::join) and gets a page of memory that both see: there it says what it could run
//! and how much work waits ([`Wish`]), and there it reads how many cores it is granted. A byte on the socket tells either side to look.
//! [`share()`] makes grants of wishes, by one of three [policies](Policy).
//!
//! # What is promised
//!
//! - **D1** Nobody waits for the daemon. An application reads its grant from memory, and goes on with the last one if the daemon is stopped, slow or gone.
//! - **D2** The cores of an application that ends, or is killed, are free at once: its socket closes then, and the daemon grants them to others.
//! - **D3** Each application has at least one core. The grants of all applications that could run something add up to the cores of the machine, or to one core each if there are more applications than
//!   cores: no core is lost, and none is granted twice.
//! - **D4** Whatever an application writes to its page or to the socket changes its own grant and, within its [policy](share()), what is left for the others; nothing else. The daemon reads words
//!   and clamps them. It never reads a grant back. It puts out an application that breaks the protocol on the socket. A flood of bytes costs the daemon 2000 rounds a second, at most.
//! - **D5** Only processes of the daemon's own user are let in, and an application takes grants from a daemon of its own user only: the kernel says who is on the other side
//!   (`SO_PEERCRED`). The folder of the socket is the user's alone.
//! - **D6** An application that is stopped (`SIGSTOP`), or does not publish for two seconds, counts as one that could run nothing.
//!
//! Other systems than Linux have the policies alone.

mod share;

#[cfg(all(target_os = "linux", not(loom)))]
mod daemon;
#[cfg(all(target_os = "linux", not(loom)))]
mod member;
#[cfg(all(target_os = "linux", not(loom)))]
mod page;
#[cfg(all(target_os = "linux", not(loom)))]
mod status;
#[cfg(all(target_os = "linux", not(loom)))]
mod wire;

#[cfg(all(target_os = "linux", not(loom)))]
pub use daemon::{Daemon, Options, Stop};
#[cfg(all(target_os = "linux", not(loom)))]
pub use member::{Gone, Member};
pub use share::{Claim, Policy, UnknownPolicy, Wish, share};
#[cfg(all(target_os = "linux", not(loom)))]
pub use status::{MemberStatus, Status};

/// The largest weight that an application may ask for.
pub const MOST_WEIGHT: u32 = 100;

#[cfg(all(doctest, target_os = "linux"))]
#[doc = include_str!("../README.md")]
struct Readme;
