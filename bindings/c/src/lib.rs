//! The queues of [`thalweg_queue`] for C and C++.
//!
//! | queue | functions | items |
//! |---|---|---|
//! | one producer, one consumer: [`fast_forward`](thalweg_queue::spsc::fast_forward::fast_forward()), or [`bbq::spsc`](thalweg_queue::spsc::spsc()) | [`spsc`] | pointers, not null |
//! | the same: [`fast_forward::in_place`](thalweg_queue::spsc::fast_forward::in_place), or [`bbq::spsc`](thalweg_queue::spsc::spsc()) | [`spsc_records`] | byte entries of one size, copied in and out, or in place |
//! | many to many, retry-new: [`bbq`](mod@thalweg_queue::mpmc), and its forms for one consumer or one producer | [`bbq`] | pointers |
//! | the same, and many to many in drop-old mode | [`records`] | byte entries of one size, copied in and out; in place where nothing is overwritten |
//! | many to many, retry-new: [`bbq::bytes`](mod@thalweg_queue::bytes) | [`bytes`] | byte messages of any size, copied, or written and read in place |
//! | the same, in drop-old mode | [`bytes`] | byte messages of any size, copied |
//! | one owner and thieves: [`bwos`](mod@thalweg_queue::stealing) | [`bwos`] | pointers |
//! | the same | [`bwos_records`] | byte entries of one size, copied in and out |
//!
//! `include/thalweg_queue.h` is generated from this crate; a test compares the two. Order, progress, and what each answer means are
//! those of the queue in Rust; the header repeats what a caller has to know. A program in C is in `examples/queue.c`.
//!
//! A call costs what a call in Rust costs that is not inlined, and a second, indirect one behind it: which queue and which way of
//! waiting is chosen when the queue is built, not when the program is compiled.
//!
//! # Invariants
//!
//! - **H1** A handle is null or came from a function of this crate and was not freed since. Null is refused; the rest is the
//!   caller's promise.
//! - **H2** A handle that is not shared (the header says which are) is used by one thread at a time, and what that thread did is
//!   visible to the next one: so a `&mut` of its contents is the only reference. A shared one is `Sync`.
//! - **H3** Memory for entries is valid for as many entries as the call says, is not accessed by others during the call, and may
//!   have any alignment if it is a record's. What is to be popped there needs memory that can be written, no more: nothing has to
//!   have been written to it before.
//! - **H4** A pointer that is pushed by a function of the family `spsc` is not null.
//! - **H5** Every byte of an entry of a queue in drop-old mode, and of a message, was written when it is pushed, its padding too.
//! - **H6** A grant is one that the queue of the handle has given, and is ended once.
//!
//! # Panics
//!
//! None is expected: no code of the caller runs inside. Should one happen, or memory run out for anything but a queue that is built, the
//! process ends with a message; no unwinding crosses into C, as each function is `extern "C"`.
#![allow(
    clippy::missing_safety_doc,
    reason = "the comments become the C header, whose first comment states the rules of all handles once; here they are H1 to H3"
)]

pub mod bbq;
mod border;
mod build;
pub mod bwos;
pub mod bwos_records;
pub mod bytes;
mod copied;
mod end;
mod entry;
mod message_ends;
mod only_ends;
mod record_ends;
pub mod records;
pub mod spsc;
pub mod spsc_records;
mod status;

pub use build::Wait;
pub use status::{Status, thalweg_status_text};
