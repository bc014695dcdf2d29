//! What happened in a second between two snapshots.

use super::snapshot::{Doing, EdgeSnapshot, KernelSnapshot, Snapshot, WorkerState};
use thalweg_sync::time::Duration;

/// What happened in a second between two snapshots of a run. Made by [`Snapshot::since`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Rates {
    /// The time between them.
    pub span: Duration,
    /// As [`Snapshot::kernels`].
    pub kernels: Vec<KernelRates>,
    /// As [`Snapshot::edges`].
    pub edges: Vec<EdgeRates>,
    /// As [`Snapshot::workers`].
    pub workers: Vec<WorkerRates>,
}

/// Where a kernel's time went, in milliseconds of a second, and what it moved in one.
///
/// `busy` is measured, over all workers: of a parallel kernel it may be over 1000. The rest of the second is an estimate: it is divided by what
/// attempts to run the kernel found, and if there was no attempt it goes to what the kernel is at in the later snapshot.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct KernelRates {
    /// In its code and its edges.
    pub busy: f64,
    /// Waiting for input.
    pub empty: f64,
    /// Waiting for room.
    pub full: f64,
    /// Waiting for an earlier result.
    pub ticket: f64,
    /// Having nothing, as it said.
    pub pending: f64,
    /// Ready, without a worker at it.
    pub ready: f64,
    /// Messages taken in a second.
    pub messages_in: f64,
    /// Messages given in a second.
    pub messages_out: f64,
    /// Nanoseconds that it was busy for a message, taken or of a source given; 0 if there was none.
    pub cost: f64,
}

/// What went over an edge in a second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct EdgeRates {
    /// Messages.
    pub messages: f64,
    /// Bytes; what messages point to does not count.
    pub bytes: f64,
    /// Messages by which what it holds became more, or less.
    pub growth: f64,
    /// Attempts of its consumer that found it empty.
    pub empty: f64,
    /// Attempts of its producer that found it full.
    pub full: f64,
}

/// How a worker spent a second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct WorkerRates {
    /// Milliseconds of looking around and sleeping.
    pub idle: f64,
    /// Times it went to sleep.
    pub sleeps: f64,
}

impl Snapshot {
    /// What happened in a second since an `earlier` snapshot of the same run; or since the run began, if it is none of this run.
    pub fn since(&self, earlier: &Snapshot) -> Rates {
        let same = earlier.run == self.run
            && earlier.kernels.len() == self.kernels.len()
            && earlier.edges.len() == self.edges.len()
            && earlier.time <= self.time;
        self.rates(same.then_some(earlier))
    }

    /// What happened in a second on average since the run began.
    pub fn since_start(&self) -> Rates {
        self.rates(None)
    }

    fn rates(&self, earlier: Option<&Snapshot>) -> Rates {
        let span = self.time - earlier.map_or(Duration::ZERO, |earlier| earlier.time);
        let seconds = span.as_secs_f64().max(1e-9);
        let per_second = |now: u64, then: u64| now.saturating_sub(then) as f64 / seconds;
        let kernels =
            self.kernels.iter().enumerate().map(|(index, now)| {
                now.rates(earlier.map(|earlier| &earlier.kernels[index]), seconds, self.end.is_some())
            });
        let edges = self.edges.iter().enumerate().map(|(index, now)| {
            let then = |count: &dyn Fn(&EdgeSnapshot) -> u64| earlier.map_or(0, |earlier| count(&earlier.edges[index]));
            let messages = per_second(now.messages, then(&|edge| edge.messages));
            EdgeRates {
                messages,
                bytes: messages * now.message_bytes as f64,
                growth: (now.holds as f64 - then(&|edge| edge.holds) as f64) / seconds,
                empty: per_second(now.blocked_empty, then(&|edge| edge.blocked_empty)),
                full: per_second(now.blocked_full, then(&|edge| edge.blocked_full)),
            }
        });
        let workers = self.workers.iter().enumerate().map(|(index, now)| {
            let then = earlier.and_then(|earlier| earlier.workers.get(index));
            let idle = now.idle.saturating_sub(then.map_or(Duration::ZERO, |then| then.idle));
            // A sleep counts once it is over.
            let sleeps_on =
                idle.is_zero() && now.state != WorkerState::Looks && then.is_some_and(|then| then.state == now.state);
            let away = matches!(now.state, WorkerState::Sleeps | WorkerState::Bench | WorkerState::Off);
            let idle = if sleeps_on && away { 1.0 } else { idle.as_secs_f64() / seconds };
            WorkerRates {
                idle: 1000.0 * idle.min(1.0),
                sleeps: per_second(now.sleeps, then.map_or(0, |then| then.sleeps)),
            }
        });
        Rates { span, kernels: kernels.collect(), edges: edges.collect(), workers: workers.collect() }
    }
}

impl KernelSnapshot {
    /// `is_over` says that the run is.
    fn rates(&self, then: Option<&Self>, seconds: f64, is_over: bool) -> KernelRates {
        let more = |count: &dyn Fn(&Self) -> u64| count(self).saturating_sub(then.map_or(0, count)) as f64;
        let mut busy = more(&|kernel| kernel.busy.as_nanos() as u64) / 1e6 / seconds;
        // An activation counts once it has ended, so who is long in one seems to do nothing, and then too much.
        let stays = then.is_some_and(|then| then.workers > 0 && then.activations == self.activations);
        if stays && self.workers > 0 {
            busy = busy.max(1000.0 * self.workers as f64);
        }
        if self.kind != super::Kind::Parallel {
            busy = busy.min(1000.0);
        }
        let (messages_in, messages_out) = (more(&|kernel| kernel.messages_in), more(&|kernel| kernel.messages_out));
        let messages = if messages_in > 0.0 { messages_in } else { messages_out };
        let mut rates = KernelRates {
            busy,
            messages_in: messages_in / seconds,
            messages_out: messages_out / seconds,
            cost: if messages > 0.0 { busy * seconds * 1e6 / messages } else { 0.0 },
            ..KernelRates::default()
        };
        let rest = (1000.0 - busy).max(0.0);
        let found = [
            more(&|kernel| kernel.blocked_empty),
            more(&|kernel| kernel.blocked_full),
            more(&|kernel| kernel.blocked_ticket),
            more(&|kernel| kernel.blocked_pending),
        ];
        let attempts: f64 = found.iter().sum();
        if self.doing == Doing::Done && then.is_some_and(|then| then.doing == Doing::Done) {
            return rates;
        }
        if attempts > 0.0 {
            let [empty, full, ticket, pending] = found.map(|count| rest * count / attempts);
            (rates.empty, rates.full, rates.ticket, rates.pending) = (empty, full, ticket, pending);
        } else if !is_over {
            match self.doing {
                Doing::Empty(_) => rates.empty = rest,
                Doing::Full(_) => rates.full = rest,
                Doing::Ticket => rates.ticket = rest,
                Doing::Pending => rates.pending = rest,
                Doing::Runs | Doing::Ready => rates.ready = rest,
                Doing::Done => {}
            }
        }
        rates
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    /// A snapshot of a run of a source and a sink, after so many milliseconds.
    fn snapshot(millis: u64) -> Snapshot {
        let mut graph = Graph::new();
        graph += graph.source(0..10_u64) >> graph.sink(drop::<u64>);
        let observer = graph.observe();
        graph.run(Scheme::default().workers(1)).unwrap();
        let mut snapshot = observer.snapshot().unwrap();
        snapshot.time = Duration::from_millis(millis);
        snapshot.end = None;
        for kernel in &mut snapshot.kernels {
            (kernel.blocked_empty, kernel.blocked_full, kernel.blocked_ticket, kernel.blocked_pending) = (0, 0, 0, 0);
            kernel.busy = Duration::ZERO;
            kernel.doing = Doing::Runs;
        }
        snapshot
    }

    #[test]
    fn a_second_is_divided_by_what_attempts_found() {
        let (then, mut now) = (snapshot(1000), snapshot(1500));
        let sink = &mut now.kernels[1];
        sink.busy = Duration::from_millis(100);
        (sink.blocked_empty, sink.blocked_full) = (3, 1);
        sink.messages_in += 1000;
        let rates = now.since(&then);
        assert_eq!(rates.span, Duration::from_millis(500));
        let sink = rates.kernels[1];
        assert_eq!((sink.busy, sink.empty, sink.full, sink.ready), (200.0, 600.0, 200.0, 0.0));
        assert_eq!((sink.messages_in, sink.cost), (2000.0, 100_000.0));
    }

    #[test]
    fn without_attempts_it_goes_to_what_the_kernel_is_at() {
        let (then, mut now) = (snapshot(1000), snapshot(2000));
        for (doing, expected) in [
            (Doing::Empty(0), [1000.0, 0.0, 0.0, 0.0, 0.0]),
            (Doing::Full(0), [0.0, 1000.0, 0.0, 0.0, 0.0]),
            (Doing::Ticket, [0.0, 0.0, 1000.0, 0.0, 0.0]),
            (Doing::Pending, [0.0, 0.0, 0.0, 1000.0, 0.0]),
            (Doing::Ready, [0.0, 0.0, 0.0, 0.0, 1000.0]),
            (Doing::Done, [0.0; 5]),
        ] {
            now.kernels[1].doing = doing;
            let found = now.since(&then).kernels[1];
            assert_eq!([found.empty, found.full, found.ticket, found.pending, found.ready], expected, "{doing:?}");
        }
    }

    #[test]
    fn who_is_long_in_one_activation_is_busy() {
        let (mut then, mut now) = (snapshot(1000), snapshot(2000));
        (then.kernels[1].workers, now.kernels[1].workers) = (1, 1);
        assert_eq!(now.since(&then).kernels[1].busy, 1000.0);
        now.kernels[1].activations += 1;
        assert_eq!(now.since(&then).kernels[1].busy, 0.0);
    }

    #[test]
    fn another_run_is_compared_with_its_own_start() {
        let (then, mut now) = (snapshot(1000), snapshot(500));
        now.run += 1;
        now.edges[0].messages = 100;
        assert_eq!(now.since(&then).edges[0].messages, 200.0);
        assert_eq!(now.since(&then), now.since_start());
    }
}
