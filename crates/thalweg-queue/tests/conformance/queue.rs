//! A queue, its two ends and the tokens that travel.

use std::marker::PhantomData;
use std::ptr::NonNull;
use thalweg_queue::chunk_ring::{self, Most};
use thalweg_queue::fast_forward::{self, Slip, Word};
use thalweg_queue::lamport::{self, Cached, Plain};
use thalweg_queue::wait::Wait;
use thalweg_queue::{PopError, PushError, TryPopError, TryPushError, Yield, bbq, locked, mesh, ticketed};
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

/// A queue of a certain shape.
pub(crate) trait Queue: Copy + Send + Sync {
    type Tx: Tx;
    type Rx: Rx;

    fn build(self) -> (Self::Tx, Self::Rx);

    /// With fewer items than this in the queue, a push succeeds.
    fn least(self) -> usize;

    /// With this many, it is refused.
    fn most(self) -> usize;
}

/// A writing end.
pub(crate) trait Tx: Send {
    fn try_push(&mut self, token: Token) -> Result<(), TryPushError<Token>>;
    fn push(&mut self, token: Token) -> Result<(), PushError<Token>>;
    fn is_closed(&self) -> bool;
    fn capacity(&self) -> usize;
}

/// A reading end.
pub(crate) trait Rx: Send {
    fn try_pop(&mut self) -> Result<Token, TryPopError>;
    fn pop(&mut self) -> Result<Token, PopError>;
    fn is_closed(&self) -> bool;
    fn is_empty(&self) -> bool;
    fn capacity(&self) -> usize;
}

/// A queue for many on either side, whose items are numbered.
pub(crate) trait Many: Queue<Tx: Clone, Rx: Clone + Numbered> {
    /// The position of the first item.
    fn first(self) -> u64;
}

/// A reading end that numbers items.
pub(crate) trait Numbered: Rx {
    fn try_pop_numbered(&self) -> Result<(u64, Token), TryPopError>;
}

macro_rules! ends {
    (<$($parameter:ident: $bound:ident),*> $tx:ty, $rx:ty) => {
        impl<$($parameter: $bound),*> Tx for $tx {
            fn try_push(&mut self, token: Token) -> Result<(), TryPushError<Token>> {
                <$tx>::try_push(self, token)
            }
            fn push(&mut self, token: Token) -> Result<(), PushError<Token>> {
                <$tx>::push(self, token)
            }
            fn is_closed(&self) -> bool {
                <$tx>::is_closed(self)
            }
            fn capacity(&self) -> usize {
                <$tx>::capacity(self)
            }
        }

        impl<$($parameter: $bound),*> Rx for $rx {
            fn try_pop(&mut self) -> Result<Token, TryPopError> {
                <$rx>::try_pop(self)
            }
            fn pop(&mut self) -> Result<Token, PopError> {
                <$rx>::pop(self)
            }
            fn is_closed(&self) -> bool {
                <$rx>::is_closed(self)
            }
            fn is_empty(&self) -> bool {
                <$rx>::is_empty(self)
            }
            fn capacity(&self) -> usize {
                <$rx>::capacity(self)
            }
        }
    };
    ($tx:ty, $rx:ty) => {
        ends!(<> $tx, $rx);
    };
}

ends!(<W: Wait> fast_forward::Producer<Token, W>, fast_forward::Consumer<Token, W>);
ends!(<W: Wait> bbq::Producer<Token, W>, bbq::Consumer<Token, W>);
ends!(<W: Wait> chunk_ring::Producer<Token, W>, chunk_ring::Consumer<Token, W>);
ends!(<W: Wait> bbq::spsc::Producer<Token, W>, bbq::spsc::Consumer<Token, W>);
ends!(lamport::Producer<Token, Plain>, lamport::Consumer<Token, Plain>);
ends!(lamport::Producer<Token, Cached>, lamport::Consumer<Token, Cached>);
ends!(<W: Wait> mesh::Producer<Token, W>, mesh::Consumer<Token, W>);
ends!(<W: Wait> ticketed::Producer<Token, W>, ticketed::Consumer<Token, W>);
ends!(locked::Producer<Token>, locked::Consumer<Token>);

pub(crate) struct FastForward<W = Yield> {
    capacity: usize,
    slip: bool,
    wait: PhantomData<fn() -> W>,
}

impl<W> Copy for FastForward<W> {}
impl<W> Clone for FastForward<W> {
    fn clone(&self) -> Self {
        *self
    }
}

impl FastForward {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { capacity, slip: false, wait: PhantomData }
    }

    pub(crate) fn slip(self) -> Self {
        Self { slip: true, ..self }
    }

    /// The same queue with another way to wait.
    pub(crate) fn waiting<W: Wait>(self) -> FastForward<W> {
        FastForward { capacity: self.capacity, slip: self.slip, wait: PhantomData }
    }
}

impl<W: Wait> Queue for FastForward<W> {
    type Tx = fast_forward::Producer<Token, W>;
    type Rx = fast_forward::Consumer<Token, W>;

    fn build(self) -> (Self::Tx, Self::Rx) {
        let (tx, rx) = fast_forward::with_wait(self.capacity, W::default()).unwrap();
        (tx, if self.slip { rx.with_slip(Slip::default()) } else { rx })
    }

    fn least(self) -> usize {
        self.capacity
    }

    fn most(self) -> usize {
        self.capacity + 15
    }
}

pub(crate) struct Bbq<W = Yield> {
    blocks: usize,
    entries: usize,
    head: u64,
    wait: PhantomData<fn() -> W>,
}

impl<W> Copy for Bbq<W> {}
impl<W> Clone for Bbq<W> {
    fn clone(&self) -> Self {
        *self
    }
}

impl Bbq {
    pub(crate) fn new(blocks: usize, entries: usize) -> Self {
        Self { blocks, entries, head: 0, wait: PhantomData }
    }

    pub(crate) fn from(self, head: u64) -> Self {
        Self { head, ..self }
    }

    /// The same queue with another way to wait.
    pub(crate) fn waiting<W: Wait>(self) -> Bbq<W> {
        Bbq { blocks: self.blocks, entries: self.entries, head: self.head, wait: PhantomData }
    }
}

impl<W: Wait> Queue for Bbq<W> {
    type Tx = bbq::Producer<Token, W>;
    type Rx = bbq::Consumer<Token, W>;

    fn build(self) -> (Self::Tx, Self::Rx) {
        bbq::shared_from(self.head, self.blocks, self.entries, W::default()).unwrap()
    }

    fn least(self) -> usize {
        (self.blocks - 1) * self.entries + 1
    }

    fn most(self) -> usize {
        self.blocks * self.entries
    }
}

impl<W: Wait> Many for Bbq<W> {
    fn first(self) -> u64 {
        self.head.wrapping_mul(self.entries as u64)
    }
}

impl<W: Wait> Numbered for bbq::Consumer<Token, W> {
    fn try_pop_numbered(&self) -> Result<(u64, Token), TryPopError> {
        self.try_pop_numbered()
    }
}

pub(crate) struct ChunkRing<W = Yield> {
    chunk: usize,
    first: usize,
    most: usize,
    wait: PhantomData<fn() -> W>,
}

impl<W> Copy for ChunkRing<W> {}
impl<W> Clone for ChunkRing<W> {
    fn clone(&self) -> Self {
        *self
    }
}

impl ChunkRing {
    pub(crate) fn new(chunk: usize, first: usize, most: usize) -> Self {
        Self { chunk, first, most, wait: PhantomData }
    }

    /// The same queue with another way to wait.
    pub(crate) fn waiting<W: Wait>(self) -> ChunkRing<W> {
        ChunkRing { chunk: self.chunk, first: self.first, most: self.most, wait: PhantomData }
    }
}

impl<W: Wait> Queue for ChunkRing<W> {
    type Tx = chunk_ring::Producer<Token, W>;
    type Rx = chunk_ring::Consumer<Token, W>;

    fn build(self) -> (Self::Tx, Self::Rx) {
        chunk_ring::with_wait(self.chunk, self.first, Most::Entries(self.most), W::default()).unwrap()
    }

    fn least(self) -> usize {
        self.most - self.chunk
    }

    fn most(self) -> usize {
        self.most
    }
}

/// A mesh of one by one, so that all is in order.
pub(crate) struct Mesh<W = Yield> {
    entries: usize,
    wait: PhantomData<fn() -> W>,
}

impl<W> Copy for Mesh<W> {}
impl<W> Clone for Mesh<W> {
    fn clone(&self) -> Self {
        *self
    }
}

impl Mesh {
    pub(crate) fn new(entries: usize) -> Self {
        Self { entries, wait: PhantomData }
    }

    /// The same queue with another way to wait.
    pub(crate) fn waiting<W: Wait>(self) -> Mesh<W> {
        Mesh { entries: self.entries, wait: PhantomData }
    }
}

impl<W: Wait> Queue for Mesh<W> {
    type Tx = mesh::Producer<Token, W>;
    type Rx = mesh::Consumer<Token, W>;

    fn build(self) -> (Self::Tx, Self::Rx) {
        let (mut tx, mut rx) = mesh::with_wait(1, 1, self.entries, self.entries, W::default()).unwrap();
        (tx.remove(0), rx.remove(0))
    }

    fn least(self) -> usize {
        // Chunks are an eighth of the ring, and two at least.
        self.entries - (self.entries / 8).max(1)
    }

    fn most(self) -> usize {
        self.entries
    }
}

#[derive(Clone, Copy)]
pub(crate) struct LamportPlain(pub(crate) usize);

impl Queue for LamportPlain {
    type Tx = lamport::Producer<Token, Plain>;
    type Rx = lamport::Consumer<Token, Plain>;

    fn build(self) -> (Self::Tx, Self::Rx) {
        lamport::plain(self.0).unwrap()
    }

    fn least(self) -> usize {
        self.0
    }

    fn most(self) -> usize {
        self.0
    }
}

#[derive(Clone, Copy)]
pub(crate) struct LamportCached(pub(crate) usize);

impl Queue for LamportCached {
    type Tx = lamport::Producer<Token, Cached>;
    type Rx = lamport::Consumer<Token, Cached>;

    fn build(self) -> (Self::Tx, Self::Rx) {
        lamport::cached(self.0).unwrap()
    }

    fn least(self) -> usize {
        self.0
    }

    fn most(self) -> usize {
        self.0
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Locked(pub(crate) usize);

impl Queue for Locked {
    type Tx = locked::Producer<Token>;
    type Rx = locked::Consumer<Token>;

    fn build(self) -> (Self::Tx, Self::Rx) {
        locked::locked(self.0).unwrap()
    }

    fn least(self) -> usize {
        self.0
    }

    fn most(self) -> usize {
        self.0
    }
}

impl Many for Locked {
    fn first(self) -> u64 {
        0
    }
}

impl Numbered for locked::Consumer<Token> {
    fn try_pop_numbered(&self) -> Result<(u64, Token), TryPopError> {
        self.try_pop_numbered()
    }
}

/// BBQ for one producer and one consumer.
pub(crate) struct Spsc<W = Yield>(Bbq<W>);

impl<W> Copy for Spsc<W> {}
impl<W> Clone for Spsc<W> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<W> Spsc<W> {
    pub(crate) fn new(shape: Bbq<W>) -> Self {
        Self(shape)
    }

    /// The same queue with another way to wait.
    pub(crate) fn waiting<V: Wait>(self) -> Spsc<V> {
        let Bbq { blocks, entries, head, .. } = self.0;
        Spsc(Bbq { blocks, entries, head, wait: PhantomData })
    }
}

impl<W: Wait> Queue for Spsc<W> {
    type Tx = bbq::spsc::Producer<Token, W>;
    type Rx = bbq::spsc::Consumer<Token, W>;

    fn build(self) -> (Self::Tx, Self::Rx) {
        bbq::spsc::spsc_from(self.0.head, self.0.blocks, self.0.entries, W::default()).unwrap()
    }

    fn least(self) -> usize {
        self.0.least()
    }

    fn most(self) -> usize {
        self.0.most()
    }
}

/// With a counter, so that tickets are issued; each pop consumes its own.
pub(crate) struct Ticketed<W = Yield> {
    capacity: usize,
    wait: PhantomData<fn() -> W>,
}

impl<W> Copy for Ticketed<W> {}
impl<W> Clone for Ticketed<W> {
    fn clone(&self) -> Self {
        *self
    }
}

impl Ticketed {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { capacity, wait: PhantomData }
    }

    /// The same queue with another way to wait.
    pub(crate) fn waiting<W: Wait>(self) -> Ticketed<W> {
        Ticketed { capacity: self.capacity, wait: PhantomData }
    }
}

impl<W: Wait> Queue for Ticketed<W> {
    type Tx = ticketed::Producer<Token, W>;
    type Rx = ticketed::Consumer<Token, W>;

    fn build(self) -> (Self::Tx, Self::Rx) {
        ticketed::with_wait(self.capacity, 1, W::default()).unwrap()
    }

    fn least(self) -> usize {
        self.capacity
    }

    fn most(self) -> usize {
        self.capacity
    }
}

impl<W: Wait> Many for Ticketed<W> {
    fn first(self) -> u64 {
        0
    }
}

impl<W: Wait> Numbered for ticketed::Consumer<Token, W> {
    fn try_pop_numbered(&self) -> Result<(u64, Token), TryPopError> {
        self.try_pop_numbered()
    }
}
