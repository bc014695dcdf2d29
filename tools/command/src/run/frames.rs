//! `thalweg run frames`.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

use indicatif::HumanCount;
use thalweg_apps::frames::{self, Config, Rewrite, Rules, synthetic};

use super::session::Session;
use crate::args::Frames;
use crate::terminal::{complain, emit};
use crate::{Outcome, TROUBLE};

pub(super) fn run(args: Frames) -> Outcome {
    super::check_files(args.input.as_deref(), &args.output)?;
    let Some(input) = args.input else {
        return generate(args.generate.unwrap_or(0), &args.output);
    };
    let mut config = Config::new(&input, &args.output);
    config.scheme = args.running.scheme()?;
    config.rules = Rules {
        keep: args.keep,
        drop: args.drop,
        rewrite: Rewrite {
            source: args.rewrite_src,
            destination: args.rewrite_dst,
            source_mac: args.rewrite_src_mac,
            destination_mac: args.rewrite_dst_mac,
        },
    };
    let session = Session::new(fs::metadata(&input).ok().filter(fs::Metadata::is_file).map(|metadata| metadata.len()))?;
    let forwarded = frames::run(&config, &session)?;
    session.clear();

    let counts = forwarded.counts;
    let done = format!(
        "{} of {} frames written to {}, {} of them rewritten",
        HumanCount(counts.kept),
        HumanCount(counts.frames),
        args.output.display(),
        HumanCount(counts.rewritten),
    );
    let foreign = match counts.foreign {
        0 => String::new(),
        frames => format!("; besides, {} frames of other link types than Ethernet, as they were", HumanCount(frames)),
    };
    let done = done + &foreign;
    args.running.print(&done, &forwarded.report)?;
    Ok(session.status(match forwarded.damage {
        None => ExitCode::SUCCESS,
        Some(damage) => {
            let input = input.display();
            complain(&format!("{input} cannot be forwarded further: {damage}; what is before that is written"));
            ExitCode::from(TROUBLE)
        }
    }))
}

fn generate(count: u64, output: &Path) -> Outcome {
    let write = || {
        let mut file = BufWriter::new(File::create(output)?);
        synthetic::capture(count, &mut file)?;
        file.flush()
    };
    write().map_err(|error| format!("cannot write {}: {error}", output.display()))?;
    emit(&format!("{} made-up frames written to {}\n", HumanCount(count), output.display()))?;
    Ok(ExitCode::SUCCESS)
}
