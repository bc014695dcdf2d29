//! The graph as boxes and lines of characters.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use thalweg::Snapshot;
use thalweg::observe::Rates;

use crate::seen::layout::Layout;
use crate::seen::{plain, svg, units};

/// A box, and what lies between two, in characters.
const BOX: (i32, i32) = (20, 4);
const GAP: (i32, i32) = (10, 1);

/// The colour of what a kernel is at most of the time; none where colours are not wanted.
pub(super) fn colour(word: &str, colours: bool) -> Style {
    if !colours {
        return Style::default();
    }
    Style::default().fg(match word {
        "busy" => Color::Yellow,
        "full" => Color::Red,
        "ticket" => Color::Magenta,
        "empty" => Color::Blue,
        "ready" => Color::Green,
        _ => Color::DarkGray,
    })
}

/// A part of a plane of characters that is seen.
struct Window<'a> {
    buffer: &'a mut Buffer,
    area: Rect,
    left: i32,
    top: i32,
}

impl Window<'_> {
    fn put(&mut self, x: i32, y: i32, text: &str, style: Style) {
        let (mut x, y) = (x - self.left, y - self.top);
        if y < 0 || y >= i32::from(self.area.height) {
            return;
        }
        for c in text.chars() {
            if x >= 0 && x < i32::from(self.area.width) {
                let cell = &mut self.buffer[(self.area.x + x as u16, self.area.y + y as u16)];
                cell.set_char(c).set_style(style);
            }
            x += 1;
        }
    }

    fn is_seen(&self, x: i32, y: i32) -> bool {
        let (x, y) = (x - self.left, y - self.top);
        x > -BOX.0 && x < i32::from(self.area.width) && y > -BOX.1 && y < i32::from(self.area.height)
    }
}

fn corner(layout: &Layout, kernel: usize) -> (i32, i32) {
    let (column, row) = layout.places[kernel];
    (column as i32 * (BOX.0 + GAP.0), row as i32 * (BOX.1 + GAP.1))
}

/// Draws the part of the graph around the chosen kernel.
pub(super) fn draw(
    buffer: &mut Buffer,
    area: Rect,
    snapshot: &Snapshot,
    rates: &Rates,
    layout: &Layout,
    chosen: usize,
    colours: bool,
) {
    if area.width == 0 || area.height == 0 || snapshot.kernels.is_empty() {
        return;
    }
    let (x, y) = corner(layout, chosen.min(snapshot.kernels.len() - 1));
    let place = |at: i32, size: i32, whole: i32, room: i32| {
        if whole <= room { 0 } else { (at + size / 2 - room / 2).clamp(0, (whole - room).max(0)) }
    };
    let (columns, rows) = (layout.columns as i32, layout.rows as i32);
    let left = place(x, BOX.0, columns * (BOX.0 + GAP.0) - GAP.0, i32::from(area.width));
    let top = place(y, BOX.1, rows * (BOX.1 + GAP.1) - GAP.1, i32::from(area.height));
    let mut window = Window { buffer, area, left, top };
    for (index, edge) in snapshot.edges.iter().enumerate() {
        let ((x1, y1), (x2, y2)) = (corner(layout, edge.ends.0), corner(layout, edge.ends.1));
        let style = if edge.fill > 0.9 { colour("full", colours) } else { colour("", colours) };
        let rate = format!("{}/s", units::count(rates.edges[index].messages));
        let thick = rates.edges[index].messages >= 1e6;
        let (flat, steep) = if thick { ("━", "┃") } else { ("─", "│") };
        let (start, line, end) = (x1 + BOX.0, y1 + 1, y2 + 1);
        if layout.back[index] {
            // Out of the picture on the right, and in again on the left.
            window.put(start, y1 + 2, &format!("↩{rate}"), style);
            window.put(x2 - 2, y2 + 2, "↪", style);
            continue;
        }
        let bend = x2 - GAP.0 / 2 + 1;
        (start..bend).for_each(|x| window.put(x, line, flat, style));
        let corners = match line.cmp(&end) {
            std::cmp::Ordering::Equal => (flat, flat),
            std::cmp::Ordering::Less => ("╮", "╰"),
            std::cmp::Ordering::Greater => ("╯", "╭"),
        };
        (line.min(end)..line.max(end)).for_each(|y| window.put(bend, y, steep, style));
        window.put(bend, line, corners.0, style);
        window.put(bend, end, corners.1, style);
        (bend + 1..x2 - 1).for_each(|x| window.put(x, end, flat, style));
        window.put(x2 - 1, end, "▶", style);
        window.put(x2 - GAP.0 + 1, end - 1, &rate, Style::default());
    }
    for (index, kernel) in snapshot.kernels.iter().enumerate() {
        let (x, y) = corner(layout, index);
        if !window.is_seen(x, y) {
            continue;
        }
        let now = &rates.kernels[index];
        let word = svg::worst(kernel.doing, now);
        let mut style = colour(word, colours);
        if index == chosen {
            style = style.add_modifier(Modifier::BOLD | Modifier::REVERSED);
        }
        let inner = BOX.0 as usize - 2;
        let (top, bottom) = (format!("┌{}┐", "─".repeat(inner)), format!("└{}┘", "─".repeat(inner)));
        window.put(x, y, &top, style);
        window.put(x, y + 1, &format!("│{:inner$}│", plain::name(snapshot, index, inner)), style);
        let told = format!(
            "{} {}",
            units::percent(now.busy / 1000.0),
            if word == "busy" { "busy".to_owned() } else { format!("busy, {word}") }
        );
        window.put(x, y + 2, &format!("│{:inner$}│", units::short(&told, inner)), style);
        window.put(x, y + 3, &bottom, style);
    }
}
