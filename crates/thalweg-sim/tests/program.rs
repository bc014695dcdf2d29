//! Programs whose `main` is `thalweg_sim::main`, and what they print: this one runs itself, once for each.
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "it is what the simulator does not see")]

use std::process::{Command, ExitCode};

/// Which program this process is; none in the one that runs the others.
const WHICH: &str = "THALWEG_SIM_PROGRAM";

fn main() -> ExitCode {
    let Ok(which) = std::env::var(WHICH) else {
        threads_of_std_are_refused();
        what_runs_natively_and_is_no_mistake_is_not_refused();
        programs_without_a_speed_are_refused();
        return ExitCode::SUCCESS;
    };
    programs::run(&which)
}

mod programs {
    use std::cell::RefCell;
    use std::process::ExitCode;

    use thalweg_sync::atomic::{AtomicU64, Ordering::Relaxed};
    use thalweg_sync::{hint, sync::Arc, thread};

    /// Reads an atomic of the facade when it is dropped, as queues do.
    struct Last(Arc<AtomicU64>);

    impl Drop for Last {
        fn drop(&mut self) {
            self.0.load(Relaxed);
        }
    }

    pub(super) fn run(which: &str) -> ExitCode {
        let last = Last(Arc::new(AtomicU64::new(0)));
        match which {
            "std threads" => thalweg_sim::main(std_threads),
            "work on a std thread" => thalweg_sim::main(|| {
                std::thread::scope(|scope| {
                    scope.spawn(|| hint::work(2_000));
                });
                1
            }),
            "no mistake" => thalweg_sim::main(move || no_mistake(&last)),
            "free" => thalweg_sim::main(|| 5),
            "nothing done" => thalweg_sim::main(|| {
                hint::work(2_000);
                0
            }),
            _ => unreachable!("{which}"),
        }
    }

    fn std_threads() -> u64 {
        let sum = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..100_000).for_each(|_| _ = sum.fetch_add(1, Relaxed)));
            }
        });
        sum.load(Relaxed)
    }

    /// Destructors run when the engine has left: of a captured value, and of a thread-local. A thread of std drops a handle
    /// that it never used, and computes.
    fn no_mistake(last: &Last) -> u64 {
        std::thread_local! {
            static KEPT: RefCell<Option<Last>> = const { RefCell::new(None) };
        }
        KEPT.set(Some(Last(last.0.clone())));
        let handle = last.0.clone();
        std::thread::spawn(move || drop(handle)).join().unwrap();
        thread::scope(|scope| {
            scope.spawn(|| (0..1000).for_each(|_| _ = last.0.fetch_add(1, Relaxed)));
        });
        1000
    }
}

/// The exit status, standard output and standard error of a program.
fn outcome(which: &str) -> (Option<i32>, String, String) {
    let mut program = Command::new(std::env::current_exe().unwrap());
    let output = program.args(["--on", "vl-16:2", "--seeds", "1"]).env(WHICH, which).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

fn threads_of_std_are_refused() {
    for which in ["std threads", "work on a std thread"] {
        let (status, stdout, stderr) = outcome(which);
        assert_eq!((status, stdout.as_str()), (Some(2), ""), "{which}: {stderr}");
        for words in [
            "a thread that was not started by thalweg_sync::thread used the facade at ",
            "tests/program.rs:",
            "is not simulated",
            "clippy.toml",
        ] {
            assert!(stderr.contains(words), "{which}: {words} is missing in {stderr}");
        }
        assert_eq!(stderr.matches("error").count(), 1, "{which}: it is told once: {stderr}");
    }
}

fn what_runs_natively_and_is_no_mistake_is_not_refused() {
    let (status, stdout, stderr) = outcome("no mistake");
    assert_eq!(status, Some(0), "{stderr}");
    assert!(!stderr.contains("thalweg_sync::thread"), "{stderr}");
    assert!(stdout.contains("1000 messages, 1 seed\n"), "{stdout}");
}

fn programs_without_a_speed_are_refused() {
    for (which, words) in [("free", "0 ns and says that 5 messages"), ("nothing done", "says that 0 messages")] {
        let (status, stdout, stderr) = outcome(which);
        assert_eq!((status, stdout.as_str()), (Some(2), ""), "{which}: {stderr}");
        assert!(
            stderr.starts_with("error: nothing was simulated: on 1 hardware thread") && stderr.contains(words),
            "{stderr}"
        );
    }
}
