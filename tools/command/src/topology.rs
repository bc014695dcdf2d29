//! `thalweg topology`: the hardware threads that a program may use here, and where workers would be.

use std::process::ExitCode;

use thalweg_sync::thread::{Cache, Topology};

use crate::Outcome;
use crate::args::Placement;
use crate::terminal::emit;

/// Prints what this machine has.
pub(crate) fn run(args: &Placement) -> Outcome {
    let machine = Topology::read();
    emit(&if args.json { json(&machine) } else { table(&machine, args.workers.map(usize::from)) })?;
    Ok(ExitCode::SUCCESS)
}

/// A size in the unit in which it is a whole number.
fn size(bytes: u64) -> String {
    match bytes {
        0 => "of unknown size".to_owned(),
        _ if bytes.is_multiple_of(1 << 20) => format!("{} MiB", bytes >> 20),
        _ if bytes.is_multiple_of(1 << 10) => format!("{} KiB", bytes >> 10),
        _ => format!("{bytes} B"),
    }
}

fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// A number of each kind of thing that hardware threads are on.
fn distinct(all: impl Iterator<Item = usize>) -> usize {
    all.collect::<std::collections::BTreeSet<_>>().len()
}

fn table(machine: &Topology, workers: Option<usize>) -> String {
    let cpus = machine.cpus();
    let mut text = format!(
        "{} that this program may use, on {}, {} and {}\n",
        count(cpus.len(), "hardware thread"),
        count(distinct(cpus.iter().map(|cpu| cpu.core)), "core"),
        count(distinct(cpus.iter().map(|cpu| cpu.socket)), "socket"),
        count(distinct(cpus.iter().map(|cpu| cpu.node)), "memory node"),
    );
    if let Some(processors) = machine.quota() {
        text += &format!("no more than the time of {processors:.2} processors: a limit of the control group\n");
    }
    for cache in machine.caches() {
        let list: Vec<_> = cache.cpus.iter().map(ToString::to_string).collect();
        text += &format!("level {} cache, {}: {}\n", cache.level, size(cache.bytes), list.join(" "));
    }
    let places = machine.places();
    // As the runtime has it: pinned if there are as many hardware threads as workers.
    let workers = workers.unwrap_or(places.len());
    text += "\n   cpu  core  node  socket  worker\n";
    for cpu in cpus {
        let worker = places.iter().take(workers).position(|&place| place == cpu.id).filter(|_| workers <= places.len());
        let worker = worker.map_or_else(|| "-".to_owned(), |worker| worker.to_string());
        text += &format!("{:6}{:6}{:6}{:8}{worker:>8}\n", cpu.id, cpu.core, cpu.node, cpu.socket);
    }
    if workers > places.len() {
        text += &format!("\n{workers} workers are not pinned: there are {}\n", count(places.len(), "hardware thread"));
    }
    text
}

fn json(machine: &Topology) -> String {
    let list = |all: &[usize]| all.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    let cpus = machine.cpus().iter().map(|cpu| {
        format!("{{\"cpu\":{},\"core\":{},\"node\":{},\"socket\":{}}}", cpu.id, cpu.core, cpu.node, cpu.socket)
    });
    let cache = |cache: &Cache| {
        format!("{{\"level\":{},\"bytes\":{},\"cpus\":[{}]}}", cache.level, cache.bytes, list(&cache.cpus))
    };
    format!(
        "{{\"cpus\":[{}],\"caches\":[{}],\"quota\":{},\"places\":[{}]}}\n",
        cpus.collect::<Vec<_>>().join(","),
        machine.caches().iter().map(cache).collect::<Vec<_>>().join(","),
        machine.quota().map_or_else(|| "null".to_owned(), |processors| processors.to_string()),
        list(&machine.places()),
    )
}
