//! StreamIt's form of runtime, small: a static schedule, and a barrier behind each steady state. What `danbi/others` runs beside our streams.
//!
//! After M. I. Gordon's thesis *Compiler Techniques for Scalable Performance of Stream Programs on Multicore Architectures* (MIT, 2010), which
//! is what DANBI's paper compares itself with. What kernels cost is known before the run. A parallel kernel is split into pieces, so that
//! cores can share it; a sequential one is not. The pieces are dealt out to the cores, the longest first, each to the core that has the least
//! so far. The pipeline is in software: a kernel works on what the one before it made in the steady state before, so that pieces of a steady
//! state wait for nobody, and each edge has two halves of a buffer, which change roles at the barrier.
//!
//! Different from there: kernels are not fused, and a piece of a windowed kernel does not read the window of its neighbour again, which it
//! does not pay for.

use std::ops::Range;

use thalweg_sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use thalweg_sync::atomic::{AtomicUsize, Counter};
use thalweg_sync::hint::{self, Access};
use thalweg_sync::{CachePadded, spin};

use crate::worlds::point::{Figures, Role, together};

/// The names of what is done, whose shares are the figure's.
pub(crate) const APPLICATION: &str = "application";
pub(crate) const RUNTIME: &str = "runtime";

/// Pieces that a core would have of equal ones: more, and the schedule is as even as the costs allow.
const PIECES: f64 = 4.0;

/// A kernel in a steady state.
#[derive(Clone, Debug)]
pub(crate) struct Kernel {
    pub(crate) parallel: bool,
    /// How often it fires, and what it costs each time, in nanoseconds.
    pub(crate) firings: u64,
    pub(crate) nanos: f64,
}

/// What goes from a kernel to another in a steady state.
#[derive(Clone, Debug)]
pub(crate) struct Edge {
    pub(crate) ends: (usize, usize),
    pub(crate) bytes: usize,
}

/// A steady state of a program.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) kernels: Vec<Kernel>,
    pub(crate) edges: Vec<Edge>,
}

/// Some firings of a kernel, on one core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    kernel: usize,
    firings: Range<u64>,
}

impl Program {
    /// What one core needs for a steady state.
    pub(crate) fn nanos(&self) -> f64 {
        self.kernels.iter().map(|kernel| kernel.firings as f64 * kernel.nanos).sum()
    }

    /// What each core does in a steady state.
    fn schedule(&self, cores: usize) -> Vec<Vec<Piece>> {
        let most = self.nanos() / cores as f64 / PIECES;
        let mut pieces = Vec::new();
        for (number, kernel) in self.kernels.iter().enumerate() {
            let whole = kernel.firings as f64 * kernel.nanos;
            let count = if kernel.parallel && cores > 1 { (whole / most).ceil() as u64 } else { 1 };
            let count = count.clamp(1, kernel.firings.max(1));
            let at = |piece: u64| kernel.firings * piece / count;
            pieces.extend((0..count).map(|piece| Piece { kernel: number, firings: at(piece)..at(piece + 1) }));
        }
        let cost = |piece: &Piece| self.cost(piece);
        // Stable: the same schedule every time.
        pieces.sort_by(|a, b| cost(b).total_cmp(&cost(a)));
        let mut lists: Vec<(f64, Vec<Piece>)> = vec![Default::default(); cores];
        for piece in pieces {
            let least = lists.iter_mut().min_by(|a, b| a.0.total_cmp(&b.0)).expect("there is a core");
            least.0 += cost(&piece);
            least.1.push(piece);
        }
        lists.into_iter().map(|(_, list)| list).collect()
    }

    fn cost(&self, piece: &Piece) -> f64 {
        (piece.firings.end - piece.firings.start) as f64 * self.kernels[piece.kernel].nanos
    }
}

/// The textbook's barrier of a count and a phase, on lines of their own. The last one to come lets the others go.
#[derive(Default)]
struct Barrier {
    missing: CachePadded<AtomicUsize>,
    phase: CachePadded<AtomicUsize>,
}

impl Barrier {
    fn wait(&self, of: usize) {
        // Relaxed: it does not change before this thread has come.
        let phase = self.phase.load(Relaxed);
        // AcqRel: what all did before is before what any of them does after, by the chain of these and the store that ends it.
        if self.missing.fetch_add(1, AcqRel) + 1 == of {
            // Relaxed: nobody looks before the store below lets them go.
            self.missing.store(0, Relaxed);
            self.phase.store(phase + 1, Release);
        } else {
            spin::until(|| (self.phase.load(Acquire) != phase).then_some(()));
        }
    }
}

/// Runs so many steady states on the first `cores` hardware threads; the unit of the task [`APPLICATION`] has the price of a nanosecond.
/// Gives the figures, and how often each kernel fired.
pub(crate) fn run(program: &Program, cores: usize, steady_states: u64, messages: u64) -> (Figures, Vec<u64>) {
    let buffers: Vec<[Vec<u8>; 2]> = program.edges.iter().map(|edge| [0, 0].map(|_: u8| vec![0; edge.bytes])).collect();
    let barrier = Barrier::default();
    let fired: Vec<Counter> = program.kernels.iter().map(|_| Counter::new()).collect();
    let roles = program.schedule(cores).into_iter().enumerate().map(|(core, list)| {
        let (buffers, barrier, fired) = (&buffers, &barrier, &fired);
        let role: Role<'_> = Box::new(move || {
            let _task = hint::task(RUNTIME);
            for state in 0..steady_states as usize {
                for piece in &list {
                    let _task = hint::task(APPLICATION);
                    program.touch(piece, buffers, state);
                    hint::gives(program.cost(piece).round() as u64);
                    // On the host all threads of a run are one.
                    fired[piece.kernel].add(piece.firings.end - piece.firings.start);
                }
                barrier.wait(cores);
            }
        });
        (core, role)
    });
    let figures = together(messages, roles.collect());
    (figures, fired.iter().map(Counter::get).collect())
}

impl Program {
    /// The parts of its kernel's edges that a piece reads and writes.
    fn touch(&self, piece: &Piece, buffers: &[[Vec<u8>; 2]], state: usize) {
        let all = self.kernels[piece.kernel].firings;
        for (edge, halves) in self.edges.iter().zip(buffers) {
            let at = |firing: u64| edge.bytes * firing as usize / all.max(1) as usize;
            let part = at(piece.firings.start)..at(piece.firings.end);
            let touch = |half: &[u8], how| hint::touch(half[part.clone()].as_ptr(), part.len(), how);
            if edge.ends.1 == piece.kernel {
                touch(&halves[(state + 1) % 2], Access::Read);
            }
            if edge.ends.0 == piece.kernel {
                touch(&halves[state % 2], Access::Write);
            }
        }
    }
}

#[cfg(all(test, feature = "machines"))]
mod tests {
    use super::*;
    use thalweg_sim::{Machine, Price, Simulation, price};

    fn program() -> Program {
        let kernel = |parallel, firings, nanos| Kernel { parallel, firings, nanos };
        Program {
            kernels: vec![
                kernel(false, 8, 0.0),
                kernel(true, 64, 90.0),
                kernel(true, 7, 500.5),
                kernel(false, 8, 20.0),
            ],
            edges: vec![
                Edge { ends: (0, 1), bytes: 512 },
                Edge { ends: (1, 2), bytes: 100 },
                Edge { ends: (2, 3), bytes: 64 },
            ],
        }
    }

    #[test]
    fn every_firing_is_on_one_core_and_a_sequential_kernel_is_whole() {
        let program = program();
        for cores in [1, 2, 3, 7, 40] {
            let lists = program.schedule(cores);
            assert_eq!(lists.len(), cores);
            for (number, kernel) in program.kernels.iter().enumerate() {
                let mut pieces: Vec<_> = lists.iter().flatten().filter(|piece| piece.kernel == number).collect();
                pieces.sort_by_key(|piece| piece.firings.start);
                assert!(kernel.parallel || pieces.len() == 1, "{pieces:?}");
                let mut next = 0;
                for piece in pieces {
                    assert_eq!(piece.firings.start, next, "kernel {number} on {cores} cores");
                    next = piece.firings.end;
                }
                assert_eq!(next, kernel.firings);
            }
        }
    }

    #[test]
    fn cores_have_about_the_same() {
        let program = program();
        for cores in [2, 3, 7] {
            let loads: Vec<f64> =
                program.schedule(cores).iter().map(|list| list.iter().map(|piece| program.cost(piece)).sum()).collect();
            let (least, most) = loads.iter().fold((f64::MAX, 0.0_f64), |(a, b), &load| (a.min(load), b.max(load)));
            // A firing cannot be split, so half of the longest one may be too much.
            assert!(most - least <= 501.0, "{loads:?}");
        }
    }

    #[test]
    fn nobody_goes_on_before_all_have_come() {
        Simulation::new(Machine::named("x86-40").unwrap()).threads(5).run(|| {
            let (barrier, come) = (Barrier::default(), AtomicUsize::new(0));
            let roles = (0..5).map(|core| {
                let (barrier, come) = (&barrier, &come);
                let role: Role<'_> = Box::new(move || {
                    for round in 1..=20 {
                        hint::work(1_000 * (core as u64 * round % 7));
                        come.fetch_add(1, Relaxed);
                        barrier.wait(5);
                        let seen = come.load(Relaxed);
                        assert!(seen >= 5 * round as usize, "round {round}: {seen}");
                        barrier.wait(5);
                    }
                });
                (core, role)
            });
            together(1, roles.collect());
        });
    }

    #[test]
    fn every_firing_is_run_once_and_one_core_takes_what_kernels_cost() {
        let machine = Machine::named("x86-40").unwrap();
        for cores in [1, 3, 40] {
            let run = || {
                let mut ran = None;
                let report = Simulation::new(machine.clone()).threads(cores).run(|| {
                    price(APPLICATION, Price { given: 1.0, taken: 0.0 });
                    ran = Some(run(&program(), cores, 10, 80));
                });
                (ran.unwrap(), report)
            };
            let ((figures, fired), report) = run();
            assert_eq!(fired, [80, 640, 70, 80], "on {cores} cores");
            assert_eq!(run(), ((figures.clone(), fired), report), "the same again");
            let faster = 10.0 * program().nanos() / figures.nanos as f64;
            let (least, most) = if cores == 1 { (0.95, 1.0) } else { (0.05, cores as f64) };
            assert!((least..=most).contains(&faster), "{faster} times as fast on {cores} cores");
        }
    }
}
