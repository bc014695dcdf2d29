//! Rows as text.

use std::fmt::Write;

/// Rows in columns, the first one to the left and the others to the right.
pub(crate) fn aligned(rows: &[Vec<String>]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..rows[0].len()).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = format!("  {:<width$}", row[0], width = widths[0]);
        for (cell, width) in row.iter().zip(&widths).skip(1) {
            write!(line, "  {cell:>width$}").expect("a String takes everything");
        }
        writeln!(text, "{}", line.trim_end()).expect("a String takes everything");
    }
    text
}
