//! From figures to places on an axis.

/// Linear from 0, or logarithmic where a linear axis would hide the small figures.
pub(crate) struct Axis {
    low: f64,
    high: f64,
    pub(crate) logarithmic: bool,
}

impl Axis {
    /// Over `figures`, of which those that are not finite do not count. Logarithmic if the largest is more than `ratio` times the smallest.
    pub(crate) fn over(figures: impl Iterator<Item = f64> + Clone, ratio: f64) -> Self {
        let finite = figures.filter(|figure| figure.is_finite());
        let high = finite.clone().fold(0.0, f64::max);
        let low = finite.fold(high, f64::min);
        let logarithmic = low > 0.0 && high / low > ratio;
        let high = if high > 0.0 { high } else { 1.0 };
        Self { low: if logarithmic { low } else { 0.0 }, high, logarithmic }
    }

    /// The same from a power of ten on, if it is logarithmic: the smallest figure has a length, too.
    pub(crate) fn beginning_at_a_power(self) -> Self {
        let low = if self.logarithmic { 10_f64.powf(self.low.log10().floor()) } else { self.low };
        Self { low, ..self }
    }

    /// From 0 to 1.
    pub(crate) fn place(&self, figure: f64) -> f64 {
        let share = match self.logarithmic {
            true => (figure / self.low).ln() / (self.high / self.low).ln(),
            false => (figure - self.low) / (self.high - self.low),
        };
        if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 }
    }

    /// Round figures.
    pub(crate) fn ticks(&self) -> Vec<f64> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_stretch_where_figures_are_far_apart() {
        let axis = Axis::over([1.0, 100.0].into_iter(), 50.0);
        assert!(axis.logarithmic);
        assert_eq!((axis.place(1.0), axis.place(10.0), axis.place(100.0)), (0.0, 0.5, 1.0));
        assert_eq!(axis.ticks(), [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]);
        let axis = Axis::over([3.0, 90.0].into_iter(), 50.0);
        assert_eq!((axis.logarithmic, axis.ticks()), (false, vec![0.0, 20.0, 40.0, 60.0, 80.0]));
    }

    #[test]
    fn an_axis_that_begins_at_a_power_shows_its_smallest_figure() {
        let axis = Axis::over([2.0, f64::NAN, 1000.0].into_iter(), 50.0).beginning_at_a_power();
        assert_eq!((axis.place(1.0), axis.place(1000.0)), (0.0, 1.0));
        assert!(axis.place(2.0) > 0.1);
        let linear = Axis::over([2.0].into_iter(), 50.0).beginning_at_a_power();
        assert_eq!((linear.place(0.0), linear.place(1.0)), (0.0, 0.5));
    }

    #[test]
    fn what_is_not_finite_stands_at_the_beginning() {
        let axis = Axis::over([0.0, f64::INFINITY].into_iter(), 50.0);
        assert_eq!((axis.place(f64::NAN), axis.place(7.0)), (0.0, 1.0));
    }
}
