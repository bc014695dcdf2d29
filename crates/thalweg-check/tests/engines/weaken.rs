//! The search for the weakest orderings, of code that is not ours.

use thalweg_check::Check;
use thalweg_check::history::{OnRegister, Recorder, Register};
use thalweg_check::weaken::{Client, Fate, NotWeakened, Strength, Weaken};
use thalweg_sync::atomic::AtomicU32;
use thalweg_sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use thalweg_sync::cell::Slot;
use thalweg_sync::edges::{edge, fenced, in_order};
use thalweg_sync::sync::Arc;
use thalweg_sync::{spin, thread};

/// A value that is set once.
#[derive(Default)]
struct Once {
    value: Slot<u32>,
    state: AtomicU32,
}

// SAFETY: `value` is written by who turned `state` from 0 to 1, and read when it is 2.
unsafe impl Sync for Once {}

impl Once {
    fn set(&self, value: u32) {
        if self.state.compare_exchange(0, 1, edge("once.1", SeqCst), SeqCst).is_ok() {
            // SAFETY: see above.
            let write = || self.value.with_mut(|place| unsafe { *place = value });
            in_order("once.4", write, || self.state.store(2, edge("once.2", SeqCst)));
            fenced("once.5", || thalweg_sync::atomic::fence(SeqCst));
        }
    }

    fn wait(&self) -> u32 {
        spin::until(|| (self.state.load(edge("once.3", SeqCst)) == 2).then_some(()));
        // SAFETY: see above.
        self.value.with(|place| unsafe { *place })
    }
}

fn two_set() {
    let once = Arc::new(Once::default());
    let setters = [1, 2].map(|value| {
        let once = once.clone();
        thread::spawn(move || once.set(value))
    });
    assert!([1, 2].contains(&once.wait()));
    setters.into_iter().for_each(|setter| setter.join().unwrap());
}

#[test]
fn a_search_from_the_source_and_one_from_sequential_consistency_end_alike() {
    let weaken = Weaken::new().client(Client::new("two-set", two_set));
    let found = weaken.run().unwrap();
    let after = [("once.1", Relaxed), ("once.2", Release), ("once.3", Acquire), ("once.5", Relaxed)];
    let after = after.map(|(label, ordering)| (label, Strength::Ordering(ordering)));
    assert!(found.after.iter().eq(after.iter().map(|(label, strength)| (label, strength))), "{found}");
    let swapped = found.trials.iter().find(|trial| trial.label == "once.4").expect("it is met");
    assert!(matches!(swapped.fate, Fate::Killed { client: "two-set", .. }), "{found}");
    let descended = weaken.descend().unwrap();
    assert_eq!(descended.after.into_iter().collect::<Vec<_>>(), after);
}

#[test]
fn the_client_that_misses_a_label_is_named() {
    // The first is blind: it joins before it looks.
    let joins = || {
        let once = Arc::new(Once::default());
        let setter = thread::spawn({
            let once = once.clone();
            move || once.set(1)
        });
        setter.join().unwrap();
        assert_eq!(once.wait(), 1);
    };
    let found =
        Weaken::new().client(Client::new("joins", joins)).client(Client::new("two-set", two_set)).run().unwrap();
    let killed = found.trials.iter().filter(|trial| matches!(trial.fate, Fate::Killed { .. }));
    assert!(killed.clone().count() == 1 && killed.clone().all(|trial| trial.label == "once.4"), "{found}");
    assert!(found.to_string().contains("once.4       in order swapped  two-set"), "{found}");
}

#[test]
fn what_cannot_be_weakened_says_why() {
    assert!(matches!(Weaken::new().run(), Err(NotWeakened::NoClients)));
    let error = Weaken::new().client(Client::new("wrong", || panic!("on purpose"))).run().unwrap_err();
    let text = error.to_string();
    assert!(
        matches!(error, NotWeakened::Fails { client: "wrong", .. }) && text.starts_with("wrong fails as it is:"),
        "{text}"
    );
}

/// A client that records what it does.
fn exchanges(recorder: &Recorder<OnRegister<u32>>) {
    let register = Arc::new(AtomicU32::new(0));
    let threads = [1, 2].map(|value| {
        let (register, mut log) = (register.clone(), recorder.log(value as usize));
        thread::spawn(move || {
            let swap = || register.swap(value, edge("register.1", AcqRel));
            log.call(swap, |&before| OnRegister::Swapped(value, before));
            let read = || register.load(edge("register.2", Acquire));
            log.call(read, |&value| OnRegister::Read(value));
        })
    });
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

#[test]
fn clients_may_record_histories() {
    let client = Client::linearizable("exchanges", Register::new(0), exchanges);
    let found = Weaken::new().check(Check::new()).client(client).run().unwrap();
    assert_eq!(found.trials.len(), 3, "{found}");
    assert!(found.unended.is_empty());
}
