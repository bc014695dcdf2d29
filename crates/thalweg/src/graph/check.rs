//! What a graph must be before it runs.

use crate::edge::Capacity;
use crate::error::Refusal;
use crate::graph::draft::{Draft, Link, PortRef};
use crate::kernel::Body;
use std::collections::{BTreeMap, BTreeSet};

impl Draft<'_> {
    /// Makes names unique: of kernels with the same one, all but the first get a number. In ordered maps, for others free their names in an
    /// order of their own in each run, and on a modelled machine what is freed last is used first.
    pub(crate) fn number_names(&mut self) {
        let mut taken = BTreeSet::new();
        let given: BTreeSet<_> = self.kernels.iter().map(|kernel| kernel.name.clone()).collect();
        // Where to go on for a name, so that many equal ones cost no more than others.
        let mut last = BTreeMap::new();
        for kernel in &mut self.kernels {
            if taken.insert(kernel.name.clone()) {
                continue;
            }
            let count = last.entry(kernel.name.clone()).or_insert(1_usize);
            kernel.name = loop {
                *count += 1;
                let name = format!("{} ({count})", kernel.name);
                if !given.contains(&name) && taken.insert(name.clone()) {
                    break name;
                }
            };
        }
    }

    /// Every reason why this graph cannot work.
    pub(crate) fn refusals(&self) -> Vec<Refusal> {
        let mut refusals = self.refusals.clone();
        let mut refuse = |kernel: usize, reason: String| {
            let definition = &self.kernels[kernel];
            let kernel = format!("{} ({})", definition.name, definition.place);
            refusals.push(Refusal { kernel, reason });
        };
        let id = self.id;
        let is = |end: PortRef, kernel: usize, port: usize| (end.graph, end.kernel, end.port) == (id, kernel, port);
        for link in &self.foreign {
            // One whose ends are both elsewhere was refused when it was added.
            if let Some(own) = [link.from, link.to].into_iter().find(|end| end.graph == id) {
                refuse(
                    own.kernel,
                    "it is connected to a kernel of another graph; make both with the same one".to_owned(),
                );
            }
        }
        let wiring = self.wiring();
        for (index, kernel) in self.kernels.iter().enumerate() {
            for (port, input) in kernel.inputs.iter().enumerate() {
                let count = wiring.inputs[index].iter().filter(|&&edge| self.links[edge].to.port == port).count();
                let (name, message) = (&input.name, input.message);
                match count {
                    0 if self.foreign.iter().any(|link| is(link.to, index, port)) => {}
                    0 => refuse(
                        index,
                        format!("nothing leads to its input {name}; connect something that gives {message}"),
                    ),
                    1 => {}
                    _ => refuse(
                        index,
                        format!("{count} edges lead to its input {name}; give each its own input port of a Kernel"),
                    ),
                }
            }
            for (port, output) in kernel.outputs.iter().enumerate() {
                let count = wiring.outputs[index].iter().filter(|&&edge| self.links[edge].from.port == port).count();
                let (name, message) = (&output.name, output.message);
                match count {
                    0 if self.foreign.iter().any(|link| is(link.from, index, port)) => {}
                    0 => refuse(
                        index,
                        format!("its output {name} leads nowhere; connect something that takes {message}"),
                    ),
                    1 => {}
                    _ => refuse(
                        index,
                        format!("{count} edges leave its output {name}; Graph::tee gives each message to several"),
                    ),
                }
            }
            // A block counts its messages in 32 bits.
            let usable = |count: usize| (1..1 << 31).contains(&count);
            if let Some(window) = kernel.window.as_ref().filter(|window| !usable(window.peek) || !usable(window.pop)) {
                let (peek, pop) = (window.peek, window.pop);
                let bounds = "both must be at least 1, and less than 2^31";
                refuse(index, format!("a window of {peek} messages that pops {pop}; {bounds}"));
            }
            if let Body::Firing(_, rates) = &kernel.body {
                if rates.is_empty() {
                    refuse(
                        index,
                        "it has no input, so nothing says how often it fires; take Graph::source, or a Kernel"
                            .to_owned(),
                    );
                }
                for (rate, input) in rates.iter().zip(&kernel.inputs).filter(|(rate, _)| rate.messages > rate.peek) {
                    let (peek, pop, name) = (rate.peek, rate.messages, &input.name);
                    refuse(
                        index,
                        format!(
                            "a firing sees {peek} messages at its input {name} and takes {pop}; it must take at most what it sees"
                        ),
                    );
                }
                for (rate, input) in
                    rates.iter().zip(&kernel.inputs).filter(|(rate, _)| !usable(rate.messages) || !usable(rate.peek))
                {
                    let (count, name) = (rate.messages, &input.name);
                    refuse(
                        index,
                        format!(
                            "a firing takes {count} messages at its input {name}; it must be at least 1, and less than 2^31"
                        ),
                    );
                }
            }
        }
        let (component_of, _) = self.components();
        for link in &self.links {
            self.check_link(link, &mut refuse);
            let (from, to) = (link.from.kernel, link.to.kernel);
            let Body::Firing(_, rates) = &self.kernels[to].body else { continue };
            let slides = rates.get(link.to.port).is_some_and(|rate| rate.peek > rate.messages);
            if slides && component_of[from].is_some() && component_of[from] == component_of[to] {
                let name = &self.kernels[to].inputs[link.to.port].name;
                refuse(
                    to,
                    format!(
                        "its input {name} is a window that slides, and lies on a cycle, which would never be empty"
                    ),
                );
            }
        }
        for &(from, to) in self.latencies.iter().filter(|&&(from, to)| !self.behind(from)[to]) {
            let (from_name, to_name) = (&self.kernels[from].name, &self.kernels[to].name);
            refuse(
                from,
                format!(
                    "the latency from {from_name} to {to_name} was asked for, and nothing of it gets there without going round a cycle; name two kernels on one way"
                ),
            );
        }
        if let Some(cycle) = self.undeclared_cycle() {
            let names: Vec<_> = cycle.iter().map(|&kernel| self.kernels[kernel].name.as_str()).collect();
            let path = format!("{} >> {}", names.join(" >> "), names[0]);
            refuse(cycle[0], format!("the cycle {path} has no feedback edge; declare one with .feedback()"));
        }
        refusals
    }

    fn check_link(&self, link: &Link, refuse: &mut impl FnMut(usize, String)) {
        let (from, to) = (link.from.kernel, link.to.kernel);
        for (kernel, has) in [
            (from, link.from.port < self.kernels[from].outputs.len()),
            (to, link.to.port < self.kernels[to].inputs.len()),
        ] {
            if !has {
                refuse(kernel, "an edge is at a port that it does not have, as its `ports` panicked".to_owned());
                return;
            }
        }
        let names = || format!("the edge {} >> {}", self.kernels[from].name, self.kernels[to].name);
        let unusable = |capacity: &Capacity| capacity.first == 0 || capacity.first > capacity.most;
        if let Some(capacity) = link.spec.capacity.filter(unusable) {
            let (first, most) = (capacity.first, capacity.most);
            refuse(
                from,
                format!(
                    "{} has capacity {first} to {most}; it needs at least 1, and no more first than at most",
                    names()
                ),
            );
        }
        let taker = &self.kernels[to];
        if link.spec.newest && (taker.body.is_parallel() || taker.window.is_some()) {
            let needs = if taker.window.is_some() {
                "windows need every message"
            } else {
                "a parallel kernel keeps the order of all"
            };
            refuse(to, format!("{} keeps the newest messages, and {needs}; put a Graph::map between", names()));
        }
        if let Some(storage) = link.spec.storage {
            if link.spec.newest && !storage.gives_back() {
                refuse(
                    to,
                    format!(
                        "{} keeps the newest messages, and nobody can take back what is old from Storage::{storage:?}; take Storage::Many, or do without .storage()",
                        names()
                    ),
                );
            }
            if matches!(taker.body, Body::Parallel(_)) && !storage.is_for_many() {
                refuse(
                    to,
                    format!(
                        "it runs on many workers, and only one at a time can take from Storage::{storage:?} of {}; take Storage::Many or Storage::Linked, or do without .storage()",
                        names()
                    ),
                );
            }
        }
        if let Some(window) = &self.kernels[to].window {
            if let Some(capacity) = link.spec.capacity.filter(|capacity| capacity.most < window.peek) {
                refuse(
                    to,
                    format!(
                        "its window of {} messages is larger than the {} that {} may hold; let it hold {} or more, or do without .capacity() and .fixed()",
                        window.peek,
                        capacity.most,
                        names(),
                        window.peek
                    ),
                );
            }
            if link.spec.unordered {
                refuse(to, format!("{} is unordered, and windows need an order", names()));
            }
        }
    }
}
