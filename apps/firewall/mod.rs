//! Sorts packets by whether their checksums are right.
//!
//! ```text
//!               ┌──> correct ──┐
//! packets >> check             │
//!    ^          └──> mistake ──┤
//!    └──────── free slots ─────┘
//! ```
//!
//! Check verifies the checksums of IPv4 and TCP, and sends a packet one way or the other: correct gets what is right or cannot
//! be verified, mistake what is wrong. Both verify TCP once more, note it, count, and send the slot back to be filled again. Without the way
//! back ([`Config::slots`]) slots come back by a free list.
//!
//! From the firewall of BLQ, table 1, whose way back has two producers: an edge from each here. There, the two counters are shared without
//! protection as soon as a kernel is cloned; here each belongs to its kernel. Check is one kernel with two outputs that runs on any number of cores.

pub mod reference;

use thalweg::prelude::*;
use thalweg::{Firing, ParallelKernel};

use crate::frames::Damage;
use crate::packets::{From, Packet, Refill, SLOTS, Slot, Slots, Supply, Tally, one_in_eight};
use crate::until_error::UntilError;
use crate::{Result, Watch};

/// What to sort, and how.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where packets come from. Of those that are made up, one of eight is wrong.
    pub from: From,
    /// Threads that check, for schemes that have threads for a kernel.
    pub checks: u32,
    /// So many slots go round. `None`: there is no way back, and as many as the edges have room for.
    pub slots: Option<usize>,
    /// How the graph runs.
    pub scheme: Scheme,
}

impl Config {
    /// As in the paper, with one thread that checks, 420 slots that go round, and the default scheme.
    pub fn new(from: From) -> Self {
        Self { from, checks: 1, slots: Some(SLOTS), scheme: Scheme::default() }
    }
}

/// What was sorted.
#[derive(Debug)]
pub struct Summary {
    /// Which packets went which way.
    pub sorted: Sorted,
    /// Where and why a capture could not be read further. What is before that was sorted.
    pub damage: Option<Damage>,
    /// What each kernel did.
    pub report: Report,
}

/// Packets by the way that they went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sorted {
    /// Those that are not known to be wrong.
    pub correct: Tally,
    /// Those with a wrong checksum.
    pub mistake: Tally,
}

/// Verifies both checksums, and tells which way the packet goes.
fn is_correct(packet: &mut Packet) -> bool {
    packet.check_ip();
    packet.check_tcp();
    !packet.ip.is_wrong() && !packet.tcp.is_wrong()
}

/// What both ways end with.
fn note(packet: &mut Packet, tally: &mut Tally) {
    packet.check_tcp();
    tally.add(packet);
}

/// What the kernel at the end of a way does, and gives.
fn noted(tally: &mut Tally) -> impl FnMut(Slot) -> Slot + Send {
    |mut packet| {
        note(&mut packet, tally);
        packet
    }
}

/// Sends packets one way or the other.
#[derive(Debug)]
struct Check;

#[derive(Clone, Copy, Debug)]
struct CheckPorts {
    packets: In<Slot>,
    correct: Out<Slot>,
    mistake: Out<Slot>,
}

impl ParallelKernel for Check {
    type Ports = CheckPorts;

    fn ports(&mut self, bind: &mut Binder<'_>) -> CheckPorts {
        let (correct, mistake) = (bind.output("correct"), bind.output("mistake"));
        CheckPorts { packets: bind.input("packets"), correct, mistake }
    }

    fn fire(&self, ports: &CheckPorts, firing: &mut Firing<'_>) -> Result<(), BoxError> {
        let mut packet = firing.take(ports.packets);
        let way = if is_correct(&mut packet) { ports.correct } else { ports.mistake };
        firing.push(way, packet);
        Ok(())
    }
}

/// Sorts.
///
/// ```
/// use thalweg_apps::firewall::{Config, run};
/// use thalweg_apps::packets::From;
/// let sorted = run(&Config::new(From::Made(800)), &())?.sorted;
/// assert_eq!((sorted.correct.packets, sorted.mistake.packets), (700, 100));
/// # Ok::<(), thalweg_apps::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Refused`](crate::Error::Refused) if the input is no capture of Ethernet frames, or for no slots;
/// [`Error::File`](crate::Error::File) if it cannot be opened.
pub fn run(config: &Config, watch: &dyn Watch) -> Result<Summary> {
    let supply = Supply::open(&config.from, one_in_eight, watch)?;
    let (mut sorted, mut damage) = (Sorted::default(), None);
    let Sorted { correct, mistake } = &mut sorted;
    let (mut correct, mut mistake) = (noted(correct), noted(mistake));
    let list = &Slots::default();

    let mut graph = Graph::new();
    let check = graph.add_parallel(Check);
    graph.name(check.packets, "check");
    match config.slots {
        None => {
            let packets = graph.source(UntilError::new(supply.into_slots(list), &mut damage));
            let right = graph.sink(move |packet: Slot| list.give(correct(packet)));
            let wrong = graph.sink(move |packet: Slot| list.give(mistake(packet)));
            graph.name(packets, "packets");
            graph.name(right, "correct");
            graph.name(wrong, "mistake");
            graph += (packets * 1 >> check.packets) * config.checks;
            graph += check.correct >> right;
            graph += check.mistake >> wrong;
        }
        Some(slots) => {
            let refill = graph.add(Refill::new(supply, slots, 2, &mut damage, graph.stopper())?);
            let (right, wrong) = (graph.map(correct), graph.map(mistake));
            graph.name(refill.filled, "packets");
            graph.name(right, "correct");
            graph.name(wrong, "mistake");
            graph += (refill.filled >> check.packets) * config.checks;
            graph += check.correct >> right.feedback() >> refill.free[0];
            graph += check.mistake >> wrong.feedback() >> refill.free[1];
        }
    }
    watch.started(graph.stopper());
    let report = graph.run(config.scheme)?;
    drop(graph);
    Ok(Summary { sorted, damage, report })
}
