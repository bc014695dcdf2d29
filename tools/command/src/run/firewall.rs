//! `thalweg run firewall`.

use clap::Args;
use indicatif::HumanCount;
use thalweg_apps::firewall::{self, Config};

use super::packets::{CAPTURES, Packets, pace, text};
use super::session::Session;
use crate::Outcome;
use crate::args::Running;

#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  thalweg run firewall --paper
  thalweg run firewall --input capture.pcap

What cannot be verified is let through. Of packets that are made up, one of eight is wrong.

{CAPTURES}"))]
pub(crate) struct Firewall {
    #[command(flatten)]
    packets: Packets,
    /// How many threads check, with `raft`
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    checks: u32,
    #[command(flatten)]
    running: Running,
}

pub(super) fn run(args: Firewall) -> Outcome {
    let mut config = Config::new(args.packets.from());
    config.scheme = args.running.scheme()?;
    config.checks = args.checks;
    config.slots = args.packets.slots();
    let session = Session::new(args.packets.bytes())?;
    let sorted = firewall::run(&config, &session)?;
    session.clear();

    let (correct, mistake) = (&sorted.sorted.correct, &sorted.sorted.mistake);
    let packets = correct.packets + mistake.packets;
    let done = format!(
        "{} packets let through and {} held back in {}\nlet through:{}\nheld back:{}",
        HumanCount(correct.packets),
        HumanCount(mistake.packets),
        pace(packets, sorted.report.wall.as_secs_f64()),
        text(correct),
        text(mistake),
    );
    args.running.print(&done, &sorted.report)?;
    Ok(args.packets.status(sorted.damage.as_ref(), &session))
}
