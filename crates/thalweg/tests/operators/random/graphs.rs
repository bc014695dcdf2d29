//! The same steps as operators of a graph.

use super::interpreter::{TICK, beside, check, digest, is_first, key, key_of_sorted, mix, spread};
use super::{Failure, Message, Open, Step, Wish};
use std::mem;
use thalweg::operators::{Emit, Merge, Skipped};
use thalweg::prelude::*;
use thalweg::{PathEnd, Storage};
use thalweg_sync::atomic::{AtomicU64, Ordering::*};
use thalweg_sync::sync::Arc;
use thalweg_sync::time::Duration;

/// The digest of messages as one of them, which lives on in it.
fn digest_of(messages: &[Message], any: &Arc<()>) -> Message {
    Message(digest(&messages.iter().map(|message| message.0).collect::<Vec<_>>()), any.clone())
}

fn sort<'a>(graph: &mut Graph<'a>, from: impl Gives<Message = Message, Head = PathEnd>) -> Open {
    let sort = graph.sequential_with(
        Vec::new(),
        |all: &mut Vec<Message>, x, _out: &mut Emit<'_, '_, Message>| all.push(x),
        |all, out| {
            all.sort();
            out.extend(mem::take(all));
        },
    );
    from.into_path() >> sort
}

fn checked(message: Message) -> Result<Message, Message> {
    match check(message.0) {
        Ok(x) => Ok(Message(x, message.1)),
        Err(x) => Err(Message(x, message.1)),
    }
}

/// Goes round and round, as the interpreter's loop does.
fn rounds(graph: &mut Graph<'_>, path: Open, most: u64) -> Open {
    let all = graph.add(Merge::new(2));
    let count = graph.map(move |message: Message| {
        let left = message.0 % most + 1;
        (message, left)
    });
    let turn = graph.map(|(message, left): (Message, u64)| (message.map(mix), left - 1));
    let [again, done] = graph.split(all.out >> turn, |&(_, left)| left > 0);
    *graph += path >> count >> all.inputs[0];
    *graph += again.feedback() >> all.inputs[1];
    let done = done >> graph.map(|(message, _)| message);
    sort(graph, done)
}

fn fail(graph: &mut Graph<'_>, path: Open, at: u64, failure: Failure) -> Open {
    let mut count = 0;
    let seen = AtomicU64::new(0);
    let node = match failure {
        Failure::Error => graph.sequential(move |message: Message, out: &mut Output<Message>| {
            count += 1;
            out.push(message);
            if count > at { Err("it was asked to fail") } else { Ok(()) }
        }),
        Failure::Panic => graph.map(move |message: Message| {
            count += 1;
            assert!(count <= at, "it was asked to fail");
            message
        }),
        Failure::Parallel => graph.parallel_map(move |message: Message| {
            assert!(seen.fetch_add(1, Relaxed) < at, "it was asked to fail");
            message
        }),
    };
    graph.name(node, "fails");
    path >> node
}

/// Adds so many messages of one stream and so many of the other, on many workers; beside the sums it gives what [`beside`] makes of them.
struct Fire {
    own: usize,
    others: usize,
    any: Arc<()>,
}

impl ParallelKernel for Fire {
    type Ports = ([In<Message>; 2], [Out<Message>; 2]);

    fn ports(&mut self, bind: &mut Binder<'_>) -> Self::Ports {
        let inputs = [bind.input_of("own", self.own), bind.input_of("others", self.others)];
        (inputs, [bind.output("sums"), bind.output("beside")])
    }

    fn fire(&self, &([own, others], [sums, more]): &Self::Ports, firing: &mut Firing<'_>) -> Result<(), BoxError> {
        let all = [firing.slice(own), firing.slice(others)].concat();
        let sum = digest_of(&all, &self.any);
        firing.extend(more, beside(sum.0).map(|x| Message(x, self.any.clone())));
        firing.push(sums, sum);
        Ok(())
    }
}

fn end(graph: &mut Graph<'_>, path: Open, at: u64, wish: Wish) -> Open {
    let stopper = graph.stopper();
    let mut count = 0;
    path >> graph.map(move |message: Message| {
        count += 1;
        if count == at + 1 {
            match wish {
                Wish::Stop => stopper.stop(),
                Wish::Cancel => stopper.cancel(),
            }
        }
        message
    })
}

pub(super) fn add_step(graph: &mut Graph<'_>, step: Step, path: Open, open: &mut Vec<Open>, any: &Arc<()>) -> Open {
    let any = any.clone();
    match step {
        Step::Map => path >> graph.parallel_map(|message: Message| message.map(mix)),
        Step::Rounds(most) => rounds(graph, path, most),
        Step::Fail(at, failure) => fail(graph, path, at, failure),
        Step::End(at, wish) => end(graph, path, at, wish),
        Step::FlatMap => {
            path >> graph.flat_map(|Message(x, any): Message| spread(x).map(move |x| Message(x, any.clone())))
        }
        Step::Every(count) => {
            let ticks = graph.every(Duration::from_micros(20)) >> graph.take(count);
            open.push(ticks >> graph.map(move |_| Message(TICK, any.clone())));
            path
        }
        Step::Window { peek, pop, parallel } => {
            let each = move |window: &[Message], out: &mut Output<Message>| out.push(digest_of(window, &any));
            path >> if parallel { graph.parallel_window(peek, pop, each) } else { graph.window(peek, pop, each) }
        }
        Step::WindowPartial(peek, pop) => {
            path >> graph.window_partial(peek, pop, move |window: &[Message], out: &mut Emit<'_, '_, Message>| {
                out.push(digest_of(window, &any));
            })
        }
        // More than ever comes: nothing is dropped.
        Step::Newest => path.newest(1 << 20) >> graph.map(|message| message),
        Step::Latest(keep) => {
            let last = graph.sequential_with(
                None,
                |last, x, _out: &mut Emit<'_, '_, Message>| *last = Some(x),
                |last: &mut Option<Message>, out| out.extend(last.take()),
            );
            path.newest(keep) >> last
        }
        Step::Carried(storage, capacity) => {
            let path = path.storage(storage);
            let path = if let Some(capacity) = capacity { path.fixed(capacity) } else { path };
            match storage {
                Storage::Linked | Storage::Many => path >> graph.parallel_map(|message| message),
                _ => path >> graph.map(|message| message),
            }
        }
        Step::Throttle => path >> graph.throttle(100_000, crate::times::EVER),
        Step::Debounce => path >> graph.debounce(crate::times::EVER),
        Step::Broadcast => {
            let copies = graph.broadcast(path, 2);
            open.push(copies[1].into_path());
            copies[0].into_path()
        }
        Step::Split => {
            let [first, second] = graph.split(path, |message| is_first(&message.0));
            open.push(second.into_path());
            first.into_path()
        }
        Step::Partition => {
            let parts: [_; 3] = graph.partition(path, |message| key(&message.0));
            let merged = graph.merge(parts);
            sort(graph, merged)
        }
        Step::TryMap => {
            let (results, errors) = graph.try_map(path, checked);
            open.push(errors.into_path());
            results.into_path()
        }
        Step::Skip => path >> graph.map_or_skip(|x| checked(x).map_err(|x| x.0.to_string()), &Skipped::new()),
        Step::Take(count) => path >> graph.take(count),
        Step::TakeWhile => path >> graph.take_while(|message: &Message| message.0 % 50 != 49),
        Step::Chunks(length) => {
            path >> graph.chunks(length) >> graph.map(move |chunk: Vec<Message>| digest_of(&chunk, &any))
        }
        Step::Fold => {
            path >> graph.fold(Vec::new, Vec::push) >> graph.map(move |all: Vec<Message>| digest_of(&all, &any))
        }
        Step::KeyFold(lanes) => {
            let folded = graph.key_by(path, |message| key(&message.0)).lanes(lanes).fold(Vec::new, Vec::push);
            let digests = graph.map(move |(_, all): (u64, Vec<Message>)| digest_of(&all, &any));
            sort(graph, folded >> digests)
        }
        Step::KeyMap(lanes) => {
            let keyed = graph.key_by(path, |message| key(&message.0)).lanes(lanes);
            let mapped = keyed.map_with(Vec::new, move |all, _, x| {
                all.push(x);
                digest_of(all, &any)
            });
            sort(graph, mapped)
        }
        Step::KeyWindow(peek, pop) => {
            let keyed = graph.key_by(path, |message| key(&message.0)).lanes(2);
            let windows = keyed.window(peek, pop, move |_, window| digest_of(window, &any));
            sort(graph, windows)
        }
        Step::WindowByTime(width) => {
            let windows = graph.window_by_time(width, |message: &Message| message.0, &Skipped::new());
            path >> windows >> graph.map(move |(_, window): (u64, Vec<Message>)| digest_of(&window, &any))
        }
        Step::Merge | Step::Interleave | Step::MergeByKey | Step::Zip | Step::Fire(..) => {
            if open.is_empty() {
                return path;
            }
            let other = open.swap_remove(0);
            match step {
                Step::Fire(own, others) => {
                    let ([first, second], [sums, beside]) = graph.add_parallel(Fire { own, others, any });
                    *graph += path >> first;
                    *graph += other >> second;
                    open.push(beside.into_path());
                    sums.into_path()
                }
                Step::Merge => {
                    let merged = graph.merge([path, other]);
                    sort(graph, merged)
                }
                Step::Zip => {
                    let pairs = graph.zip(path, other);
                    pairs >> graph.map(|(a, b): (Message, Message)| a.map(|a| a.wrapping_mul(3).wrapping_add(b.0)))
                }
                Step::Interleave => graph.interleave([path, other]).into_path(),
                _ => {
                    let streams = [sort(graph, path), sort(graph, other)];
                    graph.merge_by_key(streams, |message| key_of_sorted(&message.0)).into_path()
                }
            }
        }
    }
}
