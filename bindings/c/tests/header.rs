//! The header in the repository is the one that the sources make.
//!
//! That every function is declared is checked anywhere; that the header is as the generator writes it, where `cbindgen` is installed.

use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

/// In the order in which a reader wants them.
const SOURCES: [&str; 9] =
    ["status", "build", "spsc", "spsc_records", "bbq", "records", "bytes", "bwos", "bwos_records"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn header() -> PathBuf {
    root().join("include/thalweg_queue.h")
}

fn source(name: &str) -> String {
    std::fs::read_to_string(root().join(format!("src/{name}.rs"))).unwrap()
}

/// Names and numbers of arguments, of Rust's `extern "C"` functions after `mark` or of C's declarations.
fn functions(text: &str, mark: &str) -> Vec<(String, usize)> {
    let found = text.match_indices(mark).filter_map(|(at, _)| {
        let rest = &text[at + mark.len()..];
        let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        let arguments = rest[name.len()..].strip_prefix('(')?;
        // No argument is a function, and none has a comma of its own.
        let arguments = arguments[..arguments.find(')')?].trim().trim_end_matches(',');
        let count = if arguments.is_empty() || arguments == "void" { 0 } else { arguments.split(',').count() };
        Some((name, count))
    });
    let mut functions: Vec<_> = found.collect();
    functions.sort();
    functions
}

/// It says so in its first line.
#[test]
fn the_example_builds_every_queue() {
    let example = std::fs::read_to_string(root().join("examples/queue.c")).unwrap();
    for (function, _) in SOURCES.map(source).iter().flat_map(|source| functions(source, "extern \"C\" fn ")) {
        assert!(!function.contains("_new") || example.contains(&format!("{function}(")), "no {function}");
    }
}

/// Why no header can be made here, if so.
fn no_generator() -> Option<String> {
    let output = match Command::new("cbindgen").arg("--version").output() {
        Err(absent) if absent.kind() == ErrorKind::NotFound => return Some("cbindgen is not installed".to_owned()),
        output => output.unwrap(),
    };
    let version = String::from_utf8(output.stdout).unwrap();
    let numbers: Vec<u32> = version.split(['.', ' ']).filter_map(|number| number.trim().parse().ok()).collect();
    // The first that reads `unsafe(no_mangle)`.
    (numbers.as_slice() < [0, 28].as_slice()).then(|| format!("{} is older than 0.28", version.trim()))
}

#[test]
fn declares_every_function() {
    let declared = functions(&std::fs::read_to_string(header()).unwrap(), "thalweg_");
    for name in SOURCES {
        for (function, arguments) in functions(&source(name), "extern \"C\" fn ") {
            let wanted = (function.trim_start_matches("thalweg_").to_owned(), arguments);
            assert!(declared.contains(&wanted), "include/thalweg_queue.h lacks {function} with {arguments} arguments");
        }
    }
}

#[test]
fn is_as_the_generator_writes_it() {
    if let Some(reason) = no_generator() {
        // Past the harness, which shows nothing of a test that passes.
        let _ = writeln!(
            io::stderr(),
            "skipped: include/thalweg_queue.h was not compared with its sources, {reason} (cargo install cbindgen)"
        );
        return;
    }
    // One file without the modules' own pages: the generator is not to ask Cargo for anything.
    let body: String = SOURCES
        .map(source)
        .concat()
        .lines()
        .filter(|line| !line.starts_with("//!"))
        .fold(String::new(), |body, line| body + line + "\n");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (input, output) = (folder.join("queue.rs"), folder.join("queue.h"));
    std::fs::write(&input, body).unwrap();
    let config = root().join("cbindgen.toml");
    let mut generate = Command::new("cbindgen");
    generate.arg("--quiet").arg("--config").arg(config).arg("--output").arg(&output).arg(&input);
    let status = generate.status().unwrap();
    assert!(status.success(), "cbindgen failed");
    let generated = std::fs::read(&output).unwrap();
    if std::env::var_os("UPDATE_HEADER").is_some() {
        std::fs::write(header(), &generated).unwrap();
    }
    assert!(
        std::fs::read(header()).unwrap() == generated,
        "include/thalweg_queue.h is stale: UPDATE_HEADER=1 cargo test -p thalweg-queue-c --test header",
    );
}
