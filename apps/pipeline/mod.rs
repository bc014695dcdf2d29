//! Verifies the checksums of packets in four stages.
//!
//! ```text
//! packets >> ip * 4 >> tcp * 4 >> sum
//!    ^                             │        with Config::recycle
//!    └──────── free slots ─────────┘
//! ```
//!
//! The first stage copies a packet into a slot, the second verifies the header checksum of IPv4, the third that of TCP, the
//! fourth adds up. With [`Config::recycle`] there is a fixed number of slots, and the last stage sends each back to the
//! first: a cycle, in which no more packets can be under way. Without it, the edges bound how many are.
//!
//! From the pipeline of BLQ, table 1, and of Virtual-Link, which has the return queue. There, checksums are a sum of two
//! fields of made-up headers; here they are those of the RFCs.

pub mod reference;

use thalweg::prelude::*;

use crate::frames::Damage;
use crate::packets::{From, SLOTS, Slot, Slots, Supply, Tally, complement};
use crate::until_error::UntilError;
use crate::{Error, Result, Watch};

/// What to verify, and how.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where packets come from.
    pub from: From,
    /// Threads for each of the two middle stages, for schemes that have threads for a kernel.
    pub fan_out: u32,
    /// So many slots go round. `None`: as many as the edges have room for.
    pub recycle: Option<usize>,
    /// How the graph runs.
    pub scheme: Scheme,
}

impl Config {
    /// As in BLQ, with the default scheme: four threads, and no return queue.
    pub fn new(from: From) -> Self {
        Self { from, fan_out: 4, recycle: None, scheme: Scheme::default() }
    }

    /// As [`new`](Self::new), with 420 slots that go round, as in the program that BLQ's is made from.
    pub fn recycling(from: From) -> Self {
        Self { recycle: Some(SLOTS), ..Self::new(from) }
    }
}

/// What was verified.
#[derive(Debug)]
pub struct Summary {
    /// The counts.
    pub tally: Tally,
    /// Where and why a capture could not be read further. What is before that was verified.
    pub damage: Option<Damage>,
    /// What each stage did.
    pub report: Report,
}

/// Verifies.
///
/// ```
/// use thalweg_apps::packets::From;
/// use thalweg_apps::pipeline::{Config, run};
/// let verified = run(&Config::recycling(From::Made(1_000)), &())?;
/// assert_eq!((verified.tally.ip_right, verified.tally.tcp_right), (1_000, 1_000));
/// # Ok::<(), thalweg_apps::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Refused`] if the input is no capture of Ethernet frames, or for no slots; [`Error::File`] if it cannot be
/// opened.
pub fn run(config: &Config, watch: &dyn Watch) -> Result<Summary> {
    if config.recycle == Some(0) {
        return Err(Error::Refused("without a slot no packet can be under way; take at least one".into()));
    }
    let mut supply = Supply::open(&config.from, complement, watch)?;
    let (mut tally, mut damage) = (Tally::default(), None);
    let slots = Slots::default();

    let mut graph = Graph::new();
    let ip = graph.parallel_update(|packet: &mut Slot| packet.check_ip());
    let tcp = graph.parallel_update(|packet: &mut Slot| packet.check_tcp());
    graph.name(ip, "ip");
    graph.name(tcp, "tcp");
    let middle = ip * config.fan_out >> tcp * config.fan_out;
    match config.recycle {
        None => {
            let (mut number, mut own) = (0, Vec::new());
            let slots = &slots;
            let filled = std::iter::from_fn(move || {
                let mut packet = slots.take(&mut own);
                number += 1;
                Some(supply.fill(&mut packet, number)?.map(|()| packet))
            });
            let packets = graph.source(UntilError::new(filled, &mut damage));
            let sum = graph.sink(|packet: Slot| {
                tally.add(&packet);
                slots.give(packet);
            });
            graph.name(packets, "packets");
            graph.name(sum, "sum");
            graph += packets >> middle >> sum;
        }
        Some(slots) => {
            let stopper = graph.stopper();
            let refill = graph.add(Refill {
                supply,
                number: 0,
                slots,
                made: 0,
                away: 0,
                ended: false,
                damage: &mut damage,
                stopper,
            });
            let sum = graph.map(|packet: Slot| {
                tally.add(&packet);
                packet
            });
            graph.name(refill.filled, "packets");
            graph.name(sum, "sum");
            graph += refill.filled >> middle >> sum.feedback() >> refill.free;
        }
    }
    watch.started(graph.stopper());
    let report = graph.run(config.scheme)?;
    drop(graph);
    Ok(Summary { tally, damage, report })
}

/// Fills slots that come back, and at first new ones. It stays until all slots are back: a kernel whose output nobody takes any more is over, and
/// the last stage still has packets to add.
struct Refill<'a> {
    supply: Supply<'a>,
    number: u64,
    /// How many slots there are, how many were made, and how many are under way.
    slots: usize,
    made: usize,
    away: usize,
    /// Whether no more packets come.
    ended: bool,
    damage: &'a mut Option<Damage>,
    /// In a cycle nobody else ends it.
    stopper: Stopper,
}

#[derive(Clone, Copy, Debug)]
struct RefillPorts {
    free: In<Slot>,
    filled: Out<Slot>,
}

impl Kernel for Refill<'_> {
    type Ports = RefillPorts;

    fn ports(&mut self, bind: &mut Binder<'_>) -> RefillPorts {
        RefillPorts { free: bind.input("free"), filled: bind.output("filled") }
    }

    fn run(&mut self, ports: &RefillPorts, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        while io.has_room(ports.filled) {
            let back = io.pop(ports.free);
            self.away -= usize::from(back.is_some());
            self.ended |= self.stopper.is_stopping();
            let mut packet = match back {
                _ if self.ended && self.away == 0 => return Ok(Flow::Done),
                Some(_) if self.ended => continue,
                Some(packet) => packet,
                None if self.made < self.slots && !self.ended => {
                    self.made += 1;
                    Slot::default()
                }
                None => return Ok(Flow::More),
            };
            self.number += 1;
            match self.supply.fill(&mut packet, self.number) {
                Some(Ok(())) => {
                    self.away += 1;
                    io.push(ports.filled, packet);
                }
                Some(Err(damage)) => {
                    *self.damage = Some(damage);
                    self.ended = true;
                }
                None => self.ended = true,
            }
        }
        Ok(Flow::More)
    }
}
