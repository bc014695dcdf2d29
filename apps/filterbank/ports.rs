//! The kernels of the bank with several inputs or outputs.

use thalweg::prelude::*;
use thalweg::{Firing, ParallelKernel};

use super::bank::Bank;

/// Keeps one sample of each `bands`, puts zeros in place of the others, and gives all of them to two filters.
pub(super) struct Thin<'a> {
    pub(super) bands: usize,
    /// The sum of the squares of what was kept.
    pub(super) power: &'a mut f64,
    /// How many samples there were since the last one that was kept, and that one.
    pub(super) at: usize,
}

/// The ports of [`Thin`].
#[derive(Clone, Copy, Debug)]
pub(super) struct ThinPorts {
    pub(super) input: In<f32>,
    pub(super) first: Out<f32>,
    pub(super) second: Out<f32>,
}

impl Kernel for Thin<'_> {
    type Ports = ThinPorts;

    fn ports(&mut self, bind: &mut Binder<'_>) -> ThinPorts {
        ThinPorts { input: bind.input("in"), first: bind.output("first"), second: bind.output("second") }
    }

    fn run(&mut self, ports: &ThinPorts, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        while let Some(sample) = io.pop(ports.input) {
            let kept = if self.at == 0 { sample } else { 0.0 };
            self.at = (self.at + 1) % self.bands;
            *self.power += f64::from(kept) * f64::from(kept);
            io.push(ports.first, kept);
            io.push(ports.second, kept);
        }
        Ok(Flow::More)
    }
}

/// Takes a sample from both last filters of each band and gives one of sound.
pub(super) struct Add<'a> {
    pub(super) bank: &'a Bank,
}

/// The ports of [`Add`].
#[derive(Clone, Debug)]
pub(super) struct AddPorts {
    /// Two for each band.
    pub(super) inputs: Vec<In<f32>>,
    pub(super) sound: Out<f32>,
}

impl ParallelKernel for Add<'_> {
    type Ports = AddPorts;

    fn ports(&mut self, bind: &mut Binder<'_>) -> AddPorts {
        let inputs = (0..2 * self.bank.bands.len()).map(|input| bind.input(&format!("in {input}"))).collect();
        AddPorts { inputs, sound: bind.output("sound") }
    }

    fn fire(&self, ports: &AddPorts, firing: &mut Firing<'_>) -> Result<(), BoxError> {
        let sum = self.bank.sum(ports.inputs.iter().map(|&port| firing.take(port)));
        firing.push(ports.sound, sum);
        Ok(())
    }
}

/// Gives each sample to each band.
pub(super) struct Duplicate {
    pub(super) bands: usize,
}

/// The ports of [`Duplicate`].
#[derive(Clone, Debug)]
pub(super) struct DuplicatePorts {
    pub(super) samples: In<f32>,
    pub(super) copies: Vec<Out<f32>>,
}

impl ParallelKernel for Duplicate {
    type Ports = DuplicatePorts;

    fn ports(&mut self, bind: &mut Binder<'_>) -> DuplicatePorts {
        let copies = (0..self.bands).map(|band| bind.output(&format!("copy {band}"))).collect();
        DuplicatePorts { samples: bind.input("samples"), copies }
    }

    fn fire(&self, ports: &DuplicatePorts, firing: &mut Firing<'_>) -> Result<(), BoxError> {
        let sample = firing.take(ports.samples);
        ports.copies.iter().for_each(|&copy| firing.push(copy, sample));
        Ok(())
    }
}
