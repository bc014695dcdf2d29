//! The sequential program.

use super::table::Table;
use super::{Config, Passed};
use crate::Result;

/// Chases one message after the other.
///
/// # Errors
///
/// As [`run`](super::run).
pub fn chase(config: &Config) -> Result<Passed> {
    config.check()?;
    let (table, mut passed) = (Table::new(config.lines, config.segment), Passed::default());
    for sequence in 0..config.messages {
        let chunk = table.generate(sequence);
        if config.filter(&table, chunk).0 {
            for _ in 0..config.copies {
                std::hint::black_box(table.walk(chunk));
            }
            passed.add(&table, chunk);
        }
    }
    Ok(passed)
}
