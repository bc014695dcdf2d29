//! Which sizes are refused, and what the refusal says: the parameter, what was asked for, and what is possible.

use crate::one_by_one;
use thalweg_queue::growing::{self, Most};
use thalweg_queue::research::tube::{Tube, ring, scqd::Scqd};
use thalweg_queue::{
    BuildError, Yield, mpmc, mpsc, overwriting,
    research::{cnq, faaq, lamport, locked, mesh, ticketed},
    spmc, spsc,
    spsc::fast_forward,
    stealing,
};

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
        let most = most.parse::<usize>().unwrap();
        assert!(most < huge, "{text}");
        assert_eq!(refusal(build(most + 1)), format!("{parameter} must be at most {most}, not {}", most + 1));
    }
    assert!(build(min).is_ok(), "{min} is possible");
}

type Item = [u64; 3];

#[test]
fn capacities() {
    limits("capacity", 1, fast_forward::fast_forward::<Box<Item>>);
    limits("capacity", 1, fast_forward::in_place::<Item>);
    limits("capacity", 1, lamport::plain::<Item>);
    limits("capacity", 1, lamport::cached::<Item>);
    limits("capacity", 1, locked::locked::<Item>);
    limits("capacity", 1, ticketed::ticketed::<Item>);
    limits("capacity", 1, ring::Mt::<Item>::new);
    limits("capacity", 1, ring::Rts::<Item>::new);
    limits("capacity", 1, ring::Hts::<Item>::new);
    limits("capacity", 1, Scqd::<Item>::new);
    limits("capacity", 1, mpmc::with_capacity::<Item>);
    limits("capacity", 1, mpsc::with_capacity::<Item>);
    limits("capacity", 1, spmc::with_capacity::<Item>);
    limits("capacity", 1, spsc::with_capacity::<Item>);
    limits("capacity", 2, |capacity| cnq::cnq::<Item>(capacity, 1));
    limits("first", 2, |first| growing::chunk_ring::<Item>(first, Most::Entries(usize::MAX)));
    limits("first", 2, |first| one_by_one::<Item, _>(first, Yield));
    // As many words as there are in all lines of the address space but two.
    let most = (isize::MAX as usize / 64 - 2) * (64 / size_of::<usize>());
    let text = format!("capacity must be at most {most}, not {}", usize::MAX);
    assert_eq!(refusal(fast_forward::fast_forward::<Box<Item>>(usize::MAX)), text);
    limits("capacity", 1, mpmc::with_room::<Item>);
    limits("capacity", 1, overwriting::with_capacity::<Item>);
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
    check!(mpsc::mpsc::<Item>, spmc::spmc::<Item>);
    check!(
        mpmc::shared::<Item>,
        spsc::spsc::<Item>,
        faaq::shared::<Item>,
        stealing::lifo::<Item>,
        stealing::fifo::<Item>
    );
    assert_eq!(refusal(mpmc::shared::<Item>(3, 1)), "blocks must be a power of two, not 3; 4 is the next");
    assert_eq!(refusal(spsc::spsc::<Item>(12, 1)), "blocks must be a power of two, not 12; 16 is the next");
    assert_eq!(refusal(faaq::shared::<Item>(6, 1)), "blocks must be a power of two, not 6; 8 is the next");
}

#[test]
fn other_shapes() {
    assert_eq!(refusal(ticketed::ticketed::<Item>(12)), "capacity must be a power of two, not 12; 16 is the next");
    assert_eq!(refusal(ticketed::with_counters::<Item>(16, 65)), "counters must be at most 64, not 65");
    assert_eq!(refusal(mesh::mesh::<Item>(0, 1, 4, 4)), "producers must be at least 1, not 0");
    assert_eq!(refusal(mesh::mesh::<Item>(1, 0, 4, 4)), "consumers must be at least 1, not 0");
    assert_eq!(refusal(mesh::mesh::<Item>(2, 1 << 20, 4, 4)), "consumers must be at most 65536, not 1048576");
    assert_eq!(refusal(growing::chunk_ring::<Item>(8, Most::Entries(7))), "most entries must be at least 8, not 7");
    assert!(refusal(growing::chunk_ring::<Item>(8, Most::Bytes(7))).starts_with("most bytes must be at least "));
    assert_eq!(refusal(growing::with_chunks::<Item>(0, 8, Most::Entries(8))), "chunk must be at least 1, not 0");
    assert_eq!(refusal(cnq::cnq::<Item>(64, 0)), "k must be at least 1, not 0");
    assert_eq!(refusal(cnq::cnq::<Item>(64, 65)), "k must be at most 64, not 65");
    let over = |capsules, entries, k| refusal(cnq::over::<Item, _>(Scqd::new(8).unwrap(), capsules, entries, k));
    assert_eq!(over(1, 4, 4), "capsules must be at least 2, not 1");
    assert_eq!(over(8, 0, 4), "entries must be at least 1, not 0");
    assert_eq!(over(8, 4, 33), "k must be at most 32, not 33");
    assert_eq!(over(9, 4, 8), "the tube's capacity must be at least 9, not 8");
    assert!(over(8, usize::MAX, 4).starts_with("entries must be at most "));
    let used = Scqd::new(8).unwrap();
    let entry = used.allocate().expect("the tube is empty");
    // SAFETY: the entry was allocated, and is produced once.
    unsafe { used.produce(entry, 3) };
    let refused = refusal(cnq::over::<Item, _>(used, 8, 4, 4));
    assert_eq!(refused, "the number of items in the tube must be at most 0, not 1");
}

/// A limit that is named for one number holds with the others as they are: it is not refused, but for want of memory.
#[test]
fn what_is_named_is_possible() {
    /// Of so many bytes that what is asked for here exceeds the address space.
    type Large = [u64; 1 << 17];
    let named = |built: Result<(), BuildError>| match built {
        Err(BuildError::TooLarge { max, .. }) => max,
        other => panic!("{other:?} names no limit"),
    };
    let lacking =
        |built: Result<(), BuildError>| assert!(matches!(built, Err(BuildError::OutOfMemory { .. })), "{built:?}");

    let blocks = |blocks| stealing::lifo::<Large>(blocks, 1 << 31).map(drop);
    assert_eq!(named(blocks(usize::MAX)), (1 << 12) - 1);
    assert_eq!(named(blocks(1 << 32)), (1 << 12) - 1);
    lacking(blocks((1 << 12) - 1));
    let capacity = ticketed::ticketed::<Large>(usize::MAX).map(drop);
    assert_eq!(named(capacity), 1 << 41);
    lacking(ticketed::ticketed::<Large>(1 << 41).map(drop));
    let over = |capsules| cnq::over::<[Large; 1 << 10], _>(Scqd::new(8).unwrap(), capsules, (1 << 20) - 1, 8).map(drop);
    assert_eq!(named(over(usize::MAX)), (1 << 13) - 1);
    let refused = over((1 << 13) - 1).unwrap_err().to_string();
    assert_eq!(refused, "the tube's capacity must be at least 8191, not 8");
    let k = |k| cnq::cnq::<Item>(usize::MAX, k).map(drop);
    assert_eq!((named(k(usize::MAX)), named(k(1 << 20))), (128 * ((1 << 20) - 1), 128 * ((1 << 20) - 1)));

    for producers in [1, 2, 3, 6, 1 << 15, 65521] {
        for consumers in [1 << 16, 65535, 65534, 1 << 20, 3 << 20, usize::MAX] {
            let rings = |producers: usize, consumers: usize| {
                let (mut a, mut b) = (producers, consumers);
                while b > 0 {
                    (a, b) = (b, a % b);
                }
                (producers / a).saturating_mul(consumers)
            };
            if rings(producers, consumers) <= 1 << 16 {
                continue;
            }
            let max = named(mesh::mesh::<Item>(producers, consumers, 4, 4).map(drop));
            assert!(rings(producers, max) <= 1 << 16 && max < consumers, "{producers}: {max} of {consumers}");
            let next = mesh::mesh::<Item>(producers, max + 1, 4, 4).map(drop);
            assert_eq!(named(next), max, "{producers} to {consumers}");
            let max = named(mesh::mesh::<Item>(1 << 20, producers, 4, 4).map(drop));
            assert!(rings(max, producers) <= 1 << 16, "{max} for {producers}");
        }
    }
}

/// The fewest bytes that a chunk ring can be limited to, and one fewer.
#[test]
fn the_fewest_bytes_are_named() {
    fn of<T: Send>(first: usize) {
        let build = |bytes| growing::chunk_ring::<T>(first, Most::Bytes(bytes)).map(drop);
        let named = |bytes| match build(bytes) {
            Err(BuildError::TooSmall { parameter: "most bytes", value, min }) if value == bytes => min,
            other => panic!("{first} in {bytes}: {other:?}"),
        };
        let min = named(0);
        assert_eq!((build(min), named(min - 1)), (Ok(()), min), "{first}");
        [1, min / 7, min / 2].into_iter().for_each(|bytes| assert_eq!(named(bytes), min, "{first} in {bytes}"));
        assert_eq!((build(min + 1), build(min * 3 / 2), build(min * 9)), (Ok(()), Ok(()), Ok(())));
    }
    for first in [2, 3, 7, 16, 100, 2000, 4097] {
        of::<u8>(first);
        of::<u64>(first);
        of::<Item>(first);
        of::<[u8; 1000]>(first);
    }
}
