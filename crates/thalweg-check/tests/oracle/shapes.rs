//! The classical shapes of tests for ARM and POWER, each by five strengths of its accesses: is the outcome there that names the shape?
//!
//! Shapes and names: J. Alglave, L. Maranget, M. Tautschnig, *Herding Cats*, TOPLAS 2014, Table 3. What RC11 allows follows from its axioms
//! (PLDI 2017, §3 and §4): load buffering never; where all accesses or all fences are sc, nothing that is not sequentially consistent.

use crate::axioms::Model;
use crate::enumerate::enumerate;
use thalweg_check::Check;
use thalweg_check::litmus::{Manner, read};

/// A shape: its threads, accesses as `W x 1` and `a = R x`; the outcome; and by which strengths it is there.
struct Shape {
    name: &'static str,
    threads: &'static [&'static [&'static str]],
    outcome: &'static str,
    /// Relaxed; release and acquire; relaxed with acq-rel fences between; with sc fences; sc.
    allowed: [bool; 5],
}

/// Any release and acquire forbids it.
const CAUSAL: [bool; 5] = [true, false, false, false, false];
/// It takes an order of sc events.
const TOTAL: [bool; 5] = [true, true, true, false, false];

const SHAPES: &[Shape] = &[
    Shape {
        name: "MP",
        threads: &[&["W x 1", "W y 1"], &["a = R y", "b = R x"]],
        outcome: "T1.a == 1 && T1.b == 0",
        allowed: CAUSAL,
    },
    Shape {
        name: "S",
        threads: &[&["W x 2", "W y 1"], &["a = R y", "W x 1"]],
        outcome: "T1.a == 1 && x == 2",
        allowed: CAUSAL,
    },
    Shape {
        name: "LB",
        threads: &[&["a = R x", "W y 1"], &["b = R y", "W x 1"]],
        outcome: "T0.a == 1 && T1.b == 1",
        allowed: [false; 5],
    },
    Shape {
        name: "SB",
        threads: &[&["W x 1", "a = R y"], &["W y 1", "b = R x"]],
        outcome: "T0.a == 0 && T1.b == 0",
        allowed: TOTAL,
    },
    Shape {
        name: "R",
        threads: &[&["W x 1", "W y 1"], &["W y 2", "a = R x"]],
        outcome: "y == 2 && T1.a == 0",
        allowed: TOTAL,
    },
    Shape {
        name: "2+2W",
        threads: &[&["W x 2", "W y 1"], &["W y 2", "W x 1"]],
        outcome: "x == 2 && y == 2",
        allowed: TOTAL,
    },
    Shape {
        name: "WRC",
        threads: &[&["W x 1"], &["a = R x", "W y 1"], &["b = R y", "c = R x"]],
        outcome: "T1.a == 1 && T2.b == 1 && T2.c == 0",
        allowed: CAUSAL,
    },
    Shape {
        name: "WWC",
        threads: &[&["W x 2"], &["a = R x", "W y 1"], &["b = R y", "W x 1"]],
        outcome: "T1.a == 2 && T2.b == 1 && x == 2",
        allowed: CAUSAL,
    },
    Shape {
        name: "ISA2",
        threads: &[&["W x 1", "W y 1"], &["a = R y", "W z 1"], &["b = R z", "c = R x"]],
        outcome: "T1.a == 1 && T2.b == 1 && T2.c == 0",
        allowed: CAUSAL,
    },
    Shape {
        name: "RWC",
        threads: &[&["W x 1"], &["a = R x", "b = R y"], &["W y 1", "c = R x"]],
        outcome: "T1.a == 1 && T1.b == 0 && T2.c == 0",
        allowed: TOTAL,
    },
    Shape {
        name: "W+RWC",
        threads: &[&["W x 1", "W y 1"], &["a = R y", "b = R z"], &["W z 1", "c = R x"]],
        outcome: "T1.a == 1 && T1.b == 0 && T2.c == 0",
        allowed: TOTAL,
    },
    Shape {
        name: "Z6.3",
        threads: &[&["W x 1", "W y 1"], &["W y 2", "W z 1"], &["a = R z", "b = R x"]],
        outcome: "y == 2 && T2.a == 1 && T2.b == 0",
        allowed: TOTAL,
    },
    Shape {
        name: "3.2W",
        threads: &[&["W x 2", "W y 1"], &["W y 2", "W z 1"], &["W z 2", "W x 1"]],
        outcome: "x == 2 && y == 2 && z == 2",
        allowed: TOTAL,
    },
    Shape {
        name: "3.SB",
        threads: &[&["W x 1", "a = R y"], &["W y 1", "b = R z"], &["W z 1", "c = R x"]],
        outcome: "T0.a == 0 && T1.b == 0 && T2.c == 0",
        allowed: TOTAL,
    },
    Shape {
        name: "IRIW",
        threads: &[&["W x 1"], &["W y 1"], &["a = R x", "b = R y"], &["c = R y", "d = R x"]],
        outcome: "T2.a == 1 && T2.b == 0 && T3.c == 1 && T3.d == 0",
        allowed: TOTAL,
    },
];

/// The orderings of a store and of a load, and what stands between two accesses.
const STRENGTHS: [(&str, &str, &str); 5] = [
    ("rlx", "rlx", ""),
    ("rel", "acq", ""),
    ("rlx", "rlx", "F acqrel ; "),
    ("rlx", "rlx", "F sc ; "),
    ("sc", "sc", ""),
];

impl Shape {
    fn text(&self, (store, load, between): (&str, &str, &str)) -> String {
        let access = |access: &&str| format!("{access} {}", if access.starts_with('W') { store } else { load });
        let body = |body: &&[&str]| body.iter().map(access).collect::<Vec<_>>().join(&format!(" ; {between}"));
        let threads = self.threads.iter().enumerate().map(|(thread, text)| format!("T{thread}: {}\n", body(text)));
        format!("name: {}\ninit: x=0 y=0 z=0\n{}forbidden: {}\n", self.name, threads.collect::<String>(), self.outcome)
    }
}

#[test]
fn the_outcomes_of_arm_and_power_are_there_as_far_as_rc11_allows() {
    for shape in SHAPES {
        for (strength, allowed) in STRENGTHS.into_iter().zip(shape.allowed) {
            let text = shape.text(strength);
            let entry = &read("shapes", &text).unwrap_or_else(|error| panic!("{error}\n{text}"))[0];
            let forbidden = entry.forbidden.as_ref().expect("it is in the text");
            for reversed in [false, true] {
                let manner = Manner { reversed, unchecked: true, ..Manner::default() };
                let explored =
                    entry.program.explore(&Check::new(), manner).unwrap_or_else(|error| panic!("{text}{error}"));
                let is_there =
                    explored.outcomes.keys().any(|outcome| forbidden.value(outcome).is_some_and(|value| value != 0));
                assert_eq!(is_there, allowed, "{text}");
                let found = enumerate(&entry.program, Model::Rc11, usize::MAX).expect("it is small");
                assert_eq!(
                    (explored.outcomes, explored.explored.complete),
                    (found.outcomes, found.executions),
                    "{text}"
                );
            }
        }
    }
}
