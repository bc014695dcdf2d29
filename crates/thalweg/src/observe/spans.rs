//! A run as a span of the crate `tracing`, with its feature; else nothing.
//!
//! What kernels say is within the span of their run, on whatever worker. What a subscriber does with it, as handing it to OpenTelemetry, is the program's.

use crate::error::Result;
#[cfg(feature = "tracing")]
use crate::error::{Error, Whole};
use crate::report::Report;

/// A span, or nothing.
#[derive(Clone, Debug)]
pub(crate) struct Span(#[cfg(feature = "tracing")] tracing::Span);

impl Span {
    /// Of a run that begins.
    #[cfg(feature = "tracing")]
    pub(crate) fn of_run(graph: u64, scheme: &str, kernels: usize) -> Self {
        Self(tracing::info_span!("thalweg.run", graph, scheme, kernels))
    }

    #[cfg(not(feature = "tracing"))]
    pub(crate) fn of_run(_graph: u64, _scheme: &str, _kernels: usize) -> Self {
        Self()
    }

    /// The one around here.
    pub(crate) fn current() -> Self {
        Self(
            #[cfg(feature = "tracing")]
            tracing::Span::current(),
        )
    }

    /// Does something within it.
    pub(crate) fn within<R>(&self, work: impl FnOnce() -> R) -> R {
        #[cfg(feature = "tracing")]
        let _entered = self.0.enter();
        work()
    }
}

/// Says how a run ended: an event, and one for each kernel.
#[cfg(feature = "tracing")]
pub(crate) fn ended(result: &Result<Report>) {
    let report = match result {
        Ok(report) => report,
        Err(error) => {
            tracing::error!(error = %Whole(error), "the run failed");
            let (Error::Failed { report, .. } | Error::Stalled { report, .. }) = error else { return };
            report
        }
    };
    for kernel in &report.kernels {
        tracing::debug!(
            kernel = kernel.name.as_str(),
            messages_in = kernel.messages_in,
            messages_out = kernel.messages_out,
            busy_seconds = kernel.busy.as_secs_f64(),
            activations = kernel.activations,
            "a kernel's share"
        );
    }
    tracing::info!(
        end = report.end.name(),
        seconds = report.wall.as_secs_f64(),
        workers = report.workers,
        dropped = report.dropped,
        verdict = report.verdict().trim_end(),
        "the run is over"
    );
}

#[cfg(not(feature = "tracing"))]
pub(crate) fn ended(_result: &Result<Report>) {}
