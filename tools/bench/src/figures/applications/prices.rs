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

/// Measures all, and gives the lines of the file that modelled machines read.
///
/// # Errors
///
/// A run that fails.
pub(crate) fn measure(quick: bool, progress: &mut dyn Write) -> Result<String, BoxError> {
    let mut lines = json!({ "command": "cargo lab prices --write", "machine": machine::describe() }).to_string() + "\n";
    for application in BLQ.iter().chain(&DANBI) {
        writeln!(progress, "{}", application.name)?;
        lines += &of(application, if quick { application.least } else { application.size })?;
    }
    Ok(lines)
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
