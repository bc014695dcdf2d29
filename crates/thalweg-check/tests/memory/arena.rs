//! A stack of indices into an array, and a free list of them: nodes come back without the heap. A tag tells an index from itself.

use super::{finds, passes};
use thalweg_sync::atomic::AtomicU64;
use thalweg_sync::atomic::Ordering::SeqCst;
use thalweg_sync::sync::Arc;
use thalweg_sync::thread;

const NODES: usize = 2;

/// A list of nodes by index, 0 for none. The upper half of a head is a tag, which is counted up if `TAGGED`.
struct Lists<const TAGGED: bool> {
    next: [AtomicU64; NODES + 1],
    stack: AtomicU64,
    free: AtomicU64,
}

impl<const TAGGED: bool> Lists<TAGGED> {
    fn replace(head: u64, node: u64) -> u64 {
        let tag = head >> 32;
        if TAGGED { (tag + 1) << 32 | node } else { node }
    }

    fn push(&self, list: &AtomicU64, node: u64) {
        loop {
            let head = list.load(SeqCst);
            self.next[node as usize].store(head & 0xffff_ffff, SeqCst);
            if list.compare_exchange(head, Self::replace(head, node), SeqCst, SeqCst).is_ok() {
                return;
            }
        }
    }

    fn pop(&self, list: &AtomicU64) -> Option<u64> {
        loop {
            let head = list.load(SeqCst);
            let node = head & 0xffff_ffff;
            if node == 0 {
                return None;
            }
            let next = self.next[node as usize].load(SeqCst);
            if list.compare_exchange(head, Self::replace(head, next), SeqCst, SeqCst).is_ok() {
                return Some(node);
            }
        }
    }
}

fn client<const TAGGED: bool>() {
    let lists = Arc::new(Lists::<TAGGED> {
        next: [0, 0, 1].map(AtomicU64::new),
        stack: AtomicU64::new(2),
        free: AtomicU64::new(0),
    });
    let other = thread::spawn({
        let lists = lists.clone();
        move || {
            let taken = [lists.pop(&lists.stack), lists.pop(&lists.stack)];
            taken.into_iter().flatten().for_each(|node| lists.push(&lists.free, node));
            if let Some(node) = lists.pop(&lists.free) {
                lists.push(&lists.stack, node);
            }
        }
    });
    let mine = lists.pop(&lists.stack);
    other.join().unwrap();
    let mut nodes = mine.into_iter().collect::<Vec<_>>();
    for list in [&lists.stack, &lists.free] {
        // One more than there are, if it is in two lists or in a circle.
        nodes.extend((0..=NODES).map_while(|_| lists.pop(list)));
    }
    nodes.sort_unstable();
    assert_eq!(nodes, [1, 2]);
}

#[test]
fn a_free_list_without_tags() {
    finds(client::<false>);
}

#[test]
fn a_free_list_with_tags() {
    passes(client::<true>);
}
