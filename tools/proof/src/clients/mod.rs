//! The clients, by queue.

mod bbq;
mod broadcast;
mod bwos;
mod bytes;
mod chunk_ring;
mod cnq;
mod drop_old;
mod ends;
mod fast_forward;
mod fixed;
mod lamport;
mod mesh;
mod mpsc;
mod oneshot;
mod phases;
mod rendezvous;
mod select;
mod spmc;
mod spsc;
mod ticketed;
mod tubes;
mod unbounded;
mod waiting;
mod watch;

use crate::Client;
use thalweg_check::history::{Log, Queue};
use thalweg_queue::{TryPopError, TryPushError};

/// All clients.
pub(crate) const ALL: &[Client] = &concat::<{ count(LISTS) }>(LISTS);

/// The clients by queue, the cheaper first.
const LISTS: &[&[Client]] = &[
    FIRST,
    fast_forward::CLIENTS,
    SECOND,
    cnq::THESIS,
    spsc::CLIENTS,
    mpsc::CLIENTS,
    spmc::CLIENTS,
    tubes::MT,
    tubes::RTS,
    tubes::HTS,
    tubes::SCQD,
    phases::SCQD,
    tubes::BLOCKS,
    tubes::FAAQ,
    phases::FAAQ,
    ticketed::CLIENTS,
    mesh::CLIENTS,
    waiting::CLIENTS,
    fixed::CLIENTS,
    oneshot::CLIENTS,
    watch::CLIENTS,
    unbounded::CLIENTS,
    select::CLIENTS,
    broadcast::CLIENTS,
    rendezvous::CLIENTS,
];

/// The clients that come one by one.
const FIRST: &[Client] = &[
    bbq::ONE_TO_ONE_1,
    bbq::ONE_TO_ONE_2,
    bbq::AGED,
    bbq::ROLES_1,
    bbq::ROLES_2,
    bbq::END,
    bbq::CLOSE,
    bbq::CLOSE_BEHIND,
    bbq::FULL,
    bbq::FULL_MANY,
    bbq::LATE,
    bbq::HOLES,
    bbq::TWO_HOLES,
    bbq::BEHIND_1,
    bbq::BEHIND_3,
    bbq::TWO_PRODUCERS_1,
    bbq::TWO_PRODUCERS_2,
    bbq::THREE_PRODUCERS,
    bbq::THREE_TO_ONE,
    bbq::TWO_CONSUMERS_1,
    bbq::TWO_TO_TWO_1,
    bbq::TWO_TO_TWO_2,
    bbq::TWO_TO_TWO_AGAIN,
    bbq::EMPTIED,
    bbq::GONE,
    bbq::LAPS,
    drop_old::LAP_1,
    drop_old::LAP_2,
    drop_old::LAP_TWICE,
    drop_old::FOUR,
    drop_old::AGED,
    drop_old::ROLES_1,
    drop_old::ROLES_2,
    drop_old::END,
    drop_old::OVERTAKEN,
    drop_old::TWO_PRODUCERS,
    drop_old::HALF_WAY,
    drop_old::TWO_CONSUMERS,
    drop_old::JUMP,
    drop_old::HANDED,
    drop_old::BEGUN,
    drop_old::LATE,
    bytes::ONE_TO_ONE,
    bytes::AGED,
    bytes::END,
    bytes::BEHIND,
    bytes::ROLES,
    bytes::TWO_OVER_THE_EDGE,
    bytes::TWO_PRODUCERS,
    bytes::TWO_CONSUMERS,
    bytes::TAKEN,
    bytes::OVERTAKEN,
    bytes::FULL,
    bytes::EMPTY,
    bytes::LATE,
    bytes::LAP,
    bytes::LAP_TWO_PRODUCERS,
    bytes::LAP_TWO_CONSUMERS,
];

/// As `FIRST`.
const SECOND: &[Client] = &[
    lamport::PLAIN,
    lamport::CACHED,
    lamport::SWAP,
    lamport::RELAY,
    lamport::END,
    chunk_ring::FIXED,
    chunk_ring::GROWS,
    chunk_ring::GROWS_TWICE,
    chunk_ring::SWAP,
    chunk_ring::RELAY,
    chunk_ring::END,
    chunk_ring::SHRINKS,
    bwos::AGAIN_1_LIFO,
    bwos::AGAIN_1_FIFO,
    bwos::AGAIN_2_LIFO,
    bwos::AGAIN_2_FIFO,
    bwos::MEET_LIFO,
    bwos::MEET_FIFO,
    bwos::FILL_UP_LIFO,
    bwos::FILL_UP_FIFO,
    bwos::REUSE_LIFO,
    bwos::REUSE_FIFO,
    bwos::END_LIFO,
    bwos::END_FIFO,
    bwos::MORE_LIFO,
    bwos::MORE_FIFO,
    bwos::BATCHES_LIFO,
    bwos::BATCHES_FIFO,
    bwos::ANY_LIFO,
    bwos::ANY_FIFO,
    bwos::ANY_BATCH_LIFO,
    bwos::ANY_BATCH_FIFO,
    bwos::FOUND_1_LIFO,
    bwos::FOUND_1_FIFO,
    bwos::FOUND_2_LIFO,
    bwos::FOUND_2_FIFO,
    bwos::HANDED_LIFO,
    bwos::HANDED_FIFO,
    bwos::THESIS_LIFO,
    bwos::THESIS_FIFO,
    cnq::ONE_TO_ONE,
    cnq::SHARED,
    cnq::CLOSED,
    cnq::IDLE,
    cnq::FRAGMENT,
    cnq::END,
    cnq::ROLES,
    cnq::TWO_PRODUCERS,
    cnq::TWO_CONSUMERS,
    cnq::WINDOW,
    cnq::END_1,
    cnq::CLOSE,
    cnq::BEHIND,
    cnq::GONE,
    cnq::GIVEN_UP,
    cnq::BEGUN,
    cnq::WAITS,
    cnq::WAITS_BARE,
    cnq::PASSED_BARE,
    cnq::SHARED_BARE,
    cnq::ENDED_BARE,
    cnq::SHARED_CLOSED,
    cnq::ITEM,
    cnq::LEFT,
    cnq::LEFT_NEWER,
];

const fn count(lists: &[&[Client]]) -> usize {
    let (mut at, mut count) = (0, 0);
    while at < lists.len() {
        count += lists[at].len();
        at += 1;
    }
    count
}

const fn concat<const COUNT: usize>(lists: &[&[Client]]) -> [Client; COUNT] {
    let mut all = [lists[0][0]; COUNT];
    let (mut list, mut at, mut to) = (0, 0, 0);
    while to < COUNT {
        if at < lists[list].len() {
            all[to] = lists[list][at];
            (at, to) = (at + 1, to + 1);
        } else {
            (list, at) = (list + 1, 0);
        }
    }
    all
}

/// A payload of two words: half of one would be noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pair([u64; 2]);

impl Pair {
    fn new(number: u64) -> Self {
        Self([number, !number])
    }

    fn number(self) -> u64 {
        let Self([number, complement]) = self;
        assert_eq!(number, !complement, "half of an item");
        number
    }
}

/// A push, recorded. A refusal because nobody is left constrains nothing.
fn push<T>(log: &mut Log<Queue<u64>>, number: u64, push: impl FnOnce() -> Result<(), TryPushError<T>>) -> bool {
    let describe = |result: &Result<(), TryPushError<T>>| match result {
        Ok(()) => Queue::Pushed(number),
        Err(TryPushError::Full(_)) => Queue::Full,
        Err(TryPushError::Busy(_) | TryPushError::Closed(_)) => Queue::Busy,
    };
    log.call(push, describe).is_ok()
}

/// A pop, recorded.
fn pop<T>(
    log: &mut Log<Queue<u64>>,
    number: impl Fn(&T) -> u64,
    pop: impl FnOnce() -> Result<T, TryPopError>,
) -> Result<T, TryPopError> {
    log.call(pop, |result| match result {
        Ok(item) => Queue::Popped(number(item)),
        Err(TryPopError::Empty) => Queue::Empty,
        Err(TryPopError::Busy) => Queue::Busy,
        Err(TryPopError::Closed) => Queue::Closed,
    })
}
