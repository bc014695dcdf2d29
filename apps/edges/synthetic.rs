//! Made-up networks, for trying things out and for tests.

use super::{Direction, Network};
use crate::Result;

/// Vertices of the set that BLQ's graph programs are tried on.
pub const PAPER_VERTICES: u64 = 1_000;
/// Its edges.
pub const PAPER_EDGES: u64 = 14_895;

/// A network of `vertices` vertices and `edges` edges both ways, a few of its vertices with many and most with few. The same
/// every time. It has fewer edges where there is no room for so many.
///
/// # Errors
///
/// [`Error::Refused`](crate::Error::Refused) for 2³² vertices or more.
pub fn network(vertices: u64, edges: u64) -> Result<Network> {
    let mut random = fastrand::Rng::with_seed(0x6c65_6e74);
    let mut pick = || ((vertices as f64 * random.f64().powf(1.3)) as u64).min(vertices.saturating_sub(1));
    let most = if vertices < 2 { 0 } else { edges.min(vertices.saturating_mul(vertices - 1) / 2) };
    let mut found = std::collections::HashSet::new();
    // Where nearly all pairs are taken, few picks are new.
    for _ in 0..most.saturating_mul(20) {
        if found.len() as u64 == most {
            break;
        }
        let (from, to) = (pick(), pick());
        if from != to {
            found.insert((from.min(to), from.max(to)));
        }
    }
    Network::new((0..vertices).collect(), found.into_iter().collect(), Direction::BothWays)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_as_large_as_asked_for_and_the_same_each_time() {
        let network = || super::network(PAPER_VERTICES, PAPER_EDGES).unwrap();
        assert_eq!((network().vertices(), network().edges()), (1_000, 14_895));
        assert!(network() == network());
        for (vertices, edges) in [(0, 5), (1, 5), (2, 5)] {
            assert_eq!(super::network(vertices, edges).unwrap().edges() as u64, vertices / 2);
        }
    }
}
