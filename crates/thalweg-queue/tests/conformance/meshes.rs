//! Meshes of more than one ring have all their handles from the start. What is asked of clones holds for them, too, but for the answers
//! of a single handle: no producer reaches every consumer. What only a mesh does is in `tests/queues/mesh.rs`.

use crate::many::{PRODUCERS, in_order, leave_in_a_race, run};
use crate::queue::Token;
use thalweg_queue::{Park, Yield, research::mesh, wait::Wait};

/// One ring for each producer; the same, with one consumer for all; six rings.
const CONSUMERS: [usize; 3] = [PRODUCERS, 1, 2];

fn ends<W: Wait>(consumers: usize, wait: W) -> mesh::Ends<Token, W> {
    mesh::with_wait(PRODUCERS, consumers, 4, 16, wait).unwrap()
}

#[test]
fn each_producer_in_order() {
    for consumers in CONSUMERS {
        run(ends(consumers, Yield), in_order);
        run(ends(consumers, Park::new()), in_order);
    }
}

#[test]
fn last_consumers_leave_in_a_race() {
    for consumers in CONSUMERS {
        leave_in_a_race(16, || ends(consumers, Yield));
        leave_in_a_race(16, || ends(consumers, Park::new()));
    }
}
