//! DANBI's Figure 8: its applications by the forms of three other runtimes, beside our streams, on 1 to 40 cores.
//!
//! No peer is installed. What the figure compares is execution in steps that all wait for, so here is each form, small: a static schedule
//! with a barrier behind each steady state as StreamIt has it ([`bulk`]), fork and join as Cilk has it, and kernel after kernel over a whole picture,
//! by the same fork and join, as Intel's OpenCL has it over TBB ([`fork_join`]).
//!
//! What kernels compute is charged by the same prices to all, those of `danbi/applications`, with no noise; how many messages each handles is
//! counted in a run of the application. Beside that, streams have the cost of their queues, and of the start of their workers, 20 us each; a
//! static schedule has that of the messages between its kernels, and fork and join has that of its deques. These are timed from when all
//! threads are there.
//!
//! Assumed: how many of the smallest steady states are between two barriers, which the paper does not say, so there are three
//! ([`REPEATED`]); below how many records Cilk's sort is sequential, as its distribution has it ([`GRAIN`]), and that it neither copies in nor out; the
//! work groups of a picture ([`GROUPS`]), of which a fourth of an equal share is not split any more; `statistics` of SRAD in work groups, as
//! Rodinia reduces in parallel.

use serde_json::json;
use thalweg::{EdgeReport, Scheme};
use thalweg_apps::tde::stages;
use thalweg_queue::stealing::Rng;
use thalweg_sim::{Machine, Price, Simulation, price};
use thalweg_sync::sync::Arc;

use crate::baselines::bulk::{self, APPLICATION, RUNTIME};
use crate::baselines::fork_join::{self, Counts, MergeSort};
use crate::figures::applications::simulated::{self, prices};
use crate::figures::applications::{Application, DANBI};
use crate::report::verdict::{Claim, Verdict};
use crate::worlds::experiment::{Base, Experiment, Panel, Setting};
use crate::worlds::point::{Figures, Point, Run};
use crate::worlds::seen::{Seen, mean};

pub(crate) const EXPERIMENT: Experiment =
    Experiment::new("danbi/others", points).panels(&PANELS).note(note).paper(beside_the_paper).verdicts(verdicts);

const PANELS: [Panel; 3] = [Panel::SpeedUp(OVER_ONE_CORE), Panel::Of(SHARES[0].0), Panel::Of(SHARES[1].0)];
const OVER_ONE_CORE: Base = Base {
    unit: "times as fast as one core under qes_pss_prs",
    is: |_, other| other.contender == OURS[1] && other.threads == 1,
};

/// Where the time of all cores goes. What a static schedule waits for messages from other cores is in its application's, as a profile has it.
const SHARES: &[(&str, &str); 2] = &[("application, %", APPLICATION), ("runtime, %", RUNTIME)];
const YIELDS: &str = "yields per 1000 msgs";

const OURS: [&str; 2] = ["depth_first", "qes_pss_prs"];
/// The smallest steady states between two barriers.
const REPEATED: [(&str, u64); 3] = [("static", 1), ("static x16", 16), ("static x256", 256)];
const FORK_JOIN: &str = "fork-join";
const BY_KERNEL: &str = "kernel by kernel";

/// Steady states of a run: each is like the one before.
const MOST_STATES: u64 = 300;
/// Fewer are too few.
const LEAST_STATES: u64 = 8;
/// Records that Cilk's `cilksort` sorts, or merges, without a fork.
const GRAIN: usize = 2_048;
/// Bytes of a record, of a chunk that our application sorts at once, and of a piece that it merges.
const RECORD: u64 = 4;
const CHUNK: u64 = 1 << 17;
/// Records of a whole run: a chunk for each of 64 workers.
const SORTED: u64 = 64 * CHUNK / RECORD;
/// Our pictures that make one of the paper's 512 times 512 pixels, which a kernel is launched for at once, and its work groups of 16 times 16.
const OF_A_PICTURE: u64 = 16;
const GROUPS: u64 = 1_024;
/// Times that a picture of SRAD goes round: its kernels are launched again and again.
const ITERATIONS: u64 = 10;

/// What the paper has on 40 cores: speed-ups of the form and of DANBI.
struct Says {
    of: &'static [&'static str],
    who: &'static str,
    form: f64,
    danbi: f64,
    besides: &'static str,
}

const FIGURE_8: [Says; 4] = [
    Says {
        of: &["filterbank", "fm", "fft", "tde"],
        who: "StreamIt",
        form: 12.8,
        danbi: 35.6,
        besides: "55 % in the barrier, 2.3 % in DANBI's runtime",
    },
    Says {
        of: &["mergesort"],
        who: "Cilk",
        form: 11.5,
        danbi: 23.0,
        besides: "57.7, 72.8, 83.1 and 88.7 % in the OS kernel with 10, 20, 30 and 40 cores, by 5.5 to 49.6 million yields",
    },
    Says { of: &["gaussian"], who: "OpenCL", form: 14.6, danbi: 34.1, besides: "" },
    Says {
        of: &["srad"],
        who: "OpenCL",
        form: 14.1,
        danbi: 36.8,
        besides: "6.7, 21.1 and 38.3 % in the runtime with 8, 24 and 40 cores",
    },
];

/// A third off the paper's number at most comes out: each form is a small one of a runtime, and kernels are charged, not run.
const WITHIN: f64 = 1.0 / 3.0;
/// Cores of the paper's machine: on another number of them its numbers are not to be compared with.
const CORES: usize = 40;
/// Of a form, and of DANBI, in the order of the figure.
const CLAIMS: [[Claim; 2]; 4] = [
    [claim("StreamIt, the best of its schedules, mean of four", 0, 0), claim("DANBI, mean of StreamIt's four", 0, 1)],
    [claim("mergesort, Cilk", 1, 0), claim("mergesort, DANBI", 1, 1)],
    [claim("gaussian, OpenCL", 2, 0), claim("gaussian, DANBI", 2, 1)],
    [claim("srad, OpenCL", 3, 0), claim("srad, DANBI", 3, 1)],
];

const fn claim(what: &'static str, at: usize, of: usize) -> Claim {
    let paper = if of == 0 { FIGURE_8[at].form } else { FIGURE_8[at].danbi };
    Claim::new("danbi/others", what, paper, WITHIN)
}

/// Speed-ups over one core of the same base as in the table.
fn verdicts(seen: &Seen<'_>) -> Vec<Verdict> {
    let nanos = |workload: &str, contender: &str, cores| seen.nanos_of(workload, contender, &format!("{cores} cores"));
    let of = |says: &Says, contender: &str| {
        mean(says.of.iter().map(|of| Some(nanos(of, OURS[1], 1)? / nanos(of, contender, CORES)?)))
    };
    let mut all = Vec::new();
    for (says, [form, danbi]) in FIGURE_8.iter().zip(CLAIMS) {
        let of_form = match says.who {
            // With so many states that an application has too few of them, there is no mean.
            "StreamIt" => REPEATED.into_iter().filter_map(|(name, _)| of(says, name)).reduce(f64::max),
            "Cilk" => of(says, FORK_JOIN),
            _ => of(says, BY_KERNEL),
        };
        all.extend([form.verdict(of_form), danbi.verdict(of(says, OURS[1]))]);
    }
    all
}

fn says(workload: &str) -> &'static Says {
    FIGURE_8.iter().find(|says| says.of.contains(&workload)).expect("the paper has each application")
}

fn note(unit: &str, workload: &str) -> String {
    let Says { who, form, danbi, besides, of } = says(workload);
    if unit == OVER_ONE_CORE.unit {
        let mean = if of.len() > 1 { ", means of four applications" } else { "" };
        return format!("The paper, 40 cores: {form:.1} by {who}, {danbi:.1} by DANBI{mean}");
    }
    if besides.is_empty() { String::new() } else { format!("The paper, {who}: {besides}") }
}

/// What a kernel does in a run of an application.
#[derive(Clone, Debug)]
struct Load {
    name: String,
    parallel: bool,
    /// A source or a sink.
    is_end: bool,
    messages_in: f64,
    /// In all.
    nanos: f64,
}

/// An application, counted.
struct Counted {
    size: u64,
    loads: Vec<Load>,
    /// From which kernel to which, and how many messages.
    edges: Vec<((usize, usize), f64)>,
}

impl Counted {
    /// Runs some of it, as it is, counts, and takes so many messages more for `size` as it is larger. Only sorting is not in proportion.
    fn of(application: &Application, size: u64) -> Self {
        let ran = if application.name == "mergesort" { size } else { size.min(5 * application.least) };
        let prices = prices(application);
        // On a modelled core: which runs are merged with which depends on time, which is to be the same everywhere.
        let machine = Machine::named("x86-40").expect("it is one of those that are known");
        let simulation = Simulation::new(machine).threads(1).stack_bytes(1 << 20);
        let counted = simulation.try_run(|| {
            prices.iter().for_each(|(kernel, cost)| price(kernel, *cost));
            (application.run)(Scheme::default().workers(1), ran)
        });
        let (report, _) = counted.unwrap_or_else(|failure| panic!("{}: {failure}", application.name));
        let report = report.expect("the application runs to its end");
        let times = size as f64 / ran as f64;
        let load = |(name, price): &(String, Price)| {
            let kernel = report.kernel(name).expect("what has a price is a kernel");
            let nanos = price.taken * kernel.messages_in as f64 + price.given * kernel.messages_out as f64;
            let messages_in = kernel.messages_in as f64 * times;
            let is_end = kernel.messages_in == 0 || kernel.messages_out == 0;
            Load { name: name.clone(), parallel: kernel.parallel, is_end, messages_in, nanos: nanos * times }
        };
        let loads: Vec<Load> = prices.iter().map(load).collect();
        // Kernels are in the order of prices.
        let number = |name: &str| loads.iter().position(|load| load.name == name).expect("a kernel's name");
        let edge = |edge: &EdgeReport| ((number(&edge.from), number(&edge.to)), edge.messages as f64 * times);
        let edges = report.edges.iter().map(edge).collect();
        Self { size, loads, edges }
    }

    fn load(&self, name: &str) -> &Load {
        self.loads.iter().find(|load| load.name == name).expect("a kernel's name")
    }

    fn nanos(&self) -> f64 {
        self.loads.iter().map(|load| load.nanos).sum()
    }

    /// How much faster it can be with any number of cores, as sequential kernels are not shared.
    fn most(&self) -> f64 {
        let sequential = self.loads.iter().filter(|load| !load.parallel).map(|load| load.nanos);
        self.nanos() / sequential.fold(0.0, f64::max)
    }
}

/// Samples or blocks of the smallest steady state, and the bytes of a message.
fn smallest(application: &str) -> (u64, usize) {
    match application {
        // One of eight samples is kept.
        "filterbank" => (8, 4),
        // One of five.
        "fm" => (5, 4),
        "fft" | "tde" => (1, 8),
        other => unreachable!("{other} has no static schedule"),
    }
}

/// Messages that a kernel takes at a firing.
fn taken_at_once(application: &str, kernel: &str) -> u64 {
    match (application, kernel) {
        ("fm", "low-pass") => 5,
        ("fft", _) => 64,
        ("tde", _) => {
            let stages = stages::Size::default().stages(1.0).expect("the paper's size is right");
            // The two ends are not among them, and are not split.
            stages.iter().find(|(name, _)| name == kernel).map_or(540, |(_, stage)| stage.input() as u64)
        }
        _ => 1,
    }
}

/// The steady state that is so many times the smallest one.
fn program(application: &str, counted: &Counted, times: u64) -> bulk::Program {
    let (least, bytes) = smallest(application);
    let share = (least * times) as f64 / counted.size as f64;
    let kernels = counted.loads.iter().map(|load| {
        let firings = load.messages_in * share / taken_at_once(application, &load.name) as f64;
        // Windows at the start of a stream give nothing.
        let firings = (firings.round() as u64).max(1);
        bulk::Kernel { parallel: load.parallel, firings, nanos: load.nanos * share / firings as f64 }
    });
    let edges = counted.edges.iter().map(|&(ends, messages)| {
        let messages = (messages * share).round() as usize;
        bulk::Edge { ends, bytes: messages * bytes }
    });
    bulk::Program { kernels: kernels.collect(), edges: edges.collect() }
}

/// What Cilk's form of sort costs: the sequential sort and the merge that ours has, as counted in a run of some size.
fn merge_sort(application: &Application) -> MergeSort {
    let counted = Counted::of(application, SORTED);
    let (records, in_chunk) = (SORTED as f64, (CHUNK / RECORD) as f64);
    MergeSort {
        grain: GRAIN,
        sort_nanos: counted.load("sort").nanos / (records * in_chunk.log2()),
        // Runs are merged by twos, and half as many are left each time.
        merge_nanos: counted.load("merge").nanos / (records * (records / in_chunk).log2()),
    }
}

fn charged() {
    price(APPLICATION, Price { given: 1.0, taken: 0.0 });
}

/// The point of a form on so many cores.
fn form(
    workload: &'static str,
    contender: &'static str,
    cores: usize,
    messages: u64,
    run: impl Fn() -> Figures + Send + Sync + 'static,
) -> Point {
    Point {
        workload,
        contender,
        label: format!("{cores} cores"),
        params: json!({ "messages": messages, "workers": cores }),
        threads: cores,
        messages,
        device: None,
        client: Box::new(move || {
            charged();
            Figures { shares: SHARES, ..run() }
        }),
    }
}

/// The points of the forms that have this application, curve by curve.
fn forms(application: &'static Application, counted: &Counted, cores: &[usize]) -> Vec<Point> {
    let name = application.name;
    match says(name).who {
        "StreamIt" => {
            let least = smallest(name).0;
            let states = |times: u64| counted.size / (least * times);
            let fits = |times| times == 1 || states(times) >= LEAST_STATES;
            let curve = |&(contender, times): &(&'static str, u64)| {
                let states = states(times).clamp(1, MOST_STATES);
                let (program, messages) = (Arc::new(program(name, counted, times)), states * least * times);
                let at = move |&cores: &usize| {
                    let program = Arc::clone(&program);
                    form(name, contender, cores, messages, move || bulk::run(&program, cores, states, messages).0)
                };
                cores.iter().map(at).collect::<Vec<_>>()
            };
            REPEATED.iter().filter(|(_, times)| fits(*times)).flat_map(curve).collect()
        }
        "Cilk" => {
            let (records, sort) = (counted.size, merge_sort(application));
            let at = |&cores: &usize| {
                let run = move || {
                    let mut rng = Rng::new(records);
                    let input = (0..records).map(|_| rng.below(1 << 32) as u32).collect();
                    let (sorted, figures, counts) =
                        fork_join::run(cores, records, move |worker| sort.sort(worker, input));
                    assert!(sorted.len() as u64 == records && sorted.is_sorted(), "it sorts");
                    with_yields(figures, counts)
                };
                form(name, FORK_JOIN, cores, records, run)
            };
            cores.iter().map(at).collect()
        }
        _ => {
            let at = |&cores: &usize| {
                let (pictures, launches) = (counted.size.div_ceil(OF_A_PICTURE), launches(counted));
                let run = move || by_kernel(cores, pictures, &launches);
                form(name, BY_KERNEL, cores, pictures * OF_A_PICTURE, run)
            };
            cores.iter().map(at).collect()
        }
    }
}

/// What is done for a picture, in turn.
#[derive(Clone, Copy, Debug)]
enum Launch {
    /// A kernel, by all, of which a work group costs so much.
    Kernel(f64),
    /// A copy into memory, or out of it, by the program that launches.
    Copy(f64),
}

fn launches(counted: &Counted) -> Vec<Launch> {
    let per_picture = OF_A_PICTURE as f64 / counted.size as f64;
    let copy = |load: &Load| Launch::Copy(load.nanos * per_picture);
    let (first, last) = (&counted.loads[0], &counted.loads[counted.loads.len() - 1]);
    let kernels = &counted.loads[1..counted.loads.len() - 1];
    assert!(first.is_end && last.is_end && kernels.iter().all(|load| !load.is_end), "kernels are in their order");
    let kernel = |load: &Load, times: u64| Launch::Kernel(load.nanos * per_picture / (times * GROUPS) as f64);
    // What has more than a message for a picture is in the loop.
    let is_once = |load: &&Load| load.messages_in < 1.5 * counted.size as f64;
    let once = kernels.iter().filter(is_once).map(|load| kernel(load, 1));
    let again: Vec<Launch> =
        kernels.iter().filter(|load| !is_once(load)).map(|load| kernel(load, ITERATIONS)).collect();
    let rounds = (0..ITERATIONS).flat_map(|_| again.iter().copied());
    std::iter::once(copy(first)).chain(once).chain(rounds).chain([copy(last)]).collect()
}

/// So many pictures, one after the other, with a barrier behind each launch.
fn by_kernel(cores: usize, pictures: u64, launches: &[Launch]) -> Figures {
    let ((), figures, counts) = fork_join::run(cores, pictures * OF_A_PICTURE, |worker| {
        let grain = GROUPS / (4 * worker.workers() as u64);
        for launch in (0..pictures).flat_map(|_| launches) {
            match *launch {
                Launch::Kernel(nanos) => worker.each(0..GROUPS, grain, move |worker, groups| {
                    worker.works(nanos * (groups.end - groups.start) as f64);
                }),
                Launch::Copy(nanos) => worker.works(nanos),
            }
        }
    });
    with_yields(figures, counts)
}

fn with_yields(figures: Figures, counts: Counts) -> Figures {
    let yields = 1000.0 * counts.yields as f64 / figures.messages as f64;
    Figures { more: vec![(YIELDS, yields)], ..figures }
}

/// Our streams on so many cores. The application's is what they charge, for a sort within some percent as its merges vary; the rest is queues,
/// choices and waits.
fn ours(application: &'static Application, counted: &Counted, contender: &'static str, cores: usize) -> Point {
    let nanos = counted.nanos();
    let point = simulated::run(application, counted.size, contender, cores);
    let client = point.client;
    let mut params = point.params;
    params["at_most"] = json!(counted.most());
    let client = Box::new(move || {
        let figures = client();
        let share = 100.0 * nanos / (figures.nanos * cores as u64) as f64;
        Figures { more: vec![(SHARES[0].0, share), (SHARES[1].0, 100.0 - share)], ..figures }
    });
    Point { client, params, ..point }
}

/// What the figure has of cores: those that the paper's OpenCL could be given, and one.
fn cores(most: usize) -> Vec<usize> {
    let mut cores: Vec<usize> = [1, 8, 24].into_iter().filter(|&n| n < most).collect();
    cores.push(most);
    cores
}

/// How much of an application runs: some for each of 40 workers, but less than in `danbi/applications`, for the time that it takes.
fn size(setting: &Setting<'_>, application: &Application) -> u64 {
    let full = match application.name {
        "mergesort" => SORTED,
        "gaussian" | "srad" => application.size / 2,
        "tde" => 300,
        _ => application.size / 5,
    };
    setting.part(full, application.least)
}

fn points(setting: &Setting<'_>) -> Vec<Point> {
    let cores = cores(setting.threads);
    let mut points = Vec::new();
    for application in &DANBI {
        let counted = Counted::of(application, size(setting, application));
        points.extend(forms(application, &counted, &cores));
        for contender in OURS {
            points.extend(cores.iter().map(|&cores| ours(application, &counted, contender, cores)));
        }
    }
    points
}

/// Each contender's speed-ups and shares with all cores, and the paper's.
fn beside_the_paper(points: &[Point], measured: &[Vec<Run>]) -> String {
    let most = points.iter().map(|point| point.threads).max().unwrap_or_default();
    let find = |workload: &str, contender: &str, threads: usize| {
        let fits =
            |point: &&Point| point.workload == workload && point.contender == contender && point.threads == threads;
        points.iter().position(|point| fits(&point))
    };
    let nanos = |at: usize| points[at].nanos(&measured[at]).median;
    let mut text = format!(
        "{:36}{:>10}{:>10}{:>10}{:>16}{:>12}\n",
        format!("over one core under {}", OURS[1]),
        "1 core",
        format!("{most} cores"),
        "its own",
        SHARES[0].0,
        SHARES[1].0
    );
    for says in &FIGURE_8 {
        let mut sums: Vec<(&str, Vec<f64>)> = Vec::new();
        for &workload in says.of {
            let Some(base) = find(workload, OURS[1], 1) else { continue };
            let mut contenders: Vec<&str> =
                points.iter().filter(|point| point.workload == workload).map(|point| point.contender).collect();
            contenders.dedup();
            for contender in contenders {
                let (Some(one), Some(all)) = (find(workload, contender, 1), find(workload, contender, most)) else {
                    continue;
                };
                let share = |unit: &str| points[all].figure(&measured[all], unit).unwrap_or(f64::NAN);
                let (alone, faster) = (nanos(base) / nanos(one), nanos(base) / nanos(all));
                let row = vec![alone, faster, faster / alone, share(SHARES[0].0), share(SHARES[1].0)];
                text += &line(&format!("{workload}, {contender}"), &row);
                match sums.iter_mut().find(|(name, _)| *name == contender) {
                    Some((_, sum)) => sum.extend(row),
                    None => sums.push((contender, row)),
                }
            }
            match points[base].params["at_most"].as_f64() {
                Some(at_most) => {
                    text += &format!(
                        "{workload}: at most {at_most:.1} times its own one core, by its longest sequential kernel\n"
                    );
                }
                None => text += &format!("{workload}: no kernel with a price is sequential\n"),
            }
        }
        for (contender, rows) in sums.iter().filter(|(_, rows)| says.of.len() > 1 && rows.len() == 5 * says.of.len()) {
            let mean = |column: usize| rows.iter().skip(column).step_by(5).sum::<f64>() / says.of.len() as f64;
            text += &line(&format!("mean, {contender}"), &[0, 1, 2, 3, 4].map(mean));
        }
        let Says { who, form, danbi, besides, .. } = says;
        text += &format!("the paper, 40 cores: {form:.1} by {who}, {danbi:.1} by DANBI");
        text += &if besides.is_empty() { "\n\n".to_owned() } else { format!("; {besides}\n\n") };
    }
    text
}

fn line(title: &str, row: &[f64]) -> String {
    let [alone, faster, own, application, runtime] = row else { unreachable!("five columns") };
    format!("{title:36}{alone:>10.2}{faster:>10.2}{own:>10.2}{application:>16.1}{runtime:>12.1}\n")
}

#[cfg(all(test, feature = "machines"))]
mod tests {
    use super::*;
    use crate::worlds::experiment::NANOS;
    use crate::worlds::pictures::plots;

    #[test]
    fn every_application_runs_by_every_form() {
        let machine = Machine::named("x86-40").unwrap();
        let points = points(&Setting::of(&machine, 4));
        let run =
            |point: &Point| point.run(&machine, 0).unwrap_or_else(|failure| panic!("{}: {failure}", point.title()));
        let measured: Vec<Vec<Run>> = points.iter().map(|point| vec![run(point)]).collect();
        for (point, runs) in points.iter().zip(&measured) {
            for (unit, _) in SHARES {
                let share = point.figure(runs, unit).unwrap();
                assert!((0.0..=100.1).contains(&share), "{}: {share} {unit}", point.title());
            }
        }
        for form in ["static", FORK_JOIN, BY_KERNEL] {
            let at = points.iter().position(|point| point.contender == form && point.threads == 4).unwrap();
            assert_eq!(run(&points[at]), measured[at][0], "{form}: the same again");
        }
        let text = beside_the_paper(&points, &measured);
        for told in ["mean, static", "12.8 by StreamIt", "11.5 by Cilk", "14.6 by OpenCL", "srad, kernel by kernel"] {
            assert!(text.contains(told), "{told}: {text}");
        }
        let drawn = plots(&EXPERIMENT, &points, &measured);
        assert_eq!(drawn.len(), 7 * 3);
        assert!(drawn.iter().all(|plot| plot.note.contains("The paper") || plot.title.contains("gaussian")));
    }

    /// Some applications have too few steady states for many between two barriers: the mean of the others counts.
    #[test]
    fn of_a_whole_run_each_number_has_one_of_ours() {
        let machine = Machine::named("x86-40").unwrap();
        let all = points(&Setting::of(&machine, CORES));
        let repeated = |name: &str| all.iter().filter(|point| point.contender == name).count();
        assert!(repeated(REPEATED[2].0) < repeated(REPEATED[0].0), "an application lacks the most states");
        let seen = all.iter().map(|point| (point, Some(vec![(NANOS, 1.0)]))).collect();
        let lines = verdicts(&Seen::new(seen, false));
        assert!(lines.iter().all(|line| !line.to_string().contains("not run")), "{lines:?}");
    }

    #[test]
    fn all_contenders_compute_as_much() {
        let machine = Machine::named("x86-40").unwrap();
        for application in DANBI.iter().filter(|application| application.name != "mergesort") {
            let counted = Counted::of(application, size(&Setting::of(&machine, 1), application));
            let ours = ours(application, &counted, "depth_first", 1).run(&machine, 0).unwrap();
            // What streams are charged is in their kernels' tasks, with what their queues cost.
            let each = |figures: &Figures, nanos: u64| nanos as f64 / figures.messages as f64;
            let streams = each(&ours.0, ours.1.tasks.iter().map(|task| task.nanos).sum());
            let charged = counted.nanos() / counted.size as f64;
            assert!((0.3..=1.0).contains(&(charged / streams)), "{}: {charged} of {streams}", application.name);
            for point in forms(application, &counted, &[1]) {
                let run = point.run(&machine, 0).unwrap();
                let tasks = run.1.tasks.iter().filter(|task| task.name == APPLICATION).map(|task| task.nanos).sum();
                let ratio = each(&run.0, tasks) / charged;
                // Edges' messages are touched; windows at the start give nothing.
                assert!((0.95..=1.3).contains(&ratio), "{}: {ratio} of what streams compute", point.title());
            }
        }
    }

    #[test]
    fn the_sort_of_a_whole_run_costs_as_much_in_other_pieces() {
        let application = DANBI.iter().find(|application| application.name == "mergesort").unwrap();
        let ours = Counted::of(application, SORTED).nanos() / SORTED as f64;
        let MergeSort { grain, sort_nanos, merge_nanos } = merge_sort(application);
        let merges = (SORTED as f64 / grain as f64).log2();
        let of_cilk = (grain as f64).log2() * sort_nanos + merges * merge_nanos;
        // It merges ten times, ours six, and a merge costs a record more than a step of sorting.
        assert!((1.0..2.0).contains(&(of_cilk / ours)), "{of_cilk} and {ours} ns for a record");
    }

    #[test]
    fn a_picture_of_srad_is_extracted_once_and_goes_round_ten_times() {
        let of = |name: &str| {
            let application = DANBI.iter().find(|application| application.name == name).unwrap();
            let all = launches(&Counted::of(application, application.least));
            let kernels = all.iter().filter(|launch| matches!(launch, Launch::Kernel(_))).count();
            (kernels, all.len() - kernels)
        };
        assert_eq!((of("srad"), of("gaussian")), ((1 + 10 * 3, 2), (4, 2)));
    }

    #[test]
    fn a_steady_state_has_what_the_programs_say() {
        let counted = |name: &str, size| {
            let application = DANBI.iter().find(|application| application.name == name).unwrap();
            Counted::of(application, size)
        };
        let tde = program("tde", &counted("tde", 20), 1);
        // 15 pulses of 36 gates, as 15 rows of 64 points; of two points first.
        let firings: Vec<u64> = tde.kernels.iter().map(|kernel| kernel.firings).collect();
        assert!(firings.contains(&1) && firings.contains(&15) && firings.contains(&480), "{firings:?}");
        let fft = program("fft", &counted("fft", 500), 16);
        assert_eq!(fft.kernels.iter().filter(|kernel| kernel.parallel && kernel.firings == 16).count(), 2);
        assert!(fft.edges.iter().all(|edge| edge.bytes == 16 * 64 * 8), "{:?}", fft.edges);
        let bank = program("filterbank", &counted("filterbank", 40_000), 1);
        // Its filters, and what gives them their samples.
        assert_eq!(bank.kernels.iter().filter(|kernel| kernel.parallel && kernel.firings == 8).count(), 33);
    }
}
