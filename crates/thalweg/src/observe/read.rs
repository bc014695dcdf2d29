//! Snapshots from their JSON.

use super::Latency;
use super::snapshot::{Doing, EdgeSnapshot, FORMAT, KernelSnapshot, Kind, Snapshot, WorkerSnapshot, WorkerState};
use crate::report::End;
use std::fmt;
use thalweg_sync::time::Duration;

/// Lists in lists, at most.
const DEEPEST: u32 = 16;

/// Why a text is no snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadError(String);

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ReadError {}

type Result<T> = std::result::Result<T, ReadError>;

fn wrong<T>(text: String) -> Result<T> {
    Err(ReadError(text))
}

/// A value of JSON. Numbers are kept as they are written: those of a snapshot may need 64 bits.
enum Json {
    Null,
    Bool,
    Number(String),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Snapshot {
    /// Reads what [`to_json`](Self::to_json) wrote. Fields that it does not know are passed over.
    ///
    /// ```
    /// use thalweg::observe::Snapshot;
    /// let error = Snapshot::from_json("{\"thalweg\":99}").unwrap_err();
    /// assert!(error.to_string().contains("format 99"));
    /// ```
    ///
    /// # Errors
    ///
    /// If the text is no JSON, has another format, lacks a field, or names a kernel or edge that is not there.
    pub fn from_json(text: &str) -> Result<Self> {
        let json = Reader { text, at: 0, depth: 0 }.whole()?;
        let format = json.number("thalweg")?;
        if format != FORMAT {
            return wrong(format!(
                "it is of format {format}, and this version of thalweg reads format {FORMAT}; take the same version at both ends"
            ));
        }
        let snapshot = Self {
            run: json.number("run")?,
            time: json.time("time_ns")?,
            end: match json.get("end")? {
                Json::Null => None,
                Json::Text(end) if end == "complete" => Some(End::Complete),
                Json::Text(end) if end == "stopped" => Some(End::Stopped),
                Json::Text(end) if end == "cancelled" => Some(End::Cancelled),
                _ => return wrong("its `end` is none of complete, stopped and cancelled".into()),
            },
            scheme: json.text("scheme")?.to_owned(),
            working: json.count("working")?,
            decisions: json.number("decisions")?,
            dropped: json.number("dropped")?,
            kernels: json.list("kernels")?.iter().map(kernel).collect::<Result<_>>()?,
            edges: json.list("edges")?.iter().map(edge).collect::<Result<_>>()?,
            workers: json.list("workers")?.iter().map(worker).collect::<Result<_>>()?,
            // A record from before there were any has none.
            latencies: match json.get("latencies") {
                Ok(_) => json.list("latencies")?.iter().map(latency).collect::<Result<_>>()?,
                Err(_) => Vec::new(),
            },
        };
        snapshot.check()?;
        Ok(snapshot)
    }

    /// Whoever draws it need not look again whether an index is right.
    fn check(&self) -> Result<()> {
        let (kernels, edges) = (self.kernels.len(), self.edges.len());
        let ends = self.edges.iter().all(|edge| edge.ends.0 < kernels && edge.ends.1 < kernels);
        let waits = self.kernels.iter().all(|kernel| match kernel.doing {
            Doing::Empty(edge) | Doing::Full(edge) => edge < edges,
            _ => true,
        });
        let latencies = self.latencies.iter().all(|latency| latency.ends.0 < kernels && latency.ends.1 < kernels);
        let runs = self.workers.iter().all(|worker| match worker.state {
            WorkerState::Runs(kernel) => kernel < kernels,
            _ => true,
        });
        if ends && waits && runs && latencies {
            Ok(())
        } else {
            wrong("it names a kernel or an edge that is not in it".into())
        }
    }
}

/// Reads snapshots, one on a line, as `thalweg run --record` writes them. A last line that is cut off, as of a run that was killed, is left out.
///
/// # Errors
///
/// As [`Snapshot::from_json`], with the line's number; if there is none at all.
pub fn read(text: &str) -> Result<Vec<Snapshot>> {
    let mut snapshots = Vec::new();
    let mut lines = text.split_inclusive('\n').enumerate().filter(|(_, line)| !line.trim().is_empty()).peekable();
    while let Some((number, line)) = lines.next() {
        match Snapshot::from_json(line.trim()) {
            Ok(snapshot) => snapshots.push(snapshot),
            Err(_) if lines.peek().is_none() && !line.ends_with('\n') && !snapshots.is_empty() => {}
            Err(error) => return wrong(format!("line {}: {error}", number + 1)),
        }
    }
    if snapshots.is_empty() { wrong("there is no snapshot in it".into()) } else { Ok(snapshots) }
}

fn kernel(json: &Json) -> Result<KernelSnapshot> {
    let at = || json.count("edge");
    Ok(KernelSnapshot {
        name: json.text("name")?.to_owned(),
        kind: match json.text("kind")? {
            "source" => Kind::Source,
            "inlet" => Kind::Inlet,
            "sequential" => Kind::Sequential,
            "parallel" => Kind::Parallel,
            "ported" => Kind::Ported,
            other => return wrong(format!("there is no kind of kernel `{other}`")),
        },
        doing: match json.text("doing")? {
            "runs" => Doing::Runs,
            "ready" => Doing::Ready,
            "empty" => Doing::Empty(at()?),
            "full" => Doing::Full(at()?),
            "ticket" => Doing::Ticket,
            "pending" => Doing::Pending,
            "done" => Doing::Done,
            other => return wrong(format!("no kernel is at `{other}`")),
        },
        workers: json.count("workers")?,
        activations: json.number("activations")?,
        messages_in: json.number("messages_in")?,
        messages_out: json.number("messages_out")?,
        busy: json.time("busy_ns")?,
        block_time: json.time("block_ns")?,
        blocked_empty: json.number("blocked_empty")?,
        blocked_full: json.number("blocked_full")?,
        blocked_ticket: json.number("blocked_ticket")?,
        blocked_busy: json.number("blocked_busy")?,
        blocked_pending: json.number("blocked_pending")?,
        helps: json.number("helps")?,
    })
}

fn edge(json: &Json) -> Result<EdgeSnapshot> {
    let most = |key| match json.get(key)? {
        Json::Null => Ok(None),
        _ => json.number(key).map(Some),
    };
    Ok(EdgeSnapshot {
        ends: (json.count("from")?, json.count("to")?),
        storage: json.text("storage")?.to_owned(),
        messages: json.number("messages")?,
        message_bytes: json.count("message_bytes")?,
        holds: json.number("holds")?,
        blocks: json.number("blocks")?,
        most: most("most")?,
        most_blocks: most("most_blocks")?,
        fill: json.parse::<f64>("fill")?.clamp(0.0, 1.0),
        grown: json.number("grown")?,
        peak: json.number("peak")?,
        blocked_empty: json.number("blocked_empty")?,
        blocked_full: json.number("blocked_full")?,
    })
}

fn worker(json: &Json) -> Result<WorkerSnapshot> {
    Ok(WorkerSnapshot {
        state: match json.text("state")? {
            "runs" => WorkerState::Runs(json.count("kernel")?),
            "looks" => WorkerState::Looks,
            "sleeps" => WorkerState::Sleeps,
            "bench" => WorkerState::Bench,
            "off" => WorkerState::Off,
            other => return wrong(format!("no worker is at `{other}`")),
        },
        idle: json.time("idle_ns")?,
        polls: json.number("polls")?,
        yields: json.number("yields")?,
        sleeps: json.number("sleeps")?,
    })
}

fn latency(json: &Json) -> Result<Latency> {
    let time = |key| match json.get(key)? {
        Json::Null => Ok(None),
        _ => json.time(key).map(Some),
    };
    Ok(Latency {
        ends: (json.count("from")?, json.count("to")?),
        stamps: json.number("stamps")?,
        samples: json.number("samples")?,
        sum: json.time("sum_ns")?,
        p50: time("p50_ns")?,
        p90: time("p90_ns")?,
        p99: time("p99_ns")?,
        p999: time("p999_ns")?,
        max: time("max_ns")?,
    })
}

impl Json {
    fn get(&self, key: &str) -> Result<&Self> {
        let Self::Object(fields) = self else { return wrong(format!("there is no object that has `{key}`")) };
        match fields.iter().find(|(name, _)| name == key) {
            Some((_, value)) => Ok(value),
            None => wrong(format!("it has no field `{key}`")),
        }
    }

    fn parse<T: std::str::FromStr>(&self, key: &str) -> Result<T> {
        match self.get(key)? {
            Self::Number(digits) => {
                digits.parse().or_else(|_| wrong(format!("`{key}` is {digits}, which is out of range")))
            }
            _ => wrong(format!("`{key}` is no number")),
        }
    }

    fn number(&self, key: &str) -> Result<u64> {
        self.parse(key)
    }

    fn count(&self, key: &str) -> Result<usize> {
        self.parse(key)
    }

    fn time(&self, key: &str) -> Result<Duration> {
        Ok(Duration::from_nanos(self.number(key)?))
    }

    fn text(&self, key: &str) -> Result<&str> {
        match self.get(key)? {
            Self::Text(text) => Ok(text),
            _ => wrong(format!("`{key}` is no string")),
        }
    }

    fn list(&self, key: &str) -> Result<&[Self]> {
        match self.get(key)? {
            Self::List(items) => Ok(items),
            _ => wrong(format!("`{key}` is no list")),
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: u32,
}

impl Reader<'_> {
    fn whole(mut self) -> Result<Json> {
        let value = self.value()?;
        if self.peek().is_some() {
            return self.stop("the end");
        }
        Ok(value)
    }

    /// The next byte that is no space.
    fn peek(&mut self) -> Option<u8> {
        let rest = self.text.as_bytes().get(self.at..)?;
        let space = rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        self.at += space;
        rest.get(space).copied()
    }

    fn stop<T>(&self, expected: &str) -> Result<T> {
        wrong(format!("it is no JSON: expected {expected} at byte {}", self.at))
    }

    fn take(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    fn value(&mut self) -> Result<Json> {
        match self.peek() {
            Some(b'"') => Ok(Json::Text(self.string()?)),
            Some(b'{' | b'[') if self.depth == DEEPEST => self.stop("fewer lists within lists"),
            Some(b'{') => {
                let mut fields = Vec::new();
                self.items(b'}', |reader| {
                    let Some(b'"') = reader.peek() else { return reader.stop("a key") };
                    let key = reader.string()?;
                    if !reader.take(b':') {
                        return reader.stop("`:`");
                    }
                    fields.push((key, reader.value()?));
                    Ok(())
                })?;
                Ok(Json::Object(fields))
            }
            Some(b'[') => {
                let mut items = Vec::new();
                self.items(b']', |reader| {
                    items.push(reader.value()?);
                    Ok(())
                })?;
                Ok(Json::List(items))
            }
            Some(_) => self.word(),
            None => self.stop("a value"),
        }
    }

    fn items(&mut self, end: u8, mut item: impl FnMut(&mut Self) -> Result<()>) -> Result<()> {
        self.at += 1;
        self.depth += 1;
        if !self.take(end) {
            loop {
                item(self)?;
                if self.take(end) {
                    break;
                }
                if !self.take(b',') {
                    return self.stop("`,`");
                }
            }
        }
        self.depth -= 1;
        Ok(())
    }

    fn word(&mut self) -> Result<Json> {
        let rest = &self.text[self.at..];
        let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '+' | '.');
        let word = &rest[..rest.find(|c| !is_word(c)).unwrap_or(rest.len())];
        let value = match word {
            "null" => Json::Null,
            "true" | "false" => Json::Bool,
            number if number.parse::<f64>().is_ok_and(f64::is_finite) => Json::Number(number.to_owned()),
            _ => return self.stop("a value"),
        };
        self.at += word.len();
        Ok(value)
    }

    fn string(&mut self) -> Result<String> {
        let mut text = String::new();
        let mut chars = self.text[self.at + 1..].char_indices();
        while let Some((index, c)) = chars.next() {
            match c {
                '"' => {
                    self.at += 1 + index + 1;
                    return Ok(text);
                }
                '\\' => text.push(match chars.next().map(|(_, c)| c) {
                    Some('n') => '\n',
                    Some('t') => '\t',
                    Some('r') => '\r',
                    Some('b') => '\u{8}',
                    Some('f') => '\u{c}',
                    Some(c @ ('"' | '\\' | '/')) => c,
                    Some('u') => {
                        let digits: String = chars.by_ref().take(4).map(|(_, c)| c).collect();
                        // Halves of a character beyond 16 bits are not written by us.
                        u32::from_str_radix(&digits, 16)
                            .ok()
                            .and_then(char::from_u32)
                            .unwrap_or(char::REPLACEMENT_CHARACTER)
                    }
                    _ => return self.stop("an escape"),
                }),
                c => text.push(c),
            }
        }
        self.stop("the end of a string")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_snapshot_is_told() {
        for (text, told) in [
            ("", "expected a value at byte 0"),
            ("{\"thalweg\":1", "expected `,` at byte 12"),
            ("{\"thalweg\":1}x", "expected the end at byte 13"),
            ("{\"thalweg\":\"1\"}", "`thalweg` is no number"),
            ("{\"thalweg\":2,\"new\":[true,null,{\"a\":-1.5e3}]}", "it is of format 2"),
            ("{\"thalweg\":-1}", "`thalweg` is -1, which is out of range"),
            ("{\"thalweg\":1}", "it has no field `run`"),
            ("{\"wall_ns\":1}", "it has no field `thalweg`"),
            ("[[[[[[[[[[[[[[[[[[1", "expected fewer lists within lists"),
            ("\"\\x", "expected an escape"),
            ("\"abc", "expected the end of a string"),
            ("nul", "expected a value"),
        ] {
            let error = Snapshot::from_json(text).unwrap_err().to_string();
            assert!(error.contains(told), "{text}: {error}");
        }
    }

    #[test]
    fn strings_have_escapes() {
        let read = |text| Reader { text, at: 0, depth: 0 }.value();
        let Ok(Json::Text(text)) = read(r#" "a\"\\\n\t\u0007\u00e9é" "#) else { panic!("no string") };
        assert_eq!(text, "a\"\\\n\t\u{7}éé");
    }
}
