//! DANBI's schedulers (§III-A): queue events choose the next kernel (QES, Algorithm 1), probabilities that follow the fill of the queues choose
//! earlier (PSS), and who waits too long for its turn goes anywhere (PRS).
//!
//! DANBI decides at the end of a thread of a parallel kernel; here an activation is that thread. As nothing blocks in the middle of an
//! activation, there are no ready queues: "select a thread of kernel k" is "try to activate k".

use super::{Choice, Event, Policy, Setup, View};

/// PRS: the constant of `P = min(T / C, 1)`. The paper has 10 000 waits of a user-level thread; a wait here is a whole attempt, so fewer count.
const PATIENCE: f32 = 100.0;

struct Qes {
    speculative: bool,
    random: bool,
    /// Waits in a row (PRS's T).
    waits: u32,
    failures: usize,
}

pub(super) fn plain(_setup: &Setup<'_>) -> Box<dyn Policy> {
    Box::new(Qes { speculative: false, random: false, waits: 0, failures: 0 })
}

pub(super) fn speculative(_setup: &Setup<'_>) -> Box<dyn Policy> {
    Box::new(Qes { speculative: true, random: false, waits: 0, failures: 0 })
}

pub(super) fn speculative_random(_setup: &Setup<'_>) -> Box<dyn Policy> {
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
            Event::Waiting if self.failures < view.kernels() => {
                self.failures += 1;
                self.waits += 1;
                if self.random && view.chance(self.waits as f32 / PATIENCE) {
                    return Choice::Run(view.random_below(view.kernels()));
                }
                Choice::Run(kernel)
            }
            // A sequential kernel that runs elsewhere: select another at random (Algorithm 1, line 20).
            _ => {
                self.failures = 0;
                view.any_from(view.random_below(view.kernels()))
            }
        }
    }
}
