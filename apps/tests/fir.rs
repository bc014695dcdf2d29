//! The filters give what the sequential program gives, and what the definition says.

use std::fs;
use std::path::PathBuf;

use thalweg::Scheme;
use thalweg_apps::Error;
use thalweg_apps::fir::{Config, Form, Input, Raw, reference, run};

fn schemes() -> impl Iterator<Item = (String, Scheme)> {
    Scheme::names().flat_map(|name| {
        [1, 2, 4].map(|workers| (format!("{name}, {workers} workers"), Scheme::named(name).unwrap().workers(workers)))
    })
}

#[test]
fn equals_the_reference_under_every_scheme() {
    for (stages, samples) in [(32, 1_500), (3, 40), (4, 0)] {
        let mut config = Config { stages, ..Config::new(Input::Random(samples)) };
        let expected = reference::filter(&config, |_| ()).unwrap();
        assert_eq!(expected.samples, samples);
        for (name, scheme) in schemes() {
            config.scheme = scheme;
            let filtered = run(&config, &()).unwrap();
            assert_eq!(filtered.after, expected, "{name}");
            assert_eq!((filtered.report.kernels.len(), filtered.report.edges.len()), (stages, stages - 1));
        }
    }
}

/// One filter with the taps of all filters, which are those of each, folded with each other.
#[test]
fn the_reference_is_the_definition() {
    let mut taps = vec![1.0];
    for _ in 0..30 {
        let mut folded = vec![0.0; taps.len() + 15];
        for (place, tap) in taps.iter().enumerate() {
            for (back, other) in (1..=8).chain((1..=8).rev()).enumerate() {
                folded[place + back] += tap * f64::from(other) * 0.1;
            }
        }
        taps = folded;
    }
    let (mut random, samples) = (fastrand::Rng::with_seed(700), 700);
    let numbers: Vec<f64> = (0..samples).map(|_| f64::from(random.u32(..1_000))).collect();
    let mut sound = Vec::new();
    reference::filter(&Config::new(Input::Random(samples)), |sample| sound.push(sample)).unwrap();
    for (at, &sample) in sound.iter().enumerate() {
        let expected: f64 = taps.iter().take(at + 1).enumerate().map(|(back, tap)| tap * numbers[at - back]).sum();
        assert!((sample - expected).abs() <= 1e-9 * expected, "sample {at}: {sample} instead of {expected}");
    }
    assert_eq!(sound.len(), 700);
}

#[test]
fn a_file_is_filtered_and_a_constant_stays_as_loud_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| -> PathBuf { dir.path().join(name) };
    fs::write(path("raw"), 0.5_f32.to_le_bytes().repeat(2_000)).unwrap();
    let raw = Some(Raw { rate: 8_000, form: Form::F32, channels: 1 });
    let mut config = Config::new(Input::File { path: path("raw"), raw });
    config.output = Some(path("sound.wav"));
    let filtered = run(&config, &()).unwrap();
    assert_eq!((filtered.before.samples, filtered.after.samples, filtered.rate), (2_000, 2_000, 8_000));
    let mut expected = Vec::new();
    reference::filter(&config, |sample| expected.push(sample as f32)).unwrap();
    let written: Vec<f32> =
        hound::WavReader::open(path("sound.wav")).unwrap().into_samples().map(|sample| sample.unwrap()).collect();
    assert_eq!(written, expected);
    assert!((written[1_999] - 0.5).abs() < 1e-6, "{}", written[1_999]);

    // A sound is the input of the next run.
    let mut again = Config::new(Input::File { path: path("sound.wav"), raw: None });
    assert_eq!(run(&again, &()).unwrap().before.samples, 2_000);
    again.output = Some(path("sound.wav"));
    assert!(matches!(run(&again, &()), Err(Error::Refused(_))));
}

#[test]
fn bad_input_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let text = dir.path().join("text");
    fs::write(&text, "this is no sound, and longer than the header of one").unwrap();
    let refused = run(&Config::new(Input::File { path: text, raw: None }), &());
    assert!(matches!(refused, Err(Error::Refused(_))), "{refused:?}");
    let config = Config { stages: 2, ..Config::new(Input::Random(1)) };
    assert!(matches!(run(&config, &()), Err(Error::Refused(reason)) if reason.starts_with("2 stages")));
}
