//! Networks are read in every form, and what is in none is refused with its line.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use thalweg::{Scheme, Stopper};
use thalweg_apps::edges::{Direction, Input, Network, read};
use thalweg_apps::{Error, Watch};

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    /// What is told of a file with `text`.
    fn refused(&self, text: impl AsRef<[u8]>) -> String {
        let path = self.write("bad", text);
        refused(&path)
    }
}

fn refused(path: &Path) -> String {
    match read(&Input::new(path, Direction::BothWays), &()) {
        Err(Error::Refused(reason)) => reason,
        other => panic!("{other:?}"),
    }
}

fn both_ways(path: &Path) -> Network {
    read(&Input::new(path, Direction::BothWays), &()).unwrap()
}

/// The edges of a network in the input's numbers.
fn arcs(network: &Network) -> Vec<(u64, u64)> {
    let vertices = 0..network.vertices() as u32;
    let of = |from: u32| network.neighbours(from).iter().map(move |&to| (network.label(from), network.label(to)));
    vertices.flat_map(of).collect()
}

#[test]
fn all_forms_of_a_network_are_the_same() {
    let folder = Folder::new();
    let expected = Network::new((1..=5).collect(), vec![(1, 2), (2, 3), (3, 1), (4, 1)], Direction::BothWays).unwrap();
    let rows = ["1 2", "2 3", "3 1", "4 1"];

    let graphbig = folder.0.path().join("graphbig");
    fs::create_dir(&graphbig).unwrap();
    fs::write(graphbig.join("vertex.csv"), "Person.id|name\n5|five\n4|\n3|three\n2|two\n1|one\n").unwrap();
    fs::write(graphbig.join("edge.csv"), "Person.id|Person.id|weight\n1|2|0.5\r\n2|3|0.5\n\n3|1|1\n4|1|9\n").unwrap();
    assert_eq!(arcs(&both_ways(&graphbig)), arcs(&expected));
    assert_eq!(both_ways(&graphbig).vertices(), 5);

    let entries = rows.join(" 0.25\n");
    let symmetric = format!("%%MatrixMarket matrix coordinate real symmetric\n% a comment\n\n5 5 4\n{entries} 1\n");
    let network = read(&Input::new(folder.write("symmetric", symmetric), Direction::OneWay), &()).unwrap();
    assert_eq!((arcs(&network), network.vertices()), (arcs(&expected), 5));
    let general = format!("%%matrixmarket MATRIX coordinate pattern general\n5 5 4\n{}", rows.join("\n"));
    let general = folder.write("general", general);
    assert_eq!(arcs(&both_ways(&general)), arcs(&expected));
    let one_way = read(&Input::new(&general, Direction::OneWay), &()).unwrap();
    assert_eq!(arcs(&one_way), [(1, 2), (2, 3), (3, 1), (4, 1)]);

    for (name, text) in [
        ("snap", format!("# Nodes: 4 Edges: 4\n# FromNodeId\tToNodeId\n{}\n", rows.join("\n").replace(' ', "\t"))),
        ("crlf", format!("# dos\r\n{}\r\n", rows.join("\r\n"))),
        ("csv", format!("source,target\n{}", rows.join("\n").replace(' ', ","))),
        ("weighted", format!("% konect\n{} 7", rows.join(" 7 1234567\n"))),
    ] {
        let network = both_ways(&folder.write(name, text));
        assert_eq!((arcs(&network), network.vertices()), (arcs(&expected), 4), "{name}");
    }
}

#[test]
fn a_long_file_is_read_under_every_scheme() {
    let folder = Folder::new();
    let mut random = fastrand::Rng::with_seed(2);
    let edges: Vec<(u64, u64)> =
        (0..40_000).map(|_| (random.u64(..3_000), random.u64(..) >> random.u32(..64))).collect();
    let mut text = String::new();
    edges.iter().for_each(|(from, to)| writeln!(text, "{from} {to}").unwrap());
    let path = folder.write("long", text);
    let expected = arcs(&Network::new(vec![], edges, Direction::OneWay).unwrap());
    for name in Scheme::names() {
        let scheme = Scheme::named(name).unwrap().workers(2);
        let network = read(&Input { path: path.clone(), direction: Direction::OneWay, scheme }, &()).unwrap();
        assert!(arcs(&network) == expected, "{name}");
    }
}

#[test]
fn bad_lines_are_refused_with_their_number_and_the_reason() {
    let folder = Folder::new();
    let told = |text: &str, expected: &str| {
        let told = folder.refused(text);
        assert!(told.contains(expected), "{told}");
    };
    told("", "no edges");
    told("# nothing\n", "no edges");
    told("0 1\n2\n", "line 2: the second vertex is missing");
    told("0 1\n\n# more\n2 three\n", "line 4: \"three\" is no vertex");
    told("hello world\n", "line 1: \"hello\" is no vertex");
    told("0 1\nfrom,to\n", "line 2: \"from\" is no vertex");
    told("0 -1\n", "line 1: \"-1\" is no vertex");
    told("0 +1\n", "line 1: \"+1\" is no vertex");
    told("0 1.5\n", "line 1: \"1.5\" is no vertex");
    told("0 18446744073709551616\n", "line 1: \"18446744073709551616\" is no vertex");
    assert!(folder.refused(b"0 1\n\xff\x1b[31m 2\n").contains(r#"\u{1b}[31m" is no vertex"#));
    assert!(folder.refused("7".repeat(3 << 20)).contains("line 1: no end of the line"));
    let long = format!("1 2\n# c\n3 4\n{}", "7".repeat(3 << 20));
    assert!(folder.refused(&long).contains("line 4: no end of the line"), "{}", folder.refused(&long));

    let market = |rest: &str| format!("%%MatrixMarket matrix coordinate pattern general\n{rest}");
    told(
        "%%MatrixMarket matrix array real general\n2 2\n",
        "line 1: a Matrix Market file of \"matrix array real general\"",
    );
    told(&market("%\n2 3 1\n1 1\n"), "line 3: a matrix of 2 rows and 3 columns");
    told(&market("2 2\n"), "line 2: \"2 2\" should be rows, columns and entries");
    told(&market(""), "line 2: \"\" should be rows");
    told(&market("2 2 2\n1 2\n"), "1 entries, and its header says 2; is it cut off?");
    told(&market("2 2 1\n% one\n0 1\n"), "line 4: an entry at 0, and the matrix has rows and columns 1 to 2");
    told(&market("2 2 1\n1 3\n"), "line 3: an entry at 3");
    told(
        &market("99999999999 99999999999 1\n1 3\n"),
        "line 2: a matrix of 99999999999 rows; with 1 entries, at most 1048592 are read",
    );

    let graphbig = folder.0.path();
    fs::write(graphbig.join("vertex.csv"), "id\n1\n2\n").unwrap();
    fs::write(graphbig.join("edge.csv"), "from|to\n1|2\n2|3\n").unwrap();
    assert!(refused(graphbig).contains("edge.csv, line 3: vertex.csv has no vertex 3"));
    fs::write(graphbig.join("vertex.csv"), "id\n1\ntwo\n").unwrap();
    assert!(refused(graphbig).contains("vertex.csv, line 3: \"two\" is no vertex"));
    fs::remove_file(graphbig.join("vertex.csv")).unwrap();
    let missing = read(&Input::new(graphbig, Direction::BothWays), &());
    assert!(matches!(&missing, Err(Error::File { path, .. }) if path.ends_with("vertex.csv")), "{missing:?}");
}

#[test]
fn a_bad_line_far_behind_has_its_number_under_every_scheme() {
    let folder = Folder::new();
    let mut text = "10 20\n".repeat(50_000);
    text += "10 x\n";
    text += &"10 20\n10 y\n".repeat(5_000);
    let path = folder.write("long", text);
    for name in Scheme::names() {
        let scheme = Scheme::named(name).unwrap();
        let told = read(&Input { path: path.clone(), direction: Direction::OneWay, scheme }, &()).unwrap_err();
        assert!(told.to_string().contains("line 50001: \"x\" is no vertex"), "{name}: {told}");
    }
}

/// Stops the run before it begins.
struct Impatient;

impl Watch for Impatient {
    fn started(&self, stopper: Stopper) {
        stopper.stop();
    }
}

#[test]
fn a_run_that_is_stopped_gives_what_was_read() {
    let folder = Folder::new();
    let text = "%%MatrixMarket matrix coordinate pattern general\n9 9 1\n1 2\n";
    for path in [folder.write("edges", "0 1\n"), folder.write("market", text)] {
        let network = read(&Input::new(&path, Direction::BothWays), &Impatient).unwrap();
        assert_eq!(network.edges(), 0);
    }
}
