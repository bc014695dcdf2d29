//! BLQ's one-shot tasks (§3.5.1): what a source gives runs to completion, kernel after kernel down to the end of the graph, before more is given.

use super::{Choice, Event, HELP, Policy, Recipe, Setup, View};

pub(super) const SCHEMES: &[Recipe] = &[Recipe {
    quantum: 1,
    on_full: HELP,
    ..Recipe::new("one_shot", "each block runs from the source to the end of the graph at once (BLQ)", &make)
}];

struct OneShot {
    sources: Vec<usize>,
    /// Index into `sources`.
    turn: usize,
}

fn make(setup: &Setup<'_>) -> Box<dyn Policy> {
    let view = setup.view;
    let sources: Vec<_> = (0..view.kernels()).filter(|&kernel| view.is_source(kernel)).collect();
    let turn = view.worker() % sources.len().max(1);
    Box::new(OneShot { sources, turn })
}

impl OneShot {
    /// Sources take turns, as long as one of them is ready. One that waits at a full edge is tried as well: if nobody will empty that edge, it is
    /// here that this is noticed.
    fn source(&mut self, view: &View<'_>) -> Choice {
        if !self.sources.iter().any(|&source| view.is_ready(source)) {
            return view.any_from(view.worker() % view.kernels());
        }
        self.turn = (self.turn + 1) % self.sources.len();
        Choice::Run(self.sources[self.turn])
    }
}

impl Policy for OneShot {
    fn first(&mut self, view: &View<'_>) -> Choice {
        // Whatever is on its way goes on before a source gives more.
        let under_way = (0..view.kernels()).rev().find(|&kernel| !view.is_source(kernel) && view.is_ready(kernel));
        under_way.map_or_else(|| self.source(view), Choice::Run)
    }

    fn next(&mut self, view: &View<'_>, _kernel: usize, event: Event) -> Choice {
        match event {
            Event::Ran { emitted: Some(edge), .. } | Event::Full { edge } if view.is_ready(view.consumer(edge)) => {
                Choice::Run(view.consumer(edge))
            }
            _ => self.first(view),
        }
    }
}
