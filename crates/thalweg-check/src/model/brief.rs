//! A violation in a few lines: what is wrong, and the last events of the threads that it is about.

use super::names::Names;
use super::report::{Rule, Violation};
use super::table::line;
use super::view::EventKind;
use std::collections::BTreeSet;
use std::fmt;

/// How many events of a thread are shown.
const SHOWN: usize = 8;

/// See [`Violation::brief`].
struct Brief<'a>(&'a Violation);

impl Violation {
    /// The violation in a few lines: what is wrong, and the last events of the threads involved. `Display` has all of
    /// it.
    pub fn brief(&self) -> impl fmt::Display {
        Brief(self)
    }

    /// The threads that the rule names, and those that wrote what these read last. None where the rule says it all.
    fn involved(&self) -> BTreeSet<u32> {
        let (named, with_writers) = match self.rule() {
            Rule::Race { threads, .. } => (threads.to_vec(), false),
            Rule::DroppedInUse { dropper, user: (user, _) } => (vec![*dropper, *user], false),
            Rule::WaitWrites { wait, .. } => (vec![wait.thread], true),
            Rule::WaitsForever { waits } => (waits.iter().map(|wait| wait.thread).collect(), true),
            Rule::Panic { thread, .. } | Rule::Uninitialised { thread, .. } | Rule::UseAfterFree { thread, .. } => {
                (vec![*thread], true)
            }
            Rule::Unbounded { thread, .. }
            | Rule::BlindWait { thread, .. }
            | Rule::WaitsWhileUnwinding { thread }
            | Rule::UnseenOperations { thread } => (vec![*thread], false),
            Rule::Polls { read: event, .. } | Rule::Nondeterministic { event, .. } => (vec![event.thread], false),
            Rule::Specification { .. }
            | Rule::FreedTwice { .. }
            | Rule::Leaks { .. }
            | Rule::Survives { .. }
            | Rule::LeftOver { .. }
            | Rule::Unrepeatable { .. }
            | Rule::Unequal { .. }
            | Rule::NothingShared { .. }
            | Rule::NoSuchExecution { .. } => (Vec::new(), false),
        };
        let graph = self.graph();
        let mut involved = named.iter().copied().collect::<BTreeSet<_>>();
        for thread in named.into_iter().filter(|&thread| with_writers && thread < graph.threads()) {
            let events = graph.thread(thread);
            let last = events.clone().skip(events.len().saturating_sub(SHOWN));
            involved.extend(last.filter_map(|event| event.reads_from()).map(|writer| writer.thread));
        }
        involved.retain(|&thread| thread < graph.threads());
        involved
    }
}

impl fmt::Display for Brief<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (violation, graph) = (self.0, self.0.graph());
        let names = Names::of(graph);
        write!(f, "{}", violation.rule())?;
        for thread in violation.involved() {
            let count = graph.thread(thread).len();
            let before = count.saturating_sub(SHOWN);
            match before {
                0 => writeln!(f, "\nthread {thread}")?,
                _ => writeln!(f, "\nthread {thread}, after {before} events")?,
            }
            // What is marked is a history, which a specification shows as calls.
            let events = graph.thread(thread).skip(before).filter(|event| !matches!(event.kind(), EventKind::Mark(_)));
            let lines = events.map(|event| line(graph, &names, &event)).collect::<Vec<_>>();
            write!(f, "{}", lines.join("\n"))?;
        }
        Ok(())
    }
}
