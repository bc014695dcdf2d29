//! The mesh under loom: small clients, and canaries that show that the model is awake. Its rings have models of their own; these are about
//! who goes on with which, and about the end.
//!
//! Two consumers are the fewest of which one can go on with what the other has left, and two producers the fewest of which one has no
//! ring to a consumer.

use crate::support::Leaked;
use thalweg_queue::TryPopError;
use thalweg_queue::research::mesh::{Consumer, Producer, mesh};
use thalweg_sync::cell::Slot;
use thalweg_sync::sync::Arc;
use thalweg_sync::{model_bounded, thread};

/// An item. loom reports one that is leaked or dropped twice.
type Item = Arc<usize>;

fn handles<const PRODUCERS: usize, const CONSUMERS: usize>()
-> ([Producer<Item>; PRODUCERS], [Consumer<Item>; CONSUMERS]) {
    let (producers, consumers) = mesh(PRODUCERS, CONSUMERS, 2, 2).unwrap();
    let (Ok(producers), Ok(consumers)) = (producers.try_into(), consumers.try_into()) else {
        panic!("as many as asked for")
    };
    (producers, consumers)
}

/// Two threads with one attempt each in each direction: each item comes out once, from its own ring.
fn each_comes_out_once() {
    model_bounded(2, || {
        let ([mut tx, mut other_tx], [mut rx, mut other_rx]) = handles::<2, 2>();
        let other = thread::spawn(move || {
            other_tx.try_push(Arc::new(1)).unwrap();
            (other_rx.try_pop().ok().map(|item| *item), other_tx, other_rx)
        });
        tx.try_push(Arc::new(0)).unwrap();
        let popped = rx.try_pop().ok().map(|item| *item);
        let (others, _other_tx, mut other_rx) = other.join().unwrap();
        let mut popped: Vec<_> = popped.into_iter().chain(others).collect();
        popped.extend([&mut rx, &mut other_rx].into_iter().filter_map(|rx| rx.try_pop().ok()).map(|item| *item));
        popped.sort_unstable();
        assert_eq!(popped, [0, 1]);
    });
}

/// A consumer leaves while the producer pushes into its ring: the other one goes on with it, to the end.
fn rings_are_taken_over() {
    model_bounded(2, || {
        let ([mut tx], [mut stays, leaves]) = handles::<1, 2>();
        let leaving = thread::spawn(move || drop(leaves));
        (0..2).for_each(|number| tx.try_push(Arc::new(number)).unwrap());
        drop(tx);
        let mut popped = Vec::new();
        loop {
            match stays.try_pop() {
                Ok(item) => popped.push(*item),
                Err(TryPopError::Closed) => break,
                Err(TryPopError::Empty | TryPopError::Busy) => thread::yield_now(),
            }
        }
        leaving.join().unwrap();
        popped.sort_unstable();
        assert_eq!(popped, [0, 1]);
    });
}

/// Whoever is told of the end by `is_over` comes after a producer that has no ring to it.
fn the_end_comes_last(is_over: fn(&mut Consumer<Item>) -> bool) {
    model_bounded(2, move || {
        let ([gone, tx], [rx, mut other_rx]) = handles::<2, 2>();
        let mut rx = Leaked::new(rx);
        drop(gone);
        let note = Arc::new(Slot::new(0));
        let other = thread::spawn({
            let note = note.clone();
            move || {
                // SAFETY: nobody reads it before this producer has left.
                note.with_mut(|note| unsafe { *note = 1 });
                drop(tx);
                assert!(other_rx.try_pop().is_err());
            }
        });
        if is_over(&mut rx) {
            // SAFETY: its writer has left.
            assert_eq!(note.with(|note| unsafe { *note }), 1);
        }
        other.join().unwrap();
        assert!(is_over(&mut rx));
    });
}

fn is_closed(rx: &mut Consumer<Item>) -> bool {
    rx.is_closed()
}

fn is_drained(rx: &mut Consumer<Item>) -> bool {
    matches!(rx.try_pop(), Err(TryPopError::Closed))
}

models! {
    mesh_once: each_comes_out_once(),
    mesh_left: rings_are_taken_over(),
    mesh_closed: the_end_comes_last(is_closed),
    mesh_drained: the_end_comes_last(is_drained),
}

canaries! {
    mesh_canary_1: "mesh.1", "Causality violation", the_end_comes_last(is_closed),
    mesh_canary_2: "mesh.2", "Causality violation", the_end_comes_last(is_closed),
    mesh_canary_3: "mesh.3", "Causality violation", the_end_comes_last(is_drained),
    mesh_canary_4: "mesh.4", "Causality violation", the_end_comes_last(is_drained),
}
