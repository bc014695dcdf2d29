//! Timers and sockets: those of the crate `async-io`, whose thread tells wakers what the system says. Any reactor does that wakes by wakers.
//!
//! ```
//! use std::time::Duration;
//! use thalweg_executor::Executor;
//! use thalweg_executor::io::Timer;
//!
//! let executor = Executor::builder().workers(1).start()?;
//! executor.run(async {
//!     Timer::after(Duration::from_millis(1)).await;
//! });
//! # Ok::<(), thalweg_executor::StartError>(())
//! ```

pub use async_io::{Async, Timer};
