//! What is drawn of an entry.

use thalweg_figure::{Curve, Plot, Shape, Spread};

use crate::worlds::experiment::{Experiment, Panel, RATE};
use crate::worlds::point::{Point, Run};

/// A picture of each workload and panel, with a curve for each contender.
pub(crate) fn plots(experiment: &Experiment, points: &[Point], measured: &[Vec<Run>]) -> Vec<Plot> {
    let all: Vec<Measured<'_>> = points.iter().zip(measured.iter().map(Vec::as_slice)).collect();
    let groups = all.chunk_by(|(one, _), (next, _)| group(one) == group(next));
    groups.flat_map(|group| experiment.panels.iter().filter_map(|panel| plot(experiment, panel, group))).collect()
}

/// A curve of a panel: its points' labels and middle figures.
pub(crate) struct Drawn<'a> {
    pub(crate) workload: String,
    pub(crate) contender: &'a str,
    pub(crate) unit: &'static str,
    pub(crate) points: Vec<(&'a str, f64)>,
}

/// What is drawn of the panels with one figure for each point.
pub(crate) fn curves<'a>(experiment: &Experiment, points: &'a [Point], measured: &'a [Vec<Run>]) -> Vec<Drawn<'a>> {
    let all: Vec<Measured<'_>> = points.iter().zip(measured.iter().map(Vec::as_slice)).collect();
    let mut drawn: Vec<Drawn<'_>> = Vec::new();
    for points in all.chunk_by(|(one, _), (next, _)| group(one) == group(next)) {
        for panel in experiment.panels {
            let first = drawn.len();
            for &(point, runs) in points {
                let Some(figure) = figure(panel, (point, runs), points) else { continue };
                let is_of = |drawn: &Drawn<'_>| drawn.contender == point.contender;
                let at = drawn[first..].iter().position(is_of).map_or(drawn.len(), |at| first + at);
                if at == drawn.len() {
                    let (contender, points) = (point.contender, Vec::new());
                    drawn.push(Drawn { workload: title(point), contender, unit: unit(panel), points });
                }
                drawn[at].points.push((&point.label, figure.median));
            }
        }
    }
    drawn
}

/// What a picture is of.
fn title(point: &Point) -> String {
    let (workload, at) = group(point);
    workload.to_owned() + &at.map_or_else(String::new, |at| format!(", {at}"))
}

/// What a panel's figures count.
fn unit(panel: &Panel) -> &'static str {
    match panel {
        Panel::Rate => RATE,
        Panel::Of(unit) | Panel::Own(unit, _) => unit,
        Panel::Distribution => "% of messages that took no longer",
        Panel::SpeedUp(base) => base.unit,
    }
}

/// A point and its runs.
type Measured<'a> = (&'a Point, &'a [Run]);

/// The workload, and the number of threads if that is not what tells its points apart.
fn group(point: &Point) -> (&str, Option<&str>) {
    (point.workload, point.params["at"].as_str().filter(|at| *at != point.label))
}

/// `None` if no point has the panel's figure.
fn plot(experiment: &Experiment, panel: &Panel, points: &[Measured<'_>]) -> Option<Plot> {
    let mut labels: Vec<&str> = Vec::new();
    for (point, _) in points {
        if !labels.contains(&point.label.as_str()) {
            labels.push(&point.label);
        }
    }
    let mut curves: Vec<Curve> = Vec::new();
    for &(point, runs) in points {
        let number = curves.iter().position(|curve| curve.name == point.contender).unwrap_or(curves.len());
        // One point of each curve: beside each other, with their names.
        let (at, label) = match labels.len() {
            1 => (number, point.contender),
            _ => (labels.iter().position(|label| *label == point.label)?, point.label.as_str()),
        };
        let drawn: Vec<(f64, String, Spread)> = match panel {
            Panel::Distribution => shares(point, runs),
            _ => figure(panel, (point, runs), points)
                .map(|figure| (at as f64, label.to_owned(), figure))
                .into_iter()
                .collect(),
        };
        if drawn.is_empty() {
            continue;
        }
        if number == curves.len() {
            curves.push(Curve { name: point.contender.to_owned(), dashed: false, points: Vec::new() });
        }
        curves[number].points.extend(drawn);
    }
    let unit = unit(panel);
    let across = match (panel, &labels[..]) {
        (Panel::Distribution, _) => "ns in the queue",
        (_, [label]) => label,
        _ => "as in the table",
    };
    (!curves.is_empty()).then(|| Plot {
        title: format!("{}: {}", experiment.name, title(points[0].0)),
        note: (experiment.note)(unit, points[0].0.workload),
        unit: unit.to_owned(),
        shape: Shape::Curves { across: across.to_owned(), curves },
    })
}

/// Along an axis of time.
fn shares(point: &Point, runs: &[Run]) -> Vec<(f64, String, Spread)> {
    let shares = point.distribution(runs).into_iter().flatten();
    shares.map(|(percent, nanos)| (nanos.median, String::new(), Spread::of([percent]))).collect()
}

/// A point's one figure, if the panel shows one of each.
fn figure(panel: &Panel, (point, runs): Measured<'_>, points: &[Measured<'_>]) -> Option<Spread> {
    let nanos = point.nanos(runs);
    match panel {
        Panel::Rate => Some(nanos.inverted(|nanos| 1000.0 / nanos)),
        Panel::Of(unit) => point.figures(runs).into_iter().find(|figure| figure.0 == *unit).map(|figure| figure.1),
        Panel::Own(_, of) => Some(Spread::of([of(point, runs)])),
        Panel::Distribution => None,
        Panel::SpeedUp(base) => {
            let (base, runs) = points.iter().find(|(other, _)| (base.is)(point, other))?;
            let base = base.nanos(runs).median;
            Some(nanos.inverted(|nanos| base / nanos))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worlds::experiment::{Base, EVERY, said};
    use crate::worlds::point::Figures;
    use serde_json::json;
    use thalweg_figure::draw;
    use thalweg_sim::{Machine, Simulation, Stamp};

    /// Points, by workload, contender, label and time.
    fn measured(of: &[(&'static str, &'static str, &str, u64)]) -> (Vec<Point>, Vec<Vec<Run>>) {
        let report = Simulation::new(Machine::named("vl-16").unwrap()).threads(1).run(|| ());
        let point = |&(workload, contender, label, _): &(&'static str, &'static str, &str, u64)| Point {
            workload,
            contender,
            label: label.to_owned(),
            params: json!({ "at": "2P1C" }),
            threads: 1,
            messages: 1,
            device: None,
            client: Box::new(|| Figures::new(1, 1)),
        };
        let run = |&(.., nanos): &(&str, &str, &str, u64)| vec![(Figures::new(1, nanos), report.clone())];
        (of.iter().map(point).collect(), of.iter().map(run).collect())
    }

    const OVER_SLOW: Base =
        Base { unit: "times as fast as slow", is: |of, other| other.contender == "slow" && other.label == of.label };

    fn drawn(panels: &'static [Panel], of: &[(&'static str, &'static str, &str, u64)]) -> Vec<Plot> {
        let experiment = Experiment::new("none", |_| Vec::new()).panels(panels).note(|unit, workload| {
            said("The paper", &[(RATE, &[("b", "two")]), (OVER_SLOW.unit, &[(EVERY, "ten")])], unit, workload)
        });
        let (points, measured) = measured(of);
        plots(&experiment, &points, &measured)
    }

    /// A curve's name, and the places, labels and middle figures of its points.
    type Drawn<'a> = (&'a str, Vec<(f64, &'a str, f64)>);

    fn curves(plot: &Plot) -> Vec<Drawn<'_>> {
        (plot.curves().iter())
            .map(|curve| {
                let points = curve.points.iter().map(|(at, label, figure)| (*at, label.as_str(), figure.median));
                (curve.name.as_str(), points.collect())
            })
            .collect()
    }

    fn across(plot: &Plot) -> &str {
        let Shape::Curves { across, .. } = &plot.shape else { panic!("all are curves") };
        across
    }

    #[test]
    fn a_point_is_compared_with_its_base_and_left_out_without_one() {
        let points = [("a", "slow", "x", 80), ("a", "slow", "y", 20), ("a", "quick", "x", 10), ("a", "quick", "z", 1)];
        let plots = drawn(&[Panel::SpeedUp(OVER_SLOW), Panel::Of("nothing")], &points);
        assert_eq!(plots.len(), 1, "nobody has the other figure");
        assert_eq!((plots[0].title.as_str(), plots[0].unit.as_str()), ("none: a, 2P1C", OVER_SLOW.unit));
        let expected = [("slow", vec![(0.0, "x", 1.0), (1.0, "y", 1.0)]), ("quick", vec![(0.0, "x", 8.0)])];
        assert_eq!(curves(&plots[0]), expected);
    }

    #[test]
    fn a_label_has_one_place_and_a_workload_of_one_label_shows_its_contenders_beside_each_other() {
        let points = [("a", "slow", "x", 10), ("a", "slow", "y", 5), ("a", "quick", "y", 2), ("b", "slow", "x", 10)];
        let [a, b] = &drawn(&[Panel::Rate], &points)[..] else { panic!("a picture for each workload") };
        let expected = [("slow", vec![(0.0, "x", 100.0), (1.0, "y", 200.0)]), ("quick", vec![(1.0, "y", 500.0)])];
        assert_eq!((curves(a), across(a), a.note.as_str()), (expected.into(), "as in the table", ""));
        assert_eq!((across(b), b.note.as_str()), ("x", "The paper: two"));
        let [one] = &drawn(&[Panel::Rate], &[("a", "slow", "x", 10), ("a", "quick", "x", 5)])[..] else {
            panic!("one")
        };
        assert_eq!(curves(one), [("slow", vec![(0.0, "slow", 100.0)]), ("quick", vec![(1.0, "quick", 200.0)])]);
    }

    #[test]
    fn the_number_of_threads_makes_a_picture_of_its_own_unless_it_is_the_label() {
        let (mut points, measured) =
            measured(&[("a", "slow", "alone", 1), ("a", "slow", "alone", 1), ("a", "slow", "2P1C", 1)]);
        points[1].params = json!({ "at": "4P1C" });
        let titles = plots(&Experiment::new("none", |_| Vec::new()), &points, &measured);
        assert_eq!(
            titles.iter().map(|plot| plot.title.as_str()).collect::<Vec<_>>(),
            ["none: a, 2P1C", "none: a, 4P1C", "none: a"]
        );
    }

    /// Of three messages the first took a microsecond, the last a hundred.
    #[test]
    fn a_distribution_is_a_curve_for_each_contender_along_the_time() {
        let (points, mut measured) = measured(&[("a", "slow", "x", 1), ("a", "silent", "x", 1)]);
        measured[0][0].1 = Simulation::new(Machine::named("vl-16").unwrap()).threads(1).run(|| {
            for cycles in [2_000, 4_000, 200_000] {
                let sent = Stamp::now();
                thalweg_sync::hint::work(cycles);
                sent.arrived();
            }
        });
        let experiment = Experiment::new("none", |_| Vec::new()).panels(&[Panel::Distribution]);
        let [plot] = &plots(&experiment, &points, &measured)[..] else { panic!("one") };
        let [(name, shares)] = &curves(plot)[..] else { panic!("nobody says how long the other's took") };
        assert_eq!((*name, across(plot)), ("slow", "ns in the queue"));
        let figures: Vec<_> = shares.iter().map(|(nanos, _, percent)| (*nanos, *percent)).collect();
        let early = [(1e3, 0.0), (1e3, 10.0), (1e3, 25.0), (2e3, 50.0)];
        let late = [(1e5, 75.0), (1e5, 90.0), (1e5, 99.0), (1e5, 99.9), (1e5, 100.0)];
        assert_eq!(figures, [&early[..], &late].concat());
        assert!(draw(std::slice::from_ref(plot), "").contains(">50000<"), "the axis of time has ticks");
    }

    #[test]
    fn what_is_said_is_of_a_unit_and_a_workload() {
        let notes = drawn(&[Panel::Rate, Panel::SpeedUp(OVER_SLOW)], &[("a", "slow", "x", 1), ("b", "slow", "x", 1)]);
        let notes: Vec<_> = notes.iter().map(|plot| plot.note.as_str()).collect();
        assert_eq!(notes, ["", "The paper: ten", "The paper: two", "The paper: ten"]);
    }
}
