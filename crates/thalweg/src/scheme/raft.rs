//! RaftLib's scheme: a thread for each kernel. A thread that finds nothing polls, then yields, then sleeps. Queues have a fixed size; or, as
//! with RaftLib's own monitor, one that was full doubles (BLQ, §4.3).

use super::{Choice, Event, NEW, Policy, Recipe, Setup, Threads, View};
use crate::edge::Storage;

pub(super) const SCHEMES: &[Recipe] = &[
    Recipe {
        threads: Threads::PerKernel,
        restricted: true,
        ..Recipe::new("raft", "a thread for each kernel, queues of fixed size (RaftLib)", &make)
    },
    Recipe {
        threads: Threads::PerKernel,
        restricted: true,
        on_full: NEW,
        storage: Some(Storage::Growing),
        ..Recipe::new("raft_dyn", "a thread for each kernel, queues that grow (RaftLib, BLQ)", &make)
    },
];

/// Attempts in vain before a thread yields, and yields before it sleeps.
const POLLS: u32 = 16;
const YIELDS: u32 = 4;

/// How many threads a kernel gets: a parallel one as many as its hint says.
pub(super) fn threads_for(parallel: bool, hint: Option<f32>) -> usize {
    match hint {
        Some(hint) if parallel && hint > 1.0 => (hint.round() as usize).min(64),
        _ => 1,
    }
}

struct Raft {
    kernel: usize,
    polls: u32,
    yields: u32,
}

fn make(setup: &Setup<'_>) -> Box<dyn Policy> {
    let view = setup.view;
    let mut before = 0;
    let kernel = (0..view.kernels()).find(|&kernel| {
        before += threads_for(view.is_parallel(kernel), view.hint(kernel));
        view.worker() < before
    });
    Box::new(Raft { kernel: kernel.unwrap_or(0), polls: 0, yields: 0 })
}

impl Policy for Raft {
    fn first(&mut self, _view: &View<'_>) -> Choice {
        Choice::Run(self.kernel)
    }

    fn next(&mut self, _view: &View<'_>, _kernel: usize, event: Event) -> Choice {
        if let Event::Ran { .. } = event {
            (self.polls, self.yields) = (0, 0);
            return Choice::Run(self.kernel);
        }
        if event == Event::Done {
            return Choice::Sleep;
        }
        self.polls += 1;
        if self.polls < POLLS {
            return Choice::Run(self.kernel);
        }
        self.polls = 0;
        self.yields += 1;
        if self.yields < YIELDS {
            return Choice::Yield;
        }
        self.yields = 0;
        Choice::Sleep
    }

    fn may_run(&self, _view: &View<'_>, kernel: usize) -> bool {
        kernel == self.kernel
    }
}
