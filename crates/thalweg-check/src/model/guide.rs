//! One execution as a line of text, by which it can be run alone.
//!
//! Threads are separated by `;`, their events by `,`. A read is what it reads from (`i`: the initial value, `2.5`:
//! event 5 of thread 2), with `!` if it failed without a reason; a write is `w` and its place in modification order; the
//! drop of a last handle is `l` and the other drops, joined by `+`; a choice is `c` and the number; the start of a thread is
//! `s` and its number, if that is not told by the place; anything else is `-`, and the events behind the last that matters are
//! left out.
//!
//! A thread has the lowest number that is free when it starts, and the run of one execution alone adds events in another order
//! than the search: so where several threads start others, who is first may differ. Told by the place are 1, 2, … of the threads
//! that thread 0 starts in this order.

use super::graph::{EventId, Graph, Kind};
use std::fmt::Write;

/// What is to be chosen for an event.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Choice {
    Read { from: EventId, spurious: bool },
    Write { place: u32 },
    Last { others: Vec<EventId> },
    Chosen { value: u64 },
    Started { child: u32 },
    Nothing,
}

/// The choices that lead to one execution.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Guide {
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
                Kind::Choose { .. } => Choice::Chosen { value: node.value },
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
        Self { threads }
    }

    fn choice(&self, id: EventId) -> &Choice {
        let thread = self.threads.get(id.thread as usize);
        thread.and_then(|choices| choices.get(id.index as usize)).unwrap_or(&Choice::Nothing)
    }

    /// What the choice `id` is to be.
    pub(crate) fn chosen(&self, id: EventId) -> Option<u64> {
        match self.choice(id) {
            &Choice::Chosen { value } => Some(value),
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
        let mut text = String::new();
        for (number, choices) in self.threads.iter().enumerate() {
            if number > 0 {
                text.push(';');
            }
            let count = choices.iter().rposition(|choice| *choice != Choice::Nothing).map_or(0, |last| last + 1);
            for (index, choice) in choices[..count].iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                match choice {
                    Choice::Nothing => text.push('-'),
                    Choice::Write { place } => write!(text, "w{place}").expect("a string takes all"),
                    Choice::Chosen { value } => write!(text, "c{value}").expect("a string takes all"),
                    Choice::Started { child } => write!(text, "s{child}").expect("a string takes all"),
                    Choice::Last { others } => {
                        let others = others.iter().map(EventId::to_string).collect::<Vec<_>>();
                        write!(text, "l{}", others.join("+")).expect("a string takes all");
                    }
                    Choice::Read { from, spurious } => {
                        if from.is_init() {
                            text.push('i');
                        } else {
                            write!(text, "{from}").expect("a string takes all");
                        }
                        if *spurious {
                            text.push('!');
                        }
                    }
                }
            }
        }
        text
    }

    /// Reads what [`to_text`](Self::to_text) wrote. An error is what was not understood.
    pub(crate) fn from_text(text: &str) -> Result<Self, String> {
        let threads = text.trim().split(';').count() as u32;
        let choice = |item: &str| match choice(item)? {
            // Every thread has a part of the text, and the first is started by nobody.
            Choice::Started { child } if child == 0 || child >= threads => {
                Err(format!("{item:?} starts thread {child}, and there are {threads}"))
            }
            other => Ok(other),
        };
        let thread = |line: &str| line.split(',').filter(|item| !item.is_empty()).map(choice).collect();
        Ok(Self { threads: text.trim().split(';').map(thread).collect::<Result<_, _>>()? })
    }
}

fn choice(item: &str) -> Result<Choice, String> {
    let error = || {
        format!(
            "{item:?} is no choice: `i` or `2.5` for a read, `w3` for a write, `l1.2` for the drop of a last handle, `c1` for a choice, `s2` for the start of a thread, `-` for anything else"
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
    if let Some(others) = item.strip_prefix('l') {
        return Ok(Choice::Last { others: others.split('+').map(event).collect::<Option<_>>().ok_or_else(error)? });
    }
    let (from, spurious) = item.strip_suffix('!').map_or((item, false), |from| (from, true));
    if from == "i" {
        return Ok(Choice::Read { from: EventId::INIT, spurious });
    }
    Ok(Choice::Read { from: event(from).ok_or_else(error)?, spurious })
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
        for text in ["", "i,-,w1", ";i!,2.5,w3;;1.0", "-,i", "l1.2+3.0;l2.1", "c0,c12", "-,i;s3,-,w1;-,s2;"] {
            assert_eq!(Guide::from_text(text).unwrap().to_text(), text);
        }
        assert_eq!(Guide::from_text(" i ").unwrap().to_text(), "i");
    }

    #[test]
    fn what_is_no_choice_is_named() {
        for item in ["x", "w", "1", "1.", ".1", "w-1", "i!!", "l", "l1", "l1.2+", "c", "c-1", "s", "s0", "s1"] {
            assert!(Guide::from_text(&format!("i,{item}")).unwrap_err().contains(&format!("{item:?}")));
        }
    }
}
