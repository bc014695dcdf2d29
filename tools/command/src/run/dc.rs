//! `thalweg run dc`.

use std::fmt::Write;

use clap::Args;
use indicatif::HumanCount;
use thalweg_apps::dc::{self, Config, Degrees};
use thalweg_apps::edges::{Direction, Network};

use super::network::{FORMS, From};
use super::session::Session;
use crate::Outcome;
use crate::args::Running;

/// The width of the longest bar.
const WIDTH: u64 = 40;

#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  thalweg run dc --paper
  thalweg run dc --input web-Google.txt
  thalweg run dc --input facebook_combined.txt --undirected

{FORMS}"))]
pub(crate) struct Dc {
    #[command(flatten)]
    from: From,
    /// Takes each edge for one that leads both ways
    #[arg(long)]
    undirected: bool,
    /// How many threads count, with `raft`
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1024))]
    counts: u32,
    #[command(flatten)]
    running: Running,
}

pub(super) fn run(args: Dc) -> Outcome {
    let scheme = args.running.scheme()?;
    let session = Session::new(args.from.bytes())?;
    let direction = if args.undirected { Direction::BothWays } else { Direction::OneWay };
    let network = args.from.network(direction, scheme, &session)?;
    let counted = dc::run(&network, &Config { counts: args.counts, scheme }, &session)?;
    let text = format!("{}{}", args.from.about(&network), text(&network, &counted.degrees));
    args.running.end(&session, &text, &counted.report)
}

fn text(network: &Network, degrees: &Degrees) -> String {
    if network.direction() == Direction::BothWays {
        return side(network, "at", &degrees.out);
    }
    side(network, "from", &degrees.out) + &side(network, "to", &degrees.into)
}

/// How many edges lead one way: how that is spread, and where there are most.
fn side(network: &Network, way: &str, degrees: &[u32]) -> String {
    let Some(spread) = Degrees::spread(degrees) else { return String::new() };
    let mut text = format!(
        "\nedges {way} a vertex: {} to {}, {} in the middle, {:.2} on average",
        HumanCount(spread.least.into()),
        HumanCount(spread.most.into()),
        HumanCount(spread.median.into()),
        spread.mean
    );
    let counts = Degrees::histogram(degrees);
    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    for (class, &vertices) in counts.iter().enumerate() {
        let range = match class {
            0 | 1 => class.to_string(),
            _ => format!("{} - {}", 1_u64 << (class - 1), (1_u64 << class) - 1),
        };
        let bar = "#".repeat((vertices * WIDTH).div_ceil(most) as usize);
        // Writing to a string does not fail.
        let _ = write!(text, "\n{range:>24} {:>12} {bar}", HumanCount(vertices).to_string());
    }
    let _ = write!(text, "\n  most edges {way}:");
    for (vertex, degree) in Degrees::top(degrees) {
        let _ = write!(text, " {} ({})", network.label(vertex), HumanCount(degree.into()));
    }
    text
}
