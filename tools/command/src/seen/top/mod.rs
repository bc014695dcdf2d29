//! `thalweg top`: the runs of other processes, seen in a terminal.

mod boxes;
mod draw;
mod state;

use std::io::{self, IsTerminal};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use thalweg::observe::Process;
use thalweg_sync::sync::{Mutex, PoisonError};
use thalweg_sync::thread;
use thalweg_sync::time::{Duration, now};

use crate::Outcome;
use crate::args::TopArgs;
use crate::seen::plain;
use crate::seen::web::{self, Page};
use crate::terminal::{emit, remark};
use state::{Key, State};

/// Processes that are looked at, and sockets of those that come later.
struct Watch {
    /// What a process's number or name has to match.
    wanted: Option<String>,
    processes: Vec<Process>,
    /// Those that were met, and why some cannot be looked at.
    met: Vec<(u32, Option<String>)>,
}

impl Watch {
    fn new(wanted: Option<String>) -> Self {
        Self { wanted, processes: Vec::new(), met: Vec::new() }
    }

    /// Goes to processes that were not met yet.
    fn find(&mut self) -> io::Result<()> {
        let sockets = Process::sockets()?;
        self.met.retain(|(id, _)| sockets.iter().any(|(other, _)| other == id));
        for (id, path) in sockets {
            if !self.met.iter().any(|(met, _)| *met == id) {
                let fault = self.meet(id, path).err().map(|error| error.to_string());
                self.met.push((id, fault));
            }
        }
        Ok(())
    }

    fn meet(&mut self, id: u32, path: PathBuf) -> io::Result<()> {
        if self.wanted.as_ref().is_some_and(|wanted| wanted.parse::<u32>().is_ok_and(|number| number != id)) {
            return Ok(());
        }
        let is_number = self.wanted.as_ref().is_some_and(|wanted| wanted.parse::<u32>().is_ok());
        match Process::connect(&path) {
            Ok(process) => {
                let is_wanted = self
                    .wanted
                    .as_ref()
                    .is_none_or(|wanted| wanted.parse() == Ok(process.id) || process.name.contains(wanted.as_str()));
                if is_wanted {
                    self.processes.push(process);
                }
                Ok(())
            }
            // It has ended, and is nobody's matter unless it was asked for by its number.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused && !is_number => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Asks every process once. One that does not answer is met anew: it may only have been slow.
    fn look(&mut self, state: &mut State) {
        let met = &mut self.met;
        self.processes.retain_mut(|process| match process.look() {
            Ok(told) => {
                state.heard(process.id, &process.name, told);
                true
            }
            Err(error) => {
                state.lost(process.id, &error.to_string());
                met.retain(|(id, _)| *id != process.id);
                false
            }
        });
        state.faults = self.met.iter().filter_map(|(_, fault)| fault.clone()).collect();
    }
}

pub(crate) fn run(args: TopArgs) -> Outcome {
    let interval = Duration::from_millis(args.interval);
    if let Some(address) =
        args.process.as_deref().filter(|word| args.web.is_some() && word.parse::<SocketAddr>().is_ok())
    {
        return Err(format!("{address} is an address, not a process: write --web={address}").into());
    }
    let mut watch = Watch::new(args.process);
    if let Some(address) = args.web {
        return page(watch, address);
    }
    if args.plain {
        return plain_text(&mut watch, interval);
    }
    if !io::stdout().is_terminal() {
        return Err("the view needs a terminal; `thalweg top --plain` prints it once as text".into());
    }
    let colours = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let mut terminal = ratatui::try_init().map_err(|error| format!("the terminal cannot be drawn on: {error}"))?;
    let result = show(&mut terminal, &mut watch, State::new(colours), interval);
    ratatui::restore();
    result?;
    Ok(ExitCode::SUCCESS)
}

/// Serves a page until it is interrupted.
fn page(mut watch: Watch, address: SocketAddr) -> Outcome {
    watch.find()?;
    // Asked by each browser's thread.
    let watch = Mutex::new((watch, State::new(false)));
    let page = Page::serve(
        web::bind(address)?,
        Box::new(move || {
            let (watch, state) = &mut *watch.lock().unwrap_or_else(PoisonError::into_inner);
            if let Err(error) = watch.find() {
                remark(&format!("thalweg: {error}"));
            }
            watch.look(state);
            let numbered = state.graphs.iter().enumerate();
            numbered
                .map(|(index, graph)| {
                    let fault = graph.fault.as_ref().map_or_else(String::new, |fault| format!("; {fault}"));
                    (
                        index as u64,
                        format!("{} ({}), graph {}{fault}", graph.name, graph.process, graph.number),
                        graph.now().clone(),
                    )
                })
                .collect()
        }),
    )?;
    remark(&format!("live at {}", page.url()));
    loop {
        thread::sleep(Duration::from_secs(3600));
    }
}

/// What there is, once: two looks, with the rates between them.
fn plain_text(watch: &mut Watch, interval: Duration) -> Outcome {
    watch.find()?;
    let mut state = State::new(false);
    watch.look(&mut state);
    if watch.processes.is_empty() {
        let wanted = watch.wanted.as_ref().map_or_else(String::new, |wanted| format!(" that is or is called {wanted}"));
        let faults: String = state.faults.iter().map(|fault| format!("\n{fault}")).collect();
        return Err(
            format!("no process{wanted} lets its runs be seen; start one with THALWEG_OBSERVE=1{faults}").into()
        );
    }
    thread::sleep(interval);
    watch.look(&mut state);
    let mut text = String::new();
    for graph in &state.graphs {
        let history: Vec<_> = graph.history.iter().cloned().collect();
        text.push_str(&plain::text(&format!("{} ({}), graph {}", graph.name, graph.process, graph.number), &history));
        if let Some(fault) = &graph.fault {
            text.push_str(&format!("! {fault}\n"));
        }
    }
    if text.is_empty() {
        text.push_str("no graph has run yet\n");
    }
    text.extend(state.faults.iter().map(|fault| format!("! {fault}\n")));
    emit(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn show(terminal: &mut DefaultTerminal, watch: &mut Watch, mut state: State, interval: Duration) -> io::Result<()> {
    while !state.over {
        watch.find()?;
        watch.look(&mut state);
        let next = now();
        loop {
            terminal.draw(|frame| draw::draw(frame, &state))?;
            let left = interval.saturating_sub(next.elapsed());
            if state.over || left.is_zero() || !event::poll(left)? {
                break;
            }
            if let Event::Key(pressed) = event::read()?
                && let Some(key) = key(pressed)
            {
                state.press(key);
            }
        }
    }
    Ok(())
}

/// What a key means.
fn key(event: KeyEvent) -> Option<Key> {
    if event.kind == KeyEventKind::Release {
        return None;
    }
    if event.modifiers.contains(KeyModifiers::CONTROL) {
        return matches!(event.code, KeyCode::Char('c')).then_some(Key::Quit);
    }
    Some(match event.code {
        KeyCode::Up | KeyCode::Char('k') => Key::Up,
        KeyCode::Down | KeyCode::Char('j') => Key::Down,
        KeyCode::Left => Key::Left,
        KeyCode::Right => Key::Right,
        KeyCode::Char('h' | '?') | KeyCode::F(1) => Key::Help,
        KeyCode::Enter => Key::Open,
        KeyCode::Esc | KeyCode::Backspace => Key::Back,
        KeyCode::Char('q') | KeyCode::F(10) => Key::Quit,
        KeyCode::Char(' ') => Key::Pause,
        KeyCode::Char('t') | KeyCode::F(5) => Key::Table,
        KeyCode::Char('s') | KeyCode::F(6) => Key::Sort,
        _ => return None,
    })
}
