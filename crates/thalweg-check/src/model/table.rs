//! An execution as a table: the events, thread by thread in program order, with what reads read and where writes stand;
//! then modification order.

use super::graph::{EventId, ExecutionGraph, acquires};
use super::names::Names;
use super::report::Rule;
use super::view::{Event, EventKind};
use std::fmt;
use std::sync::atomic::Ordering;

/// How many lines of a thread are shown from its beginning, and how many from its end.
const SHOWN: usize = 50;

/// Of how many events the body of a loop may be whose rounds are shown once.
const ROUND: usize = 4;

/// How often a round has to come again for that.
const AGAIN: usize = 3;

/// What is said between two events of a thread: behind so many of them.
struct Note {
    thread: u32,
    after: u32,
    text: String,
}

impl fmt::Display for ExecutionGraph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_table(f, self, &[])
    }
}

/// The table of an execution that breaks `rule`: the accesses that race stand in it, though they are no events.
pub(super) fn write_broken(f: &mut fmt::Formatter<'_>, graph: &ExecutionGraph, rule: &Rule) -> fmt::Result {
    let Rule::Race { threads, writes, sites, after } = rule else { return write_table(f, graph, &[]) };
    // An access to an atomic is an event, and what it races with is a `get_mut` or the like.
    let is_event = |this: usize| {
        let event = graph.thread(threads[this]).nth(after[this] as usize);
        event.is_some_and(|event| event.site() == sites[this])
    };
    let object = if is_event(0) || is_event(1) { "atomic" } else { "slot" };
    let note = |this: usize| {
        let what = if writes[this] { "write" } else { "read" };
        let what = format!("{what} of the {object}, races with thread {}", threads[1 - this]);
        Note {
            thread: threads[this],
            after: after[this],
            text: format!("  {:<6} {what:<46} {:<8} {}", ">>>>", "", sites[this]),
        }
    };
    write_table(f, graph, &[note(0), note(1)])
}

/// Why two accesses that race are not ordered, where one thread did read what the other wrote in between.
pub(super) fn missing_edge(graph: &ExecutionGraph, rule: &Rule) -> Option<String> {
    let Rule::Race { threads: [first, second], after, .. } = rule else { return None };
    let reads = graph.thread(*second).take(after[1] as usize);
    let (read, from) = reads
        .filter_map(|read| Some((read, read.reads_from()?)))
        .filter(|(read, from)| {
            from.thread == *first && from.index >= after[0] && !graph.happens_before(*from, read.id())
        })
        .last()?;
    let (read_order, write_order) = (order_name(read.ordering()), order_name(graph.event(from).ordering()));
    let why = match (graph.is_released(from), acquires(read.ordering())) {
        (false, true) => format!("{from} is {write_order} and releases nothing"),
        (true, false) => format!("{} is {read_order} and acquires nothing", read.id()),
        (false, false) => format!("{from} is {write_order}, {} is {read_order}", read.id()),
        (true, true) => return None,
    };
    Some(format!("{} reads from {from}, which makes no happens-before edge: {why}", read.id()))
}

fn write_table(f: &mut fmt::Formatter<'_>, graph: &ExecutionGraph, notes: &[Note]) -> fmt::Result {
    let names = Names::of(graph);
    for thread in 0..graph.threads() {
        match graph.lines[thread as usize].parent {
            Some(parent) => writeln!(f, "thread {thread}, started by {parent}")?,
            None => writeln!(f, "thread {thread}")?,
        }
        let notes = notes.iter().filter(|note| note.thread == thread).collect::<Vec<_>>();
        let rows = rows(graph, &names, thread, &notes);
        let count = rows.len();
        for (place, row) in rows.iter().enumerate() {
            if count > 2 * SHOWN && place >= SHOWN && place < count - SHOWN {
                if place == SHOWN {
                    writeln!(f, "  ... {} more ...", count - 2 * SHOWN)?;
                }
                continue;
            }
            writeln!(f, "{row}")?;
        }
    }
    for location in 0..graph.locations() {
        if graph.modification_order(location).is_empty() && graph.locations[location].reads.is_empty() {
            continue;
        }
        write!(f, "{} is first used at {}", names.get(location), graph.location_site(location))?;
        write!(f, "; its values in modification order: initial")?;
        let order = graph.modification_order(location);
        order.iter().take(SHOWN).try_for_each(|write| write!(f, " < {write}"))?;
        if let more @ 1.. = order.len().saturating_sub(SHOWN) {
            write!(f, " < ... {more} more")?;
        }
        writeln!(f)?;
    }
    Ok(())
}

/// The lines of a thread. The rounds of a loop that do the same are one.
fn rows(graph: &ExecutionGraph, names: &Names, thread: u32, notes: &[&Note]) -> Vec<String> {
    let count = graph.len(thread) as usize;
    let mut rows = Vec::new();
    let mut folded = 0..0;
    for (place, event) in graph.thread(thread).enumerate() {
        rows.extend(notes.iter().filter(|note| note.after as usize == place).map(|note| note.text.clone()));
        if folded.contains(&place) {
            continue;
        }
        if place == folded.end {
            // The rounds end behind here, or none begins here.
            let end = notes.iter().map(|note| note.after as usize).find(|&after| after > place).unwrap_or(count);
            folded = rounds(graph, thread, place, end);
        }
        rows.push(line(graph, names, &event));
        if place + 1 == folded.start && !folded.is_empty() {
            let last = EventId { thread, index: folded.end as u32 - 1 };
            rows.push(format!("  ...    and so on, to {last}: {} events more", folded.len()));
        }
    }
    rows.extend(notes.iter().filter(|note| note.after as usize >= count).map(|note| note.text.clone()));
    rows
}

/// The events behind the one at `place`, and before `end`, that repeat what begins there; empty, and not before it, if none
/// do.
fn rounds(graph: &ExecutionGraph, thread: u32, place: usize, end: usize) -> std::ops::Range<usize> {
    let is_like = |one: usize, other: usize| {
        let [one, other] = [one, other].map(|index| EventId { thread, index: index as u32 });
        let from = |id: EventId| {
            let from = graph.node(id).rf;
            // What the round before wrote is the same to both.
            if from.thread == thread { (thread, id.index - from.index) } else { (from.thread, from.index) }
        };
        let (a, b) = (graph.node(one), graph.node(other));
        a.kind.is_like(&b.kind) && (a.loc, a.value, a.at) == (b.loc, b.value, b.at) && {
            graph.node(one).rf == graph.node(other).rf || from(one) == from(other)
        }
    };
    let again = |round: usize| (place + round..end).take_while(|&index| is_like(index - round, index)).count() / round;
    let round = (1..=ROUND).find(|&round| again(round) >= AGAIN);
    round.map_or(place + 1..place + 1, |round| place + round..place + round + round * again(round))
}

/// What a thread that is not deterministic did the two times.
pub(super) fn write_both(
    f: &mut fmt::Formatter<'_>,
    graph: &ExecutionGraph,
    event: EventId,
    [expected, found]: [&String; 2],
) -> fmt::Result {
    let names = Names::of(graph);
    for (time, what) in [("one time", expected), ("another time", found)] {
        writeln!(f, "thread {} {time}:", event.thread)?;
        let before = graph.thread(event.thread).take(event.index as usize);
        for same in before.skip((event.index as usize).saturating_sub(SHOWN)) {
            writeln!(f, "{}", line(graph, &names, &same))?;
        }
        writeln!(f, "  {:<6} {what}", event.to_string())?;
    }
    Ok(())
}

/// A line of the table.
pub(super) fn line(graph: &ExecutionGraph, names: &Names, event: &Event<'_>) -> String {
    let what = describe(graph, names, event);
    let id = event.id().to_string();
    let order = match event.kind() {
        // What a thread did before the start of another one, that one sees; and so at its end.
        EventKind::Spawn { .. } | EventKind::Join { .. } => "sync",
        EventKind::Choose { .. } | EventKind::Wait { .. } | EventKind::Mark(_) => "",
        _ => order_name(event.ordering()),
    };
    match event.kind() {
        // A destructor does not know who called it.
        EventKind::Release { .. } | EventKind::Allocate { .. } | EventKind::Free { .. } => format!("  {id:<6} {what}"),
        _ => format!("  {id:<6} {what:<46} {order:<8} {}", event.site()),
    }
}

fn describe(graph: &ExecutionGraph, names: &Names, event: &Event<'_>) -> String {
    let location = event.location().map_or("", |location| names.get(location));
    let value = value(graph, names, event);
    match event.kind() {
        EventKind::Read { exclusive } => {
            let from = graph.node(event.id()).rf;
            let what = if exclusive { "update reads" } else { "read" };
            format!("{what} {location} = {value} from {from}")
        }
        EventKind::Write { exclusive: true } => format!("update writes {location} := {value}"),
        EventKind::Write { .. } => format!("write {location} := {value}"),
        EventKind::Fence => "fence".to_owned(),
        EventKind::Spawn { thread } => format!("start thread {thread}"),
        EventKind::Join { thread } => format!("join thread {thread}"),
        EventKind::Release { last: false } => "drop a handle".to_owned(),
        EventKind::Release { .. } => "drop the last handle".to_owned(),
        EventKind::Allocate { bytes } => match event.reads_from() {
            Some(free) => format!("allocate {bytes} bytes: the block that {free} freed"),
            None => format!("allocate {bytes} bytes"),
        },
        EventKind::Free { bytes } => format!("free {bytes} bytes"),
        EventKind::Wait { spurious: true } => "wait, and wake without a reason".to_owned(),
        EventKind::Wait { spurious: false } => "wait to be notified".to_owned(),
        EventKind::Choose { of } => format!("choose {value} of {of}"),
        EventKind::Mark(mark) => format!("mark {mark:?} {value}"),
    }
}

/// What it read or wrote: a number, or a pointer by what it points to.
fn value(graph: &ExecutionGraph, names: &Names, event: &Event<'_>) -> String {
    let Some((_, target)) = graph.targets.iter().find(|(id, _)| *id == event.id()) else {
        return event.value().to_string();
    };
    let Some(number) = target.number else { return "null".to_owned() };
    let tag = if target.tagged { "+tag" } else { "" };
    let of = target.location.map_or(String::new(), |location| format!(" to {}", names.get(location as usize)));
    format!("p{number}{tag}{of}")
}

pub(super) fn order_name(order: Ordering) -> &'static str {
    match order {
        Ordering::Relaxed => "relaxed",
        Ordering::Acquire => "acquire",
        Ordering::Release => "release",
        Ordering::AcqRel => "acq-rel",
        _ => "seq-cst",
    }
}
