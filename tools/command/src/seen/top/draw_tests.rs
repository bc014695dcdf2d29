//! The pages, drawn on a terminal that is a buffer.

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Color;
use thalweg::Snapshot;
use thalweg::observe::{Doing, WorkerState};
use thalweg::prelude::*;
use thalweg_sync::time::Duration;

use super::super::state::{Key, Page, State};
use super::draw;

/// Two snapshots, a second apart, of read >> parse >> (left, right): parse is busy, right is held back.
fn history() -> Vec<Snapshot> {
    let mut graph = Graph::new();
    let (read, parse) = (graph.source(0..10_u64), graph.parallel_map(|x: u64| x));
    let (left, right) = (graph.map(|x: u64| x), graph.map(|x: u64| x));
    graph.name(read, "read");
    graph.name(parse, "parse");
    graph.name(left, "left");
    graph.name(right, "right");
    graph += read >> parse >> left >> right >> graph.sink(drop::<u64>);
    let observer = graph.observe();
    graph.run(Scheme::default().workers(1)).unwrap();
    let mut first = observer.snapshot().unwrap();
    (first.end, first.time) = (None, Duration::from_secs(1));
    for kernel in &mut first.kernels {
        (kernel.blocked_empty, kernel.blocked_full, kernel.blocked_ticket, kernel.blocked_pending) = (0, 0, 0, 0);
        (kernel.busy, kernel.doing) = (Duration::ZERO, Doing::Ready);
    }
    // A branch, which a chain has not.
    first.edges[2].ends = (1, 3);
    let mut second = first.clone();
    second.time = Duration::from_secs(2);
    second.kernels[1].busy = Duration::from_millis(870);
    second.kernels[3].doing = Doing::Full(3);
    second.edges[0].messages += 12_345;
    second.workers[0].state = WorkerState::Runs(1);
    vec![first, second]
}

fn state(colours: bool) -> State {
    let mut state = State::new(colours);
    for snapshot in history() {
        state.heard(4711, "thalweg run search", vec![(1, snapshot)]);
    }
    state
}

/// The screen, a string for each line, and the colour of the first letter of `parse`.
fn screen(state: &State, width: u16, height: u16) -> (Vec<String>, Option<Color>) {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, state)).unwrap();
    let buffer = terminal.backend().buffer();
    let row = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
    let rows: Vec<String> = (0..height).map(row).collect();
    let found = rows.iter().enumerate().find_map(|(y, row)| {
        let byte = row.find("parse")?;
        Some((row[..byte].chars().count() as u16, y as u16))
    });
    let colour = found.map(|place| buffer[place].fg);
    (rows, colour)
}

fn has(rows: &[String], text: &str) -> bool {
    rows.iter().any(|row| row.contains(text))
}

#[test]
fn without_a_graph_it_says_how_to_get_one() {
    let (rows, _) = screen(&State::new(true), 80, 24);
    assert!(has(&rows, "THALWEG_OBSERVE=1 thalweg run"), "{rows:#?}");
    let mut faulty = State::new(true);
    faulty.faults.push("12.sock: it belongs to another user".into());
    assert!(has(&screen(&faulty, 80, 24).0, "! 12.sock: it belongs to another user"));
}

#[test]
fn the_list_names_process_and_command() {
    let (rows, _) = screen(&state(true), 80, 24);
    assert!(has(&rows, "    4711     1   2.00 s       5    12.3k  thalweg run search"), "{rows:#?}");
    assert!(rows[23].starts_with("Enter open"));
}

#[test]
fn the_graph_is_boxes_with_rates_on_edges() {
    let mut state = state(true);
    state.press(Key::Open);
    assert_eq!(state.page, Page::Graph);
    let (rows, colour) = screen(&state, 120, 30);
    assert!(has(&rows, "│read              │") && has(&rows, "│parse *           │"), "{rows:#?}");
    assert!(has(&rows, "│87 % busy         │") && has(&rows, "│0 % busy, full    │"), "{rows:#?}");
    assert!(has(&rows, "12.3k/s") && has(&rows, "─▶│parse"), "{rows:#?}");
    assert!(has(&rows, "╮") && has(&rows, "╰"), "a branch bends: {rows:#?}");
    assert_eq!(colour, Some(Color::Yellow));
    // Without colours the words say the same.
    let mut plain = self::state(false);
    plain.press(Key::Open);
    assert_eq!(screen(&plain, 120, 30).1, Some(Color::Reset));
}

#[test]
fn at_80_columns_the_chosen_kernel_is_seen_and_any_size_is_drawn() {
    let mut state = state(true);
    state.press(Key::Open);
    assert!(!has(&screen(&state, 80, 24).0, "│sink"));
    for _ in 0..3 {
        state.press(Key::Right);
    }
    let (rows, _) = screen(&state, 80, 24);
    assert!(has(&rows, "│sink") && !has(&rows, "│read"), "{rows:#?}");
    for page in [Page::List, Page::Graph, Page::Table, Page::Kernel] {
        state.page = page;
        for (width, height) in [(1, 1), (3, 2), (20, 5), (80, 24), (300, 100)] {
            screen(&state, width, height);
        }
    }
    state.help = true;
    screen(&state, 5, 3);
}

#[test]
fn the_table_sorts_and_one_kernel_has_its_history() {
    let mut state = state(true);
    [Key::Open, Key::Table].into_iter().for_each(|key| state.press(key));
    let (rows, _) = screen(&state, 80, 24);
    assert!(rows[1].starts_with("kernel             busy"), "{rows:#?}");
    assert!(rows[2].starts_with("read") && rows[3].starts_with("parse *             870"), "{rows:#?}");
    state.press(Key::Sort);
    assert!(screen(&state, 80, 24).0[2].starts_with("parse"), "the busiest comes first");
    state.press(Key::Up);
    assert_eq!(state.kernel, 1);
    state.press(Key::Open);
    let (rows, _) = screen(&state, 80, 24);
    assert!(rows[1].starts_with("parse * (parallel): ready"), "{rows:#?}");
    assert!(has(&rows, "from read: 12.3k/s") && has(&rows, " busy, up to 100 % "), "{rows:#?}");
}

#[test]
fn keys_hold_go_back_and_end() {
    let mut state = state(true);
    [Key::Open, Key::Pause].into_iter().for_each(|key| state.press(key));
    let before = state.graphs[0].history.len();
    state.heard(4711, "x", vec![(1, history().remove(1))]);
    assert_eq!(state.graphs[0].history.len(), before, "held");
    assert!(screen(&state, 80, 24).0[0].starts_with("held | "));
    state.press(Key::Help);
    assert!(has(&screen(&state, 80, 24).0, " keys "));
    state.press(Key::Quit);
    assert!(!state.over, "any key leaves the help");
    [Key::Back, Key::Back].into_iter().for_each(|key| state.press(key));
    assert!(state.over);
}

#[test]
fn a_process_that_ends_keeps_its_last_numbers() {
    let mut state = state(true);
    state.lost(4711, "process 4711: it has ended");
    assert!(has(&screen(&state, 80, 24).0, "gone: thalweg run search"));
    state.press(Key::Open);
    let (rows, _) = screen(&state, 80, 24);
    assert!(has(&rows, "! process 4711: it has ended") && has(&rows, "parse *"), "{rows:#?}");
}

#[test]
fn another_run_and_another_shape_begin_anew() {
    let mut state = state(true);
    let mut next = history().remove(0);
    next.run = 2;
    next.kernels.pop();
    next.edges.pop();
    state.kernel = 4;
    state.heard(4711, "x", vec![(1, next)]);
    assert_eq!((state.graphs[0].history.len(), state.graphs[0].layout.places.len(), state.kernel), (1, 4, 3));
}

#[test]
fn a_thousand_kernels_are_drawn() {
    let mut one = history().remove(0);
    let (kernel, edge) = (one.kernels[0].clone(), one.edges[0].clone());
    one.kernels = vec![kernel; 1000];
    one.edges = vec![edge; 999];
    one.edges.iter_mut().enumerate().for_each(|(from, edge)| edge.ends = (from, from + 1));
    let mut state = State::new(true);
    state.heard(1, "large", vec![(1, one)]);
    state.press(Key::Open);
    state.kernel = 999;
    assert!(has(&screen(&state, 80, 24).0, "│read"));
}
