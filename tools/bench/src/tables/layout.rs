//! Records as a table.

use std::path::Path;

use super::data::{Fields, Run, load};
use super::figures;

/// Fields that are two others and what stands between: for the rows of a run with several units, and of one with several curves.
const COMPUTED: [(&str, &str, &str, &str); 3] = [
    ("quantity", "workload", ", ", "unit"),
    ("curve", "contender", ": ", "quantity"),
    ("case", "workload", ", ", "contender"),
];

/// The table of a mark: what is after `measured`.
pub(super) fn table(measured: &Path, mark: &str) -> Result<String, String> {
    let (what, layout) = mark.split_once(": ").ok_or("it has no `: ` before the layout")?;
    let (patterns, filter) = match what.split_once(" [") {
        Some((patterns, filter)) => (patterns, Some(filter.strip_suffix(']').ok_or("its `[` has no `]`")?)),
        None => (what, None),
    };
    let filters: Vec<(&str, &str)> = filter
        .iter()
        .flat_map(|text| text.split("] ["))
        .map(|text| text.split_once('=').ok_or("between `[` and `]` there is no `=`"))
        .collect::<Result<_, _>>()?;
    let mut runs = Vec::new();
    for pattern in patterns.split(", ") {
        runs.extend(load(measured, pattern)?);
    }
    let is_list = layout.starts_with("list ");
    for run in &mut runs {
        if is_list { figures::rows(run) } else { figures::cells(run) }?;
        let Run { machine, experiment, head, records } = run;
        for record in records.iter_mut() {
            record.entry("machine".to_owned()).or_insert_with(|| machine.clone());
            record.entry("experiment".to_owned()).or_insert_with(|| experiment.clone());
            if let Some(unit) = head.get("unit") {
                record.entry("unit".to_owned()).or_insert_with(|| unit.clone());
            }
            for (name, one, between, other) in COMPUTED {
                if let (Some(one), Some(other)) = (record.get(one), record.get(other)) {
                    let both = format!("{one}{between}{other}");
                    record.insert(name.to_owned(), both);
                }
            }
        }
        let is_one_of = |record: &Fields, field: &str, values: &str| {
            record.get(field).is_some_and(|has| values.split('|').any(|value| fits(has, value)))
        };
        records.retain(|record| filters.iter().all(|(field, values)| is_one_of(record, field, values)));
        let unit = records.first().and_then(|record| record.get("unit")).cloned();
        let says_unit = ["unit", "quantity", "curve"].iter().any(|field| layout.contains(field));
        if let (false, Some(unit)) = (says_unit, unit)
            && !head.contains_key("unit")
            && records.iter().all(|record| record.get("unit") == Some(&unit))
        {
            head.insert("unit".to_owned(), unit);
        }
        // A date stands beside the rows or above them, never both.
        if records.iter().any(|record| record.contains_key("date"))
            && let Some(date) = head.remove("date")
        {
            records.iter_mut().for_each(|record| _ = record.entry("date".to_owned()).or_insert_with(|| date.clone()));
        }
    }
    runs.retain(|run| !run.records.is_empty());
    if runs.is_empty() {
        return Err("no record is left".to_owned());
    }
    // What the runs do not have in common stands beside the rows, or is told by the rows themselves.
    if is_list && runs.iter().any(|run| run.head.get("date") != runs[0].head.get("date")) {
        for Run { head, records, .. } in &mut runs {
            let date = head.remove("date").unwrap_or_default();
            records.iter_mut().for_each(|record| _ = record.entry("date".to_owned()).or_insert_with(|| date.clone()));
        }
    }
    let captions: Vec<String> = together(&runs).iter().map(|run| caption(run, runs.len() > 1)).collect();
    let records: Vec<&Fields> = runs.iter().flat_map(|run| &run.records).collect();
    let body = match layout.split_once(" by ") {
        Some((row, column)) => pivot(&records, row, column)?,
        None => list(&records, layout.strip_prefix("list ").ok_or("the layout is neither `list` nor `… by …`")?)?,
    };
    let mut shown: Vec<&String> = Vec::new();
    captions.iter().for_each(|caption| {
        if !shown.contains(&caption) {
            shown.push(caption)
        }
    });
    Ok(shown.into_iter().map(|line| format!("{line}\n")).collect::<String>() + "\n" + &body)
}

/// Whether a value is the one that is asked for, where `*` at an end stands for anything.
fn fits(value: &str, asked: &str) -> bool {
    match (asked.strip_prefix('*'), asked.strip_suffix('*')) {
        (Some(_), Some(_)) => value.contains(asked.trim_matches('*')),
        (Some(end), None) => value.ends_with(end),
        (None, Some(start)) => value.starts_with(start),
        (None, None) => value == asked,
    }
}

/// The runs with those one that differ by what was run alone: theirs is one command.
fn together(runs: &[Run]) -> Vec<Run> {
    let options = |run: &Run| -> Option<String> {
        let command = run.head.get("command")?;
        command.strip_prefix("cargo lab run ")?.strip_prefix(&run.experiment).map(str::to_owned)
    };
    let mut all: Vec<(Run, Option<String>)> = Vec::new();
    for run in runs {
        let head = Run { records: Vec::new(), ..run.clone() };
        let (options, mut others) = (options(run), head.head.clone());
        others.remove("command");
        let is_like = |(other, of_other): &&mut (Run, Option<String>)| {
            let mut fields = other.head.clone();
            fields.remove("command");
            options.is_some() && *of_other == options && (&other.machine, &fields) == (&head.machine, &others)
        };
        match all.iter_mut().find(is_like) {
            Some((other, _)) => {
                other.experiment += &format!(" {}", head.experiment);
                let command = format!("cargo lab run {}{}", other.experiment, options.unwrap_or_default());
                other.head.insert("command".to_owned(), command);
            }
            None => all.push((head, options)),
        }
    }
    all.into_iter().map(|(run, _)| run).collect()
}

/// Where a run is from: a line above its table.
fn caption(run: &Run, several: bool) -> String {
    let of = |field: &str| run.head.get(field).filter(|text| !text.is_empty());
    let name = if several { format!("- `{}`: ", run.machine) } else { String::new() };
    let runs = of("runs").map(|runs| format!("medians of {runs} runs"));
    let command = of("command").map(|command| format!("`{command}`"));
    let unit = of("unit").cloned();
    let parts = [unit, of("note").cloned(), runs, of("machine").cloned(), of("date").cloned(), command];
    format!("{name}{}.", parts.into_iter().flatten().collect::<Vec<_>>().join("; "))
}

/// A row for each value of one field, a column for each of another, in the order of their appearance.
fn pivot(records: &[&Fields], row: &str, column: &str) -> Result<String, String> {
    let values = |field: &str| {
        let mut values: Vec<&str> = Vec::new();
        for record in records {
            let value = record.get(field).ok_or_else(|| format!("a record has no `{field}`: {record:?}"))?;
            if !values.contains(&value.as_str()) {
                values.push(value);
            }
        }
        Ok::<_, String>(values)
    };
    let (rows, columns) = (values(row)?, values(column)?);
    let mut text = line([row].into_iter().chain(columns.iter().copied()));
    text += &line(std::iter::repeat_n("---", columns.len() + 1)).replace(' ', "");
    for of_row in rows {
        let cell = |of_column: &&str| {
            let of_both = |record: &&&Fields| record[row] == of_row && record[column] == **of_column;
            records.iter().filter(of_both).map(|record| figure(record)).collect::<Vec<_>>().join(", ")
        };
        let cells: Vec<String> = columns.iter().map(cell).collect();
        text += &line([of_row].into_iter().chain(cells.iter().map(String::as_str)));
    }
    Ok(text)
}

/// A row for each record, with its date at the end if records have dates of their own.
fn list(records: &[&Fields], fields: &str) -> Result<String, String> {
    let mut fields: Vec<&str> = fields.split(", ").collect();
    if !fields.contains(&"date") && records.iter().any(|record| record.contains_key("date")) {
        fields.push("date");
    }
    let mut text = line(fields.iter().copied());
    text += &line(std::iter::repeat_n("---", fields.len())).replace(' ', "");
    for record in records {
        let cells: Vec<String> =
            fields.iter().map(|field| record.get(*field).map_or(String::new(), |text| grouped(text))).collect();
        text += &line(cells.iter().map(String::as_str));
    }
    Ok(text)
}

/// A count that a text begins with in groups of three digits, if it has five or more and stands alone or before a parenthesis.
fn grouped(text: &str) -> String {
    let (count, rest) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    if count.len() < 5 || !(rest.is_empty() || rest.starts_with(" (")) {
        return text.to_owned();
    }
    let mut spaced = String::new();
    for (at, digit) in count.char_indices() {
        if at > 0 && (count.len() - at).is_multiple_of(3) {
            spaced.push('\u{a0}');
        }
        spaced.push(digit);
    }
    spaced + rest
}

fn line<'a>(cells: impl Iterator<Item = &'a str>) -> String {
    format!("| {} |\n", cells.map(|cell| cell.replace('|', "\\|")).collect::<Vec<_>>().join(" | "))
        .replace("|  |", "| |")
}

/// A record's figure: the median, with its range if there is one.
fn figure(record: &Fields) -> String {
    let of = |field: &str| record.get(field).map(|number| digits(number));
    match (record.get("text"), of("median"), of("min"), of("max")) {
        (Some(text), ..) => text.clone(),
        (_, Some(median), Some(min), Some(max)) if min != max => format!("{median} ({min}–{max})"),
        (_, Some(median), ..) => median,
        _ => String::new(),
    }
}

/// A number as it is written, with three digits that matter if it has more than four.
pub(super) fn digits(number: &str) -> String {
    let count = number.trim_start_matches(['-', '0', '.']).chars().filter(char::is_ascii_digit).count();
    match number.parse::<f64>() {
        Ok(value) if count > 4 && number.contains('.') => {
            let digits = if value == 0.0 { 2 } else { (2 - value.abs().log10().floor() as i32).max(0) };
            format!("{value:.*}", digits as usize)
        }
        _ => number.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        folder
    }

    #[test]
    fn figures_stand_where_their_row_and_column_meet() {
        let one = concat!(
            r#"{"machine":"a CPU","date":"2026-11-27","command":"cargo lab run x","runs":7,"unit":"ns"}"#,
            "\n",
            r#"{"contender":"a","workload":"w","median":2.70,"min":2.5,"max":3}"#,
            "\n",
            r#"{"contender":"b","workload":"v","text":"none"}"#,
            "\n"
        );
        let other = "{}\n{\"contender\":\"a\",\"workload\":\"w\",\"median\":1.23456,\"min\":1.23456,\"max\":1.23456}\n";
        let measured = folder(&[("one/q/x.jsonl", one), ("two/q/x.jsonl", other)]);
        let expected = "ns; medians of 7 runs; a CPU; 2026-11-27; `cargo lab run x`.\n\n\
                        | contender | w | v |\n|---|---|---|\n| a | 2.70 (2.5–3) | |\n| b | | none |\n";
        assert_eq!(table(measured.path(), "one/q/x: contender by workload").unwrap(), expected);
        let both = table(measured.path(), "*/q/x [contender=a]: contender by machine").unwrap();
        assert!(both.ends_with("| contender | one | two |\n|---|---|---|\n| a | 2.70 (2.5–3) | 1.23 |\n"), "{both}");
        let listed = table(measured.path(), "one/*/x: list workload, text").unwrap();
        assert!(listed.ends_with("| w | |\n| v | none |\n"), "{listed}");
    }

    #[test]
    fn runs_that_differ_by_their_experiment_have_one_caption() {
        let run = |name: &str, on: &str| {
            let record = "{\"contender\":\"a\",\"workload\":\"w\",\"median\":1}\n";
            format!("{{\"date\":\"2026-11-30\",\"command\":\"cargo lab run q/{name} --on {on}\"}}\n{record}")
        };
        let (x, y, z) = (run("x", "m"), run("y", "m"), run("z", "m:2"));
        let measured = folder(&[("m/q/x.jsonl", &x), ("m/q/y.jsonl", &y), ("m/q/z.jsonl", &z)]);
        let table = table(measured.path(), "m/q/x, m/q/y, m/q/z: contender by experiment").unwrap();
        let expected = "- `m`: 2026-11-30; `cargo lab run q/x q/y --on m`.\n- `m`: 2026-11-30; `cargo lab run q/z --on m:2`.\n\n\
                        | contender | q/x | q/y | q/z |\n|---|---|---|---|\n| a | 1 | 1 | 1 |\n";
        assert_eq!(table, expected);
    }

    #[test]
    fn rows_of_several_dates_say_theirs_and_the_caption_none() {
        let dated = concat!(
            "{\"date\":\"2026-11-27\",\"note\":\"a note\"}\n",
            "{\"a\":1}\n",
            "{\"a\":2,\"date\":\"2026-11-28\"}\n"
        );
        let measured = folder(&[("m/x.jsonl", dated), ("m/y.jsonl", "{\"date\":\"2026-11-27\"}\n{\"a\":1}\n")]);
        let table = |mark: &str| table(measured.path(), mark).unwrap();
        let both = "a note.\n\n| a | date |\n|---|---|\n| 1 | 2026-11-27 |\n| 2 | 2026-11-28 |\n";
        assert_eq!(table("m/x: list a"), both);
        assert_eq!(table("m/x: list a, date"), both);
        assert_eq!(table("m/x [a=1]: list a"), "a note; 2026-11-27.\n\n| a |\n|---|\n| 1 |\n");
        assert_eq!(table("m/y: list a"), "2026-11-27.\n\n| a |\n|---|\n| 1 |\n");
    }

    #[test]
    fn several_units_and_several_curves_have_rows_of_their_own() {
        let records = concat!(
            "{\"unit\":\"ns\"}\n",
            "{\"contender\":\"a\",\"workload\":\"w, idle\",\"median\":1}\n",
            "{\"contender\":\"a\",\"workload\":\"w, idle\",\"unit\":\"%\",\"median\":2}\n",
            "{\"contender\":\"a\",\"workload\":\"v, busy\",\"median\":3}\n"
        );
        let measured = folder(&[("m/x.jsonl", records)]);
        let rows = |mark: &str| {
            let table = table(measured.path(), mark).unwrap();
            table.split_once("---|---|\n").unwrap().1.to_owned()
        };
        assert_eq!(
            rows("m/x: quantity by contender"),
            "| w, idle, ns | 1 |\n| w, idle, % | 2 |\n| v, busy, ns | 3 |\n"
        );
        assert_eq!(rows("m/x [unit=ns]: curve by contender"), "| a: w, idle, ns | 1 |\n| a: v, busy, ns | 3 |\n");
        for (asked, row) in [("w, idle", "w, idle"), ("*, busy", "v, busy"), ("v*", "v, busy"), ("*, b*", "v, busy")] {
            let rows = rows(&format!("m/x [workload={asked}]: workload by contender"));
            assert!(rows.starts_with(&format!("| {row} | ")) && rows.lines().count() == 1, "{asked}: {rows}");
        }
    }

    #[test]
    fn counts_are_grouped_and_nothing_else() {
        for (text, expected) in [
            ("9999", "9999"),
            ("14831", "14\u{a0}831"),
            ("3138891 (not all)", "3\u{a0}138\u{a0}891 (not all)"),
            ("14831.25", "14831.25"),
            ("100002 programs", "100002 programs"),
        ] {
            assert_eq!(grouped(text), expected);
        }
    }

    #[test]
    fn a_mark_that_means_nothing_says_so() {
        let measured = folder(&[("one/x.jsonl", "{}\n{\"a\":1}\n"), ("one/y.jsonl", "{}\nno\n")]);
        for (mark, told) in [
            ("one/z: a by b", "nothing is published as one/z"),
            ("one/x", "it has no `: `"),
            ("one/x: a by b", "a record has no `b`"),
            ("one/x: a", "neither `list` nor"),
            ("one/x [a=2]: a by b", "no record is left"),
            ("one/y: list a", "y.jsonl, line 2: "),
        ] {
            let error = table(measured.path(), mark).unwrap_err();
            assert!(error.contains(told), "{mark}: {error}");
        }
    }
}
