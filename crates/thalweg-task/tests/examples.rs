//! The tasks' examples run as processes, and print the lines listed here.
#![cfg(not(any(loom, miri)))]

#[path = "../../thalweg/tests/common/run_examples.rs"]
mod run_examples;

use run_examples::Example;

const EXAMPLES: &[Example] = &[
    Example::built("costs", "it measures"),
    Example::prints("hello_task", &["hello from a task", "a thousand tasks give 332833500"]),
    Example::prints("ping_pong", &["workers: 1, rounds: 20000", "workers: 2, rounds: 20000"]),
    Example::prints(
        "scoped",
        &["100000 numbers are sorted: true", "the sums of the quarters rise: true, none is lost: true"],
    ),
    Example::prints("sleepers", &["5000 tasks slept 100 ms each", "all of them took "]),
    Example::prints("echo_server", &["heard: hello from client 3", "76 bytes sent back"]),
];
