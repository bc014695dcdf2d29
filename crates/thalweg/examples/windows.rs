//! Windows over the samples of a sensor: sliding, in steps, and by the time that samples carry.
//!
//! `cargo run --example windows` prints the mean of each window. Ten samples do not fill windows of four without rest: `window` leaves the rest out
//! and counts it in the report, `window_partial` gives it as a shorter window. `window_by_time` counts a sample that comes too late.

use thalweg::operators::Skipped;
use thalweg::prelude::*;

#[derive(Clone, Copy)]
struct Sample {
    millis: u64,
    celsius: f64,
}

fn mean(samples: &[Sample]) -> f64 {
    samples.iter().map(|sample| sample.celsius).sum::<f64>() / samples.len() as f64
}

fn main() -> Result<(), thalweg::Error> {
    // Every 7 ms; the eighth has been under way for long.
    let samples = (0..10).map(|n| Sample { millis: if n == 7 { 12 } else { 7 * n }, celsius: 20.0 + n as f64 });
    let late = Skipped::new();

    let mut graph = Graph::new();
    let all = graph.source(samples);
    let [first, second, third, fourth] = graph.tee(all);
    // Four at a time, one further each time.
    let sliding = graph.window(4, 1, |four: &[Sample], out: &mut Output<f64>| out.push(mean(four)));
    // Four at a time, without overlap.
    let whole = graph.window(4, 4, |four: &[Sample], out: &mut Output<f64>| out.push(mean(four)));
    // The same, and the two that are left.
    let steps = graph.window_partial(4, 4, |some: &[Sample], out| out.push((some.len(), mean(some))));
    // What was measured within the same 20 ms.
    let timed = graph.window_by_time(20, |sample: &Sample| sample.millis, &late);
    let (sliding_end, sliding_means) = graph.collect();
    let (whole_end, whole_means) = graph.collect();
    let (steps_end, step_means) = graph.collect();
    let (timed_end, windows) = graph.collect();
    graph += first >> sliding >> sliding_end;
    graph += second >> whole >> whole_end;
    graph += third >> steps >> steps_end;
    graph += fourth >> timed >> timed_end;
    let report = graph.run(Scheme::default())?;

    let left: u64 = report.edges.iter().map(|edge| edge.left_over).sum();
    println!("sliding: {:?}", sliding_means.take());
    println!("whole: {:?}, {left} samples left", whole_means.take());
    for (count, mean) in step_means.take() {
        println!("in steps: mean of {count} is {mean}");
    }
    for (begin, samples) in windows.take() {
        println!("from {begin:>2} ms: mean of {} is {}", samples.len(), mean(&samples));
    }
    println!("{} came too late", late.count());
    Ok(())
}
