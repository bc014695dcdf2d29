//! Records: what is sorted, as it lies in files.

use std::cmp::Ordering;
use std::io::{self, BufRead, Read};
use std::str::FromStr;

/// What is sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Lines of text, as bytes: the order of `LC_ALL=C sort`. A last line without a line feed gets one.
    Lines,
    /// Little-endian integers of 32 bits, with a sign.
    Integers,
}

impl FromStr for Form {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "lines" => Ok(Form::Lines),
            "i32" => Ok(Form::Integers),
            _ => Err(format!("`{name}` cannot be sorted; take lines or i32")),
        }
    }
}

impl Form {
    /// How two records compare, each with the line feed at its end.
    pub(super) fn compare(self, a: &[u8], b: &[u8]) -> Ordering {
        match self {
            Form::Lines => line(a).cmp(line(b)),
            Form::Integers => integer(a).cmp(&integer(b)),
        }
    }

    /// Reads the next record; false at the end.
    pub(super) fn read(self, from: &mut impl BufRead, record: &mut Vec<u8>) -> io::Result<bool> {
        record.clear();
        match self {
            Form::Lines => Ok(from.read_until(b'\n', record)? > 0),
            Form::Integers => Ok(from.by_ref().take(4).read_to_end(record)? == 4),
        }
    }

    /// The bytes in order. All records are whole.
    pub(super) fn sorted(self, bytes: &[u8]) -> Vec<u8> {
        match self {
            Form::Lines => {
                let mut lines: Vec<&[u8]> = bytes.split_inclusive(|&byte| byte == b'\n').collect();
                lines.sort_unstable_by(|a, b| line(a).cmp(line(b)));
                lines.concat()
            }
            Form::Integers => {
                let mut integers: Vec<i32> = bytes.as_chunks().0.iter().map(|&four| i32::from_le_bytes(four)).collect();
                integers.sort_unstable();
                integers.iter().flat_map(|integer| integer.to_le_bytes()).collect()
            }
        }
    }

    /// How many records end in `bytes`, which come behind `before` bytes of the last one, and where the last one of them
    /// begins if that is in `bytes`.
    pub(super) fn count(self, bytes: &[u8], before: usize) -> (u64, Option<usize>) {
        match self {
            Form::Lines => {
                let begun = bytes.strip_suffix(b"\n").unwrap_or(bytes);
                let border = memchr::memrchr(b'\n', begun).map(|feed| feed + 1);
                (memchr::memchr_iter(b'\n', bytes).count() as u64, border)
            }
            Form::Integers => {
                let all = before % 4 + bytes.len();
                let border = ((all - 1) / 4 * 4).checked_sub(before % 4).filter(|_| !bytes.is_empty());
                ((all / 4) as u64, border)
            }
        }
    }

    /// A record as text.
    pub(super) fn shown(self, record: &[u8]) -> String {
        match self {
            Form::Lines => String::from_utf8_lossy(line(record)).escape_debug().to_string(),
            Form::Integers => integer(record).to_string(),
        }
    }
}

fn line(record: &[u8]) -> &[u8] {
    record.strip_suffix(b"\n").unwrap_or(record)
}

fn integer(record: &[u8]) -> i32 {
    record.first_chunk().map_or(0, |&four| i32::from_le_bytes(four))
}

/// The bytes of a whole file in order, by a sequential program: the reference for the streaming one.
pub fn reference(form: Form, bytes: &[u8]) -> Vec<u8> {
    let mut whole = bytes.to_vec();
    if form == Form::Lines && bytes.last().is_some_and(|&last| last != b'\n') {
        whole.push(b'\n');
    }
    form.sorted(&whole)
}
