//! `thalweg proof`: the queues' clients, litmus tests and the barrier search under the model checker.

use std::num::NonZeroUsize;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use indicatif::ProgressBar;
use thalweg_check::litmus::{self, Scoreboard};
use thalweg_check::{Check, Rule, Violation};
use thalweg_lab::catalogue::CLIENTS;
use thalweg_proof::throughput::{self, Comparison};
use thalweg_proof::{Client, Setup, clients, weaken};

use crate::Outcome;
use crate::args::Proof;
use crate::terminal::{emit, spinner};

/// The exit status if something does not hold.
const FAILS: u8 = 1;

pub(crate) fn run(args: &Proof) -> Outcome {
    // A client that panics is a finding and reported as such; clients run on threads without a name.
    let print = std::panic::take_hook();
    #[expect(clippy::disallowed_methods, reason = "the thread of the system is the one that is meant")]
    std::panic::set_hook(Box::new(move |panic| {
        if std::thread::current().name().is_some() {
            print(panic);
        }
    }));
    let time = Duration::from_secs(args.seconds);
    if args.list {
        emit(CLIENTS)?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(queue) = &args.weaken {
        let progress = spinner();
        let shown = progress.clone();
        let tell = move |what: &str| step(&shown, what);
        let setup = Setup::default().threads(jobs(args));
        let found = if args.from_sc {
            weaken::descend(queue, &setup, time, tell).map(|found| found.to_string())
        } else {
            weaken::weaken(queue, &setup, time, tell).map(|found| found.to_string())
        };
        progress.finish_and_clear();
        emit(&format!("{}\n", found?))?;
        return Ok(ExitCode::SUCCESS);
    }
    if args.throughput {
        compare(args, time)?;
        return Ok(ExitCode::SUCCESS);
    }
    let holds = if args.litmus.is_empty() { prove(args, time)? } else { run_litmus(args, time)? };
    Ok(if holds { ExitCode::SUCCESS } else { ExitCode::from(FAILS) })
}

/// How many threads explore a client.
fn jobs(args: &Proof) -> NonZeroUsize {
    let cores = NonZeroUsize::new(thalweg_sync::thread::available_parallelism());
    args.jobs.or(cores).unwrap_or(NonZeroUsize::MIN)
}

/// Begins to look anew for the most memory that the process has. Nothing where the system cannot.
fn forget_peak() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// The most memory that the process had since [`forget_peak`], in MiB. None where the system does not say.
fn peak_mib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(peak.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.div_ceil(1024))
}

/// The clients by these names, of clients or queues.
fn named<'a>(names: &'a [String]) -> impl Iterator<Item = Result<Vec<&'static Client>, String>> + 'a {
    names.iter().map(|name| {
        let found = clients().iter().filter(|client| client.name == name || client.queue() == name);
        let found = found.collect::<Vec<_>>();
        let error = || format!("there is no client `{name}`; `cargo proof --list` has them all");
        if found.is_empty() { Err(error()) } else { Ok(found) }
    })
}

/// A failing client: what is wrong, and the command that runs the execution alone.
fn failure(client: &Client, violation: &Violation, verbose: bool) -> String {
    let shown = if verbose { violation.to_string() } else { violation.brief().to_string() };
    // Quoted, as it has semicolons in it.
    let again = format!("cargo proof {} --replay '{}'", client.name, violation.replay());
    format!("{:16} fails: {shown}\nthis execution alone: {again}\n", client.name)
}

/// Runs clients by their names, all of a queue, or all. A line for each; returns whether all hold.
fn prove(args: &Proof, time: Duration) -> Result<bool, Box<dyn std::error::Error>> {
    let of = |names| Ok::<Vec<&Client>, String>(named(names).collect::<Result<Vec<_>, _>>()?.concat());
    let (mut chosen, except) = (of(&args.names)?, of(&args.except)?);
    if args.all {
        chosen = clients().iter().collect();
    }
    chosen.retain(|client| except.iter().all(|other| other.name != client.name));
    if chosen.is_empty() {
        let way_out = "name some, or queues, or take `--all`; `cargo proof --list` has them all";
        return Err(format!("there is no client to prove: {way_out}").into());
    }
    if args.replay.is_some() && chosen.len() != 1 {
        let names = chosen.iter().map(|client| client.name).collect::<Vec<_>>().join(" ");
        return Err(format!("--replay runs an execution of one client, and here are {}: {names}", chosen.len()).into());
    }
    if let Some(file) = &args.dot {
        check_writable(file)?;
    }
    let progress = spinner();
    let (mut holds, mut drawn) = (true, false);
    let mut brief = false;
    let columns = ["executions", "blocked", "events", "time", "MiB"];
    let [executions, blocked, events, duration, memory] = columns;
    emit(&format!("{:16} {executions:>12} {blocked:>9} {events:>13} {duration:>10} {memory:>5}\n", "client"))?;
    for client in chosen {
        step(&progress, client.name);
        let (shown, name) = (progress.clone(), client.name);
        let setup = match &args.replay {
            // However long somebody looks at it.
            Some(execution) => Setup::default().replay(execution),
            None => Setup::default().max_time(Some(time)).threads(jobs(args)),
        };
        forget_peak();
        let result = client.check(&setup.on_progress(move |far| shown.set_message(format!("{name}: {far}"))));
        let line = match result {
            Ok(explored) => {
                let mut notes = if explored.bounded { "  not all: out of time".to_owned() } else { String::new() };
                if explored.stuck > 0 {
                    notes += &format!("  {} left something in memory", explored.stuck);
                }
                holds &= !explored.bounded;
                format!(
                    "{:16} {:>12} {:>9} {:>13} {:>8.2} s {:>5}{notes}\n",
                    client.name,
                    explored.complete,
                    explored.blocked,
                    explored.events,
                    explored.duration.as_secs_f64(),
                    peak_mib().map_or("-".to_owned(), |mib| mib.to_string())
                )
            }
            Err(violation) if matches!(violation.rule(), Rule::NoSuchExecution { .. }) => {
                progress.finish_and_clear();
                return Err(format!("{}: {violation}", client.name).into());
            }
            Err(violation) => {
                if let Some(file) = args.dot.as_ref().filter(|_| !drawn) {
                    std::fs::write(file, violation.dot()).map_err(|error| cannot_write(file, &error))?;
                }
                drawn = true;
                holds = false;
                brief |= !args.verbose;
                failure(client, &violation, args.verbose)
            }
        };
        progress.suspend(|| emit(&line))?;
    }
    progress.finish_and_clear();
    if brief {
        emit("`--verbose` shows whole executions.\n")?;
    }
    Ok(holds)
}

fn cannot_write(file: &Path, error: &std::io::Error) -> String {
    format!("cannot write {}: {error}", file.display())
}

/// Says before a long run whether `file` can be written at its end. What is there stays as it is, and what is not does not stay.
fn check_writable(file: &Path) -> Result<(), String> {
    let is_new = !file.exists();
    let mut options = std::fs::OpenOptions::new();
    options.append(true).create(true).open(file).map_err(|error| cannot_write(file, &error))?;
    if is_new { std::fs::remove_file(file).map_err(|error| cannot_write(file, &error)) } else { Ok(()) }
}

/// Compares this checker with loom.
fn compare(args: &Proof, time: Duration) -> Result<(), Box<dyn std::error::Error>> {
    // Half a minute is enough to tell, and more than loom's clients here take, if they end at all.
    let each = time.min(Duration::from_secs(30));
    // Better to learn of a wrong path before than after.
    if let Some(file) = args.json.as_ref().filter(|file| file.as_os_str() != "-") {
        check_writable(file)?;
    }
    let progress = spinner();
    let found = throughput::compare(each, |what| step(&progress, what));
    progress.finish_and_clear();
    let Some(file) = &args.json else {
        return Ok(emit(&throughput::Table(&found).to_string())?);
    };
    let text = records(&found).map(|record| format!("{record}\n")).collect::<String>();
    match file.as_os_str() == "-" {
        true => emit(&text)?,
        false => std::fs::write(file, text).map_err(|error| cannot_write(file, &error))?,
    }
    Ok(())
}

/// The lab's records: one for each client and checker.
fn records(found: &[Comparison]) -> impl Iterator<Item = serde_json::Value> + '_ {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find(|line| line.starts_with("model name")).and_then(|line| line.split_once(": "));
    let machine = format!(
        "{}, {} CPUs, {} {}",
        model.map_or("unknown processor", |(_, model)| model.trim()),
        thalweg_sync::thread::available_parallelism(),
        std::env::consts::OS,
        std::env::consts::ARCH
    );
    let both = |comparison| [("thalweg-check", comparison, false), ("loom", comparison, true)];
    found.iter().flat_map(both).map(move |(contender, comparison, is_loom): (_, &Comparison, _)| {
        let pace = if is_loom { &comparison.loom } else { &comparison.ours };
        let [median, min, max] = pace.micros();
        serde_json::json!({
            "experiment": throughput::NAME,
            "workload": comparison.client,
            "contender": contender,
            "unit": "us/execution",
            "median": median,
            "min": min,
            "max": max,
            "runs": pace.runs,
            "world": "native",
            "cpus": null,
            "params": {
                "what": comparison.what,
                "executions": pace.executions,
                "distinct": pace.distinct,
                "out_of_time": pace.bounded,
            },
            "machine": machine,
        })
    })
}

/// Runs all litmus tests of some files. A line for each, then the sum; returns whether all pass.
fn run_litmus(args: &Proof, time: Duration) -> Result<bool, Box<dyn std::error::Error>> {
    let check = Check::new().max_time(Some(time)).max_events(100_000);
    let mut files = Vec::new();
    for file in &args.litmus {
        let name = file.display().to_string();
        let text = std::fs::read_to_string(file).map_err(|error| format!("cannot read {name}: {error}"))?;
        files.push(litmus::read(&name, &text)?);
    }
    let progress = spinner();
    let mut board = Scoreboard::default();
    for entry in files.iter().flatten() {
        step(&progress, &entry.name);
        let verdict = entry.judge(&check);
        progress.suspend(|| emit(&format!("{verdict}\n")))?;
        board.verdicts.push(verdict);
    }
    progress.finish_and_clear();
    let [passed, failed] = board.count();
    emit(&format!("{passed} passed, {failed} failed\n"))?;
    Ok(failed == 0)
}

fn step(progress: &ProgressBar, what: &str) {
    progress.set_message(what.to_owned());
    progress.tick();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Command, Thalweg};
    use clap::Parser;
    use std::sync::Arc;
    use thalweg_queue::edges::table::{Strength, Table};
    use thalweg_sync::atomic::Ordering::Relaxed;

    /// What `thalweg proof` with these words does.
    fn proof(words: &[&str]) -> Result<bool, String> {
        let mut line = vec!["thalweg", "proof"];
        line.extend(words);
        let Command::Proof(args) = Thalweg::try_parse_from(line).map_err(|error| error.to_string())?.command else {
            panic!("it is a proof")
        };
        prove(&args, Duration::from_secs(1)).map_err(|error| error.to_string())
    }

    /// A script whose list of names has come out empty is told so.
    #[test]
    fn who_proves_nothing_is_told() {
        let error = proof(&["--jobs", "1"]).unwrap_err();
        assert!(error.contains("--all"), "{error}");
    }

    #[test]
    fn one_execution_of_one_client_is_replayed() {
        assert_eq!(proof(&["ff/end", "--replay", ""]), Ok(true));
        let several = clients().iter().filter(|client| client.queue() == "ff").count();
        let several = format!("an execution of one client, and here are {several}: ff/1p1c ");
        for (words, told) in [
            (["ff", "--replay", "-"], &*several),
            (["ff/end", "--replay", "-,x"], "\"x\" is no choice: "),
            (["ff/end", "--replay", "c7"], "ff/end: the text is of no execution of this client: it has `c7`"),
            (["--all", "--replay", "-"], "cannot be used with"),
            (["--list", "--replay", "-"], "cannot be used with"),
            (["--jobs=2", "--replay", "-"], "cannot be used with"),
            (["--seconds=9", "--replay", "-"], "required arguments"),
        ] {
            let error = proof(&words).unwrap_err();
            assert!(error.contains(told), "{words:?}: {error}");
        }
    }

    /// What a failing client prints is a command that is understood; with the orderings of the source it does not fail.
    #[test]
    fn a_failing_client_names_the_execution() {
        let client = thalweg_proof::named("lamport/plain").unwrap();
        let table = Table::new().with("lamport.4", Strength::Ordering(Relaxed));
        let violation = client.check(&Setup::default().table(Arc::new(table))).unwrap_err();
        for verbose in [false, true] {
            let text = failure(client, &violation, verbose);
            let command = text.lines().last().unwrap().strip_prefix("this execution alone: cargo proof ").unwrap();
            let words = command.split(' ').map(|word| word.trim_matches('\'')).collect::<Vec<_>>();
            assert_eq!(words, ["lamport/plain", "--replay", violation.replay().as_str()]);
            assert_eq!(proof(&words), Ok(true));
        }
    }
}
