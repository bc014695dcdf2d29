//! Functions that run beside the kernels, as parts of a graph.

use crate::ends::task::{Home, Task, TaskBody, TaskPorts};
use crate::error::{Error, Failure, Refusal, Result, Verdict};
use crate::graph::Graph;
use crate::graph::draft::Draft;
use crate::report::Report;
use thalweg_queue::BuildError;
use thalweg_sync::sync::Arc;
use thalweg_sync::thread;

impl<'env> Graph<'env> {
    /// A kernel that is a function: it asks for its input where it wants it, in a loop of its own, and waits there.
    ///
    /// Its parameter says what ports it has: an [`Outlet`](crate::Outlet) to take from, an [`Inlet`](crate::Inlet) to give to, or a tuple or an array of them. The graph gets a
    /// [`Sink`](crate::Sink) and a [`Source`](crate::Source) for each, in the same order, and each holds up to `capacity` messages. A pop waits while there is nothing, and a push while there is no
    /// room, so what comes behind it holds it back, however much it makes of one message.
    ///
    /// It runs on a thread of its own, from the begin of the run on; [`task_on`](Self::task_on) runs it as a user-level thread. The streams behind it end as it drops its inlets, at the
    /// latest when it returns; and the run returns when it has. If it panics or returns an error, the run is cancelled, and fails under the name of the first
    /// port's kernel. It is called once, so its graph runs once.
    ///
    /// Cost: as an outlet and an inlet, some 100 ns a message; in batches a few.
    ///
    /// ```
    /// use thalweg::prelude::*;
    ///
    /// let mut graph = Graph::new();
    /// // The larger one of each two messages.
    /// let (to, from) = graph.task(64, |(input, output): (Outlet<u64>, Inlet<u64>)| {
    ///     while let (Ok(first), Ok(second)) = (input.pop(), input.pop()) {
    ///         output.push(first.max(second))?;
    ///     }
    ///     Ok::<(), thalweg::Closed<u64>>(())
    /// })?;
    /// let (end, larger) = graph.collect();
    /// graph += graph.source([3, 1, 4, 1, 5, 9]) >> to;
    /// graph += from >> end;
    /// graph.run(Scheme::default())?;
    /// assert_eq!(larger.take(), [3, 4, 9]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If `capacity` is out of the limits of a queue. That the system gives no thread is an error of [`run`](Self::run): it is refused, and can be made again.
    #[track_caller]
    pub fn task<P, R>(
        &self,
        capacity: usize,
        body: impl FnOnce(P) -> R + Send + 'static,
    ) -> Result<P::Handles, BuildError>
    where
        P: TaskPorts + Send + 'static,
        R: Verdict<Value = ()>,
    {
        let on_thread = |body: TaskBody| {
            let spec = thread::Spec { name: "thalweg-task", ..Default::default() };
            thread::try_start(spec, move || body.run())
        };
        let mut kernels = Vec::new();
        let (handles, ports) = P::open(self, capacity, &mut kernels)?;
        self.add_task(Task::new(kernels, ports, self.control.clone(), body, Box::new(on_thread)));
        Ok(handles)
    }

    /// As [`task`](Self::task), and `spawn` says who runs it. It is called when the run begins, and lets [`TaskBody::run`] be called by a user-level thread, or by a thread of its own
    /// making, without waiting for it.
    ///
    /// In a user-level thread of the crate `thalweg-task` a port that is full or empty switches to other work:
    ///
    /// ```
    /// use thalweg::prelude::*;
    ///
    /// let mut graph = Graph::new();
    /// // `|body| drop(runtime.spawn(|| body.run()))`, with a runtime of `thalweg-task`
    /// let spawn = |body: thalweg::TaskBody| drop(std::thread::spawn(|| body.run()));
    /// let to = graph.task_on(spawn, 64, |words: Outlet<&str>| assert_eq!(words.iter().count(), 2))?;
    /// graph += graph.source(["one", "two"]) >> to;
    /// graph.run(Scheme::default())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If `capacity` is out of the limits of a queue.
    #[track_caller]
    pub fn task_on<P, R>(
        &self,
        mut spawn: impl FnMut(TaskBody) + Send + 'env,
        capacity: usize,
        body: impl FnOnce(P) -> R + Send + 'static,
    ) -> Result<P::Handles, BuildError>
    where
        P: TaskPorts + Send + 'static,
        R: Verdict<Value = ()>,
    {
        let elsewhere = move |body| {
            spawn(body);
            Ok(())
        };
        let mut kernels = Vec::new();
        let (handles, ports) = P::open(self, capacity, &mut kernels)?;
        self.add_task(Task::new(kernels, ports, self.control.clone(), body, Box::new(elsewhere)));
        Ok(handles)
    }

    fn add_task(&self, task: Task<'env>) {
        self.draft.borrow_mut().tasks.push(task);
    }
}

/// The gates of a run's tasks.
pub(super) struct Gates(Vec<Arc<Home>>);

impl Gates {
    /// The run has begun.
    pub(super) fn open(&self) {
        self.0.iter().for_each(|home| home.open());
    }
}

impl Draft<'_> {
    fn refusal(&self, task: &Task<'_>, reason: String) -> Refusal {
        let kernel = task.kernel().map_or_else(
            || "a task without ports".to_owned(),
            |kernel| format!("{} ({})", self.kernels[kernel].name, self.kernels[kernel].place),
        );
        Refusal { kernel, reason }
    }

    /// Why tasks cannot be part of another run.
    pub(super) fn refused_tasks(&self) -> Vec<Refusal> {
        let refusal = |task: &Task<'_>| Some(self.refusal(task, task.refusal()?.to_owned()));
        self.tasks.iter().filter_map(refusal).collect()
    }

    /// Gives each task to whoever is to run it; they wait at the [gates](Self::gates). A refusal for each that nobody runs.
    pub(super) fn start_tasks(&mut self) -> Vec<Refusal> {
        let mut tasks = std::mem::take(&mut self.tasks);
        let refusals = tasks.iter_mut().filter_map(|task| {
            let error = task.start().err()?;
            let reason =
                format!("the system gives no thread for it: {error}; let other threads end, then run the graph again");
            Some(self.refusal(task, reason))
        });
        let refusals = refusals.collect();
        self.tasks = tasks;
        refusals
    }

    /// Lets tasks begin.
    pub(super) fn gates(&self) -> Gates {
        Gates(self.tasks.iter().map(Task::home).collect())
    }

    /// Waits for the ends of all tasks that have begun, and adds what they failed with to what the run came to. The others stay for the next run.
    pub(super) fn join_tasks(&self, result: Result<Report>) -> Result<Report> {
        let mut own = Vec::new();
        for task in &self.tasks {
            let causes = task.join();
            let Some(definition) = task.kernel().map(|kernel| &self.kernels[kernel]) else { continue };
            own.extend(causes.into_iter().map(|cause| Failure {
                kernel: definition.name.clone(),
                place: definition.place,
                cause,
                is_kernel: true,
            }));
        }
        if own.is_empty() {
            return result;
        }
        match result {
            Ok(report) => Err(Error::Failed { failures: own, report: Box::new(report) }),
            Err(Error::Stalled { report, .. }) => Err(Error::Failed { failures: own, report }),
            Err(Error::Failed { mut failures, report }) => {
                failures.splice(..0, own);
                Err(Error::Failed { failures, report })
            }
            other => other,
        }
    }
}
