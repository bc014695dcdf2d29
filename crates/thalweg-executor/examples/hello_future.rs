//! The smallest program with futures: tasks that are started, awaited, and panic without harm.
//!
//! `cargo run -p thalweg-executor --example hello_future` prints a greeting, the sum of what a thousand tasks gave, and what became of one that panicked.

use thalweg_executor::{Executor, spawn, yield_now};

fn main() -> Result<(), thalweg_executor::StartError> {
    let executor = Executor::new()?;
    let sum = executor.run(async {
        println!("hello from a task");
        let parts: Vec<_> = (0..1000_u64)
            .map(|n| {
                spawn(async move {
                    yield_now().await; // lets others run
                    n * n
                })
            })
            .collect();
        let mut sum = 0;
        for part in parts {
            sum += part.await.expect("it does not panic");
        }
        sum
    });
    println!("a thousand tasks give {sum}");

    let wrong = executor.run(async { spawn(async { [1, 2, 3].iter().position(|&n| n == 4).expect("a four") }).await });
    println!("a panic comes back at the handle: {}", wrong.is_err());
    Ok(())
}
