//! Packets through four stages, and back to the first in a fifth channel: never more than 56 are under way.
//!
//! What travels is the number of a packet, up to seven at a time; its header is two lines that each stage reads and writes.

use thalweg_sync::CachePadded;
use thalweg_sync::atomic::AtomicUsize;
use thalweg_sync::atomic::Ordering::{Acquire, Release};
use thalweg_sync::cell::Slot;
use thalweg_sync::spin;

use super::super::net::{Net, Receiver, Sender};
use super::{CAPACITY, Role, one, together};
use crate::worlds::point::Figures;

/// Packets that there are.
const POOL: u64 = 56;
/// Packets that travel together at most.
const BULK: usize = 7;
/// Threads of each of the two middle stages.
const WIDTH: usize = 4;
/// In the place of a packet: the end.
const END: u64 = POOL;

/// What the stages look at: addresses and the sum over them, ports and the sum over them.
type Header = [u64; 16];

/// What is there, at least one, at most [`BULK`].
fn bulk(rx: &mut Receiver) -> Vec<u64> {
    let mut words = vec![rx.receive()];
    while words.len() < BULK
        && *words.last().expect("it has one") != END
        && let Some(word) = rx.at_hand()
    {
        words.push(word);
    }
    words
}

/// A stage's threads leave one after the other, so that each gets one word that says so.
struct Leaving(CachePadded<AtomicUsize>);

impl Leaving {
    fn new() -> Self {
        Self(CachePadded(AtomicUsize::new(0)))
    }

    /// Sends one end and waits until a thread has left.
    fn one(&self, tx: &mut Sender) {
        let before = self.0.load(Acquire);
        tx.send(END);
        tx.flush();
        spin::until(|| (self.0.load(Acquire) > before).then_some(()));
    }

    /// How many have left before.
    fn left(&self) -> usize {
        self.0.fetch_add(1, Release)
    }

    fn so_far(&self) -> usize {
        self.0.load(Acquire)
    }
}

/// So many packets.
pub(crate) fn pipeline(net: &Net, packets: u64) -> Figures {
    let headers: Vec<Slot<Header>> = (0..POOL).map(|_| Slot::new([0; 16])).collect();
    let headers = &headers;
    let leaving = [Leaving::new(), Leaving::new()];
    let leaving = &leaving;
    let (to_first, first_in) = net.words(1, WIDTH, CAPACITY);
    let (to_second, second_in) = net.words(WIDTH, WIDTH, CAPACITY);
    let (to_last, last_in) = net.words(WIDTH, 1, CAPACITY);
    let (back, back_in) = net.words(1, 1, CAPACITY);
    let (mut to_first, mut last_in, mut back, mut back_in) = (one(to_first), one(last_in), one(back), one(back_in));
    let last: Role<'_> = Box::new(move || {
        let mut seen = 0;
        let mut right = 0;
        while seen < packets {
            let bulk = bulk(&mut last_in);
            for &packet in &bulk {
                // SAFETY: a packet's number is in one place at a time, and channels order what was done to it.
                right += headers[packet as usize].with(|header| unsafe { (*header)[2] + (*header)[10] });
                back.send(packet);
            }
            back.flush();
            seen += bulk.len() as u64;
        }
        assert_eq!(right, 2 * packets, "both stages have found every packet right");
    });
    let source: Role<'_> = Box::new(move || {
        let mut empty: Vec<u64> = (0..POOL).rev().collect();
        let mut sent = 0;
        while sent < packets {
            if empty.is_empty() {
                empty = bulk(&mut back_in);
            }
            let now = empty.len().min(BULK).min((packets - sent) as usize);
            for packet in empty.drain(empty.len() - now..) {
                headers[packet as usize].with_mut(|header| {
                    // SAFETY: as above.
                    let header = unsafe { &mut *header };
                    (header[0], header[1], header[2]) = (sent, !sent, sent ^ !sent);
                    (header[8], header[9], header[10]) = (sent, packets, sent ^ packets);
                });
                to_first.send(packet);
                sent += 1;
            }
            to_first.flush();
        }
        // What comes back now has to be taken, or the stages could not go on.
        let mut left = POOL - empty.len() as u64;
        while left > 0 {
            left -= bulk(&mut back_in).len() as u64;
        }
        (0..WIDTH).for_each(|_| leaving[0].one(&mut to_first));
    });
    // A stage checks a sum over two words that begin at `at`, and writes whether it was right.
    let stage = |at: usize, number: usize, mut rx: Receiver, mut tx: Sender| -> Role<'_> {
        Box::new(move || {
            loop {
                let bulk = bulk(&mut rx);
                for &packet in bulk.iter().filter(|&&packet| packet != END) {
                    headers[packet as usize].with_mut(|header| {
                        // SAFETY: as above.
                        let header = unsafe { &mut *header };
                        header[at + 2] = u64::from(header[at] ^ header[at + 1] == header[at + 2]);
                    });
                    tx.send(packet);
                }
                tx.flush();
                if bulk.contains(&END) {
                    // The last of the first ones tells all of the second ones: one end may take its channels in turn.
                    if number == 0 && leaving[0].so_far() == WIDTH - 1 {
                        (0..WIDTH).for_each(|_| leaving[1].one(&mut tx));
                    }
                    leaving[number].left();
                    return;
                }
            }
        })
    };
    let mut roles = vec![last, source];
    roles.extend(first_in.into_iter().zip(to_second).map(|(rx, tx)| stage(0, 0, rx, tx)));
    roles.extend(second_in.into_iter().zip(to_last).map(|(rx, tx)| stage(8, 1, rx, tx)));
    together(packets * 5, roles)
}
