//! BWoS under loom: small clients, and canaries that show that the model is awake.
//!
//! Blocks are the fewest with which thieves find something: two of a stack, whose owner holds one, and three of a queue, whose owner
//! holds the oldest and the newest. With one entry each, every push and pop goes to another block; with two, thieves also meet in a
//! block, and leave something in it.

use thalweg_queue::stealing::{self, StealError, Stealer};
use thalweg_sync::model_bounded;
use thalweg_sync::sync::Arc;
use thalweg_sync::thread;

/// An item. loom reports one that is leaked or dropped twice; the queue's own slots report a read that its write
/// does not happen before, and a write that a read does not.
type Item = Arc<usize>;

/// An owner of either order.
trait Owner: Sized {
    /// One more than it holds.
    const BLOCKS: usize;

    fn build(entries: usize) -> (Self, Stealer<Item>);
    fn push(&mut self, number: usize) -> bool;
    fn pop(&mut self) -> Option<usize>;
    fn share(&mut self);
}

macro_rules! owner {
    ($order:ident, $blocks:literal) => {
        impl Owner for stealing::$order::Owner<Item> {
            const BLOCKS: usize = $blocks;

            fn build(entries: usize) -> (Self, Stealer<Item>) {
                stealing::$order(Self::BLOCKS, entries).unwrap()
            }
            fn push(&mut self, number: usize) -> bool {
                Self::push(self, Arc::new(number)).is_ok()
            }
            fn pop(&mut self) -> Option<usize> {
                Self::pop(self).map(|item| *item)
            }
            fn share(&mut self) {
                Self::share(self);
            }
        }
    };
}
owner!(lifo, 2);
owner!(fifo, 3);

type Lifo = stealing::lifo::Owner<Item>;
type Fifo = stealing::fifo::Owner<Item>;

/// The owner's side of a client: what it pushed, and what it or a thief took.
struct Owned<O> {
    owner: O,
    pushed: usize,
    taken: Vec<usize>,
    /// After so many more steps it lets the thieves go first.
    pause: usize,
}

/// Explores a client once for each of its owner's first `steps` steps, with a pause before that step.
///
/// A thief looks at a word before it exchanges it. loom takes the exchange as a reason to try other orders with what came
/// last, which is that look; it does not go back to the owner's looks before. The pauses do.
fn explore<O: Owner>(
    preemptions: usize,
    entries: usize,
    steps: usize,
    client: impl Fn(Owned<O>, Stealer<Item>) + Copy + Send + Sync + 'static,
) {
    for pause in 0..=steps {
        model_bounded(preemptions, move || {
            let (owner, stealer) = O::build(entries);
            client(Owned { owner, pushed: 0, taken: Vec::new(), pause }, stealer);
        });
    }
}

impl<O: Owner> Owned<O> {
    fn step(&mut self) -> &mut O {
        match self.pause.checked_sub(1) {
            None => {}
            Some(0) => {
                self.pause = 0;
                thread::yield_now();
            }
            Some(left) => self.pause = left,
        }
        &mut self.owner
    }

    /// Pushes up to `count` items, numbered on.
    fn push(&mut self, count: usize) {
        for _ in 0..count {
            let number = self.pushed;
            self.pushed += usize::from(self.step().push(number));
        }
    }

    /// Pops up to `count` items.
    fn pop(&mut self, count: usize) {
        for _ in 0..count {
            let popped = self.step().pop();
            self.taken.extend(popped);
        }
    }

    fn share(&mut self) {
        self.step().share();
    }

    /// Pops what is left when the thieves are done. Everything was taken once.
    fn end<const THIEVES: usize>(mut self, thieves: [thread::JoinHandle<Vec<usize>>; THIEVES]) {
        for thief in thieves {
            self.taken.extend(thief.join().unwrap());
        }
        while let Some(number) = self.owner.pop() {
            self.taken.push(number);
        }
        self.taken.sort_unstable();
        assert!(self.taken.iter().copied().eq(0..self.pushed), "{:?} of {}", self.taken, self.pushed);
    }
}

/// A thread that tries to steal an item so many times.
fn thief(stealer: &Stealer<Item>, attempts: usize) -> thread::JoinHandle<Vec<usize>> {
    let stealer = stealer.clone();
    thread::spawn(move || (0..attempts).filter_map(|_| stealer.steal().ok()).map(|item| *item).collect())
}

/// A thread that tries to steal a block so many times.
fn batch_thief(stealer: &Stealer<Item>, attempts: usize) -> thread::JoinHandle<Vec<usize>> {
    let stealer = stealer.clone();
    thread::spawn(move || {
        let mut batch = Vec::new();
        for _ in 0..attempts {
            let before = batch.len();
            let count = stealer.steal_into(&mut batch, 2).unwrap_or(0);
            assert_eq!(batch.len(), before + count);
        }
        batch.into_iter().map(|item| *item).collect()
    })
}

/// Figure 4.8 of the thesis: blocks of two entries, three rounds of the owner, one steal, two steals. A preemption beside the pauses
/// makes it long, and two minutes with three blocks.
fn thesis_client<O: Owner>(preemptions: usize) {
    explore::<O>(preemptions, 2, 21, |mut owner, stealer| {
        let thieves = [thief(&stealer, 1), thief(&stealer, 2)];
        for (pushes, pops) in [(3, 2), (4, 3), (5, 4)] {
            owner.push(pushes);
            owner.pop(pops);
        }
        owner.end(thieves);
    });
}

/// A thief looks at a block, which the owner then takes over, fills again and leaves: the paper's thief took it for
/// exhausted, and what was in it was lost. With one entry, what is granted looks as it did before.
fn a_block_is_taken_over_and_granted_again<O: Owner>(entries: usize) {
    let most = (O::BLOCKS - 1) * entries + 1;
    explore::<O>(3, entries, 2 * most + O::BLOCKS * entries, move |mut owner, stealer| {
        let thieves = [thief(&stealer, 2)];
        owner.push(most);
        owner.pop(most);
        owner.push(O::BLOCKS * entries);
        owner.end(thieves);
    });
}

/// Two thieves and the owner meet at one block.
fn three_want_the_same<O: Owner>() {
    explore::<O>(2, 2, 5, |mut owner, stealer| {
        let thieves = [thief(&stealer, 1), thief(&stealer, 1)];
        owner.push(2);
        owner.share();
        owner.pop(2);
        owner.end(thieves);
    });
}

/// A block is shared, stolen from, taken back and filled up, with a thief still reading what it took.
fn a_shared_block_is_filled_up<O: Owner>() {
    explore::<O>(3, 2, 7, |mut owner, stealer| {
        let thieves = [thief(&stealer, 2)];
        for _ in 0..2 {
            owner.push(1);
            owner.share();
        }
        owner.push(2);
        owner.pop(1);
        owner.end(thieves);
    });
}

/// Blocks are stolen whole while the owner goes round.
fn batches<O: Owner>() {
    explore::<O>(2, 2, 2 * O::BLOCKS + 3, |mut owner, stealer| {
        let thieves = [batch_thief(&stealer, 1), thief(&stealer, 1)];
        owner.push(2 * O::BLOCKS);
        owner.pop(1);
        owner.push(2);
        owner.end(thieves);
    });
}

/// A block is used again after thieves have taken all of it, not while one of them is reading.
fn a_stolen_block_is_used_again<O: Owner>() {
    explore::<O>(2, 1, O::BLOCKS + 2, |mut owner, stealer| {
        let thieves = [thief(&stealer, 1), thief(&stealer, 1)];
        owner.push(O::BLOCKS + 2);
        owner.end(thieves);
    });
}

/// The owner leaves two items behind; a thief must not see the end before them.
fn the_end_comes_last<O: Owner>() {
    model_bounded(3, || {
        let (mut owner, stealer) = O::build(1);
        let thief = thread::spawn(move || {
            let mut taken = 0;
            loop {
                match stealer.steal() {
                    Ok(item) => taken += 1 + *item,
                    Err(StealError::Closed) => return taken,
                    Err(_) => thread::yield_now(),
                }
            }
        });
        assert!(owner.push(1) && owner.push(10));
        drop(owner);
        assert_eq!(thief.join().unwrap(), 1 + 1 + 1 + 10);
    });
}

/// Everybody leaves at once, with items left. Each is dropped once, as loom's `Arc` checks.
fn all_leave<O: Owner>() {
    model_bounded(3, || {
        let (mut owner, stealer) = O::build(2);
        assert!((0..4).all(|number| owner.push(number)));
        let thief = thief(&stealer, 1);
        drop(stealer);
        owner.pop();
        drop(owner);
        assert!(thief.join().unwrap().len() <= 1);
    });
}

/// What was shared before is found: a thief that is told so afterwards does not come away with nothing.
fn what_was_shared_before_is_found<O: Owner>() {
    model_bounded(3, || {
        let (mut owner, stealer) = O::build(1);
        assert!(owner.push(0));
        assert_eq!(owner.pop(), Some(0));
        let other = stealer.clone();
        let other = thread::spawn(move || other.steal().is_ok());
        assert!(owner.push(1) && owner.push(2));
        owner.share();
        assert_ne!(stealer.steal().err(), Some(StealError::Empty), "with an item that was shared");
        other.join().unwrap();
    });
}

models! {
    thesis_lifo: thesis_client::<Lifo>(0),
    thesis_fifo: thesis_client::<Fifo>(0),
    long_thesis_lifo: thesis_client::<Lifo>(1),
    again_1_lifo: a_block_is_taken_over_and_granted_again::<Lifo>(1),
    again_1_fifo: a_block_is_taken_over_and_granted_again::<Fifo>(1),
    again_2_lifo: a_block_is_taken_over_and_granted_again::<Lifo>(2),
    again_2_fifo: a_block_is_taken_over_and_granted_again::<Fifo>(2),
    three_lifo: three_want_the_same::<Lifo>(),
    three_fifo: three_want_the_same::<Fifo>(),
    shared_lifo: a_shared_block_is_filled_up::<Lifo>(),
    shared_fifo: a_shared_block_is_filled_up::<Fifo>(),
    batches_lifo: batches::<Lifo>(),
    batches_fifo: batches::<Fifo>(),
    reuse_lifo: a_stolen_block_is_used_again::<Lifo>(),
    reuse_fifo: a_stolen_block_is_used_again::<Fifo>(),
    end_lifo: the_end_comes_last::<Lifo>(),
    end_fifo: the_end_comes_last::<Fifo>(),
    leaving_lifo: all_leave::<Lifo>(),
    leaving_fifo: all_leave::<Fifo>(),
    found_lifo: what_was_shared_before_is_found::<Lifo>(),
    found_fifo: what_was_shared_before_is_found::<Fifo>(),
}

canaries! {
    canary_1: "bwos.1", "Causality violation", a_shared_block_is_filled_up::<Lifo>(),
    canary_1_fifo: "bwos.1", "Causality violation", a_shared_block_is_filled_up::<Fifo>(),
    canary_2: "bwos.2", "Causality violation", three_want_the_same::<Lifo>(),
    canary_2_again: "bwos.2", "Causality violation", a_block_is_taken_over_and_granted_again::<Lifo>(1),
    canary_2_again_fifo: "bwos.2", "Causality violation", a_block_is_taken_over_and_granted_again::<Fifo>(1),
    canary_2_thesis_fifo: "bwos.2", "Causality violation", thesis_client::<Fifo>(0),
    canary_3: "bwos.3", "Causality violation", a_stolen_block_is_used_again::<Lifo>(),
    canary_4: "bwos.4", "Causality violation", a_stolen_block_is_used_again::<Lifo>(),
    canary_4_fifo: "bwos.4", "Causality violation", a_stolen_block_is_used_again::<Fifo>(),
    canary_5: "bwos.5", "left == right", the_end_comes_last::<Lifo>(),
    canary_6: "bwos.6", "left == right", the_end_comes_last::<Lifo>(),
}
