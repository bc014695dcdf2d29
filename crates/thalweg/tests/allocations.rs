//! A run that goes on asks the allocator for no blocks: they come from the workers' lists, whatever kernels they go through. A program of its own,
//! since it counts what its allocator is asked for.
#![expect(clippy::disallowed_types, reason = "an allocator must not enter an engine, which allocates itself")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use thalweg::prelude::*;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

struct Counting;

// SAFETY: the system's.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// So large that a block has 16 of them, whatever they cost; so there are many blocks, and none is cut into many pieces.
type Message = [u64; 128];

const MESSAGES: u64 = 4_000;

fn messages(count: u64) -> impl Iterator<Item = Message> + Send + 'static {
    (0..count).map(|index| [index; 128])
}

type Build = fn(&mut Graph<'static>, u64);

/// How often a run of so many messages asks the allocator, its activations, and its milliseconds.
fn allocations(build: Build, messages: u64, workers: usize) -> [u64; 3] {
    let mut graph = Graph::new();
    build(&mut graph, messages);
    let before = ALLOCATIONS.load(Relaxed);
    let report = graph.run(Scheme::default().workers(workers)).unwrap();
    let asked = ALLOCATIONS.load(Relaxed) - before;
    let activations = report.kernels.iter().map(|kernel| kernel.activations).sum();
    [asked, activations, report.wall.as_millis() as u64]
}

fn sum(window: &[Message], out: &mut Output<Message>) {
    out.push([window.iter().map(|message| message[0]).sum(); 128]);
}

/// Takes one at each side, and gives their sum at both.
struct Sum;

type Sides = (In<Message>, In<Message>, Out<Message>, Out<Message>);

impl Kernel for Sum {
    type Ports = Sides;
    fn ports(&mut self, bind: &mut Binder<'_>) -> Sides {
        (bind.input("left"), bind.input("right"), bind.output("a"), bind.output("b"))
    }
    fn run(&mut self, &(left, right, a, b): &Sides, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        while io.has(left, 1) && io.has(right, 1) {
            let sum = [io.pop(left).unwrap()[0] + io.pop(right).unwrap()[0]; 128];
            io.push(a, sum);
            io.push(b, sum);
        }
        Ok(Flow::More)
    }
}

/// Sends each message round once.
struct Round;

impl Kernel for Round {
    type Ports = Sides;
    fn ports(&mut self, bind: &mut Binder<'_>) -> Sides {
        (bind.input("new"), bind.input("again"), bind.output("round"), bind.output("done"))
    }
    fn run(&mut self, &(new, again, round, done): &Sides, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        while let Some(message) = io.pop(again) {
            io.push(done, message);
        }
        while let Some(message) = io.pop(new) {
            io.push(round, message);
        }
        Ok(Flow::More)
    }
}

/// As [`Sum`], of windows on the left if it has them.
struct SharedSum {
    windows: bool,
}

impl ParallelKernel for SharedSum {
    type Ports = Sides;
    fn ports(&mut self, bind: &mut Binder<'_>) -> Sides {
        let left = if self.windows { bind.input_window("left", 16, 1) } else { bind.input("left") };
        (left, bind.input("right"), bind.output("a"), bind.output("b"))
    }
    fn fire(&self, &(left, right, a, b): &Sides, firing: &mut Firing<'_>) -> Result<(), BoxError> {
        let sum = [firing.slice(left).iter().map(|message| message[0]).sum::<u64>() + firing.take(right)[0]; 128];
        firing.push(a, sum);
        firing.push(b, sum);
        Ok(())
    }
}

fn two_sided(graph: &mut Graph<'static>, n: u64, (left, right, a, b): Sides) {
    *graph += graph.source(messages(n)) >> left;
    *graph += graph.source(messages(n)) >> right;
    *graph += a >> graph.sink(drop::<Message>);
    *graph += b >> graph.sink(drop::<Message>);
}

fn through(graph: &mut Graph<'static>, n: u64, node: Node<Message, Message>) {
    *graph += graph.source(messages(n)) >> node >> graph.sink(drop::<Message>);
}

fn all_of(graph: &mut Graph<'static>, outs: impl IntoIterator<Item = Out<Message>>) {
    for out in outs {
        *graph += out >> graph.sink(drop::<Message>);
    }
}

const KINDS: [(&str, Build); 30] = [
    ("a map", |graph, n| through(graph, n, graph.map(|x: Message| x))),
    ("an update", |graph, n| through(graph, n, graph.update(|x: &mut Message| x[0] += 1))),
    ("a window", |graph, n| through(graph, n, graph.window(16, 1, sum))),
    ("windows apart", |graph, n| through(graph, n, graph.window(3, 7, sum))),
    ("a parallel map", |graph, n| through(graph, n, graph.parallel_map(|x: Message| x))),
    ("a parallel update", |graph, n| through(graph, n, graph.parallel_update(|x: &mut Message| x[0] += 1))),
    ("a parallel kernel", |graph, n| {
        through(graph, n, graph.parallel(|x, out: &mut Output<Message>| _ = (out.push(x), out.push(x))))
    }),
    ("a parallel window", |graph, n| through(graph, n, graph.parallel_window(16, 1, sum))),
    ("a parallel sink", |graph, n| *graph += graph.source(messages(n)) >> graph.parallel_sink(drop::<Message>)),
    ("no order", |graph, n| {
        *graph += (graph.source(messages(n)) >> graph.parallel_map(|x: Message| x)).unordered()
            >> graph.sink(drop::<Message>);
    }),
    ("ports", |graph, n| two_sided(graph, n, graph.add(Sum))),
    ("firings", |graph, n| two_sided(graph, n, graph.add_parallel(SharedSum { windows: false }))),
    ("firings of windows", |graph, n| two_sided(graph, n, graph.add_parallel(SharedSum { windows: true }))),
    ("a broadcast", |graph, n| all_of(graph, graph.broadcast(graph.source(messages(n)), 3))),
    ("a split", |graph, n| all_of(graph, graph.split(graph.source(messages(n)), |x: &Message| x[0].is_multiple_of(2)))),
    ("a merge", |graph, n| {
        *graph += graph.merge([graph.source(messages(n)), graph.source(messages(n))]) >> graph.sink(drop::<Message>);
    }),
    ("a zip", |graph, n| {
        *graph +=
            graph.zip(graph.source(messages(n)), graph.source(messages(n))) >> graph.sink(drop::<(Message, Message)>)
    }),
    ("an interleave", |graph, n| {
        *graph +=
            graph.interleave([graph.source(messages(n)), graph.source(messages(n))]) >> graph.sink(drop::<Message>);
    }),
    ("a merge by key", |graph, n| {
        let sides = [graph.source(messages(n)), graph.source(messages(n))];
        *graph += graph.merge_by_key(sides, |x: &Message| x[0]) >> graph.sink(drop::<Message>);
    }),
    ("keys that are folded", |graph, n| {
        let sums = graph.key_by(graph.source(messages(n)), |x: &Message| x[0] % 8).fold(|| 0, |sum, x| *sum += x[0]);
        *graph += sums >> graph.sink(drop::<(u64, u64)>);
    }),
    ("keys that are mapped", |graph, n| {
        let keyed = graph.key_by(graph.source(messages(n)), |x: &Message| x[0] % 8);
        *graph += keyed.map_with(|| 0, |sum: &mut u64, _, x| (*sum += x[0], x).1) >> graph.sink(drop::<Message>);
    }),
    ("windows of keys", |graph, n| {
        let keyed = graph.key_by(graph.source(messages(n)), |x: &Message| x[0] % 8);
        *graph += keyed.window(4, 1, |_, window| window[0]) >> graph.sink(drop::<Message>);
    }),
    ("a partial window", |graph, n| {
        through(graph, n, graph.window_partial(16, 1, |window: &[Message], out| out.push(window[0])))
    }),
    ("a partition", |graph, n| {
        all_of(graph, graph.partition::<_, _, 3>(graph.source(messages(n)), |x: &Message| x[0]))
    }),
    ("what is skipped", |graph, n| {
        let skipped = thalweg::operators::Skipped::new();
        through(graph, n, graph.parallel_map_or_skip(|x: Message| Ok::<_, BoxError>(x), &skipped));
    }),
    ("a throttle", |graph, n| through(graph, n, graph.throttle(1 << 30, std::time::Duration::from_millis(1)))),
    ("a feedback", |graph, n| {
        let (to, rest) = (graph.add(Round), graph.sink(drop::<Message>));
        let (again, done) = (to.2, to.3);
        *graph += graph.source(messages(n)) >> to.0;
        *graph += again.feedback() >> to.1;
        *graph += done >> rest;
    }),
    ("a source in a thread of its own", |graph, n| {
        *graph += graph.source_blocking(messages(n), 1024).unwrap() >> graph.sink(drop::<Message>);
    }),
    ("updates between filters", |graph, n| {
        *graph += graph.source(messages(n))
            >> graph.filter(|x: &Message| x[0].is_multiple_of(3))
            >> graph.update(|x: &mut Message| x[0] += 1)
            >> graph.parallel_sink(drop::<Message>);
    }),
    ("a task", |graph, n| {
        let copy = |(input, output): (Outlet<Message>, Inlet<Message>)| input.iter().for_each(|x| _ = output.push(x));
        let (to, from) = graph.task(1024, copy).unwrap();
        *graph += graph.source(messages(n)) >> to;
        *graph += from >> graph.sink(drop::<Message>);
    }),
];

/// What a run asks for at its beginning varies, as its blocks grow and its queues get longer.
const AT_FIRST: u64 = 200;
/// Workers that look after others and that move ask for some, a few times in a millisecond.
const IN_A_MILLISECOND: u64 = 8;

#[test]
fn a_run_that_goes_on_asks_the_allocator_for_no_blocks() {
    for (name, build) in KINDS {
        for workers in [1, 2] {
            let (short, long) = (allocations(build, MESSAGES, workers), allocations(build, 10 * MESSAGES, workers));
            let [more, activations, millis] = std::array::from_fn(|at| long[at].saturating_sub(short[at]));
            // A batch of firings has a list of its blocks, and two more for its ports. A thread beside the workers may be woken for each block.
            let most = match name {
                "firings" | "firings of windows" => 3 * activations,
                "a task" | "a source in a thread of its own" => activations,
                _ => activations / 4,
            };
            let most = most + AT_FIRST + IN_A_MILLISECOND * millis;
            assert!(
                more <= most,
                "{name}, {workers} workers: {more} more, in {activations} more activations and {millis} ms; at most {most}"
            );
        }
    }
}
