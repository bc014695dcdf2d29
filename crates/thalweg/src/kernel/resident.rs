//! State that lives on the stack while a kernel runs.

use std::mem::ManuallyDrop;
use std::ptr;

/// Moves larger than this cost more than they gain.
const MOST: usize = 1024;

/// Runs `work` on a value that was moved to the stack, and moves it back afterwards, also when `work` panics.
///
/// Behind a pointer, each change of a kernel's state is a store, and each use a load: the compiler cannot know that the messages, which are
/// also behind pointers, lie elsewhere. On the stack the state can stay in registers from message to message.
#[inline(always)]
pub(crate) fn resident<S, R>(home: &mut S, work: impl FnOnce(&mut S) -> R) -> R {
    /// Moves the value home.
    struct Guest<S> {
        value: ManuallyDrop<S>,
        home: *mut S,
    }
    impl<S> Drop for Guest<S> {
        #[inline(always)]
        fn drop(&mut self) {
            // SAFETY: `home` is the place that `resident` took the value from, borrowed until this is dropped; what it holds was moved
            // out, and `value` is not used again.
            unsafe { self.home.write(ManuallyDrop::take(&mut self.value)) };
        }
    }

    if size_of::<S>() > MOST {
        return work(home);
    }
    let home = ptr::from_mut(home);
    // SAFETY: the value is moved out; nobody looks at `home` until the guest has moved it back.
    let mut guest = Guest { value: ManuallyDrop::new(unsafe { home.read() }), home };
    work(&mut guest.value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn state_comes_home_when_work_ends_and_when_it_panics() {
        let mut state = Box::new(1);
        assert_eq!(resident(&mut state, |state| std::mem::replace(&mut **state, 2)), 1);
        let panics = AssertUnwindSafe(|| {
            resident(&mut state, |state| {
                **state = 3;
                panic!("on purpose");
            })
        });
        assert!(catch_unwind(panics).is_err());
        assert_eq!(*state, 3);
    }
}
