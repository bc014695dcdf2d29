//! `thalweg sim`: experiments on modelled machines.

mod point;
mod queues;
mod streams;
mod vl;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use thalweg_sim::{Failure, Heap, Machine, Report};
use thalweg_sync::sync::Mutex;
use thalweg_sync::thread;

use crate::Outcome;
use crate::terminal::emit;
use point::{Figures, Point};

/// Numbers that do not depend on the host.
#[global_allocator]
static HEAP: Heap = Heap;

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
    /// Runs experiments and prints a table for each
    ///
    /// The same command gives the same numbers everywhere. Exit status: 0 if all went well, 2 if not.
    #[command(after_help = "\
Examples:
  thalweg sim run sim/bbq --on x86-88t
  thalweg sim run sim/farm --on arm-96t:32 --lines
  thalweg sim run sim/lamport --on my-machine.toml --json -")]
    Run {
        /// A name from `sim list`, or `all`
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,
        /// The machine: a name from `sim machines` or a file ending in .toml, and how many of its threads to use
        #[arg(long, value_name = "MACHINE[:THREADS]")]
        on: String,
        /// How many seeds each point is run with; the tables show the middle one and the range
        #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=1000))]
        seeds: u64,
        /// Tells for the largest point of each curve which lines were contended
        #[arg(long)]
        lines: bool,
        /// Writes a line of JSON for each point; `-` is the standard output, instead of the tables
        #[arg(long, value_name = "FILE")]
        json: Option<PathBuf>,
    },
}

/// One entry of the registry.
struct Experiment {
    name: &'static str,
    what: &'static str,
    /// The points on a machine of which so many threads are used.
    plan: fn(&Machine, usize) -> Vec<Point>,
}

const EXPERIMENTS: [Experiment; 7] = [
    Experiment { name: "sim/bbq", what: "BBQ: one to one, then n to n, n to one, one to n", plan: queues::on_bbq },
    Experiment { name: "sim/locked", what: "a ring behind a lock: as sim/bbq", plan: queues::on_locked },
    Experiment {
        name: "sim/fast-forward",
        what: "FastForward: one to one, by distance",
        plan: queues::on_fast_forward,
    },
    Experiment {
        name: "sim/lamport",
        what: "Lamport's ring, plain and cached: one to one, by distance",
        plan: queues::on_lamport,
    },
    Experiment { name: "sim/chunk-ring", what: "the chunk ring: one to one, by distance", plan: queues::on_chunk_ring },
    Experiment { name: "sim/chain", what: "streams: a source, six stages of 200 cycles, a sink", plan: streams::chain },
    Experiment {
        name: "sim/farm",
        what: "streams: a source, a parallel kernel of 20000 cycles, a sink",
        plan: streams::farm,
    },
];

/// All of them.
fn experiments() -> impl Iterator<Item = &'static Experiment> {
    EXPERIMENTS.iter().chain(&vl::EXPERIMENTS)
}

/// Runs the command. `args` are the arguments after `sim`.
pub(crate) fn run(args: Vec<String>) -> Outcome {
    let command = match Arguments::try_parse_from(args) {
        Ok(arguments) => arguments.command,
        Err(error) => error.exit(),
    };
    match command {
        Command::List => {
            let width = experiments().map(|experiment| experiment.name.len()).max().unwrap_or(0);
            let line = |experiment: &Experiment| format!("{:width$}  {}\n", experiment.name, experiment.what);
            emit(&experiments().map(line).collect::<String>())?;
        }
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
        Command::Run { names, on, seeds, lines, json } => {
            let experiments = select(&names)?;
            let (machine, threads) = place(&on)?;
            run_all(&experiments, &machine, threads, seeds, lines, json.as_deref())?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The machine of a name or a file.
fn machine(name: &str) -> Result<Machine, Box<dyn Error>> {
    let machine = if name.ends_with(".toml") { Machine::from_file(name) } else { Machine::named(name) };
    Ok(machine?)
}

/// What `MACHINE[:THREADS]` means.
fn place(on: &str) -> Result<(Machine, usize), Box<dyn Error>> {
    let (name, threads) = match on.rsplit_once(':') {
        Some((name, threads)) => (name, Some(threads)),
        None => (on, None),
    };
    let machine = machine(name)?;
    let most = machine.threads();
    let threads = match threads {
        None => most,
        Some(text) => match text.parse() {
            Ok(threads) if (2..=most).contains(&threads) => threads,
            _ => {
                return Err(
                    format!("--on {on}: THREADS must be from 2 to {most}, which {name} has, not {text:?}").into()
                );
            }
        },
    };
    Ok((machine, threads))
}

fn select(names: &[String]) -> Result<Vec<&'static Experiment>, Box<dyn Error>> {
    let mut selected: Vec<&Experiment> = Vec::new();
    for name in names {
        let matching: Vec<_> = experiments().filter(|one| name == "all" || one.name == name).collect();
        if matching.is_empty() {
            let known: Vec<_> = experiments().map(|experiment| experiment.name).collect();
            return Err(format!("there is no experiment {name:?}; there are {} and `all`", known.join(", ")).into());
        }
        for experiment in matching {
            if selected.iter().all(|seen| seen.name != experiment.name) {
                selected.push(experiment);
            }
        }
    }
    Ok(selected)
}

fn run_all(
    experiments: &[&Experiment],
    machine: &Machine,
    threads: usize,
    seeds: u64,
    lines: bool,
    json: Option<&Path>,
) -> Result<(), Box<dyn Error>> {
    let mut text = String::new();
    let mut done = Vec::new();
    for experiment in experiments {
        let points = (experiment.plan)(machine, threads);
        let measured = measure(machine, &points, seeds)?;
        match json {
            Some(_) => {
                for (point, runs) in points.iter().zip(&measured) {
                    text += &point.records(experiment.name, machine, runs)?;
                }
            }
            None => text += &point::table(experiment.name, machine, threads, &points, &measured, lines),
        }
        done.push((points, measured));
    }
    if json.is_none() {
        text += &vl::beside_the_paper(&done);
    }
    match json {
        Some(path) if path != Path::new("-") => {
            std::fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        }
        _ => emit(&text)?,
    }
    Ok(())
}

/// What a point gave with one seed.
type Run = (Figures, Report);

/// Runs every point with every seed, several at a time: simulations do not share anything.
fn measure(machine: &Machine, points: &[Point], seeds: u64) -> Result<Vec<Vec<Run>>, Box<dyn Error>> {
    let tasks: Vec<(usize, u64)> =
        (0..points.len()).rev().flat_map(|point| (0..seeds).map(move |seed| (point, seed))).collect();
    let tasks = Mutex::new(tasks);
    let results = Mutex::new(Vec::new());
    let next = || tasks.lock().expect("no worker panics here").pop();
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism() {
            scope.spawn(|| {
                while let Some((point, seed)) = next() {
                    let result: Result<Run, Failure> = points[point].run(machine, seed);
                    results.lock().expect("no worker panics here").push((point, seed, result));
                }
            });
        }
    });
    let mut results = results.into_inner().expect("no worker panicked");
    results.sort_by_key(|&(point, seed, _)| (point, seed));
    let mut measured: Vec<Vec<Run>> = points.iter().map(|_| Vec::new()).collect();
    for (point, seed, result) in results {
        let run = result.map_err(|failure| format!("{}, seed {seed}: {failure}", points[point].title()))?;
        measured[point].push(run);
    }
    Ok(measured)
}
