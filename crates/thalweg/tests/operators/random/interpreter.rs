//! What steps do to streams of numbers, by plain loops.

use super::Step;
use std::collections::BTreeMap;

pub(super) fn mix(x: u64) -> u64 {
    (x ^ 0x9E37_79B9).wrapping_mul(0xBF58_476D_1CE4_E5B9).rotate_left(29) % 1000
}

/// What one message becomes.
pub(super) fn spread(x: u64) -> impl Iterator<Item = u64> {
    (0..x % 4).map(move |y| x.wrapping_add(y) % 1000)
}

/// What a firing gives at its other output.
pub(super) fn beside(sum: u64) -> impl Iterator<Item = u64> {
    (0..sum % 3).map(move |y| sum.wrapping_mul(7).wrapping_add(y))
}

/// What a tick becomes: their numbers depend on the clock.
pub(super) const TICK: u64 = 7;

pub(super) fn digest(messages: &[u64]) -> u64 {
    messages.iter().fold(messages.len() as u64, |sum, &x| sum.wrapping_mul(31).wrapping_add(x))
}

pub(super) fn check(x: u64) -> Result<u64, u64> {
    if x % 5 == 2 { Err(x + 1) } else { Ok(x) }
}

pub(super) fn is_first(x: &u64) -> bool {
    x % 3 == 1
}

pub(super) fn key(x: &u64) -> u64 {
    x % 7
}

fn sorted(mut stream: Vec<u64>) -> Vec<u64> {
    stream.sort_unstable();
    stream
}

fn by_key(stream: Vec<u64>) -> BTreeMap<u64, Vec<u64>> {
    let mut groups = BTreeMap::<_, Vec<_>>::new();
    stream.into_iter().for_each(|x| groups.entry(key(&x)).or_default().push(x));
    groups
}

fn windows(all: &[u64], peek: usize, pop: usize) -> Vec<u64> {
    let mut windows: Vec<_> = all.windows(peek).step_by(pop).map(digest).collect();
    let begin = windows.len() * pop;
    if all.len() > begin + if windows.is_empty() { 0 } else { peek.saturating_sub(pop) } {
        windows.push(digest(&all[begin..]));
    }
    windows
}

/// What comes out of `step` behind `stream`, and what beside it, which is taken from or put to `open`.
pub(super) fn interpret_step(step: Step, stream: Vec<u64>, open: &mut Vec<Vec<u64>>) -> Vec<u64> {
    match step {
        Step::Map => stream.into_iter().map(mix).collect(),
        Step::Rounds(most) => sorted(stream.into_iter().map(|x| (0..=x % most).fold(x, |x, _| mix(x))).collect()),
        Step::Throttle | Step::Fail(..) | Step::End(..) | Step::Newest | Step::Carried(..) => stream,
        Step::FlatMap => stream.into_iter().flat_map(spread).collect(),
        Step::Every(count) => {
            open.push(vec![TICK; count]);
            stream
        }
        Step::Window { peek, pop, .. } => stream.windows(peek).step_by(pop).map(digest).collect(),
        Step::WindowPartial(peek, pop) => windows(&stream, peek, pop),
        Step::Debounce | Step::Latest(_) => stream.last().copied().into_iter().collect(),
        Step::Broadcast => {
            open.push(stream.clone());
            stream
        }
        Step::Split => {
            let (first, second) = stream.into_iter().partition(is_first);
            open.push(second);
            first
        }
        // Which part is whose is told by the operator itself: here all that matters is that none is lost.
        Step::Partition => sorted(stream),
        Step::TryMap => {
            let (results, errors): (Vec<_>, Vec<_>) = stream.into_iter().map(check).partition(Result::is_ok);
            open.push(errors.into_iter().filter_map(Result::err).collect());
            results.into_iter().flatten().collect()
        }
        Step::Skip => stream.into_iter().filter_map(|x| check(x).ok()).collect(),
        Step::Take(count) => stream.into_iter().take(count).collect(),
        Step::TakeWhile => stream.into_iter().take_while(|x| x % 50 != 49).collect(),
        Step::Chunks(length) => stream.chunks(length).map(digest).collect(),
        Step::Fold => vec![digest(&stream)],
        Step::KeyFold(_) => sorted(by_key(stream).values().map(|all| digest(all)).collect()),
        Step::KeyMap(_) => {
            sorted(by_key(stream).values().flat_map(|all| (1..=all.len()).map(|end| digest(&all[..end]))).collect())
        }
        Step::KeyWindow(peek, pop) => sorted(by_key(stream).values().flat_map(|all| windows(all, peek, pop)).collect()),
        Step::WindowByTime(width) => {
            let mut windows = BTreeMap::<u64, Vec<u64>>::new();
            for x in stream {
                let own = x / width;
                if windows.last_key_value().is_none_or(|(&last, _)| last <= own) {
                    windows.entry(own).or_default().push(x);
                }
            }
            windows.values().map(|window| digest(window)).collect()
        }
        Step::Merge | Step::Interleave | Step::MergeByKey | Step::Zip | Step::Fire(..) => {
            if open.is_empty() {
                return stream;
            }
            let other = open.swap_remove(0);
            let both = stream.len().min(other.len());
            match step {
                Step::Fire(own, others) => {
                    let firings = stream.chunks_exact(own).zip(other.chunks_exact(others));
                    let sums: Vec<_> = firings.map(|(own, other)| digest(&[own, other].concat())).collect();
                    open.push(sums.iter().flat_map(|&sum| beside(sum)).collect());
                    sums
                }
                Step::Merge => sorted([stream, other].concat()),
                Step::Zip => stream.iter().zip(&other).map(|(a, b)| a.wrapping_mul(3).wrapping_add(*b)).collect(),
                Step::Interleave => {
                    let turns = stream.iter().zip(&other).flat_map(|(&a, &b)| [a, b]);
                    turns.chain(stream[both..].iter().copied()).chain(other[both..].iter().copied()).collect()
                }
                _ => {
                    let mut all = [sorted(stream), sorted(other)].concat();
                    all.sort_by_key(key_of_sorted);
                    all
                }
            }
        }
    }
}

/// Rises with the message; some are equal.
pub(super) fn key_of_sorted(x: &u64) -> u64 {
    x / 4
}
