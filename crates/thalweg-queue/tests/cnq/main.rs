//! What CNQ promises beyond what every queue does (`conformance`): k-FIFO with many handles, over every tube, with threads that
//! pause, and in schedules drawn by seed.
#![cfg(not(loom))]

mod fuzz;
mod history;
mod order;
mod pauses;
mod waiting;

use thalweg_queue::research::faaq::{Bbq, Faaq};
use thalweg_queue::research::tube::{ring, scqd::Scqd};

fn scqd(capsules: usize) -> Scqd<u32> {
    Scqd::new(capsules).unwrap()
}

fn mt(capsules: usize) -> ring::Mt<u32> {
    ring::Mt::new(capsules).unwrap()
}

fn rts(capsules: usize) -> ring::Rts<u32> {
    ring::Rts::new(capsules).unwrap()
}

fn hts(capsules: usize) -> ring::Hts<u32> {
    ring::Hts::new(capsules).unwrap()
}

fn faaq(capsules: usize) -> Faaq<u32> {
    Faaq::new(2, capsules).unwrap()
}

/// Blocks of one, so that every index that goes through begins one.
fn bbq(capsules: usize) -> Bbq<u32> {
    Bbq::new(capsules.next_power_of_two(), 1).unwrap()
}
