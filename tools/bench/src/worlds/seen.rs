//! What came of a plan in either world, for the lines that set a paper's numbers beside it.

use super::experiment::NANOS;
use super::point::{Point, Run};

/// Middle figures, by unit.
pub(crate) type Middles = Vec<(&'static str, f64)>;

/// All points of a plan in their order, each with its middle figures if it was run.
pub(crate) struct Seen<'a> {
    points: Vec<(&'a Point, Option<Middles>)>,
    is_arm: bool,
}

impl<'a> Seen<'a> {
    /// Points of a machine that is one of ARM's or not: papers have other numbers there.
    pub(crate) fn new(points: Vec<(&'a Point, Option<Middles>)>, is_arm: bool) -> Self {
        Self { points, is_arm }
    }

    /// A whole plan on a modelled machine.
    pub(crate) fn all(points: &'a [Point], measured: &[Vec<Run>], is_arm: bool) -> Self {
        let middles = points.iter().zip(measured).map(|(point, runs)| (point, Some(Self::middles(point, runs))));
        Self::new(middles.collect(), is_arm)
    }

    pub(crate) fn middles(point: &Point, runs: &[Run]) -> Middles {
        point.figures(runs).into_iter().map(|(unit, spread)| (unit, spread.median)).collect()
    }

    pub(crate) fn is_arm(&self) -> bool {
        self.is_arm
    }

    /// The hardware threads that there are for the figure.
    pub(crate) fn threads(&self) -> usize {
        self.points.iter().map(|(point, _)| point.threads).max().unwrap_or(0)
    }

    /// Where the points are that `fits` is true of. They may not have been run.
    pub(crate) fn places(&self, fits: impl Fn(&Point) -> bool) -> Vec<usize> {
        (0..self.points.len()).filter(|&at| fits(self.point(at))).collect()
    }

    pub(crate) fn point(&self, at: usize) -> &'a Point {
        self.points[at].0
    }

    /// The middle figure of that unit, if the point was run and has it.
    pub(crate) fn figure(&self, at: usize, unit: &str) -> Option<f64> {
        self.points[at].1.as_ref()?.iter().find(|figure| figure.0 == unit).map(|figure| figure.1)
    }

    pub(crate) fn nanos(&self, at: usize) -> Option<f64> {
        self.figure(at, NANOS)
    }

    /// The point of that name.
    pub(crate) fn find(&self, workload: &str, contender: &str, label: &str) -> Option<usize> {
        let is_it = |point: &Point| (point.workload, point.contender, &*point.label) == (workload, contender, label);
        self.places(is_it).first().copied()
    }

    /// Nanoseconds of the point of that name.
    pub(crate) fn nanos_of(&self, workload: &str, contender: &str, label: &str) -> Option<f64> {
        self.nanos(self.find(workload, contender, label)?)
    }
}

/// The least and the most of all of them; none if one is missing, or there are none.
pub(crate) fn range(values: impl IntoIterator<Item = Option<f64>>) -> Option<(f64, f64)> {
    let all = values.into_iter().collect::<Option<Vec<f64>>>()?;
    let wider = |(least, most): (f64, f64), one: f64| (least.min(one), most.max(one));
    (!all.is_empty()).then(|| all.into_iter().fold((f64::INFINITY, f64::NEG_INFINITY), wider))
}

/// Their arithmetic mean; none if one is missing, or there are none.
pub(crate) fn mean(values: impl IntoIterator<Item = Option<f64>>) -> Option<f64> {
    let all = values.into_iter().collect::<Option<Vec<f64>>>()?;
    (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
}

/// Their geometric mean; none if one is missing, or there are none.
pub(crate) fn geometric(values: impl IntoIterator<Item = Option<f64>>) -> Option<f64> {
    mean(values.into_iter().map(|value| value.map(f64::ln))).map(f64::exp)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_leaves_no_range_and_no_mean() {
        let all = [Some(2.0), Some(8.0)];
        assert_eq!((range(all), mean(all)), (Some((2.0, 8.0)), Some(5.0)));
        assert!((geometric(all).unwrap() - 4.0).abs() < 1e-9);
        let part = [Some(2.0), None];
        assert_eq!((range(part), mean(part), geometric(part)), (None, None, None));
        assert_eq!((range([]), mean([])), (None, None));
    }
}
