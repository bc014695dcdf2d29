//! BLQ's polling workers (§3.5.1): each goes round its kernels, tries every one, and yields after a number of attempts in vain.

use super::{Choice, Event, NEW, Policy, Recipe, Setup, View};

pub(super) const SCHEMES: &[Recipe] = &[
    Recipe::new("pw", "polling workers take turns over their kernels, queues of fixed size (BLQ)", &make),
    Recipe { on_full: NEW, ..Recipe::new("pw_dyn", "polling workers, queues that grow (BLQ)", &make) },
];

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

fn make(setup: &Setup<'_>) -> Box<dyn Policy> {
    Box::new(PollingWorker::new(setup, false))
}

impl PollingWorker {
    /// With `skip_rare`, kernels hinted `* 0` have no polling worker.
    pub(super) fn new(setup: &Setup<'_>, skip_rare: bool) -> Self {
        let view = setup.view;
        let rare = |kernel: usize| skip_rare && view.hint(kernel) == Some(0.0);
        if let Some(own) = view.own() {
            let order = own.iter().copied().filter(|&kernel| !rare(kernel)).collect();
            return Self { order, turn: 0, polls: 0, yields: 0 };
        }
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
        let round = view.own().map_or(view.kernels(), <[usize]>::len);
        if self.polls < POLLS.max(round as u32) {
            return self.first(view);
        }
        self.polls = 0;
        // Starved: what is nearest may be taken from others.
        if let Some(kernel) = view.own().and_then(|_| view.find_ready(0)) {
            return Choice::Run(kernel);
        }
        self.yields += 1;
        if self.yields < YIELDS {
            return Choice::Yield;
        }
        self.yields = 0;
        // A kernel without a polling worker may still have something, when its producer has finished.
        view.any_from(self.turn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    /// The order in which a worker takes the kernels of `first >> third` and `second >> fourth`, made in this order.
    fn order(scheme: &str, first_pair: bool, second_pair: bool) -> Vec<usize> {
        let mut graph = Graph::new();
        let (first, second) = (graph.source(0..0_u64), graph.source(0..0_u64));
        let (third, fourth) = (graph.sink(|_: u64| ()), graph.sink(|_: u64| ()));
        let (one, two) = (first >> third, second >> fourth);
        graph += if first_pair { one.together() } else { one };
        graph += if second_pair { two.together() } else { two };
        graph.looked_at(Scheme::named(scheme).unwrap().workers(1), |core, view| {
            let mut policy = core.scheme.policy(&Setup { view });
            let choices: Vec<_> = (0..8)
                .map(|_| match policy.next(view, 0, Event::Ran { emitted: None, more: true }) {
                    Choice::Run(kernel) => kernel,
                    other => panic!("{other:?}"),
                })
                .collect();
            assert_eq!(choices[..4], choices[4..], "round by round");
            choices[..4].to_vec()
        })
    }

    /// Whether `next` comes right after `kernel`, round and round.
    fn follows(order: &[usize], kernel: usize, next: usize) -> bool {
        let place = order.iter().position(|&other| other == kernel).unwrap();
        order[(place + 1) % order.len()] == next
    }

    #[test]
    fn kernels_hinted_to_stay_together_are_taken_one_after_the_other() {
        for scheme in ["pw", "pw_dyn", "mix", "mix_dyn"] {
            let unhinted = order(scheme, false, false);
            assert!(follows(&unhinted, 0, 1) && follows(&unhinted, 2, 3), "as they were made: {unhinted:?}");
            assert!(follows(&order(scheme, true, false), 0, 2));
            assert!(follows(&order(scheme, false, true), 1, 3));
            let both = order(scheme, true, true);
            assert!(follows(&both, 0, 2) && follows(&both, 1, 3), "{both:?}");
        }
    }
}
