//! The network that `thalweg run tc`, `dc` and `bc` look at.

use std::error::Error;
use std::fs;
use std::path::PathBuf;

use clap::Args;
use thalweg::Scheme;
use thalweg_apps::edges::{Direction, Input, Network, read, synthetic};

use super::session::Session;

/// What `--input` takes, for the end of a help text.
pub(super) const FORMS: &str = "\
An input is a list of edges (two whole numbers in a line, between spaces, tabs, `,` or `|`; # begins a comment), a folder with \
vertex.csv and edge.csv, or a Matrix Market file (coordinate); `-` is standard input. What is none of these is refused with its line. \
Edges from a vertex to itself are left out, and an edge that is there twice counts once.";

/// Where a network comes from.
#[derive(Debug, Args)]
pub(crate) struct From {
    /// The network: a file of edges, or a folder with vertex.csv and edge.csv
    #[arg(long, value_name = "PATH", required_unless_present_any = ["generate", "paper"])]
    input: Option<PathBuf>,
    /// Makes up a network of N vertices, with 15 edges for each
    #[arg(long, value_name = "N", conflicts_with = "input", value_parser = clap::value_parser!(u64).range(1..=1 << 24))]
    generate: Option<u64>,
    /// Makes up a network of the size of the paper's: 1000 vertices, 14895 edges
    #[arg(long, conflicts_with_all = ["input", "generate"])]
    paper: bool,
}

impl From {
    /// Reads or makes the network.
    pub(super) fn network(
        &self,
        direction: Direction,
        scheme: Scheme,
        session: &Session,
    ) -> Result<Network, Box<dyn Error>> {
        match (&self.input, self.generate) {
            (Some(path), _) => Ok(read(&Input { path: path.clone(), direction, scheme }, session)?),
            (None, Some(vertices)) => Ok(synthetic::network(vertices, 15 * vertices)?),
            (None, None) => Ok(synthetic::network(synthetic::PAPER_VERTICES, synthetic::PAPER_EDGES)?),
        }
    }

    /// How many bytes there are to read, if that is known.
    pub(super) fn bytes(&self) -> Option<u64> {
        let path = self.input.as_ref()?;
        let path = if path.is_dir() { path.join("edge.csv") } else { path.clone() };
        fs::metadata(path).ok().filter(fs::Metadata::is_file).map(|metadata| metadata.len())
    }

    /// What the summary says of the network, on a line of its own.
    pub(super) fn about(&self, network: &Network) -> String {
        match (&self.input, self.paper) {
            (Some(path), _) => format!("{}: {network}", path.display()),
            (None, true) => format!("made up in the size of the paper's, whose data is not here: {network}"),
            (None, false) => format!("made up: {network}"),
        }
    }
}
