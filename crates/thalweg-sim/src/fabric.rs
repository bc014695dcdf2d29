//! What a transfer costs: latency, and waiting for wires that others use.

use crate::machine::Machine;
use crate::protocol::{FoundAt, Transfer};
use crate::topology::Distance;

/// When the networks and the memories are free again.
#[derive(Clone, Debug)]
pub(crate) struct Fabric {
    dies: Vec<u64>,
    /// From each die to the others.
    links: Vec<u64>,
    memories: Vec<u64>,
}

/// Waits from `start` until `free`, and takes it for `cycles`.
fn occupy(free: &mut u64, start: u64, cycles: u64) -> u64 {
    let start = start.max(*free);
    *free = start + cycles;
    start
}

impl Fabric {
    pub(crate) fn new(dies: usize) -> Self {
        Self { dies: vec![0; dies], links: vec![0; dies], memories: vec![0; dies] }
    }

    /// A packet to or from a device, which takes the network of `die` for `cycles` from `start` on at the earliest. Returns
    /// when it begins.
    pub(crate) fn packet(&mut self, die: usize, start: u64, cycles: u64) -> u64 {
        occupy(&mut self.dies[die], start, cycles)
    }

    /// A transfer that a core of `die` asks for at `start`. Returns when it begins, and how long it then takes.
    pub(crate) fn carry(
        &mut self,
        machine: &Machine,
        die: usize,
        home: usize,
        transfer: &Transfer,
        start: u64,
    ) -> (u64, u64) {
        let (latency, distance) = match transfer.source {
            FoundAt::L1 => return (start, machine.latency.l1),
            FoundAt::L2 => return (start, machine.latency.l2),
            FoundAt::Sibling => return (start, machine.latency.sibling),
            FoundAt::Upgrade(distance) => (machine.distant(distance).upgrade, distance),
            FoundAt::Reclaim(distance) => {
                let way = machine.distant(distance);
                (way.reclaim.unwrap_or(way.upgrade), distance)
            }
            FoundAt::Llc(distance) => (machine.distant(distance).llc, distance),
            FoundAt::Cache(distance) => (machine.distant(distance).cache, distance),
            FoundAt::Memory(distance) => (machine.distant(distance).memory, distance),
        };
        let wires = &machine.interconnect;
        let mut start = occupy(&mut self.dies[die], start, wires.die);
        let mut latency = latency;
        let mut farthest = distance;
        if let Some((sharers, distance)) = transfer.invalidated {
            // The data and the invalidations travel at the same time.
            let upgrade = machine.distant(distance).upgrade + machine.cost.sharer * u64::from(sharers);
            latency = latency.max(upgrade);
            farthest = farthest.max(distance);
        }
        if farthest != Distance::Die {
            start = occupy(&mut self.links[die], start, wires.link);
        }
        if matches!(transfer.source, FoundAt::Memory(_)) {
            start = occupy(&mut self.memories[home], start, wires.memory);
        }
        if transfer.written_back > 0 {
            // Nobody waits for it, but the memory is busy.
            occupy(&mut self.memories[home], start, wires.memory * u64::from(transfer.written_back));
        }
        (start, latency)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn carry(fabric: &mut Fabric, source: FoundAt, invalidated: Option<(u32, Distance)>, start: u64) -> (u64, u64) {
        let machine = Machine::named("x86-88t").unwrap();
        fabric.carry(&machine, 0, 1, &Transfer { source, invalidated, written_back: 0 }, start)
    }

    #[test]
    fn the_farthest_part_decides() {
        let machine = Machine::named("x86-88t").unwrap();
        let (near, far) = (machine.distant(Distance::Die), machine.distant(Distance::System));
        let mut fabric = Fabric::new(2);
        assert_eq!(carry(&mut fabric, FoundAt::L1, None, 5), (5, machine.latency.l1));
        assert_eq!(carry(&mut fabric, FoundAt::Cache(Distance::Die), None, 100), (100, near.cache));
        assert_eq!(carry(&mut fabric, FoundAt::Memory(Distance::System), None, 200), (200, far.memory));
        let three = Some((3, Distance::System));
        assert_eq!(
            carry(&mut fabric, FoundAt::Llc(Distance::Die), three, 300),
            (300, far.upgrade + 3 * machine.cost.sharer)
        );
    }

    #[test]
    fn who_comes_while_the_wires_are_taken_waits() {
        let machine = Machine::named("x86-88t").unwrap();
        let mut fabric = Fabric::new(2);
        let source = FoundAt::Memory(Distance::System);
        let starts: Vec<_> = (0..3).map(|_| carry(&mut fabric, source, None, 0).0).collect();
        let link = machine.interconnect.link.max(machine.interconnect.memory);
        assert_eq!(starts, [0, link, 2 * link]);
    }
}
