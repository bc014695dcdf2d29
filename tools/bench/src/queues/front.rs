//! `queues/oneshot`, `queues/unbounded`, `queues/broadcast` and `queues/select`: the kinds of channel beside the bounded queues.

use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use thalweg_queue::broadcast::graph::Graph;
use thalweg_queue::unbounded::{mpmc, mpsc};
use thalweg_queue::{broadcast, oneshot, select};

use super::limits;
use crate::harness::Role::{self, *};
use crate::harness::{BoxError, Contender, Effort, Experiment, Group, Sample};
use crate::machine::{Placement, timed};

/// The entry for the registry of `queues/oneshot`.
pub const ONESHOT: Experiment = Experiment { name: "queues/oneshot", plan: plan_oneshot };
/// The same of `queues/unbounded`.
pub const UNBOUNDED: Experiment = Experiment { name: "queues/unbounded", plan: plan_unbounded };
/// The same of `queues/broadcast`.
pub const BROADCAST: Experiment = Experiment { name: "queues/broadcast", plan: plan_broadcast };
/// The same of `queues/select`.
pub const SELECT: Experiment = Experiment { name: "queues/select", plan: plan_select };

/// A contender that gives a sum, which has to be `expected`; its figure is nanoseconds for each of `units`.
fn summed(
    role: Role,
    name: &str,
    params: Value,
    units: u64,
    expected: u64,
    run: impl Fn() -> u64 + Send + 'static,
) -> Contender {
    Contender::new(role, name, params, move || {
        Placement::OneCpu.pin(0, 1);
        let (sum, timing) = timed(&run);
        checked(sum, expected)?;
        Ok(Sample::nanos_per(timing, units))
    })
}

fn checked(sum: u64, expected: u64) -> Result<(), BoxError> {
    if sum == expected { Ok(()) } else { Err(format!("the sum is {sum}, not {expected}").into()) }
}

/// 1 + 2 + … + n.
fn triangle(n: u64) -> u64 {
    n * (n + 1) / 2
}

fn plan_oneshot(effort: &Effort) -> Result<Vec<Group>, BoxError> {
    let values = effort.messages(1_000_000);
    let params = json!({ "values": values, "threads": Placement::OneCpu.word() });
    let alone = |role, name, run: fn(u64) -> u64| {
        summed(role, name, params.clone(), values, triangle(values), move || (1..=values).map(run).sum())
    };
    let made = vec![
        alone(Ours, "thalweg `oneshot`", |n| {
            let (tx, mut rx) = oneshot::channel();
            tx.push(n).expect("the receiver is there");
            rx.try_pop().expect("it was pushed")
        }),
        alone(Peer, "tokio", |n| {
            let (tx, mut rx) = tokio::sync::oneshot::channel();
            tx.send(n).expect("the receiver is there");
            rx.try_recv().expect("it was sent")
        }),
        alone(Peer, "futures", |n| {
            let (tx, mut rx) = futures::channel::oneshot::channel();
            tx.send(n).expect("the receiver is there");
            rx.try_recv().expect("the sender was there").expect("it was sent")
        }),
        alone(Peer, "crossbeam-channel, bounded(1)", |n| {
            let (tx, rx) = crossbeam_channel::bounded(1);
            tx.send(n).expect("the receiver is there");
            rx.try_recv().expect("it was sent")
        }),
    ];
    let calls = effort.messages(50_000);
    let params = json!({ "calls": calls, "threads": Placement::TwoCpus.word() });
    let called = |role, name, run: fn(u64) -> u64| {
        summed(role, name, params.clone(), calls, triangle(calls), move || run(calls))
    };
    let asked = vec![
        called(Ours, "thalweg `oneshot`", |calls| {
            let (requests, todo) = std::sync::mpsc::channel::<(u64, oneshot::Sender<u64>)>();
            beside(
                move || todo.iter().for_each(|(n, reply)| _ = reply.push(n)),
                move || {
                    let ask = |n| {
                        let (reply, mut answer) = oneshot::channel();
                        requests.send((n, reply)).expect("the server is there");
                        answer.pop().expect("it answers")
                    };
                    (1..=calls).map(ask).sum()
                },
            )
        }),
        called(Peer, "tokio, blocking_recv", |calls| {
            let (requests, todo) = std::sync::mpsc::channel::<(u64, tokio::sync::oneshot::Sender<u64>)>();
            beside(
                move || todo.iter().for_each(|(n, reply)| _ = reply.send(n)),
                move || {
                    let ask = |n| {
                        let (reply, answer) = tokio::sync::oneshot::channel();
                        requests.send((n, reply)).expect("the server is there");
                        answer.blocking_recv().expect("it answers")
                    };
                    (1..=calls).map(ask).sum()
                },
            )
        }),
    ];
    Ok(vec![
        Group::new("made, pushed and popped by one thread", &["ns per value"], made),
        Group::new("a reply for each request, from another thread", &["ns per call"], asked),
        limits::group(effort),
    ])
}

/// What `work` gives, while `other` runs on another thread, and on the other CPU if there are two; it ends when `work` has.
fn beside<R>(other: impl FnOnce() + Send, work: impl FnOnce() -> R) -> R {
    thread::scope(|scope| {
        scope.spawn(|| {
            Placement::TwoCpus.pin(1, 2);
            other();
        });
        work()
    })
}

fn plan_unbounded(effort: &Effort) -> Result<Vec<Group>, BoxError> {
    let items = effort.messages(4_000_000);
    let params = json!({ "items": items, "threads": Placement::TwoCpus.word() });
    let run = |role, name, run: fn(u64) -> u64| {
        summed(role, name, params.clone(), items, triangle(items), move || run(items))
    };
    let streams = vec![
        run(Ours, "thalweg unbounded `mpsc`", |items| {
            let (tx, mut rx) = mpsc::channel();
            beside(move || (1..=items).for_each(|n| _ = tx.push(n)), || rx.iter().sum())
        }),
        run(Ours, "thalweg unbounded `mpmc`", |items| {
            let (tx, rx) = mpmc::channel();
            beside(move || (1..=items).for_each(|n| _ = tx.push(n)), || rx.iter().sum())
        }),
        run(Peer, "crossbeam-channel", |items| {
            let (tx, rx) = crossbeam_channel::unbounded();
            beside(move || (1..=items).for_each(|n| _ = tx.send(n)), || rx.iter().sum())
        }),
        run(Peer, "flume", |items| {
            let (tx, rx) = flume::unbounded();
            beside(move || (1..=items).for_each(|n| _ = tx.send(n)), || rx.iter().sum())
        }),
        run(Peer, "std-mpsc", |items| {
            let (tx, rx) = std::sync::mpsc::channel();
            beside(move || (1..=items).for_each(|n| _ = tx.send(n)), || rx.iter().sum())
        }),
        run(Peer, "tokio", |items| {
            let (tx, mut rx) = tokio::sync::mpsc::unbounded_channel();
            beside(move || (1..=items).for_each(|n| _ = tx.send(n)), || std::iter::from_fn(|| rx.blocking_recv()).sum())
        }),
    ];
    let bursts = vec![
        run(Ours, "thalweg unbounded `mpsc`", |items| {
            let (tx, mut rx) = mpsc::channel();
            (1..=items).for_each(|n| _ = tx.push(n));
            rx.try_iter().sum()
        }),
        run(Ours, "thalweg unbounded `mpmc`", |items| {
            let (tx, rx) = mpmc::channel();
            (1..=items).for_each(|n| _ = tx.push(n));
            rx.try_iter().sum()
        }),
        run(Peer, "crossbeam-channel", |items| {
            let (tx, rx) = crossbeam_channel::unbounded();
            (1..=items).for_each(|n| _ = tx.send(n));
            rx.try_iter().sum()
        }),
        run(Peer, "flume", |items| {
            let (tx, rx) = flume::unbounded();
            (1..=items).for_each(|n| _ = tx.send(n));
            rx.try_iter().sum()
        }),
        run(Peer, "tokio", |items| {
            let (tx, mut rx) = tokio::sync::mpsc::unbounded_channel();
            (1..=items).for_each(|n| _ = tx.send(n));
            std::iter::from_fn(|| rx.try_recv().ok()).sum()
        }),
    ];
    Ok(vec![
        Group::new("one producer, one consumer", &["ns per item"], streams),
        Group::new("all pushed, then all popped, by one thread", &["ns per item"], bursts),
        limits::group(effort),
    ])
}

/// Items that a broadcast keeps.
const KEPT: usize = 1024;

fn plan_broadcast(effort: &Effort) -> Result<Vec<Group>, BoxError> {
    let items = effort.messages(1_000_000);
    let params = json!({ "items": items, "capacity": KEPT, "receivers": 2, "threads": Placement::OneCpu.word() });
    let run = |role, name, run: fn(u64) -> u64| {
        summed(role, name, params.clone(), items, 2 * triangle(items), move || run(items))
    };
    let turns = vec![
        run(Ours, "thalweg `broadcast`", |items| {
            let (tx, mut a) = broadcast::channel(KEPT).expect("there is memory");
            let mut b = a.clone();
            let one = |n| {
                tx.push(n).expect("receivers are there");
                [&mut a, &mut b]
                    .map(|rx| rx.try_pop().expect("it was pushed").expect("nobody is late"))
                    .iter()
                    .sum::<u64>()
            };
            (1..=items).map(one).sum()
        }),
        run(Ours, "thalweg `broadcast`, graph", |items| {
            let mut graph = Graph::new(KEPT).expect("it is a size");
            let _ = (graph.first(), graph.first());
            let (mut tx, mut consumers) = graph.build().expect("there is memory");
            let one = |n| {
                tx.push(n).expect("consumers are there");
                consumers.iter_mut().map(|rx| rx.try_pop().expect("it was pushed")).sum::<u64>()
            };
            (1..=items).map(one).sum()
        }),
        run(Peer, "tokio", |items| {
            let (tx, mut a) = tokio::sync::broadcast::channel(KEPT);
            let mut b = tx.subscribe();
            let one = |n| {
                tx.send(n).expect("receivers are there");
                [&mut a, &mut b].map(|rx| rx.try_recv().expect("it was sent")).iter().sum::<u64>()
            };
            (1..=items).map(one).sum()
        }),
    ];
    Ok(vec![
        Group::new("each item pushed, and popped by two, by one thread", &["ns per item"], turns),
        limits::group(effort),
    ])
}

fn plan_select(effort: &Effort) -> Result<Vec<Group>, BoxError> {
    let items = effort.messages(1_000_000);
    let params = json!({ "items": items, "queues": 2, "threads": Placement::OneCpu.word() });
    let run = |role, name, run: fn(u64) -> u64| {
        summed(role, name, params.clone(), items, triangle(items), move || run(items))
    };
    let ready = vec![
        run(Ours, "thalweg `select`, unbounded", |items| {
            let ((tx, rx), (_other, empty)) = (mpmc::channel(), mpmc::channel());
            (1..=items)
                .map(|n| {
                    tx.push(n).expect("the consumer is there");
                    select! { pop(rx) -> item => item, pop(empty) -> item => item }.expect("it was pushed")
                })
                .sum()
        }),
        run(Ours, "thalweg `select`, bounded", |items| {
            let build = || thalweg_queue::mpmc::channel(KEPT).expect("there is memory");
            let ((tx, rx), (_other, empty)) = (build(), build());
            (1..=items)
                .map(|n| {
                    tx.push(n).expect("the consumer is there");
                    select! { pop(rx) -> item => item, pop(empty) -> item => item }.expect("it was pushed")
                })
                .sum()
        }),
        run(Peer, "crossbeam-channel, unbounded", |items| {
            let ((tx, rx), (_other, empty)) = (crossbeam_channel::unbounded(), crossbeam_channel::unbounded());
            (1..=items)
                .map(|n| {
                    tx.send(n).expect("the consumer is there");
                    crossbeam_channel::select! { recv(rx) -> item => item, recv(empty) -> item => item }
                        .expect("it was sent")
                })
                .sum()
        }),
        run(Peer, "crossbeam-channel, bounded", |items| {
            let build = || crossbeam_channel::bounded(KEPT);
            let ((tx, rx), (_other, empty)) = (build(), build());
            (1..=items)
                .map(|n| {
                    tx.send(n).expect("the consumer is there");
                    crossbeam_channel::select! { recv(rx) -> item => item, recv(empty) -> item => item }
                        .expect("it was sent")
                })
                .sum()
        }),
    ];
    let events = effort.messages(20_000);
    let params = json!({ "items": events, "queues": 2, "threads": Placement::TwoCpus.word() });
    let run = |role, name, run: fn(u64) -> u64| {
        summed(role, name, params.clone(), events, triangle(events), move || run(events))
    };
    let woken = vec![
        run(Ours, "thalweg `select`, unbounded", |events| {
            let ((tx, rx), (_other, empty)) = (mpmc::channel(), mpmc::channel());
            beside(
                move || (1..=events).for_each(|n| slowly(|| _ = tx.push(n))),
                || {
                    let next = || select! { pop(rx) -> item => item.ok(), pop(empty) -> item => item.ok() };
                    std::iter::from_fn(next).sum()
                },
            )
        }),
        run(Peer, "crossbeam-channel, unbounded", |events| {
            let ((tx, rx), (_other, empty)) = (crossbeam_channel::unbounded(), crossbeam_channel::unbounded());
            beside(
                move || (1..=events).for_each(|n| slowly(|| _ = tx.send(n))),
                || {
                    let next = || {
                        crossbeam_channel::select! { recv(rx) -> item => item.ok(), recv(empty) -> item => item.ok() }
                    };
                    std::iter::from_fn(next).sum()
                },
            )
        }),
    ];
    Ok(vec![
        Group::new("an item is there in one of two queues", &["ns per select"], ready),
        Group::new("an item each 20 us, to who sleeps at two queues", &["ns per item, the interval included"], woken),
        limits::group(effort),
    ])
}

/// Does `act` after some 20 us.
fn slowly(act: impl FnOnce()) {
    let (start, pause) = (std::time::Instant::now(), Duration::from_micros(20));
    while start.elapsed() < pause {
        std::hint::spin_loop();
    }
    act();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::measure;

    #[test]
    fn every_contender_gives_the_sum() {
        for experiment in [ONESHOT, UNBOUNDED, BROADCAST, SELECT] {
            let outcome = measure(&experiment, &Effort::TINY, &mut Vec::new()).unwrap();
            assert_eq!(outcome.failures, [""; 0]);
            assert!(outcome.records.len() >= 3);
        }
    }
}
