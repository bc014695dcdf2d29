//! Which kernels each worker keeps to (BLQ §3.3): those with much traffic between them on one worker or on near ones, the load in balance, and the
//! copies of a parallel kernel apart.
//!
//! The graph, the sizes of messages and the hints are all that is known before a run. A kernel takes as many messages as its producers give, and gives as
//! many, less if it is hinted `* 0`; one that is hinted `* n` is `n` times the work of its producer. What a pointer leads to is not seen. While a run goes on,
//! [what was measured](Work) takes the place of that.
//!
//! Workers stand in a line, and two that are near in it share caches (`thalweg_sync::thread::Topology::places`). A partition is an order, not a limit: a worker
//! without work of its own takes what is nearest, so no hint keeps a kernel from running.

use crate::topology::{EdgeFacts, KernelFacts, Topology};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// What a kernel that is hinted `* 0` is taken to give for each message.
const RARE: f64 = 1.0 / 64.0;
/// How far a worker's load may be above the mean, so that heavy neighbours stay on it.
const SLACK: f64 = 1.25;
/// How often that is widened by as much again, while there are more sets than workers.
const WIDER: usize = 4;
/// With more sets than this their order on the line is that of their kernels.
const MOST_ARRANGED: usize = 1024;
/// A partition takes another one's place if the worker with most to do has so much less, or if it has hardly more, and messages go so much less far.
const LIGHTER: f64 = 0.9;
const HARDLY: f64 = 1.05;
const NEARER: f64 = 0.8;

/// For each worker, all kernels in the order in which it looks at them.
#[derive(Debug)]
pub(crate) struct Partition {
    orders: Vec<Vec<usize>>,
    /// How many of them are its own.
    own: Vec<usize>,
}

/// What there is to do. Units are free: shares count.
#[derive(Debug)]
pub(crate) struct Work {
    /// By kernel.
    load: Vec<f64>,
    /// Bytes, by edge.
    traffic: Vec<f64>,
}

impl Work {
    /// What can be said before a run.
    pub(crate) fn hinted(topology: &Topology) -> Self {
        let (gives, load) = estimate(topology);
        let traffic = topology.edges.iter().map(|facts| facts.bytes.max(1) as f64 * gives[facts.from]).collect();
        Self { load, traffic }
    }

    /// What happened in some time: nanoseconds by kernel, messages by edge.
    pub(crate) fn measured(topology: &Topology, busy: &[u64], messages: &[u64]) -> Self {
        let bytes = |(facts, &messages): (&EdgeFacts, &u64)| facts.bytes.max(1) as f64 * messages as f64;
        Self {
            load: busy.iter().map(|&nanos| nanos as f64).collect(),
            traffic: topology.edges.iter().zip(messages).map(bytes).collect(),
        }
    }
}

impl Partition {
    pub(crate) fn new(topology: &Topology, work: &Work, workers: usize) -> Self {
        let share = work.load.iter().sum::<f64>() / workers as f64;
        let traffic = |edge: usize| work.traffic[edge];
        let copies: Vec<_> = topology.kernels.iter().map(|kernel| copies(kernel, workers)).collect();
        let mut sets = Sets::new(&work.load, &copies);
        sets.join_groups(topology);
        let mut most = share * SLACK;
        sets.join_neighbours(topology, &traffic, most, 0);
        // There are more sets than workers: what is above the mean then is still a neighbour, as long as that is not too far.
        for _ in 0..WIDER {
            most *= SLACK;
            sets.join_neighbours(topology, &traffic, most, workers);
        }
        sets.join_lightest(workers);
        let set_of = arrange(topology, &mut sets, &traffic);
        let mut assignment = Assignment { homes: vec![Vec::new(); topology.kernels.len()], loads: vec![0.0; workers] };
        for (kernel, set) in set_of.iter().enumerate() {
            if let Some(worker) = *set {
                assignment.give(kernel, worker, work.load[kernel]);
            }
        }
        for kernel in (0..topology.kernels.len()).filter(|&kernel| copies[kernel] > 1) {
            assignment.spread(topology, kernel, copies[kernel], work.load[kernel]);
        }
        assignment.orders()
    }

    /// Whether it is worth taking `other`'s place, when there is this to do.
    pub(crate) fn beats(&self, other: &Self, topology: &Topology, work: &Work) -> bool {
        let ((most, far), (others_most, others_far)) = (self.cost(topology, work), other.cost(topology, work));
        most < others_most * LIGHTER || (most <= others_most * HARDLY && far < others_far * NEARER)
    }

    /// The load of the worker that has most, and the bytes that go to other workers, times how far.
    fn cost(&self, topology: &Topology, work: &Work) -> (f64, f64) {
        let mut homes = vec![Vec::new(); topology.kernels.len()];
        for worker in 0..self.orders.len() {
            self.own(worker).iter().for_each(|&kernel| homes[kernel].push(worker));
        }
        let mut loads = vec![0.0; self.orders.len()];
        for (homes, load) in homes.iter().zip(&work.load) {
            homes.iter().for_each(|&worker| loads[worker] += load / homes.len() as f64);
        }
        let distance = |facts: &EdgeFacts| {
            let pairs =
                homes[facts.from].iter().flat_map(|&from| homes[facts.to].iter().map(move |&to| from.abs_diff(to)));
            pairs.min().unwrap_or(0) as f64
        };
        let far = topology.edges.iter().zip(&work.traffic).map(|(facts, bytes)| bytes * distance(facts)).sum();
        (loads.into_iter().fold(0.0, f64::max), far)
    }

    /// The kernels that a worker keeps to, in the order of their numbers.
    pub(crate) fn own(&self, worker: usize) -> &[usize] {
        &self.orders[worker][..self.own[worker]]
    }

    /// All kernels, those that are nearest to a worker first.
    pub(crate) fn order(&self, worker: usize) -> &[usize] {
        &self.orders[worker]
    }
}

/// How many workers are to have a kernel as their own.
fn copies(kernel: &KernelFacts, workers: usize) -> usize {
    match kernel.hint {
        _ if !kernel.is_parallel() => 1,
        // Whoever does not say how many it needs has all.
        None => workers,
        Some(hint) => (hint.round() as usize).clamp(1, workers),
    }
}

/// What each kernel gives on each output, and its load, in messages of the fastest source. From the sources down; kernels on cycles that no source leads into come last, as
/// if they took one message.
fn estimate(topology: &Topology) -> (Vec<f64>, Vec<f64>) {
    let kernels = &topology.kernels;
    let mut missing: Vec<_> = kernels.iter().map(|kernel| kernel.inputs.len()).collect();
    let mut takes = vec![0.0; kernels.len()];
    let (mut gives, mut load) = (vec![1.0; kernels.len()], vec![1.0; kernels.len()]);
    let mut ready: Vec<_> = (0..kernels.len()).filter(|&kernel| missing[kernel] == 0).collect();
    let mut done = vec![false; kernels.len()];
    let mut next_on_cycle = 0;
    loop {
        let Some(kernel) = ready.pop() else {
            let Some(kernel) = (next_on_cycle..kernels.len()).find(|&kernel| !done[kernel]) else {
                return (gives, load);
            };
            next_on_cycle = kernel + 1;
            ready.push(kernel);
            continue;
        };
        if std::mem::replace(&mut done[kernel], true) {
            continue;
        }
        let rate = if takes[kernel] > 0.0 { takes[kernel] } else { 1.0 };
        let hint = f64::from(kernels[kernel].hint.unwrap_or(1.0));
        let hint = if hint.is_finite() { hint.max(0.0) } else { 1.0 };
        (gives[kernel], load[kernel]) = (rate * hint.clamp(RARE, 1.0), rate * hint.max(RARE));
        for &edge in &kernels[kernel].outputs {
            let to = topology.edges[edge].to;
            takes[to] += gives[kernel];
            missing[to] -= 1;
            if missing[to] == 0 {
                ready.push(to);
            }
        }
    }
}

/// Kernels that stay on one worker, in disjoint sets.
struct Sets {
    /// A member that stands nearer to the one by whose number the set is known.
    parent: Vec<usize>,
    load: Vec<f64>,
    /// Kernels with several copies are in no set.
    is_member: Vec<bool>,
    count: usize,
}

impl Sets {
    fn new(load: &[f64], copies: &[usize]) -> Self {
        let is_member: Vec<_> = copies.iter().map(|&copies| copies == 1).collect();
        Self {
            parent: (0..copies.len()).collect(),
            load: load.to_vec(),
            count: is_member.iter().filter(|&&member| member).count(),
            is_member,
        }
    }

    fn find(&mut self, kernel: usize) -> usize {
        let mut root = kernel;
        while self.parent[root] != root {
            self.parent[root] = self.parent[self.parent[root]];
            root = self.parent[root];
        }
        root
    }

    /// Joins the sets of two kernels whose load stays below `most`.
    fn join(&mut self, one: usize, other: usize, most: f64) {
        if !self.is_member[one] || !self.is_member[other] {
            return;
        }
        let (one, other) = (self.find(one), self.find(other));
        if one != other && self.load[one] + self.load[other] <= most {
            // Known by its first kernel.
            let (first, second) = (one.min(other), one.max(other));
            self.parent[second] = first;
            self.load[first] += self.load[second];
            self.count -= 1;
        }
    }

    /// Those that the user wants to stay together.
    fn join_groups(&mut self, topology: &Topology) {
        let mut first = BTreeMap::new();
        for (kernel, facts) in topology.kernels.iter().enumerate() {
            if let Some(group) = facts.group {
                let &mut with = first.entry(group).or_insert(kernel);
                self.join(with, kernel, f64::INFINITY);
            }
        }
    }

    /// Neighbours, those with the most traffic first, until there are no more than `enough` sets.
    fn join_neighbours(&mut self, topology: &Topology, traffic: &dyn Fn(usize) -> f64, most: f64, enough: usize) {
        if self.count <= enough {
            return;
        }
        let mut edges: Vec<_> = (0..topology.edges.len()).collect();
        edges.sort_by(|&a, &b| traffic(b).total_cmp(&traffic(a)));
        for edge in edges {
            if self.count <= enough {
                return;
            }
            let facts = &topology.edges[edge];
            self.join(facts.from, facts.to, most);
        }
    }

    /// The lightest two, until there are no more than `most` sets.
    fn join_lightest(&mut self, most: usize) {
        // In 2^-20 of a message: whole numbers have an order.
        let weigh = |load: f64| (load * f64::from(1 << 20)) as u64;
        let roots: Vec<_> = self.roots();
        let mut heap: BinaryHeap<_> = roots.into_iter().map(|set| Reverse((weigh(self.load[set]), set))).collect();
        while self.count > most {
            let (Some(Reverse((_, one))), Some(Reverse((_, other)))) = (heap.pop(), heap.pop()) else { return };
            self.join(one, other, f64::INFINITY);
            let set = self.find(one);
            heap.push(Reverse((weigh(self.load[set]), set)));
        }
    }

    fn roots(&self) -> Vec<usize> {
        (0..self.parent.len()).filter(|&kernel| self.is_member[kernel] && self.parent[kernel] == kernel).collect()
    }
}

/// The place of each kernel's set on the line: next to each set the one that has the most traffic with it.
fn arrange(topology: &Topology, sets: &mut Sets, traffic: &dyn Fn(usize) -> f64) -> Vec<Option<usize>> {
    let roots = sets.roots();
    let mut between = BTreeMap::new();
    for (edge, facts) in topology.edges.iter().enumerate() {
        if sets.is_member[facts.from] && sets.is_member[facts.to] {
            let (one, other) = (sets.find(facts.from), sets.find(facts.to));
            *between.entry((one, other)).or_insert(0.0) += traffic(edge);
            *between.entry((other, one)).or_insert(0.0) += traffic(edge);
        }
    }
    let mut left = roots;
    let mut places = BTreeMap::new();
    let mut last = None;
    while !left.is_empty() {
        let with_last = |&set: &usize| last.and_then(|last| between.get(&(last, set))).copied().unwrap_or(0.0);
        let best = if left.len() > MOST_ARRANGED {
            0
        } else {
            // The first one of those that are equal.
            (0..left.len()).rev().max_by(|&a, &b| with_last(&left[a]).total_cmp(&with_last(&left[b]))).unwrap_or(0)
        };
        let set = left.remove(best);
        places.insert(set, places.len());
        last = Some(set);
    }
    (0..topology.kernels.len())
        .map(|kernel| if sets.is_member[kernel] { places.get(&sets.find(kernel)).copied() } else { None })
        .collect()
}

/// Workers, and the kernels that they have as their own.
struct Assignment {
    homes: Vec<Vec<usize>>,
    loads: Vec<f64>,
}

impl Assignment {
    fn give(&mut self, kernel: usize, worker: usize, load: f64) {
        self.homes[kernel].push(worker);
        self.loads[worker] += load;
    }

    /// Gives copies of a kernel to different workers: to those with the least load, and of these to the ones nearest to its neighbours.
    fn spread(&mut self, topology: &Topology, kernel: usize, copies: usize, load: f64) {
        let facts = &topology.kernels[kernel];
        let before = facts.inputs.iter().map(|&edge| topology.edges[edge].from);
        let behind = facts.outputs.iter().map(|&edge| topology.edges[edge].to);
        let near: Vec<_> = before.chain(behind).filter_map(|other| self.homes[other].first().copied()).collect();
        let distance = |worker: usize| near.iter().map(|&home| home.abs_diff(worker)).sum::<usize>();
        let mut workers: Vec<_> = (0..self.loads.len()).collect();
        workers.sort_by(|&a, &b| self.loads[a].total_cmp(&self.loads[b]).then(distance(a).cmp(&distance(b))));
        workers.truncate(copies);
        workers.into_iter().for_each(|worker| self.give(kernel, worker, load / copies as f64));
    }

    fn orders(self) -> Partition {
        let mut partition = Partition { orders: Vec::new(), own: Vec::new() };
        for worker in 0..self.loads.len() {
            let distance =
                |&kernel: &usize| self.homes[kernel].iter().map(|home| home.abs_diff(worker)).min().unwrap_or(0);
            let mut order: Vec<_> = (0..self.homes.len()).collect();
            order.sort_by_key(distance);
            partition.own.push(order.iter().take_while(|kernel| distance(kernel) == 0).count());
            partition.orders.push(order);
        }
        partition
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    /// The partition of a graph for so many workers.
    fn of(graph: &mut Graph<'_>, workers: usize) -> Partition {
        let scheme = Scheme::named("pw").unwrap().workers(workers);
        graph.looked_at(scheme, |core, _| Partition::new(&core.topology, &Work::hinted(&core.topology), workers))
    }

    #[test]
    fn heavy_neighbours_stay_together_and_loads_in_balance() {
        let mut graph = Graph::new();
        let source = graph.source(0..0_u64);
        let grow = graph.map(|_: u64| [0_u64; 64]);
        let shrink = graph.map(|x: [u64; 64]| x[0]);
        let sink = graph.sink(|_: u64| ());
        graph += source >> grow >> shrink >> sink;
        // Four loads of one on three workers: two may share one, and these are the two with 512 bytes between them.
        let partition = of(&mut graph, 3);
        assert_eq!(
            (0..3).map(|worker| partition.own(worker).to_vec()).collect::<Vec<_>>(),
            [vec![0], vec![1, 2], vec![3]]
        );
        // Kernels are looked at from the own ones outward.
        assert_eq!(partition.order(0), [0, 1, 2, 3]);
        assert_eq!(partition.order(2), [3, 1, 2, 0]);
        let partition = of(&mut graph, 1);
        assert_eq!(partition.own(0), [0, 1, 2, 3]);
    }

    /// By the hints each of five kernels does as much, so one worker has the first three. Measured, two of those do nearly all.
    #[test]
    fn what_was_measured_moves_kernels_and_what_is_no_gain_does_not() {
        let mut graph = Graph::new();
        let mut path = graph.source(0..0_u64).into_path();
        for _ in 0..3 {
            path = path >> graph.map(|x: u64| x);
        }
        graph += path >> graph.sink(|_: u64| ());
        graph.looked_at(Scheme::named("pw").unwrap().workers(2), |core, _| {
            let topology = &core.topology;
            let hinted = Partition::new(topology, &Work::hinted(topology), 2);
            assert_eq!((hinted.own(0), hinted.own(1)), (&[0, 1, 2][..], &[3, 4][..]));
            let work = Work::measured(topology, &[10, 500, 500, 10, 10], &[100; 4]);
            let measured = Partition::new(topology, &work, 2);
            assert_eq!((measured.own(0), measured.own(1)), (&[0, 1][..], &[2, 3, 4][..]));
            assert!(measured.beats(&hinted, topology, &work));
            assert!(!hinted.beats(&measured, topology, &work));
            // What changes little changes nothing: neither is clearly lighter, and messages go as far.
            let even = Work::measured(topology, &[10, 10, 11, 10, 10], &[100; 4]);
            assert!(!Partition::new(topology, &even, 2).beats(&hinted, topology, &even));
            // Most of the traffic within a worker is a gain by itself.
            let far = Partition { orders: vec![vec![0, 2, 4, 1, 3], vec![1, 3, 0, 2, 4]], own: vec![3, 2] };
            assert!(hinted.beats(&far, topology, &even));
        });
    }

    #[test]
    fn who_is_hinted_together_stays_together_whatever_the_traffic() {
        let mut graph = Graph::new();
        let (first, second) = (graph.source(0..0_u64), graph.source(0..0_u64));
        let (third, fourth) = (graph.sink(|_: u64| ()), graph.sink(|_: u64| ()));
        graph += (first >> third).together();
        graph += second >> fourth;
        let partition = of(&mut graph, 3);
        assert!((0..3).any(|worker| partition.own(worker) == [0, 2]), "{partition:?}");
    }

    #[test]
    fn copies_of_a_parallel_kernel_are_apart() {
        let mut graph = Graph::new();
        let source = graph.source(0..0_u64);
        let work = graph.parallel_map(|x: u64| x);
        let sink = graph.sink(|_: u64| ());
        graph += source >> work * 4 >> sink;
        let partition = of(&mut graph, 6);
        let own = |worker: usize| partition.own(worker).to_vec();
        assert_eq!((0..6).filter(|&worker| own(worker) == [1]).count(), 4, "{partition:?}");
        assert!((0..6).any(|worker| own(worker) == [0]) && (0..6).any(|worker| own(worker) == [2]));
        // Without a hint, all.
        let mut graph = Graph::new();
        let source = graph.source(0..0_u64);
        let work = graph.parallel_map(|x: u64| x);
        graph += source >> work >> graph.sink(|_: u64| ());
        let partition = of(&mut graph, 3);
        assert!((0..3).all(|worker| partition.own(worker).contains(&1)));
    }

    #[test]
    fn the_rare_branch_leaves_the_worker_to_the_other() {
        let mut graph = Graph::new();
        let (source, tee) = (graph.source(0..0_u64), graph.map(|x: u64| x));
        let (rare, often) = (graph.map(|x: u64| x), graph.map(|x: u64| x));
        let (one, other) = (graph.sink(|_: u64| ()), graph.sink(|_: u64| ()));
        let merged = graph.source(0..0_u64);
        graph += source >> tee >> rare * 0 >> one;
        graph += merged >> often >> other;
        let partition = of(&mut graph, 4);
        // What is behind the rare kernel costs next to nothing, so both are with somebody.
        let with = |kernel: usize| (0..4).find(|&worker| partition.own(worker).contains(&kernel)).unwrap();
        assert_eq!(with(2), with(4), "{partition:?}");
    }

    /// Whatever the hints: each worker knows all kernels, and each kernel is somebody's own.
    #[test]
    fn every_kernel_is_somebodys_and_known_to_all() {
        for hint in [0.0, 0.5, 1.0, 7.0, 1e30] {
            for workers in 1..9 {
                let mut graph = Graph::new();
                let mut path = graph.source(0..0_u64).into_path();
                for number in 0..7 {
                    path = if number % 2 == 0 {
                        path >> graph.map(|x: u64| x) * hint
                    } else {
                        path >> graph.parallel_map(|x: u64| x) * hint
                    };
                }
                graph += path >> graph.sink(|_: u64| ());
                let partition = of(&mut graph, workers);
                let mut owned = vec![false; 9];
                for worker in 0..workers {
                    let mut order = partition.order(worker).to_vec();
                    order.sort_unstable();
                    assert!(order.into_iter().eq(0..9));
                    partition.own(worker).iter().for_each(|&kernel| owned[kernel] = true);
                }
                assert!(owned.into_iter().all(|owned| owned), "* {hint} on {workers}: {partition:?}");
            }
        }
    }

    #[test]
    fn cycles_have_a_partition() {
        let mut graph = Graph::new();
        let first = graph.add(Round);
        let second = graph.map(|x: u64| x);
        graph += graph.source(0..0_u64) >> first.0;
        graph += first.2 >> second.feedback() >> first.1;
        let partition = of(&mut graph, 2);
        assert_eq!(partition.order(0).len(), 3);
    }

    struct Round;

    impl Kernel for Round {
        type Ports = (In<u64>, In<u64>, Out<u64>);
        fn ports(&mut self, bind: &mut Binder<'_>) -> Self::Ports {
            (bind.input("in"), bind.input("back"), bind.output("out"))
        }
        fn run(&mut self, _: &Self::Ports, _: &mut Io<'_>) -> Result<Flow, BoxError> {
            Ok(Flow::Done)
        }
    }
}
