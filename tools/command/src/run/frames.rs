//! `thalweg run frames`.

use std::fs::{self, File};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use indicatif::HumanCount;
use thalweg_apps::frames::{self, Config, Rewrite, Rules, synthetic};

use super::session::Session;
use crate::args::{Frames, ReportFormat};
use crate::terminal::{complain, emit};
use crate::{Outcome, TROUBLE};

pub(super) fn run(args: Frames) -> Outcome {
    let to_standard = args.output.as_os_str() == "-";
    if !to_standard {
        super::check_files(None, &args.output)?;
    } else if io::stdout().is_terminal() {
        return Err(
            "standard output is a terminal, and a capture is not for reading; pipe it, as in `| tcpdump -nr -`".into(),
        );
    } else if matches!(args.running.report, ReportFormat::Json | ReportFormat::Dot) {
        return Err(
            "standard output has the capture, and cannot have the report too; choose `--report table` or `none`".into(),
        );
    }
    let input = match (&args.interface, args.input) {
        (Some(name), _) => PathBuf::from(name),
        (None, Some(input)) => input,
        (None, None) => return generate(args.generate.unwrap_or(0), &args.output),
    };
    let mut config = Config::new(&input, &args.output);
    config.interface = args.interface;
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
        if to_standard { "standard output".into() } else { args.output.to_string_lossy() },
        HumanCount(counts.rewritten),
    );
    let foreign = match counts.foreign {
        0 => String::new(),
        frames => {
            format!("; besides, {} frames of link types that are not understood, as they were", HumanCount(frames))
        }
    };
    let lost = match forwarded.lost {
        0 => String::new(),
        frames => format!("; {} frames were lost, as they came faster than they were read", HumanCount(frames)),
    };
    let done = done + &foreign + &lost;
    if to_standard {
        args.running.tell(&done, &forwarded.report);
    } else {
        args.running.print(&done, &forwarded.report)?;
    }
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
        let file: Box<dyn Write> =
            if output.as_os_str() == "-" { Box::new(io::stdout()) } else { Box::new(File::create(output)?) };
        let mut file = BufWriter::new(file);
        synthetic::capture(count, &mut file)?;
        file.flush()
    };
    write().map_err(|error| format!("cannot write {}: {error}", output.display()))?;
    if output.as_os_str() == "-" {
        return Ok(ExitCode::SUCCESS);
    }
    emit(&format!("{} made-up frames written to {}\n", HumanCount(count), output.display()))?;
    Ok(ExitCode::SUCCESS)
}
