//! Rows of text: what is in a line, and why it is refused.

/// Why a line is refused, and which one of its text it is, counted from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bad {
    pub(super) line: u64,
    pub(super) reason: String,
}

/// What has to hold for the numbers in a row.
#[derive(Clone, Debug)]
pub(super) enum Known {
    /// Nothing.
    Any,
    /// They are among these, which are sorted.
    Among(Vec<u64>),
    /// They are at least 1 and at most this.
    UpTo(u64),
}

impl Known {
    /// Refuses a number that is not.
    fn check(&self, vertex: u64) -> Result<(), String> {
        match self {
            Known::Among(known) if known.binary_search(&vertex).is_err() => {
                Err(format!("vertex.csv has no vertex {vertex}"))
            }
            Known::UpTo(most) if vertex == 0 || vertex > *most => {
                Err(format!("an entry at {vertex}, and the matrix has rows and columns 1 to {most}"))
            }
            _ => Ok(()),
        }
    }
}

/// The fields of a line.
fn fields(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|&byte| byte.is_ascii_whitespace() || byte == b',' || byte == b'|').filter(|field| !field.is_empty())
}

fn is_comment(line: &[u8]) -> bool {
    matches!(line.trim_ascii_start().first(), None | Some(b'#' | b'%'))
}

/// Whether a line names columns. That a list of edges has several shows by what separates them.
fn is_header(line: &[u8], columns: usize) -> bool {
    let separated = columns == 1 || line.iter().any(|&byte| byte == b',' || byte == b'|');
    separated && fields(line).next().is_some_and(|first| first.iter().all(|byte| !byte.is_ascii_digit()))
}

/// The vertex in a field.
fn vertex(field: Option<&[u8]>) -> Result<u64, String> {
    let field = field.ok_or("the second vertex is missing")?;
    let number = std::str::from_utf8(field).ok().filter(|_| field[0] != b'+').and_then(|text| text.parse().ok());
    number.ok_or_else(|| {
        let field = String::from_utf8_lossy(&field[..field.len().min(40)]).escape_debug().to_string();
        format!("\"{field}\" is no vertex; vertices are whole numbers from 0 to 2^64 - 1")
    })
}

/// Calls `take` with each line of `text` that has data, until it refuses one. `header`: nothing is before this text, so it may begin with the
/// names of so many columns. Gives the number of lines.
fn each(text: &[u8], mut header: Option<usize>, mut take: impl FnMut(&[u8]) -> Result<(), String>) -> Result<u64, Bad> {
    let mut line = 0;
    for row in text.split_inclusive(|&byte| byte == b'\n') {
        line += 1;
        if is_comment(row) || header.take().is_some_and(|columns| is_header(row, columns)) {
            continue;
        }
        take(row).map_err(|reason| Bad { line, reason })?;
    }
    Ok(line)
}

/// The rows of a text up to the first bad one.
#[derive(Debug, Default)]
pub(super) struct Rows {
    pub(super) edges: Vec<(u64, u64)>,
    pub(super) lines: u64,
    pub(super) bad: Option<Bad>,
}

/// The edges in `text`.
pub(super) fn edges(text: &[u8], first: bool, known: &Known) -> Rows {
    let mut edges = Vec::with_capacity(text.len() / 12);
    let read = each(text, first.then_some(2), |line| {
        let mut fields = fields(line);
        let (from, to) = (vertex(fields.next())?, vertex(fields.next())?);
        known.check(from).and_then(|()| known.check(to))?;
        edges.push((from, to));
        Ok(())
    });
    match read {
        Ok(lines) => Rows { edges, lines, bad: None },
        Err(bad) => Rows { edges, lines: bad.line, bad: Some(bad) },
    }
}

/// The vertices in `text`: the first number of each line.
pub(super) fn vertices(text: &[u8]) -> Result<Vec<u64>, Bad> {
    let mut vertices = Vec::new();
    each(text, Some(1), |line| {
        vertices.push(vertex(fields(line).next())?);
        Ok(())
    })?;
    Ok(vertices)
}

/// What the first line of a Matrix Market file says: whether an entry stands for two. `None`: it is the first line of something else.
pub(super) fn market(line: &[u8]) -> Option<Result<bool, String>> {
    let text = String::from_utf8_lossy(line).to_ascii_lowercase();
    let mut words = text.split_ascii_whitespace();
    if words.next() != Some("%%matrixmarket") {
        return None;
    }
    let words: Vec<&str> = words.collect();
    Some(match words[..] {
        ["matrix", "coordinate", _, "general"] => Ok(false),
        ["matrix", "coordinate", _, "symmetric" | "skew-symmetric" | "hermitian"] => Ok(true),
        _ => Err(format!(
            "a Matrix Market file of \"{}\"; a network is a \"matrix coordinate\", general or symmetric",
            words.join(" ").escape_debug()
        )),
    })
}

/// Rows and entries, from the line of a Matrix Market file that has its sizes.
pub(super) fn sizes(line: &[u8]) -> Result<(u64, u64), String> {
    let number = |field: &[u8]| std::str::from_utf8(field).ok().and_then(|text| text.parse::<u64>().ok());
    let numbers: Option<Vec<u64>> = fields(line).map(number).collect();
    match numbers.as_deref() {
        Some(&[rows, columns, _]) if rows != columns => {
            Err(format!("a matrix of {rows} rows and {columns} columns; a network has as many of both"))
        }
        Some(&[rows, _, entries]) => Ok((rows, entries)),
        _ => {
            let line = String::from_utf8_lossy(&line[..line.len().min(40)]);
            Err(format!("\"{}\" should be rows, columns and entries", line.trim_end().escape_debug()))
        }
    }
}

/// Whether Matrix Market's sizes come after this line.
pub(super) fn is_before_sizes(line: &[u8]) -> bool {
    is_comment(line)
}
