//! FastForward's pipeline in a loop (its Figure 7, section 5.1), which every contender runs.

use std::hint::spin_loop;

use thalweg_sync::thread;

use super::noise::MISSING;
use crate::harness::BoxError;
use crate::machine::{Start, cpus};
use crate::queues::crew::Crew;
use crate::queues::one_to_one::Ends;
use crate::queues::stamps::Clock;

/// Stages: three, each on a CPU, or two where there are no more CPUs.
pub(super) fn stages() -> usize {
    if cpus().len() >= 3 { 3 } else { 2 }
}

/// A stage takes an item, works on it, and hands it on, the last one to the first. The first queue is nearly full at the start.
#[derive(Clone, Debug)]
pub(super) struct Looped {
    /// Of every queue.
    pub(super) entries: usize,
    /// How often each stage does that.
    pub(super) iterations: u64,
    /// Nanoseconds of work of each stage, for one item after the other, again and again.
    pub(super) work: Vec<Vec<f64>>,
}

/// What a stage sees of its operations.
pub(super) trait Watch: Send {
    /// Room for what so many iterations show.
    fn of(iterations: u64) -> Self;
    /// A stage took an item, or handed it on, in so many ticks.
    fn note(&mut self, ticks: u64, push: bool);
}

impl Looped {
    /// What each stage saw.
    pub(super) fn run<Q: Ends, W: Watch>(&self, clock: &Clock) -> Result<Vec<W>, BoxError> {
        let stages = self.work.len();
        let items = self.items();
        let work: Vec<Vec<u64>> =
            self.work.iter().map(|work| work.iter().map(|&nanos| clock.ticks(nanos)).collect()).collect();
        let (mut writing, mut reading): (Vec<Q::Tx>, Vec<Q::Rx>) = (0..stages).map(|_| Q::build(self.entries)).unzip();
        for item in 1..=items {
            if !Q::push(&mut writing[0], item) {
                return Err(format!("{item} items do not fit into {} entries", self.entries).into());
            }
        }
        // Stage n reads queue n and writes the next one.
        writing.rotate_left(1);
        let crews: Vec<Crew> = (0..stages).map(|_| Crew::of(1)).collect();
        let (crews, start) = (&crews, &Start::default());
        let ended = std::thread::scope(|scope| {
            let ends = reading.drain(..).zip(writing.drain(..)).zip(&work).enumerate();
            let threads = ends.map(|(stage, ((mut rx, mut tx), work))| {
                scope.spawn(move || {
                    let _member = crews[stage].member();
                    let (before, behind) = (&crews[(stage + stages - 1) % stages], &crews[(stage + 1) % stages]);
                    // A container may refuse: the run is still right, only its spread is wider.
                    let _ = thread::pin_current(cpus()[stage % cpus().len()]);
                    let mut seen = W::of(self.iterations);
                    let _running = start.running();
                    let ended = self.turn::<Q, W>(clock, (&mut rx, before), (&mut tx, behind), work, &mut seen);
                    (ended.map(|()| seen), rx, tx)
                })
            });
            let threads: Vec<_> = threads.collect();
            let join =
                || threads.into_iter().map(|thread| thread.join().expect("stages do not panic")).collect::<Vec<_>>();
            start.timed(stages, join).0
        });
        let (mut seen, mut errors) = (Vec::new(), Vec::new());
        for (ended, _, _) in ended {
            match ended {
                Ok(stage) => seen.push(stage),
                Err(error) => errors.push(error),
            }
        }
        if !errors.is_empty() {
            return Err(errors.join("; ").into());
        }
        Ok(seen)
    }

    /// Items that go round.
    fn items(&self) -> u64 {
        self.entries as u64 - MISSING
    }

    /// One stage, between the ends of its queues, each with the crew of the stage at its other end. An error if an item is not the one that
    /// belongs there, or if that stage has left.
    fn turn<Q: Ends, W: Watch>(
        &self,
        clock: &Clock,
        (rx, before): (&mut Q::Rx, &Crew),
        (tx, behind): (&mut Q::Tx, &Crew),
        work: &[u64],
        seen: &mut W,
    ) -> Result<(), String> {
        let items = self.items();
        let (mut expected, mut at) = (0, 0);
        for iteration in 0..self.iterations {
            expected = if expected == items { 1 } else { expected + 1 };
            let taken = before.until(
                || {
                    let start = clock.now();
                    let item = Q::pop(rx)?;
                    seen.note(clock.now() - start, false);
                    Some(item)
                },
                spin_loop,
            );
            match taken {
                Some(item) if item == expected => {}
                Some(item) => return Err(format!("item {item} came in the place of {expected}")),
                None => return Err(format!("item {expected} did not come")),
            }
            if iteration == 0 {
                // Stages start slipped.
                wait(clock, clock.ticks(2_000.0) + 48 * work[0]);
            }
            wait(clock, work[at]);
            at = if at + 1 == work.len() { 0 } else { at + 1 };
            let handed_on = behind.until(
                || {
                    let start = clock.now();
                    Q::push(tx, expected).then(|| seen.note(clock.now() - start, true))
                },
                spin_loop,
            );
            if handed_on.is_none() {
                return Err(format!("nobody took item {expected}"));
            }
        }
        Ok(())
    }
}

/// Works for so many ticks, which is to look at the clock, as in the paper. Not at all for none.
#[inline(always)]
fn wait(clock: &Clock, ticks: u64) {
    if ticks > 0 {
        let start = clock.now();
        while clock.now() - start < ticks {}
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

    use super::*;

    /// Loses number 3.
    struct Loses;

    impl Ends for Loses {
        /// And whether it was pushed before: the first queue is filled with it.
        type Tx = (SyncSender<u64>, bool);
        type Rx = Receiver<u64>;

        fn build(capacity: usize) -> (Self::Tx, Self::Rx) {
            let (tx, rx) = sync_channel(capacity);
            ((tx, false), rx)
        }

        fn push((tx, seen): &mut Self::Tx, value: u64) -> bool {
            let lost = value == 3 && std::mem::replace(seen, true);
            lost || tx.try_send(value).is_ok()
        }

        fn pop(rx: &mut Self::Rx) -> Option<u64> {
            rx.try_recv().ok()
        }
    }

    #[test]
    fn a_lost_item_stops_all_stages() {
        /// It looks at nothing.
        struct Blind;
        impl Watch for Blind {
            fn of(_iterations: u64) -> Self {
                Self
            }
            fn note(&mut self, _ticks: u64, _push: bool) {}
        }
        let looped = Looped { entries: 20, iterations: 40, work: vec![vec![0.0]; stages()] };
        let Err(error) = looped.run::<Loses, Blind>(&Clock::new()) else { panic!("all came") };
        let error = error.to_string();
        assert!(error.contains("in the place of 3") || error.contains("item 3 did not come"), "{error}");
    }
}
