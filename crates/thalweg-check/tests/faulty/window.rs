//! CNQ's capsules and the windows of producers and consumers, as printed (Figures 3.4 to 3.6 of the thesis) and as
//! corrected. The tube is the simplest: capsules are allocated and reserved one after the other.

use thalweg_check::history::{KFifo, Log, Queue, Recorder};
use thalweg_check::{Check, Explored, Violation};
use thalweg_sync::atomic::AtomicU64;
use thalweg_sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use thalweg_sync::sync::Arc;
use thalweg_sync::thread;

/// What is as printed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    /// A capsule is finished when its producer has left, too.
    E8,
    /// A capsule is reset after others can find it, and may be closed before.
    E9,
    /// *Finished* is a flag, which the consumer erases that relied on it.
    E10,
    /// D is rounded down, to nothing if k is below the items of two capsules.
    E13Window,
    /// *Finished* is false at the start, before the first capsule, too.
    E13Start,
    /// A consumer whom the window holds back says that the queue is empty.
    E17,
    /// Who looks for items elsewhere does not look at what consumers left behind.
    E18,
}

const CLOSED: u64 = 1 << 31;

/// The producer's word of a capsule: 1 + its number above, then the closed bit, then how many items are in it.
const fn word(number: u64, low: u64) -> u64 {
    (number + 1) << 32 | low
}

struct Capsule {
    filled: AtomicU64,
    taken: AtomicU64,
    half: AtomicU64,
    /// 1 + the number that was finished last; a flag, as printed.
    finished: AtomicU64,
    /// 2 * the number that it may be allocated for; one more when it is produced.
    stage: AtomicU64,
    entries: Vec<AtomicU64>,
}

struct Cnq {
    capsules: Vec<Capsule>,
    allocated: AtomicU64,
    reserved: AtomicU64,
    /// The capsules that consumers left behind, a bit for each number.
    fragments: AtomicU64,
    entries: u64,
    /// D.
    window: u64,
    fault: Fault,
}

/// A producer or a consumer, with the number of its capsule.
#[derive(Clone)]
struct Handle {
    queue: Arc<Cnq>,
    number: Option<u64>,
}

impl Cnq {
    fn handle([capsules, entries, window]: [u64; 3], fault: Fault) -> Handle {
        let capsule = |number| Capsule {
            filled: AtomicU64::new(0),
            taken: AtomicU64::new(0),
            half: AtomicU64::new(0),
            finished: AtomicU64::new(0),
            stage: AtomicU64::new(2 * number),
            entries: (0..entries).map(|_| AtomicU64::new(0)).collect(),
        };
        let [allocated, reserved, fragments] = [const { AtomicU64::new(0) }; 3];
        let capsules = (0..capsules).map(capsule).collect();
        Handle {
            queue: Arc::new(Self { capsules, allocated, reserved, fragments, entries, window, fault }),
            number: None,
        }
    }

    fn at(&self, number: u64) -> &Capsule {
        &self.capsules[number as usize % self.capsules.len()]
    }

    fn close(&self, number: u64) {
        let filled = &self.at(number).filled;
        if self.fault == Fault::E9 {
            filled.fetch_or(CLOSED, AcqRel);
            return;
        }
        // Also before it is reset: the reset fails then.
        let closed = |old: u64| match old {
            old if old >= word(number + 1, 0) || old >= word(number, CLOSED) => None,
            old => Some(old.max(word(number, 0)) | CLOSED),
        };
        let _ = filled.fetch_update(AcqRel, Acquire, closed);
    }

    /// Opens a capsule that was allocated. False if it was closed before.
    fn reset(&self, number: u64) -> bool {
        let filled = &self.at(number).filled;
        if self.fault == Fault::E9 {
            filled.store(word(number, 0), Release);
            return true;
        }
        filled.fetch_update(AcqRel, Acquire, |old| (old < word(number, 0)).then_some(word(number, 0))).is_ok()
    }

    fn is_finished(&self, number: u64) -> bool {
        let finished = self.at(number).finished.load(Acquire);
        if self.fault == Fault::E10 { finished == 1 } else { finished > number }
    }

    fn finish(&self, number: u64) {
        if self.fault == Fault::E10 {
            self.at(number).finished.store(1, Release);
        } else {
            self.at(number).finished.fetch_max(number + 1, AcqRel);
        }
    }

    /// The producer or the consumer leaves; the second one gives the capsule back.
    fn half_consume(&self, number: u64) {
        let capsule = self.at(number);
        if capsule.half.swap(1, AcqRel) == 1 {
            if self.fault == Fault::E8 {
                self.finish(number);
            }
            capsule.half.store(0, Relaxed);
            capsule.taken.store(0, Relaxed);
            capsule.stage.store(2 * (number + self.capsules.len() as u64), Release);
        }
    }

    fn is_produced(&self, number: u64) -> bool {
        self.at(number).stage.load(Acquire) == 2 * number + 1
    }

    /// Whether there is something elsewhere for a consumer whose capsule is empty.
    fn can_advance(&self) -> bool {
        self.is_produced(self.reserved.load(Acquire)) || self.fault != Fault::E18 && self.fragments.load(Acquire) != 0
    }

    /// Takes the oldest of what consumers left behind.
    fn take_fragment(&self) -> Option<u64> {
        let without = |bits: u64| (bits != 0).then(|| bits & (bits - 1));
        let bits = self.fragments.fetch_update(AcqRel, Acquire, without).ok()?;
        Some(u64::from(bits.trailing_zeros()))
    }
}

impl Handle {
    /// Gives up with `Busy` if a new capsule is closed by another producer, so that two do not fill the tube with empty ones.
    fn enqueue(&mut self, item: u64) -> Queue<u64> {
        let mut is_new = false;
        loop {
            if let Some(number) = self.number {
                let capsule = self.queue.at(number);
                let old = capsule.filled.load(Acquire);
                let index = old - word(number, 0);
                if index & CLOSED == 0 {
                    capsule.entries[index as usize].store(item, Relaxed);
                    if capsule.filled.compare_exchange(old, old + 1, AcqRel, Relaxed).is_ok() {
                        if index + 1 == self.queue.entries {
                            self.leave();
                        }
                        return Queue::Pushed(item);
                    }
                }
                self.leave();
                if is_new {
                    return Queue::Busy;
                }
            }
            let number = self.queue.allocated.load(Acquire);
            if let Some(last) = number.checked_sub(self.queue.window) {
                self.queue.close(last);
            }
            let capsule = self.queue.at(number);
            if capsule.stage.load(Acquire) != 2 * number {
                return Queue::Full;
            }
            if self.queue.allocated.compare_exchange(number, number + 1, AcqRel, Relaxed).is_ok() {
                self.number = Some(number);
                is_new = true;
                let is_open = self.queue.reset(number);
                capsule.stage.store(2 * number + 1, Release);
                if !is_open {
                    self.leave();
                    return Queue::Busy;
                }
            }
        }
    }

    fn dequeue(&mut self) -> Queue<u64> {
        loop {
            if let Some(number) = self.number {
                let capsule = self.queue.at(number);
                let (taken, filled) = (capsule.taken.load(Relaxed), capsule.filled.load(Acquire));
                if taken < (filled - word(number, 0)) & !CLOSED {
                    let item = capsule.entries[taken as usize].load(Relaxed);
                    capsule.taken.store(taken + 1, Relaxed);
                    if taken + 1 == self.queue.entries {
                        self.finish();
                    }
                    return Queue::Popped(item);
                }
                if filled & CLOSED != 0 {
                    self.finish();
                } else if self.queue.can_advance() {
                    let _ = capsule.filled.compare_exchange(filled, filled | CLOSED, AcqRel, Relaxed);
                    continue;
                } else {
                    return Queue::Empty;
                }
            }
            self.number = self.queue.take_fragment();
            if self.number.is_some() {
                continue;
            }
            let number = self.queue.reserved.load(Acquire);
            let before = number.checked_sub(self.queue.window);
            let may_begin = before.map_or(self.queue.fault != Fault::E13Start, |before| self.queue.is_finished(before));
            if !may_begin && self.queue.fault != Fault::E17 {
                return Queue::Busy;
            }
            if !may_begin || !self.queue.is_produced(number) {
                return Queue::Empty;
            }
            if self.queue.reserved.compare_exchange(number, number + 1, AcqRel, Relaxed).is_ok() {
                self.number = Some(number);
                if let Some(before) = before
                    && self.queue.fault == Fault::E10
                {
                    self.queue.at(before).finished.store(0, Release);
                }
            }
        }
    }

    /// A consumer leaves for good: what is in its capsule is for others.
    fn unregister(mut self) {
        if let Some(number) = self.number.take() {
            self.queue.fragments.fetch_or(1 << number, Release);
        }
    }

    fn leave(&mut self) {
        if let Some(number) = self.number.take() {
            self.queue.half_consume(number);
        }
    }

    /// The consumer leaves a capsule that is empty for good.
    fn finish(&mut self) {
        if let Some(number) = self.number
            && self.queue.fault != Fault::E8
        {
            self.queue.finish(number);
        }
        self.leave();
    }

    fn push(&mut self, log: &mut Log<Queue<u64>>, items: impl IntoIterator<Item = u64>) -> u64 {
        let mut one = |item| matches!(log.call(|| self.enqueue(item), Queue::clone), Queue::Pushed(_));
        items.into_iter().filter(|&item| one(item)).count() as u64
    }

    fn pop(&mut self, log: &mut Log<Queue<u64>>, most: usize) -> u64 {
        let mut one = || matches!(log.call(|| self.dequeue(), Queue::clone), Queue::Popped(_));
        (0..most).take_while(|_| one()).count() as u64
    }
}

/// Against a queue that says empty only if at most `hidden` items are inside.
fn run_with(
    k: usize,
    hidden: usize,
    client: impl Fn(&Recorder<Queue<u64>>) + Send + Sync + 'static,
) -> Result<Explored, Box<Violation>> {
    Check::new().max_events(1000).linearizable_apart(KFifo::new(k, 1, hidden), client).map_err(Box::new)
}

fn run(k: usize, client: impl Fn(&Recorder<Queue<u64>>) + Send + Sync + 'static) -> Result<Explored, Box<Violation>> {
    run_with(k, usize::MAX, client)
}

fn finds(client: fn(Fault) -> Result<Explored, Box<Violation>>, fault: Fault, message: &str) {
    let violation = client(fault).expect_err("the fault is not found").to_string();
    assert!(violation.contains(message), "{violation}");
    let explored = client(Fault::None).unwrap_or_else(|violation| panic!("{violation}"));
    assert!(explored.complete > 1 && !explored.bounded, "{explored}");
}

/// One producer keeps its capsule and does nothing. Others push and pop past it.
fn idle(fault: Fault) -> Result<Explored, Box<Violation>> {
    run(4, move |recorder| {
        let mut idle = Cnq::handle([3, 2, 1], fault);
        let mut producer = idle.clone();
        let mut consumer = idle.clone();
        let mut log = recorder.log(0);
        assert_eq!(idle.push(&mut log, [0]), 1);
        let mut other = recorder.log(1);
        let pushes = thread::spawn(move || producer.push(&mut other, [1, 2]));
        let mut popped = consumer.pop(&mut log, 2);
        let pushed = 1 + pushes.join().unwrap();
        popped += consumer.pop(&mut log, 9);
        assert_eq!(popped, pushed, "consumers wait for an idle producer");
    })
}

#[test]
fn e8_an_idle_producer() {
    finds(idle, Fault::E8, "consumers wait for an idle producer");
}

/// Two producers begin a capsule each: of a window of one, the first must be closed. What is pushed later comes later.
fn reset(fault: Fault) -> Result<Explored, Box<Violation>> {
    run(4, move |recorder| {
        let mut first = Cnq::handle([6, 2, 1], fault);
        let mut second = first.clone();
        let mut consumer = first.clone();
        let (mut log, mut other) = (recorder.log(0), recorder.log(1));
        let pushes = thread::spawn(move || (first.push(&mut other, [0]), first));
        let mut pushed = second.push(&mut log, [10]);
        let (others, mut first) = pushes.join().unwrap();
        pushed += others + second.push(&mut log, 11..14) + first.push(&mut log, [1]);
        assert_eq!(consumer.pop(&mut log, 9), pushed);
    })
}

#[test]
fn e9_a_reset_after_the_close() {
    finds(reset, Fault::E9, "not linearizable");
}

/// A consumer that relied on *finished* pauses before it erases it. Others push and pop the next item meanwhile.
fn erased(fault: Fault) -> Result<Explored, Box<Violation>> {
    run(4, move |recorder| {
        let mut producer = Cnq::handle([3, 1, 2], fault);
        let mut consumer = producer.clone();
        let mut slow = producer.clone();
        let mut log = recorder.log(0);
        let mut pushed = producer.push(&mut log, 0..3);
        let mut popped = consumer.pop(&mut log, 2);
        let mut other = recorder.log(1);
        let pop = thread::spawn(move || (slow.pop(&mut other, 1), slow));
        pushed += producer.push(&mut log, [3]);
        popped += consumer.pop(&mut log, 1);
        let (others, _slow) = pop.join().unwrap();
        pushed += producer.push(&mut log, 4..6);
        popped += others + consumer.pop(&mut log, 9);
        assert_eq!(popped, pushed, "consumers wait for what has happened");
    })
}

#[test]
fn e10_a_late_store_erases_finished() {
    finds(erased, Fault::E10, "consumers wait for what has happened");
}

/// An item is pushed, and popped, into a new queue whose k is below the items of two capsules.
fn begin(fault: Fault) -> Result<Explored, Box<Violation>> {
    let [k, entries] = [3_u64, 2];
    let window = if fault == Fault::E13Window { k / (2 * entries) } else { k.div_ceil(2 * entries) };
    run(k as usize, move |recorder| {
        let mut producer = Cnq::handle([3, entries, window], fault);
        let mut consumer = producer.clone();
        let (mut log, mut other) = (recorder.log(0), recorder.log(1));
        let push = thread::spawn(move || producer.push(&mut other, [0]));
        let mut popped = consumer.pop(&mut log, 1);
        let pushed = push.join().unwrap();
        popped += consumer.pop(&mut log, 1);
        assert_eq!([pushed, popped], [1, 1], "nothing ever passes");
    })
}

#[test]
fn e13_a_window_of_nothing() {
    finds(begin, Fault::E13Window, "nothing ever passes");
}

#[test]
fn e13_nothing_is_finished_before_the_first() {
    finds(begin, Fault::E13Start, "nothing ever passes");
}

/// A consumer stops with an item in its capsule, and the window lets nobody past it. Section 3.5 promises that nobody says empty
/// with more than k items inside.
fn stalled(fault: Fault) -> Result<Explored, Box<Violation>> {
    run_with(4, 4, move |recorder| {
        let mut producer = Cnq::handle([3, 2, 1], fault);
        let mut consumer = producer.clone();
        let mut stalled = producer.clone();
        let (mut log, mut other) = (recorder.log(0), recorder.log(1));
        assert_eq!(producer.push(&mut log, 0..6), 6);
        let pop = thread::spawn(move || (stalled.pop(&mut other, 1), stalled));
        consumer.pop(&mut log, 1);
        pop.join().unwrap();
    })
}

#[test]
fn e17_more_than_k_items() {
    finds(stalled, Fault::E17, "not linearizable");
}

/// A consumer leaves with an item in its capsule. Another one has the capsule of a producer that does nothing.
fn fragment(fault: Fault) -> Result<Explored, Box<Violation>> {
    run(8, move |recorder| {
        let mut producer = Cnq::handle([3, 2, 2], fault);
        let [mut idle, mut leaver, mut consumer] = [(); 3].map(|()| producer.clone());
        let (mut log, mut other) = (recorder.log(0), recorder.log(1));
        let pushed = producer.push(&mut log, 0..2) + idle.push(&mut log, [2]);
        let leave = thread::spawn(move || {
            let popped = leaver.pop(&mut other, 1);
            leaver.unregister();
            popped
        });
        let mut popped = consumer.pop(&mut log, 2);
        popped += leave.join().unwrap();
        popped += consumer.pop(&mut log, 9);
        assert_eq!(popped, pushed, "nobody finds what a consumer left behind");
    })
}

#[test]
fn e18_what_a_consumer_left_behind() {
    finds(fragment, Fault::E18, "nobody finds what a consumer left behind");
}
