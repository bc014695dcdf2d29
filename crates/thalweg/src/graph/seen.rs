//! What others see of a graph's runs, and how many workers they leave to it.

use crate::error::Refusal;
use crate::graph::Graph;
use crate::graph::path::Handle;
use crate::observe::{Allowance, Observer, Tracer};

impl Graph<'_> {
    /// What its runs count, to be looked at from another thread while they go on. To be made before a run, which borrows the graph; see
    /// [`observe`](crate::observe).
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// let mut graph = Graph::new();
    /// graph += graph.source(0..1000_u64) >> graph.sink(drop::<u64>);
    /// let observer = graph.observe();
    /// assert_eq!(observer.snapshot(), None, "no run has begun");
    /// graph.run(Scheme::default())?;
    /// let last = observer.snapshot().expect("there was a run");
    /// assert_eq!((last.run, last.edges[0].messages), (1, 1000));
    /// println!("{}", last.to_json());
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    pub fn observe(&self) -> Observer {
        self.control.eyes.observe()
    }

    /// Lets runs from now on leave a trace: what each worker did, and when, of which each keeps the last `events`, at 24 bytes. A later call takes the
    /// place of an earlier one.
    ///
    /// Costs two looks at the clock for each activation; a graph without a trace pays nothing.
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// let mut graph = Graph::new();
    /// let end = graph.sink(drop::<u64>);
    /// graph.name(end, "end");
    /// graph += graph.source(0..1000_u64) >> end;
    /// let tracer = graph.trace(10_000);
    /// graph.run(Scheme::default())?;
    /// let trace = tracer.take().expect("there was a run");
    /// assert!(trace.lost == 0 && !trace.events.is_empty());
    /// let json = trace.to_json(); // for ui.perfetto.dev
    /// # assert!(json.contains("\"end\""));
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    pub fn trace(&self, events: usize) -> Tracer {
        self.control.eyes.trace(events)
    }

    /// How many workers may work, to be changed from any thread while a run goes on: all of them at first.
    ///
    /// ```
    /// use thalweg::prelude::*;
    ///
    /// let mut graph = Graph::new();
    /// let (end, sum) = graph.gather(0, |sum: &mut u64, n: u64| *sum += n);
    /// graph += graph.source(0..1000_u64) >> graph.parallel_map(|n: u64| n * n) >> end;
    /// let allowance = graph.allowance();
    /// allowance.allow(1); // more from another thread, once others need less
    /// graph.run(Scheme::default())?;
    /// assert_eq!(sum.take(), 332_833_500);
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    pub fn allowance(&self) -> Allowance {
        Allowance { pane: self.control.eyes.observe().pane }
    }

    /// Samples how long messages take from one kernel to another: [`Report::latencies`](crate::Report::latencies), snapshots, metrics and traces have it. A run is refused if nothing of the
    /// first one gets to the other.
    ///
    /// One block in 100 us is stamped when it leaves the first kernel, and what comes of it carries the stamp on until the other kernel is done with it. A
    /// message that a filter drops gives no sample, one that becomes many gives one for each block in which some of it comes. What a kernel keeps in its
    /// state counts from the block at which it is given. What goes round a cycle is not sampled, nor what waits outside before an inlet's kernel takes it.
    ///
    /// Costs a look at the clock for each block of the first kernel, 100 ns for a stamp at each kernel on its way, and 20 KB; nothing where nobody asks.
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// let mut graph = Graph::new();
    /// let (numbers, end) = (graph.source(0..100_000_u64), graph.sink(drop::<u64>));
    /// graph.name(numbers, "numbers");
    /// graph.name(end, "end");
    /// graph += numbers >> graph.map(|n: u64| n / 2) >> end;
    /// graph.latency(numbers, end);
    /// let report = graph.run(Scheme::default())?;
    /// let latency = report.latency("numbers", "end").expect("it was asked for");
    /// assert!(latency.samples > 0 && latency.p50 <= latency.p999 && latency.p999 <= latency.max);
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    pub fn latency(&self, from: impl Handle, to: impl Handle) {
        let (from, to) = (from.kernel(), to.kernel());
        let mut draft = self.draft.borrow_mut();
        if from.graph != self.id() || to.graph != self.id() {
            let reason = "a kernel whose latency was asked for belongs to another graph; ask there";
            draft.refusals.push(Refusal { kernel: "Graph::latency".to_owned(), reason: reason.to_owned() });
        } else if !draft.latencies.contains(&(from.kernel, to.kernel)) {
            draft.latencies.push((from.kernel, to.kernel));
        }
    }
}
