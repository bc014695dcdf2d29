//! How the machine runs programs: the same numbers every time, threads, waiting, time, and the end of a run that failed.
#![cfg(not(loom))]
#![allow(clippy::disallowed_types, reason = "what a test notes about a run must be no part of it")]

mod support;

use std::panic::{AssertUnwindSafe, catch_unwind};
use support::{HEAP, machine};
use thalweg_queue::Yield;
use thalweg_queue::{mpmc, spsc, spsc::fast_forward};
use thalweg_sim::{Failure, Heap, Layout, Machine, MachineError, Reason, Report, Simulation};
use thalweg_sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use thalweg_sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use thalweg_sync::park::Parker;
use thalweg_sync::sync::{Arc, Mutex};
use thalweg_sync::time::{self, Duration};
use thalweg_sync::{CachePadded, hint, spin, thread};

#[global_allocator]
static ALLOCATOR: Heap = HEAP;

/// Boxed messages through BBQ and numbers through FastForward, allocating as it goes.
fn traffic(producers: u64, messages: u64) {
    let (tx, rx) = mpmc::with_capacity_and_wait::<Box<u64>, _>(64, Yield).unwrap();
    let (mut there, mut back) = fast_forward::with_wait::<std::num::NonZero<u64>, _>(32, Yield).unwrap();
    thread::scope(|scope| {
        for producer in 0..producers {
            let tx = tx.clone();
            scope.spawn(move || (0..messages).for_each(|n| tx.push(Box::new(producer * messages + n)).unwrap()));
        }
        drop(tx);
        scope.spawn(move || {
            let mut sum = 0;
            while let Ok(message) = rx.pop() {
                sum += *message;
            }
            there.push(std::num::NonZero::new(sum).unwrap()).unwrap();
        });
        let all = producers * messages;
        assert_eq!(back.pop().unwrap().get(), all * (all - 1) / 2);
    });
}

fn report(seed: u64) -> Report {
    Simulation::new(machine("x86-88t")).threads(12).seed(seed).run(|| traffic(10, 60))
}

/// Each file beside this crate is a machine of that name, known to the command, and programs run on it.
#[test]
fn every_machine_file_is_a_known_machine_that_runs() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/machines");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    for file in &files {
        let machine = Machine::from_file(file).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(
            (file.file_stem().unwrap().to_str(), file.extension().unwrap().to_str()),
            (Some(machine.name()), Some("toml"))
        );
        assert_eq!(Machine::named(machine.name()).unwrap(), machine);
        assert!(!machine.about().is_empty() && !machine.calibration().is_empty(), "{}", machine.name());
        let threads = machine.threads().min(4);
        let run = || Simulation::new(machine.clone()).threads(threads).run(|| traffic(3, 60));
        let report = run();
        assert!(report.counts.cache_transfers.total() > 0 && report.nanos > 0, "{report}");
        assert_eq!(report, run());
    }
    assert_eq!(files.len(), Machine::names().count());
}

#[test]
fn the_same_seed_is_the_same_report_wherever_objects_are() {
    let first = report(7);
    assert_eq!(first.layout, Layout::Modelled);
    // Other allocations in between, of which some stay: the allocator hands out other addresses now.
    let kept: Vec<Vec<u8>> = (1..2000).filter(|n| n % 3 != 0).map(|n| vec![0; n * 7 % 1500 + 1]).collect();
    let dropped: Vec<Vec<u8>> = (1..2000).map(|n| vec![0; n * 11 % 900 + 1]).collect();
    drop(dropped);
    let second = report(7);
    assert_eq!(first, second);
    assert_eq!(first.to_json(), second.to_json());
    drop(kept);
    // On another thread, whose stack is elsewhere, from a deeper place.
    fn deeper(depth: usize) -> Report {
        let ballast = std::hint::black_box([depth; 33]);
        if ballast[depth] == 0 { report(7) } else { deeper(depth - 1) }
    }
    let third = thread::spawn(|| deeper(9)).join().unwrap();
    assert_eq!(first, third);
}

/// Hits, while others contend, on memory that the host gave before the run: side by side, and a mebibyte apart. How
/// quickly the engine finds a line depends on its address, and must not show.
#[test]
fn where_the_host_put_memory_decides_nothing() {
    let memory: Vec<AtomicU64> = std::iter::repeat_with(|| AtomicU64::new(0)).take(16 << 17).collect();
    let cycles = |apart: usize| {
        let client = || {
            let shared = AtomicU64::new(0);
            let cells: Vec<&AtomicU64> = memory.iter().step_by(apart).take(16).collect();
            thread::scope(|scope| {
                for part in cells.chunks(4) {
                    let shared = &shared;
                    scope.spawn(move || {
                        for i in 0..4_000 {
                            let cell = part[i % 4];
                            cell.store(cell.load(Relaxed) + 1, Relaxed);
                            if i % 8 == 0 {
                                shared.fetch_add(1, Relaxed);
                            }
                        }
                    });
                }
            });
        };
        Simulation::new(machine("x86-88t")).run(client).cycles
    };
    assert_eq!(cycles(1 << 17), cycles(64));
}

#[test]
fn another_seed_is_another_run() {
    assert_ne!(report(1).cycles, report(2).cycles);
    let rigid = |seed| Simulation::new(machine("x86-88t")).jitter(0).seed(seed).run(|| traffic(3, 20)).cycles;
    assert_eq!(rigid(1), rigid(2), "without jitter there is nothing to decide");
}

#[test]
fn what_threads_do_is_counted() {
    let report = Simulation::new(machine("x86-88t")).threads(4).run(|| {
        let word = AtomicU64::new(0);
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| (0..2000).for_each(|_| _ = word.fetch_add(1, Relaxed)));
            }
        });
        assert_eq!(word.load(Relaxed), 6000);
    });
    let counts = &report.counts;
    assert_eq!(report.per_thread.len(), 4);
    assert!(report.per_thread[1..].iter().all(|thread| thread.accesses >= 2000 && thread.ended > thread.started));
    assert!(report.per_thread.iter().all(|thread| thread.ended <= report.nanos));
    assert_eq!(counts.accesses, report.per_thread.iter().map(|thread| thread.accesses).sum::<u64>());
    let beyond = counts.llc_hits.total() + counts.cache_transfers.total() + counts.memory_reads.total();
    assert_eq!(counts.misses(), counts.sibling_hits + counts.upgrades.total() + beyond);
    let line = &report.lines[0];
    assert!(line.sites[0].site.contains("runs.rs"), "{}", line.sites[0].site);
    assert!(report.to_string().contains("runs.rs") && report.to_json().contains("\"accesses\""));
}

#[test]
fn waiting_ends_when_what_was_read_changes() {
    let report = Simulation::new(machine("x86-88t")).threads(2).run(|| {
        let (ready, done) = (CachePadded(AtomicBool::new(false)), CachePadded(AtomicBool::new(false)));
        thread::scope(|scope| {
            scope.spawn(|| {
                spin::until(|| ready.load(Acquire).then_some(()));
                done.store(true, Release);
            });
            thalweg_sync::hint::work(1_000_000);
            ready.store(true, Release);
            spin::until(|| done.load(Acquire).then_some(()));
        });
    });
    assert!(report.counts.sleeps >= 1 && report.counts.polls < 10, "{:?}", report.counts);
    assert!(report.nanos > 1_000_000 * 1000 / machine("x86-88t").mhz());
}

/// A lost wake-up here is a deadlock, so this is a test of the rules by which waits sleep: threads of one core, of two
/// that share it, and of several.
#[test]
fn waits_are_woken_by_neighbours_too() {
    for (name, threads, workers) in
        [("x86-88t", 1, 2), ("x86-88t", 1, 5), ("x86-88t", 3, 7), ("arm-32", 2, 4), ("vl-16", 2, 3)]
    {
        for seed in 0..4 {
            let report = Simulation::new(machine(name)).threads(threads).seed(seed).run(|| baton(workers));
            assert!(report.nanos > 0);
        }
    }
    // Two hardware threads of one core: numbers 0 and 44.
    for seed in 0..4 {
        Simulation::new(machine("x86-88t")).seed(seed).run(|| {
            let (turn, other) = (AtomicU32::new(0), CachePadded(AtomicU32::new(0)));
            thread::scope(|scope| {
                for (me, cpu) in [(0, 0), (1, 44)] {
                    let (turn, other) = (&turn, &other);
                    scope.spawn(move || {
                        thread::pin_current(cpu).unwrap();
                        for round in 0..200 {
                            spin::until(|| {
                                let mine = turn.load(Acquire) == 2 * round + me;
                                // The neighbour runs before this attempt ends.
                                thalweg_sync::hint::work(300);
                                (other.load(Relaxed) == 0 && mine).then_some(())
                            });
                            turn.store(2 * round + me + 1, Release);
                        }
                    });
                }
            });
        });
    }
}

/// Threads take turns by a number on one line.
fn baton(workers: u32) {
    let turn = AtomicU32::new(0);
    thread::scope(|scope| {
        for me in 0..workers {
            let turn = &turn;
            scope.spawn(move || {
                for round in 0..30 {
                    spin::until(|| (turn.load(Acquire) == round * workers + me).then_some(()));
                    turn.fetch_add(1, AcqRel);
                }
            });
        }
    });
}

#[test]
fn more_threads_than_hardware_take_turns() {
    let time = |threads| {
        let client = || {
            thread::scope(|scope| {
                for _ in 0..8 {
                    scope.spawn(|| {
                        let own = AtomicU64::new(0);
                        for _ in 0..200 {
                            thalweg_sync::hint::work(100_000);
                            own.fetch_add(1, Relaxed);
                        }
                    });
                }
            });
        };
        Simulation::new(machine("arm-96t")).threads(threads).run(client)
    };
    let (one, four, eight) = (time(1), time(4), time(9));
    assert!(one.counts.preemptions > 4 && eight.counts.preemptions == 0);
    let ratio = one.nanos as f64 / eight.nanos as f64;
    assert!((7.0..9.0).contains(&ratio), "eight threads on one took {ratio} times as long");
    let ratio = four.nanos as f64 / eight.nanos as f64;
    assert!((1.8..2.6).contains(&ratio), "eight threads on four took {ratio} times as long");
}

/// Who spins keeps a hardware thread that another one wants as long as its line comes soon, and gives it up if not.
#[test]
fn who_spins_is_patient() {
    const ROUNDS: u64 = 100;
    let round_nanos = |answer_after: u64| {
        let nanos = Simulation::new(machine("x86-88t")).threads(2).jitter(0).try_run(|| {
            let ball = AtomicU64::new(0);
            let turn = |who: u64, round: u64| spin::until(|| (ball.load(Acquire) == 2 * round + who).then_some(()));
            thread::scope(|scope| {
                let ball = &ball;
                scope.spawn(move || {
                    thread::pin_current(1).unwrap();
                    for round in 0..ROUNDS {
                        turn(1, round);
                        thalweg_sync::hint::work(answer_after);
                        ball.store(2 * round + 2, Release);
                    }
                });
                // Wants the other's hardware thread all the time.
                scope.spawn(|| {
                    thread::pin_current(0).unwrap();
                    while ball.load(Relaxed) < 2 * ROUNDS {
                        thalweg_sync::hint::work(3_000);
                    }
                });
                thread::pin_current(0).unwrap();
                let before = time::now();
                for round in 0..ROUNDS {
                    ball.store(2 * round + 1, Release);
                    turn(0, round + 1);
                }
                before.elapsed().as_nanos() as u64 / ROUNDS
            })
        });
        nanos.unwrap().0
    };
    // A pause is 140 cycles of 3 GHz, so 64 are 3 us.
    let (soon, late) = (round_nanos(3_000), round_nanos(30_000));
    assert!(soon < 20_000, "an answer after 1 us takes {soon} ns: nearly all rounds without the other");
    assert!(late > 100_000, "one after 10 us takes {late} ns: the other has its time slice each time");
}

#[test]
fn parked_threads_cost_nothing_and_wake() {
    let report = Simulation::new(machine("x86-88t")).threads(2).run(|| {
        let (send, receive) = mpmc::with_capacity_and_wait(16, Yield).unwrap();
        let sleeper = thread::spawn(move || {
            let parker = Parker::new();
            send.push(parker.unparker()).unwrap();
            parker.park();
            assert!(!parker.park_timeout(Duration::from_micros(50)));
            time::now()
        });
        let unparker = receive.pop().unwrap();
        thread::sleep(Duration::from_micros(300));
        let before = time::now();
        unparker.unpark();
        let after = sleeper.join().unwrap();
        assert!(after.since(before) >= Duration::from_micros(50), "{:?}", after.since(before));
    });
    assert!(report.per_thread[1].off > 300_000, "{:?}", report.per_thread);
    assert!(report.nanos > 350_000 && report.nanos < 600_000, "{}", report.nanos);
}

#[test]
fn time_is_the_threads_own_and_passes() {
    Simulation::new(machine("vl-16")).run(|| {
        let before = time::now();
        thalweg_sync::hint::work(2000);
        let passed = before.elapsed();
        assert!((1000..1100).contains(&passed.as_nanos()), "{passed:?}: 2000 cycles at 2 GHz");
        assert_eq!(thread::available_parallelism(), 16);
    });
}

#[test]
fn locks_exclude() {
    Simulation::new(machine("arm-32")).run(|| {
        let total = Arc::new(Mutex::new(0));
        thread::scope(|scope| {
            for _ in 0..20 {
                scope.spawn(|| {
                    for _ in 0..20 {
                        let mut total = total.lock().unwrap();
                        let before = *total;
                        thalweg_sync::hint::work(50);
                        thread::yield_now();
                        *total = before + 1;
                    }
                });
            }
        });
        assert_eq!(*total.lock().unwrap(), 400);
    });
}

#[test]
fn a_yield_lets_the_next_one_run() {
    Simulation::new(machine("vl-16")).threads(1).run(|| {
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| done.store(true, Relaxed));
            thread::yield_now();
            assert!(done.load(Relaxed));
        });
    });
}

/// More wait on the second hardware thread, but those must stay there. The first does not give way meanwhile, though its time
/// slice is over: it works without a look at anybody else.
#[test]
fn an_idle_hardware_thread_takes_who_may_move() {
    const MILLI: u64 = 2_000_000;
    Simulation::new(machine("vl-16")).threads(3).run(|| {
        let stay = |cpu: usize, millis: u64| {
            thread::pin_current(cpu).unwrap();
            thalweg_sync::hint::work(millis * MILLI);
        };
        let begin = time::now();
        stay(0, 0);
        thread::scope(|scope| {
            for millis in [300, 1, 1] {
                scope.spawn(move || stay(1, millis));
                thread::sleep(Duration::from_millis(1));
            }
            scope.spawn(|| thalweg_sync::hint::work(20 * MILLI));
            let waits = scope.spawn(time::now);
            thalweg_sync::hint::work(200 * MILLI);
            let waited = waits.join().unwrap().since(begin);
            assert!((20..30).contains(&waited.as_millis()), "{waited:?}");
        });
    });
}

/// A deadline that nobody waits for any more ends no run, neither one that is done nor one that stands still.
#[test]
fn who_was_woken_before_its_deadline_has_none() {
    // The second is later than any time that the machine has.
    for hours in [1, 24 * 365] {
        let timeout = Duration::from_secs(3600 * hours);
        let woken = move || {
            let parker = Parker::new();
            let unparker = parker.unparker();
            let other = thread::spawn(move || {
                thread::sleep(Duration::from_micros(100));
                unparker.unpark();
            });
            assert!(parker.park_timeout(timeout));
            other.join().unwrap();
        };
        Simulation::new(machine("vl-16")).run(woken);
        let lonely = move || {
            woken();
            Parker::new().park();
        };
        let failure = Simulation::new(machine("vl-16")).try_run(lonely).unwrap_err();
        assert!(matches!(failure, Failure::Deadlock { .. }), "{failure}");
        let patient = move || assert!(!Parker::new().park_timeout(timeout));
        let failure = Simulation::new(machine("vl-16")).try_run(patient).unwrap_err();
        assert!(matches!(failure, Failure::TimeLimit { .. }), "{failure}");
    }
}

#[test]
fn a_deadlock_says_who_waits_where() {
    let lonely = || {
        let never = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| spin::until(|| never.load(SeqCst).then_some(())));
        });
    };
    let failure = Simulation::new(machine("vl-16")).try_run(lonely).unwrap_err();
    let Failure::Deadlock { waiting, .. } = &failure else { panic!("{failure}") };
    assert_eq!(waiting.iter().map(|waiting| waiting.thread).collect::<Vec<_>>(), [0, 1]);
    assert_eq!((waiting[0].reason, waiting[1].reason), (Reason::Join { thread: 1 }, Reason::Spin));
    assert!(failure.to_string().contains("runs.rs"), "{failure}");
}

#[test]
fn locks_that_wait_for_each_other_are_named_at_the_limit() {
    let crossed = || {
        let (one, other) = (Mutex::new(()), Mutex::new(()));
        let met = AtomicU32::new(0);
        thread::scope(|scope| {
            for (first, second) in [(&one, &other), (&other, &one)] {
                let met = &met;
                scope.spawn(move || {
                    let _first = first.lock().unwrap();
                    met.fetch_add(1, Relaxed);
                    spin::until(|| (met.load(Relaxed) == 2).then_some(()));
                    drop(second.lock().unwrap());
                });
            }
        });
    };
    let failure = Simulation::new(machine("vl-16")).limit(100_000).try_run(crossed).unwrap_err();
    let Failure::TimeLimit { waiting, .. } = &failure else { panic!("{failure}") };
    let reasons: Vec<_> = waiting.iter().map(|waiting| waiting.reason).collect();
    assert_eq!(reasons, [Reason::Join { thread: 1 }, Reason::Poll, Reason::Poll]);
    assert!(
        failure.to_string().contains("thread 2 tries again and again at crates/thalweg-sim/tests/runs.rs"),
        "{failure}"
    );
}

#[test]
fn who_pauses_in_a_loop_is_named_at_the_limit_and_who_has_paused_is_not() {
    let never = || {
        let word = AtomicU32::new(0);
        thread::scope(|scope| {
            scope.spawn(|| {
                (1..5).for_each(spin::pause);
                hint::work(u64::from(u32::MAX));
            });
            scope.spawn(|| {
                let mut tries = 0;
                while word.fetch_add(1, Relaxed) < u32::MAX {
                    tries += 1;
                    spin::pause(tries);
                }
            });
        });
    };
    let failure = Simulation::new(machine("vl-16")).limit(100_000).try_run(never).unwrap_err();
    let Failure::TimeLimit { waiting, .. } = &failure else { panic!("{failure}") };
    let named: Vec<_> = waiting.iter().filter(|waiting| waiting.reason == Reason::Poll).collect();
    assert_eq!(named.iter().map(|waiting| waiting.thread).collect::<Vec<_>>(), [2], "{failure}");
    assert!(named[0].at.file().ends_with("runs.rs"), "{failure}");
}

#[test]
fn a_livelock_ends_at_the_limit() {
    let restless = || {
        let word = AtomicU64::new(0);
        spin::until(|| (word.fetch_add(1, Relaxed) == u64::MAX).then_some(()))
    };
    let failure = Simulation::new(machine("vl-16")).limit(100_000).try_run(restless).unwrap_err();
    assert!(matches!(failure, Failure::TimeLimit { .. }), "{failure}");
}

#[test]
fn a_panic_ends_the_run_and_leaks_nothing() {
    let alive = std::sync::Arc::new(());
    let client = || {
        let (tx, rx) = mpmc::with_capacity_and_wait(16, Yield).unwrap();
        thread::scope(|scope| {
            scope.spawn(|| {
                let _held = alive.clone();
                while rx.pop().is_ok() {}
            });
            (0..10).for_each(|_| tx.push(alive.clone()).unwrap());
            // The consumer, which is unwound where it stands, has nothing in hand by then.
            thread::sleep(Duration::from_micros(50));
            panic!("on purpose");
        });
    };
    let failure = Simulation::new(machine("x86-40")).try_run(client).unwrap_err();
    assert!(matches!(&failure, Failure::Panic { thread: 0, message, .. } if message == "on purpose"), "{failure}");
    assert_eq!(std::sync::Arc::strong_count(&alive), 1);
    let caught = catch_unwind(AssertUnwindSafe(|| Simulation::new(machine("vl-16")).run(|| panic!("again"))));
    assert!(caught.is_err());
}

/// Those who wait for what the panicking thread does not do any more are not what went wrong.
#[test]
fn a_panic_in_a_scope_is_told_though_others_wait() {
    let client = || {
        let never = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| spin::until(|| never.load(Acquire).then_some(())));
            thread::sleep(Duration::from_micros(50));
            panic!("on purpose");
        });
    };
    let failure = Simulation::new(machine("vl-16")).try_run(client).unwrap_err();
    assert!(matches!(&failure, Failure::Panic { thread: 0, message, .. } if message == "on purpose"), "{failure}");
}

/// Nobody else may run meanwhile: to the standard library they would all be panicking.
#[test]
fn who_unwinds_keeps_its_hardware_thread() {
    struct Pins;
    impl Drop for Pins {
        fn drop(&mut self) {
            thread::pin_current(1).unwrap();
        }
    }
    let client = || {
        let never = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| spin::until(|| never.load(Acquire).then_some(())));
            let _pins = Pins;
            panic!("on purpose");
        });
    };
    let failure = Simulation::new(machine("vl-16")).threads(2).try_run(client).unwrap_err();
    assert!(matches!(&failure, Failure::Panic { thread: 0, message, .. } if message == "on purpose"), "{failure}");
}

#[test]
fn work_has_an_end_in_time() {
    let busy = || thalweg_sync::hint::work(u64::MAX);
    for name in ["vl-16", "x86-88t"] {
        let failure = Simulation::new(machine(name)).try_run(busy).unwrap_err();
        assert!(matches!(failure, Failure::TimeLimit { .. }), "{failure}");
    }
}

#[test]
fn memory_that_there_is_not_is_refused_as_natively() {
    Simulation::new(machine("vl-16")).run(|| {
        let mut bytes = Vec::<u8>::new();
        assert!(bytes.try_reserve_exact(isize::MAX as usize / 2).is_err());
        bytes.push(1);
        assert_eq!(bytes, [1]);
    });
}

#[test]
fn a_machine_has_so_many_threads_and_no_more() {
    let failure = Simulation::new(machine("vl-16")).threads(17).try_run(|| ()).unwrap_err();
    assert!(matches!(failure, Failure::Machine(MachineError::TooManyThreads { asked: 17, threads: 16, .. })));
    assert!(failure.to_string().contains("ask for 1 to 16"), "{failure}");
    assert!(Simulation::new(machine("vl-16")).threads(0).try_run(|| ()).is_err());
    let error = Machine::from_file("no-such-machine.toml").unwrap_err();
    assert!(error.to_string().contains("no-such-machine.toml"), "{error}");
}

/// As with the allocators that there are, memory that one thread allocates and another frees goes around.
#[test]
fn boxed_messages_use_the_same_lines_again() {
    let report = Simulation::new(machine("x86-88t")).run(|| {
        let (mut tx, mut rx) = spsc::with_wait::<Box<AtomicU64>, _>(4, 16, Yield).unwrap();
        thread::scope(|scope| {
            scope.spawn(move || (0..5_000).for_each(|n| tx.push(Box::new(AtomicU64::new(n))).unwrap()));
            scope.spawn(move || {
                let mut next = 0;
                while let Ok(message) = rx.pop() {
                    assert_eq!(message.fetch_add(1, Relaxed), next);
                    next += 1;
                }
            });
        });
    });
    let first_touches = report.counts.memory_reads.total() + report.counts.prefetches.memory_reads;
    assert!(first_touches < 500, "5000 messages in {first_touches} lines");
}

#[test]
fn a_seed_decides_who_comes_late_from_a_gate() {
    // When each of six threads goes on, after the first of them.
    let through = |seed: u64, most: u64| {
        let gate = || {
            let ready = CachePadded(AtomicU64::new(0));
            let go_on = || {
                ready.fetch_add(1, AcqRel);
                spin::until(|| (ready.load(Acquire) == 6).then_some(()));
                let before = time::now();
                thalweg_sim::jitter();
                before.elapsed().as_nanos() as u64
            };
            thread::scope(|scope| {
                let threads: Vec<_> = (0..6).map(|_| scope.spawn(go_on)).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
            })
        };
        Simulation::new(machine("x86-88t")).seed(seed).jitter(most).try_run(gate).unwrap().0
    };
    let [one, same, other] = [1, 1, 2].map(|seed| through(seed, 10_000));
    assert_eq!(one, same);
    assert_ne!(one, other);
    for late in [&one, &other] {
        let (least, most) = (late.iter().min().unwrap(), late.iter().max().unwrap());
        assert!(*most > least + 2_000 && *most < 10_100, "{late:?}");
    }
    assert!(through(1, 0).iter().all(|late| *late < 100), "no jitter, nobody late");
}
