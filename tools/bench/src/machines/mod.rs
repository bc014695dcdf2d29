//! `thalweg sim`: experiments on modelled machines.

mod calibrate;
mod check;
mod example;
mod publish;
mod runs;

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use serde_json::Value;
use thalweg_figure::draw;
use thalweg_sim::{Device, Failure, Machine, Routing, in_parallel};

use crate::catalogue::{self, Entry};
use crate::figures::vl;
use crate::registry::on_machines;
use crate::report::published;
use crate::report::verdict::Verdict;
use crate::words::{Length, Modelled, Sim, SimCommand};
use crate::worlds::World;
use crate::worlds::experiment::{Experiment, Setting};
use crate::worlds::pictures;
use crate::worlds::point::{Point, Run};
use crate::worlds::seen::Seen;

/// An exit status, or what to tell the user.
pub type Outcome = Result<ExitCode, Box<dyn Error>>;

/// How the command speaks with its user.
#[derive(Clone, Copy, Debug)]
pub struct Console {
    /// Writes to the standard output.
    pub emit: fn(&str) -> std::io::Result<()>,
    /// Tells something beside it.
    pub complain: fn(&str),
    /// Shows what is being done, if somebody looks.
    pub spinner: fn() -> indicatif::ProgressBar,
}

/// Runs the command. `args` are the arguments after `sim`.
///
/// # Errors
///
/// Arguments that make no sense, files that cannot be written, runs that fail.
pub fn run(args: Vec<String>, console: &Console) -> Outcome {
    let emit = console.emit;
    let command = match Sim::try_parse_from(args) {
        Ok(arguments) => arguments.command,
        Err(error) => error.exit(),
    };
    match command {
        SimCommand::List => emit(&catalogue::list_on_machines())?,
        SimCommand::Machines { name: None } => {
            let mut lines = String::new();
            for name in Machine::names() {
                let machine = Machine::named(name)?;
                lines += &format!("{name:10}{:>4} threads  {}\n", machine.threads(), machine.about());
            }
            emit(&lines)?;
        }
        SimCommand::Machines { name: Some(name) } => {
            let machine = machine(&name)?;
            emit(&format!("{}: {}\n\n{}\n", machine.name(), machine.about(), machine.calibration().trim()))?;
        }
        SimCommand::Calibrate { native, out } => emit(&calibrate::calibrate(native.as_deref(), out.as_deref())?)?,
        SimCommand::Check { write } => check::check(write, console)?,
        SimCommand::Publish { names, on, quick, length } => {
            publish_all(&select(&names)?, &on, quick, &length, console)?
        }
        SimCommand::Run { names, on, quick, json, svg, modelled } => {
            let Modelled { device, length: Length { seeds, limit, longer }, only, lines, trace } = modelled;
            let device: Option<Routing> = match device {
                Some(text) => Some(text.parse().map_err(|error| format!("--device {text}: {error}"))?),
                None => None,
            };
            let seeds = seeds.unwrap_or(if quick { 1 } else { 3 });
            let (json, svg, trace) = (json.as_deref(), svg.as_deref(), trace.as_deref());
            for (option, path) in [("--svg", svg), ("--trace", trace)] {
                if path == Some(Path::new("-")) {
                    return Err(format!("{option} -: only --json can go to the standard output; choose a file").into());
                }
            }
            let experiments = match select(&names) {
                Ok(experiments) => experiments,
                Err(error) => {
                    let options = example::Options { on: &on, seeds, limit, json, svg, trace };
                    return own_program(
                        &names,
                        &options,
                        lines || quick || longer > 1 || device.is_some() || !only.is_empty(),
                        error,
                    );
                }
            };
            let (machine, threads) = Machine::part(&on)?;
            have_threads(&experiments, &on, threads)?;
            let (longer, routing) = (longer.into(), device.unwrap_or_default());
            let setting = Setting { world: World::Modelled(&machine), threads, quick, longer, fewer: 1, routing };
            if device.is_some() && !experiments.iter().any(|experiment| has_routing(&(experiment.plan)(&setting))) {
                return Err(
                    "--device: no experiment of these has routing devices; those of `sim list` under vl/ do".into()
                );
            }
            let limit = limit.unwrap_or(60) * 1_000_000_000;
            let plans = plans(&experiments, &setting, &only)?;
            run_all(plans, (&machine, &setting), Runs { seeds, limit, lines }, Files { json, svg, trace }, console)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Whether there are as many hardware threads as these need.
fn have_threads(experiments: &[&Experiment], on: &str, threads: usize) -> Result<(), String> {
    let short = experiments.iter().filter(|experiment| threads < experiment.threads);
    short.max_by_key(|experiment| experiment.threads).map_or(Ok(()), |Experiment { name, threads: needed, .. }| {
        Err(format!("--on {on}: {name} needs {needed} threads at least, not {threads}"))
    })
}

/// Runs each of them, and writes its file.
fn publish_all(
    experiments: &[&'static Experiment],
    on: &str,
    quick: bool,
    &Length { seeds, limit, longer }: &Length,
    console: &Console,
) -> Result<(), Box<dyn Error>> {
    let measured = published::folder()?;
    let (machine, threads) = Machine::part(on)?;
    if on.split(':').next().is_none_or(|name| Machine::named(name).is_err()) {
        return Err(
            format!("--on {on}: what is published is of machines that all have; `sim machines` lists them").into()
        );
    }
    have_threads(experiments, on, threads)?;
    let (world, longer) = (World::Modelled(&machine), longer.into());
    let setting = Setting { world, threads, quick, longer, fewer: 1, routing: Routing::default() };
    let mut options = format!(" --on {on}");
    for (option, value) in [("--seeds", seeds), ("--limit", limit), ("--longer", (longer > 1).then_some(longer))] {
        options += &value.map_or_else(String::new, |value| format!(" {option} {value}"));
    }
    if quick {
        options += " --quick";
    }
    let runs = Runs { seeds: seeds.unwrap_or(3), limit: limit.unwrap_or(60) * 1_000_000_000, lines: false };
    let file = |name: &str| measured.join(machine.name()).join(format!("{name}.jsonl"));
    // Better to learn of a file that cannot be kept before the runs than after them.
    for experiment in experiments {
        publish::written(&file(experiment.name))?;
    }
    let keep = |name: &str, lines: &[Value]| -> Result<(), Box<dyn Error>> {
        let path = file(name);
        publish::keep(&path, lines)?;
        Ok((console.emit)(&format!("published: {}\n", path.display()))?)
    };
    let mut done = Vec::new();
    for plan in plans(experiments, &setting, &[])? {
        let Plan { experiment, points, .. } = &plan;
        let of_this = measure(experiment.name, &machine, points, runs, console)?;
        let command = format!("cargo lab run {}{options}", experiment.name);
        let mut lines = vec![publish::head(&machine, &command, runs.seeds)];
        lines.extend(publish::numbers(&plan.verdicts(&machine, &of_this)));
        lines.extend(publish::curves(experiment, points, &of_this));
        keep(experiment.name, &lines)?;
        done.push((plan.points, of_this));
    }
    // Of all of Virtual-Link's benchmarks together.
    let averages: Vec<Value> = publish::numbers(&vl::averaged(&done)).collect();
    if !averages.is_empty() {
        let names: Vec<&str> = experiments.iter().map(|experiment| experiment.name).collect();
        let command = format!("cargo lab run {}{options}", names.join(" "));
        keep("vl/averages", &[vec![publish::head(&machine, &command, runs.seeds)], averages].concat())?;
    }
    Ok(())
}

fn has_routing(points: &[Point]) -> bool {
    points.iter().any(|point| matches!(point.device, Some(Device::VirtualLink(_))))
}

/// The machine of a name or a file.
fn machine(name: &str) -> Result<Machine, Box<dyn Error>> {
    let machine = if name.ends_with(".toml") { Machine::from_file(name) } else { Machine::named(name) };
    Ok(machine?)
}

/// Runs the one program that `names` means, if not all of them are experiments, which `error` says.
fn own_program(
    names: &[String],
    options: &example::Options<'_>,
    for_experiments: bool,
    error: Box<dyn Error>,
) -> Outcome {
    let find = |name: &str| {
        let unknown = |why| format!("{error}; and which programs are around here, cargo cannot say: {why}");
        example::find(name).map_err(unknown)
    };
    let [name] = names else {
        for name in names {
            if select(std::slice::from_ref(name)).is_err() && !find(name)?.is_empty() {
                return Err(format!("{name} is a program: one program at a time, and no experiment beside it").into());
            }
        }
        return Err(error);
    };
    let programs = find(name)?;
    let [program] = programs.as_slice() else {
        let also = match programs.len() {
            0 => "and no example or binary of that name in the package around here",
            _ => "and more than one package around here has an example or binary of that name",
        };
        return Err(format!("{error}; {also}").into());
    };
    if for_experiments {
        return Err(
            "--lines, --quick, --longer, --only and --device are for experiments; a program's own table has its lines anyway"
                .into(),
        );
    }
    // Before the build: a wrong machine is better learnt at once.
    Machine::part(options.on)?;
    example::run(program, options)
}

fn select(names: &[String]) -> Result<Vec<&'static Experiment>, Box<dyn Error>> {
    let entries = catalogue::select(names, catalogue::World::Machines)?;
    let of = |entry: &Entry| on_machines().find(|one| one.name == entry.name).expect("a test compares them");
    Ok(entries.into_iter().map(of).collect())
}

/// The points of each experiment that have all of `only` in their titles.
fn plans(
    experiments: &[&'static Experiment],
    setting: &Setting<'_>,
    only: &[String],
) -> Result<Vec<Plan>, Box<dyn Error>> {
    let (mut plans, mut other) = (Vec::new(), None);
    for &experiment in experiments {
        let all = (experiment.plan)(setting);
        let (mut points, mut others) = (Vec::new(), Vec::new());
        for (at, point) in all.into_iter().enumerate() {
            if only.iter().all(|text| point.title().contains(text)) {
                points.push(point);
            } else {
                others.push((at, point));
            }
        }
        other = other.or(others.first().map(|(_, point)| point.title()));
        if !points.is_empty() {
            plans.push(Plan { experiment, points, others });
        }
    }
    match other {
        Some(other) if plans.is_empty() => {
            Err(format!("--only {}: no point of these has that; one of them is \"{other}\"", only.join(" --only "))
                .into())
        }
        _ => Ok(plans),
    }
}

/// What is run of an experiment.
struct Plan {
    experiment: &'static Experiment,
    points: Vec<Point>,
    /// The points that are left out, and where they are among all.
    others: Vec<(usize, Point)>,
}

impl Plan {
    fn is_whole(&self) -> bool {
        self.others.is_empty()
    }

    /// What became of the paper's numbers.
    fn verdicts(&self, machine: &Machine, measured: &[Vec<Run>]) -> Vec<Verdict> {
        let middles = self.points.iter().zip(measured).map(|(point, runs)| (point, Some(Seen::middles(point, runs))));
        let mut seen: Vec<_> = middles.collect();
        self.others.iter().for_each(|(at, point)| seen.insert(*at, (point, None)));
        (self.experiment.verdicts)(&Seen::new(seen, is_arm(machine)))
    }
}

fn is_arm(machine: &Machine) -> bool {
    machine.name().starts_with("arm")
}

/// Where to write.
#[derive(Clone, Copy)]
struct Files<'a> {
    json: Option<&'a Path>,
    svg: Option<&'a Path>,
    trace: Option<&'a Path>,
}

/// How often each point is run, after how many simulated nanoseconds a run is given up, and whether lines and fields are told of.
#[derive(Clone, Copy)]
struct Runs {
    seeds: u64,
    limit: u64,
    lines: bool,
}

fn run_all(
    plans: Vec<Plan>,
    (machine, setting): (&Machine, &Setting<'_>),
    runs: Runs,
    files: Files<'_>,
    console: &Console,
) -> Result<(), Box<dyn Error>> {
    let (emit, complain) = (console.emit, console.complain);
    // Better to learn of a wrong path before the runs than after them.
    for path in [files.json.filter(|path| *path != Path::new("-")), files.svg, files.trace].into_iter().flatten() {
        std::fs::File::create(path).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    let only_json = files.json == Some(Path::new("-"));
    let are_whole = plans.iter().all(Plan::is_whole);
    let mut records = String::new();
    let (mut plots, mut done) = (Vec::new(), Vec::new());
    for plan in plans {
        let Plan { experiment, points, .. } = &plan;
        let measured = measure(experiment.name, machine, points, runs, console)?;
        let records_of =
            |(point, seeds): (&Point, &Vec<Run>)| point.records(experiment.name, machine, seeds, runs.lines);
        let of_this: String = points.iter().zip(&measured).map(records_of).collect();
        // As each is done: an experiment that fails, or an interrupt, does not take the others' tables with it.
        emit(&match only_json {
            true => of_this.clone(),
            false => {
                let mut text = runs::table(experiment.name, (machine, setting), points, &measured, runs.lines);
                if plan.is_whole() {
                    text += &(experiment.paper)(points, &measured);
                }
                let verdicts = plan.verdicts(machine, &measured);
                text.extend(verdicts.iter().map(ToString::to_string));
                if !verdicts.is_empty() {
                    text.push('\n');
                }
                text
            }
        })?;
        records += &of_this;
        plots.extend(pictures::plots(experiment, points, &measured));
        done.push((plan.points, measured));
    }
    if !only_json && are_whole {
        emit(&vl::beside_the_paper(&done))?;
    }
    let write = |path: &Path, text: &str| {
        std::fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
    };
    if let Some(path) = files.json.filter(|_| !only_json) {
        write(path, &records)?;
    }
    if let Some(path) = files.svg {
        write(path, &draw(&plots, &format!("{}, simulated", machine.about())))?;
    }
    if let (Some(path), Some(point)) = (files.trace, done.last().and_then(|(points, _)| points.last())) {
        let trace = point.trace(machine)?;
        write(path, &trace.to_json())?;
        if trace.lost() > 0 {
            let (path, first, more) = (path.display(), trace.events(), trace.lost());
            complain(&format!("{path}: the first {first} events; {more} more had no room"));
        }
    }
    Ok(())
}

/// Runs every point with every seed, several at a time: simulations do not share anything. Those whose fields are told of count hits by
/// what was accessed.
fn measure(
    name: &str,
    machine: &Machine,
    points: &[Point],
    runs: Runs,
    console: &Console,
) -> Result<Vec<Vec<Run>>, Box<dyn Error>> {
    let seeds = runs.seeds as usize;
    let (progress, all) = ((console.spinner)(), points.len() * seeds);
    progress.set_length(all as u64);
    let tell = || progress.set_message(format!("{name}: {} of {all} runs", progress.position()));
    tell();
    let results: Vec<Result<Run, Failure>> = in_parallel(all, |run| {
        let (point, seed) = (run / seeds, run % seeds);
        let hits = runs.lines && seed == 0;
        let result = points[point].run_within(runs.limit, machine, seed as u64, hits);
        progress.inc(1);
        tell();
        result
    });
    progress.finish_and_clear();
    let mut measured: Vec<Vec<Run>> = points.iter().map(|_| Vec::new()).collect();
    for (run, result) in results.into_iter().enumerate() {
        let (point, seed) = (run / seeds, run % seeds);
        measured[point].push(result.map_err(|failure| format!("{}, seed {seed}: {failure}", points[point].title()))?);
    }
    Ok(measured)
}
