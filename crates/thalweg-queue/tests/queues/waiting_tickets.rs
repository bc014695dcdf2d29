//! Reservations of the ticketed queue that wait: with a timeout, as futures, asleep. One that is given up has taken nothing, and its
//! ticket keeps its turn.

use crate::support::{Note, block_on};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use thalweg_check::Fuzz;
use thalweg_queue::research::ticketed::{self, Consumer, Producer, Take, Ticket};
use thalweg_queue::{Park, PopError, PopTimeoutError, PushError, PushTimeoutError, TryPopError};
use thalweg_sync::sync::Mutex;
use thalweg_sync::thread;
use thalweg_sync::time::{self, Duration};

const SHORT: Duration = Duration::from_millis(2);

fn queue(capacity: usize, counters: usize) -> ticketed::Ends<usize, Park> {
    ticketed::with_wait(capacity, counters, Park::new()).unwrap()
}

/// Polls a future up to `polls` times, and lets others run in between; then it is dropped.
fn give_up<F: Future>(future: F, polls: usize) -> Option<F::Output> {
    let mut future = pin!(future);
    (0..polls).find_map(|_| match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => Some(result),
        Poll::Pending => {
            thread::yield_now();
            None
        }
    })
}

fn write(grant: ticketed::Grant<'_, usize, Park>, number: usize) {
    let mut grant = grant;
    grant.push(number).unwrap();
    grant.commit();
}

/// Takes the only item, if it is no hole, and leaves its ticket.
fn take<'a>(mut take: Take<'a, usize, Park>) -> (Option<usize>, Ticket<'a, Park>) {
    (take.next(), take.commit())
}

/// It takes as long as it says, with too few items, or too little room, beside it.
#[test]
fn a_wait_ends_in_time() {
    let late = |wait: &dyn Fn()| {
        let start = time::now();
        wait();
        assert!(start.elapsed() >= SHORT);
    };
    let (tx, rx) = queue(4, 1);
    tx.try_push(0).unwrap();
    late(&|| assert_eq!(rx.reserve_timeout(2, SHORT).err(), Some(PopTimeoutError::Timeout)));
    late(&|| assert_eq!(rx.window_timeout(2, 1, SHORT).err(), Some(PopTimeoutError::Timeout)));
    (1..3).for_each(|number| tx.try_push(number).unwrap());
    late(&|| assert_eq!(tx.reserve_timeout(2, SHORT).err(), Some(PushTimeoutError::Timeout(()))));
    write(tx.reserve_timeout(1, SHORT).unwrap(), 3);
    assert!(rx.window_timeout(4, 1, SHORT).unwrap().iter().copied().eq(0..4));
    // The first one is popped.
    assert!(rx.reserve_timeout(1, SHORT).unwrap().eq([1]));
    let (first, second) = (rx.try_reserve(1).unwrap().commit(), rx.try_reserve(1).unwrap().commit());
    late(&|| assert!(!second.wait_for_turn_timeout(0, SHORT)));
    late(&|| assert!(tx.reserve_in_turn_timeout(1, &second, 0, SHORT).is_err()));
    assert!(first.wait_for_turn_timeout(0, SHORT));
    // The turn has come, and there is no room: one time for both.
    (0..4).for_each(|number| tx.try_push(number).unwrap());
    late(&|| {
        let refused = tx.reserve_in_turn_timeout(1, &first, 0, SHORT).err();
        assert_eq!(refused, Some(PushTimeoutError::Timeout(())));
    });
    assert!(first.is_turn(0), "it was refused, and so not served");
    assert!(!second.is_turn(0));
    drop((first, second));
    assert!(rx.try_reserve(4).unwrap().eq(0..4));
}

#[test]
fn a_wait_ends_with_the_queue() {
    let (tx, rx) = queue(4, 1);
    tx.try_push(0).unwrap();
    drop(tx);
    // Fewer are taken at the end, and a window is not.
    assert_eq!(rx.window_timeout(2, 1, SHORT).err(), Some(PopTimeoutError::Closed));
    assert_eq!(block_on(rx.window_async(2, 1)).err(), Some(PopError));
    assert!(rx.reserve_timeout(2, SHORT).unwrap().eq([0]));
    assert_eq!(rx.reserve_timeout(1, SHORT).err(), Some(PopTimeoutError::Closed));
    assert_eq!(block_on(rx.reserve_async(1)).err(), Some(PopError));

    let (tx, rx) = queue(4, 0);
    let (numbers_tx, numbers) = queue(4, 1);
    numbers_tx.try_push(0).unwrap();
    let mut ticket = numbers.try_reserve(1).unwrap().commit();
    drop(rx);
    assert_eq!(tx.reserve_timeout(1, SHORT).err(), Some(PushTimeoutError::Closed(())));
    assert_eq!(block_on(tx.reserve_async(1)).err(), Some(PushError(())));
    let refused = tx.reserve_in_turn_timeout(1, &ticket, 0, SHORT).err();
    assert_eq!(refused, Some(PushTimeoutError::Closed(())));
    assert_eq!(block_on(tx.reserve_in_turn_async(1, &mut ticket, 0)).err(), Some(PushError(())));
    assert!(ticket.is_turn(0), "it was refused, and so not served");
}

/// Woken or not, a future that is dropped has reserved nothing.
#[test]
fn one_that_is_dropped_has_taken_nothing() {
    let (tx, rx) = queue(4, 1);
    let note = Note::default();
    {
        let waker = note.waker();
        let cx = &mut Context::from_waker(&waker);
        let (mut reserving, mut looking) = (pin!(rx.reserve_async(1)), pin!(rx.window_async(1, 1)));
        assert!(reserving.as_mut().poll(cx).is_pending() && looking.as_mut().poll(cx).is_pending());
        tx.try_push(0).unwrap();
        assert!(note.was_woken());
    }
    assert_eq!(rx.len(), 1);
    (1..4).for_each(|number| tx.try_push(number).unwrap());
    let note = Note::default();
    {
        let waker = note.waker();
        let mut reserving = pin!(tx.reserve_async(1));
        assert!(reserving.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        assert_eq!(rx.try_pop(), Ok(0));
        assert!(note.was_woken());
    }
    tx.try_push(4).unwrap();
    // Tickets of reservations that never were are not waited for.
    let (number, ticket) = take(block_on(rx.reserve_async(1)).unwrap());
    assert_eq!((number, ticket.is_turn(0)), (Some(1), true));
    assert!(block_on(rx.window_async(3, 3)).unwrap().iter().copied().eq(2..5));
}

/// Given up before its turn, in its turn and for want of room: each time the ticket can be used as if nothing had been.
#[test]
fn one_that_is_dropped_keeps_the_turn() {
    let (numbers_tx, numbers) = queue(4, 2);
    let (tx, rx) = queue(1, 0);
    (0..3).for_each(|number| numbers_tx.try_push(number).unwrap());
    let [first, mut second, third] = [(); 3].map(|()| numbers.try_reserve(1).unwrap().commit());
    assert!(give_up(tx.reserve_in_turn_async(1, &mut second, 0), 2).is_none());
    assert!(give_up(second.wait_for_turn_async(0), 2).is_none());
    let note = Note::default();
    {
        let mut reserving = pin!(tx.reserve_in_turn_async(1, &mut second, 0));
        assert!(reserving.as_mut().poll(&mut Context::from_waker(&note.waker())).is_pending());
        drop(first);
        assert!(note.was_woken(), "its turn has come");
    }
    assert!(second.is_turn(0) && !third.is_turn(0));
    tx.try_push(7).unwrap();
    let note = Note::default();
    {
        let mut reserving = pin!(tx.reserve_in_turn_async(1, &mut second, 0));
        assert!(reserving.as_mut().poll(&mut Context::from_waker(&note.waker())).is_pending());
        assert_eq!(rx.try_pop(), Ok(7));
        assert!(note.was_woken(), "there is room");
    }
    assert!(second.is_turn(0) && !third.is_turn(0));
    write(block_on(tx.reserve_in_turn_async(1, &mut second, 0)).unwrap(), 1);
    assert!(third.is_turn(0));
    assert_eq!(rx.try_pop(), Ok(1));
    // At the other counter it was not served; dropped, it is.
    let waits = third.wait_for_turn_async(1);
    drop(second);
    assert_eq!(give_up(waits, 1), Some(()));
    // Nor does who waits for a turn keep a ticket.
    let waits = third.wait_for_turn_async(0);
    drop(third);
    assert_eq!(give_up(waits, 1), Some(()));
    assert_eq!(numbers.try_reserve(1).err(), Some(TryPopError::Empty));
}

/// Who waits for two does not keep who waits behind it for one from being woken, and is woken for two.
#[test]
fn each_waits_for_as_many_as_it_asked() {
    let (tx, rx) = queue(2, 0);
    let notes = [Note::default(), Note::default()];
    let [two, one] = notes.each_ref().map(Note::waker);
    {
        let (mut both, mut either) = (pin!(rx.reserve_async(2)), pin!(rx.reserve_async(1)));
        assert!(both.as_mut().poll(&mut Context::from_waker(&two)).is_pending());
        assert!(either.as_mut().poll(&mut Context::from_waker(&one)).is_pending());
        tx.try_push(0).unwrap();
        assert!(notes[1].was_woken());
        let cx = &mut Context::from_waker(&two);
        assert!(both.as_mut().poll(cx).is_pending());
        match either.poll(cx) {
            Poll::Ready(Ok(take)) => assert!(take.eq([0])),
            _ => panic!("one is there"),
        }
        (1..3).for_each(|number| tx.try_push(number).unwrap());
        match both.poll(cx) {
            Poll::Ready(Ok(take)) => assert!(take.eq([1, 2])),
            _ => panic!("two are there"),
        }
    }
}

/// Beside room for one, an item, and a turn that has not come. Once in twenty: on a machine that is at other work everything costs more.
#[test]
fn asleep_they_use_no_processor() {
    let cost = |wait: &(dyn Fn() + Sync), end: &dyn Fn()| {
        thread::scope(|scope| {
            let waiting = scope.spawn(move || {
                let before = time::cpu_time_of_thread().ok()?;
                wait();
                Some(time::cpu_time_of_thread().ok()?.saturating_sub(before))
            });
            thread::sleep(Duration::from_millis(50));
            end();
            waiting.join().unwrap()
        })
    };
    let is_idle = |cost: Option<Duration>| cost.is_none_or(|cost| cost < Duration::from_millis(3));
    let (tx, rx) = queue(2, 1);
    let room = || {
        tx.try_push(0).unwrap();
        let cost = cost(&|| drop(tx.reserve(2).unwrap()), &|| assert_eq!(rx.try_pop(), Ok(0)));
        assert_eq!(rx.try_pop(), Err(TryPopError::Empty), "two holes");
        cost
    };
    let items = |wait: &(dyn Fn() + Sync)| {
        let cost = cost(wait, &|| tx.try_push(1).unwrap());
        while rx.try_pop().is_ok() {}
        cost
    };
    let turn = || {
        (0..2).for_each(|number| tx.try_push(number).unwrap());
        let first = Mutex::new(Some(rx.try_reserve(1).unwrap().commit()));
        cost(&|| rx.try_reserve(1).unwrap().commit().wait_for_turn(0), &|| drop(first.lock().unwrap().take()))
    };
    let two = || {
        tx.try_push(0).unwrap();
        items(&|| drop(rx.reserve(2).unwrap()))
    };
    let window = || {
        tx.try_push(0).unwrap();
        items(&|| drop(rx.window(2, 1).unwrap()))
    };
    assert!((0..20).any(|_| is_idle(room())), "never less than 3 ms of 50 ms");
    assert!((0..20).any(|_| is_idle(two())), "never less than 3 ms of 50 ms");
    assert!((0..20).any(|_| is_idle(window())), "never less than 3 ms of 50 ms");
    assert!((0..20).any(|_| is_idle(turn())), "never less than 3 ms of 50 ms");
}

/// As soon as it is asked, whether it would have to wait or not.
#[test]
fn misuse_is_named() {
    let (tx, rx) = queue(4, 1);
    let message = |misuse: &dyn Fn()| {
        let panic = catch_unwind(AssertUnwindSafe(misuse)).unwrap_err();
        panic.downcast_ref::<String>().cloned().unwrap_or_default()
    };
    assert_eq!(message(&|| drop(tx.reserve_async(0))), "count must be 1 to 4, not 0");
    assert_eq!(message(&|| drop(tx.reserve_timeout(5, SHORT))), "count must be 1 to 4, not 5");
    assert_eq!(message(&|| drop(rx.reserve_async(5))), "count must be 1 to 4, not 5");
    assert_eq!(message(&|| drop(rx.window_async(2, 0))), "pop must be 1 to 2, not 0");
    assert_eq!(message(&|| drop(rx.window_timeout(1, 2, SHORT))), "pop must be 1 to 1, not 2");
    tx.try_push(0).unwrap();
    let ticket = rx.try_reserve(1).unwrap().commit();
    assert_eq!(message(&|| drop(ticket.wait_for_turn_async(1))), "counter 1 of 1");
    ticket.consume(0);
    assert_eq!(message(&|| _ = ticket.wait_for_turn_timeout(0, SHORT)), "the ticket was served at counter 0");
}

/// The futures may be spawned where tasks go from thread to thread.
#[test]
fn futures_are_send() {
    fn check(future: impl Future + Send) {
        drop(future);
    }
    let (tx, rx) = queue(4, 1);
    tx.try_push(0).unwrap();
    check(tx.reserve_async(1));
    check(rx.reserve_async(1));
    check(rx.window_async(1, 1));
    let mut ticket = rx.try_reserve(1).unwrap().commit();
    check(ticket.wait_for_turn_async(0));
    check(tx.reserve_in_turn_async(1, &mut ticket, 0));
    drop(ticket);
    check(async move {
        let mut ticket = rx.reserve_async(1).await.unwrap().commit();
        tx.reserve_in_turn_async(1, &mut ticket, 0).await.unwrap().commit();
    });
}

/// One number from `input`, by a form of its own for each.
fn receive(input: &Consumer<usize, Park>, form: usize) -> Option<(Option<usize>, Ticket<'_, Park>)> {
    match form % 4 {
        0 => input.reserve(1).ok().map(take),
        1 => block_on(input.reserve_async(1)).ok().map(take),
        2 => loop {
            match input.reserve_timeout(1, Duration::from_nanos(30)) {
                Ok(taken) => break Some(take(taken)),
                Err(PopTimeoutError::Closed) => break None,
                Err(PopTimeoutError::Timeout) => {}
            }
        },
        _ => loop {
            if let Some(result) = give_up(input.reserve_async(1), 2) {
                break result.ok().map(take);
            }
        },
    }
}

/// A number to `output`, in its turn, by a form of its own for each.
fn send(output: &Producer<usize, Park>, ticket: &mut Ticket<'_, Park>, form: usize, number: usize) {
    let grant = match form % 5 {
        0 => output.reserve_in_turn(2, ticket, 0).unwrap(),
        1 => block_on(output.reserve_in_turn_async(2, ticket, 0)).unwrap(),
        2 => loop {
            match output.reserve_in_turn_timeout(2, ticket, 0, Duration::from_nanos(30)) {
                Ok(grant) => break grant,
                Err(refused) => assert_eq!(refused, PushTimeoutError::Timeout(())),
            }
        },
        3 => loop {
            if let Some(grant) = give_up(output.reserve_in_turn_async(2, ticket, 0), 2) {
                break grant.unwrap();
            }
        },
        _ => {
            // By hand: the turn, the room, and that is all.
            block_on(ticket.wait_for_turn_async(0));
            let grant = block_on(output.reserve_async(2)).unwrap();
            ticket.consume(0);
            grant
        }
    };
    write(grant, number); // and a hole
}

/// What leaves is in the order of what entered, whoever waits how, and nobody sleeps for ever.
#[test]
fn no_wake_up_and_no_turn_is_lost() {
    const NUMBERS: usize = 8;
    for shift in 0..5 {
        Fuzz::new().seeds(0..60).run(|| {
            let (source, input) = queue(2, 1);
            let (output, sink) = queue(2, 0);
            thread::scope(|scope| {
                for worker in 0..3 {
                    let (input, output) = (input.clone(), output.clone());
                    scope.spawn(move || {
                        let mut form = worker + shift;
                        while let Some((number, mut ticket)) = receive(&input, form) {
                            let number = number.unwrap();
                            // Some are used for nothing.
                            if number % 4 != 3 {
                                send(&output, &mut ticket, form, number);
                            }
                            form += 1;
                        }
                    });
                }
                drop((input, output));
                scope.spawn(move || {
                    for number in 0..NUMBERS {
                        write(block_on(source.reserve_async(1)).unwrap(), number);
                    }
                });
                let mut left = (0..NUMBERS).filter(|number| number % 4 != 3);
                while let Some((number, _)) = receive(&sink, shift) {
                    // Every other one is a hole.
                    assert!(number.is_none() || number == left.next());
                }
                assert_eq!(left.next(), None);
            });
        });
    }
}
