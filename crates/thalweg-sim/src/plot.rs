//! Curves as a picture: points with ranges over the number of threads, in SVG.

use crate::record::Spread;
use std::fmt::Write;

/// A panel: curves over the same axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Plot {
    /// What stands above it.
    pub title: String,
    /// What stands below the title, in as many lines as it needs; nothing, if it is empty.
    pub note: String,
    /// What is along the horizontal axis.
    pub across: String,
    /// The unit of the figures.
    pub unit: String,
    /// The curves.
    pub curves: Vec<Curve>,
}

/// A curve of a [`Plot`].
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// Its name in the legend.
    pub name: String,
    /// Drawn dashed: somebody else's figures, or an ideal.
    pub dashed: bool,
    /// Where along the axis, what stands there, and the figure. Where nothing stands at any point of a plot, its axis has ticks.
    pub points: Vec<(f64, String, Spread)>,
}

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 320.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 640.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 265.0;
/// Of a line of text.
const LINE: f64 = 15.0;
/// Characters of a note's line.
const NOTE: usize = 115;
/// Colours that most people can tell apart (Okabe and Ito), with grey for their yellow, which is faint on white.
const COLOURS: [&str; 8] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999"];

/// An axis: linear from 0, or logarithmic where a linear one would hide the small figures.
struct Axis {
    low: f64,
    high: f64,
    logarithmic: bool,
}

impl Axis {
    fn over(figures: impl Iterator<Item = f64> + Clone, ratio: f64) -> Self {
        let finite = figures.filter(|figure| figure.is_finite());
        let high = finite.clone().fold(0.0, f64::max);
        let low = finite.fold(high, f64::min);
        let logarithmic = low > 0.0 && high / low > ratio;
        let high = if high > 0.0 { high } else { 1.0 };
        Self { low: if logarithmic { low } else { 0.0 }, high, logarithmic }
    }

    /// From 0 to 1.
    fn place(&self, figure: f64) -> f64 {
        let share = match self.logarithmic {
            true => (figure / self.low).ln() / (self.high / self.low).ln(),
            false => (figure - self.low) / (self.high - self.low),
        };
        if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 }
    }

    fn ticks(&self) -> Vec<f64> {
        if self.logarithmic {
            let first = self.low.log10().floor() as i32;
            let decades = (first..=self.high.log10().ceil() as i32).map(|power| 10_f64.powi(power));
            return decades
                .flat_map(|d| [d, 2.0 * d, 5.0 * d])
                .filter(|t| (self.low..=self.high).contains(t))
                .collect();
        }
        let rough = self.high / 5.0;
        let power = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|n| n * power).into_iter().find(|step| *step >= rough).unwrap_or(rough);
        (0..).map(|n| f64::from(n) * step).take_while(|tick| *tick <= self.high * 1.0001).collect()
    }
}

/// A figure with three digits that matter.
pub(crate) fn figure(value: f64) -> String {
    let digits = if value == 0.0 { 0 } else { (2 - value.abs().log10().floor() as i32).clamp(0, 6) };
    format!("{value:.*}", digits as usize)
}

/// One panel below the other, with `caption` at the foot.
///
/// ```
/// use thalweg_sim::{Curve, Plot, Spread, draw};
///
/// let points = [1.0, 2.0, 4.0].map(|n: f64| (n, n.to_string(), Spread::of([n * 0.9, n, n * 1.1])));
/// let curve = Curve { name: "bbq".into(), dashed: false, points: points.into() };
/// let plot = Plot {
///     title: "MPSC".into(),
///     note: "The paper: no more than 9".into(),
///     across: "producers".into(),
///     unit: "Mmsg/s".into(),
///     curves: vec![curve],
/// };
/// assert!(draw(&[plot], "x86-88t, simulated").starts_with("<svg "));
/// ```
pub fn draw(plots: &[Plot], caption: &str) -> String {
    let notes: Vec<Vec<String>> = plots.iter().map(|plot| wrapped(&plot.note)).collect();
    let height = notes.iter().map(|note| HEIGHT + LINE * note.len() as f64).sum::<f64>() + 24.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    let mut top = 0.0;
    for (plot, note) in plots.iter().zip(&notes) {
        title(&mut svg, top, plot, note);
        top += LINE * note.len() as f64;
        let _ = writeln!(svg, "<g transform=\"translate(0 {top})\">");
        panel(&mut svg, plot);
        svg.push_str("</g>\n");
        top += HEIGHT;
    }
    text(&mut svg, 8.0, height - 8.0, "start", "#666", caption);
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

fn heights(plot: &Plot) -> Axis {
    let points = plot.curves.iter().flat_map(|curve| &curve.points);
    Axis::over(points.flat_map(|(_, _, spread)| [spread.min, spread.max]), 50.0)
}

fn title(svg: &mut String, top: f64, plot: &Plot, note: &[String]) {
    let scale = if heights(plot).logarithmic { ", logarithmic" } else { "" };
    text(svg, LEFT, top + 20.0, "start", "#000", &format!("{} ({}{scale})", plot.title, plot.unit));
    for (number, line) in (1..).zip(note) {
        text(svg, LEFT, top + 20.0 + LINE * f64::from(number), "start", "#444", line);
    }
}

fn panel(svg: &mut String, plot: &Plot) {
    let points = || plot.curves.iter().flat_map(|curve| &curve.points);
    let ys = heights(plot);
    let xs = Axis::over(points().map(|(x, ..)| *x), 8.0);
    let x = |value: f64| LEFT + xs.place(value) * (RIGHT - LEFT);
    let y = |value: f64| BOTTOM - ys.place(value) * (BOTTOM - TOP);
    for tick in ys.ticks() {
        line(svg, LEFT, y(tick), RIGHT, y(tick), "stroke=\"#e4e4e4\"");
        text(svg, LEFT - 6.0, y(tick) + 4.0, "end", "#444", &figure(tick));
    }
    line(svg, LEFT, BOTTOM, RIGHT, BOTTOM, "stroke=\"#444\"");
    let ticks: Vec<(f64, String)> = xs.ticks().into_iter().map(|tick| (tick, figure(tick))).collect();
    let named = points().filter(|(_, label, _)| !label.is_empty());
    let mut labels: Vec<(f64, &str)> = named.map(|(at, label, _)| (x(*at), label.as_str())).collect();
    if labels.is_empty() {
        labels = ticks.iter().map(|(at, label)| (x(*at), label.as_str())).collect();
    }
    labels.sort_by(|a, b| a.0.total_cmp(&b.0));
    labels.dedup_by(|a, b| a.1 == b.1);
    // In the first row that has room for it.
    let mut free = [f64::MIN; 2];
    for (at, label) in labels {
        let half = 3.5 * label.chars().count() as f64 + 3.0;
        if let Some(row) = (0..free.len()).find(|&row| at - half >= free[row]) {
            text(svg, at, BOTTOM + 16.0 + 14.0 * row as f64, "middle", "#444", label);
            free[row] = at + half;
        }
    }
    text(svg, (LEFT + RIGHT) / 2.0, BOTTOM + 46.0, "middle", "#444", &plot.across);
    for (number, curve) in plot.curves.iter().enumerate() {
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
            line(svg, x(*at), y(spread.min), x(*at), y(spread.max), &format!("stroke=\"{colour}\""));
            let _ = writeln!(
                svg,
                "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"2.6\" fill=\"{colour}\"/>",
                x(*at),
                y(spread.median)
            );
        }
        let row = TOP + 16.0 * number as f64;
        line(svg, RIGHT + 14.0, row, RIGHT + 38.0, row, &format!("stroke=\"{colour}\" stroke-width=\"1.6\"{dashes}"));
        text(svg, RIGHT + 44.0, row + 4.0, "start", "#000", &curve.name);
    }
}

fn line(svg: &mut String, x1: f64, y1: f64, x2: f64, y2: f64, style: &str) {
    let _ = writeln!(svg, "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" {style}/>");
}

fn text(svg: &mut String, x: f64, y: f64, anchor: &str, colour: &str, text: &str) {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" fill=\"{colour}\">{text}</text>");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(figures: &[f64]) -> Plot {
        let points = figures.iter().zip(0..).map(|(&y, n)| (f64::from(1 << n), (1 << n).to_string(), Spread::of([y])));
        let curve = Curve { name: "a<b".into(), dashed: false, points: points.collect() };
        let [title, note, across, unit] = ["t & t", "", "threads", "Mmsg/s"].map(str::to_owned);
        Plot { title, note, across, unit, curves: vec![curve] }
    }

    #[test]
    fn every_point_is_drawn_and_text_is_escaped() {
        let svg = draw(&[plot(&[1.0, 2.0, 4.0]), plot(&[0.0])], "x");
        assert_eq!((svg.matches("<circle").count(), svg.matches("<polyline").count()), (4, 2));
        assert!(svg.contains("a&lt;b") && svg.contains("t &amp; t") && !svg.contains("a<b"));
        // Linear from zero: the largest is at the top, half of it half-way.
        assert!(svg.contains("cx=\"640.0\" cy=\"40.0\"") && svg.contains("cy=\"152.5\""), "{svg}");
    }

    #[test]
    fn axes_stretch_where_figures_are_far_apart() {
        let axis = Axis::over([1.0, 100.0].into_iter(), 50.0);
        assert!(axis.logarithmic);
        assert_eq!((axis.place(1.0), axis.place(10.0), axis.place(100.0)), (0.0, 0.5, 1.0));
        assert_eq!(axis.ticks(), [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]);
        let axis = Axis::over([3.0, 90.0].into_iter(), 50.0);
        assert_eq!((axis.logarithmic, axis.ticks()), (false, vec![0.0, 20.0, 40.0, 60.0, 80.0]));
    }

    /// The heights at which texts stand, in the order of the file.
    fn heights_of(svg: &str, text: &str) -> Vec<f64> {
        let line = |line: &str| -> f64 { line.split('"').nth(3).unwrap().parse().unwrap() };
        svg.lines().filter(|line| line.starts_with("<text") && line.contains(text)).map(line).collect()
    }

    #[test]
    fn a_note_moves_down_what_is_below_it() {
        let with = Plot { note: "twelve chars ".repeat(20), ..plot(&[1.0]) };
        let svg = draw(&[with, plot(&[1.0])], "at the foot");
        assert_eq!(heights_of(&svg, "twelve"), [35.0, 50.0, 65.0]);
        assert!(svg.lines().all(|line| line.matches("twelve").count() <= NOTE / 13 + 1), "{svg}");
        // The first panel's curves are three lines lower, and so is all of the second.
        assert!(svg.contains("translate(0 45)") && svg.contains("translate(0 365)"), "{svg}");
        assert_eq!((heights_of(&svg, "t &amp; t"), heights_of(&svg, "at the foot")), (vec![20.0, 385.0], vec![701.0]));
    }

    #[test]
    fn labels_that_have_no_room_beside_each_other_stand_in_two_rows() {
        let long = |n: f64| (n, format!("a label that is long {n}"), Spread::of([1.0]));
        let mut plot = plot(&[]);
        plot.curves[0].points = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0].map(long).into();
        assert_eq!(heights_of(&draw(&[plot], ""), "a label"), [281.0, 295.0, 281.0, 295.0, 281.0, 295.0, 281.0]);
    }

    #[test]
    fn an_axis_of_points_without_labels_has_ticks() {
        let mut plot = plot(&[0.0, 25.0, 50.0, 75.0, 100.0]);
        plot.curves[0].points.iter_mut().for_each(|(at, label, _)| (*at, *label) = (100.0 * *at, String::new()));
        let svg = draw(&[plot], "");
        assert_eq!(heights_of(&svg, ">200<"), [281.0]);
        assert!(svg.contains("x=\"212.5\"") && svg.contains(">1000<"), "logarithmic, from 100 to 1600: {svg}");
    }

    #[test]
    fn three_digits_matter() {
        assert_eq!([0.0, 0.01234, 1.0, 12.34, 1234.0].map(figure), ["0", "0.0123", "1.00", "12.3", "1234"]);
    }
}
