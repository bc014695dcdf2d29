//! The queues' examples run as processes, and print the lines listed here.
#![cfg(not(any(loom, miri)))]

#[path = "../../thalweg/tests/common/run_examples.rs"]
mod run_examples;

use run_examples::Example;

const EXAMPLES: &[Example] = &[
    Example::prints("channels", &["3 gives 30", "4 jobs done", "a reader saw [1, 2, 3, 4]"]),
    Example { arguments: &["1", "1", "1"], ..Example::prints("check_bbq", &["1p1c, 1 tries each: "]) },
    Example::prints("static_memory", &["the converter is off"]),
    Example::prints("worker_pool", &["1000 jobs by 4 workers, sum of squares 333833500"]),
    Example::prints("job_server", &["from 2: Some(505)", "(1, Ok(\"a letter\"))"]),
    Example::prints("pipeline", &["300000 items, the last three digits of each add up to 149850000"]),
    Example::prints(
        "select",
        &[
            "5 urgent jobs and 40 ordinary ones done",
            "the timer came in between: true",
            "it quit, since the day is over",
        ],
    ),
    Example::prints(
        "broadcast",
        &[
            "the quick reader saw 20 prices",
            "the slow reader missed 12 prices",
            "the slow reader ends with 119",
            "apply: 1000 records of 10000 bytes",
        ],
    ),
    Example::prints(
        "oneshot_reply",
        &["apples were Some(3)", "apples are Some(5), pears are None", "in time: false", "1 answer was not heard"],
    ),
    Example::prints(
        "bytes_log",
        &["thread 2 wrote line 3 of    4", "12 lines", "16 events are left of 100, the last is Some(\"event 99\")"],
    ),
    Example::prints(
        "unbounded",
        &["40000 reports are waiting", "the first says 0", "all add up to 199980000", "then it is closed: true"],
    ),
];
