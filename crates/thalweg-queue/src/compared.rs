//! What each queue can do, and how many items fit.
//!
//! # What each queue offers
//!
//! Every queue pushes and pops one at a time and in batches, [waits](crate::wait) for either by any strategy, with timeouts and as futures,
//! and has `capacity` and `is_closed`. Slices never wait; `push_all` waits but takes no timeout. Two queues differ from the others:
//!
//! - [`stealing`](crate::stealing) has [words of its own](mod@crate::stealing#its-own-words). Its owner and its thieves never wait, and only thieves have `is_closed`.
//! - [`bytes`](mod@crate::bytes) has messages of any length. Its words are the same, for slices of bytes; its batches are slices of such slices.
//!
//! What else differs:
//!
//! | queue | a batch costs | in place | a grant is waited for | `peek` | `len` | other |
//! |---|---|---|---|---|---|---|
//! | [`fast_forward`](mod@crate::spsc::fast_forward) | a store per item, a look at the other side per line | | | | by looking at each slot; the producer's at most | [slip](crate::spsc::fast_forward::Slip) |
//! | [`fast_forward::in_place`](crate::spsc::fast_forward::in_place) | the same | one item | yes | yes | the same | slip |
//! | [`spsc`](crate::spsc) | one store per block | to the end of the block | yes | yes | the consumer's; the producer's at most | |
//! | [`mpmc`](crate::mpmc) | as one item, per block | to the end of the block; what is given up is a hole | yes | | yes | positions |
//! | [`mpsc`](crate::mpsc) | the same | the same; what is not released stays | yes | yes | yes | positions |
//! | [`spmc`](crate::spmc) | the same | the same, without holes | yes | | yes | positions |
//! | [`overwriting`](crate::overwriting) | as one item, per block; popped, up to 1024 bytes at a time | | | | yes | positions, and how many were dropped |
//! | [`bytes`](mod@crate::bytes) | as many single messages | one message; in drop-old mode copies only | yes | | in bytes | how many bytes were dropped |
//! | [`growing`](crate::growing) | one store per chunk | to the end of the chunk | yes | yes | yes | grows, shrinks |
//! | [`mesh`](mod@crate::research::mesh) | one store per chunk; a run goes to one ring | to the end of the chunk | yes | of the next ring | yes | |
//! | [`ticketed`](mod@crate::research::ticketed) | one reservation | entry by entry, in the order of reservations: `reserve` waits, `try_reserve` does not | yes | [windows](crate::research::ticketed::Consumer::window) | yes | tickets, positions |
//! | [`cnq`](crate::research::cnq::cnq()) | as many single items | | | | yes | [`flush`](crate::research::cnq::Consumer::flush) |
//! | [`tube::queue`](crate::research::tube::queue) | as many single items | by the [three phases](crate::research::tube::Tube) | no | | yes | |
//! | [`lamport`](mod@crate::research::lamport) | one store per round of the ring | to the end of the ring | yes | yes | yes | |
//! | [`locked`](mod@crate::research::locked) | as many single items | | | | yes | positions |
//! | [`stealing`](crate::stealing) | one exchange for thieves, into a vector; for the owner as many single items, which cost no atomic operation | | | | yes | [policies](crate::stealing::Policy) |
//!
//! A queue for many consumers has no `peek`: another consumer may take the item meanwhile. There, an item that is read in place is taken.
//!
//! The consumers of [`spsc`](crate::spsc) and [`in_place`](crate::spsc::fast_forward::in_place()) also have `front`, a `peek` by a shared reference.
//! [`spsc`](crate::spsc) alone has grants of two slices, which go around the end of the ring.
//!
//! Why something else is missing:
//!
//! - `front` of the other consumers with a `peek`: to find the oldest item they go on to the next chunk, round or ring, or past a hole, which
//!   changes the handle.
//! - Two slices of [`mpmc`](crate::mpmc), [`mpsc`](crate::mpsc) and [`spmc`](crate::spmc): what is taken of a block is one exchange, so of two blocks it is two grants. Of
//!   [`growing`](crate::growing) and [`mesh`](mod@crate::research::mesh): chunks are no ring. Of [`bytes`](mod@crate::bytes): a message lies in one piece.
//! - Grants of [`fast_forward`](mod@crate::spsc::fast_forward): the word itself says that its slot is full, so one that is written in place would be pushed already. Its
//!   `peek`: what a slot has is a word, and no item that could be lent. [`in_place`](crate::spsc::fast_forward::in_place()) has both.
//! - Of [`overwriting`](crate::overwriting): an entry may be overwritten while it is read, so it is copied word by word, and no reference
//!   to it can be lent.
//! - Of [`locked`](mod@crate::research::locked): whoever has a reference into the ring would have to hold the lock.
//! - Of [`tube::queue`](crate::research::tube::queue): a tube takes values and gives values, and shows no memory.
//! - Of [`cnq`](crate::research::cnq::cnq()): an entry counts only if its capsule is not closed before the entry is published, and others close it when they
//!   like. What was written in place would have to move to another capsule then. And who reads in place keeps its capsule unfinished: the
//!   window would stand still for as long, and others would be `Busy`.
//! - Of [`stealing`](crate::stealing): what a thief has taken keeps its block from being used again until it is read, so it is moved out at once. The owner's
//!   push and pop are plain accesses without a count to publish: a grant could spare no more than the move, and a `peek` no more than a
//!   pop and a push.
//! - Waiting of [`stealing`](crate::stealing): the owner is producer and consumer, and would wait for itself. Thieves could only be woken by a push that tells
//!   them, and a push here tells nobody.
//! - An exact `len` of the producer of [`fast_forward`](mod@crate::spsc::fast_forward): it keeps no count of what is popped, and a slot that is taken looks full until its line is
//!   emptied. Of [`spsc`](crate::spsc): the consumer publishes its place once per block. So `len` is an upper bound for both queues.
//! - An exact `is_full` of the consumer of [`growing`](crate::growing), [`fast_forward`](mod@crate::spsc::fast_forward) and the queues of [`research`](crate::research) but
//!   the tubes: whether there is room is the producer's to know. As [`Pop`](crate::Pop) they say whether `len` has come to `capacity`.
//! - `len` of [`watch`](crate::watch), whose receivers ask [`has_changed`](crate::watch::Consumer::has_changed), and of the senders of
//!   [`broadcast`](crate::broadcast): each receiver has its own.
//! - `producers`, `consumers` and `downgrade` where nothing can be cloned: there is one of each.
//!
//! # How many items fit
//!
//! `capacity()` is what is certain in some queues and what is possible in others:
//!
//! | queue | `capacity()` | `Full` is answered with |
//! |---|---|---|
//! | [`fast_forward`](mod@crate::spsc::fast_forward), [`in_place`](crate::spsc::fast_forward::in_place()) | what was asked for | at least so many, up to two lines more: 16, or 32 on a machine of 32 bits |
//! | [`spsc`](crate::spsc), [`mpsc`](crate::mpsc), [`spmc`](crate::spmc), [`mpmc`](crate::mpmc) | `blocks * entries` | at least `(blocks - 1) * entries + 1`: a block is reused whole |
//! | [`overwriting`](crate::overwriting) | `blocks * entries` | never; at least `capacity - entries` are kept |
//! | [`bytes`](mod@crate::bytes) | the bytes of all blocks | fewer, by the ends of blocks; a message takes a multiple of 16 |
//! | [`growing`](crate::growing), a ring of a [`mesh`](mod@crate::research::mesh) | the most that it may grow to | at least that without its largest chunk; [fewer](crate::growing#capacity) where the limit is in bytes |
//! | [`tube::queue`](crate::research::tube::queue) of [`faaq`](mod@crate::research::faaq) | `(blocks - 1) * entries + 1` | at least so many, up to `blocks * entries` |
//! | [`cnq`](crate::research::cnq::cnq()) | the entries of all capsules | fewer, as a capsule that is handed on before its end takes its place whole |
//! | [`ticketed`](mod@crate::research::ticketed), [`lamport`](mod@crate::research::lamport), [`locked`](mod@crate::research::locked), the other tubes | what was asked for | so many |
//! | [`stealing`](crate::stealing) | the entries of all blocks | as few as there are blocks, where thieves have left gaps |
//!
//! So [`mpmc::with_capacity(8)`](crate::mpmc::with_capacity), of two blocks with four entries each, may be full with five items.
//! [`mpmc::with_room(8)`](crate::mpmc::with_room) never reports `Full` below eight items. [`mpmc::exact(8)`](crate::mpmc::exact) reports `Full` at
//! exactly eight items, for more work with each item.
//!
//! # What is touched
//!
//! A queue asks for all of its memory when it is built, and is an error if that memory is not there. It touches next to nothing of it: pages that no
//! item has come to are not in memory, and a queue for 2^30 items is built at once. Three queues write what lies beside their items when they are built:
//! [`mpmc::exact`](crate::mpmc::exact) 32 bytes for each item, [`broadcast`](mod@crate::broadcast) a lock for each item, and
//! [`cnq`](crate::research::cnq::cnq()) the words of each capsule.
