//! The applications as workloads of a modelled machine: each is the program that `thalweg run` starts, on made-up input.
//!
//! The machine sees what kernels share. What they compute by themselves it does not see: each kernel has a price for that, measured natively
//! ([`prices`]) and charged for each message that the kernel gives or, if it gives few, takes.

#[cfg(feature = "native")]
pub(crate) mod instructions;
#[cfg(feature = "native")]
#[allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "it runs on the machine at hand")]
pub(crate) mod prices;
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
    /// What modelled machines charge, if that is not what kernels take on the machine at hand.
    #[cfg_attr(not(feature = "machines"), allow(dead_code, reason = "only modelled machines charge it"))]
    pub(crate) grain: Option<Grain>,
}

/// How long a paper's program computes, so that ours has its grain.
#[cfg_attr(not(feature = "machines"), allow(dead_code, reason = "only modelled machines charge it"))]
#[derive(Clone, Copy)]
pub(crate) struct Grain {
    /// All kernels but the ends for one of `size`, on one of the paper's cores, in nanoseconds: they are charged in the proportion of what ours
    /// take.
    pub(crate) unit: f64,
    /// A source or a sink for a message. What they do here is to make input up and to check results; there, and in the figure, they read and
    /// write memory.
    pub(crate) end: f64,
}

const fn application(
    name: &'static str,
    size: u64,
    least: u64,
    run: fn(Scheme, u64) -> Result<Report, BoxError>,
) -> Application {
    Application { name, size, least, run, grain: None }
}

/// Of the grain of the paper's.
const fn as_there(application: Application, unit: f64, end: f64) -> Application {
    Application { grain: Some(Grain { unit, end }), ..application }
}

/// Nanoseconds to copy a sample.
const SAMPLE: f64 = 1.0;
/// Pixels in a row of a picture.
const SIDE: usize = 128;

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

/// DANBI's applications, in the order of its table II, of the grain that its table III gives: milliseconds on one core by how much there was.
pub(crate) const DANBI: [Application; 7] = [
    as_there(
        application("filterbank", 100_000, 4_000, |scheme, samples| {
            let config = filterbank::Config::new(filterbank::Input::Benchmark { samples }, None);
            Ok(filterbank::run(&filterbank::Config { scheme, ..config }, &())?.report)
        }),
        288_504.0e6 / 25.6e6,
        SAMPLE,
    ),
    as_there(
        application("fm", 1_000_000, 4_000, |scheme, samples| {
            Ok(fm::run(&fm::Config { scheme, ..fm::Config::new(fm::Input::Benchmark { samples }, None) }, &())?.report)
        }),
        226_783.0e6 / 256.0e6,
        SAMPLE,
    ),
    as_there(
        application("fft", 100_000, 500, |scheme, blocks| {
            Ok(fft::run(&fft::Config { scheme, ..fft::Config::new(fft::Input::Counter { blocks }, None) }, &())?.report)
        }),
        228_613.0e6 / 30.0e6,
        SAMPLE,
    ),
    as_there(
        application("tde", 2_000, 20, |scheme, blocks| {
            Ok(tde::run(&tde::Config { scheme, ..tde::Config::new(tde::Input::MadeUp { blocks }, None) }, &())?.report)
        }),
        507_566.0e6 / 600_000.0,
        SAMPLE,
    ),
    as_there(
        application("mergesort", 4_000_000, 40_000, |scheme, records| {
            let config = mergesort::Config::new(mergesort::Form::Integers, mergesort::Input::MadeUp(records), None);
            // Each worker has its memory, so that what is sorted at once, which has a price, is the same on any number of cores.
            let memory = (available_parallelism() as u64 + 1) << 20;
            Ok(mergesort::run(&mergesort::Config { scheme, memory, ..config }, &())?.report)
        }),
        243_072.0e6 / 1.0e9,
        // A chunk of 128 KiB.
        16_000.0,
    ),
    as_there(
        application("gaussian", 640, 2, |scheme, pictures| {
            let config = gaussian::Config::new(Input::MadeUp { count: pictures, side: SIDE });
            Ok(gaussian::run(&gaussian::Config { scheme, ..config }, &())?.report)
        }),
        // Pictures of 512 x 512.
        220_890.0e6 / 3_000.0 / (512 * 512) as f64 * (SIDE * SIDE) as f64,
        (4 * SIDE * SIDE) as f64 / 8.0,
    ),
    as_there(
        application("srad", 320, 2, |scheme, pictures| {
            let config = srad::Config::new(Input::MadeUp { count: pictures, side: SIDE });
            Ok(srad::run(&srad::Config { scheme, iterations: 10, ..config }, &())?.report)
        }),
        199_018.0e6 / 5_000.0 / (512 * 512) as f64 * (SIDE * SIDE) as f64,
        (4 * SIDE * SIDE) as f64 / 8.0,
    ),
];
