//! A system that gives no thread: the run is refused by name, and nothing is lost. A program of its own, since the limit is the process's.
#![cfg(target_os = "linux")]

use thalweg::prelude::*;
use thalweg::{End, Error};

/// Sets how much memory the process may have in its address space, and gives what it was. A thread's stack is part of it.
fn limit_memory(bytes: libc::rlim_t) -> libc::rlim_t {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: it is given a place for one.
    assert_eq!(unsafe { libc::getrlimit(libc::RLIMIT_AS, &raw mut limit) }, 0);
    let before = limit.rlim_cur;
    limit.rlim_cur = bytes.min(limit.rlim_max);
    // SAFETY: as above.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) }, 0);
    before
}

fn memory_in_use() -> libc::rlim_t {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').next().unwrap().parse::<libc::rlim_t>().unwrap() * 4096
}

/// One after the other: the limit is the process's. Each asks for larger stacks than all before it, since the C library keeps the stack of
/// a thread that has ended, and gives it to the next one that it is large enough for.
#[test]
fn whoever_gets_no_thread_refuses_the_run_by_name_and_nothing_is_lost() {
    blocking_sources();
    // Room for one more stack, and for none.
    workers(100 << 20, Scheme::default().workers(3).stack_size(64 << 20), "worker 2 of 3");
    workers(100 << 20, Scheme::default().workers(2).stack_size(128 << 20), "worker 1 of 2");
    workers(250 << 20, Scheme::named("raft").unwrap().stack_size(160 << 20), "worker 2 of 3");
    the_run_itself(100 << 20, 192 << 20);
    // The library keeps 40 MB at most: the large stacks above have driven out those of 2 MB, which a task's thread asks for.
    tasks(1 << 20, Scheme::default().workers(1), "count ");
    // Their threads are there, and one of a worker is not.
    tasks(100 << 20, Scheme::default().workers(2).stack_size(256 << 20), "worker 1 of 2");
}

fn tasks(room: libc::rlim_t, scheme: Scheme, who: &str) {
    let mut graph = Graph::new();
    let to = graph.task(16, |input: Outlet<u64>| assert_eq!(input.iter().count(), 1000)).unwrap();
    graph.name(to, "count");
    graph += graph.source(0..1000_u64) >> to;
    let before = limit_memory(memory_in_use() + room);
    let result = graph.run(scheme);
    limit_memory(before);
    let refusals = refused(result);
    assert!(refusals[0].kernel.starts_with(who), "{refusals:?}");
    let report = graph.run(scheme).unwrap();
    assert_eq!((report.end, report.edges[0].messages), (End::Complete, 1000));
}

fn refused(result: Result<Report, Error>) -> Vec<thalweg::Refusal> {
    let Err(Error::Refused(refusals)) = result else { panic!("{result:?}") };
    assert!(refusals[0].reason.contains("the system gives no thread"), "{refusals:?}");
    refusals
}

fn workers(room: libc::rlim_t, scheme: Scheme, worker: &str) {
    let mut graph = Graph::new();
    let (end, all) = graph.collect();
    graph += graph.source(0..1000_u64) >> graph.map(|x: u64| x + 1) >> end;
    let before = limit_memory(memory_in_use() + room);
    let result = graph.run(scheme);
    limit_memory(before);
    assert_eq!(refused(result)[0].kernel, worker);
    assert_eq!(all.take(), [], "nothing ran");
    assert_eq!(graph.run(scheme).unwrap().end, End::Complete);
    assert!(all.take().into_iter().eq(1..=1000));
}

fn the_run_itself(room: libc::rlim_t, stack: usize) {
    let mut graph = Graph::new();
    let (end, all) = graph.collect();
    graph += graph.source(0..1000_u64) >> end;
    let scheme = Scheme::default().workers(1).stack_size(stack);
    let before = limit_memory(memory_in_use() + room);
    let mut run = graph.run_async(scheme);
    let result = futures_executor::block_on(&mut run);
    limit_memory(before);
    assert_eq!(refused(result)[0].kernel, "the run");
    let mut run = run.into_graph().expect("it did not run").run_async(scheme);
    assert_eq!(futures_executor::block_on(&mut run).unwrap().end, End::Complete);
    assert!(all.take().into_iter().eq(0..1000));
}

fn blocking_sources() {
    let mut seen = Vec::new();
    let mut graph = Graph::new();
    let (first, second) = (graph.source_blocking(0..500_u32, 4).unwrap(), graph.source_blocking(500..1000, 4).unwrap());
    graph.name(second, "typed");
    let (left, right) = (graph.map(|x: u32| x), graph.map(|x: u32| x));
    let merge = graph.add(Merge);
    let sink = graph.sink(|x: u32| seen.push(x));
    graph += first >> left >> merge.0;
    graph += second >> right >> merge.1;
    graph += merge.2 >> sink;
    // Too little for a stack of two megabytes, enough for what else there is.
    let before = limit_memory(memory_in_use() + (1 << 20));
    let result = graph.run(Scheme::default().workers(1));
    limit_memory(before);
    let refusals = refused(result);
    let names = refusals.iter().map(|refusal| refusal.kernel.split(' ').next().unwrap());
    assert!(names.eq(["blocking-0", "typed"]), "{refusals:?}");
    assert_eq!(graph.run(Scheme::default().workers(1)).unwrap().end, End::Complete);
    drop(graph);
    seen.sort_unstable();
    assert!(seen.into_iter().eq(0..1000));
}

/// Gives what comes from either side.
struct Merge;

impl Kernel for Merge {
    type Ports = (In<u32>, In<u32>, Out<u32>);
    fn ports(&mut self, bind: &mut Binder<'_>) -> Self::Ports {
        (bind.input("left"), bind.input("right"), bind.output("out"))
    }
    fn run(&mut self, (left, right, out): &Self::Ports, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        while let Some(x) = io.pop(*left).or_else(|| io.pop(*right)) {
            io.push(*out, x);
        }
        Ok(Flow::More)
    }
}
