//! What an entry of the registry is: a plan, what is drawn of it, and what a paper says beside.

use thalweg_sim::Routing;

use super::World;
use super::point::{Point, Run};
use super::seen::Seen;
use crate::report::verdict::Verdict;

/// One entry of the registry.
pub(crate) struct Experiment {
    pub(crate) name: &'static str,
    pub(crate) plan: fn(&Setting<'_>) -> Vec<Point>,
    pub(crate) panels: &'static [Panel],
    /// What a paper says of the figures with that unit in that workload, for the picture.
    pub(crate) note: fn(&str, &str) -> String,
    /// What stands below the table: a paper's values beside ours.
    pub(crate) paper: fn(&[Point], &[Vec<Run>]) -> String,
    /// The lines at its end, one for each of a paper's numbers, in either world.
    pub(crate) verdicts: fn(&Seen<'_>) -> Vec<Verdict>,
    /// How many hardware threads it needs.
    pub(crate) threads: usize,
    /// Which of its figures count on the machine at hand, too, if any.
    pub(crate) here: &'static [&'static str],
}

impl Experiment {
    pub(crate) const fn new(name: &'static str, plan: fn(&Setting<'_>) -> Vec<Point>) -> Self {
        let (note, paper) = (|_: &str, _: &str| String::new(), |_: &[Point], _: &[Vec<Run>]| String::new());
        let verdicts = |_: &Seen<'_>| Vec::new();
        Self { name, plan, panels: &[Panel::Rate], note, paper, verdicts, threads: 2, here: &[] }
    }

    /// How many hardware threads it needs, if not two: with fewer, some would have to be shared.
    pub(crate) const fn threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }

    /// It runs on the machine at hand, too, and these of its figures count there: what a simulated run counts from outside is not known there.
    pub(crate) const fn here(self, units: &'static [&'static str]) -> Self {
        Self { here: units, ..self }
    }

    /// What is drawn of each workload, if it is not the rate alone.
    pub(crate) const fn panels(self, panels: &'static [Panel]) -> Self {
        Self { panels, ..self }
    }

    pub(crate) const fn note(self, note: fn(&str, &str) -> String) -> Self {
        Self { note, ..self }
    }

    pub(crate) const fn paper(self, paper: fn(&[Point], &[Vec<Run>]) -> String) -> Self {
        Self { paper, ..self }
    }

    /// A line for each of a paper's numbers, with what became of it.
    pub(crate) const fn verdicts(self, verdicts: fn(&Seen<'_>) -> Vec<Verdict>) -> Self {
        Self { verdicts, ..self }
    }
}

/// Where a plan's points are to run, and how much of them.
#[derive(Clone, Copy)]
pub(crate) struct Setting<'a> {
    pub(crate) world: World<'a>,
    /// How many of its hardware threads.
    pub(crate) threads: usize,
    /// An eighth of the messages.
    pub(crate) quick: bool,
    /// So many times the messages.
    pub(crate) longer: u64,
    /// One of so many of them: digits are compared of fewer than figures need.
    pub(crate) fewer: u64,
    /// What the routing devices have at points that need them.
    pub(crate) routing: Routing,
}

impl Setting<'_> {
    /// So many messages, or repetitions, of a run that is long enough for its figures to count; more in a longer one, fewer in a quick one, and
    /// far fewer in tests, but not below `least`.
    pub(crate) fn part(&self, full: u64, least: u64) -> u64 {
        let share = if cfg!(test) {
            50
        } else if self.quick {
            8
        } else {
            1
        };
        (self.longer * full / share / self.fewer).max(least)
    }

    /// The first hardware threads, one by one, as a unit test wants them.
    #[cfg(all(test, feature = "machines"))]
    pub(crate) fn of(machine: &thalweg_sim::Machine, threads: usize) -> Setting<'_> {
        Setting {
            world: World::Modelled(machine),
            threads,
            quick: true,
            longer: 1,
            fewer: 1,
            routing: Routing::default(),
        }
    }
}

/// What a picture shows of each point.
#[derive(Clone, Copy)]
pub(crate) enum Panel {
    /// Million messages a second: [`RATE`].
    Rate,
    /// The figure with this unit.
    Of(&'static str),
    /// What the experiment computes of a point's runs, with its unit.
    Own(&'static str, fn(&Point, &[Run]) -> f64),
    /// How long messages took: which share of them no longer than so long. For workloads with one point for each contender.
    Distribution,
    /// How many times as fast a point is as its base.
    SpeedUp(Base),
}

/// The unit of what a message takes.
pub(crate) const NANOS: &str = "ns/msg";
pub(crate) const RATE: &str = "million messages a second";

/// What points are compared with.
#[derive(Clone, Copy)]
pub(crate) struct Base {
    /// The panel's unit, which names it.
    pub(crate) unit: &'static str,
    /// Whether the second point, of the same workload, is the base of the first.
    pub(crate) is: fn(&Point, &Point) -> bool,
}

/// What `says` has of that unit and workload; of a list for [`EVERY`] workload, its text. Empty, if it has none.
pub(crate) fn said(who: &str, says: &[(&str, Says)], unit: &str, workload: &str) -> String {
    let of_unit = says.iter().filter(|(of, _)| *of == unit).flat_map(|(_, says)| *says);
    let mut fits = of_unit.filter(|(of, _)| *of == workload || *of == EVERY);
    fits.next().map_or_else(String::new, |(_, text)| format!("{who}: {text}"))
}

/// What a paper says, by workload.
pub(crate) type Says = &'static [(&'static str, &'static str)];
pub(crate) const EVERY: &str = "";
