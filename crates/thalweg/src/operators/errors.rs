//! Errors of single messages: to an output of their own, skipped and counted, or tried again.

use crate::error::BoxError;
use crate::graph::Graph;
use crate::graph::path::{End, Gives, Node};
use crate::kernel::Flow;
use crate::kernel::output::Output;
use crate::kernel::ported::{Binder, In, Io, Kernel, Out};
use std::error::Error as StdError;
use std::fmt;
use std::marker::PhantomData;
use thalweg_sync::atomic::{AtomicU64, Ordering::*};
use thalweg_sync::sync::Arc;
use thalweg_sync::time::{Duration, Instant, now};

/// Counts the messages that kernels skip, and says how many they may: a handle, to be given to any number of kernels.
///
/// See [`Graph::map_or_skip`] for an example.
#[derive(Clone, Debug)]
pub struct Skipped {
    count: Arc<AtomicU64>,
    limit: u64,
}

impl Default for Skipped {
    fn default() -> Self {
        Self::new()
    }
}

impl Skipped {
    /// Any number may be skipped.
    pub fn new() -> Self {
        Self::at_most(u64::MAX)
    }

    /// So many may be skipped, in all runs and kernels that it is given to; the next one ends the run with [`TooManyErrors`].
    pub fn at_most(limit: u64) -> Self {
        Self { count: Arc::default(), limit }
    }

    /// How many were skipped until now.
    pub fn count(&self) -> u64 {
        // Relaxed: a number by itself. After a run, its end orders it.
        self.count.load(Relaxed)
    }

    /// Counts a message that failed with this.
    pub(crate) fn note<E: Into<BoxError>>(&self, error: impl FnOnce() -> E) -> Result<(), BoxError> {
        // Relaxed: each addition gets a number of its own, whatever the order.
        if self.count.fetch_add(1, Relaxed) < self.limit {
            return Ok(());
        }
        Err(Box::new(TooManyErrors { limit: self.limit, last: error().into() }))
    }
}

/// More messages failed than [`Skipped::at_most`] allows. Its source is the error of the last one.
#[derive(Debug)]
pub struct TooManyErrors {
    limit: u64,
    last: BoxError,
}

impl fmt::Display for TooManyErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "more messages failed than the {} that may be skipped", self.limit)
    }
}

impl StdError for TooManyErrors {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&*self.last)
    }
}

/// How often something is tried, and how long to wait in between: twice as long each time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    attempts: u32,
    first: Duration,
    most: Duration,
}

impl Backoff {
    /// Up to `attempts` times, at least once; after the first time in vain it waits for `first`.
    pub fn new(attempts: u32, first: Duration) -> Self {
        Self { attempts, first, most: Duration::MAX }
    }

    /// It never waits longer than this.
    pub fn at_most(mut self, most: Duration) -> Self {
        self.most = most;
        self
    }

    /// The wait after this many attempts in vain.
    fn after(&self, attempts: u32) -> Duration {
        let factor = 1_u32.checked_shl(attempts.saturating_sub(1)).unwrap_or(u32::MAX);
        self.first.saturating_mul(factor).min(self.most)
    }
}

/// Behind [`Graph::try_map`].
struct TryMap<F, T, U, E>(F, PhantomData<fn(T) -> (U, E)>);

impl<F, T, U, E> Kernel for TryMap<F, T, U, E>
where
    F: FnMut(T) -> Result<U, E> + Send,
    T: Send,
    U: Send,
    E: Send,
{
    type Ports = (In<T>, Out<U>, Out<E>);

    fn ports(&mut self, bind: &mut Binder<'_>) -> Self::Ports {
        (bind.input("in"), bind.output("results"), bind.output("errors"))
    }

    fn run(&mut self, &(input, results, errors): &Self::Ports, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        while let Some(message) = io.pop(input) {
            match (self.0)(message) {
                Ok(result) => io.push(results, result),
                Err(error) => io.push(errors, error),
            }
        }
        Ok(Flow::More)
    }
}

/// Behind [`Graph::retry`].
///
/// The message that is tried stays in its edge until it is done with, so that it counts as what is still to be done.
struct Retry<F, T, U, E> {
    attempt: F,
    backoff: Backoff,
    /// Attempts in vain with the next message.
    failed: u32,
    /// When to try again.
    again: Instant,
    types: PhantomData<fn(T) -> (U, E)>,
}

impl<F, T, U, E> Kernel for Retry<F, T, U, E>
where
    F: FnMut(&T) -> Result<U, E> + Send,
    T: Send,
    U: Send,
    E: Send,
{
    type Ports = (In<T>, Out<U>, Out<(T, E)>);

    fn ports(&mut self, bind: &mut Binder<'_>) -> Self::Ports {
        (bind.input("in"), bind.output("results"), bind.output("errors"))
    }

    fn begin(&mut self) {
        self.failed = 0;
    }

    fn run(&mut self, &(input, results, errors): &Self::Ports, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        let left = self.again.since(now());
        if self.failed > 0 && !left.is_zero() {
            return Ok(Flow::PendingFor(left));
        }
        while let Some([message]) = io.peek(input, 1) {
            match (self.attempt)(message) {
                Ok(result) => {
                    io.skip(input, 1);
                    io.push(results, result);
                }
                Err(error) if self.failed + 1 >= self.backoff.attempts => {
                    let Some(message) = io.pop(input) else { break };
                    io.push(errors, (message, error));
                }
                Err(_) => {
                    self.failed += 1;
                    let pause = self.backoff.after(self.failed);
                    self.again = now().after(pause);
                    return Ok(Flow::PendingFor(pause));
                }
            }
            self.failed = 0;
        }
        Ok(Flow::More)
    }
}

impl<'env> Graph<'env> {
    /// Changes each message, or fails: results go to the first output, errors to the second. Both keep their order.
    ///
    /// For an error that carries its message, let `change` return a pair. To compute on many workers, give the `Result`s of a parallel kernel, with
    /// `|result| result` here. For a limit, count in the kernel behind the second output, and return an error there: it ends the run.
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// let (mut numbers, mut wrong) = (Vec::new(), Vec::new());
    /// let mut graph = Graph::new();
    /// let lines = graph.source(["1", "two", "3"]);
    /// let (parsed, failed) = graph.try_map(lines, |line| line.parse::<u32>().map_err(|error| (line, error)));
    /// let keep = graph.sink(|number| numbers.push(number));
    /// let note = graph.sink(|(line, _error)| wrong.push(line));
    /// graph += parsed >> keep;
    /// graph += failed >> note;
    /// graph.run(Scheme::default())?;
    /// drop(graph);
    /// assert_eq!((numbers, wrong), (vec![1, 3], vec!["two"]));
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    #[track_caller]
    pub fn try_map<T, U, E>(
        &self,
        from: impl Gives<Message = T, Head = End>,
        change: impl FnMut(T) -> Result<U, E> + Send + 'env,
    ) -> (Out<U>, Out<E>)
    where
        T: Send + 'env,
        U: Send + 'env,
        E: Send + 'env,
    {
        let (input, results, errors) = self.add(TryMap(change, PhantomData));
        self.connect(from.into_path() >> input);
        (results, errors)
    }

    /// Changes each message, or skips and counts it if that fails.
    ///
    /// ```
    /// use thalweg::operators::Skipped;
    /// use thalweg::prelude::*;
    ///
    /// let (mut sum, wrong) = (0, Skipped::at_most(10));
    /// let mut graph = Graph::new();
    /// let lines = graph.source(["1", "two", "3"]);
    /// let parse = graph.map_or_skip(|line: &str| line.parse::<u32>(), &wrong);
    /// let add = graph.sink(|number| sum += number);
    /// graph += lines >> parse >> add;
    /// graph.run(Scheme::default())?;
    /// drop(graph);
    /// assert_eq!((sum, wrong.count()), (4, 1));
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    #[track_caller]
    pub fn map_or_skip<T, U, E>(
        &self,
        mut change: impl FnMut(T) -> Result<U, E> + Send + 'env,
        skipped: &Skipped,
    ) -> Node<T, U>
    where
        T: Send + 'env,
        U: Send + 'env,
        E: Into<BoxError> + 'env,
    {
        let skipped = skipped.clone();
        self.sequential(move |message, output: &mut Output<U>| match change(message) {
            Ok(result) => {
                output.push(result);
                Ok(())
            }
            Err(error) => skipped.note(|| error),
        })
    }

    /// As [`map_or_skip`](Self::map_or_skip), without state and on many workers at once, in order.
    ///
    /// ```
    /// use thalweg::operators::Skipped;
    /// use thalweg::prelude::*;
    ///
    /// let (mut lengths, wrong) = (Vec::new(), Skipped::new());
    /// let mut graph = Graph::new();
    /// let bytes = graph.source([&b"plain"[..], &b"\xff"[..], &b"text"[..]]);
    /// let decode = graph.parallel_map_or_skip(|bytes: &[u8]| std::str::from_utf8(bytes).map(str::len), &wrong);
    /// let keep = graph.sink(|length| lengths.push(length));
    /// graph += bytes >> decode >> keep;
    /// graph.run(Scheme::default())?;
    /// drop(graph);
    /// assert_eq!((lengths, wrong.count()), (vec![5, 4], 1));
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    #[track_caller]
    pub fn parallel_map_or_skip<T, U, E>(
        &self,
        change: impl Fn(T) -> Result<U, E> + Send + Sync + 'env,
        skipped: &Skipped,
    ) -> Node<T, U>
    where
        T: Send + 'env,
        U: Send + 'env,
        E: Into<BoxError> + 'env,
    {
        let skipped = skipped.clone();
        self.parallel(move |message, output: &mut Output<U>| match change(message) {
            Ok(result) => {
                output.push(result);
                Ok(())
            }
            Err(error) => skipped.note(|| error),
        })
    }

    /// Tries each message until it succeeds, with pauses in between: results go to the first output; what failed each time goes to the second, with its last
    /// error.
    ///
    /// One message after the other, in order: while one waits to be tried again, those behind it wait too, but no worker does. A pause may be longer than asked, by as much as the workers
    /// are busy. A run that is stopped tries on; one that is cancelled does not.
    ///
    /// ```
    /// use thalweg::operators::Backoff;
    /// use thalweg::prelude::*;
    /// use std::time::Duration;
    ///
    /// let (mut sent, mut asked) = (Vec::new(), 0);
    /// let mut graph = Graph::new();
    /// let letters = graph.source(["a", "b"]);
    /// let (done, failed) = graph.retry(letters, Backoff::new(5, Duration::from_millis(1)), |&letter| {
    ///     asked += 1;
    ///     if asked % 3 == 0 { Ok(letter) } else { Err("busy") }
    /// });
    /// let keep = graph.sink(|letter| sent.push(letter));
    /// let give_up = graph.sink(|(letter, error)| -> Result<(), _> { Err(format!("{letter}: {error}")) });
    /// graph += done >> keep;
    /// graph += failed >> give_up;
    /// graph.run(Scheme::default())?;
    /// drop(graph);
    /// assert_eq!((sent, asked), (vec!["a", "b"], 6));
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    #[track_caller]
    pub fn retry<T, U, E>(
        &self,
        from: impl Gives<Message = T, Head = End>,
        backoff: Backoff,
        attempt: impl FnMut(&T) -> Result<U, E> + Send + 'env,
    ) -> (Out<U>, Out<(T, E)>)
    where
        T: Send + 'env,
        U: Send + 'env,
        E: Send + 'env,
    {
        let retry = Retry { attempt, backoff, failed: 0, again: Instant::default(), types: PhantomData };
        let (input, results, errors) = self.add(retry);
        self.connect(from.into_path() >> input);
        (results, errors)
    }
}
