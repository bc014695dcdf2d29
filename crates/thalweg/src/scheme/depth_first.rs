//! The default: carry the block down the graph.
//!
//! After a kernel handed something on, its consumer is next: the block is still in this core's cache. When nothing is left below, go up to who
//! can give more. A kernel takes several blocks at a time, so that two workers on one chain do not follow each other step by step.

use super::{Choice, Event, Policy, Recipe, Setup, Threads, View};

pub(super) const SCHEMES: &[Recipe] = &[Recipe {
    threads: Threads::Elastic,
    ..Recipe::new(
        "depth_first",
        "carries blocks down the graph while they are in the cache; finds the number of workers by trying",
        &make,
    )
}];

struct DepthFirst {
    /// Attempts in a row that did nothing; going round a cycle in vain must end.
    failures: usize,
}

fn make(_setup: &Setup<'_>) -> Box<dyn Policy> {
    Box::new(DepthFirst { failures: 0 })
}

impl Policy for DepthFirst {
    fn first(&mut self, view: &View<'_>) -> Choice {
        self.failures = 0;
        view.any_from(view.worker() * view.kernels() / view.workers().max(1))
    }

    fn next(&mut self, view: &View<'_>, kernel: usize, event: Event) -> Choice {
        match event {
            Event::Ran { emitted, more } => {
                self.failures = 0;
                match emitted {
                    Some(edge) => Choice::Run(view.consumer(edge)),
                    None if more => Choice::Run(kernel),
                    None => view.inputs(kernel).first().map_or_else(
                        || view.any_from(kernel),
                        |&edge| {
                            if view.is_ready(kernel) { Choice::Run(kernel) } else { Choice::Run(view.producer(edge)) }
                        },
                    ),
                }
            }
            Event::Empty { edge } if self.failures < view.kernels() => {
                self.failures += 1;
                Choice::Run(view.producer(edge))
            }
            Event::Full { edge } if self.failures < view.kernels() => {
                self.failures += 1;
                Choice::Run(view.consumer(edge))
            }
            // Another worker is here: fill its input instead of waiting for it.
            Event::Busy if self.failures < view.kernels() && !view.is_source(kernel) => {
                self.failures += 1;
                view.inputs(kernel).first().map_or(Choice::Sleep, |&edge| Choice::Run(view.producer(edge)))
            }
            _ => self.first(view),
        }
    }
}
