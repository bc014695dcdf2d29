//! The applications as workloads of a modelled machine: each is the program that `thalweg run` starts, on made-up input.
//!
//! The machine sees what kernels share. What they compute by themselves it does not see: each kernel has a price for that, measured natively
//! ([`prices`]) and charged for each message that the kernel gives or, if it gives few, takes.

#[cfg(feature = "native")]
#[allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "it runs on the machine at hand")]
pub(crate) mod prices;
#[cfg(feature = "machines")]
pub(crate) mod simulated;

use thalweg::{BoxError, Report, Scheme};
use thalweg_apps::edges::synthetic::network;
use thalweg_apps::packets::From;
use thalweg_apps::pictures::Input;
use thalweg_apps::{
    bc, chasing, dc, fft, filterbank, fir, firewall, fm, gaussian, incast, mergesort, outcast, pipeline, search, srad,
    tc, tde,
};
use thalweg_sync::thread::available_parallelism;

/// One of them.
pub(crate) struct Application {
    pub(crate) name: &'static str,
    /// Bursts, packets, samples, blocks, vertices, records or pictures of a full run.
    pub(crate) size: u64,
    /// The fewest that make sense.
    pub(crate) least: u64,
    /// Runs so many by a scheme.
    pub(crate) run: fn(Scheme, u64) -> Result<Report, BoxError>,
}

const fn application(
    name: &'static str,
    size: u64,
    least: u64,
    run: fn(Scheme, u64) -> Result<Report, BoxError>,
) -> Application {
    Application { name, size, least, run }
}

/// BLQ's benchmarks, in the order of its table 1.
pub(crate) const BLQ: [Application; 10] = [
    application("incast", 100_000, 1_000, |scheme, bursts| {
        Ok(incast::run(&incast::Config { scheme, ..incast::Config::new(bursts) }, &())?.report)
    }),
    application("outcast", 100_000, 1_000, |scheme, bursts| {
        Ok(outcast::run(&outcast::Config { scheme, ..outcast::Config::new(bursts) }, &())?.report)
    }),
    application("pipeline", 400_000, 1_000, |scheme, packets| {
        Ok(pipeline::run(&pipeline::Config { scheme, ..pipeline::Config::new(From::Made(packets)) }, &())?.report)
    }),
    application("firewall", 400_000, 1_000, |scheme, packets| {
        Ok(firewall::run(&firewall::Config { scheme, ..firewall::Config::new(From::Made(packets)) }, &())?.report)
    }),
    application("fir", 100_000, 1_000, |scheme, samples| {
        Ok(fir::run(&fir::Config { scheme, ..fir::Config::new(fir::Input::Random(samples)) }, &())?.report)
    }),
    application("chasing", 400_000, 1_000, |scheme, chased| {
        let config = chasing::Config { lines: 1 << 16, scheme, ..chasing::Config::new(chased) };
        Ok(chasing::run(&config, &())?.report)
    }),
    application("search", 40, 1, |scheme, repetitions| {
        let config = search::paper::Config { scheme, ..search::paper::Config::new(repetitions) };
        Ok(search::paper::run(&config, &())?.report)
    }),
    application("tc", 20_000, 1_000, |scheme, vertices| {
        let config = tc::Config { scheme, ..tc::Config::default() };
        Ok(tc::run(&network(vertices, 15 * vertices)?, &config, &())?.report)
    }),
    application("dc", 40_000, 1_000, |scheme, vertices| {
        let config = dc::Config { scheme, ..dc::Config::default() };
        Ok(dc::run(&network(vertices, 15 * vertices)?, &config, &())?.report)
    }),
    application("bc", 1_000, 100, |scheme, vertices| {
        let config = bc::Config { sources: Some(200), scheme, ..bc::Config::default() };
        Ok(bc::run(&network(vertices, 15 * vertices)?, &config, &())?.report)
    }),
];

/// DANBI's applications, in the order of its table II.
pub(crate) const DANBI: [Application; 7] = [
    application("filterbank", 100_000, 4_000, |scheme, samples| {
        let config = filterbank::Config::new(filterbank::Input::Benchmark { samples }, None);
        Ok(filterbank::run(&filterbank::Config { scheme, ..config }, &())?.report)
    }),
    application("fm", 1_000_000, 4_000, |scheme, samples| {
        Ok(fm::run(&fm::Config { scheme, ..fm::Config::new(fm::Input::Benchmark { samples }, None) }, &())?.report)
    }),
    application("fft", 100_000, 500, |scheme, blocks| {
        Ok(fft::run(&fft::Config { scheme, ..fft::Config::new(fft::Input::Counter { blocks }, None) }, &())?.report)
    }),
    application("tde", 2_000, 20, |scheme, blocks| {
        Ok(tde::run(&tde::Config { scheme, ..tde::Config::new(tde::Input::MadeUp { blocks }, None) }, &())?.report)
    }),
    application("mergesort", 2_000_000, 40_000, |scheme, records| {
        let config = mergesort::Config::new(mergesort::Form::Integers, mergesort::Input::MadeUp(records), None);
        // Each worker has its memory, so that what is sorted at once, which has a price, is the same on any number of cores.
        let memory = (available_parallelism() as u64 + 1) << 20;
        Ok(mergesort::run(&mergesort::Config { scheme, memory, ..config }, &())?.report)
    }),
    application("gaussian", 64, 1, |scheme, pictures| {
        let config = gaussian::Config::new(Input::MadeUp { count: pictures, side: 256 });
        Ok(gaussian::run(&gaussian::Config { scheme, ..config }, &())?.report)
    }),
    application("srad", 16, 1, |scheme, pictures| {
        let config = srad::Config::new(Input::MadeUp { count: pictures, side: 256 });
        Ok(srad::run(&srad::Config { scheme, iterations: 10, ..config }, &())?.report)
    }),
];
