//! What the command line asks to see of the runs of this process: recorded, traced, served.

use std::net::TcpListener;

use thalweg::observe::Tracer;
use thalweg::{Observer, Stopper};
use thalweg_sync::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use super::record::{Recorder, Tape};
use super::units;
use super::web::{self, Page};
use crate::args::Looking;

/// Events of a trace that each worker keeps.
const TRACED: usize = 100_000;

/// An application may run several graphs, one after the other: all are recorded and served, and the trace is the last one's.
#[derive(Default)]
pub(crate) struct Asked {
    /// Not while it is recorded.
    tape: Option<Tape>,
    recorder: Option<Recorder>,
    /// Where the trace goes, and what has it.
    trace: Option<Tape>,
    tracer: Option<Tracer>,
    /// Whether latencies are sampled.
    latency: bool,
    listener: Option<TcpListener>,
    page: Option<Page>,
    observers: Arc<Mutex<Vec<Observer>>>,
}

static ASKED: OnceLock<Mutex<Asked>> = OnceLock::new();

/// Takes note of what is asked. A file or an address that cannot be had is an error now, before anything runs.
pub(crate) fn ask(looking: &Looking) -> Result<(), String> {
    let asked = Asked {
        tape: looking.record.as_deref().map(Tape::create).transpose()?,
        trace: looking.trace.as_deref().map(Tape::create).transpose()?,
        latency: looking.latency,
        listener: looking.live.map(web::bind).transpose()?,
        ..Asked::default()
    };
    let _is_first = ASKED.set(Mutex::new(asked));
    Ok(())
}

/// What is asked; nothing where nobody did.
pub(crate) fn asked() -> MutexGuard<'static, Asked> {
    lock(ASKED.get_or_init(Mutex::default))
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Asked {
    /// A graph runs now. Gives what the user should know of it.
    pub(crate) fn started(&mut self, run: &Stopper) -> Option<String> {
        self.rewind();
        self.recorder = self.tape.take().map(|tape| tape.record(run.observe()));
        if self.latency {
            run.latencies();
        }
        if self.trace.is_some() {
            self.tracer = Some(run.trace(TRACED));
        }
        if self.listener.is_none() && self.page.is_none() {
            return None;
        }
        lock(&self.observers).push(run.observe());
        let observers = self.observers.clone();
        let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
        let name = units::short(&format!("thalweg {}", words.collect::<Vec<_>>().join(" ")), 80);
        let look = move || {
            let observers = lock(&observers).clone();
            let numbered = (1..).zip(&observers);
            numbered.filter_map(|(number, observer)| Some((number, name.clone(), observer.snapshot()?))).collect()
        };
        match Page::serve(self.listener.take()?, Box::new(look)) {
            Ok(page) => {
                let told = format!("live at {}", page.url());
                self.page = Some(page);
                Some(told)
            }
            Err(error) => Some(format!("there is no page: {error}; the run goes on")),
        }
    }

    /// The last snapshot of a graph that was recorded is written.
    fn rewind(&mut self) {
        if let Some(recorder) = self.recorder.take() {
            self.tape = recorder.end();
        }
    }

    /// The runs are over: what there is of them comes to its end. Gives what the user should know.
    pub(crate) fn end(&mut self) -> Option<String> {
        self.rewind();
        self.page = None;
        let (trace, mut tape) = (self.tracer.take()?.take()?, self.trace.take()?);
        tape.write(&trace.to_json());
        let lost = trace.lost;
        (lost > 0).then(|| format!("the trace has the end of the run: {lost} events before that are lost"))
    }
}
