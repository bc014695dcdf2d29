//! What the view shows, and what keys do to it.

use std::collections::VecDeque;

use thalweg::Snapshot;
use thalweg::observe::Rates;

use crate::seen::layout::{Layout, layout};

/// Snapshots that are kept of a graph: at two a second those of a minute.
const KEPT: usize = 120;
/// Over how many of the last ones rates are taken.
const SPAN: usize = 2;

/// A graph that is looked at.
pub(super) struct Watched {
    /// The process it is in, or why it is not there any more.
    pub(super) process: u32,
    pub(super) name: String,
    pub(super) number: u64,
    pub(super) history: VecDeque<Snapshot>,
    pub(super) layout: Layout,
    /// What was heard last instead of a snapshot.
    pub(super) fault: Option<String>,
}

impl Watched {
    pub(super) fn now(&self) -> &Snapshot {
        &self.history[self.history.len() - 1]
    }

    pub(super) fn rates(&self) -> Rates {
        let count = self.history.len();
        if count > SPAN {
            self.now().since(&self.history[count - 1 - SPAN])
        } else {
            self.now().since(&self.history[0])
        }
    }

    fn push(&mut self, snapshot: Snapshot) {
        if snapshot.run != self.now().run {
            self.history.clear();
        }
        // A graph may have grown between two runs.
        if self.layout.places.len() != snapshot.kernels.len() || self.layout.back.len() != snapshot.edges.len() {
            self.layout = lay_out(&snapshot);
        }
        if self.history.len() == KEPT {
            self.history.pop_front();
        }
        self.history.push_back(snapshot);
    }
}

fn lay_out(snapshot: &Snapshot) -> Layout {
    let ends: Vec<_> = snapshot.edges.iter().map(|edge| edge.ends).collect();
    layout(snapshot.kernels.len(), &ends)
}

/// What is on the screen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Page {
    List,
    Graph,
    Table,
    Kernel,
}

/// A key, whatever terminal it came from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Key {
    Up,
    Down,
    Left,
    Right,
    Open,
    Back,
    Quit,
    Help,
    Pause,
    Table,
    Sort,
}

/// By what the table is sorted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Sort {
    Made,
    Busy,
    Flow,
}

pub(super) struct State {
    pub(super) graphs: Vec<Watched>,
    pub(super) page: Page,
    /// The chosen graph, and kernel.
    pub(super) graph: usize,
    pub(super) kernel: usize,
    pub(super) sort: Sort,
    pub(super) paused: bool,
    pub(super) help: bool,
    pub(super) over: bool,
    pub(super) colours: bool,
    /// What cannot be looked at, and why.
    pub(super) faults: Vec<String>,
}

impl State {
    pub(super) fn new(colours: bool) -> Self {
        Self {
            graphs: Vec::new(),
            page: Page::List,
            graph: 0,
            kernel: 0,
            sort: Sort::Made,
            paused: false,
            help: false,
            over: false,
            colours,
            faults: Vec::new(),
        }
    }

    /// Takes in what a process tells of its graphs.
    pub(super) fn heard(&mut self, process: u32, name: &str, told: Vec<(u64, Snapshot)>) {
        if self.paused {
            return;
        }
        for (number, snapshot) in told {
            let known = self.graphs.iter_mut().find(|graph| (graph.process, graph.number) == (process, number));
            match known {
                Some(graph) => {
                    graph.push(snapshot);
                    graph.fault = None;
                }
                None => {
                    let layout = lay_out(&snapshot);
                    let name = name.to_owned();
                    self.graphs.push(Watched {
                        process,
                        name,
                        number,
                        history: [snapshot].into(),
                        layout,
                        fault: None,
                    });
                }
            }
        }
        if let Some(graph) = self.graphs.get(self.graph) {
            self.kernel = self.kernel.min(graph.now().kernels.len().saturating_sub(1));
        }
    }

    /// A process says nothing more. What was seen of it stays.
    pub(super) fn lost(&mut self, process: u32, why: &str) {
        for graph in self.graphs.iter_mut().filter(|graph| graph.process == process) {
            graph.fault = Some(why.to_owned());
        }
    }

    /// The kernels in the order in which the table shows them.
    pub(super) fn order(&self) -> Vec<usize> {
        let Some(graph) = self.graphs.get(self.graph) else { return Vec::new() };
        let rates = graph.rates();
        let mut order: Vec<_> = (0..rates.kernels.len()).collect();
        let by = |kernel: usize| match self.sort {
            Sort::Made => 0.0,
            Sort::Busy => -rates.kernels[kernel].busy,
            Sort::Flow => -rates.kernels[kernel].messages_in.max(rates.kernels[kernel].messages_out),
        };
        order.sort_by(|a, b| by(*a).total_cmp(&by(*b)));
        order
    }

    pub(super) fn press(&mut self, key: Key) {
        if self.help {
            self.help = false;
            return;
        }
        match (key, self.page) {
            (Key::Help, _) => self.help = true,
            (Key::Pause, _) => self.paused = !self.paused,
            (Key::Quit, _) | (Key::Back, Page::List) => self.over = true,
            (Key::Back, Page::Graph | Page::Table) => self.page = Page::List,
            (Key::Back, Page::Kernel) => self.page = Page::Graph,
            (Key::Open | Key::Right, Page::List) if !self.graphs.is_empty() => {
                (self.page, self.kernel) = (Page::Graph, 0);
            }
            (Key::Open, Page::Graph | Page::Table) => self.page = Page::Kernel,
            (Key::Table, Page::Graph) => self.page = Page::Table,
            (Key::Table, Page::Table | Page::Kernel) => self.page = Page::Graph,
            (Key::Sort, Page::Table) => {
                self.sort = match self.sort {
                    Sort::Made => Sort::Busy,
                    Sort::Busy => Sort::Flow,
                    Sort::Flow => Sort::Made,
                }
            }
            (Key::Up, Page::List) => self.graph = self.graph.saturating_sub(1),
            (Key::Down, Page::List) => self.graph = (self.graph + 1).min(self.graphs.len().saturating_sub(1)),
            (Key::Up, Page::Table) => self.step(-1),
            (Key::Down, Page::Table) => self.step(1),
            (Key::Up | Key::Down | Key::Left | Key::Right, Page::Graph | Page::Kernel) => self.go(key),
            _ => {}
        }
    }

    /// To the kernel above or below in the table.
    fn step(&mut self, by: isize) {
        let order = self.order();
        let Some(at) = order.iter().position(|kernel| *kernel == self.kernel) else { return };
        let next = at.saturating_add_signed(by).min(order.len() - 1);
        self.kernel = order[next];
    }

    /// To the nearest kernel in a direction of the picture.
    fn go(&mut self, key: Key) {
        let Some(graph) = self.graphs.get(self.graph) else { return };
        let places = &graph.layout.places;
        let Some(&(column, row)) = places.get(self.kernel) else { return };
        let nearest = (places.iter().enumerate())
            .filter(|(_, place)| match key {
                Key::Left => place.0 < column,
                Key::Right => place.0 > column,
                Key::Up => place.0 == column && place.1 < row,
                _ => place.0 == column && place.1 > row,
            })
            .min_by_key(|(_, place)| (place.0.abs_diff(column), place.1.abs_diff(row)));
        if let Some((kernel, _)) = nearest {
            self.kernel = kernel;
        }
    }
}
