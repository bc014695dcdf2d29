//! The kernel of the radio with several inputs.

use thalweg::prelude::*;

use super::radio::{self, BANDS};

/// The filters before it.
pub(super) const FILTERS: usize = 2 * BANDS;

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
