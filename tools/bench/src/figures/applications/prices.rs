//! `lab prices`: what a kernel of an application computes for a message, in nanoseconds, measured on one worker of the machine at hand; how many
//! messages it has for each of the application's units; and whether it is a source or a sink.

use std::fmt::Write as _;
use std::io::Write;

use serde_json::json;
use thalweg::{Report, Scheme};

use super::{Application, BLQ, DANBI};
use crate::harness::BoxError;
use crate::machine;

/// Runs of each application. The price is the least: what disturbs a run only adds to it.
const RUNS: usize = 5;

/// Measures these applications, or all of them if there is no name, and gives the lines of the file that modelled machines read.
///
/// # Errors
///
/// A name that no application has; a run that fails.
pub(crate) fn measure(names: &[String], quick: bool, progress: &mut dyn Write) -> Result<String, BoxError> {
    let all = || BLQ.iter().chain(&DANBI);
    if let Some(unknown) = names.iter().find(|&name| all().all(|one| one.name != name)) {
        let known: Vec<_> = all().map(|one| one.name).collect();
        return Err(format!("there is no application {unknown}; there are {}", known.join(", ")).into());
    }
    let mut lines = json!({ "command": "cargo lab prices --write", "machine": machine::describe() }).to_string() + "\n";
    for application in all().filter(|one| names.is_empty() || names.iter().any(|name| name == one.name)) {
        writeln!(progress, "{}", application.name)?;
        lines += &of(application, if quick { application.least } else { application.size })?;
    }
    Ok(lines)
}

/// The file with `lines` in the place of its lines of the applications `names`; in the place of all its lines if `names` is empty.
pub(crate) fn kept(file: &str, names: &[String], lines: &str) -> String {
    let is_new = |line: &&str| names.iter().any(|name| line.contains(&format!("\"application\":\"{name}\"")));
    let old = file.lines().skip(1).filter(|line| !names.is_empty() && !is_new(line));
    let all = lines.lines().chain(old).map(|line| line.to_owned() + "\n");
    all.collect()
}

/// A line for each kernel.
fn of(application: &Application, size: u64) -> Result<String, BoxError> {
    let mut runs = Vec::new();
    for _ in 0..RUNS {
        runs.push((application.run)(Scheme::default().workers(1), size)?);
    }
    let mut lines = String::new();
    for (at, kernel) in runs[0].kernels.iter().enumerate() {
        // What gives rarely is charged for what it takes, or it would be charged for a second at once.
        let (by, messages) = match (kernel.messages_in, kernel.messages_out) {
            (taken, given) if 8 * given >= taken => ("given", given),
            (taken, _) => ("taken", taken),
        };
        let nanos = |run: &Report| run.kernels[at].busy.as_nanos() as f64 / messages.max(1) as f64;
        let price = (runs.iter().map(nanos).fold(f64::INFINITY, f64::min) * 1000.0).round() / 1000.0;
        let end = kernel.messages_in == 0 || kernel.messages_out == 0;
        let line = json!({
            "application": application.name, "kernel": kernel.name, "by": by, "ns": price,
            "per": messages as f64 / size as f64, "end": end,
        });
        writeln!(lines, "{line}")?;
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_of_every_application_has_a_price() {
        for application in BLQ.iter().chain(&DANBI) {
            let report = (application.run)(Scheme::default(), application.least).unwrap();
            let lines = of(application, application.least).unwrap();
            assert_eq!(lines.lines().count(), report.kernels.len(), "{}", application.name);
        }
    }

    #[test]
    fn what_is_measured_takes_the_place_of_what_was_there() {
        let line = |name: &str, ns: u32| format!("{{\"application\":\"{name}\",\"ns\":{ns}}}\n");
        let file = "{\"old\":1}\n".to_owned() + &line("fm", 1) + &line("fft", 2);
        let new = "{\"new\":1}\n".to_owned() + &line("fm", 3);
        assert_eq!(kept(&file, &["fm".to_owned()], &new), new.clone() + &line("fft", 2));
        assert_eq!(kept(&file, &[], &new), new);
        let error = measure(&["fmm".to_owned()], true, &mut Vec::new()).unwrap_err().to_string();
        assert!(error.contains("no application fmm; there are incast"), "{error}");
    }

    /// The file is of the applications as they are now; `cargo lab prices --write` makes it anew.
    #[test]
    fn what_is_kept_has_the_kernels_that_there_are() {
        let kept = include_str!("../../../../../docs/measured/prices.jsonl");
        for application in BLQ.iter().chain(&DANBI) {
            let report = (application.run)(Scheme::default(), application.least).unwrap();
            for kernel in &report.kernels {
                let key = format!("\"application\":\"{}\",\"by\":", application.name);
                let named = format!("\"kernel\":{}", json!(kernel.name));
                let found = kept.lines().any(|line| line.contains(&key) && line.contains(&named));
                assert!(found, "{}: {} has no price", application.name, kernel.name);
            }
        }
    }
}
