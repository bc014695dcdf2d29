//! Rivals that are written here, each from the paper or the documentation that it names. Most run on modelled machines only.

#[cfg(feature = "machines")]
pub(crate) mod abp;
pub(crate) mod bbq;
#[cfg(feature = "machines")]
pub(crate) mod blq;
#[cfg(feature = "machines")]
pub(crate) mod bulk;
#[cfg(feature = "machines")]
pub(crate) mod danbi;
#[cfg(feature = "machines")]
pub(crate) mod distributed;
#[cfg(feature = "machines")]
pub(crate) mod fork_join;
#[cfg(feature = "machines")]
pub(crate) mod k_fifo;
#[cfg(feature = "machines")]
pub(crate) mod lprq;
#[cfg(feature = "machines")]
pub(crate) mod mailbox;
#[cfg(feature = "machines")]
pub(crate) mod michael_scott;
#[cfg(feature = "machines")]
pub(crate) mod printed;
#[cfg(all(test, feature = "machines"))]
mod promises;
#[cfg(feature = "machines")]
pub(crate) mod sp_ring;
#[cfg(feature = "machines")]
pub(crate) mod ticket_ring;
#[cfg(feature = "machines")]
pub(crate) mod uring;
