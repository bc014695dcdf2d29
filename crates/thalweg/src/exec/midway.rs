//! A kernel that finds its output full in the middle of an activation, and goes on.
//!
//! Code that makes many messages of one cannot be left and taken up again. So when a block of its output is full, its edge has no room, and it
//! was told so a block before, its worker keeps the kernel's claim and does what a worker does: it runs the consumer, and what is behind that, or
//! anything else that is ready, nested on its stack; it sleeps when there is nothing. When there is room, the code goes on. Meanwhile it hands on what lies
//! at other outputs of the kernel, as soon as these have room: that may be what its consumer waits for.
//!
//! # Invariants
//!
//! - **M1** Only the holder of a kernel's claim waits midway, and it enters other kernels by their claims, which nobody waits for. So no kernel runs
//!   twice at once or out of order, and a worker that waits is asleep on the bell or at work like any other.
//! - **M2** Nobody waits for what cannot come. Kernels that wait for each other, or for a kernel beneath them on a stack, are found by who is the last to
//!   fall asleep ([stall](super::stall)), or by the [patrol](super::patrol) beside work that goes on; one of them is *let go*, and what it
//!   gives beyond the edge's room is kept there, as if it had not waited.
//! - **M3** Who makes room on the edge of a sleeper that waits midway rings for it, always. Between the room that it made and its look at the marks it has
//!   a [light](fence::light) fence, as the sleeper has a [heavy](fence::heavy) one between its mark and its next look at the edge: either the sleeper
//!   finds the room, or who made it finds the mark. So a kernel pays a load where nobody waits, and the sleeper what little a sleep costs more. Of
//!   two that make room together, neither of which is enough, the one whose full fence comes last finds what both have made.
//! - **M4** A worker that waits midway leaves what a nested kernel has handed on to nobody: it carries it on before it goes back.

use super::worker::Worker;
use super::{Core, Post, Seat};
use crate::edge::Edge;
use crate::kernel::{Held, Why};
use crate::scheme::Event;
use std::thread::panicking;
use thalweg_sync::atomic::{AtomicU32, AtomicUsize, Ordering::*, fence as full_fence};
use thalweg_sync::{CachePadded, fence};

/// Nobody waits, or its worker is at work meanwhile; it sleeps; it is to go on without room.
const NO: u32 = 0;
const WORKS: u32 = 1;
const SLEEPS: u32 = 2;
const LET_GO: u32 = 3;

/// What a nested kernel hands on is carried on by so many kernels at most before the one that waits has another look.
const MOST_CARRIED: usize = 64;
/// A kernel that was let go does not wait in its next activations: in one, three, seven, and so on, up to this power of two.
const MOST_VAIN: u32 = 8;

/// How many activations of the run wait midway: read by all that make room.
#[derive(Debug, Default)]
pub(super) struct Waiters(CachePadded<AtomicUsize>);

impl Waiters {
    fn enter(&self) {
        self.0.fetch_add(1, Relaxed);
    }

    fn leave(&self) {
        self.0.fetch_sub(1, Relaxed);
    }

    /// Whether some activation may wait midway. After a no, a kernel that has made room need not call (M3).
    #[inline(always)]
    fn may_wait(&self) -> bool {
        // (M3) Pairs with `Midway::lie_down`. Without it a processor may look before the room can be seen.
        fence::light();
        self.0.load(Relaxed) > 0
    }
}

/// What others may know of a kernel whose activation waits in the middle.
#[derive(Debug, Default)]
pub(super) struct Midway {
    state: AtomicU32,
    /// The edge at which it waits, unless it does not.
    at: AtomicUsize,
    /// How many of its activations are beneath one of another kernel, which was run last above one.
    covered: AtomicUsize,
    above: AtomicUsize,
    /// How often in a row it was let go, and for how many activations it does not wait because of that. Under the claim.
    vain: AtomicU32,
    skips: AtomicU32,
}

impl Midway {
    // Relaxed, as all that is here: marks for those who judge, who see what they judge by through the bell's lock, or look again; and for those who make
    // room, by the fences of M3.

    /// One of its activations has `kernel` above it. `shared`: it has several activations at once.
    pub(super) fn cover(&self, kernel: usize, shared: bool) {
        self.above.store(kernel, Relaxed);
        if shared {
            self.covered.fetch_add(1, Relaxed);
        } else {
            self.covered.store(1, Relaxed);
        }
    }

    pub(super) fn uncover(&self, shared: bool) {
        if shared {
            self.covered.fetch_sub(1, Relaxed);
        } else {
            self.covered.store(0, Relaxed);
        }
    }

    fn step(&self, from: u32, to: u32) -> bool {
        self.state.compare_exchange(from, to, Relaxed, Relaxed).is_ok()
    }

    /// Marks that it sleeps; after this its worker must look at the edge again before it parks (M3). False if it is let go.
    fn lie_down(&self) -> bool {
        let sleeps = self.step(WORKS, SLEEPS);
        // (M3) Pairs with `Waiters::may_wait`. Without it the next look may come before the mark can be seen.
        fence::heavy();
        sleeps
    }

    fn get_up(&self) {
        self.step(SLEEPS, WORKS);
    }

    fn is(&self, state: u32) -> bool {
        self.state.load(Relaxed) == state
    }
}

impl Worker<'_, '_> {
    /// See [`Host::wait_for_room`](crate::kernel::Host::wait_for_room).
    pub(super) fn wait_midway(&self, edge: &Edge, held: &mut dyn Held) -> bool {
        // In the midst of a panic no other kernel is run.
        if !self.may_help() || panicking() {
            return false;
        }
        let (core, sender, taker) = (self.core, edge.plan.from, edge.plan.to);
        let midway = &core.seats[sender].midway;
        if midway.skips.load(Relaxed) > 0 {
            midway.skips.store(midway.skips.load(Relaxed) - 1, Relaxed);
            return false;
        }
        if core.scheme.is_counted() {
            self.row.edges[edge.plan.id].full.add(1);
        }
        if let Some(ring) = &self.row.ring {
            self.note_wait(ring, Why::Full(edge.plan.id));
        }
        let _waits = Waits::begin(self, sender, edge);
        let mut in_vain = 0;
        let room = loop {
            if !edge.is_full() {
                break true;
            }
            if core.is_over() || midway.is(LET_GO) {
                break false;
            }
            if held.can_move() {
                held.move_on();
            } else if let Some(kernel) = self.find_ready(taker) {
                let event = self.carry_on(sender, kernel);
                self.yield_in_vain(&mut in_vain, event);
            } else {
                self.sleep_midway(edge, held, midway);
            }
            self.go_round();
            self.judge();
            if core.control.is_draining() {
                // Cancels when the time for draining is over.
                core.control.time_left();
            }
        };
        // To be let go costs a sleep of all.
        let vain = if room { 0 } else { (midway.vain.load(Relaxed) + 1).min(MOST_VAIN) };
        midway.vain.store(vain, Relaxed);
        midway.skips.store((1 << vain) - 1, Relaxed);
        room
    }

    /// Runs `kernel` within the activation of `sender`, and what it hands something on to (M4).
    fn carry_on(&self, sender: usize, kernel: usize) -> Event {
        let event = self.nest(sender, kernel);
        let mut last = event;
        for _ in 0..MOST_CARRIED {
            let Event::Ran { emitted: Some(edge), .. } = last else { break };
            let next = self.core.topology.edges[edge].to;
            if !self.may_run(next) || !self.core.is_ready(next) {
                break;
            }
            last = self.nest(sender, next);
        }
        event
    }

    fn sleep_midway(&self, edge: &Edge, held: &dyn Held, midway: &Midway) {
        for (port, &output) in self.core.topology.kernels[edge.plan.from].outputs.iter().enumerate() {
            self.core.edges[output].set_awaited(output == edge.plan.id || held.lies_at(port));
        }
        let stats = &self.row.worker;
        let (at, idle) = (stats.at.get(), stats.idle.get());
        if !midway.lie_down() {
            return;
        }
        stats.in_code.store(false, Relaxed);
        if self.core.scheme.is_restricted() {
            // What was sent is not for this worker to carry on.
            self.core.ring_neighbours(edge.plan.from);
        }
        self.idle(|| !edge.is_full() || held.can_move() || midway.is(LET_GO));
        midway.get_up();
        stats.in_code.store(true, Relaxed);
        stats.at.set(at);
        // It is no time of the kernel that waits.
        self.helped_time.set(self.helped_time.get() + stats.idle.get() - idle);
    }
}

/// A guard: while it lives, an activation of `kernel` counts as waiting midway. Its drop ends the wait also when a message's code panics.
struct Waits<'w, 'a, 'r> {
    worker: &'w Worker<'a, 'r>,
    kernel: usize,
    outer: Option<usize>,
}

impl<'w, 'a, 'r> Waits<'w, 'a, 'r> {
    fn begin(worker: &'w Worker<'a, 'r>, kernel: usize, edge: &Edge) -> Self {
        let midway = &worker.core.seats[kernel].midway;
        worker.core.midway.enter();
        midway.at.store(edge.plan.id, Relaxed);
        midway.state.store(WORKS, Relaxed);
        Self { worker, kernel, outer: worker.outer.replace(Some(kernel)) }
    }
}

impl Drop for Waits<'_, '_, '_> {
    fn drop(&mut self) {
        let core = self.worker.core;
        self.worker.outer.set(self.outer);
        core.topology.kernels[self.kernel].outputs.iter().for_each(|&edge| core.edges[edge].set_awaited(false));
        core.seats[self.kernel].midway.state.store(NO, Relaxed);
        core.midway.leave();
    }
}

impl Seat<'_> {
    /// The edge at which its activation waits in the middle, if it does.
    pub(super) fn waits_at(&self) -> Option<usize> {
        (!self.midway.is(NO)).then(|| self.midway.at.load(Relaxed))
    }

    pub(super) fn sleeps_midway(&self) -> bool {
        self.midway.is(SLEEPS)
    }

    /// No activation of it goes on by itself now: there is none, or it waits midway, or another kernel runs above each of them.
    pub(super) fn rests(&self) -> bool {
        let covered = self.midway.covered.load(Relaxed);
        match &self.post {
            Post::One(claim) => !claim.is_held() || covered > 0 || !self.midway.is(NO),
            Post::Many(_) => covered >= self.in_flight.load(Relaxed),
        }
    }

    /// The kernel above its activation, if there is one that it waits for.
    fn above(&self, why: Option<Why>) -> Option<usize> {
        let waits = match &self.post {
            Post::One(_) => true,
            // Another activation may do what this one cannot.
            Post::Many(_) => why == Some(Why::Waiting),
        };
        (waits && self.midway.covered.load(Relaxed) > 0).then(|| self.midway.above.load(Relaxed))
    }
}

impl Core<'_> {
    /// `kernel` has taken something, or takes nothing any more: wakes those who wait midway for room at its inputs (M3).
    #[inline]
    pub(super) fn call_midway(&self, kernel: usize) {
        if self.midway.may_wait() {
            self.call_those_midway(kernel);
        }
    }

    #[cold]
    fn call_those_midway(&self, kernel: usize) {
        // (M3) With itself: another one may make room on the same edge now.
        full_fence(SeqCst);
        let waits = |&edge: &usize| {
            let (sender, edge) = (&self.seats[self.topology.edges[edge].from], &self.edges[edge]);
            edge.is_awaited() && sender.sleeps_midway() && (!edge.is_full() || edge.can_flush())
        };
        if self.topology.kernels[kernel].inputs.iter().any(waits) {
            self.control.bell.ring_all();
        }
    }

    /// Whether the sender of `edge` waits midway, and can hand on something here: it was called for that, or is about to be.
    pub(super) fn is_called(&self, edge: usize) -> bool {
        let edge = &self.edges[edge];
        edge.is_awaited() && !edge.is_full()
    }

    /// The edge that `kernel` gives to has grown: wakes it if it waits midway (M3), else somebody who may run it.
    pub(super) fn call_sender(&self, kernel: usize) {
        // As `Waiters::may_wait`, of who does this rarely.
        full_fence(SeqCst);
        if self.seats[kernel].sleeps_midway() {
            self.control.bell.ring_all();
        } else {
            self.control.bell.ring();
        }
    }

    /// The kernel that `kernel` waits for, if it is in an activation: the one above it on its worker's stack. One that waits midway waits for that only if it does
    /// not come back by itself.
    pub(super) fn waits_for_above(&self, kernel: usize, why: Option<Why>) -> Option<usize> {
        let seat = &self.seats[kernel];
        seat.above(why).filter(|&above| seat.midway.is(NO) || self.seats[above].rests())
    }

    /// A kernel that waits midway for room that cannot come goes on without (M2). True if it waits.
    pub(super) fn let_go(&self, kernel: usize) -> bool {
        let midway = &self.seats[kernel].midway;
        if midway.step(SLEEPS, LET_GO) {
            self.control.bell.ring_all();
            return true;
        }
        midway.step(WORKS, LET_GO)
    }

    /// Every worker is asleep: wakes those who wait midway and have room, and lets go those who wait in vain, which are all of them unless somebody `outside`
    /// may come. True if there was one.
    pub(super) fn wake_midway(&self, outside: bool) -> bool {
        if self.midway.0.load(Relaxed) == 0 {
            return false;
        }
        let mut woken = false;
        for (kernel, _) in self.seats.iter().enumerate().filter(|(_, seat)| seat.sleeps_midway()) {
            woken |= match self.look(kernel) {
                Some(Why::Full(edge)) => (!outside || self.is_stuck(edge)) && self.let_go(kernel),
                _ => {
                    self.control.bell.ring_all();
                    true
                }
            };
        }
        woken
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use crate::control::bell::Bell;
    use thalweg_sync::atomic::AtomicU64;
    use thalweg_sync::park::{Parker, Unparker};
    use thalweg_sync::sync::Arc;
    use thalweg_sync::{model, thread};

    /// An edge from which two messages must be taken before it has room, as far as M3 goes: two counts, each of which says that it is full.
    #[derive(Default)]
    struct Room {
        messages: AtomicU64,
        blocks: AtomicU64,
    }

    impl Room {
        fn take(&self) {
            // As `Side::count`, of several takers.
            self.messages.fetch_add(1, Relaxed);
            self.blocks.fetch_add(1, Release);
        }

        fn is_there(&self) -> bool {
            self.blocks.load(Relaxed) == 2 && self.messages.load(Relaxed) == 2
        }
    }

    #[derive(Default)]
    struct Shared {
        waiters: Waiters,
        midway: Midway,
        room: Room,
    }

    impl Shared {
        /// Waits midway; `sleep` parks unless there is room.
        fn wait(&self, sleep: impl Fn(&dyn Fn() -> bool)) {
            self.waiters.enter();
            self.midway.state.store(WORKS, Relaxed);
            while !self.room.is_there() {
                assert!(self.midway.lie_down());
                sleep(&|| self.room.is_there());
                self.midway.get_up();
            }
            self.midway.state.store(NO, Relaxed);
            self.waiters.leave();
        }

        /// Takes `messages` one by one, and after each calls who sleeps and has room: as `Core::call_midway`.
        fn take(&self, messages: u32, ring: impl Fn()) {
            for _ in 0..messages {
                self.room.take();
                if self.waiters.may_wait() {
                    full_fence(SeqCst);
                    if self.midway.is(SLEEPS) && self.room.is_there() {
                        ring();
                    }
                }
            }
        }
    }

    fn asleep(parker: &Parker) -> impl Fn(&dyn Fn() -> bool) {
        |has_room| {
            if !has_room() {
                parker.park();
            }
        }
    }

    fn taker(shared: &Arc<Shared>, messages: u32, unparker: Unparker) -> thread::JoinHandle<()> {
        let shared = shared.clone();
        thread::spawn(move || shared.take(messages, || unparker.unpark()))
    }

    /// The marks alone, without what the bell's own fences would mend: one that just lies down is called or finds the room, or loom reports a deadlock. The
    /// first message makes no room, the second does.
    #[test]
    fn who_lies_down_midway_is_called_or_finds_the_room() {
        model(|| {
            let (shared, parker) = (Arc::new(Shared::default()), Parker::new());
            let taker = taker(&shared, 2, parker.unparker());
            shared.wait(asleep(&parker));
            taker.join().unwrap();
        });
    }

    /// Two takers with a message each, neither of which alone makes room: one of them must see what both have made. Without the sleeper, whose part is
    /// above: with it there are too many executions.
    #[test]
    fn of_two_that_make_room_one_sees_it() {
        model(|| {
            let room = Arc::new(Room::default());
            let take = |room: &Room| {
                room.take();
                full_fence(SeqCst);
                room.is_there()
            };
            let theirs = room.clone();
            let other = thread::spawn(move || take(&theirs));
            let seen = take(&room);
            assert!(other.join().unwrap() || seen);
        });
    }

    /// With the bell that sleepers lie at. One message is taken before, to leave few executions.
    #[test]
    fn a_call_reaches_who_sleeps_midway_at_the_bell() {
        model(|| {
            let shared = Arc::new((Shared::default(), Bell::default()));
            shared.1.join();
            shared.0.room.take();
            let theirs = shared.clone();
            let taker = thread::spawn(move || theirs.0.take(1, || theirs.1.ring_all()));
            let parker = Parker::new();
            shared.0.wait(|has_room| {
                shared.1.lie_down(0, None, parker.unparker());
                if !has_room() || !shared.1.get_up(0) {
                    parker.park();
                }
            });
            taker.join().unwrap();
        });
    }
}
