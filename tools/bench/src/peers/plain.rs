//! No framework, one thread: what the work itself costs.

use crate::machine::timed;
use crate::peers::Checked;
use crate::workloads::{Chain, Digest, Farm, FirChain, Text};

/// The chain as one loop.
pub fn chain(chain: Chain) -> Checked {
    let (check, timing) = timed(|| {
        let mut check = chain.check(0..chain.messages);
        chain.add_all(0..chain.messages, &mut check);
        check
    });
    chain.verify(&[check])?;
    Ok(timing)
}

/// Every filter in turn for each sample.
pub fn fir(chain: FirChain, right: &Digest) -> Checked {
    let (digest, timing) = timed(|| chain.reference());
    digest.verify(right, true)?;
    Ok(timing)
}

/// One stage after the other over 256 samples at a time: what a stream runtime does, without the runtime.
pub fn fir_in_batches(chain: FirChain, batch: usize, right: &Digest) -> Checked {
    let (digest, timing) = timed(|| {
        let mut filters = chain.filters();
        let mut source = chain.source();
        let mut digest = Digest::default();
        let mut samples: Vec<f64> = Vec::with_capacity(batch);
        loop {
            samples.clear();
            samples.extend(source.by_ref().take(batch));
            if samples.is_empty() {
                return digest;
            }
            for fir in &mut filters {
                samples.iter_mut().for_each(|sample| *sample = fir.step(*sample));
            }
            samples.iter().for_each(|sample| digest.add(sample.to_bits()));
        }
    });
    digest.verify(right, true)?;
    Ok(timing)
}

/// The farm's work, one message after the other.
pub fn farm(farm: Farm, right: &Digest) -> Checked {
    let (digest, timing) = timed(|| farm.reference());
    digest.verify(right, true)?;
    Ok(timing)
}

/// The search, one chunk after the other.
pub fn search(text: &Text) -> Checked {
    let finder = Text::finder();
    let (matches, timing) = timed(|| text.chunks().map(|chunk| Text::count(&finder, chunk)).sum());
    text.verify(matches)?;
    Ok(timing)
}
