//! What a run counts, as text: `thalweg top --plain`, and the tables of the view.

use std::fmt::Write;

use thalweg::Snapshot;
use thalweg::observe::{Doing, Kind, Rates, WorkerState, remarks};

use super::units;

/// What a kernel is at, in words.
pub(crate) fn doing(snapshot: &Snapshot, doing: Doing) -> String {
    let name = |kernel: usize| &snapshot.kernels[kernel].name;
    match doing {
        Doing::Empty(edge) => format!("waits for {}", name(snapshot.edges[edge].ends.0)),
        Doing::Full(edge) => format!("waits for room before {}", name(snapshot.edges[edge].ends.1)),
        Doing::Ticket => "waits for an earlier result".to_owned(),
        Doing::Pending => "has nothing now".to_owned(),
        other => other.name().to_owned(),
    }
}

/// One line that says how the run is.
pub(crate) fn headline(snapshot: &Snapshot) -> String {
    let end = match snapshot.end {
        None => "runs",
        Some(thalweg::End::Complete) => "complete",
        Some(thalweg::End::Stopped) => "stopped",
        Some(thalweg::End::Cancelled) => "cancelled",
    };
    format!(
        "run {}, {end}, {}; scheme {}, {} of {} workers; {} dropped",
        snapshot.run,
        units::time(snapshot.time),
        snapshot.scheme,
        snapshot.working,
        snapshot.workers.len(),
        units::count(snapshot.dropped as f64)
    )
}

/// The columns of a kernel's line, and what they are called.
pub(crate) const COLUMNS: [&str; 9] = ["busy", "empty", "full", "ticket", "pending", "ready", "in/s", "out/s", "each"];

pub(crate) fn cells(snapshot: &Snapshot, rates: &Rates, kernel: usize) -> [String; 9] {
    let now = &rates.kernels[kernel];
    let millis = |value: f64| format!("{value:.0}");
    let cost = if now.cost > 0.0 { units::nanos(now.cost) } else { "-".to_owned() };
    debug_assert!(kernel < snapshot.kernels.len());
    [
        millis(now.busy),
        millis(now.empty),
        millis(now.full),
        millis(now.ticket),
        millis(now.pending),
        millis(now.ready),
        units::count(now.messages_in),
        units::count(now.messages_out),
        cost,
    ]
}

/// A kernel's name, with a star if it is parallel.
pub(crate) fn name(snapshot: &Snapshot, kernel: usize, most: usize) -> String {
    let star = if snapshot.kernels[kernel].kind == Kind::Parallel { " *" } else { "" };
    format!("{}{star}", units::short(&snapshot.kernels[kernel].name, most.saturating_sub(star.len())))
}

/// A worker, in words.
pub(crate) fn worker(snapshot: &Snapshot, worker: usize) -> String {
    match snapshot.workers[worker].state {
        WorkerState::Runs(kernel) => format!("runs {}", snapshot.kernels[kernel].name),
        WorkerState::Looks => "looks for work".to_owned(),
        WorkerState::Sleeps => "sleeps".to_owned(),
        WorkerState::Bench => "on the bench".to_owned(),
        _ => "off".to_owned(),
    }
}

/// A latency that is sampled, in words.
pub(crate) fn latency(snapshot: &Snapshot, index: usize) -> String {
    let latency = &snapshot.latencies[index];
    let [from, to] = [latency.ends.0, latency.ends.1].map(|end| &snapshot.kernels[end].name);
    let names = ["p50", "p90", "p99", "p99.9", "max"];
    let times = [latency.p50, latency.p90, latency.p99, latency.p999, latency.max];
    let told: Vec<_> =
        names.iter().zip(times).filter_map(|(name, time)| Some(format!("{name} {}", units::time(time?)))).collect();
    let told = if told.is_empty() { "nothing has arrived".to_owned() } else { told.join(", ") };
    let (stamps, samples) = (units::count(latency.stamps as f64), units::count(latency.samples as f64));
    format!("latency from {from} to {to}: {told} ({stamps} stamped, {samples} arrived)")
}

/// The last of these snapshots as text, with the rates since the first. Not empty.
pub(crate) fn text(title: &str, history: &[Snapshot]) -> String {
    let now = &history[history.len() - 1];
    let rates = if history.len() > 1 { now.since(&history[0]) } else { now.since_start() };
    let mut out = format!("{title}: {}\n", headline(now));
    let _ = write!(out, "  {:18}", "kernel");
    COLUMNS.iter().for_each(|column| _ = write!(out, " {column:>7}"));
    out.push_str("  now\n");
    for kernel in 0..now.kernels.len() {
        let _ = write!(out, "  {:18}", name(now, kernel, 18));
        cells(now, &rates, kernel).iter().for_each(|cell| _ = write!(out, " {cell:>7}"));
        let _ = writeln!(out, "  {}", doing(now, now.kernels[kernel].doing));
    }
    let _ = writeln!(
        out,
        "  {:37} {:>8} {:>8} {:>8} {:>5} {:>6}  storage",
        "edge", "messages", "a second", "holds", "fill", "grown"
    );
    for (edge, flow) in now.edges.iter().zip(&rates.edges) {
        let ends = format!("{} >> {}", now.kernels[edge.ends.0].name, now.kernels[edge.ends.1].name);
        let _ = writeln!(
            out,
            "  {:37} {:>8} {:>8} {:>8} {:>5} {:>6}  {}",
            units::short(&ends, 37),
            units::count(edge.messages as f64),
            units::count(flow.messages),
            units::count(edge.holds as f64),
            units::percent(edge.fill),
            edge.grown,
            edge.storage
        );
    }
    for index in 0..now.workers.len() {
        let _ = writeln!(out, "  worker {index}: {}, idle {:.0} ms/s", worker(now, index), rates.workers[index].idle);
    }
    for index in 0..now.latencies.len() {
        let _ = writeln!(out, "  {}", latency(now, index));
    }
    out.push_str(
        "  (kernels: milliseconds of a second; busy is measured, the rest is divided by what attempts found)\n",
    );
    for remark in remarks(history) {
        let _ = writeln!(out, "! {}", remark.text);
    }
    out
}
