//! `thalweg run chasing`.

use clap::Args;
use indicatif::{BinaryBytes, HumanCount};
use thalweg_apps::chasing::{self, Config, LINES};
use thalweg_sync::time::Duration;

use super::session::Session;
use crate::Outcome;
use crate::args::Running;

/// Bytes of a line of the cache.
const LINE: u64 = 64;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  thalweg run chasing
  thalweg run chasing --paper
  thalweg run chasing --segment 64 --rounds 1 --nops 0
  thalweg run chasing --all --copies 20

One message of a thousand passes the filter.")]
pub(crate) struct Chasing {
    /// How many messages are sent [default: 1000000, with --paper 10000000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=1 << 40))]
    messages: Option<u64>,
    /// How many threads generate, with `raft`
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1024))]
    generators: u32,
    /// How many threads filter, with `raft`; with more than one the filter runs on all cores under other schemes
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    filters: u32,
    /// How many kernels are between filter and count
    #[arg(long, value_name = "N", default_value_t = 9, value_parser = clap::value_parser!(u16).range(..=1024))]
    copies: u16,
    /// How long each message takes to generate, at least
    #[arg(long, value_name = "NS", default_value_t = 0)]
    delay: u64,
    /// How many lines of the cache, 64 bytes each, the table has
    #[arg(long, value_name = "N", default_value_t = LINES as u32, value_parser = clap::value_parser!(u32).range(1..=1 << 26))]
    lines: u32,
    /// How many of them a segment has
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..))]
    segment: u32,
    /// How often the filter goes round a segment
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u64).range(..=1 << 20))]
    rounds: u64,
    /// How many turns of an empty loop the filter works beside
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(..=1 << 40))]
    nops: u64,
    /// Lets all messages pass
    #[arg(long)]
    all: bool,
    /// As the paper has it. How many messages it has is not published, and ten million are sent
    #[arg(long, conflicts_with_all = ["generators", "filters", "copies", "delay", "lines", "segment", "rounds", "nops", "all"])]
    paper: bool,
    #[command(flatten)]
    running: Running,
}

pub(super) fn run(args: Chasing) -> Outcome {
    let messages = args.messages.unwrap_or(if args.paper { 10_000_000 } else { 1_000_000 });
    let config = Config {
        messages,
        generators: args.generators,
        filters: args.filters,
        copies: args.copies.into(),
        delay: Duration::from_nanos(args.delay),
        lines: args.lines as usize,
        segment: args.segment as usize,
        rounds: args.rounds,
        nops: args.nops,
        all: args.all,
        scheme: args.running.scheme()?,
    };
    let session = Session::new(Some(messages.saturating_mul(LINE * u64::from(args.segment))))?;
    let chased = chasing::run(&config, &session)?;
    let sent = chased.report.kernel("sequence").map_or(0, |kernel| kernel.messages_out);
    let seconds = chased.report.wall.as_secs_f64();
    let done = format!(
        "{} of {} messages passed in {seconds:.3} s, {:.0} ns for each\n{} lines read in front of the filter, from a table of {}",
        HumanCount(chased.passed.messages),
        HumanCount(sent),
        seconds * 1e9 / sent.max(1) as f64,
        HumanCount(sent * u64::from(args.segment) * args.rounds),
        BinaryBytes(u64::from(args.lines) * LINE),
    );
    args.running.end(&session, &done, &chased.report)
}
