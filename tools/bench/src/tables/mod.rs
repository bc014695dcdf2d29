//! The tables of the pages, from what was measured.
//!
//! What is published lies under `docs/measured`, a file for each machine and experiment (`data.rs`). A page says where a table stands, and
//! everything between its two marks is generated:
//!
//! ```text
//! <!-- measured zen4-2t/queues/1p1c-item: contender by workload -->
//! <!-- end -->
//! ```
//!
//! | after the colon | the table |
//! |---|---|
//! | `contender by workload` | a row for each of the first, a column for each of the second; `machine`, `experiment`, `unit`, `point`, `quantity` and `curve` are others |
//! | `list figure, paper, here` | a row for each record, with these fields; counts of five digits and more are grouped; the last column is `date` if records have dates of their own |
//!
//! `*` in a path stands for anything between two slashes; a comma and a space separate several. `[workload=*, yielding]` before the colon leaves out
//! records whose `workload` does not end so; without `*`, it is the whole of it. `[unit=ns] [contender=a|b]` asks for both, and for one of two.
//! Computed are `quantity`, the workload and the unit, where a run has several of them, `curve`, the contender and the quantity, and `case`, the workload and the contender.
//! What is published of figures on modelled machines is in `figures.rs`.
//! `<!-- catalogue native -->` and `<!-- catalogue machines -->` list the experiments, and `<!-- comparisons -->` is the README's table.

mod comparisons;
mod data;
mod figures;
mod layout;
mod proved;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::catalogue::{self, World};
pub use data::{Run, load};
pub use proved::keep;

/// The pages that have tables.
const PAGES: [&str; 7] = [
    "README.md",
    "bindings/java/README.md",
    "docs/measurements.md",
    "docs/simulator.md",
    "docs/verification.md",
    "docs/guide/src/checking.md",
    "docs/guide/src/hardware.md",
];
const END: &str = "<!-- end -->";

/// A page, and what it should be.
#[derive(Debug)]
pub struct Page {
    /// Where it is.
    pub path: PathBuf,
    /// What is there.
    pub is: String,
    /// What should be there.
    pub should_be: String,
}

/// All pages under `root`, the folder of the checkout.
///
/// # Errors
///
/// A page or a file of figures that cannot be read, and a mark that says nothing that there is.
pub fn pages(root: &Path) -> Result<Vec<Page>, String> {
    PAGES.iter().map(|page| root.join(page)).map(|path| fill(root, path)).collect()
}

/// `lab tables`: writes the tables of all pages, or with `check` only says where they differ. With `proved` it first keeps what `cargo proof` printed, which
/// it reads.
pub fn run(check: bool, proved: bool) -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    if proved {
        match std::io::read_to_string(std::io::stdin())
            .map_err(|error| format!("cannot read what was printed: {error}"))
            .and_then(|printed| keep(&root.join("docs/measured"), &printed, &crate::report::published::today()))
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

fn fill(root: &Path, path: PathBuf) -> Result<Page, String> {
    let is = std::fs::read_to_string(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let should_be = filled(&is, &|mark| table(root, mark)).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(Page { path, is, should_be })
}

/// The page with its tables made anew. `table` makes one from the text of its mark, and `None` of a comment that is no mark.
fn filled(page: &str, table: &dyn Fn(&str) -> Result<Option<String>, String>) -> Result<String, String> {
    let mut text = String::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        text += line;
        text += "\n";
        let Some(mark) = line.strip_prefix("<!-- ").and_then(|rest| rest.strip_suffix(" -->")) else { continue };
        let Some(table) = table(mark)? else { continue };
        lines.by_ref().find(|line| *line == END).ok_or_else(|| format!("`{line}` has no `{END}`"))?;
        text += &format!("\n{}\n\n{END}\n", table.trim_end());
    }
    Ok(text)
}

/// The table that a mark asks for.
fn table(root: &Path, mark: &str) -> Result<Option<String>, String> {
    let measured = root.join("docs/measured");
    let text = match mark {
        "catalogue native" => catalogue(World::Native),
        "catalogue machines" => catalogue(World::Machines),
        "comparisons" => comparisons::table(&measured)?,
        other => match other.strip_prefix("measured ") {
            Some(what) => layout::table(&measured, what).map_err(|error| format!("`{mark}`: {error}"))?,
            None => return Ok(None),
        },
    };
    Ok(Some(text))
}

/// What the experiments ask: of those that run on modelled machines, and of the others.
fn catalogue(world: World) -> String {
    let is_modelled = world == World::Machines;
    let head = if is_modelled {
        "| experiment | here, too | what it asks |\n|---|---|---|\n"
    } else {
        "| experiment | what it asks |\n|---|---|\n"
    };
    let mut text = head.to_owned();
    for entry in catalogue::ALL.iter().filter(|entry| entry.machine.is_some() == is_modelled) {
        text += &match entry.machine {
            Some(machine) => {
                let here = if entry.native { "yes" } else { "" };
                format!("| `{}` `--on {machine}` | {here} | {} |\n", entry.name, entry.asks)
            }
            None => format!("| `{}` | {} |\n", entry.name, entry.asks),
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_between_marks_is_replaced_and_nothing_else() {
        let page = "a\n<!-- measured x -->\nold\nolder\n<!-- end -->\nb\n<!-- a remark -->\nc\n";
        let table = |mark: &str| Ok(mark.strip_prefix("measured ").map(|what| format!("{what}!\n")));
        let once = filled(page, &table).unwrap();
        assert_eq!(
            once,
            "a
<!-- measured x -->

x!

<!-- end -->
b
<!-- a remark -->
c
"
        );
        assert_eq!(filled(&once, &table).unwrap(), once);
        let error = filled("<!-- measured x -->\n", &table).unwrap_err();
        assert_eq!(error, "`<!-- measured x -->` has no `<!-- end -->`");
    }
}
