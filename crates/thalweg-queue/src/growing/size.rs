//! How large the ring is, may become and should be.

use super::chunk::{Chunk, Free};
use crate::{BuildError, limits, memory};

/// The most that a ring may grow to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Most {
    /// So many entries, over all chunks.
    Entries(usize),
    /// So many bytes, over all chunks with their links, the spare one included.
    Bytes(usize),
}

/// How large the ring is and how it came to that: [`Producer::growth`](super::Producer::growth).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Growth {
    /// Chunks in the ring.
    pub chunks: usize,
    /// Entries over all chunks in the ring.
    pub entries: usize,
    /// Bytes of all chunks, the spare one included.
    pub bytes: usize,
    /// How often a chunk was linked in since the ring was built.
    pub grown: u64,
    /// How often a chunk was linked out.
    pub shrunk: u64,
}

/// What a ring starts with and what it may come to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Entries at the start; the ring never has fewer.
    first: usize,
    /// Entries of the largest chunk to link in.
    chunk: usize,
    most_entries: usize,
    most_bytes: usize,
}

impl Limits {
    /// Entries of a chunk, if the user does not choose: an eighth of the ring, and not more than this many bytes.
    const CHUNK_BYTES: usize = 64 << 10;

    pub(super) fn new<T>(chunk: Option<usize>, first: usize, most: Most) -> Result<Self, BuildError> {
        // Two chunks are the smallest loop; half of the address space in entries leaves room for the headers.
        BuildError::check("first", first, 2, isize::MAX as usize / 2 / size_of::<T>().max(1))?;
        BuildError::check("chunk", chunk.unwrap_or(1), 1, usize::MAX)?;
        let limits = Self::of::<T>(chunk, first, most);
        match most {
            Most::Entries(entries) => BuildError::check("most entries", entries, first, usize::MAX)?,
            Most::Bytes(bytes) if limits.first_bytes::<T>() > bytes => {
                // More bytes make larger chunks, and those need fewer bytes.
                let enough = |bytes| Self::of::<T>(chunk, first, Most::Bytes(bytes)).first_bytes::<T>() <= bytes;
                let min = 1 + limits::last(bytes, limits.first_bytes::<T>(), |bytes| !enough(bytes));
                return Err(BuildError::TooSmall { parameter: "most bytes", value: bytes, min });
            }
            Most::Bytes(_) => {}
        }
        Ok(limits)
    }

    /// The limits of a ring whose chunk the user chooses or not.
    fn of<T>(chunk: Option<usize>, first: usize, most: Most) -> Self {
        let (most_entries, most_bytes) = match most {
            Most::Entries(entries) => (entries, usize::MAX),
            Most::Bytes(bytes) => (Chunk::<T>::entries_in(bytes), bytes),
        };
        let chunk = chunk.unwrap_or_else(|| {
            let most = Self::CHUNK_BYTES / size_of::<T>().max(1);
            (most_entries / 8).clamp(1, most.max(1))
        });
        Self { first, chunk, most_entries, most_bytes }
    }

    /// The most entries that the ring may come to have.
    pub(super) fn capacity(&self) -> usize {
        self.most_entries
    }

    /// How many chunks there are at the start.
    fn chunks(&self) -> usize {
        self.first.div_ceil(self.chunk).max(2)
    }

    /// The entries of each chunk at the start.
    fn first_chunks(&self) -> impl Iterator<Item = usize> + use<> {
        let (first, chunks) = (self.first, self.chunks());
        (0..chunks).map(move |chunk| first / chunks + usize::from(chunk < first % chunks))
    }

    /// The bytes of all chunks at the start. Not counted one by one: there may be more than anybody has time for.
    fn first_bytes<T>(&self) -> usize {
        let (chunks, larger) = (self.chunks(), self.first % self.chunks());
        let bytes = |entries, count| Chunk::<T>::bytes(entries).unwrap_or(usize::MAX).saturating_mul(count);
        bytes(self.first / chunks, chunks - larger).saturating_add(bytes(self.first / chunks + 1, larger))
    }
}

/// The ring's size, and the spare chunk. The producer's alone.
#[derive(Debug)]
pub(super) struct Size<T> {
    limits: Limits,
    growth: Growth,
    /// A chunk that was linked out, kept for the next growth. It counts against the limits.
    spare: Option<Chunk<T>>,
    usage: Usage,
    /// How many chunks are to be linked out, one at a time.
    surplus: usize,
    /// There was no memory for a chunk the last time one was asked for.
    no_memory: bool,
    /// How many chunks were filled and left so far.
    pub(super) filled: u64,
    /// How many chunks the consumer has left, as seen last.
    pub(super) left: u64,
    /// While the consumer has left so many chunks, the ring is full and at its limit (R6).
    pub(super) full_at: u64,
}

impl<T> Size<T> {
    /// The memory of a ring of so many bytes, or more, is asked for as a whole first.
    const LARGE: usize = 1 << 20;

    /// A new ring, and one of its chunks.
    pub(super) fn new(limits: Limits) -> Result<(Self, Chunk<T>), BuildError> {
        let bytes = limits.first_bytes::<T>();
        if bytes >= Self::LARGE {
            // In small pieces, some systems give more memory than there is, and end the program when it is used. The compiler is not to
            // leave out what is given back at once.
            drop(core::hint::black_box(memory::room::<u8>(bytes)?));
        }
        let mut growth = Growth { chunks: 0, entries: 0, bytes: 0, grown: 0, shrunk: 0 };
        let mut ring: Option<Chunk<T>> = None;
        for entries in limits.first_chunks() {
            let Some(chunk) = Chunk::allocate(entries) else {
                // SAFETY: those that are there are alive and linked in a loop, and nobody else has them.
                drop(ring.map(|chunk| unsafe { Free::new(chunk) }));
                return Err(BuildError::OutOfMemory { bytes: Chunk::<T>::bytes(entries).unwrap_or(usize::MAX) });
            };
            if let Some(last) = ring {
                // SAFETY: both chunks are alive, and nobody else has them yet.
                unsafe {
                    chunk.link(last.next());
                    last.link(chunk);
                }
            }
            ring = Some(chunk);
            growth.chunks += 1;
            growth.entries += entries;
            growth.bytes += Chunk::<T>::bytes(entries).unwrap_or(0);
        }
        let ring = ring.expect("there are two chunks at least");
        Ok((
            Self {
                limits,
                growth,
                spare: None,
                usage: Usage::default(),
                surplus: 0,
                no_memory: false,
                filled: 0,
                left: 0,
                full_at: u64::MAX,
            },
            ring,
        ))
    }

    pub(super) fn growth(&self) -> Growth {
        self.growth
    }

    pub(super) fn chunks(&self) -> u64 {
        self.growth.chunks as u64
    }

    /// How many chunks are in use, from the consumer's to the producer's, if the consumer has left `left`.
    pub(super) fn used(&self, left: u64) -> u64 {
        self.filled - left + 1
    }

    /// Links a chunk in behind `chunk`, unless the ring may not grow or there is no memory.
    ///
    /// # Safety
    ///
    /// The producer calls it, and is in `chunk`.
    pub(super) unsafe fn grow(&mut self, chunk: Chunk<T>) -> bool {
        let Some(new) = self.spare.take().or_else(|| self.allocate()) else { return false };
        // SAFETY: `new` is ours alone. `chunk` is the producer's, and the consumer follows its link only after the producer
        // has gone on by it (R3).
        unsafe {
            new.link(chunk.next());
            chunk.link(new);
            self.growth.entries += new.len();
        }
        self.growth.chunks += 1;
        self.growth.grown += 1;
        (self.usage, self.surplus) = (Usage::default(), 0);
        true
    }

    /// Whether the ring may grow, as far as is known.
    pub(super) fn may_grow(&self) -> bool {
        self.spare.is_some() || (!self.is_at_most() && !self.no_memory)
    }

    /// Whether the limits leave no room for another chunk.
    pub(super) fn is_at_most(&self) -> bool {
        self.next_entries() == 0
    }

    /// How many entries the next chunk is to have: as many as the ring, at most as many as chunks may have, and within the
    /// limits.
    fn next_entries(&self) -> usize {
        let room = self.limits.most_entries.saturating_sub(self.growth.entries);
        let bytes = self.limits.most_bytes.saturating_sub(self.growth.bytes);
        self.growth.entries.min(self.limits.chunk).min(room).min(Chunk::<T>::entries_in(bytes))
    }

    fn allocate(&mut self) -> Option<Chunk<T>> {
        let entries = self.next_entries();
        if entries == 0 {
            return None;
        }
        let chunk = Chunk::allocate(entries);
        self.no_memory = chunk.is_none();
        self.growth.bytes += chunk.and(Chunk::<T>::bytes(entries)).unwrap_or(0);
        chunk
    }

    /// Whether the producer, at the end of a chunk of `entries`, should look how many chunks are in use.
    pub(super) fn wants_a_look(&mut self, entries: usize) -> bool {
        self.growth.entries > self.limits.first && self.usage.advance(entries)
    }

    /// Takes note that `used` chunks are in use, and decides now and then how many are too many.
    pub(super) fn note(&mut self, used: u64) {
        if let Some(peak) = self.usage.note(used, self.chunks()) {
            self.surplus = self.chunks().saturating_sub(peak * 2) as usize;
        }
    }

    /// Links the chunk behind `chunk` out if it is surplus; at least one free chunk stays.
    ///
    /// # Safety
    ///
    /// The producer calls it, is in `chunk`, and has seen that at most `used` chunks are in use.
    pub(super) unsafe fn shrink_by_one(&mut self, chunk: Chunk<T>, used: u64) {
        if self.surplus > 0 {
            self.surplus -= 1;
            // SAFETY: by the caller's promise.
            unsafe { self.unlink(chunk, used) };
        }
    }

    /// Links out every chunk that is free and not needed for the size at the start, and frees the spare one.
    ///
    /// # Safety
    ///
    /// As [`shrink_by_one`](Self::shrink_by_one).
    pub(super) unsafe fn shrink(&mut self, chunk: Chunk<T>, used: u64) {
        // SAFETY: by the caller's promise.
        while unsafe { self.unlink(chunk, used) } {}
        self.free_spare();
    }

    /// # Safety
    ///
    /// As [`shrink_by_one`](Self::shrink_by_one).
    unsafe fn unlink(&mut self, chunk: Chunk<T>, used: u64) -> bool {
        // One free chunk stays behind the producer's, so that it does not have to grow at once.
        if used + 2 > self.chunks() {
            return false;
        }
        // SAFETY: the ring's chunks are alive (R1). The two behind the producer's are free, as (chunk.4) saw, so their links
        // are the producer's, and the consumer comes to them only by the links that change here (R3).
        let (out, entries) = unsafe {
            let (first, second) = (chunk.next(), chunk.next().next());
            // The larger one, so that a ring that has grown by large chunks comes back to small ones.
            let (before, out) = if first.len() < second.len() { (first, second) } else { (chunk, first) };
            if self.growth.entries - out.len() < self.limits.first {
                return false;
            }
            before.link(out.next());
            (out, out.len())
        };
        self.growth.chunks -= 1;
        self.growth.entries -= entries;
        self.growth.shrunk += 1;
        self.free_spare();
        self.spare = Some(out);
        true
    }

    pub(super) fn free_spare(&mut self) {
        if let Some(spare) = self.spare.take() {
            // SAFETY: the spare chunk is not in the ring, so it is ours alone (R1).
            unsafe {
                self.growth.bytes -= Chunk::<T>::bytes(spare.len()).unwrap_or(0);
                spare.free();
            }
        }
    }
}

/// How many chunks of a ring that has grown are in use, by a look now and then.
///
/// Each look is a line from the other core, so they are some hundred entries apart. Bursts come at any point between two, so
/// many looks are taken for one.
#[derive(Debug, Default)]
struct Usage {
    /// Entries passed since the last look.
    entries: usize,
    /// Chunks passed in this period, looks taken, and the most chunks that one of them found in use.
    chunks: u64,
    looks: u32,
    peak: u64,
}

impl Usage {
    /// Entries from one look to the next.
    const STRIDE: usize = 512;
    /// A period has so many looks and so many turns of the ring at least.
    const LOOKS: u32 = 64;
    const TURNS: u64 = 8;

    /// A chunk of `entries` was passed: whether a look is due.
    fn advance(&mut self, entries: usize) -> bool {
        self.chunks += 1;
        self.entries += entries;
        self.entries >= Self::STRIDE
    }

    /// A look found `used` of `chunks` chunks in use. At the end of a period, the most that were.
    fn note(&mut self, used: u64, chunks: u64) -> Option<u64> {
        self.entries = 0;
        self.looks += 1;
        self.peak = self.peak.max(used);
        if self.looks < Self::LOOKS || self.chunks < Self::TURNS * chunks {
            return None;
        }
        Some(core::mem::take(self).peak)
    }
}
