//! From a graph to the parts of a run.

use crate::block::MOST_BYTES;
use crate::block::windows::Assemble;
use crate::control::Control;
use crate::edge::{self, Channels, Edge, Plan, Sender, Storage, Taker};
use crate::error::{Caught, Error, Refusal, Result, Whole, catch};
use crate::exec::{self, Component, Parts, Post};
use crate::graph::Graph;
use crate::graph::draft::{Definition, Draft, Link};
use crate::kernel::intake::{Gather, Intake};
use crate::kernel::{Body, Outside, SharedTask, Task};
use crate::observe::Probes;
use crate::observe::spans::{self, Span};
use crate::report::Report;
use crate::scheme::Scheme;
use crate::topology::{EdgeFacts, KernelFacts, Kind, Topology};
use std::mem;
use thalweg_sync::sync::Arc;

/// Messages in the first blocks, until it is known what one costs.
const FIRST_LEN: u32 = 16;
/// Tickets of a parallel kernel that may be out, per worker and at least.
const TICKETS: (usize, usize) = (16, 32);

impl<'env> Graph<'env> {
    /// Runs the graph until its sources have ended and everything is processed, and says what happened.
    ///
    /// The calling thread is one of the workers. A graph can be run again: sources made with [`source_with`](Self::source_with) start anew,
    /// others go on where they were.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] before anything runs, if the graph cannot work, or the system gives no thread for a worker that was asked for or for a
    /// [blocking source](Self::source_blocking): then nothing is lost, and the graph can be run again. [`Error::Failed`] if kernels panicked or returned an error: the
    /// run is stopped, every cause is there with its kernel's name, and every message was dropped once; also if destructors of messages panicked
    /// that were left in the graph. [`Error::Stalled`] if no kernel could go on.
    pub fn run(&mut self, scheme: Scheme) -> Result<Report> {
        let control = self.control.clone();
        #[cfg(all(feature = "observe", unix))]
        crate::observe::note(control.graph, &control.eyes);
        let draft = self.draft.get_mut();
        draft.number_names();
        let mut refusals = draft.refusals();
        refusals.extend(scheme.refusals(draft.crew(scheme).0));
        refusals.extend(draft.refused_tasks());
        if !refusals.is_empty() {
            return Err(Error::Refused(refusals));
        }
        let begin = |kernel: &mut Definition<'_>| {
            let begin = || match &mut kernel.body {
                Body::Source(source) => source.begin(),
                Body::Ported(ported) => {
                    ported.begin();
                    Ok(())
                }
                Body::Sequential(_) | Body::Parallel(_) | Body::Firing(..) => Ok(()),
            };
            let reason = match catch(begin) {
                Ok(begun) => Whole(&*begun.err()?).to_string(),
                Err(causes) => {
                    format!("its code panicked before the run: {}; run the graph again", Caught::texts(causes))
                }
            };
            Some(Refusal { kernel: format!("{} ({})", kernel.name, kernel.place), reason })
        };
        let mut refusals: Vec<_> = draft.kernels.iter_mut().filter_map(begin).collect();
        if refusals.is_empty() {
            refusals = draft.start_tasks();
        }
        let channels = draft.channels().unwrap_or_else(|refusal| {
            refusals.push(refusal);
            Channels::default()
        });
        let tasks = draft.gates();
        let result = if refusals.is_empty() {
            draft.outsides().for_each(Outside::reopen);
            #[cfg(all(feature = "daemon", target_os = "linux"))]
            let _noted = crate::daemon::note(&control.eyes);
            let span = Span::of_run(control.graph, scheme.name(), draft.kernels.len());
            span.within(|| {
                let result = exec::run(draft.parts(scheme, channels, &control), control, scheme, &|| tasks.open());
                spans::ended(&result);
                result
            })
        } else {
            Err(Error::Refused(refusals))
        };
        draft.outsides().for_each(|outside| outside.run_is_over(&result));
        draft.join_tasks(result)
    }
}

impl Draft<'_> {
    /// What an edge is, by what its two ends are and what was asked of it.
    fn plan(&self, id: usize, scheme: Scheme, outputs: &[Vec<usize>], component_of: &[Option<usize>]) -> (Plan, u32) {
        let link = &self.links[id];
        let (from, to) = (link.from.kernel, link.to.kernel);
        let window = self.kernels[to].window.as_ref();
        let taker = &self.kernels[to].body;
        let parallel = taker.is_parallel();
        let (peek, pop) = taker.rate(link.to.port).unwrap_or((1, 1));
        // Two blocks at least, so that both sides can work.
        let half = |link: &Link| link.spec.capacity.map(|capacity| capacity.first.div_ceil(2));
        // A parallel kernel takes whole blocks, so the messages that it makes of one come on top of those that the edge behind it holds. A firing
        // or a window gives one message for all that it pops.
        let behind = outputs[to].iter().filter(|_| parallel).filter_map(|&edge| half(&self.links[edge])).min();
        let pops = window.map_or(pop, |window| window.pop);
        let behind = behind.map(|most| most.saturating_mul(pops).saturating_add(peek - pop));
        let many_takers = matches!(taker, Body::Parallel(_));
        let (storage, chosen) = match link.spec.storage {
            Some(storage) => (storage, "chosen"),
            None if link.spec.newest => (Storage::Many, "keeps the newest"),
            None if many_takers => (Storage::Many, "several takers"),
            None => scheme.storage().map_or((Storage::Ring, "one taker"), |storage| (storage, "by the scheme")),
        };
        let plan = Plan {
            id,
            from,
            to,
            capacity: link.spec.capacity,
            feedback: link.spec.feedback,
            newest: link.spec.newest,
            window: window.map(|window| (window.peek, window.pop)),
            storage,
            chosen,
            many_takers,
            message_bytes: link.bytes,
            longest: half(link).into_iter().chain(behind).min().unwrap_or(usize::MAX),
            component: component_of[from].filter(|_| component_of[from] == component_of[to]),
        };
        // The cost of a message is not known yet, so blocks are short at first: few but costly messages are spread and not held back.
        let block_len = match window {
            Some(window) => {
                // What lies between two windows is passed over, wherever blocks end.
                let pop = window.pop.min((MOST_BYTES / link.bytes.max(1)).max(1));
                u32::try_from(window.peek.max(pop).saturating_mul(2)).unwrap_or(u32::MAX)
            }
            None if parallel => u32::try_from(peek).unwrap_or(u32::MAX),
            None => FIRST_LEN.min((MOST_BYTES / link.bytes.max(1)).max(1) as u32),
        };
        (plan, block_len)
    }

    /// Opens the channels of edges that lie on a device.
    fn channels(&self) -> std::result::Result<Channels, Refusal> {
        let is_on_device = |link: &Link| link.spec.storage.is_some_and(Storage::is_on_device);
        let edges: Vec<_> = (0..self.links.len()).filter(|&id| is_on_device(&self.links[id])).collect();
        Channels::open(&edges).map_err(|reason| {
            let kernel = &self.kernels[self.links[edges[0]].to.kernel];
            let reason = format!(
                "{} edges lie on a device, as the one that leads here: {reason}; take less of Storage::Device",
                edges.len()
            );
            Refusal { kernel: format!("{} ({})", kernel.name, kernel.place), reason }
        })
    }

    /// How many workers there may be, and how many start.
    fn crew(&self, scheme: Scheme) -> (usize, usize) {
        let (most, start) = scheme.crew(self.kernels.iter().map(|kernel| (kernel.body.is_parallel(), kernel.hint)));
        // Whoever pushes from outside is not kept waiting by what else the graph is at: a second worker is on call all the time.
        let sources = self.kernels.iter().filter(|kernel| kernel.inputs.is_empty()).count();
        let on_call = scheme.is_elastic() && sources > 1 && self.kernels.iter().any(|kernel| kernel.outside.is_some());
        (most, if on_call { most.min(2) } else { start })
    }

    /// The parts of a run, which borrow the kernels' code.
    pub(crate) fn parts<'r>(&'r mut self, scheme: Scheme, mut channels: Channels, control: &Control) -> Parts<'r> {
        let mut latencies = self.latencies.clone();
        if control.eyes.wants_all_latencies() {
            let more = self.sources_and_sinks();
            latencies.extend(more.into_iter().filter(|pair| !self.latencies.contains(pair)));
        }
        let probes = Probes::new(self.kernels.len(), latencies);
        let (component_of, components) = self.components();
        let mut wiring = self.wiring();
        let crew = self.crew(scheme);
        let mut edges: Vec<Arc<Edge>> = Vec::with_capacity(self.links.len());
        let (mut senders, mut takers) = (Vec::new(), Vec::new());
        for id in 0..self.links.len() {
            let (plan, block_len) = self.plan(id, scheme, &wiring.outputs, &component_of);
            let window = self.kernels[plan.to].window.as_ref();
            let assembler = window.map(|window| -> Box<dyn Assemble + 'r> { (window.assembler)() });
            let (edge, sender, taker) = edge::edge(self.links.len(), &mut channels, plan, assembler, block_len);
            edges.push(edge);
            senders.push(Some(sender));
            takers.push(Some(taker));
        }
        let edges_where = |test: &dyn Fn(Option<usize>, Option<usize>) -> bool| -> Vec<usize> {
            let ends = |edge: &&Arc<Edge>| test(component_of[edge.plan.from], component_of[edge.plan.to]);
            edges.iter().filter(ends).map(|edge| edge.plan.id).collect()
        };
        let components = (0..components).map(|number| Component {
            from_outside: edges_where(&|from, to| to == Some(number) && from != Some(number)),
            feedback: edges_where(&|from, to| from == Some(number) && to == Some(number))
                .into_iter()
                .filter(|&edge| edges[edge].plan.feedback)
                .collect(),
            census: Default::default(),
        });
        let components = components.collect();
        let topology = Topology {
            kernels: (self.kernels.iter().enumerate())
                .map(|(kernel, definition)| KernelFacts {
                    name: definition.name.clone(),
                    place: definition.place,
                    kind: match definition.body {
                        Body::Source(_) => Kind::Source { outside: definition.outside.is_some() },
                        Body::Sequential(_) => Kind::Sequential,
                        Body::Parallel(_) | Body::Firing(..) => Kind::Parallel,
                        Body::Ported(_) => Kind::Ported,
                    },
                    inputs: mem::take(&mut wiring.inputs[kernel]),
                    outputs: mem::take(&mut wiring.outputs[kernel]),
                    rates: (0..).map_while(|port| definition.body.rate(port)).collect(),
                    input_names: definition.inputs.iter().map(|port| port.name.clone()).collect(),
                    output_names: definition.outputs.iter().map(|port| port.name.clone()).collect(),
                    hint: definition.hint,
                    group: definition.group,
                    component: component_of[kernel],
                })
                .collect(),
            edges: self
                .links
                .iter()
                .map(|link| EdgeFacts { from: link.from.kernel, to: link.to.kernel, bytes: link.bytes })
                .collect(),
        };
        let ordered = |edge: &usize| !self.links[*edge].spec.unordered;
        let ordered: Vec<_> = topology.kernels.iter().map(|kernel| kernel.outputs.iter().any(ordered)).collect();
        let tickets = (TICKETS.0 * crew.0).max(TICKETS.1);
        let seats = self.kernels.iter_mut().enumerate().map(|(kernel, definition)| {
            let facts = &topology.kernels[kernel];
            // Most have one, and a vector that does not know how many come makes room for four.
            let mut outs: Vec<Sender<'r>> = Vec::with_capacity(facts.outputs.len());
            outs.extend(facts.outputs.iter().filter_map(|&edge| senders[edge].take()));
            let mut ins = facts.inputs.iter().filter_map(|&edge| takers[edge].take());
            let mut one = || {
                (&mut ins)
                    .map(|taker| match taker {
                        Taker::One(receiver) => receiver,
                        Taker::Many(_) => unreachable!("its consumer is parallel"),
                    })
                    .collect()
            };
            let outside = definition.outside.as_deref().map(|outside| -> &'r dyn Outside { outside });
            let post = match &mut definition.body {
                Body::Source(source) => Post::one(Task::source(&mut **source, outside, outs)),
                Body::Sequential(work) => Post::one(Task::sequential(&mut **work, one(), outs)),
                Body::Ported(ported) => Post::one(Task::ported(&mut **ported, one(), outs)),
                Body::Parallel(work) => {
                    let Some(Taker::Many(input)) = ins.next() else { unreachable!("it has one input") };
                    let component = input.edge().plan.component;
                    let input = Intake::One(input);
                    let task = SharedTask::new(&**work, input, component, outs, ordered[kernel], tickets, crew.0);
                    Post::Many(Box::new(task))
                }
                Body::Firing(work, rates) => {
                    let gather = Gather::new(one(), rates, facts.component);
                    let input = Intake::Several(Box::new(gather));
                    let task = SharedTask::new(&**work, input, facts.component, outs, ordered[kernel], tickets, crew.0);
                    Post::Many(Box::new(task))
                }
            };
            (post, outside)
        });
        let seats = seats.collect();
        Parts { topology, edges, seats, components, crew, hook: self.hook.as_ref(), give_len: FIRST_LEN, probes }
    }
}

#[cfg(test)]
impl Graph<'_> {
    /// Lets `look` see the graph as the first worker's policy does, in a run that has not begun.
    pub(crate) fn looked_at<R>(
        &mut self,
        scheme: Scheme,
        look: impl FnOnce(&exec::Core<'_>, &crate::scheme::View<'_>) -> R,
    ) -> R {
        let control = self.control.clone();
        exec::looked_at(self.draft.get_mut().parts(scheme, Channels::default(), &control), control, scheme, look)
    }
}
