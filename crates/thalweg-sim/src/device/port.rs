//! The engine's side of a message device: what a core's instructions send, what comes back, and when.
//!
//! A push, a fetch and whatever else waits for an answer stalls its hardware thread: no other thread gets it meanwhile. A
//! thread that leaves its hardware thread loses its selection and its flags "pushable". If it sleeps until such a line is
//! written, it is woken then, to look and to ask again.

use super::caf::Caf;
use super::ideal::Ideal;
use super::vlrd::{Injection, Packet, Vlrd};
use super::{Data, Device, Target};
use crate::threads::{State, Status};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use thalweg_sync::engine::LinkOperation;
use thalweg_sync::link;

/// The line that `vl_select` has latched.
#[derive(Clone, Copy, Debug)]
struct Selected {
    line: u32,
    address: usize,
}

/// A line into which a thread wants something written.
#[derive(Clone, Copy, Debug)]
struct Asked {
    /// The last request. The device may still hold others for the same line, of a thread that has forgotten them.
    target: Target,
    thread: usize,
    /// The flag in the cache's tag. False: it was lost, and who asked does not know yet.
    pushable: bool,
}

/// What happens at some time.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// A packet is at the port of a device; the thread waits for the answer.
    Packet { device: usize, packet: Packet<Target>, from: Option<usize> },
    /// A line is at a consumer's cache.
    Injection { device: usize, injection: Injection<Target> },
    /// A value or a question is at CAF's port, or somebody asks how much a device holds.
    Register { operation: LinkOperation, from: usize },
    /// A thread gets its answer.
    Answer { thread: usize, value: Option<u64> },
    /// A thread has left its hardware thread.
    Left { thread: usize, place: usize },
}

/// A routing device and the packets that wait at its port.
#[derive(Debug)]
struct Routed {
    vlrd: Vlrd<Target>,
    inbox: VecDeque<(Packet<Target>, Option<usize>)>,
    /// Its next cycle.
    next: u64,
}

impl Routed {
    fn is_busy(&self) -> bool {
        !self.inbox.is_empty() || self.vlrd.is_busy()
    }
}

#[derive(Debug)]
enum Kind {
    Routing(Vec<Routed>),
    Ideal(Ideal),
    Caf { caf: Caf, free: u64 },
}

/// A machine's message device, and everything that is on its way to it and from it.
#[derive(Debug)]
pub(crate) struct Port {
    kind: Kind,
    way: u64,
    /// By hardware thread.
    selected: Vec<Option<Selected>>,
    /// By line.
    asked: HashMap<u32, Asked>,
    events: BTreeMap<(u64, u64), Event>,
    number: u64,
    /// Queues that are open on the device and nobody's, by device and number. What is asked of them is for lines that are not pushable any more.
    given_back: BTreeSet<(usize, usize)>,
}

impl Port {
    pub(crate) fn new(device: &Device, places: usize) -> Self {
        let (kind, way) = match device {
            Device::VirtualLink(routing) => {
                let routed = || Routed { vlrd: Vlrd::new(routing), inbox: VecDeque::new(), next: 0 };
                (Kind::Routing(std::iter::repeat_with(routed).take(routing.devices).collect()), routing.way)
            }
            Device::Ideal => (Kind::Ideal(Ideal::default()), 0),
            Device::Caf(credits) => (Kind::Caf { caf: Caf::new(credits), free: 0 }, credits.way),
        };
        let selected = vec![None; places];
        Self {
            kind,
            way,
            selected,
            asked: HashMap::new(),
            events: BTreeMap::new(),
            number: 0,
            given_back: BTreeSet::new(),
        }
    }

    fn at(&mut self, time: u64, event: Event) {
        self.number += 1;
        self.events.insert((time, self.number), event);
    }

    /// When something happens next.
    fn next(&self) -> Option<u64> {
        let event = self.events.keys().next().map(|&(time, _)| time);
        let cycle = match &self.kind {
            Kind::Routing(all) => all.iter().filter(|one| one.is_busy()).map(|one| one.next).min(),
            _ => None,
        };
        event.into_iter().chain(cycle).min()
    }

    /// A thread has left a hardware thread. Returns the lines that are not pushable any more.
    fn left(&mut self, thread: usize, place: usize) -> Vec<u32> {
        let mut lost = Vec::new();
        for (&line, asked) in &mut self.asked {
            if asked.pushable && (asked.target.place, asked.thread) == (place, thread) {
                asked.pushable = false;
                lost.push(line);
            }
        }
        // The map has no order of its own.
        lost.sort_unstable();
        lost
    }

    fn is_pushable(&self, target: Target) -> bool {
        self.asked.get(&target.line).is_some_and(|asked| asked.target == target && asked.pushable)
    }

    /// False if there is no device of that number. The routing devices see to that themselves.
    fn has(&self, operation: LinkOperation) -> bool {
        let target = match operation {
            LinkOperation::Select { .. } | LinkOperation::Unmap { .. } => return true,
            LinkOperation::Push { target }
            | LinkOperation::Fetch { target }
            | LinkOperation::Open { target }
            | LinkOperation::Close { target }
            | LinkOperation::Holds { target }
            | LinkOperation::Enqueue { target, .. }
            | LinkOperation::Dequeue { target } => target,
        };
        target.device() == 0 || matches!(self.kind, Kind::Routing(_))
    }

    fn open(&mut self, target: link::Target) -> bool {
        let (device, sqi) = (target.device(), target.sqi());
        if self.holds(target) == Some(0) && self.given_back.remove(&(device, sqi)) {
            return true;
        }
        match &mut self.kind {
            Kind::Routing(all) => all.get_mut(device).is_some_and(|one| one.vlrd.open(sqi)),
            Kind::Ideal(ideal) => ideal.open(sqi),
            Kind::Caf { caf, .. } => caf.open(sqi),
        }
    }

    /// The queue is nobody's, if it is open.
    fn close(&mut self, target: link::Target) {
        if self.has(LinkOperation::Close { target }) && self.holds(target).is_some() {
            self.given_back.insert((target.device(), target.sqi()));
        }
    }

    fn holds(&self, target: link::Target) -> Option<u64> {
        let sqi = target.sqi();
        let lines = match &self.kind {
            Kind::Routing(all) => all.get(target.device())?.vlrd.holds(sqi),
            Kind::Ideal(ideal) => ideal.holds(sqi),
            Kind::Caf { caf, .. } => caf.holds(sqi),
        };
        lines.map(|lines| lines as u64)
    }
}

/// The words of a [`link::Line`].
fn read(address: usize) -> Data {
    let words = std::ptr::with_exposed_provenance::<Data>(address);
    // SAFETY: `select` exposed the address of a line, and its end would have taken the selection away (`device_retired`).
    // One thread runs at a time, and it is in a hook, so nobody writes now.
    unsafe { words.read_volatile() }
}

/// Writes the words of a [`link::Line`].
fn write(address: usize, data: Data) {
    let words = std::ptr::with_exposed_provenance_mut::<Data>(address);
    // SAFETY: as for `read`; an injection's line is pushable (V4), which its end would have taken away, and who pushes
    // waits for the answer. The words are atomics, so they may be written behind a shared reference.
    unsafe { words.write_volatile(data) }
}

/// How an instruction went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Issued {
    Done(Option<u64>),
    /// The thread stalls; its answer is in [`Thread::answer`](crate::threads::Thread) when it is resumed.
    Stalled,
}

impl State {
    /// A queue is given back, at once: nobody waits for the device, as a destructor does it.
    pub(crate) fn queue_closed(&mut self, target: link::Target) {
        if let Some(port) = &mut self.port {
            port.close(target);
        }
    }

    /// An instruction of the current thread, whose turn it is. `Select` only latches: the line is in the core's cache
    /// by then, and the stores to it are done.
    pub(crate) fn issue(&mut self, operation: LinkOperation) -> Issued {
        let (thread, place, die) = (self.current, self.thread().place, self.thread().die);
        let core = self.thread().core;
        let Some(port) = &self.port else { return Issued::Done(None) };
        if !port.has(operation) {
            return Issued::Done(None);
        }
        self.note_change();
        self.thread().clock += self.machine.cost.access;
        if let LinkOperation::Open { target } = operation {
            let opened = self.port.as_mut().expect("it is there").open(target);
            return Issued::Done(opened.then_some(0));
        }
        let clock = self.thread().clock;
        let line = match operation {
            LinkOperation::Select { address } => self.names.line(address, core),
            _ => 0,
        };
        let port = self.port.as_mut().expect("it is there");
        let (packet, target) = match operation {
            LinkOperation::Select { address } => {
                port.selected[place] = Some(Selected { line, address });
                return Issued::Done(Some(0));
            }
            LinkOperation::Push { target } => {
                let Some(Selected { address, .. }) = port.selected[place].take() else { return Issued::Done(None) };
                self.counts.device.pushes += 1;
                self.threads[thread].pushed = Some(address);
                (Packet::Push { sqi: target.sqi(), data: read(address) }, target)
            }
            LinkOperation::Fetch { target } => {
                let Some(Selected { line, address }) = port.selected[place].take() else { return Issued::Done(None) };
                self.counts.device.fetches += 1;
                let wanted = Target { queue: target, place, line, address };
                port.asked.insert(line, Asked { target: wanted, thread, pushable: true });
                (Packet::Fetch { sqi: target.sqi(), target: wanted }, target)
            }
            _ => {
                if let Kind::Ideal(_) = port.kind {
                    let LinkOperation::Holds { target } = operation else { return Issued::Done(None) };
                    return Issued::Done(port.holds(target));
                }
                let start = self.fabric.packet(die, clock, self.machine.interconnect.die);
                port.at(start + port.way, Event::Register { operation, from: thread });
                return self.stall();
            }
        };
        match &mut port.kind {
            Kind::Caf { .. } => {
                self.threads[thread].pushed = None;
                Issued::Done(None)
            }
            Kind::Routing(_) => {
                let start = self.fabric.packet(die, clock, self.machine.interconnect.die);
                let device = target.device();
                port.at(start + port.way, Event::Packet { device, packet, from: Some(thread) });
                self.stall()
            }
            Kind::Ideal(ideal) => {
                if ideal.holds(target.sqi()).is_none() {
                    self.threads[thread].pushed = None;
                    return Issued::Done(None);
                }
                match packet {
                    Packet::Push { sqi, data } => ideal.push(sqi, data),
                    Packet::Fetch { sqi, target } => ideal.fetch(sqi, target),
                    Packet::Answer { .. } => {}
                }
                if let Some(address) = self.threads[thread].pushed.take() {
                    write(address, [0; 8]);
                }
                self.deliver(target.sqi(), clock);
                Issued::Done(Some(0))
            }
        }
    }

    fn stall(&mut self) -> Issued {
        self.thread().status = Status::InLine;
        self.set_device_time();
        Issued::Stalled
    }

    /// The device's place on the agenda is the last.
    fn set_device_time(&mut self) {
        let place = self.places.len() + 1;
        match self.port.as_ref().and_then(Port::next) {
            Some(time) => self.agenda.set(place, time),
            None => self.agenda.clear(place),
        }
    }

    /// What is due at `time`: first what arrives, then a cycle of each device.
    pub(crate) fn device_turn(&mut self, time: u64) {
        while let Some(port) = &mut self.port
            && let Some(entry) = port.events.first_entry()
            && entry.key().0 <= time
        {
            let event = entry.remove();
            self.happens(event, time);
        }
        self.device_cycles(time);
        self.set_device_time();
    }

    fn happens(&mut self, event: Event, time: u64) {
        let Some(port) = &mut self.port else { return };
        match event {
            Event::Packet { device, packet, from } => match &mut port.kind {
                Kind::Routing(all) if device < all.len() => {
                    all[device].inbox.push_back((packet, from));
                    all[device].next = all[device].next.max(time);
                }
                _ => {
                    let thread = from.expect("a device answers nobody but itself");
                    port.at(time + port.way, Event::Answer { thread, value: None });
                }
            },
            Event::Injection { device, injection } => {
                let accepted = self.inject(injection.target, injection.data, time);
                let packet = Packet::Answer { slot: injection.slot, accepted };
                let port = self.port.as_mut().expect("it is there");
                port.at(time + port.way, Event::Packet { device, packet, from: None });
            }
            Event::Register { operation, from } => {
                let mut done = time;
                let value = match (operation, &mut port.kind) {
                    (LinkOperation::Holds { target }, _) => port.holds(target),
                    (LinkOperation::Enqueue { target, value }, Kind::Caf { caf, free }) => {
                        done = time.max(*free);
                        *free = done + 1;
                        self.counts.device.pushes += 1;
                        let taken = caf.enqueue(target.sqi(), value);
                        self.counts.device.pushes_refused += u64::from(!taken);
                        taken.then_some(0)
                    }
                    (LinkOperation::Dequeue { target }, Kind::Caf { caf, free }) => {
                        done = time.max(*free);
                        *free = done + 1;
                        self.counts.device.fetches += 1;
                        let value = caf.dequeue(target.sqi());
                        self.counts.device.fetches_refused += u64::from(value.is_none());
                        value
                    }
                    _ => None,
                };
                port.at(done + port.way, Event::Answer { thread: from, value });
            }
            Event::Answer { thread, value } => {
                let thread = &mut self.threads[thread];
                if let (Some(address), Some(_)) = (thread.pushed.take(), value) {
                    write(address, [0; 8]);
                }
                thread.answer = value;
                thread.status = Status::Ready;
                thread.times.stalled += time.saturating_sub(thread.clock);
                thread.clock = thread.clock.max(time);
                let (place, clock) = (thread.place, thread.clock);
                self.agenda.set(place, clock);
            }
            Event::Left { thread, place } => {
                for line in port.left(thread, place) {
                    self.wake_sleepers(line, time);
                }
            }
        }
    }

    fn device_cycles(&mut self, time: u64) {
        let Some(port) = &mut self.port else { return };
        let Kind::Routing(all) = &mut port.kind else { return };
        let mut events = Vec::new();
        for (device, routed) in all.iter_mut().enumerate() {
            if !routed.is_busy() || routed.next > time {
                continue;
            }
            routed.next = time + 1;
            let at_port = routed.inbox.pop_front();
            let cycle = routed.vlrd.cycle(at_port.map(|(packet, _)| packet));
            if let Some(injection) = cycle.sent {
                let topology = self.machine.topology();
                let die = topology.die_of_core(topology.core_of_thread(injection.target.place));
                let start = self.fabric.packet(die, time, self.machine.interconnect.die);
                events.push((start + port.way, Event::Injection { device, injection }));
            }
            let Some((packet, Some(thread))) = at_port else { continue };
            let refused = match packet {
                Packet::Push { .. } => &mut self.counts.device.pushes_refused,
                _ => &mut self.counts.device.fetches_refused,
            };
            *refused += u64::from(!cycle.taken);
            events.push((time + port.way, Event::Answer { thread, value: cycle.taken.then_some(0) }));
        }
        for (time, event) in events {
            port.at(time, event);
        }
    }

    /// The ideal device: lines to who asked, as long as there are both.
    fn deliver(&mut self, sqi: usize, time: u64) {
        loop {
            let Some(Port { kind: Kind::Ideal(ideal), .. }) = &mut self.port else { return };
            let Some((target, data)) = ideal.next(sqi) else { return };
            if !self.inject(target, data, time)
                && let Some(Port { kind: Kind::Ideal(ideal), .. }) = &mut self.port
            {
                ideal.take_back(sqi, data);
            }
        }
    }

    /// A line at the cache of who asked for it. False if the cache rejects it.
    fn inject(&mut self, target: Target, data: Data, time: u64) -> bool {
        let Target { place, line, address, .. } = target;
        let core = self.machine.topology().core_of_thread(place);
        let port = self.port.as_mut().expect("it injects");
        let pushable = port.is_pushable(target);
        let accepted = pushable && self.protocol.hit(core, line, true);
        if accepted {
            port.asked.remove(&line);
            // As a foreign store ends a load-link: who selected the line before this came has not seen it.
            port.selected[place].take_if(|selected| selected.line == line);
            self.counts.device.injections += 1;
            write(address, data);
        } else {
            if pushable && let Some(asked) = port.asked.get_mut(&line) {
                asked.pushable = false;
            }
            self.counts.device.injections_rejected += 1;
        }
        self.writes += 1;
        let number = self.writes;
        let traffic = self.protocol.user(core, line);
        traffic.written = number;
        if std::mem::take(&mut traffic.slept_on) {
            self.wake_sleepers(line, time);
        }
        accepted
    }

    // What the rest of the engine tells.

    /// `thread` leaves its hardware thread at `time`.
    #[inline]
    pub(crate) fn device_left(&mut self, thread: usize, time: u64) {
        let place = self.threads[thread].place;
        if let Some(port) = &mut self.port {
            port.selected[place] = None;
            if port.asked.values().any(|asked| (asked.target.place, asked.thread) == (place, thread)) {
                port.at(time, Event::Left { thread, place });
                self.set_device_time();
            }
        }
    }

    /// The current thread's core is to have `line`: if it was pushable there and is not in the first-level cache any more, the
    /// flag went with the tag.
    #[inline]
    pub(crate) fn device_accesses(&mut self, line: u32) {
        let core = self.threads[self.current].core;
        if let Some(port) = &mut self.port
            && let Some(asked) = port.asked.get_mut(&line)
            && self.machine.topology().core_of_thread(asked.target.place) == core
            && !self.protocol.has(core, line)
        {
            asked.pushable = false;
        }
    }

    /// True if somebody asked for something into `line`, and it will not come.
    pub(crate) fn device_lost(&self, line: u32) -> bool {
        let asked = self.port.as_ref().and_then(|port| port.asked.get(&line));
        asked.is_some_and(|asked| !asked.pushable)
    }

    /// The object at `address` is gone, or unmapped: nothing may be written there.
    pub(crate) fn device_retired(&mut self, address: usize) {
        if let Some(port) = &mut self.port
            && !(port.asked.is_empty() && port.selected.iter().all(Option::is_none))
        {
            let core = self.threads[self.current].core;
            let line = self.names.line(address, core);
            port.asked.remove(&line);
            port.selected.iter_mut().for_each(|selected| _ = selected.take_if(|selected| selected.line == line));
        }
    }
}
