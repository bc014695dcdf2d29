//! `thalweg run pipeline`.

use clap::Args;
use indicatif::HumanCount;
use thalweg_apps::pipeline::{self, Config};

use super::packets::{CAPTURES, Packets, pace, text};
use super::session::Session;
use crate::Outcome;
use crate::args::Running;

#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  thalweg run pipeline --paper
  thalweg run pipeline --generate 1000000 --slots 64
  tcpdump -c 1000 -w - | thalweg run pipeline --input /dev/stdin

{CAPTURES}"))]
pub(crate) struct Pipeline {
    #[command(flatten)]
    packets: Packets,
    /// How many threads each of the two middle stages has, with `raft`
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1024))]
    fan_out: u32,
    #[command(flatten)]
    running: Running,
}

pub(super) fn run(args: Pipeline) -> Outcome {
    let mut config = Config::new(args.packets.from());
    config.scheme = args.running.scheme()?;
    config.fan_out = args.fan_out;
    config.slots = args.packets.slots();
    let session = Session::new(args.packets.bytes())?;
    let verified = pipeline::run(&config, &session)?;
    session.clear();

    let tally = &verified.tally;
    let pace = pace(tally.packets, verified.report.wall.as_secs_f64());
    let done = format!("{} packets verified in {pace}{}", HumanCount(tally.packets), text(tally));
    args.running.print(&done, &verified.report)?;
    Ok(args.packets.status(verified.damage.as_ref(), &session))
}
