//! What an engine sees: every row of the table in the module `engine`, by an engine that writes down what it is told.
#![cfg(all(feature = "instrument", not(loom)))]

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;

use thalweg_sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use thalweg_sync::atomic::{AtomicU64, Ordering, fence};
use thalweg_sync::cell::Slot;
use thalweg_sync::engine::{self, Atomic, Engine, LinkOperation, Site, Span, ThreadId, enter};
use thalweg_sync::hint::{self, Access};
use thalweg_sync::link::{self, Line, Target};
use thalweg_sync::park::Parker;
use thalweg_sync::sync::Arc;
use thalweg_sync::time::{self, Duration};
use thalweg_sync::{spin, thread};

/// Runs what it is given at once, and writes down each event by the name of its method.
#[derive(Default)]
struct Log {
    events: RefCell<Vec<&'static str>>,
    /// Goes on by a millisecond with each look.
    clock: Cell<u64>,
}

impl Log {
    fn saw(&self, event: &'static str) {
        self.events.borrow_mut().push(event);
    }

    /// An event with the place from which the facade was called: in this file.
    fn saw_at(&self, event: &'static str, at: Site) {
        assert!(file!().ends_with(at.file()) || at.file().ends_with(file!()), "{event} at {at}");
        self.saw(event);
    }
}

// SAFETY: accesses are performed as they come, on the one thread that there is; a thread has run before it can be joined; no line is
// written to.
unsafe impl Engine for Log {
    fn atomic(&self, access: &Atomic<'_>) -> Result<u64, u64> {
        self.saw_at("atomic", access.at());
        access.perform()
    }
    fn fence(&self, _ordering: Ordering, at: Site) {
        self.saw_at("fence", at);
    }
    fn slot_begin(&self, span: &Span) {
        self.saw_at("slot_begin", span.at);
    }
    fn slot_end(&self, span: &Span) {
        self.saw_at("slot_end", span.at);
    }
    fn touch(&self, span: &Span) {
        self.saw_at("touch", span.at);
    }
    fn prefetch(&self, _address: usize, _access: Access) {
        self.saw("prefetch");
    }
    fn retire(&self, _address: usize, _bytes: usize) {
        self.saw("retire");
    }
    fn release(&self, _object: usize, is_last: &dyn Fn() -> bool) {
        self.saw(if is_last() { "release of the last" } else { "release" });
    }
    fn watch(&self) {
        self.saw("watch");
    }
    fn wait(&self, at: Site) {
        self.saw_at("wait", at);
    }
    fn unwatch(&self) {
        self.saw("unwatch");
    }
    fn park(&self, _token: usize, deadline: Option<u64>, at: Site) {
        self.saw_at(if deadline.is_some() { "park until" } else { "park" }, at);
    }
    fn unpark(&self, _token: usize, at: Site) {
        self.saw_at("unpark", at);
    }
    fn yield_now(&self, at: Site) {
        self.saw_at("yield_now", at);
    }
    fn pause(&self, _tries: u32, at: Site) {
        self.saw_at("pause", at);
    }
    fn spawn(&self, body: Box<dyn FnOnce() + Send>, at: Site) -> ThreadId {
        self.saw_at("spawn", at);
        body();
        ThreadId(1)
    }
    fn join(&self, _thread: ThreadId, at: Site) {
        self.saw_at("join", at);
    }
    fn panicked(&self, _panic: &(dyn std::any::Any + Send)) {
        self.saw("panicked");
    }
    fn now(&self, at: Site) -> u64 {
        self.saw_at("now", at);
        self.clock.set(self.clock.get() + 1_000_000);
        self.clock.get()
    }
    fn work(&self, cycles: u64) {
        self.saw(if cycles == 7 { "work" } else { "other work" });
    }
    fn code(&self, instructions: u64) {
        assert_eq!(instructions, 12);
        self.saw("code");
    }
    fn code_end(&self) {
        self.saw("code_end");
    }
    fn task(&self, name: &str) {
        assert_eq!(name, "parse");
        self.saw("task");
    }
    fn task_end(&self) {
        self.saw("task_end");
    }
    fn parallelism(&self) -> usize {
        3
    }
    fn pin(&self, cpu: usize) {
        assert_eq!(cpu, 2);
        self.saw("pin");
    }
    fn link(&self, operation: LinkOperation, at: Site) -> Option<u64> {
        self.saw_at("link", at);
        matches!(operation, LinkOperation::Dequeue { .. }).then_some(5)
    }
}

/// Runs `client` under an engine, which sees just these events.
#[track_caller]
fn sees<R>(expected: &[&str], client: impl FnOnce() -> R) -> R {
    let log = Log::default();
    let result = enter(&log, client);
    assert_eq!(log.events.into_inner(), expected);
    result
}

#[test]
fn accesses_and_the_ends_of_lives() {
    sees(&["atomic", "atomic", "atomic", "atomic", "touch", "retire"], || {
        let mut number = AtomicU64::new(1);
        number.store(2, Release);
        assert_eq!(number.load(Acquire), 2);
        assert_eq!(number.fetch_add(1, AcqRel), 2);
        assert_eq!(number.compare_exchange(2, 9, AcqRel, Relaxed), Err(3));
        assert_eq!(*number.get_mut(), 3);
    });
    sees(&["fence"], || fence(AcqRel));
    sees(&["fence", "fence"], || {
        thalweg_sync::fence::light();
        thalweg_sync::fence::heavy();
    });
    sees(&["slot_begin", "slot_end", "slot_begin", "slot_end", "retire"], || {
        let slot = Slot::new(1);
        // SAFETY: nobody else has the slot.
        slot.with_mut(|number| unsafe { *number += 1 });
        // SAFETY: as above.
        assert_eq!(slot.with(|number| unsafe { *number }), 2);
    });
    sees(&["touch", "prefetch"], || {
        hint::touch([0; 9].as_ptr(), 9, Access::Read);
        hint::prefetch([0; 9].as_ptr(), Access::Write);
    });
    sees(&["release", "release of the last"], || drop(Arc::new(()).clone()));
}

#[test]
fn waiting_and_sleeping() {
    let mut left = 2;
    let attempt = move || {
        left -= 1;
        (left == 0).then_some(())
    };
    sees(&["watch", "wait", "watch", "unwatch"], || spin::until(attempt));
    sees(&["watch", "wait", "watch", "unwatch"], || spin::hold(attempt));
    assert_eq!(sees(&[], || spin::briefly(|| None::<u8>)), None);
    sees(&["atomic", "unpark", "release", "atomic", "release of the last", "retire"], || {
        let parker = Parker::new();
        parker.unparker().unpark();
        parker.park();
    });
    let events = ["now", "atomic", "now", "park until", "atomic", "now", "release of the last", "retire"];
    assert!(!sees(&events, || Parker::new().park_timeout(Duration::from_millis(2))));
    sees(&events, || thread::sleep(Duration::from_millis(2)));
    sees(&["yield_now", "pause"], || {
        thread::yield_now();
        spin::pause(3);
    });
}

#[test]
fn threads_where_they_run_and_how_many() {
    let seven = sees(&["spawn", "work", "join"], || {
        let thread = thread::spawn(|| {
            hint::work(7);
            7
        });
        thread.join().unwrap()
    });
    assert_eq!(seven, 7);
    let scoped = || thread::scope(|scope| scope.spawn(|| 8).join().unwrap());
    assert_eq!(sees(&["spawn", "join", "join"], scoped), 8);
    sees(&["panicked"], || {
        let panics = AssertUnwindSafe(|| thread::scope(|_| resume_unwind(Box::new("on purpose"))));
        assert!(catch_unwind(panics).is_err());
    });
    sees(&["pin"], || thread::pin_current(2).unwrap());
    sees(&[], || {
        assert_eq!(thread::available_parallelism(), 3);
        let all = thread::current_affinity().unwrap();
        assert_eq!(all.cpus().collect::<Vec<_>>(), [0, 1, 2]);
        all.restore().unwrap();
        assert_eq!(thread::current_cpu(), None);
        thread::make_way();
    });
}

#[test]
fn time_work_tasks_and_instructions() {
    let (first, passed) = sees(&["now", "now"], || {
        let first = time::now();
        (first.as_nanos(), first.elapsed())
    });
    assert_eq!((first, passed), (1_000_000, Duration::from_millis(1)));
    sees(&["work", "other work"], || {
        hint::work(7);
        spin::relax(2);
    });
    assert_eq!(
        sees(&["code", "work", "code_end", "work"], || {
            let result = hint::code(12, || {
                hint::work(7);
                5
            });
            hint::work(7);
            result
        }),
        5
    );
    sees(&["code", "code_end"], || {
        let panics = || hint::code(12, || resume_unwind(Box::new("on purpose")));
        assert!(catch_unwind(panics).is_err());
    });
    sees(&["task", "work", "task_end", "work"], || {
        let task = hint::task("parse");
        hint::work(7);
        drop(task);
        hint::work(7);
    });
    sees(&["task", "task_end"], || {
        let panics = || {
            let _task = hint::task("parse");
            resume_unwind(Box::new("on purpose"))
        };
        assert!(catch_unwind(panics).is_err());
    });
    let (target, line) = (Target::new(0, 7).unwrap(), pin!(Line::new()));
    sees(&["link", "link", "link", "link"], || {
        link::select(line.as_ref());
        assert!(!link::push(target));
        assert_eq!(link::dequeue(target), Some(5));
        link::unmap(line.as_ref());
    });
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a thread that is not the engine's")]
fn an_engine_has_its_thread_until_enter_returns_and_no_other() {
    sees(&["work", "work"], || {
        hint::work(7);
        std::thread::scope(|scope| scope.spawn(|| hint::work(9)).join().unwrap());
        sees(&["other work"], || hint::work(8));
        hint::work(7);
    });
    hint::work(9);
}

/// Other tests of this process are strangers too meanwhile, which only adds to the list.
#[test]
#[expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "threads that are not the engine's")]
fn strangers_are_told_of_once_and_those_who_know_an_engine_are_none() {
    static TOLD: std::sync::Mutex<Vec<(std::thread::ThreadId, Site)>> = std::sync::Mutex::new(Vec::new());
    let on_another = |body: &(dyn Fn() + Sync)| {
        std::thread::scope(|scope| {
            let thread = scope.spawn(body);
            let id = thread.thread().id();
            thread.join().unwrap();
            let told = TOLD.lock().unwrap();
            told.iter().filter(|(thread, _)| *thread == id).map(|(_, at)| *at).collect::<Vec<_>>()
        })
    };
    let tell: fn(Site) = |at| TOLD.lock().unwrap().push((std::thread::current().id(), at));
    let (shared, alone) = (Arc::new(AtomicU64::new(0)), AtomicU64::new(0));
    let left = std::sync::Mutex::new(Some((shared.clone(), AtomicU64::new(0), Slot::new(0))));
    let line = line!() + 2;
    let uses = || {
        alone.fetch_add(1, Relaxed);
        alone.fetch_add(1, Relaxed);
    };
    engine::tell_strangers(tell, || {
        let sites = on_another(&uses);
        assert_eq!(sites.iter().map(|at| (at.file(), at.line())).collect::<Vec<_>>(), [(file!(), line)]);
        let line = line!() + 1;
        let others: [&(dyn Fn() + Sync); 2] = [&|| hint::work(7), &|| _ = time::now()];
        for other in others {
            assert_eq!(on_another(other).iter().map(|at| at.line()).collect::<Vec<_>>(), [line]);
        }
        let dropped = on_another(&|| drop(left.lock().unwrap().take()));
        assert!(dropped.is_empty(), "to drop is no use: {dropped:?}");
        let host = on_another(&|| {
            sees(&["atomic"], || shared.load(Relaxed));
            uses();
        });
        assert!(host.is_empty(), "it has run an engine: {host:?}");
        uses();
        let here = std::thread::current().id();
        assert!(TOLD.lock().unwrap().iter().all(|(thread, _)| *thread != here), "it waits for those who run engines");
    });
    assert!(on_another(&uses).is_empty(), "nobody is to be told any more");
}
