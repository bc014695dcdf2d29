//! Figures of the papers on single queues, drawn again on this machine. `lab run NAME --svg FILE` draws them.

pub mod bbq_modes;
pub mod bbq_shape;
pub mod ff_caches;
pub mod ff_robustness;
pub mod ff_sizes;
mod looped;
