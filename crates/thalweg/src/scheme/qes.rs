//! DANBI's schedulers (§III-A): queue events choose the next kernel (QES, Algorithm 1), probabilities that follow the fill of the queues choose
//! earlier (PSS), and who waits too long for its turn goes anywhere (PRS).
//!
//! DANBI decides at the end of a thread of a parallel kernel; here an activation is that thread, of any kernel. As nothing blocks in the middle of an
//! activation, there are no ready queues: "select a thread of kernel k" is "try to activate k". And a wait is seen before an activation, not within one,
//! so PRS decides then, while the wait goes on, not at the end of the activation, when it is over.

use super::{Choice, Event, Policy, Recipe, Setup, View};

pub(super) const SCHEMES: &[Recipe] = &[
    Recipe::new(
        "qes",
        "empty: go to the producer, full: go to the consumer (DANBI's queue event-based scheduling)",
        &plain,
    ),
    Recipe::new(
        "qes_pss",
        "qes, and moves on early with a probability that follows how full the queues are (DANBI)",
        &speculative,
    ),
    Recipe::new("qes_pss_prs", "qes_pss, and goes anywhere after waiting long for a turn (DANBI)", &speculative_random),
];

/// The constant C of PRS: after T waits in a row a worker goes anywhere with probability `min(T / C, 1)`.
///
/// The paper has 10 000: there a thread that waits costs a switch to the next one, and the native thread never sleeps. Here it costs a whole attempt,
/// and who has waited C times in a row, without PRS too, looks for anything that is ready, or sleeps. 100 attempts are a few microseconds;
/// 10 000 would keep a core busy for hundreds. What carries over is that the probability grows linearly, up to certainty when patience is over.
const PATIENCE: u32 = 100;

struct Qes {
    speculative: bool,
    random: bool,
    /// Waits in a row (PRS's T).
    waits: u32,
    failures: usize,
}

fn plain(_setup: &Setup<'_>) -> Box<dyn Policy> {
    Box::new(Qes { speculative: false, random: false, waits: 0, failures: 0 })
}

fn speculative(_setup: &Setup<'_>) -> Box<dyn Policy> {
    Box::new(Qes { speculative: true, random: false, waits: 0, failures: 0 })
}

fn speculative_random(_setup: &Setup<'_>) -> Box<dyn Policy> {
    Box::new(Qes { speculative: true, random: true, waits: 0, failures: 0 })
}

impl Qes {
    /// PSS: a fair coin picks the direction, the balanced probability whether to go.
    fn speculate(view: &View<'_>, kernel: usize) -> Option<usize> {
        if view.random_below(2) == 0 {
            let emptiest = view.inputs(kernel).iter().min_by(|&&a, &&b| view.fill(a).total_cmp(&view.fill(b)))?;
            let fill = view.fill(*emptiest);
            // P(i, i-1) = 1 - F and P(i-1, i) = F, balanced: what goes out less what comes in.
            view.chance((1.0 - fill) - fill).then(|| view.producer(*emptiest))
        } else {
            let fullest = view.outputs(kernel).iter().max_by(|&&a, &&b| view.fill(a).total_cmp(&view.fill(b)))?;
            let fill = view.fill(*fullest);
            view.chance(fill - (1.0 - fill)).then(|| view.consumer(*fullest))
        }
    }
}

impl Policy for Qes {
    fn first(&mut self, view: &View<'_>) -> Choice {
        // The initial schedule: each worker takes another starting kernel, then any.
        let sources: Vec<_> = (0..view.kernels()).filter(|&kernel| view.is_source(kernel)).collect();
        match sources.get(view.worker()) {
            Some(&source) if view.is_ready(source) => Choice::Run(source),
            _ => view.any_from(view.random_below(view.kernels())),
        }
    }

    fn next(&mut self, view: &View<'_>, kernel: usize, event: Event) -> Choice {
        if event != Event::Waiting {
            self.waits = 0;
        }
        match event {
            Event::Ran { .. } => {
                self.failures = 0;
                let other = if self.speculative { Self::speculate(view, kernel) } else { None };
                Choice::Run(other.unwrap_or(kernel))
            }
            Event::Empty { edge } if self.failures < view.kernels() => {
                self.failures += 1;
                Choice::Run(view.producer(edge))
            }
            Event::Full { edge } if self.failures < view.kernels() => {
                self.failures += 1;
                Choice::Run(view.consumer(edge))
            }
            // Another thread of the same kernel (Algorithm 1, line 2), or PRS.
            Event::Waiting if self.waits < PATIENCE => {
                self.waits += 1;
                if self.random && view.chance(self.waits as f32 / PATIENCE as f32) {
                    return Choice::Run(view.random_below(view.kernels()));
                }
                Choice::Run(kernel)
            }
            // A sequential kernel that runs elsewhere: select another at random (Algorithm 1, line 20).
            _ => {
                (self.failures, self.waits) = (0, 0);
                view.any_from(view.random_below(view.kernels()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::Core;
    use crate::prelude::*;

    const TRIALS: u32 = 40_000;
    const RAN: Event = Event::Ran { emitted: None, more: true };

    /// Lets `look` see kernels 0 to 2 in a row, whose edges hold up to 100 messages and are so full, as the first worker's policy does.
    fn row<R>(scheme: &str, fills: [u64; 2], look: impl FnOnce(&mut dyn Policy, &View<'_>) -> R) -> R {
        let mut graph = Graph::new();
        let source = graph.source(0..0_u64);
        let step = graph.sequential(|x: u64, out: &mut Output<u64>| out.push(x));
        let sink = graph.sink(|_: u64| ());
        graph += source.fixed(100) >> step.fixed(100) >> sink;
        graph.looked_at(Scheme::named(scheme).unwrap().workers(1), |core: &Core<'_>, view| {
            core.edges.iter().zip(fills).for_each(|(edge, messages)| edge.pretend(messages));
            let mut policy = core.scheme.policy(&Setup { view });
            look(&mut *policy, view)
        })
    }

    /// How often each kernel is chosen after kernel `kernel` ran, of all times.
    fn shares(policy: &mut dyn Policy, view: &View<'_>, kernel: usize) -> Vec<f32> {
        let mut counts = vec![0_u32; view.kernels()];
        for _ in 0..TRIALS {
            let Choice::Run(next) = policy.next(view, kernel, RAN) else { panic!("it ran, so it does not sleep") };
            counts[next] += 1;
        }
        counts.iter().map(|&count| count as f32 / TRIALS as f32).collect()
    }

    /// Within five standard deviations of so many fair trials.
    fn assert_near(found: f32, expected: f32, what: &str) {
        let deviation = (expected * (1.0 - expected) / TRIALS as f32).sqrt();
        assert!((found - expected).abs() <= 5.0 * deviation, "{what}: {found}, not {expected}");
    }

    /// The paper's `P^t`: half of `max((1 - F) - F, 0)` to the producer, half of `max(F - (1 - F), 0)` to the consumer, and the rest stays.
    #[test]
    fn pss_follows_the_balanced_probabilities() {
        for fills in [[10, 90], [0, 100], [30, 50], [50, 80], [40, 40], [60, 60], [50, 50], [90, 10]] {
            for scheme in ["qes_pss", "qes_pss_prs"] {
                row(scheme, fills, |policy, view| {
                    let [input, output] = fills.map(|fill| fill as f32 / 100.0);
                    let found = shares(policy, view, 1);
                    assert_near(found[0], 0.5 * (1.0 - 2.0 * input).max(0.0), &format!("{fills:?} to the producer"));
                    assert_near(found[2], 0.5 * (2.0 * output - 1.0).max(0.0), &format!("{fills:?} to the consumer"));
                });
            }
        }
    }

    #[test]
    fn without_pss_a_worker_stays_until_there_is_an_event() {
        row("qes", [10, 90], |policy, view| {
            assert_eq!(shares(policy, view, 1), [0.0, 1.0, 0.0]);
            assert_eq!(policy.next(view, 1, Event::Empty { edge: 0 }), Choice::Run(0));
            assert_eq!(policy.next(view, 1, Event::Full { edge: 1 }), Choice::Run(2));
        });
    }

    #[test]
    fn a_source_and_a_sink_have_one_direction() {
        row("qes_pss", [90, 10], |policy, view| {
            assert_near(shares(policy, view, 0)[1], 0.5 * 0.8, "a source before a full edge");
            assert_near(shares(policy, view, 2)[1], 0.5 * 0.8, "a sink behind an empty edge");
        });
    }

    /// Two inputs, two outputs.
    struct Cross;

    impl Kernel for Cross {
        type Ports = (In<u64>, In<u64>, Out<u64>, Out<u64>);
        fn ports(&mut self, bind: &mut Binder<'_>) -> Self::Ports {
            (bind.input("a"), bind.input("b"), bind.output("c"), bind.output("d"))
        }
        fn run(&mut self, _: &Self::Ports, _: &mut Io<'_>) -> Result<Flow, BoxError> {
            Ok(Flow::More)
        }
    }

    #[test]
    fn pss_looks_at_the_emptiest_input_and_the_fullest_output() {
        let mut graph = Graph::new();
        let (first, second) = (graph.source(0..0_u64), graph.source(0..0_u64));
        let cross = graph.add(Cross);
        let (third, fourth) = (graph.sink(|_: u64| ()), graph.sink(|_: u64| ()));
        graph += first.fixed(100) >> cross.0;
        graph += second.fixed(100) >> cross.1;
        graph += cross.2.fixed(100) >> third;
        graph += cross.3.fixed(100) >> fourth;
        graph.looked_at(Scheme::named("qes_pss").unwrap().workers(1), |core, view| {
            core.edges.iter().zip([40, 20, 95, 60]).for_each(|(edge, messages)| edge.pretend(messages));
            let found = shares(&mut *core.scheme.policy(&Setup { view }), view, 2);
            assert_eq!((found[0], found[4]), (0.0, 0.0));
            assert_near(found[1], 0.5 * 0.6, "the emptiest");
            assert_near(found[3], 0.5 * 0.9, "the fullest");
        });
    }

    /// How often kernel 1 was left at each number of waits in a row, and how often it had waited so often.
    fn left(policy: &mut dyn Policy, view: &View<'_>, most: usize) -> (Vec<u32>, Vec<u32>) {
        let (mut left, mut reached) = (vec![0; most + 1], vec![0; most + 1]);
        for _ in 0..TRIALS {
            assert_eq!(policy.next(view, 1, RAN), Choice::Run(1), "both edges are half full, so PSS stays");
            for waits in 1..=most {
                reached[waits] += 1;
                if policy.next(view, 1, Event::Waiting) != Choice::Run(1) {
                    left[waits] += 1;
                    break;
                }
            }
        }
        (left, reached)
    }

    /// The paper's `P^r = min(T / C, 1)`, at each T; of three kernels two are elsewhere.
    #[test]
    fn prs_leaves_with_a_probability_that_grows_with_the_waits() {
        row("qes_pss_prs", [50, 50], |policy, view| {
            let (left, reached) = left(policy, view, 25);
            for waits in 1..=25 {
                let expected = waits as f32 / PATIENCE as f32 * 2.0 / 3.0;
                let found = left[waits] as f32 / reached[waits] as f32;
                let deviation = (expected * (1.0 - expected) / reached[waits] as f32).sqrt();
                assert!((found - expected).abs() <= 5.0 * deviation, "after {waits} waits: {found}, not {expected}");
            }
        });
    }

    #[test]
    fn without_prs_a_worker_waits_until_patience_is_over() {
        for scheme in ["qes", "qes_pss"] {
            row(scheme, [50, 50], |policy, view| {
                let most = PATIENCE as usize + 1;
                let (left, _) = left(policy, view, most);
                assert!(left[..most].iter().all(|&count| count == 0) && left[most] > 0);
            });
        }
    }
}
