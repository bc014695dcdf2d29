//! What is wrong with a machine: the value, and what it may be.

use super::Machine;
use std::fmt;

/// A machine that cannot be built as described.
#[derive(Debug)]
#[non_exhaustive]
pub enum MachineError {
    /// No machine has this name.
    Unknown {
        /// The name.
        name: String,
    },
    /// The file cannot be read.
    Unreadable {
        /// The file.
        path: String,
        /// Why.
        error: std::io::Error,
    },
    /// The text is not a machine file.
    Malformed {
        /// The file or the machine.
        file: String,
        /// Where and why.
        message: String,
    },
    /// A value makes no sense.
    Impossible {
        /// The file or the machine.
        file: String,
        /// The key.
        key: &'static str,
        /// Its value.
        value: u64,
        /// What it has to be.
        must: String,
    },
    /// A part of a machine that is no number of its threads.
    NoSuchPart {
        /// The machine.
        machine: String,
        /// What was asked for.
        asked: String,
        /// How many threads there are.
        threads: usize,
    },
    /// More threads than the machine has.
    TooManyThreads {
        /// The machine.
        machine: String,
        /// How many were asked for.
        asked: usize,
        /// How many there are.
        threads: usize,
    },
}

impl fmt::Display for MachineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { name } => {
                let known: Vec<_> = Machine::names().collect();
                write!(f, "there is no machine {name:?}; there are {}, and files ending in .toml", known.join(", "))
            }
            Self::Unreadable { path, error } => write!(f, "cannot read the machine file {path}: {error}"),
            Self::Malformed { file, message } => write!(f, "{file} is not a machine file: {}", message.trim_end()),
            Self::Impossible { file, key, value, must } => write!(f, "{file}: {key} must be {must}, not {value}"),
            Self::NoSuchPart { machine, asked, threads } => write!(
                f,
                "{machine}:{asked}: after the colon goes a number of threads from 1 to {threads}, which {machine} has, not {asked:?}"
            ),
            Self::TooManyThreads { machine, asked, threads } => write!(
                f,
                "{machine} has {threads} hardware threads, not {asked}; ask for 1 to {threads}, or take a larger machine"
            ),
        }
    }
}

impl std::error::Error for MachineError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unreadable { error, .. } => Some(error),
            _ => None,
        }
    }
}
