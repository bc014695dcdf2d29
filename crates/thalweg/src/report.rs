//! What happened in a run: per kernel, per edge, per worker.

mod verdict;

use crate::json::{self, Quoted};
use crate::observe::Latency;
use std::fmt::{self, Write};
use thalweg_sync::time::Duration;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The sources ended and everything was processed.
    Complete,
    /// It was stopped: the sources stopped early, what they had given was processed.
    Stopped,
    /// It was cancelled, by a stopper or by a failure, or could not go on: what was in the graph was dropped.
    Cancelled,
}

impl End {
    /// One word for it, as in JSON.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Stopped => "stopped",
            Self::Cancelled => "cancelled",
        }
    }
}

/// What happened in a run. `Display` is a table for people; see [`to_json`](Self::to_json) and [`to_dot`](Self::to_dot).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report {
    /// The scheme's name.
    pub scheme: &'static str,
    /// Workers that may have taken part.
    pub workers: usize,
    /// Start to end, threads included.
    pub wall: Duration,
    /// How it ended.
    pub end: End,
    /// Attempts that found nothing to do.
    pub polls: u64,
    /// Times a worker gave up its time slice.
    pub yields: u64,
    /// Times a worker went to sleep.
    pub sleeps: u64,
    /// Messages dropped because the kernel they were for had finished early, because they were too few to fill its window, or for newer ones.
    pub dropped: u64,
    /// The kernels, in the order in which they were made.
    pub kernels: Vec<KernelReport>,
    /// The edges, in the order in which they were made.
    pub edges: Vec<EdgeReport>,
    /// What was asked for by [`Graph::latency`](crate::Graph::latency), in that order.
    pub latencies: Vec<Latency>,
}

/// What a kernel did.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct KernelReport {
    /// Its name.
    pub name: String,
    /// Several workers may run it at once.
    pub parallel: bool,
    /// Times it ran.
    pub activations: u64,
    /// Messages it took. Of a windowed edge those that windows have popped: the last ones, which fill no window, do not count.
    pub messages_in: u64,
    /// Messages it gave.
    pub messages_out: u64,
    /// Time in its code and its edges, over all workers. Short activations are timed now and then, and the rest is extrapolated.
    pub busy: Duration,
    /// Attempts that found an input empty; the sum over its inputs' edges.
    pub blocked_empty: u64,
    /// Attempts that found an output full; the sum over its outputs' edges.
    pub blocked_full: u64,
    /// Attempts that found too many results waiting for an earlier one.
    pub blocked_ticket: u64,
    /// Attempts that found another worker at it.
    pub blocked_busy: u64,
    /// Times it ran within its producer's activation, on the producer's core.
    pub helps: u64,
}

/// What went over an edge.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EdgeReport {
    /// The kernel that gives.
    pub from: String,
    /// The kernel that takes.
    pub to: String,
    /// Indices into [`Report::kernels`].
    pub ends: (usize, usize),
    /// The kernel takes windows.
    pub windowed: bool,
    /// The queue that carried its blocks.
    pub storage: &'static str,
    /// Why it was taken: `chosen` by [`Gives::storage`](crate::Gives::storage), `by the scheme`, or for the kind of the edge: `one taker`, `several takers`, `keeps the newest`.
    pub chosen: &'static str,
    /// Messages it carried.
    pub messages: u64,
    /// Messages at its end that were in no window, as they were too few to fill one. They are among [`Report::dropped`], unless the run was cancelled.
    pub left_over: u64,
    /// Messages that were dropped for newer ones, among [`Report::dropped`]: see [`Gives::newest`](crate::Gives::newest).
    pub overwritten: u64,
    /// Times it grew.
    pub grown: u64,
    /// The most messages in it. One look for every 16 blocks.
    pub peak: u64,
    /// Messages in it on average, over the same looks.
    pub mean: f64,
    /// Attempts of its consumer that found it empty.
    pub blocked_empty: u64,
    /// Attempts of its producer that found it full.
    pub blocked_full: u64,
}

impl Report {
    /// The latency from one kernel to another, by their names, if it was asked for.
    pub fn latency(&self, from: &str, to: &str) -> Option<&Latency> {
        self.latencies.iter().find(|latency| {
            (self.kernels[latency.ends.0].name.as_str(), self.kernels[latency.ends.1].name.as_str()) == (from, to)
        })
    }

    /// The kernel of that name.
    pub fn kernel(&self, name: &str) -> Option<&KernelReport> {
        self.kernels.iter().find(|kernel| kernel.name == name)
    }

    /// As JSON: one object with `scheme`, `workers`, `wall_ns`, `end`, `kernels`, `edges`, `latencies` and the counts. Times are in nanoseconds.
    pub fn to_json(&self) -> String {
        json::object(|object| {
            object.text("scheme", self.scheme).raw("workers", self.workers).raw("wall_ns", self.wall.as_nanos());
            object.text("end", self.end.name());
            object
                .raw("polls", self.polls)
                .raw("yields", self.yields)
                .raw("sleeps", self.sleeps)
                .raw("dropped", self.dropped);
            object.list("kernels", &self.kernels, |kernel, object| {
                object.text("name", &kernel.name).raw("parallel", kernel.parallel);
                object.raw("activations", kernel.activations);
                object.raw("messages_in", kernel.messages_in).raw("messages_out", kernel.messages_out);
                object.raw("busy_ns", kernel.busy.as_nanos());
                object.raw("blocked_empty", kernel.blocked_empty).raw("blocked_full", kernel.blocked_full);
                object.raw("blocked_ticket", kernel.blocked_ticket).raw("blocked_busy", kernel.blocked_busy);
                object.raw("helps", kernel.helps);
            });
            object.list("edges", &self.edges, |edge, object| {
                object.text("from", &edge.from).text("to", &edge.to).text("storage", edge.storage);
                object
                    .raw("messages", edge.messages)
                    .raw("left_over", edge.left_over)
                    .raw("overwritten", edge.overwritten);
                object.raw("grown", edge.grown).raw("peak", edge.peak).raw("mean", format_args!("{:.1}", edge.mean));
                object.raw("blocked_empty", edge.blocked_empty).raw("blocked_full", edge.blocked_full);
            });
            object.list("latencies", &self.latencies, Latency::write_json);
        })
    }

    /// The graph with these numbers, for Graphviz: `dot -Tsvg`.
    pub fn to_dot(&self) -> String {
        let mut dot = String::from("digraph thalweg {\n  rankdir=LR;\n  node [shape=box];\n");
        for (index, kernel) in self.kernels.iter().enumerate() {
            let shape = if kernel.parallel { ", peripheries=2" } else { "" };
            // A line feed in a name would begin another line, and what else is not printed has no form in Graphviz.
            let label = format!(
                "{}\n{} in, {} out\n{} activations, {} busy\nblocked {} empty, {} full, {} ticket\n{} helps",
                kernel.name.replace(char::is_control, " "),
                kernel.messages_in,
                kernel.messages_out,
                kernel.activations,
                Time(kernel.busy),
                kernel.blocked_empty,
                kernel.blocked_full,
                kernel.blocked_ticket,
                kernel.helps
            );
            let _ = writeln!(dot, "  k{index} [label={}{shape}];", Quoted(&label));
        }
        for edge in &self.edges {
            let label = format!(
                "{}\nmean {:.0}, peak {}, grown {}\n{} times empty, {} full",
                edge.messages, edge.mean, edge.peak, edge.grown, edge.blocked_empty, edge.blocked_full
            );
            let _ = writeln!(dot, "  k{} -> k{} [label={}];", edge.ends.0, edge.ends.1, Quoted(&label));
        }
        dot.push_str("}\n");
        dot
    }
}

/// A time with three digits and a unit; more digits of seconds only.
struct Time(Duration);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.as_nanos() as f64;
        // What would be rounded up to four digits has one less behind the point, or the next unit.
        let (value, unit) = match nanos {
            n if n < 999.5 => (n, "ns"),
            n if n < 999.5e3 => (n / 1e3, "us"),
            n if n < 999.5e6 => (n / 1e6, "ms"),
            n => (n / 1e9, "s"),
        };
        let digits = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
        f.pad(&format!("{value:.digits$} {unit}"))
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = self.end.name();
        writeln!(f, "{end} in {}, scheme {}, up to {} workers", Time(self.wall), self.scheme, self.workers)?;
        let kernels = self.kernels.iter().map(|kernel| {
            vec![
                format!("{}{}", kernel.name, if kernel.parallel { " *" } else { "" }),
                kernel.activations.to_string(),
                kernel.messages_in.to_string(),
                kernel.messages_out.to_string(),
                Time(kernel.busy).to_string(),
                kernel.blocked_empty.to_string(),
                kernel.blocked_full.to_string(),
                kernel.blocked_ticket.to_string(),
                kernel.helps.to_string(),
            ]
        });
        let head = ["kernel", "activations", "in", "out", "busy", "empty", "full", "ticket", "helps"];
        table(f, &head, kernels)?;
        let edges = self.edges.iter().map(|edge| {
            vec![
                format!("{} >> {}", edge.from, edge.to),
                edge.messages.to_string(),
                format!("{:.0}", edge.mean),
                edge.peak.to_string(),
                edge.grown.to_string(),
                edge.blocked_empty.to_string(),
                edge.blocked_full.to_string(),
                format!("{} ({})", edge.storage, edge.chosen),
            ]
        });
        table(f, &["edge", "messages", "mean", "peak", "grown", "empty", "full", "storage"], edges)?;
        let time = |time: Option<Duration>| time.map_or_else(|| "-".to_owned(), |time| Time(time).to_string());
        let latencies = self.latencies.iter().map(|latency| {
            let [from, to] = [latency.ends.0, latency.ends.1].map(|end| &self.kernels[end].name);
            let mut cells = vec![format!("{from} to {to}"), latency.stamps.to_string(), latency.samples.to_string()];
            cells.extend([latency.p50, latency.p90, latency.p99, latency.p999, latency.max].map(time));
            cells
        });
        table(f, &["latency", "stamped", "arrived", "p50", "p90", "p99", "p99.9", "max"], latencies)?;
        if self.edges.iter().any(|edge| edge.windowed) {
            writeln!(f, "a kernel with windows takes what they pop, so not the last messages, which fill none")?;
        }
        write!(f, "{} polls, {} yields, {} sleeps", self.polls, self.yields, self.sleeps)?;
        let left_over: u64 = self.edges.iter().map(|edge| edge.left_over).sum();
        let overwritten: u64 = self.edges.iter().map(|edge| edge.overwritten).sum();
        // Of a cancelled run they do not count as dropped.
        let early = self.dropped.saturating_sub(left_over + overwritten);
        if early > 0 {
            write!(f, ", {early} messages dropped by kernels that finished early")?;
        }
        if overwritten > 0 {
            write!(f, ", {overwritten} messages dropped for newer ones")?;
        }
        if left_over > 0 && self.dropped >= left_over {
            write!(f, ", {left_over} messages dropped that filled no window")?;
        }
        writeln!(f)?;
        self.legend(f)?;
        write!(f, "{}", self.verdict())
    }
}

impl Report {
    /// What the columns mean.
    fn legend(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parallel =
            if self.kernels.iter().any(|kernel| kernel.parallel) { " (* on many workers at once)" } else { "" };
        writeln!(
            f,
            "kernels{parallel}: messages in and out; time busy, over all workers; attempts that found no input, no room, or too many results that wait; \
             runs within their producer's (helps)"
        )?;
        if !self.latencies.is_empty() {
            writeln!(
                f,
                "latency: from a block that left a kernel to the end of the other one's work on a block with something of it; one in 100 us is stamped"
            )?;
        }
        if self.edges.is_empty() {
            return Ok(());
        }
        writeln!(
            f,
            "edges: messages on them at one look for every 16 blocks (mean, peak); times that more was allowed (grown); what carried their blocks, and why (storage)"
        )
    }
}

/// A table: the first column to the left, the others to the right. Nothing if there are no rows.
fn table(f: &mut fmt::Formatter<'_>, head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> fmt::Result {
    let rows: Vec<_> = rows.collect();
    if rows.is_empty() {
        return Ok(());
    }
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([head[column].chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<_> = (0..head.len()).map(width).collect();
    let line = |f: &mut fmt::Formatter<'_>, cells: &mut dyn Iterator<Item = &str>| {
        for (column, cell) in cells.enumerate() {
            let width = widths[column];
            if column == 0 {
                write!(f, "  {cell:<width$}")?;
            } else {
                write!(f, "  {cell:>width$}")?;
            }
        }
        writeln!(f)
    };
    line(f, &mut head.iter().copied())?;
    rows.iter().try_for_each(|row| line(f, &mut row.iter().map(String::as_str)))
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn kernel(name: &str, parallel: bool, first: u64) -> KernelReport {
        let next = |step| first + step;
        KernelReport {
            name: name.to_owned(),
            parallel,
            activations: next(0),
            messages_in: next(1),
            messages_out: next(2),
            busy: Duration::from_micros(next(3)),
            blocked_empty: next(4),
            blocked_full: next(5),
            blocked_ticket: next(6),
            blocked_busy: next(7),
            helps: next(8),
        }
    }

    pub(super) fn report() -> Report {
        let edge = EdgeReport {
            from: "read".to_owned(),
            to: "work".to_owned(),
            ends: (0, 1),
            windowed: false,
            storage: "bbq",
            chosen: "several takers",
            messages: 70,
            left_over: 0,
            overwritten: 0,
            grown: 71,
            peak: 72,
            mean: 7.3,
            blocked_empty: 74,
            blocked_full: 75,
        };
        Report {
            scheme: "pw",
            workers: 4,
            wall: Duration::from_millis(5),
            end: End::Complete,
            polls: 81,
            yields: 82,
            sleeps: 83,
            dropped: 0,
            kernels: vec![kernel("read", false, 10), kernel("work", true, 30)],
            latencies: Vec::new(),
            edges: vec![edge],
        }
    }

    #[test]
    fn each_number_is_in_its_column() {
        let expected = "\
complete in 5.00 ms, scheme pw, up to 4 workers
  kernel  activations  in  out     busy  empty  full  ticket  helps
  read             10  11   12  13.0 us     14    15      16     18
  work *           30  31   32  33.0 us     34    35      36     38
  edge          messages  mean  peak  grown  empty  full               storage
  read >> work        70     7    72     71     74    75  bbq (several takers)
81 polls, 82 yields, 83 sleeps
kernels (* on many workers at once): messages in and out; ";
        assert!(report().to_string().starts_with(expected), "{}", report());
        assert!(
            report().to_string().contains("(grown); what carried their blocks, and why (storage)\n"),
            "{}",
            report()
        );
        assert!(report().to_string().ends_with(&report().verdict()), "{}", report());
    }

    #[test]
    fn the_picture_has_the_numbers_of_each_kernel_and_edge() {
        let dot = report().to_dot();
        for told in [
            r#"k0 [label="read\n11 in, 12 out\n10 activations, 13.0 us busy\nblocked 14 empty, 15 full, 16 ticket\n18 helps"];"#,
            r#"k1 [label="work\n31 in, 32 out\n30 activations, 33.0 us busy\nblocked 34 empty, 35 full, 36 ticket\n38 helps", peripheries=2];"#,
            r#"k0 -> k1 [label="70\nmean 7, peak 72, grown 71\n74 times empty, 75 full"];"#,
        ] {
            assert!(dot.contains(told), "{dot}");
        }
    }

    #[test]
    fn the_table_tells_how_it_ended_what_was_lost_and_what_windows_count() {
        for (end, told) in [(End::Complete, "complete"), (End::Stopped, "stopped"), (End::Cancelled, "cancelled")] {
            let report = Report { end, ..report() };
            assert!(report.to_string().starts_with(&format!("{told} in ")), "{report}");
            assert!(report.to_json().contains(&format!(r#""end":"{told}""#)), "{}", report.to_json());
        }
        assert!(!report().to_string().contains("dropped"));
        let mut lossy = Report { dropped: 5, ..report() };
        assert!(lossy.to_string().contains(", 5 messages dropped by kernels that finished early\n"), "{lossy}");
        lossy.edges[0].left_over = 2;
        let told = ", 3 messages dropped by kernels that finished early, 2 messages dropped that filled no window\n";
        assert!(lossy.to_string().contains(told), "{lossy}");
        lossy.edges[0].overwritten = 1;
        let told = ", 2 messages dropped by kernels that finished early, 1 messages dropped for newer ones, 2 messages";
        assert!(lossy.to_string().contains(told), "{lossy}");
        assert!(!report().to_string().contains("window"));
        let mut windowed = report();
        windowed.edges.push(EdgeReport { windowed: true, ..windowed.edges[0].clone() });
        assert!(windowed.to_string().contains("a kernel with windows takes what they pop"));
    }

    #[test]
    fn times_have_three_digits_and_a_unit() {
        for (nanos, told) in [
            (0, "0.00 ns"),
            (7, "7.00 ns"),
            (999, "999 ns"),
            (1_000, "1.00 us"),
            (9_994, "9.99 us"),
            (9_996, "10.0 us"),
            (99_940, "99.9 us"),
            (99_960, "100 us"),
            (999_400, "999 us"),
            (999_600, "1.00 ms"),
            (999_999_999, "1.00 s"),
            (12_340, "12.3 us"),
            (123_400, "123 us"),
            (1_500_000, "1.50 ms"),
            (99_900_000, "99.9 ms"),
            (2_000_000_000, "2.00 s"),
            (3_600_000_000_000, "3600 s"),
        ] {
            assert_eq!(Time(Duration::from_nanos(nanos)).to_string(), told);
        }
    }
}
