//! oneTBB's `parallel_pipeline`, if the lab was built with the feature `tbb` on a machine that has it.

/// Batches or messages in flight, TBB's tokens.
pub const TOKENS: usize = 64;

/// Why the peer is absent, if it is.
pub const ABSENT: Option<&str> = if cfg!(thalweg_tbb) {
    None
} else if cfg!(feature = "tbb") {
    Some("oneTBB is left out: its headers or a C++ compiler were not found when the lab was built")
} else {
    Some(concat!(
        "oneTBB is left out: with its headers and a C++ compiler there, run ",
        "`cargo run --release -p thalweg-cli --features lab,thalweg-lab/tbb -- lab run streams/pipe3`"
    ))
};

#[cfg(thalweg_tbb)]
pub use bridge::chain;

#[cfg(thalweg_tbb)]
mod bridge {
    use super::TOKENS;
    use crate::machine::timed;
    use crate::peers::Checked;
    use crate::workloads::{Chain, Check};

    unsafe extern "C" {
        fn thalweg_tbb_pipe3(messages: u64, batch: usize, tokens: usize, check: *mut Check);
    }

    /// The chain of one light stage in batches of `batch` messages, or message by message if that is one.
    pub fn chain(chain: Chain, batch: usize) -> Checked {
        if chain.stages != 1 {
            return Err(format!("this contender has one stage, not {}", chain.stages).into());
        }
        let (check, timing) = timed(|| {
            let mut check = chain.check(0..chain.messages);
            // SAFETY: the bridge uses `check` only while the call lasts, and nothing else points to it; both sides declare
            // the same four 64-bit fields. It does not unwind: the function is `noexcept`.
            unsafe { thalweg_tbb_pipe3(chain.messages, batch, TOKENS, &raw mut check) };
            check
        });
        chain.verify(&[check])?;
        Ok(timing)
    }
}
