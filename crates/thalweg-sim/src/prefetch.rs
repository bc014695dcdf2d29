//! What the hardware fetches before it is asked.

use crate::machine::Prefetch;
use crate::protocol::PAGE;

/// How many streams a core follows.
const STREAMS: usize = 4;
/// The longest stride, in lines.
const REACH: i64 = 8;
/// No line.
pub(crate) const NOTHING: u32 = u32::MAX;

/// Misses that seem to belong together.
#[derive(Clone, Copy, Debug)]
struct Stream {
    last: u32,
    /// In lines; 0: not known.
    stride: i64,
    /// When what was fetched is there.
    ready: u64,
}

/// The streams of a thread. A second miss one line further, or a third at the same distance, makes the line after
/// that come; using it makes the next one come. Never across a page.
#[derive(Clone, Debug)]
pub(crate) struct Streams {
    /// The line that was fetched for each stream and not used yet.
    fetched: [u32; STREAMS],
    streams: [Stream; STREAMS],
    oldest: usize,
}

/// A line to fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wish {
    stream: usize,
    pub(crate) line: u32,
}

impl Streams {
    pub(crate) fn new() -> Self {
        Self {
            fetched: [NOTHING; STREAMS],
            streams: [Stream { last: NOTHING, stride: 0, ready: 0 }; STREAMS],
            oldest: 0,
        }
    }

    /// True if `line` was fetched and not used yet.
    #[inline(always)]
    pub(crate) fn has(&self, line: u32) -> bool {
        self.fetched.contains(&line)
    }

    /// `line` is used for the first time since it was fetched: when it is there, and what to fetch now.
    pub(crate) fn used(&mut self, line: u32) -> Option<(u64, Option<Wish>)> {
        let stream = self.fetched.iter().position(|&fetched| fetched == line)?;
        self.fetched[stream] = NOTHING;
        self.streams[stream].last = line;
        Some((self.streams[stream].ready, self.ahead(stream)))
    }

    /// `line` was missed: what to fetch now.
    pub(crate) fn missed(&mut self, line: u32, kind: Prefetch) -> Option<Wish> {
        if kind == Prefetch::None {
            return None;
        }
        let reach = if kind == Prefetch::NextLine { 1 } else { REACH };
        for stream in 0..STREAMS {
            let Stream { last, stride, .. } = self.streams[stream];
            let step = i64::from(line) - i64::from(last);
            if last == NOTHING || step == 0 || step.abs() > reach || (kind == Prefetch::NextLine && step != 1) {
                continue;
            }
            self.streams[stream].last = line;
            self.streams[stream].stride = step;
            return if step == 1 || step == stride { self.ahead(stream) } else { None };
        }
        self.streams[self.oldest] = Stream { last: line, stride: 0, ready: 0 };
        self.fetched[self.oldest] = NOTHING;
        self.oldest = (self.oldest + 1) % STREAMS;
        None
    }

    /// What was wished for will be there at `ready`.
    pub(crate) fn fetched(&mut self, wish: Wish, ready: u64) {
        self.fetched[wish.stream] = wish.line;
        self.streams[wish.stream].ready = ready;
    }

    fn ahead(&self, stream: usize) -> Option<Wish> {
        let Stream { last, stride, .. } = self.streams[stream];
        let line = u32::try_from(i64::from(last) + stride).ok()?;
        (line / PAGE == last / PAGE).then_some(Wish { stream, line })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_lines_in_a_row_fetch_the_third_and_its_use_the_fourth() {
        let mut streams = Streams::new();
        assert_eq!(streams.missed(10, Prefetch::Stride), None);
        let wish = streams.missed(11, Prefetch::Stride).unwrap();
        assert_eq!(wish.line, 12);
        streams.fetched(wish, 500);
        assert!(streams.has(12) && !streams.has(11));
        let (ready, wish) = streams.used(12).unwrap();
        assert_eq!((ready, wish.unwrap().line), (500, 13));
        assert_eq!(streams.used(12), None);
    }

    #[test]
    fn a_stride_has_to_be_seen_twice_and_stays_in_its_page() {
        let mut streams = Streams::new();
        let mut miss = |line| streams.missed(line, Prefetch::Stride).map(|wish| wish.line);
        assert_eq!((miss(1), miss(4), miss(7)), (None, None, Some(10)));
        assert_eq!(miss(40), None, "another stream");
        assert_eq!(miss(10), Some(13), "which does not disturb this one");
        assert_eq!((miss(PAGE - 2), miss(PAGE - 1)), (None, None), "the next line is in another page");
    }

    #[test]
    fn it_can_be_switched_off_or_kept_simple() {
        let mut streams = Streams::new();
        assert!((0..9).all(|line| streams.missed(line, Prefetch::None).is_none()));
        assert!((0..9).all(|i| streams.missed(100 + 2 * i, Prefetch::NextLine).is_none()));
        assert_eq!(streams.missed(117, Prefetch::NextLine).map(|wish| wish.line), Some(118));
    }
}
