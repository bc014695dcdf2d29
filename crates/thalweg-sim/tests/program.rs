//! Programs whose `main` is `thalweg_sim::main`, and what they print: this one runs itself, once for each.

use std::process::{Command, ExitCode};

/// Which program this process is; none in the one that runs the others.
const WHICH: &str = "THALWEG_SIM_PROGRAM";

fn main() -> ExitCode {
    let Ok(which) = std::env::var(WHICH) else {
        programs_without_a_speed_are_refused();
        return ExitCode::SUCCESS;
    };
    programs::run(&which)
}

mod programs {
    use std::process::ExitCode;

    use thalweg_sync::hint;

    pub(super) fn run(which: &str) -> ExitCode {
        match which {
            "free" => thalweg_sim::main(|| 5),
            "nothing done" => thalweg_sim::main(|| {
                hint::work(2_000);
                0
            }),
            _ => unreachable!("{which}"),
        }
    }
}

/// The exit status, standard output and standard error of a program.
fn outcome(which: &str) -> (Option<i32>, String, String) {
    let mut program = Command::new(std::env::current_exe().unwrap());
    let output = program.args(["--on", "vl-16:2", "--seeds", "1"]).env(WHICH, which).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
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
