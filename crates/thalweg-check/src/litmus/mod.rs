//! Litmus tests: small concurrent programs with known numbers of executions, as text.
//!
//! A litmus test asks what a memory model allows. A model checker that explores each execution once must find exactly
//! the published number, with exactly these final values.
//!
//! ```
//! let entries = thalweg_check::litmus::read("example", "
//! name: MP
//! tags: mp
//! init: x=0 y=0
//! T0: W x 1 rel ; W y 1 rel
//! T1: a = R y acq ; b = R x acq
//! forbidden: T1.a == 1 && T1.b == 0
//! executions: 3
//! race: no
//! outcomes: (T1.a T1.b x y) 0,0,1,1 0,1,1,1 1,1,1,1
//! ")?;
//! let verdict = entries[0].judge(&thalweg_check::Check::new());
//! assert!(verdict.passed(), "{verdict}");
//! # Ok::<(), thalweg_check::litmus::ParseError>(())
//! ```
//!
//! # The notation
//!
//! An entry is a block of `key: value` lines. A blank line separates entries, `#` starts a comment, and a line that
//! starts with a blank continues the value of the line before.
//!
//! | key | value |
//! |---|---|
//! | `name` | unique in the file |
//! | `source`, `tags`, `note`, `confirmed` | where it is from, words on what it is about, text |
//! | `init` | atomic locations with first values: `x=0 y=1 a[4]=0` (an array: `a[0]` to `a[3]`) |
//! | `plain` | non-atomic locations, likewise |
//! | `T0`, `T1`, … | the body of each thread |
//! | `forbidden` | a condition over final values that holds in no execution: `T1.a` is a register, `x` or `a[2]` a location |
//! | `executions` | how many complete executions there are, or `-` where the explorer stops at an error instead |
//! | `also` | other counts that are right under another definition of the sc condition |
//! | `race` | `yes` if some execution has a data race, else `no` |
//! | `error` | `assert` if some execution violates an `assert` |
//! | `enumerated` | where `executions` is `-`: how many there are if races and failed assertions are ignored |
//! | `distinct` | the number of different final valuations |
//! | `outcomes` | the columns in brackets, then all valuations; `*n` if n executions share one, `-` for a register never set |
//!
//! A body is a list of statements, separated by `;` or by a line end.
//!
//! ```text
//! W loc val ord                    store                        ord: na rlx rel sc
//! r = R loc ord                    load                         ord: na rlx acq sc
//! r = add loc val ord              RMW, r is the old value      ord: rlx acq rel acqrel sc
//! r = sub loc val ord
//! r = xchg loc val ord
//! r = cas loc old new ord ord      strong compare-exchange: success and failure order; r is the value read
//! F ord                            fence                        ord: acq rel acqrel sc
//! r = expr                         local assignment
//! if expr { ... } else { ... }     the else part is optional
//! repeat n { ... }                 n times
//! repeat i = a..b { ... }          for i from a to b, both included
//! break                            leave the innermost repeat
//! return                           the thread ends
//! assume expr                      if 0, the thread is blocked for ever
//! assert expr                      if 0, an error
//! spawn Tn                         start a thread; one that no `spawn` names starts at the beginning
//! join Tn                          wait until it has finished
//! ```
//!
//! `loc` is a name or `name[expr]`; `val`, `old`, `new`, `n`, `a`, `b` are numbers, registers, or expressions in
//! brackets. Expressions, loosest first: `||`, `&&`, `== != < <= > >=`, `+ - ^`, `* %`, unary `- !`, brackets; over
//! registers and numbers only. Names are lower-case letters, digits and `_`. A thread is started once, so by no `spawn` inside
//! a `repeat`. It is joined by one other at most; if some thread starts it, by that one. The failure order of a `cas` is
//! written as any order; what is release in it counts for nothing. An array has at most 4096 elements, a `repeat` something to
//! repeat, and a thread at most a million rounds of its loops.
//!
//! # What is counted
//!
//! A complete execution is a graph in which every started thread has finished. Two are the same exactly when they have
//! the same events, the same reads-from and the same coherence order. An execution in which an `assume` fails, or a
//! `join` waits for ever, is blocked and not counted.
//!
//! Where `race` is `yes` and `executions` a number, it was counted with race detection switched off.

mod board;
mod lex;
mod parse;
mod program;
mod run;
mod test;

pub use board::{Scoreboard, Verdict};
pub use program::{
    Address, Expression, Location, Machine, Operator, Order, Program, Register, Statement, Thread, Update,
};
pub use test::{Outcomes, Test};

pub use run::{Found, Manner};

use std::fmt;
use test::Fields;

/// A text that is no list of litmus tests. `Display` names file and line, what is wrong, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// The file, as it was named to [`read`].
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    what: String,
    way_out: String,
}

impl ParseError {
    /// An error; [`read`] adds the file.
    fn new(line: usize, what: impl Into<String>, way_out: impl Into<String>) -> Self {
        Self { file: String::new(), line, what: what.into(), way_out: way_out.into() }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}; {}", self.file, self.line, self.what, self.way_out)
    }
}

impl std::error::Error for ParseError {}

/// Joins lines of a value.
trait Reads {
    fn reads(self) -> String;
}

impl<'a, I: Iterator<Item = &'a str>> Reads for I {
    fn reads(self) -> String {
        self.collect::<Vec<_>>().join(" ")
    }
}

/// Reads all entries of `text`. Errors name `file`; a text without entries is one, as nothing would be tested.
pub fn read(file: &str, text: &str) -> Result<Vec<Test>, ParseError> {
    entries(text).map_err(|error| ParseError { file: file.to_owned(), ..error })
}

fn entries(text: &str) -> Result<Vec<Test>, ParseError> {
    let mut entries: Vec<Test> = Vec::new();
    let mut fields = Fields::new();
    let mut start = 0;
    let mut last = None;
    // An empty line more ends the last entry.
    for (number, raw) in (1..).zip(text.lines().chain([""])) {
        if raw.trim().is_empty() {
            if !fields.is_empty() {
                let entry = Test::new(start, &std::mem::take(&mut fields))?;
                if entries.iter().any(|known| known.name == entry.name) {
                    let what = format!("`{}` is there already", entry.name);
                    return Err(ParseError::new(start, what, "names are unique in a file"));
                }
                entries.push(entry);
            }
            last = None;
            continue;
        }
        let line = raw.split('#').next().unwrap_or_default().trim_end();
        if line.is_empty() {
            continue;
        }
        if line.starts_with([' ', '\t']) {
            let lines = last.as_ref().and_then(|key| fields.get_mut(key));
            let lines = lines.ok_or_else(|| {
                ParseError::new(number, "a continued line without a line before", "begin it with a key, not a blank")
            })?;
            lines.push((number, line.trim().to_owned()));
            continue;
        }
        let (key, value) = line.split_once(':').ok_or_else(|| {
            let way_out = "write `key: value`; a line that continues another starts with a blank";
            ParseError::new(number, format!("no key in `{line}`"), way_out)
        })?;
        if fields.is_empty() {
            start = number;
        }
        if fields.insert(key.to_owned(), vec![(number, value.trim().to_owned())]).is_some() {
            return Err(ParseError::new(number, format!("a second `{key}`"), "a blank line begins the next entry"));
        }
        last = Some(key.to_owned());
    }
    if entries.is_empty() {
        return Err(ParseError::new(1, "there is no litmus test", "begin one with `name: …`"));
    }
    Ok(entries)
}
