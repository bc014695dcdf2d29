//! CNQ's capsules and the windows of producers and consumers, as printed (Figures 3.4 to 3.6 of the thesis) and as
//! corrected. The tube is the simplest: its places are allocated and reserved one after the other. Corrected, a place is free when its
//! capsule is drawn, and capsules come from a set, as in ours.

use std::cmp::Ordering;
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
    /// A capsule is a place of the tube, taken as long as somebody has the capsule.
    E8Pinned,
    /// A capsule is reset after others can find it, and may be closed before.
    E9,
    /// *Finished* is a flag, which the consumer erases that relied on it.
    E10,
    /// What was read last in a capsule is not returned.
    E11,
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

/// A word of a number: 1 + the number above, then the closed bit, then what the word says.
const fn word(number: u64, low: u64) -> u64 {
    (number + 1) << 32 | low
}

/// What the tube has for a number, and for those whole laps away.
struct WindowSlot {
    /// 2 * the number that it may be allocated for; one more when it is produced.
    stage: AtomicU64,
    /// The number's [`word`]: which capsule it has. Closed with no capsule yet, if it was closed before it had one.
    begun: AtomicU64,
    /// 1 + the number that was finished last; a flag, as printed.
    finished: AtomicU64,
}

struct Capsule {
    /// The [`word`] of its number: how many items are in it.
    filled: AtomicU64,
    taken: AtomicU64,
    half: AtomicU64,
    entries: Vec<AtomicU64>,
}

struct Cnq {
    places: Vec<WindowSlot>,
    /// One for each place, and a spare one for one item, so that nobody keeps it.
    capsules: Vec<Capsule>,
    /// The capsules that nobody has, a bit for each.
    free: AtomicU64,
    allocated: AtomicU64,
    reserved: AtomicU64,
    /// The capsules that consumers left behind, a bit for each.
    fragments: AtomicU64,
    /// D.
    window: u64,
    fault: Fault,
}

/// A capsule in the hands of its producer or its consumer.
#[derive(Clone, Copy)]
struct Held {
    number: u64,
    index: u64,
}

/// A producer or a consumer.
#[derive(Clone)]
struct Handle {
    queue: Arc<Cnq>,
    held: Option<Held>,
}

impl Cnq {
    fn handle([places, entries, window]: [u64; 3], fault: Fault) -> Handle {
        let place = |number| WindowSlot {
            stage: AtomicU64::new(2 * number),
            begun: AtomicU64::new(0),
            finished: AtomicU64::new(0),
        };
        let capsule = |entries| Capsule {
            filled: AtomicU64::new(0),
            taken: AtomicU64::new(0),
            half: AtomicU64::new(0),
            entries: (0..entries).map(|_| AtomicU64::new(0)).collect(),
        };
        let capsules: Vec<_> = (0..places).map(|_| entries).chain([1]).map(capsule).collect();
        let free = AtomicU64::new((1 << capsules.len()) - 1);
        let [allocated, reserved, fragments] = [const { AtomicU64::new(0) }; 3];
        let places = (0..places).map(place).collect();
        Handle {
            queue: Arc::new(Self { places, capsules, free, allocated, reserved, fragments, window, fault }),
            held: None,
        }
    }

    fn at(&self, number: u64) -> &WindowSlot {
        &self.places[number as usize % self.places.len()]
    }

    fn capsule(&self, held: Held) -> &Capsule {
        &self.capsules[held.index as usize]
    }

    /// Takes one of these capsules.
    fn take(capsules: &AtomicU64) -> Option<u64> {
        let without = |bits: u64| (bits != 0).then(|| bits & (bits - 1));
        let bits = capsules.fetch_update(AcqRel, Acquire, without).ok()?;
        Some(u64::from(bits.trailing_zeros()))
    }

    fn put(capsules: &AtomicU64, index: u64) {
        capsules.fetch_or(1 << index, Release);
    }

    fn close(&self, number: u64) {
        // Also before it has a capsule, which is begun closed then.
        let early = |old: u64| (old < word(number, 0)).then_some(word(number, CLOSED));
        let open = word(number, 0)..word(number, CLOSED);
        if let Err(begun) = self.at(number).begun.fetch_update(AcqRel, Acquire, early)
            && open.contains(&begun)
        {
            let filled = &self.capsules[(begun - open.start) as usize].filled;
            let _ = filled.fetch_update(AcqRel, Acquire, |old| open.contains(&old).then_some(old | CLOSED));
        }
    }

    /// Opens a capsule that nobody else has. False if its number was closed before.
    fn reset(&self, held: Held) -> bool {
        let Held { number, index } = held;
        let (begun, filled) = (&self.at(number).begun, &self.capsule(held).filled);
        filled.store(word(number, 0), Release);
        if self.fault == Fault::E9 {
            begun.store(word(number, index), Release);
            return true;
        }
        let early = |old: u64| (old < word(number, 0)).then_some(word(number, index));
        let is_open = begun.fetch_update(AcqRel, Acquire, early).is_ok();
        if !is_open {
            filled.store(word(number, CLOSED), Release);
            begun.store(word(number, CLOSED | index), Release);
        }
        is_open
    }

    /// The next number, after the one that it drives out is closed. `None` if its place is not free.
    fn allocate(&self) -> Option<u64> {
        loop {
            let number = self.allocated.load(Acquire);
            if let Some(last) = number.checked_sub(self.window) {
                self.close(last);
            }
            match self.at(number).stage.load(Acquire).cmp(&(2 * number)) {
                Ordering::Less => return None,
                Ordering::Equal if self.allocated.compare_exchange(number, number + 1, AcqRel, Relaxed).is_ok() => {
                    return Some(number);
                }
                // Somebody else has it.
                _ => {}
            }
        }
    }

    /// A free capsule and a number for it.
    fn begin(&self) -> Option<Held> {
        if self.fault == Fault::E8Pinned {
            let number = self.allocate()?;
            return Some(Held { number, index: number % self.places.len() as u64 });
        }
        let index = Self::take(&self.free)?;
        let number = self.allocate();
        if number.is_none() {
            Self::put(&self.free, index);
        }
        Some(Held { number: number?, index })
    }

    /// The place is free for the number a lap later.
    fn release(&self, number: u64) {
        self.at(number).stage.store(2 * (number + self.places.len() as u64), Release);
    }

    /// The capsule of a number that a consumer has reserved.
    fn draw(&self, number: u64) -> Held {
        let index = (self.at(number).begun.load(Acquire) - word(number, 0)) & !CLOSED;
        if self.fault != Fault::E8Pinned {
            self.release(number);
        }
        Held { number, index }
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
    fn half_consume(&self, held: Held) {
        let capsule = self.capsule(held);
        if capsule.half.swap(1, AcqRel) == 1 {
            if self.fault == Fault::E8 {
                self.finish(held.number);
            }
            capsule.half.store(0, Relaxed);
            capsule.taken.store(0, Relaxed);
            if self.fault == Fault::E8Pinned {
                self.release(held.number);
            } else {
                Self::put(&self.free, held.index);
            }
        }
    }

    /// The next number to reserve, and whether it is produced.
    fn next(&self) -> (u64, bool) {
        loop {
            let number = self.reserved.load(Acquire);
            match self.at(number).stage.load(Acquire).cmp(&(2 * number + 1)) {
                // Somebody else has it.
                Ordering::Greater => {}
                stage => return (number, stage == Ordering::Equal),
            }
        }
    }

    /// Whether there is something elsewhere for a consumer whose capsule is empty.
    fn can_advance(&self) -> bool {
        self.next().1 || self.fault != Fault::E18 && self.fragments.load(Acquire) != 0
    }

    /// Takes a capsule that a consumer left behind.
    fn take_fragment(&self) -> Option<Held> {
        let index = Self::take(&self.fragments)?;
        let number = (self.capsules[index as usize].filled.load(Acquire) >> 32) - 1;
        Some(Held { number, index })
    }
}

impl Handle {
    /// Gives up with `Busy` if a new capsule is closed by another producer, so that two do not fill the tube with empty ones.
    fn enqueue(&mut self, item: u64) -> Queue<u64> {
        let mut is_new = false;
        loop {
            if let Some(held) = self.held {
                let capsule = self.queue.capsule(held);
                let old = capsule.filled.load(Acquire);
                let index = old - word(held.number, 0);
                if index & CLOSED == 0 {
                    capsule.entries[index as usize].store(item, Relaxed);
                    if capsule.filled.compare_exchange(old, old + 1, AcqRel, Relaxed).is_ok() {
                        if index + 1 == capsule.entries.len() as u64 {
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
            let Some(held) = self.queue.begin() else { return Queue::Full };
            self.held = Some(held);
            is_new = true;
            let is_open = self.queue.reset(held);
            self.queue.at(held.number).stage.store(2 * held.number + 1, Release);
            if !is_open {
                self.leave();
                return Queue::Busy;
            }
        }
    }

    fn dequeue(&mut self) -> Queue<u64> {
        loop {
            if let Some(held) = self.held {
                let capsule = self.queue.capsule(held);
                let (taken, filled) = (capsule.taken.load(Relaxed), capsule.filled.load(Acquire));
                if taken < (filled - word(held.number, 0)) & !CLOSED {
                    let item = capsule.entries[taken as usize].load(Relaxed);
                    capsule.taken.store(taken + 1, Relaxed);
                    if taken + 1 == capsule.entries.len() as u64 {
                        self.finish();
                        if self.queue.fault == Fault::E11 {
                            continue;
                        }
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
            self.held = self.queue.take_fragment();
            if self.held.is_some() {
                continue;
            }
            let (number, is_produced) = self.queue.next();
            let before = number.checked_sub(self.queue.window);
            let may_begin = before.map_or(self.queue.fault != Fault::E13Start, |before| self.queue.is_finished(before));
            if !may_begin && self.queue.fault != Fault::E17 {
                return Queue::Busy;
            }
            if !may_begin || !is_produced {
                return Queue::Empty;
            }
            if self.queue.reserved.compare_exchange(number, number + 1, AcqRel, Relaxed).is_ok() {
                self.held = Some(self.queue.draw(number));
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
        if let Some(held) = self.held.take() {
            Cnq::put(&self.queue.fragments, held.index);
        }
    }

    fn leave(&mut self) {
        if let Some(held) = self.held.take() {
            self.queue.half_consume(held);
        }
    }

    /// The consumer leaves a capsule that is empty for good.
    fn finish(&mut self) {
        if let Some(held) = self.held
            && self.queue.fault != Fault::E8
        {
            self.queue.finish(held.number);
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

/// Two producers keep a capsule each and do nothing more, which is all that the tube has places for. Everything was popped: what others
/// push is in an empty queue.
fn pinned(fault: Fault) -> Result<Explored, Box<Violation>> {
    run(4, move |recorder| {
        let mut idle = Cnq::handle([2, 2, 1], fault);
        let [mut next, mut producer, mut consumer] = [(); 3].map(|()| idle.clone());
        let (mut log, mut other) = (recorder.log(0), recorder.log(1));
        let mut pushed = idle.push(&mut log, [0]);
        let push = thread::spawn(move || (next.push(&mut other, [1]), next));
        let mut popped = consumer.pop(&mut log, 2);
        let (others, _next) = push.join().unwrap();
        pushed += others;
        popped += consumer.pop(&mut log, 9);
        assert_eq!([pushed, popped], [2, 2]);
        for item in 2..4 {
            assert_eq!(producer.push(&mut log, [item]), 1, "an empty queue refuses a push");
            assert_eq!(consumer.pop(&mut log, 1), 1);
        }
    })
}

#[test]
fn e8_a_place_that_an_idle_producer_keeps() {
    finds(pinned, Fault::E8Pinned, "an empty queue refuses a push");
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

/// A capsule is filled to its end, and emptied.
fn last(fault: Fault) -> Result<Explored, Box<Violation>> {
    run(4, move |recorder| {
        let mut producer = Cnq::handle([3, 2, 1], fault);
        let mut consumer = producer.clone();
        let (mut log, mut other) = (recorder.log(0), recorder.log(1));
        let pushes = thread::spawn(move || producer.push(&mut other, 0..2));
        let mut popped = consumer.pop(&mut log, 2);
        let pushed = pushes.join().unwrap();
        popped += consumer.pop(&mut log, 9);
        assert_eq!([pushed, popped], [2, 2], "an item is lost");
    })
}

#[test]
fn e11_the_last_of_a_capsule() {
    finds(last, Fault::E11, "an item is lost");
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
