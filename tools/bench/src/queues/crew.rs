//! Who is still at work: a lost item or a panic ends a run with an error that names the contender, and does not hang it.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{Acquire, Release};

use thalweg_sync::CachePadded;

/// After how many attempts in vain a thread asks, again and again, whether to go on. So seldom that no figure shows it.
const OFTEN: u32 = 1024;

/// Attempts in vain.
#[derive(Debug, Default)]
pub(crate) struct Tries {
    in_vain: u32,
    last: bool,
}

impl Tries {
    /// After an attempt in vain: true if there is to be another one. After it was `hopeless` there is one more: what was pushed before
    /// that answer has to be there.
    #[inline(always)]
    pub(crate) fn again(&mut self, hopeless: impl FnOnce() -> bool) -> bool {
        if self.last {
            return false;
        }
        self.in_vain = self.in_vain.wrapping_add(1);
        self.last = self.in_vain.is_multiple_of(OFTEN) && hopeless();
        true
    }
}

/// Tries until there is a result, with a pause after each attempt in vain. None if it was `hopeless`, and one more attempt gave none
/// either.
#[inline(always)]
pub(crate) fn until<R>(
    mut attempt: impl FnMut() -> Option<R>,
    mut pause: impl FnMut(),
    mut hopeless: impl FnMut() -> bool,
) -> Option<R> {
    let mut tries = Tries::default();
    loop {
        match attempt() {
            None if tries.again(&mut hopeless) => pause(),
            result => return result,
        }
    }
}

/// The threads of one side that are at work. Alone on its lines, as the other side looks at it while it waits.
#[derive(Debug)]
pub(crate) struct Crew(CachePadded<AtomicUsize>);

impl Crew {
    /// So many threads.
    pub(crate) fn of(threads: usize) -> Self {
        Self(CachePadded(AtomicUsize::new(threads)))
    }

    /// One of them, which leaves when the result is dropped: by a panic too.
    pub(crate) fn member(&self) -> Member<'_> {
        Member(self)
    }

    /// True if all have left: then what they pushed is visible.
    pub(crate) fn gone(&self) -> bool {
        self.0.load(Acquire) == 0
    }

    /// Tries until there is a result. None if all of this side have left, and one more attempt gave none either.
    #[inline(always)]
    pub(crate) fn until<R>(&self, attempt: impl FnMut() -> Option<R>, pause: impl FnMut()) -> Option<R> {
        until(attempt, pause, || self.gone())
    }
}

/// A thread at work.
#[derive(Debug)]
#[must_use = "it leaves at once if it is not kept"]
pub(crate) struct Member<'a>(&'a Crew);

impl Drop for Member<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_for_nobody_gives_up_after_one_more_attempt() {
        let crew = Crew::of(2);
        let (first, second) = (crew.member(), crew.member());
        drop(first);
        assert!(!crew.gone());
        let (mut second, mut attempts) = (Some(second), 0);
        let nothing: Option<()> = crew.until(
            || {
                attempts += 1;
                None
            },
            || drop(second.take()),
        );
        assert_eq!((nothing, attempts), (None, OFTEN + 1));
        assert_eq!(crew.until(|| Some(7), || ()), Some(7));
    }

    #[test]
    fn a_panic_is_leaving() {
        let crew = Crew::of(1);
        let panicked = std::panic::catch_unwind(|| {
            let _member = crew.member();
            assert!(crew.gone(), "it is at work");
        });
        assert!(panicked.is_err() && crew.gone());
    }
}
