//! Which sizes are refused, and what the refusal says: the parameter, what was asked for, and what is possible.

use crate::one_by_one;
use thalweg_queue::chunk_ring::{self, Most};
use thalweg_queue::tube::{ring, scqd::Scqd};
use thalweg_queue::{BuildError, Yield, bbq, bwos, cnq, faaq, fast_forward, lamport, locked, mesh, ticketed};

/// The refusal's text.
#[track_caller]
fn refusal<T>(built: Result<T, BuildError>) -> String {
    built.err().expect("it cannot be built").to_string()
}

/// What is refused of `build` for one number: nothing below `min`, and nothing that no memory could hold.
#[track_caller]
fn limits<T>(parameter: &str, min: usize, build: impl Fn(usize) -> Result<T, BuildError>) {
    assert_eq!(refusal(build(min - 1)), format!("{parameter} must be at least {min}, not {}", min - 1));
    for huge in [usize::MAX, usize::MAX - 1, usize::MAX / 2 + 1] {
        let text = refusal(build(huge));
        let most = text.strip_prefix(&format!("{parameter} must be at most ")).expect(&text);
        let most = most.strip_suffix(&format!(", not {huge}")).expect(&text);
        assert!(most.parse::<usize>().unwrap() < huge, "{text}");
    }
    assert!(build(min).is_ok(), "{min} is possible");
}

type Item = [u64; 3];

#[test]
fn capacities() {
    limits("capacity", 1, fast_forward::<Box<Item>>);
    limits("capacity", 1, fast_forward::in_place::<Item>);
    limits("capacity", 1, lamport::plain::<Item>);
    limits("capacity", 1, lamport::cached::<Item>);
    limits("capacity", 1, locked::locked::<Item>);
    limits("capacity", 1, ticketed::ticketed::<Item>);
    limits("capacity", 1, ring::Mt::<Item>::new);
    limits("capacity", 1, ring::Rts::<Item>::new);
    limits("capacity", 1, ring::Hts::<Item>::new);
    limits("capacity", 1, Scqd::<Item>::new);
    limits("capacity", 1, bbq::with_capacity::<Item>);
    limits("capacity", 1, bbq::mpsc::with_capacity::<Item>);
    limits("capacity", 1, bbq::spmc::with_capacity::<Item>);
    limits("capacity", 1, bbq::spsc::with_capacity::<Item>);
    limits("capacity", 2, |capacity| cnq::cnq::<Item>(capacity, 1));
    limits("first", 2, |first| chunk_ring::chunk_ring::<Item>(first, Most::Entries(usize::MAX)));
    limits("first", 2, |first| one_by_one::<Item, _>(first, Yield));
    // As many words as there are in all lines of the address space but two.
    let most = (isize::MAX as usize / 64 - 2) * (64 / size_of::<usize>());
    let text = format!("capacity must be at most {most}, not {}", usize::MAX);
    assert_eq!(refusal(fast_forward::<Box<Item>>(usize::MAX)), text);
    // Nothing takes no memory, but the words beside it do.
    limits("capacity", 1, fast_forward::in_place::<()>);
    limits("capacity", 1, ticketed::ticketed::<()>);
}

#[test]
fn blocks_and_entries() {
    macro_rules! check {
        ($($build:expr),+ $(,)?) => {
            $(limits("entries", 1, |entries| $build(2, entries));
            assert_eq!(refusal($build(1, 1)), "blocks must be at least 2, not 1");
            assert_eq!(refusal($build(0, 1)), "blocks must be at least 2, not 0");
            assert!(refusal($build(usize::MAX, 1)).starts_with("blocks must be at most "));)+
        };
    }
    check!(bbq::mpsc::<Item>, bbq::spmc::<Item>);
    check!(bbq::shared::<Item>, bbq::spsc::<Item>, faaq::shared::<Item>, bwos::lifo::<Item>, bwos::fifo::<Item>);
    assert_eq!(refusal(bbq::shared::<Item>(3, 1)), "blocks must be a power of two, not 3; 4 is the next");
    assert_eq!(refusal(bbq::spsc::<Item>(12, 1)), "blocks must be a power of two, not 12; 16 is the next");
    assert_eq!(refusal(faaq::shared::<Item>(6, 1)), "blocks must be a power of two, not 6; 8 is the next");
}

#[test]
fn other_shapes() {
    assert_eq!(refusal(ticketed::ticketed::<Item>(12)), "capacity must be a power of two, not 12; 16 is the next");
    assert_eq!(refusal(ticketed::with_counters::<Item>(16, 65)), "counters must be at most 64, not 65");
    assert_eq!(refusal(mesh::mesh::<Item>(0, 1, 4, 4)), "producers must be at least 1, not 0");
    assert_eq!(refusal(mesh::mesh::<Item>(1, 0, 4, 4)), "consumers must be at least 1, not 0");
    assert_eq!(refusal(mesh::mesh::<Item>(2, 1 << 20, 4, 4)), "consumers must be at most 65536, not 1048576");
    assert_eq!(refusal(chunk_ring::chunk_ring::<Item>(8, Most::Entries(7))), "most entries must be at least 8, not 7");
    assert!(refusal(chunk_ring::chunk_ring::<Item>(8, Most::Bytes(7))).starts_with("most bytes must be at least "));
    assert_eq!(refusal(chunk_ring::with_chunks::<Item>(0, 8, Most::Entries(8))), "chunk must be at least 1, not 0");
    assert_eq!(refusal(cnq::cnq::<Item>(64, 0)), "k must be at least 1, not 0");
    assert_eq!(refusal(cnq::cnq::<Item>(64, 65)), "k must be at most 64, not 65");
    let over = |capsules, entries, k| refusal(cnq::over::<Item, _>(Scqd::new(8).unwrap(), capsules, entries, k));
    assert_eq!(over(1, 4, 4), "capsules must be at least 2, not 1");
    assert_eq!(over(8, 0, 4), "entries must be at least 1, not 0");
    assert_eq!(over(8, 4, 33), "k must be at most 32, not 33");
    assert_eq!(over(9, 4, 8), "the tube's capacity must be at least 9, not 8");
    assert!(over(8, usize::MAX, 4).starts_with("entries must be at most "));
}
