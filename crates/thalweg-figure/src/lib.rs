//! Measured figures: the [spread](Spread) of some runs, and their [picture](draw) in SVG, as curves over an axis or as bars beside each other.
//!
//! Shared by what measures on the machine at hand and by what runs on a modelled one, so that a figure looks the same wherever it comes from.
//!
//! | module | what |
//! |---|---|
//! | `spread` | the middle of some figures, and their range |
//! | `axis` | from figures to places, linear or logarithmic, and its ticks |
//! | `picture` | plots below each other |
//! | `curves`, `bars` | what is in a plot |
//! | `svg` | lines and texts |

mod axis;
mod bars;
mod curves;
mod picture;
mod spread;
mod svg;

pub use bars::{Bar, Tone};
pub use curves::Curve;
pub use picture::{Plot, Shape, draw};
pub use spread::Spread;

/// A figure with three digits that matter, or all of its integer part; `-` for what is none.
///
/// ```
/// assert_eq!([0.01234, 1.0, 12.34, 1234.0].map(thalweg_figure::digits), ["0.0123", "1.00", "12.3", "1234"]);
/// assert_eq!(thalweg_figure::digits(f64::NAN), "-");
/// ```
pub fn digits(value: f64) -> String {
    if !value.is_finite() {
        return "-".into();
    }
    let digits = if value == 0.0 { 0 } else { (2 - value.abs().log10().floor() as i32).clamp(0, 6) };
    format!("{value:.*}", digits as usize)
}
