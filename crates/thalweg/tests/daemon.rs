//! A process with a run of a graph takes part where there is a daemon: it is bounded, keeps its bound when the daemon is killed, finds the successor,
//! and is free when that ends in good order. Its result is the same.
#![cfg(all(feature = "daemon", target_os = "linux"))]

use std::env;
use std::io::{BufRead, BufReader, Lines, Write, stdin};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio, exit};
use thalweg::prelude::*;
use thalweg_daemon::{Daemon, Options, Policy, Status};
use thalweg_sync::atomic::{AtomicUsize, Ordering::*};
use thalweg_sync::sync::Arc;
use thalweg_sync::thread;
use thalweg_sync::time::{Duration, now};

const ROLE: &str = "THALWEG_TEST_ROLE";
const PLACE: &str = "THALWEG_DAEMON";
const SOON: Duration = Duration::from_secs(60);

/// What the processes of these tests do: this program again, told by the environment. They go when their input ends.
#[test]
fn role() {
    match env::var(ROLE).as_deref() {
        Err(_) => {}
        Ok("application") => application(),
        Ok(cores) => daemon(cores.parse().unwrap()),
    }
}

/// Tells each change of what it is allowed, and stops its run when it is told to, or told nothing any more.
fn application() {
    let mut graph = Graph::new();
    let (most, now_at_work) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let work = {
        let most = most.clone();
        graph.parallel_map(move |n: u64| {
            most.fetch_max(now_at_work.fetch_add(1, SeqCst) + 1, SeqCst);
            let until = now().after(Duration::from_micros(300));
            while now() < until {
                thread::yield_now();
            }
            now_at_work.fetch_sub(1, SeqCst);
            n
        })
    };
    let (end, sum) = graph.gather((0, 0), |(count, sum): &mut (u64, u64), n: u64| {
        *count += 1;
        *sum += n;
    });
    graph += graph.source(0_u64..) >> work >> end;
    let (allowance, stopper) = (graph.allowance(), graph.stopper());
    // The test program has begun a line.
    println!();
    thread::spawn(move || {
        for line in stdin().lines() {
            match line.as_deref() {
                // How many were at work at once since it was asked last.
                Ok("most") => println!("most {}", most.swap(0, SeqCst)),
                _ => break,
            }
        }
        stopper.stop();
    });
    // A run that hangs must not stay behind, and whoever reads what is told must not wait for it.
    thread::spawn(|| {
        thread::sleep(2 * SOON);
        exit(3);
    });
    thread::spawn(move || {
        let mut told = 0;
        loop {
            let workers = allowance.workers();
            if workers != told {
                println!("allowed {workers}");
                told = workers;
            }
            thread::sleep(Duration::from_millis(1));
        }
    });
    graph.run(Scheme::named("depth_first").unwrap().workers(4)).unwrap();
    let (count, sum) = sum.take();
    assert_eq!(sum, count * count.saturating_sub(1) / 2);
    println!("complete");
    exit(0);
}

fn daemon(cores: u32) {
    let path = env::var(PLACE).unwrap();
    let (mut daemon, stop) = loop {
        match Daemon::bind(Path::new(&path), Options { cores, policy: Policy::Delay }) {
            Ok(bound) => break bound,
            Err(_) => thread::sleep(Duration::from_millis(1)),
        }
    };
    thread::spawn(move || {
        let _ = stdin().read_line(&mut String::new());
        stop.stop();
    });
    daemon.run().unwrap();
    exit(0);
}

struct Process(Child, Lines<BufReader<ChildStdout>>);

impl Process {
    fn start(role: &str, place: &Path) -> Self {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["role", "--exact", "--nocapture", "--test-threads", "1"]).env(ROLE, role).env(PLACE, place);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self(child, lines)
    }

    fn tell(&mut self, line: &str) {
        writeln!(self.0.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    /// The next line that begins so. What the test program itself prints is passed over.
    #[track_caller]
    fn told(&mut self, what: &str) -> String {
        loop {
            let line = self.1.next().unwrap_or_else(|| panic!("it ended before it told {what:?}")).unwrap();
            if let Some(rest) = line.strip_prefix(what) {
                return rest.to_owned();
            }
        }
    }

    #[track_caller]
    fn allowed(&mut self, workers: &str) {
        while self.told("allowed ") != workers {}
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_run_follows_its_grant_through_the_deaths_of_daemons() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("own/daemon.sock");
    let first = Process::start("1", &path);
    let mut application = Process::start("application", &path);
    application.allowed("1");
    // Since it was asked before: those that were at work have come back by then, and the second answer is of one worker alone.
    for _ in 0..2 {
        application.tell("most");
        application.told("most ");
        thread::sleep(Duration::from_millis(50));
    }
    application.tell("most");
    assert_eq!(application.told("most "), "1");
    let status = Status::of(&path).unwrap();
    assert_eq!((status.members.len(), status.members[0].granted, status.members[0].pid), (1, 1, application.0.id()));
    let start = now();
    while Status::of(&path).unwrap().members[0].wish.could < 4 {
        assert!(start.elapsed() < SOON, "all its workers could be used");
    }
    // Killed: it keeps what it has, and goes on.
    drop(first);
    thread::sleep(Duration::from_millis(100));
    application.tell("most");
    assert_eq!(application.told("most "), "1");
    // It finds the successor, in whose place nothing is known of it.
    let mut second = Process::start("3", &path);
    application.allowed("3");
    // Ended in good order: nobody is bounded.
    second.tell("stop");
    application.allowed(&usize::MAX.to_string());
    application.tell("stop");
    application.told("complete");
    assert!(application.0.wait().unwrap().success());
}

/// Nobody is there, or who is there never answers: the run ends as it would anyhow.
#[test]
fn nobody_waits_for_a_daemon_that_does_not_answer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("daemon.sock");
    for mute in [false, true] {
        let _listener = mute.then(|| std::os::unix::net::UnixListener::bind(&path).unwrap());
        let mut application = Process::start("application", &path);
        application.allowed(&usize::MAX.to_string());
        application.tell("most");
        application.told("most ");
        application.tell("stop");
        application.told("complete");
        assert!(application.0.wait().unwrap().success());
    }
}
