//! What there is to run: every experiment, and the clients of the model checker. It depends on nothing, so that a list costs no build of
//! what it lists.

pub mod optional;

use optional::{Optional, State};

/// An experiment.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// `family/question`, as typed on the command line.
    pub name: &'static str,
    /// The workload, and what is compared.
    pub asks: &'static str,
    /// It runs on the machine at hand.
    pub native: bool,
    /// The modelled machine that its published figures are from, if it runs on modelled machines.
    pub machine: Option<&'static str>,
}

/// The experiments, in the order in which they are listed and, by `all`, run.
#[rustfmt::skip]
pub const ALL: &[Entry] = &[
    Entry { name: "streams/pipe3", asks: "generate >> v*3+1 >> sum over u64, handed on one by one; the bar is vectors over a channel", native: true, machine: None },
    Entry { name: "streams/pipe3-fused", asks: "the same three stages fused: graph.stream().map().for_each(), against loops and iterators", native: true, machine: None },
    Entry { name: "streams/chain32", asks: "source, 30 stages of v*3+1 and a sink, never fused: time for each message and hop", native: true, machine: None },
    Entry { name: "streams/fir32", asks: "32 stages of 16 taps over f64, unfused: time for each sample through the whole chain", native: true, machine: None },
    Entry { name: "streams/fan", asks: "u64 to one of four parts by key, and merged again; the bar is three hops of the same messages", native: true, machine: None },
    Entry { name: "streams/keyed", asks: "counts of 50,000 words, some frequent, by key; the bars are a fold of rayon's and an exchange of timely's", native: true, machine: None },
    Entry { name: "streams/farm", asks: "1:4:1 with 0.8 us of dependent multiplications for each message, ordered and unordered", native: true, machine: None },
    Entry { name: "streams/conserve", asks: "1:4:1, 1000 messages of 2 ms behind 100,000 quick ones, which lie in one block when they turn slow: time until all are done", native: true, machine: None },
    Entry { name: "streams/search", asks: "a word counted in 500 MB of generated text, chunks of 64 KiB, memmem", native: true, machine: None },
    Entry { name: "streams/trickle", asks: "a message each millisecond from an outside thread through three stages: latency and CPU use", native: true, machine: None },
    Entry { name: "streams/outlet", asks: "u64 from a graph to a task outside, by an outlet of 1024, one by one and 64 at a time; the peers are channels of tokio and flume as large", native: true, machine: None },
    Entry { name: "streams/idle", asks: "three stages behind an open inlet that gets nothing for a second: CPU use", native: true, machine: None },
    Entry { name: "streams/workers", asks: "pipe3, chain32, fir32, farm and a graph with one heavy kernel, with 1 worker, 2 workers and the default", native: true, machine: None },
    Entry { name: "streams/schemes", asks: "pipe3, chain32, fir32 and farm under every scheme", native: true, machine: None },
    Entry { name: "streams/report", asks: "pipe3 and chain32 with one worker, with and without the report's counts; the promise is 1 %", native: true, machine: None },
    Entry { name: "streams/trace", asks: "pipe3 and chain32 with one worker: unseen, looked at ten times a second, traced, and with latency sampled; the promises are 1 %, 3 % and 3 %", native: true, machine: None },
    Entry { name: "streams/build", asks: "compile time of a program of 30 kernels after a change in one of them, debug and release", native: true, machine: None },
    Entry { name: "queues/1p1c-item", asks: "one producer, one consumer, u64 one by one through 4096 entries, beside the machine's limits", native: true, machine: None },
    Entry { name: "queues/1p1c-batch", asks: "one producer, one consumer, u64 in slices of 8, 32, 128 and 1024, through 4096 and 32768 entries", native: true, machine: None },
    Entry { name: "queues/1p1c-unbalanced", asks: "one producer, one consumer, 0.8, 2.4 or 12 ns of work for each item on one side or both: the cost beyond the work, below zero if work hides it", native: true, machine: None },
    Entry { name: "queues/1p1c-apart", asks: "one producer, one consumer, 512 items each at once, with so many in the queue before: what it costs the consumer", native: true, machine: None },
    Entry { name: "queues/1p1c-latency", asks: "one producer, one consumer that polls: an item every 2 us, and bursts of 16 every 8 us; from push to pop", native: true, machine: None },
    Entry { name: "queues/1p1c-rtt", asks: "a number goes through one queue and comes back through another, both ends polling; beside two bare lines, and two for each way", native: true, machine: None },
    Entry { name: "queues/shared-1p1c", asks: "queues for many producers and consumers, used by one and one: u64 one by one, and a round trip over two", native: true, machine: None },
    Entry { name: "queues/shared-batch", asks: "queues for many, used by one and one, u64 in batches of 32; peers that take no batches go item by item", native: true, machine: None },
    Entry { name: "queues/oversubscribed", asks: "1P1C, 2P2C, 4P1C, 1P4C and 4P4C on two CPUs, u64 one by one, threads that yield or sleep when the queue is full or empty; if quick, a minute or two", native: true, machine: None },
    Entry { name: "queues/link-twin", asks: "Virtual-Link's channels by way of a routing thread, which is one more, beside a queue and a channel: 1P1C and 2P2C on two CPUs, u64, threads that yield", native: true, machine: None },
    Entry { name: "queues/failed-ops", asks: "one thread alone, each kind of operation in a loop of its own: push, push on full, pop, pop on empty", native: true, machine: None },
    Entry { name: "queues/turns", asks: "a push and a pop in turns, by one thread and by each of two; and such a pair about every microsecond by each of two, from its push to the end of its pop", native: true, machine: None },
    Entry { name: "queues/wait", asks: "an item each millisecond to a consumer that sleeps meanwhile: how late it has the item, and CPU use", native: true, machine: None },
    Entry { name: "queues/oneshot", asks: "one value, once: made, pushed and popped by one thread; and a reply for each request from another thread", native: true, machine: None },
    Entry { name: "queues/unbounded", asks: "queues without a capacity: one producer and one consumer; and all pushed, then all popped, by one thread", native: true, machine: None },
    Entry { name: "queues/broadcast", asks: "an item pushed and popped by each of two receivers, by one thread: a channel, and a graph of consumers", native: true, machine: None },
    Entry { name: "queues/select", asks: "a select over two queues: an item is there in one; and an item each 20 us to who sleeps at both", native: true, machine: None },
    Entry { name: "queues/call-size", asks: "bytes of machine code of a try_push and of a try_pop of u64: where it is called, and out of line; the aims are 300 and 500 bytes for mpmc", native: true, machine: None },
    Entry { name: "queues/growth", asks: "Figure 6 of BLQ: rings double from 64 to 1024 entries; and the rate of a ring that may grow and does not", native: true, machine: None },
    Entry { name: "queues/stealing", asks: "one owner fills and empties its queue, a thief takes up to 0, 1, 10, 30 %: compare equal shares; crossbeam-deque grows and shrinks meanwhile, as no call of it reserves", native: true, machine: None },
    Entry { name: "queues/pool", asks: "eight workers fill and empty their queues, then try to steal 0, 10, 100 % of a queue; all stealing policies: what a stolen item costs the thief", native: true, machine: None },
    Entry { name: "tasks/table3", asks: "BLQ's Table 3 on one core: a mutex, two tasks that yield in turns, two that wait for each other, a task started and joined; beside threads, tokio, may, and Go if it is installed", native: true, machine: None },
    Entry { name: "tasks/stacks", asks: "a million tasks that wait at the same time: memory and time for each", native: true, machine: None },
    Entry { name: "tasks/parallel", asks: "fib, n queens, quicksort and matrix multiply, divided to the end, on two workers; beside rayon and tokio", native: true, machine: None },
    Entry { name: "tasks/scaling", asks: "fib and n queens, divided to the end by tasks, on 1, 2, 4 ... workers", native: true, machine: Some("x86-40") },
    Entry { name: "tasks/executor", asks: "futures on two workers: tasks started and joined, yields, pairs that answer each other, chains; our executor with BWoS and with a ring, beside tokio; how many tasks are stolen", native: true, machine: None },
    Entry { name: "executor/http", asks: "the thesis' Figures 4.13 and 4.14 in small: hyper over loopback on our executor, with BWoS and with a ring, and on tokio: time for a request, latency, the server's CPU, how much is stolen", native: true, machine: None },
    Entry { name: "executor/rpc", asks: "the thesis' Figure 4.15 in small: the same with tonic, an echo of 32 bytes over HTTP/2", native: true, machine: None },
    Entry { name: "daemon/bursts", asks: "two applications whose bursts take turns on two cores: shared out by a daemon, halved, or managed by nobody", native: true, machine: None },
    Entry { name: "ff/figure8", asks: "FastForward's Figure 8: a pipeline in a loop, stages of 0 to 800 ns, queues of 128 to 2048 entries: an operation's cost", native: true, machine: Some("x86-4") },
    Entry { name: "ff/figure9", asks: "FastForward's Figure 9: stages that vary a little or more, and unbalanced ones, with and without slip maintenance", native: true, machine: Some("x86-4") },
    Entry { name: "ff/figure10", asks: "FastForward's Figure 10: how many operations of unbalanced stages wait for a line, with and without slip maintenance", native: true, machine: Some("x86-4") },
    Entry { name: "ff/figure11", asks: "FastForward's Figure 11: two stages, on one die and on two sockets", native: true, machine: Some("x86-4") },
    Entry { name: "ff/figure12", asks: "FastForward's Figure 12: frames of 64 to 1518 bytes at line rate through three stages, by pointer", native: false, machine: Some("x86-4") },
    Entry { name: "bbq/figure2.6", asks: "the thesis' Figure 2.6: BBQ with 2 to 256 blocks and 128 to 32768 entries, four producers and a consumer", native: true, machine: None },
    Entry { name: "bbq/figure2.7", asks: "the thesis' Figure 2.7: one to eight producers, a consumer; pushes and pops by FAA or CAS; drop-old mode with and without a consumer; entries of any size", native: true, machine: None },
    Entry { name: "applications/native", asks: "the applications on made-up input, each beside its sequential program, by default and on one worker", native: true, machine: None },
    Entry { name: "blq/instructions", asks: "BLQ's Figure 10: misses of the instruction cache of its ten benchmarks under its schemes, counted by valgrind; if quick, two minutes", native: true, machine: None },
    Entry { name: "thesis/2.8", asks: "the thesis' Figure 2.8: bounded queues, one to one, simple and complex", native: true, machine: Some("x86-88t") },
    Entry { name: "thesis/2.9", asks: "the thesis' Figure 2.9: many to one, one to many: rate, misses, latency, fairness", native: true, machine: Some("x86-88t") },
    Entry { name: "thesis/2.9-over", asks: "the thesis' Figure 2.9g and n: two to five times as many threads as hardware threads (12 there)", native: true, machine: Some("x86-88t") },
    Entry { name: "thesis/2.12", asks: "the thesis' Figure 2.12: requests submitted, confirmed and collected, by io_uring's rings and by BBQ", native: true, machine: Some("x86-88t") },
    Entry { name: "thesis/3.7", asks: "the thesis' Figure 3.7: the four tubes as FIFO queues", native: true, machine: Some("x86-88t") },
    Entry { name: "thesis/3.8", asks: "the thesis' Figures 3.8 and 3.9: what CNQ makes of each tube, by k", native: true, machine: Some("x86-88t") },
    Entry { name: "thesis/3.10", asks: "the thesis' Figure 3.10: CNQ beside FIFO and relaxed queues", native: true, machine: Some("x86-88t") },
    Entry { name: "thesis/3.11", asks: "the thesis' Figure 3.11: how long a message is in the queue, eight threads", native: false, machine: Some("x86-88t") },
    Entry { name: "thesis/3.12", asks: "the thesis' Figure 3.12: the bytes that each queue of Figure 3.10 holds at most", native: false, machine: Some("x86-88t") },
    Entry { name: "thesis/4.1", asks: "the thesis' Figure 4.1a to c, e and f: what synchronisation, thieves, and who asks for its size cost the owner of a queue, and who shares its lines", native: true, machine: Some("x86-88t") },
    Entry { name: "thesis/4.9", asks: "the thesis' Figure 4.9: LIFO queues, by how much is stolen", native: true, machine: Some("x86-88t") },
    Entry { name: "thesis/4.10", asks: "the thesis' Figure 4.10: FIFO queues, by how much is stolen", native: true, machine: Some("x86-88t") },
    Entry { name: "thesis/4.11", asks: "the thesis' Figure 4.11: pools of eight LIFO queues, and of FIFO queues, on two sockets, by policy", native: true, machine: Some("x86-88t") },
    Entry { name: "thesis/4.12", asks: "the thesis' Figure 4.12 in small: workers that mark a heap, by BWoS and by Chase and Lev's queue", native: true, machine: Some("x86-88t") },
    Entry { name: "blq/schemes", asks: "BLQ's incast, outcast and pipeline under its schemes, by its own form of queues", native: true, machine: Some("arm-32") },
    Entry { name: "blq/streams", asks: "BLQ's incast, outcast and pipeline under its schemes, by the streams of thalweg", native: true, machine: Some("arm-32") },
    Entry { name: "blq/applications", asks: "BLQ's Figures 7, 8 and 12: its ten benchmarks under its schemes; what kernels compute is charged as `lab prices` measured it", native: true, machine: Some("arm-32") },
    Entry { name: "blq/partition", asks: "BLQ's Figure 9: rows of kernels, with and without a partition", native: true, machine: Some("arm-32") },
    Entry { name: "blq/multipliers", asks: "BLQ's Figure 11: how many consumers of four times the work are best, with five cores and with one for each kernel", native: true, machine: Some("arm-32") },
    Entry { name: "danbi/scaling", asks: "DANBI's Figures 3, 4 and 6, by its own runtime: three graphs on 1 to 40 cores, and how many threads it makes", native: true, machine: Some("x86-40") },
    Entry { name: "danbi/streams", asks: "the graphs and configurations of danbi/scaling, by the streams of thalweg", native: true, machine: Some("x86-40") },
    Entry { name: "danbi/sizes", asks: "DANBI's Figure 7: the graphs of danbi/scaling with queues of a quarter to four times the size", native: true, machine: Some("x86-40") },
    Entry { name: "danbi/applications", asks: "DANBI's Figure 3: its seven applications on 1 to 40 cores; one core takes the time of its Table III, divided among kernels as `lab prices` measured them", native: true, machine: Some("x86-40") },
    Entry { name: "danbi/others", asks: "DANBI's Figure 8: its applications by a static schedule with barriers, by fork and join, and kernel by kernel, the forms of StreamIt, Cilk and OpenCL, beside our streams on 1 to 40 cores", native: false, machine: Some("x86-40") },
    Entry { name: "sim/nodes", asks: "rows of kernels over all memory nodes: how often a worker waits for another node's memory, by the length of the run", native: false, machine: Some("x86-40") },
    Entry { name: "daemon/four", asks: "four applications whose bursts take turns on 40 cores: under the daemon's policy, with a quarter each, or managed by nobody", native: true, machine: Some("x86-40") },
    Entry { name: "vl/ping-pong", asks: "Virtual-Link: two threads, seven balls there and back", native: false, machine: Some("vl-16") },
    Entry { name: "vl/halo", asks: "Virtual-Link: 16 threads exchange with their neighbours", native: false, machine: Some("vl-16") },
    Entry { name: "vl/sweep", asks: "Virtual-Link: waves through a grid of 16 threads", native: false, machine: Some("vl-16") },
    Entry { name: "vl/incast", asks: "Virtual-Link: 15 threads send to one", native: false, machine: Some("vl-16") },
    Entry { name: "vl/fir", asks: "Virtual-Link: a chain of 32 threads, two to a core", native: false, machine: Some("vl-16") },
    Entry { name: "vl/bitonic", asks: "Virtual-Link: a master and 1 to 15 workers sort", native: false, machine: Some("vl-16") },
    Entry { name: "vl/pipeline", asks: "Virtual-Link: packets through four stages and back", native: false, machine: Some("vl-16") },
    Entry { name: "vl/stream", asks: "Virtual-Link: STREAM beside ping-pong", native: false, machine: Some("vl-16") },
    Entry { name: "vl/streams", asks: "what streams gain when their edges are Virtual-Link's: one chain with each storage, with blocks of one message and of many", native: false, machine: Some("vl-16") },
    Entry { name: "vl/beyond", asks: "Virtual-Link beside BBQ, CNQ and FastForward on 16, 64 and 256 cores; how many devices and slots so many need", native: false, machine: Some("vl-256") },
    Entry { name: "vl/queues", asks: "Virtual-Link beside BBQ, CNQ, FastForward and others: queues alone, of words", native: true, machine: Some("vl-16") },
    Entry { name: "sim/bbq", asks: "BBQ: one to one, then n to n, n to one, one to n", native: true, machine: Some("x86-88t") },
    Entry { name: "sim/locked", asks: "a ring behind a lock: one to one, then n to n, n to one, one to n", native: true, machine: Some("x86-88t") },
    Entry { name: "sim/fast-forward", asks: "FastForward: one to one, by distance", native: true, machine: Some("x86-88t") },
    Entry { name: "sim/lamport", asks: "Lamport's ring, plain and cached: one to one, by distance", native: true, machine: Some("x86-88t") },
    Entry { name: "sim/chunk-ring", asks: "the chunk ring: one to one, by distance", native: true, machine: Some("x86-88t") },
    Entry { name: "sim/chain", asks: "streams: a source, six stages of 200 cycles, a sink", native: true, machine: Some("x86-88t") },
    Entry { name: "sim/farm", asks: "streams: a source, a parallel kernel of 20000 cycles, a sink", native: true, machine: Some("x86-88t") },
    Entry { name: "sim/workers", asks: "streams: the graphs of streams/workers and two farms of frames, with 1, 2, 4 ... workers and with the default, which is to come within 10 % of the best", native: true, machine: Some("arm-96t") },
];

/// An experiment of the model checker, which `cargo proof` runs: its name, what it asks, and the command.
pub const ELSEWHERE: (&str, &str, &str) =
    ("check/throughput", "different executions a second, this checker's and loom's", "cargo proof --throughput");

/// What `proof --list` prints: the clients of the model checker, a line each. A test of thalweg-proof compares it with the clients.
pub const CLIENTS: &str = include_str!("../../../proof/clients.txt");

/// What `lab`, `sim`, `proof` and their subcommands say to `--help`, on 80 columns: a line such as `# lab run`, and the text. A test of the command
/// compares it.
const HELP: &str = include_str!("help.txt");

/// The answer to the words behind `lab`, `sim` or `proof`, if they ask for help: `--help` or `-h` anywhere, or `help` in front.
pub fn help(tool: &str, words: &[&str]) -> Option<&'static str> {
    let of = |title: &str| {
        let mut parts = HELP.split("\n# ").map(|part| part.trim_start_matches("# "));
        parts.find_map(|part| part.strip_prefix(title)?.strip_prefix('\n'))
    };
    let subcommand = match words {
        ["help", word, ..] => Some(word),
        ["help"] => None,
        [first, ..] if words.iter().any(|word| ["--help", "-h"].contains(word)) => Some(first),
        _ => return None,
    };
    subcommand.and_then(|word| of(&format!("{tool} {word}"))).or_else(|| of(tool))
}

/// Where experiments run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum World {
    /// On the machine at hand.
    Native,
    /// On a modelled machine.
    Machines,
}

impl Entry {
    /// Whether it runs there.
    pub fn runs(&self, world: World) -> bool {
        match world {
            World::Native => self.native,
            World::Machines => self.machine.is_some(),
        }
    }

    /// Where it runs, in a word or two.
    fn place(&self) -> String {
        match (self.native, self.machine) {
            (true, Some(machine)) => format!("here, {machine}"),
            (_, Some(machine)) => machine.to_owned(),
            (_, None) => "here".to_owned(),
        }
    }
}

/// What `lab list` prints.
pub fn list() -> String {
    let (name, asks, command) = ELSEWHERE;
    let place = |entry: &Entry| (entry.name, entry.place(), entry.asks.to_owned());
    let elsewhere = (name, "here".to_owned(), format!("{asks}: `{command}`"));
    rows(ALL.iter().map(place).chain([elsewhere]))
        + "\n`lab run NAME` runs it here; with `--on MACHINE`, on a modelled machine: the one that is named above, or another of `sim machines`\n"
        + &optional_peers()
}

/// What the command says to `lab` and these words without the lab: all else is for `run`.
pub fn answer(words: &[impl AsRef<str>]) -> Option<String> {
    matches!(words, [word] if word.as_ref() == "list").then(list)
}

/// What `sim list` prints.
pub fn list_on_machines() -> String {
    let on = |entry: &Entry| Some((entry.name, entry.machine?.to_owned(), entry.asks.to_owned()));
    rows(ALL.iter().filter_map(on))
}

fn rows(rows: impl Iterator<Item = (&'static str, String, String)>) -> String {
    let rows: Vec<_> = rows.collect();
    let width = |of: fn(&(&str, String, String)) -> usize| rows.iter().map(of).max().unwrap_or(0);
    let (name, place) = (width(|row| row.0.len()), width(|row| row.1.len()));
    rows.iter().map(|row| format!("{:name$}  {:place$}  {}\n", row.0, row.1, row.2)).collect()
}

/// The peers that take another build, what each needs, and the command.
fn optional_peers() -> String {
    let line = |peer: &Optional| {
        let Optional { feature, what, packages, experiments, state } = peer;
        let state = match state {
            State::BuiltIn => "built in",
            State::NotFound => "asked for, and not found when this was built",
            State::NotAsked => "not in this build",
        };
        format!("  {feature:<4}  {what}, in {}; needs {packages} ({state})\n", experiments.join(" "))
    };
    let lines: String = optional::ALL.iter().map(line).collect();
    let command = optional::command(&optional::ALL, "NAME...");
    format!("\npeers that take another build, each a feature of the lab:\n{lines}  all of them: `{command}`\n")
}

/// The entries that `names` mean in `world`, each once, in the order of the names: a name, a family such as `streams/`, or `all`, which on the machine
/// at hand are those that run nowhere else.
///
/// # Errors
///
/// A name that means none, with what there is; and one that runs elsewhere, with the command.
pub fn select(names: &[String], world: World) -> Result<Vec<&'static Entry>, String> {
    let mut selected: Vec<&Entry> = Vec::new();
    for name in names {
        let family = format!("{}/", name.trim_end_matches('/'));
        let means = |known: &str| name == "all" || known == name || known.starts_with(&family);
        // What runs in both worlds is long in either.
        let whole = |entry: &Entry| name != "all" || world == World::Machines || entry.machine.is_none();
        let matching: Vec<&Entry> =
            ALL.iter().filter(|entry| entry.runs(world) && means(entry.name) && whole(entry)).collect();
        if matching.is_empty() {
            return Err(unknown(name, &means, world));
        }
        for entry in matching {
            if selected.iter().all(|seen| seen.name != entry.name) {
                selected.push(entry);
            }
        }
    }
    Ok(selected)
}

fn unknown(name: &str, means: &dyn Fn(&str) -> bool, world: World) -> String {
    let (elsewhere, _, command) = ELSEWHERE;
    if means(elsewhere) {
        return format!("{elsewhere} needs the model checker: `{command}` runs it");
    }
    match (ALL.iter().find(|entry| means(entry.name)), world) {
        (Some(entry), World::Native) => {
            let machine = entry.machine.unwrap_or("MACHINE");
            return format!("`{name}` runs on modelled machines only: `cargo lab run {name} --on {machine}`");
        }
        (Some(_), World::Machines) => {
            return format!("`{name}` runs on the machine at hand only: `cargo lab run {name}`, without `--on`");
        }
        (None, _) => {}
    }
    let names: Vec<&str> = ALL.iter().filter(|entry| entry.runs(world)).map(|entry| entry.name).collect();
    format!(
        "there is no experiment `{name}`; there are {}; `all` takes every one (here those that run nowhere else), a family such as `streams/` its own",
        names.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str], world: World) -> Result<Vec<&'static str>, String> {
        let names: Vec<String> = names.iter().map(|name| name.to_string()).collect();
        Ok(select(&names, world)?.iter().map(|entry| entry.name).collect())
    }

    #[test]
    fn names_families_and_all() {
        let here = |given: &[&str]| names(given, World::Native).unwrap();
        assert_eq!(here(&["streams/pipe3"]), ["streams/pipe3"], "not streams/pipe3-fused as well");
        assert_eq!(here(&["all"]).len(), ALL.iter().filter(|entry| entry.machine.is_none()).count());
        assert_eq!(here(&["streams/"]).len(), here(&["streams"]).len());
        assert_eq!(here(&["streams/farm", "streams/"])[0], "streams/farm");
        assert_eq!(here(&["streams/farm", "streams/farm"]).len(), 1);
        let simulated = names(&["ff"], World::Machines).unwrap();
        assert_eq!(simulated, ["ff/figure8", "ff/figure9", "ff/figure10", "ff/figure11", "ff/figure12"]);
        assert_eq!(here(&["ff"]), simulated[..4], "the last one is about a line's rate");
    }

    #[test]
    fn an_unknown_name_lists_the_known_ones() {
        let error = names(&["streams/pipe3", "streams/nope"], World::Native).unwrap_err();
        assert!(error.starts_with("there is no experiment `streams/nope`; there are streams/pipe3, "), "{error}");
        assert!(ALL.iter().all(|entry| error.contains(entry.name) || !entry.native));
        assert!(names(&["str"], World::Native).is_err());
    }

    #[test]
    fn what_runs_elsewhere_says_where() {
        for name in ["check/throughput", "check/", "check"] {
            let error = names(&[name], World::Native).unwrap_err();
            assert_eq!(error, "check/throughput needs the model checker: `cargo proof --throughput` runs it");
        }
        let error = names(&["thesis/3.12"], World::Native).unwrap_err();
        assert!(error.ends_with("`cargo lab run thesis/3.12 --on x86-88t`"), "{error}");
        let error = names(&["streams"], World::Machines).unwrap_err();
        assert!(error.ends_with("`cargo lab run streams`, without `--on`"), "{error}");
    }

    #[test]
    fn every_name_is_unique_and_listed() {
        let list = list();
        for (at, entry) in ALL.iter().enumerate() {
            assert!(list.lines().nth(at).unwrap().starts_with(entry.name));
            assert!(ALL[..at].iter().all(|other| other.name != entry.name));
            assert!(entry.native || entry.machine.is_some(), "{} runs nowhere", entry.name);
        }
        assert!(list.contains("check/throughput") && list.contains("`cargo proof --throughput`"));
    }

    #[test]
    fn the_list_says_how_to_build_peers_in() {
        let list = list();
        for peer in optional::ALL {
            assert!(list.contains(&format!("needs {}", peer.packages)), "{list}");
        }
        let features = "--features lab,thalweg-lab/tbb,thalweg-lab/cpp,thalweg-lab/dpdk,thalweg-lab/http,thalweg-lab/rpc -- lab run NAME...`";
        assert!(list.contains(features), "{list}");
    }
}
