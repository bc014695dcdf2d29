//! `applications/native`: every application beside its sequential program, on input that is made up.
//!
//! The sequential program is no pipeline of stages, so it is a bound. That no application is slower than its own, and that those which are
//! farms come near twice as fast on two cores, is read from the ratios.

use std::fmt::Debug;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use serde_json::json;
use thalweg::Scheme;
use thalweg_apps::edges::synthetic::network;
use thalweg_apps::packets::From;
use thalweg_apps::pictures::{Input, Picture};
use thalweg_apps::{
    bc, chasing, dc, fft, filterbank, fir, firewall, fm, frames, gaussian, incast, mergesort, outcast, pipeline,
    search, srad, tc, tde,
};

use crate::harness::{BoxError, Contender, Effort, Experiment, Group, Role::*, Sample};
use crate::machine::{cpus, timed};

/// The entry for the registry.
pub const EXPERIMENT: Experiment = Experiment { name: "applications/native", plan };

/// Pixels on a side of the papers' pictures.
const SIDE: u64 = 512;
/// Lines in the papers' table to chase through.
const LINES: u64 = 524_288;

/// The group of one application. `run` gives what both programs give, by a scheme or, without one, sequentially.
fn group<T: Debug + PartialEq + Send + Sync + 'static>(
    workload: &'static str,
    size: u64,
    run: impl Fn(Option<Scheme>) -> Result<T, BoxError> + Send + Sync + 'static,
) -> Group {
    let (run, expected) = (Arc::new(run), Arc::new(OnceLock::new()));
    let contender = |role, name: &str, threads: &str, scheme: Option<Scheme>| {
        let (run, expected) = (Arc::clone(&run), Arc::clone(&expected));
        Contender::new(role, name, json!({ "size": size, "threads": threads }), move || {
            if expected.get().is_none() {
                // Of two that are here at the same time, one is kept; they are the same.
                _ = expected.set(run(None)?);
            }
            let (given, timing) = timed(|| run(scheme));
            let (given, expected) = (given?, expected.get());
            if expected != Some(&given) {
                return Err(format!("{workload} gave {given:?}, and its sequential program {expected:?}").into());
            }
            Ok(Sample::millis(timing))
        })
    };
    let contenders = vec![
        contender(Ours, "thalweg", "default", Some(Scheme::default())),
        contender(Ours, "thalweg, 1 worker", "1", Some(Scheme::default().workers(1))),
        contender(Bound, "sequential", "1", None),
    ];
    let mut group = Group::new(workload, &["ms"], contenders);
    group.ideal_from = Some(("sequential", cpus().len()));
    group
}

fn plan(effort: &Effort) -> Result<Vec<Group>, BoxError> {
    Ok([casts(effort), packets(effort)?, networks(effort)?, sounds(effort), records(effort)?, pictures(effort)]
        .into_iter()
        .flatten()
        .collect())
}

fn casts(effort: &Effort) -> Vec<Group> {
    let (bursts, chased) = (effort.messages(200_000), effort.messages(1_000_000));
    // What is cut down for a first look is how much is done, not on what.
    let lines = effort.messages(4 * LINES).min(LINES) as usize;
    vec![
        group("incast", bursts, move |scheme| {
            let config = incast::Config::new(bursts);
            Ok(match scheme {
                Some(scheme) => incast::run(&incast::Config { scheme, ..config }, &())?.received,
                None => incast::reference::receive(&config),
            })
        }),
        group("outcast", bursts, move |scheme| {
            let config = outcast::Config::new(bursts);
            Ok(match scheme {
                Some(scheme) => outcast::run(&outcast::Config { scheme, ..config }, &())?.received,
                None => outcast::reference::receive(&config),
            })
        }),
        group("chasing", chased, move |scheme| {
            let config = chasing::Config { lines, ..chasing::Config::new(chased) };
            Ok(match scheme {
                Some(scheme) => chasing::run(&chasing::Config { scheme, ..config }, &())?.passed,
                None => chasing::reference::chase(&config)?,
            })
        }),
    ]
}

fn packets(effort: &Effort) -> Result<Vec<Group>, BoxError> {
    let packets = effort.messages(2_000_000);
    let folder = tempfile::tempdir()?;
    let path = |name: &str| -> PathBuf { folder.path().join(name) };
    frames::synthetic::capture(packets / 4, &mut fs::File::create(path("in.pcap"))?)?;
    let mut forward = frames::Config::new(path("in.pcap"), "/dev/null");
    forward.rules.keep.push("udp".parse()?);
    forward.rules.rewrite.source.push("10.0.0.1=192.168.0.1".parse()?);
    Ok(vec![
        group("pipeline", packets, move |scheme| {
            let config = pipeline::Config::new(From::Made(packets));
            Ok(match scheme {
                Some(scheme) => pipeline::run(&pipeline::Config { scheme, ..config }, &())?.tally,
                None => pipeline::reference::verify(&config)?,
            })
        }),
        group("firewall", packets, move |scheme| {
            let config = firewall::Config::new(From::Made(packets));
            Ok(match scheme {
                Some(scheme) => firewall::run(&firewall::Config { scheme, ..config }, &())?.sorted,
                None => firewall::reference::sort(&config)?,
            })
        }),
        group("frames", packets / 4, move |scheme| {
            // The folder is there as long as this is.
            let _ = &folder;
            Ok(match scheme {
                Some(scheme) => frames::run(&frames::Config { scheme, ..forward.clone() }, &())?.counts,
                None => frames::reference(&forward)?.0,
            })
        }),
    ])
}

fn networks(effort: &Effort) -> Result<Vec<Group>, BoxError> {
    let (large, small) = (effort.messages(100_000), effort.messages(4_000));
    let many = Arc::new(network(large, 15 * large)?);
    let (degrees, few) = (Arc::clone(&many), network(small, 15 * small)?);
    Ok(vec![
        group("tc", large, move |scheme| {
            Ok(match scheme {
                Some(scheme) => tc::run(&many, &tc::Config { scheme, ..tc::Config::default() }, &())?.triangles,
                None => tc::reference::count(&many),
            })
        }),
        group("dc", large, move |scheme| {
            Ok(match scheme {
                Some(scheme) => dc::run(&degrees, &dc::Config { scheme, ..dc::Config::default() }, &())?.degrees,
                None => dc::reference::count(&degrees),
            })
        }),
        group("bc", small, move |scheme| {
            // Some of the sources, so that a run ends in time.
            let config = bc::Config { sources: Some(1_000), ..bc::Config::default() };
            Ok(match scheme {
                Some(scheme) => bc::run(&few, &bc::Config { scheme, ..config }, &())?.centrality,
                None => bc::reference::centrality(&few, &config),
            })
        }),
    ])
}

fn sounds(effort: &Effort) -> Vec<Group> {
    let (filtered, banded) = (effort.messages(1_000_000), effort.messages(400_000));
    let (received, spectra, blocks) =
        (effort.messages(4_000_000).max(1_000), effort.messages(200_000), effort.messages(4_000));
    vec![
        group("fir", filtered, move |scheme| {
            let config = fir::Config::new(fir::Input::Random(filtered));
            Ok(match scheme {
                Some(scheme) => fir::run(&fir::Config { scheme, ..config }, &())?.after,
                None => fir::reference::filter(&config, |_| ())?,
            })
        }),
        group("filterbank", banded, move |scheme| {
            let input = filterbank::Input::Benchmark { samples: banded };
            let config = filterbank::Config::new(input, None);
            let bank = filterbank::bank::Bank::new(config.size, filterbank::Form::Benchmark, &[])?;
            Ok(match scheme {
                Some(scheme) => filterbank::run(&filterbank::Config { scheme, ..config }, &())?.sound,
                None => {
                    let samples: Vec<f32> = filterbank::bank::benchmark(banded).collect();
                    filterbank::bank::reference(&samples, &bank).len() as u64
                }
            })
        }),
        group("fm", received, move |scheme| {
            let config = fm::Config::new(fm::Input::Benchmark { samples: received }, None);
            Ok(match scheme {
                Some(scheme) => fm::run(&fm::Config { scheme, ..config }, &())?.sound,
                None => fm::radio::reference(&fm::synthetic::ramp(received).collect::<Vec<_>>()).len() as u64,
            })
        }),
        group("fft", spectra, move |scheme| {
            let config = fft::Config::new(fft::Input::Counter { blocks: spectra }, None);
            let number = |number: u64| [number % 1_001, (number + 1) % 1_001].map(|part| part as f32);
            Ok(match scheme {
                Some(scheme) => fft::run(&fft::Config { scheme, ..config }, &())?.spectra,
                None => {
                    let samples: Vec<_> = (0..2 * 64 * spectra).step_by(2).map(number).collect();
                    fft::transform::reference(&samples, 64)?.len() as u64 / 64
                }
            })
        }),
        group("tde", blocks, move |scheme| {
            let config = tde::Config::new(tde::Input::MadeUp { blocks }, None);
            let block = config.size.block() as u64;
            Ok(match scheme {
                Some(scheme) => tde::run(&tde::Config { scheme, ..config }, &())?.blocks,
                None => {
                    let samples: Vec<f32> = tde::synthetic::sound(blocks * block).collect();
                    tde::stages::reference(&samples, config.size, config.input.gain())?.len() as u64 / block
                }
            })
        }),
    ]
}

fn records(effort: &Effort) -> Result<Vec<Group>, BoxError> {
    let (sorted, repetitions) = (effort.messages(8_000_000), effort.messages(400));
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("numbers");
    mergesort::synthetic::write(mergesort::Form::Integers, sorted, &file)?;
    Ok(vec![
        group("mergesort", sorted, move |scheme| {
            // The folder is there as long as this is.
            let _ = &folder;
            let input = mergesort::Input::Files(vec![file.clone()]);
            let config = mergesort::Config::new(mergesort::Form::Integers, input, None);
            Ok(match scheme {
                Some(scheme) => mergesort::run(&mergesort::Config { scheme, ..config }, &())?.bytes,
                None => mergesort::reference(mergesort::Form::Integers, &fs::read(&file)?).len() as u64,
            })
        }),
        group("search", repetitions, move |scheme| {
            let config = search::paper::Config::new(repetitions);
            Ok(match scheme {
                Some(scheme) => search::paper::run(&search::paper::Config { scheme, ..config }, &())?.found,
                None => search::paper::reference(&config)?,
            })
        }),
    ])
}

fn pictures(effort: &Effort) -> Vec<Group> {
    let (smoothed, cleaned, side) =
        (effort.messages(64), effort.messages(64), effort.messages(4 * SIDE).min(SIDE) as usize);
    let made_up = move |count| Input::MadeUp { count, side };
    // Of one channel and of four, as the applications make them up.
    let grey = move |seed: u64| {
        let picture = srad::speckle::picture(seed, side, side);
        let values = picture.values.iter().copied().step_by(3).collect();
        Picture { channels: 1, values, ..picture }
    };
    let opaque = move |seed: u64| {
        let picture = gaussian::synthetic::picture(seed, side, side);
        let values = picture.values.chunks_exact(3).flat_map(|rgb| [rgb[0], rgb[1], rgb[2], u16::MAX]).collect();
        Picture { channels: 4, values, ..picture }
    };
    vec![
        group("gaussian", smoothed, move |scheme| {
            let config = gaussian::Config::new(made_up(smoothed));
            Ok(match scheme {
                Some(scheme) => gaussian::run(&gaussian::Config { scheme, ..config }, &())?.pixels,
                None => {
                    let smooth = |seed| gaussian::filter::reference(&opaque(seed), config.sigma);
                    (0..smoothed).map(|seed| Ok(smooth(seed)?.pixels())).sum::<Result<u64, BoxError>>()?
                }
            })
        }),
        group("srad", cleaned, move |scheme| {
            let config = srad::Config { iterations: 10, ..srad::Config::new(made_up(cleaned)) };
            Ok(match scheme {
                Some(scheme) => srad::run(&srad::Config { scheme, ..config }, &())?.pixels,
                None => {
                    let clean = |seed| srad::reference(&grey(seed), config.iterations, config.lambda);
                    (0..cleaned).map(|seed| Ok(clean(seed)?.pixels())).sum::<Result<u64, BoxError>>()?
                }
            })
        }),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::measure;

    #[test]
    fn every_application_runs_and_gives_what_its_sequential_program_gives() {
        let outcome = measure(&EXPERIMENT, &Effort::TINY, &mut Vec::new()).unwrap();
        assert_eq!(outcome.failures, Vec::<String>::new());
    }
}
