//! Letting others run.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};

/// Lets other tasks run: the task goes behind all that are in its worker's queue.
///
/// ```
/// use thalweg_executor::{Executor, yield_now};
///
/// let executor = Executor::builder().workers(1).start()?;
/// executor.run(async {
///     for _ in 0..3 {
///         yield_now().await;
///     }
/// });
/// # Ok::<(), thalweg_executor::StartError>(())
/// ```
pub fn yield_now() -> YieldNow {
    YieldNow { yielded: false }
}

/// See [`yield_now`].
#[derive(Debug)]
#[must_use = "a future does nothing until it is awaited"]
pub struct YieldNow {
    yielded: bool,
}

impl Future for YieldNow {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if core::mem::replace(&mut self.yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}
