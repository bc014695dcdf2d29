//! `thalweg sim`: experiments on modelled machines.

mod calibrate;
mod check;
mod example;
pub(crate) mod pictures;
mod runs;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use thalweg_figure::draw;
use thalweg_sim::{Device, Failure, Machine, Routing, in_parallel};

use crate::catalogue::{self, Entry};
use crate::figures::vl;
use crate::registry::on_machines;
use crate::worlds::World;
use crate::worlds::experiment::{Experiment, Setting};
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

/// Runs queues and streams on a modelled machine of many cores.
#[derive(Debug, Parser)]
#[command(name = "sim", bin_name = "thalweg sim", no_binary_name = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Lists the experiments
    List,
    /// Lists the machines; with a name, what its numbers are from
    Machines {
        /// A machine's name, or a machine file
        name: Option<String>,
    },
    /// Fits a machine file to the machine at hand, and says how far the model is off there
    ///
    /// Builds and runs the native measurements (`tools/bench/src/micro`, without engines; some fifteen seconds, on a machine
    /// that does nothing else), then the same functions on the model.
    Calibrate {
        /// Takes native figures that `micro` printed earlier instead of measuring
        #[arg(long, value_name = "FILE")]
        native: Option<PathBuf>,
        /// Writes the machine file there instead of printing it
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Runs short forms of the figures, and compares them digit by digit with what is published
    ///
    /// The same command gives the same numbers on every host. Some three minutes on two CPUs. Exit status: 0 if all are as they were, 2 if not.
    Check {
        /// Puts what comes out in the place of what is published
        #[arg(long)]
        write: bool,
    },
    /// Runs experiments, or a program of yours, and prints a table for each
    ///
    /// A program is an example or a binary of the package around here whose `main` is `thalweg_sim::main`; it is built
    /// and run on 1, 2, 4 ... threads. The same command gives the same numbers everywhere. Exit status: 0 if all went
    /// well, 2 if not.
    #[command(after_help = "\
Examples:
  thalweg sim run sim/bbq --on x86-88t
  thalweg sim run sim/farm --on arm-96t:32 --lines
  thalweg sim run sim/lamport --on my-machine.toml --json -
  thalweg sim run danbi/applications --on x86-40 --only gaussian --only 'qes, 40 cores' --trace rg.json
  thalweg sim run wide --on x86-88t:64 --trace wide.json")]
    Run {
        /// A name from `sim list`, `all`, or the name of one program of yours
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,
        /// The machine: a name from `sim machines` or a file ending in .toml, and how many of its threads to use
        #[arg(long, value_name = "MACHINE[:THREADS]")]
        on: String,
        /// What Virtual-Link's routing devices have, where it differs from the usual, in the experiments that have them
        ///
        /// devices=1, links=64 (queues of each), entries=64 (slots of prodBuf and consBuf, each), reserve=1 (slots of each
        /// that belong to an open queue), quota=none (slots of each that a queue may have), in_order=on (a line waits for
        /// the answer to the one before), way=14 (cycles to the device, and back).
        #[arg(long, value_name = "OPTION=VALUE,...")]
        device: Option<Routing>,
        /// How many seeds each point is run with, 1 to 1000, 3 by default; the tables show the middle one and the range
        #[arg(long, value_parser = clap::value_parser!(u64).range(1..=1000))]
        seeds: Option<u64>,
        /// After how many simulated seconds a run is given up, 60 by default
        #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
        limit: Option<u64>,
        /// An eighth of the messages, and one seed unless --seeds is given: figures to look at, not to quote
        #[arg(long)]
        quick: bool,
        /// So many times the messages, 1 to 1000: for what only shows in the long run, as how fair a queue is
        #[arg(long, value_name = "TIMES", default_value_t = 1, hide_default_value = true, conflicts_with = "quick")]
        #[arg(value_parser = clap::value_parser!(u16).range(1..=1000))]
        longer: u16,
        /// Only points whose workload, contender and label, as progress shows them, have this text; given again, this one too
        ///
        /// A part of a figure: what compares it with the paper is left out, and a number that needs other points is *not run*.
        #[arg(long, value_name = "TEXT")]
        only: Vec<String>,
        /// Tells for the largest point of each curve what was accessed, what that cost, and which lines were contended
        #[arg(long)]
        lines: bool,
        /// Writes a line of JSON for each point, beside the tables; `-` is the standard output, instead of the tables
        #[arg(long, value_name = "FILE")]
        json: Option<PathBuf>,
        /// Draws the curves
        #[arg(long, value_name = "FILE")]
        svg: Option<PathBuf>,
        /// Writes who did what when, at the last point of the last experiment, for <https://ui.perfetto.dev>
        #[arg(long, value_name = "FILE")]
        trace: Option<PathBuf>,
    },
}

/// Runs the command. `args` are the arguments after `sim`.
///
/// # Errors
///
/// Arguments that make no sense, files that cannot be written, runs that fail.
pub fn run(args: Vec<String>, console: &Console) -> Outcome {
    let emit = console.emit;
    let command = match Arguments::try_parse_from(args) {
        Ok(arguments) => arguments.command,
        Err(error) => error.exit(),
    };
    match command {
        Command::List => emit(&catalogue::list_on_machines())?,
        Command::Machines { name: None } => {
            let mut lines = String::new();
            for name in Machine::names() {
                let machine = Machine::named(name)?;
                lines += &format!("{name:10}{:>4} threads  {}\n", machine.threads(), machine.about());
            }
            emit(&lines)?;
        }
        Command::Machines { name: Some(name) } => {
            let machine = machine(&name)?;
            emit(&format!("{}: {}\n\n{}\n", machine.name(), machine.about(), machine.calibration().trim()))?;
        }
        Command::Calibrate { native, out } => emit(&calibrate::calibrate(native.as_deref(), out.as_deref())?)?,
        Command::Check { write } => check::check(write, console)?,
        Command::Run { names, on, device, seeds, limit, quick, longer, only, lines, json, svg, trace } => {
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
            if let Some(Experiment { name, threads: needed, .. }) = experiments
                .iter()
                .filter(|experiment| threads < experiment.threads)
                .max_by_key(|experiment| experiment.threads)
            {
                return Err(format!("--on {on}: {name} needs {needed} threads at least, not {threads}").into());
            }
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
    fn verdicts(&self, machine: &Machine, measured: &[Vec<Run>]) -> String {
        let middles = self.points.iter().zip(measured).map(|(point, runs)| (point, Some(Seen::middles(point, runs))));
        let mut seen: Vec<_> = middles.collect();
        self.others.iter().for_each(|(at, point)| seen.insert(*at, (point, None)));
        match (self.experiment.verdicts)(&Seen::new(seen, is_arm(machine))) {
            none if none.is_empty() => none,
            lines => lines + "\n",
        }
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
                text + &plan.verdicts(machine, &measured)
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
