//! Michael and Scott's queue, whose nodes are freed under hazard pointers.

use super::{finds, is_use_after_free, passes};
use std::ptr::null_mut;
use thalweg_sync::atomic::AtomicPtr;
use thalweg_sync::atomic::Ordering::SeqCst;
use thalweg_sync::sync::Arc;
use thalweg_sync::thread;

#[derive(Default)]
struct Node {
    value: u32,
    next: AtomicPtr<Node>,
}

/// Two consumers, each with two hazard pointers, and a producer.
struct Queue {
    head: AtomicPtr<Node>,
    tail: AtomicPtr<Node>,
    hazards: [[AtomicPtr<Node>; 2]; 2],
}

impl Queue {
    fn new() -> Self {
        let first = Box::into_raw(Box::<Node>::default());
        Self { head: AtomicPtr::new(first), tail: AtomicPtr::new(first), hazards: Default::default() }
    }

    /// Of one producer: the tail is its own but for those that help it.
    fn push(&self, value: u32) {
        let node = Box::into_raw(Box::new(Node { value, next: AtomicPtr::new(null_mut()) }));
        let tail = self.tail.load(SeqCst);
        // SAFETY: the last node is freed by nobody, as it is a head with a next that is.
        unsafe { &*tail }.next.store(node, SeqCst);
        self.tail.store(node, SeqCst);
    }

    /// `looks`: whether the head is looked at again when the hazard pointer stands.
    fn pop(&self, me: usize, looks: bool) -> (Option<u32>, Option<*mut Node>) {
        loop {
            let head = self.head.load(SeqCst);
            self.hazards[me][0].store(head, SeqCst);
            if looks && self.head.load(SeqCst) != head {
                continue;
            }
            if head == self.tail.load(SeqCst) {
                return (None, None);
            }
            // SAFETY: it was the head when the hazard pointer stood, so it is freed by nobody, if `looks`.
            let next = unsafe { &*head }.next.load(SeqCst);
            self.hazards[me][1].store(next, SeqCst);
            if self.head.load(SeqCst) != head {
                continue;
            }
            // SAFETY: it was in the queue when its hazard pointer stood.
            let value = unsafe { &*next }.value;
            if self.head.compare_exchange(head, next, SeqCst, SeqCst).is_ok() {
                self.hazards[me].iter().for_each(|hazard| hazard.store(null_mut(), SeqCst));
                let used = |hazard: &AtomicPtr<Node>| hazard.load(SeqCst) == head;
                if self.hazards[1 - me].iter().any(used) {
                    return (Some(value), Some(head));
                }
                // SAFETY: it is out of the queue, and in no hazard pointer.
                drop(unsafe { Box::from_raw(head) });
                return (Some(value), None);
            }
        }
    }
}

struct Popped(Option<u32>, Option<*mut Node>);
// SAFETY: a node that is left is whose it is.
unsafe impl Send for Popped {}

fn client(looks: bool) -> impl Fn() + Send + Sync + Copy + 'static {
    move || {
        let queue = Arc::new(Queue::new());
        queue.push(1);
        queue.push(2);
        let other = thread::spawn({
            let queue = queue.clone();
            move || {
                let (value, left) = queue.pop(1, looks);
                Popped(value, left)
            }
        });
        let (one, left) = queue.pop(0, looks);
        // A node that comes back.
        queue.push(3);
        let Popped(two, more) = other.join().unwrap();
        let mut left = left.into_iter().chain(more).collect::<Vec<_>>();
        let (three, more) = queue.pop(0, true);
        left.extend(more);
        let mut got = [one, two, three].map(|value| value.expect("three were pushed"));
        assert!(got[2] == 3, "{got:?}");
        got.sort_unstable();
        assert_eq!(got, [1, 2, 3]);
        left.push(queue.head.load(SeqCst));
        // SAFETY: nobody else has them.
        left.into_iter().for_each(|node| drop(unsafe { Box::from_raw(node) }));
    }
}

#[test]
fn hazard_pointers() {
    passes(client(true));
}

#[test]
fn a_hazard_pointer_without_a_second_look() {
    let violation = finds(client(false));
    assert!(is_use_after_free(&violation), "{violation}");
}
