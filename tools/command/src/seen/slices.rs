//! `thalweg report TRACE`: where each worker's time went and which kernel it ran, slice by slice (Figure 5 of DANBI), and how full edges were
//! (Figure 1 of BLQ).
//!
//! It reads traces of `thalweg run APP --trace` and of `thalweg sim run NAME --trace`: both are Chrome's trace events, with the same categories.

use std::fmt::Write;

use serde_json::Value;

use super::{svg, units};

/// Slices of a picture.
const SLICES: usize = 240;
/// Pixels of a slice, of a row, and left for names.
const WIDTH: usize = 3;
const HEIGHT: usize = 34;
const NAMES: usize = 190;
/// Pixels above the rows, with what colours mean.
const HEAD: usize = 76;
/// Pixels of the strip below a row that shows which kernel ran.
const STRIP: usize = 7;
/// Rows of edges, at most: those on which most waits.
const EDGES: usize = 12;
/// Colours of kernels, those that run longest first, as people tell them apart (Okabe and Ito); and that of all others.
const COLOURS: [&str; 7] = ["#e69f00", "#56b4e9", "#009e73", "#f0e442", "#0072b2", "#d55e00", "#cc79a7"];
const OTHERS: &str = "#8c959f";

/// What a worker is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Runs,
    /// In the code of a kernel within that of another.
    Helps,
    /// For memory, a lock, or its turn.
    Waits,
    Sleeps,
}

/// What is drawn of it, from the bottom up: its word, and the name of its colour.
const KINDS: [(At, &str, &str); 4] = [
    (At::Runs, "runs", "busy"),
    (At::Helps, "helps", "ready"),
    (At::Waits, "waits", "full"),
    (At::Sleeps, "sleeps", "done"),
];

/// A worker, or a thread of a simulated machine.
struct Track {
    name: String,
    /// Those of one may lie within each other.
    spans: Vec<Span>,
}

/// From when to when a worker was at what, and in which kernel, by its number.
#[derive(Clone, Copy)]
struct Span {
    begin: f64,
    end: f64,
    at: At,
    kernel: Option<usize>,
}

/// How much was on an edge, when.
struct Edge {
    name: String,
    looks: Vec<(f64, f64)>,
}

/// What a trace says, in microseconds.
pub(super) struct Slices {
    end: f64,
    tracks: Vec<Track>,
    /// Kernels' names, and how long each ran.
    kernels: Vec<(String, f64)>,
    edges: Vec<Edge>,
    lost: u64,
}

impl Slices {
    /// Reads a trace. `None` if it is none.
    pub(super) fn read(text: &str) -> Option<Self> {
        if !text.starts_with("{\"displayTimeUnit\"") {
            return None;
        }
        let json: Value = serde_json::from_str(text).ok()?;
        let events = json["traceEvents"].as_array()?;
        // Where threads of a program are on hardware threads, those have a group of tracks of their own.
        let group = events.iter().filter_map(|event| event["pid"].as_u64()).max()?;
        let mut slices = Self { end: 0.0, tracks: Vec::new(), kernels: Vec::new(), edges: Vec::new(), lost: 0 };
        slices.lost = json["otherData"]["lost_events"].as_u64().unwrap_or(0);
        let mut numbers = Vec::new();
        for event in events.iter().filter(|event| event["pid"] == group) {
            let (name, track) = (event["name"].as_str().unwrap_or(""), &event["tid"]);
            match event["ph"].as_str() {
                Some("M") if name == "thread_name" => {
                    numbers.push(track.clone());
                    let name = event["args"]["name"].as_str().unwrap_or("").to_owned();
                    slices.tracks.push(Track { name, spans: Vec::new() });
                }
                Some("X") => {
                    let at = match event["cat"].as_str() {
                        Some("run") => At::Runs,
                        Some("help") => At::Helps,
                        Some("park") => At::Sleeps,
                        _ => At::Waits,
                    };
                    let begin = event["ts"].as_f64()?;
                    let end = begin + event["dur"].as_f64()?;
                    let number = numbers.iter().position(|number| number == track)?;
                    let kernel = matches!(at, At::Runs | At::Helps).then(|| slices.kernel(name));
                    slices.tracks[number].spans.push(Span { begin, end, at, kernel });
                    slices.end = slices.end.max(end);
                }
                Some("C") => {
                    let look = (event["ts"].as_f64()?, event["args"]["messages"].as_f64()?);
                    slices.end = slices.end.max(look.0);
                    match slices.edges.iter_mut().find(|edge| edge.name == name) {
                        Some(edge) => edge.looks.push(look),
                        None => slices.edges.push(Edge { name: name.to_owned(), looks: vec![look] }),
                    }
                }
                _ => {}
            }
        }
        for edge in &mut slices.edges {
            edge.looks.sort_by(|a, b| a.0.total_cmp(&b.0));
        }
        slices.edges.sort_by(|a, b| b.mean().total_cmp(&a.mean()));
        slices.rank();
        Some(slices)
    }

    /// The number of the kernel of that name.
    fn kernel(&mut self, name: &str) -> usize {
        self.kernels.iter().position(|kernel| kernel.0 == name).unwrap_or_else(|| {
            self.kernels.push((name.to_owned(), 0.0));
            self.kernels.len() - 1
        })
    }

    /// Numbers kernels anew: what ran longest comes first.
    fn rank(&mut self) {
        for piece in self.tracks.iter().flat_map(Track::pieces) {
            if let Some(kernel) = piece.kernel {
                self.kernels[kernel].1 += piece.end - piece.begin;
            }
        }
        let mut order: Vec<usize> = (0..self.kernels.len()).collect();
        order.sort_by(|&a, &b| self.kernels[b].1.total_cmp(&self.kernels[a].1));
        let mut ranks = vec![0; order.len()];
        order.iter().enumerate().for_each(|(rank, &kernel)| ranks[kernel] = rank);
        self.kernels = order.iter().map(|&kernel| self.kernels[kernel].clone()).collect();
        for span in self.tracks.iter_mut().flat_map(|track| &mut track.spans) {
            span.kernel = span.kernel.map(|kernel| ranks[kernel]);
        }
    }

    /// A line for each worker: the shares of its time; and one for each kernel: its share of all workers' time.
    pub(super) fn text(&self) -> String {
        let mut out = format!("{:24}", "worker");
        KINDS.iter().for_each(|(_, word, _)| _ = write!(out, " {word:>7}"));
        out.push_str("   looks\n");
        for track in &self.tracks {
            let shares = track.shares(self.end, 1)[0];
            let _ = write!(out, "{:24}", units::short(&track.name, 24));
            let rest = (1.0 - shares.iter().sum::<f64>()).max(0.0);
            shares.iter().chain([&rest]).for_each(|share| _ = write!(out, " {:>7}", units::percent(*share)));
            out.push('\n');
        }
        let _ = writeln!(out, "\n{:24} {:>7}", "kernel", "runs");
        let all = (self.end * self.tracks.len() as f64).max(1e-9);
        for (name, time) in &self.kernels {
            let _ = writeln!(out, "{:24} {:>7}", units::short(name, 24), units::percent(time / all));
        }
        if self.lost > 0 {
            let _ = writeln!(out, "the trace has the end of the run alone: {} events before that are lost", self.lost);
        }
        out
    }

    /// A row for each worker, a column for each slice of the time, with the kernel that ran most of it; and below them what was on edges.
    pub(super) fn picture(&self) -> String {
        let edges = &self.edges[..self.edges.len().min(EDGES)];
        let width = NAMES + SLICES * WIDTH + 20;
        let height = HEAD + 20 + (self.tracks.len() + edges.len()) * (HEIGHT + 10) + 30;
        let mut out = format!(
            "<svg class=\"slices\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\" aria-label=\"what each worker did\" \
             xmlns=\"http://www.w3.org/2000/svg\"><style>{}.slices rect{{shape-rendering:crispEdges}}</style>\n",
            svg::STYLE
        );
        for (index, (_, word, colour)) in KINDS.iter().enumerate() {
            let x = NAMES + index * 90;
            let _ = writeln!(
                out,
                "<rect x=\"{x}\" y=\"10\" width=\"12\" height=\"12\" fill=\"var(--{colour})\"/><text x=\"{}\" y=\"20\">{word}</text>",
                x + 18
            );
        }
        let named = self.kernels.iter().take(COLOURS.len()).map(|kernel| kernel.0.as_str());
        let keys = named.zip(COLOURS).chain((self.kernels.len() > COLOURS.len()).then_some(("others", OTHERS)));
        for (index, (name, colour)) in keys.enumerate() {
            let (x, y) = (NAMES + index % 4 * 180, 30 + index / 4 * 18);
            let _ = writeln!(
                out,
                "<rect x=\"{x}\" y=\"{}\" width=\"12\" height=\"{STRIP}\" fill=\"{colour}\"/><text x=\"{}\" y=\"{}\">{}</text>",
                y + 3,
                x + 18,
                y + 10,
                svg::escaped(&units::short(name, 24))
            );
        }
        let mut y = HEAD;
        for track in &self.tracks {
            self.name(&mut out, y, &track.name);
            for (number, kernel) in track.kernels(self.end, SLICES).into_iter().enumerate() {
                let Some(kernel) = kernel else { continue };
                let _ = writeln!(
                    out,
                    "<rect x=\"{}\" y=\"{}\" width=\"{WIDTH}\" height=\"{STRIP}\" fill=\"{}\"/>",
                    NAMES + number * WIDTH,
                    y + HEIGHT + 1,
                    COLOURS.get(kernel).unwrap_or(&OTHERS)
                );
            }
            for (number, shares) in track.shares(self.end, SLICES).into_iter().enumerate() {
                let mut top = (y + HEIGHT) as f64;
                for (share, (_, _, colour)) in shares.into_iter().zip(KINDS).filter(|(share, _)| *share > 0.005) {
                    let height = share * HEIGHT as f64;
                    top -= height;
                    let _ = writeln!(
                        out,
                        "<rect x=\"{}\" y=\"{top:.1}\" width=\"{WIDTH}\" height=\"{height:.1}\" fill=\"var(--{colour})\"/>",
                        NAMES + number * WIDTH,
                    );
                }
            }
            y += HEIGHT + 10;
        }
        for edge in edges {
            let most = edge.looks.iter().map(|look| look.1).fold(1.0, f64::max);
            self.name(&mut out, y, &format!("{}, up to {}", edge.name, units::count(most)));
            let place = |&(time, messages): &(f64, f64)| {
                let x = NAMES as f64 + (SLICES * WIDTH) as f64 * time / self.end.max(1e-9);
                format!("{x:.1} {:.1}", (y + HEIGHT) as f64 - HEIGHT as f64 * messages / most)
            };
            let line: Vec<_> = edge.looks.iter().map(place).collect();
            let _ = writeln!(out, "<path d=\"M{}\" fill=\"none\" stroke=\"var(--empty)\"/>", line.join(" L"));
            y += HEIGHT + 10;
        }
        let _ = writeln!(
            out,
            "<text x=\"{NAMES}\" y=\"{}\">0</text><text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text></svg>",
            y + 14,
            NAMES + SLICES * WIDTH,
            y + 14,
            units::nanos(self.end * 1e3)
        );
        out
    }

    fn name(&self, out: &mut String, y: usize, name: &str) {
        let _ = writeln!(
            out,
            "<text x=\"4\" y=\"{}\">{}</text><path d=\"M{NAMES} {} h{}\" stroke=\"var(--line)\"/>",
            y + HEIGHT / 2 + 4,
            svg::escaped(&units::short(name, 28)),
            y + HEIGHT,
            SLICES * WIDTH
        );
    }
}

impl Track {
    /// The shares of the time up to `end` in which it is at each of [`KINDS`] and at nothing within it, for each of so many slices.
    fn shares(&self, end: f64, slices: usize) -> Vec<[f64; KINDS.len()]> {
        let mut shares = vec![[0.0; KINDS.len()]; slices];
        self.each(end, slices, |slice, share, piece| {
            let kind = KINDS.iter().position(|kind| kind.0 == piece.at).unwrap_or(0);
            shares[slice][kind] += share;
        });
        shares
    }

    /// The kernel that ran longest in each of so many slices of the time up to `end`.
    fn kernels(&self, end: f64, slices: usize) -> Vec<Option<usize>> {
        let mut ran = vec![Vec::<(usize, f64)>::new(); slices];
        self.each(end, slices, |slice, share, piece| {
            let Some(kernel) = piece.kernel.filter(|_| share > 0.0) else { return };
            match ran[slice].iter_mut().find(|one| one.0 == kernel) {
                Some(one) => one.1 += share,
                None => ran[slice].push((kernel, share)),
            }
        });
        let longest = |ran: Vec<(usize, f64)>| ran.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)).map(|one| one.0);
        ran.into_iter().map(longest).collect()
    }

    /// Each slice of the time up to `end` that a piece has a share of, with that share.
    fn each(&self, end: f64, slices: usize, mut take: impl FnMut(usize, f64, Span)) {
        let length = (end / slices as f64).max(1e-9);
        for piece in self.pieces() {
            let first = ((piece.begin / length) as usize).min(slices - 1);
            for number in first..slices {
                let (from, to) = (number as f64 * length, (number + 1) as f64 * length);
                if from >= piece.end {
                    break;
                }
                take(number, (piece.end.min(to) - piece.begin.max(from)).max(0.0) / length, piece);
            }
        }
    }

    /// What it is at, innermost: pieces that do not overlap.
    fn pieces(&self) -> Vec<Span> {
        let mut spans = self.spans.clone();
        // What lies around comes first.
        spans.sort_by(|a, b| a.begin.total_cmp(&b.begin).then(b.end.total_cmp(&a.end)));
        let (mut pieces, mut open, mut clock) = (Vec::new(), Vec::<Span>::new(), 0.0_f64);
        let mut advance = |open: &mut Vec<Span>, until: f64| {
            while let Some(&span) = open.last() {
                let stop = span.end.min(until);
                if stop > clock {
                    pieces.push(Span { begin: clock, end: stop, ..span });
                    clock = stop;
                }
                if span.end > until {
                    break;
                }
                open.pop();
            }
            clock = clock.max(until);
        };
        for span in spans {
            advance(&mut open, span.begin);
            open.push(span);
        }
        advance(&mut open, f64::INFINITY);
        pieces
    }
}

impl Edge {
    fn mean(&self) -> f64 {
        self.looks.iter().map(|look| look.1).sum::<f64>() / self.looks.len().max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = r#"{"displayTimeUnit":"ns","traceEvents":[
{"name":"process_name","ph":"M","pid":1,"tid":0,"args":{"name":"thalweg"}},
{"name":"thread_name","ph":"M","pid":1,"tid":0,"args":{"name":"worker 0"}},
{"name":"a","cat":"run","pid":1,"tid":0,"ts":0.0,"ph":"X","dur":60.0},
{"name":"b","cat":"help","pid":1,"tid":0,"ts":10.0,"ph":"X","dur":20.0},
{"name":"grew: a >> b","cat":"growth","pid":1,"tid":0,"ts":10.0,"ph":"i","s":"t"},
{"name":"a >> b","cat":"edge","pid":1,"tid":0,"ts":50.0,"ph":"C","args":{"messages":7}},
{"name":"sleep","cat":"park","pid":1,"tid":0,"ts":70.0,"ph":"X","dur":30.0}
],"otherData":{"lost_events":3}}"#;

    #[test]
    fn each_moment_belongs_to_what_lies_innermost() {
        let slices = Slices::read(TRACE).unwrap();
        let whole = slices.tracks[0].shares(100.0, 1)[0].map(|share| (share * 100.0).round());
        assert_eq!(whole, [40.0, 20.0, 0.0, 30.0]);
        let tenths = slices.tracks[0].shares(100.0, 20).iter().map(|shares| shares[1].round()).collect::<Vec<_>>();
        assert_eq!((&tenths[..2], &tenths[2..6], &tenths[6..8]), (&[0.0; 2][..], &[1.0; 4][..], &[0.0; 2][..]));
        // b ran within a from 10 to 30.
        assert_eq!(slices.kernels.iter().map(|kernel| kernel.0.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        let tenths = slices.tracks[0].kernels(100.0, 10);
        assert_eq!((&tenths[..4], &tenths[6..7]), (&[Some(0), Some(1), Some(1), Some(0)][..], &[None][..]));
        let text = slices.text();
        assert!(text.contains("\nb                           20 %\n"), "{text}");
        assert!(text.contains("worker 0") && text.contains("40 %") && text.contains("3 events before"), "{text}");
        let picture = slices.picture();
        assert!(picture.contains("worker 0") && picture.contains("a &gt;&gt; b, up to 7"), "{picture}");
        assert!(COLOURS[..2].iter().all(|colour| picture.matches(colour).count() > 10), "{picture}");
        assert!(!picture.contains(COLOURS[2]) && !picture.contains(OTHERS), "{picture}");
    }

    #[test]
    fn what_is_no_trace_is_none() {
        assert!(Slices::read("{\"thalweg\":1}").is_none());
        assert!(Slices::read("{\"displayTimeUnit\":\"ns\",").is_none());
    }
}
