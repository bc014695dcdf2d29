//! What happens to a picture at the ends of a graph: it is read or made up, and encoded and written.

use std::io::Read;
use std::path::PathBuf;

use super::files::{Job, list, store};
use super::{Picture, Spoiled};
use crate::{Result, Watch, incoming};

/// Where pictures come from, and where they go.
#[derive(Clone, Debug)]
pub enum Input {
    /// PNG and JPEG files, and folders of them. Each becomes a PNG file in the folder `output`, under its name.
    Files {
        /// Files and folders.
        inputs: Vec<PathBuf>,
        /// Made if it is not there.
        output: PathBuf,
    },
    /// Made-up squares, which stay in memory and go nowhere.
    MadeUp {
        /// How many.
        count: u64,
        /// Pixels in a row.
        side: usize,
    },
}

/// Where one picture comes from.
pub(crate) enum From {
    File(Job),
    Seed(u64, usize),
}

impl Input {
    /// Where each picture comes from.
    pub(crate) fn sources(&self) -> Result<Box<dyn Iterator<Item = From> + Send>> {
        Ok(match self {
            Self::Files { inputs, output } => Box::new(list(inputs, output)?.into_iter().map(From::File)),
            &Self::MadeUp { count, side } => Box::new((0..count).map(move |seed| From::Seed(seed, side))),
        })
    }
}

impl From {
    /// Reads the picture, or has one made up by a seed and the pixels in a row; and says where it goes.
    pub(crate) fn load(
        self,
        watch: &dyn Watch,
        make_up: impl FnOnce(u64, usize) -> Picture,
    ) -> Result<(Picture, Option<PathBuf>), Spoiled> {
        let Job { input: path, output } = match self {
            Self::File(job) => job,
            Self::Seed(seed, side) => return Ok((make_up(seed, side), None)),
        };
        let mut file = Vec::new();
        let read = incoming::open(&path, watch.halt()).and_then(|(mut input, _)| input.read_to_end(&mut file));
        let file = read.map(|_| file);
        watch.read(file.as_ref().map_or(0, |file| file.len() as u64));
        let picture = file.map_err(|error| format!("cannot be read: {error}")).and_then(|file| Picture::decode(&file));
        Ok((picture.map_err(|reason| Spoiled { path, reason })?, Some(output)))
    }
}

/// A picture that is finished, and what was measured of it before and after.
pub(crate) struct Finished<M> {
    output: Option<(PathBuf, Vec<u8>)>,
    pub(crate) pixels: u64,
    pub(crate) before: M,
    pub(crate) after: M,
}

impl<M> Finished<M> {
    /// Encodes the picture, if it goes anywhere.
    pub(crate) fn new(picture: &Picture, output: Option<PathBuf>, before: M, after: M) -> Result<Self, String> {
        let encoded = |path: PathBuf| match picture.encode() {
            Ok(file) => Ok((path, file)),
            Err(error) => Err(format!("{} cannot be encoded: {error}", path.display())),
        };
        Ok(Self { output: output.map(encoded).transpose()?, pixels: picture.pixels(), before, after })
    }

    /// Writes it.
    pub(crate) fn store(&self) -> Result<()> {
        self.output.as_ref().map_or(Ok(()), |(path, file)| store(path, file))
    }
}
