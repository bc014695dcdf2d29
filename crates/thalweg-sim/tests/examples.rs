//! Every example of the crate runs as a process, and prints the lines listed here.

#[path = "../../thalweg/tests/common/run_examples.rs"]
mod run_examples;

use run_examples::{Example, run};

#[test]
fn each_example_prints_what_it_promises() {
    run(
        env!("CARGO_MANIFEST_DIR"),
        &[
            Example {
                arguments: &["--on", "x86-88t:2", "--seeds", "1"],
                ..Example::prints(
                    "wide",
                    &[
                        "wide on x86-88t, up to 2 of 88 threads, 200000 messages, 1 seed",
                        "Fastest with 2: ",
                        "What 2 threads do:",
                    ],
                )
            },
            Example::built("speed", "it measures"),
        ],
    );
}
