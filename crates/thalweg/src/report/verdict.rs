//! What set the pace of a run, and what would help.

use super::{EdgeReport, End, KernelReport, Report};

/// A kernel or a worker that is busy for so much of a run sets its pace.
const BUSY: f64 = 0.8;
/// Runs shorter than this, in seconds, are mostly their own beginning and end.
const SHORT: f64 = 0.002;

impl Report {
    /// What set the pace of this run, and what would help, in one or two sentences; the last lines of the table.
    ///
    /// Judged by the time that kernels were busy, as a share of the run. On a machine whose cores are shared with others that time counts too, so what it
    /// says of such a run may not hold of the next.
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// let mut graph = Graph::new();
    /// let (end, sum) = graph.gather(0_u64, |sum: &mut u64, n: u64| *sum += n);
    /// let slow = graph.map(|n: u64| (0..20_000).fold(n, |sum, n| std::hint::black_box(sum ^ n)));
    /// graph.name(slow, "slow");
    /// graph += graph.source(0..2000_u64) >> slow >> end;
    /// let report = graph.run(Scheme::default().workers(1))?;
    /// println!("{}", report.verdict());
    /// # assert!(sum.take() > 0 && report.verdict().contains("slow"));
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    pub fn verdict(&self) -> String {
        let mut verdict = self.pace();
        if let Some(edge) = self.tight_edge() {
            verdict.push_str(&format!(
                " {} >> {} was found full {} times while {} had nothing in one of {}: a larger capacity evens that out.",
                edge.from, edge.to, edge.blocked_full, edge.to, edge.blocked_empty
            ));
        }
        verdict
    }

    /// Seconds that a kernel was busy, as a share of the run; over 1 if several workers were at it.
    fn share(&self, kernel: &KernelReport) -> f64 {
        kernel.busy.as_secs_f64() / self.wall.as_secs_f64().max(1e-9)
    }

    fn pace(&self) -> String {
        let Some(most) = self.kernels.iter().max_by_key(|kernel| kernel.busy) else {
            return "nothing set the pace: there are no kernels.".to_owned();
        };
        let (share, workers) = (self.share(most), self.workers as f64);
        let load: f64 = self.kernels.iter().map(|kernel| self.share(kernel)).sum();
        let percent = |share: f64| format!("{:.0} %", 100.0 * share.min(1.0));
        if self.wall.as_secs_f64() < SHORT {
            return format!("the run is too short to say what set its pace; {} took most of it.", most.name);
        }
        if self.end == End::Cancelled && load < BUSY {
            return format!(
                "the run was cancelled; until then workers were busy for {} of it.",
                percent(load / workers)
            );
        }
        if share >= BUSY && !most.parallel && (self.workers > 1 || share / load >= BUSY) {
            let source = most.messages_in == 0 && most.messages_out > 0;
            let help = if source {
                "give from several sources, or leave its work to kernels behind it"
            } else {
                "make it parallel if it has no state, or split it into several kernels"
            };
            return format!(
                "{} set the pace: it was busy for {} of the run, on one worker at a time. What would help: {help}.",
                most.name,
                percent(share)
            );
        }
        if load >= BUSY * workers {
            let busy = if self.workers == 1 {
                format!("the worker set the pace: it was busy for {} of the run", percent(load))
            } else {
                format!(
                    "the {} workers set the pace: they were busy for {} of the run",
                    self.workers,
                    percent(load / workers)
                )
            };
            let of = percent(share / load);
            return format!(
                "{busy}, {of} of that with {}. What would help: more workers, on cores of their own, or less work in it.",
                most.name
            );
        }
        let waits = |kernel: &&KernelReport| kernel.blocked_ticket > kernel.activations;
        if let Some(kernel) = self.kernels.iter().find(waits) {
            return format!(
                "{} set the pace: its workers found {} times that too many results wait for an earlier one. What would help: messages of even cost, or \
                 an unordered edge behind it.",
                kernel.name, kernel.blocked_ticket
            );
        }
        if load >= BUSY {
            return format!(
                "no kernel set the pace: they took turns, as if {load:.1} of {} workers were busy all the time, most with {}. What would help: more work for \
                 each message that is handed on, or parallel kernels.",
                self.workers, most.name
            );
        }
        format!(
            "no kernel set the pace: workers were busy for {} of the run, most with {}. What would help: sources that give sooner; or fewer workers, if they \
             wait for each other.",
            percent(load / workers),
            most.name
        )
    }

    /// An edge that was often full, and often empty too: its ends change their pace.
    fn tight_edge(&self) -> Option<&EdgeReport> {
        let turns = |edge: &&EdgeReport| edge.blocked_full.min(edge.blocked_empty);
        self.edges.iter().max_by_key(turns).filter(|edge| turns(edge) > 100 && turns(edge) * 16 > edge.messages)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{kernel, report};
    use super::*;
    use thalweg_sync::time::Duration;

    /// A run of 100 ms with kernels that were busy for so many milliseconds.
    fn run(workers: usize, kernels: &[(&str, bool, u64)]) -> Report {
        let kernels = kernels.iter().map(|&(name, parallel, millis)| KernelReport {
            busy: Duration::from_millis(millis),
            blocked_ticket: 0,
            ..kernel(name, parallel, 10)
        });
        Report { workers, wall: Duration::from_millis(100), kernels: kernels.collect(), edges: Vec::new(), ..report() }
    }

    #[test]
    fn what_was_busy_sets_the_pace() {
        for (workers, kernels, told) in [
            (
                4,
                &[("read", false, 20), ("parse", false, 95)][..],
                "parse set the pace: it was busy for 95 % of the run, on one",
            ),
            (4, &[("read", false, 20), ("work", true, 340)], "the 4 workers set the pace: they were busy for 90 %"),
            (
                1,
                &[("read", false, 40), ("parse", false, 50)],
                "the worker set the pace: it was busy for 90 % of the run, 56 % of that with parse",
            ),
            (1, &[("read", false, 3), ("parse", false, 95)], "parse set the pace"),
            (2, &[("read", false, 10), ("parse", false, 20)], "no kernel set the pace: workers were busy for 15 %"),
            (
                4,
                &[("read", false, 70), ("parse", false, 50)],
                "no kernel set the pace: they took turns, as if 1.2 of 4",
            ),
            (2, &[("read", false, 99), ("parse", false, 90)], "read set the pace"),
            (2, &[], "nothing set the pace"),
        ] {
            let verdict = run(workers, kernels).verdict();
            assert!(verdict.starts_with(told), "{verdict}");
        }
    }

    #[test]
    fn a_source_is_not_told_to_become_parallel() {
        let mut report = run(2, &[("read", false, 95)]);
        report.kernels[0].messages_in = 0;
        assert!(report.verdict().contains("several sources"), "{}", report.verdict());
    }

    #[test]
    fn results_that_wait_and_edges_that_are_tight_are_named() {
        let mut report = run(4, &[("read", false, 20), ("work", true, 80)]);
        report.kernels[1].blocked_ticket = 1000;
        assert!(report.verdict().starts_with("work set the pace"), "{}", report.verdict());
        report.edges.push(EdgeReport {
            messages: 100,
            blocked_full: 200,
            blocked_empty: 300,
            ..super::super::tests::report().edges[0].clone()
        });
        assert!(report.verdict().contains("read >> work was found full 200 times"), "{}", report.verdict());
    }

    #[test]
    fn a_short_run_is_not_judged() {
        let short = Report { wall: Duration::from_micros(50), ..run(1, &[("read", false, 90)]) };
        assert!(short.verdict().starts_with("the run is too short"), "{}", short.verdict());
    }
}
