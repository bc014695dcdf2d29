//! The kernels of the radio with several inputs or outputs.

use thalweg::prelude::*;
use thalweg::{Firing, ParallelKernel};

use super::radio::{self, BANDS};

/// The filters before it.
pub(super) const FILTERS: usize = 2 * BANDS;

/// Demodulates each sample with the one before it, and gives what comes of it to each of the filters.
#[derive(Debug)]
pub(super) struct Demodulate;

/// The ports of [`Demodulate`].
#[derive(Clone, Copy, Debug)]
pub(super) struct DemodulatePorts {
    pub(super) samples: In<f32>,
    pub(super) copies: [Out<f32>; FILTERS],
}

impl ParallelKernel for Demodulate {
    type Ports = DemodulatePorts;

    fn ports(&mut self, bind: &mut Binder<'_>) -> DemodulatePorts {
        let samples = bind.input_window("samples", 2, 1);
        DemodulatePorts { samples, copies: std::array::from_fn(|filter| bind.output(&format!("copy {filter}"))) }
    }

    fn fire(&self, ports: &DemodulatePorts, firing: &mut Firing<'_>) -> Result<(), BoxError> {
        let demodulated = radio::demodulate(firing.slice(ports.samples));
        ports.copies.iter().for_each(|&copy| firing.push(copy, demodulated));
        Ok(())
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

impl ParallelKernel for Equalize {
    type Ports = EqualizePorts;

    fn ports(&mut self, bind: &mut Binder<'_>) -> EqualizePorts {
        let filtered = std::array::from_fn(|filter| bind.input(&format!("filtered {filter}")));
        EqualizePorts { filtered, sound: bind.output("sound") }
    }

    fn fire(&self, ports: &EqualizePorts, firing: &mut Firing<'_>) -> Result<(), BoxError> {
        let mut filtered = [0.0; FILTERS];
        for (value, &port) in filtered.iter_mut().zip(&ports.filtered) {
            *value = firing.take(port);
        }
        firing.push(ports.sound, radio::equalize(&filtered));
        Ok(())
    }
}
