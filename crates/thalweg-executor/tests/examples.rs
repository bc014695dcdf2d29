//! The executor's examples run as processes, and print the lines listed here.
#![cfg(not(any(loom, miri)))]

#[path = "../../thalweg/tests/common/run_examples.rs"]
mod run_examples;

use run_examples::Example;

const EXAMPLES: &[Example] = &[
    Example::built("http", "it serves until it is ended, and has a test of its own"),
    Example::prints(
        "hello_future",
        &["hello from a task", "a thousand tasks give 332833500", "a panic comes back at the handle: true"],
    ),
    Example::prints(
        "timers",
        &["1000 tasks waited 50 ms each", "in time: Some(42); given up: true", "aborted: true", "all of it took "],
    ),
];
