//! A destructor that panics while its thread is unwound ends the process. The reason is told before.

use std::cell::Cell;
use std::io::Write;
use std::sync::Once;

std::thread_local! {
    /// Threads of an execution that is over are unwound (R4).
    static UNWINDS: Cell<bool> = const { Cell::new(false) };
}

const MESSAGE: &str = "\
thalweg-check: a destructor of the client panics while its thread is unwound, as the execution is over: some thread in it
waits, or another one failed. Rust ends the process now. A destructor that asserts something should do so only if
`!std::thread::panicking()`.
";

/// Calls `body`, which unwinds the threads of an execution.
pub(super) fn unwinding<R>(body: impl FnOnce() -> R) -> R {
    struct Done;
    impl Drop for Done {
        fn drop(&mut self) {
            UNWINDS.set(false);
        }
    }
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            // Only a destructor can panic here.
            if UNWINDS.get() {
                // Past the tests' capture, which nobody would print any more.
                let _ = std::io::stderr().write_all(MESSAGE.as_bytes());
            }
            before(panic);
        }));
    });
    UNWINDS.set(true);
    let _done = Done;
    body()
}
