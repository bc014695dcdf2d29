//! A program's own command line: how does it scale?

use crate::machine::Machine;
use crate::report::Report;
use crate::scaling::{Scaling, Study};
use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Once;
use thalweg_sync::engine::{Site, tell_strangers};

const USAGE: &str = "\
Runs this program on 1, 2, 4 ... hardware threads of a modelled machine, and says how it scales and what stops it.

  --on MACHINE[:THREADS]  the machine, a name or a file ending in .toml; and up to how many of its threads
  --seeds N               how many seeds each point is run with [default: 3]
  --limit SECONDS         after how much simulated time a run is given up [default: 60]
  --json FILE             a line of JSON for each point; `-` is the standard output, instead of the table
  --svg FILE              the curve as a picture
  --trace FILE            who did what when with all threads, for https://ui.perfetto.dev

Exit status: 0 if all went well, 2 if not.";

/// How many events a trace has room for: a file of some 100 MB.
const EVENTS: usize = 500_000;

/// What was asked for.
#[derive(Debug, PartialEq)]
struct Asked {
    machine: Machine,
    threads: usize,
    seeds: u64,
    /// In simulated seconds.
    limit: u64,
    json: Option<PathBuf>,
    svg: Option<PathBuf>,
    trace: Option<PathBuf>,
}

/// The program of the page for users is built as it stands there.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/simulator.md")]
struct Page;

/// The `main` of a program that is to be run on modelled machines: reads the command line, and runs `program` as a
/// [`Study`]. `program` says how much it did, in messages, say.
///
/// ```no_run
/// use std::process::ExitCode;
/// use thalweg_sync::{hint, thread};
///
/// // What is allocated lies on the modelled machine as it would there.
/// #[global_allocator]
/// static HEAP: thalweg_sim::Heap = thalweg_sim::Heap;
///
/// fn main() -> ExitCode {
///     thalweg_sim::main(|| {
///         thread::scope(|scope| {
///             for _ in 0..thread::available_parallelism() {
///                 scope.spawn(|| hint::work(1_000_000));
///             }
///         });
///         thread::available_parallelism() as u64
///     })
/// }
/// ```
///
/// `cargo run --release -- --on x86-88t:64`. `--help` says what else there is.
///
/// # Ends the process
///
/// With status 2, when a thread that was not started by [`thalweg_sync::thread`] uses the facade meanwhile: it would run
/// natively, beside the simulation. Also as [`Simulation::try_run`](crate::Simulation::try_run) does.
pub fn main(program: impl Fn() -> u64 + Sync) -> ExitCode {
    let mut arguments = std::env::args();
    let name = arguments.next().unwrap_or_default();
    let name = Path::new(&name).file_stem().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    match tell_strangers(stranger, || answer(&name, arguments, program)) {
        Ok(text) => match std::io::stdout().lock().write_all(text.as_bytes()) {
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => trouble(&error),
            _ => ExitCode::SUCCESS,
        },
        Err(error) => trouble(&*error),
    }
}

fn trouble(error: &dyn Error) -> ExitCode {
    eprintln!("error: {error}");
    ExitCode::from(2)
}

/// Ends the process: what it would print would leave out what the calling thread does at `at`.
fn stranger(at: Site) {
    // Of several threads one tells, and the others wait for the end.
    static TOLD: Once = Once::new();
    TOLD.call_once(|| {
        eprintln!(
            "error: a thread that was not started by thalweg_sync::thread used the facade at {at}, so it runs natively and is not \
             simulated; take threads from thalweg_sync::thread (cargo clippy names every place, with the lists in thalweg's clippy.toml)"
        );
        std::process::exit(2);
    });
}

/// Does what `arguments` say; what is to be printed.
fn answer(
    name: &str,
    arguments: impl Iterator<Item = String>,
    program: impl Fn() -> u64 + Sync,
) -> Result<String, Box<dyn Error>> {
    let Some(asked) = parse(arguments)? else { return Ok(format!("{name}: {USAGE}\n")) };
    let write = |path: &Path, text: String| {
        std::fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
    };
    // Better to learn of a wrong path before the runs than after them.
    let json = asked.json.as_deref().filter(|path| *path != Path::new("-"));
    for path in [json, asked.svg.as_deref(), asked.trace.as_deref()].into_iter().flatten() {
        write(path, String::new())?;
    }
    let events = if asked.trace.is_some() { EVENTS } else { 0 };
    let study = Study::new(asked.machine).seeds(asked.seeds).limit(asked.limit * 1_000_000_000).trace(events);
    let study = study.threads(asked.threads);
    let scaling = study.run(name, &program)?;
    if let Some(warning) = differ(&scaling, &study.first_again(&program)?) {
        eprintln!("{warning}");
    }
    if let Some(path) = &asked.svg {
        write(path, scaling.to_svg())?;
    }
    if let (Some(path), Some(trace)) = (&asked.trace, &scaling.largest_report().trace) {
        write(path, trace.to_json())?;
        if trace.lost() > 0 {
            eprintln!("{}: the first {} events; {} more had no room", path.display(), trace.events(), trace.lost());
        }
    }
    match asked.json {
        Some(path) if path == Path::new("-") => Ok(scaling.to_json()),
        Some(path) => {
            write(&path, scaling.to_json())?;
            Ok(scaling.to_string())
        }
        None => Ok(scaling.to_string()),
    }
}

/// What is to be said if the first run and its repetition differ.
fn differ(first: &Scaling, other: &Report) -> Option<String> {
    let one = &first.points[0].reports[0];
    (one != other).then(|| {
        format!(
            "warning: two runs on 1 thread with the same seed differ: {} and {} ns. Something decides that is not simulated, and the \
             figures are of these runs only: the host's clock or random numbers, the order of a HashMap, a static that runs share, \
             or, without thalweg_sim::Heap as its allocator, where things lie in the host's memory",
            one.nanos, other.nanos
        )
    })
}

/// `None`: help was asked for.
fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Option<Asked>, Box<dyn Error>> {
    let (mut on, mut seeds, mut limit) = (None, 3, 60);
    let (mut json, mut svg, mut trace) = (None, None, None);
    while let Some(argument) = arguments.next() {
        let (option, mut value) = match argument.split_once('=') {
            Some((option, value)) => (option.to_owned(), Some(value.to_owned())),
            None => (argument, None),
        };
        if option == "--help" || option == "-h" {
            return Ok(None);
        }
        let known = ["--on", "--seeds", "--limit", "--json", "--svg", "--trace"];
        if !known.contains(&option.as_str()) {
            return Err(format!("there is no option {option:?}; there are {} and --help", known.join(", ")).into());
        }
        let Some(value) = value.take().or_else(|| arguments.next()) else {
            return Err(format!("{option} needs a value; see --help").into());
        };
        match option.as_str() {
            "--on" => on = Some(value),
            "--seeds" => {
                seeds = (value.parse().ok().filter(|seeds| (1..=1000).contains(seeds)))
                    .ok_or_else(|| format!("--seeds must be from 1 to 1000, not {value:?}"))?;
            }
            "--limit" => {
                limit = (value.parse().ok().filter(|limit| (1..=1_000_000).contains(limit)))
                    .ok_or_else(|| format!("--limit must be from 1 to 1000000 seconds, not {value:?}"))?;
            }
            "--json" => json = Some(PathBuf::from(value)),
            option if value == "-" => {
                return Err(format!("{option} -: only --json can go to the standard output; choose a file").into());
            }
            "--svg" => svg = Some(PathBuf::from(value)),
            _ => trace = Some(PathBuf::from(value)),
        }
    }
    let Some(on) = on else {
        let names: Vec<_> = Machine::names().collect();
        return Err(format!(
            "say on which machine: --on MACHINE[:THREADS]; there are {}, and files ending in .toml",
            names.join(", ")
        )
        .into());
    };
    let (machine, threads) = Machine::part(&on)?;
    Ok(Some(Asked { machine, threads, seeds, limit, json, svg, trace }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_sync::atomic::Ordering::Relaxed;

    fn parsed(line: &str) -> Result<Option<Asked>, String> {
        parse(line.split_whitespace().map(str::to_owned)).map_err(|error| error.to_string())
    }

    #[test]
    fn options_come_in_two_forms() {
        let line = "--on=vl-16:4 --seeds 7 --limit 90 --json - --svg a.svg --trace=b.json";
        let asked = parsed(line).unwrap().unwrap();
        assert_eq!((asked.machine.name(), asked.threads, asked.seeds, asked.limit), ("vl-16", 4, 7, 90));
        assert_eq!(asked.json, Some(PathBuf::from("-")));
        assert_eq!((asked.svg, asked.trace), (Some("a.svg".into()), Some("b.json".into())));
        assert_eq!(parsed("--on x86-40").unwrap().unwrap().threads, 40);
        assert_eq!(parsed("--on x86-40 --help"), Ok(None));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (line, words) in [
            ("", ["--on MACHINE", "arm-160"]),
            ("--on vax", ["vax", "arm-160"]),
            ("--on vl-16:17", ["from 1 to 16", "17"]),
            ("--on vl-16:0", ["from 1 to 16", "0"]),
            ("--on vl-16:many", ["from 1 to 16", "many"]),
            ("--on none.toml:8", ["none.toml", "cannot read"]),
            ("--on a:none.toml", ["a:none.toml", "cannot read"]),
            ("--on vl-16 --seeds 0", ["--seeds", "0"]),
            ("--on vl-16 --limit 0", ["--limit", "1000000 seconds"]),
            ("--on vl-16 --svg -", ["--svg -", "choose a file"]),
            ("--on vl-16 --fast", ["--fast", "--trace"]),
            ("--on", ["--on", "value"]),
        ] {
            let error = parsed(line).unwrap_err();
            assert!(words.iter().all(|word| error.contains(word)), "{line}: {error}");
        }
    }

    #[test]
    fn a_wrong_path_is_told_before_anything_runs() {
        for option in ["--json", "--svg", "--trace"] {
            let line = ["--on", "vl-16", option, "no-such-directory/file"].map(str::to_owned);
            let error = answer("mine", line.into_iter(), || unreachable!("it is not written")).unwrap_err();
            assert!(error.to_string().contains("cannot write no-such-directory/file"), "{error}");
        }
    }

    #[test]
    fn two_runs_that_differ_are_told() {
        // Of two threads, so that hits are counted in the run that is told of, and not in the one that is repeated.
        let study = Study::new(Machine::named("vl-16").unwrap()).threads(2).seeds(1);
        let word = |cycles| {
            move || {
                let word = thalweg_sync::atomic::AtomicU64::new(0);
                (0..9).for_each(|_| word.store(word.load(Relaxed) + 1, Relaxed));
                thalweg_sync::hint::work(cycles);
                1
            }
        };
        let one = study.run("mine", word(2_000)).unwrap();
        let [same, other] = [2_000, 4_000].map(|cycles| study.first_again(word(cycles)).unwrap());
        assert_eq!(differ(&one, &same), None);
        let told = differ(&one, &other).unwrap();
        assert!(told.contains("differ: 1") && told.contains("and 2") && told.contains("HashMap"), "{told}");
    }

    #[test]
    fn help_runs_nothing() {
        let text = answer("mine", ["--help".to_owned()].into_iter(), || unreachable!("only help")).unwrap();
        assert!(text.starts_with("mine: Runs this program"));
    }
}
