//! The streams' examples run as processes, and print the lines listed here.
#![cfg(not(any(loom, miri)))]

#[path = "common/run_examples.rs"]
mod run_examples;

use run_examples::Example;

const EXAMPLES: &[Example] = &[
    Example::prints("hello", &["hello, Ada", "hello, Barbara"]),
    Example {
        input: "the cat\nand the dog, and The bird\n",
        ..Example::prints("word_count", &["     3  the", "     2  and", "8 words, 5 different ones"])
    },
    Example {
        arguments: &["100"],
        input: "/a 200 5\n/b 500 120\noops\n/c 200 x\n/d 200 100\n",
        ..Example::prints(
            "log_filter",
            &["   120 ms  500  /b", "   100 ms  200  /d", "line 3: not three words: \"oops\"", "line 4: time \"x\""],
        )
    },
    Example::prints("parallel_map", &["the same rows in the same order: true"]),
    Example::prints(
        "windows",
        &[
            "sliding: [21.5, 22.5, 23.5, 24.5, 25.5, 26.5, 27.5]",
            "whole: [21.5, 25.5], 2 samples left",
            "in steps: mean of 2 is 28.5",
            "from  0 ms: mean of 3 is 21",
            "1 came too late",
        ],
    ),
    Example::prints("market", &["ACME: ", "80000 trades, merged in the order of time: true"]),
    Example::prints("async_ends", &["client 0: 27 takes 111 steps", "9 answers, the run is Complete"]),
    Example::prints("packets", &["6200 packets forwarded, 200 expired, 0 broken, 9600000 bytes read in place"]),
    Example::prints("feedback", &["/missing: not found", "10 pages fetched, 10 seen"]),
    Example::prints("own_policy", &["first first: ", "last first keeps the edges shorter: true"]),
    Example::prints("cancel", &["Stopped: ", "Cancelled: "]),
    Example::prints("watching", &["  slow ", "1500 messages; "]),
];
