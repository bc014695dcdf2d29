//! The README's table: what is compared with what, from which records. The figures come from the data.

use std::path::Path;

use super::data::{Fields, Run, load};
use super::layout::digits;

/// A row: contenders of one workload in one run, less being better.
struct Comparison {
    what: &'static str,
    /// Under `docs/measured`.
    run: &'static str,
    workload: &'static str,
    ours: &'static [&'static str],
    others: &'static [&'static str],
}

const fn row(
    what: &'static str,
    run: &'static str,
    workload: &'static str,
    ours: &'static [&'static str],
    others: &'static [&'static str],
) -> Comparison {
    Comparison { what, run, workload, ours, others }
}

#[rustfmt::skip]
const ROWS: [Comparison; 16] = [
    row("three cheap stages, ns per message and hop", "zen4-2t/streams/pipe3", "", &["thalweg"], &["vectors of 2048, 1 CPU", "timely, 2 workers", "oneTBB's pipeline"]),
    row("32 cheap stages, pushed one by one", "zen4-2t/streams/chain32", "", &["thalweg, 2 workers"], &["vectors of 2048, 2 CPUs", "timely, 2 workers"]),
    row("the same as `map`", "zen4-2t/streams/chain32", "", &["thalweg `map`, 2 workers"], &["vectors of 2048, 2 CPUs", "timely, 2 workers"]),
    row("32 filters of 16 taps, ns per message", "zen4-2t/streams/fir32", "", &["thalweg"], &["vectors of 2048, 2 CPUs", "a loop by vectors, 1 CPU"]),
    row("ordered farm, 0.8 us of work, ns per message", "zen4-2t/streams/farm", "", &["thalweg, ordered"], &["rayon", "ideal on two cores"]),
    row("a message a millisecond through three stages, p50 in us", "zen4-2t/streams/trickle", "p50, us", &["thalweg"], &["tokio", "one wake-up", "thread per stage"]),
    row("one producer, one consumer, ns per item", "zen4-2t/queues/1p1c-item", "stream", &["thalweg `chunk_ring`", "thalweg `bbq::spsc`", "thalweg `fast_forward`"], &["rtrb"]),
    row("the same by slices of 32", "zen4-2t/queues/1p1c-batch", "32, 4096", &["thalweg `bbq::spsc`"], &["disruptor"]),
    row("the same one by one, on an Intel Xeon", "xeon-2t/queues/1p1c-item", "stream", &["thalweg `bbq::spsc`", "thalweg `chunk_ring`", "thalweg `fast_forward`"], &["rtrb"]),
    row("round trip over two queues, ns", "zen4-2t/queues/1p1c-item", "round trip", &["thalweg `chunk_ring`", "thalweg `fast_forward`", "thalweg `bbq::spsc`"], &["ringbuf", "rtrb"]),
    row("owner of a work-stealing queue, ns per operation", "zen4-2t/queues/stealing", "LIFO, nothing stolen", &["thalweg `bwos`"], &["a `Vec` of its own", "crossbeam-deque"]),
    row("the queue for many between one and one, ns per item", "zen4-2t/queues/shared-1p1c", "one and one", &["thalweg `bbq::shared`"], &["kanal", "crossbeam ArrayQueue"]),
    row("the same, round trip", "zen4-2t/queues/shared-1p1c", "round trip", &["thalweg `bbq::shared`"], &["moodycamel", "crossbeam ArrayQueue"]),
    row("the same, batches of 32", "zen4-2t/queues/shared-1p1c", "batches of 32", &["thalweg `bbq::shared`"], &["DPDK's ring for many", "moodycamel"]),
    row("four and four on two CPUs that yield", "zen4-2t/queues/oversubscribed", "yielding, 4P4C", &["thalweg `bbq`", "thalweg `cnq`, capsules of 256"], &["crossbeam ArrayQueue"]),
    row("four and four that sleep", "zen4-2t/queues/oversubscribed", "sleeping, 4P4C", &["thalweg `bbq`", "thalweg `cnq`, capsules of 256"], &["crossfire"]),
];

/// The table, with the rows in their order.
pub(super) fn table(measured: &Path) -> Result<String, String> {
    let mut text = "| what | thalweg | others | times as fast | run |\n|---|---|---|---|---|\n".to_owned();
    for row in &ROWS {
        text += &line(measured, row).map_err(|error| format!("{}: {error}", row.what))?;
    }
    Ok(text)
}

fn line(measured: &Path, row: &Comparison) -> Result<String, String> {
    let runs = load(measured, row.run)?;
    let [Run { machine, head, records }] = runs.as_slice() else { return Err("not one run".to_owned()) };
    let find = |contender: &&str| {
        let fits = |record: &&Fields| {
            record.get("contender").is_some_and(|name| name == contender)
                && (row.workload.is_empty() || record.get("workload").is_some_and(|name| name == row.workload))
        };
        let found = records.iter().find(fits);
        found.ok_or_else(|| format!("{} has no `{contender}` in `{}`", row.run, row.workload))
    };
    let all = |names: &[&str]| names.iter().map(find).collect::<Result<Vec<_>, _>>();
    let (ours, others) = (all(row.ours)?, all(row.others)?);
    let named = |records: &[&Fields], of_us: bool| {
        let one = |record: &&Fields| {
            let name = record["contender"].as_str();
            let name = if of_us { name.trim_start_matches("thalweg").trim_start_matches([',', ' ']) } else { name };
            let median = digits(record.get("median").map_or("", String::as_str));
            if name.is_empty() { median } else { format!("{name} {median}") }
        };
        records.iter().map(one).collect::<Vec<_>>().join("; ")
    };
    let ratio = ratio(&ours, &others)?;
    let date = head.get("date").map_or("", String::as_str);
    Ok(format!(
        "| {} | {} | {} | {ratio} | `{machine}`, {date} |\n",
        row.what,
        named(&ours, true),
        named(&others, false)
    ))
}

/// The best of the others over the first of ours: of the medians, and the least that the ranges allow.
fn ratio(ours: &[&Fields], others: &[&Fields]) -> Result<String, String> {
    let of = |record: &Fields, field: &str| record.get(field).and_then(|number| number.parse::<f64>().ok());
    let median = |record: &Fields| of(record, "median").ok_or("a record has no median");
    let first = ours.first().ok_or("nobody of ours")?;
    let mut best = others.first().ok_or("nobody to compare with")?;
    for other in others {
        if median(other)? < median(best)? {
            best = other;
        }
    }
    let middle = median(best)? / median(first)?;
    let worst = of(best, "min").zip(of(first, "max")).map(|(least, most)| least / most);
    Ok(match worst {
        Some(worst) => format!("{middle:.2} (at worst {worst:.2})"),
        None => format!("{middle:.2}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ratio_is_to_the_best_other_and_says_its_worst() {
        let record = |median: &str, range: Option<(&str, &str)>| {
            let mut fields = Fields::from([("median".to_owned(), median.to_owned())]);
            if let Some((min, max)) = range {
                fields.extend([("min".to_owned(), min.to_owned()), ("max".to_owned(), max.to_owned())]);
            }
            fields
        };
        let (ours, slow) = (record("2", Some(("1", "4"))), record("9", Some(("8", "10"))));
        let fast = record("3", Some(("2", "5")));
        assert_eq!(ratio(&[&ours], &[&slow, &fast]).unwrap(), "1.50 (at worst 0.50)");
        assert_eq!(ratio(&[&ours], &[&slow, &record("3", None)]).unwrap(), "1.50");
        assert!(ratio(&[&ours], &[]).is_err());
    }
}
