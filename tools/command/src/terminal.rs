//! What the user sees: progress while it runs, text when it is done.

use std::io::{self, ErrorKind, IsTerminal, Write};
use std::path::Path;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Writes `text` to standard output. A reader that has gone away (`| head`) has seen enough: no error.
pub(crate) fn emit(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(io::Error::new(error.kind(), format!("cannot write to standard output: {error}"))),
        Ok(()) => Ok(()),
    }
}

/// The name of a file that was found, for a terminal: what would move the cursor, turn the text round or begin another line is escaped.
pub(crate) fn name(path: &Path) -> String {
    escaped(&path.to_string_lossy(), |_| false)
}

/// `text` with what a terminal would obey escaped, but for characters that are `kept`.
fn escaped(text: &str, kept: impl Fn(char) -> bool) -> String {
    let turns =
        |c| matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        if !kept(c) && (c.is_control() || turns(c)) {
            plain.extend(c.escape_default());
        } else {
            plain.push(c);
        }
    }
    plain
}

/// Tells `text` on standard error. If nobody listens there either, nothing is left to be done.
pub(crate) fn complain(text: &str) {
    // Whatever it quotes.
    let _ = writeln!(io::stderr().lock(), "thalweg: {}", escaped(text, |c| c == '\n'));
}

/// Says something beside the results, on standard error.
pub(crate) fn remark(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Shows how many bytes were read, if standard error is a terminal: of `total`, or so far if that is not known.
pub(crate) fn bar(total: Option<u64>) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let (bar, template) = match total {
        Some(total) => (
            ProgressBar::new(total),
            "{wide_bar} {decimal_bytes} of {decimal_total_bytes}, {decimal_bytes_per_sec}, {eta} left",
        ),
        None => (ProgressBar::no_length(), "{spinner} {decimal_bytes}, {decimal_bytes_per_sec}"),
    };
    bar.set_draw_target(ProgressDrawTarget::stderr());
    bar.with_style(ProgressStyle::with_template(template).expect("the templates above are right"))
}

/// Shows what is being done, if standard error is a terminal.
#[cfg(feature = "instrument")]
pub(crate) fn spinner() -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let spinner = ProgressBar::new_spinner();
    spinner.enable_steady_tick(std::time::Duration::from_millis(100));
    spinner.with_style(ProgressStyle::with_template("{spinner} {elapsed} {msg}").expect("the template is right"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_they_are_and_do_nothing() {
        for (path, shown) in [
            ("plain/na\u{ef}ve \u{1f600}.txt", "plain/na\u{ef}ve \u{1f600}.txt"),
            ("two\nlines", "two\\nlines"),
            ("\u{1b}[31mred\u{1b}[0m\u{7}", "\\u{1b}[31mred\\u{1b}[0m\\u{7}"),
            ("\u{9b}31m\r", "\\u{9b}31m\\r"),
            ("bidi\u{202e}gnp.exe", "bidi\\u{202e}gnp.exe"),
        ] {
            assert_eq!(name(Path::new(path)), shown);
        }
    }
}
