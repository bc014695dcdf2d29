//! What a run tells: names of what is contended, who did what when, how long messages took, how a program scales.
#![cfg(not(loom))]

mod support;

use serde_json::Value;
use support::{HEAP, machine};
use thalweg_queue::Yield;
use thalweg_queue::{mpmc, spsc};
use thalweg_sim::{Cost, Heap, Report, Simulation, Stamp, Study};
use thalweg_sync::atomic::{AtomicU64, Ordering::Relaxed};
use thalweg_sync::{CachePadded, hint, spin, thread};

#[global_allocator]
static ALLOCATOR: Heap = HEAP;

struct Counters {
    fought_over: CachePadded<AtomicU64>,
    own: [CachePadded<AtomicU64>; 4],
}

/// Four threads, a counter of each, and one that they all want.
fn counters(rounds: u64) {
    let counters = Counters { fought_over: CachePadded::default(), own: Default::default() };
    thread::scope(|scope| {
        for me in 0..4 {
            let counters = &counters;
            scope.spawn(move || {
                for _ in 0..rounds {
                    counters.own[me].fetch_add(1, Relaxed);
                    counters.fought_over.fetch_add(1, Relaxed);
                }
            });
        }
    });
}

fn field<'a>(report: &'a Report, name: &str) -> &'a Cost {
    let field = report.fields.iter().find(|field| field.name.ends_with(name));
    &field.unwrap_or_else(|| panic!("no {name} in {:?}", report.fields)).cost
}

#[test]
fn what_is_contended_is_named_by_its_field() {
    let simulation = Simulation::new(machine("x86-88t"));
    let report = simulation.run(|| counters(1000));
    assert!(report.fields[0].name.ends_with("tests/reports.rs: fought_over"), "{:?}", report.fields[0]);
    assert_eq!(report.lines[0].fields, [report.fields[0].name.clone()]);
    let (fought_over, own) = (field(&report, ": fought_over"), field(&report, ": own"));
    assert!(fought_over.misses > 100 && own.misses <= 8, "{fought_over:?}, {own:?}");
    let Cost { last_level, transfers, upgrades, memory_reads, .. } = *fought_over;
    assert_eq!(fought_over.misses, last_level + transfers + upgrades + memory_reads);
    assert!(transfers > fought_over.misses * 9 / 10 && fought_over.invalidations >= transfers);
    assert!(report.to_string().contains(": fought_over"));
    // Hits are counted by place only if that was asked for, and counting changes nothing.
    assert_eq!(fought_over.hits, None);
    let counted = simulation.count_hits(true).run(|| counters(1000));
    assert_eq!((counted.cycles, counted.counts), (report.cycles, report.counts));
    assert_eq!(field(&counted, ": own").hits.unwrap() + field(&counted, ": own").misses, 4 * 1000);
    let all: u64 = counted.fields.iter().filter_map(|field| field.cost.hits).sum();
    assert_eq!(all, counted.counts.l1_hits + counted.counts.l2_hits);
}

/// Where hits are counted, an access of those that contend does not take the short way that it has else.
#[test]
fn counting_hits_changes_nothing_either_where_threads_share_cores_and_sleep() {
    let run = |counts| {
        Simulation::new(machine("x86-88t")).count_hits(counts).run(|| {
            let (counter, flags): (_, [CachePadded<AtomicU64>; 2]) = (AtomicU64::new(0), Default::default());
            thread::scope(|scope| {
                // On each of two cores one adds to what both want, and then wakes its sibling, which works.
                for (core, flag) in flags.iter().enumerate() {
                    let counter = &counter;
                    scope.spawn(move || {
                        thread::pin_current(core).unwrap();
                        for _ in 0..100 {
                            (0..50).for_each(|_| _ = counter.fetch_add(1, Relaxed));
                            flag.fetch_add(1, Relaxed);
                        }
                    });
                    scope.spawn(move || {
                        thread::pin_current(core + 44).unwrap();
                        for round in 1..=100 {
                            spin::until(|| (flag.load(Relaxed) >= round).then_some(()));
                            hint::work(500);
                        }
                    });
                }
            });
        })
    };
    let (report, counted) = (run(false), run(true));
    assert!(report.counts.l1_hits > 5_000 && report.counts.sleeps > 0, "{:?}", report.counts);
    assert_eq!((counted.cycles, counted.counts), (report.cycles, report.counts));
    assert_eq!(counted.per_thread, report.per_thread);
}

#[test]
fn fields_of_a_queue_have_their_names() {
    let report = Simulation::new(machine("x86-88t")).run(|| {
        let (tx, rx) = mpmc::with_capacity_and_wait(64, Yield).unwrap();
        thread::scope(|scope| {
            for _ in 0..3 {
                let (tx, rx) = (tx.clone(), rx.clone());
                scope.spawn(move || (0..500).for_each(|n| tx.push(n).unwrap()));
                scope.spawn(move || while rx.pop().is_ok() {});
            }
            drop((tx, rx));
        });
    });
    let names: Vec<_> = report.fields.iter().map(|field| field.name.as_str()).collect();
    assert!(names.iter().any(|name| name.starts_with("mpmc/") && name.ends_with(": allocated")), "{names:?}");
    assert!(names.iter().any(|name| name.starts_with("mpmc/") && name.ends_with(": reserved")), "{names:?}");
}

/// Messages with stamps, under names, of which one takes longer.
fn stamped() {
    let (mut tx, mut rx) = spsc::with_wait::<(u64, Stamp), _>(4, 16, Yield).unwrap();
    thread::scope(|scope| {
        scope.spawn(move || {
            for n in 1..=200 {
                let _task = hint::task("make");
                hint::work(3_000);
                tx.push((n, Stamp::now())).unwrap();
            }
        });
        while let Ok((n, sent)) = rx.pop() {
            let _task = hint::task("take");
            if n == 100 {
                let _inner = hint::task("think");
                hint::work(30_000);
            }
            sent.arrived();
        }
    });
}

#[test]
fn latencies_are_those_of_stamped_messages() {
    let report = Simulation::new(machine("x86-88t")).run(stamped);
    let latencies = report.latencies.unwrap();
    assert_eq!(latencies.count, 200);
    let sorted = [latencies.min, latencies.p50, latencies.p90, latencies.p99, latencies.p999, latencies.max];
    assert!(sorted.is_sorted(), "{latencies:?}");
    // 30 000 cycles at 3 GHz; those behind it wait for the same.
    assert!(latencies.max >= 10_000 && latencies.p50 < 5_000, "{latencies:?}");
    assert_eq!(Simulation::new(machine("x86-88t")).run(|| counters(1)).latencies, None);
}

#[test]
fn tasks_have_their_own_time() {
    let report = Simulation::new(machine("x86-88t")).run(stamped);
    let task = |name: &str| report.tasks.iter().find(|task| task.name == name).unwrap();
    assert_eq!((task("make").times, task("take").times, task("think").times), (200, 200, 1));
    assert!((200_000..260_000).contains(&task("make").nanos), "{:?}", report.tasks);
    assert_eq!(task("think").nanos, 10_000);
    assert!(task("take").nanos < 20_000, "what is within it is not counted twice: {:?}", report.tasks);
    assert_eq!(report.tasks[0].name, "make", "the longest first");
}

#[test]
fn a_trace_says_who_did_what_when() {
    let simulation = Simulation::new(machine("x86-88t")).trace(100_000);
    let report = simulation.run(|| {
        stamped();
        counters(1000);
    });
    let trace = report.trace.as_ref().unwrap();
    assert_eq!(trace.lost(), 0);
    let again = simulation.run(|| {
        stamped();
        counters(1000);
    });
    assert_eq!(trace.to_json(), again.trace.unwrap().to_json());
    let json: Value = serde_json::from_str(&trace.to_json()).unwrap();
    let events = json["traceEvents"].as_array().unwrap();
    let named = |name: &str| events.iter().filter(|event| event["name"] == name).collect::<Vec<_>>();
    assert_eq!((named("make").len(), named("think").len()), (200, 1));
    assert!((named("think")[0]["dur"].as_f64().unwrap() - 10.0).abs() < 0.001, "{:?}", named("think"));
    assert!(named("waits for tests/reports.rs: fought_over").len() > 20);
    assert!(!named("thread 1").is_empty(), "it had a hardware thread");
    assert!(events.iter().any(|event| event["name"].as_str().unwrap().starts_with("joins thread ")));
    // Events of a track lie beside or within each other, never across.
    let mut tracks: std::collections::BTreeMap<String, Vec<(f64, f64)>> = std::collections::BTreeMap::new();
    for event in events.iter().filter(|event| event["ph"] == "X") {
        let (begin, length) = (event["ts"].as_f64().unwrap(), event["dur"].as_f64().unwrap());
        assert!(begin + length <= report.nanos as f64 / 1000.0 + 0.001, "{event}");
        tracks.entry(format!("{} {}", event["pid"], event["tid"])).or_default().push((begin, begin + length));
    }
    for (track, mut spans) in tracks {
        spans.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.total_cmp(&a.1)));
        let mut open: Vec<f64> = Vec::new();
        for (begin, end) in spans {
            while open.last().is_some_and(|last| *last <= begin + 0.0005) {
                open.pop();
            }
            assert!(open.last().is_none_or(|last| end <= last + 0.0005), "{track}: {begin} to {end} in {open:?}");
            open.push(end);
        }
    }
    let short = Simulation::new(machine("x86-88t")).trace(10).run(|| counters(1000)).trace.unwrap();
    assert_eq!(short.events(), 10);
    assert!(short.lost() > 20);
    assert!(Simulation::new(machine("x86-88t")).run(|| counters(1)).trace.is_none());
}

/// Half of the work can be shared, the other half cannot.
fn half() -> u64 {
    let workers = thread::available_parallelism() as u64;
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(move || hint::work(6_000_000 / workers));
        }
    });
    let _task = hint::task("alone");
    hint::work(6_000_000);
    1000
}

#[test]
fn scaling_is_a_curve_and_says_what_sets_the_pace() {
    let study = Study::new(machine("x86-88t")).threads(24).seeds(2).trace(1000);
    let scaling = study.run("half", half).unwrap();
    assert_eq!(scaling.points.iter().map(|point| point.threads).collect::<Vec<_>>(), [1, 2, 4, 8, 16, 24]);
    assert!((1.2..1.35).contains(&scaling.speed_up(2)), "{scaling}");
    assert!((1.5..2.0).contains(&scaling.speed_up(24)), "{scaling}");
    for point in &scaling.points {
        let shares = point.shares();
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 0.02, "{shares:?}");
    }
    assert!(scaling.points[5].shares()[3] > 0.8, "most threads have nothing to do");
    let text = scaling.to_string();
    assert!(text.contains("alone  one at a time, all the time: it sets the pace"), "{text}");
    assert!(scaling.largest_report().trace.is_some());
    let again = study.run("half", half).unwrap();
    assert_eq!(again, scaling);
    let json: Vec<Value> = scaling.to_json().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(json.len(), 6);
    assert_eq!((json[1]["world"].as_str(), json[1]["params"]["threads"].as_u64()), (Some("x86-88t"), Some(2)));
    assert_eq!(scaling.to_svg().matches("<circle").count(), 12, "the curve and the ideal");
    assert!(Study::new(machine("vl-16")).threads(17).run("half", half).is_err());
}

#[test]
fn a_curve_says_how_long_stamped_messages_took() {
    let study = |program: fn()| {
        let study = Study::new(machine("x86-88t")).threads(2).seeds(1);
        study.run("messages", move || (program(), 200).1).unwrap()
    };
    let scaling = study(stamped);
    let json: Vec<Value> = scaling.to_json().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let text = scaling.to_string();
    assert!(text.contains("p99.9"), "{text}");
    for (point, record) in scaling.points.iter().zip(&json) {
        let latencies = point.reports[0].latencies.unwrap();
        assert_eq!(record["params"]["latencies"]["p999"].as_u64(), Some(latencies.p999));
        let row: Vec<u64> = vec![point.threads as u64, latencies.p50, latencies.p99, latencies.p999, latencies.max];
        let is_row =
            |line: &str| line.split_whitespace().map(str::parse).collect::<Result<Vec<u64>, _>>() == Ok(row.clone());
        assert!(text.lines().any(is_row), "{row:?} in {text}");
    }
    assert!(!study(|| counters(1)).to_string().contains("p99.9"), "no stamps, no latencies");
}

#[test]
fn json_has_the_counts_of_each_field_and_line() {
    let study = Study::new(machine("x86-88t")).threads(2).seeds(1);
    let scaling = study.run("counters", || (counters(1000), 4000).1).unwrap();
    let json: Vec<Value> = scaling.to_json().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let field = |point: usize| {
        let fields = json[point]["params"]["fields"].as_array().unwrap().iter();
        fields.clone().find(|field| field["name"].as_str().unwrap().ends_with(": fought_over")).unwrap()
    };
    assert!(field(0).get("hits").is_none(), "not counted, so not there: {}", field(0));
    let [hits, misses, transfers, snoops] = ["hits", "misses", "transfers", "snoops"]
        .map(|key| field(1)[key].as_u64().unwrap_or_else(|| panic!("no {key}")));
    assert_eq!(hits + misses, 4000);
    assert!(transfers > 20 && snoops >= 2 * transfers - 2, "who answers also loses its copy: {}", field(1));
    let line = &json[1]["params"]["contended"][0];
    assert!(line["fields"][0].as_str().unwrap().ends_with(": fought_over"), "{line}");
    for key in ["misses", "last_level", "transfers", "upgrades", "memory_reads", "invalidations", "snoops", "nanos"] {
        // The field has this line only, which is listed from its 32nd miss on.
        let [line, field] = [line, field(1)].map(|costs| costs[key].as_u64().unwrap_or_else(|| panic!("no {key}")));
        assert!((field.saturating_sub(64) * 9 / 10..=field).contains(&line), "{key}: {line} of {field}");
    }
    assert!(line.get("hits").is_none(), "{line}");
    let report = Simulation::new(machine("x86-88t")).run(|| counters(1000));
    let whole: Value = serde_json::from_str(&report.to_json()).unwrap();
    assert_eq!(whole["counts"]["snoops"].as_u64(), Some(report.counts.snoops()));
    assert_eq!(whole["counts"]["memory_transactions"].as_u64(), Some(report.counts.memory_transactions()));
}
