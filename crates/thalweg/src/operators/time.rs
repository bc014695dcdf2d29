//! Time: ticks, rates, what is put together within some time, and what has waited too long.
//!
//! Kernels here say [`Flow::PendingFor`] while they wait, so no worker waits with them. What is due comes late by as much as the workers are busy.

use crate::error::BoxError;
use crate::graph::Graph;
use crate::graph::path::{End, Gives, Node, Source};
use crate::kernel::Flow;
use crate::kernel::output::Output;
use crate::kernel::ported::{Binder, In, Io, Kernel, Out};
use crate::operators::ends::Emit;
use crate::operators::errors::Skipped;
use crate::operators::node;
use std::marker::PhantomData;
use std::mem;
use thalweg_sync::time::{Duration, Instant, now};

/// Behind [`Graph::throttle`].
struct Throttle<T> {
    count: usize,
    period: Duration,
    /// How many may still go in this period.
    left: usize,
    /// When the next period may begin.
    next: Instant,
    types: PhantomData<fn(T) -> T>,
}

impl<T: Send> Kernel for Throttle<T> {
    type Ports = (In<T>, Out<T>);

    fn ports(&mut self, bind: &mut Binder<'_>) -> Self::Ports {
        (bind.input("in"), bind.output("out"))
    }

    fn begin(&mut self) {
        self.left = self.count;
    }

    fn run(&mut self, &(input, out): &Self::Ports, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        if io.is_ended(input) {
            return Ok(Flow::Done);
        }
        loop {
            if self.left == 0 {
                let left = self.next.since(now());
                if !left.is_zero() {
                    return Ok(Flow::PendingFor(left));
                }
                self.left = self.count;
            }
            let Some(message) = io.pop(input) else { return Ok(Flow::More) };
            if self.left == self.count {
                // The period begins with its first message.
                self.next = now().after(self.period);
            }
            self.left -= 1;
            io.push(out, message);
        }
    }
}

/// Behind [`Graph::debounce`].
struct Debounce<T> {
    quiet: Duration,
    /// The last message, and when it is to go.
    held: Option<(T, Instant)>,
}

impl<T: Send> Kernel for Debounce<T> {
    type Ports = (In<T>, Out<T>);

    fn ports(&mut self, bind: &mut Binder<'_>) -> Self::Ports {
        (bind.input("in"), bind.output("out"))
    }

    fn begin(&mut self) {
        self.held = None;
    }

    fn run(&mut self, &(input, out): &Self::Ports, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        // First: what comes now came after its time.
        if let Some((message, _)) = self.held.take_if(|(_, due)| *due <= now()) {
            io.push(out, message);
        }
        let mut last = None;
        while let Some(message) = io.pop(input) {
            last = Some(message);
        }
        if let Some(message) = last {
            self.held = Some((message, now().after(self.quiet)));
        }
        if io.is_ended(input) {
            if let Some((message, _)) = self.held.take() {
                io.push(out, message);
            }
            return Ok(Flow::Done);
        }
        Ok(self.held.as_ref().map_or(Flow::More, |(_, due)| Flow::PendingFor(due.since(now()))))
    }
}

/// Behind [`Graph::chunks_within`].
struct ChunksWithin<T> {
    length: usize,
    period: Duration,
    chunk: Vec<T>,
    /// When the chunk is to go, if it is not empty.
    due: Instant,
}

impl<T: Send> Kernel for ChunksWithin<T> {
    type Ports = (In<T>, Out<Vec<T>>);

    fn ports(&mut self, bind: &mut Binder<'_>) -> Self::Ports {
        (bind.input("in"), bind.output("out"))
    }

    fn begin(&mut self) {
        self.chunk.clear();
    }

    fn run(&mut self, &(input, out): &Self::Ports, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        if !self.chunk.is_empty() && self.due <= now() {
            io.push(out, mem::take(&mut self.chunk));
        }
        while let Some(message) = io.pop(input) {
            if self.chunk.is_empty() {
                self.due = now().after(self.period);
            }
            self.chunk.push(message);
            if self.chunk.len() >= self.length {
                io.push(out, mem::take(&mut self.chunk));
            }
        }
        if io.is_ended(input) {
            if !self.chunk.is_empty() {
                io.push(out, mem::take(&mut self.chunk));
            }
            return Ok(Flow::Done);
        }
        Ok(if self.chunk.is_empty() { Flow::More } else { Flow::PendingFor(self.due.since(now())) })
    }
}

/// Behind [`Graph::deadline`]: looks at how long ago a message came.
struct Deadline<T> {
    limit: Duration,
    types: PhantomData<fn(T) -> T>,
}

impl<T: Send> Kernel for Deadline<T> {
    type Ports = (In<(Instant, T)>, Out<T>, Out<T>);

    fn ports(&mut self, bind: &mut Binder<'_>) -> Self::Ports {
        (bind.input("in"), bind.output("in time"), bind.output("late"))
    }

    fn run(&mut self, &(input, in_time, late): &Self::Ports, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        while let Some((came, message)) = io.pop(input) {
            io.push(if came.elapsed() < self.limit { in_time } else { late }, message);
        }
        Ok(Flow::More)
    }
}

impl<'env> Graph<'env> {
    /// A source of ticks: after each `period` the number of periods since the run began (the first run, if there are several). It ends when the run is stopped, or when nobody takes
    /// ticks any more.
    ///
    /// A tick may come late, by as much as the workers are busy. Ticks that were missed meanwhile are left out, so numbers may be skipped, but none comes
    /// early.
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// use std::time::Duration;
    ///
    /// let mut seen = Vec::new();
    /// let mut graph = Graph::new();
    /// let (ticks, three) = (graph.every(Duration::from_millis(2)), graph.take(3));
    /// let collect = graph.sink(|tick: u64| seen.push(tick));
    /// graph += ticks >> three >> collect;
    /// graph.run(Scheme::default())?;
    /// drop(graph);
    /// assert!(seen[0] >= 1 && seen[2] >= 3);
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    #[track_caller]
    pub fn every(&self, period: Duration) -> Source<u64> {
        let nanos = u64::try_from(period.as_nanos()).unwrap_or(u64::MAX);
        let (mut begin, mut last) = (None, 0);
        let ticks = self.poll_source(move |out: &mut Output<u64>| {
            let begin = *begin.get_or_insert_with(now);
            // Zero is refused before the run.
            let (gone, period) = (begin.elapsed().as_nanos() as u64, nanos.max(1));
            let tick = gone / period;
            if tick > last {
                last = tick;
                out.push(tick);
            }
            Flow::PendingFor(Duration::from_nanos(period - gone % period))
        });
        if period.is_zero() {
            self.refuse(ticks, "ticks with no time in between; give it a period");
        }
        ticks
    }

    /// Lets at most `count` messages through in each `period`, which begins with its first message. The others wait: nothing is dropped, and what comes before is held back.
    ///
    /// See [`every`](Self::every) for how late a message may be.
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// use std::time::{Duration, Instant};
    ///
    /// let mut seen = Vec::new();
    /// let mut graph = Graph::new();
    /// let (numbers, slowly) = (graph.source(0..6), graph.throttle(2, Duration::from_millis(3)));
    /// let collect = graph.sink(|x: u64| seen.push(x));
    /// graph += numbers >> slowly >> collect;
    /// let begin = Instant::now();
    /// graph.run(Scheme::default())?;
    /// drop(graph);
    /// // Two, a pause, two, a pause, two.
    /// assert!(begin.elapsed() >= Duration::from_millis(6));
    /// assert_eq!(seen, [0, 1, 2, 3, 4, 5]);
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    #[track_caller]
    pub fn throttle<T: Send + 'env>(&self, count: usize, period: Duration) -> Node<T, T> {
        let throttle = Throttle { count, period, left: count, next: Instant::default(), types: PhantomData };
        let (input, out) = self.add(throttle);
        if count == 0 {
            self.refuse(out, "0 messages in each period let nothing through; take at least 1");
        }
        node(input, out)
    }

    /// Gives a message once no other has come for `quiet`: of those that follow each other faster, only the last one. At the end of the stream the last one is given
    /// at once. What is passed over is dropped.
    ///
    /// See [`every`](Self::every) for how late a message may be.
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// use std::time::Duration;
    ///
    /// let mut seen = Vec::new();
    /// let mut graph = Graph::new();
    /// let (keys, settled) = (graph.source(["t", "te", "tea"]), graph.debounce(Duration::from_secs(60)));
    /// let collect = graph.sink(|text| seen.push(text));
    /// graph += keys >> settled >> collect;
    /// graph.run(Scheme::default())?;
    /// drop(graph);
    /// assert_eq!(seen, ["tea"]);
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    #[track_caller]
    pub fn debounce<T: Send + 'env>(&self, quiet: Duration) -> Node<T, T> {
        let (input, out) = self.add(Debounce { quiet, held: None });
        node(input, out)
    }

    /// Puts messages together in a vector, until it has `length` of them, or `period` has gone by since its first one came. The last one has what is left.
    ///
    /// See [`every`](Self::every) for how late one may be.
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// use std::time::Duration;
    ///
    /// let mut chunks = Vec::new();
    /// let mut graph = Graph::new();
    /// let (numbers, threes) = (graph.source(1..=7), graph.chunks_within(3, Duration::from_secs(60)));
    /// let collect = graph.sink(|chunk: Vec<i32>| chunks.push(chunk));
    /// graph += numbers >> threes >> collect;
    /// graph.run(Scheme::default())?;
    /// drop(graph);
    /// assert_eq!(chunks, [vec![1, 2, 3], vec![4, 5, 6], vec![7]]);
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    #[track_caller]
    pub fn chunks_within<T: Send + 'env>(&self, length: usize, period: Duration) -> Node<T, Vec<T>> {
        let (input, out) = self.add(ChunksWithin { length, period, chunk: Vec::new(), due: Instant::default() });
        if length == 0 {
            self.refuse(out, "chunks of 0 messages; take at least 1");
        }
        node(input, out)
    }

    /// Puts messages together whose times are in the same window: the first from 0 up to, not including, `width`, the next up to `2 * width`, and so on. Gives the begin of each
    /// window with its messages; those without messages are left out.
    ///
    /// `time` says when a message happened, in the unit of `width`; clocks play no part. Times must not fall back behind the window that is open, which is that of the message with the latest time so far: a
    /// message that does is skipped and counted in `late`, which may also end the run. A window is given when a message of a later one has come, or the stream has ended.
    ///
    /// ```
    /// use thalweg::operators::Skipped;
    /// use thalweg::prelude::*;
    ///
    /// let (mut sums, late) = (Vec::new(), Skipped::new());
    /// let mut graph = Graph::new();
    /// let events = graph.source([(1, 5), (9, 5), (12, 1), (3, 100), (38, 2)]);
    /// let windows = graph.window_by_time(10, |&(time, _)| time, &late);
    /// let sum = graph.sink(|(begin, events): (u64, Vec<(u64, u32)>)| {
    ///     sums.push((begin, events.iter().map(|(_, amount)| amount).sum()));
    /// });
    /// graph += events >> windows >> sum;
    /// graph.run(Scheme::default())?;
    /// drop(graph);
    /// assert_eq!(sums, [(0, 10), (10, 1), (30, 2)]);
    /// assert_eq!(late.count(), 1);
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    #[track_caller]
    pub fn window_by_time<T: Send + 'env>(
        &self,
        width: u64,
        mut time: impl FnMut(&T) -> u64 + Send + 'env,
        late: &Skipped,
    ) -> Node<T, (u64, Vec<T>)> {
        let late = late.clone();
        let windows = self.sequential_with(
            (0, Vec::new()),
            move |(begin, open): &mut (u64, Vec<T>), message, out: &mut Emit<'_, '_, (u64, Vec<T>)>| {
                let time = time(&message);
                // Zero is refused before the run.
                let own = time - time % width.max(1);
                if own < *begin {
                    return late.note(|| format!("a message of time {time}, when the window from {begin} was open"));
                }
                if own > *begin {
                    if !open.is_empty() {
                        out.push((*begin, mem::take(open)));
                    }
                    *begin = own;
                }
                open.push(message);
                Ok(())
            },
            |(begin, open), out| {
                if !open.is_empty() {
                    out.push((*begin, mem::take(open)));
                }
                *begin = 0;
            },
        );
        if width == 0 {
            self.refuse(windows, "windows of no width; take at least 1");
        }
        windows
    }

    /// Tells apart what waits too long: the first output has the messages that were taken within `limit` after they came, the second the others.
    ///
    /// They wait in the edge in front, as long as there is no room behind: so give what leaves here little room, `fixed(1)`. Both outputs keep their order. A message is looked at when this kernel takes it, and what
    /// has gone on is not looked at again.
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// use std::time::Duration;
    ///
    /// let (mut shown, mut missed) = (0, 0);
    /// let mut graph = Graph::new();
    /// let frames = graph.source(0..100);
    /// let [fresh, stale] = graph.deadline(frames, Duration::from_millis(1));
    /// let show = graph.sink(|_frame| {
    ///     std::thread::sleep(Duration::from_micros(100));
    ///     shown += 1;
    /// });
    /// let miss = graph.sink(|_frame| missed += 1);
    /// graph += fresh.fixed(1) >> show;
    /// graph += stale >> miss;
    /// graph.run(Scheme::default())?;
    /// drop(graph);
    /// assert_eq!(shown + missed, 100);
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    #[track_caller]
    pub fn deadline<T: Send + 'env>(&self, from: impl Gives<Message = T, Head = End>, limit: Duration) -> [Out<T>; 2] {
        let stamp = self.map(|message: T| (now(), message));
        let (input, in_time, late) = self.add(Deadline { limit, types: PhantomData });
        self.connect(from.into_path() >> stamp >> input);
        [in_time, late]
    }
}
