//! Tasks that borrow: parts of a vector are sorted at the same time, and merged.
//!
//! `cargo run --example scoped` prints whether the numbers are sorted, and whether all are there. `scope` ends when its tasks have, so they may borrow
//! from around it; `fork` does two things at once if a worker is idle, and costs little if none is.

use thalweg_task::{Runtime, fork, scope};

const NUMBERS: usize = 100_000;

/// Sorts by halves.
fn sort(numbers: &mut [u64]) {
    if numbers.len() < 4096 {
        return numbers.sort_unstable();
    }
    let middle = numbers.len() / 2;
    let (left, right) = numbers.split_at_mut(middle);
    fork(|| sort(left), || sort(right));
    // Two sorted runs, which a stable sort merges.
    numbers.sort();
}

fn main() -> Result<(), thalweg_task::StartError> {
    let mut random = 1_u64;
    let mut numbers: Vec<u64> = std::iter::repeat_with(|| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        random >> 40
    })
    .take(NUMBERS)
    .collect();
    let before: u64 = numbers.iter().sum();

    let runtime = Runtime::new()?;
    let sums = runtime.run(|| {
        sort(&mut numbers);
        // A task for each quarter, which borrows it.
        scope(|scope| {
            let parts: Vec<_> =
                numbers.chunks(NUMBERS / 4).map(|part| scope.spawn(move || part.iter().sum::<u64>())).collect();
            parts.into_iter().map(|part| part.join().expect("it does not panic")).collect::<Vec<_>>()
        })
    });
    println!("{NUMBERS} numbers are sorted: {}", numbers.is_sorted());
    println!(
        "the sums of the quarters rise: {}, none is lost: {}",
        sums.is_sorted(),
        sums.iter().sum::<u64>() == before
    );
    Ok(())
}
