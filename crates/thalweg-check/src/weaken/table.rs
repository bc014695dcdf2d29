//! What was found, as text.

use super::search::number;
use super::{Descended, Fate, Trial, Weakened};
use std::fmt;
use thalweg_sync::atomic::Ordering;
use thalweg_sync::edges::table::Strength;

pub(super) fn name(strength: Strength) -> &'static str {
    match strength {
        Strength::Ordering(Ordering::Relaxed) => "relaxed",
        Strength::Ordering(Ordering::Acquire) => "acquire",
        Strength::Ordering(Ordering::Release) => "release",
        Strength::Ordering(Ordering::AcqRel) => "acq-rel",
        Strength::Ordering(_) => "seq-cst",
        Strength::Fence => "fence",
        Strength::InOrder => "in order",
        Strength::Swapped => "swapped",
    }
}

impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Killed { client, by } => write!(f, "{client} ({by})"),
            Self::Survived => f.write_str("nobody"),
            Self::Unknown => f.write_str("unknown: not all clients ended"),
        }
    }
}

/// A table with a line for each label and notch, then what can be weaker together.
impl fmt::Display for Weakened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:<12} {:<8} {:<8} {:<36} {:>10} {:>9}",
            "label", "before", "tried", "killed by", "executions", "time"
        )?;
        for trial in &self.trials {
            let Trial { label, before, tried, fate, executions, duration } = trial;
            let (before, tried, fate) = (name(*before), name(*tried), fate.to_string());
            let seconds = duration.as_secs_f64();
            writeln!(f, "{label:<12} {before:<8} {tried:<8} {fate:<36} {executions:>10} {seconds:>7.2} s")?;
        }
        let unknown = self.trials.iter().filter(|trial| trial.fate == Fate::Unknown).collect::<Vec<_>>();
        match (self.after.is_empty(), unknown.is_empty()) {
            (true, true) => write!(f, "no label can be weaker")?,
            (true, false) => write!(f, "no label is known that could be weaker")?,
            (false, _) => {
                write!(f, "can be weaker together:")?;
                self.after.iter().try_for_each(|(label, strength)| write!(f, " {label} ({})", name(*strength)))?;
            }
        }
        if !unknown.is_empty() {
            write!(f, "\nunknown, as not all clients ended:")?;
            unknown.iter().try_for_each(|trial| write!(f, " {} ({})", trial.label, name(trial.tried)))?;
        }
        write_unended(f, &self.unended)
    }
}

/// What a table may not have.
fn write_unended(f: &mut fmt::Formatter<'_>, unended: &[&str]) -> fmt::Result {
    match unended {
        [] => Ok(()),
        _ => write!(f, "\nnot run to their end: {}; there may be labels that only these meet", unended.join(" ")),
    }
}

/// How many of these there are, in the columns of Table 4.2 of the thesis, and fences.
fn counts<'a>(strengths: impl Iterator<Item = &'a Strength> + Clone) -> [usize; 6] {
    ["seq-cst", "acq-rel", "acquire", "release", "relaxed", "fence"]
        .map(|kind| strengths.clone().filter(|strength| name(**strength) == kind).count())
}

/// The labels that it ends with other than the source, then a table as Table 4.2 of the thesis.
impl fmt::Display for Descended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<12} {:<8} {:<8}", "label", "source", "after")?;
        let mut changed = self.after.iter().collect::<Vec<_>>();
        changed.sort_by_key(|(label, _)| number(label));
        for (label, after) in changed {
            let unknown = if self.unknown.contains(label) { "unknown: not all clients ended" } else { "" };
            writeln!(f, "{label:<12} {:<8} {:<8} {unknown}", name(self.source[label]), name(*after))?;
        }
        let columns = ["#SEQ", "#A-R", "#ACQ", "#REL", "#RLX", "#FNC"];
        writeln!(f, "{:<10} {}", "", columns.map(|column| format!("{column:>5}")).join(""))?;
        for (row, strengths) in [("source", &self.source), ("after", &self.after)] {
            let counts = counts(strengths.values()).map(|count| format!("{count:>5}")).join("");
            writeln!(f, "{row:<10} {counts}")?;
        }
        write!(f, "{} executions, {:.1} s", self.executions, self.duration.as_secs_f64())?;
        write_unended(f, &self.unended)
    }
}
