//! `lab publish --on`: what figures draw on a modelled machine, and each of a paper's numbers beside ours, under `docs/measured`.

use std::path::Path;

use serde_json::{Value, json};
use thalweg_sim::Machine;

use crate::report::published::today;
use crate::report::verdict::{Claim, Verdict, rounded};
use crate::worlds::experiment::Experiment;
use crate::worlds::pictures;
use crate::worlds::point::{Point, Run};

/// What the file of a figure says of its run, but for what somebody wrote into it.
pub(super) fn text(
    experiment: &Experiment,
    (machine, command, seeds): (&Machine, &str, u64),
    (points, measured): (&[Point], &[Vec<Run>]),
    verdicts: &[Verdict],
) -> String {
    let head = json!({
        "machine": machine.about(),
        "date": today(),
        "command": command,
        "seeds": seeds,
    });
    let claims = verdicts.iter().filter_map(|verdict| match *verdict {
        Verdict::Of { claim, here: Some(here) } if here.is_finite() => Some(number(&claim, here)),
        _ => None,
    });
    let curves = pictures::curves(experiment, points, measured).into_iter().map(|curve| {
        let (labels, medians): (Vec<_>, Vec<_>) = curve.points.into_iter().unzip();
        let medians: Vec<f64> = medians.into_iter().map(rounded).collect();
        json!({
            "workload": curve.workload, "contender": curve.contender, "unit": curve.unit, "points": labels, "medians": medians,
        })
    });
    let lines = [head].into_iter().chain(claims).chain(curves);
    lines.map(|line| format!("{line}\n")).collect()
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
    let Ok(text) = std::fs::read_to_string(path) else { return Ok(String::new()) };
    let mut kept = String::new();
    for line in text.lines().skip(1) {
        let fields: Value =
            serde_json::from_str(line).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        if fields.get("claim").is_none() && fields.get("medians").is_none() {
            kept += line;
            kept.push('\n');
        }
    }
    Ok(kept)
}
