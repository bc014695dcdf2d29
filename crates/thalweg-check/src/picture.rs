//! Executions as pictures.

use crate::model::{Event, EventKind, ExecutionGraph, Names, Rule, Violation};
use std::fmt::Write;
use std::sync::atomic::Ordering;

impl ExecutionGraph {
    /// The execution as a Graphviz graph: a column for each thread, program order downwards.
    ///
    /// | edge | drawn |
    /// |---|---|
    /// | program order | black |
    /// | reads-from, labelled `rf` | green; from a point above for the initial value |
    /// | modification order to the next write, labelled `mo` | brown, dotted |
    /// | from-read to the next write, labelled `fr` | red, dashed |
    /// | start and end of threads | grey |
    ///
    /// A read-modify-write is two events. Locations have the names that they have in the source, if it is there, and their
    /// numbers. `dot -Tsvg` makes an image of it. [`Violation::dot`] is this with what is wrong.
    pub fn dot(&self) -> String {
        let names = Names::of(self);
        let mut dot = String::from("digraph execution {\n  node [shape=plaintext fontname=monospace];\n");
        for thread in 0..self.threads() {
            let _ = writeln!(dot, "  subgraph cluster_{thread} {{\n    label=\"thread {thread}\";");
            for event in self.thread(thread) {
                let _ = writeln!(dot, "    {} [label=\"{}\"];", node(&event), escape(&label(&event, &names)));
            }
            let ids = self.thread(thread).map(|event| node(&event)).collect::<Vec<_>>();
            if ids.len() > 1 {
                let _ = writeln!(dot, "    {} [weight=100];", ids.join(" -> "));
            }
            dot += "  }\n";
        }
        for event in self.events() {
            self.edges_from(&mut dot, &event, &names);
        }
        for location in 0..self.locations() {
            for pair in self.modification_order(location).windows(2) {
                let [first, second] = [pair[0], pair[1]].map(|id| node(&self.event(id)));
                edge(&mut dot, &first, &second, "label=mo color=brown style=dotted");
            }
        }
        dot + "}\n"
    }

    /// An access to a slot, by a thread that had executed so many events before: no event, so it has a box of its own.
    fn draw_access(&self, dot: &mut String, id: &str, what: &str, thread: u32, after: u32) {
        let _ = writeln!(dot, "  {id} [label=\"{}\" shape=box color=red];", escape(what));
        let mut events = self.thread(thread);
        if let Some(before) = (after as usize).checked_sub(1).and_then(|last| events.nth(last)) {
            edge(dot, &node(&before), id, "");
        }
    }

    /// The edges that `event` has besides program order and modification order.
    fn edges_from(&self, dot: &mut String, event: &Event<'_>, names: &Names) {
        match event.kind() {
            EventKind::Read { .. } => {
                let location = event.location().unwrap_or_default();
                let writes = self.modification_order(location);
                let place = match event.reads_from() {
                    Some(write) => {
                        edge(dot, &node(&self.event(write)), &node(event), "label=rf color=forestgreen");
                        writes.iter().position(|&other| other == write).map_or(0, |place| place + 1)
                    }
                    None => {
                        let (name, value) = (names.get(location), self.initial(location));
                        let _ = writeln!(dot, "  init{location} [label=\"{name} = {value}\"];");
                        edge(dot, &format!("init{location}"), &node(event), "label=rf color=forestgreen");
                        0
                    }
                };
                // Not to its own other half.
                let half =
                    |id: crate::model::EventId| id.thread == event.id().thread && id.index == event.id().index + 1;
                if let Some(&next) = writes.get(place).filter(|&&next| !half(next)) {
                    edge(dot, &node(event), &node(&self.event(next)), "label=fr color=red style=dashed");
                }
            }
            EventKind::Spawn { thread } if thread < self.threads() => {
                if let Some(first) = self.thread(thread).next() {
                    edge(dot, &node(event), &node(&first), "color=grey");
                }
            }
            EventKind::Join { thread } if thread < self.threads() => {
                if let Some(last) = self.thread(thread).last() {
                    edge(dot, &node(&last), &node(event), "color=grey");
                }
            }
            _ => {}
        }
    }
}

impl Violation {
    /// The execution as [`ExecutionGraph::dot`] draws it, with the rule that is broken on top; of a race the two accesses too, with a red edge
    /// between them.
    ///
    /// ```
    /// use thalweg_check::Check;
    /// use thalweg_sync::atomic::{AtomicU64, Ordering::Relaxed};
    ///
    /// let violation = Check::new().run(|| assert_eq!(AtomicU64::new(1).load(Relaxed), 2)).unwrap_err();
    /// let picture = violation.dot();
    /// assert!(picture.starts_with("digraph execution {"));
    /// assert!(picture.contains("label=\"thread 0 panicked: "));
    /// ```
    pub fn dot(&self) -> String {
        let mut dot = self.graph().dot();
        dot.truncate(dot.len() - "}\n".len());
        let caption = self.rule().to_string().lines().map(escape).collect::<Vec<_>>().join("\\l");
        let _ = writeln!(dot, "  label=\"{caption}\\l\"; labelloc=t; labeljust=l;");
        if let Rule::Race { threads, writes, sites, after } = self.rule() {
            for (this, id) in ["one", "other"].into_iter().enumerate() {
                let what = format!("{} at {}", if writes[this] { "write" } else { "read" }, sites[this]);
                self.graph().draw_access(&mut dot, id, &what, threads[this], after[this]);
            }
            edge(&mut dot, "one", "other", "label=race color=red style=bold dir=none");
        }
        dot + "}\n"
    }
}

fn edge(dot: &mut String, from: &str, to: &str, style: &str) {
    let _ = writeln!(dot, "  {from} -> {to} [{style} constraint=false];");
}

fn node(event: &Event<'_>) -> String {
    format!("e{}_{}", event.id().thread, event.id().index)
}

/// What an event does, in a few letters: `W.rel flag#0 = 1`.
fn label(event: &Event<'_>, names: &Names) -> String {
    let order = match event.ordering() {
        Ordering::Relaxed => "rlx",
        Ordering::Acquire => "acq",
        Ordering::Release => "rel",
        Ordering::AcqRel => "acqrel",
        _ => "sc",
    };
    let access = |letter: &str| {
        let location = event.location().map_or(String::new(), |location| format!(" {}", names.get(location)));
        format!("{letter}.{order}{location} = {}", event.value())
    };
    match event.kind() {
        EventKind::Read { exclusive: false } => access("R"),
        EventKind::Read { exclusive: true } => access("UR"),
        EventKind::Write { exclusive: false } => access("W"),
        EventKind::Write { exclusive: true } => access("UW"),
        EventKind::Fence => format!("F.{order}"),
        EventKind::Spawn { thread } => format!("start {thread}"),
        EventKind::Join { thread } => format!("join {thread}"),
        EventKind::Choose { of } => format!("{} of {of}", event.value()),
        EventKind::Wait { spurious } => if spurious { "without a reason" } else { "" }.to_owned(),
        EventKind::Allocate { bytes } | EventKind::Free { bytes } => format!("{bytes} bytes"),
        EventKind::Release { last: true } => "last handle".to_owned(),
        EventKind::Release { last: false } => "a handle".to_owned(),
        EventKind::Mark(mark) => format!("{mark:?} {:x}", event.value()),
    }
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}
