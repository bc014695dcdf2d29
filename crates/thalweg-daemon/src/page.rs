//! The page that a daemon and one application share.
//!
//! The daemon makes it, as a file in memory without a name, and passes it over the socket. Each side writes words of its own, one by one; nothing is made of two words
//! together, so a page that is half written, or full of rubbish, is only a strange wish.
//!
//! # Invariants
//!
//! - **P1** The file has the size of [`Words`] or more, and is sealed against shrinking before anybody else has it, so a word of the mapping can always be read
//!   (nobody gets a `SIGBUS` from the other side).
//! - **P2** A mapping lives as long as its [`Page`], and is touched through the atomics of [`Words`] only: any bits are a valid value.
//!
//! All accesses are relaxed: a word stands for itself, and no memory besides the page is shared.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use thalweg_sync::CachePadded;
use thalweg_sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::share::Wish;

/// Bytes of the file: a page of any system.
const SIZE: usize = 1 << 16;
/// What the file is sealed with.
const SEALS: libc::c_int = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
const NAME: &CStr = c"thalweg-daemon";

/// The application's line, and the daemon's.
#[derive(Debug)]
#[repr(C)]
struct Words {
    theirs: CachePadded<Theirs>,
    granted: CachePadded<AtomicU64>,
}

#[derive(Debug)]
#[repr(C)]
struct Theirs {
    /// Changes with each publication.
    beat: AtomicU64,
    could: AtomicU64,
    work: AtomicU64,
    works: AtomicU64,
}

/// What an application said last.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Said {
    pub(crate) beat: u64,
    pub(crate) wish: Wish,
    /// Threads that were at work.
    pub(crate) works: u32,
}

#[derive(Debug)]
pub(crate) struct Page {
    words: NonNull<Words>,
}

// SAFETY: P2: all access is atomic.
unsafe impl Send for Page {}
// SAFETY: as above.
unsafe impl Sync for Page {}

impl Page {
    /// A new one, and the file to pass on.
    pub(crate) fn new() -> io::Result<(Self, OwnedFd)> {
        // SAFETY: the name ends with a zero; what is returned is checked.
        let file = unsafe { libc::memfd_create(NAME.as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING) };
        // SAFETY: a new descriptor that nobody else owns.
        let file = unsafe { OwnedFd::from_raw_fd(checked(file)?) };
        // SAFETY: calls on a descriptor that is owned here.
        unsafe {
            checked(libc::ftruncate(file.as_raw_fd(), SIZE as libc::off_t))?;
            checked(libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, SEALS))?;
        }
        Ok((Self::map(&file)?, file))
    }

    /// One that was passed on. Refused if it could shrink (P1).
    pub(crate) fn map(file: &OwnedFd) -> io::Result<Self> {
        const { assert!(size_of::<Words>() <= SIZE) };
        // SAFETY: asks about a descriptor that is owned here.
        let seals = checked(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GET_SEALS) })?;
        // SAFETY: as above; `stat` is plain numbers, for which zeros are valid.
        let size = unsafe {
            let mut stat: libc::stat = std::mem::zeroed();
            checked(libc::fstat(file.as_raw_fd(), &mut stat))?;
            stat.st_size
        };
        if seals & libc::F_SEAL_SHRINK == 0 || size < SIZE as libc::off_t {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the page that was passed on is not sealed"));
        }
        let (read_write, shared) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
        // SAFETY: a new mapping, which overlaps nothing.
        let at = unsafe { libc::mmap(std::ptr::null_mut(), SIZE, read_write, shared, file.as_raw_fd(), 0) };
        if at == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let words = NonNull::new(at.cast()).ok_or_else(|| io::Error::other("the page was mapped at address 0"))?;
        Ok(Self { words })
    }

    fn words(&self) -> &Words {
        // SAFETY: P1, P2: mapped, aligned to a page, and any bits are valid.
        unsafe { self.words.as_ref() }
    }

    /// What the application said last, as it stands there.
    pub(crate) fn said(&self) -> Said {
        let theirs = &self.words().theirs;
        let small = |word: &AtomicU64| word.load(Relaxed).min(u64::from(u32::MAX)) as u32;
        Said {
            beat: theirs.beat.load(Relaxed),
            wish: Wish { could: small(&theirs.could), work: theirs.work.load(Relaxed) },
            works: small(&theirs.works),
        }
    }

    pub(crate) fn say(&self, wish: Wish, works: u32) {
        let theirs = &self.words().theirs;
        theirs.could.store(u64::from(wish.could), Relaxed);
        theirs.work.store(wish.work, Relaxed);
        theirs.works.store(u64::from(works), Relaxed);
        theirs.beat.store(theirs.beat.load(Relaxed).wrapping_add(1), Relaxed);
    }

    /// 0 if nothing is bounded.
    pub(crate) fn grant(&self, cores: u32) {
        self.words().granted.store(u64::from(cores), Relaxed);
    }

    pub(crate) fn granted(&self) -> u64 {
        self.words().granted.load(Relaxed)
    }

    /// Writes to any word of the page, as an application that lies.
    #[cfg(test)]
    pub(crate) fn scribble(&self, word: usize, bits: u64) {
        assert!(word < SIZE / 8);
        // SAFETY: P1: within the mapping, and aligned.
        unsafe { &*self.words.as_ptr().cast::<AtomicU64>().add(word) }.store(bits, Relaxed);
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // SAFETY: P2: mapped by `map` with this size, and no reference is left.
        unsafe { libc::munmap(self.words.as_ptr().cast(), SIZE) };
    }
}

/// What a system call returned, or its error.
pub(crate) fn checked(returned: libc::c_int) -> io::Result<libc::c_int> {
    if returned < 0 { Err(io::Error::last_os_error()) } else { Ok(returned) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_see_each_others_words() {
        let (ours, file) = Page::new().unwrap();
        let theirs = Page::map(&file).unwrap();
        theirs.say(Wish { could: 3, work: 4 }, 2);
        assert_eq!(ours.said(), Said { beat: 1, wish: Wish { could: 3, work: 4 }, works: 2 });
        ours.grant(5);
        assert_eq!(theirs.granted(), 5);
    }

    #[test]
    fn nobody_can_cut_it_off() {
        let (page, file) = Page::new().unwrap();
        for size in [0, SIZE as libc::off_t * 2] {
            // SAFETY: a call on a descriptor that is owned here.
            let cut = checked(unsafe { libc::ftruncate(file.as_raw_fd(), size) });
            assert_eq!(cut.unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        }
        assert_eq!(page.said().beat, 0);
        // SAFETY: as in `Page::new`.
        let open = unsafe { OwnedFd::from_raw_fd(libc::memfd_create(NAME.as_ptr(), libc::MFD_ALLOW_SEALING)) };
        assert!(Page::map(&open).is_err(), "one that could shrink is refused");
    }
}
