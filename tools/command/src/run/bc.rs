//! `thalweg run bc`.

use std::fmt::Write;

use clap::Args;
use indicatif::HumanCount;
use thalweg_apps::bc::{self, Config, Summary};
use thalweg_apps::edges::{Direction, Network};

use super::network::{FORMS, From};
use super::session::Session;
use crate::Outcome;
use crate::args::Running;

#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  thalweg run bc --paper
  thalweg run bc --input facebook_combined.txt
  thalweg run bc --input web-Google.txt --directed --sources 200

The time is that of vertices x edges; --sources N takes N vertices instead of all, and estimates.

{FORMS}"))]
pub(crate) struct Bc {
    #[command(flatten)]
    from: From,
    /// Edges lead one way, from the first vertex to the second
    #[arg(long)]
    directed: bool,
    /// Looks for paths from N vertices only, and estimates
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    sources: Option<u32>,
    /// How many threads look for paths, with `raft`
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1024))]
    paths: u32,
    #[command(flatten)]
    running: Running,
}

pub(super) fn run(args: Bc) -> Outcome {
    let scheme = args.running.scheme()?;
    let session = Session::new(args.from.bytes())?;
    let direction = if args.directed { Direction::OneWay } else { Direction::BothWays };
    let network = args.from.network(direction, scheme, &session)?;
    let computed = bc::run(&network, &Config { sources: args.sources, paths: args.paths, scheme }, &session)?;
    let text = format!("{}\n{}", args.from.about(&network), text(&network, &computed));
    args.running.end(&session, &text, &computed.report)
}

fn text(network: &Network, computed: &Summary) -> String {
    let centrality = &computed.centrality;
    let (sources, vertices) = (centrality.sources, network.vertices() as u64);
    let mut text = if sources < vertices {
        format!("estimated from {} of {} vertices", HumanCount(sources), HumanCount(vertices))
    } else {
        format!("shortest paths from all {} vertices", HumanCount(vertices))
    };
    let top = centrality.top();
    if top.is_empty() {
        text += "; no vertex lies between others";
        return text;
    }
    // Writing to a string does not fail.
    let _ = write!(text, "\n{:>12}  {:>16}  {:>12}  {:>10}", "vertex", "betweenness", "of all pairs", "neighbours");
    for (vertex, score) in top {
        let share = 100.0 * centrality.share(network, score);
        let (label, neighbours) = (network.label(vertex), HumanCount(network.neighbours(vertex).len() as u64));
        let neighbours = neighbours.to_string();
        let _ = write!(text, "\n{label:>12}  {score:>16.2}  {share:>10.3} %  {neighbours:>10}");
    }
    text
}
