//! Histories that are linearizable and histories that are not.

use thalweg_check::history::{
    Bounded, Counter, Deque, DropOld, History, KFifo, Lock, Map, OnCounter, OnLock, OnMap, OnReadWriteLock, OnRegister,
    OnSemaphore, OnSet, Queue, ReadWriteLock, Recorder, Register, Semaphore, Set, Specification, Stack, Steal, Task,
};
use thalweg_check::{Check, Explored, Fuzz};
use thalweg_sync::atomic::AtomicU64;
use thalweg_sync::atomic::Ordering::{Acquire, Relaxed, Release};
use thalweg_sync::cell::Slot;
use thalweg_sync::random::Xorshift;
use thalweg_sync::sync::{Arc, Mutex};
use thalweg_sync::thread;

use Queue::{Busy, Closed, Empty, Full, Left, Popped, Pushed};

/// Calls one after the other.
fn sequence<S: Specification>(specification: S, operations: impl IntoIterator<Item = S::Operation>) -> bool {
    let mut history = History::new();
    let mut last = None;
    for operation in operations {
        last = Some(history.add(0, operation, last));
    }
    history.linearize(specification).is_ok()
}

#[test]
fn bounded_is_a_fifo_with_a_window() {
    let right = |operations: &[Queue<u8>]| sequence(Bounded::new(2, 3), operations.to_vec());
    assert!(right(&[Pushed(1), Pushed(2), Popped(1), Popped(2), Empty]));
    assert!(!right(&[Pushed(1), Pushed(2), Popped(2)]), "not the oldest");
    assert!(!right(&[Pushed(1), Popped(1), Popped(1)]), "twice");
    assert!(!right(&[Popped(1)]), "from nowhere");
    assert!(!right(&[Pushed(1), Empty]), "not empty");
    assert!(!right(&[Pushed(1), Full]), "full below the window");
    assert!(right(&[Pushed(1), Pushed(2), Full]), "full within the window");
    assert!(right(&[Pushed(1), Pushed(2), Pushed(3), Full]), "full at its end");
    assert!(!right(&[Pushed(1), Pushed(2), Pushed(3), Pushed(4)]), "beyond the window");
    assert!(right(&[Busy, Pushed(1), Busy, Popped(1), Busy]), "busy is always right");
    assert!(right(&[Pushed(1), Left, Popped(1), Closed]));
    assert!(!right(&[Closed]), "nobody left");
    assert!(!right(&[Pushed(1), Left, Closed]), "not drained");
    assert!(!right(&[Left, Pushed(1)]), "pushed after the end");
}

#[test]
fn k_fifo_gives_one_of_the_k_oldest() {
    let right = |operations: &[Queue<u8>]| sequence(KFifo::new(2, 3, 1), operations.to_vec());
    assert!(right(&[Pushed(1), Pushed(2), Pushed(3), Popped(2), Popped(3), Popped(1)]));
    assert!(!right(&[Pushed(1), Pushed(2), Pushed(3), Popped(3)]), "the third");
    assert!(!right(&[Pushed(1), Popped(1), Popped(1)]), "twice");
    assert!(right(&[Pushed(1), Empty, Popped(1)]), "one may be hidden");
    assert!(!right(&[Pushed(1), Pushed(2), Empty]), "two may not");
    assert!(!right(&[Pushed(1), Pushed(2), Full]), "full below its capacity");
}

#[test]
fn drop_old_loses_the_oldest_only() {
    // Two blocks of two: at least the newest two are there, at most four.
    let right = |operations: &[Queue<u8>]| sequence(DropOld::new(2, 4), operations.to_vec());
    let pushed = |last: u8| (1..=last).map(Pushed);
    let after =
        |last: u8, operations: &[Queue<u8>]| right(&pushed(last).chain(operations.to_vec()).collect::<Vec<_>>());
    assert!(after(3, &[Popped(1), Popped(2), Popped(3), Empty]), "nothing is lost");
    assert!(after(3, &[Popped(2), Popped(3), Empty]), "1 is overwritten");
    assert!(!after(3, &[Popped(3)]), "2 is among the newest two");
    assert!(!after(5, &[Popped(1)]), "1 is overwritten for certain");
    assert!(after(5, &[Popped(4), Popped(5), Empty]));
    assert!(!after(5, &[Popped(4), Popped(3)]), "backwards");
    assert!(!after(1, &[Empty]));
    assert!(!after(4, &[Full]), "never full");
}

#[test]
fn deques_are_stacks_for_their_owner() {
    use Task::{Empty, Full, Got, Nothing, Put, Retry, Stolen};
    let right = |steal, operations: &[Task<u8>]| sequence(Deque::new(2, 1, steal), operations.to_vec());
    let oldest = |operations: &[Task<u8>]| right(Steal::Oldest, operations);
    assert!(oldest(&[Put(1), Put(2), Put(3), Stolen(1), Got(3), Got(2), Empty]));
    assert!(!oldest(&[Put(1), Put(2), Got(1)]), "the owner takes the newest");
    assert!(!oldest(&[Put(1), Put(2), Stolen(2)]), "a thief takes the oldest");
    assert!(right(Steal::Any, &[Put(1), Put(2), Stolen(2), Got(1)]), "or any, if so specified");
    assert!(!right(Steal::Any, &[Put(1), Stolen(1), Got(1)]), "twice");
    assert!(oldest(&[Put(1), Nothing]), "one may be out of sight");
    assert!(!oldest(&[Put(1), Put(2), Nothing]), "two may not");
    assert!(!oldest(&[Put(1), Full]), "full below its capacity");
    assert!(oldest(&[Retry, Put(1), Put(2), Full, Retry]));
}

#[test]
fn overlapping_calls_may_come_in_any_order() {
    let mut history = History::new();
    let one = history.add(0, Pushed(1), []);
    let two = history.add(1, Pushed(2), []);
    let first = history.add(2, Popped(2), [one, two]);
    history.add(2, Popped(1), [first]);
    assert_eq!(history.linearize(Bounded::new(2, 2)).unwrap(), [1, 0, 2, 3]);

    let mut history = History::new();
    let one = history.add(0, Pushed(1), []);
    let two = history.add(1, Pushed(2), [one]);
    history.add(2, Popped(2), [two]);
    let stuck = history.linearize(Bounded::new(2, 2)).unwrap_err();
    assert_eq!((stuck.longest, stuck.stuck), (vec![0, 1], vec![2]), "the pushes are in order");
}

/// The order of calls need not be that of intervals: here two chains of two share nothing, which four intervals
/// cannot do.
#[test]
fn a_history_is_a_partial_order() {
    let mut history = History::new();
    let one = history.add(0, Pushed(1), []);
    history.add(1, Pushed(2), [one]);
    let three = history.add(2, Popped(2), []);
    history.add(3, Popped(1), [three]);
    assert!(history.linearize(Bounded::new(2, 2)).is_err(), "2 is pushed after 1, and popped before it");

    let mut history = History::new();
    let one = history.add(0, Pushed(1), []);
    history.add(1, Pushed(2), [one]);
    let three = history.add(2, Popped(1), []);
    history.add(3, Popped(2), [three]);
    assert_eq!(history.linearize(Bounded::new(2, 2)).unwrap().len(), 4);
}

/// One thread finds the queue empty, the other finds it full; for either there is an order, for both there is none.
#[test]
fn refusals_may_be_judged_apart() {
    let mut history = History::new();
    let popped = history.add(0, Popped(1), []);
    history.add(0, Empty, [popped]);
    let first = history.add(1, Pushed(1), []);
    let second = history.add(1, Pushed(2), [first]);
    history.add(1, Full, [second]);
    assert!(history.linearize(Bounded::new(2, 2)).is_err());
    assert!(history.linearize_apart(Bounded::new(2, 2)).is_ok());
    // Neither answer alone is right after both pushes, or without a pop.
    history.add(2, Empty, [second]);
    assert!(history.linearize_apart(Bounded::new(2, 2)).is_err());
    let mut history = History::new();
    let first = history.add(1, Pushed(1), []);
    history.add(1, Full, [first]);
    assert!(history.linearize_apart(Bounded::new(2, 2)).is_err());
}

/// What came before a call that constrains nothing came before what follows it.
#[test]
fn order_goes_through_busy_calls() {
    let mut history = History::new();
    let pushed = history.add(0, Pushed(1), []);
    let busy = history.add(1, Busy, [pushed]);
    history.add(1, Empty, [busy]);
    assert!(history.linearize(Bounded::new(1, 1)).is_err());
}

/// By definition: some permutation of the calls respects their order and the specification.
fn by_definition(history: &History<Queue<u8>>, order: &mut Vec<usize>, state: &Bounded<u8>) -> bool {
    let calls = history.calls();
    order.len() == calls.len()
        || (0..calls.len()).any(|call| {
            let mut state = state.clone();
            if order.contains(&call)
                || !calls[call].after.iter().all(|before| order.contains(before))
                || !state.apply(&calls[call].operation)
            {
                return false;
            }
            order.push(call);
            let found = by_definition(history, order, &state);
            order.pop();
            found
        })
}

#[test]
fn the_search_agrees_with_the_definition() {
    let mut random = Xorshift::new(1);
    let mut below = |end| random.below(end);
    let mut right = 0;
    for _ in 0..3000 {
        let mut history = History::new();
        for call in 0..2 + below(5) as usize {
            let item = 1 + below(2) as u8;
            let operation = [Pushed(item), Pushed(item), Popped(item), Popped(item), Empty, Full, Busy];
            let after = (0..call).filter(|_| below(3) == 0).collect::<Vec<_>>();
            history.add(call, operation[below(7) as usize].clone(), after);
        }
        let specification = Bounded::new(1, 2);
        let expected = by_definition(&history, &mut Vec::new(), &specification);
        assert_eq!(history.linearize(specification).is_ok(), expected, "{history:?}");
        right += usize::from(expected);
    }
    assert!((300..2700).contains(&right), "{right} of 3000 are linearizable: the others test nothing");
}

#[test]
fn intervals_are_ordered_by_time() {
    // #0 and #1 overlap, #2 comes after #0 only.
    let history = History::from_intervals([(0, 'a', 0, 2), (1, 'b', 1, 9), (2, 'c', 3, 4), (0, 'd', 5, 6)]);
    let after = history.calls().iter().map(|call| call.after.clone()).collect::<Vec<_>>();
    assert_eq!(after, [vec![], vec![], vec![0], vec![0, 2]]);
}

#[test]
#[should_panic(expected = "two calls of thread 3 overlap at 1")]
fn calls_of_a_thread_do_not_overlap() {
    History::from_intervals([(3, (), 0, 5), (3, (), 1, 2)]);
}

#[test]
fn a_failure_shows_the_calls() {
    let mut history = History::new();
    let pushed = history.add(0, Pushed(1), []);
    history.add(1, Popped(2), [pushed]);
    let text = history.linearize(Bounded::new(1, 1)).unwrap_err().to_string();
    for wanted in ["not linearizable", "#1   thread 1   Popped(2)                after #0", "does: #0", "follow: #1"] {
        assert!(text.contains(wanted), "{text}\nwithout {wanted}");
    }
}

/// A history of 2000 calls, 8 of which overlap at a time, is decided at once.
#[test]
fn long_histories_are_decided() {
    let calls = (0..2000_u64).map(|n| {
        let (thread, round) = (n % 8, n / 8);
        let operation = if thread < 4 { Pushed(round * 4 + thread) } else { Popped(round * 4 + thread - 4) };
        (thread as usize, operation, round * 100 + thread, round * 100 + 50 + thread)
    });
    assert!(History::from_intervals(calls.clone()).linearize(Bounded::new(4, 4)).is_ok());
    let broken = calls.map(|(thread, operation, begin, end)| match operation {
        Popped(999) => (thread, Popped(998), begin, end),
        operation => (thread, operation, begin, end),
    });
    assert!(History::from_intervals(broken).linearize(Bounded::new(4, 4)).is_err());
}

/// A stack behind a lock: right until two items are in it.
fn stack(recorder: &Recorder<Queue<u64>>, take: impl Fn(&mut Vec<u64>) -> Option<u64> + Sync) {
    let items = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for me in 0..2 {
            let (mut log, items, take) = (recorder.log(me), &items, &take);
            scope.spawn(move || {
                for n in 0..2 {
                    let item = me as u64 * 2 + n;
                    log.call(|| items.lock().unwrap().push(item), |()| Pushed(item));
                }
                for _ in 0..2 {
                    log.call(|| take(&mut items.lock().unwrap()), |item| item.map_or(Empty, Popped));
                }
            });
        }
    });
}

#[test]
fn a_recorded_queue_is_linearizable_and_a_stack_is_not() {
    let run = |take: fn(&mut Vec<u64>) -> Option<u64>| {
        let recorder = Recorder::native();
        stack(&recorder, take);
        recorder.history().linearize(Bounded::new(4, 4)).is_ok()
    };
    assert!(run(|items| (!items.is_empty()).then(|| items.remove(0))));
    assert!(!run(Vec::pop), "the newest first");
}

/// A queue that is read in two steps: two consumers may take the same item. Only some schedules show it.
#[test]
fn the_fuzzer_finds_a_history_that_is_not_linearizable() {
    let client = |careful: bool| {
        move || {
            let recorder = Recorder::native();
            let items = Arc::new(Mutex::new(vec![1, 2]));
            let mut log = recorder.log(2);
            log.call(|| (), |()| Pushed(1));
            log.call(|| (), |()| Pushed(2));
            let section = Slot::new(());
            thread::scope(|scope| {
                for me in 0..2 {
                    let (mut log, items, section) = (recorder.log(me), &items, &section);
                    scope.spawn(move || {
                        let take = || {
                            if careful {
                                return items.lock().unwrap().remove(0);
                            }
                            let first = items.lock().unwrap()[0];
                            section.with(|_| ()); // here the other may come in
                            items.lock().unwrap().retain(|&item| item != first);
                            first
                        };
                        log.call(take, |&item| Popped(item));
                    });
                }
            });
            recorder.history().linearize(Bounded::new(2, 2)).unwrap_or_else(|error| panic!("{error}"));
        }
    };
    Fuzz::new().seeds(0..200).run(client(true));
    let failure = Fuzz::new().seeds(0..200).check(client(false)).unwrap_err().to_string();
    assert!(failure.contains("not linearizable"), "{failure}");
}

/// A queue of one place, and a flag that is set when something is in it; `early`: also before.
fn one_place(early: bool) -> Explored {
    let explored = Check::new().linearizable(Bounded::new(1, 1), move |recorder| {
        let place = (AtomicU64::new(0), AtomicU64::new(0));
        thread::scope(|scope| {
            let (mut log, place) = (recorder.log(1), &place);
            scope.spawn(move || {
                if early {
                    place.1.store(1, Release);
                }
                log.call(|| place.0.store(7, Relaxed), |()| Pushed(7));
                place.1.store(1, Release);
            });
            if place.1.load(Acquire) == 1 {
                let read = || place.0.load(Relaxed);
                recorder.log(0).call(read, |&item| if item == 0 { Empty } else { Popped(item) });
            }
        });
    });
    explored.unwrap_or_else(|violation| panic!("{violation}"))
}

#[test]
fn the_checker_orders_calls_by_what_happens_before() {
    // The push ends before the flag is set, and the flag is seen before the pop begins.
    assert_eq!(one_place(false).complete, 2);
    // Nothing orders the two when the flag is seen early, so the pop may come first: it finds nothing or the item.
    assert_eq!(one_place(true).complete, 4);
}

/// The second call of `log` empties the log, so that what was recorded before would be taken for what comes after.
#[test]
fn a_log_is_asked_for_once() {
    for calls in [[1, 1], [1, 0], [2, 1]] {
        let check = Check::new().sequential(true);
        let result = check.linearizable(Bounded::new(4, 4), move |recorder| {
            for count in calls {
                let mut log = recorder.log(3);
                (0..count).for_each(|item| log.call(|| (), |()| Pushed(item)));
            }
        });
        let text = result.expect_err("calls are lost").to_string();
        assert!(text.contains("`Recorder::log(3)` was called twice in an execution"), "{text}");
    }
}

#[test]
fn the_checker_finds_a_history_that_is_not_linearizable() {
    let client = |recorder: &Recorder<Queue<u64>>| {
        let place = (AtomicU64::new(0), AtomicU64::new(0));
        thread::scope(|scope| {
            let (mut log, place) = (recorder.log(1), &place);
            scope.spawn(move || {
                log.call(|| place.0.store(7, Relaxed), |()| Pushed(7));
                place.1.store(1, Release);
            });
            if place.1.load(Acquire) == 1 {
                recorder.log(0).call(|| (), |()| Empty);
            }
        });
    };
    let (check, queue) = (Check::new(), Bounded::<u64>::new(1, 1));
    let violation = check.linearizable(queue.clone(), client).unwrap_err();
    let (text, execution) = (violation.to_string(), violation.replay());
    assert!(text.contains("not linearizable") && text.contains("#1   thread 0   Empty"), "{text}");
    // It says how to run it alone, and so it is found again.
    assert!(
        text.ends_with(&format!("Check::new().replay_linearizable({execution:?}, specification, client)")),
        "{text}"
    );
    let again = check.replay_linearizable(&execution, queue.clone(), client).unwrap_err();
    assert_eq!(again.rule().to_string(), violation.rule().to_string());
    let apart = check.linearizable_apart(queue.clone(), client).unwrap_err();
    assert!(apart.to_string().contains("Check::new().replay_linearizable_apart("), "{apart}");
    let again = check.replay_linearizable_apart(&apart.replay(), queue, client).unwrap_err();
    assert_eq!(again.rule().to_string(), apart.rule().to_string());
}

/// Who refuses, and what is said of it.
#[test]
fn refusals_that_only_together_have_no_order_name_the_other_check() {
    let mut history = History::new();
    // One found the lock taken by the other, and the other by the one.
    let first = history.add(1, OnLock::Refused(1), []);
    let second = history.add(2, OnLock::Refused(2), []);
    history.add(1, OnLock::Locked(1), [first]);
    history.add(2, OnLock::Unlocked(1), [second]);
    let error = history.linearize(Lock::new()).unwrap_err();
    assert_eq!(
        history.linearize_apart(Lock::new()).is_ok(),
        error.to_string().contains("linearizable_apart"),
        "{error}"
    );
    let mut queue = History::new();
    // The queue has one place: the pusher finds it full of what the popper has not found yet.
    let put = queue.add(0, Queue::Pushed(1), []);
    let taken = queue.add(1, Queue::Popped(1), [put]);
    queue.add(1, Queue::Empty, [taken]);
    queue.add(0, Queue::Full, [put]);
    queue.add(2, Queue::Empty, [put]);
    assert!(queue.linearize(Bounded::new(1, 1)).is_ok());
    let after = queue.add(2, Queue::Full, [4]);
    let error = queue.linearize(Bounded::new(1, 1)).unwrap_err();
    assert!(
        queue.linearize_apart(Bounded::new(1, 1)).is_ok() && error.to_string().contains("linearizable_apart"),
        "{error}"
    );
    queue.add(2, Queue::Popped(7), [after]);
    let error = queue.linearize(Bounded::new(1, 1)).unwrap_err();
    assert!(!error.to_string().contains("linearizable_apart"), "nothing explains that: {error}");
}

#[test]
fn stacks_sets_and_maps() {
    let stack = |operations: &[Queue<u8>]| sequence(Stack::new(1, 2), operations.iter().cloned());
    assert!(stack(&[
        Queue::Pushed(1),
        Queue::Pushed(2),
        Queue::Full,
        Queue::Popped(2),
        Queue::Popped(1),
        Queue::Empty
    ]));
    assert!(!stack(&[Queue::Pushed(1), Queue::Pushed(2), Queue::Popped(1)]), "not the newest");
    assert!(!stack(&[Queue::Full]) && !stack(&[Queue::Pushed(1), Queue::Empty]));
    assert!(!stack(&[Queue::Pushed(1), Queue::Pushed(2), Queue::Pushed(3)]), "it has to be full");

    let set = |operations: &[OnSet<u8>]| sequence(Set::new(), operations.iter().cloned());
    assert!(set(&[
        OnSet::Inserted(1, true),
        OnSet::Inserted(1, false),
        OnSet::Contains(1, true),
        OnSet::Removed(1, true)
    ]));
    assert!(!set(&[OnSet::Removed(1, true)]) && !set(&[OnSet::Contains(1, true)]));

    let map = |operations: &[OnMap<u8, u8>]| sequence(Map::new(), operations.iter().cloned());
    assert!(map(&[
        OnMap::Inserted(1, 2, None),
        OnMap::Inserted(1, 3, Some(2)),
        OnMap::Got(1, Some(3)),
        OnMap::Removed(1, Some(3))
    ]));
    assert!(!map(&[OnMap::Inserted(1, 2, None), OnMap::Got(1, None)]) && !map(&[OnMap::Removed(1, Some(1))]));
}

#[test]
fn registers_and_counters() {
    let register = |operations: &[OnRegister<u8>]| sequence(Register::new(0), operations.iter().cloned());
    assert!(register(&[
        OnRegister::Wrote(1),
        OnRegister::Read(1),
        OnRegister::Swapped(2, 1),
        OnRegister::Exchanged(2, 3, Ok(2))
    ]));
    assert!(register(&[OnRegister::Exchanged(1, 3, Err(0)), OnRegister::Read(0)]));
    assert!(!register(&[OnRegister::Read(1)]) && !register(&[OnRegister::Exchanged(0, 3, Err(0))]));

    let counter = |operations: &[OnCounter]| sequence(Counter::new(5), operations.iter().copied());
    assert!(counter(&[OnCounter::Added(2), OnCounter::Fetched(-1, 7), OnCounter::Read(6)]));
    assert!(!counter(&[OnCounter::Fetched(1, 4)]) && !counter(&[OnCounter::Read(6)]));
}

#[test]
fn semaphores_and_locks() {
    use OnReadWriteLock::{ReadRefused, Reads, Unlocked, WriteRefused, Writes};
    let semaphore = |operations: &[OnSemaphore]| sequence(Semaphore::new(2), operations.iter().copied());
    assert!(semaphore(&[
        OnSemaphore::Acquired(2),
        OnSemaphore::Refused(1),
        OnSemaphore::Released(1),
        OnSemaphore::Acquired(1)
    ]));
    assert!(!semaphore(&[OnSemaphore::Acquired(3)]) && !semaphore(&[OnSemaphore::Refused(2)]));

    let lock = |operations: &[OnLock]| sequence(Lock::new(), operations.iter().copied());
    assert!(lock(&[OnLock::Locked(1), OnLock::Refused(2), OnLock::Unlocked(1), OnLock::Locked(2)]));
    assert!(!lock(&[OnLock::Locked(1), OnLock::Locked(2)]) && !lock(&[OnLock::Refused(1)]));
    assert!(!lock(&[OnLock::Locked(1), OnLock::Unlocked(2)]));

    let lock = |operations: &[OnReadWriteLock]| sequence(ReadWriteLock::new(), operations.iter().copied());
    assert!(lock(&[
        Reads(1),
        Reads(2),
        WriteRefused(3),
        Unlocked(1),
        Unlocked(2),
        Writes(3),
        ReadRefused(1),
        Unlocked(3)
    ]));
    assert!(!lock(&[Reads(1), Writes(2)]) && !lock(&[Writes(1), Reads(2)]) && !lock(&[Writes(1), Writes(2)]));
    assert!(!lock(&[ReadRefused(1)]) && !lock(&[WriteRefused(1)]) && !lock(&[Unlocked(1)]));
}
