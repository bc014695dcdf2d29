//! Pictures of executions.

use thalweg_check::Check;
use thalweg_sync::atomic::{AtomicU64, Ordering::Relaxed, Ordering::Release};
use thalweg_sync::cell::Slot;
use thalweg_sync::sync::Arc;
use thalweg_sync::thread;

#[test]
fn every_relation_is_drawn() {
    // Reads the initial value although the writer has come first in its own thread, and updates once.
    let violation = Check::new().run(|| {
        let x = AtomicU64::new(5);
        let read = thread::scope(|scope| {
            let writer = scope.spawn(|| {
                x.store(6, Release);
                x.fetch_add(1, Relaxed);
            });
            let read = x.load(Relaxed);
            writer.join().unwrap();
            read
        });
        assert_ne!(read, 5);
    });
    let violation = violation.unwrap_err();
    let dot = violation.dot();
    assert!(dot.starts_with(violation.graph().dot().trim_end_matches("}\n")), "{dot}");
    for wanted in [
        "label=\"thread 1\"",
        "[label=\"W.rel x#0 = 6\"]",
        "[label=\"UR.rlx x#0 = 6\"]",
        "[label=\"UW.rlx x#0 = 7\"]",
        "e1_0 -> e1_1 -> e1_2",
        "e1_0 -> e1_1 [label=rf ",
        "e1_0 -> e1_2 [label=mo ",
        "init0 [label=\"x#0 = 5\"]",
        "init0 -> e0_1 [label=rf ",
        "e0_1 -> e1_0 [label=fr ",
        "e0_0 -> e1_0 [color=grey",
        "e1_2 -> e0_2 [color=grey",
        "label=\"thread 0 panicked: assertion `left != right` failed\\l",
    ] {
        assert!(dot.contains(wanted), "without {wanted}:\n{dot}");
    }
    assert!(!dot.contains("e1_1 -> e1_2 [label=fr"), "an update is not before itself:\n{dot}");
    assert_eq!(dot.matches('{').count(), dot.matches('}').count());
}

#[test]
fn a_race_is_drawn_between_its_accesses() {
    let violation = Check::new().run(|| {
        let shared = Arc::new((Slot::new(0), AtomicU64::new(0)));
        let theirs = shared.clone();
        let other = thread::spawn(move || {
            theirs.1.load(Relaxed);
            // SAFETY: none; the race is found.
            theirs.0.with_mut(|slot| unsafe { *slot = 1 });
        });
        // SAFETY: as above.
        shared.0.with(|slot| unsafe { *slot });
        other.join().unwrap();
    });
    let dot = violation.unwrap_err().dot();
    for wanted in [
        "label=\"data race: ",
        "label=\"read at ",
        "label=\"write at ",
        "one -> other [label=race color=red",
        "e1_0 -> o",
    ] {
        assert!(dot.contains(wanted), "without {wanted}:\n{dot}");
    }
    assert_eq!(dot.matches('{').count(), dot.matches('}').count());
}
