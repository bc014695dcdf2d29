//! Virtual-Link's routing device alone, one call of [`Vlrd::cycle`] for each of its cycles. Also without a machine: its hardware
//! is compared with it.
//!
//! ```
//! use thalweg_sim::Routing;
//! use thalweg_sim::vlrd::{Injection, Packet, Vlrd};
//!
//! let mut device = Vlrd::new(&Routing::default());
//! assert!(device.open(3));
//! device.cycle(Some(Packet::Fetch { sqi: 3, target: "a consumer's line" }));
//! device.cycle(Some(Packet::Push { sqi: 3, data: [7; 8] }));
//! let sent = (0..9).find_map(|_| device.cycle(None).sent);
//! assert_eq!(sent, Some(Injection { slot: 0, target: "a consumer's line", data: [7; 8] }));
//! ```
//!
//! | structure | what it has | paper |
//! |---|---|---|
//! | linkTab | for each queue (SQI) the list of its waiting lines and the list of its waiting requests | fig. 7 |
//! | prodBuf | IN: what came, in order (PIHR, PITR); LINK: a queue's waiting lines; OUT: what was mapped, in order (POHR, POTR) | fig. 7 |
//! | consBuf | what came, in order (CIHR, CITR); a queue's waiting requests | fig. 7 |
//! | pipeline | 1 reads linkTab, 2 decides, 3 writes | table I |
//!
//! In a cycle the port takes one packet, each stage does one entry, and one mapped line leaves. Requests enter the pipeline
//! before lines, as in table I. An entry sees what those before it did: stage 3 writes before stage 1 reads, and what it
//! writes is forwarded to the latch of stage 2.
//!
//! # Different from the paper
//!
//! - Slots are reserved for each open queue, and may be limited by a quota ([`Routing`]).
//! - A line keeps its slot until its injection is answered. Answers go through the pipeline: a rejected line is put to the
//!   head of its queue (erratum E14: the paper does not say where to).
//! - With [`Routing::in_order`] a queue has one unanswered line at most; what could be mapped meanwhile waits in the lists,
//!   and the answer maps it.
//!
//! # Invariants
//!
//! - **D1** A slot is valid from the packet that took it until its line was accepted, or its request mapped; meanwhile it is
//!   in one list, or in the pipeline, or its line is on its way to a cache.
//! - **D2** A queue has waiting lines and waiting requests at the same time only while a line of it is unanswered.

use super::Routing;
use super::lists::{Link, List, Slots};

/// What 64 bytes a line holds.
pub type Data = [u64; 8];

/// What reaches the port. `T` says where a consumer wants a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packet<T> {
    /// A producer's line.
    Push {
        /// The queue.
        sqi: usize,
        /// What is in the line.
        data: Data,
    },
    /// A consumer's request.
    Fetch {
        /// The queue.
        sqi: usize,
        /// Where the line is to go.
        target: T,
    },
    /// A cache says whether it took a line. Always taken.
    Answer {
        /// The line's slot of prodBuf, as the [`Injection`] had it.
        slot: u16,
        /// Whether the line was taken; if not, it stays, and is the first of its queue again.
        accepted: bool,
    },
}

/// A line on its way to a consumer's cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Injection<T> {
    /// To be answered with this slot.
    pub slot: u16,
    /// Where it goes.
    pub target: T,
    /// What is in it.
    pub data: Data,
}

/// What a cycle did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cycle<T> {
    /// The packet at the port was taken.
    pub taken: bool,
    /// The line that left.
    pub sent: Option<Injection<T>>,
}

/// A row of linkTab.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Row {
    prod: List,
    cons: List,
    /// A line is on its way to a cache, and nothing may overtake it.
    unanswered: bool,
}

/// A slot of prodBuf.
#[derive(Clone, Copy, Debug)]
struct ProdSlot<T> {
    link_id: usize,
    data: Data,
    /// IN: the next that came, or the next whose answer came.
    next_in: Link,
    answer: Option<bool>,
    /// LINK: the next waiting line of the queue.
    next_l: Link,
    /// OUT: where it goes; the next that goes.
    target: Option<T>,
    next_out: Link,
}

/// A slot of consBuf.
#[derive(Clone, Copy, Debug)]
struct ConsSlot<T> {
    link_id: usize,
    target: T,
    next_in: Link,
    next_l: Link,
}

/// Slots, and who has how many.
#[derive(Clone, Debug)]
struct Shares {
    slots: Slots,
    /// By queue; `None`: it is not open.
    used: Vec<Option<usize>>,
    reserve: usize,
    quota: usize,
    /// Reserved slots that their queues have not taken: never more than are free.
    owed: usize,
}

impl Shares {
    fn new(routing: &Routing) -> Self {
        Self {
            slots: Slots::new(routing.entries),
            used: vec![None; routing.links],
            reserve: routing.reserve,
            quota: routing.quota.unwrap_or(usize::MAX),
            owed: 0,
        }
    }

    /// True if what has to be reserved for another queue is free.
    fn has_room(&self) -> bool {
        self.slots.free() - self.owed >= self.reserve
    }

    fn open(&mut self, sqi: usize) {
        self.used[sqi] = Some(0);
        self.owed += self.reserve;
    }

    /// A slot for `sqi`, unless it is not open, has its quota, or all that is free is reserved for others.
    fn take(&mut self, sqi: usize) -> Link {
        let used = self.used[sqi].as_mut()?;
        let own = *used < self.reserve;
        if *used >= self.quota || (!own && self.slots.free() <= self.owed) {
            return None;
        }
        let slot = self.slots.take()?;
        *used += 1;
        self.owed -= usize::from(own);
        Some(slot)
    }

    fn give_back(&mut self, sqi: usize, slot: u16) {
        self.slots.give_back(slot);
        let used = self.used[sqi].as_mut().expect("a queue with a slot is open");
        *used -= 1;
        self.owed += usize::from(*used < self.reserve);
    }
}

/// What goes through the pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Transit {
    Request(u16),
    Line(u16),
    Answer { slot: u16, accepted: bool },
}

/// What stage 1 has read.
#[derive(Clone, Copy, Debug)]
struct Latch {
    entry: Transit,
    sqi: usize,
    row: Row,
}

/// A line and a request that were brought together.
#[derive(Clone, Copy, Debug)]
struct Match<T> {
    line: u16,
    request: u16,
    target: T,
    /// The new heads of the lists that they came from, if they did.
    next_line: Option<Link>,
    next_request: Option<Link>,
}

/// What stage 2 has decided.
#[derive(Clone, Copy, Debug)]
struct Decision<T> {
    latch: Latch,
    hit: Option<Match<T>>,
}

/// The device.
#[derive(Clone, Debug)]
pub struct Vlrd<T> {
    in_order: bool,
    /// A line that has left keeps its slot until it is answered.
    answered: bool,
    link_tab: Vec<Row>,
    prod_buf: Vec<Option<ProdSlot<T>>>,
    cons_buf: Vec<Option<ConsSlot<T>>>,
    prod: Shares,
    cons: Shares,
    /// PIHR and PITR, CIHR and CITR, POHR and POTR, and the same for answers.
    prod_in: List,
    cons_in: List,
    prod_out: List,
    answers: List,
    read: Option<Latch>,
    decided: Option<Decision<T>>,
}

impl<T: Copy> Vlrd<T> {
    /// A device in which no queue is open. Of what is [there](Routing), it takes its own numbers: not how many devices there are, and
    /// not the way to them.
    ///
    /// # Panics
    ///
    /// If there are more entries than a slot's number can tell apart: 65,536.
    pub fn new(routing: &Routing) -> Self {
        Self {
            answered: true,
            in_order: routing.in_order,
            link_tab: vec![Row::default(); routing.links],
            prod_buf: vec![None; routing.entries],
            cons_buf: vec![None; routing.entries],
            prod: Shares::new(routing),
            cons: Shares::new(routing),
            prod_in: List::default(),
            cons_in: List::default(),
            prod_out: List::default(),
            answers: List::default(),
            read: None,
            decided: None,
        }
    }

    /// The same for caches that take every line and do not answer: a slot is free as soon as its line has left. The paper tells no more.
    ///
    /// # Panics
    ///
    /// If lines are to wait for answers ([`Routing::in_order`]), and as [`new`](Self::new).
    pub fn without_answers(routing: &Routing) -> Self {
        assert!(!routing.in_order, "in_order waits for answers, and there are none: set it to false");
        Self { answered: false, ..Self::new(routing) }
    }

    /// Sets up a row of linkTab. False if there is none of that number, it is somebody's already, or too few slots are free
    /// now to reserve some for it: a queue without its own could stand behind those that have them.
    pub fn open(&mut self, sqi: usize) -> bool {
        let is_free = self.prod.used.get(sqi).is_some_and(Option::is_none);
        if !(is_free && self.prod.has_room() && self.cons.has_room()) {
            return false;
        }
        self.prod.open(sqi);
        self.cons.open(sqi);
        true
    }

    /// How many lines of a queue the device holds, those on their way to a cache among them. `None`: it is not open.
    pub fn holds(&self, sqi: usize) -> Option<usize> {
        self.prod.used.get(sqi).copied().flatten()
    }

    /// True if a cycle would change something, also without a packet.
    pub fn is_busy(&self) -> bool {
        let lists = [self.prod_in, self.cons_in, self.prod_out, self.answers];
        self.read.is_some() || self.decided.is_some() || lists.iter().any(|list| list.head.is_some())
    }

    /// One cycle, with a packet at the port or none.
    ///
    /// # Panics
    ///
    /// If an answer is for a slot whose line is not under way.
    pub fn cycle(&mut self, packet: Option<Packet<T>>) -> Cycle<T> {
        let sent = self.send();
        let written = self.decided.take().map(|decision| self.write(decision));
        self.decided = self.read.take().map(|mut latch| {
            if let Some((sqi, row)) = written
                && sqi == latch.sqi
            {
                latch.row = row;
            }
            self.decide(latch)
        });
        self.read = self.read_next();
        let taken = packet.is_some_and(|packet| self.take(packet));
        Cycle { taken, sent }
    }

    /// The port: a packet gets a slot, or is refused.
    fn take(&mut self, packet: Packet<T>) -> bool {
        match packet {
            Packet::Push { sqi, data } => {
                let Some(slot) = self.prod.take(sqi) else { return false };
                self.prod_buf[usize::from(slot)] = Some(ProdSlot {
                    link_id: sqi,
                    data,
                    next_in: None,
                    answer: None,
                    next_l: None,
                    target: None,
                    next_out: None,
                });
                self.prod_in.append(&mut self.prod_buf, slot, |slot| &mut valid(slot).next_in);
            }
            Packet::Fetch { sqi, target } => {
                let Some(slot) = self.cons.take(sqi) else { return false };
                self.cons_buf[usize::from(slot)] = Some(ConsSlot { link_id: sqi, target, next_in: None, next_l: None });
                self.cons_in.append(&mut self.cons_buf, slot, |slot| &mut valid(slot).next_in);
            }
            Packet::Answer { slot, accepted } => {
                valid(&mut self.prod_buf[usize::from(slot)]).answer = Some(accepted);
                self.answers.append(&mut self.prod_buf, slot, |slot| &mut valid(slot).next_in);
            }
        }
        true
    }

    /// Stage 1: reads the row of the next entry.
    fn read_next(&mut self) -> Option<Latch> {
        let entry = if let Some(slot) = self.answers.take(&mut self.prod_buf, |slot| &mut valid(slot).next_in) {
            let answer = valid(&mut self.prod_buf[usize::from(slot)]).answer.take();
            Transit::Answer { slot, accepted: answer.expect("it came with the slot") }
        } else if let Some(slot) = self.cons_in.take(&mut self.cons_buf, |slot| &mut valid(slot).next_in) {
            Transit::Request(slot)
        } else {
            Transit::Line(self.prod_in.take(&mut self.prod_buf, |slot| &mut valid(slot).next_in)?)
        };
        let sqi = match entry {
            Transit::Request(slot) => valid(&mut self.cons_buf[usize::from(slot)]).link_id,
            Transit::Line(slot) | Transit::Answer { slot, .. } => valid(&mut self.prod_buf[usize::from(slot)]).link_id,
        };
        Some(Latch { entry, sqi, row: self.link_tab[sqi] })
    }

    /// Stage 2: hit or miss.
    fn decide(&mut self, latch: Latch) -> Decision<T> {
        let Latch { entry, row, .. } = latch;
        let answered = matches!(entry, Transit::Answer { .. });
        let waits = self.in_order && row.unanswered && !answered;
        // The line and the request that come first, and whether each is in its list.
        let line = match entry {
            Transit::Line(slot) | Transit::Answer { slot, accepted: false } => Some((slot, false)),
            Transit::Answer { accepted: true, .. } | Transit::Request(_) => row.prod.head.map(|slot| (slot, true)),
        };
        let request = match entry {
            Transit::Request(slot) => Some((slot, false)),
            Transit::Line(_) | Transit::Answer { .. } => row.cons.head.map(|slot| (slot, true)),
        };
        let hit = match (line, request) {
            (Some((line, line_waited)), Some((request, request_waited))) if !waits => {
                let next_l = valid(&mut self.prod_buf[usize::from(line)]).next_l;
                let slot = valid(&mut self.cons_buf[usize::from(request)]);
                Some(Match {
                    line,
                    request,
                    target: slot.target,
                    next_line: line_waited.then_some(next_l),
                    next_request: request_waited.then_some(slot.next_l),
                })
            }
            _ => None,
        };
        Decision { latch, hit }
    }

    /// Stage 3: writes linkTab and the buffers. Returns the row, for the entry behind.
    fn write(&mut self, Decision { latch, hit }: Decision<T>) -> (usize, Row) {
        let Latch { entry, sqi, .. } = latch;
        let row = &mut self.link_tab[sqi];
        if let Transit::Answer { slot, accepted } = entry {
            row.unanswered = false;
            if accepted {
                self.prod_buf[usize::from(slot)] = None;
                self.prod.give_back(sqi, slot);
            }
        }
        match hit {
            Some(Match { line, request, target, next_line, next_request }) => {
                if let Some(next) = next_line {
                    row.prod.advance(next);
                }
                if let Some(next) = next_request {
                    row.cons.advance(next);
                }
                row.unanswered = true;
                self.cons_buf[usize::from(request)] = None;
                self.cons.give_back(sqi, request);
                valid(&mut self.prod_buf[usize::from(line)]).target = Some(target);
                self.prod_out.append(&mut self.prod_buf, line, |slot| &mut valid(slot).next_out);
            }
            None => match entry {
                Transit::Request(slot) => {
                    row.cons.append(&mut self.cons_buf, slot, |slot| &mut valid(slot).next_l);
                }
                Transit::Line(slot) => row.prod.append(&mut self.prod_buf, slot, |slot| &mut valid(slot).next_l),
                Transit::Answer { slot, accepted: false } => {
                    row.prod.prepend(&mut self.prod_buf, slot, |slot| &mut valid(slot).next_l);
                }
                Transit::Answer { accepted: true, .. } => {}
            },
        }
        (sqi, self.link_tab[sqi])
    }

    /// OUT: one mapped line leaves.
    fn send(&mut self) -> Option<Injection<T>> {
        let slot = self.prod_out.take(&mut self.prod_buf, |slot| &mut valid(slot).next_out)?;
        let ProdSlot { link_id, data, target, .. } = valid(&mut self.prod_buf[usize::from(slot)]);
        let sent = Injection { slot, data: *data, target: target.take().expect("a mapped line has a target") };
        if !self.answered {
            let sqi = *link_id;
            self.prod_buf[usize::from(slot)] = None;
            self.prod.give_back(sqi, slot);
        }
        Some(sent)
    }

    /// A queue's lists, as (prodHead, prodTail), (consHead, consTail).
    #[cfg(test)]
    pub(crate) fn row(&self, sqi: usize) -> (List, List) {
        (self.link_tab[sqi].prod, self.link_tab[sqi].cons)
    }

    /// POHR and POTR.
    #[cfg(test)]
    pub(crate) fn out(&self) -> List {
        self.prod_out
    }
}

/// A slot that is in a list, in the pipeline or under way (D1).
fn valid<S>(slot: &mut Option<S>) -> &mut S {
    slot.as_mut().expect("D1: the slot is valid")
}
