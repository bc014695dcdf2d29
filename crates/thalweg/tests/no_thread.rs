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

#[test]
fn a_blocking_source_without_a_thread_refuses_the_run_and_loses_nothing() {
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
    let Err(Error::Refused(refusals)) = result else { panic!("{result:?}") };
    assert!(refusals[0].reason.contains("the system gives no thread"), "{refusals:?}");
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
