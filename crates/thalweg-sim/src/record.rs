//! Figures as the lab writes them: one JSON object a line.

use crate::machine::Machine;
use serde::Serialize;
use serde_json::Value;
use thalweg_figure::Spread;

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
