//! oneTBB's `parallel_pipeline` and flow graph, if the lab was built with the feature `tbb` on a machine that has it.

#[cfg(thalweg_tbb)]
pub use bridge::contenders;

#[cfg(thalweg_tbb)]
mod bridge {
    use serde_json::json;

    use crate::harness::{Contender, Role, Sample};
    use crate::machine::timed;
    use crate::peers::vectors::{BATCH, IN_FLIGHT};
    use crate::peers::{CAPACITY, Checked};
    use crate::workloads::{Chain, Check};

    unsafe extern "C" {
        fn thalweg_tbb_chain(graph: bool, messages: u64, stages: usize, batch: usize, tokens: usize, check: *mut Check);
    }

    /// A chain of serial stages, as a pipeline and as a flow graph: `slow` message by message, `fast` over batches. In flight is what the
    /// channels and rings of other peers hold.
    pub fn contenders(fast: Chain, slow: Chain) -> Vec<Contender> {
        let forms = [("oneTBB's pipeline", false), ("oneTBB's flow graph", true)];
        let sizes = [("", 1, CAPACITY, slow), (" by vectors", BATCH, IN_FLIGHT, fast)];
        let contender = |(name, graph): (&str, bool), (suffix, batch, tokens, chain): (&str, usize, usize, Chain)| {
            let given = json!({ "messages": chain.messages, "batch": batch, "tokens": tokens, "threads": "oneTBB's" });
            Contender::new(Role::Peer, format!("{name}{suffix}"), given, move || {
                Ok(Sample::nanos_per(run(chain, graph, batch, tokens)?, chain.handovers()))
            })
        };
        forms.into_iter().flat_map(|form| sizes.map(|size| contender(form, size))).collect()
    }

    fn run(chain: Chain, graph: bool, batch: usize, tokens: usize) -> Checked {
        let (check, timing) = timed(|| {
            let mut check = chain.check(0..chain.messages);
            // SAFETY: the bridge uses `check` only while the call lasts, and nothing else points to it; both sides declare
            // the same four 64-bit fields. It does not unwind: the function is `noexcept`.
            unsafe { thalweg_tbb_chain(graph, chain.messages, chain.stages, batch, tokens, &raw mut check) };
            check
        });
        chain.verify(&[check])?;
        Ok(timing)
    }
}
