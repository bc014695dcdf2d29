//! The guide's drawings of blocks and queues, in SVG. `THALWEG_BLESS=1 cargo test -p thalweg-guide pictures` writes them to `src/pictures`.

use std::fmt::Write;
use std::path::Path;

const CELL: u32 = 24;
const GAP: u32 = 18;
const LEFT: u32 = 16;

/// What a cell of a block shows.
///
/// | | |
/// |---|---|
/// | `.` | free |
/// | `#` | an item that waits |
/// | `w` | an item that is being written |
/// | `r` | an item that is being read |
/// | `x` | read, and not free before its block is |
fn colour(cell: char) -> &'static str {
    match cell {
        '#' => "#8ab6e8",
        'w' => "#f4b266",
        'r' => "#93c990",
        'x' => "#d9d9d9",
        _ => "#ffffff",
    }
}

/// Something that points at a cell: block, cell, who.
type Pointer = (usize, usize, &'static str);

/// A queue in blocks. Producers point from above, consumers from below.
struct Queue {
    name: &'static str,
    says: &'static str,
    blocks: &'static [&'static str],
    labels: &'static [&'static str],
    above: &'static [Pointer],
    below: &'static [Pointer],
}

const QUEUES: [Queue; 7] = [
    Queue {
        name: "fast_forward",
        says: "spsc::fast_forward: each entry says itself whether it is full. Neither end reads the other's position.",
        blocks: &["..r#####w......."],
        labels: &["one ring"],
        above: &[(0, 8, "producer")],
        below: &[(0, 2, "consumer")],
    },
    Queue {
        name: "mpmc",
        says: "mpmc: blocks of entries. Producers meet in one block, consumers in another, so the two sides write different lines.",
        blocks: &["xxxxxr##", "########", "##w#w...", "........"],
        labels: &["being read", "full", "being filled", "free"],
        above: &[(2, 2, "producer"), (2, 4, "producer")],
        below: &[(0, 5, "consumer")],
    },
    Queue {
        name: "growing",
        says: "growing: the producer finds the consumer in the next chunk, links a new one in between, and goes on there.",
        blocks: &["xxr#", "####", "##w.....", "...."],
        labels: &["being read", "full", "new, twice as long", "comes later"],
        above: &[(2, 2, "producer")],
        below: &[(0, 2, "consumer")],
    },
    Queue {
        name: "overwriting",
        says: "overwriting: producers never wait. The oldest block is written anew, and what nobody has read of it is dropped.",
        blocks: &["www#....", "r#######", "########", "########"],
        labels: &["the oldest, written anew", "now the oldest", "", "the newest that is full"],
        above: &[(0, 2, "producers")],
        below: &[(1, 0, "consumer")],
    },
    Queue {
        name: "stealing",
        says: "stealing: a block is the owner's, or granted to thieves. The owner takes a block back by one write.",
        blocks: &["xxr#####", "########", "####w..."],
        labels: &["granted", "granted", "the owner's"],
        above: &[(2, 4, "owner: push and pop")],
        below: &[(0, 2, "thief")],
    },
    Queue {
        name: "cnq",
        says: "research::cnq: a capsule has one producer and one consumer, and handles meet others only between capsules.",
        blocks: &["xr#w..", "xxr###", "##w...", "......"],
        labels: &["a capsule", "closed", "a capsule", "free"],
        above: &[(0, 3, "producer 1"), (2, 2, "producer 2")],
        below: &[(0, 1, "consumer 1"), (1, 2, "consumer 2")],
    },
    Queue {
        name: "unbounded",
        says: "unbounded: a push draws its position by one addition. Blocks are linked as positions come, and given back when all is read.",
        blocks: &["xxxxxr##", "########", "###w#w.."],
        labels: &["given back next", "", "linked last"],
        above: &[(2, 3, "producer"), (2, 5, "producer")],
        below: &[(0, 5, "consumer")],
    },
];

struct Svg(String);

impl Svg {
    fn new(width: u32, height: u32) -> Self {
        Self(format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
             font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
        ))
    }

    fn rect(&mut self, (x, y): (u32, u32), (width, height): (u32, u32), fill: &str) {
        let _ = writeln!(
            self.0,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"{fill}\" stroke=\"#444\"/>"
        );
    }

    fn text(&mut self, (x, y): (u32, u32), anchor: &str, text: &str) {
        let _ = writeln!(self.0, "<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\" fill=\"#222\">{text}</text>");
    }

    fn line(&mut self, (a, b): (u32, u32), (x, y): (u32, u32)) {
        let _ = writeln!(self.0, "<line x1=\"{a}\" y1=\"{b}\" x2=\"{x}\" y2=\"{y}\" stroke=\"#444\"/>");
    }

    fn arrow(&mut self, from: (u32, u32), to: (u32, u32)) {
        self.line(from, to);
        let ((a, b), (x, y)) = (from, to);
        // A head of two strokes, along the longer direction.
        let (dx, dy) = (i64::from(x) - i64::from(a), i64::from(y) - i64::from(b));
        let (x, y) = (i64::from(x), i64::from(y));
        let [one, other] = match dx.abs() > dy.abs() {
            true => [(x - 6 * dx.signum(), y - 4), (x - 6 * dx.signum(), y + 4)],
            false => [(x - 4, y - 6 * dy.signum()), (x + 4, y - 6 * dy.signum())],
        };
        let _ = writeln!(
            self.0,
            "<polyline points=\"{},{} {x},{y} {},{}\" fill=\"none\" stroke=\"#444\"/>",
            one.0, one.1, other.0, other.1
        );
    }

    fn end(mut self) -> String {
        self.0.push_str("</svg>\n");
        self.0
    }
}

fn cells(svg: &mut Svg, (x, y): (u32, u32), cells: &str) {
    for (cell, at) in cells.chars().zip(0..) {
        svg.rect((x + CELL * at, y), (CELL, CELL), colour(cell));
    }
}

fn queue(queue: &Queue) -> String {
    const TOP: u32 = 72;
    let lengths = queue.blocks.iter().map(|block| CELL * block.len() as u32);
    let starts: Vec<u32> = std::iter::once(LEFT)
        .chain(lengths.clone().scan(LEFT, |x, length| {
            *x += length + GAP;
            Some(*x)
        }))
        .collect();
    let width = (starts[queue.blocks.len()] + LEFT).max(760);
    let mut svg = Svg::new(width, 190);
    svg.text((LEFT, 20), "start", queue.says);
    for ((block, label), &x) in queue.blocks.iter().zip(queue.labels).zip(&starts) {
        cells(&mut svg, (x, TOP), block);
        svg.text((x + CELL * block.len() as u32 / 2, TOP + CELL + 56), "middle", label);
    }
    let middle = |&(block, cell, _): &Pointer| starts[block] + CELL * cell as u32 + CELL / 2;
    // Neighbours stand in two rows.
    for (pointer, row) in queue.above.iter().zip([0, 1].into_iter().cycle()) {
        let x = middle(pointer);
        svg.text((x + 6, 42 + 14 * row), "start", pointer.2);
        svg.arrow((x, 40 + 14 * row), (x, TOP));
    }
    for pointer in queue.below {
        let x = middle(pointer);
        svg.text((x, TOP + CELL + 34), "middle", pointer.2);
        svg.arrow((x, TOP + CELL + 22), (x, TOP + CELL));
    }
    legend(&mut svg, (LEFT, 164));
    svg.end()
}

fn legend(svg: &mut Svg, (mut x, y): (u32, u32)) {
    for (cell, what) in [('.', "free"), ('w', "being written"), ('#', "waits"), ('r', "being read"), ('x', "read")] {
        svg.rect((x, y), (12, 12), colour(cell));
        svg.text((x + 18, y + 11), "start", what);
        x += 40 + 8 * what.len() as u32;
    }
}

/// The way of a block, from a source through a parallel kernel to a sink.
fn block() -> String {
    let mut svg = Svg::new(900, 300);
    let kernel = |svg: &mut Svg, x, y, name| {
        svg.rect((x, y), (92, 36), "#f2f2f2");
        svg.text((x + 46, y + 22), "middle", name);
    };
    svg.text(
        (LEFT, 20),
        "start",
        "A block carries many messages. One push, one ticket and one decision of the scheduler serve all of them.",
    );
    kernel(&mut svg, 16, 100, "source");
    svg.text((62, 90), "middle", "1 fills a block");
    svg.arrow((108, 118), (140, 118));
    cells(&mut svg, (140, 106), "##w.");
    svg.arrow((236, 118), (268, 118));
    svg.text((331, 90), "middle", "2 the edge: a queue of blocks");
    for (at, x) in (1..).zip([268, 312, 356]) {
        svg.rect((x, 106), (40, CELL), colour('#'));
        svg.text((x + 20, 123), "middle", &(8 - at).to_string());
    }
    for (worker, y) in (1..).zip([44, 100, 156]) {
        svg.arrow((398, 118), (450, y + 18));
        kernel(&mut svg, 450, y, "kernel");
        svg.text((496, y - 4), "middle", &format!("ticket {}", 5 - worker));
        svg.arrow((542, y + 18), (594, 118));
    }
    svg.text((496, 210), "middle", "3 any worker takes the next block, and its ticket");
    for (ticket, x) in [(2, 594), (3, 638), (4, 682)] {
        svg.rect((x, 106), (40, CELL), colour(if ticket == 2 { '#' } else { '.' }));
        svg.text((x + 20, 123), "middle", &ticket.to_string());
    }
    svg.text((660, 90), "middle", "4 in order again");
    svg.arrow((724, 118), (776, 118));
    kernel(&mut svg, 776, 100, "sink");
    svg.text((822, 90), "middle", "5 takes the messages");
    svg.line((822, 136), (822, 246));
    svg.line((822, 246), (62, 246));
    svg.arrow((62, 246), (62, 136));
    svg.text(
        (440, 238),
        "middle",
        "6 the empty block goes to a free list, still in the cache of the worker that emptied it",
    );
    legend(&mut svg, (LEFT, 274));
    svg.end()
}

/// All drawings, by the names of their files.
fn all() -> Vec<(String, String)> {
    let queues = QUEUES.iter().map(|one| (format!("{}.svg", one.name), queue(one)));
    queues.chain([("block.svg".to_owned(), block())]).collect()
}

#[test]
fn drawings_are_as_they_are_drawn() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/pictures");
    for (name, drawn) in all() {
        let file = folder.join(&name);
        if std::env::var_os("THALWEG_BLESS").is_some() {
            std::fs::write(&file, &drawn).unwrap();
        }
        let kept = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(kept == drawn, "{name} is not as it is drawn: THALWEG_BLESS=1 cargo test -p thalweg-guide pictures");
    }
}

#[test]
fn each_drawing_is_shown_and_points_into_its_blocks() {
    let pages = ["streams.md", "queues.md"]
        .map(|page| std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(page)).unwrap());
    for (name, _) in all() {
        assert!(pages.iter().any(|page| page.contains(&format!("(pictures/{name})"))), "{name} is on no page");
    }
    for Queue { name, blocks, labels, above, below, .. } in &QUEUES {
        assert_eq!(blocks.len(), labels.len(), "{name}");
        for &(block, cell, who) in above.iter().chain(*below) {
            let at = blocks[block].chars().nth(cell);
            let fits = if who.contains("consumer") || who == "thief" { 'r' } else { 'w' };
            assert_eq!(at, Some(fits), "{name}: {who}");
        }
    }
}
