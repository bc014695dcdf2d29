//! Pictures of a run: its graph, and how numbers went.

use std::fmt::Write;

use thalweg::Snapshot;
use thalweg::observe::{Doing, KernelRates, Kind, Rates};

use super::layout::{Layout, layout};
use super::units;

/// A box, and what is left between two, in pixels.
const BOX: (usize, usize) = (168, 58);
const GAP: (usize, usize) = (86, 22);
const MARGIN: usize = 12;

/// The worst of what a kernel did in a second, as a word that colours it.
pub(crate) fn worst(doing: Doing, rates: &KernelRates) -> &'static str {
    if doing == Doing::Done {
        return "done";
    }
    let parts = [
        ("busy", rates.busy),
        ("full", rates.full),
        ("ticket", rates.ticket),
        ("empty", rates.empty),
        ("pending", rates.pending),
        ("ready", rates.ready),
    ];
    let most = parts.iter().max_by(|a, b| a.1.total_cmp(&b.1)).filter(|part| part.1 > 0.0);
    most.map_or("empty", |part| part.0)
}

/// Text of XML.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// How thick an edge is that carries so many messages a second.
pub(crate) fn thickness(rate: f64) -> f64 {
    (1.0 + (rate + 1.0).log10()).clamp(1.0, 9.0)
}

fn corner(layout: &Layout, kernel: usize) -> (usize, usize) {
    let (column, row) = layout.places[kernel];
    (MARGIN + column * (BOX.0 + GAP.0), MARGIN + row * (BOX.1 + GAP.1))
}

/// The graph with the numbers of a snapshot: boxes coloured by the worst of their second, edges as thick as they carry. Kernels and edges have the
/// identifiers `k0`, `e0` and so on, so that a page can change them.
pub(crate) fn graph(snapshot: &Snapshot, rates: &Rates) -> String {
    let ends: Vec<_> = snapshot.edges.iter().map(|edge| edge.ends).collect();
    let layout = layout(snapshot.kernels.len(), &ends);
    let back = layout.back.iter().filter(|back| **back).count();
    let width = 2 * MARGIN + layout.columns * (BOX.0 + GAP.0) - GAP.0.min(layout.columns * GAP.0);
    let height = 2 * MARGIN + layout.rows * (BOX.1 + GAP.1) + back.min(8) * 14;
    let mut out = format!(
        "<svg class=\"graph\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\" aria-label=\"the graph of the run\" \
         xmlns=\"http://www.w3.org/2000/svg\">\n"
    );
    let mut lane = 0;
    for (index, edge) in snapshot.edges.iter().enumerate() {
        let ((x1, y1), (x2, y2)) = (corner(&layout, edge.ends.0), corner(&layout, edge.ends.1));
        let (x1, y1, y2) = (x1 + BOX.0, y1 + BOX.1 / 2, y2 + BOX.1 / 2);
        let (path, at) = if layout.back[index] {
            let bottom = height - MARGIN - (lane % 8) * 14;
            lane += 1;
            (
                format!(
                    "M{x1} {y1} C{} {y1} {} {bottom} {x1} {bottom} L{x2} {bottom} C{} {bottom} {} {y2} {x2} {y2}",
                    x1 + 40,
                    x1 + 40,
                    x2.saturating_sub(40),
                    x2.saturating_sub(40)
                ),
                ((x1 + x2) / 2, bottom - 4),
            )
        } else {
            let middle = (x1 + x2) / 2;
            (format!("M{x1} {y1} C{middle} {y1} {middle} {y2} {x2} {y2}"), (middle, (y1 + y2) / 2 - 7))
        };
        let rate = rates.edges[index].messages;
        let _ = writeln!(
            out,
            "<g id=\"e{index}\" class=\"edge\"><title>{} to {}</title><path d=\"{path}\" fill=\"none\" stroke-width=\"{:.1}\" class=\"{}\"/><text x=\"{}\" y=\"{}\" \
             text-anchor=\"middle\">{}/s</text></g>",
            escaped(&snapshot.kernels[edge.ends.0].name),
            escaped(&snapshot.kernels[edge.ends.1].name),
            thickness(rate),
            if edge.fill > 0.9 { "tight" } else { "loose" },
            at.0,
            at.1,
            units::count(rate),
        );
    }
    for (index, kernel) in snapshot.kernels.iter().enumerate() {
        let (x, y) = corner(&layout, index);
        let now = &rates.kernels[index];
        let (width, height) = BOX;
        let _ = writeln!(
            out,
            "<g id=\"k{index}\" class=\"kernel {}\" tabindex=\"0\" role=\"button\"><title>{}</title><rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"6\"/>\
             <rect class=\"level\" x=\"{x}\" y=\"{}\" width=\"{:.0}\" height=\"5\"/><text x=\"{}\" y=\"{}\" class=\"name\">{}</text><text x=\"{}\" y=\"{}\" class=\"told\">{}</text></g>",
            worst(kernel.doing, now),
            escaped(&kernel.name),
            y + height - 5,
            width as f64 * (now.busy / 1000.0).min(1.0),
            x + 10,
            y + 22,
            escaped(&format!(
                "{}{}",
                units::short(&kernel.name, 18),
                if kernel.kind == Kind::Parallel { " *" } else { "" }
            )),
            x + 10,
            y + 41,
            escaped(&told(now)),
        );
    }
    out.push_str("</svg>\n");
    out
}

/// What a box says under its name.
pub(crate) fn told(rates: &KernelRates) -> String {
    let messages = rates.messages_in.max(rates.messages_out);
    format!("{} busy, {}/s", units::percent(rates.busy / 1000.0), units::count(messages))
}

/// How a number went: a line over time, filled below. Points are (time, value); `most` is the top.
pub(crate) fn history(points: &[(f64, f64)], end: f64, most: f64, class: &str, label: &str) -> String {
    let (width, height) = (420.0, 56.0);
    let place = |&(time, value): &(f64, f64)| {
        (width * time / end.max(1e-9), height - 2.0 - (height - 4.0) * (value / most.max(1e-9)).min(1.0))
    };
    let mut line = String::new();
    for (x, y) in points.iter().map(place) {
        let _ = write!(line, "{}{x:.1} {y:.1}", if line.is_empty() { "M" } else { " L" });
    }
    let fill = match (points.first().map(place), points.last().map(place)) {
        (Some(first), Some(last)) => format!("{line} L{:.1} {height} L{:.1} {height} Z", last.0, first.0),
        _ => String::new(),
    };
    format!(
        "<svg class=\"history {class}\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\" aria-label=\"{}\" \
         xmlns=\"http://www.w3.org/2000/svg\"><path class=\"fill\" d=\"{fill}\"/><path class=\"line\" fill=\"none\" d=\"{line}\"/></svg>",
        escaped(label)
    )
}

/// Colours, light and dark.
pub(crate) const STYLE: &str = "\
:root{color-scheme:light dark;--ground:#fff;--text:#1b1f24;--quiet:#59636e;--line:#d1d9e0;--box:#f6f8fa;--busy:#bc4c00;--full:#cf222e;--ticket:#8250df;--empty:#0969da;--pending:#6e7781;--ready:#9a6700;--done:#afb8c1}
@media(prefers-color-scheme:dark){:root{--ground:#0d1117;--text:#e6edf3;--quiet:#9198a1;--line:#3d444d;--box:#151b23;--busy:#f0883e;--full:#ff7b72;--ticket:#bc8cff;--empty:#58a6ff;--pending:#8b949e;--ready:#d29922;--done:#484f58}}
body{margin:1.5rem;background:var(--ground);color:var(--text);font:15px/1.45 system-ui,sans-serif}
h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2rem}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}th,td{padding:.2rem .8rem;text-align:right;border-bottom:1px solid var(--line)}th:first-child,td:first-child{text-align:left}
.scroll{overflow:auto}.remark{border-left:4px solid var(--busy);padding:.2rem .8rem;margin:.4rem 0}.quiet{color:var(--quiet)}
svg text{fill:var(--text);font:12px system-ui,sans-serif}svg .told,svg .edge text{fill:var(--quiet);font-size:11px}svg .name{font-weight:600}
.kernel rect{fill:var(--box);stroke:var(--line);stroke-width:2}.kernel .level{stroke:none}
.kernel.busy rect{stroke:var(--busy)}.kernel.full rect{stroke:var(--full)}.kernel.ticket rect{stroke:var(--ticket)}.kernel.empty rect{stroke:var(--empty)}.kernel.pending rect{stroke:var(--pending)}.kernel.ready rect{stroke:var(--ready)}.kernel.done rect{stroke:var(--done)}
.kernel rect.level{fill:var(--busy);stroke:none}.kernel:focus rect:first-of-type{stroke-width:4}
.edge path{stroke:var(--quiet)}.edge path.tight{stroke:var(--full)}
.history .line{stroke:var(--busy);stroke-width:1.5}.history .fill{fill:var(--busy);opacity:.2}.history.flow .line{stroke:var(--empty)}.history.flow .fill{fill:var(--empty)}
.key span{display:inline-block;margin-right:1rem}.key i{display:inline-block;width:.8em;height:.8em;margin-right:.3em;border-radius:2px}
";

/// What the colours mean.
pub(crate) const KEY: &str = "<p class=\"key quiet\"><span><i style=\"background:var(--busy)\"></i>busy</span><span><i style=\"background:var(--full)\"></i>held back: no room</span><span><i \
style=\"background:var(--ticket)\"></i>waits for an earlier result</span><span><i style=\"background:var(--empty)\"></i>no input</span><span><i style=\"background:var(--pending)\"></i>has \
nothing</span><span><i style=\"background:var(--ready)\"></i>ready, no worker at it</span><span><i style=\"background:var(--done)\"></i>done</span></p>\n";
