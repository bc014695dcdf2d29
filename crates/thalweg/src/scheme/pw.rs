//! BLQ's polling workers (§3.5.1): each goes round its kernels, tries every one, and yields after a number of attempts in vain.

use super::{Choice, Event, Policy, Setup, View};

/// Attempts in vain before a worker yields, as in the authors' runtime, and yields before it sleeps.
const POLLS: u32 = 64;
const YIELDS: u32 = 4;

pub(super) struct PollingWorker {
    /// The kernels in turn; those hinted to stay together stand together.
    order: Vec<usize>,
    /// Index into `order`.
    turn: usize,
    polls: u32,
    yields: u32,
}

pub(super) fn make(setup: &Setup<'_>) -> Box<dyn Policy> {
    Box::new(PollingWorker::new(setup, false))
}

impl PollingWorker {
    /// With `skip_rare`, kernels hinted `* 0` have no polling worker.
    pub(super) fn new(setup: &Setup<'_>, skip_rare: bool) -> Self {
        let view = setup.view;
        let rare = |kernel: usize| skip_rare && view.hint(kernel) == Some(0.0);
        let mut order: Vec<_> = (0..view.kernels()).filter(|&kernel| !rare(kernel)).collect();
        order.sort_by_key(|&kernel| view.group(kernel));
        Self { turn: view.worker() * order.len() / view.workers().max(1), order, polls: 0, yields: 0 }
    }
}

impl Policy for PollingWorker {
    fn first(&mut self, view: &View<'_>) -> Choice {
        self.turn += 1;
        if self.turn >= self.order.len() {
            self.turn = 0;
        }
        self.order.get(self.turn).map_or_else(|| view.any_from(0), |&kernel| Choice::Run(kernel))
    }

    fn next(&mut self, view: &View<'_>, _kernel: usize, event: Event) -> Choice {
        if let Event::Ran { .. } = event {
            (self.polls, self.yields) = (0, 0);
            return self.first(view);
        }
        self.polls += 1;
        if self.polls < POLLS.max(view.kernels() as u32) {
            return self.first(view);
        }
        self.polls = 0;
        self.yields += 1;
        if self.yields < YIELDS {
            return Choice::Yield;
        }
        self.yields = 0;
        // A kernel without a polling worker may still have something, when its producer has finished.
        view.any_from(self.turn)
    }
}
