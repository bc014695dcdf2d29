//! What can go wrong, with names and the way out.

use crate::report::Report;
use std::any::Any;
use std::cell::RefCell;
use std::error::Error as StdError;
use std::fmt;
use std::mem;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};

/// The error of a kernel: whatever it returns.
pub type BoxError = Box<dyn StdError + Send + Sync>;

/// What code panicked with.
pub(crate) type Payload = Box<dyn Any + Send>;

/// What several destructors panicked with, in one unwinding.
struct Several(Vec<Payload>);

/// What several feeds of one kernel failed with.
#[derive(Debug)]
struct Feeds(Vec<BoxError>);

/// The errors as one, if there are any; [`Cause::all_of`] takes them apart again.
pub(crate) fn join(mut errors: Vec<BoxError>) -> Option<BoxError> {
    if errors.len() > 1 { Some(Box::new(Feeds(errors))) } else { errors.pop() }
}

/// What a message's own code panicked with on its way to a kernel, in the activation of another.
struct OnTheWay(usize, Vec<Payload>);

/// Unwinds with what a message's own code panicked with on its way to `kernel`, if it did.
pub(crate) fn resume_for(kernel: usize, panics: Vec<Payload>) {
    if panics.is_empty() {
        return;
    }
    let payload = Box::new(OnTheWay(kernel, panics));
    if std::thread::panicking() { keep(vec![payload]) } else { resume_unwind(payload) }
}

/// Goes on with panics that were caught, if there are any, as one.
pub(crate) fn resume(mut panics: Vec<Payload>) {
    match panics.pop() {
        None => {}
        Some(only) if panics.is_empty() => resume_unwind(only),
        Some(last) => {
            panics.push(last);
            resume_unwind(Box::new(Several(panics)))
        }
    }
}

std::thread_local! {
    /// What destructors panicked with on this thread while it was unwinding already.
    static STRAYS: RefCell<Vec<Payload>> = const { RefCell::new(Vec::new()) };
}

/// Keeps what destructors panicked with while the thread unwinds, for the [`catch`] that ends the unwinding: a second one would end the process.
pub(crate) fn keep(panics: Vec<Payload>) {
    STRAYS.with_borrow_mut(|strays| strays.extend(panics));
}

/// One thing that somebody else's code panicked with, and the kernel to be told of it, if that is another than the one which ran.
pub(crate) struct Caught {
    pub(crate) kernel: Option<usize>,
    pub(crate) cause: Cause,
}

/// Runs somebody else's code. Gives all that it panicked with, what was [kept](keep) on the way too.
pub(crate) fn catch<R>(code: impl FnOnce() -> R) -> Result<R, Vec<Caught>> {
    catch_unwind(AssertUnwindSafe(code)).map_err(|payload| {
        let strays = STRAYS.with_borrow_mut(mem::take);
        let mut caught = Vec::new();
        std::iter::once(payload).chain(strays).for_each(|payload| Caught::gather(None, payload, &mut caught));
        caught
    })
}

impl Caught {
    /// All of them in one line.
    pub(crate) fn texts(all: Vec<Self>) -> String {
        let texts = all.into_iter().map(|caught| match caught.cause {
            Cause::Panic(text) => text,
            Cause::Error(error) => Whole(&*error).to_string(),
        });
        texts.collect::<Vec<_>>().join("; ")
    }

    /// Takes an unwinding apart: it carries one panic, unless it is that of destructors.
    fn gather(kernel: Option<usize>, payload: Payload, caught: &mut Vec<Self>) {
        let mut all = |kernel, panics: Vec<Payload>| {
            panics.into_iter().for_each(|payload| Self::gather(kernel, payload, caught));
        };
        match payload.downcast::<OnTheWay>().map_err(|payload| payload.downcast::<Several>()) {
            Ok(on_the_way) => all(Some(on_the_way.0), on_the_way.1),
            Err(Ok(several)) => all(kernel, several.0),
            Err(Err(payload)) => caught.push(Self { kernel, cause: Cause::from_panic(payload) }),
        }
    }
}

/// A value of somebody else's: if it is dropped while the thread unwinds, a panic of its destructor is [kept](keep).
pub(crate) struct Guarded<T>(pub(crate) mem::ManuallyDrop<T>);

impl<T> Guarded<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(mem::ManuallyDrop::new(value))
    }

    pub(crate) fn into_inner(self) -> T {
        let mut this = mem::ManuallyDrop::new(self);
        // SAFETY: taken once, as `this` is not dropped.
        unsafe { mem::ManuallyDrop::take(&mut this.0) }
    }
}

impl<T> Drop for Guarded<T> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: dropped once, here.
        let mut drop = || unsafe { mem::ManuallyDrop::drop(&mut self.0) };
        if !std::thread::panicking() {
            drop();
        } else if let Err(payload) = catch_unwind(AssertUnwindSafe(drop)) {
            keep(vec![payload]);
        }
    }
}

/// What `run` and the building of graphs return.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What a kernel's closure may return: nothing, or a `Result` whose error stops the run.
pub trait Verdict {
    /// What it returns when all is well.
    type Value;

    /// As a result.
    ///
    /// # Errors
    ///
    /// The kernel's error.
    fn into_result(self) -> Result<Self::Value, BoxError>;
}

impl Verdict for () {
    type Value = ();
    #[inline(always)]
    fn into_result(self) -> Result<(), BoxError> {
        Ok(())
    }
}

impl Verdict for crate::Flow {
    type Value = crate::Flow;
    #[inline(always)]
    fn into_result(self) -> Result<crate::Flow, BoxError> {
        Ok(self)
    }
}

impl<V, E: Into<BoxError>> Verdict for std::result::Result<V, E> {
    type Value = V;
    #[inline(always)]
    fn into_result(self) -> Result<V, BoxError> {
        self.map_err(Into::into)
    }
}

/// Why a graph did not run, or not to its end.
///
/// `Display` says which kernels failed, and where they were made. What a kernel returned is the [`source`](StdError::source), with all of its own
/// sources behind it; who prints those too, as `anyhow` does, prints each text once. `{:#}` writes them all, and so does `Debug`, since it is what
/// `fn main() -> thalweg::Result<()>` prints.
///
/// If several kernels returned errors, the source is that of the first one. It stands last in the text, and the others have all of their causes there.
///
/// ```
/// use thalweg::prelude::*;
/// let mut graph = Graph::new();
/// let parse = graph.sink(|text: &str| text.parse::<u8>().map(drop));
/// graph.name(parse, "parse");
/// graph += graph.source(["1", "x"]) >> parse;
/// let error = graph.run(Scheme::default()).unwrap_err();
/// assert!(error.to_string().ends_with(" failed"));
/// assert!(format!("{error:#}").ends_with(" failed: invalid digit found in string"));
/// assert!(std::error::Error::source(&error).unwrap().is::<std::num::ParseIntError>());
/// ```
#[non_exhaustive]
pub enum Error {
    /// The graph cannot work; nothing ran. Every reason found.
    Refused(Vec<Refusal>),
    /// A scheme was asked for by a name that no scheme has.
    UnknownScheme {
        /// The name.
        name: String,
    },
    /// Kernels failed, or destructors of messages that were dropped when the run was over: each panic and each error, in the order in which they
    /// came, but those of destructors last. If the run could not go on before that, the reasons are here too.
    Failed {
        /// Every cause.
        failures: Vec<Failure>,
        /// What happened until then.
        report: Box<Report>,
    },
    /// No kernel could go on, and messages were left.
    Stalled {
        /// The kernels that could not go on, and what they waited for.
        waits: Vec<Wait>,
        /// What happened until then.
        report: Box<Report>,
    },
}

/// One reason why a graph cannot work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The kernel, by its name and where it was made.
    pub kernel: String,
    /// What is wrong, and the way out.
    pub reason: String,
}

/// A kernel that failed, or that would have taken a message whose destructor panicked.
///
/// What it returned is its [`source`](StdError::source); `{:#}` writes that too, and all that is behind it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Failure {
    /// Its name. For what runs on a worker's thread beside kernels, a start hook or a policy, that of the worker and what it was.
    pub kernel: String,
    /// Where it was made.
    pub place: &'static Location<'static>,
    /// How.
    pub cause: Cause,
    pub(crate) is_kernel: bool,
}

/// How a kernel failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum Cause {
    /// It returned this error.
    Error(BoxError),
    /// It panicked with this message.
    Panic(String),
}

/// A kernel that could not go on.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Wait {
    /// Its name.
    pub kernel: String,
    /// Where it was made.
    pub place: &'static Location<'static>,
    /// The port it waits at.
    pub port: String,
    /// What it waits for, with the amounts involved.
    pub reason: String,
}

impl Cause {
    /// Every cause that an unwinding carries.
    pub(crate) fn all(payload: Payload) -> Vec<Self> {
        let mut caught = Vec::new();
        Caught::gather(None, payload, &mut caught);
        caught.into_iter().map(|caught| caught.cause).collect()
    }

    /// Every cause that a kernel's error carries; one, unless it is that of its feeds.
    pub(crate) fn all_of(error: BoxError) -> Vec<Self> {
        match error.downcast::<Feeds>() {
            Ok(feeds) => feeds.0.into_iter().map(Self::Error).collect(),
            Err(error) => vec![Self::Error(error)],
        }
    }

    fn from_panic(payload: Payload) -> Self {
        let text = match payload.downcast::<String>() {
            Ok(text) => *text,
            Err(payload) => match payload.downcast::<&'static str>() {
                Ok(text) => (*text).to_owned(),
                Err(payload) => {
                    // Its destructor is somebody else's code: should that panic as well, the worker goes on all the same.
                    std::mem::forget(catch_unwind(AssertUnwindSafe(|| drop(payload))));
                    "a panic without a message".to_owned()
                }
            },
        };
        Self::Panic(text)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(refusals) => {
                f.write_str("the graph cannot run:")?;
                refusals.iter().try_for_each(|refusal| write!(f, "\n  {}: {}", refusal.kernel, refusal.reason))
            }
            Self::UnknownScheme { name } => {
                write!(f, "there is no scheme \"{name}\"; take one of ")?;
                let names: Vec<_> = crate::Scheme::names().collect();
                f.write_str(&names.join(", "))
            }
            Self::Failed { failures, .. } => {
                let sourced = sourced(failures);
                let is_sourced = |failure: &Failure| sourced.is_some_and(|sourced| std::ptr::eq(sourced, failure));
                let others = failures.iter().filter(|failure| !is_sourced(failure));
                for (index, failure) in others.chain(sourced).enumerate() {
                    if index > 0 {
                        f.write_str("\n")?;
                    }
                    if is_sourced(failure) { failure.fmt(f)? } else { write!(f, "{failure:#}")? }
                }
                Ok(())
            }
            Self::Stalled { waits, .. } => {
                f.write_str("the run cannot go on:")?;
                (waits.iter()).try_for_each(|wait| {
                    write!(f, "\n  {} ({}) at {}: {}", wait.kernel, wait.place, wait.port, wait.reason)
                })
            }
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:#}")
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Self::Failed { failures, .. } => sourced(failures)?.source(),
            _ => None,
        }
    }
}

/// The failure whose cause is the source of the whole: the first one that has a source.
fn sourced(failures: &[Failure]) -> Option<&Failure> {
    failures.iter().find(|failure| failure.source().is_some())
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{} ({}) ", if self.is_kernel { "kernel " } else { "" }, self.kernel, self.place)?;
        match &self.cause {
            Cause::Panic(text) => write!(f, "panicked: {text}"),
            Cause::Error(error) if f.alternate() => write!(f, "failed: {}", Whole(&**error)),
            Cause::Error(_) => f.write_str("failed"),
        }
    }
}

impl fmt::Display for Feeds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} feeds failed", self.0.len())
    }
}

impl StdError for Feeds {}

impl StdError for Failure {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match &self.cause {
            Cause::Error(error) => Some(&**error),
            Cause::Panic(_) => None,
        }
    }
}

/// An error and all of its causes, in one line.
pub(crate) struct Whole<'a>(pub(crate) &'a (dyn StdError + 'static));

impl fmt::Display for Whole<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let causes = std::iter::successors(self.0.source(), |&cause| cause.source());
        causes.into_iter().try_for_each(|cause| write!(f, ": {cause}"))
    }
}
