//! The thesis' numbers of these figures as data, and ours beside them.

use super::{ALONE, SAYS_3_10, SUPERIOR};
use crate::figures::thesis::memory::BSQ;
use crate::report::verdict::{Claim, Verdict, shown};
use crate::worlds::point::{LATENCY, Point};
use crate::worlds::seen::{Seen, range};

/// A third off the thesis' number at most comes out: a model has other prices than the thesis' machine, and a gain is a quotient of two.
const WITHIN: f64 = 1.0 / 3.0;
/// Hardware threads of the thesis' machine: where it has the most of all numbers of threads, fewer than all of them are not its figure.
const THREADS: usize = 88;
/// And in its runs with more threads than hardware threads.
const FEWER: usize = 12;
/// And where eight threads take part.
const EIGHT: usize = 8;

/// The numbers of a figure, by workload.
type Claims<const N: usize> = [(&'static str, Claim); N];

const fn claim(figure: &'static str, what: &'static str, paper: f64) -> Claim {
    Claim::new(figure, what, paper, WITHIN)
}

const CLAIMS_2_8: Claims<2> =
    [("SPSC", claim("thesis/2.8", "simple", 11.3)), ("SPSC, complex", claim("thesis/2.8", "complex", 2.0))];
const CLAIMS_2_9: Claims<4> = [
    ("NP1C", claim("thesis/2.9", "NP1C, rate over the second best", 10.13)),
    ("1PNC", claim("thesis/2.9", "1PNC, rate over the second best", 1.88)),
    ("NP1C, complex", claim("thesis/2.9", "NP1C, complex, rate over the second best", 3.65)),
    ("1PNC, complex", claim("thesis/2.9", "1PNC, complex, rate over the second best", 2.39)),
];
const CLAIMS_2_9_LATENCY: Claims<1> = [(
    "NP1C, complex, 128 entries",
    claim("thesis/2.9", "NP1C, complex, 128 entries, the second best's latency over bbq's", 17.22),
)];
const CLAIM_OF_SCQD: (&str, Claim) =
    ("1PNC, complex, 128 entries", claim("thesis/2.9", "1PNC, complex, 128 entries, scqd's latency over bbq's", 7.45));
const CLAIMS_2_9_OVER: Claims<2> = [
    ("NP1C", claim("thesis/2.9-over", "NP1C, over the second best", 2.22)),
    ("1PNC", claim("thesis/2.9-over", "1PNC, over the second best", 1.23)),
];
const CLAIMS_3_7: Claims<3> = [
    ("NP1C", claim("thesis/3.7", "NP1C, faaq over the second best", 1.4)),
    ("1PNC", claim("thesis/3.7", "1PNC, faaq over the second best", 4.5)),
    ("NPNC", claim("thesis/3.7", "NPNC, faaq over the second best", 1.6)),
];
/// By workload, tube and k; of no k, with the best one.
const CLAIMS_3_8: [(&str, &str, &str, Claim); 5] = [
    ("NPNC", "faaq", "k 256", claim("thesis/3.8", "NPNC, cnq with k 256 over faaq alone", 3.9)),
    ("NPNC", "faaq", "k 4096", claim("thesis/3.8", "NPNC, cnq with k 4096 over faaq alone", 21.1)),
    ("NP1C", "dpdk-style", "", claim("thesis/3.8", "NP1C, cnq over dpdk's ring alone", 1055.0)),
    ("1PNC", "dpdk-style", "", claim("thesis/3.8", "1PNC, cnq over dpdk's ring alone", 110.0)),
    ("NPNC", "dpdk-style", "", claim("thesis/3.8", "NPNC, cnq over dpdk's ring alone", 1752.0)),
];
const CLAIMS_3_10: Claims<3> = [
    ("NP1C, 1 MB", claim("thesis/3.10", "NP1C, 1 MB, cnq with k 10000 over the second best", 6.6)),
    ("1PNC, 1 MB", claim("thesis/3.10", "1PNC, 1 MB, cnq with k 10000 over the second best", 14.5)),
    ("NPNC, 1 MB", claim("thesis/3.10", "NPNC, 1 MB, cnq with k 10000 over the second best", 6.0)),
];
const CLAIMS_3_11: Claims<6> = [
    ("NP1C, 128 entries", claim("thesis/3.11", "NP1C, 128 entries, the best other's latency over cnq's", 7.9)),
    ("1PNC, 128 entries", claim("thesis/3.11", "1PNC, 128 entries, the best other's latency over cnq's", 1.3)),
    ("NPNC, 128 entries", claim("thesis/3.11", "NPNC, 128 entries, the best other's latency over cnq's", 79.4)),
    ("NP1C", claim("thesis/3.11", "NP1C, 4096 entries, the best other's latency over cnq's", 7.9)),
    ("1PNC", claim("thesis/3.11", "1PNC, 4096 entries, the best other's latency over cnq's", 1.3)),
    ("NPNC", claim("thesis/3.11", "NPNC, 4096 entries, the best other's latency over cnq's", 79.4)),
];

pub(super) fn of_2_8(seen: &Seen<'_>) -> Vec<Verdict> {
    compared(&CLAIMS_2_8, &by_rate, 2, seen)
}

pub(super) fn of_2_9(seen: &Seen<'_>) -> Vec<Verdict> {
    let (workload, scqd) = CLAIM_OF_SCQD;
    let latency = compared(&CLAIMS_2_9_LATENCY, &by_latency, THREADS, seen);
    let of_scqd = scqd.verdict(scqd_over_bbq(workload, seen).filter(|_| seen.threads() >= THREADS));
    compared(&CLAIMS_2_9, &by_rate, THREADS, seen).into_iter().chain(latency).chain([of_scqd]).collect()
}

pub(super) fn of_2_9_over(seen: &Seen<'_>) -> Vec<Verdict> {
    compared(&CLAIMS_2_9_OVER, &by_rate, FEWER, seen)
}

pub(super) fn of_3_7(seen: &Seen<'_>) -> Vec<Verdict> {
    compared(&CLAIMS_3_7, &by_rate, THREADS, seen)
}

pub(super) fn of_3_10(seen: &Seen<'_>) -> Vec<Verdict> {
    let words = SAYS_3_10.iter().filter(|(_, says)| *says == SUPERIOR);
    let words = words.map(|(workload, says)| shown("thesis/3.10", workload, says));
    compared(&CLAIMS_3_10, &by_rate, THREADS, seen).into_iter().chain(words).collect()
}

/// A figure of a point of which more is better.
pub(super) type Better = dyn Fn(&Seen<'_>, usize) -> Option<f64>;

pub(super) fn by_rate(seen: &Seen<'_>, at: usize) -> Option<f64> {
    Some(1.0 / seen.nanos(at)?)
}

pub(super) fn by_latency(seen: &Seen<'_>, at: usize) -> Option<f64> {
    Some(1.0 / seen.figure(at, LATENCY)?)
}

/// At each label of a workload, the first contender's figure over the best other's (of another name up to the comma). None if a point of
/// the workload is missing.
pub(super) fn gains<'a>(better: &Better, workload: &str, seen: &Seen<'a>) -> Option<Vec<(f64, &'a str)>> {
    let family = |at: usize| seen.point(at).contender.split(',').next();
    let mine = seen.places(|point| point.workload == workload);
    let figures: Vec<f64> = mine.iter().map(|&at| better(seen, at)).collect::<Option<_>>()?;
    let (&first, all) = (mine.first()?, mine.iter().zip(&figures));
    let of_first = all.clone().filter(|&(&at, _)| seen.point(at).contender == seen.point(first).contender);
    let over = of_first.map(|(&at, figure)| {
        let label = seen.point(at).label.as_str();
        let others = all.clone().filter(|&(&other, _)| seen.point(other).label == label && family(other) != family(at));
        (figure / others.map(|(_, figure)| *figure).fold(0.0, f64::max), label)
    });
    Some(over.collect())
}

/// The line of each number: the most of what the first contender gains, where there are so many hardware threads.
fn compared(claims: &[(&str, Claim)], better: &Better, threads: usize, seen: &Seen<'_>) -> Vec<Verdict> {
    let most = |workload: &str| range(gains(better, workload, seen)?.into_iter().map(|gain| Some(gain.0)));
    let here = |workload: &str| most(workload).map(|range| range.1).filter(|_| seen.threads() >= threads);
    claims.iter().map(|(workload, claim)| claim.verdict(here(workload))).collect()
}

/// How many times as long a message is in SCQD as in BBQ, at most.
fn scqd_over_bbq(workload: &str, seen: &Seen<'_>) -> Option<f64> {
    let of_scqd = seen.places(|point| point.workload == workload && point.contender == "scqd");
    let over = of_scqd.into_iter().map(|at| {
        let bbq = seen.find(workload, "bbq", &seen.point(at).label)?;
        Some(seen.figure(at, LATENCY)? / seen.figure(bbq, LATENCY)?)
    });
    Some(range(over)?.1)
}

/// What CNQ makes of a tube with that k at most, or with any, whatever the number of threads.
pub(super) fn of_3_8(seen: &Seen<'_>) -> Vec<Verdict> {
    let here = |workload: &str, tube: &str, k: &str| {
        let is_of = |point: &Point| point.workload == workload && point.contender == tube;
        let with = seen.places(|point| is_of(point) && point.label != ALONE && (k.is_empty() || point.label == k));
        let over = with.into_iter().map(|at| {
            let same = |point: &Point| {
                is_of(point) && point.label == ALONE && point.params["at"] == seen.point(at).params["at"]
            };
            Some(seen.nanos(*seen.places(same).first()?)? / seen.nanos(at)?)
        });
        Some(range(over)?.1).filter(|_| seen.threads() >= THREADS)
    };
    CLAIMS_3_8.iter().map(|(workload, tube, k, claim)| claim.verdict(here(workload, tube, k))).collect()
}

/// How much longer a message is in the best of the others than in the best of CNQ.
pub(super) fn of_3_11(seen: &Seen<'_>) -> Vec<Verdict> {
    let least = |workload: &str, is_cnq: bool| {
        let of = |point: &Point| {
            let name = point.contender;
            point.workload == workload && name.starts_with("cnq") == is_cnq && name != BSQ
        };
        Some(range(seen.places(of).into_iter().map(|at| seen.figure(at, LATENCY)))?.0)
    };
    let here = |workload| Some(least(workload, false)? / least(workload, true)?);
    let of_eight = |workload| here(workload).filter(|_| seen.threads() >= EIGHT);
    CLAIMS_3_11.iter().map(|(workload, claim)| claim.verdict(of_eight(workload))).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{SAYS_2_8, SAYS_2_9, SAYS_2_9_LATENCY, SAYS_2_9_OVER, SAYS_3_7, SAYS_3_8, SAYS_3_11};
    use super::*;
    use crate::worlds::experiment::Says;

    type Numbers = &'static [(&'static str, Claim)];

    /// The table's words and the numbers as data do not part.
    #[test]
    fn each_number_is_in_the_words_of_its_workload() {
        let all: [(Numbers, Says); 8] = [
            (&CLAIMS_2_8, SAYS_2_8),
            (&CLAIMS_2_9, SAYS_2_9),
            (&CLAIMS_2_9_LATENCY, SAYS_2_9_LATENCY),
            (&[CLAIM_OF_SCQD], SAYS_2_9_LATENCY),
            (&CLAIMS_2_9_OVER, SAYS_2_9_OVER),
            (&CLAIMS_3_7, SAYS_3_7),
            (&CLAIMS_3_10, SAYS_3_10),
            (&CLAIMS_3_11, SAYS_3_11),
        ];
        for (claims, says) in all {
            for (workload, claim) in claims {
                let (_, words) = says.iter().find(|says| says.0 == *workload).unwrap();
                // 6.0 is 6.
                let [short, long] = [format!("{} times", claim.paper), format!("{:.1} times", claim.paper)];
                assert!(words.contains(&short) || words.contains(&long), "{claim:?}: {words}");
            }
        }
        for (.., claim) in CLAIMS_3_8 {
            assert!(SAYS_3_8.contains(&claim.paper.to_string()), "{claim:?}: {SAYS_3_8}");
        }
    }
}
