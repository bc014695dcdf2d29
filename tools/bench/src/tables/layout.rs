//! Records as a table.

use std::path::Path;

use super::data::{Fields, Run, load};
use crate::verdict::comes_out;

/// Fields that are two others and what stands between: for the rows of a run with several units, and of one with several curves.
const COMPUTED: [(&str, &str, &str, &str); 2] =
    [("quantity", "workload", ", ", "unit"), ("curve", "contender", ": ", "quantity")];

/// The table of a mark: what is after `measured`.
pub(super) fn table(measured: &Path, mark: &str) -> Result<String, String> {
    let (what, layout) = mark.split_once(": ").ok_or("it has no `: ` before the layout")?;
    let (pattern, filter) = match what.split_once(" [") {
        Some((pattern, filter)) => (pattern, Some(filter.strip_suffix(']').ok_or("its `[` has no `]`")?)),
        None => (what, None),
    };
    let filter = filter.map(|text| text.split_once('=').ok_or("between `[` and `]` there is no `=`")).transpose()?;
    let mut runs = load(measured, pattern)?;
    for run in &mut runs {
        let Run { machine, head, records } = run;
        for record in records.iter_mut() {
            record.entry("machine".to_owned()).or_insert_with(|| machine.clone());
            if let Some(unit) = head.get("unit") {
                record.entry("unit".to_owned()).or_insert_with(|| unit.clone());
            }
            for (name, one, between, other) in COMPUTED {
                if let (Some(one), Some(other)) = (record.get(one), record.get(other)) {
                    let both = format!("{one}{between}{other}");
                    record.insert(name.to_owned(), both);
                }
            }
            if let Some(within) = head.get("within") {
                let verdict = verdict(record, within)?;
                record.insert("verdict".to_owned(), verdict);
            }
        }
        if let Some((field, value)) = filter {
            records.retain(|record| record.get(field).is_some_and(|has| fits(has, value)));
        }
    }
    runs.retain(|run| !run.records.is_empty());
    if runs.is_empty() {
        return Err("no record is left".to_owned());
    }
    let captions: Vec<String> = runs.iter().map(|run| caption(run, runs.len() > 1)).collect();
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

/// What becomes of a paper's numbers: whether ours, of which each pair has the second, are off by no more than that share of the paper's.
fn verdict(record: &Fields, within: &str) -> Result<String, String> {
    let cannot = |what: &str, error: &dyn std::fmt::Display| format!("`{what}` is no list of numbers: {error}");
    let within: f64 = within.parse().map_err(|error| cannot(within, &error))?;
    let Some(numbers) = record.get("numbers") else {
        return Ok(if record.contains_key("paper") { "no numbers there" } else { "" }.to_owned());
    };
    let pairs: Vec<(f64, f64)> = serde_json::from_str(numbers).map_err(|error| cannot(numbers, &error))?;
    let fits = pairs.iter().filter(|(paper, here)| comes_out(*paper, *here, within)).count();
    Ok(match fits {
        all if all == pairs.len() => "comes out".to_owned(),
        0 => "differs".to_owned(),
        some => format!("differs: {some} of {} come out", pairs.len()),
    })
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

/// A row for each record.
fn list(records: &[&Fields], fields: &str) -> Result<String, String> {
    let fields: Vec<&str> = fields.split(", ").collect();
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
    fn a_verdict_is_computed_from_the_numbers_of_both() {
        let figures = concat!(
            "{\"within\":0.33}\n",
            "{\"figure\":\"a\",\"paper\":\"4\",\"numbers\":[[4,3],[-4,-5]]}\n",
            "{\"figure\":\"b\",\"paper\":\"4\",\"numbers\":[[4,3],[4,8]]}\n",
            "{\"figure\":\"c\",\"paper\":\"4\",\"numbers\":[[4,2]]}\n",
            "{\"figure\":\"d\",\"paper\":\"more\"}\n",
            "{\"figure\":\"e\"}\n"
        );
        let measured = folder(&[("m/f.jsonl", figures), ("m/g.jsonl", "{\"within\":1}\n{\"numbers\":[4]}\n")]);
        let table = |name: &str| table(measured.path(), &format!("m/{name}: list figure, verdict"));
        let rows =
            "| a | comes out |\n| b | differs: 1 of 2 come out |\n| c | differs |\n| d | no numbers there |\n| e | |\n";
        assert!(table("f").unwrap().ends_with(rows), "{}", table("f").unwrap());
        assert!(table("g").unwrap_err().contains("`[4]` is no list of numbers"));
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
