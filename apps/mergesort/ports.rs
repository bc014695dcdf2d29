//! The kernel that pairs runs.

use std::collections::VecDeque;

use thalweg::prelude::*;

use super::record::Form;
use super::run::{Run, Segment};

/// A part of a merge that can be done alone.
pub(super) struct Piece {
    pub(super) pair: [Run; 2],
    /// Whether no more of its merge comes behind it.
    pub(super) is_last: bool,
}

/// Cuts two runs at a time into pieces, takes the merged pieces back as runs, and gives the last run to the result.
pub(super) struct Split<'a> {
    form: Form,
    /// Bytes in a piece.
    bytes: u64,
    runs: &'a mut u64,
    merges: &'a mut u64,
    /// Runs that have no partner yet.
    waiting: VecDeque<Run>,
    /// What has come back of the merge in front. Pieces come back in order.
    merged: Run,
    /// Merges that have not come back whole.
    under_way: u64,
}

impl<'a> Split<'a> {
    pub(super) fn new(form: Form, bytes: u64, runs: &'a mut u64, merges: &'a mut u64) -> Self {
        let (waiting, merged) = (VecDeque::new(), Run::default());
        Self { form, bytes, runs, merges, waiting, merged, under_way: 0 }
    }
}

/// The ports of [`Split`].
#[derive(Clone, Copy, Debug)]
pub(super) struct SplitPorts {
    pub(super) sorted: In<Segment>,
    pub(super) merged: In<(Run, bool)>,
    pub(super) pieces: Out<Piece>,
    pub(super) whole: Out<Segment>,
}

impl Kernel for Split<'_> {
    type Ports = SplitPorts;

    fn ports(&mut self, bind: &mut Binder<'_>) -> SplitPorts {
        SplitPorts {
            sorted: bind.input("sorted"),
            merged: bind.input("merged"),
            pieces: bind.output("pieces"),
            whole: bind.output("whole"),
        }
    }

    fn run(&mut self, ports: &SplitPorts, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        while let Some((piece, is_last)) = io.pop(ports.merged) {
            self.merged.segments.extend(piece.segments);
            if is_last {
                self.under_way -= 1;
                self.waiting.push_back(std::mem::take(&mut self.merged));
            }
        }
        while let Some(segment) = io.pop(ports.sorted) {
            *self.runs += 1;
            self.waiting.push_back(Run { segments: vec![segment] });
        }
        while self.waiting.len() > 1 {
            let (Some(left), Some(right)) = (self.waiting.pop_front(), self.waiting.pop_front()) else { break };
            let pairs = Run::pairs(self.form, left, right, self.bytes)?;
            let last = pairs.len() - 1;
            for (number, pair) in pairs.into_iter().enumerate() {
                io.push(ports.pieces, Piece { pair, is_last: number == last });
            }
            *self.merges += 1;
            self.under_way += 1;
        }
        if io.is_ended(ports.sorted) && self.under_way == 0 {
            let whole = self.waiting.pop_front().unwrap_or_default();
            io.extend(ports.whole, whole.segments);
            return Ok(Flow::Done);
        }
        Ok(Flow::More)
    }
}
