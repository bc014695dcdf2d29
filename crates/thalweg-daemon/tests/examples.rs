//! The daemon's example runs as a process, and prints the lines listed here.
#![cfg(all(target_os = "linux", not(any(loom, miri))))]

#[path = "../../thalweg/tests/common/run_examples.rs"]
mod run_examples;

use run_examples::Example;

const EXAMPLES: &[Example] = &[Example::prints(
    "client",
    &["alone, with work for 8 threads: Some(", "beside another one: Some(", "when it has gone: Some("],
)];
