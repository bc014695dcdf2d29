//! Who ran what and who waited for which line, moment by moment.

use crate::failure::Reason;
use crate::machine::Machine;
use crate::source::Sources;
use std::collections::BTreeSet;
use std::fmt::Write;
use thalweg_sync::engine::Site;

/// What an event says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// A thread had this hardware thread.
    Had { place: usize },
    /// It did what it had named.
    Task { name: u32 },
    /// It waited for a line of memory, of which so many cycles in line behind others.
    Line { line: u32, site: Site, in_line: u64 },
    /// It waited for something else.
    Wait { reason: Reason, site: Site },
    /// It wanted a hardware thread.
    Wanted,
}

/// Something that a thread did from `begin` to `end`, in cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) thread: usize,
    pub(crate) begin: u64,
    pub(crate) end: u64,
    pub(crate) what: What,
}

/// Waits that are shorter are not worth a line in a picture, in cycles.
const SHORT: u64 = 16;

/// Events as they happen.
#[derive(Debug)]
pub(crate) struct Recorder {
    most: usize,
    events: Vec<Event>,
    lost: u64,
}

impl Recorder {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, events: Vec::new(), lost: 0 }
    }

    pub(crate) fn add(&mut self, event: Event) {
        if matches!(event.what, What::Line { .. } | What::Wait { .. }) && event.end < event.begin + SHORT {
            return;
        }
        if self.events.len() < self.most {
            self.events.push(event);
        } else {
            self.lost += 1;
        }
    }

    pub(crate) fn finish(self, machine: &Machine, tasks: Vec<String>) -> Trace {
        Trace { mhz: machine.mhz(), machine: machine.name().to_owned(), events: self.events, lost: self.lost, tasks }
    }
}

/// What the threads of a run did, moment by moment: for [Perfetto](https://ui.perfetto.dev), or any other viewer of
/// Chrome's trace events.
///
/// Two groups of tracks: the hardware threads, with who had them, and the program's threads, with what they did
/// ([`hint::task`](thalweg_sync::hint::task): of a graph, the kernels), for which line of memory they waited and where
/// in the source, and where they spun, parked or joined. Waits of less than 16 cycles are left out.
///
/// ```
/// use thalweg_sim::{Machine, Simulation};
/// use thalweg_sync::{atomic::{AtomicU64, Ordering::Relaxed}, thread};
///
/// let report = Simulation::new(Machine::named("vl-16")?).trace(10_000).run(|| {
///     let word = AtomicU64::new(0);
///     thread::scope(|scope| {
///         for _ in 0..2 {
///             scope.spawn(|| (0..20).for_each(|_| _ = word.fetch_add(1, Relaxed)));
///         }
///     });
/// });
/// let json = report.trace.unwrap().to_json();
/// assert!(json.contains("\"traceEvents\"") && json.contains("waits for"));
/// # Ok::<(), thalweg_sim::MachineError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    machine: String,
    mhz: u64,
    events: Vec<Event>,
    lost: u64,
    tasks: Vec<String>,
}

/// The group of tracks of the hardware threads, and of the threads.
const PLACES: u32 = 1;
const THREADS: u32 = 2;

impl Trace {
    /// How many events it has.
    pub fn events(&self) -> usize {
        self.events.len()
    }

    /// How many events came after there was no room any more.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// The trace as JSON, in the format of Chrome's trace events. Times are microseconds.
    pub fn to_json(&self) -> String {
        let mut sources = Sources::default();
        let mut text = String::from("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
        let head = format!("{}: hardware threads", self.machine);
        name_of_track(&mut text, "process_name", PLACES, 0, &head);
        name_of_track(&mut text, "process_name", THREADS, 0, "threads of the program");
        let (mut places, mut threads) = (BTreeSet::new(), BTreeSet::new());
        for event in &self.events {
            threads.insert(event.thread);
            if let What::Had { place } = event.what {
                places.insert(place);
            }
        }
        places.iter().for_each(|&place| name_of_track(&mut text, "thread_name", PLACES, place, &format!("hw {place}")));
        for &thread in &threads {
            name_of_track(&mut text, "thread_name", THREADS, thread, &format!("thread {thread}"));
        }
        for event in &self.events {
            self.write(&mut text, event, &mut sources);
        }
        let _ = write!(
            text,
            "{{\"name\":\"events left out\",\"ph\":\"M\",\"pid\":1,\"args\":{{\"count\":{}}}}}",
            self.lost
        );
        text.push_str("\n]}\n");
        text
    }

    fn write(&self, text: &mut String, event: &Event, sources: &mut Sources) {
        let (mut pid, mut tid) = (THREADS, event.thread);
        // The categories of a native trace.
        let kind = match event.what {
            What::Had { .. } => "place",
            What::Task { .. } => "run",
            What::Wait { reason: Reason::Park, .. } => "park",
            What::Line { .. } | What::Wait { .. } | What::Wanted => "wait",
        };
        let (name, args) = match event.what {
            What::Had { place } => {
                (pid, tid) = (PLACES, place);
                (format!("thread {}", event.thread), "{}".to_owned())
            }
            What::Task { name } => (self.tasks[name as usize].clone(), "{}".to_owned()),
            What::Line { line, site, in_line } => {
                let args = format!(
                    "{{\"line\":{line},\"at\":{},\"ns in line\":{}}}",
                    quoted(&site.to_string()),
                    self.micros(in_line * 1000)
                );
                (format!("waits for {}", sources.name(site)), args)
            }
            What::Wait { reason, site } => {
                let name = match reason {
                    Reason::Spin => "spins".to_owned(),
                    Reason::Poll => "tries again".to_owned(),
                    Reason::Park => "parked".to_owned(),
                    Reason::Join { thread } => format!("joins thread {thread}"),
                };
                (name, format!("{{\"at\":{}}}", quoted(&site.to_string())))
            }
            What::Wanted => ("waits for a hardware thread".to_owned(), "{}".to_owned()),
        };
        let (begin, length) = (self.micros(event.begin), self.micros(event.end - event.begin));
        let name = quoted(&name);
        let _ = writeln!(
            text,
            "{{\"name\":{name},\"cat\":\"{kind}\",\"ph\":\"X\",\"pid\":{pid},\"tid\":{tid},\"ts\":{begin},\"dur\":{length},\"args\":{args}}},"
        );
    }

    /// Cycles in microseconds, exact to the picosecond.
    fn micros(&self, cycles: u64) -> String {
        let picos = u128::from(cycles) * 1_000_000 / u128::from(self.mhz);
        format!("{}.{:06}", picos / 1_000_000, picos % 1_000_000)
    }
}

fn name_of_track(text: &mut String, kind: &str, pid: u32, tid: usize, name: &str) {
    let name = quoted(name);
    let _ = writeln!(
        text,
        "{{\"name\":\"{kind}\",\"ph\":\"M\",\"pid\":{pid},\"tid\":{tid},\"args\":{{\"name\":{name}}}}},"
    );
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
