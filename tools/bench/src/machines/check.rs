//! `lab check`: short runs of the figures on modelled machines, compared digit by digit with what is published.
//!
//! The same command gives the same numbers on every host, in every build. So a number that moves was moved by a change, which has to say so.

use std::error::Error;
use std::path::Path;

use serde_json::Value;
use thalweg_sim::{Machine, Routing};

use super::{Console, Runs, calibrate, measure, on_machines};
use crate::worlds::World;
use crate::worlds::experiment::{Experiment, Setting};

/// An experiment, and where its short run is.
type Short = (&'static str, &'static str);

/// Every entry whose figures are published, but for one that is 2.9 in time slices and long.
const SHORT: [Short; 46] = [
    ("sim/bbq", "x86-88t:4"),
    ("vl/ping-pong", "vl-16"),
    ("danbi/scaling", "x86-40:2"),
    ("blq/schemes", "arm-32:12"),
    ("thesis/2.8", "x86-88t:2"),
    ("sim/lamport", "x86-88t:2"),
    ("sim/locked", "x86-88t:2"),
    ("sim/farm", "arm-96t:4"),
    ("ff/figure10", "x86-4"),
    ("thesis/3.7", "x86-88t:2"),
    ("thesis/3.10", "x86-88t:2"),
    ("thesis/4.10", "x86-88t:2"),
    ("blq/streams", "arm-32:12"),
    ("blq/partition", "arm-32:4"),
    ("vl/pipeline", "vl-16"),
    ("vl/queues", "vl-16:3"),
    ("ff/figure8", "x86-4"),
    ("ff/figure9", "x86-4"),
    ("ff/figure11", "x86-4"),
    ("ff/figure12", "x86-4"),
    ("danbi/streams", "x86-40:2"),
    ("thesis/2.9", "x86-88t:3"),
    ("thesis/3.8", "x86-88t:2"),
    ("thesis/3.11", "x86-88t"),
    ("thesis/3.12", "x86-88t:3"),
    ("thesis/4.1", "x86-88t:2"),
    ("thesis/4.9", "x86-88t:2"),
    ("thesis/4.11", "x86-88t"),
    ("vl/halo", "vl-16"),
    ("vl/sweep", "vl-16"),
    ("vl/incast", "vl-16"),
    ("vl/fir", "vl-16"),
    ("vl/bitonic", "vl-16"),
    ("vl/stream", "vl-16"),
    ("vl/beyond", "vl-256:16"),
    ("vl/streams", "vl-16:8"),
    ("thesis/2.12", "x86-88t:3"),
    ("thesis/4.12", "x86-88t:3"),
    ("blq/applications", "arm-32:4"),
    ("danbi/applications", "x86-40:2"),
    ("danbi/others", "x86-40:2"),
    ("daemon/four", "x86-40:4"),
    ("sim/nodes", "x86-40:20"),
    ("sim/workers", "arm-96t:4"),
    ("blq/multipliers", "arm-32:17"),
    ("danbi/sizes", "x86-40:2"),
];

/// Of these an eighth would take most of the time that all take: a quarter of that goes through the same code, at the same points.
const FEWER: [&str; 7] = [
    "danbi/sizes",
    "danbi/applications",
    "ff/figure12",
    "blq/applications",
    "thesis/3.12",
    "thesis/3.10",
    "sim/workers",
];

/// What the machine at hand took, and what a model that is fitted to it takes.
const CALIBRATION: (&str, &str) = ("zen4-2t/micro.jsonl", "zen4-2t/calibration.jsonl");

/// Runs them all, and compares; or, to `write`, puts what comes out in the place of what is published.
pub(super) fn check(write: bool, console: &Console) -> Result<(), Box<dyn Error>> {
    let measured = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/measured");
    let mut figures = String::new();
    for short in SHORT {
        figures += &self::figures(short, console)?;
    }
    let calibration = calibrate::published(&measured.join(CALIBRATION.0))?;
    let published = [("simulated.txt", figures), (CALIBRATION.1, calibration)];
    for (name, now) in &published {
        let file = measured.join(name);
        let cannot = |what: &str, error: std::io::Error| format!("cannot {what} {}: {error}", file.display());
        if write {
            std::fs::write(&file, now).map_err(|error| cannot("write", error))?;
            (console.emit)(&format!("docs/measured/{name} is written\n"))?;
        } else {
            compare(name, now, &std::fs::read_to_string(&file).map_err(|error| cannot("read", error))?)?;
        }
    }
    if !write {
        (console.emit)(&format!("{} figures and the calibration are as they were, digit by digit\n", SHORT.len()))?;
    }
    Ok(())
}

fn compare(name: &str, now: &str, published: &str) -> Result<(), String> {
    if now == published {
        return Ok(());
    }
    let (is, was) = now.lines().zip(published.lines()).find(|(now, published)| now != published).unwrap_or_default();
    Err(format!(
        "figures have moved, the first of them\nfrom {was}\nto   {is}\nIf a change of the model or of a queue is meant to do that, \
         `cargo lab check --write` puts them into docs/measured/{name}; then what is published of full runs is to be made again, too"
    ))
}

/// A line for each point of a run: what it is, and its figures with all their digits.
fn figures((name, on): Short, console: &Console) -> Result<String, Box<dyn Error>> {
    let Experiment { plan, .. } = on_machines().find(|one| one.name == name).ok_or("a test compares the names")?;
    let (machine, threads) = Machine::part(on)?;
    let points = plan(&Setting {
        world: World::Modelled(&machine),
        threads,
        quick: true,
        longer: 1,
        fewer: if FEWER.contains(&name) { 4 } else { 1 },
        routing: Routing::default(),
    });
    let runs = Runs { seeds: 1, limit: 60_000_000_000, lines: false };
    let measured = measure(name, &machine, &points, runs, console)?;
    let mut text = String::new();
    let mut point = String::new();
    let records = points.iter().zip(&measured).map(|(point, runs)| point.records(name, &machine, runs, false));
    for line in records.collect::<String>().lines() {
        let record: Value = serde_json::from_str(line)?;
        let word = |key: &str| record[key].as_str().unwrap_or_default();
        let at = record["params"]["at"].as_str().map_or_else(|| record["params"].to_string(), str::to_owned);
        let of =
            format!("\n{} on {}: {}, {}, {at}", word("experiment"), word("world"), word("workload"), word("contender"));
        if of != point {
            text += &of;
            point = of;
        }
        text += &format!("; {} {}", record["median"], word("unit"));
    }
    Ok(text + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_short_run_is_of_an_experiment_and_none_is_left_out() {
        assert!(FEWER.iter().all(|few| SHORT.iter().any(|short| short.0 == *few)));
        for (name, on) in SHORT {
            let experiment = on_machines().find(|one| one.name == name).unwrap_or_else(|| panic!("{name}"));
            assert!(Machine::part(on).unwrap().1 >= experiment.threads, "{name} on {on}");
        }
        let left = on_machines().map(|one| one.name).filter(|name| SHORT.iter().all(|short| short.0 != *name));
        // The digits of `tasks/scaling` are the same each time it runs alone, and others after other figures in one process.
        let left: Vec<_> = left.collect();
        assert_eq!(left, ["thesis/2.9-over", "sim/fast-forward", "sim/chunk-ring", "sim/chain", "tasks/scaling"]);
    }
}
