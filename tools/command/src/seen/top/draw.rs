//! The pages of the view.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph, Sparkline, Wrap};
use thalweg::observe::{Remark, remarks};

use super::boxes::{self, colour};
use super::state::{Page, Sort, State, Watched};
use crate::seen::{plain, svg, units};

const HELP: &str = "\
Arrows       choose a graph or a kernel
Enter        open it
Esc          back
t            the graph as boxes, or as a table
s            sort the table: as made, by busy, by messages
Space        hold the picture; again to go on
q            quit

Boxes: how busy a kernel is, and what it is at for most of a second: busy, full (no room
behind it), ticket (waits for an earlier result), empty (no input), pending (has nothing
now), ready (no worker at it). A star marks a parallel kernel.
Edges: messages a second; thick lines carry a million or more.

Any key goes on.";

/// Draws the state as it is.
pub(super) fn draw(frame: &mut Frame<'_>, state: &State) {
    let [head, body, notes, keys] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Min(3),
        Constraint::Length(notes_height(frame.area().height)),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    let graph = state.graphs.get(state.graph);
    let title = match (state.page, graph) {
        (Page::List, _) | (_, None) => format!("thalweg top: {} graphs", state.graphs.len()),
        (_, Some(graph)) => format!("{} | graph {} of {}", plain::headline(graph.now()), graph.number, graph.name),
    };
    let title = if state.paused { format!("held | {title}") } else { title };
    let bar = Style::default().add_modifier(Modifier::REVERSED);
    frame.render_widget(Paragraph::new(format!("{title:<width$}", width = head.width as usize)).style(bar), head);
    match (state.page, graph) {
        (Page::List, _) | (_, None) => list(frame, body, state),
        (Page::Graph, Some(graph)) => {
            let (now, rates) = (graph.now(), graph.rates());
            boxes::draw(frame.buffer_mut(), body, now, &rates, &graph.layout, state.kernel, state.colours);
        }
        (Page::Table, Some(graph)) => table(frame, body, state, graph),
        (Page::Kernel, Some(graph)) => kernel(frame, body, state, graph),
    }
    let told = match (state.page, graph) {
        (Page::List, _) | (_, None) => state.faults.clone(),
        (_, Some(graph)) => {
            let history: Vec<_> = graph.history.iter().rev().take(20).rev().cloned().collect();
            let remarks = remarks(&history).into_iter().map(|Remark { text, .. }| text);
            graph.fault.clone().into_iter().chain(remarks).collect()
        }
    };
    let lines: Vec<_> = told.iter().map(|text| Line::from(format!("! {text}"))).collect();
    let style = colour("busy", state.colours);
    frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: true }).style(style), notes);
    let hints = match state.page {
        Page::List => "Enter open  Space hold  ? help  q quit",
        Page::Graph => "Arrows choose  Enter kernel  t table  Esc back  Space hold  ? help  q quit",
        Page::Table => "Arrows choose  Enter kernel  s sort  t boxes  Esc back  ? help  q quit",
        Page::Kernel => "Arrows another kernel  Esc back  Space hold  ? help  q quit",
    };
    frame.render_widget(Paragraph::new(hints).style(bar), keys);
    if state.help {
        help(frame);
    }
}

/// Remarks get a quarter of the screen, and at least a line.
fn notes_height(height: u16) -> u16 {
    (height / 4).clamp(1, 6)
}

fn help(frame: &mut Frame<'_>) {
    let whole = frame.area();
    let height = (HELP.lines().count() as u16 + 2).min(whole.height);
    let width = (HELP.lines().map(|line| line.chars().count()).max().unwrap_or(0) as u16 + 4).min(whole.width);
    let area = Rect { x: (whole.width - width) / 2, y: (whole.height - height) / 2, width, height };
    frame.render_widget(Clear, area);
    frame.render_widget(Paragraph::new(HELP).block(Block::bordered().title(" keys ")), area);
}

fn marked(chosen: bool) -> Style {
    if chosen { Style::default().add_modifier(Modifier::REVERSED) } else { Style::default() }
}

/// Lines of a list, of which the chosen one is on the screen.
fn lines(frame: &mut Frame<'_>, area: Rect, lines: Vec<Line<'_>>, chosen: usize) {
    let skip = (chosen + 1).saturating_sub(area.height as usize);
    frame.render_widget(Paragraph::new(lines).scroll((skip.min(u16::MAX as usize) as u16, 0)), area);
}

fn list(frame: &mut Frame<'_>, area: Rect, state: &State) {
    let [head, body] = Layout::vertical([Constraint::Length(1), Constraint::Min(1)]).areas(area);
    if state.graphs.is_empty() {
        let text = "No process lets its runs be seen. Start one with THALWEG_OBSERVE=1, such as\n\n  THALWEG_OBSERVE=1 thalweg run search --term fn --input /usr";
        frame.render_widget(Paragraph::new(text).wrap(Wrap { trim: false }), area);
        return;
    }
    let bold = Style::default().add_modifier(Modifier::BOLD);
    frame.render_widget(
        Paragraph::new(format!(
            "{:>8} {:>5} {:>8} {:>7} {:>8}  command",
            "process", "graph", "time", "kernels", "in/s"
        ))
        .style(bold),
        head,
    );
    let line = |(index, graph): (usize, &Watched)| {
        let (now, rates) = (graph.now(), graph.rates());
        // What comes out of the sources.
        let flow: f64 = (now.edges.iter().zip(&rates.edges))
            .filter(|(edge, _)| now.edges.iter().all(|other| other.ends.1 != edge.ends.0))
            .map(|(_, rates)| rates.messages)
            .sum();
        let state_of = if graph.fault.is_some() {
            "gone: "
        } else if now.end.is_some() {
            "over: "
        } else {
            ""
        };
        let text = format!(
            "{:>8} {:>5} {:>8} {:>7} {:>8}  {state_of}{}",
            graph.process,
            graph.number,
            units::time(now.time),
            now.kernels.len(),
            units::count(flow),
            graph.name
        );
        Line::from(text).style(marked(index == state.graph))
    };
    lines(frame, body, state.graphs.iter().enumerate().map(line).collect(), state.graph);
}

fn table(frame: &mut Frame<'_>, area: Rect, state: &State, graph: &Watched) {
    let [head, body] = Layout::vertical([Constraint::Length(1), Constraint::Min(1)]).areas(area);
    let (now, rates) = (graph.now(), graph.rates());
    let sorted = match state.sort {
        Sort::Made => "kernel",
        Sort::Busy => "kernel (by busy)",
        Sort::Flow => "kernel (by messages)",
    };
    let columns: String = plain::COLUMNS.iter().map(|column| format!(" {column:>6}")).collect();
    let bold = Style::default().add_modifier(Modifier::BOLD);
    frame.render_widget(Paragraph::new(format!("{sorted:16}{columns}")).style(bold), head);
    let order = state.order();
    let chosen = order.iter().position(|kernel| *kernel == state.kernel).unwrap_or(0);
    let line = |(place, &kernel): (usize, &usize)| {
        let cells: String = plain::cells(now, &rates, kernel).iter().map(|cell| format!(" {cell:>6}")).collect();
        let style = colour(svg::worst(now.kernels[kernel].doing, &rates.kernels[kernel]), state.colours);
        let name = Span::styled(format!("{:16}", plain::name(now, kernel, 16)), style);
        Line::from(vec![name, Span::raw(cells)]).style(marked(place == chosen))
    };
    lines(frame, body, order.iter().enumerate().map(line).collect(), chosen);
}

/// One kernel: its numbers, its edges, and how they went.
fn kernel(frame: &mut Frame<'_>, area: Rect, state: &State, graph: &Watched) {
    let (now, rates) = (graph.now(), graph.rates());
    let Some(kernel) = now.kernels.get(state.kernel) else { return };
    let mut text = vec![
        Line::from(format!(
            "{} ({}): {}",
            plain::name(now, state.kernel, 40),
            kernel.kind.name(),
            plain::doing(now, kernel.doing)
        )),
        Line::from(format!(
            "{} in, {} out, {} runs, {} busy in all",
            units::count(kernel.messages_in as f64),
            units::count(kernel.messages_out as f64),
            units::count(kernel.activations as f64),
            units::time(kernel.busy)
        )),
    ];
    let cells = plain::cells(now, &rates, state.kernel);
    let pairs: Vec<_> = plain::COLUMNS.iter().zip(&cells).map(|(column, cell)| format!("{column} {cell}")).collect();
    text.push(Line::from(format!("ms/s: {}", pairs[..6].join("  "))));
    text.push(Line::from(pairs[6..].join("  ")));
    for (index, edge) in
        now.edges.iter().enumerate().filter(|(_, edge)| edge.ends.0 == state.kernel || edge.ends.1 == state.kernel)
    {
        let way = if edge.ends.1 == state.kernel { ("from", edge.ends.0) } else { ("to", edge.ends.1) };
        text.push(Line::from(format!(
            "{} {}: {}/s, holds {} ({}), {}",
            way.0,
            units::short(&now.kernels[way.1].name, 24),
            units::count(rates.edges[index].messages),
            units::count(edge.holds as f64),
            units::percent(edge.fill),
            edge.storage
        )));
    }
    for (index, latency) in now.latencies.iter().enumerate() {
        if latency.ends.0 == state.kernel || latency.ends.1 == state.kernel {
            text.push(Line::from(plain::latency(now, index)));
        }
    }
    let height = (text.len() as u16).min(area.height.saturating_sub(6).max(2));
    let [told, busy, flow] =
        Layout::vertical([Constraint::Length(height), Constraint::Fill(1), Constraint::Fill(1)]).areas(area);
    frame.render_widget(Paragraph::new(text), told);
    let steps: Vec<_> = (graph.history.iter().zip(graph.history.iter().skip(1)))
        .map(|(then, now)| now.since(then).kernels[state.kernel])
        .collect();
    let width = area.width.saturating_sub(2) as usize;
    let last = &steps[steps.len().saturating_sub(width)..];
    let busy_points: Vec<u64> = last.iter().map(|step| step.busy as u64).collect();
    let flow_points: Vec<u64> = last.iter().map(|step| step.messages_in.max(step.messages_out) as u64).collect();
    let most = flow_points.iter().max().copied().unwrap_or(0);
    let top = busy_points.iter().copied().max().unwrap_or(0).max(1000);
    let line = |title: String, points: Vec<u64>, most: u64, word: &str| {
        Sparkline::default()
            .block(Block::bordered().title(title))
            .data(points)
            .max(most.max(1))
            .style(colour(word, state.colours))
    };
    frame.render_widget(
        line(format!(" busy, up to {} ", units::percent(top as f64 / 1000.0)), busy_points, top, "busy"),
        busy,
    );
    frame.render_widget(
        line(format!(" messages a second, up to {} ", units::count(most as f64)), flow_points, most, "empty"),
        flow,
    );
}

#[cfg(test)]
#[path = "draw_tests.rs"]
mod tests;
