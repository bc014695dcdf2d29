//! The kernels of the radio with several inputs or outputs.

use thalweg::prelude::*;

use super::radio::{self, BANDS};

/// The filters before it.
pub(super) const FILTERS: usize = 2 * BANDS;

/// Demodulates each sample with the one before it, and gives what comes of it to each of the filters.
#[derive(Debug, Default)]
pub(super) struct Demodulate {
    before: Option<f32>,
}

/// The ports of [`Demodulate`].
#[derive(Clone, Copy, Debug)]
pub(super) struct DemodulatePorts {
    pub(super) samples: In<f32>,
    pub(super) copies: [Out<f32>; FILTERS],
}

impl Kernel for Demodulate {
    type Ports = DemodulatePorts;

    fn ports(&mut self, bind: &mut Binder<'_>) -> DemodulatePorts {
        let samples = bind.input("samples");
        DemodulatePorts { samples, copies: std::array::from_fn(|filter| bind.output(&format!("copy {filter}"))) }
    }

    fn run(&mut self, ports: &DemodulatePorts, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        while let Some(sample) = io.pop(ports.samples) {
            if let Some(before) = self.before.replace(sample) {
                let demodulated = radio::demodulate(&[before, sample]);
                ports.copies.iter().for_each(|&copy| io.push(copy, demodulated));
            }
        }
        Ok(Flow::More)
    }
}

/// Takes a sample from each of the filters and gives one of sound.
#[derive(Debug)]
pub(super) struct Equalize;

/// The ports of [`Equalize`].
#[derive(Clone, Copy, Debug)]
pub(super) struct EqualizePorts {
    pub(super) filtered: [In<f32>; FILTERS],
    pub(super) sound: Out<f32>,
}

impl Kernel for Equalize {
    type Ports = EqualizePorts;

    fn ports(&mut self, bind: &mut Binder<'_>) -> EqualizePorts {
        let filtered = std::array::from_fn(|filter| bind.input(&format!("filtered {filter}")));
        EqualizePorts { filtered, sound: bind.output("sound") }
    }

    fn run(&mut self, ports: &EqualizePorts, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        while ports.filtered.iter().all(|&port| io.has(port, 1)) {
            let mut filtered = [0.0; FILTERS];
            for (sample, port) in filtered.iter_mut().zip(ports.filtered) {
                // Nothing comes, though it was there, once the run is cancelled.
                let Some(popped) = io.pop(port) else { return Ok(Flow::Done) };
                *sample = popped;
            }
            io.push(ports.sound, radio::equalize(&filtered));
        }
        Ok(Flow::More)
    }
}
