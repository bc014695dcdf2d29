//! Names for locations: what they are called in the source.
//!
//! An event knows the file, the line and the column of its call, and a method's name stands behind what it is called on: the
//! location of `self.tail.load(..)` is a `tail`. Sources are read when an execution is printed, never while executions run. Where a
//! source is not there, as on another machine, or does not tell, a location is a number only.

use super::graph::ExecutionGraph;
use std::collections::HashMap;
use std::iter::once;
use thalweg_sync::engine::Site;

/// The names of a graph's locations: `tail#0`, or `#0` if the source does not tell.
pub(crate) struct Names(Vec<String>);

impl Names {
    /// Reads the sources of the accesses in `graph`.
    pub(crate) fn of(graph: &ExecutionGraph) -> Self {
        let mut sources = HashMap::new();
        let mut name = |site: Site| {
            let source = sources.entry(site.file()).or_insert_with(|| read(site.file()));
            receiver(source.as_deref()?, site.line() as usize, site.column() as usize)
        };
        let names = graph.locations.iter().enumerate().map(|(number, location)| {
            let accesses = location.co.iter().chain(&location.reads).map(|&access| graph.node(access).at);
            let found = once(location.at).chain(accesses).find_map(&mut name);
            format!("{}#{number}", found.unwrap_or_default())
        });
        Self(names.collect())
    }

    pub(crate) fn get(&self, location: usize) -> &str {
        &self.0[location]
    }
}

/// The source `file`, a path as the compiler was given it: of a workspace's member it begins at the root, which is here, where
/// tests run, or further up.
fn read(file: &str) -> Option<String> {
    let here = std::env::current_dir().ok()?;
    here.ancestors().find_map(|directory| std::fs::read_to_string(directory.join(file)).ok())
}

/// The name of what the method at `line` and `column`, both from 1, is called on.
fn receiver(source: &str, line: usize, column: usize) -> Option<String> {
    let lines = source.lines().take(line).collect::<Vec<_>>();
    let (last, above) = lines.split_last().filter(|(_, above)| above.len() + 1 == line)?;
    let call = last.char_indices().nth(column.checked_sub(1)?)?.0;
    let before = last[..call].trim_end().strip_suffix('.')?;
    // A chain of calls begins further up.
    let lines = once(before).chain(above.iter().rev().copied());
    let code = |line| str::split(line, "//").next().unwrap_or_default().trim();
    lines.map(code).find(|code| !code.is_empty()).and_then(last_name)
}

/// The last name in `expression`: `b` of `self.a.b[i]`, and `a` of `self.a(i)?`. A field that is a number is named with what it is a
/// field of, as `pair.0`.
fn last_name(expression: &str) -> Option<String> {
    let expression = without_arguments(expression)?;
    let name = expression.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next()?;
    if name.starts_with(|c: char| c.is_ascii_digit()) {
        let whole = last_name(expression.strip_suffix(name)?.strip_suffix('.')?)?;
        return Some(format!("{whole}.{name}"));
    }
    // `self` is anything.
    (!name.is_empty() && name != "self").then(|| name.to_owned())
}

/// `expression` without the index or the arguments that it ends with.
fn without_arguments(expression: &str) -> Option<&str> {
    let mut rest = expression.trim_end();
    while rest.ends_with([']', ')', '?']) {
        let mut depth = 0;
        let opens = |c: char| {
            depth += i32::from(matches!(c, ']' | ')')) - i32::from(matches!(c, '[' | '('));
            depth == 0
        };
        rest = rest[..rest.rfind(opens)?].trim_end();
    }
    Some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The name of what `call` is called on, where it stands first in `source`.
    fn name(source: &str, call: &str) -> Option<String> {
        let before = &source[..source.find(call).unwrap()];
        let column = before.lines().last().unwrap_or_default().chars().count() + 1;
        receiver(source, before.lines().count().max(1), column)
    }

    #[test]
    fn the_name_stands_before_the_call() {
        for (source, wanted) in [
            ("let seen = self.ring.tail.load(Relaxed);", Some("tail")),
            ("flags[at(me)[0]].load(Relaxed)", Some("flags")),
            ("self.entry(at)?.load(Relaxed)", Some("entry")),
            ("shared.1.load(Relaxed)", Some("shared.1")),
            ("self.shared[1 - me].0.load(Relaxed)", Some("shared.0")),
            ("größe.load(Relaxed)", Some("größe")),
            ("let n = 1;\n    self.head // (1)\n\n        // (2).\n        .load(Relaxed)", Some("head")),
            ("self.load(Relaxed)", None),
            ("self.0.load(Relaxed)", None),
            ("(*one).load(Relaxed)", None),
            ("load(Relaxed)", None),
            ("AtomicU64::load(n, Relaxed)", None),
        ] {
            assert_eq!(name(source, "load").as_deref(), wanted, "{source}");
        }
    }

    #[test]
    fn a_source_that_is_not_there_or_another_one_has_no_names() {
        assert_eq!(read("no/such/source.rs"), None);
        for (line, column) in [(0, 1), (1, 0), (1, 1), (1, 99), (2, 5)] {
            assert_eq!(receiver("tail.load()", line, column), None, "{line}:{column}");
        }
        assert_eq!(receiver("tail.load()", 1, 6).as_deref(), Some("tail"));
    }
}
