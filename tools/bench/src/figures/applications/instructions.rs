//! `blq/instructions`: BLQ's Figure 10, misses of the first level of the instruction cache for a thousand instructions, of its ten benchmarks under
//! its schemes.
//!
//! Cachegrind counts them, as few machines let a program read their counters: the caches of the machine at hand, but one for all threads, which
//! it runs one at a time. So this is a machine with one core, where a switch of threads costs what a switch of kernels does, and what polls in
//! vain adds instructions that hit. A short run is taken off a longer one: what is left is neither start nor end.

use std::process::{Command, ExitCode};

use serde_json::json;
use thalweg::Scheme;

use super::{Application, BLQ};
use crate::cli;
use crate::harness::{BoxError, Contender, Effort, Experiment, Group, Role, Sample};

/// The entry for the registry.
pub(crate) const EXPERIMENT: Experiment = Experiment { name: "blq/instructions", plan };

pub(crate) const SCHEMES: [&str; 6] = ["raft", "raft_dyn", "pw_dyn", "mix", "mix_dyn", "depth_first"];

/// What is looked at if there is little time: by BLQ's own measurement helps cost these two instruction misses, and no other.
const QUICK: ([&str; 2], [&str; 2]) = (["incast", "bc"], ["raft", "mix"]);

/// Times the short run's messages.
const LONGER: u64 = 5;

/// Which application this process runs, by which scheme, and how many of its units: set by [`count`].
const CHILD: &str = "THALWEG_LAB_APPLICATION";

fn plan(effort: &Effort) -> Result<Vec<Group>, BoxError> {
    let absent = Command::new("valgrind").arg("--version").output().err();
    let absent = absent.map(|error| format!("nothing is counted: it needs valgrind, which cannot be started: {error}"));
    let schemes = if effort.is_quick() { &QUICK.1[..] } else { &SCHEMES };
    let group = |application: &'static Application| {
        let contenders = match absent {
            Some(_) => Vec::new(),
            None => schemes.iter().map(|&scheme| contender(application, scheme)).collect(),
        };
        let mut group = Group::new(application.name, &["misses per 1000 instructions"], contenders);
        group.absent.extend(absent.clone());
        group
    };
    let asked = |application: &&Application| !effort.is_quick() || QUICK.0.contains(&application.name);
    Ok(BLQ.iter().filter(asked).map(group).collect())
}

/// The contender's name.
pub(crate) fn named(scheme: &str) -> String {
    format!("thalweg, `{scheme}`")
}

fn contender(application: &'static Application, scheme: &'static str) -> Contender {
    let (short, long) = (application.least, LONGER * application.least);
    let mut start = None;
    Contender::new(Role::Ours, named(scheme), json!({ "messages": long - short }), move || {
        let start = match start {
            Some(start) => start,
            None => *start.insert(count(application.name, scheme, short)?),
        };
        let Counts { instructions, misses } = count(application.name, scheme, long)?;
        let more = |long: u64, short: u64| long.saturating_sub(short) as f64;
        let (instructions, misses) = (more(instructions, start.instructions), more(misses, start.misses));
        Ok(Sample { figures: vec![1000.0 * misses / instructions.max(1.0)], cpus: None })
    })
}

/// What Cachegrind counts of a program.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Counts {
    instructions: u64,
    misses: u64,
}

/// Runs this program under Cachegrind as [`child`].
fn count(application: &str, scheme: &str, size: u64) -> Result<Counts, BoxError> {
    let ran = Command::new("valgrind")
        .args(["--tool=cachegrind", "--cachegrind-out-file=/dev/null", "--fair-sched=try"])
        .arg(std::env::current_exe()?)
        .args(cli::CHILD)
        .env(CHILD, format!("{application} {scheme} {size}"))
        .output()?;
    let said = String::from_utf8_lossy(&ran.stderr);
    if !ran.status.success() {
        // What valgrind itself says begins with its process.
        let own: Vec<&str> = said.lines().filter(|line| !line.starts_with("==") && !line.starts_with("--")).collect();
        return Err(format!("{application} under valgrind ended with {}: {}", ran.status, own.join("; ")).into());
    }
    counts(&said).ok_or_else(|| "valgrind counted nothing".into())
}

/// What it printed.
fn counts(said: &str) -> Option<Counts> {
    let of = |what: &str| {
        let line = said.lines().find_map(|line| line.split_once(what))?;
        line.1.trim().replace(',', "").parse().ok()
    };
    Some(Counts { instructions: of("I   refs:")?, misses: of("I1  misses:")? })
}

/// Runs an application, if this process was started for that.
pub(crate) fn child() -> Option<ExitCode> {
    let asked = std::env::var(CHILD).ok()?;
    Some(match run(&asked) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {CHILD}={asked}: {error}");
            ExitCode::from(2)
        }
    })
}

fn run(asked: &str) -> Result<(), BoxError> {
    let [name, scheme, size] = asked.split(' ').collect::<Vec<_>>()[..] else {
        return Err("an application, a scheme and a number of units are needed".into());
    };
    let application = BLQ.iter().find(|one| one.name == name).ok_or("there is no such application")?;
    (application.run)(Scheme::named(scheme)?.workers(2), size.parse()?)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cachegrind_says_is_read() {
        let said = "==1== I   refs:      14,839,011\n==1== I1  misses:        24,111\n==1== LLi misses:        6,876\n";
        assert_eq!(counts(said), Some(Counts { instructions: 14_839_011, misses: 24_111 }));
        assert_eq!(counts("error"), None);
    }

    #[test]
    fn a_child_runs_what_it_is_told() {
        run("incast raft 1000").unwrap();
        for wrong in ["incast raft", "nothing raft 1", "incast nothing 1", "incast raft many"] {
            assert!(run(wrong).is_err(), "{wrong}");
        }
        let groups = plan(&Effort::TINY).unwrap();
        assert_eq!((groups.len(), plan(&Effort::FULL).unwrap().len()), (2, BLQ.len()));
        assert!(groups.iter().all(|group| group.contenders.len() + group.absent.len() > 0));
    }
}
