//! A consumer's requests: which of its lines it has asked for, and which it may ask for next.

use std::collections::VecDeque;

/// The requests of an endpoint with a ring of lines, several of them under way.
///
/// A device serves requests of a queue in the order in which they were made, and puts a line that a cache does not take back to the head of its
/// queue. So lines come in the order of the requests, but for requests that are lost: when the line leaves the cache, when the thread
/// leaves the core, and when the device has no room. A device may also still hold a request that the thread has given up. It would
/// be served out of turn if its line was asked for again. So a line may be:
///
/// | | |
/// |---|---|
/// | asked for | in the order of the requests; the first that has come is the next to be read |
/// | stale | given up, and perhaps the device has a request for it; it is not asked for until a later request was served |
/// | clean | no request for it is anywhere |
///
/// There is one line more than requests under way, and the last clean one is asked for alone: it is the one that may be asked for
/// again, as nothing else can come meanwhile. When it has come, all others are clean.
///
/// # Invariants
///
/// - **A1** Requests that the device holds are of lines that are asked for, in this order, or of stale ones. A stale line cannot come.
/// - **A2** A line is clean, or at most one is asked for. So there is always one to ask for.
///
/// It knows no device. Code that holds a device of the simulator drives it so:
///
/// ```
/// use thalweg_link::Requests;
///
/// let mut requests = Requests::new(2);
/// assert_eq!(requests.lines(), 3);
/// while let Some(line) = requests.next() {
///     requests.made(line); // the device took a request for it
/// }
/// // The request for line 0 was lost. Line 1 has come.
/// assert_eq!(requests.come(|line| line == 1), Some(1));
/// requests.taken();
/// assert_eq!(requests.next(), Some(2), "line 0 is clean, but it waits for its turn");
/// ```
#[derive(Clone, Debug)]
pub struct Requests {
    asked: VecDeque<Asked>,
    clean: VecDeque<usize>,
    /// With the number of the last request for it.
    stale: Vec<(usize, u64)>,
    most: usize,
    lines: usize,
    number: u64,
}

/// A line that was asked for: the numbers of the first request since it was clean, and of the last.
#[derive(Clone, Copy, Debug)]
struct Asked {
    line: usize,
    first: u64,
    last: u64,
}

impl Requests {
    /// So many requests under way, at least one.
    pub fn new(most: usize) -> Self {
        let most = most.max(1);
        // One that is alone needs no other: nothing can come before it.
        let lines = if most == 1 { 1 } else { most + 1 };
        Self { asked: VecDeque::new(), clean: (0..lines).collect(), stale: Vec::new(), most, lines, number: 0 }
    }

    /// How many lines there are.
    pub fn lines(&self) -> usize {
        self.lines
    }

    /// Lines that were asked for, the oldest request first.
    pub fn asked(&self) -> impl Iterator<Item = usize> + '_ {
        self.asked.iter().map(|asked| asked.line)
    }

    /// The line to ask for next. `None`: enough was asked for.
    pub fn next(&self) -> Option<usize> {
        let spare = self.clean.len() > 1 || self.asked.is_empty();
        self.clean.front().copied().filter(|_| spare && self.asked.len() < self.most)
    }

    /// The device took a request for this line: the [next](Self::next), or the one to ask for [again](Self::again).
    pub fn made(&mut self, line: usize) {
        self.number += 1;
        match self.asked.iter_mut().find(|asked| asked.line == line) {
            Some(asked) => asked.last = self.number,
            None => {
                self.clean.retain(|&clean| clean != line);
                self.asked.push_back(Asked { line, first: self.number, last: self.number });
            }
        }
    }

    /// The next line to be read, of those that `has_come` says something has come to. Requests before it are lost.
    pub fn come(&mut self, has_come: impl Fn(usize) -> bool) -> Option<usize> {
        let newest = self.asked.iter().rposition(|asked| has_come(asked.line))?;
        // What was asked for before has come before, or is lost. So it is looked at after.
        let first = self.asked.range(..newest).position(|asked| has_come(asked.line)).unwrap_or(newest);
        self.stale.extend(self.asked.drain(..first).map(|lost| (lost.line, lost.last)));
        self.asked.front().map(|asked| asked.line)
    }

    /// The line that has [come](Self::come) was read, and is empty.
    pub fn taken(&mut self) {
        let Some(Asked { line, first, last }) = self.asked.pop_front() else { return };
        // The device has served this request, so it has none from before.
        let clean = &mut self.clean;
        self.stale.retain(|&(line, last)| {
            let is_stale = last >= first;
            if !is_stale {
                clean.push_back(line);
            }
            is_stale
        });
        if first == last || self.lines == 1 { self.clean.push_back(line) } else { self.stale.push((line, last)) }
    }

    /// Nothing has come for long: requests may be lost. The line to ask for again, if it is one; more than one are given up, but for those to
    /// which something has come. `unmap` is told each of them first: from then on nothing comes there.
    pub fn again(&mut self, unmap: impl FnMut(usize), has_come: impl Fn(usize) -> bool) -> Option<usize> {
        if let [one] = self.asked.make_contiguous() {
            return Some(one.line);
        }
        self.asked().for_each(unmap);
        let (come, lost) = self.asked.iter().partition::<VecDeque<Asked>, _>(|asked| has_come(asked.line));
        self.stale.extend(lost.iter().map(|lost| (lost.line, lost.last)));
        self.asked = come;
        None
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn ask_all(requests: &mut Requests) -> Vec<usize> {
        std::iter::from_fn(|| requests.next().inspect(|&line| requests.made(line))).collect()
    }

    #[test]
    fn lines_are_asked_for_in_turn() {
        let mut requests = Requests::new(3);
        assert_eq!(ask_all(&mut requests), [0, 1, 2]);
        for turn in 0..20 {
            assert_eq!(requests.come(|line| line == turn % 4), Some(turn % 4));
            requests.taken();
            assert_eq!(ask_all(&mut requests), [(turn + 3) % 4]);
        }
    }

    #[test]
    fn one_that_is_lost_is_passed_over() {
        let mut requests = Requests::new(3);
        ask_all(&mut requests);
        assert_eq!(requests.come(|line| line > 0), Some(1));
        requests.taken();
        assert_eq!(requests.come(|line| line == 2), Some(2));
        requests.taken();
        assert_eq!(ask_all(&mut requests), [3, 0, 1]);
    }

    /// What was given up is asked for when a later request was served, and not before; the last line may be asked for again and again.
    #[test]
    fn what_was_given_up_rests() {
        let mut requests = Requests::new(2);
        ask_all(&mut requests);
        let mut unmapped = Vec::new();
        assert_eq!(requests.again(|line| unmapped.push(line), |line| line == 1), None);
        assert_eq!(unmapped, [0, 1]);
        assert_eq!((requests.come(|line| line == 1), requests.next()), (Some(1), None), "line 2 is the last clean one");
        requests.taken();
        // Line 0 was asked for before line 1, so it is clean.
        assert_eq!(ask_all(&mut requests), [2, 0]);
        assert_eq!(requests.again(|_| (), |_| false), None);
        assert_eq!(ask_all(&mut requests), [1]);
        for _ in 0..3 {
            assert_eq!(requests.again(|_| panic!("nothing else can come"), |_| false), Some(1));
            requests.made(1);
            assert_eq!(requests.next(), None);
        }
        assert_eq!(requests.come(|line| line == 1), Some(1));
        requests.taken();
        assert_eq!(ask_all(&mut requests), [2], "line 1 is stale: it was asked for four times");
        assert_eq!(requests.come(|line| line == 2), Some(2));
        requests.taken();
        assert_eq!(ask_all(&mut requests), [0, 1]);
    }

    #[test]
    fn one_request_needs_one_line() {
        let mut requests = Requests::new(0);
        for _ in 0..3 {
            assert_eq!((requests.lines(), ask_all(&mut requests)), (1, vec![0]));
            assert_eq!(requests.again(|_| panic!("it may come"), |_| false), Some(0));
            requests.made(0);
            assert_eq!(requests.come(|_| true), Some(0));
            requests.taken();
        }
    }
}
