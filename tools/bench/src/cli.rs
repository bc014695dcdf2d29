//! `lab` on the machine at hand: arguments in, tables, JSON and pictures out.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;

use crate::catalogue::{self, Entry, World};
use crate::figures::applications::{instructions, prices};
use crate::harness::{BoxError, Effort, Experiment, measure};
use crate::registry::NATIVE;
use crate::report::record::Record;
use crate::report::{chart, published, table};
use crate::words::{Lab, LabCommand};
use crate::worlds::here;
use crate::{machine, publish, tables};

const TROUBLE: u8 = 2;

/// The words that bring a process of this program to [`run`], which first looks whether it is an experiment's child.
pub(crate) const CHILD: [&str; 2] = ["lab", "run"];

/// Runs the lab. `args` are the arguments after `lab`.
///
/// Tables go to the standard output, progress and failures to the standard error.
pub fn run(args: impl Iterator<Item = String>) -> ExitCode {
    #[cfg(target_os = "linux")]
    if let Some(code) = crate::daemon::child() {
        return code;
    }
    if let Some(code) = instructions::child() {
        return code;
    }
    let arguments = match Lab::try_parse_from(args) {
        Ok(arguments) => arguments,
        Err(error) => {
            // Printing fails only if nobody reads, and then there is nobody to tell.
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { TROUBLE } else { 0 });
        }
    };
    match execute(arguments.command, &mut io::stdout().lock(), &mut io::stderr()) {
        Ok(code) => code,
        Err(error) if is_broken_pipe(&*error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(TROUBLE)
        }
    }
}

fn is_broken_pipe(error: &(dyn std::error::Error + 'static)) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

fn execute(command: LabCommand, out: &mut dyn Write, progress: &mut dyn Write) -> Result<ExitCode, BoxError> {
    match command {
        LabCommand::List => {
            write!(out, "{}", catalogue::list())?;
            Ok(ExitCode::SUCCESS)
        }
        LabCommand::Prices { names, write, quick } => {
            if cfg!(debug_assertions) {
                return Err("built without optimisation, these prices mean nothing; use `cargo lab prices`".into());
            }
            let lines = prices::measure(&names, quick, progress)?;
            if write {
                let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/measured/prices.jsonl");
                std::fs::write(&file, prices::kept(&std::fs::read_to_string(&file)?, &names, &lines))?;
            } else {
                write!(out, "{lines}")?;
            }
            Ok(ExitCode::SUCCESS)
        }
        LabCommand::Check { .. } | LabCommand::Run { on: Some(_), .. } | LabCommand::Publish { on: Some(_), .. } => {
            Err("no machine is modelled in this build; `cargo lab` builds one for `check` and for `--on`".into())
        }
        LabCommand::Publish { names, quick, runs, machine, .. } => {
            let experiments = select(&names)?;
            publish(&experiments, quick, runs, machine, progress)
        }
        LabCommand::Tables { check, proved } => Ok(tables::run(check, proved)),
        LabCommand::Run { names, quick, runs, json, svg, .. } => {
            let experiments = select(&names)?;
            run_all(&experiments, &effort(quick, runs), json, svg, out, progress)
        }
    }
}

fn publish(
    experiments: &[&Experiment],
    quick: bool,
    runs: Option<u16>,
    machine: Option<String>,
    progress: &mut dyn Write,
) -> Result<ExitCode, BoxError> {
    if cfg!(debug_assertions) {
        return Err("built without optimisation, these figures mean nothing; use `cargo lab publish`".into());
    }
    let measured = published::folder()?;
    let machine = machine.unwrap_or_else(publish::machine_name);
    if machine.is_empty() || machine.contains(['/', '\\']) || machine.starts_with('.') {
        return Err(format!("--machine {machine}: a folder's name, such as {}", publish::machine_name()).into());
    }
    let mut options = if quick { " --quick".to_owned() } else { String::new() };
    options += &runs.map_or_else(String::new, |runs| format!(" --runs {runs}"));
    let press = publish::Press { measured: &measured, machine: &machine, options: &options };
    publish::publish(experiments, &effort(quick, runs), &press, &mut publish::Host::new(), progress)?;
    Ok(ExitCode::SUCCESS)
}

fn effort(quick: bool, runs: Option<u16>) -> Effort {
    let mut effort = if quick { Effort::QUICK } else { Effort::FULL };
    effort.runs = runs.map_or(effort.runs, usize::from);
    effort
}

/// The experiments that `names` mean, each once, in the order of the names.
fn select(names: &[String]) -> Result<Vec<&'static Experiment>, BoxError> {
    let entries = catalogue::select(names, World::Native)?;
    let of =
        |entry: &Entry| NATIVE.iter().find(|experiment| experiment.name == entry.name).expect("a test compares them");
    Ok(entries.into_iter().map(of).collect())
}

fn run_all(
    experiments: &[&Experiment],
    effort: &Effort,
    json: Option<PathBuf>,
    svg: Option<PathBuf>,
    out: &mut dyn Write,
    progress: &mut dyn Write,
) -> Result<ExitCode, BoxError> {
    if cfg!(debug_assertions) {
        writeln!(progress, "warning: built without optimisation, these figures mean nothing; use `cargo lab`")?;
    }
    let to_stdout = json.as_ref().is_some_and(|path| path.as_os_str() == "-");
    // Opened first: better to learn of a wrong path before the measurement than after it.
    let create = |path: PathBuf| std::fs::File::create(&path).map_err(|error| format!("{}: {error}", path.display()));
    let mut json = json.filter(|_| !to_stdout).map(create).transpose()?;
    let mut svg = svg.map(create).transpose()?;

    let machine = machine::describe();
    if !to_stdout {
        writeln!(out, "{machine}\n")?;
    }
    let mut records: Vec<Record> = Vec::new();
    let mut failures = Vec::new();
    for experiment in experiments {
        let outcome = match measure(experiment, effort, progress) {
            Ok(outcome) => outcome,
            Err(error) => {
                failures.push(format!("{}: {error}", experiment.name));
                continue;
            }
        };
        for record in &outcome.records {
            let line = record.to_json();
            if to_stdout {
                writeln!(out, "{line}")?;
            }
            if let Some(file) = &mut json {
                writeln!(file, "{line}")?;
            }
        }
        if !to_stdout {
            writeln!(out, "{}", table::render(&outcome.records))?;
            let verdicts = here::verdicts(experiment.name, effort, &outcome.records);
            if !verdicts.is_empty() {
                writeln!(out, "{}", verdicts.iter().map(ToString::to_string).collect::<String>())?;
            }
        }
        records.extend(outcome.records);
        failures.extend(outcome.failures);
    }
    if let Some(file) = &mut svg {
        file.write_all(chart::render(&records, machine).as_bytes())?;
    }
    for failure in &failures {
        writeln!(progress, "failed: {failure}")?;
    }
    Ok(if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::{Contender, Group, Role, Sample};

    #[test]
    fn the_words_of_a_child_are_not_answered_without_the_lab() {
        let [command, words @ ..] = CHILD;
        assert_eq!((command, catalogue::answer(&words)), ("lab", None));
        assert!(catalogue::answer(&["list"]).is_some());
    }

    #[test]
    fn a_median_has_five_runs_at_least() {
        let parse = |runs: &str| Lab::try_parse_from(["run", "streams/pipe3", "--runs", runs]);
        let refused = parse("4").unwrap_err().to_string();
        assert!(refused.contains("4 is not in 5..=999"), "{refused}");
        assert!(matches!(parse("21").unwrap().command, LabCommand::Run { runs: Some(21), .. }));
        let runs = |quick, runs| effort(quick, runs).runs;
        assert_eq!((runs(false, None), runs(true, None)), (7, 5));
        assert_eq!((runs(false, Some(21)), runs(true, Some(6))), (21, 6));
        assert!(effort(true, None).is_quick() && !effort(false, None).is_quick());
    }

    #[test]
    fn what_fails_is_told_and_makes_the_exit_status_one() {
        let run = |plan: fn(&Effort) -> Result<Vec<Group>, BoxError>| {
            let experiment = Experiment { name: "test/cli", plan };
            let (mut out, mut progress) = (Vec::new(), Vec::new());
            let code = run_all(&[&experiment], &Effort::TINY, None, None, &mut out, &mut progress).unwrap();
            (code, String::from_utf8(out).unwrap(), String::from_utf8(progress).unwrap())
        };
        let (code, out, progress) = run(|_| {
            let wrong = || Err("the sum is 1, not 2".into());
            let right = || Ok(Sample { figures: vec![1.0], cpus: None });
            let contenders = vec![
                Contender::new(Role::Ours, "wrong", serde_json::json!({}), wrong),
                Contender::new(Role::Peer, "right", serde_json::json!({}), right),
            ];
            Ok(vec![Group::new("half", &["s"], contenders)])
        });
        assert_eq!(code, ExitCode::FAILURE);
        assert!(progress.ends_with("failed: test/cli: half: wrong: the sum is 1, not 2\n"), "{progress}");
        assert!(out.contains("\n  right ") && !out.contains("wrong"), "the others are shown: {out}");
        let (code, _, progress) = run(|_| Err("there is no such machine".into()));
        assert_eq!(code, ExitCode::FAILURE);
        assert!(progress.ends_with("failed: test/cli: there is no such machine\n"), "{progress}");
    }

    /// The machine at hand has two hardware threads, or the figure does not run.
    #[test]
    fn a_figure_says_what_became_of_the_papers_numbers() {
        if crate::machine::cpus().len() < 2 {
            return;
        }
        let experiments = select(&["thesis/2.8".into(), "thesis/3.7".into()]).unwrap();
        let (mut out, mut progress) = (Vec::new(), Vec::new());
        run_all(&experiments, &Effort::TINY, None, None, &mut out, &mut progress).unwrap();
        let out = String::from_utf8(out).unwrap();
        let line = |words: &str| {
            let found = out.lines().find(|line| line.starts_with(words));
            found.unwrap_or_else(|| panic!("{words} is missing in {out}"))
        };
        for (words, paper) in [("thesis/2.8: simple ", "the thesis 11.3: "), ("thesis/2.8: complex ", "the thesis 2: ")]
        {
            let line = line(words);
            assert!(line.contains(paper) && line.ends_with(" (a third off at most comes out)"), "{line}");
        }
        if crate::machine::cpus().len() < 88 {
            assert_eq!(
                line("thesis/3.7: NPNC, faaq"),
                "thesis/3.7: NPNC, faaq over the second best, the thesis 1.6: not run"
            );
        }
    }

    #[test]
    fn json_to_the_standard_output_is_nothing_but_json() {
        let experiments = select(&["streams/pipe3-fused".into()]).unwrap();
        let (mut out, mut progress) = (Vec::new(), Vec::new());
        let code = run_all(&experiments, &Effort::TINY, Some("-".into()), None, &mut out, &mut progress).unwrap();
        assert_eq!(code, ExitCode::SUCCESS, "{}", String::from_utf8_lossy(&progress));
        let out = String::from_utf8(out).unwrap();
        assert_eq!(out.lines().count(), 4);
        for line in out.lines() {
            let record: serde_json::Value = serde_json::from_str(line).unwrap();
            assert_eq!(record["experiment"], "streams/pipe3-fused");
            assert!(record["median"].as_f64().unwrap() > 0.0);
            assert!(record["params"].is_object());
        }
    }

    #[test]
    fn files_get_json_and_a_picture_and_a_wrong_path_is_refused_first() {
        let folder = std::env::temp_dir().join(format!("thalweg-lab-test-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (json, svg) = (folder.join("figures.json"), folder.join("figures.svg"));
        let experiments = select(&["streams/pipe3-fused".into()]).unwrap();
        let mut out = Vec::new();
        let files = (Some(json.clone()), Some(svg.clone()));
        run_all(&experiments, &Effort::TINY, files.0, files.1, &mut out, &mut Vec::new()).unwrap();
        assert_eq!(std::fs::read_to_string(&json).unwrap().lines().count(), 4);
        assert!(std::fs::read_to_string(&svg).unwrap().contains("a plain loop"));
        assert!(String::from_utf8(out).unwrap().contains("ratio: to "));
        std::fs::remove_dir_all(&folder).unwrap();

        let nowhere = Some(folder.join("gone/figures.json"));
        let error = run_all(&experiments, &Effort::TINY, nowhere, None, &mut Vec::new(), &mut Vec::new()).unwrap_err();
        assert!(error.to_string().contains("gone/figures.json"), "{error}");
    }
}
