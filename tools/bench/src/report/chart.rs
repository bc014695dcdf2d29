//! Records as a picture: curves where they are points of an axis, else bars.

use thalweg_figure::{Bar, Curve, Plot, Shape, Tone, draw};

use super::record::{Record, Role, base, curves, panels};

/// One panel for each workload and unit, below each other, with `caption` at the foot.
pub fn render(records: &[Record], caption: &str) -> String {
    let drawn: Vec<Plot> = panels(records).iter().map(|panel| picture(panel)).collect();
    draw(
        &drawn,
        &format!("{caption}. Bars, marks: medians; thin lines: least to greatest; dashed: what is compared with."),
    )
}

fn picture(panel: &[&Record]) -> Plot {
    let head = panel[0];
    let shape = match head.at {
        Some(at) => Shape::Curves { across: at.axis.to_owned(), curves: lines(panel) },
        None => {
            let base = base(panel);
            let base = base.and_then(|base| panel.iter().position(|record| std::ptr::eq(*record, base)));
            Shape::Bars { bars: panel.iter().map(|record| bar(record)).collect(), base }
        }
    };
    let title = format!("{}: {}", head.experiment, head.workload);
    Plot { title, note: String::new(), unit: head.unit.to_owned(), shape }
}

fn bar(record: &Record) -> Bar {
    let tone = match record.role {
        Role::Ours => Tone::Ours,
        Role::Peer => Tone::Theirs,
        Role::Bound => Tone::Bound,
    };
    Bar { name: record.contender.clone(), tone, figure: record.spread }
}

/// A curve for each contender, over the points that have a figure.
fn lines(panel: &[&Record]) -> Vec<Curve> {
    let (points, lines) = curves(panel);
    let place = |record: &Record| {
        let point = record.at?.point;
        let at = points.iter().position(|other| *other == point)?;
        record.spread.median.is_finite().then(|| (at as f64, point.to_owned(), record.spread))
    };
    let curve = |(name, line): &(&str, Vec<&Record>)| Curve {
        name: (*name).to_owned(),
        dashed: line[0].role != Role::Ours,
        points: points
            .iter()
            .filter_map(|point| line.iter().find(|record| record.at.is_some_and(|at| at.point == *point)))
            .filter_map(|record| place(record))
            .collect(),
    };
    lines.iter().map(curve).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::record::At;
    use crate::report::record::tests::record;

    fn point(name: &str, point: &'static str, median: f64) -> Record {
        Record { at: Some(At { axis: "entries & more", point }), ..record(name, Role::Ours, median) }
    }

    #[test]
    fn a_chart_has_a_bar_for_everyone_and_marks_the_best_peer() {
        let records = [record("thalweg", Role::Ours, 2.0), record("a<b", Role::Peer, 4.0)];
        let svg = render(&records, "x & y");
        assert_eq!(svg.matches("height=\"14\"").count(), 2);
        // Where 4 of 8 is.
        assert!(svg.contains("x1=\"430.0\" y1=\"32.0\" x2=\"430.0\"") && svg.contains("x &amp; y"), "{svg}");
    }

    #[test]
    fn a_curve_has_a_mark_for_each_point_and_a_name() {
        let peer = Record { role: Role::Peer, ..point("c", "128", 3.0) };
        let svg = render(&[point("a<b", "64", 2.0), point("a<b", "128", 4.0), peer], "caption");
        assert_eq!((svg.matches("<circle").count(), svg.matches("<polyline").count()), (3, 2));
        assert_eq!(svg.matches("stroke-dasharray").count(), 2, "the peer's line, here and in the legend");
        assert!(svg.contains("a&lt;b") && svg.contains("entries &amp; more") && !svg.contains("a<b"));
    }

    #[test]
    fn points_without_a_figure_are_left_out() {
        let svg = render(&[point("a", "1", f64::NAN), point("a", "2", 1.0)], "");
        assert_eq!(svg.matches("<circle").count(), 1);
    }
}
