//! `std::sync::mpsc`, unbounded.

use std::collections::VecDeque;
use std::sync::PoisonError;
pub use std::sync::mpsc::{RecvError, SendError, TryRecvError};
use thalweg_sync::sync::{Arc, Condvar, Mutex, MutexGuard};

#[derive(Debug)]
struct Shared<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
}

#[derive(Debug)]
struct State<T> {
    items: VecDeque<T>,
    senders: usize,
    receives: bool,
}

impl<T> Shared<T> {
    #[track_caller]
    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The sending end.
#[derive(Debug)]
pub struct Sender<T>(Arc<Shared<T>>);

/// The receiving end.
#[derive(Debug)]
pub struct Receiver<T>(Arc<Shared<T>>);

/// A channel.
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let state = State { items: VecDeque::new(), senders: 1, receives: true };
    let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() });
    (Sender(shared.clone()), Receiver(shared))
}

impl<T> Sender<T> {
    /// Sends `item`.
    ///
    /// # Errors
    ///
    /// With the item, if the receiver is gone.
    #[track_caller]
    pub fn send(&self, item: T) -> Result<(), SendError<T>> {
        let mut state = self.0.state();
        if !state.receives {
            return Err(SendError(item));
        }
        state.items.push_back(item);
        drop(state);
        self.0.changed.notify_one();
        Ok(())
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        self.0.state().senders += 1;
        Self(self.0.clone())
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.0.state().senders -= 1;
        self.0.changed.notify_one();
    }
}

impl<T> Receiver<T> {
    /// Waits for an item.
    ///
    /// # Errors
    ///
    /// If there is none, and no sender is left.
    #[track_caller]
    pub fn recv(&self) -> Result<T, RecvError> {
        let mut state = self.0.state();
        loop {
            match state.items.pop_front() {
                Some(item) => return Ok(item),
                None if state.senders == 0 => return Err(RecvError),
                None => state = self.0.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }

    /// An item, if there is one.
    ///
    /// # Errors
    ///
    /// If there is none.
    #[track_caller]
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        let mut state = self.0.state();
        let none = if state.senders == 0 { TryRecvError::Disconnected } else { TryRecvError::Empty };
        state.items.pop_front().ok_or(none)
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        self.0.state().receives = false;
    }
}
