//! Treiber's stack, whose nodes are freed: under hazard pointers, and by epochs.

use super::{finds, passes};
use std::ptr::null_mut;
use thalweg_sync::atomic::Ordering::SeqCst;
use thalweg_sync::atomic::{AtomicBool, AtomicPtr};
use thalweg_sync::sync::Arc;
use thalweg_sync::thread;

struct Node {
    value: u32,
    next: *mut Node,
}

/// How the one thread that pops beside the one that frees is protected.
#[derive(Clone, Copy)]
enum Guard {
    /// By a hazard pointer, as long as it uses the node.
    Hazard,
    /// Which is given back before the exchange that depends on the node being the same.
    HazardEarly,
    /// By a flag: nothing is freed while it is up.
    Epoch,
    /// Which is taken down before the exchange.
    EpochEarly,
    /// The flag goes up when the head was read.
    EpochLate,
}

#[derive(Default)]
struct Stack {
    head: AtomicPtr<Node>,
    hazard: AtomicPtr<Node>,
    pinned: AtomicBool,
}

impl Stack {
    fn push(&self, value: u32) {
        let node = Box::into_raw(Box::new(Node { value, next: null_mut() }));
        let mut head = self.head.load(SeqCst);
        loop {
            // SAFETY: the node is not in the stack yet.
            unsafe { (*node).next = head };
            match self.head.compare_exchange(head, node, SeqCst, SeqCst) {
                Ok(_) => return,
                Err(newer) => head = newer,
            }
        }
    }

    /// Takes the newest node, `next` of which nobody frees: that is the caller's to know.
    fn exchange(&self, head: *mut Node, release: impl FnOnce()) -> bool {
        // SAFETY: the caller is protected, or alone frees.
        let next = unsafe { (*head).next };
        release();
        self.head.compare_exchange(head, next, SeqCst, SeqCst).is_ok()
    }

    /// Of the thread that frees: nobody frees what it looks at.
    fn pop_alone(&self) -> Option<*mut Node> {
        loop {
            let head = self.head.load(SeqCst);
            if head.is_null() {
                return None;
            }
            if self.exchange(head, || ()) {
                return Some(head);
            }
        }
    }

    fn pop(&self, guard: Guard) -> Option<*mut Node> {
        match guard {
            Guard::Hazard | Guard::HazardEarly => loop {
                let head = self.head.load(SeqCst);
                if head.is_null() {
                    return None;
                }
                self.hazard.store(head, SeqCst);
                if self.head.load(SeqCst) != head {
                    continue;
                }
                let early = || {
                    if matches!(guard, Guard::HazardEarly) {
                        self.hazard.store(null_mut(), SeqCst);
                    }
                };
                if self.exchange(head, early) {
                    self.hazard.store(null_mut(), SeqCst);
                    return Some(head);
                }
            },
            Guard::Epoch | Guard::EpochEarly | Guard::EpochLate => loop {
                let late = matches!(guard, Guard::EpochLate);
                if !late {
                    self.pinned.store(true, SeqCst);
                }
                let head = self.head.load(SeqCst);
                self.pinned.store(true, SeqCst);
                let early = || {
                    if matches!(guard, Guard::EpochEarly) {
                        self.pinned.store(false, SeqCst);
                    }
                };
                let done = head.is_null() || self.exchange(head, early);
                self.pinned.store(false, SeqCst);
                if done {
                    return Some(head).filter(|head| !head.is_null());
                }
            },
        }
    }

    /// Frees a node that is out of the stack, or leaves it to be freed in the end.
    fn retire(&self, node: *mut Node, left: &mut Vec<*mut Node>) {
        if self.hazard.load(SeqCst) == node || self.pinned.load(SeqCst) {
            left.push(node);
        } else {
            // SAFETY: it is out of the stack, and nobody is at it, if `Guard` is right.
            drop(unsafe { Box::from_raw(node) });
        }
    }
}

struct Left(Vec<*mut Node>);
// SAFETY: whoever has the list has the nodes.
unsafe impl Send for Left {}

fn client(guard: Guard) -> impl Fn() + Send + Sync + Copy + 'static {
    // SAFETY: who has popped a node has it.
    let value = |node: &*mut Node| unsafe { (**node).value };
    move || {
        let stack = Arc::new(Stack::default());
        stack.push(1);
        stack.push(2);
        let other = thread::spawn({
            let stack = stack.clone();
            move || {
                let taken = [stack.pop_alone(), stack.pop_alone()].into_iter().flatten().collect::<Vec<_>>();
                let got = taken.iter().map(value).collect::<Vec<_>>();
                let mut left = Vec::new();
                // The newest last, which is the one that comes back.
                taken.into_iter().rev().for_each(|node| stack.retire(node, &mut left));
                stack.push(3);
                (got, Left(left))
            }
        });
        let mine = stack.pop(guard);
        let (mut got, Left(mut left)) = other.join().unwrap();
        left.extend(mine);
        got.extend(mine.iter().map(value));
        while let Some(node) = stack.pop_alone() {
            got.push(value(&node));
            left.push(node);
        }
        got.sort_unstable();
        assert_eq!(got, [1, 2, 3]);
        // SAFETY: nobody else has them.
        left.into_iter().for_each(|node| drop(unsafe { Box::from_raw(node) }));
    }
}

#[test]
fn hazard_pointers() {
    passes(client(Guard::Hazard));
}

#[test]
fn a_hazard_pointer_that_is_given_back_early() {
    finds(client(Guard::HazardEarly));
}

#[test]
fn epochs() {
    passes(client(Guard::Epoch));
}

#[test]
fn an_epoch_that_ends_early_or_begins_late() {
    finds(client(Guard::EpochEarly));
    finds(client(Guard::EpochLate));
}

/// It is the address that comes back: without that, the exchange fails as it should.
#[test]
fn it_takes_reuse_to_see_aba() {
    thalweg_check::Check::new().reuse(0).check(client(Guard::HazardEarly));
}
