//! Runs: sorted records, in memory or on disk.

use std::cmp::Ordering;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Cursor, Read, Seek, SeekFrom, Write};
use std::ops::Range;

use tempfile::{NamedTempFile, TempDir, TempPath};
use thalweg_sync::atomic::{AtomicU64, Ordering::Relaxed};
use thalweg_sync::sync::Arc;

use super::record::Form;

/// Bytes that are read from a disk at a time.
const BLOCK: usize = 64 << 10;

/// Where records are kept: in memory as long as there is room, else in files of a folder of its own.
pub(super) struct Shelf {
    room: u64,
    used: AtomicU64,
    spilled: AtomicU64,
    folder: TempDir,
}

impl Shelf {
    pub(super) fn new(room: u64, folder: TempDir) -> Arc<Self> {
        Arc::new(Self { room, used: AtomicU64::new(0), spilled: AtomicU64::new(0), folder })
    }

    /// Bytes that were written to files.
    pub(super) fn spilled(&self) -> u64 {
        // Relaxed: read after the run, which orders what its workers wrote.
        self.spilled.load(Relaxed)
    }

    fn reserve(&self, bytes: u64) -> bool {
        // Relaxed: only the number matters; nothing is read because of it.
        if self.used.fetch_add(bytes, Relaxed) + bytes <= self.room {
            return true;
        }
        self.used.fetch_sub(bytes, Relaxed);
        false
    }

    fn file(&self) -> io::Result<NamedTempFile> {
        NamedTempFile::new_in(self.folder.path())
    }

    /// Keeps sorted records.
    pub(super) fn keep(this: &Arc<Self>, bytes: Vec<u8>) -> io::Result<Segment> {
        let range = 0..bytes.len() as u64;
        if this.reserve(range.end) {
            return Ok(Segment { kept: Arc::new(Kept::Memory(bytes, this.clone())), range });
        }
        let mut file = this.file()?;
        file.write_all(&bytes)?;
        this.spilled.fetch_add(range.end, Relaxed);
        Ok(Segment { kept: Arc::new(Kept::Disk(file.into_temp_path())), range })
    }
}

enum Kept {
    Memory(Vec<u8>, Arc<Shelf>),
    /// Taken away with the last segment of it.
    Disk(TempPath),
}

impl Drop for Kept {
    fn drop(&mut self) {
        if let Kept::Memory(bytes, shelf) = self {
            // Relaxed: as in `reserve`.
            shelf.used.fetch_sub(bytes.len() as u64, Relaxed);
        }
    }
}

/// Some sorted records beside each other.
#[derive(Clone)]
pub(super) struct Segment {
    kept: Arc<Kept>,
    range: Range<u64>,
}

impl Segment {
    fn open(&self) -> io::Result<Box<dyn BufRead + '_>> {
        let length = self.range.end - self.range.start;
        Ok(match &*self.kept {
            Kept::Memory(bytes, _) => Box::new(Cursor::new(&bytes[self.range.start as usize..self.range.end as usize])),
            Kept::Disk(path) => {
                let mut file = File::open(path)?;
                file.seek(SeekFrom::Start(self.range.start))?;
                Box::new(BufReader::with_capacity(BLOCK, file).take(length))
            }
        })
    }

    /// The first record that starts at byte `at` of the segment or later, and where.
    pub(super) fn record_at(&self, form: Form, at: u64) -> io::Result<Option<(u64, Vec<u8>)>> {
        // A record starts behind the end of the one before, which may be at this very byte.
        let from = if at == 0 { 0 } else { at - 1 };
        let rest = Segment { kept: self.kept.clone(), range: self.range.start + from..self.range.end };
        let (mut input, mut record, mut start) = (rest.open()?, Vec::new(), at);
        match form {
            Form::Lines if at > 0 => start = from + input.read_until(b'\n', &mut record)? as u64,
            Form::Lines => {}
            Form::Integers => {
                start = at.next_multiple_of(4);
                io::copy(&mut input.by_ref().take(start - from), &mut io::sink())?;
            }
        }
        Ok(form.read(&mut input, &mut record)?.then_some((start, record)))
    }

    /// Where the first record starts that is not less than `key`.
    fn lower_bound(&self, form: Form, key: &[u8]) -> io::Result<u64> {
        let end = self.range.end - self.range.start;
        // The least position such that the first record which starts there or later is not less, or is not there.
        let (mut low, mut high) = (0, end);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.record_at(form, middle)? {
                Some((start, record)) if form.compare(&record, key) == Ordering::Less => {
                    low = start + record.len() as u64;
                }
                _ => high = middle,
            }
        }
        Ok(self.record_at(form, low)?.map_or(end, |(start, _)| start))
    }

    fn part(&self, part: Range<u64>) -> Segment {
        Segment { kept: self.kept.clone(), range: self.range.start + part.start..self.range.start + part.end }
    }
}

/// Sorted records: segments, one after the other.
#[derive(Clone, Default)]
pub(super) struct Run {
    pub(super) segments: Vec<Segment>,
}

impl Run {
    pub(super) fn bytes(&self) -> u64 {
        self.segments.iter().map(|segment| segment.range.end - segment.range.start).sum()
    }

    /// The first record that starts at byte `at` or later.
    fn record_at(&self, form: Form, mut at: u64) -> io::Result<Option<Vec<u8>>> {
        for segment in &self.segments {
            let bytes = segment.range.end - segment.range.start;
            if at < bytes
                && let Some((_, record)) = segment.record_at(form, at)?
            {
                return Ok(Some(record));
            }
            at = at.saturating_sub(bytes);
        }
        Ok(None)
    }

    /// What is less than `key`, and the rest.
    fn cut(&self, form: Form, key: &[u8]) -> io::Result<(Run, Run)> {
        let (mut less, mut rest) = (Run::default(), Run::default());
        for segment in &self.segments {
            let bytes = segment.range.end - segment.range.start;
            let border = if rest.segments.is_empty() { segment.lower_bound(form, key)? } else { 0 };
            less.segments.extend((border > 0).then(|| segment.part(0..border)));
            rest.segments.extend((border < bytes).then(|| segment.part(border..bytes)));
        }
        Ok((less, rest))
    }

    /// Cuts two runs into pairs of which each can be merged alone, and whose results are in order. Each has some `bytes`,
    /// but for keys that come again and again.
    pub(super) fn pairs(form: Form, mut left: Run, mut right: Run, bytes: u64) -> io::Result<Vec<[Run; 2]>> {
        let mut pairs = Vec::new();
        while left.bytes() + right.bytes() > bytes {
            let longer = if left.bytes() > right.bytes() { &left } else { &right };
            // As much of the longer run as is its share.
            let share = u128::from(bytes) * u128::from(longer.bytes()) / u128::from(left.bytes() + right.bytes());
            let Some(key) = longer.record_at(form, share as u64)? else { break };
            let ((first, left_rest), (second, right_rest)) = (left.cut(form, &key)?, right.cut(form, &key)?);
            if first.segments.is_empty() && second.segments.is_empty() {
                // All up to there is one key: nothing is less.
                break;
            }
            pairs.push([first, second]);
            (left, right) = (left_rest, right_rest);
        }
        pairs.push([left, right]);
        Ok(pairs)
    }

    /// The records of two runs in order. What is larger than `most` goes to a disk as it is made.
    pub(super) fn merge(shelf: &Arc<Shelf>, form: Form, [left, right]: &[Run; 2], most: u64) -> io::Result<Run> {
        let bytes = left.bytes() + right.bytes();
        let (mut left, mut right) = (Reader::new(form, left), Reader::new(form, right));
        left.next()?;
        right.next()?;
        let mut merge = |out: &mut dyn Write| -> io::Result<()> {
            while left.is_there || right.is_there {
                let takes_left = left.is_there
                    && (!right.is_there || form.compare(&left.record, &right.record) != Ordering::Greater);
                let from = if takes_left { &mut left } else { &mut right };
                out.write_all(&from.record)?;
                from.next()?;
            }
            Ok(())
        };
        let segment = if bytes <= most {
            let mut merged = Vec::with_capacity(bytes as usize);
            merge(&mut merged)?;
            Shelf::keep(shelf, merged)?
        } else {
            let mut file = BufWriter::with_capacity(BLOCK, shelf.file()?);
            merge(&mut file)?;
            shelf.spilled.fetch_add(bytes, Relaxed);
            let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
            Segment { kept: Arc::new(Kept::Disk(file.into_temp_path())), range: 0..bytes }
        };
        Ok(Run { segments: vec![segment] })
    }
}

impl Segment {
    /// Writes all records.
    pub(super) fn copy(&self, to: &mut impl Write) -> io::Result<()> {
        io::copy(&mut self.open()?, to).map(drop)
    }
}

/// The records of a run, one after the other.
struct Reader<'a> {
    form: Form,
    segments: std::slice::Iter<'a, Segment>,
    input: Box<dyn BufRead + 'a>,
    record: Vec<u8>,
    is_there: bool,
}

impl<'a> Reader<'a> {
    fn new(form: Form, run: &'a Run) -> Self {
        Self { form, segments: run.segments.iter(), input: Box::new(io::empty()), record: Vec::new(), is_there: false }
    }

    fn next(&mut self) -> io::Result<()> {
        loop {
            self.is_there = self.form.read(&mut self.input, &mut self.record)?;
            if self.is_there {
                return Ok(());
            }
            match self.segments.next() {
                Some(segment) => self.input = segment.open()?,
                None => return Ok(()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mergesort::record::reference;

    fn run_of(shelf: &Arc<Shelf>, form: Form, bytes: &[u8], pieces: usize) -> Run {
        let sorted = reference(form, bytes);
        let (mut rest, mut segments) = (&sorted[..], Vec::new());
        while !rest.is_empty() {
            let least = (sorted.len() / pieces).clamp(1, rest.len());
            let border = match form {
                Form::Integers => least.next_multiple_of(4),
                Form::Lines => least + rest[least - 1..].iter().position(|&byte| byte == b'\n').unwrap(),
            };
            let (first, second) = rest.split_at(border);
            segments.push(Shelf::keep(shelf, first.to_vec()).unwrap());
            rest = second;
        }
        Run { segments }
    }

    fn bytes_of(run: &Run) -> Vec<u8> {
        let mut bytes = Vec::new();
        run.segments.iter().for_each(|segment| segment.copy(&mut bytes).unwrap());
        bytes
    }

    /// Some records, of few or of many kinds.
    fn records(form: Form, random: &mut fastrand::Rng) -> Vec<u8> {
        let kinds = [1, 3, 1 << 20][random.usize(0..3)];
        let record = |random: &mut fastrand::Rng| match form {
            Form::Lines => {
                format!("{}\n", "x".repeat(random.usize(0..3)) + &random.u32(0..kinds).to_string()).into_bytes()
            }
            Form::Integers => (random.i32(..) % kinds as i32).to_le_bytes().to_vec(),
        };
        (0..random.usize(0..200)).flat_map(|_| record(random)).collect()
    }

    #[test]
    fn pairs_are_merged_alone_and_their_results_are_in_order() {
        let mut random = fastrand::Rng::with_seed(1);
        for round in 0..300 {
            let form = [Form::Lines, Form::Integers][round % 2];
            // Room for all, for some, and for nothing.
            let shelf = Shelf::new([1 << 20, 500, 0][round % 3], tempfile::tempdir().unwrap());
            let (left, right) = (records(form, &mut random), records(form, &mut random));
            let runs = [&left, &right].map(|bytes| run_of(&shelf, form, bytes, 1 + round % 4));
            let [one, other] = runs.clone();
            let pairs = Run::pairs(form, one, other, 100).unwrap();
            let merged = pairs.iter().flat_map(|pair| bytes_of(&Run::merge(&shelf, form, pair, 150).unwrap()));
            let merged: Vec<u8> = merged.collect();
            assert!(merged == reference(form, &[left, right].concat()), "round {round}");
            drop(runs);
            drop(pairs);
            assert_eq!(shelf.used.load(Relaxed), 0);
            assert_eq!(std::fs::read_dir(shelf.folder.path()).unwrap().count(), 0, "files are taken away");
        }
    }

    #[test]
    fn pieces_are_as_small_as_they_were_asked_for() {
        let shelf = Shelf::new(1 << 20, tempfile::tempdir().unwrap());
        let mut random = fastrand::Rng::with_seed(2);
        let mut many = || -> Vec<u8> { (0..5_000).flat_map(|_| random.i32(..).to_le_bytes()).collect() };
        let [left, right] = [many(), many()].map(|bytes| run_of(&shelf, Form::Integers, &bytes, 3));
        let pairs = Run::pairs(Form::Integers, left, right, 4_000).unwrap();
        assert!((10..=15).contains(&pairs.len()), "{}", pairs.len());
        assert!(pairs.iter().all(|[left, right]| left.bytes() + right.bytes() < 8_000));
    }
}
