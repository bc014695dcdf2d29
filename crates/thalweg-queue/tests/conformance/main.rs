//! What every queue promises, written once.
//!
//! `queue.rs` says what a queue is; `single.rs` has the promises of every queue, `many.rs` those of queues with many producers or
//! consumers, `batches.rs` what slices, vectors and iterators do, `grants.rs` what is written and read in place, `waiting.rs` what
//! timeouts, sleeping and async ends promise, `panics.rs` what a panic in somebody else's code leaves behind, `build.rs` which
//! sizes are refused, `items.rs` items of every size, `meshes.rs` what of this holds with more than one ring. A new queue is a line
//! in each.
//!
//! The suite is about queues that are full one day, lose nothing, and carry any item from a [`Push`](thalweg_queue::Push) to a
//! [`Pop`](thalweg_queue::Pop). Four are not, and have suites of their own in `tests/queues`, which ask them the same:
//!
//! | queue | what is different | where |
//! |---|---|---|
//! | `overwriting` | never full; items are bytes, and go missing | `drop_old.rs` |
//! | `bytes` | carries messages, whose room depends on their length | `bytes.rs` |
//! | `bytes::drop_old` | both | `bytes_drop_old.rs` |
//! | `bwos` | its owner pushes and pops, and others steal; nobody waits | `bwos.rs`, `bwos_pool.rs`, `fuzz_bwos.rs` |
#![cfg(not(loom))]

/// One module per queue, each with every test named.
macro_rules! each {
    (@one $module:ident [$($test:ident),+ $(,)?] $queue:expr) => {
        $(#[test]
        fn $test() {
            $crate::$module::$test($queue);
        })+
    };
    ($module:ident $tests:tt $($name:ident: $queue:expr,)+) => {
        $(mod $name {
            use crate::*;
            $crate::each! { @one $module $tests $queue }
        })+
    };
}
pub(crate) use each;

mod batches;
mod build;
mod grants;
mod items;
mod many;
mod meshes;
mod panics;
mod queue;
mod single;
mod waiting;

use queue::{between, blocks, exactly, slots};
use std::num::NonZeroU64;
use thalweg_queue::growing::Most;
use thalweg_queue::research::tube::{self, Tube, ring, scqd::Scqd};
use thalweg_queue::spsc::fast_forward::Slip;
use thalweg_queue::wait::Wait;
use thalweg_queue::{
    BuildError, Park, Spin, Yield, growing, mpmc, mpsc,
    research::{cnq, faaq, lamport, locked, mesh, ticketed},
    spmc, spsc,
    spsc::fast_forward,
};

/// A queue near the wrap of the round in a cursor: 43 bits are left for it in small blocks.
const ROUNDS: u64 = 1 << 43;

/// The same for the tubes of blocks, whose cursors have a bit less.
const TUBE_ROUNDS: u64 = (1 << 42) * 2 - 3;

/// Near the end of the 32 bits that a ring's positions have.
const WRAP: u32 = u32::MAX - 20;

/// The last numbers before those in a capsule's words wrap.
const CAPSULES: u64 = (1 << 42) - 5;

/// A tube as a queue.
fn tube<Q: Tube>(tube: Result<Q, BuildError>) -> Result<tube::Ends<Q>, BuildError> {
    tube.map(tube::queue)
}

/// The only two ends of a mesh.
type OneByOne<T, W> = (mesh::Producer<T, W>, mesh::Consumer<T, W>);

/// A mesh of one by one, so that all is in order.
fn one_by_one<T: Send, W: Wait>(entries: usize, wait: W) -> Result<OneByOne<T, W>, BuildError> {
    let (mut tx, mut rx) = mesh::with_wait(1, 1, entries, entries, wait)?;
    Ok((tx.remove(0), rx.remove(0)))
}

single::promises! {
    fast_forward_1: slots(1, || fast_forward::fast_forward(1)),
    fast_forward_8: slots(8, || fast_forward::fast_forward(8)),
    fast_forward_61: slots(61, || fast_forward::fast_forward(61)),
    fast_forward_slip: slots(61, || fast_forward::fast_forward(61).map(|(tx, rx)| (tx, rx.with_slip(Slip::default())))),
    fast_forward_spin: slots(8, || fast_forward::with_wait(8, Spin)),
    fast_forward_park: slots(8, || fast_forward::with_wait(8, Park::new())),
    fast_forward_in_place_1: slots(1, || fast_forward::in_place(1)),
    fast_forward_in_place_61: slots(61, || fast_forward::in_place(61)),
    bbq_2x1: blocks(2, 1, || mpmc::shared(2, 1)),
    bbq_2x8: blocks(2, 8, || mpmc::shared(2, 8)),
    bbq_8x3: blocks(8, 3, || mpmc::shared(8, 3)),
    bbq_round_wraps: blocks(2, 3, || mpmc::shared_from(ROUNDS * 2 - 3, 2, 3, Yield)),
    bbq_head_wraps: blocks(4, 2, || mpmc::shared_from(u64::MAX - 5, 4, 2, Yield)),
    bbq_park: blocks(2, 3, || mpmc::with_wait(2, 3, Park::new())),
    bbq_mpsc_2x1: blocks(2, 1, || mpsc::mpsc(2, 1)),
    bbq_mpsc_8x3: blocks(8, 3, || mpsc::mpsc(8, 3)),
    bbq_mpsc_round_wraps: blocks(2, 3, || mpsc::mpsc_from(ROUNDS * 2 - 3, 2, 3, Yield)),
    bbq_mpsc_head_wraps: blocks(4, 2, || mpsc::mpsc_from(u64::MAX - 5, 4, 2, Yield)),
    bbq_mpsc_park: blocks(2, 3, || mpsc::with_wait(2, 3, Park::new())),
    bbq_spmc_2x1: blocks(2, 1, || spmc::spmc(2, 1)),
    bbq_spmc_8x3: blocks(8, 3, || spmc::spmc(8, 3)),
    bbq_spmc_round_wraps: blocks(2, 3, || spmc::spmc_from(ROUNDS * 2 - 3, 2, 3, Yield)),
    bbq_spmc_head_wraps: blocks(4, 2, || spmc::spmc_from(u64::MAX - 5, 4, 2, Yield)),
    bbq_spmc_park: blocks(2, 3, || spmc::with_wait(2, 3, Park::new())),
    bbq_spsc_2x1: blocks(2, 1, || spsc::spsc(2, 1)),
    bbq_spsc_8x3: blocks(8, 3, || spsc::spsc(8, 3)),
    bbq_spsc_2x40: blocks(2, 40, || spsc::spsc(2, 40)),
    bbq_spsc_positions_wrap: blocks(4, 3, || spsc::spsc_from(u64::MAX - 5, 4, 3, Yield)),
    chunk_ring_smallest: between(1, 2, || growing::with_chunks(1, 2, Most::Entries(2))),
    chunk_ring_of_ones: between(8, 9, || growing::with_chunks(1, 2, Most::Entries(9))),
    chunk_ring_fixed: between(56, 64, || growing::with_chunks(8, 64, Most::Entries(64))),
    chunk_ring_doubles: between(36, 100, || growing::with_chunks(64, 2, Most::Entries(100))),
    chunk_ring_of_threes: between(37, 40, || growing::with_chunks(3, 7, Most::Entries(40))),
    chunk_ring_park: between(37, 40, || growing::with_wait(3, 7, Most::Entries(40), Park::new())),
    lamport_plain_1: exactly(1, || lamport::plain(1)),
    lamport_plain_61: exactly(61, || lamport::plain(61)),
    lamport_cached_1: exactly(1, || lamport::cached(1)),
    lamport_cached_61: exactly(61, || lamport::cached(61)),
    mesh_1x1: between(21, 24, || one_by_one(24, Yield)),
    mesh_park: between(4, 5, || one_by_one(5, Park::new())),
    ticketed_1: exactly(1, || ticketed::with_counters(1, 1)),
    ticketed_16: exactly(16, || ticketed::with_counters(16, 1)),
    ticketed_park: exactly(8, || ticketed::with_wait(8, 1, Park::new())),
    locked_1: exactly(1, || locked::locked(1)),
    locked_61: exactly(61, || locked::locked(61)),
    mt_1: exactly(1, || tube(ring::Mt::new(1))),
    mt_7: exactly(7, || tube(ring::Mt::new(7))),
    mt_wraps: exactly(8, || tube(ring::Mt::starting_at(WRAP, 8))),
    rts_1: exactly(1, || tube(ring::Rts::new(1))),
    rts_7: exactly(7, || tube(ring::Rts::new(7))),
    rts_wraps: exactly(16, || tube(ring::Rts::starting_at(WRAP, 16))),
    hts_1: exactly(1, || tube(ring::Hts::new(1))),
    hts_7: exactly(7, || tube(ring::Hts::new(7))),
    hts_wraps: exactly(8, || tube(ring::Hts::starting_at(WRAP, 8))),
    scqd_1: exactly(1, || tube(Scqd::new(1))),
    scqd_7: exactly(7, || tube(Scqd::new(7))),
    scqd_64: exactly(64, || tube(Scqd::new(64))),
    faaq_2x1: blocks(2, 1, || tube(faaq::Faaq::new(2, 1))),
    faaq_2x8: blocks(2, 8, || tube(faaq::Faaq::new(2, 8))),
    faaq_8x3: blocks(8, 3, || tube(faaq::Faaq::new(8, 3))),
    faaq_round_wraps: blocks(2, 3, || tube(faaq::Faaq::starting_at(TUBE_ROUNDS, 2, 3))),
    faaq_head_wraps: blocks(4, 2, || tube(faaq::Faaq::starting_at(u64::MAX - 5, 4, 2))),
    bbq_tube_2x1: blocks(2, 1, || tube(faaq::Bbq::new(2, 1))),
    bbq_tube_4x2: blocks(4, 2, || tube(faaq::Bbq::starting_at(u64::MAX - 5, 4, 2))),
    cnq_2x1: blocks(2, 1, || cnq::over(Scqd::new(2)?, 2, 1, 1)),
    cnq_2x3: blocks(2, 3, || cnq::over(Scqd::new(2)?, 2, 3, 6)),
    cnq_4x2: blocks(4, 2, || cnq::over(Scqd::new(4)?, 4, 2, 8)),
    cnq_70x1: blocks(70, 1, || cnq::over(Scqd::new(70)?, 70, 1, 10)),
    cnq_number_wraps: blocks(4, 2, || cnq::starting_at(CAPSULES, Scqd::new(4)?, 4, 2, 8)),
    cnq_counter_wraps: blocks(4, 1, || cnq::starting_at(u64::MAX - 5, Scqd::new(4)?, 4, 1, 4)),
    cnq_mt_4x2: blocks(4, 2, || cnq::over(ring::Mt::new(4)?, 4, 2, 4)),
    cnq_rts_8x2: blocks(8, 2, || cnq::over(ring::Rts::new(8)?, 8, 2, 16)),
    cnq_hts_3x3: blocks(3, 3, || cnq::over(ring::Hts::new(3)?, 3, 3, 5)),
    cnq_faaq_4x2: blocks(4, 2, || cnq::over(faaq::Faaq::new(4, 1)?, 4, 2, 8)),
    cnq_bbq_4x2: blocks(4, 2, || cnq::over(faaq::Bbq::new(4, 1)?, 4, 2, 4)),
}

many::promises! {
    bbq_2x1_shared: blocks(2, 1, || mpmc::shared(2, 1)),
    bbq_2x8_shared: blocks(2, 8, || mpmc::shared(2, 8)),
    bbq_8x64_shared: blocks(8, 64, || mpmc::shared(8, 64)),
    bbq_park_shared: blocks(2, 3, || mpmc::with_wait(2, 3, Park::new())),
    ticketed_32_shared: exactly(32, || ticketed::with_counters(32, 1)),
    locked_1_shared: exactly(1, || locked::locked(1)),
    locked_park_shared: exactly(3, || locked::with_wait(3, Park::new())),
    mt_2_shared: exactly(2, || tube(ring::Mt::new(2))),
    mt_64_shared: exactly(64, || tube(ring::Mt::starting_at(WRAP, 64))),
    rts_2_shared: exactly(2, || tube(ring::Rts::new(2))),
    rts_64_shared: exactly(64, || tube(ring::Rts::starting_at(WRAP, 64))),
    rts_park_shared: exactly(8, || ring::Rts::new(8).map(|ring| tube::with_wait(ring, Park::new()))),
    hts_2_shared: exactly(2, || tube(ring::Hts::new(2))),
    hts_64_shared: exactly(64, || tube(ring::Hts::starting_at(WRAP, 64))),
    scqd_4_shared: exactly(4, || tube(Scqd::new(4))),
    scqd_64_shared: exactly(64, || tube(Scqd::new(64))),
    scqd_park_shared: exactly(8, || Scqd::new(8).map(|tube| tube::with_wait(tube, Park::new()))),
    faaq_2x1_shared: blocks(2, 1, || tube(faaq::Faaq::new(2, 1))),
    faaq_2x8_shared: blocks(2, 8, || tube(faaq::Faaq::starting_at(TUBE_ROUNDS, 2, 8))),
    faaq_8x64_shared: blocks(8, 64, || tube(faaq::Faaq::new(8, 64))),
    faaq_park_shared: blocks(2, 3, || faaq::Faaq::new(2, 3).map(|tube| tube::with_wait(tube, Park::new()))),
    bbq_tube_2x8_shared: blocks(2, 8, || tube(faaq::Bbq::new(2, 8))),
}

many::numbered! {
    bbq_2x1_numbered: blocks(2, 1, || mpmc::shared(2, 1)),
    bbq_8x64_numbered: blocks(8, 64, || mpmc::shared(8, 64)),
    bbq_round_wraps_numbered: blocks(2, 3, || mpmc::shared_from(ROUNDS * 2 - 3, 2, 3, Yield))
        .numbered_from((ROUNDS * 2 - 3) * 3),
    bbq_head_wraps_numbered: blocks(4, 2, || mpmc::shared_from(u64::MAX - 5, 4, 2, Yield))
        .numbered_from((u64::MAX - 5).wrapping_mul(2)),
    ticketed_1_numbered: exactly(1, || ticketed::with_counters(1, 1)),
    ticketed_park_numbered: exactly(4, || ticketed::with_wait(4, 1, Park::new())),
    locked_61_numbered: exactly(61, || locked::locked(61)),
}

many::to_one! {
    bbq_mpsc_2x1_to_one: blocks(2, 1, || mpsc::mpsc(2, 1)),
    bbq_mpsc_8x64_to_one: blocks(8, 64, || mpsc::mpsc(8, 64)),
    bbq_mpsc_park_to_one: blocks(2, 3, || mpsc::with_wait(2, 3, Park::new())),
    bbq_mpsc_round_wraps_to_one: blocks(2, 3, || mpsc::mpsc_from(ROUNDS * 2 - 3, 2, 3, Yield))
        .numbered_from((ROUNDS * 2 - 3) * 3),
}

many::from_one! {
    bbq_spmc_2x1_from_one: blocks(2, 1, || spmc::spmc(2, 1)),
    bbq_spmc_8x64_from_one: blocks(8, 64, || spmc::spmc(8, 64)),
    bbq_spmc_park_from_one: blocks(2, 3, || spmc::with_wait(2, 3, Park::new())),
    bbq_spmc_round_wraps_from_one: blocks(2, 3, || spmc::spmc_from(ROUNDS * 2 - 3, 2, 3, Yield))
        .numbered_from((ROUNDS * 2 - 3) * 3),
}

many::loose! {
    cnq_8x2_loose: blocks(8, 2, || cnq::over(Scqd::new(8)?, 8, 2, 16)),
    cnq_64x16_loose: blocks(64, 16, || cnq::over(Scqd::new(64)?, 64, 16, 256)),
    cnq_faaq_8x2_loose: blocks(8, 2, || cnq::over(faaq::Faaq::new(2, 8)?, 8, 2, 16)),
    cnq_bbq_8x2_loose: blocks(8, 2, || cnq::over(faaq::Bbq::new(8, 1)?, 8, 2, 16)),
    cnq_park_loose: blocks(8, 2, || cnq::with_wait(Scqd::new(8)?, 8, 2, 16, Park::new())),
}

waiting::promises! {
    fast_forward_waiting: wait => slots(5, move || fast_forward::with_wait(5, wait())),
    fast_forward_in_place_waiting: wait => slots(5, move || fast_forward::in_place_with_wait(5, wait())),
    bbq_waiting: wait => blocks(2, 3, move || mpmc::with_wait(2, 3, wait())),
    bbq_mpsc_waiting: wait => blocks(2, 3, move || mpsc::with_wait(2, 3, wait())),
    bbq_spmc_waiting: wait => blocks(2, 3, move || spmc::with_wait(2, 3, wait())),
    bbq_spsc_waiting: wait => blocks(2, 3, move || spsc::with_wait(2, 3, wait())),
    chunk_ring_fixed_waiting: wait => between(4, 5, move || growing::with_wait(1, 5, Most::Entries(5), wait())),
    chunk_ring_growing_waiting: wait => between(5, 7, move || growing::with_wait(2, 3, Most::Entries(7), wait())),
    lamport_plain_waiting: wait => exactly(4, move || lamport::with_wait::<_, _, lamport::Plain>(4, wait())),
    lamport_cached_waiting: wait => exactly(4, move || lamport::with_wait::<_, _, lamport::Cached>(4, wait())),
    mesh_waiting: wait => between(4, 5, move || one_by_one(5, wait())),
    ticketed_waiting: wait => exactly(4, move || ticketed::with_wait(4, 1, wait())),
    locked_waiting: wait => exactly(4, move || locked::with_wait(4, wait())),
    mt_waiting: wait => exactly(4, move || ring::Mt::new(4).map(|tube| tube::with_wait(tube, wait()))),
    rts_waiting: wait => exactly(4, move || ring::Rts::new(4).map(|tube| tube::with_wait(tube, wait()))),
    hts_waiting: wait => exactly(4, move || ring::Hts::new(4).map(|tube| tube::with_wait(tube, wait()))),
    scqd_waiting: wait => exactly(4, move || Scqd::new(4).map(|tube| tube::with_wait(tube, wait()))),
    faaq_waiting: wait => blocks(2, 3, move || faaq::Faaq::new(2, 3).map(|tube| tube::with_wait(tube, wait()))),
    bbq_tube_waiting: wait => blocks(2, 3, move || faaq::Bbq::new(2, 3).map(|tube| tube::with_wait(tube, wait()))),
    cnq_waiting: wait => blocks(4, 2, move || cnq::with_wait(Scqd::new(4)?, 4, 2, 8, wait())),
    cnq_by_k_waiting: wait => blocks(8, 1, move || cnq::cnq_with_wait(8, 8, wait())),
}

/// Every queue in a few shapes, for the promises of this file's list that follow.
macro_rules! every_queue {
    ($($promises:ident)::+) => {
        $($promises)::+! {
            fast_forward_61: slots(61, || fast_forward::fast_forward(61)),
            fast_forward_slip: slots(8, || fast_forward::fast_forward(8).map(|(tx, rx)| (tx, rx.with_slip(Slip::default())))),
            fast_forward_in_place_8: slots(8, || fast_forward::in_place(8)),
            bbq_2x1: blocks(2, 1, || mpmc::shared(2, 1)),
            bbq_4x10: blocks(4, 10, || mpmc::shared(4, 10)),
            bbq_round_wraps: blocks(2, 3, || mpmc::shared_from(ROUNDS * 2 - 3, 2, 3, Yield)),
            bbq_mpsc_2x1: blocks(2, 1, || mpsc::mpsc(2, 1)),
            bbq_mpsc_4x10: blocks(4, 10, || mpsc::mpsc(4, 10)),
            bbq_spmc_2x1: blocks(2, 1, || spmc::spmc(2, 1)),
            bbq_spmc_4x10: blocks(4, 10, || spmc::spmc(4, 10)),
            bbq_spsc_2x1: blocks(2, 1, || spsc::spsc(2, 1)),
            bbq_spsc_4x10: blocks(4, 10, || spsc::spsc(4, 10)),
            chunk_ring_of_threes: between(37, 40, || growing::with_chunks(3, 7, Most::Entries(40))),
            lamport_plain_1: exactly(1, || lamport::plain(1)),
            lamport_cached_20: exactly(20, || lamport::cached(20)),
            mesh_24: between(21, 24, || one_by_one(24, Yield)),
            ticketed_1: exactly(1, || ticketed::ticketed(1)),
            ticketed_16: exactly(16, || ticketed::with_counters(16, 1)),
            locked_7: exactly(7, || locked::locked(7)),
            mt_7: exactly(7, || tube(ring::Mt::new(7))),
            rts_7: exactly(7, || tube(ring::Rts::new(7))),
            hts_7: exactly(7, || tube(ring::Hts::new(7))),
            scqd_7: exactly(7, || tube(Scqd::new(7))),
            faaq_2x8: blocks(2, 8, || tube(faaq::Faaq::new(2, 8))),
            bbq_tube_2x8: blocks(2, 8, || tube(faaq::Bbq::new(2, 8))),
            cnq_8x2: blocks(8, 2, || cnq::over(Scqd::new(8)?, 8, 2, 16)),
        }
    };
}
mod in_batches {
    use crate::*;
    every_queue! { batches::promises }
}
mod in_panic {
    use crate::*;
    every_queue! { panics::promises }
}

grants::promises! {
    fast_forward_in_place_grants: slots(8, || fast_forward::in_place(8)),
    bbq_spsc_2x1_grants: blocks(2, 1, || spsc::spsc(2, 1)),
    bbq_spsc_4x10_grants: blocks(4, 10, || spsc::spsc(4, 10)),
    chunk_ring_fixed_grants: between(56, 64, || growing::with_chunks(8, 64, Most::Entries(64))),
    chunk_ring_of_threes_grants: between(37, 40, || growing::with_chunks(3, 7, Most::Entries(40))),
    lamport_plain_grants: exactly(1, || lamport::plain(1)),
    lamport_cached_grants: exactly(20, || lamport::cached(20)),
    mesh_grants: between(21, 24, || one_by_one(24, Yield)),
}

grants::write_promises! {
    bbq_spmc_2x1_grants: blocks(2, 1, || spmc::spmc(2, 1)),
    bbq_spmc_4x10_grants: blocks(4, 10, || spmc::spmc(4, 10)),
}

grants::read_promises! {
    bbq_mpsc_2x1_grants: blocks(2, 1, || mpsc::mpsc(2, 1)),
    bbq_mpsc_4x10_grants: blocks(4, 10, || mpsc::mpsc(4, 10)),
}

/// Items that are copied, in slices of every length.
#[test]
fn slices_of_every_length() {
    use batches::through_slices;
    through_slices(fast_forward::fast_forward::<NonZeroU64>(61).unwrap());
    through_slices(fast_forward::in_place::<u64>(61).unwrap());
    for (blocks, entries) in [(2, 1), (2, 40), (4, 33), (8, 64)] {
        through_slices(mpmc::shared::<NonZeroU64>(blocks, entries).unwrap());
        through_slices(mpsc::mpsc::<u64>(blocks, entries).unwrap());
        through_slices(spmc::spmc::<u64>(blocks, entries).unwrap());
        through_slices(spsc::spsc::<u64>(blocks, entries).unwrap());
        through_slices(faaq::shared::<u64>(blocks, entries).unwrap());
    }
    through_slices(growing::with_chunks::<u64>(3, 7, Most::Entries(40)).unwrap());
    through_slices(growing::chunk_ring::<u64>(64, Most::Entries(2_048)).unwrap());
    through_slices(lamport::plain::<u64>(61).unwrap());
    through_slices(lamport::cached::<u64>(61).unwrap());
    through_slices(one_by_one::<u64, _>(61, Yield).unwrap());
    through_slices(ticketed::ticketed::<u64>(64).unwrap());
    through_slices(locked::locked::<u64>(61).unwrap());
    through_slices(cnq::cnq::<u64>(256, 64).unwrap());
}
