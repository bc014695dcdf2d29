//! Freed memory that is handed out again: the usual schemes that reclaim it, each right and with its usual mistake.
#![cfg(not(loom))]

mod again;
mod arena;
mod queue;
mod stack;
mod table;

use thalweg_check::{Cause, Check, Fuzz, Heap, Rule, Violation};

#[global_allocator]
static HEAP: Heap = Heap::new();

/// How many seeds the fuzzer has for each client.
const SEEDS: u64 = 400;

/// The right client passes, under the checker and under the fuzzer.
fn passes(client: impl Fn() + Send + Sync + Copy + 'static) {
    Check::new().leaks(true).check(client);
    if let Err(failure) = Fuzz::new().seeds(0..SEEDS).check(client) {
        panic!("{failure}");
    }
}

/// The wrong one does not; and the fuzzer finds a mistake, or none, and lives.
fn finds(client: impl Fn() + Send + Sync + Copy + 'static) -> Violation {
    let violation = Check::new().run(client).expect_err("the mistake is not found");
    if let Err(failure) = Fuzz::new().seeds(0..SEEDS).check(client) {
        let is_memory = matches!(failure.cause, Cause::UseAfterFree { .. } | Cause::FreedTwice { .. });
        assert!(is_memory || matches!(failure.cause, Cause::Panic { .. }), "{failure}");
    }
    violation
}

fn is_use_after_free(violation: &Violation) -> bool {
    matches!(violation.rule(), Rule::UseAfterFree { .. })
}
