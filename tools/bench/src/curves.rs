//! Figures along an axis, as curves: one panel of a chart.

use std::fmt::Write;

use crate::chart::{WIDTH, escape, line};
use crate::harness::Role;
use crate::records::{Record, curves};
use crate::scale::Scale;
use crate::table::figure;

/// Of a panel.
pub(crate) const HEIGHT: f64 = 300.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = WIDTH - 250.0;
const ABOVE: f64 = 34.0;
const BELOW: f64 = HEIGHT - 56.0;

/// Colours that are told apart by everybody (Okabe and Ito).
const COLOURS: [&str; 8] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8b6914"];

/// Draws a panel whose top is at `top`.
pub(crate) fn draw(svg: &mut String, panel: &[&Record], axis: &str, top: f64) {
    let head = panel[0];
    let (points, lines) = curves(panel);
    let scale = Scale::over(panel);
    let note = if scale.logarithmic { ", logarithmic axis" } else { "" };
    let title = format!("{}: {} ({}{note})", head.experiment, head.workload, head.unit);
    line(svg, format_args!(r#"<text x="8" y="{}" font-weight="bold">{}</text>"#, top + 18.0, escape(&title)));
    let height = |value: f64| top + BELOW - (BELOW - ABOVE) * scale.share(value);
    for value in scale.ticks() {
        let y = height(value);
        line(svg, format_args!(r##"<line x1="{LEFT}" x2="{RIGHT}" y1="{y:.1}" y2="{y:.1}" stroke="#ddd"/>"##));
        let text = figure(value);
        line(svg, format_args!(r#"<text x="{}" y="{:.1}" text-anchor="end">{text}</text>"#, LEFT - 6.0, y + 4.0));
    }
    let x = |at: usize| LEFT + (RIGHT - LEFT) * (at as f64 + 0.5) / points.len() as f64;
    for (at, point) in points.iter().enumerate() {
        let y = top + BELOW + 18.0;
        let text = escape(point);
        line(svg, format_args!(r#"<text x="{:.1}" y="{y}" text-anchor="middle">{text}</text>"#, x(at)));
    }
    let (middle, y, text) = ((LEFT + RIGHT) / 2.0, top + BELOW + 36.0, escape(axis));
    line(svg, format_args!(r#"<text x="{middle}" y="{y}" text-anchor="middle">{text}</text>"#));
    for (number, (name, curve)) in lines.iter().enumerate() {
        let colour = COLOURS[number % COLOURS.len()];
        let (width, dash) = if curve[0].role == Role::Ours { (2.5, "") } else { (1.5, r#" stroke-dasharray="6 3""#) };
        let mut path = String::new();
        for (at, point) in points.iter().enumerate() {
            let found = curve.iter().find(|record| record.at.is_some_and(|at| at.point == *point));
            let Some(record) = found.filter(|record| record.spread.median.is_finite()) else { continue };
            let [median, min, max] = [record.spread.median, record.spread.min, record.spread.max].map(height);
            let x = x(at);
            write!(path, "{x:.1},{median:.1} ").expect("a String takes everything");
            line(svg, format_args!(r#"<line x1="{x:.1}" x2="{x:.1}" y1="{min:.1}" y2="{max:.1}" stroke="{colour}"/>"#));
            line(svg, format_args!(r#"<circle cx="{x:.1}" cy="{median:.1}" r="3" fill="{colour}"/>"#));
        }
        line(
            svg,
            format_args!(
                r#"<polyline points="{}" fill="none" stroke="{colour}" stroke-width="{width}"{dash}/>"#,
                path.trim_end()
            ),
        );
        let y = top + ABOVE + 12.0 + 20.0 * number as f64;
        let (from, to, text) = (RIGHT + 14.0, RIGHT + 40.0, escape(name));
        line(
            svg,
            format_args!(
                r#"<line x1="{from}" x2="{to}" y1="{y}" y2="{y}" stroke="{colour}" stroke-width="{width}"{dash}/>"#
            ),
        );
        line(svg, format_args!(r#"<text x="{}" y="{}">{text}</text>"#, to + 6.0, y + 4.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::render;
    use crate::records::At;
    use crate::records::tests::record;

    fn point(name: &str, point: &'static str, median: f64) -> Record {
        Record { at: Some(At { axis: "entries & more", point }), ..record(name, Role::Ours, median) }
    }

    #[test]
    fn a_curve_has_a_mark_for_each_point_and_a_name() {
        let records = [point("a<b", "64", 2.0), point("a<b", "128", 4.0), point("c", "128", 3.0)];
        let svg = render(&records, "caption");
        assert_eq!(svg.matches("<circle").count(), 3);
        assert_eq!(svg.matches("<polyline").count(), 2);
        assert!(svg.contains("a&lt;b") && svg.contains("entries &amp; more") && !svg.contains("a<b"));
    }

    #[test]
    fn points_without_a_figure_are_left_out() {
        let svg = render(&[point("a", "1", f64::NAN), point("a", "2", 1.0)], "");
        assert_eq!(svg.matches("<circle").count(), 1);
    }
}
