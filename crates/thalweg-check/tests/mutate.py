#!/usr/bin/env python3
"""Breaks each rule of the checker once, in a copy, and says which test is red then.

    python3 crates/thalweg-check/tests/mutate.py [NUMBER ...]

Prints a line for each rule: its number, what is broken, and the first tests that fail; and keeps it in docs/measured/verification/rules.jsonl, from
which `cargo lab tables` writes the page. A rule that no test misses ends it with status 1.
Takes some minutes; the copy and its build are in a temporary directory, or where MUTATE_ROOM says.
"""

import datetime
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

MODEL = "crates/thalweg-check/src/model/"
RULES = [
    # What is broken, the file, the text that is there once, and what takes its place.
    ("a relaxed write releases", "graph.rs", "if releases(order) {\n                    message", "if true {\n                    message"),
    ("a relaxed read acquires", "graph.rs", "if acquires(order) {\n                        hb", "if true {\n                        hb"),
    ("an update ends a release sequence", "graph.rs", "if exclusive {\n                    let source", "if false && exclusive {\n                    let source"),
    ("a release fence is none", "graph.rs", "} else if fence > 0 {", "} else if false {"),
    ("an acquire fence is none", "graph.rs", "if acquires(order) {\n                    hb.join(&pending)", "if false {\n                    hb.join(&pending)"),
    ("a join orders nothing", "graph.rs", "if count > 0 {", "if false && count > 0 {"),
    ("a free does not happen before who is given the block", "graph.rs", "Kind::Allocate(_) if !node.rf.is_init() => {", "Kind::Allocate(_) if false => {"),
    ("a read may be older than what a read before it has read", "consistency.rs", "floor = floor.max(self.place(self.node(read).rf));", ""),
    ("a write comes between an update and what it reads", "consistency.rs", "!self.locations[loc as usize].co.get(place)", "true || !self.locations[loc as usize].co.get(place)"),
    ("SeqCst has no order", "consistency.rs", "Memory::Rc11 => psc::is_ordered(self, axiom)", "Memory::Rc11 => axiom == axiom"),
    ("sequential consistency is not asked for", "consistency.rs", "Memory::Sc => self.is_sequential()", "Memory::Sc => true || self.is_sequential()"),
    ("what is not maximal is deleted too", "explore.rs", "if !self.is_maximal(id, &node.porf, by) {", "if false && !self.is_maximal(id, &node.porf, by) {"),
    ("a write revisits nothing", "explore.rs", "self.work.push(Work::Back { write, read, spurious: false });", "let _ = read;"),
    ("a read reads the newest only", "explore.rs", "if place < newest && !(succeeds", "if false && !(succeeds"),
    ("reads race only with writes that come later", "slots.rs", "(span.access == Access::Write || past.write) &&", "span.access == Access::Write &&"),
    ("a wait that has not seen the newest value waits for ever", "wait.rs", "if !reads.clone().all(|read| self.explorer.reads_newest(read)) {", "if false {"),
    ("a block is given to two allocations", "reuse.rs", "let given = |&free: &EventId| self.graph.reuse_of(free).is_none();", "let given = |_: &EventId| true;"),
    ("a free revisits no allocation", "reuse.rs", "if self.guide.is_none() && self.may_reuse() {", "if false {"),
    ("a stale pointer to a block that was handed out again is none", "reuse.rs", "if blocks.is_freed(address) || is_stale() {", "if blocks.is_freed(address) || (false && is_stale()) {"),
    ("equal threads are explored in every order", "equal.rs", "own >= others || self.comes_before(other, from)", "true"),
    ("a read never reads an older write than its twin", "equal.rs", "own >= others || self.comes_before(other, from)", "own >= others"),
    ("a revisit deletes what equal threads are compared with", "graph.rs", "porf.join(&self.node(other).porf);", "let _ = other;"),
    ("a revisit keeps half an update of a twin", "graph.rs", "porf.raise(other.thread, other.index + 2);", ""),
    ("equal threads never change places", "search.rs", "let is_due = number <= EXCHANGES || number.is_multiple_of(EXCHANGES);", "let is_due = false;"),
    ("two waits in a row wake without a reason", "engine.rs", "if before.is_some_and(|before| is_same_site(before, at)) {", "if false && before.is_some_and(|before| is_same_site(before, at)) {"),
]
# Those that take seconds. The first that fail are named.
TESTS = [
    ["--lib"],
    ["--test", "memory"],
    ["--test", "engines", "--", "litmus", "model_finds", "waits", "condvar", "std_shim", "extents", "equal"],
    ["--test", "oracle", "--", "one_order"],
]


def run(room, arguments):
    command = ["cargo", "test", "--quiet", "--package", "thalweg-check", *arguments]
    # Built before the clock starts.
    target = arguments[: arguments.index("--")] if "--" in arguments else arguments
    subprocess.run([*command[:5], *target, "--no-run"], cwd=room, capture_output=True)
    try:
        done = subprocess.run(command, cwd=room, text=True, capture_output=True, timeout=1200)
    except subprocess.TimeoutExpired:
        return ["(does not end)"]
    if done.returncode == 0:
        return []
    failed = re.findall(r"^    (\S+::\S+)$", done.stdout, re.M)
    return sorted(set(failed)) or ["(does not build or dies: %s)" % done.stderr.strip().splitlines()[-1:]]


def keep(path, what, told):
    """Puts a rule's line, with the date, where it is, or at the end."""
    head, *lines = path.read_text().splitlines()
    rules = {json.loads(line)["broken"]: line for line in lines}
    date = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    rules[what] = json.dumps({"broken": what, "red then": told, "date": date}, separators=(",", ":"))
    path.write_text("\n".join([head, *rules.values()]) + "\n")


def main():
    here = pathlib.Path(__file__).resolve().parents[3]
    chosen = [int(number) for number in sys.argv[1:]] or range(1, len(RULES) + 1)
    room = pathlib.Path(os.environ.get("MUTATE_ROOM") or tempfile.mkdtemp())
    copy = room / "copy"
    if not copy.exists():
        shutil.copytree(here, copy, ignore=shutil.ignore_patterns(".git", "target"))
    missed = 0
    for number in chosen:
        what, file, there, instead = RULES[number - 1]
        path = copy / MODEL / file
        text = path.read_text()
        assert text.count(there) == 1, f"{number}: {there!r} is there {text.count(there)} times in {file}"
        path.write_text(text.replace(there, instead))
        try:
            red = next((red for red in (run(copy, tests) for tests in TESTS) if red), [])
        finally:
            path.write_text(text)
        missed += not red
        told = (", ".join(red[:3]) or "NOBODY") + (" and others" if len(red) > 3 else "")
        print(f"{number:>2} {what}: {told}", flush=True)
        keep(here / "docs/measured/verification/rules.jsonl", what, told)
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
