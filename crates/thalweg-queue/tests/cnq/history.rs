//! What threads did and when, and what may be said about the order of it.

use thalweg_queue::research::cnq;
use thalweg_queue::research::tube::Tube;
use thalweg_queue::wait::Ordinary;
use thalweg_sync::atomic::{AtomicUsize, Ordering};
use thalweg_sync::thread;

/// When an operation began and when it was over, by a clock that all threads share.
#[derive(Clone, Copy, Debug)]
struct Span {
    begin: usize,
    end: usize,
}

/// An item's way through the queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Passage {
    pushed: Span,
    popped: Span,
}

/// How many items each popped item has overtaken for certain: those whose push was over before its push began, and whose
/// pop began after its pop was over.
pub(crate) fn ranks(passages: &[Passage]) -> impl Iterator<Item = usize> {
    let overtook =
        |one: &Passage, other: &Passage| other.pushed.end < one.pushed.begin && one.popped.end < other.popped.begin;
    passages.iter().map(move |one| passages.iter().filter(|other| overtook(one, other)).count())
}

/// Producers push `each` items, consumers pop them all; one in `flushes` pushes and pops is followed by a flush. Returns the
/// passage of each item.
pub(crate) fn run<Q: Tube<Item = u32> + 'static>(
    (tx, rx): cnq::Ends<usize, Ordinary, Q>,
    (producers, consumers): (usize, usize),
    each: usize,
    flushes: usize,
) -> Vec<Passage> {
    let clock = AtomicUsize::new(0);
    // SeqCst: the clock says which of two operations was first, whatever they are.
    let tick = || clock.fetch_add(1, Ordering::SeqCst);
    thread::scope(|scope| {
        let pushes: Vec<_> = (0..producers)
            .map(|producer| {
                let mut tx = tx.clone();
                let tick = &tick;
                scope.spawn(move || {
                    let push = |number| {
                        let begin = tick();
                        tx.push(producer * each + number).unwrap();
                        let end = tick();
                        if number % flushes == flushes - 1 {
                            tx.flush();
                        }
                        Span { begin, end }
                    };
                    (0..each).map(push).collect::<Vec<_>>()
                })
            })
            .collect();
        drop(tx);
        let pops: Vec<_> = (0..consumers)
            .map(|_| {
                let mut rx = rx.clone();
                let tick = &tick;
                scope.spawn(move || {
                    let mut popped = Vec::new();
                    loop {
                        let begin = tick();
                        let Ok(item) = rx.pop() else { return popped };
                        popped.push((item, Span { begin, end: tick() }));
                        if popped.len() % flushes == flushes - 1 {
                            rx.flush();
                        }
                    }
                })
            })
            .collect();
        drop(rx);
        let pushed: Vec<Span> = pushes.into_iter().flat_map(|producer| producer.join().unwrap()).collect();
        let mut popped: Vec<_> = pops.into_iter().flat_map(|consumer| consumer.join().unwrap()).collect();
        popped.sort_unstable_by_key(|&(item, _)| item);
        assert!(popped.iter().map(|&(item, _)| item).eq(0..producers * each), "each item came out once");
        pushed.into_iter().zip(popped).map(|(pushed, (_, popped))| Passage { pushed, popped }).collect()
    })
}
