#!/usr/bin/env python3
"""Runs the loom tests of five published crates under thalweg-check and under loom, and compares the two.

    python3 crates/thalweg-check/tests/loom-crates.py [--seconds N] [--json FILE] [CRATE ...]

One line of each crate's Cargo.toml is changed, the one that names loom: it becomes the path of a crate `loom`, which for the one side is
`pub use thalweg_check::std::*;`, and for the other loom itself with a count of its executions. The crates are built in release, in a temporary
directory or where LOOM_CRATES_ROOM says. Needs the registry.

Each test runs alone on one core and has N seconds, 10 unless given. Seconds are CPU time of its process, so that other work on the machine does not
count. The two sides take turns; a test that ends within a fifth of a second on both runs five times, and its medians are printed. loom has
the bounds on preemptions that the tests set, and the checker none.

FILE gets the records of docs/measured/loom-crates.jsonl, and beside it `-tests.jsonl` those of each test.
"""

import argparse
import collections
import json
import os
import pathlib
import re
import resource
import signal
import statistics
import subprocess
import tempfile

CRATES = {"st3": "0.4.1", "diatomic-waker": "0.2.3", "multishot": "0.3.2", "async-event": "0.2.1", "tachyonix": "0.3.1"}
HERE = pathlib.Path(__file__).resolve().parents[1]
RUNS = 5
CORE = min(os.sched_getaffinity(0))

# loom with a count of executions, which its own log does not have for who runs a `Builder`.
COUNTING = """
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
pub use real::*;

pub fn model(client: impl Fn() + Sync + Send + 'static) {
    model::Builder::new().check(client);
}

pub mod model {
    use super::*;

    pub struct Builder(real::model::Builder);

    impl Builder {
        pub fn new() -> Self {
            Self(real::model::Builder::new())
        }

        pub fn check(&self, client: impl Fn() + Sync + Send + 'static) {
            static COUNT: AtomicU64 = AtomicU64::new(0);
            COUNT.store(0, Relaxed);
            self.0.check(move || {
                COUNT.fetch_add(1, Relaxed);
                client()
            });
            println!("{} executions", COUNT.load(Relaxed));
        }
    }

    impl Deref for Builder {
        type Target = real::model::Builder;
        fn deref(&self) -> &Self::Target {
            &self.0
        }
    }

    impl DerefMut for Builder {
        fn deref_mut(&mut self) -> &mut Self::Target {
            &mut self.0
        }
    }
}
"""
SIDES = {
    "ours": ("pub use thalweg_check::std::*;\n", 'thalweg-check = { path = "%s" }' % HERE),
    "loom": (COUNTING, 'real = { package = "loom", version = "0.7", features = ["futures"] }'),
}


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def vendor(room):
    """The sources of the crates, as they are published."""
    needs = "".join(f'{name} = "={version}"\n' for name, version in CRATES.items())
    write(room / "fetch/src/lib.rs", "")
    write(room / "fetch/Cargo.toml", '[package]\nname = "fetch"\nversion = "0.0.0"\nedition = "2021"\n[workspace]\n[dependencies]\n' + needs)
    command = ["cargo", "vendor", "--quiet", "--versioned-dirs", "--manifest-path", "fetch/Cargo.toml", "vendor"]
    subprocess.run(command, cwd=room, check=True, stdout=subprocess.DEVNULL)


def build(room, side):
    """The test programs of a side, by their crates."""
    source, dependency = SIDES[side]
    place = room / side
    write(place / "loom/src/lib.rs", source)
    write(place / "loom/Cargo.toml", f'[package]\nname = "loom"\nversion = "0.7.99"\nedition = "2021"\n[features]\nfutures = []\n[dependencies]\n{dependency}\n')
    for name, version in CRATES.items():
        if not (place / name).exists():
            subprocess.run(["cp", "-r", room / f"vendor/{name}-{version}", place / name], check=True)
        manifest = place / name / "Cargo.toml"
        manifest.write_text(re.sub(r'(\[target\.[^\n]*\.loom\]\n)version = [^\n]*', r'\1path = "../loom"', manifest.read_text()))
    write(place / "Cargo.toml", '[workspace]\nresolver = "2"\nmembers = [%s]\n' % ", ".join(f'"{name}"' for name in CRATES))
    programs = collections.defaultdict(list)
    for name in CRATES:
        # Both sides share what they depend on. It is built once for as many as can be: tachyonix depends on older versions of two others, whose
        # `cfg` would put them under another version of loom.
        flags = [name] if name == "tachyonix" else CRATES
        flags = " ".join(f"--cfg {flag.replace('-', '_')}_loom" for flag in flags)
        environment = {**os.environ, "RUSTFLAGS": flags, "CARGO_TARGET_DIR": room / "target"}
        command = ["cargo", "test", "--release", "--no-run", "--message-format", "json", "--package", name, "--lib", "--tests"]
        done = subprocess.run(command, cwd=place, env=environment, stdout=subprocess.PIPE, text=True, check=True)
        for message in map(json.loads, done.stdout.splitlines()):
            if message.get("executable"):
                programs[name].append(message["executable"])
    return programs


def tests(program):
    listed = subprocess.run([program, "--list"], capture_output=True, text=True, check=True).stdout
    return [line.removesuffix(": test") for line in listed.splitlines() if line.endswith(": test")]


def run(program, test, seconds):
    """Executions, or None if those are not all; CPU seconds, and what was found. None of a test that explores nothing."""
    environment = {**os.environ, "LOOM_LOG": "off"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = ["taskset", "-c", str(CORE), program, test, "--exact", "--nocapture", "--test-threads", "1"]
    limit = lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", preexec_fn=limit)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return None, spent, "nothing"
    counts = re.findall(r"(\d+) executions", done.stdout)
    if done.returncode == 0 and not counts:
        return None
    found = "nothing" if done.returncode == 0 else next((line for line in done.stdout.splitlines() if "panicked" in line or "fails" in line), "it dies")
    return sum(map(int, counts)), spent, found


def compare(name, both, seconds):
    """A record for each test of a crate."""
    for ours, loom in zip(both["ours"][name], both["loom"][name]):
        for test in tests(ours):
            runs = [(run(ours, test, seconds), run(loom, test, seconds))]
            if None in runs[0]:
                continue
            if all(executions is not None and spent < 0.2 for executions, spent, _ in runs[0]):
                runs += [(run(ours, test, seconds), run(loom, test, seconds)) for _ in range(RUNS - 1)]
            record = {"crate": f"{name} {CRATES[name]}", "test": test}
            for side, of in (("", 0), ("loom ", 1)):
                executions, _, found = runs[0][of]
                record |= {f"{side}executions": "not all" if executions is None else executions}
                record |= {f"{side}s": round(statistics.median(each[of][1] for each in runs), 3), f"{side}found": found}
            record["runs"] = len(runs)
            print(json.dumps(record), flush=True)
            yield record


def summary(records):
    """A crate's line: the tests that each side sees to their end, and the CPU time of those that both do."""
    ended = lambda record, side: isinstance(record[f"{side}executions"], int)
    both = [record for record in records if ended(record, "") and ended(record, "loom ")]
    found = sorted({record["found"] for record in records} - {"nothing"})
    line = {"crate": records[0]["crate"], "tests": len(records), "to the end": sum(ended(record, "") for record in records)}
    line |= {"loom": sum(ended(record, "loom ") for record in records), "both": len(both)}
    for side in ("", "loom "):
        line[f"{side}executions"] = sum(record[f"{side}executions"] for record in both)
        line[f"{side}s"] = round(sum(record[f"{side}s"] for record in both), 2)
    return line | {"found": "; ".join(found) or "nothing"}


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seconds", type=int, default=10)
    options.add_argument("--json", type=pathlib.Path)
    options.add_argument("crates", nargs="*", metavar="CRATE", default=list(CRATES))
    arguments = options.parse_args()
    room = pathlib.Path(os.environ.get("LOOM_CRATES_ROOM") or tempfile.mkdtemp())
    if not (room / "vendor").exists():
        vendor(room)
    both = {side: build(room, side) for side in SIDES}
    of_crates = {name: list(compare(name, both, arguments.seconds)) for name in arguments.crates}
    if arguments.json:
        command = f"python3 crates/thalweg-check/tests/loom-crates.py --seconds {arguments.seconds}"
        note = f"release build, one core each in turns, CPU time; {arguments.seconds} s for each test"
        head = json.dumps({"note": note, "command": command})
        lines = {"": [summary(records) for records in of_crates.values()], "-tests": sum(of_crates.values(), [])}
        for kind, records in lines.items():
            path = arguments.json.with_name(arguments.json.stem + kind + ".jsonl")
            path.write_text("\n".join([head, *map(json.dumps, records)]) + "\n")


if __name__ == "__main__":
    main()
