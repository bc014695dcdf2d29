//! `thalweg proof`: the queues' clients, litmus tests and the barrier search under the model checker.

use std::process::ExitCode;
use std::time::Duration;

use indicatif::ProgressBar;
use thalweg_check::Check;
use thalweg_check::litmus::{self, Scoreboard};
use thalweg_proof::{Client, Setup, clients, weaken};

use crate::Outcome;
use crate::args::Proof;
use crate::terminal::{emit, spinner};

/// The exit status if something does not hold.
const FAILS: u8 = 1;

pub(crate) fn run(args: &Proof) -> Outcome {
    // A client that panics is a finding and reported as such; clients run on threads without a name.
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if std::thread::current().name().is_some() {
            print(panic);
        }
    }));
    let time = Duration::from_secs(args.seconds);
    if args.list {
        let lines = clients().iter().map(|client| format!("{:16} {}\n", client.name, client.what));
        emit(&lines.collect::<String>())?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(queue) = &args.weaken {
        let progress = spinner();
        let found = weaken::weaken(queue, time, |what| step(&progress, what));
        progress.finish_and_clear();
        emit(&format!("{}\n", found?))?;
        return Ok(ExitCode::SUCCESS);
    }
    let holds = if args.litmus.is_empty() { prove(&args.names, time)? } else { run_litmus(args, time)? };
    Ok(if holds { ExitCode::SUCCESS } else { ExitCode::from(FAILS) })
}

/// Runs clients by their names, or all of a queue. A line for each; returns whether all hold.
fn prove(names: &[String], time: Duration) -> Result<bool, Box<dyn std::error::Error>> {
    let mut chosen: Vec<&Client> = Vec::new();
    for name in names {
        let before = chosen.len();
        chosen.extend(clients().iter().filter(|client| client.name == name || client.queue() == name));
        if chosen.len() == before {
            return Err(format!("there is no client `{name}`; `cargo proof --list` has them all").into());
        }
    }
    let progress = spinner();
    let mut holds = true;
    emit(&format!("{:16} {:>12} {:>9} {:>13} {:>10}\n", "client", "executions", "blocked", "events", "time"))?;
    for client in chosen {
        step(&progress, client.name);
        let result = client.check(&Setup::default().max_time(Some(time)));
        let line = match result {
            Ok(explored) => {
                let bound = if explored.bounded { "  not all: out of time" } else { "" };
                holds &= !explored.bounded;
                format!(
                    "{:16} {:>12} {:>9} {:>13} {:>8.2} s{bound}\n",
                    client.name,
                    explored.complete,
                    explored.blocked,
                    explored.events,
                    explored.duration.as_secs_f64()
                )
            }
            Err(violation) => {
                holds = false;
                format!("{:16} fails: {violation}\n", client.name)
            }
        };
        progress.suspend(|| emit(&line))?;
    }
    progress.finish_and_clear();
    Ok(holds)
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
