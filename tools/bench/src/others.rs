//! How much of the CPUs other processes take meanwhile.
//!
//! By what Linux counts, in `/proc`: of the CPUs that this process may use, all that was not idle, less what this process and the children
//! that it has waited for used. What a host takes from a virtual machine is others', too. Elsewhere nothing is known.

use std::time::{Duration, Instant};

use crate::machine;

/// So much of a CPU is more than a quiet system takes.
const MUCH: f64 = 0.2;
/// Counts are of a hundredth of a second, so a shorter time says nothing.
const LEAST: Duration = Duration::from_millis(300);

/// What the system has counted, in its ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Counts {
    /// Of all processes, on the CPUs at hand.
    all: u64,
    /// Of this process.
    own: u64,
}

/// What others take, from one look to the next.
#[derive(Debug)]
pub(crate) struct Others {
    since: Instant,
    then: Option<Counts>,
    share: f64,
}

impl Others {
    /// From this moment on.
    pub(crate) fn new() -> Self {
        Self { since: Instant::now(), then: counts(), share: 0.0 }
    }

    /// How many CPUs others took since the last look, or before, where that was a moment ago.
    pub(crate) fn share(&mut self) -> f64 {
        let passed = self.since.elapsed();
        if passed < LEAST {
            return self.share;
        }
        let now = counts();
        self.share = self.then.zip(now).map_or(0.0, |(then, now)| between(then, now, passed));
        (self.since, self.then) = (Instant::now(), now);
        self.share
    }

    /// Whether others took much, by [`share`](Self::share).
    pub(crate) fn take_much(&mut self) -> bool {
        self.share() > MUCH
    }
}

/// How many CPUs others took in between.
fn between(then: Counts, now: Counts, passed: Duration) -> f64 {
    let (all, own) = (now.all.saturating_sub(then.all), now.own.saturating_sub(then.own));
    let ticks = passed.as_secs_f64() * TICKS;
    all.saturating_sub(own) as f64 / ticks.max(1.0)
}

/// Ticks of `/proc` a second, on every Linux.
const TICKS: f64 = 100.0;

fn counts() -> Option<Counts> {
    let all = busy(&std::fs::read_to_string("/proc/stat").ok()?, machine::cpus());
    let own = used(&std::fs::read_to_string("/proc/self/stat").ok()?)?;
    Some(Counts { all, own })
}

/// What `/proc/stat` says of these CPUs, but for the columns of an idle one, `idle` and `iowait`, and for what guests have, which is counted
/// as `user`, too.
fn busy(stat: &str, cpus: &[usize]) -> u64 {
    let of = |line: &str| {
        let mut words = line.split_whitespace();
        let cpu: usize = words.next()?.strip_prefix("cpu")?.parse().ok()?;
        let counts = words.take(8).enumerate().filter(|(column, _)| ![3, 4].contains(column));
        cpus.contains(&cpu).then(|| counts.filter_map(|(_, count)| count.parse::<u64>().ok()).sum::<u64>())
    };
    stat.lines().filter_map(of).sum()
}

/// The times in `/proc/self/stat`: the process' and its children's, in user and in system mode.
fn used(stat: &str) -> Option<u64> {
    // A program's name may have spaces and parentheses.
    let after_name = stat.rsplit_once(") ")?.1;
    Some(after_name.split(' ').skip(11).take(4).filter_map(|count| count.parse::<u64>().ok()).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_idle_and_not_ours_is_of_others() {
        let stat = "cpu  9 9 9 9\ncpu0 100 1 20 5000 7 3 4 2 50 0\ncpu1 10 0 0 900 0 0 0 0 0 0\ncpu12 1 0 0 0 0 0 0 0 0 0\nintr 1\n";
        assert_eq!((busy(stat, &[0]), busy(stat, &[0, 1]), busy(stat, &[12])), (130, 140, 1));
        let of_process = format!("7 (a) b) S {}30 4 5 6 20 0", "0 ".repeat(10));
        assert_eq!(used(&of_process), Some(45));
        let (then, now) = (Counts { all: 100, own: 10 }, Counts { all: 400, own: 210 });
        assert_eq!(between(then, now, Duration::from_secs(2)), 0.5);
    }

    #[test]
    fn a_moment_says_nothing_new() {
        let mut others = Others { since: Instant::now(), then: Some(Counts { all: 0, own: 0 }), share: 0.7 };
        assert!(others.take_much());
        others.since -= LEAST;
        // Nothing was used since.
        others.then = Some(Counts { all: u64::MAX, own: 0 });
        assert!(!others.take_much());
    }
}
