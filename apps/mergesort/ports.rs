//! The kernels with several ports. A part of a run travels over one edge, and what is said of it beside it over another.

use std::collections::VecDeque;

use thalweg::prelude::*;
use thalweg::{Firing, ParallelKernel};
use thalweg_sync::sync::Arc;

use super::record::Form;
use super::run::{Run, Segment, Shelf};

/// What is said of a part of a run: the arguments that DANBI sends over queues of their own.
#[derive(Clone, Copy, Debug)]
pub(super) struct About {
    /// How many bytes it has, in which nothing may be lost.
    pub(super) bytes: u64,
    /// Whether the run ends with it.
    pub(super) is_last: bool,
}

/// Sorts chunks: each becomes a run.
pub(super) struct Sort {
    pub(super) form: Form,
    pub(super) shelf: Arc<Shelf>,
}

/// The ports of [`Sort`].
#[derive(Clone, Copy, Debug)]
pub(super) struct SortPorts {
    pub(super) chunks: In<Vec<u8>>,
    pub(super) sorted: Out<Run>,
    pub(super) about: Out<About>,
}

impl ParallelKernel for Sort {
    type Ports = SortPorts;

    fn ports(&mut self, bind: &mut Binder<'_>) -> SortPorts {
        SortPorts { chunks: bind.input("chunks"), sorted: bind.output("sorted"), about: bind.output("about") }
    }

    fn fire(&self, ports: &SortPorts, firing: &mut Firing<'_>) -> Result<(), BoxError> {
        let chunk = firing.take(ports.chunks);
        let sorted = Shelf::keep(&self.shelf, self.form.sorted(&chunk))?;
        firing.push(ports.sorted, Run { segments: vec![sorted] });
        firing.push(ports.about, About { bytes: chunk.len() as u64, is_last: true });
        Ok(())
    }
}

/// Merges pairs of pieces.
pub(super) struct Merge {
    pub(super) form: Form,
    pub(super) shelf: Arc<Shelf>,
    /// What is larger goes to a disk as it is made.
    pub(super) most: u64,
}

/// The ports of [`Merge`].
#[derive(Clone, Copy, Debug)]
pub(super) struct MergePorts {
    pub(super) left: In<Run>,
    pub(super) right: In<Run>,
    pub(super) about: In<About>,
    pub(super) merged: Out<Run>,
    pub(super) about_merged: Out<About>,
}

impl ParallelKernel for Merge {
    type Ports = MergePorts;

    fn ports(&mut self, bind: &mut Binder<'_>) -> MergePorts {
        MergePorts {
            left: bind.input("left"),
            right: bind.input("right"),
            about: bind.input("about"),
            merged: bind.output("merged"),
            about_merged: bind.output("about merged"),
        }
    }

    fn fire(&self, ports: &MergePorts, firing: &mut Firing<'_>) -> Result<(), BoxError> {
        let pair = [firing.take(ports.left), firing.take(ports.right)];
        let about = firing.take(ports.about);
        firing.push(ports.merged, Run::merge(&self.shelf, self.form, &pair, self.most)?);
        firing.push(ports.about_merged, about);
        Ok(())
    }
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
    /// What has come of the runs that are coming, of sorted and of merged ones. Pieces come in order.
    coming: [Run; 2],
    /// Merges that have not come back whole.
    under_way: u64,
}

impl<'a> Split<'a> {
    pub(super) fn new(form: Form, bytes: u64, runs: &'a mut u64, merges: &'a mut u64) -> Self {
        let (waiting, coming) = (VecDeque::new(), [Run::default(), Run::default()]);
        Self { form, bytes, runs, merges, waiting, coming, under_way: 0 }
    }

    /// Takes what has come of sorted runs (0) or merged ones (1), and gives how many of them are whole.
    fn take(&mut self, which: usize, (runs, about): (In<Run>, In<About>), io: &mut Io<'_>) -> Result<u64, BoxError> {
        let mut whole = 0;
        while io.has(runs, 1) && io.has(about, 1) {
            // Nothing comes, though it was there, once the run is cancelled.
            let (Some(part), Some(About { bytes, is_last })) = (io.pop(runs), io.pop(about)) else { break };
            if part.bytes() != bytes {
                return Err(format!("{bytes} bytes were to be sorted, and {} came", part.bytes()).into());
            }
            let run = &mut self.coming[which];
            run.segments.extend(part.segments);
            if is_last {
                self.waiting.push_back(std::mem::take(run));
                whole += 1;
            }
        }
        Ok(whole)
    }
}

/// The ports of [`Split`].
#[derive(Clone, Copy, Debug)]
pub(super) struct SplitPorts {
    pub(super) sorted: (In<Run>, In<About>),
    pub(super) merged: (In<Run>, In<About>),
    pub(super) left: Out<Run>,
    pub(super) right: Out<Run>,
    pub(super) about: Out<About>,
    pub(super) whole: Out<Segment>,
}

impl Kernel for Split<'_> {
    type Ports = SplitPorts;

    fn ports(&mut self, bind: &mut Binder<'_>) -> SplitPorts {
        SplitPorts {
            sorted: (bind.input("sorted"), bind.input("about sorted")),
            merged: (bind.input("merged"), bind.input("about merged")),
            left: bind.output("left"),
            right: bind.output("right"),
            about: bind.output("about"),
            whole: bind.output("whole"),
        }
    }

    fn run(&mut self, ports: &SplitPorts, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        self.under_way -= self.take(1, ports.merged, io)?;
        *self.runs += self.take(0, ports.sorted, io)?;
        while self.waiting.len() > 1 {
            let (Some(left), Some(right)) = (self.waiting.pop_front(), self.waiting.pop_front()) else { break };
            let pairs = Run::pairs(self.form, left, right, self.bytes)?;
            let last = pairs.len() - 1;
            for (number, [left, right]) in pairs.into_iter().enumerate() {
                io.push(ports.about, About { bytes: left.bytes() + right.bytes(), is_last: number == last });
                io.push(ports.left, left);
                io.push(ports.right, right);
            }
            *self.merges += 1;
            self.under_way += 1;
        }
        let (sorted, about) = ports.sorted;
        if io.is_ended(sorted) && io.is_ended(about) && self.under_way == 0 {
            let whole = self.waiting.pop_front().unwrap_or_default();
            io.extend(ports.whole, whole.segments);
            return Ok(Flow::Done);
        }
        Ok(Flow::More)
    }
}
