//! What a panic prints. A destructor that panics while its thread is unwound ends the process: the reason is told before. What
//! panics once more, because an execution is run again, is not told again.

use std::cell::Cell;
use std::io::Write;
use std::sync::Once;

#[derive(Clone, Copy)]
enum Phase {
    Runs,
    /// An execution is run that has panicked before.
    Repeats,
    /// Threads of an execution that is over are unwound (R4).
    Unwinds,
}

std::thread_local! {
    static PHASE: Cell<Phase> = const { Cell::new(Phase::Runs) };
}

const MESSAGE: &str = "\
thalweg-check: a destructor of the client panics while its thread is unwound, as the execution is over: some thread in it
waits, or another one failed. Rust ends the process now. A destructor that asserts something should do so only if
`!std::thread::panicking()`.
";

/// Calls `body`, which runs an execution that has panicked before.
pub(super) fn repeating<R>(body: impl FnOnce() -> R) -> R {
    during(Phase::Repeats, body)
}

/// Calls `body`, which unwinds the threads of an execution.
pub(super) fn unwinding<R>(body: impl FnOnce() -> R) -> R {
    during(Phase::Unwinds, body)
}

fn during<R>(phase: Phase, body: impl FnOnce() -> R) -> R {
    struct Restore(Phase);
    impl Drop for Restore {
        fn drop(&mut self) {
            PHASE.set(self.0);
        }
    }
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            match PHASE.get() {
                Phase::Runs => {}
                Phase::Repeats => return,
                Phase::Unwinds => {
                    // Only a destructor can panic here. Past the tests' capture, which nobody would print any more.
                    let _ = std::io::stderr().write_all(MESSAGE.as_bytes());
                }
            }
            before(panic);
        }));
    });
    let _restore = Restore(PHASE.replace(phase));
    body()
}
