//! `tasks/scaling`: divide and conquer by tasks, as in `tasks/parallel`, on more workers than there are here. Calls fork to the end, whatever
//! they work, so a steal is worth what is left below it.

use serde_json::json;
use thalweg_task::{Runtime, fork};

use crate::figures::own::streams::workers;
use crate::worlds;
use crate::worlds::experiment::{Base, Experiment, NANOS, Panel, Setting};
use crate::worlds::point::{Figures, Point, Run};

pub(crate) const EXPERIMENT: Experiment = Experiment::new("tasks/scaling", points)
    .here(&[NANOS])
    .panels(&[Panel::Rate, Panel::SpeedUp(OVER_ONE)])
    .paper(speeds);

const OVER_ONE: Base = Base { unit: "times as fast as one worker", is: |_, other| other.threads == 1 };

/// What each call works besides, in cycles.
const GRAINS: [(u64, [&str; 2]); 2] = [
    (50, ["fib, 50 cycles a call", "n queens, 50 cycles a call"]),
    (500, ["fib, 500 cycles a call", "n queens, 500 cycles a call"]),
];

/// A program: of a size its result, and how many calls that takes.
type Program = fn(u32, u64) -> [u64; 2];

fn fib(n: u32, cycles: u64) -> [u64; 2] {
    worlds::work(cycles);
    if n < 2 {
        return [u64::from(n), 1];
    }
    let ([a, left], [b, right]) = fork(|| fib(n - 1, cycles), || fib(n - 2, cycles));
    [a + b, left + right + 1]
}

fn queens(size: u32, cycles: u64) -> [u64; 2] {
    place((1 << size) - 1, (1 << size) - 1, [0; 3], cycles)
}

/// In how many ways the rest can be placed, with these columns and diagonals taken: at the first of the free places of a row, or at the others.
fn place(board: u32, free: u32, taken: [u32; 3], cycles: u64) -> [u64; 2] {
    worlds::work(cycles);
    let [columns, left, right] = taken;
    let first = free & free.wrapping_neg();
    if free == 0 {
        return [0, 1];
    }
    if free != first {
        let ([a, one], [b, other]) =
            fork(|| place(board, first, taken, cycles), || place(board, free & !first, taken, cycles));
        return [a + b, one + other + 1];
    }
    let columns = columns | free;
    if columns == board {
        return [1, 1];
    }
    let (left, right) = ((left | free) << 1, (right | free) >> 1);
    let [ways, calls] = place(board, board & !(columns | left | right), [columns, left, right], cycles);
    [ways, calls + 1]
}

fn points(setting: &Setting<'_>) -> Vec<Point> {
    // Sizes with as many calls as are to be made, or fewer: none is below a hundred.
    let most = setting.part(300_000, 100);
    let size = |program: Program| {
        let fits = |&size: &u32| program(size, 0)[1] <= most;
        (4..).take_while(fits).last().unwrap_or(4)
    };
    let programs: [(Program, u32); 2] = [(fib, size(fib)), (queens, size(queens))];
    let mut points = Vec::new();
    for (cycles, workloads) in GRAINS {
        for ((program, size), workload) in programs.into_iter().zip(workloads) {
            let [expected, calls] = program(size, 0);
            points.extend(workers(setting.threads).into_iter().map(|workers| Point {
                workload,
                contender: "tasks",
                label: format!("{workers} workers"),
                params: json!({ "calls": calls, "size": size, "workers": workers, "cycles": cycles }),
                threads: workers,
                messages: calls,
                device: None,
                client: Box::new(move || {
                    let runtime = Runtime::builder().workers(workers).start().expect("so many workers can be had");
                    let figures = runtime.run(|| {
                        Figures::timed(calls, || assert_eq!(program(size, cycles), [expected, calls], "it is the same"))
                    });
                    runtime.finish();
                    figures
                }),
            }));
        }
    }
    points
}

/// How many times as fast as one worker.
fn speeds(points: &[Point], measured: &[Vec<Run>]) -> String {
    let mut text = String::new();
    let mut at = 0;
    for curve in points.chunk_by(|one, next| one.workload == next.workload) {
        let nanos: Vec<f64> = curve.iter().zip(&measured[at..]).map(|(point, runs)| point.nanos(runs).median).collect();
        let speeds = curve.iter().zip(&nanos).map(|(point, each)| format!("{} {:.2}", point.threads, nanos[0] / each));
        text +=
            &format!("{:32}times as fast, by workers: {}\n", curve[0].workload, speeds.collect::<Vec<_>>().join(", "));
        at += curve.len();
    }
    text + "\n"
}

#[cfg(all(test, feature = "machines"))]
mod tests {
    use super::*;
    use thalweg_sim::Machine;

    #[test]
    fn eight_workers_are_more_than_twice_as_fast_as_one() {
        assert_eq!((fib(10, 0), queens(6, 0)[0]), ([55, 177], 4));
        let machine = Machine::named("x86-40").unwrap();
        let points = points(&Setting { quick: false, ..Setting::of(&machine, 8) });
        let long: Vec<&Point> = points.iter().filter(|point| point.workload == GRAINS[1].1[0]).collect();
        let nanos = |point: &Point| {
            let run = point.run(&machine, 0).unwrap_or_else(|error| panic!("{}: {error}", point.title()));
            point.nanos(&[run]).median
        };
        let (one, eight) = (nanos(long[0]), nanos(long[long.len() - 1]));
        assert!(one > 2.5 * eight, "{one} ns a call on one worker, {eight} on eight");
    }
}
