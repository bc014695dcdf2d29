//! Addresses as the machine knows them.
//!
//! Where the host puts an object must decide nothing, so host addresses only name lines; the machine's own line numbers
//! are given out in the order of the run.
//!
//! - An allocation of the run gets its lines when it is made, as an allocator of that machine would place it: small ones
//!   side by side in pages of the core that asks, each on lines of its own; freed ones are reused by the core that freed
//!   them, the last first. A core that would need a new page takes over what another has freed.
//! - Anything else (statics, stacks, what was made before the run) gets a line for each 64 bytes of host memory, in the
//!   order of the first access, in pages of its own: the compiler decides how many lines of a stack are accessed, and no
//!   allocation may lie elsewhere for that.
//!
//! For the second kind, and if the program does not use [`Heap`](crate::Heap), which objects share a line is the host's
//! choice. A new stack has lines of its own, also where the host gives it the memory of one that is gone.

use crate::heap::Held;
use crate::protocol::{MAX_LINES, PAGE, STRAYS};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

/// The size of a line, in bytes: of the host's, and of every machine's.
pub(crate) const LINE: usize = 64;
/// How many lines are found without a search.
const QUICK: usize = 1 << 14;
/// What no host line is numbered.
pub(crate) const NOWHERE: usize = usize::MAX;

/// An allocation of the run.
#[derive(Clone, Copy, Debug)]
struct Block {
    bytes: usize,
    first: u32,
    /// Its lines, rounded up: blocks of the same size replace each other.
    lines: u32,
}

/// The rest of the page that a core is filling.
#[derive(Clone, Copy, Debug, Default)]
struct Rest {
    next: u32,
    end: u32,
}

/// Where a core puts what it allocates.
#[derive(Clone, Debug, Default)]
struct Arena {
    rest: Rest,
    /// Freed blocks, by their number of lines.
    free: HashMap<u32, Vec<u32>>,
}

/// Lines that are given out by the page, in the order in which they are asked for.
#[derive(Debug)]
struct Pages {
    first: u32,
    next: u32,
    end: u32,
    /// All were given out, and some again.
    exhausted: bool,
}

/// The lines that host addresses name.
#[derive(Debug)]
pub(crate) struct Names {
    /// Host lines found lately, and their numbers; by the host line's low bits.
    quick: Box<[(usize, u32)]>,
    /// By host address.
    blocks: BTreeMap<usize, Block>,
    held: Held,
    arenas: Vec<Arena>,
    pages: Pages,
    /// What is no block, by host line. Never iterated, but to forget some.
    stray: HashMap<usize, u32>,
    /// By core.
    stray_rests: Vec<Rest>,
    stray_pages: Pages,
}

impl Names {
    pub(crate) fn new(cores: usize) -> Self {
        Self {
            quick: vec![(NOWHERE, 0); QUICK].into_boxed_slice(),
            blocks: BTreeMap::new(),
            held: Held::default(),
            arenas: vec![Arena::default(); cores],
            pages: Pages::new(0..STRAYS),
            stray: HashMap::new(),
            stray_rests: vec![Rest::default(); cores],
            stray_pages: Pages::new(STRAYS..MAX_LINES),
        }
    }

    /// True if there were not enough lines. Then some are two things at once, and the run is worth nothing.
    pub(crate) fn are_exhausted(&self) -> bool {
        self.pages.exhausted || self.stray_pages.exhausted
    }

    /// The line at a host address, if it was found lately.
    #[inline(always)]
    fn lately(&self, address: usize) -> Option<u32> {
        let host = address / LINE;
        let (known, line) = self.quick[host % QUICK];
        (known == host).then_some(line)
    }

    /// The line at a host address, which `core` accesses.
    #[inline(always)]
    pub(crate) fn line(&mut self, address: usize, core: usize) -> u32 {
        self.lately(address).unwrap_or_else(|| self.find(address, core))
    }

    #[cold]
    fn find(&mut self, address: usize, core: usize) -> u32 {
        let host = address / LINE;
        let block = self.blocks.range(..=address).next_back();
        let line = match block.filter(|(base, block)| address - *base < block.bytes) {
            // The remainder: a block that is larger than all there is has fewer lines than it should have.
            Some((base, block)) => block.first + (host - base / LINE) as u32 % STRAYS,
            None => match self.stray.get(&host) {
                Some(&line) => line,
                None => {
                    let line = self.stray_pages.place(&mut self.stray_rests[core], 1);
                    self.stray.insert(host, line);
                    line
                }
            },
        };
        self.quick[host % QUICK] = (host, line);
        line
    }

    /// `core` allocated `bytes` bytes at `base`, where a host line begins.
    pub(crate) fn allocated(&mut self, base: usize, bytes: usize, core: usize) {
        // What overlaps was freed where nobody saw it.
        while let Some((&other, block)) = self.blocks.range(..base + bytes.max(1)).next_back()
            && other + block.bytes.max(1) > base
        {
            self.freed(other, core);
        }
        let lines = round(bytes.div_ceil(LINE).max(1));
        let reused = self.arenas[core].free.get_mut(&lines).and_then(Vec::pop);
        let first = reused
            .or_else(|| self.take_over(core, lines))
            .unwrap_or_else(|| self.pages.place(&mut self.arenas[core].rest, lines));
        self.forget(base, bytes);
        self.blocks.insert(base, Block { bytes, first, lines });
        self.held.now += bytes;
        self.held.most = self.held.most.max(self.held.now);
    }

    /// What the blocks have, as they were asked for; the most of it is counted from here on, if `anew`.
    pub(crate) fn held(&mut self, anew: bool) -> Held {
        let held = self.held;
        if anew {
            self.held.most = held.now;
        }
        held
    }

    /// `core` freed what is at `base`.
    pub(crate) fn freed(&mut self, base: usize, core: usize) {
        if let Some(Block { bytes, first, lines }) = self.blocks.remove(&base) {
            self.forget(base, bytes);
            self.held.now -= bytes;
            self.arenas[core].free.entry(lines).or_default().push(first);
        }
    }

    /// A block that another core has freed, if `core`, which has freed none of that size, needs a new page else. It gets all that the next core
    /// has: one that allocates what another frees asks once for many.
    fn take_over(&mut self, core: usize, lines: u32) -> Option<u32> {
        if self.arenas[core].rest.lines() >= lines {
            return None;
        }
        let cores = self.arenas.len();
        let mut others = (1..cores).map(|distance| (core + distance) % cores);
        let freed = |other: &usize| self.arenas[*other].free.get(&lines).is_some_and(|blocks| !blocks.is_empty());
        let other = others.find(freed)?;
        let mut blocks = self.arenas[other].free.remove(&lines)?;
        let last = blocks.pop();
        self.arenas[core].free.insert(lines, blocks);
        last
    }

    /// A stack comes into this part of the host's memory. Whether another one was there before is the host's choice, so
    /// it gets none of its lines.
    pub(crate) fn vacated(&mut self, memory: Range<usize>) {
        let (lines, before) = (memory.start / LINE..memory.end.div_ceil(LINE), self.stray.len());
        if lines.len() < before {
            lines.for_each(|host| _ = self.stray.remove(&host));
        } else {
            self.stray.retain(|host, _| !lines.contains(host));
        }
        if self.stray.len() < before {
            self.forget(memory.start, memory.len());
        }
    }

    /// The host lines of a block mean something else now.
    fn forget(&mut self, base: usize, bytes: usize) {
        let lines = base / LINE..(base + bytes).div_ceil(LINE);
        if lines.len() >= QUICK {
            self.quick.fill((NOWHERE, 0));
        } else {
            for host in lines {
                let entry = &mut self.quick[host % QUICK];
                if entry.0 == host {
                    *entry = (NOWHERE, 0);
                }
            }
        }
    }
}

impl Rest {
    fn lines(self) -> u32 {
        self.end - self.next
    }
}

impl Pages {
    fn new(lines: Range<u32>) -> Self {
        Self { first: lines.start, next: lines.start, end: lines.end, exhausted: false }
    }

    /// Lines that were never used, side by side: of the page that is being filled, unless they are too many.
    fn place(&mut self, rest: &mut Rest, lines: u32) -> u32 {
        if lines > PAGE {
            return self.take(lines.next_multiple_of(PAGE));
        }
        if rest.lines() < lines {
            let next = self.take(PAGE);
            *rest = Rest { next, end: next + PAGE };
        }
        rest.next += lines;
        rest.next - lines
    }

    fn take(&mut self, lines: u32) -> u32 {
        if lines > self.end - self.next {
            // An allocator must not panic. Who runs the threads looks, and gives up.
            self.exhausted = true;
            return self.first;
        }
        self.next += lines;
        self.next - lines
    }
}

/// A number of lines as blocks have it: exact when small, then a power of two, then whole pages.
fn round(lines: usize) -> u32 {
    let lines = u32::try_from(lines).unwrap_or(STRAYS).min(STRAYS);
    match lines {
        0..=8 => lines,
        9..=PAGE => lines.next_power_of_two(),
        _ => lines.next_multiple_of(PAGE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: usize = 1 << 20;

    #[test]
    fn lines_are_numbered_in_the_order_of_the_run() {
        // The same requests at other host addresses.
        let lines = |bases: [usize; 3], stack: usize| {
            let mut names = Names::new(2);
            let mut seen = Vec::new();
            names.allocated(bases[0], 200, 0);
            names.allocated(bases[1], 8, 1);
            names.allocated(bases[2], 5000, 0);
            for address in [bases[0] + 70, bases[2] + 4999, stack, bases[1], bases[0], stack + 64, stack + 8] {
                seen.push(names.line(address, 0));
            }
            names.freed(bases[0], 0);
            names.allocated(bases[1] + 640, 250, 0);
            seen.push(names.line(bases[1] + 640, 1));
            seen
        };
        let seen = lines([BASE, BASE + 4096, BASE + 65536], 64);
        assert_eq!(seen, lines([BASE + 99 * 64, BASE, BASE + 8192], BASE << 10));
        assert_eq!(seen[0], seen[4] + 1, "one allocation, one line after the other");
        assert_eq!(seen[2], seen[6], "one line of the stack");
        assert_eq!(seen[7], seen[4], "a block of the same size is used again");
        assert_ne!(seen[3] / PAGE, seen[4] / PAGE, "cores fill pages of their own");
    }

    /// One core allocates, another frees.
    #[test]
    fn what_others_freed_is_used_before_a_new_page() {
        let mut names = Names::new(3);
        let pass = |names: &mut Names, size: usize| {
            names.allocated(BASE, size, 2);
            let line = names.line(BASE, 2);
            names.freed(BASE, 0);
            line
        };
        // A page of its own first, then the last that the other freed, again and again.
        let lines: Vec<_> = (0..PAGE + 3).map(|_| pass(&mut names, 64)).collect();
        assert!(lines[..PAGE as usize].is_sorted_by(|one, next| one + 1 == *next), "{lines:?}");
        assert_eq!(lines[PAGE as usize], lines[PAGE as usize - 1]);
        assert!(lines[PAGE as usize..].iter().all(|line| lines[..PAGE as usize].contains(line)), "{lines:?}");
        // A size that nobody has freed takes a new page; and so do pages, unless there are some.
        let other = pass(&mut names, 128);
        assert!(!lines.contains(&other));
        let many = [0; 2].map(|_| pass(&mut names, 2 * PAGE as usize * LINE));
        assert_eq!(many[0], many[1]);
    }

    #[test]
    fn freed_memory_is_not_mistaken_for_what_comes_there() {
        let mut names = Names::new(1);
        names.allocated(BASE, 64, 0);
        let old = names.line(BASE, 0);
        names.freed(BASE, 0);
        names.allocated(BASE, 128, 0);
        assert_ne!(names.line(BASE, 0), old, "another size, so another place");
        // Freed unseen: the host gives the memory out again.
        names.allocated(BASE - 64, 1 << 21, 0);
        assert_eq!(names.line(BASE, 0), names.line(BASE - 64, 0) + 1);
        assert_eq!(names.blocks.len(), 1);
    }

    /// How many lines of a stack are accessed is the compiler's affair.
    #[test]
    fn what_is_no_allocation_moves_none() {
        let blocks = |strays: usize| {
            let mut names = Names::new(2);
            let mut lines = Vec::new();
            for block in 0..3 {
                (0..strays).for_each(|stray| _ = names.line((block * strays + stray) * LINE, 0));
                names.allocated(BASE << block, 100, 0);
                lines.push(names.line(BASE << block, 0));
            }
            lines
        };
        assert_eq!(blocks(0), blocks(1));
        assert_eq!(blocks(0), blocks(PAGE as usize + 1));
    }

    /// Whether the host puts a stack where another one was is its own affair.
    #[test]
    fn a_new_stack_has_lines_of_its_own() {
        let mut names = Names::new(1);
        let addresses = [BASE, BASE + 4096, BASE + 8192];
        let old = addresses.map(|address| names.line(address, 0));
        names.vacated(BASE..BASE + 8192);
        let new = addresses.map(|address| names.line(address, 0));
        assert!(new[0] > old[2] && new[1] > old[2], "{old:?}, {new:?}");
        assert_eq!(new[2], old[2], "it lies behind");
        // A range of fewer lines than there are.
        names.vacated(BASE + 8192..BASE + 8192 + 64);
        assert!(names.line(BASE + 8192, 0) > new[1]);
        assert_eq!([0, 1].map(|i| names.line(addresses[i], 0)), new[..2]);
    }

    #[test]
    fn lines_come_to_an_end_without_a_panic() {
        let all = STRAYS as usize * LINE;
        let mut names = Names::new(1);
        names.allocated(BASE, all, 0);
        assert!(!names.are_exhausted());
        names.allocated(BASE + all, 2 * all, 0);
        assert!(names.are_exhausted());
        assert!([0, all, 2 * all - 1].iter().all(|at| names.line(BASE + all + at, 0) < STRAYS));
    }
}
