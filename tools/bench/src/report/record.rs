//! What is written down: one record for each contender and unit, as a line of JSON.

use serde::Serialize;
use serde_json::Value;
use thalweg_figure::Spread;

/// The value below which the share `q` of `sorted` lies (nearest rank). NaN without values.
pub fn quantile(sorted: &[u64], q: f64) -> f64 {
    let rank = (q * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).map_or(f64::NAN, |&value| value as f64)
}

/// What a contender's figures are compared as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// thalweg.
    Ours,
    /// Does what a stream runtime does: the best of these is the base of the ratios.
    Peer,
    /// Does the work without being a pipeline of separate stages (a fused loop, data parallelism): a limit, not a rival.
    Bound,
}

/// A point of a curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct At {
    /// What the points are.
    pub axis: &'static str,
    /// This one.
    pub point: &'static str,
}

/// One contender's figures in one unit.
#[derive(Clone, Debug, Serialize)]
pub struct Record {
    /// The experiment's name in the registry.
    pub experiment: &'static str,
    /// The group within the experiment.
    pub workload: &'static str,
    /// Who ran; our own begin with `thalweg`.
    pub contender: String,
    /// What the figures count as.
    pub role: Role,
    /// The unit of `median`, `min` and `max`.
    pub unit: &'static str,
    /// Which point of a curve it is, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<At>,
    /// The figures.
    #[serde(flatten)]
    pub spread: Spread,
    /// How many runs.
    pub runs: usize,
    /// Where it ran: `native` is this machine.
    pub world: &'static str,
    /// CPUs used on average, the median over the runs; `null` where that is not known.
    pub cpus: Option<f64>,
    /// How many of the runs were disturbed, as [`cores`](crate::cores) tells it, though they were made again.
    pub disturbed: usize,
    /// What else changes the figures.
    pub params: Value,
    /// The machine that `native` means, as [`describe`](crate::machine::describe) puts it.
    pub machine: &'static str,
}

impl Record {
    /// One line of JSON, without the line end.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a record holds nothing that JSON cannot say")
    }
}

/// Splits records into the tables and charts they make: same experiment, workload and unit, in the order of their appearance.
pub fn panels(records: &[Record]) -> Vec<Vec<&Record>> {
    let mut panels: Vec<Vec<&Record>> = Vec::new();
    for record in records {
        let key = (record.experiment, record.workload, record.unit);
        let same = |panel: &&mut Vec<&Record>| (panel[0].experiment, panel[0].workload, panel[0].unit) == key;
        match panels.iter_mut().find(same) {
            Some(panel) => panel.push(record),
            None => panels.push(vec![record]),
        }
    }
    panels
}

/// A panel of curves: its points in order, and each contender with its records.
pub fn curves<'a>(panel: &[&'a Record]) -> (Vec<&'static str>, Vec<(&'a str, Vec<&'a Record>)>) {
    let mut points = Vec::new();
    let mut lines: Vec<(&str, Vec<&Record>)> = Vec::new();
    for &record in panel {
        let point = record.at.map_or("", |at| at.point);
        if !points.contains(&point) {
            points.push(point);
        }
        match lines.iter_mut().find(|(name, _)| *name == record.contender) {
            Some((_, line)) => line.push(record),
            None => lines.push((&record.contender, vec![record])),
        }
    }
    (points, lines)
}

/// Whether less is better in `unit`, so that ratios say something. A share of the items says what a run was, not how good, and stands beside
/// the figures of its workload.
pub fn compares(unit: &str) -> bool {
    !unit.starts_with("% of items")
}

/// What the ratios of a panel refer to: the best peer, or the best of all where there is none. None where nothing compares, or the best is not
/// above zero.
pub fn base<'a>(panel: &[&'a Record]) -> Option<&'a Record> {
    if panel.iter().any(|record| !compares(record.unit)) {
        return None;
    }
    let best = |role: Option<Role>| {
        let fits = panel.iter().copied().filter(|record| role.is_none_or(|role| record.role == role));
        fits.min_by(|a, b| a.spread.median.total_cmp(&b.spread.median))
    };
    let base = best(Some(Role::Peer)).or_else(|| best(Some(Role::Ours))).or_else(|| best(None));
    base.filter(|base| base.spread.median > 0.0)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn record(contender: &str, role: Role, median: f64) -> Record {
        Record {
            experiment: "test/table",
            workload: "toy",
            contender: contender.into(),
            role,
            unit: "ns/msg",
            at: None,
            spread: Spread { median, min: median * 0.5, max: median * 2.0 },
            runs: 5,
            world: "native",
            cpus: Some(1.0),
            disturbed: 0,
            params: serde_json::json!({ "messages": 7 }),
            machine: "abacus",
        }
    }

    #[test]
    fn quantiles_are_nearest_ranks() {
        let sorted: Vec<u64> = (1..=100).collect();
        assert_eq!(quantile(&sorted, 0.5), 50.0);
        assert_eq!(quantile(&sorted, 0.99), 99.0);
        assert_eq!(quantile(&sorted, 1.0), 100.0);
        assert_eq!(quantile(&[8], 0.5), 8.0);
        assert!(quantile(&[], 0.5).is_nan());
    }

    #[test]
    fn a_line_of_json_has_every_field() {
        let line = record("thalweg", Role::Ours, 2.0).to_json();
        assert_eq!(
            line,
            r#"{"experiment":"test/table","workload":"toy","contender":"thalweg","role":"ours","unit":"ns/msg","median":2.0,"min":1.0,"max":4.0,"runs":5,"world":"native","cpus":1.0,"disturbed":0,"params":{"messages":7},"machine":"abacus"}"#
        );
    }

    #[test]
    fn a_panel_is_of_one_experiment_workload_and_unit() {
        let other = |change: fn(&mut Record)| {
            let mut record = record("thalweg", Role::Ours, 1.0);
            change(&mut record);
            record
        };
        let records = [
            other(|_| ()),
            other(|record| record.unit = "us p99"),
            other(|record| record.workload = "model"),
            other(|record| record.experiment = "test/chart"),
            other(|record| record.contender = "crossbeam".into()),
        ];
        let panels = panels(&records);
        let names: Vec<Vec<_>> =
            panels.iter().map(|panel| panel.iter().map(|record| record.contender.as_str()).collect()).collect();
        assert_eq!(names, [&["thalweg", "crossbeam"][..], &["thalweg"], &["thalweg"], &["thalweg"]]);
    }

    #[test]
    fn the_base_is_the_best_peer_and_never_a_bound() {
        let records =
            [record("thalweg", Role::Ours, 1.0), record("loop", Role::Bound, 0.1), record("slow", Role::Peer, 9.0)];
        let records = [records.as_slice(), &[record("quick", Role::Peer, 2.0)]].concat();
        let panels = panels(&records);
        assert_eq!(panels.len(), 1);
        assert_eq!(base(&panels[0]).unwrap().contender, "quick");
        assert_eq!(base(&panels[0][..2]).unwrap().contender, "thalweg");
        assert!(base(&[]).is_none());
        let share = Record { unit: "% of items stolen", ..record("quick", Role::Peer, 2.0) };
        assert!(base(&[&share]).is_none());
        let hidden = record("hidden", Role::Peer, -0.2);
        assert!(base(&[&hidden, &record("seen", Role::Peer, 1.0)]).is_none());
    }
}
