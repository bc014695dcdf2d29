//! The examples in C, built as C and as C++ against the static and the shared library, and run.

use std::env;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What `queue.c` prints.
const OUTPUT: &str = "\
spsc: 10000 messages in order
spsc: 10000 structs in order
spsc: 500 structs in place
spsc: a batch of 200 items
bbq: 10000 items, each once
bbq: 10000 items of two producers in order
bbq: 10000 items of one producer, each once
records: 2 structs to two consumers
records: 2 structs of two producers
records: 8 structs in place
records: 16 of 20 structs of 16 bytes
bytes: 9 messages in place
drop-old: 56 of 1000 samples kept
drop-old: 56 of 1000 lines kept
bwos: 1000 tasks, each done once
bwos: 6 of 8 structs stolen
bwos: 10 of 32 tasks in order
bwos: 7 of 8 structs in order
refused: blocks must be a power of two, not 12; 16 is the next
";

/// What `rte_ring.c` prints.
const RTE_RING: &str = "\
rte_ring: bulk, burst and one, with what is left
rte_ring: tables at odd addresses
rte_ring: 10000 items of two producers, each once
";

enum Library {
    Static,
    Shared,
}

#[test]
fn example_as_c() {
    check("queue", "c", &["-std=c11"], compiler("CC", &["cc", "gcc", "clang"]), Library::Static);
}

#[test]
fn example_as_cpp() {
    check("queue", "cpp", &["-x", "c++", "-std=c++11"], compiler("CXX", &["c++", "g++", "clang++"]), Library::Static);
}

#[test]
fn example_with_the_shared_library() {
    check("queue", "shared", &["-std=c11"], compiler("CC", &["cc", "gcc", "clang"]), Library::Shared);
}

#[test]
fn rte_ring_as_c() {
    check("rte_ring", "c", &["-std=c11"], compiler("CC", &["cc", "gcc", "clang"]), Library::Static);
}

#[test]
fn rte_ring_as_cpp() {
    check(
        "rte_ring",
        "cpp",
        &["-x", "c++", "-std=c++11"],
        compiler("CXX", &["c++", "g++", "clang++"]),
        Library::Static,
    );
}

/// A project that has the queues as a part of itself, by CMake: its program with either library, and what is installed.
#[test]
fn a_project_of_cmake_builds_links_and_installs() {
    let cmake = |args: &[&Path]| Command::new("cmake").args(args).output().ok();
    if !cfg!(unix) || cmake(&[Path::new("--version")]).is_none() {
        return skip("the project for CMake was not built, as cmake is not installed");
    }
    let done = |args: &[&Path]| {
        let output = cmake(args).unwrap();
        assert!(output.status.success(), "{args:?}\n{}", String::from_utf8_lossy(&output.stderr));
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cmake");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cmake");
    let (build, installed) = (folder.join("build"), folder.join("installed"));
    // Not the one that the other tests link from meanwhile.
    let target = format!("-DTHALWEG_TARGET_DIR={}", folder.join("target").display());
    let arg = Path::new;
    done(&[arg("-S"), &root, arg("-B"), &build, arg("-DTHALWEG_PROFILE=dev"), arg(&target)]);
    done(&[arg("--build"), &build]);
    for program in ["with_queue", "with_queue_shared"] {
        let output = Command::new(build.join(program)).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), OUTPUT, "{program}");
    }
    done(&[arg("--install"), &build, arg("--prefix"), &installed]);
    assert!(installed.join("include/thalweg_queue.h").is_file(), "{}", installed.display());
}

/// The compiler that `variable` names, or the first of `names` that is installed.
fn compiler(variable: &str, names: &[&str]) -> Option<OsString> {
    let chosen = env::var_os(variable).into_iter();
    let mut candidates = chosen.chain(names.iter().map(OsString::from));
    candidates.find(|name| {
        let version = Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        version.is_ok_and(|status| status.success())
    })
}

/// Builds an example in the `language`, runs it and compares its output. Says so if that cannot be done here.
fn check(example: &str, name: &str, language: &[&str], compiler: Option<OsString>, library: Library) {
    if !cfg!(unix) {
        skip("the example in C was not built, it needs POSIX threads");
        return;
    }
    let Some(compiler) = compiler else {
        skip(&format!("the example in C was not built, no compiler for {name} is installed"));
        return;
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let built = built();
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{example}-{name}"));
    let mut build = Command::new(&compiler);
    build.args(language).args(["-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-pthread", "-I"]);
    build.arg(root.join("include")).arg(root.join("examples").join(example).with_extension("c")).args(["-x", "none"]);
    match library {
        Library::Static => build.arg(built.join("libthalweg_queue_c.a")),
        Library::Shared => build.arg("-L").arg(&built).arg("-lthalweg_queue_c").arg(rpath(&built)),
    };
    if cfg!(target_os = "linux") {
        build.args(["-ldl", "-lm"]);
    }
    let output = build.arg("-o").arg(&program).output().unwrap();
    assert!(output.status.success(), "{build:?}\n{}", String::from_utf8_lossy(&output.stderr));

    let output = Command::new(&program).output().unwrap();
    assert!(output.status.success(), "{}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    let expected = if example == "queue" { OUTPUT } else { RTE_RING };
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
}

/// Tells whoever runs the tests, past the harness, which shows nothing of a test that passes.
fn skip(reason: &str) {
    let _ = writeln!(io::stderr(), "skipped: {reason}");
}

/// Where Cargo puts this crate's libraries when it builds this test: beside it.
fn built() -> PathBuf {
    env::current_exe().unwrap().parent().unwrap().to_path_buf()
}

fn rpath(directory: &Path) -> OsString {
    let mut flag = OsString::from("-Wl,-rpath,");
    flag.push(directory);
    flag
}
