//! Random work stealing, DANBI's baseline (§IV): a worker takes any kernel that has something to do, whatever its queues look like.

use super::{Choice, Event, Policy, Setup, View};

struct Random;

pub(super) fn make(_setup: &Setup<'_>) -> Box<dyn Policy> {
    Box::new(Random)
}

impl Policy for Random {
    fn first(&mut self, view: &View<'_>) -> Choice {
        view.any_from(view.random_below(view.kernels()))
    }

    fn next(&mut self, view: &View<'_>, _kernel: usize, _event: Event) -> Choice {
        self.first(view)
    }
}
