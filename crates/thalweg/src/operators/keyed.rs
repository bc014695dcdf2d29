//! State for each key: parallel over keys, in order for each key.

use crate::error::BoxError;
use crate::graph::Graph;
use crate::graph::path::{End, Gives};
use crate::kernel::Flow;
use crate::kernel::ported::{Binder, In, Io, Kernel, Out};
use crate::operators::hash::{PassOn, hash_of, part_of};
use std::collections::HashMap;
use std::collections::hash_map::IntoIter;
use std::fmt;
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::marker::PhantomData;
use std::mem;
use thalweg_sync::sync::Arc;
use thalweg_sync::thread;

/// A key with its hash, which is computed once, where the lane is chosen.
struct Hashed<K> {
    hash: u64,
    key: K,
}

impl<K: Hash> Hashed<K> {
    fn new(key: K) -> Self {
        Self { hash: hash_of(&key), key }
    }
}

impl<K: Eq> PartialEq for Hashed<K> {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash && self.key == other.key
    }
}

impl<K: Eq> Eq for Hashed<K> {}

impl<K> Hash for Hashed<K> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

type States<K, S> = HashMap<Hashed<K>, S, BuildHasherDefault<PassOn>>;

/// A message on its way to the state of its key.
type Addressed<K, V> = (Hashed<K>, V);

/// Sends each message to the lane of its key.
struct Address<T, K, V, F> {
    lanes: usize,
    part: F,
    types: PhantomData<fn(T) -> (K, V)>,
}

impl<T, K, V, F> Kernel for Address<T, K, V, F>
where
    T: Send,
    K: Hash + Send,
    V: Send,
    F: FnMut(T) -> (K, V) + Send,
{
    type Ports = (In<T>, Vec<Out<Addressed<K, V>>>);

    fn ports(&mut self, bind: &mut Binder<'_>) -> Self::Ports {
        (bind.input("in"), (0..self.lanes).map(|lane| bind.output(&format!("lane {lane}"))).collect())
    }

    fn run(&mut self, (input, lanes): &Self::Ports, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        while let Some(message) = io.pop(*input) {
            let (key, value) = (self.part)(message);
            let key = Hashed::new(key);
            io.push(lanes[part_of(key.hash, lanes.len())], (key, value));
        }
        Ok(Flow::More)
    }
}

/// What is done for each key. One for all lanes, so it has no state of its own.
trait PerKey<K, V>: Send + Sync {
    /// What is kept for a key.
    type State: Send;
    /// What is given.
    type Given: Send;

    /// Before the first message of a key.
    fn begin(&self) -> Self::State;

    /// For a message.
    fn step(&self, state: &mut Self::State, key: &K, value: V) -> Option<Self::Given>;

    /// After the last message.
    fn end(&self, key: K, state: Self::State) -> Option<Self::Given>;
}

/// Keeps the states of the keys that come here.
struct Lane<K, V, P: PerKey<K, V>> {
    work: Arc<P>,
    states: States<K, P::State>,
    /// What is left to be ended, once no more comes.
    ending: IntoIter<Hashed<K>, P::State>,
}

impl<K, V, P> Kernel for Lane<K, V, P>
where
    K: Eq + Send,
    V: Send,
    P: PerKey<K, V>,
{
    type Ports = (In<Addressed<K, V>>, Out<P::Given>);

    fn ports(&mut self, bind: &mut Binder<'_>) -> Self::Ports {
        (bind.input("in"), bind.output("out"))
    }

    fn begin(&mut self) {
        self.states.clear();
        self.ending = States::default().into_iter();
    }

    fn run(&mut self, &(input, out): &Self::Ports, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        while let Some((key, value)) = io.pop(input) {
            // The key is moved into the map only if it is not there yet.
            let given = match self.states.get_mut(&key) {
                Some(state) => self.work.step(state, &key.key, value),
                None => {
                    let mut state = self.work.begin();
                    let given = self.work.step(&mut state, &key.key, value);
                    self.states.insert(key, state);
                    given
                }
            };
            if let Some(given) = given {
                io.push(out, given);
            }
        }
        if !io.is_ended(input) {
            return Ok(Flow::More);
        }
        while !io.is_full(out) {
            let Some((key, state)) = self.ending.next() else {
                if self.states.is_empty() {
                    return Ok(Flow::Done);
                }
                self.ending = mem::take(&mut self.states).into_iter();
                continue;
            };
            if let Some(given) = self.work.end(key.key, state) {
                io.push(out, given);
            }
        }
        Ok(Flow::More)
    }
}

struct Fold<I, F>(I, F);

impl<K, V, S, I, F> PerKey<K, V> for Fold<I, F>
where
    K: Send,
    S: Send,
    I: Fn() -> S + Send + Sync,
    F: Fn(&mut S, V) + Send + Sync,
{
    type State = S;
    type Given = (K, S);

    fn begin(&self) -> S {
        (self.0)()
    }

    fn step(&self, state: &mut S, _key: &K, value: V) -> Option<(K, S)> {
        (self.1)(state, value);
        None
    }

    fn end(&self, key: K, state: S) -> Option<(K, S)> {
        Some((key, state))
    }
}

struct MapWith<I, F>(I, F);

impl<K, V, S, U, I, F> PerKey<K, V> for MapWith<I, F>
where
    S: Send,
    U: Send,
    I: Fn() -> S + Send + Sync,
    F: Fn(&mut S, &K, V) -> U + Send + Sync,
{
    type State = S;
    type Given = U;

    fn begin(&self) -> S {
        (self.0)()
    }

    fn step(&self, state: &mut S, key: &K, value: V) -> Option<U> {
        Some((self.1)(state, key, value))
    }

    fn end(&self, _key: K, _state: S) -> Option<U> {
        None
    }
}

struct Window<F> {
    peek: usize,
    pop: usize,
    kernel: F,
}

/// What is kept of a key's messages.
struct Recent<V> {
    messages: Vec<V>,
    /// So many of them, the first ones, were in a window already.
    shown: usize,
    /// So many that come next are in no window.
    skip: usize,
}

impl<K, V, U, F> PerKey<K, V> for Window<F>
where
    V: Send,
    U: Send,
    F: Fn(&K, &[V]) -> U + Send + Sync,
{
    type State = Recent<V>;
    type Given = U;

    fn begin(&self) -> Recent<V> {
        Recent { messages: Vec::new(), shown: 0, skip: 0 }
    }

    fn step(&self, state: &mut Recent<V>, key: &K, value: V) -> Option<U> {
        if state.skip > 0 {
            state.skip -= 1;
            return None;
        }
        state.messages.push(value);
        if state.messages.len() < self.peek {
            return None;
        }
        let given = (self.kernel)(key, &state.messages);
        state.messages.drain(..self.pop.min(self.peek));
        state.shown = state.messages.len();
        state.skip = self.pop.saturating_sub(self.peek);
        Some(given)
    }

    fn end(&self, key: K, state: Recent<V>) -> Option<U> {
        (state.messages.len() > state.shown).then(|| (self.kernel)(&key, &state.messages))
    }
}

/// Makes the lanes, so many, and gives their streams.
type MakeLanes<'env, K, V> = Box<dyn FnOnce(&Graph<'env>, usize) -> Vec<Out<Addressed<K, V>>> + 'env>;

/// A stream whose messages have keys, and what is to be done for each of them. Made by [`Graph::key_by`] and [`Graph::keyed`].
///
/// Messages of one key are taken in order, one at a time; different keys on as many workers as there are lanes. What is given for one key is in
/// order; what is given for different keys comes as it comes.
#[must_use = "say what is to be done for each key: .fold(..), .map_with(..) or .window(..)"]
pub struct KeyBy<'g, 'env, K, V> {
    graph: &'g Graph<'env>,
    make: MakeLanes<'env, K, V>,
    lanes: usize,
}

impl<K, V> fmt::Debug for KeyBy<'_, '_, K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyBy").field("lanes", &self.lanes).finish_non_exhaustive()
    }
}

impl<'env, K, V> KeyBy<'_, 'env, K, V>
where
    K: Hash + Eq + Send + 'env,
    V: Send + 'env,
{
    /// Spreads the keys over this many kernels; at first, as many as there are CPUs.
    pub fn lanes(mut self, lanes: usize) -> Self {
        self.lanes = lanes;
        self
    }

    /// One value for each key, given when the stream has ended: `init()`, changed by `step` for each message.
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// use std::collections::BTreeMap;
    ///
    /// let mut counts = BTreeMap::new();
    /// let mut graph = Graph::new();
    /// let words = graph.source("the cat and the dog and the bird".split(' '));
    /// let counted = graph.key_by(words, |word| *word).fold(|| 0, |count, _word| *count += 1);
    /// let keep = graph.sink(|(word, count)| _ = counts.insert(word, count));
    /// graph += counted >> keep;
    /// graph.run(Scheme::default())?;
    /// drop(graph);
    /// assert_eq!((counts["the"], counts["and"], counts["dog"]), (3, 2, 1));
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    #[track_caller]
    pub fn fold<S: Send + 'env>(
        self,
        init: impl Fn() -> S + Send + Sync + 'env,
        step: impl Fn(&mut S, V) + Send + Sync + 'env,
    ) -> Out<(K, S)> {
        self.finish(Fold(init, step)).0
    }

    /// One message for each, made with a state that each key has of its own: `init()` at first.
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// let mut balances = Vec::new();
    /// let mut graph = Graph::new();
    /// let payments = graph.source([("ann", 10), ("bob", 3), ("ann", -4), ("ann", 1)]);
    /// let after = graph.keyed(payments).map_with(|| 0, |balance, name, amount| {
    ///     *balance += amount;
    ///     (*name, *balance)
    /// });
    /// let keep = graph.sink(|after| balances.push(after));
    /// graph += after >> keep;
    /// graph.run(Scheme::default())?;
    /// drop(graph);
    /// balances.retain(|&(name, _)| name == "ann");
    /// assert_eq!(balances, [("ann", 10), ("ann", 6), ("ann", 7)]);
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    #[track_caller]
    pub fn map_with<S: Send + 'env, U: Send + 'env>(
        self,
        init: impl Fn() -> S + Send + Sync + 'env,
        step: impl Fn(&mut S, &K, V) -> U + Send + Sync + 'env,
    ) -> Out<U> {
        self.finish(MapWith(init, step)).0
    }

    /// One message for each window of `peek` messages of the same key, `pop` of which leave before the next.
    ///
    /// What a key's windows leave over is not lost: when the stream has ended, `kernel` sees it once, as a slice of fewer than `peek`. It has the messages that were in no
    /// window, behind those that the next window would have shared with the last. With `pop > peek`, those in between are in no window, as asked.
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// let mut sums = Vec::new();
    /// let mut graph = Graph::new();
    /// let numbers = graph.source(1..=7_u64);
    /// let pairs = graph.key_by(numbers, |n| n % 2).window(2, 2, |&odd, pair| (odd, pair.iter().sum::<u64>()));
    /// let keep = graph.sink(|sum| sums.push(sum));
    /// graph += pairs >> keep;
    /// graph.run(Scheme::default())?;
    /// drop(graph);
    /// sums.sort();
    /// // 2 + 4, and 6 alone; 1 + 3, 5 + 7.
    /// assert_eq!(sums, [(0, 6), (0, 6), (1, 4), (1, 12)]);
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    #[track_caller]
    pub fn window<U: Send + 'env>(
        self,
        peek: usize,
        pop: usize,
        kernel: impl Fn(&K, &[V]) -> U + Send + Sync + 'env,
    ) -> Out<U> {
        let (out, graph) = self.finish(Window { peek, pop, kernel });
        if peek == 0 || pop == 0 {
            graph.refuse(out, &format!("a window of {peek} messages that pops {pop}; both must be at least 1"));
        }
        out
    }

    /// Makes the lanes with this work, and one stream of what they give. Gives the graph back.
    #[track_caller]
    fn finish<'g, P: PerKey<K, V> + 'env>(self, work: P) -> (Out<P::Given>, &'g Graph<'env>)
    where
        Self: 'g,
    {
        let Self { graph, make, lanes } = self;
        let streams = make(graph, lanes.max(1));
        let work = Arc::new(work);
        let mut given = Vec::new();
        for stream in streams {
            let lane = Lane { work: work.clone(), states: States::default(), ending: States::default().into_iter() };
            let (input, out) = graph.add(lane);
            graph.connect(stream >> input);
            given.push(out);
        }
        let out = match given[..] {
            [only] => only,
            _ => graph.merge(given),
        };
        if lanes == 0 {
            graph.refuse(out, "its keys are spread over 0 lanes; take at least 1");
        }
        (out, graph)
    }
}

impl<'env> Graph<'env> {
    /// A stream whose messages have keys, to be folded, mapped or looked at in windows for each key by itself.
    ///
    /// `key` is called once for each message, on one worker at a time; where it is costly, compute it in a parallel kernel and take [`keyed`](Self::keyed). A key is
    /// stored once, and moved along with each message: one that is large, or that allocates, is better a reference or a number.
    ///
    /// The hash is the same in every run and has no secret; an adversary who picks the keys can make the run slow, so hash such keys with a
    /// [`RandomState`](std::hash::RandomState) first.
    ///
    /// See [`KeyBy::fold`](crate::operators::KeyBy::fold) for an example.
    #[track_caller]
    pub fn key_by<T, K>(
        &self,
        from: impl Gives<Message = T, Head = End>,
        mut key: impl FnMut(&T) -> K + Send + 'env,
    ) -> KeyBy<'_, 'env, K, T>
    where
        T: Send + 'env,
        K: Hash + Eq + Send + 'env,
    {
        self.addressed(from, move |message| (key(&message), message))
    }

    /// As [`key_by`](Self::key_by), for a stream of pairs of a key and a value.
    ///
    /// See [`KeyBy::map_with`](crate::operators::KeyBy::map_with) for an example.
    #[track_caller]
    pub fn keyed<K, V>(&self, from: impl Gives<Message = (K, V), Head = End>) -> KeyBy<'_, 'env, K, V>
    where
        K: Hash + Eq + Send + 'env,
        V: Send + 'env,
    {
        self.addressed(from, |pair| pair)
    }

    fn addressed<T, K, V>(
        &self,
        from: impl Gives<Message = T, Head = End>,
        part: impl FnMut(T) -> (K, V) + Send + 'env,
    ) -> KeyBy<'_, 'env, K, V>
    where
        T: Send + 'env,
        K: Hash + Eq + Send + 'env,
        V: Send + 'env,
    {
        // The head of the path is closed, and what is left of its type are the messages.
        let from = from.into_path();
        let make = move |graph: &Graph<'env>, lanes: usize| {
            let (input, streams) = graph.add(Address { lanes, part, types: PhantomData });
            graph.connect(from >> input);
            streams.to_vec()
        };
        KeyBy { graph: self, make: Box::new(make), lanes: thread::available_parallelism() }
    }
}
