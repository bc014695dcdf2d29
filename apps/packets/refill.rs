//! A source of packets whose slots come back to it.

use thalweg::prelude::*;

use super::{Slot, Supply};
use crate::frames::Damage;
use crate::{Error, Result};

/// Fills slots that come back, and at first new ones. It stays until all slots are back: a kernel whose output nobody takes any more is over, and
/// the last kernels still have packets to count.
pub(crate) struct Refill<'a> {
    supply: Supply<'a>,
    number: u64,
    /// How many slots there are, how many were made, and how many are under way.
    slots: usize,
    made: usize,
    away: usize,
    /// How many kernels give slots back.
    ways: usize,
    /// Whether no more packets come.
    ended: bool,
    damage: &'a mut Option<Damage>,
    /// In a cycle nobody else ends it.
    stopper: Stopper,
}

impl<'a> Refill<'a> {
    /// With so many slots, which `ways` kernels give back.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] for no slots.
    pub(crate) fn new(
        supply: Supply<'a>,
        slots: usize,
        ways: usize,
        damage: &'a mut Option<Damage>,
        stopper: Stopper,
    ) -> Result<Self> {
        if slots == 0 {
            return Err(Error::Refused("without a slot no packet can be under way; take at least one".into()));
        }
        Ok(Self { supply, number: 0, slots, made: 0, away: 0, ways, ended: false, damage, stopper })
    }
}

/// The ports of [`Refill`].
#[derive(Clone, Debug)]
pub(crate) struct RefillPorts {
    /// One for each kernel that gives slots back.
    pub(crate) free: Vec<In<Slot>>,
    pub(crate) filled: Out<Slot>,
}

impl Kernel for Refill<'_> {
    type Ports = RefillPorts;

    fn ports(&mut self, bind: &mut Binder<'_>) -> RefillPorts {
        let free = (1..=self.ways).map(|way| bind.input(&format!("free {way}"))).collect();
        RefillPorts { free, filled: bind.output("filled") }
    }

    fn run(&mut self, ports: &RefillPorts, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        while io.has_room(ports.filled) {
            let back = ports.free.iter().find_map(|&port| io.pop(port));
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
