//! `thalweg run tc`.

use std::fmt::Write;

use clap::Args;
use indicatif::HumanCount;
use thalweg::End;
use thalweg_apps::edges::{Direction, Network};
use thalweg_apps::tc::{self, Config, Summary};

use super::network::{FORMS, From};
use super::session::Session;
use crate::Outcome;
use crate::args::Running;

#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  thalweg run tc --paper
  thalweg run tc --generate 100000
  thalweg run tc --input facebook_combined.txt

{FORMS} Which way an edge leads is no matter."))]
pub(crate) struct Tc {
    #[command(flatten)]
    from: From,
    /// How many threads look up edges, with `raft`
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    lookups: u32,
    /// How many threads count, with `raft`
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1024))]
    counts: u32,
    #[command(flatten)]
    running: Running,
}

pub(super) fn run(args: Tc) -> Outcome {
    let scheme = args.running.scheme()?;
    let session = Session::new(args.from.bytes())?;
    let network = args.from.network(Direction::BothWays, scheme, &session)?;
    let counted = tc::run(&network, &Config { lookups: args.lookups, counts: args.counts, scheme }, &session)?;
    let text = format!("{}\n{}", args.from.about(&network), text(&network, &counted));
    args.running.end(&session, &text, &counted.report)
}

fn text(network: &Network, counted: &Summary) -> String {
    let triangles = &counted.triangles;
    let mut text = format!("{} triangles", HumanCount(triangles.total()));
    // Writing to a string does not fail.
    let _ = match (counted.report.end, triangles.transitivity(network)) {
        (End::Stopped, _) => write!(text, " at the {} edges looked at so far", HumanCount(triangles.edges)),
        (_, Some(share)) => {
            write!(text, "; of the pairs of neighbours of a vertex, {:.2} % are neighbours", 100.0 * share)
        }
        (_, None) => Ok(()),
    };
    if triangles.total() > 0 {
        let _ = write!(text, "\n{:>12}  {:>12}  {:>12}  {:>10}", "vertex", "triangles", "neighbours", "clustering");
    }
    for (vertex, count) in triangles.top() {
        let (count, neighbours) = (HumanCount(count), HumanCount(network.neighbours(vertex).len() as u64));
        let clustering = 100.0 * triangles.clustering(network, vertex).unwrap_or(0.0);
        let (label, count, neighbours) = (network.label(vertex), count.to_string(), neighbours.to_string());
        let _ = write!(text, "\n{label:>12}  {count:>12}  {neighbours:>12}  {clustering:>8.2} %");
    }
    text
}
