//! What a queue answers in Rust, as C is told.

use thalweg_queue::stealing::StealError;
use thalweg_queue::{TryPopError, TryPushError};
pub(crate) use thalweg_queue_c::Status;

/// What a queue with many users answers now and then only, too.
#[test]
fn each_refusal_keeps_its_meaning() {
    let pushes = [TryPushError::Full(()), TryPushError::Busy(()), TryPushError::Closed(())];
    assert_eq!(pushes.map(Status::from), [Status::Full, Status::Busy, Status::Closed]);
    let pops = [TryPopError::Empty, TryPopError::Busy, TryPopError::Closed];
    assert_eq!(pops.map(Status::from), [Status::Empty, Status::Busy, Status::Closed]);
    let steals = [StealError::Empty, StealError::Busy, StealError::Closed];
    assert_eq!(steals.map(Status::from), [Status::Empty, Status::Busy, Status::Closed]);
}
