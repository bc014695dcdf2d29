//! Code behind the simulator's back ends the process, which another one sees.
#![cfg(not(loom))]
#![allow(missing_docs, reason = "nobody but the test uses what is here")]
#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "it is what the simulator does not see")]

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use thalweg_sim::{Machine, Simulation};
use thalweg_sync::thread;

/// Says that this is the process that is to end.
const INSIDE: &str = "THALWEG_SIM_SPINS";

#[test]
fn a_wait_that_the_simulator_does_not_see_ends_the_process() {
    if std::env::var_os(INSIDE).is_some() {
        let come = AtomicBool::new(false);
        let simulation = Simulation::new(Machine::named("vl-16").unwrap()).patience(Duration::from_millis(600));
        simulation.run(|| {
            thread::scope(|scope| {
                scope.spawn(|| {
                    while !come.load(Relaxed) {
                        std::hint::spin_loop()
                    }
                });
                scope.spawn(|| come.store(true, Relaxed));
            });
        });
        unreachable!("thread 2 has no turn");
    }
    let mut test = Command::new(std::env::current_exe().unwrap());
    let name = "a_wait_that_the_simulator_does_not_see_ends_the_process";
    let output = test.args(["--exact", name, "--nocapture"]).env(INSIDE, "").output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    for words in
        ["thread 1 has run for 100ms", "error: simulation: thread 1 has run for 600ms", "clippy.toml", "thalweg_sync"]
    {
        assert!(said.contains(words), "{words} is missing in {said}");
    }
}
