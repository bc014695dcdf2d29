//! `thalweg run incast`.

use clap::Args;
use indicatif::HumanCount;
use thalweg_apps::incast::{self, Config};

use super::bursts::{Bursts, pace, shares};
use super::session::Session;
use crate::Outcome;
use crate::args::Running;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  thalweg run incast
  thalweg run incast --paper
  thalweg run incast --producers 16 --send 0 --receive 0 --messages 10000000
  thalweg run incast --slow 1000 --fast 1000 --amplitude 900")]
pub(crate) struct Incast {
    /// How many kernels send
    #[arg(long, value_name = "N", default_value_t = 4, conflicts_with = "paper", value_parser = clap::value_parser!(u16).range(1..=4096))]
    producers: u16,
    #[command(flatten)]
    bursts: Bursts,
    #[command(flatten)]
    running: Running,
}

pub(super) fn run(args: Incast) -> Outcome {
    let mut config = Config::new(args.bursts.messages());
    config.producers = args.producers.into();
    config.work = args.bursts.work();
    config.scheme = args.running.scheme()?;
    let session = Session::new(Some(args.bursts.bytes()))?;
    let all = incast::run(&config, &session)?;
    let messages = all.received.messages;
    let pace = pace(messages, &all.report);
    let done = format!("{} messages received in {pace}{}", HumanCount(messages), shares("from producer", &all.from));
    args.running.end(&session, &done, &all.report)
}
