//! The five actions on a blocked operation, and what no scheme may do: exceed a capacity, run a sequential kernel twice at once, or reorder an edge.

use crate::common::{SOON, toil, within};
use std::collections::HashSet;
use std::thread::{ThreadId, current};
use thalweg::Report;
use thalweg::prelude::*;
use thalweg_sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use thalweg_sync::sync::Mutex;
use thalweg_sync::thread;
use thalweg_sync::time::{Duration, now};

/// What a scheme does besides trying and sleeping.
struct Traits {
    name: &'static str,
    yields: bool,
    grows: bool,
    helps: bool,
}

const fn row(name: &'static str, yields: bool, grows: bool, helps: bool) -> Traits {
    Traits { name, yields, grows, helps }
}

const SCHEMES: [Traits; 12] = [
    row("depth_first", false, false, false),
    row("raft", true, false, false),
    row("raft_dyn", true, true, false),
    row("pw", true, false, false),
    row("pw_dyn", true, true, false),
    row("mix", true, false, true),
    row("mix_dyn", true, true, true),
    row("one_shot", false, false, true),
    row("random", false, false, false),
    row("qes", false, false, false),
    row("qes_pss", false, false, false),
    row("qes_pss_prs", false, false, false),
];

fn scheme(name: &str, workers: usize) -> Scheme {
    Scheme::named(name).unwrap().workers(workers)
}

#[test]
fn the_table_has_every_scheme() {
    assert!(Scheme::names().eq(SCHEMES.iter().map(|scheme| scheme.name)));
    for scheme in [Scheme::default(), Scheme::named("default").unwrap()] {
        assert_eq!(scheme.name(), SCHEMES[0].name);
    }
    let told = Scheme::named("defaults").unwrap_err().to_string();
    assert!(told.contains("defaults") && SCHEMES.iter().all(|scheme| told.contains(scheme.name)), "{told}");
}

/// Each message becomes forty, into an edge that holds eight at first.
fn flood(scheme: Scheme) -> Report {
    let mut seen = 0;
    let mut graph = Graph::new();
    let numbers = graph.source(0..2000_u64);
    let spread = graph.sequential(|x, out: &mut Output<u64>| (0..40).for_each(|i| out.push(x + i)));
    let sink = graph.sink(|_: u64| seen += 1);
    graph += numbers >> spread.capacity(8, 64) >> sink;
    let report = graph.run(scheme).unwrap();
    drop(graph);
    assert_eq!(seen, 80_000);
    report
}

#[test]
fn only_some_schemes_grow_an_edge_or_help_its_consumer() {
    for Traits { name, grows, helps, .. } in SCHEMES {
        let report = within(SOON, move || flood(scheme(name, 1)));
        let grown: u64 = report.edges.iter().map(|edge| edge.grown).sum();
        let helped: u64 = report.kernels.iter().map(|kernel| kernel.helps).sum();
        assert_eq!(grown > 0, grows, "{name}: grown {grown} times");
        assert_eq!(helped > 0, helps, "{name}: helped {helped} times");
        // From 8 to 64 there are three steps.
        assert!(report.edges[1].grown <= 3, "{name}: {}", report.edges[1].grown);
        let full: u64 = report.kernels.iter().map(|kernel| kernel.blocked_full).sum();
        // Not so if the consumer is next anyway.
        assert!(full > 0 || !name.starts_with("pw"), "{name}: nobody noticed that the edge was full");
    }
}

/// What comes so seldom that workers may sleep meanwhile, with these milliseconds in between.
fn trickle(scheme: Scheme, pause: u64) -> Report {
    within(SOON, move || {
        let mut graph = Graph::new();
        let (source, inlet) = graph.inlet::<u64>(4).unwrap();
        let sink = graph.sink(drop::<u64>);
        graph += source >> sink;
        thread::spawn(move || {
            for x in 0..5 {
                thread::sleep(Duration::from_millis(pause));
                inlet.push(x).unwrap();
            }
        });
        graph.run(scheme).unwrap()
    })
}

#[test]
fn polls_yields_and_sleeps_are_counted() {
    for Traits { name, yields, .. } in SCHEMES {
        // On a busy machine each yield may take milliseconds, and sleep comes after many.
        let reports = [5, 50, 500, 2000].into_iter().map(|pause| trickle(scheme(name, 2), pause));
        let report = reports.into_iter().find(|report| report.sleeps > 0);
        let report = report.unwrap_or_else(|| panic!("{name} sleeps while nothing comes"));
        // Any worker yields after many attempts in vain: then whoever has the kernel does not run.
        let rarely = report.yields <= report.polls / 16;
        assert!(
            if yields { report.yields > 0 } else { rarely },
            "{name}: {} yields, {} polls",
            report.yields,
            report.polls
        );
        if yields {
            assert!(report.polls > report.yields, "{name}: {} polls, {} yields", report.polls, report.yields);
        }
        // Three times sixteen polls end with a yield, and the fourth time with sleep: more often than any worker yields.
        let often = report.yields * 30 >= report.polls;
        assert!(often || name != "raft", "{} polls, {} yields", report.polls, report.yields);
    }
}

#[test]
fn an_edge_holds_no_more_than_it_may() {
    for Traits { name, grows, .. } in SCHEMES {
        for (first, most) in [(1, 1), (8, 8), (8, 32), (10, 100)] {
            for workers in [1, 3] {
                let (held, peak) = (AtomicU64::new(0), AtomicU64::new(0));
                let mut graph = Graph::new();
                let numbers = graph.source(0..3000_u64);
                let count_in = graph.sequential(|x: u64, out: &mut Output<u64>| {
                    peak.fetch_max(held.fetch_add(1, AcqRel) + 1, AcqRel);
                    out.push(x);
                });
                let count_out = graph.sink(|_: u64| {
                    held.fetch_sub(1, AcqRel);
                    toil(20);
                });
                graph += numbers >> count_in.capacity(first, most) >> count_out;
                let report = graph.run(scheme(name, workers)).unwrap();
                drop(graph);
                let limit = if grows { most } else { first } as u64;
                // Besides what the edge holds, half of it can be in the hands of either end: a block is at most that long.
                let blocks = (first as u64).div_ceil(2);
                let peak = peak.load(Acquire);
                assert!(
                    peak <= limit + 2 * blocks + 1,
                    "{name} with {workers} workers: {peak} messages between the ends of an edge of {first} to {most}"
                );
                let edge = &report.edges[1];
                assert!(edge.peak <= limit + blocks, "{name}: peak {} in an edge of {first} to {most}", edge.peak);
            }
        }
    }
}

#[test]
fn an_edge_behind_a_source_holds_no_more_either() {
    for Traits { name, .. } in SCHEMES {
        for first in [1, 8] {
            let mut graph = Graph::new();
            let numbers = graph.source(0..3000_u64);
            let sink = graph.sink(|_: u64| {
                toil(20);
            });
            graph += numbers.fixed(first) >> sink;
            let report = graph.run(scheme(name, 2)).unwrap();
            let (peak, most) = (report.edges[0].peak, (first + first.div_ceil(2)) as u64);
            assert!(peak <= most, "{name}: peak {peak} in an edge of {first}");
        }
    }
}

/// A kernel that changes a block where it is would pass on as much as came in.
#[test]
fn an_edge_behind_a_kernel_that_works_in_place_holds_no_more_either() {
    for Traits { name, .. } in SCHEMES {
        for first in [1, 8] {
            let mut graph = Graph::new();
            let numbers = graph.source(0..3000_u64);
            let one = graph.map(|x: u64| x + 1);
            let two = graph.update(|x: &mut u64| *x += 1);
            let sink = graph.sink(|_: u64| {
                toil(20);
            });
            // Twice as much comes in as may leave at a time.
            let path = numbers.fixed(2 * first) >> one.fixed(first) >> two.fixed(first);
            let path = graph.from(path).filter(|x| x % 3 > 0).path();
            graph += path.fixed(first) >> sink;
            let report = graph.run(scheme(name, 2)).unwrap();
            let most = (first + first.div_ceil(2)) as u64;
            for edge in &report.edges[1..] {
                assert!(edge.peak <= most, "{name}: peak {} from {} in an edge of {first}", edge.peak, edge.from);
            }
            assert_eq!(report.kernels.last().unwrap().messages_out, 2000, "{name}");
        }
    }
}

/// Each worker has a block in hand. The first message waits until the others do not come further.
#[test]
fn an_edge_behind_a_parallel_kernel_holds_no_more_either() {
    for Traits { name, grows, .. } in SCHEMES {
        for (first, most) in [(1, 1), (8, 8), (8, 32)] {
            for unordered in [false, true] {
                let done = AtomicU64::new(0);
                let mut graph = Graph::new();
                let numbers = graph.source(0..3000_u64);
                let pass = graph.parallel_map(|x: u64| {
                    if x == 0 {
                        let mut before = u64::MAX;
                        while before != done.load(Acquire) {
                            before = done.load(Acquire);
                            thread::sleep(Duration::from_millis(3));
                        }
                    }
                    done.fetch_add(1, AcqRel);
                    x
                });
                let sink = graph.sink(|_: u64| {
                    toil(20);
                });
                let path = numbers >> (pass * 2).capacity(first, most);
                graph += if unordered { path.unordered() } else { path } >> sink;
                let report = graph.run(scheme(name, 2)).unwrap();
                let limit = if grows { most } else { first } as u64;
                let (peak, in_hand) = (report.edges[1].peak, 2 * first.div_ceil(2) as u64);
                assert!(peak <= limit + in_hand, "{name}, unordered: {unordered}: peak {peak} of {first} to {most}");
            }
        }
    }
}

#[test]
fn edges_behind_a_kernel_with_ports_hold_no_more_either() {
    for Traits { name, grows, .. } in SCHEMES {
        for (first, most) in [(1, 1), (8, 8), (8, 32)] {
            let mut graph = Graph::new();
            let numbers = graph.source(0..3000_u64);
            let copies: [Out<u64>; 2] = graph.tee(numbers);
            for copy in copies {
                let sink = graph.sink(|_: u64| {
                    toil(20);
                });
                graph += copy.capacity(first, most) >> sink;
            }
            let report = graph.run(scheme(name, 2)).unwrap();
            let most = if grows { most } else { first } as u64 + first.div_ceil(2) as u64;
            for edge in &report.edges[1..] {
                assert!(edge.peak <= most, "{name}: peak {} in an edge of {first}", edge.peak);
            }
        }
    }
}

/// The next kernel says how long blocks are, also to one that would pass them on as they are.
#[test]
fn a_kernel_that_works_in_place_hands_a_parallel_one_short_blocks() {
    let mut graph = Graph::new();
    let numbers = graph.poll_source(|out: &mut Output<u64>| {
        (0..16).for_each(|number| out.push(number));
        Flow::Done
    });
    let next = graph.map(|x: u64| x + 1);
    let work = graph.parallel_sink(|_: u64| ());
    graph.name(work, "work");
    graph += numbers >> next >> work;
    let report = graph.run(scheme("depth_first", 1)).unwrap();
    let work = report.kernel("work").unwrap();
    assert_eq!(work.messages_in, 16);
    // Before it is known what a message costs, each is a block, and a block is an activation: sixteen. A worker that the machine holds up
    // is told to leave the block in between; then `work` runs, its cost is known, and the rest may come in one block.
    assert!(work.activations > 1, "all 16 messages in {} activation", work.activations);
}

#[test]
fn a_message_that_becomes_many_goes_through() {
    for Traits { name, .. } in SCHEMES {
        within(SOON, move || {
            let mut seen = 0;
            let mut graph = Graph::new();
            let numbers = graph.source(0..5_u64);
            let many = graph.sequential(|_, out: &mut Output<u64>| (0..1000).for_each(|x| out.push(x)));
            let more = graph.parallel(|x, out: &mut Output<u64>| (0..3).for_each(|i| out.push(x + i)));
            let sink = graph.sink(|_: u64| seen += 1);
            graph += numbers.fixed(1) >> many.fixed(1) >> more.fixed(1) >> sink;
            graph.run(scheme(name, 2)).unwrap();
            drop(graph);
            assert_eq!(seen, 15_000, "{name}");
        });
    }
}

/// Fails if two threads are in it at once.
#[derive(Default)]
struct Alone {
    taken: AtomicBool,
    threads: Mutex<HashSet<ThreadId>>,
}

impl Alone {
    fn work<R>(&self, body: impl FnOnce() -> R) -> R {
        assert!(!self.taken.swap(true, AcqRel), "a sequential kernel runs on two workers at once");
        let result = body();
        self.taken.store(false, Release);
        result
    }

    #[expect(clippy::disallowed_methods, reason = "the threads of the system are counted")]
    fn note(&self) {
        self.threads.lock().unwrap().insert(current().id());
    }
}

#[test]
fn a_sequential_kernel_runs_on_one_worker_at_a_time_and_in_order() {
    for Traits { name, helps, .. } in SCHEMES {
        let alone: [Alone; 4] = Default::default();
        let mut last = [0_u64; 2];
        let [before, after] = &mut last;
        let mut graph = Graph::new();
        let numbers = graph.source((1..).take_while(|&x| alone[0].work(|| toil(20) > 0 && x <= 4000)));
        let one = graph.sequential(|x: u64, out: &mut Output<u64>| {
            alone[1].work(|| {
                assert_eq!(x, *before + 1, "{name}");
                *before = x;
                toil(20);
                out.push(x);
            });
        });
        let two = graph.map(|x| alone[2].work(|| (toil(20), x).1));
        let sink = graph.sink(|x: u64| {
            alone[3].work(|| {
                assert_eq!(x, *after + 1, "{name}");
                *after = x;
            });
        });
        graph += numbers.fixed(4) >> one.fixed(4) >> two.fixed(4) >> sink;
        let report = graph.run(scheme(name, 4)).unwrap_or_else(|error| panic!("{name}: {error}"));
        drop(graph);
        assert_eq!(last, [4000, 4000], "{name}");
        let helped: u64 = report.kernels.iter().map(|kernel| kernel.helps).sum();
        assert!(!helps || helped > 0, "{name} was to help, or the test shows little");
    }
}

#[test]
fn raft_has_a_thread_for_each_kernel() {
    let alone: [Alone; 4] = Default::default();
    let mut graph = Graph::new();
    let numbers = graph.source((0..2000_u64).inspect(|_| alone[0].note()));
    let one = graph.map(|x: u64| (alone[1].note(), x).1);
    let many = graph.parallel_map(|x: u64| (alone[2].note(), toil(200), x).2);
    let sink = graph.sink(|_: u64| alone[3].note());
    graph += numbers >> one >> many * 4 >> sink;
    // The number of workers is not what is asked for: the graph decides.
    let report = graph.run(scheme("raft", 1)).unwrap();
    assert_eq!(report.workers, 7);
    drop(graph);
    let threads = alone.map(|kernel| kernel.threads.into_inner().unwrap());
    for (index, count) in [(0, 1), (1, 1), (3, 1)] {
        assert_eq!(threads[index].len(), count, "kernel {index}");
    }
    assert!((1..=4).contains(&threads[2].len()), "{}", threads[2].len());
    let together: HashSet<_> = threads.iter().flatten().collect();
    assert_eq!(together.len(), threads.iter().map(HashSet::len).sum::<usize>(), "no thread runs two kernels");
}

#[test]
fn hints_are_never_wrong() {
    for Traits { name, .. } in SCHEMES {
        for hints in [[0.0, 0.0], [4.0, 0.5], [0.5, 4.0], [100.0, 1000.0]] {
            within(SOON, move || {
                let mut seen = Vec::new();
                let mut graph = Graph::new();
                let numbers = graph.source(0..500_u64);
                let one = graph.parallel_map(|x: u64| x + 1);
                let two = graph.map(|x: u64| x * 2);
                let sink = graph.sink(|x: u64| seen.push(x));
                graph += numbers * hints[0] >> one * hints[1] >> two * hints[0] >> sink * hints[1];
                graph.run(scheme(name, 2)).unwrap();
                drop(graph);
                assert!(seen.iter().copied().eq((0..500).map(|x| (x + 1) * 2)), "{name} with {hints:?}");
            });
        }
    }
}

/// By the hints five kernels do as much each, so one worker has the first three. Two of those do nearly all, so after a second one of them is with the other worker.
#[test]
fn kernels_move_to_other_workers_by_what_was_measured() {
    let mut graph = Graph::new();
    let (end, sum) = graph.gather(0_u64, |sum: &mut u64, n: u64| *sum += n);
    let heavy = |n: u64| (0..2_000).fold(n, |x, _| std::hint::black_box(x));
    let (first, second) = (graph.map(move |n| heavy(n + 1)), graph.map(move |n| heavy(n * 2)));
    graph += graph.source(0_u64..) >> first >> second >> graph.map(|n: u64| n) >> end;
    let (observer, stopper) = (graph.observe(), graph.stopper());
    let looking = thread::spawn(move || {
        let begun = now();
        let moved = || observer.snapshot().is_some_and(|snapshot| snapshot.decisions > 0);
        while !moved() && begun.elapsed() < Duration::from_secs(60) {
            thread::sleep(Duration::from_millis(20));
        }
        let moved = moved();
        stopper.stop();
        moved
    });
    let report = graph.run(Scheme::named("pw").unwrap().workers(2).partitioned(true)).unwrap();
    assert!(looking.join().unwrap(), "kernels were measured, and stayed where they were");
    let count = report.kernels.iter().find(|kernel| kernel.messages_in == 0).unwrap().messages_out;
    drop(graph);
    assert_eq!(sum.take(), count * (count + 1));
}
