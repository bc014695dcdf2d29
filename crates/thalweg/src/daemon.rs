//! This process's place with the daemon that shares out the machine ([`thalweg_daemon`]).
//!
//! One thread beside all runs, which begins with the first one that finds a daemon, or is told where one will be. It looks at the runs, publishes what they could use together,
//! and shares what is granted out among them as the daemon does among processes. A run knows nothing of it: it is looked at from outside as by an observer, and bounded
//! by its bench.
//!
//! # Invariants
//!
//! - **A1** No worker ever waits for the daemon, or for this thread, but for the time that the list of runs takes to be written, and a look at the run that ends.
//! - **A2** A run is on the list as long as it goes on, and is bounded as long as it is on the list.
//! - **A3** What was granted last holds when the daemon is killed; when it ends in good order nobody is bounded any more.

use crate::observe::{By, Demand, Eyes, Pane, folder};
use std::path::PathBuf;
use thalweg_daemon::{Claim, Member, Policy, Wish, share};
use thalweg_sync::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock};
use thalweg_sync::thread;
use thalweg_sync::time::{Duration, Instant, now};

/// The variable of the environment that says where the daemon is; `0` for none.
const VARIABLE: &str = "THALWEG_DAEMON";
/// The variable that says how much this process weighs beside others, 1 to 100.
const WEIGHT: &str = "THALWEG_DAEMON_WEIGHT";
/// The time between two looks at the runs: doubles from the first to the second while they could use nothing.
const LOOK: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(16));
/// The time between two tries to find a daemon: doubles from the first to the second.
const SEEK: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(2));

#[derive(Debug)]
struct Run {
    pane: Arc<Pane>,
    granted: u32,
    /// The last look, and when it was.
    seen: Demand,
    at: Instant,
    /// What that and the look before it say.
    wish: Wish,
}

/// The runs of this process, and who waits for the first of them.
#[derive(Debug, Default)]
struct Runs {
    list: Mutex<Vec<Run>>,
    come: Condvar,
}

static RUNS: OnceLock<Option<Arc<Runs>>> = OnceLock::new();

/// While a run goes on.
#[derive(Debug)]
pub(crate) struct Noted(Arc<Pane>, &'static Runs);

/// Called when a run begins: it takes part if there is a daemon. The default place is looked at once for each run, until there is one.
pub(crate) fn note(eyes: &Eyes) -> Option<Noted> {
    if !thread::is_native() {
        return None;
    }
    let runs = match RUNS.get() {
        Some(runs) => runs,
        None => {
            let path = place()?;
            RUNS.get_or_init(|| start(path))
        }
    };
    let runs: &'static Runs = runs.as_deref()?;
    // The run can be looked at, and bounded, by this.
    let pane = eyes.observe().pane;
    runs.lock().push(Run {
        pane: pane.clone(),
        granted: u32::MAX,
        seen: Demand::default(),
        at: now(),
        wish: Wish::default(),
    });
    runs.come.notify_one();
    Some(Noted(pane, runs))
}

impl Drop for Noted {
    fn drop(&mut self) {
        let mut list = self.1.lock();
        list.retain(|entry| !Arc::ptr_eq(&entry.pane, &self.0));
        // A2: under the lock, under which runs are bounded. The next run of the graph is bounded when it is on the list.
        self.0.allow(By::Daemon, usize::MAX);
    }
}

/// Where a daemon is to be looked for, if at all.
fn place() -> Option<PathBuf> {
    match std::env::var_os(VARIABLE) {
        Some(path) if path.is_empty() || path == "0" => None,
        Some(path) => Some(path.into()),
        None => Some(folder().join("daemon.sock")).filter(|path| path.exists()),
    }
}

fn start(path: PathBuf) -> Option<Arc<Runs>> {
    let runs = Arc::new(Runs::default());
    let theirs = runs.clone();
    let weight = std::env::var(WEIGHT).ok().and_then(|weight| weight.parse().ok()).unwrap_or(1);
    let spec = thread::Spec { name: "thalweg-member", stack: None };
    // Without a thread there is nobody to take part: the run goes on as it would without a daemon.
    thread::try_start(spec, move || theirs.serve(path, weight)).ok()?;
    Some(runs)
}

impl Runs {
    fn lock(&self) -> MutexGuard<'_, Vec<Run>> {
        self.list.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn serve(&self, path: PathBuf, weight: u32) {
        let name = crate::observe::own_name();
        let (mut member, mut granted) = (None, None);
        let (mut pause, mut seek) = (LOOK.0, SEEK.0);
        loop {
            if self.lock().is_empty() {
                if let Some(member) = &mut member {
                    Member::publish(member, Wish::default(), 0);
                }
                let list = self.come.wait_while(self.lock(), |list| list.is_empty());
                drop(list);
                (pause, seek) = (LOOK.0, SEEK.0);
            }
            let (total, works) = self.look();
            let Some(present) = &mut member else {
                self.bound(granted);
                match Member::join(&path, weight, &name) {
                    Ok(new) => member = Some(new),
                    Err(_) => {
                        self.wait_for_a_run_to_come(seek);
                        seek = (seek * 2).min(SEEK.1);
                    }
                }
                continue;
            };
            seek = SEEK.0;
            present.publish(total, works);
            granted = present.granted();
            self.bound(granted);
            pause = if total.could > 0 { LOOK.0 } else { (pause * 2).min(LOOK.1) };
            if present.wait(pause).is_err() {
                // A3: a word in memory, which stands whoever is gone.
                granted = present.granted();
                member = None;
            }
        }
    }

    fn wait_for_a_run_to_come(&self, limit: Duration) {
        let list = self.lock();
        let _ = self.come.wait_timeout(list, limit);
    }

    /// Looks at all runs. What they could use together, and how many workers are at work.
    fn look(&self) -> (Wish, u32) {
        let mut list = self.lock();
        let (mut total, mut works) = (Wish::default(), 0);
        for entry in &mut *list {
            entry.look();
            total.could = total.could.saturating_add(entry.wish.could);
            total.work = total.work.saturating_add(entry.wish.work);
            works += entry.seen.works as u32;
        }
        (total, works)
    }

    /// Shares out among the runs what is granted to all of them; `None` bounds nobody.
    fn bound(&self, granted: Option<u32>) {
        let mut list = self.lock();
        let claim = |entry: &Run| Claim { wish: entry.wish, weight: 1, had: entry.granted };
        let grants = match granted {
            Some(cores) => share(cores, Policy::Delay, &list.iter().map(claim).collect::<Vec<_>>()),
            None => vec![u32::MAX; list.len()],
        };
        for (entry, grant) in list.iter_mut().zip(grants) {
            entry.granted = grant;
            entry.pane.allow(By::Daemon, if grant == u32::MAX { usize::MAX } else { grant as usize });
        }
    }
}

impl Run {
    /// Looks at it again. A burst, and its end, are seen at the first look.
    fn look(&mut self) {
        let (before, at) =
            (std::mem::replace(&mut self.seen, self.pane.demand()), std::mem::replace(&mut self.at, now()));
        let busy = Duration::from_nanos(self.seen.busy.saturating_sub(before.busy));
        let could = self.seen.could.try_into().unwrap_or(u32::MAX);
        self.wish = Wish::seen(could, self.seen.work, self.granted, busy, self.at.since(at));
    }
}
