//! Bars beside the same scale.

use crate::axis::Axis;
use crate::picture::{LEFT, TOP, WIDTH};
use crate::spread::Spread;
use crate::svg::{line, text};
use std::fmt::Write;

/// A bar of a [plot](crate::Plot).
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// What stands before it.
    pub name: String,
    /// How it is filled.
    pub tone: Tone,
    /// Its length, and the range of the thin line in it. A figure that is not finite has no length.
    pub figure: Spread,
}

/// How a [bar](Bar) is filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// What the picture is about.
    Ours,
    /// What it is compared with.
    Theirs,
    /// What nobody can pass.
    Bound,
}

const ROW: f64 = 22.0;
/// Where bars begin, and how long the longest is.
const BEGIN: f64 = LEFT + 120.0;
const LENGTH: f64 = WIDTH - BEGIN - 190.0;

pub(crate) fn height(bars: &[Bar]) -> f64 {
    TOP + ROW * bars.len() as f64
}

pub(crate) fn lengths(bars: &[Bar]) -> Axis {
    Axis::over(bars.iter().flat_map(|bar| [bar.figure.min, bar.figure.max]), 50.0).beginning_at_a_power()
}

pub(crate) fn draw(svg: &mut String, bars: &[Bar], base: Option<usize>) {
    let axis = lengths(bars);
    let x = |value: f64| BEGIN + LENGTH * axis.place(value);
    if let Some(base) = base.and_then(|base| bars.get(base)) {
        let base = x(base.figure.median);
        line(svg, (base, TOP - 8.0), (base, height(bars) - 4.0), "stroke=\"#999\" stroke-dasharray=\"3 3\"");
    }
    for (at, bar) in bars.iter().enumerate() {
        let middle = TOP + ROW * at as f64;
        let colour = match bar.tone {
            Tone::Ours => "#1b6ca8",
            Tone::Theirs => "#c9cdd2",
            Tone::Bound => "#eceef0",
        };
        let Spread { median, min, max } = bar.figure;
        text(svg, (BEGIN - 8.0, middle + 4.0), "end", "#000", &bar.name);
        let _ = writeln!(
            svg,
            "<rect x=\"{BEGIN}\" y=\"{:.1}\" width=\"{:.1}\" height=\"14\" fill=\"{colour}\"/>",
            middle - 7.0,
            x(median) - BEGIN
        );
        line(svg, (x(min), middle), (x(max), middle), "stroke=\"#222\"");
        let [median, min, max] = [median, min, max].map(crate::digits);
        text(svg, (BEGIN + LENGTH + 8.0, middle + 4.0), "start", "#000", &format!("{median} ({min} - {max})"));
    }
}
