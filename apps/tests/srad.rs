//! Speckle is taken from pictures as the sequential program does it.

use std::fs;
use std::path::{Path, PathBuf};

use thalweg::{End, Scheme, Stopper};
use thalweg_apps::srad::{Config, Input, Picture, reference, run, speckle};
use thalweg_apps::{Error, Watch};
use thalweg_sync::sync::Mutex;

/// Pictures of many sizes and numbers of channels, and what the sequential program makes of them. Two have several strips.
fn pictures(folder: &Path, iterations: u32, lambda: f32) -> Vec<(PathBuf, Vec<u8>)> {
    let sizes = [(40, 30, 3), (1, 1, 1), (33, 65, 4), (64, 2, 2), (300, 120, 1), (2, 9_000, 3)];
    let make = |(number, (width, height, channels)): (usize, (usize, usize, usize))| {
        let mut picture = speckle::picture(number as u64, width, height);
        let pixels = picture.values.chunks_exact(3).zip(0_u16..);
        let pixels = pixels.flat_map(|(rgb, number)| match channels {
            1 => vec![rgb[0]],
            2 => vec![rgb[0], number * 255],
            3 => rgb.to_vec(),
            _ => vec![rgb[0], rgb[1], rgb[2], number.wrapping_mul(9)],
        });
        picture.values = pixels.collect();
        picture.channels = channels;
        picture.deep = number == 2;
        let name = PathBuf::from(format!("{number}.png"));
        let file = picture.encode().unwrap();
        fs::write(folder.join(&name), &file).unwrap();
        let clean = reference(&Picture::decode(&file).unwrap(), iterations, lambda).unwrap();
        (name, clean.encode().unwrap())
    };
    sizes.into_iter().enumerate().map(make).collect()
}

#[test]
fn equals_the_reference_under_every_scheme() {
    let dir = tempfile::tempdir().unwrap();
    let speckled = dir.path().join("speckled");
    fs::create_dir(&speckled).unwrap();
    let expected = pictures(&speckled, 3, 0.75);
    for name in Scheme::names() {
        for workers in [1, 2, 4] {
            let output = dir.path().join(format!("{name}-{workers}"));
            let mut config = Config::new(Input::Files { inputs: vec![speckled.clone()], output: output.clone() });
            (config.iterations, config.lambda) = (3, 0.75);
            config.scheme = Scheme::named(name).unwrap().workers(workers);
            let cleaned = run(&config, &()).unwrap();
            assert_eq!((cleaned.pictures, cleaned.spoiled.len()), (6, 0), "{name} with {workers} workers");
            assert_eq!((cleaned.report.kernels.len(), cleaned.report.edges.len()), (6, 6), "as in table II");
            for (file, expected) in &expected {
                let is = fs::read(output.join(file)).unwrap();
                assert!(is == *expected, "{} by {name} with {workers} workers", file.display());
            }
        }
    }
}

#[test]
fn says_how_much_speckle_was_taken_away() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    speckle::pictures(1, 64, &path("in")).unwrap();
    let mut variations = Vec::new();
    for iterations in [1, 10] {
        let files = Input::Files { inputs: vec![path("in")], output: path("out") };
        let mut config = Config::new(files);
        config.iterations = iterations;
        let cleaned = run(&config, &()).unwrap();
        assert_eq!(cleaned.pixels, 64 * 64);
        variations.extend([cleaned.variation.0, cleaned.variation.1]);
    }
    let [before, once, again, often] = variations[..] else { panic!("{variations:?}") };
    assert!(before == again && once < before && often < before / 2.0 && often < once, "{variations:?}");
}

#[test]
fn what_is_no_picture_is_told_and_the_others_are_worked_on() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    speckle::pictures(2, 20, dir.path()).unwrap();
    fs::write(path("a.png"), "not a picture at all").unwrap();
    let whole = fs::read(path("picture-0000.png")).unwrap();
    fs::write(path("b.png"), &whole[..whole.len() / 2]).unwrap();
    let mut config = Config::new(Input::Files { inputs: vec![dir.path().to_owned()], output: path("out") });
    config.iterations = 2;
    let cleaned = run(&config, &()).unwrap();
    assert_eq!(cleaned.pictures, 2);
    let mut told = cleaned.spoiled.iter().map(|spoiled| (spoiled.path.clone(), &*spoiled.reason)).collect::<Vec<_>>();
    told.sort();
    assert!(told.len() == 2 && told[0].0 == path("a.png") && told[0].1.contains("neither PNG nor JPEG"), "{told:?}");
    assert!(told[1].0 == path("b.png") && told[1].1.contains("at byte"), "{told:?}");
    assert!(path("out/picture-0001.png").is_file() && !path("out/a.png").exists());
}

#[test]
fn what_cannot_be_done_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    speckle::pictures(1, 10, &path("in")).unwrap();
    fs::write(path("file"), "").unwrap();
    let config = |output| Config::new(Input::Files { inputs: vec![path("in")], output: path(output) });
    match run(&config("file"), &()) {
        Err(Error::File { action: "create", path: told, .. }) => assert_eq!(told, path("file")),
        other => panic!("{other:?}"),
    }
    for (iterations, lambda, part) in [(0, 0.5, "at least one"), (1, 0.0, "at most 1"), (1, 1.5, "at most 1")] {
        let config = Config { iterations, lambda, ..config("out") };
        match run(&config, &()) {
            Err(Error::Refused(reason)) => assert!(reason.contains(part), "{reason}"),
            other => panic!("{other:?}"),
        }
    }
    assert!(!path("out").exists());
}

/// Stops the run when the first picture is read.
#[derive(Default)]
struct FirstOnly(Mutex<Option<Stopper>>);

impl Watch for FirstOnly {
    fn started(&self, stopper: Stopper) {
        *self.0.lock().unwrap() = Some(stopper);
    }

    fn read(&self, _bytes: u64) {
        self.0.lock().unwrap().as_ref().unwrap().stop();
    }
}

#[test]
fn once_it_is_stopped_what_was_begun_is_finished() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    speckle::pictures(200, 4, &path("in")).unwrap();
    let files = Input::Files { inputs: vec![path("in")], output: path("out") };
    let cleaned = run(&Config::new(files), &FirstOnly::default()).unwrap();
    assert_eq!(cleaned.report.end, End::Stopped);
    assert!((1..200).contains(&cleaned.pictures), "{}", cleaned.pictures);
    assert_eq!(fs::read_dir(path("out")).unwrap().count() as u64, cleaned.pictures);
}
