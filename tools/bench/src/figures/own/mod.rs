//! Figures that no paper has: queues and streams on modelled machines of many cores.

pub(crate) mod forks;
pub(crate) mod nodes;
pub(crate) mod queues;
pub(crate) mod shares;
pub(crate) mod streams;
pub(crate) mod workers;
