//! Figures as the lab writes them: one JSON object a line.

use crate::machine::Machine;
use serde::Serialize;
use serde_json::Value;

/// The middle of some figures, and their range.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// The middle one, or the mean of the two in the middle.
    pub median: f64,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
}

impl Spread {
    /// The spread of at least one figure.
    ///
    /// ```
    /// let spread = thalweg_sim::Spread::of([3.0, 1.0, 4.0, 2.0]);
    /// assert_eq!((spread.min, spread.median, spread.max), (1.0, 2.5, 4.0));
    /// ```
    ///
    /// # Panics
    ///
    /// Without figures.
    pub fn of(figures: impl IntoIterator<Item = f64>) -> Self {
        let mut figures: Vec<f64> = figures.into_iter().collect();
        figures.sort_by(f64::total_cmp);
        let runs = figures.len();
        assert!(runs > 0, "a spread is of at least one figure");
        let median = (figures[(runs - 1) / 2] + figures[runs / 2]) / 2.0;
        Self { median, min: figures[0], max: figures[runs - 1] }
    }

    /// The spread of `of` each figure, which must fall as the figures rise: rates of times.
    pub fn inverted(self, of: impl Fn(f64) -> f64) -> Self {
        Self { median: of(self.median), min: of(self.max), max: of(self.min) }
    }
}

/// One contender's figures in one unit, with the fields of the lab's records. It holds nothing that differs between two
/// runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Record<'a> {
    /// The experiment's name.
    pub experiment: &'a str,
    /// The group within the experiment.
    pub workload: &'a str,
    /// Who ran.
    pub contender: &'a str,
    /// The unit of the figures.
    pub unit: &'a str,
    /// The figures.
    #[serde(flatten)]
    pub spread: Spread,
    /// How many runs, each with a seed of its own.
    pub runs: usize,
    /// What else changes the figures.
    pub params: Value,
    /// The modelled machine.
    #[serde(skip)]
    pub machine: &'a Machine,
}

impl Record<'_> {
    /// The record as a line of JSON, with its end.
    pub fn to_json(&self) -> String {
        let mut object = serde_json::to_value(self).expect("a record has nothing that JSON lacks");
        object["world"] = self.machine.name().into();
        object["machine"] = self.machine.about().into();
        object["cpus"] = Value::Null;
        format!("{object}\n")
    }
}
