//! Calls that block, on threads of their own.
//!
//! # Invariants
//!
//! - **B1** A job lives on the stack of the task that waits for it. A helper touches it until it grants the task its ticket, and the task waits
//!   for that whatever happens.
//! - **B2** Everything about who does which job is decided with the state locked: a helper that finds no job is on the list of those that sleep,
//!   or is gone and not counted. So a job that is put down wakes one of them, or starts one, or is found by one that is busy.

use crate::runtime::{Shared, Stop};
use crate::short::Short;
use crate::wait::{Reason, Running, Ticket, Waiter};
use crate::worker::Worker;
use core::ptr::NonNull;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use thalweg_sync::cell::Slot;
use thalweg_sync::park::{Parker, Unparker};
use thalweg_sync::sync::Arc;
use thalweg_sync::thread;
use thalweg_sync::time::{self, Duration};

/// How many helpers a runtime has at most. More jobs wait.
const MOST_HELPERS: usize = 256;
/// How long a helper without a job stays.
const PATIENCE: Duration = Duration::from_secs(5);

/// Threads for calls that block.
#[derive(Default)]
pub(crate) struct Helpers {
    state: Short<State>,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    /// Helpers that sleep.
    asleep: Vec<(u64, Unparker)>,
    /// How many there are.
    helpers: usize,
    /// Numbers sleeps.
    sleeps: u64,
    threads: Vec<thread::JoinHandle<()>>,
    ended: bool,
}

/// See B1.
struct Job {
    call: NonNull<()>,
    run: unsafe fn(NonNull<()>),
    ticket: Ticket,
}

// SAFETY: the call is `Send`, and is handed over with the job.
unsafe impl Send for Job {}

/// A call, and what it returned.
struct Call<F, R> {
    body: Slot<Option<F>>,
    result: Slot<Option<std::thread::Result<R>>>,
}

/// Runs `body`, which may block its thread, on a helper thread; other tasks of this worker go on meanwhile. It may borrow.
///
/// For reads of files, locks of other libraries, long computations. It costs some microseconds. There are up to 256 helpers; more calls
/// wait for one. If the system gives no thread at all, `body` runs here. Outside of tasks it runs here anyway.
///
/// The task waits for it also if it is cancelled.
///
/// # Panics
///
/// If `body` does, with the same panic.
///
/// ```
/// use thalweg_task::{Runtime, block_in_place};
///
/// let runtime = Runtime::builder().workers(1).start()?;
/// let text = runtime.run(|| block_in_place(|| std::fs::read_to_string("Cargo.toml")));
/// assert!(text.is_ok());
/// # Ok::<(), thalweg_task::StartError>(())
/// ```
pub fn block_in_place<F, R>(body: F) -> R
where
    F: FnOnce() -> R + Send,
    R: Send,
{
    if Running::get().is_none() {
        return body();
    }
    let call = Call { body: Slot::new(Some(body)), result: Slot::new(None) };
    let waiter = Waiter::new();
    let job = Job { call: NonNull::from(&call).cast(), run: run::<F, R>, ticket: waiter.ticket() };
    Worker::with(|worker| Helpers::submit(&worker.shared, job));
    waiter.sleep_borrowed(Reason::Blocking);
    match call.result.into_inner().expect("the helper has left it") {
        Ok(value) => value,
        Err(panic) => resume_unwind(panic),
    }
}

unsafe fn run<F: FnOnce() -> R, R>(call: NonNull<()>) {
    // SAFETY: the task waits for its grant (B1).
    let call = unsafe { call.cast::<Call<F, R>>().as_ref() };
    // SAFETY: until the grant the call is the helper's.
    let body = call.body.with_mut(|body| unsafe { (*body).take() }).expect("a job runs once");
    let result = catch_unwind(AssertUnwindSafe(body));
    // SAFETY: as above.
    call.result.with_mut(|place| unsafe { *place = Some(result) });
}

impl Job {
    fn run(self) {
        // SAFETY: made for this call, which is there until the grant (B1).
        unsafe { (self.run)(self.call) };
        self.ticket.grant(1);
    }
}

impl Helpers {
    fn submit(shared: &Arc<Shared>, job: Job) {
        let wake = shared.helpers.state.with(|state| {
            state.jobs.push_back(job);
            match state.asleep.pop() {
                Some(helper) => Some(Some(helper)),
                None if state.helpers < MOST_HELPERS => {
                    state.helpers += 1;
                    Some(None)
                }
                None => None,
            }
        });
        match wake {
            Some(Some((_, helper))) => helper.unpark(),
            Some(None) => Self::start(shared),
            None => {}
        }
    }

    fn start(shared: &Arc<Shared>) {
        let its = shared.clone();
        match thread::start(&format!("{}-helper", shared.name), move || its.helpers.help(&its)) {
            Ok(thread) => shared.helpers.state.with(|state| state.threads.push(thread)),
            Err(_) => {
                // If nobody else is there, the job is done here.
                let job = shared.helpers.state.with(|state| {
                    state.helpers -= 1;
                    if state.helpers == 0 { state.jobs.pop_front() } else { None }
                });
                if let Some(job) = job {
                    job.run();
                }
            }
        }
    }

    /// What a helper does.
    fn help(&self, shared: &Shared) {
        let parker = Parker::new();
        let mut patience = time::now().after(PATIENCE);
        loop {
            let (job, over, sleep) = self.state.with(|state| {
                let job = state.jobs.pop_front();
                let over = state.ended || shared.stop() != Stop::No && shared.is_quiet() || time::now() >= patience;
                if job.is_none() && !over {
                    state.sleeps += 1;
                    state.asleep.push((state.sleeps, parker.unparker()));
                }
                if job.is_none() && over {
                    state.helpers -= 1;
                }
                (job, over, state.sleeps)
            });
            match job {
                Some(job) => {
                    job.run();
                    patience = time::now().after(PATIENCE);
                }
                None if over => return,
                None => {
                    parker.park_timeout(patience.since(time::now()));
                    // Whoever has taken it off the list has put a job down before: the next look finds it.
                    self.state.with(|state| state.asleep.retain(|&(other, _)| other != sleep));
                }
            }
        }
    }

    /// No task is left: helpers end.
    pub(crate) fn end(&self) -> Vec<thread::JoinHandle<()>> {
        let (asleep, threads) = self.state.with(|state| {
            state.ended = true;
            (core::mem::take(&mut state.asleep), core::mem::take(&mut state.threads))
        });
        asleep.iter().for_each(|(_, helper)| helper.unpark());
        threads
    }
}
