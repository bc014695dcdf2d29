//! What `cargo proof` printed, kept under `docs/measured/verification`: `clients/QUEUE.jsonl` and `orderings/QUEUE.jsonl`.
//!
//! A line that is there already is replaced, one that is new goes to the end, and all others stay as they are. So does the first line of
//! the file, which says how its lines were made. A line has its date, but where the first line says the same one.

use std::collections::BTreeMap;
use std::path::Path;

use super::data::fields;

/// A line to keep: the file's name without its ending, the fields by which it is known there, and itself.
struct Line {
    file: String,
    known_by: Vec<(&'static str, String)>,
    text: String,
}

/// Keeps the lines of clients and of labels in `printed`, each with the day `date`. Returns how many lines it kept in each file.
///
/// # Errors
///
/// A client that fails, no line at all, labels of which no line names the client of a queue, and a file that cannot be read or written.
pub fn keep(measured: &Path, printed: &str, date: &str) -> Result<BTreeMap<String, usize>, String> {
    if let Some(fails) = printed.lines().find(|line| line.contains(" fails: ")) {
        return Err(format!("a client that fails is no figure: {fails}"));
    }
    let mut lines: Vec<Line> = printed.lines().filter_map(client).collect();
    let trials: Vec<Trial<'_>> = printed.lines().filter_map(Trial::read).collect();
    if let Some(queue) = trials.iter().find_map(|trial| trial.by.split_once('/').map(|(queue, _)| queue)) {
        lines.extend(trials.iter().map(|trial| trial.line(queue)));
    } else if !trials.is_empty() {
        return Err("no client failed, so it is not known of which queue these labels are".to_owned());
    }
    if lines.is_empty() {
        return Err("there is no line of `cargo proof` in what was read".to_owned());
    }
    let mut kept = BTreeMap::new();
    for line in lines {
        put(&measured.join("verification").join(format!("{}.jsonl", line.file)), &line, date)?;
        *kept.entry(line.file).or_default() += 1;
    }
    Ok(kept)
}

/// `bbq/1p1c-1    14831    0    3262820    0.54 s    12`, and what is said beside it.
fn client(printed: &str) -> Option<Line> {
    let words: Vec<&str> = printed.split_whitespace().collect();
    let &[name, executions, blocked, events, seconds, "s", _, ..] = words.as_slice() else { return None };
    let (queue, _) = name.split_once('/')?;
    let [complete, blocked, events] = [executions, blocked, events].map(|count| count.parse::<u64>());
    let (complete, blocked, events) = (complete.ok()?, blocked.ok()?, events.ok()?);
    seconds.parse::<f64>().ok()?;
    let each = events.checked_div(complete + blocked).unwrap_or(0);
    let executions =
        if printed.contains("not all") { format!("\"{complete} (not all)\"") } else { complete.to_string() };
    Some(Line {
        file: format!("clients/{queue}"),
        known_by: vec![("client", name.to_owned())],
        text: format!(
            "{{\"client\":\"{name}\",\"executions\":{executions},\"blocked\":{blocked},\"events each\":{each},\"s\":{seconds}}}"
        ),
    })
}

/// `bbq.1    release  relaxed  bbq/full (history)    7    0.01 s`.
struct Trial<'a> {
    label: &'a str,
    before: &'a str,
    tried: &'a str,
    by: &'a str,
    executions: u64,
}

impl<'a> Trial<'a> {
    fn read(printed: &'a str) -> Option<Self> {
        let (label, rest) = printed.split_once(' ').filter(|(label, _)| label.contains('.'))?;
        let (before, rest) = strength(rest)?;
        let (tried, rest) = strength(rest)?;
        let rest = rest.strip_suffix(" s")?.trim_end();
        let (rest, _) = rest.rsplit_once(' ')?;
        let (by, executions) = rest.trim_end().rsplit_once(' ')?;
        Some(Self { label, before, tried, by: by.trim(), executions: executions.parse().ok()? })
    }

    fn line(&self, queue: &str) -> Line {
        let Self { label, before, tried, by, executions } = self;
        Line {
            file: format!("orderings/{queue}"),
            known_by: vec![("label", (*label).to_owned()), ("tried", (*tried).to_owned())],
            text: format!(
                "{{\"label\":\"{label}\",\"before\":\"{before}\",\"tried\":\"{tried}\",\"killed by\":\"{by}\",\"executions\":{executions}}}"
            ),
        }
    }
}

/// The strength that a text begins with, and what is behind it.
fn strength(text: &str) -> Option<(&'static str, &str)> {
    const ALL: [&str; 8] = ["relaxed", "acquire", "release", "acq-rel", "seq-cst", "fence", "in order", "swapped"];
    let text = text.trim_start();
    ALL.into_iter().find_map(|name| Some((name, text.strip_prefix(name)?)))
}

/// Puts a line into its file.
fn put(path: &Path, line: &Line, date: &str) -> Result<(), String> {
    let cannot = |what: &str, error: std::io::Error| format!("cannot {what} {}: {error}", path.display());
    let text = match std::fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => "{}\n".to_owned(),
        read => read.map_err(|error| cannot("read", error))?,
    };
    let is_it = |there: &str| {
        fields(there).is_ok_and(|fields| line.known_by.iter().all(|(name, value)| fields.get(*name) == Some(value)))
    };
    let mut lines: Vec<&str> = text.lines().collect();
    let is_of_that_day = lines
        .first()
        .is_some_and(|head| fields(head).is_ok_and(|fields| fields.get("date").is_some_and(|of_all| of_all == date)));
    let dated = match line.text.strip_suffix('}') {
        Some(fields) if !is_of_that_day => format!("{fields},\"date\":\"{date}\"}}"),
        _ => line.text.clone(),
    };
    match lines.iter().position(|there| is_it(there)) {
        Some(at) => lines[at] = &dated,
        None => lines.push(&dated),
    }
    let folder = path.parent().expect("it is in the folder of clients or of orderings");
    std::fs::create_dir_all(folder).map_err(|error| cannot("make the folder of", error))?;
    std::fs::write(path, lines.join("\n") + "\n").map_err(|error| cannot("write", error))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the command prints: `tools/command/src/proof.rs` and `crates/thalweg-check/src/weaken/table.rs`.
    const PRINTED: &str = "\
client             executions   blocked        events       time   MiB
ff/1p1c                    32         1          2574     0.01 s    12
ff/new                      7         0            70     9.00 s     -  not all: out of time
label        before   tried    killed by                            executions      time
ff.1         acquire  relaxed  ff/full (assertion)                          25    0.01 s
ff.2         acq-rel  acquire  nobody                                      250    0.01 s
ff.11        in order swapped  unknown: not all clients ended               48    0.01 s
";

    #[test]
    fn lines_take_the_place_of_those_before_them() {
        let folder = tempfile::tempdir().unwrap();
        let read = |file: &str| std::fs::read_to_string(folder.path().join("verification").join(file)).unwrap();
        std::fs::create_dir_all(folder.path().join("verification/clients")).unwrap();
        let before = "{\"date\":\"2026-11-27\"}\n{\"client\":\"ff/1p1c\",\"executions\":31}\n{\"client\":\"ff/wrap\",\"s\":0.00}\n";
        std::fs::write(folder.path().join("verification/clients/ff.jsonl"), before).unwrap();
        let kept = keep(folder.path(), PRINTED, "2026-11-27").unwrap();
        assert_eq!(
            kept.into_iter().collect::<Vec<_>>(),
            [("clients/ff".to_owned(), 2), ("orderings/ff".to_owned(), 3)]
        );
        assert_eq!(
            read("clients/ff.jsonl"),
            "{\"date\":\"2026-11-27\"}
{\"client\":\"ff/1p1c\",\"executions\":32,\"blocked\":1,\"events each\":78,\"s\":0.01}
{\"client\":\"ff/wrap\",\"s\":0.00}
{\"client\":\"ff/new\",\"executions\":\"7 (not all)\",\"blocked\":0,\"events each\":10,\"s\":9.00}
"
        );
        assert_eq!(
            read("orderings/ff.jsonl"),
            "{}
{\"label\":\"ff.1\",\"before\":\"acquire\",\"tried\":\"relaxed\",\"killed by\":\"ff/full (assertion)\",\"executions\":25,\"date\":\"2026-11-27\"}
{\"label\":\"ff.2\",\"before\":\"acq-rel\",\"tried\":\"acquire\",\"killed by\":\"nobody\",\"executions\":250,\"date\":\"2026-11-27\"}
{\"label\":\"ff.11\",\"before\":\"in order\",\"tried\":\"swapped\",\"killed by\":\"unknown: not all clients ended\",\"executions\":48,\"date\":\"2026-11-27\"}
"
        );
        let once = read("clients/ff.jsonl");
        keep(folder.path(), PRINTED, "2026-11-27").unwrap();
        assert_eq!(read("clients/ff.jsonl"), once);
    }

    #[test]
    fn what_is_no_figure_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        for (printed, told) in [
            ("hello\n", "there is no line of `cargo proof`"),
            ("ff/end           fails: a data race\n", "a client that fails is no figure: ff/end"),
            ("ff.1         acquire  relaxed  nobody          25    0.01 s\n", "it is not known of which queue"),
        ] {
            let error = keep(folder.path(), printed, "2026-11-27").unwrap_err();
            assert!(error.contains(told), "{error}");
        }
        assert!(!folder.path().join("verification").exists());
    }
}
