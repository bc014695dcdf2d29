//! The smallest program with tasks: a thousand of them, each with a stack of its own, on all cores.
//!
//! `cargo run --example hello_task` prints a greeting of one task and the sum of what a thousand gave.

use thalweg_task::{Runtime, spawn};

fn main() -> Result<(), thalweg_task::StartError> {
    let runtime = Runtime::new()?;
    let sum = runtime.run(|| {
        let greeting = spawn(|| "hello from a task");
        let parts: Vec<_> = (0..1000_u64).map(|n| spawn(move || n * n)).collect();
        println!("{}", greeting.join().expect("it does not panic"));
        parts.into_iter().map(|part| part.join().expect("it does not panic")).sum::<u64>()
    });
    println!("a thousand tasks give {sum}");
    Ok(())
}
