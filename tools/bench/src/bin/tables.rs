//! Writes the tables of the pages from what is under `docs/measured`: `cargo lab tables`; with `--check`, only says where they differ.

use std::path::Path;
use std::process::ExitCode;

use thalweg_lab::tables::pages;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let check = match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => false,
        ["--check"] => true,
        other => return trouble(&format!("`lab tables` takes `--check` or nothing, not `{}`", other.join(" "))),
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
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
