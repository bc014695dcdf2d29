//! Rivals that are written here, each from the paper or the documentation that it names.

pub(crate) mod abp;
pub(crate) mod bbq;
pub(crate) mod blq;
#[cfg(feature = "machines")]
pub(crate) mod bulk;
pub(crate) mod danbi;
pub(crate) mod distributed;
#[cfg(feature = "machines")]
pub(crate) mod fork_join;
pub(crate) mod k_fifo;
pub(crate) mod lprq;
pub(crate) mod mailbox;
pub(crate) mod michael_scott;
pub(crate) mod printed;
#[cfg(all(test, feature = "machines"))]
mod promises;
pub(crate) mod sp_ring;
pub(crate) mod ticket_ring;
pub(crate) mod uring;
