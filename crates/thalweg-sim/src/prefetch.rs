//! What the hardware fetches before it is asked.

use crate::machine::Prefetch;
use crate::protocol::PAGE;
use crate::window::EACH;
use std::collections::VecDeque;

/// How many streams a core follows.
const STREAMS: usize = 4;
/// The longest stride, in lines.
const REACH: i64 = 8;
/// How many more lines are asked for when one is used: so the distance grows to what the window has room for.
pub(crate) const EACH_TIME: usize = 2;
/// How many lines of a stream may be under way.
const MOST: u64 = 32;
/// No line.
const NOTHING: u32 = u32::MAX;

/// Misses that seem to belong together.
#[derive(Clone, Debug)]
struct Stream {
    /// What was used last.
    last: u32,
    /// What was asked for last: `last`, or lines ahead of it.
    front: u32,
    /// In lines; 0: not known.
    stride: i64,
    /// The user's instructions up to the last use, and how many there were since the use before that.
    instructions: u64,
    between: u64,
    /// What was fetched and not used yet, and when it is there.
    fetched: VecDeque<(u32, u64)>,
}

/// The streams of a thread. A second miss one line further, or a third at the same distance, makes the lines after
/// that come; using one makes the next ones come.
///
/// One line ahead is the prefetcher's, never across a page; more are those that the core itself asks for early, since their addresses do not
/// depend on what is waited for: as many as lie within its window, by the instructions that each line took so far.
#[derive(Clone, Debug)]
pub(crate) struct Streams {
    /// For each stream, the first line of a range that has all that was fetched and not used yet, and its length.
    ranges: [(u32, u32); STREAMS + 1],
    streams: Box<[Stream; STREAMS]>,
    /// What the program has asked for, and when it is there; its range is the last.
    asked: VecDeque<(u32, u64)>,
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
        let streams = std::array::from_fn(|_| Stream::new(NOTHING, 0));
        Self { ranges: [(0, 0); STREAMS + 1], streams: Box::new(streams), asked: VecDeque::new(), oldest: 0 }
    }

    /// True if `line` may have been fetched and not used yet.
    #[inline(always)]
    pub(crate) fn has(&self, line: u32) -> bool {
        self.ranges.iter().any(|&(first, length)| line.wrapping_sub(first) < length)
    }

    /// True if `line` was fetched, and is not there yet at `time`.
    #[inline]
    pub(crate) fn is_coming(&self, line: u32, time: u64) -> bool {
        let mut fetched = self.streams.iter().map(|stream| &stream.fetched).chain([&self.asked]);
        self.has(line) && fetched.any(|lines| lines.iter().any(|&(other, ready)| other == line && ready > time))
    }

    /// `line` is used for the first time since it was fetched, by a thread after so many instructions: when it is there, and which
    /// stream goes on.
    #[inline]
    pub(crate) fn used(&mut self, line: u32, instructions: u64) -> Option<(u64, Option<usize>)> {
        if self.has(line) { self.arrived(line, instructions) } else { None }
    }

    fn arrived(&mut self, line: u32, instructions: u64) -> Option<(u64, Option<usize>)> {
        for (number, stream) in self.streams.iter_mut().enumerate() {
            let Some(at) = stream.fetched.iter().position(|&(fetched, _)| fetched == line) else { continue };
            let ready = stream.fetched[at].1;
            // What was passed over is no matter of the stream any more.
            stream.fetched.drain(..=at);
            stream.move_to(line, instructions);
            self.ranges[number] = stream.range();
            return Some((ready, Some(number)));
        }
        let at = self.asked.iter().position(|&(asked, _)| asked == line)?;
        let (_, ready) = self.asked.remove(at)?;
        self.ranges[STREAMS] = range(&self.asked);
        Some((ready, None))
    }

    /// The program has asked for `line` at `time`; it is there at `ready`. What is there already needs no note.
    pub(crate) fn asked(&mut self, line: u32, ready: u64, time: u64) {
        self.asked.retain(|&(asked, ready)| asked != line && ready > time);
        self.asked.push_back((line, ready));
        self.ranges[STREAMS] = range(&self.asked);
    }

    /// `line` was missed: which stream goes on.
    pub(crate) fn missed(&mut self, line: u32, kind: Prefetch, instructions: u64) -> Option<usize> {
        if kind == Prefetch::None {
            return None;
        }
        let reach = if kind == Prefetch::NextLine { 1 } else { REACH };
        for (number, stream) in self.streams.iter_mut().enumerate() {
            let step = i64::from(line) - i64::from(stream.last);
            if stream.last == NOTHING || step == 0 || step.abs() > reach || (kind == Prefetch::NextLine && step != 1) {
                continue;
            }
            let goes_on = step == 1 || step == stream.stride;
            if step != stream.stride || (i64::from(stream.front) - i64::from(line)) * step < 0 {
                stream.front = line;
                stream.fetched.clear();
            }
            stream.stride = step;
            stream.move_to(line, instructions);
            self.ranges[number] = stream.range();
            return goes_on.then_some(number);
        }
        self.streams[self.oldest] = Stream::new(line, instructions);
        self.ranges[self.oldest] = (0, 0);
        self.oldest = (self.oldest + 1) % STREAMS;
        None
    }

    /// The next line of a stream, unless that is beyond a window of so many instructions, or in a page that is not `known`.
    pub(crate) fn next(&mut self, number: usize, window: u32, known: impl Fn(u32) -> bool) -> Option<Wish> {
        let stream = &mut self.streams[number];
        // With no instruction between, two lines of one access.
        let between = if stream.between > 0 { stream.between } else { EACH.into() };
        let ahead = (u64::from(window) / between).clamp(1, MOST) as i64;
        let next = i64::from(stream.front) + stream.stride;
        // The prefetcher knows pages only; the core knows addresses.
        let reaches = |line: &u32| line / PAGE == stream.last / PAGE || (ahead > 1 && known(*line));
        let line = u32::try_from(next).ok().filter(reaches)?;
        if (next - i64::from(stream.last)).abs() > stream.stride.abs() * ahead {
            return None;
        }
        stream.front = line;
        Some(Wish { stream: number, line })
    }

    /// What was wished for will be there at `ready`.
    pub(crate) fn fetched(&mut self, wish: Wish, ready: u64) {
        let stream = &mut self.streams[wish.stream];
        stream.fetched.push_back((wish.line, ready));
        self.ranges[wish.stream] = stream.range();
    }
}

impl Stream {
    fn new(line: u32, instructions: u64) -> Self {
        Self { last: line, front: line, stride: 0, instructions, between: u64::MAX, fetched: VecDeque::new() }
    }

    fn move_to(&mut self, line: u32, instructions: u64) {
        self.between = instructions - self.instructions;
        (self.last, self.instructions) = (line, instructions);
    }

    fn range(&self) -> (u32, u32) {
        range(&self.fetched)
    }
}

/// The first line and the length of a range that has all of `lines`.
fn range(lines: &VecDeque<(u32, u64)>) -> (u32, u32) {
    let first = lines.iter().map(|&(line, _)| line).min();
    let last = lines.iter().map(|&(line, _)| line).max();
    first.zip(last).map_or((0, 0), |(first, last)| (first, last - first + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines that come because `line` was missed, each 8 instructions after the one before, with a window of `ahead` lines.
    fn missed(streams: &mut Streams, line: u32, kind: Prefetch, ahead: u32) -> Vec<u32> {
        let Some(stream) = streams.missed(line, kind, u64::from(line) * 8) else { return Vec::new() };
        fetch(streams, stream, ahead)
    }

    fn fetch(streams: &mut Streams, stream: usize, ahead: u32) -> Vec<u32> {
        let mut lines = Vec::new();
        for _ in 0..EACH_TIME {
            if let Some(wish) = streams.next(stream, 8 * ahead, |_| true) {
                streams.fetched(wish, 500 + u64::from(wish.line));
                lines.push(wish.line);
            }
        }
        lines
    }

    #[test]
    fn two_lines_in_a_row_fetch_the_third_and_its_use_the_fourth() {
        let mut streams = Streams::new();
        assert!(missed(&mut streams, 10, Prefetch::Stride, 1).is_empty());
        assert_eq!(missed(&mut streams, 11, Prefetch::Stride, 1), [12]);
        assert!(streams.has(12) && !streams.has(11) && !streams.has(13));
        assert!(streams.is_coming(12, 511) && !streams.is_coming(12, 512) && !streams.is_coming(13, 0));
        let (ready, stream) = streams.used(12, 8 * 12).unwrap();
        assert_eq!((ready, fetch(&mut streams, stream.unwrap(), 1)), (512, vec![13]));
        assert_eq!(streams.used(12, 8 * 12), None);
    }

    #[test]
    fn the_distance_grows_by_a_line_each_time_to_what_the_machine_has() {
        let mut streams = Streams::new();
        missed(&mut streams, 10, Prefetch::Stride, 3);
        assert_eq!(missed(&mut streams, 11, Prefetch::Stride, 3), [12, 13]);
        let (_, stream) = streams.used(12, 8 * 12).unwrap();
        assert_eq!(fetch(&mut streams, stream.unwrap(), 3), [14, 15]);
        let (_, stream) = streams.used(13, 8 * 13).unwrap();
        assert_eq!(fetch(&mut streams, stream.unwrap(), 3), [16], "three ahead of 13");
        assert_eq!((streams.used(15, 8 * 15).unwrap().0, streams.used(14, 8 * 14)), (515, None), "14 was passed over");
        assert!(streams.has(16) && !streams.has(15));
    }

    #[test]
    fn a_stride_has_to_be_seen_twice_and_stays_in_its_page() {
        let mut streams = Streams::new();
        let mut miss = |line| missed(&mut streams, line, Prefetch::Stride, 1);
        assert_eq!((miss(1), miss(4), miss(7)), (vec![], vec![], vec![10]));
        assert!(miss(40).is_empty(), "another stream");
        assert_eq!(miss(10), [13], "which does not disturb this one");
        assert_eq!((miss(PAGE - 2), miss(PAGE - 1)), (vec![], vec![]), "the next line is in another page");
    }

    #[test]
    fn it_goes_backwards_too() {
        let mut streams = Streams::new();
        for (line, instructions) in [(30, 0), (29, 8)] {
            assert_eq!(streams.missed(line, Prefetch::Stride, instructions), None);
        }
        let stream = streams.missed(28, Prefetch::Stride, 16).unwrap();
        assert_eq!(fetch(&mut streams, stream, 2), [27, 26]);
        assert!(streams.has(26) && streams.has(27) && !streams.has(28));
        assert_eq!(streams.used(27, 24).unwrap().0, 527);
    }

    #[test]
    fn it_can_be_switched_off_or_kept_simple() {
        let mut streams = Streams::new();
        assert!((0..9).all(|line| streams.missed(line, Prefetch::None, 0).is_none()));
        assert!((0..9).all(|i| streams.missed(100 + 2 * i, Prefetch::NextLine, 0).is_none()));
        assert_eq!(missed(&mut streams, 117, Prefetch::NextLine, 1), [118]);
    }
}
