//! Files of edges, parsed on all cores.

use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use thalweg::prelude::*;

use super::rows::{self, Known, Rows};
use super::{Direction, Network};
use crate::until_error::UntilError;
use crate::{Error, Halt, Result, Watch, incoming};

/// Text in a message, but for the line that is cut in two there.
const TEXT: usize = 256 << 10;
/// Longer lines are no text.
const LONGEST_LINE: usize = 1 << 20;
/// A matrix has at most so many rows, and for each entry some more: memory is asked for what was read, not for what a header says.
const ROWS: u64 = 1 << 20;
const ROWS_OF_AN_ENTRY: u64 = 16;

/// Where a network comes from.
#[derive(Clone, Debug)]
pub struct Input {
    /// A file in one of the [forms](super), a folder with `vertex.csv` and `edge.csv`, or `-` for standard input.
    pub path: PathBuf,
    /// Whether edges lead one way or both. The entries of a symmetric matrix lead both ways in either case.
    pub direction: Direction,
    /// How the graph that reads runs.
    pub scheme: Scheme,
}

impl Input {
    /// With the default scheme.
    pub fn new(path: impl Into<PathBuf>, direction: Direction) -> Self {
        Self { path: path.into(), direction, scheme: Scheme::default() }
    }
}

/// Reads a network. If the run is stopped, it is that of the lines read so far, and of a matrix without the rows that have no entry.
///
/// ```
/// use thalweg_apps::edges::{Direction, Input, read};
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("edges.txt");
/// std::fs::write(&path, "# FromNodeId ToNodeId\n0\t1\n1\t2\n").unwrap();
/// assert_eq!(read(&Input::new(&path, Direction::BothWays), &())?.to_string(), "3 vertices, 2 edges");
///
/// std::fs::write(&path, "0 1\n1 two\n").unwrap();
/// let told = read(&Input::new(&path, Direction::BothWays), &()).unwrap_err().to_string();
/// assert!(told.contains("edges.txt, line 2: \"two\" is no vertex"), "{told}");
/// # Ok::<(), thalweg_apps::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Refused`] with the line and the reason if the input is not in one of the [forms](super), or has no vertices;
/// [`Error::File`] if it cannot be opened or read.
pub fn read(input: &Input, watch: &dyn Watch) -> Result<Network> {
    let path = &input.path;
    let (path, vertices) = if path.is_dir() {
        (path.join("edge.csv"), Some(vertices(&path.join("vertex.csv"))?))
    } else {
        (path.clone(), None)
    };
    let text = if path.as_os_str() == "-" {
        incoming::standard(watch.halt())
    } else {
        incoming::open(&path, watch.halt()).map(|open| open.0)
    };
    let mut text = BufReader::new(text.map_err(|error| Error::file("open", &path, error))?);
    let start = Start::of(&mut text, &path);
    if incoming::is_halted(watch) {
        return Err(Error::Halted);
    }
    let start = start?;
    let known = match (&vertices, start.rows) {
        (Some(vertices), _) => Known::Among(vertices.clone()),
        (None, Some(rows)) => Known::UpTo(rows),
        (None, None) => Known::Any,
    };
    let direction = if start.symmetric { Direction::BothWays } else { input.direction };
    let (entries, rows) = (start.entries, start.rows);
    let (edges, stopped) = parse(text, start, &known, &path, input.scheme, watch)?;
    if let Some(expected) = entries.filter(|&expected| expected != edges.len() as u64 && !stopped) {
        let found = edges.len();
        let path = path.display();
        return Err(Error::Refused(format!(
            "{path} has {found} entries, and its header says {expected}; is it cut off?"
        )));
    }
    // The rows of a matrix only now: its header tells the truth.
    let rows = rows.filter(|_| !stopped).map(|rows| (1..=rows).collect());
    let network = Network::new(vertices.or(rows).unwrap_or_default(), edges, direction)?;
    if network.vertices() == 0 && !stopped {
        return Err(Error::Refused(format!("{} has no edges; is it empty, or of another format?", path.display())));
    }
    Ok(network)
}

/// What is known of a file before its first edge.
#[derive(Debug, Default)]
struct Start {
    /// Lines read.
    lines: u64,
    /// What was read and belongs to the edges.
    text: Vec<u8>,
    /// Rows and columns of a matrix.
    rows: Option<u64>,
    /// Entries of a matrix.
    entries: Option<u64>,
    symmetric: bool,
}

impl Start {
    fn of(text: &mut dyn BufRead, path: &Path) -> Result<Self> {
        let mut start = Self::default();
        let first = start.line(text, path)?;
        match rows::market(&first) {
            None => Ok(Self { text: first, lines: 0, ..start }),
            Some(Err(reason)) => Err(refused(path, 1, &reason)),
            Some(Ok(symmetric)) => {
                let line = loop {
                    let line = start.line(text, path)?;
                    if line.is_empty() || !rows::is_before_sizes(&line) {
                        break line;
                    }
                };
                let (rows, entries) = rows::sizes(&line).map_err(|reason| refused(path, start.lines, &reason))?;
                let most = entries.saturating_mul(ROWS_OF_AN_ENTRY).saturating_add(ROWS).min(u32::MAX.into());
                if rows > most {
                    let reason = format!(
                        "a matrix of {rows} rows; with {entries} entries, at most {most} are read: leave out empty rows"
                    );
                    return Err(refused(path, start.lines, &reason));
                }
                Ok(Self { rows: Some(rows), entries: Some(entries), symmetric, ..start })
            }
        }
    }

    /// The next line, with its end.
    fn line(&mut self, text: &mut dyn BufRead, path: &Path) -> Result<Vec<u8>> {
        let (mut line, mut text) = (Vec::new(), text);
        self.lines += 1;
        let read = (&mut text).take(LONGEST_LINE as u64).read_until(b'\n', &mut line);
        read.map_err(|error| Error::file("read", path, error))?;
        if line.len() == LONGEST_LINE { Err(too_long(path, self.lines)) } else { Ok(line) }
    }
}

fn refused(path: &Path, line: u64, reason: &str) -> Error {
    Error::Refused(format!("{}, line {line}: {reason}", path.display()))
}

fn too_long(path: &Path, line: u64) -> Error {
    refused(path, line, &format!("no end of the line within {LONGEST_LINE} bytes; is this text?"))
}

/// The vertices that a folder in GraphBIG's form has, sorted.
fn vertices(path: &Path) -> Result<Vec<u64>> {
    let text = std::fs::read(path).map_err(|error| Error::file("read", path, error))?;
    let mut vertices = rows::vertices(&text).map_err(|bad| refused(path, bad.line, &bad.reason))?;
    vertices.sort_unstable();
    Ok(vertices)
}

/// Text that ends at the end of a line, or of the file.
struct Text {
    bytes: Vec<u8>,
    /// Whether nothing but comments of a matrix is before it.
    is_first: bool,
}

/// Cuts a file into texts.
struct Cut<R> {
    file: R,
    /// Read, but behind the last end of a line.
    rest: Vec<u8>,
    is_first: bool,
    halt: Option<Halt>,
}

impl<R: Read> Iterator for Cut<R> {
    type Item = io::Result<Text>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut bytes = std::mem::take(&mut self.rest);
        loop {
            let from = bytes.len();
            match self.file.by_ref().take(TEXT as u64).read_to_end(&mut bytes) {
                Ok(0) if bytes.is_empty() => return None,
                // Half of a line is another line.
                Ok(0) if self.halt.as_ref().is_some_and(Halt::is_halted) => return None,
                Ok(0) => break,
                Ok(_) => {
                    if let Some(end) = bytes[from..].iter().rposition(|&byte| byte == b'\n') {
                        self.rest = bytes.split_off(from + end + 1);
                        break;
                    }
                    // Whoever parses it finds that it is too long.
                    if bytes.len() > LONGEST_LINE {
                        break;
                    }
                }
                Err(error) => return Some(Err(error)),
            }
        }
        Some(Ok(Text { bytes, is_first: std::mem::take(&mut self.is_first) }))
    }
}

/// Reads and parses all edges. Says too whether the run was stopped.
fn parse(
    file: BufReader<incoming::Input>,
    start: Start,
    known: &Known,
    path: &Path,
    scheme: Scheme,
    watch: &dyn Watch,
) -> Result<(Vec<(u64, u64)>, bool)> {
    let cut = Cut { file, rest: start.text, is_first: start.rows.is_none(), halt: watch.halt() };
    let (mut edges, mut lines, mut bad, mut damage) = (Vec::new(), start.lines, None, None);

    let mut graph = Graph::new();
    let text = graph.source(UntilError::new(cut, &mut damage));
    let parse = graph.parallel_map(|text: Text| {
        watch.read(text.bytes.len() as u64);
        if text.bytes.len() > LONGEST_LINE && !text.bytes[..LONGEST_LINE].contains(&b'\n') {
            return Err(());
        }
        Ok(rows::edges(&text.bytes, text.is_first, known))
    });
    let collect = graph.sink(|rows: Result<Rows, ()>| {
        let rows = match rows {
            Ok(rows) => rows,
            Err(()) => {
                bad = Some(too_long(path, lines + 1));
                return Flow::Done;
            }
        };
        if let Some(reason) = rows.bad {
            bad = Some(refused(path, lines + reason.line, &reason.reason));
            return Flow::Done;
        }
        lines += rows.lines;
        edges.extend(rows.edges);
        Flow::More
    });
    graph.name(text, "text");
    graph.name(parse, "parse");
    graph.name(collect, "collect");
    graph += text.fixed(8) >> parse >> collect;
    watch.started(graph.stopper());
    let report = graph.run(scheme)?;
    drop(graph);

    match (bad, damage) {
        (Some(bad), _) => Err(bad),
        (None, Some(error)) => Err(Error::file("read", path, error)),
        (None, None) => Ok((edges, report.end == thalweg::End::Stopped || incoming::is_halted(watch))),
    }
}
