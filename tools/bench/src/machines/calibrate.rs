//! `thalweg sim calibrate`: a machine file for the machine at hand, and how far the model is off there.
//!
//! The figures come from a build without engines, which Cargo makes and runs; the same functions then run here on the
//! model. Latencies are read off the figures, or searched for until the model takes as long; what is left are predictions.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use crate::micro::{ALL, Hardware, Micro};
use serde_json::{Value, json};
use thalweg_figure::Spread;
use thalweg_sim::{Failure, Machine, Simulation};

/// A cache: KiB and ways.
type Cache = (u64, u64);

/// What the native build found out.
#[derive(Clone, Debug, PartialEq)]
struct Native {
    processor: String,
    cores: u64,
    /// The CPUs of the two threads.
    measured: [usize; 2],
    smt: u64,
    cycle_nanos: f64,
    caches: [Cache; 3],
    /// Nanoseconds of each run, by the name of the measurement.
    figures: BTreeMap<String, Spread>,
}

/// Builds the native measurements and runs them, or reads what they gave another time.
fn native(from: Option<&Path>) -> Result<Native, Box<dyn Error>> {
    if let Some(path) = from {
        let text = std::fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        return parse(&text).ok_or_else(|| format!("{} is not what `micro` prints", path.display()).into());
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let arguments = [
        "run",
        "--release",
        "--quiet",
        "--package",
        "thalweg-lab",
        "--no-default-features",
        "--features",
        "micro",
        "--bin",
        "micro",
    ];
    let output = Command::new(cargo).args(arguments).stderr(std::process::Stdio::inherit()).output();
    let output = output.map_err(|error| format!("cannot run cargo: {error}"))?;
    if !output.status.success() {
        return Err("the native measurements failed; calibrating needs a checkout of thalweg and two CPUs".into());
    }
    parse(&String::from_utf8_lossy(&output.stdout)).ok_or_else(|| "the native measurements printed nonsense".into())
}

fn parse(text: &str) -> Option<Native> {
    let mut lines = text.lines().map(|line| serde_json::from_str::<Value>(line).ok());
    let head = lines.next()??;
    let cache = |name: &str| Some((head[name]["kib"].as_u64()?, head[name]["ways"].as_u64()?));
    let mut figures = BTreeMap::new();
    for line in lines {
        let line = line?;
        let nanos: Option<Vec<f64>> = line["nanos"].as_array()?.iter().map(Value::as_f64).collect();
        figures.insert(line["name"].as_str()?.to_owned(), Spread::of(nanos.filter(|nanos| !nanos.is_empty())?));
    }
    let smt = head["smt"].as_u64()?.max(1);
    let native = Native {
        processor: head["processor"].as_str()?.to_owned(),
        cores: (head["cpus"].as_u64()? / smt).max(2),
        measured: serde_json::from_value(head["measured"].clone()).ok()?,
        smt,
        cycle_nanos: head["cycle_nanos"].as_f64()?,
        caches: [cache("l1")?, cache("l2")?, cache("llc")?],
        figures,
    };
    ALL.iter().all(|micro| native.figures.contains_key(micro.name)).then_some(native)
}

/// How many runs of stores ahead a core claims a line back, where that takes longer than other upgrades: found by hand, on a Zen 4,
/// where lines that another core has read are written in 9 ns each if no other store comes between, and in 42 if one comes after each of eight.
const RECLAIMS: u64 = 5;

/// What is fitted, in cycles.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Fit {
    l1: u64,
    l2: u64,
    llc: u64,
    memory: u64,
    /// A line from another core's cache, and asking the others to give theirs up.
    cache: u64,
    upgrade: u64,
    migratory: bool,
    /// The upgrade by who modified the line before, where that takes longer than others.
    reclaim: Option<u64>,
    rmw: u64,
    exchange: u64,
    pause: u64,
    code_percent: u64,
    hold: u64,
}

impl Native {
    fn cycles(&self, name: &str) -> f64 {
        self.figures[name].median / self.cycle_nanos
    }

    fn place(&self) -> Hardware {
        let bytes = |(kib, _): Cache| (kib as usize) << 10;
        Hardware { cpus: [0, 1], l1: bytes(self.caches[0]), l2: bytes(self.caches[1]) }
    }

    /// The machine file with these latencies.
    fn file(&self, fit: &Fit) -> String {
        let Self { processor, cores, smt, measured: [one, other], .. } = self;
        let Fit { l1, l2, llc, memory, cache, upgrade, migratory, .. } = fit;
        let Fit { rmw, exchange, pause, code_percent, hold, .. } = fit;
        let (reclaim, reclaims) = match fit.reclaim {
            Some(cycles) => (format!(", reclaim = {cycles}"), format!("\nreclaims = {RECLAIMS}")),
            None => Default::default(),
        };
        let mhz = (1000.0 / self.cycle_nanos).round() as u64;
        // The model's caches have a whole number of sets.
        let [l1_size, l2_size, llc_size] = self.caches.map(|(kib, ways)| {
            let kib = kib.clamp(1, 1 << 20);
            let ways = (1..=ways.clamp(1, 64)).rev().find(|ways| (kib * 16).is_multiple_of(*ways)).unwrap_or(1);
            format!("{{ kib = {kib}, ways = {ways} }}")
        });
        let processor = processor.replace(['"', '\\'], "");
        // Entries of the store buffer and of the reorder buffer, as the makers say of Zen 4 and of Golden Cove; the window is in accesses of
        // twelve instructions.
        let (store_buffer, window) = if processor.contains("AMD") { (64, 320 / 12) } else { (112, 512 / 12) };
        format!(
            r#"name = "here"
about = "{processor}, as it was measured"
calibration = """
Measured on it, by `cargo sim calibrate`: the clock rate, from a chain of multiplications; L1, L2, last level, memory and the transfer between caches, from chains of
dependent loads; read-modify-write and compare-and-exchange, by one thread alone; the pause.
Fitted: the time of code (cost.code_percent), until a push into FastForward and a pop by the same thread are as quick as measured;
cache.migratory, by which of the two comes nearer when a word goes there and back, in one line and in two, and when lines are written that another
core has read; an upgrade, until it does so as
quickly as measured in one line (where lines are migratory it takes none, and is taken to last as long as a transfer); one by who modified the line before others read it (reclaim, where
that takes longer), until lines that another core has read are written as quickly as measured, with a store to another line after each store; contention.hold, until two threads add to a word as
quickly as measured.
From the system: sizes and ways of the caches. From the maker: the store buffer and the window. Guesses: everything else.
One socket of one die, whatever the machine has: what was measured are its CPUs {one} and {other}."""
store_buffer = {store_buffer}
prefetch = "stride"
window = {window}

[cores]
mhz = {mhz}
sockets = 1
dies = 1
per_die = {cores}
per_cluster = 1
smt = {smt}

[cache]
l1 = {l1_size}
l2 = {l2_size}
llc = {llc_size}
llc_takes = "victims"
migratory = {migratory}{reclaims}

[latency]
l1 = {l1}
l2 = {l2}
same_die = {{ llc = {llc}, cache = {cache}, upgrade = {upgrade}{reclaim}, memory = {memory} }}

[cost]
access = 1
code_percent = {code_percent}
rmw = {rmw}
exchange = {exchange}
fence = 33
pause = {pause}
sharer = 4
smt_percent = 60

[contention]
hold = {hold}
overlap = 30
near_first = 0

[interconnect]
die = 1
link = 0
memory = 4
clean = 12

[os]
spawn = 12000
switch = 1500
park = 1500
unpark = 1500
wake = 3000
yields = 400
time_slice = 3000000
"#
        )
    }

    fn machine(&self, fit: &Fit) -> Result<Machine, Box<dyn Error>> {
        Ok(Machine::parse(&self.file(fit), "the fitted machine")?)
    }

    fn simulate(&self, fit: &Fit, name: &str) -> Result<f64, Box<dyn Error>> {
        let micro = ALL.iter().find(|micro| micro.name == name).expect("the name of a measurement");
        Ok(simulate(&self.machine(fit)?, &self.place(), micro)?)
    }

    /// Reads off what can be, and searches for the rest.
    fn fit(&self) -> Result<Fit, Box<dyn Error>> {
        // A load in the model is its latency and one step of code.
        let load = |name: &str| (self.cycles(name).round() as u64).saturating_sub(1);
        let l1 = load("load/l1").max(1);
        let l2 = load("load/l2").max(l1 + 1);
        let llc = load("load/llc").max(l2 + 1);
        let memory = load("load/memory").max(llc + 1);
        let rmw = load("add/1").saturating_sub(l1);
        // Beside the addition's work it reads the word, which takes two steps: it is the word of the round before.
        let exchange = load("exchange/1").saturating_sub(l1 + rmw + 2);
        let pause = (self.cycles("pause").round() as u64).max(1);
        let cache = load("line/taken").max(l2 + 1);
        let (upgrade, migratory, code_percent, hold) = (cache, true, 0, 0);
        let mut fit = Fit {
            l1,
            l2,
            llc,
            memory,
            cache,
            upgrade,
            migratory,
            reclaim: None,
            rmw,
            exchange,
            pause,
            code_percent,
            hold,
        };
        fit.code_percent = self.search(0, 400, "code", |code_percent| Fit { code_percent, ..fit })?;
        let shared = Fit { migratory: false, ..fit };
        let upgrade = self.search(l2 + 1, 4000, "line/round-trip", |upgrade| Fit { upgrade, ..shared })?;
        let reclaims = |reclaim| Fit { upgrade, reclaim: Some(reclaim), ..shared };
        let reclaim = self.search(l2 + 1, 4000, "stream/shown", reclaims)?;
        let shared = Fit { upgrade, reclaim: (reclaim > upgrade).then_some(reclaim), ..shared };
        // By how much it is off where a word goes there and back, and where lines are written that another core has read.
        let off = |fit: &Fit| -> Result<f64, Box<dyn Error>> {
            let mut off = 0.0;
            for name in ["line/round-trip", "line/each-way", "stream/shown"] {
                off += self.miss(fit, name)? / self.figures[name].median;
            }
            Ok(off)
        };
        if off(&shared)? < off(&fit)? {
            fit = shared;
        }
        fit.hold = self.search(0, 4000, "add/2", |hold| Fit { hold, ..fit })?;
        Ok(fit)
    }

    /// By how many nanoseconds the model is off.
    fn rows(&self, fit: &Fit) -> Result<Vec<Row>, Box<dyn Error>> {
        let machine = self.machine(fit)?;
        let row =
            |micro: &'static Micro| Ok((micro, self.figures[micro.name], simulate(&machine, &self.place(), micro)?));
        ALL.iter().filter(|micro| !micro.native_only).map(row).collect()
    }

    fn miss(&self, fit: &Fit, name: &str) -> Result<f64, Box<dyn Error>> {
        Ok((self.simulate(fit, name)? - self.figures[name].median).abs())
    }

    /// The value from `low` to `high` with which the model comes nearest to a measurement.
    fn search(&self, low: u64, high: u64, name: &str, with: impl Fn(u64) -> Fit) -> Result<u64, Box<dyn Error>> {
        let wanted = self.figures[name].median;
        let is = |value: u64| self.simulate(&with(value), name);
        // More takes longer, or (a line that is kept for longer moves less often) the other way round.
        let rises = is(high)? > is(low)?;
        let (mut low, mut high) = (low, high);
        while high - low > 1 {
            let middle = low.midpoint(high);
            if (is(middle)? < wanted) == rises { low = middle } else { high = middle }
        }
        let miss = |value: u64| self.miss(&with(value), name);
        Ok(if miss(low)? <= miss(high)? { low } else { high })
    }
}

/// Nanoseconds for a round on a modelled machine.
fn simulate(machine: &Machine, place: &Hardware, micro: &Micro) -> Result<f64, Failure> {
    let simulation = Simulation::new(machine.clone()).threads(2).stack_bytes(1 << 20);
    let rounds = micro.rounds.1 / if cfg!(test) { 20 } else { 1 };
    simulation.try_run(|| micro.run(place, rounds)).map(|(nanos, _)| nanos)
}

/// Off by no more than this is a match.
const MATCH: f64 = 0.25;

/// A row of the comparison: a name, native, simulated.
type Row = (&'static Micro, Spread, f64);

/// Fits the model and writes its file to `out`. Returns what is to be printed.
pub(crate) fn calibrate(from: Option<&Path>, out: Option<&Path>) -> Result<String, Box<dyn Error>> {
    if let Some(path) = out {
        // Better to learn of a wrong path now. What is there stays until there is something better.
        let opened = std::fs::OpenOptions::new().append(true).create(true).open(path);
        opened.map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    let native = native(from)?;
    let fit = native.fit()?;
    let rows = native.rows(&fit)?;
    let mut text = compare(&rows);
    if let Some(warning) = unsteady(&rows) {
        let _ = writeln!(text, "\n{warning}");
    }
    if from.is_none()
        && let Some(warning) = warning(Path::new("/sys/devices/system/cpu"), native.measured)
    {
        let _ = writeln!(text, "\n{warning}");
    }
    let file = native.file(&fit);
    match out {
        Some(path) => {
            std::fs::write(path, file).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
            let _ = writeln!(text, "\nThe machine: {}", path.display());
        }
        None => text += &format!("\n{file}"),
    }
    Ok(text)
}

/// What to know of the figures if those of one measurement are far apart: a guest's CPUs are moved about, as near to each other as the host
/// likes, and then a median is of a machine that there never was.
fn unsteady(rows: &[Row]) -> Option<String> {
    let far = rows.iter().filter(|(_, native, _)| native.max > 2.0 * native.min).map(|row| row.0.name);
    let far: Vec<_> = far.collect();
    (!far.is_empty()).then(|| {
        format!(
            "warning: between runs, {} differ by more than twice: something else ran, or the CPUs were moved; measure again, or \
             choose among several runs of `micro` one that is steady (--native)",
            far.join(", ")
        )
    })
}

/// What to know of a file made of two CPUs, if the system's directory `cpus` says that not all CPUs share a last level: dies, sockets, or
/// parts of a die that have their own.
fn warning(cpus: &Path, [one, other]: [usize; 2]) -> Option<String> {
    // Without such a cache, or on a system that does not tell, a CPU has what its package has.
    let domain = |cpu: &str| {
        ["topology/physical_package_id", "topology/die_id", "cache/index3/shared_cpu_list"]
            .map(|file| std::fs::read_to_string(cpus.join(cpu).join(file)).unwrap_or_default())
    };
    let names = std::fs::read_dir(cpus).ok()?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let is_cpu = |name: &String| name.strip_prefix("cpu").is_some_and(|number| number.parse::<u32>().is_ok());
    let domains: BTreeSet<_> = names.filter(is_cpu).map(|cpu| domain(&cpu)).collect();
    let near =
        if domain(&format!("cpu{one}")) == domain(&format!("cpu{other}")) { "share one" } else { "do not share one" };
    (domains.len() > 1).then(|| {
        format!(
            "warning: the CPUs of this machine have {} last-level caches. The two that were measured, {one} and {other}, {near}; the file has one die of one \
             socket, as if all were as near to each other as these two",
            domains.len()
        )
    })
}

/// What a page shows, as lines of JSON: what the file `native` has measured, and a model that is fitted to it, beside each other.
pub(super) fn published(native: &Path) -> Result<String, Box<dyn Error>> {
    let native = self::native(Some(native))?;
    let head = json!({ "unit": "ns", "machine": native.processor, "command": "cargo sim calibrate --native docs/measured/zen4-2t/micro.jsonl" });
    let mut text = format!("{head}\n");
    for row @ (micro, spread, simulated) in native.rows(&native.fit()?)? {
        let note = note(&row);
        let _ = writeln!(
            text,
            "{}",
            json!({
                "measurement": micro.name,
                "what": micro.what,
                "native": format!("{:.2} ({:.2}–{:.2})", spread.median, spread.min, spread.max),
                "simulated": format!("{simulated:.2}"),
                "ratio": format!("{:.2}", simulated / spread.median),
                "how": note,
                "not_modelled": if note == OFF { micro.unmodelled } else { "" },
            })
        );
    }
    Ok(text)
}

/// Of a prediction that is further off than it should be.
const OFF: &str = "predicted, off by more than 25 %";

/// Whether the row is of what the model was fitted to, and whether it is near.
fn note(&(micro, native, simulated): &Row) -> &'static str {
    let name = micro.name;
    let known = !(name.starts_with("queue/") || ["line/each-way", "exchange/2", "stream/lines"].contains(&name));
    let near = (1.0 / (1.0 + MATCH)..=1.0 + MATCH).contains(&(simulated / native.median));
    match (known, near) {
        (true, true) => "fitted",
        (true, false) => "fitted, as near as it comes",
        (false, true) => "predicted",
        (false, false) => OFF,
    }
}

fn compare(rows: &[Row]) -> String {
    let mut text = format!("{:22}{:>10}{:>20}{:>12}{:>8}\n", "ns", "native", "range", "simulated", "ratio");
    for row @ (micro, native, simulated) in rows {
        let (ratio, note) = (simulated / native.median, note(row));
        let range = format!("{:.2} to {:.2}", native.min, native.max);
        let lacks = match micro.unmodelled {
            unmodelled if note == OFF && !unmodelled.is_empty() => format!("; not modelled: {unmodelled}"),
            _ => String::new(),
        };
        let _ = writeln!(
            text,
            "{:22}{:>10.2}{range:>20}{simulated:>12.2}{ratio:>8.2}  {note}{lacks}",
            micro.name, native.median
        );
    }
    let order = |key: fn(&Row) -> f64| {
        let mut queues: Vec<&Row> = rows.iter().filter(|row| row.0.name.starts_with("queue/")).collect();
        queues.sort_by(|a, b| key(a).total_cmp(&key(b)));
        queues.iter().map(|row| row.0.name.trim_start_matches("queue/")).collect::<Vec<_>>().join(" < ")
    };
    let (is, says) = (order(|row| row.1.median), order(|row| row.2));
    let same = if is == says { "the same order" } else { "another order" };
    let _ = writeln!(text, "\nqueues, native:    {is}\nqueues, simulated: {says}: {same}");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A native machine that is itself a model, so that what should come out is known.
    fn known(migratory: bool) -> (Native, Fit) {
        let fit = Fit {
            l1: 5,
            l2: 15,
            llc: 70,
            memory: 250,
            cache: 140,
            upgrade: if migratory { 140 } else { 100 },
            migratory,
            reclaim: (!migratory).then_some(160),
            rmw: 17,
            exchange: 4,
            // Short: how long a transfer takes shows only to the next look.
            pause: 10,
            code_percent: 40,
            hold: 60,
        };
        let mut native = Native {
            processor: "a \"model\"".into(),
            cores: 2,
            measured: [0, 1],
            smt: 1,
            cycle_nanos: 0.4,
            caches: [(32, 8), (256, 8), (4096, 16)],
            figures: BTreeMap::new(),
        };
        let machine = native.machine(&fit).unwrap();
        for micro in &ALL {
            let run = || simulate(&machine, &native.place(), micro).unwrap();
            let nanos = if micro.native_only { 251.0 * native.cycle_nanos } else { run() };
            // A number that JSON gives back as it was.
            native.figures.insert(micro.name.to_owned(), Spread::of([(nanos * 1024.0).round() / 1024.0]));
        }
        (native, fit)
    }

    fn micro(name: &str) -> &'static Micro {
        ALL.iter().find(|micro| micro.name == name).unwrap()
    }

    #[test]
    fn a_known_machine_is_found_again() {
        for migratory in [true, false] {
            let (native, truth) = known(migratory);
            let fit = native.fit().unwrap();
            let near = |is: u64, should: u64| is.abs_diff(should) * 20 <= should + 20;
            assert!(near(fit.l1, truth.l1) && near(fit.l2, truth.l2) && near(fit.llc, truth.llc), "{fit:?}");
            assert!(
                near(fit.memory, truth.memory) && near(fit.cache, truth.cache) && near(fit.upgrade, truth.upgrade),
                "{fit:?}"
            );
            assert!(
                near(fit.rmw, truth.rmw) && near(fit.exchange, truth.exchange) && near(fit.pause, truth.pause),
                "{fit:?}"
            );
            assert_eq!(fit.migratory, migratory, "{fit:?}");
            assert_eq!(fit.reclaim.is_some(), truth.reclaim.is_some(), "{fit:?}");
            assert!(near(fit.reclaim.unwrap_or(0), truth.reclaim.unwrap_or(0)), "{fit:?}");
            // Other values of the hold do as well; what it was chosen by has to come out.
            for name in ["add/2", "stream/lines", "queue/fast-forward"] {
                let (is, should) = (native.simulate(&fit, name).unwrap(), native.figures[name].median);
                assert!((is / should - 1.0).abs() < 0.1, "{name}: {is} for {should}, {fit:?}");
            }
        }
    }

    /// CPUs by their package, die, and the CPUs that they share a last level with.
    #[test]
    fn a_machine_of_several_parts_is_warned_of() {
        let directory = std::env::temp_dir().join(format!("thalweg-cpus-{}", std::process::id()));
        let told = |parts: &[[&str; 3]]| {
            for (number, part) in parts.iter().enumerate() {
                let cpu = directory.join(format!("cpu{number}"));
                for (file, text) in
                    ["topology/physical_package_id", "topology/die_id", "cache/index3/shared_cpu_list"].iter().zip(part)
                {
                    let path = cpu.join(file);
                    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                    std::fs::write(path, text).unwrap();
                }
            }
            std::fs::create_dir_all(directory.join("cpufreq")).unwrap();
            let warning = warning(&directory, [0, 1]);
            std::fs::remove_dir_all(&directory).unwrap();
            warning
        };
        assert_eq!(told(&[["0", "0", "0-1"], ["0", "0", "0-1"]]), None);
        let sockets = told(&[["0", "0", "0-1"], ["0", "0", "0-1"], ["1", "0", "2"]]).unwrap();
        assert!(sockets.contains("2 last-level caches") && sockets.contains("0 and 1, share one"), "{sockets}");
        let dies = told(&[["0", "0", "0"], ["0", "1", "1"]]).unwrap();
        assert!(dies.contains("0 and 1, do not share one"), "{dies}");
        assert!(told(&[["0", "0", "0"], ["0", "0", "1"]]).is_some(), "parts of a die");
        assert_eq!(warning(&directory, [0, 1]), None, "nothing is known");
    }

    #[test]
    fn what_is_off_is_said() {
        let row = |name, native, simulated| (micro(name), Spread::of([native]), simulated);
        let text = compare(&[row("load/l1", 1.0, 1.0), row("queue/bbq", 10.0, 12.0), row("queue/lamport", 8.0, 16.0)]);
        let line = |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap();
        assert!(line("load/l1").ends_with("fitted"));
        assert!(line("queue/bbq").ends_with("predicted"));
        assert!(line("queue/lamport").contains("off by more than 25 %; not modelled: that a line"));
        assert!(
            text.contains("native:    lamport < bbq\n") && text.contains("simulated: bbq < lamport: another order")
        );
    }

    #[test]
    fn figures_that_are_far_apart_are_warned_of() {
        let row = |name, runs: [f64; 3]| (micro(name), Spread::of(runs), 1.0);
        assert_eq!(unsteady(&[row("add/1", [1.0, 1.5, 2.0])]), None);
        let warning = unsteady(&[row("add/1", [1.0, 1.0, 1.0]), row("line/round-trip", [84.0, 360.0, 361.0])]).unwrap();
        assert!(warning.contains("line/round-trip") && !warning.contains("add/1"), "{warning}");
    }

    #[test]
    fn figures_are_read_back_or_refused() {
        let (native, _) = known(true);
        let cache = |(kib, ways): Cache| serde_json::json!({ "kib": kib, "ways": ways });
        let mut text = serde_json::json!({
            "processor": native.processor, "cpus": 2, "measured": native.measured, "smt": 1, "cycle_nanos": 0.4,
            "l1": cache(native.caches[0]), "l2": cache(native.caches[1]), "llc": cache(native.caches[2]),
        })
        .to_string();
        for (name, spread) in &native.figures {
            text += &format!("\n{}", serde_json::json!({ "name": name, "nanos": [spread.median] }));
        }
        assert_eq!(parse(&text).unwrap(), native);
        assert_eq!(parse(text.rsplit_once('\n').unwrap().0), None, "a measurement is missing");
        assert_eq!(parse("load/l1 1.0"), None);
    }
}
