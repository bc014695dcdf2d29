//! An iterator that waits: it runs on a thread of its own and pushes into an inlet.

use super::inlet::{Arrivals, Inlet, Watch, inlet};
use crate::control::Control;
use crate::edge::Sender;
use crate::error::{BoxError, Caught, catch};
use crate::kernel::Cx;
use crate::kernel::{Flow, Supply};
use thalweg_sync::sync::{Arc, Mutex, MutexGuard};
use thalweg_sync::thread;

/// The iterator, what it gave last if that was refused, and where it goes.
struct Feed<I: Iterator<Item: Send>> {
    iterator: I,
    refused: Option<I::Item>,
    inlet: Inlet<I::Item>,
}

/// Where a feed is while no thread has it. Empty while one has it, and when it has ended.
struct Home<I: Iterator<Item: Send>>(Mutex<Option<Feed<I>>>);

impl<I: Iterator<Item: Send>> Home<I> {
    fn lock(&self) -> MutexGuard<'_, Option<Feed<I>>> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Feeds until the iterator ends, or the run does. What is left comes home for the next run.
    fn run(&self) {
        let Some(mut feed) = self.lock().take() else { return };
        loop {
            let item = match feed.refused.take() {
                Some(item) => item,
                None => match catch(|| feed.iterator.next()) {
                    Ok(Some(item)) => item,
                    Ok(None) => return,
                    Err(causes) => {
                        feed.inlet.fail(format!("the iterator panicked: {}", Caught::texts(causes)));
                        return;
                    }
                },
            };
            if let Err(refused) = feed.inlet.push(item) {
                feed.refused = Some(refused.0);
                // `begin` opens the lid under this lock: either it finds the feed at home, or this finds the lid open.
                let mut home = self.lock();
                if feed.inlet.is_closed() {
                    *home = Some(feed);
                    return;
                }
            }
        }
    }
}

/// The source behind such an iterator.
pub(crate) struct Waiting<I: Iterator<Item: Send>> {
    home: Arc<Home<I>>,
    arrivals: Arrivals<I::Item>,
}

impl<I: Iterator<Item: Send> + Send> Waiting<I> {
    pub(crate) fn new(iterator: I, capacity: usize, control: &Arc<Control>) -> Result<Self, thalweg_queue::BuildError> {
        let (inlet, arrivals) = inlet(capacity, control)?;
        let feed = Feed { iterator, refused: None, inlet };
        Ok(Self { home: Arc::new(Home(Mutex::new(Some(feed)))), arrivals })
    }

    pub(crate) fn watch(&self) -> Watch<I::Item> {
        self.arrivals.watch()
    }
}

impl<I> Supply for Waiting<I>
where
    I: Iterator<Item: Send + 'static> + Send + 'static,
{
    fn begin(&mut self) -> Result<(), BoxError> {
        let home = self.home.lock();
        self.arrivals.begin()?;
        if home.is_none() {
            // A thread from an earlier run waits for its input, or the iterator has ended.
            return Ok(());
        }
        let theirs = self.home.clone();
        // Nobody joins it: it may wait for input that never comes. It ends with its next item once the run is over.
        let spec = thread::Spec { name: "thalweg-source", ..Default::default() };
        thread::try_start(spec, move || theirs.run()).map_err(|error| {
            format!(
                "the system gives no thread for its iterator: {error}; let other threads end, then run the graph again"
            )
            .into()
        })
    }

    fn give(&mut self, cx: &Cx<'_>, out: &mut [Sender<'_>]) -> Result<Flow, BoxError> {
        self.arrivals.give(cx, out)
    }

    fn end(&mut self) {
        self.arrivals.end();
    }
}
