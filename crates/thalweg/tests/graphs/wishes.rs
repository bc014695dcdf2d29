//! A wish to cancel in the middle of a block whose messages were quick so far: how many messages are gone through after it, by count and not by the clock.

use crate::common::{SOON, within};
use thalweg::prelude::*;
use thalweg::{BoxError, End};
use thalweg_sync::atomic::{AtomicU64, Ordering::*};
use thalweg_sync::sync::{Arc, OnceLock};

/// The message at which the wish comes, in the middle of a block of a kernel that is known to be quick.
const AT: u64 = 50_003;

/// What a kernel under test does with each message: it counts, and wishes. It owns what it needs.
#[derive(Clone)]
struct Owner {
    seen: Arc<AtomicU64>,
    stopper: Stopper,
}

impl Owner {
    fn look(&self) {
        look(&self.seen, &self.stopper);
    }
}

fn look(seen: &AtomicU64, stopper: &Stopper) {
    if seen.fetch_add(1, AcqRel) == AT {
        stopper.cancel();
    }
}

/// Takes what there is, and wishes.
struct Taker(Owner);

impl Kernel for Taker {
    type Ports = In<u64>;
    fn ports(&mut self, bind: &mut Binder<'_>) -> In<u64> {
        bind.input("in")
    }
    fn run(&mut self, port: &In<u64>, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        while io.pop(*port).is_some() {
            self.0.look();
        }
        Ok(Flow::More)
    }
}

type Owning = fn(&mut Graph<'static>, Owner);

fn finish(graph: &mut Graph<'static>, node: Node<u64, u64>) {
    let (numbers, sink) = (graph.source(0_u64..), graph.sink(|_: u64| ()));
    *graph += numbers >> node >> sink;
}

const OWNING: [(&str, Owning); 16] = [
    ("sink", |graph, owner| {
        let (numbers, sink) = (graph.source(0_u64..), graph.sink(move |_: u64| owner.look()));
        *graph += numbers >> sink;
    }),
    ("sink of boxes", |graph, owner| {
        let (numbers, sink) = (graph.source((0_u64..).map(Box::new)), graph.sink(move |_: Box<u64>| owner.look()));
        *graph += numbers >> sink;
    }),
    ("sequential", |graph, owner| {
        let node = graph.sequential(move |x: u64, out: &mut Output<u64>| {
            owner.look();
            out.push(x);
        });
        finish(graph, node);
    }),
    ("map", |graph, owner| {
        let node = graph.map(move |x: u64| {
            owner.look();
            x
        });
        finish(graph, node);
    }),
    ("map to another size", |graph, owner| {
        let node = graph.map(move |x: u64| {
            owner.look();
            x as u32
        });
        let (numbers, sink) = (graph.source(0_u64..), graph.sink(|_: u32| ()));
        *graph += numbers >> node >> sink;
    }),
    ("update", |graph, owner| {
        let node = graph.update(move |_: &mut u64| owner.look());
        finish(graph, node);
    }),
    ("filter", |graph, owner| {
        let node = graph.filter(move |x: &u64| {
            owner.look();
            x.is_multiple_of(2)
        });
        finish(graph, node);
    }),
    ("flat_map", |graph, owner| {
        let node = graph.flat_map(move |x: u64| {
            owner.look();
            [x]
        });
        finish(graph, node);
    }),
    ("window", |graph, owner| {
        let node = graph.window(2, 1, move |pair: &[u64], out: &mut Output<u64>| {
            owner.look();
            out.push(pair[0]);
        });
        finish(graph, node);
    }),
    ("parallel", |graph, owner| {
        let node = graph.parallel_map(move |x: u64| {
            owner.look();
            x
        });
        finish(graph, node);
    }),
    ("ports", |graph, owner| {
        let port = graph.add(Taker(owner));
        let numbers = graph.source(0_u64..);
        *graph += numbers >> port;
    }),
    ("source", |graph, owner| {
        let (numbers, sink) = (graph.source((0_u64..).inspect(move |_| owner.look())), graph.sink(|_: u64| ()));
        *graph += numbers >> sink;
    }),
    ("a fused map and its end", |graph, owner| {
        graph.stream(0_u64..).map(|x| x / 2).for_each(move |_| owner.look());
    }),
    ("a fused filter and its end", |graph, owner| {
        graph.stream(0_u64..).filter(|x| x % 3 > 0).for_each(move |_| owner.look());
    }),
    ("fused stages", |graph, owner| {
        let numbers = graph.source(0_u64..);
        let stages = graph.from(numbers).map(|x| x / 2).inspect(move |_| owner.look());
        stages.filter(|x| x % 2 == 0).sink(|_| ());
    }),
    ("a fused flat_map", |graph, owner| {
        let each = graph.stream(0_u64..).flat_map(move |x| {
            owner.look();
            [x]
        });
        each.sink(|_| ());
    }),
];

/// How many messages a graph goes through after the wish.
fn after(scheme: Scheme, build: impl FnOnce(&mut Graph<'static>, Owner) + Send + 'static) -> u64 {
    let seen = within(SOON, move || {
        let mut graph = Graph::new();
        let seen = Arc::new(AtomicU64::new(0));
        let owner = Owner { seen: seen.clone(), stopper: graph.stopper() };
        build(&mut graph, owner);
        assert_eq!(graph.run(scheme).unwrap().end, End::Cancelled);
        drop(graph);
        seen.load(Acquire)
    });
    seen - AT - 1
}

#[test]
fn code_that_owns_something_is_left_after_the_message_in_hand() {
    let mut late = Vec::new();
    for (index, name) in Scheme::names().enumerate() {
        let scheme = Scheme::named(name).unwrap().workers(index % 3 + 1);
        for (kind, build) in OWNING {
            // Others go on until the wish is there.
            let scheme = if kind == "parallel" { scheme.workers(1) } else { scheme };
            // With ports it is looked up as a message is taken, which is handed to the kernel then.
            let most = u64::from(kind == "ports");
            let after = after(scheme, build);
            if after > most {
                late.push(format!("{kind} under {scheme:?}: {after} messages after the wish"));
            }
        }
    }
    assert!(late.is_empty(), "{late:#?}");
}

type Borrowing = fn(&mut Graph<'static>, &'static Owner);

/// With how many messages may be gone through after the wish.
const BORROWING: [(&str, u64, Borrowing); 8] = [
    ("sink", 31, |graph, owner| {
        let (numbers, sink) = (graph.source(0_u64..), graph.sink(|_: u64| owner.look()));
        *graph += numbers >> sink;
    }),
    ("sequential", 7, |graph, owner| {
        let node = graph.sequential(|x: u64, out: &mut Output<u64>| {
            owner.look();
            out.push(x);
        });
        finish(graph, node);
    }),
    ("much state", 7, |graph, owner| {
        let mut state = [0_u64; 100];
        let node = graph.sequential(move |x: u64, out: &mut Output<u64>| {
            owner.look();
            state[x as usize % 100] += x;
            out.push(state[0]);
        });
        finish(graph, node);
    }),
    ("map", 7, |graph, owner| {
        let node = graph.map(|x: u64| {
            owner.look();
            x
        });
        finish(graph, node);
    }),
    ("filter", 7, |graph, owner| {
        let node = graph.filter(|x: &u64| {
            owner.look();
            x.is_multiple_of(2)
        });
        finish(graph, node);
    }),
    ("flat_map", 63, |graph, owner| {
        let node = graph.flat_map(|x: u64| {
            owner.look();
            [x]
        });
        finish(graph, node);
    }),
    ("source", 255, |graph, owner| {
        let (numbers, sink) = (graph.source((0_u64..).inspect(|_| owner.look())), graph.sink(|_: u64| ()));
        *graph += numbers >> sink;
    }),
    ("a fused chain", 511, |graph, owner| {
        graph.stream(0_u64..).map(|x| x / 2).for_each(|_| owner.look());
    }),
];

#[test]
fn code_that_owns_nothing_is_left_after_a_few_messages() {
    static OWNERS: [OnceLock<Owner>; 8] = [const { OnceLock::new() }; 8];
    let mut late = Vec::new();
    for (index, (kind, most, build)) in BORROWING.into_iter().enumerate() {
        let scheme = Scheme::default().workers(index % 2 + 1);
        let after = after(scheme, move |graph, owner| build(graph, OWNERS[index].get_or_init(|| owner)));
        if after > most {
            late.push(format!("{kind}: {after} messages after the wish"));
        }
    }
    assert!(late.is_empty(), "{late:#?}");
}
