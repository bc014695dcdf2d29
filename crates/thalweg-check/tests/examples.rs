//! The checker's examples run as processes, and print the lines listed here.
#![cfg(not(any(loom, miri)))]

#[path = "../../thalweg/tests/common/run_examples.rs"]
mod run_examples;

use run_examples::Example;

const EXAMPLES: &[Example] = &[
    Example::prints("stack", &["thread 1, started by ", "with a tag it is right: "]),
    Example::prints(
        "mutex",
        &[
            "wait by Relaxed, serve by Release: wrong, data race",
            "wait by Acquire, serve by Relaxed: wrong, data race",
            "wait by Acquire, serve by Release: right in all of 2 executions",
        ],
    ),
];
