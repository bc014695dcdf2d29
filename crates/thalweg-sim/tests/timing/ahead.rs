//! What is done while a load waits, and what is fetched before it is needed.

use super::support::machine;
use super::{assert_near, chase, cycles, lines, time_of, with};
use thalweg_sim::{Machine, Prefetch};
use thalweg_sync::atomic::AtomicU64;
use thalweg_sync::atomic::Ordering::Relaxed;
use thalweg_sync::hint::{Access, code, prefetch, work};
use thalweg_sync::{CachePadded, time};

#[test]
fn a_stream_is_fetched_ahead_unless_that_is_off() {
    let stream = |prefetch, stride: usize| {
        let machine = machine("x86-88t").with_prefetch(prefetch);
        time_of(&machine, move || {
            let cells = lines(64 * 30);
            let before = time::now();
            for cell in cells.iter().step_by(stride) {
                cell.0.load(Relaxed);
                work(300);
            }
            before.elapsed().as_nanos() as u64
        })
    };
    let (off, none) = stream(Prefetch::None, 1);
    let (on, some) = stream(Prefetch::NextLine, 1);
    assert_eq!((none.prefetches.total(), none.memory_reads.total() > 64 * 30 - 10), (0, true));
    assert!(some.prefetches_used > 64 * 28, "{some:?}");
    assert!(on as f64 * 1.7 < off as f64, "{on} ns instead of {off}");
    assert_eq!(stream(Prefetch::NextLine, 2).1.prefetches.total(), 0);
    assert!(stream(Prefetch::Stride, 2).1.prefetches_used > 32 * 26);
}

#[test]
fn a_window_lets_a_stream_and_what_follows_a_miss_go_on() {
    // All lines of pages that are in memory, eight words each.
    let stream = |machine: &Machine| {
        let (nanos, _) = time_of(machine, || {
            let words: Vec<_> = (0..8 * 64 * 20).map(|_| AtomicU64::new(0)).collect();
            let before = time::now();
            words.iter().for_each(|word| _ = word.load(Relaxed));
            before.elapsed().as_nanos() as u64
        });
        cycles(nanos) / (64.0 * 20.0)
    };
    let [wide, narrow, none] =
        [32, 16, 0].map(|window| stream(&with(&[("window = 18", &format!("window = {window}"))])));
    // A line of memory in 260 cycles: four, two, one under way at once.
    assert_near("four lines", wide, 65.0, 15.0);
    assert_near("two lines", narrow, 130.0, 10.0);
    assert_near("one line", none, 260.0, 10.0);
    let behind = |machine: &Machine| {
        let (nanos, _) = time_of(machine, || {
            let (hot, cold) = (CachePadded(AtomicU64::new(0)), lines(64 * 50));
            let before = time::now();
            for page in 0..50 {
                _ = cold[page * 64 + page * 7 % 64].0.load(Relaxed);
                (0..60).for_each(|_| hot.store(1, Relaxed));
            }
            before.elapsed().as_nanos() as u64
        });
        cycles(nanos) / 50.0
    };
    // Two cycles for a store, of which the window has room for eighteen.
    assert_near("a miss, and sixty stores behind it", behind(&with(&[])), 261.0 + 2.0 * 42.0, 4.0);
    assert_near("in order", behind(&with(&[("window = 18", "window = 0")])), 261.0 + 120.0, 4.0);
}

/// What the program says of its code takes the place of the twelve instructions that an access stands for.
#[test]
fn code_of_known_length_takes_its_time_and_its_room_in_the_window() {
    let machine = with(&[("code_percent = 33", "code_percent = 40")]);
    let hits = |instructions: u64| {
        let (nanos, _) = time_of(&machine, || {
            let hot = CachePadded(AtomicU64::new(0));
            let before = time::now();
            (0..500).for_each(|_| match instructions {
                0 => hot.store(1, Relaxed),
                // Nested, they add up, and what is not a whole cycle is not lost.
                _ => code(instructions - 7, || code(7, || hot.store(1, Relaxed))),
            });
            before.elapsed().as_nanos() as u64
        });
        cycles(nanos) / 500.0
    };
    assert_near("thirty-three instructions", hits(33) - hits(0), 13.2, 3.0);
    // A miss, then a hundred accesses of two cycles each; the window has room for 216 instructions.
    let behind = |each: &(dyn Fn(&AtomicU64) + Sync)| {
        let (nanos, _) = time_of(&machine, || {
            let (hot, cold) = (CachePadded(AtomicU64::new(0)), lines(64 * 50));
            let before = time::now();
            for page in 0..50 {
                _ = cold[page * 64 + page * 7 % 64].0.load(Relaxed);
                (0..100).for_each(|_| each(&hot));
            }
            before.elapsed().as_nanos() as u64
        });
        cycles(nanos) / 50.0
    };
    let store = |word: &AtomicU64| word.store(1, Relaxed);
    assert_near("nothing is said: eighteen are done meanwhile", behind(&store), 261.0 + 2.0 * 82.0, 4.0);
    // Each takes 0.8 cycles more then.
    assert_near("all are", behind(&|word| code(2, || store(word))), 261.0 + 280.0 - 260.0, 4.0);
    assert_near("fifty-four are", behind(&|word| code(4, || store(word))), 261.0 + 3.6 * 46.0, 4.0);
    assert_near("nor is work", behind(&|word| code(2, || (store(word), work(10)).0)), 261.0 + 1280.0 - 260.0, 4.0);
    assert_near("after it, all is as before", behind(&|word| (code(0, || ()), store(word)).1), 261.0 + 2.0 * 82.0, 4.0);
}

#[test]
fn a_stream_of_short_code_has_more_lines_under_way() {
    let stream = |instructions: Option<u64>| {
        let (nanos, _) = time_of(&with(&[]), || {
            let words: Vec<_> = (0..8 * 64 * 20).map(|_| AtomicU64::new(0)).collect();
            let before = time::now();
            words.iter().for_each(|word| {
                _ = match instructions {
                    None => word.load(Relaxed),
                    Some(instructions) => code(instructions, || word.load(Relaxed)),
                }
            });
            before.elapsed().as_nanos() as u64
        });
        cycles(nanos) / (64.0 * 20.0)
    };
    // 216 instructions: two lines of eight loads with twelve each, four with six, none with thirty.
    assert_near("nothing is said", stream(None), 130.0, 10.0);
    assert_near("twelve, as if nothing was", stream(Some(12)), 130.0, 15.0);
    assert_near("six", stream(Some(6)), 65.0, 20.0);
    assert_near("thirty", stream(Some(30)), 260.0, 15.0);
}

#[test]
fn a_chain_of_misses_does_not_overlap() {
    assert_near("a chain in the last level", chase(&machine("x86-88t"), 60_000, 1), 68.0 + 1.0, 5.0);
}

#[test]
fn a_line_that_was_asked_for_is_there_when_it_is_used() {
    let loads = |ahead: usize, cycles_of_work| {
        let (nanos, counts) = time_of(&with(&[]), move || {
            let cells = lines(64 * 50);
            let cell = |page: usize| &cells[page * 64 + page * 7 % 64].0;
            let before = time::now();
            for page in 0..50 {
                if ahead > 0 && page + ahead < 50 {
                    prefetch(cell(page + ahead), Access::Write);
                }
                work(cycles_of_work);
                _ = cell(page).fetch_add(1, Relaxed);
            }
            before.elapsed().as_nanos() as u64
        });
        (cycles(nanos) / 50.0, counts.prefetches.total())
    };
    let [(off, none), (late, asked), (early, _)] = [loads(0, 50), loads(1, 50), loads(1, 200)];
    assert_eq!((none, asked), (0, 49));
    assert_near("not asked for", off, 50.0 + 260.0 + 19.0, 4.0);
    // Two rounds take as long as a line that is asked for in the one and used in the other.
    assert_near("on its way", late, (260.0 + 20.0) / 2.0, 6.0);
    assert_near("there", early, 200.0 + 25.0, 6.0);
}
