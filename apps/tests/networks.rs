//! Triangles, degrees and betweenness are those of the sequential programs, and of the definitions.

use thalweg::Scheme;
use thalweg_apps::edges::{Direction, Network, synthetic};
use thalweg_apps::{Error, bc, dc, tc};

/// Every scheme, with one, two and four workers where it lets one choose.
fn schemes() -> impl Iterator<Item = (String, Scheme)> {
    Scheme::names().flat_map(|name| {
        [1, 2, 4].map(|workers| {
            let scheme = Scheme::named(name).unwrap();
            (format!("{name}, {workers} workers"), scheme.workers(workers))
        })
    })
}

/// A network with every pair of `vertices` an edge with this probability.
fn random(vertices: u64, probability: f64, direction: Direction, random: &mut fastrand::Rng) -> Network {
    let mut edges = Vec::new();
    for from in 0..vertices {
        for to in 0..vertices {
            if from != to && random.f64() < probability {
                edges.push((from, to));
            }
        }
    }
    Network::new((0..vertices).collect(), edges, direction).unwrap()
}

/// One with a vertex that has more neighbours than lookup takes at a time, and some with few.
fn star(vertices: u64) -> Network {
    let edges = (1..vertices).map(|vertex| (0, vertex)).chain((1..100).map(|vertex| (vertex, vertex + 1)));
    Network::new(vec![], edges.collect(), Direction::BothWays).unwrap()
}

fn is_edge(network: &Network, from: u32, to: u32) -> bool {
    network.neighbours(from).contains(&to)
}

/// Whether two floats are equal but for the order of a sum.
fn near(left: f64, right: f64) -> bool {
    (left - right).abs() <= 1e-9 * left.abs().max(right.abs()).max(1.0)
}

#[test]
fn triangles_equal_the_reference_under_every_scheme() {
    for network in [synthetic::network(100, 1_000).unwrap(), star(3_000)] {
        let expected = tc::reference::count(&network);
        for (name, scheme) in schemes() {
            let counted = tc::run(&network, &tc::Config { scheme, ..tc::Config::default() }, &()).unwrap();
            assert!(counted.triangles == expected, "{name}");
        }
    }
    assert_eq!(tc::reference::count(&star(3_000)).total(), 99);
}

#[test]
fn triangles_are_those_of_the_definition() {
    let mut seeds = fastrand::Rng::with_seed(4);
    for round in 0..60 {
        let vertices = seeds.u64(0..24);
        let network = random(vertices, seeds.f64(), Direction::BothWays, &mut seeds);
        let n = network.vertices() as u32;
        let (mut total, mut at) = (0, vec![0; n as usize]);
        for a in 0..n {
            for b in a + 1..n {
                for c in b + 1..n {
                    if is_edge(&network, a, b) && is_edge(&network, b, c) && is_edge(&network, a, c) {
                        total += 1;
                        [a, b, c].iter().for_each(|&corner| at[corner as usize] += 1);
                    }
                }
            }
        }
        let counted = tc::run(&network, &tc::Config::default(), &()).unwrap().triangles;
        assert_eq!((counted.total(), counted.edges), (total, network.edges() as u64), "round {round}");
        assert_eq!((0..n).map(|vertex| counted.at(vertex)).collect::<Vec<u64>>(), at, "round {round}");
    }
}

#[test]
fn triangles_of_one_way_edges_are_refused() {
    let network = Network::new(vec![], vec![(0, 1)], Direction::OneWay).unwrap();
    assert!(matches!(tc::run(&network, &tc::Config::default(), &()), Err(Error::Refused(_))));
}

#[test]
fn degrees_equal_the_reference_under_every_scheme() {
    let mut seeds = fastrand::Rng::with_seed(5);
    for network in [random(150, 0.2, Direction::OneWay, &mut seeds), star(3_000)] {
        let expected = dc::reference::count(&network);
        for (name, scheme) in schemes() {
            let counted = dc::run(&network, &dc::Config { scheme, ..dc::Config::default() }, &()).unwrap();
            assert!(counted.degrees == expected, "{name}");
        }
        let n = network.vertices() as u32;
        for vertex in 0..n.min(150) {
            let into = (0..n).filter(|&from| is_edge(&network, from, vertex)).count();
            let out = network.neighbours(vertex).len();
            let degrees = (expected.out[vertex as usize] as usize, expected.into[vertex as usize] as usize);
            assert_eq!(degrees, (out, into));
        }
    }
}

#[test]
fn betweenness_equals_the_reference_bit_by_bit_under_every_scheme() {
    let network = synthetic::network(60, 300).unwrap();
    for sources in [None, Some(25)] {
        let config = bc::Config { sources, ..bc::Config::default() };
        let expected = bc::reference::centrality(&network, &config);
        assert_eq!(expected.sources, sources.map_or(60, u64::from));
        for (name, scheme) in schemes() {
            let computed = bc::run(&network, &bc::Config { scheme, ..config }, &()).unwrap().centrality;
            let bits = |centrality: &bc::Centrality| centrality.scores.iter().map(|score| score.to_bits()).collect();
            let (found, expected): (Vec<u64>, Vec<u64>) = (bits(&computed), bits(&expected));
            assert!(found == expected && computed.sources == sources.map_or(60, u64::from), "{name}");
        }
    }
}

/// From the definition: distances by trying every vertex between, numbers of paths by counting them step by step.
fn betweenness(network: &Network) -> Vec<f64> {
    let n = network.vertices();
    let mut distance = vec![vec![usize::MAX / 4; n]; n];
    for (from, distance) in distance.iter_mut().enumerate() {
        distance[from] = 0;
        network.neighbours(from as u32).iter().for_each(|&to| distance[to as usize] = 1);
    }
    for between in 0..n {
        for from in 0..n {
            for to in 0..n {
                let around = distance[from][between] + distance[between][to];
                distance[from][to] = distance[from][to].min(around);
            }
        }
    }
    let mut paths = vec![vec![0.0; n]; n];
    for from in 0..n {
        paths[from][from] = 1.0;
        let mut nearest: Vec<usize> = (0..n).filter(|&to| to != from && distance[from][to] < n).collect();
        nearest.sort_by_key(|&to| distance[from][to]);
        for to in nearest {
            let before = (0..n).filter(|&last| {
                distance[from][last] + 1 == distance[from][to] && is_edge(network, last as u32, to as u32)
            });
            paths[from][to] = before.map(|last| paths[from][last]).sum();
        }
    }
    let twice = if network.direction() == Direction::BothWays { 2.0 } else { 1.0 };
    let mut scores = vec![0.0; n];
    for from in 0..n {
        for to in (0..n).filter(|&to| to != from && distance[from][to] < n) {
            for between in (0..n).filter(|&between| between != from && between != to) {
                if distance[from][between] + distance[between][to] == distance[from][to] {
                    scores[between] += paths[from][between] * paths[between][to] / paths[from][to] / twice;
                }
            }
        }
    }
    scores
}

#[test]
fn betweenness_is_that_of_the_definition() {
    let mut seeds = fastrand::Rng::with_seed(6);
    for round in 0..60 {
        let direction = [Direction::OneWay, Direction::BothWays][round % 2];
        let vertices = seeds.u64(0..22);
        let network = random(vertices, seeds.f64() * seeds.f64(), direction, &mut seeds);
        let computed = bc::run(&network, &bc::Config::default(), &()).unwrap().centrality.scores;
        let expected = betweenness(&network);
        let same = computed.iter().zip(&expected).all(|(&left, &right)| near(left, right));
        assert!(same && computed.len() == expected.len(), "round {round}: {computed:?} {expected:?}");
    }
}

#[test]
fn paths_are_counted_where_integers_end() {
    // A chain of 80 diamonds has 2^80 shortest paths from end to end.
    let diamond = |at: u64| [(at, at + 1), (at, at + 2), (at + 1, at + 3), (at + 2, at + 3)];
    let network = Network::new(vec![], (0..80).flat_map(|n| diamond(3 * n)).collect(), Direction::BothWays).unwrap();
    let scores = bc::run(&network, &bc::Config::default(), &()).unwrap().centrality.scores;
    // A joint lies on all paths between its sides, and on half of those between the two corners at each of them.
    assert!(near(scores[120], 120.0 * 120.0 + 1.0), "{}", scores[120]);
}
