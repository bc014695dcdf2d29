//! The README's table: what is compared, on the machine on which ours does worst. The figures come from the data.

use std::path::Path;

use super::data::{Fields, Run, load};
use super::layout::digits;

/// A row: contenders of one workload, in the first unit of the first of ours, less being better. It shows the machine on which ours does worst against the best of the others.
struct Comparison {
    what: &'static str,
    /// Under each machine of `docs/measured`.
    experiment: &'static str,
    workload: &'static str,
    /// The first is compared with the best of the others.
    ours: &'static [&'static str],
}

const fn row(
    what: &'static str,
    experiment: &'static str,
    workload: &'static str,
    ours: &'static [&'static str],
) -> Comparison {
    Comparison { what, experiment, workload, ours }
}

#[rustfmt::skip]
const ROWS: [Comparison; 15] = [
    row("three cheap stages, ns per message and hop", "streams/pipe3", "", &["thalweg"]),
    row("32 cheap stages, pushed one by one", "streams/chain32", "", &["thalweg, 2 workers"]),
    row("the same as `map`", "streams/chain32", "", &["thalweg `map`, 2 workers"]),
    row("32 filters of 16 taps, ns per message", "streams/fir32", "", &["thalweg"]),
    row("ordered farm, 0.8 us of work, ns per message", "streams/farm", "", &["thalweg, ordered"]),
    row("a message a millisecond through three stages, p50 in us", "streams/trickle", "one message a millisecond", &["thalweg"]),
    row("one producer, one consumer, ns per item", "queues/1p1c-item", "1P1C, item by item", &["thalweg `spsc`", "thalweg `chunk_ring`", "thalweg `fast_forward`"]),
    row("the same by slices of 32", "queues/1p1c-batch", "slices of 32", &["thalweg `spsc`"]),
    row("round trip over two queues, ns", "queues/1p1c-rtt", "round trip over two queues", &["thalweg `chunk_ring`", "thalweg `fast_forward`", "thalweg `spsc`"]),
    row("owner of a work-stealing queue, ns per operation", "queues/stealing", "LIFO, nothing stolen", &["thalweg `bwos`"]),
    row("the queue for many between one and one, ns per item", "queues/shared-1p1c", "1P1C, item by item", &["thalweg `mpmc`"]),
    row("the same, round trip", "queues/shared-1p1c", "round trip over two queues", &["thalweg `mpmc`"]),
    row("the same, batches of 32", "queues/shared-batch", "batches of 32", &["thalweg `mpmc`"]),
    row("four and four on two CPUs that yield", "queues/oversubscribed", "4P4C, yielding", &["thalweg `mpmc`", "thalweg `cnq`, capsules of 256"]),
    row("four and four that sleep", "queues/oversubscribed", "4P4C, sleeping", &["thalweg `mpmc`", "thalweg `cnq`, capsules of 256"]),
];

/// How many of the others a row shows, the best first.
const SHOWN: usize = 4;

/// What nobody can be compared with, as it does less than a contender has to: the stages in one loop, or without messages between them.
const LIMITS: [&str; 5] = ["limit: ", "ideal", "a plain loop", "rayon, fused", "two graphs that share nothing"];

/// Whether the record is of another's queue or stream: by its role, or, where it has none, by its name.
fn is_other(record: &Fields) -> bool {
    let name = record.get("contender").map_or("", String::as_str);
    match record.get("role").map(String::as_str) {
        Some(role) => role == "peer",
        None => !name.starts_with("thalweg") && !LIMITS.iter().any(|limit| name.starts_with(limit)),
    }
}

/// The table, with the rows in their order.
pub(super) fn table(measured: &Path) -> Result<String, String> {
    let mut text = "| what | thalweg | others | times as fast | run |\n|---|---|---|---|---|\n".to_owned();
    for row in &ROWS {
        text += &line(measured, row).map_err(|error| format!("{}: {error}", row.what))?;
    }
    Ok(text)
}

fn line(measured: &Path, row: &Comparison) -> Result<String, String> {
    let mut worst: Option<(f64, String)> = None;
    for run in load(measured, &format!("*/{}", row.experiment))? {
        let Some((ratio, text)) = on(&run, row)? else { continue };
        if worst.as_ref().is_none_or(|(least, _)| ratio < *least) {
            worst = Some((ratio, text));
        }
    }
    worst.map(|(_, text)| text).ok_or_else(|| format!("{} has no `{}` and others of it", row.experiment, row.ours[0]))
}

/// What one machine's run says of a row: the ratio of the medians and the line. `None` where ours, or all others, are not in it.
fn on(Run { machine, head, records, .. }: &Run, row: &Comparison) -> Result<Option<(f64, String)>, String> {
    let of =
        |record: &&Fields| row.workload.is_empty() || record.get("workload").is_some_and(|name| name == row.workload);
    let mut records: Vec<&Fields> = records.iter().filter(of).collect();
    let first = records.iter().find(|record| record.get("contender").is_some_and(|name| name == row.ours[0]));
    if let Some(unit) = first.map(|record| record.get("unit").cloned()) {
        records.retain(|record| record.get("unit") == unit.as_ref());
    }
    let named = |name: &&str| {
        records.iter().copied().find(|record| record.get("contender").is_some_and(|contender| contender == name))
    };
    let ours: Vec<&Fields> = row.ours.iter().filter_map(named).collect();
    let mut others: Vec<&Fields> = records.iter().copied().filter(|record| is_other(record)).collect();
    others.retain(|record| number(record, "median").is_some());
    others.sort_by(|a, b| number(a, "median").unwrap_or(0.0).total_cmp(&number(b, "median").unwrap_or(0.0)));
    let (Some(_), Some(best)) = (named(&row.ours[0]), others.first()) else { return Ok(None) };
    let (middle, ratio) = ratio(ours[0], best)?;
    let list = |records: &[&Fields], of_us: bool| {
        let one = |record: &&Fields| {
            let name = record["contender"].as_str();
            let name = if of_us { name.trim_start_matches("thalweg").trim_start_matches([',', ' ']) } else { name };
            let median = digits(record.get("median").map_or("", String::as_str));
            if name.is_empty() { median } else { format!("{name} {median}") }
        };
        records.iter().map(one).collect::<Vec<_>>().join("; ")
    };
    let date = head.get("date").map_or("", String::as_str);
    let (ours, others) = (list(&ours, true), list(&others[..others.len().min(SHOWN)], false));
    Ok(Some((middle, format!("| {} | {ours} | {others} | {ratio} | `{machine}`, {date} |\n", row.what))))
}

fn number(record: &Fields, field: &str) -> Option<f64> {
    record.get(field)?.parse().ok()
}

/// The best of the others over ours: of the medians, and as text with the least that the ranges allow.
fn ratio(ours: &Fields, best: &Fields) -> Result<(f64, String), String> {
    let median = |record: &Fields| number(record, "median").ok_or("a record has no median");
    let middle = median(best)? / median(ours)?;
    let worst = number(best, "min").zip(number(ours, "max")).map(|(least, most)| least / most);
    Ok(match worst {
        Some(worst) => (middle, format!("{middle:.2} (at worst {worst:.2})")),
        None => (middle, format!("{middle:.2}")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(contender: &str, median: &str, range: Option<(&str, &str)>) -> Fields {
        let mut fields =
            Fields::from([("contender", contender), ("median", median)].map(|(a, b)| (a.to_owned(), b.to_owned())));
        if let Some((min, max)) = range {
            fields.extend([("min".to_owned(), min.to_owned()), ("max".to_owned(), max.to_owned())]);
        }
        fields
    }

    #[test]
    fn the_ratio_is_to_the_best_other_and_says_its_worst() {
        let run = |best: Fields| Run {
            experiment: "x".to_owned(),
            machine: "m".to_owned(),
            head: Fields::new(),
            records: vec![
                record("thalweg", "2", Some(("1", "4"))),
                record("slow", "9", Some(("8", "10"))),
                best,
                record("limit: a loop", "1", None),
            ],
        };
        let said = |best| on(&run(best), &row("a row", "x", "", &["thalweg"])).unwrap().unwrap().1;
        assert_eq!(
            said(record("fast", "3", Some(("2", "5")))),
            "| a row | 2 | fast 3; slow 9 | 1.50 (at worst 0.50) | `m`,  |\n"
        );
        assert!(said(record("fast", "3", None)).contains("| 1.50 |"));
        assert!(on(&run(record("fast", "3", None)), &row("a row", "x", "", &["thalweg, ordered"])).unwrap().is_none());
        let mut share = record("a share", "1", None);
        share.insert("unit".to_owned(), "%".to_owned());
        assert!(said(share).contains("| slow 9 | 4.50"), "of another unit");
    }

    #[test]
    fn a_row_is_of_the_machine_on_which_it_is_worst() {
        let folder = tempfile::tempdir().unwrap();
        for (machine, other) in [("a", "3"), ("b", "1.5"), ("c", "2.5")] {
            let path = folder.path().join(machine).join("x.jsonl");
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            let text = "{}\n{\"contender\":\"thalweg\",\"median\":2}\n{\"contender\":\"other\",\"median\":";
            std::fs::write(path, format!("{text}{other}}}\n")).unwrap();
        }
        let text = line(folder.path(), &row("a row", "x", "", &["thalweg"])).unwrap();
        assert!(text.contains("| other 1.5 | 0.75 | `b`"), "{text}");
    }
}
