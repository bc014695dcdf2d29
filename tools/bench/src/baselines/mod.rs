//! Rivals that are written here, each from the paper or the documentation that it names.

pub(crate) mod abp;
pub(crate) mod blq;
pub(crate) mod danbi;
pub(crate) mod mailbox;
pub(crate) mod michael_scott;
pub(crate) mod printed;
pub(crate) mod sp_ring;
pub(crate) mod ticket_ring;
pub(crate) mod uring;
