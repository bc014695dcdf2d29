//! The measurements on this machine: a line of JSON about the machine, then one for each measurement.
//!
//! `cargo run --release --package thalweg-lab --no-default-features --features micro --bin micro [RUNS]`

use serde_json::json;
use std::path::Path;
use std::process::ExitCode;
use thalweg_lab::micro::{ALL, Hardware, cycles_nanos};
use thalweg_sync::{engine, thread};

/// A cache as the system describes it: its size in KiB, and its ways.
#[derive(Clone, Copy, Debug)]
struct Cache {
    kib: usize,
    ways: usize,
}

/// The data caches of the first CPU by level. Where the system does not say, what is common.
fn caches() -> [Cache; 3] {
    let mut caches = [Cache { kib: 32, ways: 8 }, Cache { kib: 1024, ways: 16 }, Cache { kib: 32768, ways: 16 }];
    for index in 0..8 {
        let folder = format!("/sys/devices/system/cpu/cpu0/cache/index{index}");
        let read = |file: &str| std::fs::read_to_string(Path::new(&folder).join(file)).unwrap_or_default();
        let (level, kind, size) = (read("level"), read("type"), read("size"));
        let level = level.trim().parse::<usize>().unwrap_or(0);
        let kib = size.trim().strip_suffix('K').and_then(|kib| kib.parse().ok());
        if let (1..=3, false, Some(kib)) = (level, kind.trim() == "Instruction", kib) {
            let ways = read("ways_of_associativity").trim().parse().unwrap_or(caches[level - 1].ways);
            caches[level - 1] = Cache { kib, ways };
        }
    }
    caches
}

fn processor() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = info.lines().find(|line| line.starts_with("model name")).and_then(|line| line.split_once(": "));
    name.map_or("unknown processor", |(_, name)| name.trim()).to_owned()
}

/// The CPUs that are threads of the same core as `cpu`, itself among them. Where the system does not say, it alone.
fn siblings(cpu: usize) -> Vec<usize> {
    let list = std::fs::read_to_string(format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"));
    list.map_or_else(|_| vec![cpu], |list| numbers(&list))
}

/// The numbers of a list as the system writes it: `0,4` and `0-1` are two.
fn numbers(list: &str) -> Vec<usize> {
    let number = |text: &str| text.trim().parse::<usize>().ok();
    let span = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(number(first)?..=number(last)?)
    };
    list.split(',').filter_map(span).flatten().collect()
}

fn main() -> ExitCode {
    if engine::IS_COMPILED_IN {
        eprintln!(
            "error: this build has engines behind the facade, so its times mean nothing; build it without the feature `machines`"
        );
        return ExitCode::from(2);
    }
    let runs = match std::env::args().nth(1).map(|text| text.parse()) {
        None => 5,
        Some(Ok(runs)) if (1..=100).contains(&runs) => runs,
        Some(_) => {
            eprintln!("error: RUNS must be from 1 to 100");
            return ExitCode::from(2);
        }
    };
    let cpus: Vec<usize> = thread::current_affinity().map_or_else(|_| vec![0, 1], |cpus| cpus.cpus().collect());
    let &[one, next, ..] = cpus.as_slice() else {
        eprintln!("error: two CPUs are needed, and this process may use {}", cpus.len());
        return ExitCode::from(2);
    };
    let siblings = siblings(one);
    let apart = cpus.iter().copied().find(|cpu| *cpu != one && !siblings.contains(cpu));
    let other = apart.unwrap_or(next);
    if apart.is_none() {
        eprintln!("warning: CPUs {one} and {other} are threads of one core; lines between cores are not measured");
    }
    let [l1, l2, llc] = caches();
    let place = Hardware { cpus: [one, other], l1: l1.kib << 10, l2: l2.kib << 10 };
    let cache = |cache: Cache| json!({ "kib": cache.kib, "ways": cache.ways });
    let head = json!({
        "processor": processor(), "cpus": cpus.len(), "measured": place.cpus, "smt": siblings.len().max(1),
        "cycle_nanos": cycles_nanos(),
        "l1": cache(l1), "l2": cache(l2), "llc": cache(llc),
    });
    println!("{head}");
    // In turn, so that a drift of the machine meets all of them; the first round warms up.
    let mut figures = vec![Vec::new(); ALL.len()];
    for run in 0..=runs {
        for (micro, figures) in ALL.iter().zip(&mut figures) {
            // What no simulation is compared with is not worth more of the time that its memory takes.
            if micro.native_only && run != 1 {
                continue;
            }
            let nanos = micro.run(&place, micro.rounds.0);
            if run > 0 {
                figures.push(nanos);
            }
        }
        eprintln!("round {run} of {runs}");
    }
    for (micro, nanos) in ALL.iter().zip(figures) {
        println!("{}", json!({ "name": micro.name, "what": micro.what, "nanos": nanos }));
    }
    ExitCode::SUCCESS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus_have_numbers_and_spans() {
        assert_eq!(numbers("0,4\n"), [0, 4]);
        assert_eq!(numbers("0-3\n"), [0, 1, 2, 3]);
        assert_eq!(numbers("0-1,8-9"), [0, 1, 8, 9]);
        assert_eq!(numbers(""), [0; 0]);
    }
}
