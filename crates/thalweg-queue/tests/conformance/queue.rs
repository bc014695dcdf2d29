//! What a queue is to the suite: how it is built, what it has room for, and the tokens that travel.

use std::ptr::NonNull;
use thalweg_queue::mpmc::Users;
use thalweg_queue::spsc::fast_forward::Word;
use thalweg_queue::wait::Wait;
use thalweg_queue::{
    BuildError, Pop, Push, TryPopError, mpmc, mpsc,
    research::{locked, ticketed},
};
use thalweg_sync::atomic::{AtomicU32, Ordering};
use thalweg_sync::sync::Arc;

/// How often each token was dropped.
#[derive(Clone)]
pub(crate) struct Ledger(Arc<[AtomicU32]>);

impl Ledger {
    pub(crate) fn new(tokens: usize) -> Self {
        Self((0..tokens).map(|_| AtomicU32::new(0)).collect())
    }

    /// Token `number`. To be made once.
    pub(crate) fn token(&self, number: usize) -> Token {
        Token(Box::new(Inside { number, ledger: self.clone(), panics: false }))
    }

    /// Tokens to be made once.
    pub(crate) fn tokens(&self, numbers: std::ops::Range<usize>) -> Vec<Token> {
        numbers.map(|number| self.token(number)).collect()
    }

    pub(crate) fn drops(&self, number: usize) -> u32 {
        self.0[number].load(Ordering::Relaxed)
    }

    /// Each of the first `made` tokens was dropped exactly once, and no other was.
    #[track_caller]
    pub(crate) fn assert_balanced(&self, made: usize) {
        for number in 0..self.0.len() {
            assert_eq!(self.drops(number), u32::from(number < made), "drops of token {number}");
        }
    }

    /// How many tokens were dropped, each once at most.
    #[track_caller]
    pub(crate) fn dropped(&self) -> usize {
        let drops = (0..self.0.len()).map(|number| {
            assert!(self.drops(number) <= 1, "token {number} dropped twice");
            self.drops(number) as usize
        });
        drops.sum()
    }
}

/// An item that fits every queue, says who it is and notes its drop.
pub(crate) struct Token(Box<Inside>);

struct Inside {
    number: usize,
    ledger: Ledger,
    panics: bool,
}

impl Token {
    pub(crate) fn number(&self) -> usize {
        self.0.number
    }

    /// Its drop is noted, then it panics.
    pub(crate) fn panic_when_dropped(&mut self) {
        self.0.panics = true;
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        self.ledger.0[self.number].fetch_add(1, Ordering::Relaxed);
        assert!(!self.panics, "told to panic");
    }
}

impl Word for Token {
    fn into_word(self) -> NonNull<()> {
        self.0.into_word()
    }

    unsafe fn from_word(word: NonNull<()>) -> Self {
        // SAFETY: the word came from such a box, by the caller's promise.
        Self(unsafe { Box::from_word(word) })
    }
}

/// How often a test repeats what it does `times` natively: Miri is some hundred times slower.
pub(crate) const fn often(times: usize) -> usize {
    if cfg!(miri) { times.div_ceil(50) } else { times }
}

/// A queue of a certain shape.
pub(crate) trait Queue: Copy + Send + Sync {
    type Tx: Push<Item = Token> + Send;
    type Rx: Rx;

    fn build(self) -> (Self::Tx, Self::Rx);

    /// With fewer items than this in the queue, a push succeeds.
    fn least(self) -> usize;

    /// With this many, it is refused.
    fn most(self) -> usize;

    /// The position of the first item, where items are numbered.
    fn first(self) -> u64;
}

/// A reading end.
pub(crate) trait Rx: Pop<Item = Token> + Send {}

impl<E: Pop<Item = Token> + Send> Rx for E {}

/// A reading end that numbers items.
pub(crate) trait Numbered: Rx {
    fn try_pop_numbered(&mut self) -> Result<(u64, Token), TryPopError>;
}

macro_rules! numbered {
    ($(<$($parameter:ident: $bound:path),*> $rx:ty;)+) => {
        $(impl<$($parameter: $bound),*> Numbered for $rx {
            fn try_pop_numbered(&mut self) -> Result<(u64, Token), TryPopError> {
                <$rx>::try_pop_numbered(self)
            }
        })+
    };
}
numbered! {
    <W: Wait, P: Users> mpmc::Consumer<Token, W, P>;
    <W: Wait> mpsc::Consumer<Token, W>;
    <W: Wait> ticketed::Consumer<Token, W>;
    <W: Wait> locked::Consumer<Token, W>;
}

/// A queue by how it is built, and what it has room for.
#[derive(Clone, Copy)]
pub(crate) struct Of<F> {
    least: usize,
    most: usize,
    first: u64,
    build: F,
}

impl<P, C, F> Queue for Of<F>
where
    P: Push<Item = Token> + Send,
    C: Rx,
    F: Fn() -> Result<(P, C), BuildError> + Copy + Send + Sync,
{
    type Tx = P;
    type Rx = C;

    fn build(self) -> (P, C) {
        (self.build)().unwrap()
    }

    fn least(self) -> usize {
        self.least
    }

    fn most(self) -> usize {
        self.most
    }

    fn first(self) -> u64 {
        self.first
    }
}

/// A queue that takes between `least` and `most` items before it is full.
pub(crate) fn between<F>(least: usize, most: usize, build: F) -> Of<F> {
    Of { least, most, first: 0, build }
}

/// A queue that takes exactly `room` items.
pub(crate) fn exactly<F>(room: usize, build: F) -> Of<F> {
    between(room, room, build)
}

/// A queue of `blocks` blocks with `entries` entries, which are used again whole.
pub(crate) fn blocks<F>(blocks: usize, entries: usize, build: F) -> Of<F> {
    between((blocks - 1) * entries + 1, blocks * entries, build)
}

/// FastForward for `capacity` items: the consumer may hold back a line of slots, and there are spare ones to make up for that.
pub(crate) fn slots<F>(capacity: usize, build: F) -> Of<F> {
    between(capacity, capacity + 15, build)
}

impl<F> Of<F> {
    /// Whose items are numbered from `first` on.
    pub(crate) fn numbered_from(self, first: u64) -> Self {
        Self { first, ..self }
    }
}
