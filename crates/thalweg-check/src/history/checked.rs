//! Linearizability of every execution.

use super::{Call, History, NotLinearizable, Recorder, Specification};
use crate::model::{Check, Explored, Replay, Violation};
use std::collections::HashSet;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};

/// How many histories are remembered, so as not to be searched again. Then memory begins anew.
const REMEMBERED: usize = 10_000;

impl Check {
    /// Runs every execution of `client`, and checks that what it records is linearizable to `specification`.
    ///
    /// A call comes before another if its end happens before the other's beginning. Histories that were met before are
    /// not searched again. Takes the place of the hook of [`on_complete`](Self::on_complete).
    ///
    /// ```
    /// use thalweg_check::{Check, history::{Bounded, Queue}};
    /// use thalweg_sync::{sync::Mutex, thread};
    ///
    /// let explored = Check::new().linearizable(Bounded::new(1, 1), |recorder| {
    ///     let place = Mutex::new(None);
    ///     thread::scope(|scope| {
    ///         let mut log = recorder.log(1);
    ///         let place = &place;
    ///         scope.spawn(move || {
    ///             log.call(|| *place.lock().unwrap() = Some(1), |()| Queue::Pushed(1));
    ///         });
    ///         let take = || place.lock().unwrap().take();
    ///         recorder.log(0).call(take, |item| item.map_or(Queue::Empty, Queue::Popped));
    ///     });
    /// });
    /// assert_eq!(explored?.complete, 2);
    /// # Ok::<(), thalweg_check::Violation>(())
    /// ```
    ///
    /// # Errors
    ///
    /// With the first [`Violation`]; of a history, with its calls.
    #[allow(clippy::result_large_err, reason = "made once, to be looked at")]
    pub fn linearizable<S>(
        &self,
        specification: S,
        client: impl Fn(&Recorder<S::Operation>) + Send + Sync + 'static,
    ) -> Result<Explored, Violation>
    where
        S: Specification + Send + Sync + 'static,
        S::Operation: Clone + Eq + Hash + Send + 'static,
    {
        let judge = move |history: &History<S::Operation>| history.linearize(specification.clone()).map(drop);
        self.with_histories(Replay::Linearizable, None, client, judge)
    }

    /// As [`linearizable`](Self::linearizable), with each refusal judged apart; see [`History::linearize_apart`].
    ///
    /// What a queue without sequentially consistent fences can promise on weak memory.
    ///
    /// # Errors
    ///
    /// With the first [`Violation`]; of a history, with its calls.
    #[allow(clippy::result_large_err, reason = "made once, to be looked at")]
    pub fn linearizable_apart<S>(
        &self,
        specification: S,
        client: impl Fn(&Recorder<S::Operation>) + Send + Sync + 'static,
    ) -> Result<Explored, Violation>
    where
        S: Specification + Send + Sync + 'static,
        S::Operation: Clone + Eq + Hash + Send + 'static,
    {
        let judge = move |history: &History<S::Operation>| history.linearize_apart(specification.clone());
        self.with_histories(Replay::Apart, None, client, judge)
    }

    /// Runs one execution of `client` only: the one of a [`Violation`] that [`linearizable`](Self::linearizable) found, as
    /// [`Violation::replay`] wrote it; [`replay`](Self::replay) for a client that records a history.
    ///
    /// ```
    /// use thalweg_check::{Check, history::{Bounded, Queue, Recorder}};
    /// use thalweg_sync::{sync::Mutex, thread};
    ///
    /// /// The second item takes the place of the first.
    /// fn client(recorder: &Recorder<Queue<usize>>) {
    ///     let place = Mutex::new(None);
    ///     thread::scope(|scope| {
    ///         for me in 0..2 {
    ///             let (mut log, place) = (recorder.log(me), &place);
    ///             scope.spawn(move || log.call(|| *place.lock().unwrap() = Some(me), |()| Queue::Pushed(me)));
    ///         }
    ///     });
    ///     let mut log = recorder.log(2);
    ///     for _ in 0..2 {
    ///         log.call(|| place.lock().unwrap().take(), |item| item.map_or(Queue::Empty, Queue::Popped));
    ///     }
    /// }
    /// let queue = Bounded::<usize>::new(2, 2);
    /// let violation = Check::new().linearizable(queue.clone(), client).unwrap_err();
    /// let again = Check::new().replay_linearizable(&violation.replay(), queue, client).unwrap_err();
    /// assert_eq!(again.rule().to_string(), violation.rule().to_string());
    /// ```
    ///
    /// # Errors
    ///
    /// With the violation, if it is still there; or as [`replay`](Self::replay) says.
    #[allow(clippy::result_large_err, reason = "made once, to be looked at")]
    pub fn replay_linearizable<S>(
        &self,
        execution: &str,
        specification: S,
        client: impl Fn(&Recorder<S::Operation>) + Send + Sync + 'static,
    ) -> Result<Explored, Violation>
    where
        S: Specification + Send + Sync + 'static,
        S::Operation: Clone + Eq + Hash + Send + 'static,
    {
        let judge = move |history: &History<S::Operation>| history.linearize(specification.clone()).map(drop);
        self.with_histories(Replay::Linearizable, Some(execution), client, judge)
    }

    /// As [`replay_linearizable`](Self::replay_linearizable), for [`linearizable_apart`](Self::linearizable_apart).
    ///
    /// # Errors
    ///
    /// With the violation, if it is still there; or as [`replay`](Self::replay) says.
    #[allow(clippy::result_large_err, reason = "made once, to be looked at")]
    pub fn replay_linearizable_apart<S>(
        &self,
        execution: &str,
        specification: S,
        client: impl Fn(&Recorder<S::Operation>) + Send + Sync + 'static,
    ) -> Result<Explored, Violation>
    where
        S: Specification + Send + Sync + 'static,
        S::Operation: Clone + Eq + Hash + Send + 'static,
    {
        let judge = move |history: &History<S::Operation>| history.linearize_apart(specification.clone());
        self.with_histories(Replay::Apart, Some(execution), client, judge)
    }

    #[allow(clippy::result_large_err, reason = "made once, to be looked at")]
    fn with_histories<O: Clone + Eq + Hash + Send + 'static>(
        &self,
        replay: Replay,
        execution: Option<&str>,
        client: impl Fn(&Recorder<O>) + Send + Sync + 'static,
        judge: impl Fn(&History<O>) -> Result<(), Box<NotLinearizable>> + Send + Sync + 'static,
    ) -> Result<Explored, Violation> {
        let recorder = Recorder::marked();
        let met = Mutex::new(HashSet::<Vec<Call<O>>>::new());
        let recorded = recorder.clone();
        let check = self.clone().on_complete(move |graph| {
            let history = recorded.take_history_of(graph);
            let lock = || met.lock().unwrap_or_else(PoisonError::into_inner);
            if lock().contains(history.calls()) {
                return;
            }
            if let Err(error) = judge(&history) {
                panic!("{error}");
            }
            // Only those that pass: a bad one is found in every part of the search that has it, so the first is the same on any number of threads.
            let mut met = lock();
            if met.len() >= REMEMBERED {
                met.clear();
            }
            met.insert(history.calls().to_vec());
        });
        let client = move || client(&recorder);
        let result = match execution {
            None => check.run(client),
            Some(execution) => check.replay(execution, client),
        };
        result.map_err(|violation| Violation { replay, ..violation })
    }
}
