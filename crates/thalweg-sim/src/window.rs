//! The instructions of a thread: what its core does of them while it waits for a load, and how far ahead it sees.
//!
//! What an access stands for is [`EACH`] instructions, and its cost is their time. Where the program says how many there are
//! ([`thalweg_sync::hint::code`]), these count, and take their time, and its accesses stand for none.

use crate::agenda::LATEST;
use crate::threads::{State, Thread};

/// How many instructions an access stands for where nobody says how many there are, its own among them. The window of a machine file is
/// a number of such accesses.
pub(crate) const EACH: u32 = 12;

/// The instructions that a thread has told of.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Code {
    /// In how many stretches of such code it is, one within the other.
    depth: u32,
    /// What is left of a cycle, in percent.
    rest: u64,
    /// In such code: how many there were until its end. Outside: how many more than [`EACH`] of every access.
    count: u64,
}

impl Thread {
    /// How many instructions it has done.
    pub(crate) fn instructions(&self) -> u64 {
        if self.code.depth > 0 { self.code.count } else { self.code.count.wrapping_add(self.by_accesses()) }
    }

    fn by_accesses(&self) -> u64 {
        self.times.accesses * u64::from(EACH)
    }

    /// How many instructions its next access stands for.
    #[inline]
    pub(crate) fn weight(&self) -> u32 {
        if self.code.depth > 0 { 0 } else { EACH }
    }

    /// It waited so many cycles for a load. What follows, as far as the window has room and its own cache answers, was done
    /// meanwhile.
    pub(crate) fn waited(&mut self, cycles: u64, window: u32) {
        (self.credit, self.behind_load) = (if window > 0 { cycles } else { 0 }, window);
    }

    /// What is left of the cycles of the next so many instructions.
    #[inline]
    pub(crate) fn done_meanwhile(&mut self, cycles: u64, instructions: u32) -> u64 {
        // Of what the window has no room for, a part was done.
        let within = match instructions > self.behind_load {
            true => cycles * u64::from(self.behind_load) / u64::from(instructions),
            false => cycles,
        };
        let meanwhile = within.min(self.credit);
        self.credit -= meanwhile;
        self.behind_load = self.behind_load.saturating_sub(instructions);
        if self.behind_load == 0 {
            self.credit = 0;
        }
        cycles - meanwhile
    }
}

impl State {
    /// How many instructions behind a load that waits are done meanwhile.
    pub(crate) fn window(&self) -> u32 {
        self.machine.window as u32 * EACH
    }

    /// The current thread comes to code of so many instructions.
    pub(crate) fn code(&mut self, instructions: u64) {
        let instructions = instructions.min(LATEST);
        let percent = if self.is_taxed() { self.machine.cost.smt_percent } else { 0 };
        let (each, thread) = (self.machine.cost.code_percent, self.thread());
        thread.code.count = thread.instructions().wrapping_add(instructions);
        thread.code.depth += 1;
        let parts = instructions * each + thread.code.rest;
        thread.code.rest = parts % 100;
        let mut cycles = parts / 100;
        cycles += cycles * percent / 100;
        if thread.credit > 0 {
            cycles = thread.done_meanwhile(cycles, u32::try_from(instructions).unwrap_or(u32::MAX));
        }
        thread.clock = thread.clock.max((thread.clock + cycles).min(LATEST));
    }

    /// The current thread comes to the end of such code.
    pub(crate) fn code_end(&mut self) {
        let thread = self.thread();
        let count = thread.instructions();
        thread.code.depth = thread.code.depth.saturating_sub(1);
        if thread.code.depth == 0 {
            thread.code.count = count.wrapping_sub(thread.by_accesses());
        }
    }
}
