//! Writes the tables of the pages from what is under `docs/measured`: `cargo lab tables`. With `--check` it only says where they differ; with
//! `--proved` it first keeps what `cargo proof` printed, which it reads: `cargo proof ff --jobs 1 | cargo lab tables --proved`.

use std::path::Path;
use std::process::ExitCode;

use thalweg_lab::tables::{keep, pages};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (check, proved) = match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => (false, false),
        ["--check"] => (true, false),
        ["--proved"] => (false, true),
        other => {
            return trouble(&format!("`lab tables` takes `--check`, `--proved` or nothing, not `{}`", other.join(" ")));
        }
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    if proved {
        match std::io::read_to_string(std::io::stdin())
            .map_err(|error| format!("cannot read what was printed: {error}"))
            .and_then(|printed| keep(&root.join("docs/measured"), &printed))
        {
            Ok(kept) => kept.iter().for_each(|(file, lines)| {
                println!("docs/measured/verification/{file}.jsonl: {lines} lines; its first says how they were made");
            }),
            Err(error) => return trouble(&error),
        }
    }
    let pages = match pages(&root) {
        Ok(pages) => pages,
        Err(error) => return trouble(&error),
    };
    let mut differ = false;
    for page in pages.iter().filter(|page| page.is != page.should_be) {
        differ = true;
        let name = page.path.strip_prefix(&root).unwrap_or(&page.path).display();
        if check {
            let lines = page.is.lines().zip(page.should_be.lines());
            let at = lines.take_while(|(is, should_be)| is == should_be).count();
            eprintln!("{name}, line {}: not what the data says; `cargo lab tables` writes it anew", at + 1);
        } else if let Err(error) = std::fs::write(&page.path, &page.should_be) {
            return trouble(&format!("cannot write {name}: {error}"));
        } else {
            println!("{name}");
        }
    }
    if check && differ { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn trouble(error: &str) -> ExitCode {
    eprintln!("error: {error}");
    ExitCode::from(2)
}
