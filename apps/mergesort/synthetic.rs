//! Made-up records, for trying things out and for tests.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use super::Form;
use crate::{Error, Result};

/// Syllables that lines are made of.
const SYLLABLES: [&str; 16] =
    ["ba", "de", "fi", "go", "hu", "ka", "le", "mi", "no", "pu", "ra", "se", "ti", "vo", "wu", "za"];

/// Made-up records, the same in every run.
pub(super) struct Records {
    form: Form,
    left: u64,
    random: fastrand::Rng,
}

impl Records {
    pub(super) fn new(form: Form, count: u64) -> Self {
        Self { form, left: count, random: fastrand::Rng::with_seed(7) }
    }

    /// Some more, about `bytes` of them; none at the end.
    pub(super) fn some(&mut self, bytes: usize) -> Vec<u8> {
        let mut records = Vec::with_capacity(bytes + 64);
        while self.left > 0 && records.len() < bytes {
            self.left -= 1;
            match self.form {
                Form::Integers => records.extend(self.random.i32(..).to_le_bytes()),
                Form::Lines => {
                    let syllables = self.random.usize(1..8);
                    let word = (0..syllables).map(|_| SYLLABLES[self.random.usize(0..SYLLABLES.len())]);
                    word.for_each(|syllable| records.extend(syllable.bytes()));
                    records.push(b'\n');
                }
            }
        }
        records
    }
}

/// Writes so many made-up records to a file.
///
/// # Errors
///
/// [`Error::File`] if it cannot be written.
pub fn write(form: Form, count: u64, path: &Path) -> Result<()> {
    let write = || {
        let mut file = BufWriter::new(File::create(path)?);
        let mut records = Records::new(form, count);
        loop {
            let some = records.some(1 << 20);
            if some.is_empty() {
                return file.flush();
            }
            file.write_all(&some)?;
        }
    };
    write().map_err(|error| Error::file("write", path, error))
}
