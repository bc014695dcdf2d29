//! `lab publish`: runs experiments and keeps their records under `docs/measured`, if the machine is left alone meanwhile.

#[cfg(test)]
mod names;

use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};

use crate::cores::{self, Probe, Steady};
use crate::harness::{BoxError, Effort, Experiment, measure_while};
use crate::machine;
use crate::others::Others;
use crate::report::published::{today, write};
use crate::report::record::Record;

/// They count and take no time, so that nothing disturbs them.
const COUNTS: [&str; 2] = ["queues/call-size", "blq/instructions"];

/// Who watches the machine while it measures.
pub(crate) trait Watch {
    /// Why nothing can be measured now, if it is so. Asked before a run.
    fn refuses(&mut self) -> Option<String>;
    /// True if the machine is disturbed now. Asked before and after each run, which is made again then.
    fn is_disturbed(&mut self) -> bool;
}

/// Watches the machine that this process runs on.
#[derive(Debug)]
pub(crate) struct Host(Steady, Others);

impl Host {
    /// Looks at the machine for a third of a second.
    pub(crate) fn new() -> Self {
        let others = Others::new();
        Self(Steady::new(&cores::first_looks()), others)
    }
}

impl Watch for Host {
    /// Its two CPUs are one core, or its clock is slow, at every second look; or other processes are at work. Takes a third of a second.
    fn refuses(&mut self) -> Option<String> {
        let told = told(&mut self.0, &cores::first_looks());
        told.or_else(|| self.1.take_much().then(|| format!("other processes take {:.1} CPUs", self.1.share())))
    }

    fn is_disturbed(&mut self) -> bool {
        self.1.take_much() || self.0.is_disturbed_now()
    }
}

/// What so many looks say, if every second one of them is disturbed, so that nearly each run would be.
fn told(steady: &mut Steady, looks: &[Probe]) -> Option<String> {
    let disturbed = looks.iter().filter(|&&look| steady.is_disturbed(look)).count();
    let one_core = looks.iter().filter(|look| look.one_core).count();
    let (from, to) = looks.iter().fold((f64::INFINITY, 0.0_f64), |(a, b), look| (a.min(look.nanos), b.max(look.nanos)));
    (2 * disturbed >= looks.len()).then(|| {
        format!(
            "the machine is disturbed at {disturbed} of {} looks: its two CPUs are hardware threads of one core at {one_core}, and the \
             same work takes {:.1} to {:.1} us",
            looks.len(),
            from / 1000.0,
            to / 1000.0
        )
    })
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

/// Runs each experiment and writes its file. What has a disturbed run, though it was made again, is not written,
/// unless it only counts.
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
    if let (false, Some(reason)) = (counts, watch.refuses()) {
        return Ok(Err(reason + "; try again later"));
    }
    let outcome = measure_while(experiment, effort, &mut || !counts && watch.is_disturbed(), progress)?;
    if !outcome.failures.is_empty() {
        return Ok(Err(outcome.failures.join("; ")));
    }
    let worst = outcome.records.iter().max_by_key(|record| record.disturbed).filter(|record| record.disturbed > 0);
    if let Some(Record { workload, contender, disturbed, runs, .. }) = worst {
        let reason =
            format!("{disturbed} of {runs} runs of {contender} ({workload}) were disturbed, though made again");
        return Ok(Err(reason + "; try again later"));
    }
    let path = press.measured.join(press.machine).join(format!("{}.jsonl", experiment.name));
    write(&path, &text(experiment.name, effort, press, &outcome.records))?;
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

    /// A machine after somebody's wish: it rains, and is disturbed at so many looks.
    struct Toy {
        rains: bool,
        disturbed: usize,
    }

    impl Watch for Toy {
        fn refuses(&mut self) -> Option<String> {
            self.rains.then(|| "rain".to_owned())
        }

        fn is_disturbed(&mut self) -> bool {
            let disturbed = self.disturbed > 0;
            self.disturbed = self.disturbed.saturating_sub(1);
            disturbed
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
            (Toy { rains: true, disturbed: 0 }, "rain; try again later"),
            (
                Toy { rains: false, disturbed: ALWAYS },
                "1 of 1 runs of thalweg (toy) were disturbed, though made again; try again later",
            ),
        ];
        for (toy, why) in refused {
            assert_eq!(run(NAME, toy).unwrap_err(), format!("{NAME} is not published: {why}"));
            assert!(!path(NAME).exists());
        }
        run(COUNTS[0], Toy { rains: true, disturbed: ALWAYS }).unwrap();
        assert!(path(COUNTS[0]).exists());
        // Before and after the warm-up, and after the run, which is made again.
        run(NAME, Toy { rains: false, disturbed: 2 }).unwrap();
        let text = std::fs::read_to_string(path(NAME)).unwrap();
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[0]["command"], "cargo lab run test/publish --quick");
        assert_eq!((&lines[1]["contender"], &lines[1]["median"]), (&json!("thalweg"), &json!(2.5)));
        let runs = crate::tables::load(folder.path(), "*/test/publish").unwrap();
        assert_eq!((runs[0].machine.as_str(), runs[0].records[0]["unit"].as_str()), ("toy-2t", "ns"));
    }

    #[test]
    fn a_machine_that_is_disturbed_at_every_second_look_is_told() {
        let look = |nanos, one_core| Probe { nanos, one_core };
        let calm = look(1000.0, false);
        let told = |looks: &[Probe]| told(&mut Steady::new(&[calm]), looks);
        assert_eq!(told(&[calm, calm, look(1300.0, false)]), None);
        assert_eq!(
            told(&[calm, look(1000.0, true), look(1300.0, false)]).unwrap(),
            "the machine is disturbed at 2 of 3 looks: its two CPUs are hardware threads of one core at 1, and the same work takes 1.0 to 1.3 us"
        );
    }

    #[test]
    fn a_folder_is_named_after_the_processor_and_its_threads() {
        assert!(machine_name().ends_with(&format!("-{}t", machine::cpus().len())));
    }
}
