//! `queues/shared-1p1c`: what a queue for many costs where one and one use it.

use super::contenders::*;
#[cfg(thalweg_cpp)]
use super::cpp;
use super::item::{through, trip};
use super::limits::{self, Carried};
use crate::catalogue::optional;
use crate::harness::Role::*;
use crate::harness::{BoxError, Effort, Experiment, Group};

/// The entry for the registry.
pub const EXPERIMENT: Experiment = Experiment { name: "queues/shared-1p1c", plan };

fn plan(effort: &Effort) -> Result<Vec<Group>, BoxError> {
    let (items, slow) = (effort.messages(10_000_000), effort.messages(4_000_000));
    let trips = effort.messages(400_000);
    let mut stream = vec![
        through::<Bbq>(Ours, "thalweg `mpmc`", items),
        through::<ArrayQueue>(Peer, "crossbeam ArrayQueue", items),
        through::<CrossbeamChannel>(Peer, "crossbeam-channel", items),
        through::<ConcurrentQueue>(Peer, "concurrent-queue", items),
        through::<Crossfire>(Peer, "crossfire", items),
        through::<Thingbuf>(Peer, "thingbuf", slow),
        through::<Kanal>(Peer, "kanal", slow),
        through::<Flume>(Peer, "flume", slow),
    ];
    let mut answers = vec![
        trip::<Bbq>(Ours, "thalweg `mpmc`", trips),
        trip::<ArrayQueue>(Peer, "crossbeam ArrayQueue", trips),
        trip::<CrossbeamChannel>(Peer, "crossbeam-channel", trips),
        trip::<ConcurrentQueue>(Peer, "concurrent-queue", trips),
        trip::<Crossfire>(Peer, "crossfire", trips),
        trip::<Thingbuf>(Peer, "thingbuf", trips),
    ];
    #[cfg(thalweg_cpp)]
    {
        stream.extend(cpp::shared(slow / 4));
        answers.extend(cpp::trips(&cpp::SHARED, trips / 4));
    }
    stream.push(through::<Carried>(Bound, "limit: an exchange each, with a value", items));
    answers.push(trip::<Carried>(Bound, "limit: an exchange each, with a value", trips));
    let mut stream = Group::new("1P1C, item by item", &["ns per item"], stream);
    stream.absent.extend(optional::CPP.absent());
    Ok(vec![stream, Group::new("round trip over two queues", &["ns per trip"], answers), limits::group(effort)])
}
