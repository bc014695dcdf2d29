//! `lab publish --on`: what figures draw on a modelled machine, and each of a paper's numbers beside ours, under `docs/measured`.

use std::path::Path;

use serde_json::{Value, json};
use thalweg_sim::Machine;

use crate::report::published::{today, write};
use crate::report::verdict::{Claim, Verdict, rounded};
use crate::worlds::experiment::Experiment;
use crate::worlds::pictures;
use crate::worlds::point::{Point, Run};

/// Keeps a run's lines in the file of its figure, and what somebody wrote there behind them.
///
/// # Errors
///
/// A file that cannot be read or written.
pub(super) fn keep(path: &Path, lines: &[Value]) -> Result<(), String> {
    let written = written(path)?;
    write(path, &(lines.iter().map(|line| format!("{line}\n")).collect::<String>() + &written))
}

/// The first line of a run's file.
pub(super) fn head(machine: &Machine, command: &str, seeds: u64) -> Value {
    json!({ "machine": machine.about(), "date": today(), "command": command, "seeds": seeds })
}

/// A line for each of a paper's numbers that has one of ours.
pub(super) fn numbers(verdicts: &[Verdict]) -> impl Iterator<Item = Value> {
    verdicts.iter().filter_map(|verdict| match *verdict {
        Verdict::Of { claim, here: Some(here) } if here.is_finite() => Some(number(&claim, here)),
        _ => None,
    })
}

/// A line for each curve of a figure.
pub(super) fn curves(experiment: &Experiment, points: &[Point], measured: &[Vec<Run>]) -> Vec<Value> {
    let curves = pictures::curves(experiment, points, measured).into_iter().map(|curve| {
        let (labels, medians): (Vec<_>, Vec<_>) = curve.points.into_iter().unzip();
        let medians: Vec<f64> = medians.into_iter().map(rounded).collect();
        json!({
            "workload": curve.workload, "contender": curve.contender, "unit": curve.unit, "points": labels, "medians": medians,
        })
    });
    curves.collect()
}

/// A paper's number and ours.
fn number(claim: &Claim, here: f64) -> Value {
    let mut line = json!({ "claim": claim.what, "paper": claim.paper, "here": rounded(here), "within": claim.within });
    if claim.at_most {
        line["at_most"] = json!(true);
    }
    line
}

/// What somebody wrote into the file: lines that are neither its head nor what a run gives.
///
/// # Errors
///
/// A file that cannot be read, or has a line that is no object.
pub(super) fn written(path: &Path) -> Result<String, String> {
    let cannot = |error: &dyn std::fmt::Display| format!("cannot read {}: {error}", path.display());
    let text = match std::fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        read => read.map_err(|error| cannot(&error))?,
    };
    let mut kept = String::new();
    for line in text.lines().skip(1) {
        let fields: Value = serde_json::from_str(line).map_err(|error| cannot(&error))?;
        if fields.get("claim").is_none() && fields.get("medians").is_none() {
            kept += line;
            kept.push('\n');
        }
    }
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worlds::experiment::Setting;

    const CLAIM: Claim = Claim::new("thesis/0.0", "simple", 3.0, 0.5);

    fn run_and_keep(path: &Path, here: f64) -> Vec<Value> {
        let machine = Machine::named("x86-88t").unwrap();
        let experiment = crate::registry::on_machines().find(|one| one.name == "thesis/2.8").unwrap();
        let points: Vec<Point> = (experiment.plan)(&Setting::of(&machine, 2)).into_iter().take(2).collect();
        let measured: Vec<Vec<Run>> = points.iter().map(|point| vec![point.run(&machine, 0).unwrap()]).collect();
        let mut lines = vec![head(&machine, "cargo lab run thesis/2.8 --on x86-88t", 1)];
        lines.extend(numbers(&[CLAIM.verdict(Some(here)), CLAIM.verdict(None), CLAIM.at_most().verdict(Some(1.0))]));
        lines.extend(curves(experiment, &points, &measured));
        keep(path, &lines).unwrap();
        std::fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn numbers_and_curves_are_replaced_and_what_somebody_wrote_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x86-88t/thesis/2.8.jsonl");
        let lines = run_and_keep(&path, 2.34567);
        assert_eq!(lines[0]["command"], "cargo lab run thesis/2.8 --on x86-88t");
        assert_eq!(lines[1], json!({ "claim": "simple", "paper": 3.0, "here": 2.35, "within": 0.5 }));
        assert_eq!(lines[2]["at_most"], true);
        let curve = &lines[3];
        assert_eq!(curve["unit"], "million messages a second");
        assert_eq!(curve["points"].as_array().map(Vec::len), curve["medians"].as_array().map(Vec::len));

        let row = r#"{"figure":"2.8","claims":"all","because":"so"}"#;
        std::fs::write(&path, std::fs::read_to_string(&path).unwrap() + row + "\n").unwrap();
        let again = run_and_keep(&path, 9.0);
        assert_eq!(again.len(), lines.len() + 1);
        assert_eq!((&again[1]["here"], &again[3]), (&json!(9.0), &lines[3]));
        assert_eq!(again.last().unwrap()["because"], "so");

        std::fs::write(&path, "{}\nno\n").unwrap();
        assert!(written(&path).unwrap_err().contains("2.8.jsonl"));
        assert!(written(folder.path()).is_err(), "a folder is no file without rows");
    }
}
