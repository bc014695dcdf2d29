//! Numbers as people read them.

use thalweg_sync::time::Duration;

/// Three digits and a unit: 950, 12.3k, 4.56M.
pub(crate) fn count(value: f64) -> String {
    let (scaled, unit) = match value.abs() {
        v if v < 999.5 => (value, ""),
        v if v < 999.5e3 => (value / 1e3, "k"),
        v if v < 999.5e6 => (value / 1e6, "M"),
        _ => (value / 1e9, "G"),
    };
    let digits = match scaled.abs() {
        v if unit.is_empty() && (v >= 9.95 || v.fract() == 0.0) => 0,
        v if v < 9.995 => 2,
        v if v < 99.95 => 1,
        _ => 0,
    };
    format!("{scaled:.digits$}{unit}")
}

/// Three digits and a unit of time.
pub(crate) fn time(time: Duration) -> String {
    nanos(time.as_nanos() as f64)
}

/// As [`time`], of nanoseconds.
pub(crate) fn nanos(value: f64) -> String {
    let (scaled, unit) = match value {
        v if v < 999.5 => (v, "ns"),
        v if v < 999.5e3 => (v / 1e3, "us"),
        v if v < 999.5e6 => (v / 1e6, "ms"),
        v => (v / 1e9, "s"),
    };
    let digits = if scaled < 9.995 { 2 } else { usize::from(scaled < 99.95) };
    format!("{scaled:.digits$} {unit}")
}

/// A share as a percentage.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

/// By how much `now` is more or less than `then`; nothing where that says nothing.
pub(crate) fn change(then: f64, now: f64) -> String {
    if then <= 0.0 || !now.is_finite() {
        return String::new();
    }
    format!("{:+.0} %", 100.0 * (now / then - 1.0))
}

/// Cut to so many characters, with a mark where something is left out; a character that does not print becomes a space.
pub(crate) fn short(name: &str, most: usize) -> String {
    let name: String = name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if name.chars().count() <= most {
        return name;
    }
    name.chars().take(most.saturating_sub(1)).chain(['~']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits() {
        for (value, told) in [
            (0.0, "0"),
            (0.25, "0.25"),
            (7.0, "7"),
            (42.4, "42"),
            (999.0, "999"),
            (1000.0, "1.00k"),
            (12_345.0, "12.3k"),
            (999_600.0, "1.00M"),
            (4.56e9, "4.56G"),
        ] {
            assert_eq!(count(value), told);
        }
        assert_eq!(
            (nanos(1_500_000.0), percent(0.125), change(4.0, 5.0)),
            ("1.50 ms".into(), "12 %".into(), "+25 %".into())
        );
        assert_eq!((short("abcdef", 4), short("a\tb", 4)), ("abc~".into(), "a b".into()));
    }
}
