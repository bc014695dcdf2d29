//! The radio gives the sound that the sequential program gives.

use std::fs;
use std::path::{Path, PathBuf};

use hound::{SampleFormat, WavSpec, WavWriter};
use thalweg::{Scheme, Stopper};
use thalweg_apps::fm::{Config, Input, radio, receiver, run, synthetic, tuner};
use thalweg_apps::samples::{Form, Raw};
use thalweg_apps::{Error, Watch};

fn of_raw(path: PathBuf, raw: Option<Raw>, output: PathBuf) -> Config {
    Config::new(Input::File { path, raw }, Some(output))
}

fn sound(path: &Path) -> Vec<f32> {
    hound::WavReader::open(path).unwrap().into_samples().map(|sample| sample.unwrap()).collect()
}

/// As sequential as it gets; the promise is 1e-5, and the same operations in the same order give the same bits.
fn assert_same(sound: &[f32], expected: &[f32], what: &str) {
    assert_eq!(sound.len(), expected.len(), "{what}");
    let differs = sound.iter().zip(expected).position(|(a, b)| a.to_bits() != b.to_bits());
    assert_eq!(differs, None, "{what}");
}

#[test]
fn equals_the_reference_under_every_scheme() {
    let dir = tempfile::tempdir().unwrap();
    let (input, output) = (dir.path().join("signal.wav"), dir.path().join("sound.wav"));
    let samples = 20_003;
    synthetic::signal(samples, &input).unwrap();
    let expected = radio::reference(&synthetic::samples(samples).collect::<Vec<_>>());
    assert!(expected.iter().any(|sample| sample.abs() > 1.0), "the sound is not silence");
    for name in Scheme::names() {
        for workers in 1..=3 {
            let mut config = Config::of_files(&input, &output);
            config.scheme = Scheme::named(name).unwrap().workers(workers);
            let received = run(&config, &()).unwrap();
            assert_eq!((received.samples, received.sound), (samples, expected.len() as u64));
            assert_eq!((received.report.kernels.len(), received.report.edges.len()), (17, 27), "as in table II");
            assert_same(&sound(&output), &expected, &format!("{name} with {workers} workers"));
        }
    }
    assert_eq!(hound::WavReader::open(&output).unwrap().spec().sample_rate, 50_000);
}

#[test]
fn the_benchmarks_own_input_needs_no_file() {
    let ran = run(&Config::new(Input::Benchmark { samples: 5_000 }, None), &()).unwrap();
    let expected = radio::reference(&synthetic::ramp(5_000).collect::<Vec<_>>());
    assert_eq!((ran.samples, ran.sound), (5_000, expected.len() as u64));
}

#[test]
fn raw_samples_and_integers_are_read_too() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| -> PathBuf { dir.path().join(name) };
    let samples: Vec<f32> = synthetic::samples(1_500).collect();

    fs::write(path("raw"), samples.iter().flat_map(|sample| sample.to_le_bytes()).collect::<Vec<u8>>()).unwrap();
    let config = of_raw(path("raw"), Some(RAW), path("sound"));
    run(&config, &()).unwrap();
    assert_same(&sound(&path("sound")), &radio::reference(&samples), "raw");
    assert_eq!(hound::WavReader::open(path("sound")).unwrap().spec().sample_rate, 8_000 / 5);

    for bits in [8, 16, 24, 32] {
        let spec = WavSpec { channels: 1, sample_rate: 8_000, bits_per_sample: bits, sample_format: SampleFormat::Int };
        let full = (1_i64 << (bits - 1)) as f32;
        let integers: Vec<i32> =
            samples.iter().map(|sample| (f64::from(*sample) * f64::from(full) * 0.99) as i32).collect();
        let mut writer = WavWriter::create(path("int"), spec).unwrap();
        integers.iter().for_each(|&sample| writer.write_sample(sample).unwrap());
        writer.finalize().unwrap();
        run(&Config::of_files(path("int"), path("sound")), &()).unwrap();
        let scaled: Vec<f32> = integers.iter().map(|&sample| sample as f32 / full).collect();
        assert_same(&sound(&path("sound")), &radio::reference(&scaled), &format!("{bits} bits"));
    }
}

const INT: u8 = 1;
const FLOAT: u8 = 3;
const ADPCM: u8 = 2;

/// A WAV file of 1,000 samples of `valid` bits in `bytes` bytes.
fn extensible(valid: u16, bytes: u16, format: u8) -> Vec<u8> {
    let (half, word) = (u16::to_le_bytes, u32::to_le_bytes);
    let samples = vec![0_u8; 1_000 * usize::from(bytes)];
    let (rate, per_second) = (word(8_000), word(8_000 * u32::from(bytes)));
    let sub_format = [format, 0, 0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0xaa, 0, 0x38, 0x9b, 0x71];
    let header = [&half(0xfffe)[..], &half(1), &rate, &per_second, &half(bytes), &half(8 * bytes)].concat();
    let extension = [&half(22)[..], &half(valid), &[0; 4], &sub_format].concat();
    let length = word(samples.len() as u32);
    let chunks = [&b"WAVEfmt "[..], &word(40), &header, &extension, b"data", &length, &samples].concat();
    [&b"RIFF"[..], &word(chunks.len() as u32), &chunks].concat()
}

#[test]
fn what_programs_write_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| -> PathBuf { dir.path().join(name) };
    let expected = radio::reference(&[0.0; 1_000]);
    for (valid, bytes, format) in [(64, 8, FLOAT), (12, 2, INT), (24, 4, INT), (20, 3, INT), (64, 8, INT)] {
        fs::write(path("extensible"), extensible(valid, bytes, format)).unwrap();
        run(&Config::of_files(path("extensible"), path("sound")), &()).unwrap();
        assert_same(&sound(&path("sound")), &expected, &format!("{valid} bits in {bytes} bytes"));
    }

    // A program that writes into a pipe does not know how long it will be; others put a chunk of any length in front.
    synthetic::signal(2_000, &path("plain")).unwrap();
    run(&Config::of_files(path("plain"), path("sound")), &()).unwrap();
    let (plain, expected) = (fs::read(path("plain")).unwrap(), sound(&path("sound")));
    let at = plain.windows(4).position(|id| id == b"data").unwrap() + 4;
    for length in [0, 0x7fff_f000, u32::MAX] {
        let mut piped = plain.clone();
        piped[at..at + 4].copy_from_slice(&length.to_le_bytes());
        fs::write(path("piped"), piped).unwrap();
        run(&Config::of_files(path("piped"), path("sound")), &()).unwrap();
        assert_same(&sound(&path("sound")), &expected, &format!("a length of {length:#x}"));
    }
    let mut odd = plain.clone();
    odd.splice(12..12, *b"LIST\x03\0\0\0abc\0");
    fs::write(path("odd"), odd).unwrap();
    run(&Config::of_files(path("odd"), path("sound")), &()).unwrap();
    assert_same(&sound(&path("sound")), &expected, "an odd chunk");
}

#[test]
#[cfg(unix)]
fn pipes_are_refused_and_not_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let (pipe, file) = (dir.path().join("pipe"), dir.path().join("file"));
    if !std::process::Command::new("mkfifo").arg(&pipe).status().is_ok_and(|status| status.success()) {
        eprintln!("skipped: there is no mkfifo on this machine");
        return;
    }
    let refused = |result: Result<(), Error>| match result {
        Err(Error::Refused(reason)) => assert!(reason.contains("regular file"), "{reason}"),
        other => panic!("{other:?}"),
    };
    refused(run(&Config::of_files(&pipe, &file), &()).map(drop));
    assert!(!file.exists());

    synthetic::signal(2_000, &file).unwrap();
    // With both ends at hand, nobody waits for the other one.
    let _both_ends = fs::OpenOptions::new().read(true).write(true).open(&pipe).unwrap();
    refused(run(&Config::of_files(&file, &pipe), &()).map(drop));
    refused(synthetic::signal(10, &pipe));
}

#[test]
fn bad_input_is_refused_before_anything_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| -> PathBuf { dir.path().join(name) };
    let refused = |input: &str, raw_rate: Option<u32>, told: &str| {
        let config = of_raw(path(input), raw_rate.map(|rate| Raw { rate, ..RAW }), path("sound"));
        match run(&config, &()) {
            Err(Error::Refused(reason)) => assert!(reason.contains(told), "{reason}"),
            other => panic!("{other:?}"),
        }
        assert!(!path("sound").exists());
    };
    fs::write(path("text"), "not samples at all").unwrap();
    refused("text", None, "--raw-rate");
    refused("text", Some(8_000), "18 bytes");

    synthetic::signal(767, &path("short")).unwrap();
    refused("short", None, "767 samples");

    synthetic::signal(2_000, &path("whole")).unwrap();
    let whole = fs::read(path("whole")).unwrap();
    for bytes in [1, 24, 100] {
        fs::write(path("cut"), &whole[..whole.len() - bytes]).unwrap();
        refused("cut", None, "cut off");
    }
    refused("whole", Some(8_000), "leave out --raw-rate");

    let spec = WavSpec { channels: 2, sample_rate: 8_000, bits_per_sample: 16, sample_format: SampleFormat::Int };
    let mut writer = WavWriter::create(path("stereo"), spec).unwrap();
    (0..2_000).for_each(|_| writer.write_sample(0_i16).unwrap());
    writer.finalize().unwrap();
    refused("stereo", None, "2 channels");

    fs::write(path("extensible"), extensible(8, 1, ADPCM)).unwrap();
    refused("extensible", None, "format 2 (ADPCM)");

    assert!(matches!(run(&Config::of_files(path("whole"), path("whole")), &()), Err(Error::Refused(_))));
    assert!(fs::read(path("whole")).unwrap() == whole);
    assert!(matches!(run(&Config::of_files(path("missing"), path("sound")), &()), Err(Error::File { .. })));
}

/// Makes a file shorter when its length is known and nothing has been read.
struct Shortens(PathBuf);

impl Watch for Shortens {
    fn started(&self, _stopper: Stopper) {
        fs::OpenOptions::new().write(true).open(&self.0).unwrap().set_len(20_000).unwrap();
    }
}

#[test]
fn an_input_that_ends_too_early_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let (input, output) = (dir.path().join("signal"), dir.path().join("sound.wav"));
    for raw_rate in [None, Some(8_000)] {
        let config = of_raw(input.clone(), raw_rate.map(|rate| Raw { rate, ..RAW }), output.clone());
        match raw_rate {
            None => synthetic::signal(10_000, &input).unwrap(),
            Some(_) => fs::write(&input, [0; 40_000]).unwrap(),
        }
        let told = format!("{:#}", run(&config, &Shortens(input.clone())).unwrap_err());
        assert!(told.starts_with(&format!("cannot read all of {}: ", input.display())), "{told}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn an_output_that_is_full_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let input = dir.path().join("signal.wav");
    // Little sound waits in the buffer for the end, more than 8 KiB of it does not fit.
    for samples in [1_000, 12_000] {
        synthetic::signal(samples, &input).unwrap();
        let error = run(&Config::of_files(&input, "/dev/full"), &()).unwrap_err();
        let told = format!("{error:#}");
        assert!(told.starts_with("cannot write /dev/full: "), "{told}");
        let Error::File { error, .. } = error else { panic!("{told}") };
        assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
    }
}

/// Raw samples of the radio.
const RAW: Raw = Raw { rate: 8_000, form: Form::F32, channels: 1 };

/// A made-up recording as bytes of a form, and what these are as samples.
fn recording(form: Form) -> (Vec<u8>, Vec<[f32; 2]>) {
    let pairs = synthetic::recording(5_000, 150_000, 9_000.0);
    let (mut bytes, mut samples) = (Vec::new(), Vec::new());
    for pair in pairs {
        samples.push(pair.map(|part| match form {
            Form::U8 => {
                let byte = (part * 100.0).round() as i32 + 128;
                bytes.push(byte as u8);
                (byte - 128) as f32 / 128.0
            }
            Form::I16 => {
                let two = (part * 20_000.0) as i16;
                bytes.extend(two.to_le_bytes());
                f32::from(two) / 32_768.0
            }
            _ => {
                bytes.extend(part.to_le_bytes());
                part
            }
        }));
    }
    (bytes, samples)
}

#[test]
fn a_station_equals_the_reference_under_every_scheme_in_every_form() {
    let dir = tempfile::tempdir().unwrap();
    let (input, output) = (dir.path().join("iq"), dir.path().join("sound.wav"));
    for (index, name) in Scheme::names().enumerate() {
        let form = [Form::U8, Form::I16, Form::F32][index % 3];
        let (bytes, samples) = recording(form);
        fs::write(&input, bytes).unwrap();
        let mut config = receiver::Config::new(&input, &output);
        config.raw = Some(Raw { rate: 150_000, form, channels: 2 });
        config.carrier = 8_000.0;
        config.scheme = Scheme::named(name).unwrap();
        let received = receiver::run(&config, &()).unwrap();
        let mut deemphasis = tuner::Deemphasis::new(50.0);
        let expected = tuner::reference(&tuner::Tuner::new(150_000, 8_000.0), &mut deemphasis, &samples);
        let mut reader = hound::WavReader::open(&output).unwrap();
        assert_eq!((reader.spec().channels, reader.spec().sample_rate), (2, 48_000));
        let sound: Vec<f32> = reader.samples::<f32>().map(Result::unwrap).collect();
        assert!(sound == *expected.as_flattened(), "{name}");
        assert_eq!((received.samples, received.sound), (5_000, expected.len() as u64));
        assert!((received.off - 1_000.0).abs() < 500.0, "{}", received.off);
    }
}

#[test]
fn recordings_that_hold_no_station_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (input, output) = (dir.path().join("iq"), dir.path().join("sound.wav"));
    fs::write(&input, recording(Form::U8).0).unwrap();
    for (rate, channels, carrier, told) in [
        (100_000, 2, 0.0, "120000"),
        (150_000, 1, 0.0, "two"),
        (150_000, 2, 80_000.0, "75000 Hz"),
        (150_000, 2, f64::NAN, "NaN"),
        (4_000_000, 2, 0.0, "takes"),
    ] {
        let mut config = receiver::Config::new(&input, &output);
        config.raw = Some(Raw { rate, form: Form::U8, channels });
        config.carrier = carrier;
        let Err(Error::Refused(reason)) = receiver::run(&config, &()) else { panic!("{told}") };
        assert!(reason.contains(told) && !output.exists(), "{reason}");
    }
}
