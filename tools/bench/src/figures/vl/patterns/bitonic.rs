//! Bitonic sort: a master hands out parts of the work, workers report back.
//!
//! The array is cut into blocks of 1024 numbers, as the paper's leaf tasks. A task sorts a block, or compares and swaps two
//! blocks number by number, or does the last steps of a merge within one. The master issues a step of a merge when the step
//! before it is done in both blocks, with at most 32 tasks under way.

use std::collections::VecDeque;

use thalweg_sync::cell::Slot;

use super::super::net::{Message, MessageReceiver, MessageSender, Net};
use super::{CAPACITY, Role, message, one, together};
use crate::lcg::Lcg;
use crate::worlds;
use crate::worlds::point::Figures;

const BLOCK: usize = 1024;
/// Tasks under way at most.
const UNDER_WAY: usize = 32;
/// Cycles for a comparison and a swap.
const SWAP: u64 = 2;
/// The words of a task: what, first block, second block, direction.
const SORT: u64 = 0;
const SWAP_BLOCKS: u64 = 1;
const FINISH: u64 = 2;
const STOP: u64 = 3;

type Block = [u32; BLOCK];

/// The network's steps for an array of so many blocks: what each block has to go through, in order.
fn steps(blocks: usize) -> Vec<(usize, usize)> {
    // (merged blocks, distance): distance 0 is the step within a block.
    let merges = std::iter::successors(Some(2), |size| Some(size * 2)).take_while(|&size| size <= blocks);
    let all = merges.flat_map(|size| {
        let distances = std::iter::successors(Some(size / 2), |&distance| (distance > 0).then_some(distance / 2));
        distances.map(move |distance| (size, distance))
    });
    std::iter::once((1, 0)).chain(all).collect()
}

/// How many messages that takes: a task and a report for each pair of blocks, or block, of each step.
pub(crate) fn messages(blocks: usize) -> u64 {
    let tasks = steps(blocks).into_iter().map(|(_, distance)| if distance > 0 { blocks / 2 } else { blocks } as u64);
    2 * tasks.sum::<u64>()
}

/// Sorts `blocks` blocks with so many workers.
pub(crate) fn bitonic(net: &Net, blocks: usize, workers: usize) -> Figures {
    assert!(blocks.is_power_of_two() && blocks > 1);
    let mut random = Lcg::new();
    let array: Vec<Slot<Block>> =
        (0..blocks).map(|_| Slot::new(std::array::from_fn(|_| random.number(33) as u32))).collect();
    let array = &array;
    let (tasks, tasks_in) = net.messages(1, workers, CAPACITY);
    let (reports, reports_in) = net.messages(workers, 1, CAPACITY);
    let (tasks, reports_in) = (one(tasks), one(reports_in));
    let steps = steps(blocks);
    let master: Role<'_> = Box::new(move || direct(tasks, reports_in, &steps, blocks, workers));
    let worker = |(rx, tx): (MessageReceiver, MessageSender)| -> Role<'_> { Box::new(move || work(array, rx, tx)) };
    let roles = std::iter::once(master).chain(tasks_in.into_iter().zip(reports).map(worker)).collect();
    let figures = together(messages(blocks), roles);
    let mut last = 0;
    for block in array {
        block.with(|block| {
            // SAFETY: every thread has ended.
            for &number in unsafe { &*block } {
                assert!(last <= number, "the array is sorted");
                last = number;
            }
        });
    }
    figures
}

/// The master.
fn direct(
    mut tasks: MessageSender,
    mut reports: MessageReceiver,
    steps: &[(usize, usize)],
    blocks: usize,
    workers: usize,
) {
    // How many steps each block has behind it.
    let mut done = vec![0; blocks];
    let mut ready: VecDeque<Message> = (0..blocks).map(|block| task(steps, 0, block)).collect();
    let mut under_way = 0;
    while under_way > 0 || !ready.is_empty() {
        while under_way < UNDER_WAY
            && let Some(next) = ready.pop_front()
        {
            tasks(&next);
            under_way += 1;
        }
        let [what, first, second, ..] = reports();
        under_way -= 1;
        let finished = if what == SWAP_BLOCKS { vec![first, second] } else { vec![first] };
        for &block in &finished {
            done[block as usize] += 1;
        }
        for block in finished.into_iter().map(|block| block as usize) {
            let step = done[block];
            let Some(&(_, distance)) = steps.get(step) else { continue };
            let other = block ^ distance;
            // Whoever of the two comes last issues the pair.
            if distance == 0 || done[other] == step {
                ready.push_back(task(steps, step, block.min(other)));
            }
        }
    }
    assert!(done.iter().all(|&done| done == steps.len()));
    (0..workers).for_each(|_| tasks(&message(&[STOP])));
}

/// The task that brings `block` through a step; it is the lower one of a pair.
fn task(steps: &[(usize, usize)], step: usize, block: usize) -> Message {
    let (size, distance) = steps[step];
    // Blocks that are merged together go the same way, neighbours of them the other way; in the end all go up.
    let down = block / size % 2;
    let what = match (step, distance) {
        (0, _) => SORT,
        (_, 0) => FINISH,
        _ => SWAP_BLOCKS,
    };
    message(&[what, block as u64, (block + distance) as u64, down as u64])
}

/// A worker.
fn work(array: &[Slot<Block>], mut tasks: MessageReceiver, mut reports: MessageSender) {
    loop {
        let task = tasks();
        let [what, first, second, down, ..] = task;
        let (first, second, down) = (first as usize, second as usize, down == 1);
        match what {
            SORT => array[first].with_mut(|block| {
                // SAFETY: the master gives a block to one task at a time, and reports order them.
                unsafe { &mut *block }.sort_unstable_by(|a, b| if down { b.cmp(a) } else { a.cmp(b) });
                worlds::work(SWAP * BLOCK as u64 * 10);
            }),
            SWAP_BLOCKS => array[first].with_mut(|low| {
                array[second].with_mut(|high| {
                    // SAFETY: as above, for both; they are two blocks.
                    let (low, high) = unsafe { (&mut *low, &mut *high) };
                    low.iter_mut().zip(high).for_each(|(low, high)| order(low, high, down));
                    worlds::work(SWAP * BLOCK as u64);
                });
            }),
            FINISH => array[first].with_mut(|block| {
                // SAFETY: as above.
                merge(unsafe { &mut *block }, down);
                worlds::work(SWAP * BLOCK as u64 / 2 * 10);
            }),
            _ => return,
        }
        reports(&task);
    }
}

fn order(low: &mut u32, high: &mut u32, down: bool) {
    if (*low > *high) != down {
        std::mem::swap(low, high);
    }
}

/// The steps of a merge within a block.
fn merge(block: &mut Block, down: bool) {
    let mut distance = BLOCK / 2;
    while distance > 0 {
        for pair in block.chunks_mut(2 * distance) {
            let (low, high) = pair.split_at_mut(distance);
            low.iter_mut().zip(high).for_each(|(low, high)| order(low, high, down));
        }
        distance /= 2;
    }
}

#[cfg(all(test, feature = "machines"))]
mod tests {
    use super::*;

    #[test]
    fn the_network_has_its_steps() {
        assert_eq!(steps(4), [(1, 0), (2, 1), (2, 0), (4, 2), (4, 1), (4, 0)]);
    }
}
