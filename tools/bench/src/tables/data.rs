//! Published figures: `docs/measured/MACHINE/EXPERIMENT.jsonl`, an object in each line.
//!
//! The first line is the run: `machine`, `date`, `command`, `runs`, and what else is true of all. Each other line is a record: what it is of
//! (`workload`, `contender`, `at`), its `unit`, and `median`, `min` and `max`; or `text`, where a figure is not a number. A record that
//! is of another day than the run has a `date` of its own.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::value::RawValue;

/// The fields of a line: strings without their quotes, everything else as it is written.
pub(crate) type Fields = BTreeMap<String, String>;

/// A published run of an experiment.
#[derive(Clone, Debug)]
pub struct Run {
    /// The folder's name.
    pub machine: String,
    /// What was run: the file's path in that folder.
    pub experiment: String,
    /// What is true of all records.
    pub head: Fields,
    /// The records, in order.
    pub records: Vec<Fields>,
}

/// The runs in the files that `pattern` means, in the order of their names. `*` is any name.
///
/// # Errors
///
/// A file that cannot be read, with its line if it is no record; a pattern that means none.
pub fn load(measured: &Path, pattern: &str) -> Result<Vec<Run>, String> {
    let mut paths = vec![measured.to_owned()];
    let parts: Vec<&str> = pattern.split('/').collect();
    for (at, part) in parts.iter().enumerate() {
        let name = if at + 1 == parts.len() { format!("{part}.jsonl") } else { (*part).to_owned() };
        paths = paths.iter().flat_map(|folder| matching(folder, &name)).collect();
    }
    if paths.is_empty() {
        return Err(format!("nothing is published as {pattern}"));
    }
    paths.iter().map(|path| read(measured, path)).collect()
}

/// What is in `folder` by that name, where `*` is any.
fn matching(folder: &Path, name: &str) -> Vec<std::path::PathBuf> {
    let Some((before, after)) = name.split_once('*') else {
        let path = folder.join(name);
        return if path.exists() { vec![path] } else { Vec::new() };
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
    paths.retain(|path| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.len() >= before.len() + after.len() && name.starts_with(before) && name.ends_with(after)
    });
    paths.sort_by_key(|path| numbered(&path.to_string_lossy()));
    paths
}

/// A name by which 2.10 comes after 2.9.
fn numbered(name: &str) -> Vec<(String, u64)> {
    let mut parts = vec![(String::new(), 0_u64)];
    for c in name.chars() {
        let last = parts.last_mut().expect("it has one from the beginning");
        match c.to_digit(10) {
            Some(digit) => last.1 = last.1.saturating_mul(10).saturating_add(digit.into()),
            None if last.1 > 0 => parts.push((c.to_string(), 0)),
            None => last.0.push(c),
        }
    }
    parts
}

fn read(measured: &Path, path: &Path) -> Result<Run, String> {
    let name = path.display();
    let text = std::fs::read_to_string(path).map_err(|error| format!("cannot read {name}: {error}"))?;
    let mut lines = Vec::new();
    for (at, line) in text.lines().enumerate() {
        lines.push(fields(line).map_err(|error| format!("{name}, line {}: {error}", at + 1))?);
    }
    if lines.is_empty() {
        return Err(format!("{name} is empty"));
    }
    let inside = path.strip_prefix(measured).expect("it was found there");
    let machine = inside.iter().next().map(|part| part.to_string_lossy().into_owned()).unwrap_or_default();
    let experiment = inside.with_extension("");
    let experiment = experiment.strip_prefix(&machine).unwrap_or(&experiment).to_string_lossy().into_owned();
    Ok(Run { machine, experiment, head: lines.remove(0), records: lines })
}

/// The fields of a line. The point of a curve has its fields, `axis` and `point`, beside the others.
pub(super) fn fields(line: &str) -> Result<Fields, serde_json::Error> {
    let raw: BTreeMap<String, Box<RawValue>> = serde_json::from_str(line)?;
    let mut fields = Fields::new();
    for (name, value) in raw {
        if name == "at" {
            fields.extend(self::fields(value.get())?);
            continue;
        }
        let text = serde_json::from_str::<String>(value.get());
        fields.insert(name, text.unwrap_or_else(|_| value.get().to_owned()));
    }
    Ok(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_kept_as_they_are_written() {
        let fields = fields(r#"{"median":2.70,"contender":"a \"b\"","at":{"axis":"entries","point":"64"}}"#).unwrap();
        let of = |name: &str| fields[name].as_str();
        assert_eq!((of("median"), of("contender"), of("axis"), of("point")), ("2.70", "a \"b\"", "entries", "64"));
    }

    #[test]
    fn names_are_in_the_order_of_their_numbers() {
        let mut names = ["2.10", "2.9", "4.1", "2.9-over"];
        names.sort_by_key(|name| numbered(name));
        assert_eq!(names, ["2.9", "2.9-over", "2.10", "4.1"]);
    }
}
