//! The two kernels of the radio with several ports.

use thalweg::prelude::*;

use super::radio::{self, BANDS};

/// The filters between the two.
const FILTERS: usize = 2 * BANDS;

/// Gives every sample to each of the filters.
#[derive(Debug)]
pub(super) struct Duplicate;

/// The ports of [`Duplicate`].
#[derive(Clone, Copy, Debug)]
pub(super) struct DuplicatePorts {
    pub(super) samples: In<f32>,
    pub(super) copies: [Out<f32>; FILTERS],
}

impl Kernel for Duplicate {
    type Ports = DuplicatePorts;

    fn ports(&mut self, bind: &mut Binder<'_>) -> DuplicatePorts {
        let samples = bind.input("samples");
        DuplicatePorts { samples, copies: std::array::from_fn(|filter| bind.output(&format!("copy {filter}"))) }
    }

    fn run(&mut self, ports: &DuplicatePorts, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        while let Some(sample) = io.pop(ports.samples) {
            for copy in ports.copies {
                io.push(copy, sample);
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
