//! A picture: plots below each other.

use crate::bars::{self, Bar};
use crate::curves::{self, Curve};
use crate::svg::text;
use std::fmt::Write;

/// A part of a picture.
#[derive(Clone, Debug, PartialEq)]
pub struct Plot {
    /// What stands above it.
    pub title: String,
    /// What stands below the title, in as many lines as it needs; nothing, if it is empty.
    pub note: String,
    /// The unit of the figures.
    pub unit: String,
    /// What is drawn.
    pub shape: Shape,
}

/// What is in a [`Plot`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Shape {
    /// Curves over the same axes: linear, or logarithmic where figures are far apart.
    Curves {
        /// What is along the horizontal axis.
        across: String,
        /// The curves.
        curves: Vec<Curve>,
    },
    /// Bars beside the same scale.
    Bars {
        /// The bars, from the top down.
        bars: Vec<Bar>,
        /// The number of the one whose end is marked: what ratios refer to.
        base: Option<usize>,
    },
}

pub(crate) const WIDTH: f64 = 860.0;
pub(crate) const LEFT: f64 = 70.0;
pub(crate) const RIGHT: f64 = 640.0;
pub(crate) const TOP: f64 = 40.0;
pub(crate) const BOTTOM: f64 = 265.0;
/// Of a line of text.
const LINE: f64 = 15.0;
/// Characters of a note's line.
const NOTE: usize = 115;

impl Plot {
    /// Its curves; none, if it has bars.
    pub fn curves(&self) -> &[Curve] {
        match &self.shape {
            Shape::Curves { curves, .. } => curves,
            Shape::Bars { .. } => &[],
        }
    }

    /// Without its note.
    fn height(&self) -> f64 {
        match &self.shape {
            Shape::Curves { .. } => curves::HEIGHT,
            Shape::Bars { bars, .. } => bars::height(bars),
        }
    }

    fn is_logarithmic(&self) -> bool {
        match &self.shape {
            Shape::Curves { curves, .. } => curves::heights(curves).logarithmic,
            Shape::Bars { bars, .. } => bars::lengths(bars).logarithmic,
        }
    }
}

/// One plot below the other, with `caption` at the foot: an SVG file.
///
/// ```
/// use thalweg_figure::{Curve, Plot, Shape, Spread, draw};
///
/// let points = [1.0, 2.0, 4.0].map(|n: f64| (n, n.to_string(), Spread::of([n * 0.9, n, n * 1.1])));
/// let curve = Curve { name: "bbq".into(), dashed: false, points: points.into() };
/// let plot = Plot {
///     title: "MPSC".into(),
///     note: "The paper: no more than 9".into(),
///     unit: "Mmsg/s".into(),
///     shape: Shape::Curves { across: "producers".into(), curves: vec![curve] },
/// };
/// assert!(draw(&[plot], "x86-88t, simulated").starts_with("<svg "));
/// ```
pub fn draw(plots: &[Plot], caption: &str) -> String {
    let notes: Vec<Vec<String>> = plots.iter().map(|plot| wrapped(&plot.note)).collect();
    let of = |(plot, note): (&Plot, &Vec<String>)| plot.height() + LINE * note.len() as f64;
    let height = plots.iter().zip(&notes).map(of).sum::<f64>() + 24.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    let mut top = 0.0;
    for (plot, note) in plots.iter().zip(&notes) {
        title(&mut svg, top, plot, note);
        top += LINE * note.len() as f64;
        let _ = writeln!(svg, "<g transform=\"translate(0 {top})\">");
        match &plot.shape {
            Shape::Curves { across, curves } => curves::draw(&mut svg, across, curves),
            Shape::Bars { bars, base } => bars::draw(&mut svg, bars, *base),
        }
        svg.push_str("</g>\n");
        top += plot.height();
    }
    text(&mut svg, (8.0, height - 8.0), "start", "#666", caption);
    svg.push_str("</svg>\n");
    svg
}

/// Lines of at most [`NOTE`] characters, but for longer words.
fn wrapped(note: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in note.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= NOTE => *line += &format!(" {word}"),
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

fn title(svg: &mut String, top: f64, plot: &Plot, note: &[String]) {
    let scale = if plot.is_logarithmic() { ", logarithmic" } else { "" };
    text(svg, (LEFT, top + 20.0), "start", "#000", &format!("{} ({}{scale})", plot.title, plot.unit));
    for (number, line) in (1..).zip(note) {
        text(svg, (LEFT, top + 20.0 + LINE * f64::from(number)), "start", "#444", line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bars::Tone;
    use crate::spread::Spread;

    fn plot(points: Vec<(f64, String, Spread)>) -> Plot {
        let curves = vec![Curve { name: "a<b".into(), dashed: false, points }];
        let [title, note, unit] = ["t & t", "", "Mmsg/s"].map(str::to_owned);
        Plot { title, note, unit, shape: Shape::Curves { across: "threads".into(), curves } }
    }

    fn curve(figures: &[f64]) -> Plot {
        let point = |(&y, n): (&f64, i32)| (f64::from(1 << n), (1 << n).to_string(), Spread::of([y]));
        plot(figures.iter().zip(0..).map(point).collect())
    }

    fn bars(figures: &[(&str, f64)], base: Option<usize>) -> Plot {
        let bar = |&(name, middle): &(&str, f64)| Bar {
            name: name.into(),
            tone: Tone::Ours,
            figure: Spread { median: middle, min: middle / 2.0, max: middle * 2.0 },
        };
        Plot { shape: Shape::Bars { bars: figures.iter().map(bar).collect(), base }, ..curve(&[]) }
    }

    #[test]
    fn every_point_is_drawn_and_text_is_escaped() {
        let svg = draw(&[curve(&[1.0, 2.0, 4.0]), curve(&[0.0])], "x");
        assert_eq!((svg.matches("<circle").count(), svg.matches("<polyline").count()), (4, 2));
        assert!(svg.contains("a&lt;b") && svg.contains("t &amp; t") && !svg.contains("a<b"));
        // Linear from zero: the largest is at the top, half of it half-way.
        assert!(svg.contains("cx=\"640.0\" cy=\"40.0\"") && svg.contains("cy=\"152.5\""), "{svg}");
    }

    #[test]
    fn a_bar_is_as_long_as_its_share_of_the_longest_range_and_the_base_is_marked() {
        let svg = draw(&[bars(&[("ours", 2.0), ("a<b", 4.0)], Some(1))], "x & y");
        // 2 and 4 of 8.
        assert!(
            svg.contains("width=\"120.0\" height=\"14\"") && svg.contains("width=\"240.0\" height=\"14\""),
            "{svg}"
        );
        assert!(svg.contains("x1=\"430.0\" y1=\"32.0\" x2=\"430.0\""), "{svg}");
        assert!(svg.contains("2.00 (1.00 - 4.00)") && svg.contains("a&lt;b") && svg.contains("x &amp; y"), "{svg}");
        assert!(!draw(&[bars(&[("ours", 2.0)], None)], "").contains("dasharray"));
    }

    #[test]
    fn nothing_but_zeros_still_draws() {
        assert!(draw(&[bars(&[("idle", 0.0)], None)], "").contains("width=\"0.0\" height=\"14\""));
        assert!(draw(&[], "").ends_with("</svg>\n"));
    }

    /// The heights at which texts stand, in the order of the file.
    fn heights_of(svg: &str, text: &str) -> Vec<f64> {
        let line = |line: &str| -> f64 { line.split('"').nth(3).unwrap().parse().unwrap() };
        svg.lines().filter(|line| line.starts_with("<text") && line.contains(text)).map(line).collect()
    }

    #[test]
    fn a_note_moves_down_what_is_below_it() {
        let with = Plot { note: "twelve chars ".repeat(20), ..curve(&[1.0]) };
        let svg = draw(&[with, curve(&[1.0])], "at the foot");
        assert_eq!(heights_of(&svg, "twelve"), [35.0, 50.0, 65.0]);
        assert!(svg.lines().all(|line| line.matches("twelve").count() <= NOTE / 13 + 1), "{svg}");
        // The first plot's curves are three lines lower, and so is all of the second.
        assert!(svg.contains("translate(0 45)") && svg.contains("translate(0 365)"), "{svg}");
        assert_eq!((heights_of(&svg, "t &amp; t"), heights_of(&svg, "at the foot")), (vec![20.0, 385.0], vec![701.0]));
    }

    #[test]
    fn labels_that_have_no_room_beside_each_other_stand_in_two_rows() {
        let long = |n: f64| (n, format!("a label that is long {n}"), Spread::of([1.0]));
        let plot = plot([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0].map(long).into());
        assert_eq!(heights_of(&draw(&[plot], ""), "a label"), [281.0, 295.0, 281.0, 295.0, 281.0, 295.0, 281.0]);
    }

    #[test]
    fn an_axis_of_points_without_labels_has_ticks() {
        let point = |(n, y)| (100.0 * f64::from(1 << n), String::new(), Spread::of([y]));
        let svg = draw(&[plot((0..).zip([0.0, 25.0, 50.0, 75.0, 100.0]).map(point).collect())], "");
        assert_eq!(heights_of(&svg, ">200<"), [281.0]);
        assert!(svg.contains("x=\"212.5\"") && svg.contains(">1000<"), "logarithmic, from 100 to 1600: {svg}");
    }
}
