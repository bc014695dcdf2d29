//! What a run counts, shown: recorded, compared, drawn, and looked at while it goes on.

pub(crate) mod asked;
mod layout;
mod plain;
mod record;
pub(crate) mod report;
mod slices;
mod svg;
#[cfg(unix)]
pub(crate) mod top;
mod units;
pub(crate) mod web;
