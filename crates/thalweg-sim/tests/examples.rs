//! The simulator's examples run as processes, and print the lines listed here.

#[path = "../../thalweg/tests/common/run_examples.rs"]
mod run_examples;

use run_examples::Example;

const EXAMPLES: &[Example] = &[
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
];
