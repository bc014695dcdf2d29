//! Async ends under an executor that is not ours, with many tasks on one thread and one task on each of many; as streams and sinks.

use futures_executor::{LocalPool, block_on};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};
use thalweg_queue::{
    Park, Pop, PopError, Push, growing, mpmc, mpsc,
    research::{cnq, lamport, ticketed},
    spmc, spsc,
    spsc::fast_forward,
};
use thalweg_sync::thread;

const ITEMS: usize = 500;

/// Polls all futures in one task until they are ready.
async fn all<'a>(mut futures: Vec<Pin<Box<dyn Future<Output = ()> + 'a>>>) {
    poll_fn(|cx: &mut Context<'_>| {
        futures.retain_mut(|future| future.as_mut().poll(cx).is_pending());
        if futures.is_empty() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

fn one_and_one(
    (mut tx, mut rx): (
        impl Push<Item = Box<usize>, Wait = Park> + Send,
        impl Pop<Item = Box<usize>, Wait = Park> + Send,
    ),
) {
    // Both ends in one task, so that each has to let the other go on.
    let mut pool = LocalPool::new();
    pool.run_until(all(vec![
        Box::pin(async {
            for number in 0..ITEMS {
                tx.push_async(Box::new(number)).await.unwrap();
            }
        }),
        Box::pin(async {
            for number in 0..ITEMS {
                assert_eq!(*rx.pop_async().await.unwrap(), number);
            }
        }),
    ]));
    // Each end in a thread of its own.
    thread::scope(|scope| {
        scope.spawn(move || {
            block_on(async {
                for number in 0..ITEMS {
                    tx.push_async(Box::new(number)).await.unwrap();
                }
            });
        });
        block_on(async {
            let mut numbers = Vec::new();
            while numbers.len() < ITEMS {
                let before = numbers.len();
                let count = rx.pop_many_async(&mut numbers, 3).await.unwrap();
                assert_eq!(numbers.len(), before + count);
            }
            assert!(numbers.iter().map(|number| **number).eq(0..ITEMS));
            assert_eq!(rx.pop_async().await, Err(PopError));
        });
    });
}

#[test]
fn every_kind_of_queue() {
    one_and_one(fast_forward::with_wait(3, Park::new()).unwrap());
    one_and_one(fast_forward::in_place_with_wait(3, Park::new()).unwrap());
    one_and_one(mpmc::with_wait(2, 2, Park::new()).unwrap());
    one_and_one(mpsc::with_wait(2, 2, Park::new()).unwrap());
    one_and_one(spmc::with_wait(2, 2, Park::new()).unwrap());
    one_and_one(spsc::with_wait(2, 2, Park::new()).unwrap());
    one_and_one(growing::with_wait(2, 4, growing::Most::Entries(9), Park::new()).unwrap());
    one_and_one(lamport::with_wait::<_, _, lamport::Cached>(2, Park::new()).unwrap());
    one_and_one(ticketed::with_wait(2, 0, Park::new()).unwrap());
    one_and_one(
        cnq::with_wait(thalweg_queue::research::tube::scqd::Scqd::new(4).unwrap(), 4, 2, 8, Park::new()).unwrap(),
    );
}

/// Many tasks on one thread share both ends of a queue that is nearly always full or empty.
#[test]
fn many_tasks_on_one_thread() {
    let (tx, rx) = mpmc::with_wait(2, 1, Park::new()).unwrap();
    let (done_tx, done) = mpmc::with_capacity(ITEMS * 4).unwrap();
    let mut tasks: Vec<Pin<Box<dyn Future<Output = ()>>>> = Vec::new();
    for producer in 0..4 {
        let tx = tx.clone();
        tasks.push(Box::pin(async move {
            for number in 0..ITEMS {
                tx.push_async(producer * ITEMS + number).await.unwrap();
            }
        }));
        let (rx, done) = (rx.clone(), done_tx.clone());
        tasks.push(Box::pin(async move {
            while let Ok(number) = rx.pop_async().await {
                done.try_push(number).unwrap();
            }
        }));
    }
    drop((tx, rx, done_tx));
    LocalPool::new().run_until(all(tasks));
    let mut numbers: Vec<_> = done.iter().collect();
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(0..4 * ITEMS));
}

#[cfg(feature = "stream")]
mod stream {
    use super::*;
    use futures_core::Stream;
    use futures_sink::Sink;
    use std::pin::pin;
    use thalweg_queue::PushError;
    use thalweg_sync::sync::Arc;

    #[test]
    fn from_a_sink_to_a_stream() {
        let (tx, rx) = mpmc::with_wait(2, 2, Park::new()).unwrap();
        thread::scope(|scope| {
            scope.spawn(move || {
                let mut sink = pin!(tx.into_sink());
                block_on(async {
                    for number in 0..ITEMS {
                        poll_fn(|cx| sink.as_mut().poll_ready(cx)).await.unwrap();
                        sink.as_mut().start_send(number).unwrap();
                    }
                    poll_fn(|cx| sink.as_mut().poll_close(cx)).await.unwrap();
                });
            });
            let mut stream = pin!(rx.into_stream());
            block_on(async {
                for number in 0..ITEMS {
                    assert_eq!(poll_fn(|cx| stream.as_mut().poll_next(cx)).await, Some(number));
                }
                assert_eq!(poll_fn(|cx| stream.as_mut().poll_next(cx)).await, None);
            });
        });
    }

    #[test]
    fn a_sink_gives_back_what_is_refused() {
        let (tx, rx) = mpmc::with_wait(2, 1, Park::new()).unwrap();
        let mut sink = pin!(tx.into_sink());
        let counted = Arc::new(());
        drop(rx);
        block_on(async {
            poll_fn(|cx| sink.as_mut().poll_ready(cx)).await.unwrap();
            sink.as_mut().start_send(counted.clone()).unwrap();
            let PushError(refused) = poll_fn(|cx| sink.as_mut().poll_flush(cx)).await.unwrap_err();
            assert!(Arc::ptr_eq(&refused, &counted));
        });
        assert_eq!(Arc::strong_count(&counted), 1);
    }

    /// A stream and a sink that were pending and are dropped leave the queue as it was.
    #[test]
    fn dropped_while_pending() {
        let (tx, rx) = mpmc::with_wait(2, 1, Park::new()).unwrap();
        let mut cx = Context::from_waker(std::task::Waker::noop());
        assert!(pin!((&rx).into_stream()).poll_next(&mut cx).is_pending());
        tx.try_push(0).unwrap();
        tx.try_push(1).unwrap();
        {
            let mut sink = pin!((&tx).into_sink());
            assert!(sink.as_mut().poll_ready(&mut cx).is_ready());
            sink.as_mut().start_send(2).unwrap();
            assert!(sink.as_mut().poll_flush(&mut cx).is_pending());
        }
        assert!(rx.try_iter().eq([0, 1]));
        tx.push(3).unwrap();
        assert_eq!(rx.pop(), Ok(3));
    }
}
