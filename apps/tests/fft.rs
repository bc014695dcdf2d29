//! The spectra are those of the sequential program.

use std::fs;
use std::path::{Path, PathBuf};

use thalweg::Scheme;
use thalweg_apps::Error;
use thalweg_apps::fft::transform::{Complex, reference};
use thalweg_apps::fft::{Config, Form, Input, Raw, run, synthetic};

fn written(path: &Path) -> Vec<Complex> {
    let bytes = fs::read(path).unwrap();
    let numbers: Vec<f32> = bytes.as_chunks().0.iter().map(|&four| f32::from_le_bytes(four)).collect();
    numbers.as_chunks().0.to_vec()
}

fn assert_same(is: &[Complex], expected: &[Complex], what: &str) {
    assert_eq!(is.len(), expected.len(), "{what}");
    let bits =
        |numbers: &[Complex]| -> Vec<[u32; 2]> { numbers.iter().map(|number| number.map(f32::to_bits)).collect() };
    assert!(bits(is) == bits(expected), "{what}");
}

#[test]
fn equals_the_reference_under_every_scheme() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| -> PathBuf { dir.path().join(name) };
    synthetic::write(3_329, &path("sound.wav")).unwrap();
    let samples: Vec<Complex> = synthetic::sound(3_329).map(|sample| [sample, 0.0]).collect();
    for points in [64, 4096] {
        let expected = reference(&samples, points).unwrap();
        for name in Scheme::names() {
            for workers in [1, 2, 4] {
                let input = Input::File { path: path("sound.wav"), raw: None };
                let mut config = Config::new(input, Some(path("spectra")));
                config.points = points;
                config.scheme = Scheme::named(name).unwrap().workers(workers);
                let found = run(&config, &()).unwrap();
                assert_eq!((found.samples, found.spectra), (3_329, 3_329_u64.div_ceil(points as u64)));
                assert_eq!((found.report.kernels.len(), found.report.edges.len()), (4, 3), "as in table II");
                assert_same(&written(&path("spectra")), &expected, &format!("{name} with {workers} workers"));
            }
        }
    }
}

#[test]
fn raw_samples_channels_and_pairs() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| -> PathBuf { dir.path().join(name) };
    // A tone of a sixteenth of the rate, below zero: it turns clockwise.
    let turns: Vec<Complex> = (0..256)
        .map(|n| {
            let angle = -std::f32::consts::TAU * (n % 16) as f32 / 16.0;
            [angle.cos(), angle.sin()]
        })
        .collect();
    let bytes = |number: f32| ((number * 127.0).round() as i32 + 128) as u8;
    fs::write(path("pairs.u8"), turns.iter().flatten().map(|&part| bytes(part)).collect::<Vec<_>>()).unwrap();
    let raw = Some(Raw { rate: 16_000, form: Form::U8, channels: 2 });
    let decoded: Vec<Complex> =
        turns.iter().map(|number| number.map(|part| (f32::from(bytes(part)) - 128.0) / 128.0)).collect();

    let found = run(&Config::new(Input::Pairs { path: path("pairs.u8"), raw }, Some(path("spectra"))), &()).unwrap();
    assert_same(&written(&path("spectra")), &reference(&decoded, 64).unwrap(), "pairs");
    assert_eq!(found.loudest[0].0, -1_000.0);
    assert!(found.loudest[0].1 > 0.99);

    run(&Config::new(Input::File { path: path("pairs.u8"), raw }, Some(path("spectra"))), &()).unwrap();
    let mixed: Vec<Complex> = decoded.iter().map(|[left, right]| [(left + right) / 2.0, 0.0]).collect();
    assert_same(&written(&path("spectra")), &reference(&mixed, 64).unwrap(), "two channels mixed");
}

#[test]
fn a_picture_is_brighter_where_a_tone_is() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| -> PathBuf { dir.path().join(name) };
    let tone: Vec<u8> =
        (0..64_000).flat_map(|n| ((std::f32::consts::TAU * (n % 8) as f32 / 8.0).sin()).to_le_bytes()).collect();
    fs::write(path("tone.f32"), tone).unwrap();
    let raw = Some(Raw { rate: 8_000, form: Form::F32, channels: 1 });
    run(&Config::new(Input::File { path: path("tone.f32"), raw }, Some(path("tone.png"))), &()).unwrap();
    let picture = thalweg_apps::pictures::Picture::decode(&fs::read(path("tone.png")).unwrap()).unwrap();
    // 33 frequencies from 0 to half the rate, 8 rows each; the tone is at a quarter of that.
    assert_eq!(picture.height, 33 * 8);
    let row = |row: usize| u64::from(picture.values[row * picture.width * 3]);
    assert!(row((32 - 8) * 8 + 3) > 60_000 && row((32 - 16) * 8 + 3) < 1_000);
}

#[test]
fn bad_input_is_refused_before_anything_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| -> PathBuf { dir.path().join(name) };
    fs::write(path("text"), "no samples at all, this").unwrap();
    fs::write(path("none"), "").unwrap();
    synthetic::write(100, &path("mono")).unwrap();
    let raw = Some(Raw { rate: 8_000, form: Form::F32, channels: 1 });
    let file = |name: &str, raw| Input::File { path: path(name), raw };
    for (input, told) in [
        (file("text", None), "does not begin as a WAV file does"),
        (file("text", raw), "has 23 bytes of samples"),
        (file("none", raw), "has no samples"),
        (file("none", None), "raw samples need --raw-rate"),
        (file("mono", raw), "leave out --raw-rate"),
        (Input::Pairs { path: path("mono"), raw: None }, "leave out --pairs"),
    ] {
        match run(&Config::new(input, Some(path("spectra"))), &()) {
            Err(Error::Refused(reason)) => assert!(reason.contains(told), "{reason}"),
            other => panic!("{other:?}"),
        }
        assert!(!path("spectra").exists());
    }
    let own = run(&Config::new(file("mono", None), Some(path("mono"))), &()).unwrap_err();
    assert!(own.to_string().contains("both input and output"), "{own}");
}
