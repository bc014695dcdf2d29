//! Data parallelism with rayon: not a pipeline, but what one would take where the source is a range or a slice.
//!
//! The pool is started before the clock.

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::harness::BoxError;
use crate::machine::{cpus, timed};
use crate::peers::Checked;
use crate::workloads::keyed::{Counts, Words};
use crate::workloads::{Chain, Check, Digest, Farm, Text, Turning};

fn pool() -> Result<ThreadPool, BoxError> {
    Ok(ThreadPoolBuilder::new().num_threads(cpus().len()).build()?)
}

/// The chain as one fused function over ranges, sixteen for each CPU.
pub fn chain(chain: Chain) -> Checked {
    let pool = pool()?;
    let parts = 16 * cpus().len() as u64;
    let share = |part: u64| chain.messages * part / parts;
    let (checks, timing) = timed(|| {
        pool.install(|| {
            let part = |part: u64| -> Check {
                let range = share(part)..share(part + 1);
                let mut check = chain.check(range.clone());
                chain.add_all(range, &mut check);
                check
            };
            (0..parts).into_par_iter().map(part).collect::<Vec<Check>>()
        })
    });
    chain.verify(&checks)?;
    Ok(timing)
}

/// The farm: results collected in order, then taken one by one.
pub fn farm(farm: Farm, right: &Digest) -> Checked {
    let pool = pool()?;
    let (digest, timing) = timed(|| {
        let results: Vec<u64> = pool.install(|| (0..farm.messages).into_par_iter().map(Farm::work).collect());
        results.into_iter().collect::<Digest>()
    });
    digest.verify(right, true)?;
    Ok(timing)
}

/// Messages that turn slow.
pub fn turning(turning: Turning) -> Checked {
    let pool = ThreadPoolBuilder::new().num_threads(Turning::WORKERS).build()?;
    let (digest, timing) = timed(|| {
        let work = |message| turning.work(message);
        let results: Vec<u64> = pool.install(|| (0..turning.messages()).into_par_iter().map(work).collect());
        results.into_iter().collect::<Digest>()
    });
    turning.verify(&digest)?;
    Ok(timing)
}

/// The search over the same chunks.
pub fn search(text: &Text) -> Checked {
    let pool = pool()?;
    let finder = Text::finder();
    let chunks: Vec<&[u8]> = text.chunks().collect();
    let (matches, timing) =
        timed(|| pool.install(|| chunks.par_iter().map(|chunk| Text::count(&finder, chunk)).sum::<u64>()));
    text.verify(matches)?;
    Ok(timing)
}

/// Counts the words: a table for each piece of the range, added up in pairs.
pub fn words(words: Words) -> Checked {
    let pool = pool()?;
    let (counts, timing) = timed(|| {
        pool.install(|| {
            let count = |mut counts: Counts, place| {
                *counts.entry(Words::at(place)).or_default() += 1;
                counts
            };
            let add = |one: Counts, other: Counts| {
                let (mut most, rest) = if one.len() < other.len() { (other, one) } else { (one, other) };
                rest.into_iter().for_each(|(word, count)| *most.entry(word).or_default() += count);
                most
            };
            (0..words.messages).into_par_iter().fold(Counts::default, count).reduce(Counts::default, add)
        })
    });
    words.verify(counts)?;
    Ok(timing)
}
