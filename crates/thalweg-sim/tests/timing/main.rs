//! The machine takes the time that its file says: one kind of access at a time.
#![cfg(not(loom))]

mod ahead;
#[path = "../support/mod.rs"]
mod support;

use std::sync::OnceLock;
use support::{HEAP, machine};
use thalweg_sim::{Counts, Heap, Machine, Prefetch, Simulation};
use thalweg_sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use thalweg_sync::atomic::{AtomicU64, fence};
use thalweg_sync::park::Parker;
use thalweg_sync::{CachePadded, spin, thread, time};

#[global_allocator]
static ALLOCATOR: Heap = HEAP;

/// Cells on lines of their own, side by side.
fn lines(count: usize) -> Vec<AtomicLine> {
    std::iter::repeat_with(|| AtomicLine(AtomicU64::new(0))).take(count).collect()
}

#[repr(align(64))]
struct AtomicLine(AtomicU64);

/// Nanoseconds that `body` takes in a run, and what the run counted.
fn time_of(machine: &Machine, body: impl Fn() -> u64 + Sync) -> (u64, Counts) {
    let (nanos, report) = Simulation::new(machine.clone()).jitter(0).try_run(&body).unwrap();
    (nanos, report.counts)
}

/// The cycles of `x86-88t` in so many nanoseconds.
fn cycles(nanos: u64) -> f64 {
    nanos as f64 * 3.0
}

fn assert_near(what: &str, is: f64, should: f64, percent: f64) {
    assert!((is / should - 1.0).abs() * 100.0 <= percent, "{what}: {is:.1}, not {should:.1} cycles");
}

/// Reads `set` again and again, in an order that no prefetcher follows; cycles for one read.
fn chase(machine: &Machine, set: usize, rounds: usize) -> f64 {
    let (nanos, _) = time_of(machine, || {
        let cells = lines(set);
        let round = || (0..set).for_each(|i| _ = cells[i * 7919 % set].0.load(Relaxed));
        round();
        let before = time::now();
        (0..rounds).for_each(|_| round());
        before.elapsed().as_nanos() as u64
    });
    cycles(nanos) / (set * rounds) as f64
}

#[test]
fn each_level_of_the_caches_takes_its_latency() {
    let machine = machine("x86-88t");
    assert_near("first level", chase(&machine, 100, 20), 5.0 + 1.0, 3.0);
    assert_near("second level", chase(&machine, 8_000, 2), 14.0 + 1.0, 5.0);
    assert_near("last level", chase(&machine, 60_000, 1), 68.0 + 1.0, 5.0);
}

#[test]
fn memory_is_nearer_to_who_touched_it_first() {
    let machine = machine("x86-88t").with_prefetch(Prefetch::None);
    let first_touch = |reader| {
        let (nanos, counts) = time_of(&machine, move || {
            let cells = lines(64 * 200);
            // One line of each page, so that the rest is in memory, and its home is known.
            (0..200).for_each(|page| _ = cells[page * 64].0.load(Relaxed));
            thread::pin_current(reader).unwrap();
            let before = time::now();
            (0..200).for_each(|page| _ = cells[page * 64 + 7].0.load(Relaxed));
            before.elapsed().as_nanos() as u64
        });
        assert!(counts.memory_reads.total() >= 400);
        cycles(nanos) / 200.0
    };
    assert_near("own memory", first_touch(0), 260.0 + 1.0, 5.0);
    assert_near("the other socket's", first_touch(22), 420.0 + 1.0, 5.0);
}

/// A word goes back and forth between two hardware threads; cycles for one way.
fn ping_pong(machine: &Machine, one: usize, other: usize) -> f64 {
    const ROUNDS: u64 = 500;
    let (nanos, _) = time_of(machine, move || {
        let ball = CachePadded(AtomicU64::new(0));
        let taken = OnceLock::new();
        thread::scope(|scope| {
            for (me, cpu) in [(0, one), (1, other)] {
                let (ball, taken) = (&ball, &taken);
                scope.spawn(move || {
                    thread::pin_current(cpu).unwrap();
                    let mut before = time::now();
                    for round in 0..ROUNDS {
                        if round == 100 {
                            before = time::now();
                        }
                        spin::until(|| (ball.load(Acquire) == 2 * round + me).then_some(()));
                        ball.store(2 * round + me + 1, Release);
                    }
                    let _ = taken.set(before.elapsed().as_nanos() as u64);
                });
            }
        });
        *taken.get().unwrap()
    });
    cycles(nanos) / (2.0 * (ROUNDS - 100) as f64)
}

#[test]
fn a_word_crosses_in_a_transfer_and_an_upgrade() {
    // Each looks all the time.
    let machine = with(&[("migratory = true", "migratory = false"), ("pause = 140", "pause = 1")]);
    let (near, far) = (ping_pong(&machine, 1, 2), ping_pong(&machine, 1, 23));
    // The reader takes the line from the writer's cache, then asks the writer, who still shares it, to give it up.
    assert!((130.0..130.0 + 90.0 + 40.0).contains(&near), "{near}");
    assert!((390.0..390.0 + 330.0 + 40.0).contains(&far), "{far}");
    let siblings = ping_pong(&machine, 1, 45);
    assert!(siblings < 130.0, "two threads of one core share its cache: {siblings}");
}

#[test]
fn a_contended_line_has_one_owner_at_a_time_and_goes_around() {
    const EACH: u64 = 400;
    let run = |threads: u64| {
        Simulation::new(machine("x86-88t")).run(move || {
            let (word, go) = (CachePadded(AtomicU64::new(0)), CachePadded(AtomicU64::new(0)));
            thread::scope(|scope| {
                for _ in 0..threads {
                    scope.spawn(|| {
                        spin::until(|| (go.load(Acquire) == 1).then_some(()));
                        (0..EACH).for_each(|_| _ = word.fetch_add(1, AcqRel));
                    });
                }
                // Everybody is there.
                thread::sleep(time::Duration::from_millis(2));
                go.store(1, Release);
            });
        })
    };
    let report = run(16);
    let line = report.lines.iter().max_by_key(|line| line.cost.misses).unwrap();
    assert!(line.cost.misses > 16 * EACH / 8, "{} misses", line.cost.misses);
    assert!(line.cost.misses < 16 * EACH * 3 / 4, "a new owner keeps it for a while: {} misses", line.cost.misses);
    // Each transfer is over before the next begins, save what overlaps with the wait.
    let fastest = line.cost.misses as f64 * (130.0 - 30.0 + 18.0) / 3.0;
    let times: Vec<_> = report.per_thread[1..].iter().map(|thread| thread.ended - 2_000_000).collect();
    let (first, last) = (*times.iter().min().unwrap() as f64, *times.iter().max().unwrap() as f64);
    assert!(last > fastest, "{last} ns for transfers that take {fastest}");
    assert!(last / first < 1.3, "the first ended after {first}, the last after {last}: first come, first served");
}

/// A store comes before one who waits for its line. Before a row of them it does not: else whoever only stores has a contended line whenever it
/// wants it.
#[test]
fn a_store_stands_in_line_behind_a_row_of_others() {
    const STORES: u64 = 100;
    let nanos_for = |others: usize| {
        let (nanos, _) = time_of(&machine("x86-88t"), || {
            let (word, over) = (CachePadded(AtomicU64::new(0)), CachePadded(AtomicU64::new(0)));
            thread::scope(|scope| {
                for _ in 0..others {
                    scope.spawn(|| {
                        while over.load(Relaxed) == 0 {
                            word.fetch_add(1, AcqRel);
                        }
                    });
                }
                thread::sleep(time::Duration::from_millis(2));
                let before = time::now();
                for _ in 0..STORES {
                    word.store(0, Release);
                    // It keeps the line no longer than for one.
                    fence(SeqCst);
                }
                let passed = before.elapsed();
                over.store(1, Relaxed);
                passed.as_nanos() as u64
            })
        });
        cycles(nanos) / STORES as f64
    };
    let (one, many) = (nanos_for(1), nanos_for(8));
    assert!(many > 4.0 * one, "{one:.0} cycles beside one other, {many:.0} beside eight");
}

#[test]
fn stores_wait_in_their_buffer_and_fences_for_them() {
    let machine = machine("x86-88t");
    let stores = |fenced: bool| {
        let (nanos, _) = time_of(&machine, move || {
            let cells = lines(64 * 40);
            let before = time::now();
            for page in 0..40 {
                cells[page * 64].0.store(1, Release);
                if fenced {
                    fence(SeqCst);
                }
            }
            before.elapsed().as_nanos() as u64
        });
        cycles(nanos) / 40.0
    };
    let (buffered, fenced) = (stores(false), stores(true));
    assert!(buffered < 5.0, "forty stores find room in the buffer: {buffered} cycles each");
    assert_near("a store and its fence", fenced, 260.0 + 33.0, 5.0);
    let (nanos, counts) = time_of(&machine, || {
        let cells = lines(64 * 400);
        let before = time::now();
        (0..400).for_each(|page| cells[page * 64].0.store(1, Release));
        before.elapsed().as_nanos() as u64
    });
    assert!(counts.cycles_for_stores > 0 && cycles(nanos) > 400.0, "four hundred do not");
}

#[test]
fn a_sibling_slows_its_core_down_while_it_executes() {
    /// Nanoseconds that hardware thread 1 takes, while another does `beside` until that is over.
    fn time(cpu: usize, beside: impl Fn(&AtomicU64) + Sync) -> f64 {
        let (nanos, _) = time_of(&machine("x86-88t"), || {
            let (over, taken) = (CachePadded(AtomicU64::new(0)), OnceLock::new());
            thread::scope(|scope| {
                scope.spawn(|| {
                    thread::pin_current(1).unwrap();
                    let own = AtomicU64::new(0);
                    let before = time::now();
                    (0..100_000).for_each(|_| _ = own.load(Relaxed));
                    let _ = taken.set(before.elapsed().as_nanos() as u64);
                    over.store(1, Release);
                });
                scope.spawn(|| {
                    thread::pin_current(cpu).unwrap();
                    while over.load(Acquire) == 0 {
                        beside(&over);
                    }
                });
            });
            *taken.get().unwrap()
        });
        nanos as f64
    }
    let loads = |_: &AtomicU64| {
        let own = AtomicU64::new(0);
        (0..100).for_each(|_| _ = own.load(Relaxed));
    };
    // Against the same on another core.
    let slowed = time(45, loads) / time(2, loads);
    assert!((1.35..1.6).contains(&slowed), "it executes: {slowed}");
    // What is left is what the sibling does between its waits.
    let sleep = |over: &AtomicU64| spin::until(|| (over.load(Acquire) == 1).then_some(()));
    let slowed = time(45, sleep) / time(2, sleep);
    assert!((0.99..1.02).contains(&slowed), "it sleeps until a line is written: {slowed}");
    let pause = |_: &AtomicU64| spin::relax(1);
    let slowed = time(45, pause) / time(2, pause);
    assert!((0.99..1.03).contains(&slowed), "it pauses: {slowed}");
}

/// Of seven threads that want one line, six stand in line: as good as nothing is left to a sibling's core.
#[test]
fn a_sibling_in_line_leaves_its_core_to_the_other() {
    let time = |cpu: usize| {
        let (nanos, _) = time_of(&machine("x86-88t"), move || {
            let (word, over) = (CachePadded(AtomicU64::new(0)), CachePadded(AtomicU64::new(0)));
            let taken = OnceLock::new();
            thread::scope(|scope| {
                for other in [cpu, 3, 4, 5, 6, 7, 8] {
                    let (word, over) = (&word, &over);
                    scope.spawn(move || {
                        thread::pin_current(other).unwrap();
                        while over.load(Relaxed) == 0 {
                            word.fetch_add(1, Relaxed);
                        }
                    });
                }
                thread::pin_current(1).unwrap();
                let own = AtomicU64::new(0);
                let before = time::now();
                (0..50_000).for_each(|_| _ = own.load(Relaxed));
                let _ = taken.set(before.elapsed().as_nanos() as u64);
                over.store(1, Release);
            });
            *taken.get().unwrap()
        });
        nanos as f64
    };
    let slowed = time(45) / time(2);
    assert!((0.99..1.12).contains(&slowed), "{slowed}");
}

#[test]
fn neighbours_go_first_where_the_machine_says_so() {
    let text = include_str!("../../machines/x86-88t.toml");
    let far = |near_first: u32| {
        let text = text.replace("near_first = 0", &format!("near_first = {near_first}"));
        let machine = Machine::parse(&text, "x86-88t.toml").unwrap();
        let client = || {
            let (word, ready) = (CachePadded(AtomicU64::new(0)), CachePadded(AtomicU64::new(0)));
            thread::scope(|scope| {
                for me in 0..8 {
                    let (word, ready) = (&word, &ready);
                    scope.spawn(move || {
                        // Half of them on each socket.
                        thread::pin_current(if me < 4 { me } else { 18 + me }).unwrap();
                        ready.fetch_add(1, AcqRel);
                        spin::until(|| (ready.load(Acquire) == 8).then_some(()));
                        (0..500).for_each(|_| _ = word.fetch_add(1, AcqRel));
                    });
                }
            });
            assert_eq!(word.load(Relaxed), 8 * 500);
        };
        let counts = Simulation::new(machine).run(client).counts;
        counts.cache_transfers.other_socket as f64 / counts.cache_transfers.total() as f64
    };
    let (fair, biased) = (far(0), far(6));
    assert!(fair > 0.2, "{fair} of the transfers cross sockets");
    assert!(biased < fair * 0.7, "{biased} of the transfers cross sockets, {fair} without the bias");
}

/// `x86-88t` with other values.
fn with(changes: &[(&str, &str)]) -> Machine {
    let mut text = include_str!("../../machines/x86-88t.toml").to_owned();
    for (from, to) in changes {
        assert_eq!(text.matches(from).count(), 1, "{from}");
        text = text.replace(from, to);
    }
    Machine::parse(&text, "x86-88t.toml").unwrap()
}

#[test]
fn a_reader_that_takes_the_line_over_needs_one_transfer_less() {
    let way =
        |migratory: &str| ping_pong(&with(&[("migratory = true", migratory), ("pause = 140", "pause = 1")]), 1, 2);
    let (migratory, shared) = (way("migratory = true"), way("migratory = false"));
    assert_near("with the line", migratory, 130.0, 10.0);
    assert_near("and the right to write it", shared - migratory, 90.0, 10.0);
}

/// Cycles for each line that a thread writes `stores` times, when another has read all of them since it wrote them last. Between two
/// stores to a line it writes another, if `between`.
fn rewritten(machine: &Machine, stores: u64, between: bool) -> f64 {
    const LINES: usize = 64;
    let (nanos, _) = time_of(machine, move || {
        let (lines, own) = (lines(LINES), CachePadded(AtomicU64::new(0)));
        let write = || {
            let before = time::now();
            for line in &lines {
                for number in 0..stores {
                    line.0.store(number, Relaxed);
                    if between {
                        own.store(number, Relaxed);
                    }
                }
            }
            fence(SeqCst);
            before.elapsed().as_nanos() as u64
        };
        write();
        thread::scope(|scope| {
            scope.spawn(|| lines.iter().for_each(|line| _ = line.0.load(Relaxed)));
        });
        write()
    });
    cycles(nanos) / LINES as f64
}

#[test]
fn a_line_that_was_read_meanwhile_is_claimed_back_so_many_runs_of_stores_ahead() {
    let shared = ("migratory = true", "migratory = false");
    let slow = with(&[
        ("migratory = true", "migratory = false\nreclaims = 5"),
        ("upgrade = 90", "upgrade = 90, reclaim = 300"),
    ]);
    assert_near("five at once", rewritten(&slow, 1, false), 300.0 / 5.0, 10.0);
    assert_near("a run is as one store", rewritten(&slow, 4, false), 300.0 / 5.0, 10.0);
    assert_near("every other run is one", rewritten(&slow, 1, true), 300.0 / 3.0, 10.0);
    assert_near("one after the other", rewritten(&slow, 8, true), 300.0, 10.0);
    let asked = |on: &Machine| time_of(on, || thalweg_sync::machine::slow_upgrades().map_or(0, |line| line as u64)).0;
    assert_eq!((asked(&slow), asked(&with(&[shared]))), (64, 0), "queues are told of it");
    let quick = with(&[shared]);
    assert!(rewritten(&quick, 8, true) < 40.0, "all that the store buffer has room for");
}

#[test]
fn a_pause_and_an_exchange_take_what_the_machine_says() {
    let each = |body: fn(&AtomicU64)| {
        let (nanos, _) = time_of(&with(&[]), move || {
            let word = AtomicU64::new(0);
            let before = time::now();
            (0..1000).for_each(|_| body(&word));
            before.elapsed().as_nanos() as u64
        });
        cycles(nanos) / 1000.0
    };
    assert_near("a pause", each(|_| spin::relax(1)), 140.0, 3.0);
    assert_near("a time", each(|_| spin::relax_for(|| 100)), 300.0, 3.0);
    let add = each(|word| _ = word.fetch_add(1, Relaxed));
    assert_near("an addition", add, 5.0 + 18.0 + 1.0, 3.0);
    assert_near("an exchange", each(|word| _ = word.compare_exchange(1, 2, Relaxed, Relaxed)), add + 9.0, 3.0);
}

/// Each wait begins anew, and a time slice is given up whenever the program says so.
#[test]
fn a_pause_is_one_up_to_the_64th_in_a_row() {
    let each = |body: fn(u32)| {
        let (nanos, _) = time_of(&with(&[]), move || {
            let before = time::now();
            (1..=1000).for_each(body);
            before.elapsed().as_nanos() as u64
        });
        cycles(nanos) / 1000.0
    };
    assert_near("the first of a row", each(|_| spin::pause(1)), 140.0, 3.0);
    assert_near("a yield", each(|_| thread::yield_now()), 1200.0, 3.0);
    assert_near("pauses in a row", each(spin::pause), 0.064 * 140.0 + 0.936 * 1200.0, 3.0);
}

#[test]
fn an_owner_keeps_a_contended_line_for_as_long_as_the_machine_says() {
    let additions = |hold: u64| {
        let machine = with(&[("hold = 85", &format!("hold = {hold}"))]);
        let report = Simulation::new(machine).jitter(0).run(|| {
            let (word, ready) = (CachePadded(AtomicU64::new(0)), CachePadded(AtomicU64::new(0)));
            thread::scope(|scope| {
                for _ in 0..2 {
                    scope.spawn(|| {
                        ready.fetch_add(1, AcqRel);
                        spin::until(|| (ready.load(Acquire) == 2).then_some(()));
                        (0..2000).for_each(|_| _ = word.fetch_add(1, AcqRel));
                    });
                }
            });
        });
        let line = report.lines.iter().max_by_key(|line| line.cost.misses).unwrap();
        4000.0 / line.cost.misses as f64
    };
    // One when the line comes, and those that take 24 cycles each meanwhile.
    for (hold, each) in [(0, 1.0), (48, 3.0), (96, 5.0)] {
        let is = additions(hold);
        assert!((is - each).abs() <= 1.0, "{is} additions a transfer for {hold} cycles");
    }
}

/// Nanoseconds that `body` says it took, on `x86-88t` with other values.
fn nanos_with(changes: &[(&str, &str)], body: fn() -> time::Duration) -> u64 {
    time_of(&with(changes), || body().as_nanos() as u64).0
}

#[test]
fn the_system_takes_what_the_machine_says() {
    let near = |what: &str, is: u64, should: u64| {
        // Looks at the clock and a few accesses.
        assert!((should..should + 300).contains(&is), "{what}: {is}, not {should} ns");
    };
    let start = || {
        let before = time::now();
        thread::scope(|scope| {
            scope.spawn(|| ());
            before.elapsed()
        })
    };
    near("a start", nanos_with(&[], start), 12_000);
    near("a slow start", nanos_with(&[("spawn = 12000", "spawn = 70000")], start), 70_000);
    let switch = || {
        let before = time::now();
        thread::pin_current(5).unwrap();
        before.elapsed()
    };
    near("a switch", nanos_with(&[], switch), 1_500);
    near("a slow switch", nanos_with(&[("switch = 1500", "switch = 40000")], switch), 40_000);
    let sleep = || {
        let before = time::now();
        thread::sleep(time::Duration::from_micros(10));
        before.elapsed()
    };
    near("ten microseconds and a wake-up", nanos_with(&[], sleep), 10_000 + 3_000);
    near("and a slow one", nanos_with(&[("wake = 3000", "wake = 60000")], sleep), 10_000 + 60_000);
    near("who takes longer to park misses it", nanos_with(&[("park = 1500\nun", "park = 50000\nun")], sleep), 50_000);
}

#[test]
fn who_unparks_another_pays_for_it_and_the_other_comes_a_wake_up_later() {
    let run = |unpark: &str| {
        let machine = with(&[("unpark = 1500", unpark)]);
        let (unparker, paid, came) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        time_of(&machine, || {
            thread::scope(|scope| {
                scope.spawn(|| {
                    let parker = Parker::new();
                    _ = unparker.set(parker.unparker());
                    parker.park();
                    came.set(time::now()).unwrap();
                });
                thread::sleep(time::Duration::from_micros(100));
                let before = time::now();
                unparker.get().unwrap().unpark();
                paid.set((before, before.elapsed().as_nanos() as u64)).unwrap();
            });
            0
        });
        let &(before, paid) = paid.get().unwrap();
        (paid, came.get().unwrap().since(before).as_nanos() as u64)
    };
    for (unpark, nanos) in [("unpark = 1500", 1_500), ("unpark = 20000", 20_000)] {
        let (paid, came) = run(unpark);
        assert!((nanos..nanos + 400).contains(&paid), "{unpark}: {paid} ns");
        assert!((nanos + 3_000..nanos + 3_600).contains(&came), "{unpark}: the other came after {came} ns");
    }
}

#[test]
fn a_request_in_line_has_come_a_part_of_its_way() {
    let addition = |overlap: &str| {
        let report =
            Simulation::new(with(&[("hold = 85", "hold = 0"), ("overlap = 30", overlap)])).jitter(0).run(|| {
                let (word, ready) = (CachePadded(AtomicU64::new(0)), CachePadded(AtomicU64::new(0)));
                thread::scope(|scope| {
                    for _ in 0..4 {
                        scope.spawn(|| {
                            ready.fetch_add(1, AcqRel);
                            spin::until(|| (ready.load(Acquire) == 4).then_some(()));
                            (0..500).for_each(|_| _ = word.fetch_add(1, AcqRel));
                        });
                    }
                });
            });
        let threads = &report.per_thread[1..];
        let began = threads.iter().map(|thread| thread.started).max().unwrap();
        cycles(threads.iter().map(|thread| thread.ended).max().unwrap() - began) / (4.0 * 500.0)
    };
    let [all, some, half] = ["overlap = 0", "overlap = 30", "overlap = 1000"].map(addition);
    assert_near("of a transfer and an addition", all, 130.0 + 18.0, 4.0);
    assert_near("less what overlaps", all - some, 30.0, 10.0);
    assert_near("half of the way at most", all - half, 65.0, 10.0);
}

#[test]
fn who_reads_what_is_clean_waits_for_the_others_requests_only() {
    // One takes the line from the writer's cache; the seven others find it in the last level.
    let last = |clean: &str| {
        let machine = with(&[("migratory = true", "migratory = false"), ("clean = 12", clean)]);
        let (nanos, _) = time_of(&machine, || {
            let word = CachePadded(AtomicU64::new(0));
            word.store(1, Relaxed);
            let took: Vec<_> = (0..8).map(|_| OnceLock::new()).collect();
            thread::scope(|scope| {
                for (reader, took) in took.iter().enumerate() {
                    let word = &word;
                    scope.spawn(move || {
                        thread::pin_current(1 + reader).unwrap();
                        // All at one moment.
                        thread::sleep(time::Duration::from_millis(1).saturating_sub(now()));
                        let before = time::now();
                        assert_eq!(word.load(Relaxed), 1);
                        took.set(before.elapsed().as_nanos() as u64).unwrap();
                    });
                }
            });
            took.iter().map(|took| *took.get().unwrap()).max().unwrap()
        });
        cycles(nanos)
    };
    assert_near(
        "six requests between the first and the last",
        last("clean = 312") - last("clean = 12"),
        6.0 * 300.0,
        5.0,
    );
}

#[test]
fn transfers_take_turns_on_the_network_of_their_die() {
    let reads = |die: &str| {
        let machine = with(&[("die = 1\nlink", die)]).with_prefetch(Prefetch::None);
        let (nanos, _) = time_of(&machine, || {
            let cells = lines(64 * 50);
            let took: Vec<_> = (0..8).map(|_| OnceLock::new()).collect();
            thread::scope(|scope| {
                for (reader, took) in took.iter().enumerate() {
                    let cells = &cells;
                    scope.spawn(move || {
                        thread::pin_current(1 + reader).unwrap();
                        thread::sleep(time::Duration::from_millis(1).saturating_sub(now()));
                        let before = time::now();
                        (0..50).for_each(|page| _ = cells[page * 64 + 7 * reader].0.load(Relaxed));
                        took.set(before.elapsed().as_nanos() as u64).unwrap();
                    });
                }
            });
            took.iter().map(|took| *took.get().unwrap()).max().unwrap()
        });
        cycles(nanos)
    };
    assert_near("side by side", reads("die = 1\nlink"), 50.0 * 261.0, 5.0);
    assert_near("one by one", reads("die = 100\nlink"), 8.0 * 50.0 * 100.0, 5.0);
}

/// The time of this moment, since the run began.
fn now() -> time::Duration {
    time::now().since(time::Instant::default())
}

/// Cycles for a read by hardware thread 0 of what another has written.
fn taken_from(machine: &str, writer: usize) -> f64 {
    const LINES: usize = 100;
    let machine = Machine::named(machine).unwrap().with_prefetch(Prefetch::None);
    let (nanos, _) = time_of(&machine, || {
        let cells = lines(LINES);
        thread::pin_current(writer).unwrap();
        cells.iter().for_each(|cell| cell.0.store(1, Relaxed));
        thread::sleep(time::Duration::from_millis(1));
        thread::pin_current(0).unwrap();
        let before = time::now();
        cells.iter().for_each(|cell| _ = cell.0.load(Relaxed));
        before.elapsed().as_nanos() as u64
    });
    nanos as f64 * machine.mhz() as f64 / 1000.0 / LINES as f64
}

#[test]
fn a_line_takes_as_long_as_it_comes_from_far() {
    assert_near("from the other core of the pair", taken_from("arm-32", 1), 30.0 + 1.0, 5.0);
    assert_near("from another pair", taken_from("arm-32", 2), 160.0 + 1.0, 5.0);
    assert_near("within the die", taken_from("arm-96t", 23), 120.0 + 1.0, 5.0);
    assert_near("from the other die", taken_from("arm-96t", 24), 200.0 + 1.0, 5.0);
    assert_near("from the other socket", taken_from("arm-96t", 48), 400.0 + 1.0, 5.0);
}
