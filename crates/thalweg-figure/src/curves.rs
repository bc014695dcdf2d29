//! Curves over the same axes.

use crate::axis::Axis;
use crate::picture::{BOTTOM, LEFT, RIGHT, TOP};
use crate::spread::Spread;
use crate::svg::{line, text};
use std::fmt::Write;

/// A curve of a [plot](crate::Plot).
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// Its name in the legend.
    pub name: String,
    /// Drawn dashed: somebody else's figures, or an ideal.
    pub dashed: bool,
    /// Where along the axis, what stands there, and the figure. Where nothing stands at any point of a plot, its axis has ticks.
    pub points: Vec<(f64, String, Spread)>,
}

/// Of all but the note.
pub(crate) const HEIGHT: f64 = 320.0;
/// Colours that most people can tell apart (Okabe and Ito), with grey for their yellow, which is faint on white.
const COLOURS: [&str; 8] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999"];

pub(crate) fn heights(curves: &[Curve]) -> Axis {
    let points = curves.iter().flat_map(|curve| &curve.points);
    Axis::over(points.flat_map(|(_, _, spread)| [spread.min, spread.max]), 50.0)
}

pub(crate) fn draw(svg: &mut String, across: &str, curves: &[Curve]) {
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let ys = heights(curves);
    let xs = Axis::over(points().map(|(x, ..)| *x), 8.0);
    let x = |value: f64| LEFT + xs.place(value) * (RIGHT - LEFT);
    let y = |value: f64| BOTTOM - ys.place(value) * (BOTTOM - TOP);
    for tick in ys.ticks() {
        line(svg, (LEFT, y(tick)), (RIGHT, y(tick)), "stroke=\"#e4e4e4\"");
        text(svg, (LEFT - 6.0, y(tick) + 4.0), "end", "#444", &crate::digits(tick));
    }
    line(svg, (LEFT, BOTTOM), (RIGHT, BOTTOM), "stroke=\"#444\"");
    labels(svg, &xs, curves);
    text(svg, ((LEFT + RIGHT) / 2.0, BOTTOM + 46.0), "middle", "#444", across);
    for (number, curve) in curves.iter().enumerate() {
        let colour = COLOURS[number % COLOURS.len()];
        let dashes = if curve.dashed { " stroke-dasharray=\"5 4\"" } else { "" };
        let path: Vec<String> =
            curve.points.iter().map(|(at, _, spread)| format!("{:.1},{:.1}", x(*at), y(spread.median))).collect();
        let _ = writeln!(
            svg,
            "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.6\"{dashes} points=\"{}\"/>",
            path.join(" ")
        );
        for (at, _, spread) in &curve.points {
            line(svg, (x(*at), y(spread.min)), (x(*at), y(spread.max)), &format!("stroke=\"{colour}\""));
            let _ = writeln!(
                svg,
                "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"2.6\" fill=\"{colour}\"/>",
                x(*at),
                y(spread.median)
            );
        }
        let row = TOP + 16.0 * number as f64;
        let style = format!("stroke=\"{colour}\" stroke-width=\"1.6\"{dashes}");
        line(svg, (RIGHT + 14.0, row), (RIGHT + 38.0, row), &style);
        text(svg, (RIGHT + 44.0, row + 4.0), "start", "#000", &curve.name);
    }
}

/// What stands below the horizontal axis, each label in the first row that has room for it.
fn labels(svg: &mut String, xs: &Axis, curves: &[Curve]) {
    let x = |value: f64| LEFT + xs.place(value) * (RIGHT - LEFT);
    let ticks: Vec<(f64, String)> = xs.ticks().into_iter().map(|tick| (tick, crate::digits(tick))).collect();
    let named = curves.iter().flat_map(|curve| &curve.points).filter(|(_, label, _)| !label.is_empty());
    let mut labels: Vec<(f64, &str)> = named.map(|(at, label, _)| (x(*at), label.as_str())).collect();
    if labels.is_empty() {
        labels = ticks.iter().map(|(at, label)| (x(*at), label.as_str())).collect();
    }
    labels.sort_by(|a, b| a.0.total_cmp(&b.0));
    labels.dedup_by(|a, b| a.1 == b.1);
    let mut free = [f64::MIN; 2];
    for (at, label) in labels {
        let half = 3.5 * label.chars().count() as f64 + 3.0;
        if let Some(row) = (0..free.len()).find(|&row| at - half >= free[row]) {
            text(svg, (at, BOTTOM + 16.0 + 14.0 * row as f64), "middle", "#444", label);
            free[row] = at + half;
        }
    }
}
