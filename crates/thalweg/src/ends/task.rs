//! Kernels that are functions: each runs by itself, takes from outlets and gives into inlets.
//!
//! # Invariants
//!
//! - **F1** Once the gate is open, the end of a body is noted once: it returned, it panicked, or whoever was to run it dropped it.
//! - **F2** A failure is noted before the run is cancelled for it, so whoever sees the run end finds it.
//! - **F3** A run that does not begin leaves the code at home: whoever waits at the gate goes away, and the next run gives it to somebody again.

use super::inlet::Inlet;
use super::outlet::Outlet;
use crate::control::Control;
use crate::error::{Cause, Verdict, catch};
use crate::graph::path::{Handle, Sink, Source};
use crate::graph::{Graph, PortRef};
use std::fmt;
use std::io;
use std::mem;
use thalweg_queue::BuildError;
use thalweg_sync::park::{Parker, Unparker};
use thalweg_sync::sync::{Arc, Mutex, MutexGuard};

/// What a [task](Graph::task) takes from and gives to: an [`Outlet`], an [`Inlet`], or a tuple or an array of them.
pub trait TaskPorts: Sized {
    /// What the graph connects: a [`Sink`] for each outlet, a [`Source`] for each inlet, in the same order.
    type Handles;

    /// Both ends of each port, for `capacity` messages.
    ///
    /// # Errors
    ///
    /// If `capacity` is out of the limits of a queue.
    #[doc(hidden)]
    fn open(
        graph: &Graph<'_>,
        capacity: usize,
        kernels: &mut Vec<PortRef>,
    ) -> Result<(Self::Handles, Self), BuildError>;
}

impl<T: Send + 'static> TaskPorts for Outlet<T> {
    type Handles = Sink<T>;

    #[track_caller]
    fn open(graph: &Graph<'_>, capacity: usize, kernels: &mut Vec<PortRef>) -> Result<(Sink<T>, Self), BuildError> {
        let (sink, outlet) = graph.outlet(capacity)?;
        kernels.push(sink.kernel());
        graph.name(sink, "task-in");
        Ok((sink, outlet))
    }
}

impl<T: Send + 'static> TaskPorts for Inlet<T> {
    type Handles = Source<T>;

    #[track_caller]
    fn open(graph: &Graph<'_>, capacity: usize, kernels: &mut Vec<PortRef>) -> Result<(Source<T>, Self), BuildError> {
        let (source, inlet) = graph.inlet(capacity)?;
        kernels.push(source.kernel());
        graph.name(source, "task-out");
        Ok((source, inlet))
    }
}

impl<P: TaskPorts, const N: usize> TaskPorts for [P; N] {
    type Handles = [P::Handles; N];

    #[track_caller]
    fn open(
        graph: &Graph<'_>,
        capacity: usize,
        kernels: &mut Vec<PortRef>,
    ) -> Result<(Self::Handles, Self), BuildError> {
        let mut both: [Option<(P::Handles, P)>; N] = [const { None }; N];
        for port in &mut both {
            *port = Some(P::open(graph, capacity, kernels)?);
        }
        let mut ports = [const { None }; N];
        let mut index = 0;
        let handles = both.map(|port| {
            let (handle, port) = port.expect("opened above");
            ports[index] = Some(port);
            index += 1;
            handle
        });
        Ok((handles, ports.map(|port| port.expect("moved above"))))
    }
}

macro_rules! tuples {
    ($($port:ident)*) => {
        impl<$($port: TaskPorts),*> TaskPorts for ($($port,)*) {
            type Handles = ($($port::Handles,)*);

            #[track_caller]
            #[allow(non_snake_case, reason = "a port's value is named as its type")]
            fn open(
                graph: &Graph<'_>,
                capacity: usize,
                kernels: &mut Vec<PortRef>,
            ) -> Result<(Self::Handles, Self), BuildError> {
                $(let $port = $port::open(graph, capacity, kernels)?;)*
                Ok((($($port.0,)*), ($($port.1,)*)))
            }
        }
    };
}

tuples!(A);
tuples!(A B);
tuples!(A B C);
tuples!(A B C D);
tuples!(A B C D E);
tuples!(A B C D E F);
tuples!(A B C D E F G);
tuples!(A B C D E F G H);

/// A task's code, for whoever is to run it: see [`Graph::task_on`]. If it is dropped instead, the run fails.
pub struct TaskBody {
    home: Arc<Home>,
    /// The start that it belongs to.
    start: u32,
    runs: bool,
}

impl TaskBody {
    /// Runs the task on this thread, to its end. Until the run begins, it waits for that.
    pub fn run(mut self) {
        self.runs = true;
        if let Some(code) = self.home.wait_for_code() {
            let failures = code();
            self.home.end(failures);
        }
    }
}

impl Drop for TaskBody {
    fn drop(&mut self) {
        if !self.runs {
            self.home.drop_body(self.start);
        }
    }
}

impl fmt::Debug for TaskBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TaskBody")
    }
}

type Code = Box<dyn FnOnce() -> Vec<Cause> + Send>;

/// Whether bodies may begin.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Gate {
    /// No run is about to begin.
    Off,
    Shut,
    /// The run has begun.
    Open,
}

/// Where a task's code is until it begins, and what becomes of it.
pub(crate) struct Home {
    control: Arc<Control>,
    state: Mutex<State>,
}

struct State {
    gate: Gate,
    code: Option<Code>,
    /// How often it was given to somebody.
    start: u32,
    /// Whoever was to run it has dropped it.
    dropped: bool,
    ended: bool,
    failures: Vec<Cause>,
    /// Who waits for the gate, or for the end.
    waits: Vec<Unparker>,
}

impl Home {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Sleeps until `look` finds something.
    fn wait<R>(&self, look: impl Fn(&mut State) -> Option<R>) -> R {
        let parker = Parker::new();
        loop {
            let mut state = self.state();
            if let Some(found) = look(&mut state) {
                return found;
            }
            state.waits.push(parker.unparker());
            drop(state);
            parker.park();
        }
    }

    fn change<R>(&self, change: impl FnOnce(&mut State) -> R) -> R {
        let (result, waits) = {
            let mut state = self.state();
            (change(&mut state), mem::take(&mut state.waits))
        };
        waits.iter().for_each(Unparker::unpark);
        result
    }

    fn wait_for_code(&self) -> Option<Code> {
        self.wait(|state| match state.gate {
            Gate::Shut => None,
            Gate::Open => Some(state.code.take()),
            Gate::Off => Some(None),
        })
    }

    fn drop_body(&self, start: u32) {
        let lost = self.change(|state| {
            // One of an earlier start is nobody's any more (F3).
            state.dropped |= state.start == start;
            state.dropped && state.gate == Gate::Open
        });
        if lost {
            self.lose();
        }
    }

    fn lose(&self) {
        let code = self.state().code.take();
        if code.is_none() {
            return;
        }
        // Its ports go with it, and whoever is at their other sides goes on.
        drop(code);
        self.end(vec![Cause::Error("whoever was to run the task dropped it; call TaskBody::run".into())]);
    }

    /// The run has begun.
    pub(crate) fn open(&self) {
        let lost = self.change(|state| {
            state.gate = Gate::Open;
            state.dropped
        });
        if lost {
            self.lose();
        }
    }

    /// F1.
    fn end(&self, failures: Vec<Cause>) {
        let failed = !failures.is_empty();
        self.change(|state| (state.ended, state.failures) = (true, failures));
        // F2.
        if failed {
            self.control.cancel();
        }
    }
}

type Spawn<'env> = Box<dyn FnMut(TaskBody) -> io::Result<()> + Send + 'env>;

/// A task of a graph.
pub(crate) struct Task<'env> {
    /// The kernels of its ports. It is told of by the name of the first.
    kernels: Vec<PortRef>,
    home: Arc<Home>,
    spawn: Spawn<'env>,
}

impl<'env> Task<'env> {
    pub(crate) fn new<P: Send + 'static, R: Verdict<Value = ()>>(
        kernels: Vec<PortRef>,
        ports: P,
        control: Arc<Control>,
        body: impl FnOnce(P) -> R + Send + 'static,
        spawn: Spawn<'env>,
    ) -> Self {
        let code = move || match catch(|| body(ports).into_result()) {
            Ok(Ok(())) => Vec::new(),
            Ok(Err(error)) => Cause::all_of(error),
            Err(caught) => caught.into_iter().map(|caught| caught.cause).collect(),
        };
        let state = State {
            gate: Gate::Off,
            code: Some(Box::new(code)),
            start: 0,
            dropped: false,
            ended: false,
            failures: Vec::new(),
            waits: Vec::new(),
        };
        Self { kernels, home: Arc::new(Home { control, state: Mutex::new(state) }), spawn }
    }

    /// The kernel by whose name it is told of, unless it has no ports.
    pub(crate) fn kernel(&self) -> Option<usize> {
        self.kernels.first().map(|port| port.kernel)
    }

    /// Why it cannot be part of another run, if so.
    pub(crate) fn refusal(&self) -> Option<&'static str> {
        let has_begun = self.home.state().gate == Gate::Open;
        has_begun.then_some(
            "its function was called in the first run, and is called once; make the graph anew for another run",
        )
    }

    /// Gives it to whoever is to run it, who waits until it is [open](Home::open).
    ///
    /// # Errors
    ///
    /// If there is no thread.
    pub(crate) fn start(&mut self) -> io::Result<()> {
        let start = self.home.change(|state| {
            (state.gate, state.dropped) = (Gate::Shut, false);
            state.start += 1;
            state.start
        });
        (self.spawn)(TaskBody { home: self.home.clone(), start, runs: false })
    }

    pub(crate) fn home(&self) -> Arc<Home> {
        self.home.clone()
    }

    /// Waits for its end, and gives what it failed with. If the run has not begun, nothing has happened (F3).
    pub(crate) fn join(&self) -> Vec<Cause> {
        self.home.change(|state| {
            if state.gate == Gate::Shut {
                state.gate = Gate::Off;
            }
        });
        let end = |state: &mut State| (state.ended || state.gate == Gate::Off).then(|| mem::take(&mut state.failures));
        self.home.wait(end)
    }
}

impl fmt::Debug for Task<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Task").field("kernels", &self.kernels).finish_non_exhaustive()
    }
}
