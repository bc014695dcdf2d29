//! `thalweg report`: recorded runs side by side, as a table and drawn.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use thalweg::Snapshot;
use thalweg::observe::{self, Latency, Rates, Remark};
use thalweg_sync::time::Duration;

use super::slices::Slices;
use super::{svg, units};
use crate::Outcome;
use crate::args::ReportArgs;
use crate::terminal::emit;

/// Points of a line in a picture, at most.
const POINTS: usize = 400;

type Quantile = fn(&Latency) -> Option<Duration>;
/// What is compared of a latency.
const QUANTILES: [(&str, Quantile); 4] = [
    ("p50", |latency| latency.p50),
    ("p99", |latency| latency.p99),
    ("p99.9", |latency| latency.p999),
    ("max", |latency| latency.max),
];

/// A run that was recorded.
struct Recorded {
    name: String,
    /// Of the file's last run; not empty.
    snapshots: Vec<Snapshot>,
}

impl Recorded {
    fn read(path: &Path) -> Result<Self, String> {
        let name = path.display();
        let text = fs::read_to_string(path).map_err(|error| format!("cannot read {name}: {error}"))?;
        let mut snapshots = observe::read(&text)
            .map_err(|error| format!("{name} is not what `thalweg run APP --record {name}` writes: {error}"))?;
        // Another graph begins where the time begins anew.
        let begins = |pair: &[Snapshot]| pair[1].run != pair[0].run || pair[1].time < pair[0].time;
        if let Some(before) = snapshots.windows(2).rposition(begins) {
            snapshots.drain(..=before);
        }
        Ok(Self { name: name.to_string(), snapshots })
    }

    fn last(&self) -> &Snapshot {
        &self.snapshots[self.snapshots.len() - 1]
    }

    fn whole(&self) -> Rates {
        self.last().since_start()
    }

    fn end(&self) -> &'static str {
        match self.last().end {
            None => "cut off",
            Some(thalweg::End::Complete) => "complete",
            Some(thalweg::End::Stopped) => "stopped",
            Some(thalweg::End::Cancelled) => "cancelled",
        }
    }

    fn remarks(&self) -> Vec<Remark> {
        // What was so before it ended: in the last snapshot everything is done.
        let running: Vec<_> = self.snapshots.iter().filter(|snapshot| snapshot.end.is_none()).cloned().collect();
        observe::remarks(&running)
    }

    /// The snapshots between which a picture draws lines.
    fn steps(&self) -> impl Iterator<Item = (f64, Rates)> {
        let step = self.snapshots.len().div_ceil(POINTS).max(1);
        let chosen: Vec<_> = self.snapshots.iter().step_by(step).chain((step > 1).then(|| self.last())).collect();
        let first = self.snapshots[0].since_start();
        let rest: Vec<_> = chosen
            .windows(2)
            .filter(|pair| pair[1].time > pair[0].time)
            .map(|pair| (pair[1].time.as_secs_f64(), pair[1].since(pair[0])))
            .collect();
        std::iter::once((self.snapshots[0].time.as_secs_f64(), first)).chain(rest)
    }
}

/// A line of the table: what it says, and for each run how it is told and its number, if runs are compared by it.
struct Row {
    name: String,
    cells: Vec<Cell>,
}

type Cell = (String, Option<f64>);

pub(crate) fn run(args: &ReportArgs) -> Outcome {
    if let [path] = &args.files[..]
        && let Some(slices) = fs::read_to_string(path).ok().and_then(|text| Slices::read(&text))
    {
        if args.html.is_some() {
            return Err(format!(
                "{} is a trace, of which --svg draws a picture; --html is for records",
                path.display()
            )
            .into());
        }
        if let Some(path) = &args.svg {
            fs::write(path, slices.picture()).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        }
        emit(&slices.text())?;
        return Ok(ExitCode::SUCCESS);
    }
    let runs = args.files.iter().map(|path| Recorded::read(path)).collect::<Result<Vec<_>, _>>()?;
    let rows = rows(&runs);
    if let Some(path) = &args.html {
        let page = page(&runs, &rows);
        fs::write(path, page).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    if let Some(path) = &args.svg {
        let run = &runs[runs.len() - 1];
        fs::write(path, picture(run)).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    let mut text = table(&runs, &rows);
    for run in &runs {
        for remark in run.remarks() {
            let _ = writeln!(text, "{}: {}", run.name, remark.text);
        }
    }
    emit(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn rows(runs: &[Recorded]) -> Vec<Row> {
    let wholes: Vec<_> = runs.iter().map(Recorded::whole).collect();
    let mut rows = Vec::new();
    let mut row = |name: String, cell: &dyn Fn(&Recorded, &Rates) -> Option<Cell>| {
        let cells = runs.iter().zip(&wholes).map(|(run, whole)| cell(run, whole).unwrap_or_default());
        rows.push(Row { name, cells: cells.collect() });
    };
    row("scheme".into(), &|run, _| Some((run.last().scheme.clone(), None)));
    row("ended".into(), &|run, _| Some((run.end().into(), None)));
    row("time".into(), &|run, _| {
        let time = run.last().time;
        Some((units::time(time), Some(time.as_secs_f64())))
    });
    row("workers, on average".into(), &|run, _| {
        let sum: usize = run.snapshots.iter().map(|snapshot| snapshot.working).sum();
        let mean = sum as f64 / run.snapshots.len() as f64;
        Some((format!("{mean:.1} of {}", run.last().workers.len()), None))
    });
    row("dropped".into(), &|run, _| Some((units::count(run.last().dropped as f64), None)));
    for name in names(runs, |run| run.last().kernels.iter().map(|kernel| kernel.name.clone()).collect()) {
        let of = |run: &Recorded| run.last().kernels.iter().position(|kernel| kernel.name == name);
        row(format!("{name}: busy"), &|run, whole| {
            let busy = whole.kernels[of(run)?].busy / 1000.0;
            Some((units::percent(busy), Some(busy)))
        });
        row(format!("{name}: a message"), &|run, whole| {
            let cost = whole.kernels[of(run)?].cost;
            Some((units::nanos(cost), Some(cost)))
        });
    }
    let edge_names = |run: &Recorded| -> Vec<String> {
        let last = run.last();
        let name = |kernel: usize| &last.kernels[kernel].name;
        last.edges.iter().map(|edge| format!("{} >> {}", name(edge.ends.0), name(edge.ends.1))).collect()
    };
    for name in names(runs, edge_names) {
        let of = |run: &Recorded| edge_names(run).iter().position(|other| *other == name);
        row(format!("{name}: messages/s"), &|run, whole| {
            let rate = whole.edges[of(run)?].messages;
            Some((units::count(rate), Some(rate)))
        });
        row(format!("{name}: fill, on average"), &|run, _| {
            let edge = of(run)?;
            let sum: f64 = run.snapshots.iter().map(|snapshot| snapshot.edges[edge].fill).sum();
            Some((units::percent(sum / run.snapshots.len() as f64), None))
        });
    }
    let pairs = |run: &Recorded| -> Vec<String> {
        let last = run.last();
        let name = |kernel: usize| &last.kernels[kernel].name;
        last.latencies.iter().map(|pair| format!("{} to {}", name(pair.ends.0), name(pair.ends.1))).collect()
    };
    for name in names(runs, pairs) {
        let of = |run: &Recorded| pairs(run).iter().position(|other| *other == name);
        for (quantile, time) in QUANTILES {
            row(format!("{name}: latency, {quantile}"), &|run, _| {
                let time = time(&run.last().latencies[of(run)?])?;
                Some((units::time(time), Some(time.as_secs_f64())))
            });
        }
    }
    rows
}

/// The names in all runs, each once, in the order in which they come.
fn names(runs: &[Recorded], of: impl Fn(&Recorded) -> Vec<String>) -> Vec<String> {
    let mut names = Vec::new();
    for name in runs.iter().flat_map(of) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// A cell, and how it compares with the first run's.
fn cell(row: &Row, column: usize) -> String {
    let (text, value) = &row.cells[column];
    match (column, row.cells[0].1, value) {
        (1.., Some(first), Some(value)) => match units::change(first, *value) {
            change if change.is_empty() => text.clone(),
            change => format!("{text} ({change})"),
        },
        _ => text.clone(),
    }
}

fn table(runs: &[Recorded], rows: &[Row]) -> String {
    let mut lines = vec![vec![String::new()]];
    lines[0].extend(runs.iter().map(|run| run.name.clone()));
    for row in rows {
        let mut line = vec![units::short(&row.name, 48)];
        line.extend((0..runs.len()).map(|column| cell(row, column)));
        lines.push(line);
    }
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<_> = (0..=runs.len()).map(width).collect();
    let mut text = String::new();
    for line in &lines {
        for (column, (cell, width)) in line.iter().zip(&widths).enumerate() {
            let _ = if column == 0 { write!(text, "{cell:<width$}") } else { write!(text, "  {cell:>width$}") };
        }
        text.push('\n');
    }
    text
}

/// One file that needs no other: the table, and of each run its graph and how its numbers went.
fn page(runs: &[Recorded], rows: &[Row]) -> String {
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\"><title>thalweg report</title>\
         <style>{}</style></head><body>\n<h1>Runs</h1>\n<div class=\"scroll\"><table><tr><th></th>",
        svg::STYLE
    );
    for run in runs {
        let _ = write!(out, "<th>{}</th>", svg::escaped(&run.name));
    }
    out.push_str("</tr>\n");
    for row in rows {
        let _ = write!(out, "<tr><td>{}</td>", svg::escaped(&row.name));
        for column in 0..runs.len() {
            let _ = write!(out, "<td>{}</td>", svg::escaped(&cell(row, column)));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</table></div>\n");
    out.push_str(svg::KEY);
    // One scale for all, so that runs can be compared by eye.
    let end = runs.iter().map(|run| run.last().time).max().unwrap_or(Duration::ZERO).as_secs_f64();
    for run in runs {
        let _ = writeln!(out, "<h2>{}</h2>", svg::escaped(&run.name));
        for remark in run.remarks() {
            let _ = writeln!(out, "<p class=\"remark\">{}</p>", svg::escaped(&remark.text));
        }
        let _ = write!(
            out,
            "<div class=\"scroll\">{}</div>\n<div class=\"scroll\"><table><tr><th>kernel</th><th>busy, up to 100 %</th><th>messages a second</th></tr>\n",
            svg::graph(&alive(run), &run.whole())
        );
        let steps: Vec<_> = run.steps().collect();
        for (index, kernel) in run.last().kernels.iter().enumerate() {
            let busy: Vec<_> = steps.iter().map(|(time, rates)| (*time, rates.kernels[index].busy)).collect();
            let flow: Vec<_> = steps
                .iter()
                .map(|(time, rates)| (*time, rates.kernels[index].messages_in.max(rates.kernels[index].messages_out)))
                .collect();
            let most = flow.iter().map(|point| point.1).fold(0.0, f64::max);
            let _ = writeln!(
                out,
                "<tr><td>{}</td><td>{}</td><td>{} up to {}</td></tr>",
                svg::escaped(&kernel.name),
                svg::history(&busy, end, 1000.0, "busy", &format!("how busy {} was", kernel.name)),
                svg::history(&flow, end, most, "flow", &format!("messages of {}", kernel.name)),
                units::count(most)
            );
        }
        out.push_str("</table></div>\n");
    }
    out.push_str("</body></html>\n");
    out
}

/// The run as it was before its end, for a picture in which not every kernel is done.
fn alive(run: &Recorded) -> Snapshot {
    let mut last = run.last().clone();
    for kernel in &mut last.kernels {
        if kernel.doing == observe::Doing::Done {
            kernel.doing = observe::Doing::Ready;
        }
    }
    last
}

/// The graph of a run alone, in its colours.
fn picture(run: &Recorded) -> String {
    let drawn = svg::graph(&alive(run), &run.whole());
    drawn.replacen('>', &format!("><style>{}</style>", svg::STYLE), 1)
}
