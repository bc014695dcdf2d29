//! Files under `docs/measured`: `MACHINE/EXPERIMENT.jsonl`.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// The folder of the checkout.
///
/// # Errors
///
/// If this program has none.
pub(crate) fn folder() -> Result<PathBuf, String> {
    let measured = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/measured");
    if measured.is_dir() {
        Ok(measured)
    } else {
        Err(format!("{} is not there; publishing needs a checkout of thalweg", measured.display()))
    }
}

/// Writes the file, and its folders.
///
/// # Errors
///
/// If it cannot, with the path.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), String> {
    let cannot = |error: std::io::Error| format!("cannot write {}: {error}", path.display());
    std::fs::create_dir_all(path.parent().expect("it is in a folder")).map_err(cannot)?;
    std::fs::write(path, text).map_err(cannot)
}

/// The date, in UTC.
pub(crate) fn today() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    date(since.as_secs() / 86_400)
}

/// The date so many days after 1970-01-01.
fn date(mut days: u64) -> String {
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let mut year = 1970;
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let mut month = 0;
    let lengths = [31, 28 + u64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    while days >= lengths[month] {
        days -= lengths[month];
        month += 1;
    }
    format!("{year}-{:02}-{:02}", month + 1, days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        let days = [(0, "1970-01-01"), (59, "1970-03-01"), (11_016, "2000-02-29"), (20_819, "2027-01-01")];
        for (day, expected) in days {
            assert_eq!(date(day), expected);
        }
    }
}
