//! BLQ's mix (§3.5.2): polling workers, and when a queue is full its consumer runs on the producer's core. A kernel hinted `* 0` has no polling worker: it runs
//! as help, or when a worker finds nothing else.

use super::pw::PollingWorker;
use super::{Policy, Setup};

pub(super) fn make(setup: &Setup<'_>) -> Box<dyn Policy> {
    Box::new(PollingWorker::new(setup, true))
}
