//! Which hardware threads a thread may run on.

use crate::engine;
use std::io;

/// A set of hardware threads, as the system numbers them.
///
/// ```
/// use thalweg_sync::thread;
///
/// if let Ok(before) = thread::current_affinity() {
///     let cpu = before.cpus().next().unwrap();
///     thread::pin_current(cpu)?;
///     assert_eq!(thread::current_affinity()?.cpus().collect::<Vec<_>>(), [cpu]);
///     before.restore()?;
/// }
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Affinity {
    /// Bit `i` of word `w`: hardware thread `w * usize::BITS + i`.
    words: Vec<usize>,
}

impl Affinity {
    /// The hardware threads in the set, ascending.
    pub fn cpus(&self) -> impl Iterator<Item = usize> + '_ {
        let bits = usize::BITS as usize;
        (0..self.words.len() * bits).filter(move |cpu| self.words[cpu / bits] >> (cpu % bits) & 1 == 1)
    }

    /// Lets the calling thread run on this set only. Errors if the system refuses, as when none of it is allowed any
    /// more.
    pub fn restore(&self) -> io::Result<()> {
        if engine::current().is_some() {
            return Ok(());
        }
        system::set(&self.words)
    }

    fn one(cpu: usize) -> Self {
        let bits = usize::BITS as usize;
        let mut words = vec![0; cpu / bits + 1];
        words[cpu / bits] = 1 << (cpu % bits);
        Self { words }
    }
}

/// Where the calling thread may run. Errors where the system does not tell (Linux does).
pub fn current_affinity() -> io::Result<Affinity> {
    match engine::current() {
        Some(engine) => {
            let mut words = vec![0; engine.parallelism().div_ceil(usize::BITS as usize)];
            for cpu in 0..engine.parallelism() {
                words[cpu / usize::BITS as usize] |= 1 << (cpu % usize::BITS as usize);
            }
            Ok(Affinity { words })
        }
        None => system::get().map(|words| Affinity { words }),
    }
}

/// Keeps the calling thread on hardware thread `cpu`.
///
/// Errors if `cpu` is not among the allowed ones, which the error lists, and where the system has no pinning (Linux
/// has). [`current_affinity`] before, and [`Affinity::restore`] after, take it back.
pub fn pin_current(cpu: usize) -> io::Result<()> {
    if let Some(engine) = engine::current() {
        engine.pin(cpu);
        return Ok(());
    }
    let allowed = current_affinity()?;
    // A system has at most a few thousand; the check also keeps a wild number from asking for a mask of that size.
    if !allowed.cpus().any(|other| other == cpu) {
        let list: Vec<_> = allowed.cpus().map(|cpu| cpu.to_string()).collect();
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("cannot pin to cpu {cpu}: this thread may use only {}", list.join(", ")),
        ));
    }
    Affinity::one(cpu).restore()
}

/// The hardware thread that the calling thread runs on now; `None` where the system does not tell (Linux does) and under an engine.
pub fn current_cpu() -> Option<usize> {
    if engine::current().is_some() { None } else { system::cpu() }
}

/// Puts the calling thread, if it runs on one of the hardware threads in `taken`, on the `steps`-th allowed one after it that is not, and
/// leaves it free to move.
///
/// For a thread that was just started or woken: the system may leave it for milliseconds on the hardware thread of the one that did so. Does
/// nothing where there is no other, or no pinning.
pub fn move_away_from(taken: &[usize], steps: usize) {
    let Some(here) = current_cpu().filter(|here| taken.contains(here)) else { return };
    let Ok(allowed) = current_affinity() else { return };
    let other = beyond(here, allowed.cpus(), taken, steps);
    if other.is_some_and(|other| pin_current(other).is_ok()) {
        // What is allowed was allowed a moment ago.
        let _ = allowed.restore();
    }
}

/// The `steps`-th of `allowed`, after `here` and around, that is not in `taken`.
fn beyond(here: usize, allowed: impl Iterator<Item = usize>, taken: &[usize], steps: usize) -> Option<usize> {
    let (before, after): (Vec<_>, Vec<_>) = allowed.partition(|&cpu| cpu <= here);
    let others: Vec<_> = after.into_iter().chain(before).filter(|cpu| !taken.contains(cpu)).collect();
    steps.saturating_sub(1).checked_rem(others.len()).map(|step| others[step])
}

/// Lets a thread run that was just started or woken, if the system has put it on the hardware thread of the caller, where it would wait until
/// the caller's share of time is over. With [`move_away_from`] it then goes elsewhere. Nothing under an engine, which has no such habit.
pub fn make_way() {
    if engine::current().is_none() {
        super::yield_now();
    }
}

#[cfg(all(target_os = "linux", not(loom)))]
mod system {
    use std::io;

    pub(super) fn cpu() -> Option<usize> {
        // SAFETY: it takes nothing and changes nothing.
        usize::try_from(unsafe { libc::sched_getcpu() }).ok()
    }

    pub(super) fn get() -> io::Result<Vec<usize>> {
        // The kernel refuses masks shorter than its own, so they grow: up to 2^18 hardware threads.
        let mut words = vec![0_usize; 16];
        loop {
            // SAFETY: the kernel writes at most that many bytes.
            let result =
                unsafe { libc::sched_getaffinity(0, size_of_val(words.as_slice()), words.as_mut_ptr().cast()) };
            if result == 0 {
                return Ok(words);
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::InvalidInput || words.len() >= 1 << 12 {
                return Err(error);
            }
            words = vec![0; words.len() * 2];
        }
    }

    pub(super) fn set(words: &[usize]) -> io::Result<()> {
        // SAFETY: the kernel reads that many bytes.
        match unsafe { libc::sched_setaffinity(0, size_of_val(words), words.as_ptr().cast()) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

#[cfg(not(all(target_os = "linux", not(loom))))]
mod system {
    use std::io;

    pub(super) fn cpu() -> Option<usize> {
        None
    }

    pub(super) fn get() -> io::Result<Vec<usize>> {
        Err(unsupported())
    }

    pub(super) fn set(_words: &[usize]) -> io::Result<()> {
        Err(unsupported())
    }

    fn unsupported() -> io::Error {
        io::Error::new(
            io::ErrorKind::Unsupported,
            "threads are pinned on Linux only, and not under loom; run without pinning",
        )
    }
}

#[cfg(all(test, target_os = "linux", not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_thread_moves_away_and_stays_free() {
        let before = current_affinity().unwrap();
        let Some(here) = current_cpu() else { panic!("Linux tells") };
        move_away_from(&[here], 1);
        assert_eq!(current_affinity().unwrap(), before);
        let all: Vec<_> = before.cpus().collect();
        move_away_from(&all, 1);
        assert_eq!(current_affinity().unwrap(), before, "nowhere to go");
    }

    #[test]
    fn a_thread_goes_so_many_steps_and_around() {
        let beyond = |taken: &[usize], steps| beyond(2, [0, 1, 2, 3, 5].into_iter(), taken, steps);
        assert_eq!([1, 2, 3, 4, 5].map(|steps| beyond(&[2], steps)), [3, 5, 0, 1, 3].map(Some));
        assert_eq!([1, 2, 3].map(|steps| beyond(&[0, 2, 3], steps)), [5, 1, 5].map(Some));
        assert_eq!(beyond(&[0, 1, 2, 3, 5], 1), None);
    }

    #[test]
    fn pinning_is_seen_by_available_parallelism_and_taken_back() {
        let before = current_affinity().unwrap();
        let last = before.cpus().last().unwrap();
        pin_current(last).unwrap();
        assert_eq!(current_affinity().unwrap().cpus().collect::<Vec<_>>(), [last]);
        assert_eq!(crate::thread::available_parallelism(), 1);
        before.restore().unwrap();
        assert_eq!(current_affinity().unwrap(), before);
    }

    #[test]
    fn a_cpu_that_is_not_there_is_refused_by_number_and_the_others_are_told() {
        let allowed: Vec<_> = current_affinity().unwrap().cpus().map(|cpu| cpu.to_string()).collect();
        for cpu in [1 << 20, usize::MAX] {
            let error = pin_current(cpu).unwrap_err().to_string();
            assert!(error.contains(&format!("cpu {cpu}")), "{error}");
            assert!(error.ends_with(&format!(" only {}", allowed.join(", "))), "{error}");
        }
    }
}
