//! What the user sees: progress while it runs, text when it is done.

use std::io::{self, ErrorKind, IsTerminal, Write};

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

/// Tells `text` on standard error. If nobody listens there either, nothing is left to be done.
pub(crate) fn complain(text: &str) {
    let _ = writeln!(io::stderr().lock(), "thalweg: {text}");
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
