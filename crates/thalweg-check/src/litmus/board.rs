//! What a checker finds against what is expected.

use super::Test;
use super::run::{FAILED, Found, Manner};
use crate::model::{Check, Rule, Violation};
use std::fmt;
use std::time::{Duration, Instant};

/// What was found of one entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The entry's name.
    pub name: String,
    /// What is expected: a count, `race` or `assert`.
    pub expected: String,
    /// What was found.
    pub found: String,
    /// Where the two differ; empty if the entry passed.
    pub differences: Vec<String>,
    /// How long it took.
    pub duration: Duration,
}

impl Verdict {
    /// Whether everything is as the entry says.
    pub fn passed(&self) -> bool {
        self.differences.is_empty()
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, expected, found, differences, duration } = self;
        let verdict = if self.passed() { "ok" } else { "FAILED" };
        let seconds = duration.as_secs_f64();
        write!(f, "{verdict:<6} {name:<28} expected {expected:>8}  found {found:>8}  {seconds:8.3} s")?;
        differences.iter().try_for_each(|difference| write!(f, "\n       {difference}"))
    }
}

/// The verdicts on many entries. `Display` prints one line for each that has differences, or for all, and the sum.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scoreboard {
    /// One for each entry.
    pub verdicts: Vec<Verdict>,
}

impl Scoreboard {
    /// How many passed, and how many failed.
    pub fn count(&self) -> [usize; 2] {
        let passed = self.verdicts.iter().filter(|verdict| verdict.passed()).count();
        [passed, self.verdicts.len() - passed]
    }
}

impl fmt::Display for Scoreboard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.verdicts.iter().try_for_each(|verdict| writeln!(f, "{verdict}"))?;
        let [passed, failed] = self.count();
        write!(f, "{passed} passed, {failed} failed")
    }
}

impl Test {
    /// Compares what `check` finds with what the entry says: the count, the outcomes, that there is a race or a failing
    /// assertion or neither; with the threads in both orders.
    ///
    /// Where there is a race or a failing assertion, all executions are counted in a second run that does not look at
    /// them. The counts in `also` are as right as `executions`.
    ///
    /// A check that is bounded cannot pass: counts are compared exactly.
    pub fn judge(&self, check: &Check) -> Verdict {
        let start = Instant::now();
        let mut differences = Vec::new();
        let mut found = String::new();
        for reversed in [false, true] {
            let turn = if reversed { "with the threads reversed: " } else { "" };
            let mut report = |difference: String| differences.push(format!("{turn}{difference}"));
            let checked = self.program.explore(check, Manner { reversed, unchecked: false, ..Manner::default() });
            let stops = self.race || self.fails;
            match &checked {
                Err(violation) => {
                    found = name(violation).to_owned();
                    if !self.expects(violation) {
                        report(violation.to_string());
                    }
                }
                Ok(_) if stops => {
                    report(format!("no {} was found", if self.race { "race" } else { "failing assertion" }));
                }
                Ok(_) => {}
            }
            let all = if stops {
                self.program.explore(check, Manner { reversed, unchecked: true, ..Manner::default() })
            } else {
                checked
            };
            match all {
                Ok(all) => {
                    if !stops {
                        found = all.explored.complete.to_string();
                    }
                    self.compare(&all).into_iter().for_each(report);
                }
                // Reported above.
                Err(_) if !stops => {}
                Err(violation) => report(violation.to_string()),
            }
        }
        let expected = match (self.race, self.fails) {
            (true, _) => "race".to_owned(),
            (_, true) => "assert".to_owned(),
            _ => self.executions.map_or("?".to_owned(), |count| count.to_string()),
        };
        Verdict { name: self.name.clone(), expected, found, differences, duration: start.elapsed() }
    }

    /// Whether the entry says that there is such a violation.
    fn expects(&self, violation: &Violation) -> bool {
        match violation.rule() {
            Rule::Race { .. } => self.race,
            Rule::Panic { message, .. } => self.fails && message.starts_with(FAILED),
            _ => false,
        }
    }

    /// How `found` differs from what the entry says.
    fn compare(&self, found: &Found) -> Vec<String> {
        let mut differences = Vec::new();
        let count = found.explored.complete;
        if found.explored.bounded {
            differences.push(format!("stopped by a bound after {count} executions"));
        }
        if let Some(expected) = self.executions.or(self.enumerated)
            && expected != count
            && !self.also.contains(&count)
        {
            differences.push(format!("{count} executions instead of {expected}"));
        }
        // Where definitions differ, so do the outcomes.
        if let (Some(outcomes), true) = (&self.outcomes, self.also.is_empty() || self.also.contains(&count)) {
            for (outcome, times) in outcomes {
                let found = found.outcomes.get(outcome).copied().unwrap_or_default();
                if found != *times {
                    differences.push(format!("{found} executions end in {} instead of {times}", self.show(outcome)));
                }
            }
            for (outcome, times) in found.outcomes.iter().filter(|(outcome, _)| !outcomes.contains_key(*outcome)) {
                differences.push(format!("{times} executions end in {}, which is not possible", self.show(outcome)));
            }
        }
        if let Some(distinct) = self.distinct
            && self.also.is_empty()
            && distinct != found.outcomes.len() as u64
        {
            differences.push(format!("{} different outcomes instead of {distinct}", found.outcomes.len()));
        }
        if let Some(forbidden) = &self.forbidden {
            let holds = |outcome: &&Vec<_>| forbidden.value(outcome).is_some_and(|value| value != 0);
            if let Some(outcome) = found.outcomes.keys().find(holds) {
                differences.push(format!("forbidden, and found: {}", self.show(outcome)));
            }
        }
        differences
    }

    /// A valuation with its names.
    fn show(&self, outcome: &[Option<i64>]) -> String {
        let columns = self.program.columns();
        let values = columns.iter().zip(outcome).filter_map(|(column, value)| Some(format!("{column}={}", (*value)?)));
        values.collect::<Vec<_>>().join(" ")
    }
}

/// What a violation is, in a word.
fn name(violation: &Violation) -> &'static str {
    match violation.rule() {
        Rule::Race { .. } => "race",
        Rule::Panic { message, .. } if message.starts_with(FAILED) => "assert",
        _ => "error",
    }
}
