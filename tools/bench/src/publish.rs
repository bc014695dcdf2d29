//! `lab publish`: runs experiments and keeps their records under `docs/measured`, if the machine is left alone meanwhile.

use std::io::Write;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::cores;
use crate::harness::{BoxError, Effort, Experiment, are_one, measure_while};
use crate::machine;
use crate::records::Record;

/// They count and take no time, so that nothing disturbs them.
const COUNTS: [&str; 2] = ["queues/call-size", "blq/instructions"];

/// Who watches the machine while it measures.
pub(crate) trait Watch {
    /// What disturbs the machine now, if anything does. Asked before a run and after it.
    fn disturbed(&mut self) -> Option<String>;
    /// True if two CPUs are one core now. Asked between runs.
    fn are_one(&mut self) -> bool;
}

/// Watches the machine that this process runs on.
#[derive(Debug)]
pub(crate) struct Host;

/// Looks at the machine, and at its clock, at each of them.
const LOOKS: usize = 30;
/// Times as long as at best that the same work may take.
const JUMP: f64 = 1.25;

impl Watch for Host {
    /// Its two CPUs are one core, or its clock jumps. Takes a third of a second.
    fn disturbed(&mut self) -> Option<String> {
        let (mut times, mut one_core) = (Vec::new(), 0);
        for _ in 0..LOOKS {
            std::thread::sleep(Duration::from_millis(10));
            times.push(cores::nanos());
            one_core += usize::from(cores::are_one());
        }
        told(&times, one_core)
    }

    fn are_one(&mut self) -> bool {
        are_one()
    }
}

/// What so many looks say: what some work took at each, and at how many the CPUs were one core.
fn told(times: &[f64], one_core: usize) -> Option<String> {
    let (least, most) = times.iter().fold((f64::INFINITY, 0.0_f64), |(a, b), &time| (a.min(time), b.max(time)));
    if one_core > 0 {
        let looks = times.len();
        return Some(format!("the two CPUs are hardware threads of one core at {one_core} of {looks} looks"));
    }
    let (from, to) = (least / 1000.0, most / 1000.0);
    (most > JUMP * least)
        .then(|| format!("the clock jumps: the same work takes {from:.1} to {to:.1} us at {} looks", times.len()))
}

/// Where records go, and what is said of their run.
#[derive(Debug)]
pub(crate) struct Press<'a> {
    /// `docs/measured` of the checkout.
    pub(crate) measured: &'a Path,
    /// The machine's folder.
    pub(crate) machine: &'a str,
    /// What runs the experiments again, without their names.
    pub(crate) options: &'a str,
}

/// Runs each experiment and writes its file. What was disturbed, before or after, is not written, unless it only counts.
///
/// # Errors
///
/// What was not published, each with its reason; a file that cannot be written.
pub(crate) fn publish(
    experiments: &[&Experiment],
    effort: &Effort,
    press: &Press<'_>,
    watch: &mut dyn Watch,
    progress: &mut dyn Write,
) -> Result<(), BoxError> {
    let mut refused = Vec::new();
    for experiment in experiments {
        match one(experiment, effort, press, watch, progress)? {
            Ok(path) => writeln!(progress, "published: {path}")?,
            Err(reason) => refused.push(format!("{} is not published: {reason}", experiment.name)),
        }
    }
    if refused.is_empty() { Ok(()) } else { Err(refused.join("\n").into()) }
}

/// The file that was written, or why none was.
fn one(
    experiment: &Experiment,
    effort: &Effort,
    press: &Press<'_>,
    watch: &mut dyn Watch,
    progress: &mut dyn Write,
) -> Result<Result<String, String>, BoxError> {
    let counts = COUNTS.contains(&experiment.name);
    if let (false, Some(reason)) = (counts, watch.disturbed()) {
        return Ok(Err(reason + ", before the run; try again later"));
    }
    let outcome = measure_while(experiment, effort, &mut || watch.are_one(), progress)?;
    if !outcome.failures.is_empty() {
        return Ok(Err(outcome.failures.join("; ")));
    }
    if let (false, Some(reason)) = (counts, watch.disturbed()) {
        return Ok(Err(reason + ", after the run; try again later"));
    }
    let on_one_core: usize = outcome.records.iter().map(|record| record.on_one_core).sum();
    if on_one_core > 0 && !counts {
        return Ok(Err(format!("{on_one_core} runs had both CPUs on one core, though they were made again")));
    }
    let path = press.measured.join(press.machine).join(format!("{}.jsonl", experiment.name));
    let folder = path.parent().expect("it is in a folder");
    let cannot = |error: std::io::Error| format!("cannot write {}: {error}", path.display());
    std::fs::create_dir_all(folder).map_err(cannot)?;
    std::fs::write(&path, text(experiment.name, effort, press, &outcome.records)).map_err(cannot)?;
    Ok(Ok(path.display().to_string()))
}

/// The file: the run in the first line, a record in each other one.
fn text(experiment: &str, effort: &Effort, press: &Press<'_>, records: &[Record]) -> String {
    let mut head = json!({
        "machine": machine::describe(),
        "date": today(),
        "command": format!("cargo lab run {experiment}{}", press.options),
        "runs": effort.runs,
    });
    if let Some(first) = records.first()
        && records.iter().all(|record| record.unit == first.unit)
    {
        head["unit"] = json!(first.unit);
    }
    let mut text = format!("{head}\n");
    for record in records {
        let mut line = json!(record);
        // Of the run, and said once.
        let fields = line.as_object_mut().expect("a record is an object");
        ["machine", "experiment", "runs"].iter().for_each(|field| _ = fields.remove(*field));
        fields.retain(|_, value| *value != Value::Null);
        text += &format!("{line}\n");
    }
    text
}

/// The date, in UTC.
fn today() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    date(since.as_secs() / 86_400)
}

/// The date so many days after 1970-01-01.
fn date(mut days: u64) -> String {
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let mut year = 1970;
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let mut month = 0;
    let lengths = [31, 28 + u64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    while days >= lengths[month] {
        days -= lengths[month];
        month += 1;
    }
    format!("{year}-{:02}-{:02}", month + 1, days + 1)
}

/// A folder's name for this machine: its processor and how many CPUs it has.
pub(crate) fn machine_name() -> String {
    let description = machine::describe();
    let processor = description.split(',').next().unwrap_or_default().to_lowercase();
    let words: Vec<&str> =
        processor.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    format!("{}-{}t", words.join("-"), machine::cpus().len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::{Contender, Group, Role, Sample};

    fn plan(_: &Effort) -> Result<Vec<Group>, BoxError> {
        let run = || Ok(Sample { figures: vec![2.5], cpus: None });
        Ok(vec![Group::new("toy", &["ns"], vec![Contender::new(Role::Ours, "thalweg", json!({}), run)])])
    }

    /// A machine after somebody's wish: it rains after so many dry looks, and so many runs are on one core.
    struct Toy {
        dry: usize,
        on_one_core: usize,
    }

    impl Watch for Toy {
        fn disturbed(&mut self) -> Option<String> {
            let rains = self.dry == 0;
            self.dry = self.dry.saturating_sub(1);
            rains.then(|| "rain".to_owned())
        }

        fn are_one(&mut self) -> bool {
            let is_one = self.on_one_core > 0;
            self.on_one_core = self.on_one_core.saturating_sub(1);
            is_one
        }
    }

    #[test]
    fn what_was_measured_undisturbed_is_written_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let run = |name, mut toy| {
            let experiment = Experiment { name, plan };
            let press = Press { measured: folder.path(), machine: "toy-2t", options: " --quick" };
            publish(&[&experiment], &Effort::TINY, &press, &mut toy, &mut Vec::new()).map_err(|told| told.to_string())
        };
        const NAME: &str = "test/publish";
        const ALWAYS: usize = usize::MAX;
        let path = |name: &str| folder.path().join("toy-2t").join(name).with_extension("jsonl");
        let refused = [
            (Toy { dry: 0, on_one_core: 0 }, "rain, before the run; try again later"),
            (Toy { dry: 1, on_one_core: 0 }, "rain, after the run; try again later"),
            (Toy { dry: 2, on_one_core: ALWAYS }, "1 runs had both CPUs on one core, though they were made again"),
        ];
        for (toy, why) in refused {
            assert_eq!(run(NAME, toy).unwrap_err(), format!("{NAME} is not published: {why}"));
            assert!(!path(NAME).exists());
        }
        run(COUNTS[0], Toy { dry: 0, on_one_core: ALWAYS }).unwrap();
        assert!(path(COUNTS[0]).exists());
        run(NAME, Toy { dry: 2, on_one_core: 0 }).unwrap();
        let text = std::fs::read_to_string(path(NAME)).unwrap();
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[0]["command"], "cargo lab run test/publish --quick");
        assert_eq!((&lines[1]["contender"], &lines[1]["median"]), (&json!("thalweg"), &json!(2.5)));
        let runs = crate::tables::load(folder.path(), "*/test/publish").unwrap();
        assert_eq!((runs[0].machine.as_str(), runs[0].records[0]["unit"].as_str()), ("toy-2t", "ns"));
    }

    #[test]
    fn a_clock_that_jumps_and_cpus_on_one_core_are_told() {
        assert_eq!(told(&[1000.0, 1200.0], 0), None);
        let jump = told(&[1000.0, 1300.0, 1000.0], 0).unwrap();
        assert_eq!(jump, "the clock jumps: the same work takes 1.0 to 1.3 us at 3 looks");
        assert!(told(&[1000.0], 1).unwrap().contains("one core at 1 of 1 looks"));
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        let days = [(0, "1970-01-01"), (59, "1970-03-01"), (11_016, "2000-02-29"), (20_819, "2027-01-01")];
        for (day, expected) in days {
            assert_eq!(date(day), expected);
        }
        assert!(machine_name().ends_with(&format!("-{}t", machine::cpus().len())));
    }
}
