//! Accesses as data: what an engine is shown.

use super::Site;
use crate::hint::Access;
use core::marker::PhantomData;
#[cfg(target_has_atomic = "64")]
use core::sync::atomic::AtomicU64;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU16, AtomicU32, Ordering};
#[cfg(not(target_has_atomic = "64"))]
use portable_atomic::AtomicU64;

/// The type of an atomic: how many bytes, and how they compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are the types'")]
pub enum Scalar {
    Bool,
    U8,
    U16,
    U32,
    U64,
    I8,
    I16,
    I32,
    I64,
    Pointer,
}

impl Scalar {
    /// The size in bytes.
    pub const fn bytes(self) -> usize {
        match self {
            Scalar::Bool | Scalar::U8 | Scalar::I8 => 1,
            Scalar::U16 | Scalar::I16 => 2,
            Scalar::U32 | Scalar::I32 => 4,
            Scalar::U64 | Scalar::I64 => 8,
            Scalar::Pointer => size_of::<*const ()>(),
        }
    }

    /// `value` without the bits that the type does not have.
    const fn truncate(self, value: u64) -> u64 {
        let bits = match self {
            Scalar::Bool => 1,
            _ => 8 * self.bytes(),
        };
        value & (u64::MAX >> (64 - bits))
    }

    /// A number that compares like the value does.
    const fn rank(self, value: u64) -> i128 {
        let unused = 64 - 8 * self.bytes();
        match self {
            Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::I64 => (((value << unused) as i64) >> unused) as i128,
            _ => value as i128,
        }
    }
}

/// What an atomic access does. Values are bit patterns, filled up with zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Reads.
    Load,
    /// Writes the value.
    Store(u64),
    /// Reads, and writes the value.
    Swap(u64),
    /// Reads, and writes the sum, wrapped.
    Add(u64),
    /// Reads, and writes the difference, wrapped.
    Sub(u64),
    /// Reads, and writes the bits that both have.
    And(u64),
    /// Reads, and writes the bits that not both have.
    Nand(u64),
    /// Reads, and writes the bits that either has.
    Or(u64),
    /// Reads, and writes the bits that differ.
    Xor(u64),
    /// Reads, and writes the greater.
    Max(u64),
    /// Reads, and writes the smaller.
    Min(u64),
    /// Reads, and writes `new` if it read `expected`.
    CompareExchange {
        /// The value that makes it write.
        expected: u64,
        /// What it then writes.
        new: u64,
        /// It may fail without a reason.
        weak: bool,
    },
}

impl Operation {
    /// What it writes to an atomic of type `scalar` from which it reads `read`; `None` if it then writes nothing.
    #[inline]
    pub fn next(self, scalar: Scalar, read: u64) -> Option<u64> {
        match self {
            Self::Load => None,
            Self::Store(value) | Self::Swap(value) => Some(value),
            Self::Add(n) => Some(scalar.truncate(read.wrapping_add(n))),
            Self::Sub(n) => Some(scalar.truncate(read.wrapping_sub(n))),
            Self::And(n) => Some(read & n),
            Self::Nand(n) => Some(scalar.truncate(!(read & n))),
            Self::Or(n) => Some(read | n),
            Self::Xor(n) => Some(read ^ n),
            Self::Max(n) => Some(if scalar.rank(n) > scalar.rank(read) { n } else { read }),
            Self::Min(n) => Some(if scalar.rank(n) < scalar.rank(read) { n } else { read }),
            Self::CompareExchange { expected, new, .. } => (read == expected).then_some(new),
        }
    }

    /// What is wrong with these orderings: a load releases nothing, a store acquires nothing, and a compare-exchange that
    /// fails is a load. In the words of the standard library.
    #[allow(dead_code, reason = "built without the feature `instrument`, nothing is intercepted")]
    pub(crate) fn refusal(self, success: Ordering, failure: Ordering) -> Option<&'static str> {
        Some(match (self, success, failure) {
            (Self::Load, Ordering::Release, _) => "there is no such thing as a release load",
            (Self::Load, Ordering::AcqRel, _) => "there is no such thing as an acquire-release load",
            (Self::Store(_), Ordering::Acquire, _) => "there is no such thing as an acquire store",
            (Self::Store(_), Ordering::AcqRel, _) => "there is no such thing as an acquire-release store",
            (Self::CompareExchange { .. }, _, Ordering::Release) => {
                "there is no such thing as a release failure ordering"
            }
            (Self::CompareExchange { .. }, _, Ordering::AcqRel) => {
                "there is no such thing as an acquire-release failure ordering"
            }
            _ => return None,
        })
    }
}

/// An atomic access that is about to happen.
#[derive(Clone, Copy, Debug)]
pub struct Atomic<'a> {
    address: *const (),
    scalar: Scalar,
    operation: Operation,
    success: Ordering,
    failure: Ordering,
    at: Site,
    _alive: PhantomData<&'a ()>,
}

impl<'a> Atomic<'a> {
    /// Describes `operation` on the atomic at `address`.
    ///
    /// # Safety
    ///
    /// For `'a` there is an atomic of type `scalar` at `address`, accessed by nothing but atomic operations.
    #[allow(dead_code, reason = "built without the feature `instrument`, nothing is described")]
    pub(crate) unsafe fn new(
        address: *const (),
        scalar: Scalar,
        operation: Operation,
        success: Ordering,
        failure: Ordering,
        at: Site,
    ) -> Self {
        Self { address, scalar, operation, success, failure, at, _alive: PhantomData }
    }

    /// Where the atomic is.
    #[inline]
    pub fn address(&self) -> usize {
        self.address.addr()
    }

    /// Its type.
    pub fn scalar(&self) -> Scalar {
        self.scalar
    }

    /// What is done to it.
    #[inline]
    pub fn operation(&self) -> Operation {
        self.operation
    }

    /// The ordering; of a compare-exchange, the one of success.
    #[inline]
    pub fn ordering(&self) -> Ordering {
        self.success
    }

    /// The ordering of a compare-exchange that fails; otherwise the same as [`ordering`](Self::ordering).
    pub fn failure_ordering(&self) -> Ordering {
        self.failure
    }

    /// Where the client asked for it.
    #[inline]
    pub fn at(&self) -> Site {
        self.at
    }

    /// True unless it is a store.
    pub fn reads(&self) -> bool {
        !matches!(self.operation, Operation::Store(_))
    }

    /// What the operation writes when it reads `read`; `None` if it then writes nothing.
    #[inline]
    pub fn next(&self, read: u64) -> Option<u64> {
        self.operation.next(self.scalar, read)
    }

    /// The value in memory.
    #[inline]
    pub fn peek(&self) -> u64 {
        // SAFETY: `new` was promised an atomic of this type, which accepts relaxed loads from anyone. The atomics of
        // the standard library have the layout of their values, so the unsigned one of the same size reads the signed
        // one too.
        unsafe {
            match self.scalar {
                Scalar::Bool => (*self.address.cast::<AtomicBool>()).load(Ordering::Relaxed).into(),
                Scalar::U8 | Scalar::I8 => (*self.address.cast::<AtomicU8>()).load(Ordering::Relaxed).into(),
                Scalar::U16 | Scalar::I16 => (*self.address.cast::<AtomicU16>()).load(Ordering::Relaxed).into(),
                Scalar::U32 | Scalar::I32 => (*self.address.cast::<AtomicU32>()).load(Ordering::Relaxed).into(),
                Scalar::U64 | Scalar::I64 => (*self.address.cast::<AtomicU64>()).load(Ordering::Relaxed),
                Scalar::Pointer => {
                    (*self.address.cast::<AtomicPtr<()>>()).load(Ordering::Relaxed).expose_provenance() as u64
                }
            }
        }
    }

    /// Sets the value in memory. Only for values that the client may find there: see the safety section of
    /// [`Engine`](super::Engine).
    #[inline]
    pub fn poke(&self, value: u64) {
        // SAFETY: as in `peek`. Pointers were exposed when they were turned into numbers, in `peek` or by the facade.
        unsafe {
            match self.scalar {
                Scalar::Bool => (*self.address.cast::<AtomicBool>()).store(value != 0, Ordering::Relaxed),
                Scalar::U8 | Scalar::I8 => (*self.address.cast::<AtomicU8>()).store(value as u8, Ordering::Relaxed),
                Scalar::U16 | Scalar::I16 => (*self.address.cast::<AtomicU16>()).store(value as u16, Ordering::Relaxed),
                Scalar::U32 | Scalar::I32 => (*self.address.cast::<AtomicU32>()).store(value as u32, Ordering::Relaxed),
                Scalar::U64 | Scalar::I64 => (*self.address.cast::<AtomicU64>()).store(value, Ordering::Relaxed),
                Scalar::Pointer => (*self.address.cast::<AtomicPtr<()>>())
                    .store(core::ptr::with_exposed_provenance_mut(value as usize), Ordering::Relaxed),
            }
        }
    }

    /// Does it, on the value in memory: the newest value, as a sequentially consistent machine would.
    ///
    /// Only for engines that run one thread at a time; reading and writing are two steps.
    #[inline]
    pub fn perform(&self) -> Result<u64, u64> {
        let read = self.peek();
        match self.next(read) {
            Some(new) => {
                self.poke(new);
                Ok(read)
            }
            None if self.operation == Operation::Load => Ok(read),
            None => Err(read),
        }
    }
}

/// A range of plain memory that is accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The first byte.
    pub address: usize,
    /// How many bytes; may be 0.
    pub bytes: usize,
    /// Read or written.
    pub access: Access,
    /// It is a slot of `MaybeUninit`, so there may be no value before the first write.
    pub may_be_uninit: bool,
    /// Where the client asked for it.
    pub at: Site,
}

impl Span {
    /// True if the two have a byte in common and one of them writes.
    pub fn conflicts(&self, other: &Span) -> bool {
        (self.access == Access::Write || other.access == Access::Write)
            && self.address < other.address.saturating_add(other.bytes)
            && other.address < self.address.saturating_add(self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(scalar: Scalar, operation: Operation, read: u64) -> Option<u64> {
        let at = core::panic::Location::caller();
        // SAFETY: `next` does not look at memory.
        unsafe { Atomic::new(core::ptr::null(), scalar, operation, Ordering::Relaxed, Ordering::Relaxed, at) }
            .next(read)
    }

    #[test]
    fn arithmetic_stays_in_the_word() {
        assert_eq!(next(Scalar::U8, Operation::Add(2), 255), Some(1));
        assert_eq!(next(Scalar::I16, Operation::Sub(1), 0), Some(0xffff));
        assert_eq!(next(Scalar::U64, Operation::Sub(1), 0), Some(u64::MAX));
    }

    #[test]
    fn inverted_bits_stay_in_the_word() {
        assert_eq!(next(Scalar::I8, Operation::Nand(3), 6), Some(0xfd));
        assert_eq!(next(Scalar::U64, Operation::Nand(1), 1), Some(u64::MAX - 1));
        assert_eq!([0, 1].map(|read| next(Scalar::Bool, Operation::Nand(1), read)), [Some(1), Some(0)]);
    }

    #[test]
    fn signed_words_compare_signed() {
        assert_eq!(next(Scalar::I8, Operation::Max(0xff), 1), Some(1), "-1 is less than 1");
        assert_eq!(next(Scalar::U8, Operation::Max(0xff), 1), Some(0xff));
        assert_eq!(next(Scalar::I64, Operation::Min(u64::MAX), 1), Some(u64::MAX), "-1 is less than 1");
        assert_eq!(next(Scalar::U64, Operation::Min(u64::MAX), 1), Some(1));
    }

    #[test]
    fn compare_exchange_writes_only_what_it_expected() {
        let operation = Operation::CompareExchange { expected: 1, new: 2, weak: false };
        assert_eq!(next(Scalar::U32, operation, 1), Some(2));
        assert_eq!(next(Scalar::U32, operation, 3), None);
    }

    #[test]
    fn spans_conflict_when_they_overlap_and_one_writes() {
        let at = core::panic::Location::caller();
        let span = |address, bytes, access| Span { address, bytes, access, may_be_uninit: false, at };
        let (read, write) = (Access::Read, Access::Write);
        assert!(span(8, 8, write).conflicts(&span(15, 1, read)));
        assert!(!span(8, 8, read).conflicts(&span(8, 8, read)));
        assert!(!span(8, 8, write).conflicts(&span(16, 8, write)));
        assert!(!span(8, 0, write).conflicts(&span(8, 0, write)), "nothing is nobody's");
    }
}
