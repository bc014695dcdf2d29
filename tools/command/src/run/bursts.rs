//! What `thalweg run incast` and `outcast` have in common.

use clap::Args;
use thalweg::Report;
use thalweg_apps::bursts::{Message, Work};

/// What is sent, and the work at both ends.
#[derive(Debug, Args)]
pub(crate) struct Bursts {
    /// How many messages are sent in all [default: 100000, with --paper 1000000]
    #[arg(long, value_name = "N")]
    messages: Option<u64>,
    /// Work before a message is sent, in units of ten turns of an empty loop
    #[arg(long, value_name = "UNITS", default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(..=1 << 40))]
    send: u64,
    /// Work after one is received
    #[arg(long, value_name = "UNITS", default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(..=1 << 40))]
    receive: u64,
    /// How many messages come slowly, before --fast come fast
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(..=1 << 40))]
    slow: u64,
    /// How many come fast
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(..=1 << 40))]
    fast: u64,
    /// How many units more or less a slow or a fast message takes
    #[arg(long, value_name = "UNITS", default_value_t = 0, value_parser = clap::value_parser!(u64).range(..=1 << 40))]
    amplitude: u64,
    /// As the paper has it: four of the kernel that there are several of. How many messages it has is not published, and a
    /// million are sent
    #[arg(long)]
    pub(super) paper: bool,
}

impl Bursts {
    pub(super) fn messages(&self) -> u64 {
        self.messages.unwrap_or(if self.paper { 1_000_000 } else { 100_000 })
    }

    pub(super) fn bytes(&self) -> u64 {
        self.messages().saturating_mul(size_of::<Message>() as u64)
    }

    pub(super) fn work(&self) -> Work {
        let Self { send, receive, slow, fast, amplitude, .. } = *self;
        Work { send, receive, slow, fast, amplitude }
    }
}

/// How fast `messages` went over.
pub(super) fn pace(messages: u64, report: &Report) -> String {
    let seconds = report.wall.as_secs_f64().max(1e-9);
    let (each, rate) = (seconds * 1e9 / messages.max(1) as f64, messages as f64 / seconds / 1e6);
    format!("{seconds:.3} s, {each:.0} ns for each, {rate:.2} million a second")
}

/// What part of `messages` went over each edge.
pub(super) fn shares(what: &str, counts: &[u64]) -> String {
    let all = counts.iter().sum::<u64>().max(1);
    let line = |(number, &count): (usize, &u64)| {
        format!("\n{what} {}: {count:>12} {:>6.2} %", number + 1, 100.0 * count as f64 / all as f64)
    };
    counts.iter().enumerate().map(line).collect()
}
