//! `thalweg run outcast`.

use clap::Args;
use indicatif::HumanCount;
use thalweg_apps::outcast::{self, Config};

use super::bursts::{Bursts, pace, shares};
use super::session::Session;
use crate::Outcome;
use crate::args::Running;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  thalweg run outcast
  thalweg run outcast --paper
  thalweg run outcast --consumers 16 --send 0 --receive 0 --messages 10000000
  thalweg run outcast --slow 1000 --fast 1000 --amplitude 900")]
pub(crate) struct Outcast {
    /// How many kernels receive
    #[arg(long, value_name = "N", default_value_t = 4, conflicts_with = "paper", value_parser = clap::value_parser!(u16).range(1..=4096))]
    consumers: u16,
    #[command(flatten)]
    bursts: Bursts,
    #[command(flatten)]
    running: Running,
}

pub(super) fn run(args: Outcast) -> Outcome {
    let mut config = Config::new(args.bursts.messages());
    config.consumers = args.consumers.into();
    config.work = args.bursts.work();
    config.scheme = args.running.scheme()?;
    let session = Session::new(Some(args.bursts.bytes()))?;
    let all = outcast::run(&config, &session)?;
    let counts: Vec<u64> = all.received.iter().map(|received| received.messages).collect();
    let messages = counts.iter().sum();
    let pace = pace(messages, &all.report);
    let done = format!("{} messages received in {pace}{}", HumanCount(messages), shares("by consumer", &counts));
    args.running.end(&session, &done, &all.report)
}
