//! BLQ's mix (§3.5.2): polling workers, and when a queue is full its consumer runs on the producer's core. A kernel hinted `* 0` has no polling worker: it runs
//! as help, or when a worker finds nothing else.

use super::pw::PollingWorker;
use super::{HELP, NEW_HELP, Policy, Recipe, Setup};

pub(super) const SCHEMES: &[Recipe] = &[
    Recipe {
        on_full: HELP,
        ..Recipe::new(
            "mix",
            "polling workers; a full queue's consumer runs on the producer's core; kernels hinted * 0 run only so (BLQ)",
            &make,
        )
    },
    Recipe { on_full: NEW_HELP, ..Recipe::new("mix_dyn", "as mix, and queues grow first (BLQ)", &make) },
];

fn make(setup: &Setup<'_>) -> Box<dyn Policy> {
    Box::new(PollingWorker::new(setup, true))
}
