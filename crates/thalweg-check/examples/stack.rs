//! Finds the ABA fault of a lock-free stack, and shows that a tag repairs it.
//!
//! `cargo run -p thalweg-check --example stack` prints the execution in which a node has two owners, then how many executions of the repaired stack
//! were seen: all that there are. Treiber's stack of nodes that are used again, by their numbers; a pop that is late takes the head for unchanged when its
//! node has been away meanwhile.

use thalweg_check::Check;
use thalweg_sync::atomic::AtomicU64;
use thalweg_sync::atomic::Ordering::SeqCst;
use thalweg_sync::sync::Arc;
use thalweg_sync::thread;

/// Node `n` is written as `n + 1`; above that is a tag, if there are tags.
const NONE: u64 = 0;
const NODE: u64 = 0xFF;

#[derive(Default)]
struct Stack {
    head: AtomicU64,
    next: [AtomicU64; 2],
    /// What is added to the tag by each change of the head.
    step: u64,
}

impl Stack {
    fn new(tagged: bool) -> Self {
        Self { step: if tagged { NODE + 1 } else { 0 }, ..Self::default() }
    }

    fn push(&self, node: usize) {
        loop {
            let head = self.head.load(SeqCst);
            self.next[node].store(head & NODE, SeqCst);
            let new = ((head & !NODE) + self.step) | (node as u64 + 1);
            if self.head.compare_exchange(head, new, SeqCst, SeqCst).is_ok() {
                return;
            }
        }
    }

    fn pop(&self) -> Option<usize> {
        loop {
            let head = self.head.load(SeqCst);
            if head & NODE == NONE {
                return None;
            }
            let node = (head & NODE) as usize - 1;
            // Another thread may pop this node here, and push it again onto another one.
            let new = ((head & !NODE) + self.step) | self.next[node].load(SeqCst);
            if self.head.compare_exchange(head, new, SeqCst, SeqCst).is_ok() {
                return Some(node);
            }
        }
    }
}

/// One thread pops; the other pops both nodes and pushes the first again. Each node then has one owner.
fn client(tagged: bool) -> impl Fn() + Send + Sync {
    move || {
        let stack = Arc::new(Stack::new(tagged));
        stack.push(1);
        stack.push(0);
        let other = thread::spawn({
            let stack = stack.clone();
            move || {
                let (first, second) = (stack.pop(), stack.pop());
                first.into_iter().for_each(|node| stack.push(node));
                second
            }
        });
        let mine = stack.pop();
        let theirs = other.join().expect("it does not panic");
        let mut owned: Vec<_> = mine.into_iter().chain(theirs).collect();
        // No more pops than there are nodes: a broken stack may be a ring.
        owned.extend((0..2).map_while(|_| stack.pop()));
        owned.sort_unstable();
        assert_eq!(owned, [0, 1], "each node has one owner");
    }
}

fn main() {
    match Check::new().run(client(false)) {
        Ok(explored) => println!("nothing is found: {explored}"),
        Err(violation) => println!("{violation}\n"),
    }
    let explored = Check::new().check(client(true));
    println!("with a tag it is right: {explored}");
}
