//! Random work stealing, DANBI's baseline (§IV): a worker takes any kernel that has something to do, whatever its queues look like.

use super::{Choice, Event, Policy, Recipe, Setup, View};

pub(super) const SCHEMES: &[Recipe] =
    &[Recipe::new("random", "workers pick kernels at random (DANBI's baseline)", &make)];

struct Random;

fn make(_setup: &Setup<'_>) -> Box<dyn Policy> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    #[test]
    fn any_kernel_that_has_something_to_do_is_chosen() {
        const TRIALS: u32 = 40_000;
        let mut graph = Graph::new();
        for _ in 0..4 {
            let (source, sink) = (graph.source(0..9_u64), graph.sink(|_: u64| ()));
            graph += source >> sink;
        }
        graph.looked_at(Scheme::named("random").unwrap().workers(1), |core, view| {
            // Of the last pair, the sink has something to do as well.
            core.edges[3].pretend(1);
            let mut policy = core.scheme.policy(&Setup { view });
            let mut counts = [0_u32; 8];
            for _ in 0..TRIALS {
                let Choice::Run(kernel) = policy.next(view, 0, Event::Busy) else { panic!("sources are ready") };
                counts[kernel] += 1;
            }
            // A kernel that has nothing to do stands for the next one.
            let expected = [1, 0, 2, 0, 2, 0, 2, 1].map(|shares| f64::from(TRIALS) * f64::from(shares) / 8.0);
            for (count, expected) in counts.into_iter().zip(expected) {
                assert!((f64::from(count) - expected).abs() <= 5.0 * expected.sqrt(), "{counts:?}, not {expected}");
            }
        });
    }
}
