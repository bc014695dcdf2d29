//! A page that shows runs while they go on: `thalweg run APP --live`, `thalweg top --web`.
//!
//! One file, inside the binary. The graph is drawn once; what changes is sent twice a second. A browser that does not read is given up, and the run
//! knows nothing of it.

mod http;

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

use thalweg::Snapshot;
use thalweg::observe::{Kind, WorkerState, remarks};
use thalweg_sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use thalweg_sync::sync::{Arc, Mutex, MutexGuard, PoisonError};
use thalweg_sync::thread;
use thalweg_sync::time::Duration;

use super::{plain, svg};
use http::{Door, PATIENCE, Refused};

const PAGE: &str = include_str!("page.html");
/// Between two looks.
const EVERY: Duration = Duration::from_millis(500);
/// Browsers that look at once, at most.
const MOST: usize = 16;
/// Looks that remarks are made of.
const KEPT: usize = 20;

/// What there is to see: of each graph its number, its name and what it counts.
pub(crate) type Told = Vec<(u64, String, Snapshot)>;

/// A page that is served. Dropped, it tells whoever looks how it ended.
pub(crate) struct Page {
    shared: Arc<Shared>,
    url: String,
}

struct Shared {
    door: Door,
    /// Gives what there is, whenever somebody wants it.
    look: Box<Tell>,
    lookers: AtomicUsize,
    over: AtomicBool,
    seen: Mutex<Vec<Seen>>,
}

type Tell = dyn Fn() -> Told + Send + Sync;

/// A graph that is shown.
struct Seen {
    number: u64,
    name: String,
    history: VecDeque<Snapshot>,
}

/// Takes `address`, on a port that is free if it is 0.
pub(crate) fn bind(address: SocketAddr) -> Result<TcpListener, String> {
    TcpListener::bind(address)
        .map_err(|error| format!("no page can be served at {address}: {error}; choose another address or port"))
}

impl Page {
    /// Serves what `look` gives.
    pub(crate) fn serve(listener: TcpListener, look: Box<Tell>) -> io::Result<Self> {
        let door = Door::new(listener.local_addr()?);
        let url = door.url();
        let shared = Arc::new(Shared {
            door,
            look,
            lookers: AtomicUsize::new(0),
            over: AtomicBool::new(false),
            seen: Mutex::default(),
        });
        let theirs = shared.clone();
        // It ends with the process: there is nothing that it would have to put in order.
        drop(thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = theirs.clone();
                if shared.lookers.fetch_add(1, Relaxed) >= MOST {
                    shared.lookers.fetch_sub(1, Relaxed);
                    continue;
                }
                drop(thread::spawn(move || {
                    // Who goes away is forgotten.
                    let _ = shared.answer(&stream);
                    shared.lookers.fetch_sub(1, Relaxed);
                }));
            }
        }));
        Ok(Self { shared, url })
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        self.shared.over.store(true, Release);
        // Who looks gets the last numbers, if it reads them.
        for _ in 0..15 {
            if self.shared.lookers.load(Acquire) == 0 {
                return;
            }
            thread::sleep(Duration::from_millis(100));
        }
    }
}

impl Shared {
    fn answer(&self, stream: &TcpStream) -> io::Result<()> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        const TEXT: &str = "text/plain; charset=utf-8";
        match self.door.admit(stream)? {
            Err(Refused(status, why)) => http::answer(stream, status, TEXT, why),
            Ok(path) => match path.as_str() {
                "/" => {
                    let page = PAGE.replace("/*STYLE*/", svg::STYLE).replace("<!--KEY-->", svg::KEY);
                    http::answer(stream, "200 OK", "text/html; charset=utf-8", &page)
                }
                "/events" => self.events(stream),
                "/metrics" => {
                    let text: String = (self.look)()
                        .iter()
                        .map(|(number, _, snapshot)| snapshot.metrics(&number.to_string()))
                        .collect();
                    http::answer(stream, "200 OK", "text/plain; version=0.0.4", &text)
                }
                "/snapshots" => {
                    let all: Vec<_> = (self.look)().iter().map(|(_, _, snapshot)| snapshot.to_json()).collect();
                    http::answer(stream, "200 OK", "application/json", &format!("[{}]\n", all.join(",")))
                }
                _ => http::answer(stream, "404 Not Found", TEXT, "there are /, /events, /metrics and /snapshots\n"),
            },
        }
    }

    /// Sends what changes, until the run is over or the browser is gone.
    fn events(&self, mut stream: &TcpStream) -> io::Result<()> {
        stream.write_all(http::head("200 OK", "text/event-stream", None).as_bytes())?;
        let mut drawn: Vec<(u64, usize, usize)> = Vec::new();
        loop {
            // The flag first: what is told after it is the last.
            let is_last = self.over.load(Acquire);
            let mut text = String::new();
            for seen in self.refresh().iter() {
                let now = &seen.history[seen.history.len() - 1];
                let shape = (seen.number, now.kernels.len(), now.edges.len());
                if !drawn.contains(&shape) {
                    drawn.retain(|other| other.0 != seen.number);
                    drawn.push(shape);
                    let svg = svg::graph(now, &now.since_start());
                    let _ =
                        write!(text, "event: shape\ndata: {{\"graph\":{},\"svg\":{}}}\n\n", seen.number, quoted(&svg));
                }
            }
            let all: Vec<_> = self.lock().iter().map(Seen::told).collect();
            let _ = write!(text, "data: [{}]\n\n", all.join(","));
            stream.write_all(text.as_bytes())?;
            stream.flush()?;
            if is_last {
                return Ok(());
            }
            for _ in 0..EVERY.as_millis() / 50 {
                if self.over.load(Acquire) {
                    break;
                }
                thread::sleep(Duration::from_millis(50));
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Seen>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks, unless somebody has just done so.
    fn refresh(&self) -> MutexGuard<'_, Vec<Seen>> {
        let told = (self.look)();
        let mut all = self.lock();
        for (number, name, snapshot) in told {
            match all.iter_mut().find(|seen| seen.number == number) {
                None => all.push(Seen { number, name, history: [snapshot].into() }),
                Some(seen) => {
                    seen.name = name;
                    let last = &seen.history[seen.history.len() - 1];
                    if last.run != snapshot.run || last.kernels.len() != snapshot.kernels.len() {
                        seen.history.clear();
                    } else if snapshot.time.saturating_sub(last.time) < EVERY / 2 && snapshot.end == last.end {
                        continue;
                    }
                    if seen.history.len() == KEPT {
                        seen.history.pop_front();
                    }
                    seen.history.push_back(snapshot);
                }
            }
        }
        all
    }
}

impl Seen {
    /// What the page shows of it now, as JSON.
    fn told(&self) -> String {
        let now = &self.history[self.history.len() - 1];
        let rates = match self.history.len() {
            1 => now.since_start(),
            length => now.since(&self.history[length - 2]),
        };
        let mut out = format!(
            "{{\"graph\":{},\"title\":{},\"state\":{},\"over\":{},\"kernels\":[",
            self.number,
            quoted(&self.name),
            quoted(&plain::headline(now)),
            now.end.is_some()
        );
        for (index, (kernel, flow)) in now.kernels.iter().zip(&rates.kernels).enumerate() {
            let star = if kernel.kind == Kind::Parallel { " *" } else { "" };
            let cells = plain::cells(now, &rates, index);
            let numbers: Vec<_> =
                plain::COLUMNS.iter().zip(&cells).map(|(column, cell)| format!("{column} {cell}")).collect();
            let _ = write!(
                out,
                "{}[\"{}\",{:.1},{},{:.1},{},{}]",
                if index > 0 { "," } else { "" },
                svg::worst(kernel.doing, flow),
                flow.busy,
                quoted(&svg::told(flow)),
                flow.messages_in.max(flow.messages_out),
                quoted(&format!("{}{star}: {}", kernel.name, plain::doing(now, kernel.doing))),
                quoted(&format!("milliseconds of a second: {}; {}", numbers[..6].join(", "), numbers[6..].join(", "))),
            );
        }
        out.push_str("],\"edges\":[");
        for (index, (edge, flow)) in now.edges.iter().zip(&rates.edges).enumerate() {
            let comma = if index > 0 { "," } else { "" };
            let _ =
                write!(out, "{comma}[{:.1},{:.1},{}]", flow.messages, svg::thickness(flow.messages), edge.fill > 0.9);
        }
        // A number for whom a worker runs; -1 is one that looks for work, -2 one that rests.
        let workers = now.workers.iter().map(|worker| match worker.state {
            WorkerState::Runs(kernel) => kernel.to_string(),
            WorkerState::Looks => "-1".to_owned(),
            _ => "-2".to_owned(),
        });
        let crew: Vec<_> =
            (0..now.workers.len().min(32)).map(|index| format!("{index} {}", plain::worker(now, index))).collect();
        let history: Vec<_> = self.history.iter().cloned().collect();
        let latencies: Vec<_> = (0..now.latencies.len()).map(|index| quoted(&plain::latency(now, index))).collect();
        let told: Vec<_> = remarks(&history).iter().map(|remark| quoted(&remark.text)).collect();
        let _ = write!(
            out,
            "],\"workers\":[{}],\"crew\":{},\"latencies\":[{}],\"remarks\":[{}]}}",
            workers.collect::<Vec<_>>().join(","),
            quoted(&crew.join("; ")),
            latencies.join(","),
            told.join(",")
        );
        out
    }
}

/// A JSON string, on one line.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_on_one_line() {
        assert_eq!(quoted("a\"b\\c\nd"), "\"a\\\"b\\\\c\\u000ad\"");
    }
}
