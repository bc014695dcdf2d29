//! Pulses are delayed as the sequential program does it.

use std::fs;
use std::path::{Path, PathBuf};

use thalweg::Scheme;
use thalweg_apps::Error;
use thalweg_apps::tde::stages::{Size, reference};
use thalweg_apps::tde::{Config, Form, Input, Raw, run, synthetic};

/// The bits of the samples in a WAV file.
fn written(path: &Path) -> Vec<u32> {
    let reader = hound::WavReader::open(path).unwrap();
    reader.into_samples::<f32>().map(|sample| sample.unwrap().to_bits()).collect()
}

#[test]
fn equals_the_reference_under_every_scheme() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| -> PathBuf { dir.path().join(name) };
    synthetic::write(1_700, &path("pulses.wav")).unwrap();
    let samples: Vec<f32> = synthetic::sound(1_700).collect();
    for (size, kernels) in
        [(Size { delay: 1.25, ..Size::default() }, 29), (Size { gates: 5, pulses: 7, delay: -2.0 }, 17)]
    {
        let expected = reference(&samples, size, 1.0).unwrap();
        let expected: Vec<u32> = expected.iter().map(|number| number[0].to_bits()).collect();
        for name in Scheme::names() {
            for workers in [1, 2, 4] {
                let input = Input::File { path: path("pulses.wav"), raw: None };
                let mut config = Config::new(input, Some(path("later.wav")));
                config.size = size;
                config.scheme = Scheme::named(name).unwrap().workers(workers);
                let delayed = run(&config, &()).unwrap();
                assert_eq!((delayed.samples, delayed.blocks), (1_700, 1_700_u64.div_ceil(size.block() as u64)));
                let graph = (delayed.report.kernels.len(), delayed.report.edges.len());
                assert_eq!(graph, (kernels, kernels - 1), "29 and 28 as in table II");
                assert!(written(&path("later.wav")) == expected, "{name} with {workers} workers");
            }
        }
    }
}

#[test]
fn what_is_made_up_leaves_a_quarter_as_loud() {
    let delayed = run(&Config::new(Input::MadeUp { blocks: 20 }, None), &()).unwrap();
    assert_eq!((delayed.samples, delayed.blocks), (10_800, 20));
    let squares: f64 = synthetic::sound(10_800).map(|sample| f64::from(sample).powi(2)).sum();
    let level = (squares / 10_800.0).sqrt();
    assert!((delayed.level - level / 4.0).abs() < 1e-4, "{} of {level}", delayed.level);
}

#[test]
fn bad_input_is_refused_before_anything_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| -> PathBuf { dir.path().join(name) };
    fs::write(path("none"), "").unwrap();
    fs::write(path("text"), "no samples at all, this").unwrap();
    synthetic::write(100, &path("mono")).unwrap();
    let raw = Some(Raw { rate: 8_000, form: Form::F32, channels: 1 });
    for (name, raw, delay, told) in [
        ("text", None, 0.0, "does not begin as a WAV file does"),
        ("text", raw, 0.0, "has 23 bytes of samples"),
        ("none", raw, 0.0, "has no samples"),
        ("mono", None, 100.0, "from -28 to 28"),
    ] {
        let mut config = Config::new(Input::File { path: path(name), raw }, Some(path("later.wav")));
        config.size.delay = delay;
        match run(&config, &()) {
            Err(Error::Refused(reason)) => assert!(reason.contains(told), "{reason}"),
            other => panic!("{other:?}"),
        }
        assert!(!path("later.wav").exists());
    }
    let own = run(&Config::new(Input::File { path: path("mono"), raw: None }, Some(path("mono"))), &()).unwrap_err();
    assert!(own.to_string().contains("both input and output"), "{own}");
}
