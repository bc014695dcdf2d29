//! What each worker did, when: a trace of bounded memory.
//!
//! Each worker writes into a ring of its own, which keeps the last events; how many were lost is counted. Nothing is written for a message, and nothing
//! at all where no trace was asked for.

use crate::json::{self, Object};
use std::fmt;
use thalweg_sync::atomic::Counter;
use thalweg_sync::sync::{Arc, Mutex};
use thalweg_sync::time::Duration;

/// What a worker did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Did {
    /// Ran this kernel.
    Ran(usize),
    /// Ran this kernel within the activation of one before it.
    Helped(usize),
    /// Found no room on this edge, and left its kernel.
    WaitedFull(usize),
    /// Found nothing on this edge, and left its kernel.
    WaitedEmpty(usize),
    /// Let this edge grow.
    Grew(usize),
    /// Looked around and slept, as there was nothing to do.
    Slept,
    /// Sat on the bench.
    SatOut,
    /// Found so many messages on this edge, when it had put some there: one look for every 16 blocks.
    Held {
        /// Where.
        edge: usize,
        /// How many.
        messages: u64,
    },
    /// Was done with something whose [latency](crate::Graph::latency) is sampled: the number of the pair of kernels. It began where that left the
    /// first of them.
    Arrived(usize),
}

/// Something that a worker did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TraceEvent {
    /// Who.
    pub worker: usize,
    /// What.
    pub did: Did,
    /// Since the run began.
    pub start: Duration,
    /// How long it took; zero of what takes no time.
    pub length: Duration,
}

/// What the workers of a run did. Made by [`Tracer::take`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Trace {
    /// The kernels' names.
    pub kernels: Vec<String>,
    /// The ends of the edges: indices into `kernels`.
    pub edges: Vec<(usize, usize)>,
    /// The kernels between which latencies were sampled.
    pub latencies: Vec<(usize, usize)>,
    /// Workers that there may have been.
    pub workers: usize,
    /// The events that were kept, in the order in which they ended, worker by worker.
    pub events: Vec<TraceEvent>,
    /// Events that came before those, for which there was no room.
    pub lost: u64,
}

/// A trace that is asked for: the events of the last run. Made by [`Graph::trace`](crate::Graph::trace).
#[derive(Clone)]
pub struct Tracer(pub(crate) Arc<Wanted>);

/// What a graph's runs leave for its tracer.
#[derive(Debug)]
pub(crate) struct Wanted {
    /// Events that each worker keeps.
    pub(crate) events: usize,
    last: Mutex<Option<Trace>>,
}

impl Wanted {
    pub(crate) fn new(events: usize) -> Self {
        Self { events, last: Mutex::default() }
    }

    pub(crate) fn leave(&self, trace: Trace) {
        *self.last.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(trace);
    }
}

impl Tracer {
    /// The trace of the last run that has ended; once.
    pub fn take(&self) -> Option<Trace> {
        self.0.last.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take()
    }
}

impl fmt::Debug for Tracer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tracer").field("events", &self.0.events).finish_non_exhaustive()
    }
}

/// The events that a worker keeps. The worker alone writes; it is read when all workers have come home.
#[derive(Debug)]
pub(crate) struct Ring {
    slots: Vec<[Counter; 3]>,
    written: Counter,
}

impl Ring {
    /// Room for so many events, at least one.
    pub(crate) fn new(events: usize) -> Self {
        Self { slots: (0..events.max(1)).map(|_| Default::default()).collect(), written: Counter::new() }
    }

    /// Notes what took from `start` to `end`, in nanoseconds of the clock.
    pub(crate) fn note(&self, did: Did, start: u64, end: u64) {
        let count = self.written.get();
        let slot = &self.slots[(count % self.slots.len() as u64) as usize];
        slot[0].set(did.number());
        slot[1].set(start);
        slot[2].set(match did {
            Did::Held { messages, .. } => messages,
            _ => end.saturating_sub(start),
        });
        self.written.set(count + 1);
    }

    /// What is kept, and how much is lost, of a run that began at `begin`.
    pub(crate) fn events(&self, worker: usize, begin: u64) -> (impl Iterator<Item = TraceEvent>, u64) {
        let (count, most) = (self.written.get(), self.slots.len() as u64);
        let kept = (count.saturating_sub(most)..count).map(move |number| {
            let slot = &self.slots[(number % most) as usize];
            TraceEvent {
                worker,
                did: Did::from_words(slot[0].get(), slot[2].get()),
                start: Duration::from_nanos(slot[1].get().saturating_sub(begin)),
                length: match Did::from_words(slot[0].get(), slot[2].get()) {
                    Did::Held { .. } => Duration::ZERO,
                    _ => Duration::from_nanos(slot[2].get()),
                },
            }
        });
        (kept, count.saturating_sub(most))
    }
}

impl Did {
    /// One word: what, in the lowest four bits, and where.
    fn number(self) -> u64 {
        let (what, place) = match self {
            Self::Ran(kernel) => (0, kernel),
            Self::Helped(kernel) => (1, kernel),
            Self::WaitedFull(edge) => (2, edge),
            Self::WaitedEmpty(edge) => (3, edge),
            Self::Grew(edge) => (4, edge),
            Self::Slept => (5, 0),
            Self::SatOut => (6, 0),
            Self::Arrived(pair) => (7, pair),
            Self::Held { edge, .. } => (8, edge),
        };
        (place as u64) << 4 | what
    }

    /// Of that word, and the one that says how long it took, or how many there were.
    fn from_words(number: u64, amount: u64) -> Self {
        let place = (number >> 4) as usize;
        match number & 15 {
            0 => Self::Ran(place),
            1 => Self::Helped(place),
            2 => Self::WaitedFull(place),
            3 => Self::WaitedEmpty(place),
            4 => Self::Grew(place),
            5 => Self::Slept,
            6 => Self::SatOut,
            7 => Self::Arrived(place),
            _ => Self::Held { edge: place, messages: amount },
        }
    }
}

impl Trace {
    /// As the JSON that Perfetto and Chrome read (`ui.perfetto.dev`, `chrome://tracing`): a track for each worker, and one for the latencies of each pair of
    /// kernels.
    pub fn to_json(&self) -> String {
        let mut json = String::from("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
        let named = |what: &str, track: usize, name: &str| {
            json::object(|object| {
                object.text("name", what).text("ph", "M").raw("pid", 1).raw("tid", track);
                object.raw("args", json::object(|args| _ = args.text("name", name)));
            })
        };
        json += &named("process_name", 0, "thalweg");
        for worker in 0..self.workers {
            json += ",\n";
            json += &named("thread_name", worker, &format!("worker {worker}"));
        }
        for (number, event) in self.events.iter().enumerate() {
            let (name, kind) = self.name(event.did);
            // Microseconds, as the format has them.
            let micros = |time: Duration| format!("{:.3}", time.as_nanos() as f64 / 1e3);
            let mut write = |phase: &str, time: Duration, more: &dyn Fn(&mut Object<'_>)| {
                json += ",\n";
                json += &json::object(|object| {
                    object.text("name", &name).text("cat", kind).raw("pid", 1).raw("tid", event.worker);
                    object.raw("ts", micros(time)).text("ph", phase);
                    more(object);
                });
            };
            match event.did {
                Did::Ran(_) | Did::Helped(_) | Did::Slept | Did::SatOut => {
                    write("X", event.start, &|object| _ = object.raw("dur", micros(event.length)));
                }
                // They overlap, so each is a pair of events that a number of its own holds together.
                Did::Arrived(_) => {
                    write("b", event.start, &|object| _ = object.raw("id", number));
                    write("e", event.start + event.length, &|object| _ = object.raw("id", number));
                }
                Did::Held { messages, .. } => {
                    let args = json::object(|args| _ = args.raw("messages", messages));
                    write("C", event.start, &|object| _ = object.raw("args", &args));
                }
                _ => write("i", event.start, &|object| _ = object.text("s", "t")),
            }
        }
        json += "\n],\"otherData\":";
        json += &json::object(|object| _ = object.raw("lost_events", self.lost));
        json += "}\n";
        json
    }

    fn name(&self, did: Did) -> (String, &'static str) {
        let kernel = |kernel: usize| self.kernels.get(kernel).cloned().unwrap_or_default();
        let edge = |edge: usize| {
            self.edges.get(edge).map(|&(from, to)| format!("{} >> {}", kernel(from), kernel(to))).unwrap_or_default()
        };
        match did {
            Did::Ran(number) => (kernel(number), "run"),
            Did::Helped(number) => (kernel(number), "help"),
            Did::WaitedFull(number) => (format!("full: {}", edge(number)), "wait"),
            Did::WaitedEmpty(number) => (format!("empty: {}", edge(number)), "wait"),
            Did::Grew(number) => (format!("grew: {}", edge(number)), "growth"),
            Did::Slept => ("sleep".to_owned(), "park"),
            Did::SatOut => ("bench".to_owned(), "park"),
            Did::Held { edge: number, .. } => (edge(number), "edge"),
            Did::Arrived(pair) => {
                let (from, to) = self.latencies.get(pair).copied().unwrap_or_default();
                (format!("{} to {}", kernel(from), kernel(to)), "latency")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_events_are_kept_and_the_others_counted() {
        let ring = Ring::new(3);
        for time in 0..5 {
            ring.note(Did::Ran(time), 100 + time as u64, 110 + 2 * time as u64);
        }
        let (events, lost) = ring.events(7, 100);
        let events: Vec<_> =
            events.map(|event| (event.worker, event.did, event.start.as_nanos(), event.length.as_nanos())).collect();
        let expected = [2, 3, 4].map(|time: usize| (7, Did::Ran(time), time as u128, 10 + time as u128));
        assert_eq!((events.as_slice(), lost), (&expected[..], 2));
    }

    #[test]
    fn what_was_done_fits_a_word() {
        for did in [
            Did::Ran(0),
            Did::Helped(1 << 40),
            Did::WaitedFull(3),
            Did::WaitedEmpty(4),
            Did::Grew(5),
            Did::Slept,
            Did::SatOut,
            Did::Arrived(6),
            Did::Held { edge: 7, messages: 8 },
        ] {
            assert_eq!(Did::from_words(did.number(), 8), did);
        }
    }
}
