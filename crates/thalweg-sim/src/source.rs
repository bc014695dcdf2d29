//! Names for places in the source: what is accessed there.
//!
//! An access is known by the file, the line and the column of the call. The text before the column says on what it was
//! called: `self.committed.fetch_add(..)` accesses `committed`. So fields have names without anybody having named them,
//! as long as the sources are where they were when the program was built.

use std::collections::HashMap;
use std::path::Path;
use thalweg_sync::engine::Site;

/// Sources that were read, and the names found in them.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    files: HashMap<&'static str, Option<Vec<String>>>,
}

impl Sources {
    /// What is accessed at `site`, with the file it is accessed in: `mpmc/shared.rs: committed`. Where the source cannot
    /// be read, the file and the line.
    pub(crate) fn name(&mut self, site: Site) -> String {
        let file = short(site.file());
        let lines = self.files.entry(site.file()).or_insert_with(|| read(site.file()));
        let called_on = lines.as_ref().and_then(|lines| receiver(lines, site.line() as usize, site.column() as usize));
        match called_on {
            Some(name) => format!("{file}: {name}"),
            None => format!("{file}:{}", site.line()),
        }
    }
}

/// The lines of a file. Paths are those that the compiler was given: of a member of a workspace, from its root.
fn read(file: &str) -> Option<Vec<String>> {
    let checkout = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let text = std::fs::read_to_string(file).or_else(|_| std::fs::read_to_string(Path::new(checkout).join(file)));
    Some(text.ok()?.lines().map(str::to_owned).collect())
}

/// The part of a path that says enough: what comes after `src`, and of other paths the last two parts.
pub(crate) fn short(file: &str) -> &str {
    if let Some((_, short)) = file.rsplit_once("/src/") {
        return short;
    }
    let mut slashes = file.rmatch_indices('/').map(|(at, _)| at);
    let _last = slashes.next();
    slashes.next().map_or(file, |at| &file[at + 1..])
}

/// The last name of what is called at `line` and `column`, both from 1: `b` of `self.a.b[i].load()`.
fn receiver(lines: &[String], line: usize, column: usize) -> Option<String> {
    let before: String = lines.get(line.checked_sub(1)?)?.chars().take(column.checked_sub(1)?).collect();
    let mut text = before.trim_end().strip_suffix('.')?.trim_end().to_owned();
    // A chain of calls that begins further up.
    let mut above = line - 1;
    while text.trim().is_empty() {
        above = above.checked_sub(1)?;
        text = lines[above].trim_end().to_owned();
    }
    let mut suffix = String::new();
    loop {
        let rest = without_brackets(&text)?;
        let start = rest.rfind(|c: char| !c.is_alphanumeric() && c != '_').map_or(0, |at| at + 1);
        let (left, name) = rest.split_at(start);
        // The field of a tuple says nothing alone.
        let vague = name.chars().all(|c| c.is_ascii_digit());
        if name.is_empty() || (vague && !left.ends_with('.')) {
            return None;
        }
        suffix = if suffix.is_empty() { name.to_owned() } else { format!("{name}.{suffix}") };
        if !vague {
            return Some(suffix);
        }
        text = left[..left.len() - 1].to_owned();
    }
}

/// `text` without the index or the arguments at its end.
fn without_brackets(text: &str) -> Option<&str> {
    let mut text = text.trim_end();
    while text.ends_with([']', ')', '?']) {
        let mut depth = 0;
        let open = text.char_indices().rev().find(|(_, c)| {
            depth += match c {
                ']' | ')' => 1,
                '[' | '(' => -1,
                _ => 0,
            };
            depth == 0
        });
        text = &text[..open?.0];
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str, call: &str) -> Option<String> {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let (line, before) = lines.iter().enumerate().find_map(|(i, line)| Some((i, line.find(call)?))).unwrap();
        receiver(&lines, line + 1, before + 1)
    }

    #[test]
    fn a_field_is_named_by_what_stands_before_the_call() {
        assert_eq!(name("let c = self.committed.load(Acquire);", "load").unwrap(), "committed");
        assert_eq!(name("self.slots[at(i)[0]].with_mut(|slot| ())", "with_mut").unwrap(), "slots");
        assert_eq!(name("self.block(i)?.load()", "load").unwrap(), "block");
        assert_eq!(name("self.cursor.0.fetch_add(1)", "fetch_add").unwrap(), "cursor.0");
        assert_eq!(name("    self.ring\n        .head\n        .load()", "load").unwrap(), "head");
        assert_eq!(name("(head, tail).0.load()", "load"), None);
        assert_eq!(name("spin::until(|| ready())", "until"), None);
    }

    #[test]
    fn places_of_this_crate_have_names() {
        let word = thalweg_sync::atomic::AtomicU64::new(0);
        let site: Site = std::panic::Location::caller();
        let _ = word;
        assert_eq!(Sources::default().name(site), format!("source.rs:{}", site.line()));
        assert_eq!(short("crates/thalweg-queue/src/mpmc/shared.rs"), "mpmc/shared.rs");
        assert_eq!(short("/home/me/graph/examples/wide.rs"), "examples/wide.rs");
        assert_eq!(short("main.rs"), "main.rs");
    }
}
