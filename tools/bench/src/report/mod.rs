//! What comes of a run: a record for each figure, tables of them, pictures, and what became of a paper's numbers.

#[cfg(feature = "native")]
pub mod chart;
#[cfg(any(feature = "machines", feature = "native"))]
pub(crate) mod columns;
#[cfg_attr(
    not(any(feature = "machines", feature = "native")),
    allow(dead_code, reason = "the tables' own build writes no run")
)]
pub(crate) mod published;
#[cfg(feature = "native")]
pub mod record;
#[cfg(feature = "native")]
pub mod table;
#[cfg_attr(
    not(feature = "tables"),
    allow(dead_code, reason = "what is drawn and said of a figure is of a modelled machine")
)]
pub(crate) mod verdict;
