//! One execution as a line of text, by which it can be run alone.
//!
//! Threads are separated by `;`, their events by `,`. A read is what it reads from (`i`: the initial value, `2.5`:
//! event 5 of thread 2), with `!` if it failed without a reason; a write is `w` and its place in modification order; the
//! drop of a last handle is `l` and the other drops, joined by `+`; a choice is `c` and the number; the start of a thread is
//! `s` and its number, if that is not told by the place; an allocation that is given a freed block is `r` and the free; anything else is `-`, and the events behind the last that matters are
//! left out.
//!
//! A thread has the lowest number that is free when it starts, and the run of one execution alone adds events in another order
//! than the search: so where several threads start others, who is first may differ. Told by the place are 1, 2, … of the threads
//! that thread 0 starts in this order.
//!
//! In front of them stand the sizes and alignments of which allocations are events, if there are any: `24/8+48/16:`.
//!
//! What the text does not have comes last (`State::gives_way`), for it was not there when the execution went wrong. A choice that the
//! execution does not have is not taken: the event is what it is without a guide, and what is found then counts for nothing
//! ([`Guide::misfit`]). So a text may say anything, as it is typed by hand, or older than the client.

use super::graph::{EventId, Graph, Kind};
use std::alloc::Layout;
use std::fmt;

/// What is to be chosen for an event.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Choice {
    Read {
        from: EventId,
        spurious: bool,
    },
    Write {
        place: u32,
    },
    Last {
        others: Vec<EventId>,
    },
    Chosen {
        value: u64,
    },
    Started {
        child: u32,
    },
    /// An allocation gets the block of this free.
    Given {
        free: EventId,
    },
    Nothing,
}

impl Choice {
    /// Whether it is the same. Not where a write stands: that depends on how many writes there are.
    fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Write { .. }, Self::Write { .. }) => true,
            (Self::Last { others }, Self::Last { others: more }) => {
                others.len() == more.len() && others.iter().all(|other| more.contains(other))
            }
            _ => self == other,
        }
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => write!(f, "-"),
            Self::Write { place } => write!(f, "w{place}"),
            Self::Chosen { value } => write!(f, "c{value}"),
            Self::Started { child } => write!(f, "s{child}"),
            Self::Given { free } => write!(f, "r{free}"),
            Self::Last { others } => {
                let others = others.iter().map(EventId::to_string).collect::<Vec<_>>();
                write!(f, "l{}", others.join("+"))
            }
            Self::Read { from, spurious } => {
                let from = if from.is_init() { "i".to_owned() } else { from.to_string() };
                write!(f, "{from}{}", if *spurious { "!" } else { "" })
            }
        }
    }
}

/// The choices that lead to one execution.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Guide {
    /// Of which allocations are events.
    layouts: Vec<Layout>,
    threads: Vec<Vec<Choice>>,
}

impl Guide {
    pub(crate) fn of(graph: &Graph) -> Self {
        // The next thread whose number is told by the place of its start.
        let mut next = 1;
        let mut choice = |id: EventId| {
            let node = graph.node(id);
            match node.kind {
                Kind::Read { spurious, .. } => Choice::Read { from: node.rf, spurious },
                Kind::Write { .. } => Choice::Write { place: node.place },
                Kind::Release { last: true } if !node.others.is_empty() => Choice::Last { others: node.others.clone() },
                Kind::Allocate(_) if !node.rf.is_init() => Choice::Given { free: node.rf },
                Kind::Choose { .. } | Kind::Wake => Choice::Chosen { value: node.value },
                Kind::Spawn { child } if id.thread == 0 && child == next => {
                    next += 1;
                    Choice::Nothing
                }
                Kind::Spawn { child } => Choice::Started { child },
                _ => Choice::Nothing,
            }
        };
        let threads = (0..graph.lines.len() as u32)
            .map(|thread| (0..graph.len(thread)).map(|index| choice(EventId { thread, index })).collect())
            .collect();
        let mut layouts = Vec::new();
        for &id in &graph.order {
            if let Kind::Allocate(layout) | Kind::Free(layout) = graph.node(id).kind
                && !layouts.contains(&layout)
            {
                layouts.push(layout);
            }
        }
        Self { layouts, threads }
    }

    /// The same with two threads exchanged.
    pub(crate) fn exchanged(mut self, [one, other]: [u32; 2]) -> Self {
        let places = [one, other].map(|thread| thread as usize);
        self.threads.resize_with(self.threads.len().max(places[0].max(places[1]) + 1), Vec::new);
        self.threads.swap(places[0], places[1]);
        let exchange = |id: &mut EventId| match id.thread {
            thread if thread == one => id.thread = other,
            thread if thread == other => id.thread = one,
            _ => {}
        };
        for choice in self.threads.iter_mut().flatten() {
            match choice {
                Choice::Read { from, .. } => exchange(from),
                Choice::Given { free } => exchange(free),
                Choice::Last { others } => others.iter_mut().for_each(exchange),
                Choice::Nothing | Choice::Write { .. } | Choice::Chosen { .. } | Choice::Started { .. } => {}
            }
        }
        self
    }

    /// Of which allocations are events.
    pub(crate) fn layouts(&self) -> &[Layout] {
        &self.layouts
    }

    /// What is said of the events of `thread`, up to the last one that matters.
    fn part(&self, thread: u32) -> &[Choice] {
        let Some(choices) = self.threads.get(thread as usize) else { return &[] };
        let count = choices.iter().rposition(|choice| *choice != Choice::Nothing).map_or(0, |last| last + 1);
        &choices[..count]
    }

    /// Of how many events of `thread` something is said.
    pub(crate) fn len(&self, thread: u32) -> u32 {
        self.part(thread).len() as u32
    }

    fn choice(&self, id: EventId) -> &Choice {
        self.part(id.thread).get(id.index as usize).unwrap_or(&Choice::Nothing)
    }

    /// How the execution `graph` is another one than that of the text; if it is over, also by what it does not have.
    pub(crate) fn misfit(&self, graph: &Graph, is_over: bool) -> Option<String> {
        let own = Self::of(graph);
        let differs = |id: &&EventId| id.index < self.len(id.thread) && !self.choice(**id).is_like(own.choice(**id));
        if let Some(&id) = graph.order.iter().find(differs) {
            let (node, text) = (graph.node(id), self.choice(id));
            let found = format!("{} at {}", node.kind.describe(node.value), node.at);
            return Some(format!("it has `{text}` for event {id}, which is `{}`: {found}", own.choice(id)));
        }
        for location in &graph.locations {
            let places = location.co.iter().filter_map(|&write| self.place(write)).collect::<Vec<_>>();
            if !places.is_sorted_by(|one, other| one < other) {
                let at = location.at;
                return Some(format!("the writes to the atomic first used at {at} cannot stand in its order"));
            }
        }
        let missing = |thread| {
            let index = graph.len(thread);
            (is_over && index < self.len(thread)).then_some(EventId { thread, index })
        };
        let id = (0..self.threads.len() as u32).find_map(missing)?;
        Some(format!("it has `{}` for event {id}, which is not there", self.choice(id)))
    }

    /// What the choice `id` is to be.
    pub(crate) fn chosen(&self, id: EventId) -> Option<u64> {
        match self.choice(id) {
            &Choice::Chosen { value } => Some(value),
            _ => None,
        }
    }

    /// The free whose block the allocation `id` is to be given.
    pub(crate) fn given(&self, id: EventId) -> Option<EventId> {
        match self.choice(id) {
            &Choice::Given { free } => Some(free),
            _ => None,
        }
    }

    /// The number of the thread that the event `id` is to start.
    pub(crate) fn started(&self, id: EventId) -> Option<u32> {
        match self.choice(id) {
            &Choice::Started { child } => Some(child),
            _ => None,
        }
    }

    /// Whether some event is to start a thread of this number.
    pub(crate) fn starts(&self, child: u32) -> bool {
        self.threads.iter().flatten().any(|choice| *choice == Choice::Started { child })
    }

    /// After which other drops the drop `id` is to come, as the last one.
    pub(crate) fn others(&self, id: EventId) -> &[EventId] {
        match self.choice(id) {
            Choice::Last { others } => others,
            _ => &[],
        }
    }

    /// What the read `id` is to read from, and whether it is to fail spuriously.
    pub(crate) fn read(&self, id: EventId) -> Option<(EventId, bool)> {
        match self.choice(id) {
            &Choice::Read { from, spurious } => Some((from, spurious)),
            _ => None,
        }
    }

    /// Where the write `id` is to stand in the end.
    pub(crate) fn place(&self, id: EventId) -> Option<u32> {
        match self.choice(id) {
            &Choice::Write { place } => Some(place),
            _ => None,
        }
    }

    pub(crate) fn to_text(&self) -> String {
        let line = |thread| self.part(thread).iter().map(Choice::to_string).collect::<Vec<_>>().join(",");
        let layout = |layout: &Layout| format!("{}/{}", layout.size(), layout.align());
        let layouts = self.layouts.iter().map(layout).collect::<Vec<_>>().join("+");
        let colon = if layouts.is_empty() { "" } else { ":" };
        let threads = (0..self.threads.len() as u32).map(line).collect::<Vec<_>>().join(";");
        format!("{layouts}{colon}{threads}")
    }

    /// Reads what [`to_text`](Self::to_text) wrote. An error is what was not understood.
    pub(crate) fn from_text(text: &str) -> Result<Self, String> {
        let (layouts, text) = text.trim().split_once(':').unwrap_or(("", text));
        let layouts = layouts.split('+').filter(|item| !item.is_empty()).map(layout).collect::<Result<_, _>>()?;
        let threads = text.trim().split(';').count() as u32;
        let choice = |item: &str| match choice(item)? {
            // Every thread has a part of the text, and the first is started by nobody.
            Choice::Started { child } if child == 0 || child >= threads => {
                Err(format!("{item:?} starts thread {child}, and there are {threads}"))
            }
            other => Ok(other),
        };
        let thread = |line: &str| line.split(',').filter(|item| !item.is_empty()).map(choice).collect();
        Ok(Self { layouts, threads: text.trim().split(';').map(thread).collect::<Result<_, _>>()? })
    }
}

fn choice(item: &str) -> Result<Choice, String> {
    let error = || {
        format!(
            "{item:?} is no choice: `i` or `2.5` for a read, `w3` for a write, `l1.2` for the drop of a last handle, `c1` for a choice, `s2` for the start of a thread, `r1.2` for an allocation that is given a freed block, `-` for anything else"
        )
    };
    if item == "-" {
        return Ok(Choice::Nothing);
    }
    if let Some(place) = item.strip_prefix('w') {
        return Ok(Choice::Write { place: place.parse().map_err(|_| error())? });
    }
    if let Some(value) = item.strip_prefix('c') {
        return Ok(Choice::Chosen { value: value.parse().map_err(|_| error())? });
    }
    if let Some(child) = item.strip_prefix('s') {
        return Ok(Choice::Started { child: child.parse().map_err(|_| error())? });
    }
    if let Some(free) = item.strip_prefix('r') {
        return Ok(Choice::Given { free: event(free).ok_or_else(error)? });
    }
    if let Some(others) = item.strip_prefix('l') {
        return Ok(Choice::Last { others: others.split('+').map(event).collect::<Option<_>>().ok_or_else(error)? });
    }
    let (from, spurious) = item.strip_suffix('!').map_or((item, false), |from| (from, true));
    if from == "i" {
        return Ok(Choice::Read { from: EventId::INIT, spurious });
    }
    Ok(Choice::Read { from: event(from).ok_or_else(error)?, spurious })
}

fn layout(item: &str) -> Result<Layout, String> {
    let layout = || {
        let (size, align) = item.split_once('/')?;
        Layout::from_size_align(size.parse().ok()?, align.parse().ok()?).ok()
    };
    layout().ok_or_else(|| format!("{item:?} is no size and alignment of a block: `24/8`"))
}

fn event(text: &str) -> Option<EventId> {
    let (thread, index) = text.split_once('.')?;
    Some(EventId { thread: thread.parse().ok()?, index: index.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_read_as_it_was_written() {
        for text in [
            "",
            "i,-,w1",
            ";i!,2.5,w3;;1.0",
            "-,i",
            "l1.2+3.0;l2.1",
            "c0,c12",
            "-,i;s3,-,w1;-,s2;",
            "24/8+48/16:-,r1.2;",
        ] {
            assert_eq!(Guide::from_text(text).unwrap().to_text(), text);
        }
        assert_eq!(Guide::from_text(" i ").unwrap().to_text(), "i");
    }

    #[test]
    fn what_is_no_choice_is_named() {
        for item in ["x", "w", "1", "1.", ".1", "w-1", "i!!", "l", "l1", "l1.2+", "c", "c-1", "s", "s0", "s1"] {
            assert!(Guide::from_text(&format!("i,{item}")).unwrap_err().contains(&format!("{item:?}")));
        }
        for layout in ["x", "24", "24/3", "/8"] {
            assert!(Guide::from_text(&format!("{layout}:i")).unwrap_err().contains(&format!("{layout:?}")));
        }
    }
}
