//! The end of a stream: state that is flushed there, kernels that end it early, what is left of a chunk.

use crate::error::{BoxError, Verdict};
use crate::graph::Graph;
use crate::graph::path::{Node, Sink};
use crate::kernel::Flow;
use crate::kernel::ported::{Binder, In, Io, Kernel, Out};
use crate::operators::node;
use std::fmt;
use std::marker::PhantomData;

/// A kernel that says nothing about how it goes on goes on.
impl From<()> for Flow {
    fn from((): ()) -> Self {
        Self::More
    }
}

/// What the closures of [`Graph::sequential_with`] give to.
pub struct Emit<'a, 'io, U> {
    io: &'a mut Io<'io>,
    out: Out<U>,
}

impl<U: Send> Emit<'_, '_, U> {
    /// Gives a message to the stream, and waits for room as [`Output::push`](crate::Output::push) does.
    pub fn push(&mut self, message: U) {
        self.io.push(self.out, message);
    }

    /// Whether the edge behind is full for now; pushing is still possible.
    pub fn is_full(&self) -> bool {
        self.io.is_full(self.out)
    }
}

impl<U: Send> Extend<U> for Emit<'_, '_, U> {
    fn extend<I: IntoIterator<Item = U>>(&mut self, messages: I) {
        messages.into_iter().for_each(|message| self.push(message));
    }
}

impl<U> fmt::Debug for Emit<'_, '_, U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Emit").finish_non_exhaustive()
    }
}

/// A state, what is done with it for each message, and what at the end.
struct With<S, F, E, T> {
    state: S,
    step: F,
    on_end: E,
    /// What becomes of the state before a run.
    begin: fn(&mut S),
    types: PhantomData<fn(T) -> T>,
}

impl<S, F, E, T> With<S, F, E, T> {
    /// One activation, given what a message and the end are to do.
    fn drive(
        &mut self,
        input: In<T>,
        io: &mut Io<'_>,
        step: impl Fn(&mut Self, &mut Io<'_>, T) -> Result<Flow, BoxError>,
        on_end: impl Fn(&mut Self, &mut Io<'_>) -> Result<(), BoxError>,
    ) -> Result<Flow, BoxError>
    where
        T: Send,
    {
        while let Some(message) = io.pop(input) {
            if step(self, io, message)? == Flow::Done {
                on_end(self, io)?;
                return Ok(Flow::Done);
            }
        }
        if !io.is_ended(input) {
            return Ok(Flow::More);
        }
        on_end(self, io)?;
        Ok(Flow::Done)
    }
}

/// Behind [`Graph::sequential_with`].
struct SequentialWith<S, F, E, T, U>(With<S, F, E, T>, PhantomData<fn() -> U>);

impl<S, F, E, T, U, R, Q> Kernel for SequentialWith<S, F, E, T, U>
where
    S: Send,
    F: FnMut(&mut S, T, &mut Emit<'_, '_, U>) -> R + Send,
    E: FnMut(&mut S, &mut Emit<'_, '_, U>) -> Q + Send,
    R: Verdict<Value: Into<Flow>>,
    Q: Verdict<Value = ()>,
    T: Send,
    U: Send,
{
    type Ports = (In<T>, Out<U>);

    fn ports(&mut self, bind: &mut Binder<'_>) -> Self::Ports {
        (bind.input("in"), bind.output("out"))
    }

    fn begin(&mut self) {
        (self.0.begin)(&mut self.0.state);
    }

    fn run(&mut self, &(input, out): &Self::Ports, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        self.0.drive(
            input,
            io,
            |with, io, message| {
                (with.step)(&mut with.state, message, &mut Emit { io, out }).into_result().map(Into::into)
            },
            |with, io| (with.on_end)(&mut with.state, &mut Emit { io, out }).into_result(),
        )
    }
}

/// Behind [`Graph::sink_with`].
struct SinkWith<S, F, E, T>(With<S, F, E, T>);

impl<S, F, E, T, R, Q> Kernel for SinkWith<S, F, E, T>
where
    S: Send,
    F: FnMut(&mut S, T) -> R + Send,
    E: FnMut(&mut S) -> Q + Send,
    R: Verdict<Value: Into<Flow>>,
    Q: Verdict<Value = ()>,
    T: Send,
{
    type Ports = In<T>;

    fn ports(&mut self, bind: &mut Binder<'_>) -> In<T> {
        bind.input("in")
    }

    fn run(&mut self, &input: &In<T>, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        self.0.drive(
            input,
            io,
            |with, _io, message| (with.step)(&mut with.state, message).into_result().map(Into::into),
            |with, _io| (with.on_end)(&mut with.state).into_result(),
        )
    }
}

/// Behind [`Graph::take`].
struct Take<T> {
    count: usize,
    left: usize,
    types: PhantomData<fn(T) -> T>,
}

impl<T: Send> Kernel for Take<T> {
    type Ports = (In<T>, Out<T>);

    fn ports(&mut self, bind: &mut Binder<'_>) -> Self::Ports {
        (bind.input("in"), bind.output("out"))
    }

    fn begin(&mut self) {
        self.left = self.count;
    }

    fn run(&mut self, &(input, out): &Self::Ports, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        while self.left > 0 {
            let Some(message) = io.pop(input) else { break };
            io.push(out, message);
            self.left -= 1;
        }
        Ok(if self.left > 0 && !io.is_ended(input) { Flow::More } else { Flow::Done })
    }
}

/// Behind [`Graph::window_partial`].
struct Partial<T> {
    peek: usize,
    pop: usize,
    messages: Vec<T>,
    /// Where the next window begins.
    first: usize,
    /// Messages that will be in no window, as `pop` is larger than `peek`.
    skip: usize,
    /// Messages that were in no window yet.
    fresh: usize,
}

impl<T> Partial<T> {
    fn take<R>(&mut self, message: T, kernel: impl FnOnce(&[T]) -> Result<R, BoxError>) -> Result<(), BoxError> {
        if self.skip > 0 {
            self.skip -= 1;
            return Ok(());
        }
        if self.first > self.peek.max(64) {
            // Each message is moved at most once on average: as many were passed as are left at most, or more.
            self.messages.drain(..self.first);
            self.first = 0;
        }
        self.messages.push(message);
        self.fresh += 1;
        let window = &self.messages[self.first..];
        if window.len() < self.peek {
            return Ok(());
        }
        let result = kernel(window);
        let left = window.len();
        self.fresh = 0;
        self.first += self.pop.min(left);
        self.skip = self.pop - self.pop.min(left);
        result.map(|_| ())
    }

    fn end<R>(&mut self, kernel: impl FnOnce(&[T]) -> Result<R, BoxError>) -> Result<(), BoxError> {
        let result = if self.fresh > 0 { kernel(&self.messages[self.first..]).map(|_| ()) } else { Ok(()) };
        self.clear();
        result
    }

    fn clear(&mut self) {
        self.messages.clear();
        (self.first, self.skip, self.fresh) = (0, 0, 0);
    }
}

impl<'env> Graph<'env> {
    /// As [`sequential`](Self::sequential), with a state that is flushed by `on_end`, and a way to end early.
    ///
    /// `step` returns nothing, or a [`Flow`], or a `Result` of these: after [`Flow::Done`] no more messages are taken, what has come is dropped and counted, and the kernels before it end if they have no
    /// other consumer. `on_end` runs once in a run, when the stream has ended or `step` has said so; not if the run is cancelled or a kernel failed.
    ///
    /// ```
    /// use thalweg::prelude::*;
    ///
    /// // Runs of equal numbers, with their lengths.
    /// let mut runs = Vec::new();
    /// let mut graph = Graph::new();
    /// let numbers = graph.source([7, 7, 7, 2, 5, 5]);
    /// let lengths = graph.sequential_with(
    ///     None,
    ///     |run, number, out| match run {
    ///         Some((of, length)) if *of == number => *length += 1,
    ///         _ => out.extend(run.replace((number, 1))),
    ///     },
    ///     |run, out| out.extend(run.take()),
    /// );
    /// let collect = graph.sink(|run| runs.push(run));
    /// graph += numbers >> lengths >> collect;
    /// graph.run(Scheme::default())?;
    /// drop(graph);
    /// assert_eq!(runs, [(7, 3), (2, 1), (5, 2)]);
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    #[track_caller]
    pub fn sequential_with<S, T, U, R, Q>(
        &self,
        state: S,
        step: impl FnMut(&mut S, T, &mut Emit<'_, '_, U>) -> R + Send + 'env,
        on_end: impl FnMut(&mut S, &mut Emit<'_, '_, U>) -> Q + Send + 'env,
    ) -> Node<T, U>
    where
        S: Send + 'env,
        T: Send + 'env,
        U: Send + 'env,
        R: Verdict<Value: Into<Flow>> + 'env,
        Q: Verdict<Value = ()> + 'env,
    {
        // The state is the user's, from run to run.
        self.sequential_anew(state, |_| (), step, on_end)
    }

    /// As [`sequential_with`](Self::sequential_with), where `begin` says what becomes of the state before a run.
    #[track_caller]
    fn sequential_anew<S, T, U, R, Q>(
        &self,
        state: S,
        begin: fn(&mut S),
        step: impl FnMut(&mut S, T, &mut Emit<'_, '_, U>) -> R + Send + 'env,
        on_end: impl FnMut(&mut S, &mut Emit<'_, '_, U>) -> Q + Send + 'env,
    ) -> Node<T, U>
    where
        S: Send + 'env,
        T: Send + 'env,
        U: Send + 'env,
        R: Verdict<Value: Into<Flow>> + 'env,
        Q: Verdict<Value = ()> + 'env,
    {
        let with = With { state, step, on_end, begin, types: PhantomData };
        let (input, out) = self.add(SequentialWith(with, PhantomData));
        node(input, out)
    }

    /// As [`sink`](Self::sink), with a state that is flushed by `on_end`, and a way to end early; see [`sequential_with`](Self::sequential_with).
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// use std::io::{BufWriter, Write};
    ///
    /// let mut text = Vec::new();
    /// let mut graph = Graph::new();
    /// let numbers = graph.source(1..=3);
    /// let write = graph.sink_with(BufWriter::new(&mut text), |file, n: i32| writeln!(file, "{n}"), |file| file.flush());
    /// graph += numbers >> write;
    /// graph.run(Scheme::default())?;
    /// drop(graph);
    /// assert_eq!(text, b"1\n2\n3\n");
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    #[track_caller]
    pub fn sink_with<S, T, R, Q>(
        &self,
        state: S,
        step: impl FnMut(&mut S, T) -> R + Send + 'env,
        on_end: impl FnMut(&mut S) -> Q + Send + 'env,
    ) -> Sink<T>
    where
        S: Send + 'env,
        T: Send + 'env,
        R: Verdict<Value: Into<Flow>> + 'env,
        Q: Verdict<Value = ()> + 'env,
    {
        let input = self.add(SinkWith(With { state, step, on_end, begin: |_| (), types: PhantomData }));
        Sink(input.into(), PhantomData)
    }

    /// One value for the whole stream, given at its end: `init()`, changed by `step` for each message.
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// let mut sum = 0;
    /// let mut graph = Graph::new();
    /// let numbers = graph.source(1..=100_u64);
    /// let add = graph.fold(|| 0, |sum, x| *sum += x);
    /// let keep = graph.sink(|x| sum = x);
    /// graph += numbers >> add >> keep;
    /// graph.run(Scheme::default())?;
    /// drop(graph);
    /// assert_eq!(sum, 5050);
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    #[track_caller]
    pub fn fold<S, T>(
        &self,
        mut init: impl FnMut() -> S + Send + 'env,
        mut step: impl FnMut(&mut S, T) + Send + 'env,
    ) -> Node<T, S>
    where
        S: Send + 'env,
        T: Send + 'env,
    {
        // Made when it is first needed, so that a second run begins anew. Both closures need it, so it goes along as the state.
        self.sequential_anew(
            (None, move || init()),
            |(value, _init)| *value = None,
            move |(value, init), message, _out: &mut Emit<'_, '_, S>| step(value.get_or_insert_with(init), message),
            |(value, init), out| out.push(value.take().unwrap_or_else(init)),
        )
    }

    /// Lets `count` messages through and ends the stream.
    ///
    /// The kernels before it end when they notice, if they have no other consumer. What has come by then is dropped, as the report counts.
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// let mut all = Vec::new();
    /// let mut graph = Graph::new();
    /// let (numbers, three) = (graph.source(0..), graph.take(3));
    /// let collect = graph.sink(|x| all.push(x));
    /// graph += numbers >> three >> collect;
    /// graph.run(Scheme::default())?;
    /// drop(graph);
    /// assert_eq!(all, [0, 1, 2]);
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    #[track_caller]
    pub fn take<T: Send + 'env>(&self, count: usize) -> Node<T, T> {
        let (input, out) = self.add(Take { count, left: count, types: PhantomData });
        node(input, out)
    }

    /// Lets messages through as long as `keeps` says so, and ends the stream at the first for which it does not, which is dropped; see [`take`](Self::take).
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// let mut all = Vec::new();
    /// let mut graph = Graph::new();
    /// let (numbers, small) = (graph.source([3, 5, 70, 4]), graph.take_while(|&x| x < 50));
    /// let collect = graph.sink(|x| all.push(x));
    /// graph += numbers >> small >> collect;
    /// graph.run(Scheme::default())?;
    /// drop(graph);
    /// assert_eq!(all, [3, 5]);
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    #[track_caller]
    pub fn take_while<T: Send + 'env>(&self, keeps: impl FnMut(&T) -> bool + Send + 'env) -> Node<T, T> {
        self.sequential_with(
            keeps,
            |keeps, message, out: &mut Emit<'_, '_, T>| {
                if !keeps(&message) {
                    return Flow::Done;
                }
                out.push(message);
                Flow::More
            },
            |_keeps, _out| (),
        )
    }

    /// Changes messages as long as `change` gives something, and ends the stream at the first of which it makes nothing; see [`take`](Self::take).
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// let mut graph = Graph::new();
    /// let (end, numbers) = graph.collect();
    /// graph += graph.source(["3", "5", "end", "4"]) >> graph.map_while(|word: &str| word.parse::<u32>().ok()) >> end;
    /// graph.run(Scheme::default())?;
    /// assert_eq!(numbers.take(), [3, 5]);
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    #[track_caller]
    pub fn map_while<T, U>(&self, change: impl FnMut(T) -> Option<U> + Send + 'env) -> Node<T, U>
    where
        T: Send + 'env,
        U: Send + 'env,
    {
        self.sequential_with(
            change,
            |change, message, out: &mut Emit<'_, '_, U>| {
                let Some(changed) = change(message) else { return Flow::Done };
                out.push(changed);
                Flow::More
            },
            |_change, _out| (),
        )
    }

    /// As [`window`](Self::window), and at the end of the stream once more with what has been in no window yet, if anything has: a shorter slice, which
    /// begins where the next window would have begun.
    ///
    /// Messages need no `Clone`. A second run begins anew.
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// let mut graph = Graph::new();
    /// let (end, sums) = graph.collect();
    /// let pairs = graph.window_partial(2, 2, |pair: &[i32], out| out.push(pair.iter().sum::<i32>()));
    /// graph += graph.source(1..=5) >> pairs >> end;
    /// graph.run(Scheme::default())?;
    /// assert_eq!(sums.take(), [1 + 2, 3 + 4, 5]);
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    #[track_caller]
    pub fn window_partial<T, U, R>(
        &self,
        peek: usize,
        pop: usize,
        kernel: impl FnMut(&[T], &mut Emit<'_, '_, U>) -> R + Send + 'env,
    ) -> Node<T, U>
    where
        T: Send + 'env,
        U: Send + 'env,
        R: Verdict<Value = ()> + 'env,
    {
        let node = self.sequential_anew(
            (Partial { peek, pop, messages: Vec::new(), first: 0, skip: 0, fresh: 0 }, kernel),
            |(windows, _kernel)| windows.clear(),
            |(windows, kernel), message, out| windows.take(message, |window| kernel(window, out).into_result()),
            |(windows, kernel), out| windows.end(|window| kernel(window, out).into_result()),
        );
        if peek == 0 || pop == 0 {
            self.refuse(node, &format!("a window of {peek} messages that pops {pop}; both must be at least 1"));
        }
        node
    }

    /// Puts `length` messages together in a vector; the last one has what is left.
    ///
    /// Where a slice is enough, [`window`](Self::window) costs no allocation.
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// let mut all = Vec::new();
    /// let mut graph = Graph::new();
    /// let (numbers, threes) = (graph.source(1..=7), graph.chunks(3));
    /// let collect = graph.sink(|chunk: Vec<i32>| all.push(chunk));
    /// graph += numbers >> threes >> collect;
    /// graph.run(Scheme::default())?;
    /// drop(graph);
    /// assert_eq!(all, [vec![1, 2, 3], vec![4, 5, 6], vec![7]]);
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    #[track_caller]
    pub fn chunks<T: Send + 'env>(&self, length: usize) -> Node<T, Vec<T>> {
        let chunks = self.sequential_anew(
            Vec::new(),
            Vec::clear,
            move |chunk: &mut Vec<T>, message, out: &mut Emit<'_, '_, Vec<T>>| {
                chunk.push(message);
                if chunk.len() >= length {
                    out.push(std::mem::replace(chunk, Vec::with_capacity(length)));
                }
            },
            |chunk, out| {
                if !chunk.is_empty() {
                    out.push(std::mem::take(chunk));
                }
            },
        );
        if length == 0 {
            self.refuse(chunks, "chunks of 0 messages; take at least 1");
        }
        chunks
    }
}
