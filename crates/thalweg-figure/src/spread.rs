/// The middle of some figures, and their range.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Spread {
    /// The middle one, or the mean of the two in the middle.
    pub median: f64,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
}

impl Spread {
    /// The spread of `figures`. Without figures, all of it is NaN.
    ///
    /// ```
    /// let spread = thalweg_figure::Spread::of([3.0, 1.0, 4.0, 2.0]);
    /// assert_eq!((spread.min, spread.median, spread.max), (1.0, 2.5, 4.0));
    /// assert!(thalweg_figure::Spread::of([]).median.is_nan());
    /// ```
    pub fn of(figures: impl IntoIterator<Item = f64>) -> Self {
        let mut figures: Vec<f64> = figures.into_iter().collect();
        figures.sort_by(f64::total_cmp);
        let [Some(&min), Some(&max)] = [figures.first(), figures.last()] else {
            return Self { median: f64::NAN, min: f64::NAN, max: f64::NAN };
        };
        let middle = figures[(figures.len() - 1) / 2] + figures[figures.len() / 2];
        Self { median: middle / 2.0, min, max }
    }

    /// Each figure divided by `divisor`, which is above zero.
    ///
    /// ```
    /// assert_eq!(thalweg_figure::Spread::of([8.0]).divided_by(2.0).max, 4.0);
    /// ```
    pub fn divided_by(self, divisor: f64) -> Self {
        Self { median: self.median / divisor, min: self.min / divisor, max: self.max / divisor }
    }

    /// The spread of `of` each figure, which must fall as the figures rise: rates of times.
    ///
    /// ```
    /// let rate = thalweg_figure::Spread::of([1.0, 2.0, 4.0]).inverted(|nanos| 1000.0 / nanos);
    /// assert_eq!((rate.min, rate.median, rate.max), (250.0, 500.0, 1000.0));
    /// ```
    pub fn inverted(self, of: impl Fn(f64) -> f64) -> Self {
        Self { median: of(self.median), min: of(self.max), max: of(self.min) }
    }
}
