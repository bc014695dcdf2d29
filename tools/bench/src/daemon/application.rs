//! The application of `daemon/bursts`, in a process of its own.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdout, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::json;
use thalweg::prelude::*;

use crate::cli::CHILD;
use crate::harness::BoxError;
use crate::report::record::quantile;
use crate::worlds;

/// The variable by which this program knows that it is the application.
const VARIABLE: &str = "THALWEG_LAB_BURSTS";
/// The time between two deliveries within a burst.
const STEP: Duration = Duration::from_millis(1);

/// What an application does.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Plan {
    /// Messages in a millisecond of a burst, and cycles of each.
    pub(super) messages: u64,
    pub(super) cycles: u64,
    /// Milliseconds of a burst, and of the pause behind it.
    pub(super) half: u64,
    /// Whether it begins with the pause.
    pub(super) second: bool,
    /// Bursts.
    pub(super) bursts: u64,
    /// Its workers, if they are fixed.
    pub(super) workers: Option<usize>,
}

/// What it was like.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Outcome {
    /// Seconds until the last message was done.
    pub(super) seconds: f64,
    pub(super) messages: u64,
    /// Milliseconds from a message's time to its end.
    pub(super) p50: f64,
    pub(super) p99: f64,
}

/// An application that waits to be started.
#[derive(Debug)]
pub(super) struct Application {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Application {
    /// Starts the process. `daemon` is where its daemon is.
    pub(super) fn new(plan: Plan, daemon: Option<&std::path::Path>) -> Result<Self, BoxError> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(CHILD);
        command.env(VARIABLE, serde_json::to_string(&plan)?).stdin(Stdio::piped()).stdout(Stdio::piped());
        command.env("THALWEG_DAEMON", daemon.map_or("0".as_ref(), |path| path.as_os_str()));
        let mut child = command.spawn()?;
        let output = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut application = Self { child, output };
        application.line()?;
        Ok(application)
    }

    /// Its next line.
    fn line(&mut self) -> Result<String, BoxError> {
        let mut line = String::new();
        match self.output.read_line(&mut line)? {
            0 => Err("an application ended without a word".into()),
            _ => Ok(line),
        }
    }

    /// Lets it begin.
    pub(super) fn begin(&mut self) -> Result<(), BoxError> {
        drop(self.child.stdin.take());
        Ok(())
    }

    /// Waits for its end.
    pub(super) fn outcome(mut self) -> Result<Outcome, BoxError> {
        Ok(serde_json::from_str(&self.line()?)?)
    }
}

impl Drop for Application {
    fn drop(&mut self) {
        // One that has ended is dead already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Is the application, if this process was started as one: what the lab looks at first.
pub fn child() -> Option<ExitCode> {
    let plan = std::env::var(VARIABLE).ok()?;
    let outcome = serde_json::from_str(&plan).map_err(BoxError::from).and_then(|plan| {
        println!("ready");
        // The parent closes it when all applications are ready.
        std::io::stdin().read_to_end(&mut Vec::new())?;
        run(plan)
    });
    Some(match outcome {
        Ok(outcome) => {
            let _ = writeln!(std::io::stdout(), "{}", json!(outcome));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: an application of daemon/bursts: {error}");
            ExitCode::FAILURE
        }
    })
}

/// Feeds bursts to a parallel kernel, from a thread that sleeps between deliveries.
fn run(plan: Plan) -> Result<Outcome, BoxError> {
    let start = Instant::now();
    let nanos = move || start.elapsed().as_nanos() as u64;
    let mut graph = Graph::new();
    // Room for what comes in a burst: the feeder never waits.
    let (source, inlet) = graph.inlet::<u64>((plan.messages * plan.half) as usize)?;
    let work = graph.parallel_map(|sent: u64| {
        worlds::work(plan.cycles);
        sent
    });
    let (end, delays) = graph.gather(Vec::new(), move |delays: &mut Vec<u64>, sent: u64| delays.push(nanos() - sent));
    graph += source >> work >> end;
    let feeder = std::thread::spawn(move || {
        for burst in 0..plan.bursts {
            for step in 0..plan.half {
                let at = (2 * burst + u64::from(plan.second)) * plan.half + step;
                let due = STEP * at as u32;
                std::thread::sleep(due.saturating_sub(start.elapsed()));
                for _ in 0..plan.messages {
                    // The run is not over before this thread is.
                    let _ = inlet.push(due.as_nanos() as u64);
                }
            }
        }
    });
    let scheme = plan.workers.map_or_else(Scheme::default, |workers| Scheme::default().workers(workers));
    graph.run(scheme)?;
    let seconds = start.elapsed().as_secs_f64();
    feeder.join().map_err(|_| "the feeder panicked")?;
    drop(graph);
    let mut delays = delays.take();
    let messages = plan.messages * plan.half * plan.bursts;
    if delays.len() as u64 != messages {
        return Err(format!("{} of {messages} messages came", delays.len()).into());
    }
    delays.sort_unstable();
    let millis = |q| quantile(&delays, q) / 1e6;
    Ok(Outcome { seconds, messages, p50: millis(0.5), p99: millis(0.99) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_of_every_burst_is_counted() {
        let plan = Plan { messages: 3, cycles: 1000, half: 2, second: true, bursts: 2, workers: Some(1) };
        let outcome = run(plan).unwrap();
        assert_eq!(outcome.messages, 12);
        assert!(outcome.seconds >= 0.007 && outcome.p50 <= outcome.p99, "{outcome:?}");
        let plan_read: Plan = serde_json::from_str(&serde_json::to_string(&plan).unwrap()).unwrap();
        assert_eq!(plan_read, plan);
    }
}
