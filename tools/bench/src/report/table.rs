//! Figures as plain text.

use std::fmt::Write;

use thalweg_figure::Spread;

use super::columns::aligned;
use super::record::{At, Record, base, compares, curves, panels};

/// One table for each workload and unit: median, range, ratio to the base, CPUs used, and what the runs were like where a unit says that.
pub fn render(records: &[Record]) -> String {
    let panels = panels(records);
    let same = |a: &[&Record], b: &[&Record]| (a[0].experiment, a[0].workload) == (b[0].experiment, b[0].workload);
    let is_note = |panel: &[&Record]| panel[0].at.is_none() && !compares(panel[0].unit);
    let is_beside = |panel: &[&Record]| {
        is_note(panel) && panels.iter().any(|other| same(other, panel) && other[0].at.is_none() && !is_note(other))
    };
    let tables = panels.iter().filter(|panel| !is_beside(panel)).map(|panel| {
        let notes = panels.iter().filter(|note| is_note(note) && same(note, panel) && note[0].unit != panel[0].unit);
        table(panel, &notes.map(Vec::as_slice).collect::<Vec<_>>())
    });
    tables.collect::<Vec<_>>().join("\n")
}

/// A table of `panel`, with a column for each of `notes`.
fn table(panel: &[&Record], notes: &[&[&Record]]) -> String {
    if let Some(At { axis, .. }) = panel.first().and_then(|record| record.at) {
        return sweep(panel, axis);
    }
    let base = base(panel);
    let head = panel[0];
    let mut text = format!("{}: {} ({}, median of {} runs)\n", head.experiment, head.workload, head.unit, head.runs);
    let note = |name: &str, note: &[&Record]| {
        let found = note.iter().find(|record| record.contender == name);
        found.map_or("-".into(), |record| figure(record.spread.median))
    };
    let heads =
        ["contender", "median (min - max)", "ratio", "CPUs"].into_iter().chain(notes.iter().map(|note| note[0].unit));
    let mut rows: Vec<Vec<String>> = vec![heads.map(String::from).collect()];
    rows.extend(panel.iter().map(|record| {
        let Spread { median, min, max } = record.spread;
        let own = [
            record.contender.clone(),
            format!("{} ({} - {})", figure(median), figure(min), figure(max)),
            base.map_or("-".into(), |base| figure(median / base.spread.median)),
            record.cpus.map_or("-".into(), |cpus| format!("{cpus:.2}")),
        ];
        own.into_iter().chain(notes.iter().map(|beside| note(&record.contender, beside))).collect()
    }));
    add_disturbed(&mut rows, panel.iter().copied());
    text.push_str(&aligned(&rows));
    let last = match base {
        Some(base) => writeln!(text, "  ratio: to {}; lower is better", base.contender),
        None if compares(head.unit) => writeln!(text, "  no ratio: the best is not above zero"),
        None => writeln!(text, "  no ratio: this says what the runs were, not how good"),
    };
    last.expect("a String takes everything");
    text
}

/// Adds a column to `rows`, of how many runs of each of `records` were disturbed, if there are any: they are not what the others are.
fn add_disturbed<'a>(rows: &mut [Vec<String>], records: impl Iterator<Item = &'a Record> + Clone) {
    if records.clone().any(|record| record.disturbed > 0) {
        let cells = records.map(|record| record.disturbed.to_string());
        let column = ["disturbed".to_string()].into_iter().chain(cells);
        rows.iter_mut().zip(column).for_each(|(row, cell)| row.push(cell));
    }
}

/// Medians along an axis: a row for each contender, a column for each point.
fn sweep(panel: &[&Record], axis: &str) -> String {
    let head = panel[0];
    let (points, lines) = curves(panel);
    let mut rows: Vec<Vec<String>> = vec![[axis].iter().chain(&points).map(|cell| cell.to_string()).collect()];
    for (name, line) in &lines {
        let at = |point: &&str| line.iter().find(|record| record.at.is_some_and(|at| at.point == *point));
        let cell = |point| at(point).map_or("-".into(), |record| figure(record.spread.median));
        rows.push([name.to_string()].into_iter().chain(points.iter().map(cell)).collect());
    }
    // A run gives all points of a line.
    add_disturbed(&mut rows, lines.iter().map(|(_, line)| line[0]));
    let title = format!("{}: {} ({}, median of {} runs)\n", head.experiment, head.workload, head.unit, head.runs);
    title + &aligned(&rows)
}

/// Three significant digits, or all of the integer part.
pub(crate) fn figure(value: f64) -> String {
    match value.abs() {
        v if !v.is_finite() => "-".into(),
        v if v >= 99.95 => format!("{value:.0}"),
        v if v >= 9.995 => format!("{value:.1}"),
        v if v >= 0.9995 || v == 0.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::record::Role;
    use crate::report::record::tests::record;

    #[test]
    fn a_table_shows_range_ratio_and_base() {
        let records = [record("thalweg", Role::Ours, 2.0), record("crossbeam", Role::Peer, 40.0)];
        let expected = "\
test/table: toy (ns/msg, median of 5 runs)
  contender  median (min - max)  ratio  CPUs
  thalweg    2.00 (1.00 - 4.00)  0.050  1.00
  crossbeam  40.0 (20.0 - 80.0)   1.00  1.00
  ratio: to crossbeam; lower is better
";
        assert_eq!(render(&records), expected);
    }

    #[test]
    fn disturbed_runs_are_told() {
        let records = [record("thalweg", Role::Ours, 2.0), record("kanal", Role::Peer, 40.0)];
        let records = records.map(|record| Record { disturbed: usize::from(record.role == Role::Peer), ..record });
        let expected = "\
test/table: toy (ns/msg, median of 5 runs)
  contender  median (min - max)  ratio  CPUs  disturbed
  thalweg    2.00 (1.00 - 4.00)  0.050  1.00          0
  kanal      40.0 (20.0 - 80.0)   1.00  1.00          1
  ratio: to kanal; lower is better
";
        assert_eq!(render(&records), expected);
        let at = |point| Some(At { axis: "entries", point });
        let [first, second] = records;
        let sweep = [Record { at: at("64"), ..first }, Record { at: at("64"), ..second }];
        let expected = "\
test/table: toy (ns/msg, median of 5 runs)
  entries    64  disturbed
  thalweg  2.00          0
  kanal    40.0          1
";
        assert_eq!(render(&sweep), expected);
    }

    #[test]
    fn shares_of_the_items_have_no_ratio() {
        let record = Record { unit: "% of items stolen", ..record("thalweg", Role::Ours, 2.0) };
        let expected = "\
test/table: toy (% of items stolen, median of 5 runs)
  contender  median (min - max)  ratio  CPUs
  thalweg    2.00 (1.00 - 4.00)      -  1.00
  no ratio: this says what the runs were, not how good
";
        assert_eq!(render(&[record]), expected);
    }

    #[test]
    fn what_the_runs_were_stands_beside_the_figures() {
        let share = |name, median| Record { unit: "% of items stolen", ..record(name, Role::Ours, median) };
        let records = [
            record("thalweg", Role::Ours, 2.0),
            share("thalweg", 1.5),
            record("crossbeam", Role::Peer, 40.0),
            share("crossbeam", 10.0),
            Record { workload: "another", ..record("thalweg", Role::Ours, 2.0) },
        ];
        let expected = "\
test/table: toy (ns/msg, median of 5 runs)
  contender  median (min - max)  ratio  CPUs  % of items stolen
  thalweg    2.00 (1.00 - 4.00)  0.050  1.00               1.50
  crossbeam  40.0 (20.0 - 80.0)   1.00  1.00               10.0
  ratio: to crossbeam; lower is better

test/table: another (ns/msg, median of 5 runs)
  contender  median (min - max)  ratio  CPUs
  thalweg    2.00 (1.00 - 4.00)   1.00  1.00
  ratio: to thalweg; lower is better
";
        assert_eq!(render(&records), expected);
    }

    #[test]
    fn a_sweep_has_a_column_for_each_point() {
        let point = |name, point, median| Record {
            at: Some(At { axis: "entries", point }),
            ..record(name, Role::Ours, median)
        };
        let records = [point("thalweg", "64", 2.0), point("thalweg", "128", 1.0), point("rtrb", "128", 10.0)];
        let expected = "\
test/table: toy (ns/msg, median of 5 runs)
  entries    64   128
  thalweg  2.00  1.00
  rtrb        -  10.0
";
        assert_eq!(render(&records), expected);
    }

    #[test]
    fn figures_keep_three_digits() {
        let cases =
            [(0.0, "0.00"), (0.1234, "0.123"), (1.0, "1.00"), (9.999, "10.0"), (99.96, "100"), (12345.6, "12346")];
        for (value, text) in cases {
            assert_eq!(figure(value), text);
        }
        assert_eq!(figure(f64::NAN), "-");
    }
}
