//! What no scheme may do to a kernel: starve it, run it after its end, leave it alone with what others could do, or let it overflow the stack.

use crate::common::{SOON, within};
use std::collections::HashMap;
use std::hint::black_box;
use std::thread::{ThreadId, current};
use thalweg::prelude::*;
use thalweg::{End, Error};
use thalweg_sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use thalweg_sync::sync::{Arc, Mutex};
use thalweg_sync::thread;
use thalweg_sync::time::Duration;

fn schemes(workers: &'static [usize]) -> impl Iterator<Item = Scheme> {
    let of = |name| workers.iter().map(move |&workers| Scheme::named(name).unwrap().workers(workers));
    Scheme::names().flat_map(of)
}

/// A source that says `More` and gives nothing until another source's message has arrived.
#[test]
fn beside_a_source_that_always_has_more_another_one_runs() {
    for scheme in schemes(&[1, 2]) {
        let end = within(SOON, move || {
            let done = AtomicBool::new(false);
            let mut graph = Graph::new();
            let busy =
                graph.poll_source(|_: &mut Output<u64>| if done.load(Relaxed) { Flow::Done } else { Flow::More });
            let (nothing, lone) = (graph.sink(|_: u64| ()), graph.source(0..1_u64));
            let arrives = graph.sink(|_: u64| done.store(true, Relaxed));
            graph += busy >> nothing;
            graph += lone >> arrives;
            graph.run(scheme).unwrap().end
        });
        assert_eq!(end, End::Complete, "{scheme:?}");
    }
}

/// Takes a message from each side.
struct Zip;

impl Kernel for Zip {
    type Ports = (In<u64>, In<u64>, Out<u64>);
    fn ports(&mut self, bind: &mut Binder<'_>) -> Self::Ports {
        (bind.input("left"), bind.input("right"), bind.output("out"))
    }
    fn run(&mut self, &(left, right, out): &Self::Ports, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        while io.has(left, 1) && io.has(right, 1) {
            io.skip(left, 1);
            let message = io.pop(right).expect("it is there");
            io.push(out, message);
        }
        Ok(if io.is_ended(left) || io.is_ended(right) { Flow::Done } else { Flow::More })
    }
}

/// A diamond one side of which lets only the last message through, beside a source that ends when the diamond has.
#[test]
fn an_edge_that_has_to_grow_does_so_beside_a_source_that_never_ends() {
    const ALL: u64 = 100_000;
    for scheme in schemes(&[1, 2]) {
        let (end, seen) = within(SOON, move || {
            let (done, seen) = (AtomicBool::new(false), AtomicU64::new(0));
            let mut graph = Graph::new();
            let busy =
                graph.poll_source(|_: &mut Output<u64>| if done.load(Relaxed) { Flow::Done } else { Flow::More });
            let nothing = graph.sink(|_: u64| ());
            graph += busy >> nothing;
            let numbers = graph.source(0..ALL);
            let [narrow, wide] = graph.tee(numbers);
            let last = graph.sequential(|x: u64, out: &mut Output<u64>| {
                if x == ALL - 1 {
                    out.push(x)
                }
            });
            let zip = graph.add(Zip);
            let sink = graph.sink(|_: u64| {
                seen.fetch_add(1, Relaxed);
                done.store(true, Relaxed);
            });
            graph += narrow >> last >> zip.0;
            graph += wide >> zip.1;
            graph += zip.2 >> sink;
            let end = graph.run(scheme).unwrap().end;
            drop(graph);
            (end, seen.load(Relaxed))
        });
        assert_eq!((end, seen), (End::Complete, 1), "{scheme:?}");
    }
}

#[expect(clippy::disallowed_methods, reason = "the threads of the system are counted")]
fn this_thread() -> ThreadId {
    current().id()
}

/// 400 messages turn slow behind so many quick ones that all of them lie in one block.
#[test]
fn a_block_that_turns_slow_is_shared_and_its_results_stay_in_order() {
    const QUICK: u64 = 100_000;
    for name in ["depth_first", "pw", "mix_dyn", "qes"] {
        for ordered in [true, false] {
            let (by, seen) = within(SOON, move || {
                let by = Mutex::new(HashMap::<ThreadId, u64>::new());
                let mut seen = Vec::new();
                let mut graph = Graph::new();
                let numbers = graph.source(0..QUICK + 400);
                let slow = graph.parallel_map(|x: u64| {
                    if x >= QUICK {
                        thread::sleep(Duration::from_millis(2));
                        *by.lock().unwrap().entry(this_thread()).or_default() += 1;
                    }
                    x
                });
                let sink = graph.sink(|x: u64| seen.push(x));
                graph += if ordered { numbers >> slow >> sink } else { numbers >> slow.unordered() >> sink };
                graph.run(Scheme::named(name).unwrap().workers(4)).unwrap();
                drop(graph);
                (by.into_inner().unwrap(), seen)
            });
            assert!(by.values().all(|&count| count < 300) && by.len() > 2, "{name}: {by:?}");
            let mut sorted = seen.clone();
            sorted.sort_unstable();
            assert!(sorted.into_iter().eq(0..QUICK + 400), "{name}");
            assert!(!ordered || seen.is_sorted(), "{name}");
        }
    }
}

/// A sink that was quick and takes 10 ms a message now, behind which thousands wait in the same block.
#[test]
fn a_cancel_is_seen_between_the_messages_of_a_block_that_turned_slow() {
    for scheme in schemes(&[1, 2]) {
        let more = within(SOON, move || {
            let seen = Arc::new(AtomicU64::new(0));
            let mut graph = Graph::new();
            let (numbers, ours) = (graph.source(0..u64::MAX), seen.clone());
            let sink = graph.sink(move |x: u64| {
                if x > 200_000 {
                    thread::sleep(Duration::from_millis(10));
                    ours.fetch_add(1, Relaxed);
                }
            });
            graph += numbers >> sink;
            let (stopper, theirs) = (graph.stopper(), seen.clone());
            let other = thread::spawn(move || {
                while theirs.load(Relaxed) < 3 {
                    thread::sleep(Duration::from_millis(1));
                }
                stopper.cancel();
                theirs.load(Relaxed)
            });
            assert_eq!(graph.run(scheme).unwrap().end, End::Cancelled);
            let before = other.join().unwrap();
            seen.load(Relaxed) - before
        });
        assert!(more <= 40, "{scheme:?}: {more} more messages");
    }
}

/// Two stages of 20 ms: nothing is known of them, so a block of several would hold the first result back.
#[test]
fn the_first_result_of_slow_stages_does_not_wait_for_the_last_message() {
    for scheme in schemes(&[1, 2]) {
        let taken = within(SOON, move || {
            let (taken, mut at_first) = (AtomicU64::new(0), None);
            let mut graph = Graph::new();
            let numbers = graph.source(0..16_u64);
            let work = |x: u64| {
                thread::sleep(Duration::from_millis(20));
                x
            };
            let first = graph.map(|x: u64| {
                taken.fetch_add(1, Relaxed);
                work(x)
            });
            let second = graph.map(work);
            let sink = graph.sink(|_: u64| _ = at_first.get_or_insert(taken.load(Relaxed)));
            graph += numbers >> first >> second >> sink;
            graph.run(scheme).unwrap();
            drop(graph);
            at_first.unwrap()
        });
        assert!(taken <= 10, "{scheme:?}: {taken} of 16 messages were taken before the first result");
    }
}

/// One of two kernels on a cycle gives its first message on its own account.
struct Seed(bool);

impl Kernel for Seed {
    type Ports = (In<u64>, Out<u64>);
    fn ports(&mut self, bind: &mut Binder<'_>) -> Self::Ports {
        (bind.input("in"), bind.output("out"))
    }
    fn run(&mut self, &(input, out): &Self::Ports, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        if !std::mem::replace(&mut self.0, true) {
            io.push(out, 300);
        }
        while let Some(x) = io.pop(input) {
            if x > 0 {
                io.push(out, x - 1);
            }
        }
        Ok(Flow::More)
    }
}

struct Pass;

impl Kernel for Pass {
    type Ports = (In<u64>, Out<u64>, Out<u64>);
    fn ports(&mut self, bind: &mut Binder<'_>) -> Self::Ports {
        (bind.input("in"), bind.output("out"), bind.output("copy"))
    }
    fn run(&mut self, &(input, out, copy): &Self::Ports, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        while let Some(x) = io.pop(input) {
            io.push(out, x);
            io.push(copy, x);
        }
        Ok(Flow::More)
    }
}

#[test]
fn a_cycle_that_seeds_itself_goes_round_to_its_end() {
    for seed_first in [true, false] {
        for scheme in schemes(&[1, 2, 3]) {
            let seen = within(SOON, move || {
                let mut seen = 0;
                let mut graph = Graph::new();
                let (seed, pass) = if seed_first {
                    let seed = graph.add(Seed(false));
                    (seed, graph.add(Pass))
                } else {
                    let pass = graph.add(Pass);
                    (graph.add(Seed(false)), pass)
                };
                let sink = graph.sink(|_: u64| seen += 1);
                graph += seed.1 >> pass.0;
                graph += pass.1.feedback() >> seed.0;
                graph += pass.2 >> sink;
                graph.run(scheme).unwrap();
                drop(graph);
                seen
            });
            assert_eq!(seen, 301, "{scheme:?}, the seed first: {seed_first}");
        }
    }
}

/// Kernels with 100 KiB of locals each, on a stack of 2 MiB, where each helps the next.
#[test]
fn helps_leave_enough_of_the_stack() {
    for name in ["mix", "mix_dyn", "one_shot"] {
        let run = move || {
            let mut graph = Graph::new();
            let mut path = graph.source(0..2000_u64).fixed(1);
            for _ in 0..40 {
                let stage = graph.sequential(|x: u64, out: &mut Output<u64>| {
                    let mut large = [0_u8; 100 << 10];
                    black_box(&mut large)[x as usize % 1024] = 1;
                    out.push(x);
                    black_box(&large);
                });
                path = (path >> stage).fixed(1);
            }
            let sink = graph.sink(|_: u64| ());
            graph += path >> sink;
            let report = graph.run(Scheme::named(name).unwrap().workers(1)).unwrap();
            report.kernels.iter().map(|kernel| kernel.helps).sum::<u64>()
        };
        assert!(within(SOON, run) > 0, "{name} helps");
    }
}

#[test]
fn raft_wakes_whom_it_concerns() {
    let report = within(SOON, || {
        let mut graph = Graph::new();
        let mut path = graph.source(0..500_u64).into_path();
        for step in 0..60 {
            let stage = graph.sequential(move |x: u64, out: &mut Output<u64>| out.push(x + step));
            path = path >> stage;
        }
        let sink = graph.sink(|_: u64| ());
        graph += path >> sink;
        graph.run(Scheme::named("raft").unwrap()).unwrap()
    });
    // Each block woke all 62 threads: some 60 000 sleeps.
    assert!(report.sleeps < 6000, "{} sleeps", report.sleeps);
}

#[test]
fn an_iterator_is_not_read_behind_its_end() {
    for scheme in schemes(&[1, 3]) {
        let mut ended = false;
        let mut left = 3;
        let numbers = std::iter::from_fn(move || {
            assert!(!ended, "read behind its end");
            ended = left == 0;
            left -= 1;
            (!ended).then_some(left)
        });
        let mut graph = Graph::new();
        let source = graph.source(numbers);
        let sink = graph.sink(|_: i32| ());
        graph += source >> sink;
        for _ in 0..2 {
            match graph.run(scheme) {
                Ok(report) => assert_eq!(report.end, End::Complete, "{scheme:?}"),
                Err(Error::Failed { failures, .. }) => panic!("{scheme:?}: {failures:?}"),
                Err(error) => panic!("{error}"),
            }
        }
    }
}
