//! The axis of figures of a panel.

use crate::records::Record;

/// From figures to shares of an axis. Logarithmic where a linear axis would hide the small ones.
pub(crate) struct Scale {
    low: f64,
    high: f64,
    pub(crate) logarithmic: bool,
}

impl Scale {
    pub(crate) fn over(panel: &[&Record]) -> Self {
        let finite = |pick: fn(&Record) -> f64| panel.iter().map(move |record| pick(record)).filter(|v| v.is_finite());
        let high = finite(|record| record.spread.max).fold(0.0, f64::max);
        let low = finite(|record| record.spread.min).fold(high, f64::min);
        if low > 0.0 && high / low > 30.0 {
            Self { low: 10_f64.powf(low.log10().floor()), high, logarithmic: true }
        } else {
            Self { low: 0.0, high: if high > 0.0 { high } else { 1.0 }, logarithmic: false }
        }
    }

    /// Between 0 and 1.
    pub(crate) fn share(&self, value: f64) -> f64 {
        let share = match self.logarithmic {
            true => (value / self.low).log10() / (self.high / self.low).log10(),
            false => value / self.high,
        };
        if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 }
    }

    /// Round values within the scale, four to ten of them if it is linear.
    pub(crate) fn ticks(&self) -> Vec<f64> {
        if self.logarithmic {
            let powers = std::iter::successors(Some(self.low), |value| Some(value * 10.0));
            return powers.take_while(|&value| value <= self.high).collect();
        }
        let rough = 10_f64.powf(self.high.log10().floor());
        let step = [0.1, 0.2, 0.5, 1.0].map(|part| part * rough).into_iter().find(|step| self.high / step <= 10.0);
        let step = step.unwrap_or(rough);
        (0..=10).map(|count| f64::from(count) * step).take_while(|&value| value <= self.high * 1.001).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::Role;
    use crate::records::tests::record;

    #[test]
    fn wide_ranges_take_a_logarithmic_axis() {
        let records = [record("thalweg", Role::Ours, 1.0), record("slow", Role::Peer, 1000.0)];
        let scale = Scale::over(&records.iter().collect::<Vec<_>>());
        assert!(scale.logarithmic);
        assert_eq!((scale.share(scale.low), scale.share(2000.0)), (0.0, 1.0));
    }

    #[test]
    fn ticks_are_round_and_within_the_scale() {
        let linear = Scale { low: 0.0, high: 47.0, logarithmic: false };
        assert_eq!(linear.ticks(), [0.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 35.0, 40.0, 45.0]);
        let logarithmic = Scale { low: 1.0, high: 250.0, logarithmic: true };
        assert_eq!(logarithmic.ticks(), [1.0, 10.0, 100.0]);
        assert_eq!((linear.share(0.0), linear.share(47.0)), (0.0, 1.0));
    }
}
