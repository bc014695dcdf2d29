//! No framework: what the work itself costs.

use crate::machine::timed;
use crate::peers::Checked;
use crate::workloads::keyed::{Fan, Words};
use crate::workloads::{Chain, Digest, Farm, FirChain, Text, Turning};

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

/// Messages that turn slow, each thread every fourth: what those who know beforehand would do.
pub fn turning(turning: Turning) -> Checked {
    let (digest, timing) = timed(|| {
        let shares = std::thread::scope(|scope| {
            let share = |first: usize| {
                let own = (first as u64..turning.messages()).step_by(Turning::WORKERS);
                scope.spawn(move || own.map(|message| turning.work(message)).collect::<Vec<u64>>())
            };
            let threads: Vec<_> = (0..Turning::WORKERS).map(share).collect();
            threads.into_iter().map(|thread| thread.join().expect("it only sleeps")).collect::<Vec<_>>()
        });
        let place = |place: usize| shares[place % Turning::WORKERS][place / Turning::WORKERS];
        (0..turning.messages() as usize).map(place).collect::<Digest>()
    });
    turning.verify(&digest)?;
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

/// The fan in one loop, through vectors of 256 messages for each part.
pub fn fan(fan: Fan, right: &Digest) -> Checked {
    let (digest, timing) = timed(|| {
        let mut digest = Digest::default();
        let mut parts: [Vec<u64>; Fan::PARTS] = std::array::from_fn(|_| Vec::with_capacity(256));
        let mut source = Chain::source(0..fan.messages).peekable();
        while source.peek().is_some() {
            source.by_ref().take(256).for_each(|message| parts[Fan::part(message)].push(message));
            parts.iter_mut().for_each(|part| part.drain(..).for_each(|message| digest.add(message)));
        }
        digest
    });
    digest.verify(right, false)?;
    Ok(timing)
}

/// Counts the words, one after the other.
pub fn words(words: Words) -> Checked {
    let (counts, timing) = timed(|| Words::count(words.all()));
    words.verify(counts)?;
    Ok(timing)
}
