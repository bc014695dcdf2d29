//! The kernel that opens files and cuts them into chunks.

use std::io::{self, Read};
use std::path::PathBuf;

use thalweg::prelude::*;

use super::chunks::{Chunk, Chunks, Pool};
use super::cut::Term;
use super::files::{self, Unreadable};

/// What is said about a file: its text in pieces, or what became of them, and then its end.
#[derive(Debug)]
pub(super) enum Piece<C = Chunk> {
    /// Some of the text.
    Text(C),
    /// That was all of this file, or all that could be read.
    End(PathBuf, io::Result<()>),
}

impl<C> Piece<C> {
    /// The same piece with something else in place of the text.
    pub(super) fn map<D>(self, change: impl FnOnce(C) -> D) -> Piece<D> {
        match self {
            Piece::Text(text) => Piece::Text(change(text)),
            Piece::End(path, result) => Piece::End(path, result),
        }
    }
}

/// Opens files one after the other and gives their pieces.
///
/// A kernel with ports, because one input can have any number of outputs: when the edge behind is full it returns in
/// the middle of a file and goes on later.
pub(super) struct Reader<'a> {
    term: &'a Term,
    pool: &'a Pool,
    current: Option<(PathBuf, Chunks<Box<dyn Read + Send>>)>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(term: &'a Term, pool: &'a Pool) -> Self {
        Self { term, pool, current: None }
    }

    /// The next piece of the current file.
    fn piece(&mut self) -> Option<Piece> {
        let (_, chunks) = self.current.as_mut()?;
        let result = match chunks.next(self.term, self.pool) {
            Some(Ok(chunk)) => return Some(Piece::Text(chunk)),
            Some(Err(error)) => Err(error),
            None => Ok(()),
        };
        self.current.take().map(|(path, _)| Piece::End(path, result))
    }

    /// Begins with `file`; gives its end at once if it cannot be opened.
    fn open(&mut self, file: Result<PathBuf, Unreadable>) -> Option<Piece> {
        let (path, error) = match file {
            Ok(path) => match files::open(&path) {
                Ok(file) => {
                    self.current = Some((path, Chunks::new(file)));
                    return None;
                }
                Err(error) => (path, error),
            },
            Err(Unreadable { path, error }) => (path, error),
        };
        Some(Piece::End(path, Err(error)))
    }
}

/// The ports of [`Reader`].
#[derive(Clone, Copy, Debug)]
pub(super) struct ReaderPorts {
    pub(super) files: In<Result<PathBuf, Unreadable>>,
    pub(super) pieces: Out<Piece>,
}

impl Kernel for Reader<'_> {
    type Ports = ReaderPorts;

    fn ports(&mut self, bind: &mut Binder<'_>) -> ReaderPorts {
        ReaderPorts { files: bind.input("files"), pieces: bind.output("pieces") }
    }

    fn run(&mut self, ports: &ReaderPorts, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        while !io.is_full(ports.pieces) {
            let piece = match self.piece() {
                Some(piece) => Some(piece),
                None => match io.pop(ports.files) {
                    Some(file) => self.open(file),
                    None => break,
                },
            };
            if let Some(piece) = piece {
                io.push(ports.pieces, piece);
            }
        }
        Ok(Flow::More)
    }
}
