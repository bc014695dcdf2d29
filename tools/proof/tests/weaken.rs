//! The search for the weakest orderings.
#![cfg(not(loom))]

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use thalweg_check::Heap;
use thalweg_proof::weaken::{Fate, Trial, descend, weaken};
use thalweg_proof::{Setup, clients, named};
use thalweg_queue::edges::table::{Strength, Table};
use thalweg_sync::atomic::Ordering;

#[global_allocator]
static HEAP: Heap = Heap::new();

/// What is found is found in a second or two; a shared machine may take its time.
const LIMIT: Duration = Duration::from_secs(200);

/// On two threads: what is found does not depend on how many there are.
fn setup() -> Setup {
    Setup::default().threads(NonZeroUsize::new(2).unwrap())
}

#[test]
fn labels_of_fast_forward_are_needed() {
    let found = weaken("ff", &setup(), LIMIT, |_| {}).unwrap();
    let fate = |label: &str| &found.trials.iter().find(|trial| trial.label == label).unwrap().fate;
    for label in ["ff.1", "ff.2", "ff.3", "ff.4", "ends.1", "ends.2"] {
        assert!(matches!(fate(label), Fate::Killed { .. }), "{label}\n{found}");
    }
    assert!(found.after.is_empty() && found.to_string().ends_with("no label can be weaker"), "{found}");
}

#[test]
fn labels_of_the_small_rings_are_needed() {
    // The second takes long in debug builds.
    for (queue, labels) in
        [("lamport", 6), ("chunk_ring", 7)].into_iter().take(if cfg!(debug_assertions) { 1 } else { 2 })
    {
        let found = weaken(queue, &setup(), LIMIT, |_| {}).unwrap();
        assert!(found.trials.len() == labels && found.after.is_empty(), "{found}");
        let is_needed = |trial: &Trial| matches!(trial.fate, Fate::Killed { by, .. } if by != "other");
        assert!(found.trials.iter().all(is_needed), "{found}");
    }
}

/// What the page on verification says of all queues: its data.
fn published() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/measured/verification/orderings");
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    files
        .flat_map(|file| std::fs::read_to_string(file).unwrap().lines().map(str::to_owned).collect::<Vec<_>>())
        .collect()
}

/// Clients that fail within so many executions are run.
const SOON: u64 = if cfg!(debug_assertions) { 300 } else { 1000 };

/// A record: a label, what it was made, the client that failed then, and after how many executions.
fn killed(record: &str) -> Option<(&str, Strength, &str, u64)> {
    let of = |field: &str| record.split_once(&format!("\"{field}\":")).map(|(_, rest)| rest);
    let text = |field: &str| of(field).and_then(|rest| rest.strip_prefix('"')?.split_once('"')).map(|(text, _)| text);
    let tried = match text("tried")? {
        "relaxed" => Strength::Ordering(Ordering::Relaxed),
        "acquire" => Strength::Ordering(Ordering::Acquire),
        "release" => Strength::Ordering(Ordering::Release),
        "swapped" => Strength::Swapped,
        _ => return None,
    };
    let (client, _) = text("killed by")?.split_once(" (")?;
    Some((text("label")?, tried, client, of("executions")?.split([',', '}']).next()?.parse().ok()?))
}

/// Each label that the document says is needed, made weaker as it says there, where its client fails soon.
#[test]
fn what_the_document_says_is_killed() {
    let published = published();
    let soon: Vec<_> =
        published.iter().filter_map(|record| killed(record)).filter(|&(.., executions)| executions <= SOON).collect();
    assert!(soon.len() > 150, "the document has only {} such lines", soon.len());
    for (label, tried, client, _) in soon {
        // More than the document says, as the queue may have changed since.
        let setup = Setup::default().max_executions(Some(10 * SOON));
        let table = Arc::new(Table::new().with(label, tried));
        let explored =
            named(client).unwrap_or_else(|| panic!("there is no client {client}")).check(&setup.table(table));
        assert!(explored.is_err(), "{client} passes with {label} as {tried:?}");
    }
}

/// From sequential consistency the search comes to the orderings of the source.
#[test]
fn a_descent_ends_at_the_source() {
    // The others take long in debug builds.
    for queue in ["lamport", "ff", "spsc"].into_iter().take(if cfg!(debug_assertions) { 1 } else { 3 }) {
        let found = descend(queue, &setup(), LIMIT, |_| {}).unwrap();
        assert!(found.after == found.source && found.unknown.is_empty(), "{found}");
        assert!(found.to_string().contains("#SEQ"), "{found}");
    }
}

/// Items that are boxed and items in place go through other labels. A client that the survey did not see to its end is
/// asked about all of them, for it may meet them later.
#[test]
fn a_client_that_did_not_end_may_meet_any_label() {
    let found = weaken("ff", &Setup::default().max_executions(Some(1)), LIMIT, |_| {}).unwrap();
    let count = clients().iter().filter(|client| client.queue() == "ff").count() as u64;
    let trial = found.trials.iter().find(|trial| trial.label == "ff.7").unwrap();
    assert_eq!((&trial.fate, trial.executions), (&Fate::Unknown, count), "{found}");
    assert!(found.after.is_empty() && count > 4, "{found}");
    assert_eq!(found.unended.len() as u64, count);
    let text = found.to_string();
    assert!(text.contains("no label is known that could be weaker\nunknown, as not all clients ended: "), "{text}");
    assert!(text.contains("\nnot run to their end: ") && text.ends_with(" labels that only these meet"), "{text}");
}

#[test]
fn an_unknown_queue_is_named_with_the_known_ones() {
    let error = weaken("deque", &setup(), Duration::from_secs(1), |_| {}).unwrap_err();
    assert!(error.starts_with("there are no clients of `deque`; there are of: bbq "), "{error}");
    assert!(error.contains(" wait"), "{error}");
}
