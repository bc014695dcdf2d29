//! Pictures are smoothed as the sequential program does it.

use std::fs;
use std::path::{Path, PathBuf};

use thalweg::{End, Scheme, Stopper};
use thalweg_apps::gaussian::{Config, Input, Picture, filter, run, synthetic};
use thalweg_apps::{Error, Watch};
use thalweg_sync::sync::Mutex;

/// Pictures of many sizes, with and without opacity, and what the sequential program makes of them.
fn pictures(folder: &Path, sigma: f64) -> Vec<(PathBuf, Vec<u8>)> {
    let sizes = [(40, 30), (1, 1), (33, 65), (64, 2), (7, 50), (100, 90)];
    let make = |(number, (width, height)): (usize, (usize, usize))| {
        let mut picture = synthetic::picture(number as u64, width, height);
        if number % 2 == 1 {
            let mut opacity = 0_u16;
            let opaque = picture.values.chunks_exact(3).flat_map(|rgb| {
                opacity = opacity.wrapping_add(0x1111);
                [rgb[0], rgb[1], rgb[2], opacity]
            });
            picture.values = opaque.collect();
            picture.channels = 4;
        }
        let name = PathBuf::from(format!("{number}.png"));
        let file = picture.encode().unwrap();
        fs::write(folder.join(&name), &file).unwrap();
        let smooth = filter::reference(&Picture::decode(&file).unwrap(), sigma).unwrap();
        (name, smooth.encode().unwrap())
    };
    sizes.into_iter().enumerate().map(make).collect()
}

#[test]
fn equals_the_reference_under_every_scheme() {
    let dir = tempfile::tempdir().unwrap();
    let sharp = dir.path().join("sharp");
    fs::create_dir(&sharp).unwrap();
    let expected = pictures(&sharp, 2.5);
    for name in Scheme::names() {
        for workers in [1, 2, 4] {
            let output = dir.path().join(format!("{name}-{workers}"));
            let mut config = Config::new(Input::Files { inputs: vec![sharp.clone()], output: output.clone() });
            config.sigma = 2.5;
            config.scheme = Scheme::named(name).unwrap().workers(workers);
            let smoothed = run(&config, &()).unwrap();
            assert_eq!((smoothed.pictures, smoothed.spoiled.len()), (6, 0), "{name} with {workers} workers");
            assert_eq!((smoothed.report.kernels.len(), smoothed.report.edges.len()), (6, 5), "as in table II");
            for (file, expected) in &expected {
                let is = fs::read(output.join(file)).unwrap();
                assert!(is == *expected, "{} by {name} with {workers} workers", file.display());
            }
        }
    }
}

#[test]
fn what_is_no_picture_is_told_and_the_others_are_smoothed() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    synthetic::pictures(1, 50, dir.path()).unwrap();
    let whole = fs::read(path("picture-0000.png")).unwrap();
    fs::write(path("a.png"), "not a picture at all").unwrap();
    fs::write(path("b.png"), &whole[..whole.len() / 2]).unwrap();
    fs::write(path("c.jpg"), [0xff, 0xd8, 0xff, 0xe0, 0, 16]).unwrap();
    let mut mended = whole.clone();
    mended[whole.len() / 2] ^= 1;
    fs::write(path("d.png"), &mended).unwrap();
    let files = Input::Files { inputs: vec![dir.path().to_owned()], output: path("out") };
    let smoothed = run(&Config::new(files), &()).unwrap();
    assert_eq!(smoothed.pictures, 1);
    let told: Vec<_> = smoothed.spoiled.iter().map(|spoiled| (spoiled.path.clone(), spoiled.reason.clone())).collect();
    let parts = ["neither PNG nor JPEG", "at byte", "cut off at byte 6", "at byte"];
    assert_eq!(told.len(), parts.len(), "{told:?}");
    for ((file, reason), (name, part)) in told.iter().zip(["a.png", "b.png", "c.jpg", "d.png"].iter().zip(parts)) {
        assert!(file.ends_with(name) && reason.contains(part), "{file:?}: {reason}");
    }
    assert!(path("out/picture-0000.png").is_file() && !path("out/a.png").exists());
}

#[test]
fn a_folder_that_cannot_be_written_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    synthetic::pictures(1, 10, &path("in")).unwrap();
    fs::write(path("file"), "").unwrap();
    let files = Input::Files { inputs: vec![path("in")], output: path("file") };
    match run(&Config::new(files), &()) {
        Err(Error::File { action: "create", path: told, .. }) => assert_eq!(told, path("file")),
        other => panic!("{other:?}"),
    }
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
    synthetic::pictures(200, 4, &path("in")).unwrap();
    let files = Input::Files { inputs: vec![path("in")], output: path("out") };
    let smoothed = run(&Config::new(files), &FirstOnly::default()).unwrap();
    assert_eq!(smoothed.report.end, End::Stopped);
    assert!((1..200).contains(&smoothed.pictures), "{}", smoothed.pictures);
    assert_eq!(fs::read_dir(path("out")).unwrap().count() as u64, smoothed.pictures);
}
