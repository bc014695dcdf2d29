//! What every queue promises, written once.
//!
//! `queue.rs` says what a queue is and adapts each to it; `single.rs` has the promises of every queue, `many.rs`
//! those of queues with many producers and consumers, `items.rs` those of queues that carry any item, `waiting.rs` what
//! timeouts, sleeping and async ends promise, `batches.rs` what batches do. A new queue
//! is an adapter and a line below.
#![cfg(not(loom))]

mod batches;
mod items;
mod many;
mod queue;
mod single;
mod waiting;

use queue::{Bbq, ChunkRing, FastForward, LamportCached, LamportPlain, Locked, Mesh, Spsc, Ticketed};
use thalweg_queue::{Park, Spin};

/// A queue near the wrap of the round in a cursor: 43 bits are left for it in small blocks.
const ROUNDS: u64 = 1 << 43;

single::promises! {
    fast_forward_1: FastForward::new(1),
    fast_forward_8: FastForward::new(8),
    fast_forward_61: FastForward::new(61),
    fast_forward_slip: FastForward::new(61).slip(),
    fast_forward_spin: FastForward::new(8).waiting::<Spin>(),
    fast_forward_park: FastForward::new(8).waiting::<Park>(),
    bbq_2x1: Bbq::new(2, 1),
    bbq_2x8: Bbq::new(2, 8),
    bbq_8x3: Bbq::new(8, 3),
    bbq_round_wraps: Bbq::new(2, 3).from(ROUNDS * 2 - 3),
    bbq_head_wraps: Bbq::new(4, 2).from(u64::MAX - 5),
    bbq_park: Bbq::new(2, 3).waiting::<Park>(),
    bbq_spsc_2x1: Spsc::new(Bbq::new(2, 1)),
    bbq_spsc_8x3: Spsc::new(Bbq::new(8, 3)),
    bbq_spsc_2x40: Spsc::new(Bbq::new(2, 40)),
    bbq_spsc_positions_wrap: Spsc::new(Bbq::new(4, 3).from(u64::MAX - 5)),
    chunk_ring_smallest: ChunkRing::new(1, 2, 2),
    chunk_ring_of_ones: ChunkRing::new(1, 2, 9),
    chunk_ring_fixed: ChunkRing::new(8, 64, 64),
    chunk_ring_doubles: ChunkRing::new(64, 2, 100),
    chunk_ring_of_threes: ChunkRing::new(3, 7, 40),
    chunk_ring_park: ChunkRing::new(3, 7, 40).waiting::<Park>(),
    lamport_plain_1: LamportPlain(1),
    lamport_plain_61: LamportPlain(61),
    lamport_cached_1: LamportCached(1),
    lamport_cached_61: LamportCached(61),
    mesh_1x1: Mesh::new(24),
    mesh_park: Mesh::new(5).waiting::<Park>(),
    ticketed_1: Ticketed::new(1),
    ticketed_16: Ticketed::new(16),
    ticketed_park: Ticketed::new(8).waiting::<Park>(),
    locked_1: Locked(1),
    locked_61: Locked(61),
}

many::promises! {
    bbq_2x1_shared: Bbq::new(2, 1),
    bbq_2x8_shared: Bbq::new(2, 8),
    bbq_8x64_shared: Bbq::new(8, 64),
    bbq_round_wraps_shared: Bbq::new(2, 3).from(ROUNDS * 2 - 3),
    bbq_head_wraps_shared: Bbq::new(4, 2).from(u64::MAX - 5),
    ticketed_1_shared: Ticketed::new(1),
    ticketed_32_shared: Ticketed::new(32),
    ticketed_park_shared: Ticketed::new(4).waiting::<Park>(),
    locked_1_shared: Locked(1),
    locked_61_shared: Locked(61),
    bbq_park_shared: Bbq::new(2, 3).waiting::<Park>(),
}

waiting::promises! {
    fast_forward_waiting: FastForward::new(5),
    bbq_waiting: Bbq::new(2, 3),
    chunk_ring_fixed_waiting: ChunkRing::new(1, 5, 5),
    ticketed_waiting: Ticketed::new(4),
    mesh_waiting: Mesh::new(5),
    chunk_ring_growing_waiting: ChunkRing::new(2, 3, 7),
    bbq_spsc_waiting: Spsc::new(Bbq::new(2, 3)),
}

batches::promises! {
    fast_forward_batches: FastForward::new(61),
    fast_forward_slip_batches: FastForward::new(8).slip(),
    bbq_batches_2x1: Bbq::new(2, 1),
    bbq_batches_4x10: Bbq::new(4, 10),
    bbq_batches_round_wraps: Bbq::new(2, 3).from(ROUNDS * 2 - 3),
    bbq_spsc_batches_2x1: Spsc::new(Bbq::new(2, 1)),
    bbq_spsc_batches_4x10: Spsc::new(Bbq::new(4, 10)),
}
