//! What is published of machines at hand bears the names that the lab gives, so that a run that is published in its place changes figures alone.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::catalogue::ALL;
use crate::catalogue::optional::{CPP, DPDK, HTTP, Optional, RPC, State, TBB};
use crate::figures::applications::{BLQ, instructions};
use crate::harness::{Effort, Experiment, Group};
use crate::registry::NATIVE;
use crate::tables::load;

/// Folders of what is no run on a machine, each with the reason. Those of modelled machines are in the catalogue.
const NO_MACHINES: [(&str, &str); 3] = [
    ("elsewhere", "other libraries, by programs of their own"),
    ("hardware", "areas of circuits"),
    ("verification", "what the model checker counted"),
];

/// Files that no run of an experiment writes, each with the reason.
const BY_HAND: [(&str, &str); 13] = [
    ("amd-epyc-2t/java/moving", "by bindings/java/bench/run"),
    ("amd-epyc-2t/java/overwriting", "by bindings/java/bench/run"),
    ("amd-epyc-2t/java/paced", "by bindings/java/bench/run"),
    ("xeon-2t/ff/figure8", "ranges over all stages, without work and with it, of two forms of the queues"),
    ("xeon-2t/queues/all", "the best of several experiments, a line for each"),
    ("zen3-2t/dpdk/forward", "by the program in bindings/c/dpdk-tests"),
    ("zen3-2t/go/json", "by the benchmarks in bindings/go-runtime"),
    ("zen3-2t/go/start", "by the benchmarks in bindings/go-runtime"),
    ("zen3-2t/streams/others", "single figures of several experiments"),
    ("zen4-2t/calibration", "a modelled machine beside this one, by `sim calibrate`"),
    ("zen4-2t/micro", "what the modelled machine is fitted to, by the program `micro`"),
    ("zen4-2t/queues/aims", "ratios of six runs beside what was wanted"),
    ("zen4-2t/queues/others", "single figures of several experiments"),
];

/// Peers that are not in every build, by the names that they have in what is published.
const OPTIONAL: [(Optional, &[&str]); 5] = [
    (
        TBB,
        &["oneTBB's pipeline", "oneTBB's pipeline by vectors", "oneTBB's flow graph", "oneTBB's flow graph by vectors"],
    ),
    (CPP, &["Boost `spsc_queue`", "moodycamel", "moodycamel, order per producer"]),
    (DPDK, &["DPDK's ring for one and one", "DPDK's ring for many"]),
    (HTTP, &["thalweg, BWoS", "thalweg, ring", "tokio"]),
    (RPC, &["thalweg, BWoS", "thalweg, ring", "tokio"]),
];

/// Contenders that no plan gives here, each with the reason.
const ALONE: [(&str, &str, &str); 3] = [
    ("streams/pipe3", "rtrb", "whether by one CPU or by two was not kept"),
    ("streams/trickle", "tokio", "with how many workers was not kept"),
    ("tasks/table3", "go", "its program is not built in tests"),
];

/// Units and points of cells that were made by hand, each with the reason.
const OTHER_UNITS: [(&str, &str, &str); 2] = [
    (
        "queues/1p1c-unbalanced",
        "ns beyond 12 ns of the producer, of the consumer and of both",
        "a range of three figures",
    ),
    ("bbq/figure2.6", "2 to 256", "a range of all points"),
];

/// Workload, contender, unit, and the point if it is of a curve.
type Name = [String; 4];

/// All that `groups` give.
fn names(groups: &[Group]) -> BTreeSet<Name> {
    let mut names = BTreeSet::new();
    for Group { workload, units, contenders, ideal_from, sweep, .. } in groups {
        let ideal = ideal_from.map(|_| "ideal");
        for contender in contenders.iter().map(|contender| contender.name.as_str()).chain(ideal) {
            for unit in *units {
                let (unit, point) = sweep.map_or((*unit, ""), |sweep| (sweep.unit, *unit));
                names.insert([*workload, contender, unit, point].map(str::to_owned));
            }
        }
    }
    names
}

/// Every name that an experiment gives on a machine with all optional peers.
fn given(experiment: &Experiment) -> BTreeSet<Name> {
    let groups = (experiment.plan)(&Effort::TINY).unwrap();
    let mut given = names(&groups);
    if experiment.name == "blq/instructions" {
        // Without valgrind nobody takes part, and in a first look not all do.
        let unit = groups[0].units[0];
        for (application, scheme) in BLQ.iter().flat_map(|one| instructions::SCHEMES.map(|scheme| (one.name, scheme))) {
            given.insert([application, &instructions::named(scheme), unit, ""].map(str::to_owned));
        }
    }
    let is_absent = |peer: &Optional| peer.state != State::BuiltIn && peer.experiments.contains(&experiment.name);
    for (_, names) in OPTIONAL.iter().filter(|(peer, _)| is_absent(peer)) {
        add(&mut given, &groups, names.iter().copied());
    }
    let alone = ALONE.iter().filter(|(of, ..)| *of == experiment.name).map(|(_, name, _)| *name);
    add(&mut given, &groups, alone);
    given
}

/// The contenders of these names, in all groups and units.
fn add<'a>(given: &mut BTreeSet<Name>, groups: &[Group], contenders: impl Iterator<Item = &'a str>) {
    for contender in contenders {
        for group in groups {
            for unit in group.units {
                given.insert([group.workload, contender, unit, ""].map(str::to_owned));
            }
        }
    }
}

/// The folders of machines on which experiments were run, and not of modelled ones.
fn machines(measured: &Path) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = std::fs::read_dir(measured).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.retain(|folder| {
        let name = folder.file_name().unwrap().to_str().unwrap();
        let is_modelled = ALL.iter().any(|entry| entry.machine == Some(name));
        folder.is_dir() && !is_modelled && NO_MACHINES.iter().all(|(other, _)| *other != name)
    });
    folders
}

/// The files of a folder and of those in it, without `.jsonl`.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        match entry.is_dir() {
            true => files.extend(self::files(&entry)),
            false => files
                .push(entry.with_file_name(entry.file_name().unwrap().to_str().unwrap().trim_end_matches(".jsonl"))),
        }
    }
    files
}

#[test]
fn what_is_published_bears_the_names_that_a_run_gives() {
    let measured = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/measured");
    let (mut wrong, mut by_hand, mut seen) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    for path in machines(&measured).iter().flat_map(|machine| files(machine)) {
        let path = path.strip_prefix(&measured).unwrap().to_str().unwrap();
        if BY_HAND.iter().any(|(file, _)| *file == path) {
            by_hand.insert(path.to_owned());
            continue;
        }
        let (_, name) = path.split_once('/').unwrap();
        let Some(experiment) = NATIVE.iter().find(|experiment| experiment.name == name) else {
            wrong.push(format!(
                "{path}: there is no experiment of that name, and it is not among what was made by hand"
            ));
            continue;
        };
        let given = given(experiment);
        let run = load(&measured, path).unwrap().remove(0);
        for record in &run.records {
            let field = |name: &str| record.get(name).map_or("", String::as_str);
            let head = run.head.get("unit").map_or("", String::as_str);
            let unit = record.get("unit").map_or(head, String::as_str);
            let [workload, contender, point] = ["workload", "contender", "point"].map(field);
            seen.extend([contender, unit, point].map(|told| (name.to_owned(), told.to_owned())));
            let other = |told: &str| OTHER_UNITS.iter().any(|(of, unit, _)| *of == name && *unit == told);
            let fits = given.iter().any(|[in_workload, by, of_unit, at]| {
                (in_workload, by) == (&workload.to_owned(), &contender.to_owned())
                    && (of_unit == unit || other(unit))
                    && (at == point || other(point))
            });
            if !fits {
                wrong.push(format!("{path}: no run gives {contender} ({workload}), {unit}, {point}"));
            }
        }
    }
    assert_eq!(wrong, [""; 0]);
    assert_eq!(by_hand.len(), BY_HAND.len(), "some are gone: {by_hand:?}");
    let told = ALONE.iter().chain(&OTHER_UNITS).map(|(of, told, _)| (*of, *told));
    let optional = OPTIONAL.iter().flat_map(|(peer, names)| names.iter().map(|name| (peer.experiments, *name)));
    for (of, told) in told {
        assert!(seen.contains(&(of.to_owned(), told.to_owned())), "{told} of {of} is not published any more");
    }
    let gone =
        optional.clone().find(|(of, told)| !of.iter().any(|of| seen.contains(&((*of).to_owned(), (*told).to_owned()))));
    assert!(gone.is_none(), "{gone:?} is not published any more");
}
