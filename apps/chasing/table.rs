//! The table: lines of the cache in segments, each a cycle.

use thalweg_sync::atomic::AtomicU64;
use thalweg_sync::atomic::Ordering::Relaxed;

/// Lines of the paper's table: 32 MiB.
pub const LINES: usize = 524_288;
/// Words in a line.
const WORDS: u64 = 8;

/// A line of the cache. Word 0 has the place of the next line, in words from the start of the segment; word 1 is written.
#[repr(align(64))]
#[derive(Debug, Default)]
struct Line([AtomicU64; WORDS as usize]);

/// Segments of lines.
#[derive(Debug)]
pub(super) struct Table {
    lines: Vec<Line>,
    /// Lines in a segment.
    segment: usize,
}

/// A message: a segment, and its number in the sequence.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chunk {
    segment: u64,
    pub(super) sequence: u64,
}

impl Table {
    /// A table in which the lines of each segment are one cycle, in an order by chance that is the same every time.
    pub(super) fn new(lines: usize, segment: usize) -> Self {
        let lines: Vec<Line> = (0..lines / segment * segment).map(|_| Line::default()).collect();
        let mut random = fastrand::Rng::with_seed(segment as u64);
        let mut order: Vec<u64> = (0..segment as u64).collect();
        for segment in lines.chunks_exact(segment) {
            random.shuffle(&mut order[1..]);
            for (place, &line) in order.iter().enumerate() {
                let next = order[(place + 1) % order.len()];
                segment[line as usize].0[0].store(WORDS * next, Relaxed);
            }
        }
        Self { lines, segment }
    }

    pub(super) fn segment_bytes(&self) -> u64 {
        (self.segment * size_of::<Line>()) as u64
    }

    fn lines_of(&self, chunk: Chunk) -> &[Line] {
        let first = chunk.segment as usize * self.segment;
        &self.lines[first..first + self.segment]
    }

    /// Writes to all lines of the segment for `sequence`.
    pub(super) fn generate(&self, sequence: u64) -> Chunk {
        let chunk = Chunk { segment: sequence % (self.lines.len() / self.segment) as u64, sequence };
        for line in self.lines_of(chunk) {
            // Relaxed, here and below: whoever reads got the chunk from whoever wrote, and others write the same.
            line.0[1].store(line.0[0].load(Relaxed), Relaxed);
        }
        chunk
    }

    /// Goes once round the segment, and adds up what was written there.
    pub(super) fn walk(&self, chunk: Chunk) -> u64 {
        let lines = self.lines_of(chunk);
        let (mut at, mut read) = (0, 0);
        loop {
            let line = &lines[(at / WORDS) as usize].0;
            read += line[1].load(Relaxed);
            at = line[0].load(Relaxed);
            if at == 0 {
                return read;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_goes_through_all_lines_of_its_segment_and_no_others() {
        for segment in [1, 2, 4, 7] {
            let table = Table::new(50, segment);
            let segments = 50 / segment as u64;
            for sequence in 0..2 * segments {
                let chunk = table.generate(sequence);
                // Each line is once the next one of another.
                assert_eq!(table.walk(chunk), (0..segment as u64).map(|line| WORDS * line).sum::<u64>());
                if sequence + 1 < segments && segment > 1 {
                    let untouched = Chunk { segment: sequence + 1, sequence };
                    assert_eq!(table.walk(untouched), 0);
                }
            }
        }
    }
}
