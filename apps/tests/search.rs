//! The search finds what a naive program and what `grep` find, for any chunk size and any scheme.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use thalweg::Scheme;
use thalweg_apps::Error;
use thalweg_apps::Watch;
use thalweg_apps::search::{Config, Show, Summary, paper, print, run};
use thalweg_sync::atomic::AtomicBool;
use thalweg_sync::atomic::Ordering::{Acquire, Release};
use thalweg_sync::thread;
use thalweg_sync::time::{self, Duration};

const TERMS: [&[u8]; 8] = [b"a", b"aa", b"aba", b"abab", b"needle", b"\xff\xfe", b"\r", b"-v"];

/// A directory with the files that are easy to get wrong.
fn tree() -> tempfile::TempDir {
    let top = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &[u8]| {
        let path = top.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("empty", b"");
    write("one-byte", b"a");
    write("no-newline", b"needle in a haystack, needle");
    write("newlines", b"\n\n\naa\naaa\n\naaaa\n");
    write("overlaps", &b"a".repeat(1_000));
    write("overlaps-in-lines", &b"ababababa\n".repeat(300));
    write("long-line", &[b"x".repeat(5_000), b"needle".repeat(3), b"y".repeat(5_000)].concat());
    write("binary", &(0..=255).cycle().take(4_096).collect::<Vec<u8>>());
    write("not-utf8", &b"\xff\xfe\xff\xfe\n\xfe\xff".repeat(99));
    write("nul", b"needle\0needle\0\0aa");
    write("crlf", b"aba\r\nabab\r\n-v\r\n");
    write(".hidden", b"needle");
    write(".hidden-dir/.deeper/file", b"aaneedleaa");
    write("dir with space/-v", b"-v -vv");
    #[cfg(unix)]
    {
        write("line\nfeed", b"needle aa");
        std::os::unix::fs::symlink("overlaps", top.path().join("link")).unwrap();
        std::os::unix::fs::symlink("..", top.path().join("dir with space/loop")).unwrap();
    }
    let mut random = fastrand::Rng::with_seed(1);
    let mut noise = || -> Vec<u8> { (0..random.usize(0..3_000)).map(|_| *random.choice(b"aab\n").unwrap()).collect() };
    for index in 0..40 {
        write(&format!("noise/{index}"), &noise());
    }
    top
}

fn search(term: &[u8], inputs: &[&Path], chunk: usize, scheme: Scheme) -> Summary {
    let mut config = Config::new(term, inputs.iter().map(|path| path.to_path_buf()).collect());
    (config.chunk, config.scheme) = (chunk, scheme);
    run(&config, &()).unwrap()
}

/// The files of a tree, without following links.
fn regular_files(path: &Path) -> Vec<PathBuf> {
    let kind = fs::symlink_metadata(path).unwrap().file_type();
    if kind.is_dir() {
        return fs::read_dir(path).unwrap().flat_map(|entry| regular_files(&entry.unwrap().path())).collect();
    }
    if kind.is_file() { vec![path.to_owned()] } else { Vec::new() }
}

/// Matches line by line, as `grep -o` defines them.
fn naive(term: &[u8], text: &[u8]) -> u64 {
    let in_line = |line: &[u8]| {
        let (mut at, mut count) = (0, 0);
        while at + term.len() <= line.len() {
            let found = line[at..].starts_with(term);
            count += u64::from(found);
            at += if found { term.len() } else { 1 };
        }
        count
    };
    text.split(|&byte| byte == b'\n').map(in_line).sum()
}

#[test]
fn equals_the_definition_for_every_chunk_size() {
    let top = tree();
    let files = regular_files(top.path());
    for term in TERMS {
        let expected: u64 = files.iter().map(|file| naive(term, &fs::read(file).unwrap())).sum();
        for chunk in [1, 7, 16, 100, 4_096, 128 << 10] {
            let found = search(term, &[top.path()], chunk, Scheme::default());
            assert_eq!(found.matches, expected, "{term:?} in chunks of {chunk}");
            assert_eq!(found.files, files.len() as u64);
            assert_eq!(found.bytes, files.iter().map(|file| fs::metadata(file).unwrap().len()).sum::<u64>());
            assert!(found.unreadable.is_empty());
        }
    }
}

#[test]
fn equals_the_definition_under_every_scheme() {
    let top = tree();
    let expected: u64 = regular_files(top.path()).iter().map(|file| naive(b"aa", &fs::read(file).unwrap())).sum();
    for name in Scheme::names() {
        for workers in 1..=3 {
            let found = search(b"aa", &[top.path()], 64, Scheme::named(name).unwrap().workers(workers));
            assert_eq!(found.matches, expected, "{name} with {workers} workers");
        }
    }
}

#[test]
#[cfg(unix)]
fn equals_grep() {
    use std::os::unix::ffi::OsStrExt;

    if Command::new("grep").arg("--version").output().is_err() {
        eprintln!("skipped: there is no grep on this machine");
        return;
    }
    let top = tree();
    let path = |name: &str| top.path().join(name);
    let paths = [
        top.path().to_owned(),
        path("link"),
        path("dir with space/loop"),
        path("empty"),
        path("newlines"),
        path("newlines"),
    ];
    for term in TERMS {
        let mut grep = Command::new("grep");
        grep.env("LC_ALL", "C").arg("-rahoF").arg("-e").arg(std::ffi::OsStr::from_bytes(term)).args(&paths);
        let output = grep.output().unwrap();
        let lines = output.stdout.iter().filter(|&&byte| byte == b'\n').count() as u64;
        let inputs: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
        let found = search(term, &inputs, 32, Scheme::default());
        assert_eq!(found.matches, lines, "{term:?}");
        assert_eq!(found.matches > 0, output.status.success());
    }
}

#[test]
fn the_top_files_are_those_with_the_most_matches() {
    let top = tempfile::tempdir().unwrap();
    for matches in 0..25_usize {
        fs::write(top.path().join(format!("{matches}")), b"word ".repeat(matches)).unwrap();
    }
    let found = search(b"word", &[top.path()], 16, Scheme::default());
    let expected: Vec<_> = (15..25).rev().map(|matches| (top.path().join(format!("{matches}")), matches)).collect();
    assert_eq!(found.top, expected);
    assert_eq!((found.files, found.files_with_matches), (25, 24));
}

#[test]
fn the_time_is_that_of_the_whole_run() {
    let top = tree();
    let start = time::now();
    let found = search(b"a", &[top.path()], 64, Scheme::default());
    assert!((found.report.wall..=start.elapsed()).contains(&found.elapsed), "{:?}", found.elapsed);
}

#[test]
fn what_cannot_be_read_is_named_and_the_rest_is_searched() {
    let top = tree();
    let missing = top.path().join("missing");
    let found = search(b"needle", &[&missing, &top.path().join("no-newline")], 64, Scheme::default());
    assert_eq!(found.matches, 2);
    assert_eq!(found.unreadable.len(), 1);
    assert_eq!(found.unreadable[0].path, missing);
}

#[test]
fn bad_configurations_are_refused_with_the_way_out() {
    for (term, inputs, told) in [
        (&b""[..], vec![PathBuf::from(".")], "at least one character"),
        (b"two\nlines", vec![PathBuf::from(".")], "two\\nlines"),
        (b"word", Vec::new(), "standard input"),
    ] {
        match run(&Config::new(term, inputs), &()) {
            Err(Error::Refused(reason)) => assert!(reason.contains(told), "{reason}"),
            other => panic!("{other:?}"),
        }
    }
}

/// The second pipe gets its writer first: a program that reads one file after the other waits for the first one's.
#[test]
#[cfg(unix)]
fn files_are_read_at_the_same_time() {
    let top = tempfile::tempdir().unwrap();
    let [first, second] = ["first", "second"].map(|name| top.path().join(name));
    if !Command::new("mkfifo").args([&first, &second]).status().is_ok_and(|status| status.success()) {
        eprintln!("skipped: there is no mkfifo on this machine");
        return;
    }
    let write = |pipe: &Path| fs::OpenOptions::new().write(true).open(pipe).unwrap().write_all(b"word\n").unwrap();
    let second_is_read = AtomicBool::new(false);
    let (found, together) = thread::scope(|scope| {
        scope.spawn(|| {
            write(&second);
            second_is_read.store(true, Release);
        });
        let run = scope.spawn(|| search(b"word", &[&first, &second], 64, Scheme::named("pw").unwrap().workers(2)));
        // Twenty seconds, and then the first one gets its writer anyway, for the test to end.
        let together = (0..2_000).any(|_| {
            thread::sleep(Duration::from_millis(10));
            second_is_read.load(Acquire)
        });
        write(&first);
        (run.join().unwrap(), together)
    });
    assert!(together, "the second pipe was read after the first one");
    assert_eq!((found.matches, found.files), (2, 2));
}

/// What `show` writes, for a search that is otherwise like `config`.
fn printed(config: &Config, show: Show) -> Vec<u8> {
    let mut written = Vec::new();
    print(&Config { show, ..config.clone() }, &(), &mut written).unwrap();
    written
}

/// What is to be written, from the definition: files in the order given, all that matches by `matches`.
fn expected(files: &[PathBuf], show: Show, matches: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let mut written = Vec::new();
    for file in files {
        let text = fs::read(file).unwrap();
        let whole = text.strip_suffix(b"\n").unwrap_or(&text);
        let lines = whole.split(|&byte| byte == b'\n').zip(1..).filter(|(line, _)| matches(line));
        let name = file.display();
        match show {
            Show::Summary => {}
            Show::Lines { numbers } => {
                for (line, number) in lines {
                    let number = if numbers { format!("{number}:") } else { String::new() };
                    written.extend([format!("{name}:{number}").as_bytes(), line, b"\n"].concat());
                }
            }
            Show::Files => written.extend(lines.take(1).flat_map(|_| format!("{name}\n").into_bytes())),
            Show::LineCounts => written.extend(format!("{name}:{}\n", lines.count()).into_bytes()),
        }
    }
    written
}

#[test]
fn lines_names_and_counts_come_in_order_under_every_scheme() {
    let top = tree();
    let files = regular_files(top.path());
    let shows = [Show::Lines { numbers: true }, Show::Lines { numbers: false }, Show::Files, Show::LineCounts];
    for (index, name) in Scheme::names().enumerate() {
        let term = [&b"a"[..], b"aBa", b"needle"][index % 3];
        let mut config = Config::new(term, files.clone());
        config.scheme = Scheme::named(name).unwrap();
        config.chunk = [20, 100, 1_000, 128 << 10][index % 4];
        config.text = true;
        for (show, any_case) in shows.iter().flat_map(|&show| [(show, false), (show, true)]) {
            config.any_case = any_case;
            let fold = |text: &[u8]| if any_case { text.to_ascii_lowercase() } else { text.to_vec() };
            let same = expected(&files, show, |line| naive(&fold(term), &fold(line)) > 0);
            assert!(printed(&config, show) == same, "{show:?} under {name}, any case: {any_case}");
        }
    }
}

/// What a run tells.
#[derive(Default)]
struct Told(thalweg_sync::sync::Mutex<Vec<String>>);

impl Watch for Told {
    fn notice(&self, text: &str) {
        self.0.lock().unwrap().push(text.to_owned());
    }
}

#[test]
fn of_a_binary_file_it_is_told_that_it_matches() {
    let top = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &[u8]| fs::write(top.path().join(name), text).unwrap();
    write("text", b"a needle\n");
    write("early", &[b"\0\n", &b"a needle\n".repeat(100)[..]].concat());
    write("late", &[&b"a needle\n".repeat(100)[..], b"\0 needle\n"].concat());
    write("none", &[&b"no match\n".repeat(100)[..], b"\0\n"].concat());
    for chunk in [16, 64, 128 << 10] {
        let files: Vec<_> = ["early", "text", "none"].iter().map(|name| top.path().join(name)).collect();
        let mut config = Config::new("needle", files);
        (config.chunk, config.show) = (chunk, Show::Lines { numbers: false });
        let (told, mut written) = (Told::default(), Vec::new());
        let found = print(&config, &told, &mut written).unwrap();
        let expected = format!("{}:a needle\n", top.path().join("text").display());
        assert_eq!(String::from_utf8(written).unwrap(), expected);
        assert_eq!(found.files_with_matches, 2);
        let told = told.0.into_inner().unwrap();
        assert!(told.len() == 1 && told[0].ends_with("early: binary file matches"), "{told:?}");
        // One file alone has no name in front of its lines.
        let config = Config { inputs: vec![top.path().join("late")], ..config };
        let text = b"a needle\n".repeat(100);
        assert!(text.starts_with(&printed(&config, config.show)));
        let config = Config { text: true, ..config };
        assert_eq!(printed(&config, config.show), fs::read(top.path().join("late")).unwrap());
    }
}

#[test]
fn only_files_with_such_names_are_searched() {
    let top = tree();
    let mut config = Config::new("needle", vec![top.path().to_owned()]);
    config.include = vec![b"no-*".to_vec(), b"?ul".to_vec()];
    let mut files: Vec<_> = regular_files(top.path());
    files.retain(|file| ["no-newline", "nul"].iter().any(|name| file.ends_with(name)));
    assert_eq!(printed(&config, Show::Files), expected(&files, Show::Files, |line| naive(b"needle", line) > 0));
    assert_eq!(run(&config, &()).unwrap().files, 2);
}

/// Takes so many bytes and then has gone away.
struct Reader(usize);

impl Write for Reader {
    fn write(&mut self, text: &[u8]) -> std::io::Result<usize> {
        let taken = text.len().min(self.0);
        self.0 -= taken;
        if taken == 0 { Err(std::io::ErrorKind::BrokenPipe.into()) } else { Ok(taken) }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn whoever_reads_no_more_ends_the_run() {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), b"a needle\n".repeat(1_000_000)).unwrap();
    let mut config = Config::new("needle", vec![file.path().to_owned()]);
    config.show = Show::Lines { numbers: true };
    let found = print(&config, &(), &mut Reader(100_000)).unwrap();
    assert!(found.matches < 1_000_000, "{}", found.matches);
}

#[test]
fn the_papers_form_equals_its_reference_under_every_scheme() {
    for (term, repetitions) in [("rabbit", 2), ("a", 1), ("the rabbit ran down a hole and she aft", 1)] {
        let mut config = paper::Config::new(repetitions);
        config.term = term.into();
        let Ok(expected) = paper::reference(&config) else {
            assert!(matches!(paper::run(&config, &()), Err(Error::Refused(_))), "38 bytes fit no message");
            continue;
        };
        assert!(expected.matches > 1_000);
        for name in Scheme::names() {
            config.scheme = Scheme::named(name).unwrap().workers(2);
            let searched = paper::run(&config, &()).unwrap();
            assert_eq!(searched.found, expected, "{term} by {name}");
            assert_eq!((searched.report.kernels.len(), searched.report.edges.len()), (3, 2), "as in table 1");
        }
    }
}
