//! The sound of the bank is that of the sequential program.

use std::fs;
use std::path::{Path, PathBuf};

use thalweg::Scheme;
use thalweg_apps::Error;
use thalweg_apps::filterbank::bank::{Bank, Size, benchmark, reference};
use thalweg_apps::filterbank::{Config, Form, Input, run, synthetic};

fn sound(path: &Path) -> Vec<u32> {
    let reader = hound::WavReader::open(path).unwrap();
    reader.into_samples::<f32>().map(|sample| sample.unwrap().to_bits()).collect()
}

fn bits(samples: &[f32]) -> Vec<u32> {
    samples.iter().map(|sample| sample.to_bits()).collect()
}

#[test]
fn equals_the_reference_under_every_scheme() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| -> PathBuf { dir.path().join(name) };
    synthetic::write(450, &path("sound.wav")).unwrap();
    let samples: Vec<f32> = synthetic::sound(450).collect();
    let gains = vec![1.0, 0.25, 0.0, 2.0];
    let bank = Bank::new(Size::default(), Form::Equalizer, &gains).unwrap();
    let equalized = bits(&reference(&samples, &bank));
    let bank = Bank::new(Size::default(), Form::Benchmark, &[]).unwrap();
    let filtered = bits(&reference(&benchmark(500).collect::<Vec<_>>(), &bank));
    for name in Scheme::names() {
        for workers in [1, 2, 4] {
            let what = format!("{name} with {workers} workers");
            let input = Input::File { path: path("sound.wav"), raw: None };
            let mut config = Config::new(input, Some(path("out.wav")));
            config.gains = gains.clone();
            config.scheme = Scheme::named(name).unwrap().workers(workers);
            let summary = run(&config, &()).unwrap();
            assert_eq!((summary.samples, summary.sound, summary.rate), (450, 450, 48_000));
            assert_eq!((summary.report.kernels.len(), summary.report.edges.len()), (44, 58), "as in table II");
            assert!(sound(&path("out.wav")) == equalized, "{what}");

            if workers != 2 {
                continue;
            }
            config.input = Input::Benchmark { samples: 500 };
            config.gains = Vec::new();
            assert_eq!(run(&config, &()).unwrap().sound, 500 - 381);
            assert!(sound(&path("out.wav")) == filtered, "the benchmark by {what}");
        }
    }
}

#[test]
fn other_sizes_and_the_shares_of_the_bands() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| -> PathBuf { dir.path().join(name) };
    // A tone in the middle of the second of three bands.
    let tone: Vec<u8> =
        (0..3_000).flat_map(|n| ((std::f32::consts::PI * n as f32 / 2.0).sin()).to_le_bytes()).collect();
    fs::write(path("tone"), &tone).unwrap();
    let raw = thalweg_apps::filterbank::Raw { rate: 8_000, form: thalweg_apps::samples::Form::F32, channels: 1 };
    let mut config = Config::new(Input::File { path: path("tone"), raw: Some(raw) }, Some(path("out.wav")));
    config.size = Size { bands: 3, taps: 90 };
    let summary = run(&config, &()).unwrap();
    assert_eq!((summary.report.kernels.len(), summary.report.edges.len()), (4 + 3 * 5, 2 + 3 * 7));
    assert!(summary.shares[1] > 0.95 && summary.shares.len() == 3, "{:?}", summary.shares);
    let bank = Bank::new(config.size, Form::Equalizer, &[]).unwrap();
    let samples: Vec<f32> = tone.as_chunks().0.iter().map(|&four| f32::from_le_bytes(four)).collect();
    assert!(sound(&path("out.wav")) == bits(&reference(&samples, &bank)));
}

#[test]
fn bad_input_is_refused_before_anything_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| -> PathBuf { dir.path().join(name) };
    synthetic::write(100, &path("sound.wav")).unwrap();
    let whole = fs::read(path("sound.wav")).unwrap();
    fs::write(path("cut.wav"), &whole[..whole.len() - 5]).unwrap();
    for (name, gain, told) in [
        ("cut.wav", 1.0, "cut off: its header says 400 bytes of samples, and 395 are there"),
        ("sound.wav", -1.0, "gain of -1"),
        ("missing.wav", 1.0, "cannot open"),
    ] {
        let mut config = Config::new(Input::File { path: path(name), raw: None }, Some(path("out.wav")));
        config.gains = vec![gain];
        let refused = run(&config, &()).unwrap_err();
        assert!(
            matches!(refused, Error::Refused(_) | Error::File { .. }) && refused.to_string().contains(told),
            "{refused}"
        );
        assert!(!path("out.wav").exists());
    }
}
