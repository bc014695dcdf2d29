//! The words of `lab` and `sim`. They depend on clap alone, so that every build of the command has them for its help, its manual pages and what
//! shells complete. What runs what they ask for is in `cli` and `machines`.
//!
//! `catalogue/help.txt` is what they say of themselves; a test of the command compares it.

#![cfg_attr(
    not(all(feature = "machines", feature = "native")),
    allow(dead_code, reason = "a build without what runs them has them for their help alone")
)]

use std::path::PathBuf;

use clap::{Args, CommandFactory, Parser, Subcommand, value_parser};

/// What `lab` takes.
pub fn lab() -> clap::Command {
    Lab::command()
}

/// What `sim` takes.
pub fn sim() -> clap::Command {
    Sim::command()
}

/// Runs experiments: thalweg beside its peers on this machine, and on modelled ones
#[derive(Debug, Parser)]
#[command(
    name = "lab",
    bin_name = "thalweg lab",
    no_binary_name = true,
    after_help = "\
Examples:
  thalweg lab list
  thalweg lab run streams/pipe3 --quick
  thalweg lab run thesis/2.8 --on x86-88t
  thalweg lab check"
)]
pub(crate) struct Lab {
    #[command(subcommand)]
    pub(crate) command: LabCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LabCommand {
    /// Lists the experiments
    List,
    /// Runs experiments and prints a table for each
    ///
    /// Every contender runs once to warm up and then in turn with the others; every result is checked. A run that was
    /// disturbed, as both CPUs were on one core or their clock was slow, which the host of a virtual machine decides, or as
    /// other processes took a fifth of a CPU, is made again, three times at most and no more in all than a table has runs; a column counts what is left. Ratios
    /// refer to the best peer of the same run. With `--on`, experiments run on a modelled machine, as by `sim run`.
    /// Exit status: 0 if everything was right, 1 if a contender failed, 2 for arguments that make no sense.
    #[command(after_help = "\
Examples:
  thalweg lab run streams/pipe3 --quick
  thalweg lab run streams/ --json - > figures.json
  thalweg lab run thesis/2.9 --quick
  thalweg lab run thesis/2.9 --on x86-88t
  thalweg lab run all --svg figures.svg")]
    Run {
        /// A name from `lab list`, a family such as `streams/`, or `all`
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,
        /// Less work and fewer runs: under half a minute for each experiment that does not say otherwise. On a modelled machine an eighth of the
        /// messages, and one seed unless --seeds is given
        #[arg(long)]
        quick: bool,
        /// Measured runs of each contender, 5 at least; without it 7, and 5 with `--quick`. More runs tell contenders apart on a restless machine
        #[arg(long, value_name = "N", value_parser = value_parser!(u16).range(5..=999), conflicts_with = "on")]
        runs: Option<u16>,
        /// Writes a line of JSON for each contender; `-` is the standard output, instead of the tables
        #[arg(long, value_name = "FILE")]
        json: Option<PathBuf>,
        /// Draws the figures
        #[arg(long, value_name = "FILE")]
        svg: Option<PathBuf>,
        /// Runs on this machine instead: a name from `sim machines` or a file ending in .toml, and how many of its threads to use
        #[arg(long, value_name = "MACHINE[:THREADS]", help_heading = ON)]
        on: Option<String>,
        #[command(flatten, next_help_heading = ON)]
        modelled: Modelled,
    },
    /// Measures what the applications' kernels compute for a message, on one worker
    ///
    /// A modelled machine sees what threads share. What a kernel computes by itself it is told: `danbi/applications` and `blq/applications` charge
    /// these prices.
    Prices {
        /// Applications, if not all
        #[arg(value_name = "NAME")]
        names: Vec<String>,
        /// Keeps them in docs/measured/prices.jsonl, and leaves other applications there as they are
        #[arg(long)]
        write: bool,
        /// The fewest messages: prices to look at, not to keep
        #[arg(long, conflicts_with = "write")]
        quick: bool,
    },
    /// Runs experiments, and keeps what they gave under docs/measured
    ///
    /// Refuses a machine that is disturbed at every second look, and runs that were and could not be made again, and says why: both CPUs on one
    /// core, a slow clock, other processes at work. What only counts is not refused. With `--on`, what is published is what a figure draws, and each of a paper's numbers beside ours; what the file says
    /// of them stays there. Tables of pages follow with `cargo lab tables`. Exit status: 0 if all is published, 2 if not.
    #[command(after_help = "\
Examples:
  thalweg lab publish streams/pipe3
  thalweg lab publish thesis/2.8 --on x86-88t --seeds 1")]
    Publish {
        /// A name from `lab list`, a family such as `streams/`, or `all`
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,
        /// Less work and fewer runs
        #[arg(long)]
        quick: bool,
        /// Measured runs of each contender, 5 at least
        #[arg(long, value_name = "N", value_parser = value_parser!(u16).range(5..=999), conflicts_with = "on")]
        runs: Option<u16>,
        /// The machine's folder under docs/measured, if it is not to be named after the processor
        #[arg(long, value_name = "FOLDER", conflicts_with = "on")]
        machine: Option<String>,
        /// Runs on this machine instead: a name from `sim machines`, and how many of its threads to use
        #[arg(long, value_name = "MACHINE[:THREADS]", help_heading = ON)]
        on: Option<String>,
        #[command(flatten, next_help_heading = ON)]
        length: Length,
    },
    /// Writes the tables of the pages from what is under docs/measured
    ///
    /// Exit status: 0 if all went well, 1 if `--check` finds a difference, 2 if there was trouble.
    Tables {
        /// Says where the tables differ from the data, and writes nothing
        #[arg(long, conflicts_with = "proved")]
        check: bool,
        /// First keeps what `cargo proof` printed, which it reads: cargo proof ff --jobs 1 | cargo lab tables --proved
        #[arg(long)]
        proved: bool,
    },
    /// Runs short forms of the figures on modelled machines, and compares them digit by digit with what is published
    ///
    /// The same command gives the same numbers on every host. Some three minutes on two CPUs. Exit status: 0 if all are as they were, 2 if not.
    Check {
        /// Puts what comes out in the place of what is published
        #[arg(long)]
        write: bool,
    },
}

const ON: &str = "On a modelled machine";

/// What is asked of a modelled machine.
#[derive(Debug, Args)]
pub(crate) struct Modelled {
    /// What Virtual-Link's routing devices have, where it differs from the usual, in the experiments that have them
    ///
    /// devices=1, links=64 (queues of each), entries=64 (slots of prodBuf and consBuf, each), reserve=1 (slots of each
    /// that belong to an open queue), quota=none (slots of each that a queue may have), in_order=on (a line waits for
    /// the answer to the one before), way=14 (cycles to the device, and back).
    #[arg(long, value_name = "OPTION=VALUE,...", requires = "on")]
    pub(crate) device: Option<String>,
    #[command(flatten)]
    pub(crate) length: Length,
    /// Only points whose workload, contender and label, as progress shows them, have this text; given again, this one too
    ///
    /// A part of a figure: what compares it with the paper is left out, and a number that needs other points is *not run*.
    #[arg(long, value_name = "TEXT", requires = "on")]
    pub(crate) only: Vec<String>,
    /// Tells for the largest point of each curve what was accessed, what that cost, and which lines were contended
    #[arg(long, requires = "on")]
    pub(crate) lines: bool,
    /// Writes who did what when, at the last point of the last experiment, for <https://ui.perfetto.dev>
    #[arg(long, value_name = "FILE", requires = "on")]
    pub(crate) trace: Option<PathBuf>,
}

/// How much of it is run on a modelled machine.
#[derive(Debug, Args)]
pub(crate) struct Length {
    /// How many seeds each point is run with, 1 to 1000, 3 by default; the tables show the middle one and the range
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..=1000), requires = "on")]
    pub(crate) seeds: Option<u64>,
    /// After how many simulated seconds a run is given up, 60 by default
    #[arg(long, value_name = "SECONDS", value_parser = value_parser!(u64).range(1..=1_000_000), requires = "on")]
    pub(crate) limit: Option<u64>,
    /// So many times the messages, 1 to 1000: for what only shows in the long run, as how fair a queue is
    #[arg(long, value_name = "TIMES", default_value_t = 1, hide_default_value = true)]
    #[arg(value_parser = value_parser!(u16).range(1..=1000), conflicts_with = "quick", requires = "on")]
    pub(crate) longer: u16,
}

/// Runs queues and streams on a modelled machine of many cores
#[derive(Debug, Parser)]
#[command(name = "sim", bin_name = "thalweg sim", no_binary_name = true)]
pub(crate) struct Sim {
    #[command(subcommand)]
    pub(crate) command: SimCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SimCommand {
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
    /// Runs experiments, and keeps under docs/measured what their figures draw, and each of a paper's numbers beside ours
    ///
    /// What the file says of them stays there. Tables of pages follow with `cargo lab tables`. Exit status: 0 if all is published, 2 if not.
    Publish {
        /// A name from `sim list`, or `all`
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,
        /// The machine: a name from `sim machines`, and how many of its threads to use
        #[arg(long, value_name = "MACHINE[:THREADS]")]
        on: String,
        /// An eighth of the messages
        #[arg(long)]
        quick: bool,
        #[command(flatten)]
        length: Length,
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
  thalweg sim run danbi/applications --on x86-40 --only gaussian \\
      --only 'qes, 40 cores' --trace rg.json
  thalweg sim run wide --on x86-88t:64 --trace wide.json")]
    Run {
        /// A name from `sim list`, `all`, or the name of one program of yours
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,
        /// The machine: a name from `sim machines` or a file ending in .toml, and how many of its threads to use
        #[arg(long, value_name = "MACHINE[:THREADS]")]
        on: String,
        /// An eighth of the messages, and one seed unless --seeds is given: figures to look at, not to quote
        #[arg(long)]
        quick: bool,
        /// Writes a line of JSON for each point, beside the tables; `-` is the standard output, instead of the tables
        #[arg(long, value_name = "FILE")]
        json: Option<PathBuf>,
        /// Draws the figures
        #[arg(long, value_name = "FILE")]
        svg: Option<PathBuf>,
        #[command(flatten)]
        modelled: Modelled,
    },
}
