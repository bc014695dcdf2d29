//! DANBI's applications as a user meets them: each makes up its input, works on it, and says what it did.

use std::fs;
use std::path::Path;
use std::process::Command;

/// Runs `thalweg run` with the words of `line` in `dir`: exit status, standard output, standard error.
fn run(dir: &Path, line: &str) -> (i32, String, String) {
    let output =
        Command::new(env!("CARGO_BIN_EXE_thalweg")).arg("run").args(line.split(' ')).current_dir(dir).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn gaussian_smooths_a_folder_and_tells_what_it_could_not_read() {
    let dir = tempfile::tempdir().unwrap();
    let (status, told, _) = run(dir.path(), "gaussian --generate 3 --size 40 --output sharp");
    assert_eq!((status, told.as_str()), (0, "3 made-up pictures written to sharp\n"));
    let (status, told, report) = run(dir.path(), "gaussian --input sharp --output smooth --sigma 2");
    assert_eq!(status, 0, "{report}");
    assert!(told.starts_with("3 pictures smoothed to smooth: 0.0 million pixels in "), "{told}");
    assert!(told.contains("neighbouring pixels differ by ") && report.contains("transpose back"), "{told}{report}");
    assert_eq!(fs::read_dir(dir.path().join("smooth")).unwrap().count(), 3);

    fs::write(dir.path().join("sharp/text.png"), "text").unwrap();
    let (status, told, report) = run(dir.path(), "gaussian --input sharp --output smooth");
    assert_eq!((status, &told[..2]), (2, "3 "));
    assert!(report.contains("thalweg: sharp/text.png begins as neither PNG nor JPEG does"), "{report}");
    for (line, part) in [
        ("gaussian --input sharp --output smooth --sigma 0", "from 0.1 to 1000"),
        ("gaussian --input sharp", "--output"),
        ("gaussian --output smooth", "--input"),
        ("gaussian --input - --output smooth", "`-` is not understood"),
        ("gaussian --input sharp --output sharp", "would replace it"),
    ] {
        let (status, _, told) = run(dir.path(), line);
        assert!(status == 2 && told.contains(part), "{line}: {told}");
    }
}

#[test]
fn srad_takes_speckle_away() {
    let dir = tempfile::tempdir().unwrap();
    let (status, told, _) = run(dir.path(), "srad --generate 2 --size 40 --output speckled");
    assert_eq!((status, told.as_str()), (0, "2 made-up pictures written to speckled\n"));
    let (status, told, report) = run(dir.path(), "srad --input speckled --output clean --iterations 5");
    assert_eq!(status, 0, "{report}");
    assert!(told.starts_with("2 pictures despeckled to clean: 0.0 million pixels in "), "{told}");
    assert!(told.contains("coefficient of variation in squares of 8 pixels: 0."), "{told}");
    assert!(report.contains("srad2 + compress"), "{report}");
    assert_eq!(fs::read_dir(dir.path().join("clean")).unwrap().count(), 2);

    fs::write(dir.path().join("speckled/text.png"), "text").unwrap();
    let (status, told, report) = run(dir.path(), "srad --input speckled --output clean --iterations 1");
    assert_eq!((status, &told[..2]), (2, "2 "));
    assert!(report.contains("thalweg: speckled/text.png begins as neither PNG nor JPEG does"), "{report}");
    for (line, part) in [
        ("srad --input speckled --output clean --iterations 0", "at least one"),
        ("srad --input speckled --output clean --lambda 2", "at most 1"),
        ("srad --input speckled", "--output"),
        ("srad --input speckled --output speckled", "would replace it"),
    ] {
        let (status, _, told) = run(dir.path(), line);
        assert!(status == 2 && told.contains(part), "{line}: {told}");
    }
}

#[test]
fn fft_finds_the_tones_of_a_sound() {
    let dir = tempfile::tempdir().unwrap();
    let (status, told, _) = run(dir.path(), "fft --generate 48000 --output sound.wav");
    assert_eq!((status, told.as_str()), (0, "48,000 made-up samples written to sound.wav\n"));
    let (status, told, report) = run(dir.path(), "fft --input sound.wav --points 1024 --output sound.png");
    assert_eq!(status, 0, "{report}");
    assert!(told.starts_with("47 spectra of 48,000 samples written to sound.png, in "), "{told}");
    assert!(told.contains("loudest: 422 Hz (") || told.contains("loudest: 469 Hz ("), "{told}");
    assert!(fs::read(dir.path().join("sound.png")).unwrap().starts_with(b"\x89PNG") && report.contains("combine"));
    let (status, _, _) = run(dir.path(), "fft --input sound.wav --output spectra");
    assert_eq!((status, fs::metadata(dir.path().join("spectra")).unwrap().len()), (0, 48_000 * 8));
    for (line, part) in [
        ("fft --input sound.wav --output out --points 100", "power of two"),
        ("fft --input sound.wav", "--output"),
        ("fft --input missing.wav --output out", "cannot open missing.wav"),
        ("fft --input sound.wav --output sound.wav", "both input and output"),
        ("fft --input sound.wav --output out --raw-rate 8 --form u9", "u8, i8"),
    ] {
        let (status, _, told) = run(dir.path(), line);
        assert!(status == 2 && told.contains(part), "{line}: {told}");
    }
}

#[test]
fn tde_delays_pulses() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(run(dir.path(), "tde --generate 5400 --output pulses.wav").0, 0);
    let (status, told, report) = run(dir.path(), "tde --input pulses.wav --delay -2.5 --output earlier.wav");
    assert_eq!(status, 0, "{report}");
    assert!(told.starts_with("10 blocks of 5,400 samples written to earlier.wav, in "), "{told}");
    assert!(told.contains("\nlevel: 0.") && report.contains("inverse combine 64"), "{told}{report}");
    assert!(fs::read(dir.path().join("earlier.wav")).unwrap().starts_with(b"RIFF"));
    for (line, part) in [
        ("tde --input pulses.wav --output out.wav --delay 100", "from -28 to 28"),
        ("tde --input pulses.wav --output out.wav --gates 2", "3 to 16384 gates"),
        ("tde --input pulses.wav", "--output"),
        ("tde --input missing.wav --output out.wav", "cannot open missing.wav"),
        ("tde --input pulses.wav --output pulses.wav", "both input and output"),
    ] {
        let (status, _, told) = run(dir.path(), line);
        assert!(status == 2 && told.contains(part), "{line}: {told}");
    }
}

#[test]
fn filterbank_turns_bands_down() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(run(dir.path(), "filterbank --generate 5000 --output sound.wav").0, 0);
    let (status, told, report) = run(dir.path(), "filterbank --input sound.wav --gains=0,-6,-60 --output out.wav");
    assert_eq!(status, 0, "{report}");
    assert!(told.starts_with("5,000 samples of sound from 5,000 samples written to out.wav, in "), "{told}");
    assert!(told.contains("\n      0 to   3000 Hz ") && told.lines().count() == 9, "{told}");
    assert!(report.contains("thin out 8"), "{report}");
    for (line, part) in [
        ("filterbank --input sound.wav --output out.wav --bands 1", "take 2 to 32"),
        ("filterbank --input sound.wav --output out.wav --gains 100", "at most 60 dB"),
        ("filterbank --input sound.wav --output out.wav --gains loud", "invalid value 'loud'"),
        ("filterbank --input sound.wav", "--output"),
    ] {
        let (status, _, told) = run(dir.path(), line);
        assert!(status == 2 && told.contains(part), "{line}: {told}");
    }
}

#[test]
fn mergesort_sorts_more_than_its_memory() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(run(dir.path(), "mergesort --generate 100000 --output words").0, 0);
    let line = "mergesort --input words --memory 1M --temporary . --output sorted";
    let (status, told, report) = run(dir.path(), line);
    assert_eq!(status, 0, "{report}");
    assert!(told.starts_with("100,000 records sorted to sorted, ") && told.contains("; from ba"), "{told}");
    assert!(!told.contains(" 0 B by way") && report.contains("split"), "{told}{report}");
    let lines = |name: &str| fs::read_to_string(dir.path().join(name)).unwrap();
    let (words, sorted) = (lines("words"), lines("sorted"));
    let mut expected: Vec<&str> = words.lines().collect();
    expected.sort_unstable();
    assert!(sorted.lines().eq(expected));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2, "temporary files are gone");
    for (line, part) in [
        ("mergesort --input words --output sorted --memory 12X", "is no number of bytes"),
        ("mergesort --input words --output sorted --memory 12", "give 1 MiB or more"),
        ("mergesort --input words --output sorted --form words", "take lines or i32"),
        ("mergesort --input words --output words", "both input and output"),
        ("mergesort --input words --output sorted --temporary missing", "cannot write to missing"),
    ] {
        let (status, _, told) = run(dir.path(), line);
        assert!(status == 2 && told.contains(part), "{line}: {told}");
    }
}
