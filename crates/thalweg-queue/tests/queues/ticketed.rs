//! What only the ticketed queue does: reservations, windows, holes and tickets.

use crate::support::Note;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::task::{Context, Poll, Wake, Waker};
use thalweg_check::Fuzz;
use thalweg_queue::research::ticketed::{self, Take, Ticket, ticketed, with_counters};
use thalweg_queue::{Park, PopError, TryPopError, TryPushError, Yield};
use thalweg_sync::atomic::{AtomicUsize, Ordering};
use thalweg_sync::sync::Arc;
use thalweg_sync::{spin, thread};

#[test]
fn reservations_overtake_and_commits_do_not() {
    let (tx, rx) = ticketed(8).unwrap();
    let mut grants: Vec<_> = (0..4).map(|_| tx.try_reserve(2).unwrap()).collect();
    assert!(matches!(tx.try_reserve(1), Err(TryPushError::Full(()))));
    for (number, grant) in grants.iter_mut().enumerate() {
        grant.push(2 * number).unwrap();
        grant.push(2 * number + 1).unwrap();
    }
    // Ended last, third, second, first.
    for left in (1..4).rev() {
        grants.pop().unwrap().commit();
        assert_eq!((grants.len(), rx.len()), (left, 0));
        assert_eq!(rx.try_pop(), Err(TryPopError::Busy));
    }
    drop(grants);
    assert_eq!(rx.len(), 8);
    let mut takes: Vec<Take<'_, usize>> = (0..4).map(|_| rx.try_reserve(2).unwrap()).collect();
    assert_eq!(rx.try_pop(), Err(TryPopError::Empty));
    for (number, take) in takes.iter_mut().enumerate() {
        assert!(take.eq([2 * number, 2 * number + 1]));
    }
    // The room of later ones is not there before that of the first.
    takes.drain(1..);
    assert_eq!(tx.try_push(8), Err(TryPushError::Busy(8)));
    drop(takes);
    assert_eq!((tx.try_push(8), rx.try_pop()), (Ok(()), Ok(8)));
}

#[test]
fn windows_slide() {
    let (tx, rx) = ticketed(8).unwrap();
    let mut expected = 0;
    for number in 0..100 {
        tx.try_push(number).unwrap();
        if let Ok(window) = rx.try_window(5, 2) {
            assert!(window.iter().copied().eq(expected..expected + 5));
            assert_eq!((window.get(4), window.get(5)), (Some(&(expected + 4)), None));
            expected += 2;
        }
    }
    assert_eq!(expected, 96);
    drop(tx);
    assert!(matches!(rx.try_window(5, 1), Err(TryPopError::Closed)));
    // What is too little for a window can still be taken, and in one piece.
    assert!(rx.try_reserve(8).unwrap().eq(96..100));
    assert!(matches!(rx.try_reserve(1), Err(TryPopError::Closed)));
}

#[test]
fn holes_are_passed_over() {
    let (tx, rx) = ticketed(8).unwrap();
    for round in 0..20 {
        let mut partly = tx.try_reserve(3).unwrap();
        partly.push(round).unwrap();
        drop(partly);
        drop(tx.try_reserve(2).unwrap());
        tx.try_push(round + 1000).unwrap();
        if round % 2 == 0 {
            let window = rx.try_window(6, 1).unwrap();
            assert!(window.iter().eq(&[round, round + 1000]));
            assert_eq!([window.get(0), window.get(1), window.get(3)], [Some(&round), None, None]);
            drop(window);
            assert_eq!(rx.try_pop(), Ok(round + 1000));
        } else {
            assert_eq!(rx.try_pop(), Ok(round));
            assert!(rx.try_reserve(5).unwrap().eq([round + 1000]));
        }
        assert_eq!(rx.try_pop(), Err(TryPopError::Empty));
        // A full round without holes: what the last round left is not taken for one.
        let mut grant = tx.try_reserve(8).unwrap();
        (0..8).for_each(|number| grant.push(number).unwrap());
        drop(grant);
        assert!(rx.try_reserve(8).unwrap().eq(0..8));
    }
}

#[test]
fn items_are_written_and_read_where_they_lie() {
    let counted = Arc::new(());
    let (tx, rx) = ticketed(4).unwrap();
    for round in 0..5 {
        let mut grant = tx.try_reserve(3).unwrap();
        for number in [round, round + 1] {
            grant.next_uninit().unwrap().write((number, counted.clone()));
            // SAFETY: written above.
            unsafe { grant.assume_written() };
        }
        assert_eq!(grant.remaining(), 1);
        drop(grant);
        let mut take = rx.try_reserve(3).unwrap();
        assert_eq!([take.peek().unwrap().0, take.peek().unwrap().0], [round; 2]);
        assert_eq!(take.next().unwrap().0, round);
        assert_eq!(take.peek().unwrap().0, round + 1);
        drop(take);
        assert_eq!(Arc::strong_count(&counted), 1);
    }
    // A hole is passed over, and at the end there is nothing.
    drop(tx.try_reserve(1).unwrap());
    tx.try_push((7, counted)).unwrap();
    let mut take = rx.try_reserve(2).unwrap();
    assert_eq!(take.peek().unwrap().0, 7);
    assert_eq!(take.next().unwrap().0, 7);
    assert!(take.peek().is_none() && take.next().is_none());
}

#[test]
fn everything_is_dropped_once() {
    let counted = Arc::new(());
    for taken in 0..4 {
        let (tx, rx) = ticketed(8).unwrap();
        let mut grant = tx.try_reserve(6).unwrap();
        (0..4).for_each(|_| grant.push(counted.clone()).unwrap());
        drop(grant);
        let mut take = rx.try_reserve(5).unwrap();
        let kept: Vec<_> = take.by_ref().take(taken).collect();
        drop(take);
        tx.try_push(counted.clone()).unwrap();
        assert_eq!(Arc::strong_count(&counted), 2 + kept.len());
        drop(rx);
        assert_eq!(Arc::strong_count(&counted), 1 + kept.len());
        assert!(matches!(tx.try_push(counted.clone()), Err(TryPushError::Closed(_))));
    }
    assert_eq!(Arc::strong_count(&counted), 1);
}

#[test]
fn panics_stop_nobody() {
    struct Loud {
        panics: bool,
        _counted: Arc<()>,
    }
    impl Drop for Loud {
        fn drop(&mut self) {
            assert!(!self.panics, "an item's destructor panics");
        }
    }
    let counted = Arc::new(());
    let item = |panics| Loud { panics, _counted: counted.clone() };
    let (tx, rx) = with_counters(4, 1).unwrap();
    let (out_tx, out_rx) = ticketed::<u32>(4).unwrap();
    for _ in 0..10 {
        let pushing = catch_unwind(AssertUnwindSafe(|| {
            let mut grant = tx.reserve(3).unwrap();
            assert!(grant.push(item(true)).is_ok());
            assert!(grant.push(item(false)).is_ok());
            panic!("half-way through a grant");
        }));
        assert!(pushing.is_err());
        // The rest of what was taken is dropped all the same, the room is given back and the ticket consumed.
        assert!(catch_unwind(AssertUnwindSafe(|| drop(rx.reserve(3).unwrap()))).is_err());
        assert_eq!(Arc::strong_count(&counted), 1);
        assert!(tx.try_push(item(false)).is_ok());
        let ticket = rx.try_reserve(1).unwrap().commit();
        assert!(ticket.is_turn(0));
        drop(out_tx.try_reserve_in_turn(1, &ticket, 0).unwrap());
        assert_eq!(out_rx.try_reserve(1).map(Iterator::count), Ok(0));
    }
}

#[test]
fn tickets_are_served_in_order_at_each_counter() {
    let (tx, rx) = with_counters(8, 2).unwrap();
    let (out_tx, out_rx) = ticketed(8).unwrap();
    (0..8).for_each(|number| tx.try_push(number).unwrap());
    let tickets: Vec<Ticket<'_>> = (0..4).map(|_| rx.try_reserve(2).unwrap().commit()).collect();
    let turns = |counter| tickets.iter().map(|ticket| ticket.is_turn(counter)).collect::<Vec<_>>();
    assert_eq!(turns(0), [true, false, false, false]);
    assert!(matches!(out_tx.try_reserve_in_turn(1, &tickets[1], 0), Err(TryPushError::Busy(()))));
    // Served without being used, out of turn: they are passed when the first one is.
    tickets[1].consume(0);
    tickets[2].consume(0);
    let mut grant = out_tx.try_reserve_in_turn(1, &tickets[0], 0).unwrap();
    grant.push(0).unwrap();
    drop(grant);
    assert!(tickets[3].is_turn(0));
    // The other counter has its own order.
    assert_eq!(turns(1), [true, false, false, false]);
    // Tickets that are out take up as many positions as the queue has.
    (0..8).for_each(|number| tx.try_push(number).unwrap());
    assert_eq!(rx.try_pop(), Err(TryPopError::Busy));
    drop(tickets);
    assert_eq!(rx.try_pop(), Ok(0));
    assert_eq!(out_rx.try_pop(), Ok(0));
    // Far beyond the size of the counters.
    for number in 0..100 {
        tx.try_push(number).unwrap();
        let mut take = rx.try_reserve(1).unwrap();
        assert!(take.next().is_some() && take.ticket().is_turn(0) && take.ticket().is_turn(1));
    }
}

/// The waker of a pending pop panics in the drop of a ticket: the ticket is served at every counter, so others are issued.
#[test]
fn a_waker_that_panics_leaves_no_counter_out() {
    struct Panics;
    impl Wake for Panics {
        // What a waker is made of.
        fn wake(self: std::sync::Arc<Self>) {
            panic!("told to panic");
        }
    }
    let (tx, rx) = ticketed::with_wait(2, 3, Park::new()).unwrap();
    tx.try_push(0).unwrap();
    let ticket = rx.try_reserve(1).unwrap().commit();
    {
        let waker = Waker::from(std::sync::Arc::new(Panics));
        let mut popping = pin!(rx.pop_async());
        assert!(popping.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        assert!(catch_unwind(AssertUnwindSafe(|| drop(ticket))).is_err());
    }
    for number in 1..20 {
        tx.try_push(number).unwrap();
        assert_eq!(rx.try_pop(), Ok(number));
    }
}

#[test]
fn misuse_is_named() {
    let (tx, rx) = with_counters::<u8>(8, 1).unwrap();
    let message = |misuse: &dyn Fn()| {
        let panic = catch_unwind(AssertUnwindSafe(misuse)).unwrap_err();
        panic.downcast_ref::<String>().cloned().unwrap_or_default()
    };
    assert_eq!(message(&|| drop(tx.try_reserve(0))), "count must be 1 to 8, not 0");
    assert_eq!(message(&|| drop(rx.try_reserve(9))), "count must be 1 to 8, not 9");
    let beyond = || {
        let mut grant = tx.try_reserve(1).unwrap();
        grant.push(1).unwrap();
        assert!(grant.next_uninit().is_none());
        // SAFETY: there is no entry, which it says.
        unsafe { grant.assume_written() };
    };
    assert_eq!(message(&beyond), "all 1 entries of the grant were written before");
    let ticket = rx.try_reserve(1).unwrap().commit();
    assert_eq!(message(&|| ticket.consume(1)), "counter 1 of 1");
    ticket.consume(0);
    assert_eq!(message(&|| ticket.consume(0)), "the ticket was served at counter 0");
    let text = |capacity, counters| with_counters::<u8>(capacity, counters).unwrap_err().to_string();
    assert_eq!(text(12, 0), "capacity must be a power of two, not 12; 16 is the next");
    assert_eq!(text(8, 65), "counters must be at most 64, not 65");
}

/// Two stages of several workers each: the second pushes to two queues in the order of its pops, to each only what is for it. What
/// leaves is in the order of what entered.
fn pipeline<W: thalweg_queue::wait::Wait>(numbers: usize, workers: usize, wait: impl Fn() -> W) {
    let (source, first_in) = ticketed::with_wait::<usize, W>(4, 1, wait()).unwrap();
    let (first_out, second_in) = ticketed::with_wait(8, 2, wait()).unwrap();
    let (even_out, even) = ticketed::with_wait(8, 0, wait()).unwrap();
    let (odd_out, odd) = ticketed::with_wait(8, 0, wait()).unwrap();
    let seen = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..workers {
            let (input, output) = (first_in.clone(), first_out.clone());
            scope.spawn(move || {
                while let Ok(mut take) = input.reserve(1) {
                    let number = take.next().unwrap();
                    let ticket = take.commit();
                    let mut grant = output.reserve_in_turn(2, &ticket, 0).unwrap();
                    grant.push(number).unwrap(); // and a hole
                }
            });
            let (input, even, odd) = (second_in.clone(), even_out.clone(), odd_out.clone());
            scope.spawn(move || {
                while let Ok(take) = input.reserve(2) {
                    let mut numbers: Vec<usize> = Vec::new();
                    let mut take = take;
                    numbers.extend(take.by_ref());
                    let ticket = take.commit();
                    for number in numbers {
                        // To one of two; the ticket's drop serves the other.
                        let (counter, output) = if number % 2 == 0 { (0, &even) } else { (1, &odd) };
                        let mut grant = output.reserve_in_turn(1, &ticket, counter).unwrap();
                        grant.push(number).unwrap();
                    }
                }
            });
        }
        drop((first_in, first_out, second_in, even_out, odd_out));
        scope.spawn(move || (0..numbers).for_each(|number| source.push(number).unwrap()));
        for (rx, first) in [(even, 0), (odd, 1)] {
            let seen = &seen;
            scope.spawn(move || {
                for number in (first..numbers).step_by(2) {
                    assert_eq!(rx.pop(), Ok(number));
                    seen.fetch_add(1, Ordering::Relaxed);
                }
                assert_eq!(rx.pop(), Err(PopError));
            });
        }
    });
    assert_eq!(seen.load(Ordering::Relaxed), numbers);
}

#[test]
fn output_order_is_input_order() {
    pipeline(5_000, 3, || thalweg_queue::Yield);
    pipeline(1_000, 3, Park::new);
}

#[test]
fn fuzzed_output_order_is_input_order() {
    Fuzz::new().seeds(0..100).run(|| pipeline(10, 2, || thalweg_queue::Yield));
    Fuzz::new().seeds(0..50).run(|| pipeline(6, 2, Park::new));
}

/// Three workers, in which every other item makes a panic: with the item in hand, with the ticket, with room reserved in turn, or waiting
/// for its turn behind others. Nobody waits for what it held, the rest goes on in order, and every item is dropped once.
#[test]
fn fuzzed_panics_hold_nobody_up() {
    const ITEMS: usize = 10;
    Fuzz::new().seeds(0..300).run(|| {
        let counted = Arc::new(());
        // Ends that stay awake: a ticket that is given up waits for its turn while its thread unwinds, and no engine follows a sleep there.
        let (source, input) = ticketed::with_wait(4, 1, Yield).unwrap();
        let (output, results) = ticketed::with_wait(2, 0, Yield).unwrap();
        thread::scope(|scope| {
            for _ in 0..3 {
                let (input, output) = (input.clone(), output.clone());
                scope.spawn(move || {
                    while let Ok(mut take) = input.reserve(1) {
                        let kernel = AssertUnwindSafe(|| {
                            let item: (usize, Arc<()>) = take.next().unwrap();
                            let fault = |stage| {
                                if item.0 % 8 == stage {
                                    resume_unwind(Box::new(stage))
                                }
                            };
                            fault(1);
                            let ticket = take.commit();
                            fault(3);
                            if item.0 % 8 == 5 {
                                ticket.wait_for_turn(0);
                                fault(5);
                            }
                            let mut grant = output.reserve_in_turn(1, &ticket, 0).unwrap();
                            fault(7);
                            grant.push(item).unwrap();
                        });
                        let _ = catch_unwind(kernel);
                    }
                });
            }
            drop((input, output));
            let counted = &counted;
            scope.spawn(move || (0..ITEMS).for_each(|number| source.push((number, counted.clone())).unwrap()));
            let numbers: Vec<_> = results.iter().map(|(number, _)| number).collect();
            assert!(numbers.into_iter().eq((0..ITEMS).step_by(2)));
        });
        assert_eq!(Arc::strong_count(&counted), 1);
    });
}

/// Many end spans at once: none may be left behind with nobody to pass it.
#[test]
fn fuzzed_ends_are_all_passed() {
    Fuzz::new().seeds(0..300).run(|| {
        let (tx, rx) = ticketed(8).unwrap();
        thread::scope(|scope| {
            for producer in 0..4 {
                let tx = tx.clone();
                scope.spawn(move || {
                    let mut grant = tx.reserve(2).unwrap();
                    grant.push(producer).unwrap();
                    spin::pause(1);
                    grant.push(producer).unwrap();
                });
            }
        });
        assert_eq!(rx.len(), 8);
        let mut all: Vec<_> = rx.try_reserve(8).unwrap().collect();
        assert!(all.chunks(2).all(|pair| pair[0] == pair[1]));
        all.sort_unstable();
        assert_eq!(all, [0, 0, 1, 1, 2, 2, 3, 3]);
    });
}

/// Who ends a span behind one that has not ended makes nothing visible, and wakes nobody; who makes it visible does.
#[test]
fn an_end_out_of_turn_wakes_nobody() {
    let (tx, rx) = ticketed::with_wait(4, 0, Park::new()).unwrap();
    let (mut first, mut second) = (tx.try_reserve(1).unwrap(), tx.try_reserve(1).unwrap());
    first.push(0).unwrap();
    second.push(1).unwrap();
    let note = Note::default();
    let waker = note.waker();
    let cx = &mut Context::from_waker(&waker);
    let mut popping = pin!(rx.pop_async());
    assert!(popping.as_mut().poll(cx).is_pending());
    second.commit();
    assert!(!note.was_woken(), "it would find the first one half-way");
    first.commit();
    assert!(note.was_woken());
    assert_eq!(popping.poll(cx), Poll::Ready(Ok(0)));
    assert_eq!(rx.try_pop(), Ok(1));
}
