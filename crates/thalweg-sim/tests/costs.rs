//! What a line is said to have cost is the time that threads stood still for it.
#![cfg(not(loom))]

mod support;

use support::{HEAP, machine};
use thalweg_sim::{Counts, Heap, Prefetch, Report, Simulation};
use thalweg_sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use thalweg_sync::atomic::{AtomicU64, fence};
use thalweg_sync::hint::{Access, prefetch, work};
use thalweg_sync::{CachePadded, spin, thread};

#[global_allocator]
static ALLOCATOR: Heap = HEAP;

#[repr(align(64))]
struct Cell(AtomicU64);

/// A line of each of 40 pages in memory, each further into its page than the one before: no stream.
fn in_memory(each: impl Fn(&AtomicU64) + Sync + Send) -> Report {
    Simulation::new(machine("x86-88t")).jitter(0).run(|| {
        let cells: Vec<_> = std::iter::repeat_with(|| Cell(AtomicU64::new(0))).take(64 * 40).collect();
        (0..40).for_each(|page| each(&cells[page * 64 + page * 7 % 64].0));
    })
}

/// Nanoseconds that threads stood still, and what of these the places and the lines are said to have cost. The first two are equal, save
/// that each thread's and each place's are rounded.
fn waited(report: &Report) -> (f64, f64) {
    let stalled: u64 = report.per_thread.iter().map(|thread| thread.stalled).sum();
    let sites: u64 = report.sites.iter().map(|site| site.cost.nanos).sum();
    let counts = &report.counts;
    let cycles = counts.cycles_in_line + counts.cycles_in_transfer + counts.cycles_for_stores;
    let rounded = (report.per_thread.len() + report.sites.len()) as u64;
    assert!(stalled.abs_diff(sites) <= rounded, "threads waited for {stalled} ns, the places cost {sites}");
    assert!(stalled.abs_diff(cycles / 3) <= rounded, "{stalled} ns are {} cycles, counted were {cycles}", 3 * stalled);
    (stalled as f64, report.lines.iter().map(|line| line.cost.nanos).sum::<u64>() as f64)
}

#[test]
fn who_stands_in_line_waits_for_the_line() {
    let report = Simulation::new(machine("x86-88t")).run(|| {
        let (word, ready) = (CachePadded(AtomicU64::new(0)), CachePadded(AtomicU64::new(0)));
        thread::scope(|scope| {
            for _ in 0..16 {
                scope.spawn(|| {
                    ready.fetch_add(1, AcqRel);
                    spin::until(|| (ready.load(Acquire) == 16).then_some(()));
                    (0..400).for_each(|_| _ = word.fetch_add(1, AcqRel));
                });
            }
        });
    });
    let (stalled, lines) = waited(&report);
    assert!((0.97..1.01).contains(&(lines / stalled)), "{lines} ns of {stalled}");
    // Since all are there, fifteen of sixteen wait at any time.
    let threads = &report.per_thread[1..];
    let begin = threads.iter().map(|thread| thread.started).max().unwrap();
    let time: u64 = threads.iter().map(|thread| thread.ended - begin).sum();
    assert!(stalled / time as f64 > 0.8, "{stalled} ns of {time}");
}

#[test]
fn a_store_costs_what_its_thread_waits_for_it() {
    let buffered = in_memory(|cell| cell.store(1, Release));
    assert!(buffered.counts.memory_reads.total() >= 40);
    assert_eq!(waited(&buffered).0, 0.0, "all find room in the buffer, and nobody waits");
    let fenced = in_memory(|cell| {
        cell.store(1, Release);
        fence(SeqCst);
    });
    let waited = waited(&fenced).0;
    assert!((0.9..1.05).contains(&(waited / (40.0 * 260.0 / 3.0))), "{waited} ns for forty lines of memory");
    assert!(fenced.sites[0].site.contains("tests/costs.rs"), "the store's place, not the fence's: {:?}", fenced.sites);
}

#[test]
fn a_line_that_comes_late_costs_what_is_left_of_its_way() {
    for access in [Access::Read, Access::Write] {
        let report = in_memory(|cell| {
            prefetch(cell, access);
            work(60);
            match access {
                Access::Read => _ = cell.load(Relaxed),
                Access::Write => _ = cell.fetch_add(1, Relaxed),
            }
        });
        let Counts { prefetches, prefetches_used, late_hits, memory_reads, .. } = report.counts;
        assert_eq!((prefetches.memory_reads, prefetches_used, late_hits), (40, 40, 40));
        assert!(memory_reads.total() < 40 && report.counts.memory_transactions() >= 40, "{memory_reads:?}");
        let (waited, left) = (waited(&report).0, 40.0 * (260.0 - 60.0) / 3.0);
        assert!((0.9..1.1).contains(&(waited / left)), "{access:?}: {waited} ns, {left} were left");
    }
}

/// Eight lines in a row that another core has written: two are missed, the others come by themselves.
#[test]
fn what_is_fetched_ahead_is_counted_by_who_answers_and_where_it_was_caused() {
    let read = |prefetch: Prefetch| {
        Simulation::new(machine("x86-88t").with_prefetch(prefetch)).jitter(0).run(|| {
            let cells: Vec<_> = std::iter::repeat_with(|| Cell(AtomicU64::new(0))).take(8).collect();
            cells.iter().for_each(|cell| cell.0.store(1, Release));
            let read = || cells.iter().for_each(|cell| assert_eq!(cell.0.load(Relaxed), 1));
            thread::scope(|scope| _ = scope.spawn(read));
        })
    };
    let (off, on) = (read(Prefetch::None), read(Prefetch::NextLine));
    assert_eq!((off.counts.prefetches.total(), on.counts.prefetches.transfers), (0, 6));
    assert_eq!(off.counts.cache_transfers.total(), on.counts.cache_transfers.total() + 6);
    assert_eq!(off.counts.snoops(), on.counts.snoops(), "somebody has to answer either way");
    assert!((4..=6).contains(&on.counts.late_hits), "nothing is done in between: {}", on.counts.late_hits);
    let caused: Vec<_> = on.sites.iter().filter(|site| site.cost.prefetches.total() > 0).collect();
    assert!(
        matches!(caused[..], [site] if site.cost.prefetches.transfers == 6 && site.cost.transfers == 2),
        "{caused:?}"
    );
    let Counts { accesses, l1_hits, late_hits, l2_hits, sibling_hits, .. } = on.counts;
    let Counts { llc_hits, cache_transfers, upgrades, memory_reads, .. } = on.counts;
    let beyond: u64 = [llc_hits, cache_transfers, upgrades, memory_reads].iter().map(|kind| kind.total()).sum();
    assert_eq!(accesses, l1_hits + late_hits + l2_hits + sibling_hits + beyond, "each access is counted once");
}
