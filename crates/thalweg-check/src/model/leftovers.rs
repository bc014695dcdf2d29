//! Slots and locks that outlive an execution, as those of a static do, or those that were made outside and moved in.
//!
//! What is in them is no event, so another execution that finds it is not told from one that does something else after the
//! same choices. An atomic is: its first value is compared.
//!
//! An object of the client's is dropped with its execution, which the engine is told. What was used and not dropped may be left over. It
//! may also have been moved, so that another one comes to its place: out of a block that was freed since, which only
//! [`Heap`](super::Heap) knows, or from a stack. So without that allocator static memory alone counts, where the system says which it is.

use super::slots::Slots;
use crate::heap::Blocks;
use corosensei::stack::{DefaultStack, Stack};
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::OnceLock;

#[derive(Debug, Default)]
pub(crate) struct Leftovers {
    /// The locks that this execution has taken.
    locks: BTreeSet<usize>,
    /// Where slots and locks are that earlier executions have left.
    left: BTreeSet<usize>,
}

impl Leftovers {
    /// The execution takes the lock at `address`. Whether it is left over.
    pub(crate) fn take_lock(&mut self, address: usize) -> bool {
        self.locks.insert(address);
        self.is_left(address)
    }

    /// Whether an earlier execution has left something at `address`.
    #[inline]
    pub(crate) fn is_left(&self, address: usize) -> bool {
        !self.left.is_empty() && self.left.contains(&address)
    }

    /// What is at `address` is dropped.
    pub(crate) fn forget(&mut self, address: usize) {
        self.locks.remove(&address);
        self.left.remove(&address);
    }

    /// The execution is over.
    pub(crate) fn end(&mut self, slots: &Slots, blocks: &Blocks, stacks: &[DefaultStack]) {
        let extent = |stack: &DefaultStack| stack.limit().get()..stack.base().get();
        let is_stack = |address: &usize| stacks.iter().any(|stack| extent(stack).contains(address));
        let stays = |&address: &usize| match blocks.has_allocated() {
            true => !blocks.is_freed(address),
            false => statics().iter().any(|range| range.contains(&address)),
        };
        let used = std::mem::take(&mut self.locks).into_iter().chain(slots.written());
        self.left.extend(used.filter(|address| !is_stack(address)).filter(stays));
    }
}

/// Where the program's statics are, in its own file and those of its libraries. Empty where there is no `/proc/self/maps`.
fn statics() -> &'static [Range<usize>] {
    static RANGES: OnceLock<Vec<Range<usize>>> = OnceLock::new();
    RANGES.get_or_init(|| in_files(&std::fs::read_to_string("/proc/self/maps").unwrap_or_default()))
}

/// The ranges that are mapped from files, and what is mapped from none right behind one: the part that begins as zeros.
fn in_files(maps: &str) -> Vec<Range<usize>> {
    let mut ranges = Vec::<Range<usize>>::new();
    for line in maps.lines() {
        let mut words = line.split_ascii_whitespace();
        let Some((start, end)) = words.next().and_then(|range| range.split_once('-')) else { continue };
        let [start, end] = [start, end].map(|address| usize::from_str_radix(address, 16).unwrap_or(0));
        let path = words.nth(4).unwrap_or("");
        let is_behind = || ranges.last().is_some_and(|range| range.end == start);
        if path.starts_with('/') || path.is_empty() && is_behind() {
            ranges.push(start..end);
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_what_is_behind_them() {
        let maps = "\
            1000-2000 r-xp 00000000 fd:00 17 /bin/program\n\
            2000-3000 rw-p 00001000 fd:00 17 /bin/program\n\
            3000-4000 rw-p 00000000 00:00 0 \n\
            5000-6000 rw-p 00000000 00:00 0 [heap]\n\
            7000-8000 rw-p 00000000 00:00 0 \n";
        assert_eq!(in_files(maps), [0x1000..0x2000, 0x2000..0x3000, 0x3000..0x4000]);
    }
}
