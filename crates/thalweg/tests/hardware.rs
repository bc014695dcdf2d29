//! What a run does when the system takes hardware threads away. Alone in its process: the whole process is moved.

#![cfg(target_os = "linux")]

use std::process::Command;
use thalweg::prelude::*;
use thalweg_sync::thread;
use thalweg_sync::time::{Duration, now};

/// Lets all threads of this process run on these hardware threads only. False where nobody can do that from outside.
fn move_to(cpus: &[usize]) -> bool {
    let list: Vec<_> = cpus.iter().map(usize::to_string).collect();
    let pid = std::process::id().to_string();
    let moved = Command::new("taskset").args(["-a", "-c", "-p", &list.join(","), &pid]).output();
    moved.is_ok_and(|output| output.status.success())
}

#[test]
fn workers_follow_the_hardware_threads_that_there_are() {
    let all: Vec<_> = thread::current_affinity().map(|affinity| affinity.cpus().collect()).unwrap_or_default();
    if all.len() < 2 || thread::available_parallelism() != all.len() || !move_to(&all) {
        eprintln!("skipped: it needs two hardware threads without a quota, and `taskset` (package util-linux)");
        return;
    }
    let mut graph = Graph::new();
    graph += graph.source(0_u64..) >> graph.parallel_map(|n: u64| n ^ 1) >> graph.sink(|_: u64| ());
    let (stopper, observer) = (graph.stopper(), graph.observe());
    let looking = thread::spawn(move || {
        let comes_to = |workers: usize| {
            let begun = now();
            while begun.elapsed() < Duration::from_secs(30) {
                if observer.snapshot().is_some_and(|snapshot| snapshot.working == workers) {
                    return true;
                }
                thread::sleep(Duration::from_millis(20));
            }
            false
        };
        let seen = [comes_to(all.len()), move_to(&all[..1]) && comes_to(1), move_to(&all) && comes_to(all.len())];
        stopper.stop();
        seen
    });
    graph.run(Scheme::named("pw").unwrap()).unwrap();
    assert_eq!(looking.join().unwrap(), [true; 3], "at first, with one left, and with all back");
}
