//! Who gets how many cores: plain functions of what everybody wishes.
//!
//! # Invariants
//!
//! - **S1** Each grant is at least 1.
//! - **S2** Grants of those that [count](Claim) add up to the number of cores, or are 1 each if they are more than the cores. Who does not count has 1.
//! - **S3** Whatever the others claim, a claim that counts gets half of what `Fair` would give it if all others could use everything, as far as it could use that.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// By what cores are shared out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// By weight, among those that could use more.
    Fair,
    /// To whose work waits longest, half of it fairly.
    #[default]
    Delay,
    /// By weight, whoever could use it or not.
    Fixed,
}

impl Policy {
    /// All of them, the default first.
    pub const ALL: [Self; 3] = [Self::Delay, Self::Fair, Self::Fixed];

    /// Its name, as [`FromStr`] reads it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fair => "fair",
            Self::Delay => "delay",
            Self::Fixed => "fixed",
        }
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// No policy has this name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownPolicy(String);

impl fmt::Display for UnknownPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no policy {:?}; take `delay`, `fair` or `fixed`", self.0)
    }
}

impl std::error::Error for UnknownPolicy {}

impl FromStr for Policy {
    type Err = UnknownPolicy;

    fn from_str(name: &str) -> Result<Self, UnknownPolicy> {
        Self::ALL.into_iter().find(|policy| policy.name() == name).ok_or_else(|| UnknownPolicy(name.to_owned()))
    }
}

/// What an application could use at this moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wish {
    /// Threads that have, or would find, something to do. With 0 it does not count.
    pub could: u32,
    /// The work that waits, in nanoseconds of one core. Divided by the cores that work on it, that is how long it waits.
    pub work: u64,
}

/// The share of a core that an application may take without a claim to one.
const SLIGHT: f64 = 0.1;

impl Wish {
    /// Of an application that could put `could` threads to work at this moment, and whose threads, of which it was granted `had`, together were at work
    /// for `busy` of the time that has `passed` since the last look. The moment alone misleads: it may find each of them between two things to do.
    ///
    /// ```
    /// use std::time::Duration;
    /// use thalweg_daemon::Wish;
    ///
    /// let seen = |could, micros| Wish::seen(could, 0, 3, Duration::from_micros(micros), Duration::from_millis(1)).could;
    /// assert_eq!(seen(0, 1700), 2); // all of them happened to look for work
    /// assert_eq!(seen(4, 1700), 4);
    /// assert_eq!(seen(0, 50), 0); // what does so little is no reason to keep a core from others
    /// assert_eq!(seen(0, 9000), 3); // what has just ended began before the last look
    /// ```
    pub fn seen(could: u32, work: u64, had: u32, busy: Duration, passed: Duration) -> Self {
        let used = (busy.as_secs_f64() / passed.as_secs_f64().max(1e-9) - SLIGHT).ceil();
        // Below zero is zero.
        Self { could: could.max((used as u32).min(had)), work }
    }
}

/// A wish, as those who share out see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// What it could use.
    pub wish: Wish,
    /// Its share beside others; 0 counts as 1.
    pub weight: u32,
    /// What it had before: a core changes hands only for a clear gain.
    pub had: u32,
}

/// How much longer another one's work must wait for a core to change hands.
const CLEAR: f64 = 1.5;

/// Grants for these claims, in their order.
///
/// Cores that nobody could use just now are shared out by weight too, so that whoever finds more to do has them at once.
///
/// ```
/// use thalweg_daemon::{Claim, Policy, Wish, share};
///
/// let claim = |could, work| Claim { wish: Wish { could, work }, weight: 1, had: 1 };
/// let claims = [claim(8, 40_000_000), claim(8, 1_000_000), claim(0, 0)];
/// assert_eq!(share(8, Policy::Fair, &claims), [4, 4, 1]);
/// assert_eq!(share(8, Policy::Delay, &claims), [6, 2, 1]); // the second keeps half of its fair share
/// assert_eq!(share(8, Policy::Fixed, &claims), [3, 3, 2]);
/// ```
///
/// Costs a look at each claim for each core.
pub fn share(cores: u32, policy: Policy, claims: &[Claim]) -> Vec<u32> {
    let all = policy == Policy::Fixed || claims.iter().all(|claim| claim.wish.could == 0);
    let counts = |claim: &Claim| all || claim.wish.could > 0;
    let most = |claim: &Claim| if policy == Policy::Fixed { u32::MAX } else { claim.wish.could };
    let mut grants = vec![1; claims.len()];
    let mut left = cores.saturating_sub(claims.iter().filter(|claim| counts(claim)).count() as u32);
    // Gives one core to the claim that needs it most. False if nobody takes one.
    let mut give = |grants: &mut [u32], need: &dyn Fn(&Claim, u32) -> Option<f64>| {
        if left == 0 {
            return false;
        }
        let needs = claims.iter().zip(&*grants).enumerate();
        let needs =
            needs.filter_map(|(index, (claim, &grant))| Some((index, need(claim, grant).filter(|_| counts(claim))?)));
        // The first of equals: the last one to come yields.
        let first = needs.reduce(|best, other| if other.1 > best.1 { other } else { best });
        if let Some((index, _)) = first {
            grants[index] += 1;
            left -= 1;
        }
        first.is_some()
    };
    let fairness = |claim: &Claim, grant: u32| f64::from(claim.weight.max(1)) / f64::from(grant);
    if policy == Policy::Delay {
        let weights: u64 =
            claims.iter().filter(|claim| counts(claim)).map(|claim| u64::from(claim.weight.max(1))).sum();
        // S3.
        let sure = |claim: &Claim| {
            let fair = u64::from(cores) * u64::from(claim.weight.max(1)) / weights.max(1);
            most(claim).min((fair / 2) as u32)
        };
        while give(&mut grants, &|claim, grant| (grant < sure(claim)).then(|| fairness(claim, grant))) {}
        let delay = |claim: &Claim, grant: u32| {
            let kept = if grant < claim.had { CLEAR } else { 1.0 };
            // Nothing waits long before a moment has passed: then what counts is fairness.
            claim.wish.work.clamp(1000, 1 << 40) as f64 * kept * fairness(claim, grant)
        };
        while give(&mut grants, &|claim, grant| (grant < most(claim)).then(|| delay(claim, grant))) {}
    } else {
        while give(&mut grants, &|claim, grant| (grant < most(claim)).then(|| fairness(claim, grant))) {}
    }
    // What nobody could use now.
    while give(&mut grants, &|claim, grant| Some(fairness(claim, grant))) {}
    grants
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn claim(weight: u32, could: u32, work: u64) -> Claim {
        Claim { wish: Wish { could, work }, weight, had: 1 }
    }

    #[test]
    fn who_could_use_nothing_leaves_its_cores_to_others() {
        for policy in [Policy::Fair, Policy::Delay] {
            assert_eq!(share(2, policy, &[claim(1, 2, 5), claim(1, 0, 0)]), [2, 1]);
            assert_eq!(share(2, policy, &[claim(1, 2, 5), claim(1, 1, 9)]), [1, 1]);
            assert_eq!(share(8, policy, &[claim(1, 2, 5), claim(1, 0, 0)]), [8, 1], "nothing lies idle");
        }
        assert_eq!(share(2, Policy::Fixed, &[claim(1, 2, 5), claim(1, 0, 0)]), [1, 1]);
    }

    #[test]
    fn weights_count_among_those_that_could_use_more() {
        assert_eq!(share(12, Policy::Fair, &[claim(2, 12, 0), claim(1, 12, 0)]), [8, 4]);
        assert_eq!(share(12, Policy::Fair, &[claim(2, 3, 0), claim(1, 12, 0)]), [3, 9]);
        assert_eq!(share(12, Policy::Fixed, &[claim(2, 3, 0), claim(1, 12, 0)]), [8, 4]);
    }

    #[test]
    fn a_core_changes_hands_for_a_clear_gain_only() {
        let two = |had: [u32; 2], work: [u64; 2]| {
            let claims = [0, 1].map(|i| Claim { had: had[i], ..claim(1, 8, work[i]) });
            share(9, Policy::Delay, &claims)
        };
        assert_eq!(two([5, 4], [10_000_000, 11_000_000]), [5, 4]);
        assert_eq!(two([4, 5], [10_000_000, 11_000_000]), [4, 5]);
        assert_eq!(two([5, 4], [10_000_000, 30_000_000]), [3, 6]);
    }

    #[test]
    fn names_are_read_and_a_wrong_one_says_which_there_are() {
        for policy in Policy::ALL {
            assert_eq!(policy.name().parse(), Ok(policy));
        }
        let error = "fast".parse::<Policy>().unwrap_err();
        assert_eq!(error.to_string(), "there is no policy \"fast\"; take `delay`, `fair` or `fixed`");
    }

    proptest! {
        /// S1 to S3, whatever anybody claims.
        #[test]
        fn no_core_is_lost_or_given_twice(
            cores in 1..200_u32,
            claims in prop::collection::vec((0..=u32::MAX, prop_oneof![0..3_u32, 0..=u32::MAX], any::<u64>(), any::<u32>()), 0..20),
        ) {
            let claims: Vec<_> = claims
                .into_iter()
                .map(|(weight, could, work, had)| Claim { wish: Wish { could, work }, weight, had })
                .collect();
            for policy in Policy::ALL {
                let grants = share(cores, policy, &claims);
                prop_assert!(grants.iter().all(|&grant| grant >= 1));
                let all = policy == Policy::Fixed || claims.iter().all(|claim| claim.wish.could == 0);
                let counted: Vec<_> = claims.iter().zip(&grants).filter(|(claim, _)| all || claim.wish.could > 0).collect();
                let sum: u32 = counted.iter().map(|(_, grant)| **grant).sum();
                prop_assert_eq!(sum, if counted.is_empty() { 0 } else { cores.max(counted.len() as u32) });
                let weights: u64 = counted.iter().map(|(claim, _)| u64::from(claim.weight.max(1))).sum();
                for (claim, grant) in counted.iter().filter(|_| policy == Policy::Delay && cores as usize >= 2 * counted.len()) {
                    let fair = u64::from(cores) * u64::from(claim.weight.max(1)) / weights;
                    prop_assert!(u64::from(**grant) >= (fair / 2).min(u64::from(claim.wish.could)));
                }
            }
        }
    }
}
