//! Files that other programs made: every program that reads such a file gives what its sequential program gives, under several schemes.
//!
//! ```sh
//! THALWEG_INPUTS=folder cargo test --release -p thalweg-apps --test apps inputs:: -- --ignored --nocapture
//! ```
//!
//! Sounds are compared with what `sox` reads; it has to be there. What a program refuses is told with its reason, and not compared.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use thalweg::Scheme;
use thalweg_apps::edges::{self, Direction};
use thalweg_apps::packets::From;
use thalweg_apps::pictures::{self, Picture};
use thalweg_apps::{
    Error, bc, dc, fft, filterbank, fir, firewall, fm, frames, gaussian, mergesort, pipeline, search, srad, tc, tde,
};

/// What was run, and how often.
struct Ran<'a> {
    file: &'a Path,
    folder: &'a Path,
    same: usize,
    refused: Vec<String>,
}

impl Ran<'_> {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Compares what `run` gives under some schemes with what is expected.
    fn compare<T: PartialEq>(&mut self, what: &str, expected: &T, mut run: impl FnMut(Scheme) -> Result<T, Error>) {
        for name in Scheme::names().step_by(4) {
            match run(Scheme::named(name).unwrap().workers(2)) {
                Ok(given) => {
                    assert!(given == *expected, "{what} of {} by {name} differs", self.file.display());
                    self.same += 1;
                }
                Err(Error::Refused(reason)) => return self.refused.push(format!("{what}: {reason}")),
                Err(other) => panic!("{what} of {}: {other:#}", self.file.display()),
            }
        }
    }

    fn sounds(&mut self) {
        let path = self.file.to_owned();
        let sox = |options: &[&str]| Command::new("sox").arg(&path).args(options).output().expect("sox is there");
        let read = sox(&["-e", "floating-point", "-b", "32", "-t", "raw", "-"]);
        // It clips floats beyond 1, which are read here as they are.
        if !read.status.success() || read.stderr.windows(7).any(|word| word == b"clipped") {
            return self
                .refused
                .push("sounds: sox does not read it as it is, so there is nothing to compare with".to_owned());
        }
        let info = Command::new("sox").arg("--info").arg("-c").arg(&path).output().expect("sox is there");
        let channels: usize = String::from_utf8_lossy(&info.stdout).trim().parse().unwrap_or(1);
        let all: Vec<f32> = read.stdout.as_chunks().0.iter().map(|&four| f32::from_le_bytes(four)).collect();
        let mixed: Vec<f32> = all.chunks_exact(channels).map(|at| at.iter().sum::<f32>() / channels as f32).collect();
        let complex: Vec<[f32; 2]> = mixed.iter().map(|&sample| [sample, 0.0]).collect();
        let bits = |samples: &[f32]| -> Vec<u32> { samples.iter().map(|sample| sample.to_bits()).collect() };
        let numbers = |path: &Path| -> Vec<u32> {
            fs::read(path).unwrap().as_chunks().0.iter().map(|&four| u32::from_le_bytes(four)).collect()
        };
        let out = self.path("out");

        let expected = bits(fft::transform::reference(&complex, 64).unwrap().as_flattened());
        self.compare("fft", &expected, |scheme| {
            let mut config = fft::Config::new(fft::Input::File { path: path.clone(), raw: None }, Some(out.clone()));
            config.scheme = scheme;
            fft::run(&config, &()).map(|_| numbers(&out))
        });
        // A header of 58 bytes is no whole number of samples.
        let sound = |path: &Path| -> Vec<u32> {
            let file = fs::read(path).unwrap();
            file[58..].as_chunks().0.iter().map(|&four| u32::from_le_bytes(four)).collect()
        };
        let size = tde::stages::Size { delay: 1.25, ..tde::stages::Size::default() };
        let expected: Vec<u32> =
            tde::stages::reference(&mixed, size, 1.0).unwrap().iter().map(|number| number[0].to_bits()).collect();
        self.compare("tde", &expected, |scheme| {
            let mut config = tde::Config::new(tde::Input::File { path: path.clone(), raw: None }, Some(out.clone()));
            (config.size, config.scheme) = (size, scheme);
            tde::run(&config, &()).map(|_| sound(&out))
        });
        let size = filterbank::bank::Size::default();
        let bank = filterbank::bank::Bank::new(size, filterbank::Form::Equalizer, &[]).unwrap();
        let expected = bits(&filterbank::bank::reference(&mixed, &bank));
        self.compare("filterbank", &expected, |scheme| {
            let input = filterbank::Input::File { path: path.clone(), raw: None };
            let mut config = filterbank::Config::new(input, Some(out.clone()));
            config.scheme = scheme;
            filterbank::run(&config, &()).map(|_| sound(&out))
        });
        let expected = bits(&fm::radio::reference(&all));
        self.compare("fm", &expected, |scheme| {
            let mut config = fm::Config::of_files(&path, &out);
            config.scheme = scheme;
            fm::run(&config, &()).map(|_| sound(&out))
        });
        let mut config = fir::Config::new(fir::Input::File { path: path.clone(), raw: None });
        if let Ok(expected) = fir::reference::filter(&config, |_| ()) {
            assert_eq!(expected.samples, mixed.len() as u64, "{}", path.display());
            self.compare("fir", &expected, |scheme| {
                config.scheme = scheme;
                fir::run(&config, &()).map(|filtered| filtered.after)
            });
        }
    }

    fn captures(&mut self) {
        let (input, expected, out) = (self.file.to_owned(), self.path("expected"), self.path("out"));
        let mut config = frames::Config::new(&input, &expected);
        config.rules.keep.push("ip or ip6 or arp".parse().unwrap());
        config.rules.rewrite.source.push("127.0.0.1=10.1.2.3".parse().unwrap());
        match frames::reference(&config) {
            Ok((counts, damage)) => {
                let counts = (counts, damage, fs::read(&expected).unwrap());
                config.output.clone_from(&out);
                self.compare("frames", &counts, |scheme| {
                    config.scheme = scheme;
                    frames::run(&config, &()).map(|ran| (ran.counts, ran.damage, fs::read(&out).unwrap()))
                });
            }
            Err(error) => self.refused.push(format!("frames: {error}")),
        }
        let mut config = pipeline::Config::new(From::Capture(input.clone()));
        if let Ok(expected) = pipeline::reference::verify(&config) {
            self.compare("pipeline", &expected, |scheme| {
                config.scheme = scheme;
                pipeline::run(&config, &()).map(|ran| ran.tally)
            });
        }
        let mut config = firewall::Config::new(From::Capture(input));
        if let Ok(expected) = firewall::reference::sort(&config) {
            self.compare("firewall", &expected, |scheme| {
                config.scheme = scheme;
                firewall::run(&config, &()).map(|ran| ran.sorted)
            });
        }
    }

    fn networks(&mut self) {
        let file = self.file;
        let read = |direction| edges::read(&edges::Input::new(file, direction), &());
        let (both, one) = match (read(Direction::BothWays), read(Direction::OneWay)) {
            (Ok(both), Ok(one)) => (both, one),
            (Err(error), _) | (_, Err(error)) => return self.refused.push(format!("networks: {error}")),
        };
        eprintln!("{}: {both}; one way {one}", self.file.display());
        self.compare("edges", &both, |scheme| {
            let input = edges::Input { scheme, ..edges::Input::new(file, Direction::BothWays) };
            edges::read(&input, &())
        });
        let expected = tc::reference::count(&both);
        self.compare("tc", &expected, |scheme| {
            tc::run(&both, &tc::Config { scheme, ..tc::Config::default() }, &()).map(|ran| ran.triangles)
        });
        let expected = dc::reference::count(&one);
        self.compare("dc", &expected, |scheme| {
            dc::run(&one, &dc::Config { scheme, ..dc::Config::default() }, &()).map(|ran| ran.degrees)
        });
        let expected = bc::reference::centrality(&both, &bc::Config::default());
        self.compare("bc", &expected, |scheme| {
            bc::run(&both, &bc::Config { scheme, ..bc::Config::default() }, &()).map(|ran| ran.centrality)
        });
    }

    fn texts(&mut self) {
        let (file, out) = (self.file.to_owned(), self.path("out"));
        let bytes = fs::read(&file).unwrap();
        let expected = mergesort::reference(mergesort::Form::Lines, &bytes);
        self.compare("mergesort", &expected, |scheme| {
            let input = mergesort::Input::Files(vec![file.clone()]);
            let mut config = mergesort::Config::new(mergesort::Form::Lines, input, Some(out.clone()));
            (config.memory, config.scheme) = (1 << 20, scheme);
            mergesort::run(&config, &()).map(|_| fs::read(&out).unwrap())
        });
        // Matches of two different letters do not overlap.
        let expected = bytes.windows(2).filter(|two| *two == b"th").count() as u64;
        self.compare("search", &expected, |scheme| {
            let mut config = search::Config::new("th", vec![file.clone()]);
            (config.chunk, config.scheme) = (4 << 10, scheme);
            search::run(&config, &()).map(|ran| ran.matches)
        });
    }

    fn pictures(&mut self) {
        let picture = match Picture::decode(&fs::read(self.file).unwrap()) {
            Ok(picture) => picture,
            Err(reason) => return self.refused.push(format!("pictures: {reason}")),
        };
        eprintln!("{}: {picture:?}", self.file.display());
        let folder = self.path("pictures");
        let input = || pictures::Input::Files { inputs: vec![self.file.to_owned()], output: folder.clone() };
        let written = || fs::read(folder.join(self.file.with_extension("png").file_name().unwrap())).unwrap();
        let expected = gaussian::filter::reference(&picture, 3.0).unwrap().encode().unwrap();
        let mut config = gaussian::Config::new(input());
        config.sigma = 3.0;
        let mut ran = Ran { file: self.file, folder: self.folder, same: 0, refused: Vec::new() };
        ran.compare("gaussian", &expected, |scheme| {
            config.scheme = scheme;
            gaussian::run(&config, &()).map(|_| written())
        });
        let expected = srad::reference(&picture, 3, 0.5).unwrap().encode().unwrap();
        let mut config = srad::Config::new(input());
        config.iterations = 3;
        ran.compare("srad", &expected, |scheme| {
            config.scheme = scheme;
            srad::run(&config, &()).map(|_| written())
        });
        self.same += ran.same;
    }
}

#[test]
#[ignore = "THALWEG_INPUTS names a folder of files that other programs made"]
fn what_other_programs_wrote_is_read_as_the_sequential_programs_read_it() {
    let inputs = std::env::var_os("THALWEG_INPUTS").expect("THALWEG_INPUTS names a folder");
    let mut files: Vec<PathBuf> = fs::read_dir(inputs).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for file in &files {
        let dir = tempfile::tempdir().unwrap();
        let mut ran = Ran { file, folder: dir.path(), same: 0, refused: Vec::new() };
        match file.extension().map(|ending| ending.to_string_lossy().to_lowercase()).as_deref() {
            Some("wav") => ran.sounds(),
            Some("pcap" | "pcapng") => ran.captures(),
            Some("mtx" | "csv" | "edges") => ran.networks(),
            Some("png" | "jpg" | "jpeg") => ran.pictures(),
            _ => ran.texts(),
        }
        println!("{}: the same in {} runs; refused: {:?}", file.display(), ran.same, ran.refused);
    }
}
