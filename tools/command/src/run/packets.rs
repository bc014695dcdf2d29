//! What `thalweg run pipeline` and `firewall` have in common.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use indicatif::HumanCount;
use thalweg_apps::frames::Damage;
use thalweg_apps::packets::{From, SLOTS, Tally, Verdict};

use super::session::Session;
use crate::TROUBLE;
use crate::terminal::complain;

/// What `--input` takes, for the end of a help text.
pub(super) const CAPTURES: &str = "\
A capture is pcap or pcapng, of Ethernet frames, and can be a pipe (/dev/stdin). From one that is cut off or corrupt, all packets before \
that are verified, and the exit status is 2. Segments of which a part is missing cannot be verified, and are counted apart.";

/// Packets that `--paper` makes up.
const PAPER: u64 = 1_000_000;

/// Where packets come from.
#[derive(Debug, Args)]
pub(crate) struct Packets {
    /// The capture to read
    #[arg(long, value_name = "FILE", required_unless_present_any = ["generate", "paper"])]
    input: Option<PathBuf>,
    /// Makes up N packets
    #[arg(long, value_name = "N", conflicts_with = "input")]
    generate: Option<u64>,
    /// As the paper has it; how many packets it has is not published, and a million are made up
    #[arg(long, conflicts_with_all = ["input", "generate"])]
    paper: bool,
    /// How many slots go round: the last kernels send each back to the first, so that no more packets are under way
    #[arg(long, value_name = "N", default_value_t = SLOTS as u32, value_parser = clap::value_parser!(u32).range(1..))]
    slots: u32,
    /// Without the way back, as BLQ's own programs are: the edges bound how many packets are under way
    #[arg(long, conflicts_with = "slots")]
    acyclic: bool,
}

impl Packets {
    pub(super) fn from(&self) -> From {
        match &self.input {
            Some(path) => From::Capture(path.clone()),
            None => From::Made(self.generate.unwrap_or(PAPER)),
        }
    }

    /// How many slots go round, if they do.
    pub(super) fn slots(&self) -> Option<usize> {
        (!self.acyclic).then_some(self.slots as usize)
    }

    /// How many bytes there are to read, if that is known.
    pub(super) fn bytes(&self) -> Option<u64> {
        let input = self.input.as_ref()?;
        fs::metadata(input).ok().filter(fs::Metadata::is_file).map(|metadata| metadata.len())
    }

    /// The exit status, after what there is to complain of.
    pub(super) fn status(&self, damage: Option<&Damage>, session: &Session) -> ExitCode {
        let (Some(damage), Some(input)) = (damage, &self.input) else { return session.status(ExitCode::SUCCESS) };
        complain(&format!("{} cannot be read further: {damage}; what is before that was verified", input.display()));
        session.status(ExitCode::from(TROUBLE))
    }
}

/// How fast it went.
pub(super) fn pace(packets: u64, seconds: f64) -> String {
    if packets < 1_000 {
        return format!("{seconds:.3} s");
    }
    format!("{seconds:.3} s, {:.0} ns for each packet", seconds * 1e9 / packets as f64)
}

/// What was found of the packets.
pub(super) fn text(tally: &Tally) -> String {
    let mut text = String::new();
    let mut line = |what: &str, right: u64, wrong: u64| {
        // Writing to a string does not fail.
        let _ = write!(text, "\n{what:>6}: {} right, {} wrong", HumanCount(right), HumanCount(wrong));
    };
    line("IPv4", tally.ip_right, tally.ip_wrong);
    line("TCP", tally.tcp_right, tally.tcp_wrong);
    if tally.partial > 0 {
        let _ = write!(text, ", {} not to be verified, as a part is missing", HumanCount(tally.partial));
    }
    if tally.others > 0 {
        let _ = write!(text, "\n{:>6}: {} frames without IPv4", "others", HumanCount(tally.others));
    }
    for wrong in &tally.wrong {
        let [source, destination] = wrong.ends.map(|(address, port)| match port {
            0 => address.to_string(),
            port => format!("{address}:{port}"),
        });
        let _ = write!(text, "\n  packet {}, {source} > {destination}", wrong.number);
        for (what, verdict) in [("IPv4", wrong.ip), ("TCP", wrong.tcp)] {
            if let Verdict::Wrong { found, expected } = verdict {
                let _ = write!(text, ", {what} has {found:04x}, not {expected:04x}");
            }
        }
    }
    let more = tally.ip_wrong.max(tally.tcp_wrong).saturating_sub(tally.wrong.len() as u64);
    if more > 0 {
        text += "\n  …";
    }
    if let Some(source) = tally.only_source() {
        let _ = write!(
            text,
            "\nall wrong checksums of TCP are from {source}: if that machine captured them, its network card fills them in later"
        );
    }
    text
}
