//! BLQ's polling workers (§3.5.1): each goes round its kernels, tries every one, and yields after a number of attempts in vain.

use super::{Choice, Event, Policy, Setup, View};

/// Attempts in vain before a worker yields, as in the authors' runtime, and yields before it sleeps.
const POLLS: u32 = 64;
const YIELDS: u32 = 4;

pub(super) struct PollingWorker {
    turn: usize,
    polls: u32,
    yields: u32,
    /// Kernels hinted `* 0` have no polling worker.
    skip_rare: bool,
}

pub(super) fn make(setup: &Setup<'_>) -> Box<dyn Policy> {
    Box::new(PollingWorker::new(setup, false))
}

impl PollingWorker {
    pub(super) fn new(setup: &Setup<'_>, skip_rare: bool) -> Self {
        let view = setup.view;
        Self { turn: view.worker() * view.kernels() / view.workers().max(1), polls: 0, yields: 0, skip_rare }
    }

    fn skips(&self, view: &View<'_>, kernel: usize) -> bool {
        self.skip_rare && view.hint(kernel) == Some(0.0)
    }
}

impl Policy for PollingWorker {
    fn first(&mut self, view: &View<'_>) -> Choice {
        for _ in 0..view.kernels() {
            self.turn = (self.turn + 1) % view.kernels();
            if !self.skips(view, self.turn) {
                return Choice::Run(self.turn);
            }
        }
        view.any_from(0)
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
