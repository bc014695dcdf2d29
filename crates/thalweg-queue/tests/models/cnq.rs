//! CNQ under loom: small clients, and canaries that show that the model is awake.
//!
//! The tube is the simplest one, as tubes have models of their own. Two capsules are the fewest; with one entry each, every
//! push begins a capsule and every pop finishes one, and with two a capsule is shared while it is half full. The
//! clients are those of the thesis' Table 3.1 (C1 to C6: two producers and one consumer, one and two, two and two), and
//! one for each way in which a capsule is closed, given back and finished.

use crate::support::Leaked;
use thalweg_queue::edges::table::{Strength, Table, install};
use thalweg_queue::research::tube::ring::{Hts, Mt};
use thalweg_queue::wait::Ordinary;
use thalweg_queue::{TryPopError, TryPushError, research::cnq};
use thalweg_sync::atomic::{AtomicBool, Ordering};
use thalweg_sync::sync::Arc;
use thalweg_sync::{model_bounded, thread};

/// An item. loom reports one that is leaked or dropped twice; the entries report a read that its write does not happen
/// before, and a write that a read does not.
type Item = Arc<usize>;
type Producer = cnq::Producer<Item, Ordinary, Hts<u32>>;
type Consumer = cnq::Consumer<Item, Ordinary, Hts<u32>>;

/// Handles that a canary leaves as they are: dropping what is left would panic again.
fn queue(capsules: usize, entries: usize, k: usize) -> (Leaked<Producer>, Leaked<Consumer>) {
    let (tx, rx) = cnq::over(Hts::new(capsules).unwrap(), capsules, entries, k).unwrap();
    (Leaked::new(tx), Leaked::new(rx))
}

fn another_producer(tx: &Leaked<Producer>) -> Leaked<Producer> {
    Leaked::new((**tx).clone())
}

fn another_consumer(rx: &Leaked<Consumer>) -> Leaked<Consumer> {
    Leaked::new((**rx).clone())
}

/// Pushes up to `attempts` items, numbered from `first`. Returns the number after the last.
fn push_some(tx: &mut Producer, first: usize, attempts: usize) -> usize {
    let mut next = first;
    for _ in 0..attempts {
        match tx.try_push(Arc::new(next)) {
            Ok(()) => next += 1,
            Err(refused) => assert_eq!(*refused.into_inner(), next),
        }
    }
    next
}

/// Pushes `number`, again while the tube is busy.
fn push(tx: &mut Producer, number: usize) {
    let mut item = Arc::new(number);
    while let Err(refused) = tx.try_push(item) {
        assert!(matches!(refused, TryPushError::Busy(_)), "{refused:?} with room");
        item = refused.into_inner();
        thread::yield_now();
    }
}

/// What up to `attempts` pops find.
fn pop_some(rx: &mut Consumer, attempts: usize) -> Vec<usize> {
    (0..attempts).filter_map(|_| rx.try_pop().ok()).map(|item| *item).collect()
}

/// Pops until the queue is closed.
fn drain(rx: &mut Consumer) -> Vec<usize> {
    let mut popped = Vec::new();
    loop {
        match rx.try_pop() {
            Ok(item) => popped.push(*item),
            Err(TryPopError::Closed) => return popped,
            Err(TryPopError::Empty | TryPopError::Busy) => thread::yield_now(),
        }
    }
}

/// One producer, one consumer: FIFO.
fn order_is_kept(entries: usize, pushes: usize) {
    model_bounded(2, move || {
        let (tx, mut rx) = queue(2, entries, 2 * entries);
        let producer = thread::spawn(move || {
            let mut tx = tx;
            push_some(&mut tx, 0, pushes)
        });
        let mut popped = pop_some(&mut rx, pushes);
        let pushed = producer.join().unwrap();
        popped.extend(drain(&mut rx));
        assert!(popped.into_iter().eq(0..pushed));
    });
}

/// A producer and a consumer in one capsule.
fn a_capsule_is_shared() {
    model_bounded(3, || {
        let (mut tx, mut rx) = queue(2, 3, 6);
        push(&mut tx, 0);
        assert_eq!(*rx.try_pop().unwrap(), 0);
        let consumer = thread::spawn(move || (pop_some(&mut rx, 2), rx));
        push(&mut tx, 1);
        push(&mut tx, 2);
        drop(tx);
        let (mut popped, mut rx) = consumer.join().unwrap();
        popped.extend(drain(&mut rx));
        assert_eq!(popped, [1, 2]);
    });
}

/// A capsule is closed while its producer and its consumer are in it, and nothing else tells the consumer of an entry.
fn a_shared_capsule_is_closed() {
    model_bounded(1, || {
        let (mut tx, mut rx) = queue(3, 3, 1);
        push(&mut tx, 0);
        assert_eq!(*rx.try_pop().unwrap(), 0);
        let mut other = another_producer(&tx);
        let other = thread::spawn(move || push(&mut other, 10));
        let consumer = thread::spawn(move || (pop_some(&mut rx, 1), rx));
        push(&mut tx, 1);
        drop(tx);
        other.join().unwrap();
        let (mut popped, mut rx) = consumer.join().unwrap();
        popped.extend(drain(&mut rx));
        assert!(popped == [1, 10] || popped == [10, 1], "{popped:?}");
    });
}

/// Two producers (two items, one item), one consumer.
fn two_producers(capsules: usize, entries: usize, k: usize) {
    model_bounded(1, move || {
        let (mut tx, mut rx) = queue(capsules, entries, k);
        let mut other = another_producer(&tx);
        let other = thread::spawn(move || push_some(&mut other, 10, 1));
        let consumer = thread::spawn(move || (pop_some(&mut rx, 1), rx));
        let pushed = push_some(&mut tx, 0, 2);
        drop(tx);
        let others = other.join().unwrap();
        let (mut popped, mut rx) = consumer.join().unwrap();
        popped.extend(drain(&mut rx));
        let of = |range: std::ops::Range<usize>| popped.iter().copied().filter(move |item| range.contains(item));
        assert!(of(0..10).eq(0..pushed) && of(10..20).eq(10..others), "{popped:?}");
    });
}

/// One producer, two consumers; what one has in hand when it leaves goes to the other.
fn two_consumers(capsules: usize, entries: usize, k: usize) {
    model_bounded(1, move || {
        let (mut tx, mut rx) = queue(capsules, entries, k);
        let mut other = another_consumer(&rx);
        push(&mut tx, 0);
        let other = thread::spawn(move || pop_some(&mut other, 1));
        let producer = thread::spawn(move || push_some(&mut tx, 1, 2));
        let mut popped = pop_some(&mut rx, 1);
        popped.extend(other.join().unwrap());
        let pushed = producer.join().unwrap();
        popped.extend(drain(&mut rx));
        popped.sort_unstable();
        assert!(popped.into_iter().eq(0..pushed));
    });
}

/// Two producers, two consumers; one of them comes when the others are through.
fn two_and_two(entries: usize) {
    model_bounded(1, move || {
        let (mut tx, mut rx) = queue(2, entries, 2);
        let (mut other_tx, mut other_rx) = (another_producer(&tx), another_consumer(&rx));
        let producer = thread::spawn(move || push_some(&mut other_tx, 10, 1) - 10);
        let consumer = thread::spawn(move || pop_some(&mut other_rx, 1).len());
        let pushed = push_some(&mut tx, 0, 1);
        drop(tx);
        let (pushed, popped) = (pushed + producer.join().unwrap(), consumer.join().unwrap());
        assert_eq!(popped + drain(&mut rx).len(), pushed);
    });
}

/// A producer goes on in its capsule while another one begins the next and closes it (D = 1). Each item comes out once
/// (E7), and what the first one pushes after the other is through comes after it (E9).
fn a_capsule_is_closed_under_its_producer() {
    model_bounded(3, || {
        let (mut tx, mut rx) = queue(3, 3, 1);
        push(&mut tx, 0);
        let mut other = another_producer(&tx);
        let other = thread::spawn(move || push(&mut other, 10));
        push(&mut tx, 1);
        other.join().unwrap();
        push(&mut tx, 2);
        drop(tx);
        let popped = drain(&mut rx);
        assert!(popped == [0, 1, 10, 2] || popped == [0, 10, 1, 2], "{popped:?}");
    });
}

/// The same while a consumer takes what it sees.
fn a_capsule_is_closed_under_both() {
    model_bounded(1, || {
        let (mut tx, mut rx) = queue(3, 3, 1);
        push(&mut tx, 0);
        let mut other = another_producer(&tx);
        let other = thread::spawn(move || push(&mut other, 10));
        let consumer = thread::spawn(move || (pop_some(&mut rx, 2), rx));
        push(&mut tx, 1);
        drop(tx);
        other.join().unwrap();
        let (mut popped, mut rx) = consumer.join().unwrap();
        popped.extend(drain(&mut rx));
        assert!(popped == [0, 1, 10] || popped == [0, 10, 1], "{popped:?}");
    });
}

/// Two producers begin capsules at the same time, and the later one closes the earlier one's: what the earlier one pushes
/// when both are through comes last.
fn a_new_capsule_is_closed() {
    model_bounded(3, || {
        let (tx, rx) = cnq::over::<Item, _>(Mt::new(3).unwrap(), 3, 3, 1).unwrap();
        let (mut one, mut rx) = (Leaked::new(tx), Leaked::new(rx));
        let mut other = Leaked::new((*one).clone());
        let producer = thread::spawn(move || {
            one.try_push(Arc::new(0)).unwrap();
            one
        });
        other.try_push(Arc::new(10)).unwrap();
        drop(other);
        let mut one = producer.join().unwrap();
        one.try_push(Arc::new(1)).unwrap();
        drop(one);
        let popped: Vec<_> = std::iter::from_fn(|| rx.try_pop().ok()).map(|item| *item).collect();
        assert!(popped == [0, 10, 1] || popped == [10, 0, 1], "{popped:?}");
    });
}

/// Two items in a capsule, one in the next, and a window of one: who pops the third comes after the pop of the second.
fn a_pop_comes_after_those_it_waits_for() {
    model_bounded(3, || {
        let (mut tx, mut rx) = queue(3, 2, 1);
        (0..3).for_each(|number| push(&mut tx, number));
        let mut other = another_consumer(&rx);
        assert_eq!(*rx.try_pop().unwrap(), 0);
        let about_to = Arc::new(AtomicBool::new(false));
        let first = about_to.clone();
        let first = thread::spawn(move || {
            // Relaxed: the pops are what orders it.
            first.store(true, Ordering::Relaxed);
            assert_eq!(*rx.try_pop().unwrap(), 1);
        });
        for _ in 0..2 {
            if let Ok(item) = other.try_pop() {
                assert_eq!(*item, 2);
                assert!(about_to.load(Ordering::Relaxed), "before the pop it waits for");
            }
        }
        first.join().unwrap();
    });
}

/// In a window of two, number 1 is finished before number 0. So who finishes number 2 counts both, and who finishes number 3 then may pop
/// from number 4.
fn a_pop_comes_after_those_that_others_count() {
    model_bounded(2, || {
        let (mut tx, mut rx) = queue(6, 2, 8);
        (0..10).for_each(|number| push(&mut tx, number));
        let [mut one, mut two, mut three] = std::array::from_fn(|_| another_consumer(&rx));
        assert_eq!(*rx.try_pop().unwrap(), 0);
        assert_eq!(pop_some(&mut one, 2), [2, 3]);
        assert_eq!(*rx.try_pop().unwrap(), 1);
        assert_eq!([*two.try_pop().unwrap(), *three.try_pop().unwrap()], [4, 6]);
        let about_to = Arc::new(AtomicBool::new(false));
        let counts = about_to.clone();
        let counts = thread::spawn(move || {
            // Relaxed: the pops are what orders it.
            counts.store(true, Ordering::Relaxed);
            assert_eq!(*two.try_pop().unwrap(), 5);
        });
        assert_eq!(*three.try_pop().unwrap(), 7);
        if let Ok(item) = three.try_pop() {
            assert_eq!(*item, 8);
            assert!(about_to.load(Ordering::Relaxed), "before the pop it waits for");
        }
        counts.join().unwrap();
    });
}

/// A consumer finds the number that holds up the window empty, in the hands of another who pauses, while its producer
/// pushes: either the item counts, or it goes into a later capsule.
fn the_window_is_unblocked() {
    model_bounded(2, || {
        let (mut tx, mut rx) = queue(3, 2, 1);
        let mut pausing = another_consumer(&rx);
        let mut other = another_producer(&tx);
        push(&mut tx, 0);
        assert_eq!(*pausing.try_pop().unwrap(), 0);
        let producer = thread::spawn(move || push(&mut tx, 1));
        push(&mut other, 2);
        drop(other);
        let mut popped = pop_some(&mut rx, 2);
        producer.join().unwrap();
        popped.extend(pop_some(&mut pausing, 2));
        drop(pausing);
        popped.extend(drain(&mut rx));
        popped.sort_unstable();
        assert_eq!(popped, [1, 2]);
    });
}

/// A consumer gives its capsule back while another one looks for it.
fn a_fragment_goes_over() {
    model_bounded(3, || {
        let (mut tx, mut rx) = queue(2, 3, 3);
        for number in 0..3 {
            push(&mut tx, number);
        }
        drop(tx);
        let mut other = another_consumer(&rx);
        let giver = thread::spawn(move || pop_some(&mut rx, 1));
        let mut popped = drain(&mut other);
        popped.extend(giver.join().unwrap());
        popped.sort_unstable();
        assert_eq!(popped, [0, 1, 2]);
    });
}

/// The ring goes round: one entry, two capsules, three pushes that each need the place of an earlier one.
fn capsules_are_used_again() {
    model_bounded(3, || {
        let (tx, mut rx) = queue(2, 1, 1);
        let producer = thread::spawn(move || {
            let mut tx = tx;
            push_some(&mut tx, 0, 4)
        });
        let mut popped = pop_some(&mut rx, 3);
        let pushed = producer.join().unwrap();
        popped.extend(drain(&mut rx));
        assert!(popped.into_iter().eq(0..pushed));
    });
}

/// The producer leaves behind an item; the consumer must not see the end before it.
fn the_end_comes_last() {
    model_bounded(3, || {
        let (mut tx, mut rx) = queue(2, 2, 2);
        let producer = thread::spawn(move || push(&mut tx, 0));
        assert_eq!(drain(&mut rx), [0]);
        producer.join().unwrap();
    });
}

/// The last consumer leaves while items are pushed: each is refused or dropped, as loom's `Arc` checks.
fn the_consumer_leaves() {
    model_bounded(3, || {
        let (mut tx, mut rx) = queue(2, 2, 2);
        let consumer = thread::spawn(move || drop(rx.try_pop()));
        push_some(&mut tx, 0, 2);
        consumer.join().unwrap();
        assert!(matches!(tx.try_push(Arc::new(2)), Err(TryPushError::Closed(_))));
    });
}

models! {
    order_1: order_is_kept(1, 3),
    order_2: order_is_kept(2, 3),
    shared: a_capsule_is_shared(),
    shared_and_closed: a_shared_capsule_is_closed(),
    c1_one_capsule_at_a_time: two_producers(2, 2, 2),
    c2_one_capsule_at_a_time: two_consumers(2, 2, 2),
    c3_one_capsule_at_a_time: two_and_two(2),
    c4_two_capsules: two_producers(3, 1, 3),
    long_c5_two_capsules: two_consumers(3, 1, 3),
    c6_two_capsules: two_and_two(1),
    closing: a_capsule_is_closed_under_its_producer(),
    closing_a_new_one: a_new_capsule_is_closed(),
    waiting_for_older_pops: a_pop_comes_after_those_it_waits_for(),
    waiting_for_counted_pops: a_pop_comes_after_those_that_others_count(),
    closing_and_taking: a_capsule_is_closed_under_both(),
    unblocking: the_window_is_unblocked(),
    fragment: a_fragment_goes_over(),
    again: capsules_are_used_again(),
    end: the_end_comes_last(),
    leaving: the_consumer_leaves(),
}

canaries! {
    canary_1: "cnq.1", "Causality violation", capsules_are_used_again(),
    canary_2: "cnq.2", "Causality violation", capsules_are_used_again(),
    canary_3: "cnq.3", "", a_new_capsule_is_closed(),
    canary_4: "cnq.4", "", a_new_capsule_is_closed(),
    canary_5: "cnq.5", "before the pop", a_pop_comes_after_those_it_waits_for(),
    canary_6: "cnq.6", "before the pop", a_pop_comes_after_those_it_waits_for(),
    canary_7: "cnq.7", "before the pop", a_pop_comes_after_those_it_waits_for(),
    canary_8: "cnq.8", "before the pop", a_pop_comes_after_those_that_others_count(),
    canary_13: "cnq.13", "before the pop", a_pop_comes_after_those_it_waits_for(),
    canary_15: "cnq.15", "Causality violation", capsules_are_used_again(),
    canary_16: "cnq.16", "", the_end_comes_last(),
    canary_17: "cnq.17", "", the_end_comes_last(),
    canary_18: "cnq.18", "", a_capsule_is_closed_under_its_producer(),
    canary_19: "cnq.19", "", a_capsule_is_closed_under_its_producer(),
    canary_20: "cnq.20", "", a_shared_capsule_is_closed(),
    canary_26: "cnq.26", "before the pop", a_pop_comes_after_those_it_waits_for(),
}

/// The fences. Under loom two of them order everything before the one before everything after the other, which hides the
/// accesses around them; where nobody closes a capsule from outside, there is no need for them.
const FENCES: [&str; 3] = ["cnq.18", "cnq.19", "cnq.20"];

/// Runs `client` without the fences, and with `edge`, if there is one, Relaxed.
fn without_fences(edge: Option<&str>, client: impl FnOnce()) {
    let relaxed = |table: Table, name: &str| table.with(name, Strength::Ordering(Ordering::Relaxed));
    install(Some(std::sync::Arc::new(FENCES.into_iter().chain(edge).fold(Table::new(), relaxed))));
    client();
    install(None);
}

models! {
    shared_without_fences: without_fences(None, a_capsule_is_shared),
    waiting_without_fences: without_fences(None, a_pop_comes_after_those_it_waits_for),
}

/// As `canaries`, without the fences. The edge of the limit, cnq.11 to cnq.12, has none: within the bounds no execution was
/// found in which a consumer knows of an entry by the limit alone.
macro_rules! bare_canaries {
    ($($name:ident: $edge:literal, $expected:literal, $client:expr,)+) => {
        $(#[test]
        #[should_panic(expected = $expected)]
        fn $name() {
            without_fences(Some($edge), $client);
        })+
    };
}

bare_canaries! {
    canary_9: "cnq.9", "Causality violation", a_capsule_is_shared,
    canary_10: "cnq.10", "Causality violation", a_capsule_is_shared,
    canary_14: "cnq.14", "before the pop", a_pop_comes_after_those_it_waits_for,
}
