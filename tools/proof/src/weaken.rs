//! The search for the weakest orderings of a queue: [`thalweg_check::weaken`] with its clients.

pub use thalweg_check::weaken::{Descended, Fate, Trial, Weakened};

use crate::{Client, Setup, clients};
use std::sync::Arc;
use std::time::Duration;
use thalweg_check::weaken::{self, NotWeakened, Weaken};

/// Looks for the weakest orderings of `queue`, from those of the source on, with at most `each` for what is tried of a
/// label, all its clients together. Clients are run as `setup` says. `progress` is told what is tried.
///
/// # Errors
///
/// If there are no clients of that queue, or one fails with the orderings of the source.
pub fn weaken(
    queue: &str,
    setup: &Setup,
    each: Duration,
    progress: impl Fn(&str) + Send + Sync + 'static,
) -> Result<Weakened, String> {
    search(queue, setup, each, progress).run().map_err(|error| explain(queue, &error))
}

/// Looks for the weakest orderings of `queue`, from sequential consistency on; otherwise as [`weaken()`]. Steps in order stay
/// in order.
///
/// # Errors
///
/// As [`weaken()`]; and if a client fails with every label `SeqCst`.
pub fn descend(
    queue: &str,
    setup: &Setup,
    each: Duration,
    progress: impl Fn(&str) + Send + Sync + 'static,
) -> Result<Descended, String> {
    search(queue, setup, each, progress).descend().map_err(|error| explain(queue, &error))
}

fn search(queue: &str, setup: &Setup, each: Duration, progress: impl Fn(&str) + Send + Sync + 'static) -> Weaken {
    let own = clients().iter().filter(|client| client.queue() == queue).map(|client| {
        let setup = setup.clone();
        weaken::Client::with(client.name, move |check, table| {
            client.check(&setup.within(check).table(Arc::clone(&table)))
        })
    });
    own.fold(Weaken::new().check(setup.check.clone()).each(each).on_progress(progress), Weaken::client)
}

fn explain(queue: &str, error: &NotWeakened) -> String {
    if !matches!(error, NotWeakened::NoClients) {
        return error.to_string();
    }
    let mut queues = clients().iter().map(Client::queue).collect::<Vec<_>>();
    queues.dedup();
    format!("there are no clients of `{queue}`; there are of: {}", queues.join(" "))
}
