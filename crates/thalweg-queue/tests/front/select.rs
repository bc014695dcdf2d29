//! Waiting for several ends at once.

use crate::support::{Note, block_on, fuse};
use std::cell::Cell;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::{Context, Poll};
use thalweg_check::Fuzz;
use thalweg_queue::research::locked;
use thalweg_queue::select::{Select, SelectError, Tick};
use thalweg_queue::unbounded::{mpmc, mpsc};
use thalweg_queue::{Park, PopError, PushError, oneshot, select, select_async, watch};
use thalweg_sync::sync::Arc;
use thalweg_sync::thread;
use thalweg_sync::time::{self, Duration};

type Tx<T = u32> = locked::Producer<T, Park>;
type Rx<T = u32> = locked::Consumer<T, Park>;

/// A queue for two items, exactly.
fn bounded<T: Send>() -> (Tx<T>, Rx<T>) {
    locked::with_wait(2, Park::new()).unwrap()
}

/// The same, full.
fn full<T: Send>(items: [T; 2]) -> (Tx<T>, Rx<T>) {
    let (tx, rx) = bounded();
    items.into_iter().for_each(|item| assert!(tx.try_push(item).is_ok()));
    (tx, rx)
}

const NEVER: Duration = Duration::from_secs(600);

#[test]
fn the_arm_that_is_ready_is_chosen() {
    let (tx1, rx1) = mpmc::channel::<u32>();
    let (tx2, rx2) = mpmc::channel::<&str>();
    tx1.push(1).unwrap();
    select! {
        pop(rx1) -> item => assert_eq!(item, Ok(1)),
        pop(rx2) -> _ => panic!("nothing is there"),
    }
    tx2.push("two").unwrap();
    select! {
        pop(rx1) -> _ => panic!("nothing is there"),
        pop(rx2) -> item => assert_eq!(item, Ok("two")),
    }
    drop(tx1);
    select! {
        pop(rx1) -> item => assert_eq!(item, Err(PopError), "the end is an event"),
        pop(rx2) -> _ => panic!("nothing is there"),
    }
}

#[test]
fn default_is_for_when_nothing_is_ready() {
    let (tx, rx) = mpmc::channel();
    let take = || select! { pop(rx) -> item => item.ok(), default => None };
    assert_eq!(take(), None);
    tx.push(7).unwrap();
    assert_eq!(take(), Some(7));
    assert_eq!(select! { default => 3 }, 3);
    drop(tx);
    select! {
        pop(rx) -> item => assert_eq!(item, Err(PopError)),
        default => panic!("the end is ready"),
    }
}

#[test]
fn pushes_wait_for_room() {
    let (tx, rx) = full([1, 2]);
    select! {
        push(tx, 3) -> _ => panic!("it is full"),
        after(Duration::from_millis(1)) => {}
    }
    let mut slot = Some(4);
    select! {
        push_from(tx, slot) -> _ => panic!("it is full"),
        default => {}
    }
    assert_eq!(slot, Some(4), "what is not pushed stays");
    assert_eq!(rx.pop(), Ok(1));
    select! { push_from(tx, slot) -> pushed => pushed.unwrap() }
    assert_eq!((slot, rx.pop(), rx.pop()), (None, Ok(2), Ok(4)));
    drop(rx);
    select! { push(tx, 5) -> pushed => assert_eq!(pushed, Err(PushError(5))) }
}

#[test]
fn it_sleeps_until_somebody_comes() {
    let (tx1, rx1) = mpmc::channel::<u32>();
    let (tx2, mut rx2) = mpsc::channel();
    let (_quit, mut quits) = oneshot::channel::<()>();
    let other = thread::spawn(move || {
        thread::sleep(Duration::from_millis(20));
        tx2.push(7).unwrap();
        (tx1, tx2)
    });
    let before = time::cpu_time_of_thread();
    let item = select! {
        pop(rx1) -> _ => panic!("nothing is there"),
        pop(rx2) -> item => item,
        pop(quits) -> _ => panic!("nothing is there"),
        after(NEVER) => panic!("somebody comes"),
    };
    assert_eq!(item, Ok(7));
    if let (Ok(before), Ok(after)) = (before, time::cpu_time_of_thread()) {
        assert!(after - before < Duration::from_millis(15), "it burns nothing");
    }
    drop(other.join().unwrap());
}

#[test]
fn every_kind_of_end_is_an_arm() {
    let (tx, mut rx) = watch::channel(0);
    let (reply, mut answer) = oneshot::channel();
    let (mut ff_tx, mut ff_rx) = thalweg_queue::spsc::channel(16).unwrap();
    let mut tick = Tick::new(NEVER);
    let mut which = |expected: u32| {
        let chosen = select! {
            pop(rx) -> value => *value.unwrap(),
            pop(answer) -> value => value.unwrap(),
            pop(ff_rx) -> value => value.unwrap(),
            pop(tick) -> _ => 0,
            default => 0,
        };
        assert_eq!(chosen, expected);
    };
    which(0);
    tx.push(1).unwrap();
    which(1);
    reply.push(2).unwrap();
    which(2);
    drop(answer);
    select! {
        push(ff_tx, 3) -> pushed => pushed.unwrap(),
        pop(rx) -> _ => panic!("nothing is there"),
    }
    assert_eq!(ff_rx.pop(), Ok(3));
}

#[test]
fn conditions_patterns_blocks_and_control_flow() {
    let (tx, rx) = mpmc::channel();
    (0..10).for_each(|n| tx.push(n).unwrap());
    let mut sum = 0;
    let ended = 'all: loop {
        select! {
            pop(rx) -> item if sum < 20 => {
                let Ok(n) = item else { continue };
                sum += n;
                if sum == 6 { continue 'all }
            }
            pop(&rx) -> Ok(_) | Err(_) if false => unreachable!("it is off"),
            default => break sum,
        }
    };
    assert_eq!(ended, 21);
    fn early(rx: &mpmc::Receiver<u32>) -> Result<u32, PopError> {
        let n = select! { pop(rx) -> item => item?, at(time::now().after(NEVER)) => 0 };
        Ok(n + 1)
    }
    assert_eq!(early(&rx), Ok(8));
    struct Holds {
        rx: mpmc::Receiver<u32>,
    }
    let holds = Holds { rx };
    assert_eq!(select! { pop(holds.rx) -> item => item }, Ok(8));
    drop(tx);
    assert_eq!(early(&holds.rx), Ok(10));
    assert_eq!(early(&holds.rx), Err(PopError));
}

#[test]
#[should_panic(expected = "no arm of the select is on")]
fn a_select_that_would_wait_for_ever_is_refused() {
    let (_tx, rx) = mpmc::channel::<u32>();
    select! { pop(rx) -> _ if false => {} }
}

/// A value is made once, and dropped when another arm is chosen.
#[test]
fn a_value_is_pushed_or_dropped() {
    let count = Arc::new(());
    let (tx, _rx) = full([count.clone(), count.clone()]);
    select! {
        push(tx, count.clone()) -> _ => panic!("it is full"),
        default => {}
    }
    assert_eq!(Arc::strong_count(&count), 3);
}

/// All arms are always ready: none is left out. A fair coin gives each a third of 3000; the bound is far off.
#[test]
fn nobody_is_left_out() {
    let queues = [(); 3].map(|()| mpmc::channel());
    let mut taken = [0_u32; 3];
    let mut dynamic = [0_u32; 3];
    for _ in 0..3000 {
        queues.iter().for_each(|(tx, _)| tx.push(()).unwrap());
        let [(_, a), (_, b), (_, c)] = &queues;
        let chosen = select! { pop(a) -> _ => 0, pop(b) -> _ => 1, pop(c) -> _ => 2 };
        taken[chosen] += 1;
    }
    let mut select = Select::new();
    for (n, (_, rx)) in queues.iter().enumerate() {
        select.pop(rx, move |_| n);
    }
    (0..3000).for_each(|_| dynamic[select.wait().unwrap()] += 1);
    assert!(taken.iter().chain(&dynamic).all(|&count| count > 300), "{taken:?} {dynamic:?}");
}

#[test]
fn a_dynamic_select_ends_when_nothing_can_happen() {
    let queues = [(); 4].map(|()| mpmc::channel());
    queues.iter().enumerate().for_each(|(n, (tx, _))| (0..3).for_each(|i| tx.push(n * 3 + i).unwrap()));
    let receivers = queues.map(|(_, rx)| rx);
    let mut select = Select::new();
    for rx in &receivers {
        select.pop(rx, |item| item.ok());
    }
    let mut popped: Vec<_> = std::iter::from_fn(|| select.wait()).flatten().collect();
    popped.sort_unstable();
    assert!(popped.into_iter().eq(0..12));
    assert!(select.is_empty());
    assert_eq!(select.try_wait(), Err(SelectError::Finished));
    assert_eq!(select.wait_timeout(NEVER), Err(SelectError::Finished));
    assert_eq!(block_on(select.wait_async()), None);
}

#[test]
fn a_dynamic_select_has_every_arm() {
    let (tx, rx) = mpmc::channel();
    let (full, other) = full(["a", "b"]);
    let mut slot = Some("c");
    let log = Cell::new(0);
    let mut select = Select::default();
    let popping = select.pop(&rx, |item| item.unwrap_or("end"));
    select.push_from(&full, &mut slot, |pushed| {
        log.set(log.get() + 1);
        pushed.map_or("closed", |()| "pushed")
    });
    assert_eq!(select.len(), 2);
    assert_eq!(select.wait_timeout(Duration::from_millis(1)), Err(SelectError::Timeout));
    tx.push("item").unwrap();
    assert_eq!(select.try_wait(), Ok("item"));
    assert_eq!(other.pop(), Ok("a"));
    assert_eq!(select.wait(), Some("pushed"));
    assert_eq!((select.len(), log.get()), (1, 1), "a push is done once");
    select.after(Duration::from_millis(1), || "late");
    assert_eq!(select.wait_deadline(time::now().after(NEVER)), Ok("late"));
    assert!(select.remove(popping) && !select.remove(popping));
    assert_eq!(select.wait(), None);
    drop(select);
    assert_eq!(slot, None);
}

/// A select that gave up is in no line: it swallows no wake-up.
#[test]
fn a_select_that_gave_up_is_not_woken() {
    let (tx, rx) = mpmc::channel();
    let mut select = Select::new();
    select.pop(&rx, |item| item);
    assert_eq!(select.wait_timeout(Duration::from_millis(1)), Err(SelectError::Timeout));
    let note = Note::default();
    let mut behind = pin!(rx.pop_async());
    assert!(behind.as_mut().poll(&mut Context::from_waker(&note.waker())).is_pending());
    tx.push(7).unwrap();
    assert!(note.was_woken());
    assert_eq!(behind.poll(&mut Context::from_waker(&note.waker())), Poll::Ready(Ok(7)));
}

#[test]
fn an_async_select_may_be_dropped() {
    let (tx1, rx1) = mpmc::channel::<u32>();
    let (tx2, rx2) = mpmc::channel();
    let (note, next) = (Note::default(), Note::default());
    let mut behind = pin!(rx1.pop_async());
    {
        let mut selecting = pin!(async {
            select_async! { pop(rx1) -> item => item, pop(rx2) -> item => item }
        });
        assert!(selecting.as_mut().poll(&mut Context::from_waker(&note.waker())).is_pending());
        assert!(behind.as_mut().poll(&mut Context::from_waker(&next.waker())).is_pending());
        tx1.push(1).unwrap();
        assert!(note.was_woken() && !next.was_woken());
    }
    assert!(next.was_woken(), "who is woken and leaves wakes the next");
    assert_eq!(behind.poll(&mut Context::from_waker(&next.waker())), Poll::Ready(Ok(1)));

    let mut selecting = pin!(async {
        select_async! { pop(rx1) -> item => item, pop(rx2) -> item => item }
    });
    assert!(selecting.as_mut().poll(&mut Context::from_waker(&note.waker())).is_pending());
    tx2.push(2).unwrap();
    assert_eq!(selecting.poll(&mut Context::from_waker(&note.waker())), Poll::Ready(Ok(2)));
    assert_eq!(
        block_on(async {
            select_async! { pop(rx1) -> _ => 1, default => 3 }
        }),
        3
    );
}

#[test]
fn async_timers_need_no_executor() {
    let (_tx, rx) = mpmc::channel::<u32>();
    let before = time::now();
    let late = block_on(async {
        select_async! { pop(rx) -> _ => false, after(Duration::from_millis(30)) => true, after(NEVER) => false }
    });
    assert!(late && before.elapsed() >= Duration::from_millis(30));
    let mut tick = Tick::new(Duration::from_millis(2));
    for _ in 0..3 {
        block_on(async {
            select_async! { pop(tick) -> _ => {}, pop(rx) -> _ => unreachable!("nothing is pushed") }
        });
    }
    // A timer that is given up is forgotten, and one that is earlier than what the thread sleeps for is in time.
    for _ in 0..100 {
        let mut selecting = pin!(async {
            select_async! { pop(rx) -> _ => {}, after(NEVER) => {} }
        });
        assert!(selecting.as_mut().poll(&mut Context::from_waker(&fuse())).is_pending());
    }
    block_on(async {
        select_async! { after(Duration::from_millis(1)) => {} }
    });
}

/// A waker of the other side panics in the attempt: the lines are left, and nobody behind sleeps for ever.
#[test]
fn a_panic_leaves_the_lines() {
    let (tx, rx) = full([1, 2]);
    let (_other, empty) = mpmc::channel::<u32>();
    {
        let mut pushing = pin!(tx.push_async(3));
        assert!(pushing.as_mut().poll(&mut Context::from_waker(&fuse())).is_pending());
        let popped = catch_unwind(AssertUnwindSafe(|| select! { pop(rx) -> item => item, pop(empty) -> item => item }));
        assert!(popped.is_err(), "the waker is called by the pop");
        assert!(pushing.poll(&mut Context::from_waker(&fuse())).is_ready());
    }
    assert_eq!([rx.try_pop(), rx.try_pop()], [Ok(2), Ok(3)]);
}

/// Several selects on the same queues and plain pops beside them, in schedules drawn by seed: exactly as many items as are waited for, so
/// a wake-up that is lost is reported as a deadlock.
#[test]
fn wake_ups_go_on() {
    for case in 0..2 {
        Fuzz::new().seeds(0..200).run(move || {
            let (tx1, rx1) = mpmc::channel();
            let (tx2, rx2) = mpmc::channel();
            let consumers: Vec<_> = (0..3)
                .map(|me| {
                    let (rx1, rx2) = (rx1.clone(), rx2.clone());
                    thread::spawn(move || {
                        let mut popped = Vec::new();
                        while popped.len() < 2 {
                            let item = match (me + case) % 3 {
                                0 => select! { pop(rx1) -> item => item, pop(rx2) -> item => item },
                                1 => block_on(async {
                                    select_async! { pop(rx2) -> item => item, pop(rx1) -> item => item }
                                }),
                                _ => select! {
                                    pop(rx1) -> item => item,
                                    pop(rx2) -> item => item,
                                    after(Duration::from_nanos(40)) => continue,
                                },
                            };
                            popped.push(item.unwrap());
                        }
                        popped
                    })
                })
                .collect();
            let producer = thread::spawn({
                let tx1 = tx1.clone();
                move || (0..3).for_each(|n| tx1.push(n).unwrap())
            });
            (3..6).for_each(|n| tx2.push(n).unwrap());
            let mut all: Vec<u32> = consumers.into_iter().flat_map(|consumer| consumer.join().unwrap()).collect();
            producer.join().unwrap();
            all.sort_unstable();
            assert!(all.into_iter().eq(0..6));
            drop((tx1, tx2));
        });
    }
}

/// Two threads that each push four numbers and pop four, by one select: the queues are full or empty most of the time.
#[test]
fn pushes_and_pops_meet() {
    Fuzz::new().seeds(0..150).run(|| {
        let (there, back) = (bounded(), bounded());
        let echo = |tx: Tx, rx: Rx| {
            thread::spawn(move || {
                let (mut next, mut sum, mut popped) = (Some(1), 0, 0);
                let mut pushed = 0;
                while popped < 4 || pushed < 4 {
                    select! {
                        push_from(tx, next) -> result => {
                            result.unwrap();
                            pushed += 1;
                            next = (pushed < 4).then_some(pushed + 1);
                        }
                        pop(rx) -> item if popped < 4 => {
                            sum += item.unwrap();
                            popped += 1;
                        }
                    }
                }
                (sum, tx, rx)
            })
        };
        let threads = [echo(there.0, back.1), echo(back.0, there.1)];
        let ends = threads.map(|thread| thread.join().unwrap());
        assert!(ends.iter().all(|(sum, ..)| *sum == 1 + 2 + 3 + 4));
    });
}

/// A time takes part, or does not, as any other arm.
#[test]
fn times_have_conditions() {
    for on in [false, true] {
        let chosen = select! {
            after(Duration::ZERO) if on => "after",
            at(time::now()) if !on => "at",
        };
        assert_eq!(chosen, if on { "after" } else { "at" });
    }
}
