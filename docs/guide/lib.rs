//! The listings of the guide, run as tests: `cargo test -p thalweg-guide`. The pages are in `src/`.

#[cfg(test)]
mod pictures;

#[cfg(doctest)]
mod pages {
    #[doc = include_str!("src/start.md")]
    mod start {}
    #[doc = include_str!("src/streams.md")]
    mod streams {}
    #[doc = include_str!("src/report.md")]
    mod report {}
    #[doc = include_str!("src/seen.md")]
    mod seen {}
    #[doc = include_str!("src/placement.md")]
    mod placement {}
    #[doc = include_str!("src/daemon.md")]
    mod daemon {}
    #[doc = include_str!("src/queues.md")]
    mod queues {}
    #[doc = include_str!("src/tasks.md")]
    mod tasks {}
    #[doc = include_str!("src/simulating.md")]
    mod simulating {}
    #[doc = include_str!("src/coming-from.md")]
    mod coming_from {}
    #[doc = include_str!("src/not-promised.md")]
    mod not_promised {}
    #[doc = include_str!("src/faq.md")]
    mod faq {}
}
