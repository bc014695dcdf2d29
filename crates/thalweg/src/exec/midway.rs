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
//! - **M5** Results of a parallel kernel leave in the order of their tickets, and who is at the front waits for room as above. The others keep as much as the edge
//!   may hold, and wait for their turn then; who lets results leave calls them, by the same fences as in M3. Only one whose kernel has a higher rank than
//!   those of all activations of parallel kernels beneath it on its stack waits for its turn: so waits for turns alone make no circle, and M2 finds those with a
//!   wait for room in them; as a last resort the patrol lets a line go whose front does not move.

use super::patrol::Seen;
use super::stats::Row;
use super::worker::Worker;
use super::{Core, Post, Seat};
use crate::edge::Edge;
use crate::kernel::{Held, Why};
use crate::scheme::Event;
use std::thread::panicking;
use thalweg_sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering::*, fence as full_fence};
use thalweg_sync::{CachePadded, fence};

/// Nobody waits, or its worker is at work meanwhile; it sleeps; it is to go on without room.
const NO: u32 = 0;
const WORKS: u32 = 1;
const SLEEPS: u32 = 2;
const LET_GO: u32 = 3;

/// What a nested kernel hands on is carried on by so many kernels at most before the one that waits has another look.
const MOST_CARRIED: usize = 64;
/// Rounds of the patrol that find the same ticket at the front of a line that rests, before it is let go.
const MOST_FOUND: u32 = 8;
/// A kernel that was let go does not wait in its next activations: in one, three, seven, and so on, up to this power of two.
const MOST_VAIN: u32 = 8;

/// What an activation does that has another one above it on its worker's stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beneath {
    /// Its edge is full, and it runs the taker.
    Helps,
    /// It waits for room.
    WaitsForRoom,
    /// It is one of a parallel kernel, and waits for its turn.
    WaitsForTurn,
}

/// What a worker knows of the activations of parallel kernels on its stack.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shared {
    /// The highest rank of their kernels, plus one.
    highest: usize,
    /// Whether the one that runs may wait for its turn (M5).
    may_wait: bool,
}

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
    /// The worker whose activation waits for room, and whether that one is beneath one of another kernel.
    worker: AtomicUsize,
    is_beneath: AtomicBool,
    /// How many of its activations are beneath one of another kernel.
    covered: AtomicUsize,
    /// Of a parallel kernel: how many of its activations wait for their turn and have none above them, and how often those in line were let go.
    in_line: AtomicUsize,
    gone: AtomicU32,
    /// Of a parallel kernel with a line that rests: the ticket that was at its front when the patrol came last, and how often it has found the same.
    front: AtomicU64,
    found: AtomicU32,
    /// How often in a row it was let go, and for how many activations it does not wait because of that. Under the claim; of a
    /// parallel kernel, by the one that waits for room.
    vain: AtomicU32,
    skips: AtomicU32,
}

impl Midway {
    // Relaxed, as all that is here: marks for those who judge, who see what they judge by through the bell's lock, or look again; and for those who make
    // room, by the fences of M3.

    /// One of its activations has another one above it. `does`: what it does meanwhile, if the kernel has several activations at once. In an order in
    /// which none counts twice as one that rests.
    pub(super) fn cover(&self, does: Option<Beneath>) {
        match does {
            None => return self.covered.store(1, Relaxed),
            Some(Beneath::Helps) => {}
            Some(Beneath::WaitsForRoom) => self.is_beneath.store(true, Relaxed),
            Some(Beneath::WaitsForTurn) => _ = self.in_line.fetch_sub(1, Relaxed),
        }
        self.covered.fetch_add(1, Relaxed);
    }

    pub(super) fn uncover(&self, does: Option<Beneath>) {
        let Some(does) = does else { return self.covered.store(0, Relaxed) };
        self.covered.fetch_sub(1, Relaxed);
        match does {
            Beneath::Helps => {}
            Beneath::WaitsForRoom => self.is_beneath.store(false, Relaxed),
            Beneath::WaitsForTurn => _ = self.in_line.fetch_add(1, Relaxed),
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
                let event = self.carry_on((sender, Beneath::WaitsForRoom), kernel);
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

    /// Waits for the turn of the activation of a parallel kernel that runs, and gives to `edge`: see [`Host::wait_for_turn`](crate::kernel::Host::wait_for_turn).
    pub(super) fn wait_in_line(&self, edge: &Edge, is_up: &dyn Fn() -> bool) -> bool {
        if !self.may_help() || panicking() || !self.shared.get().may_wait {
            return false;
        }
        let (core, kernel, taker) = (self.core, edge.plan.from, edge.plan.to);
        let midway = &core.seats[kernel].midway;
        let gone = midway.gone.load(Relaxed);
        self.row.kernels[kernel].ticket.add(1);
        let _waits = InLine::begin(self, kernel);
        let mut in_vain = 0;
        loop {
            if is_up() {
                return true;
            }
            if core.is_over() || midway.gone.load(Relaxed) != gone {
                return false;
            }
            if let Some(ready) = self.find_ready(taker) {
                let event = self.carry_on((kernel, Beneath::WaitsForTurn), ready);
                self.yield_in_vain(&mut in_vain, event);
            } else {
                // (M5) Pairs with `Core::call_line`. Without it the next look may come before the mark of who is in line can be seen.
                fence::heavy();
                self.rest(|| is_up() || midway.gone.load(Relaxed) != gone);
            }
            self.go_round();
            self.judge();
            if core.control.is_draining() {
                // Cancels when the time for draining is over.
                core.control.time_left();
            }
        }
    }

    /// Begins an activation of a parallel kernel of this rank. Gives what is to be put back at its end.
    pub(super) fn enter_shared(&self, rank: usize) -> Shared {
        let beneath = self.shared.get();
        let may_wait = beneath.highest <= rank;
        self.shared.replace(Shared { highest: beneath.highest.max(rank + 1), may_wait })
    }

    /// Whether an activation of the parallel kernel `kernel` waits on this stack: what another one gives can leave no sooner. Pieces of a block are taken all
    /// the same, for they may be what it waits for.
    pub(super) fn waits_beneath(&self, kernel: usize) -> bool {
        match &self.core.seats[kernel].post {
            Post::One(_) => false,
            Post::Many(task) => self.waiting.borrow().contains(&kernel) && !task.has_pieces(),
        }
    }

    /// Sleeps in the middle of an activation.
    fn rest(&self, over: impl Fn() -> bool) {
        let stats = &self.row.worker;
        let (at, idle) = (stats.at.get(), stats.idle.get());
        stats.in_code.store(false, Relaxed);
        self.idle(over);
        stats.in_code.store(true, Relaxed);
        stats.at.set(at);
        // It is no time of the kernel that waits.
        self.helped_time.set(self.helped_time.get() + stats.idle.get() - idle);
    }

    /// Runs `kernel` within the activation of `sender`, and what it hands something on to (M4).
    fn carry_on(&self, sender: (usize, Beneath), kernel: usize) -> Event {
        let event = self.nest(sender, kernel);
        let mut last = event;
        for _ in 0..MOST_CARRIED {
            let Event::Ran { emitted: Some(edge), .. } = last else { break };
            let next = self.core.topology.edges[edge].to;
            if !self.may_run(next) || !self.is_ready_here(next) {
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
        if !midway.lie_down() {
            return;
        }
        if self.core.scheme.is_restricted() {
            // What was sent is not for this worker to carry on.
            self.core.ring_neighbours(edge.plan.from);
        }
        self.rest(|| !edge.is_full() || held.can_move() || midway.is(LET_GO));
        midway.get_up();
    }
}

/// A guard: while it lives, an activation of `kernel` counts as waiting midway. Its drop ends the wait also when a message's code panics.
struct Waits<'w, 'a, 'r> {
    worker: &'w Worker<'a, 'r>,
    kernel: usize,
    outer: Option<(usize, Beneath)>,
}

impl<'w, 'a, 'r> Waits<'w, 'a, 'r> {
    fn begin(worker: &'w Worker<'a, 'r>, kernel: usize, edge: &Edge) -> Self {
        let midway = &worker.core.seats[kernel].midway;
        worker.core.midway.enter();
        midway.at.store(edge.plan.id, Relaxed);
        midway.worker.store(worker.index, Relaxed);
        midway.state.store(WORKS, Relaxed);
        worker.waiting.borrow_mut().push(kernel);
        Self { worker, kernel, outer: worker.outer.replace(Some((kernel, Beneath::WaitsForRoom))) }
    }
}

impl Drop for Waits<'_, '_, '_> {
    fn drop(&mut self) {
        let core = self.worker.core;
        self.worker.outer.set(self.outer);
        self.worker.waiting.borrow_mut().pop();
        core.topology.kernels[self.kernel].outputs.iter().for_each(|&edge| core.edges[edge].set_awaited(false));
        core.seats[self.kernel].midway.state.store(NO, Relaxed);
        core.midway.leave();
    }
}

/// A guard: while it lives, an activation of the parallel kernel `kernel` waits for its turn.
struct InLine<'w, 'a, 'r> {
    worker: &'w Worker<'a, 'r>,
    kernel: usize,
    outer: Option<(usize, Beneath)>,
}

impl<'w, 'a, 'r> InLine<'w, 'a, 'r> {
    fn begin(worker: &'w Worker<'a, 'r>, kernel: usize) -> Self {
        worker.core.midway.enter();
        worker.core.seats[kernel].midway.in_line.fetch_add(1, Relaxed);
        worker.waiting.borrow_mut().push(kernel);
        Self { worker, kernel, outer: worker.outer.replace(Some((kernel, Beneath::WaitsForTurn))) }
    }
}

impl Drop for InLine<'_, '_, '_> {
    fn drop(&mut self) {
        let core = self.worker.core;
        self.worker.outer.set(self.outer);
        self.worker.waiting.borrow_mut().pop();
        core.seats[self.kernel].midway.in_line.fetch_sub(1, Relaxed);
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
            Post::Many(_) => {
                let midway = &self.midway;
                let waits = !midway.is(NO) && !midway.is_beneath.load(Relaxed);
                covered + midway.in_line.load(Relaxed) + usize::from(waits) >= self.in_flight.load(Relaxed)
            }
        }
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

    /// Results of `kernel` have left: wakes those of its activations that wait for their turn (M5).
    #[inline]
    pub(super) fn call_line(&self, kernel: usize) {
        if self.midway.may_wait() && self.seats[kernel].midway.in_line.load(Relaxed) > 0 {
            self.control.bell.ring_all();
        }
    }

    /// Lets those of `kernel` go that wait for their turn.
    fn let_line_go(&self, kernel: usize) {
        self.seats[kernel].midway.gone.fetch_add(1, Relaxed);
        self.control.bell.ring_all();
    }

    /// Lets those of `kernel` go that wait for their turn, if again and again the same one was at the front, and neither runs nor waits for room (M5).
    pub(super) fn judge_line(&self, kernel: usize) {
        let (seat, Post::Many(task)) = (&self.seats[kernel], &self.seats[kernel].post) else { return };
        let midway = &seat.midway;
        if midway.in_line.load(Relaxed) == 0 {
            return;
        }
        let front = task.front();
        let all_rest = || {
            seat.rests() && self.those_above(kernel, Some(Why::Waiting)).iter().all(|&above| self.seats[above].rests())
        };
        if midway.front.swap(front, Relaxed) != front || !midway.is(NO) || !all_rest() {
            midway.found.store(0, Relaxed);
        } else if midway.found.fetch_add(1, Relaxed) + 1 == MOST_FOUND {
            midway.found.store(0, Relaxed);
            self.let_line_go(kernel);
        }
    }

    /// Whether the sender of `edge` waits midway, and can hand on something here: it was called for that, or is about to be, and comes back by itself from what
    /// is above it on its stack.
    pub(super) fn is_called(&self, edge: usize) -> bool {
        let (sender, edge) = (self.topology.edges[edge].from, &self.edges[edge]);
        edge.is_awaited() && !edge.is_full() && self.those_above(sender, None).is_empty()
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

    /// The kernels above activations of `kernel` on their workers' stacks, if it waits for these: above the one that waits for room, unless it comes back by
    /// itself; above any of them where a parallel kernel gives nothing before some of those that are out have. It cannot take anything for the reason `why`.
    pub(super) fn those_above(&self, kernel: usize, why: Option<Why>) -> Vec<usize> {
        let (seat, midway) = (&self.seats[kernel], &self.seats[kernel].midway);
        let above = |row: &Row| row.kernels[kernel].above.load(Relaxed).checked_sub(1);
        if midway.covered.load(Relaxed) == 0 {
            return Vec::new();
        }
        if !midway.is(NO) {
            let above = above(&self.rows[midway.worker.load(Relaxed)]);
            return above.filter(|&above| self.seats[above].rests()).into_iter().collect();
        }
        // Of a parallel kernel that can take something another activation may do what these cannot.
        let waits = matches!(seat.post, Post::One(_)) || matches!(why, Some(Why::Waiting | Why::Empty(_)));
        self.rows.iter().filter(|_| waits).filter_map(above).collect()
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
        let (mut woken, mut seen) = (false, Seen::default());
        for (kernel, _) in self.seats.iter().enumerate().filter(|(_, seat)| seat.sleeps_midway()) {
            woken |= match self.look(kernel) {
                Some(Why::Full(edge)) => (!outside || self.is_stuck(edge, &mut seen)) && self.let_go(kernel),
                _ => {
                    self.control.bell.ring_all();
                    true
                }
            };
        }
        if !woken && !outside {
            for kernel in (0..self.seats.len()).filter(|&kernel| self.seats[kernel].midway.in_line.load(Relaxed) > 0) {
                self.let_line_go(kernel);
                woken = true;
            }
        }
        woken
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use crate::control::bell::Bell;
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

    /// The line (M5): one that waits for its turn, as [`Worker::wait_in_line`] does, is called by who lets the results before it leave, as `Core::call_line`, or
    /// finds that it is up.
    #[test]
    fn who_waits_for_its_turn_is_called_or_finds_that_it_is_up() {
        model(|| {
            let (shared, front) = (Arc::new(Shared::default()), Arc::new(AtomicU64::new(0)));
            let parker = Parker::new();
            let (theirs, their_front, unparker) = (shared.clone(), front.clone(), parker.unparker());
            let other = thread::spawn(move || {
                // As `Reorder::drain_to`.
                their_front.store(1, Release);
                if theirs.waiters.may_wait() && theirs.midway.in_line.load(Relaxed) > 0 {
                    unparker.unpark();
                }
            });
            shared.waiters.enter();
            shared.midway.in_line.fetch_add(1, Relaxed);
            let is_up = || front.load(Relaxed) == 1;
            if !is_up() {
                fence::heavy();
                if !is_up() {
                    parker.park();
                }
            }
            other.join().unwrap();
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
