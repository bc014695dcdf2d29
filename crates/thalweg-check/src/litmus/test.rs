//! One litmus test: a program and what is known of it.

use super::lex::Tokens;
use super::parse::{Body, expression};
use super::program::{Expression, Location, Program, Register, Thread};
use super::{ParseError, Reads};
use std::collections::BTreeMap;

/// A litmus test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Test {
    /// Unique in its file.
    pub name: String,
    /// The line in the file where it begins.
    pub line: usize,
    /// What it is about, and whether it is `large`.
    pub tags: Vec<String>,
    /// What runs.
    pub program: Program,
    /// How many complete executions there are; `None` where an explorer stops at an error.
    pub executions: Option<u64>,
    /// Counts that are right under another definition of the sc condition.
    pub also: Vec<u64>,
    /// How many executions there are if races and failed assertions are ignored, where `executions` does not say it.
    pub enumerated: Option<u64>,
    /// Some execution has a data race.
    pub race: bool,
    /// Some execution violates an `assert`.
    pub fails: bool,
    /// A condition over the final values, numbered as in [`Program::columns`], that holds in no execution.
    pub forbidden: Option<Expression>,
    /// How many different final valuations there are.
    pub distinct: Option<u64>,
    /// Every final valuation, for small tests: with how many executions share it.
    pub outcomes: Option<Outcomes>,
}

/// Final valuations, each with the number of executions that end so. The columns are those of [`Program::columns`].
pub type Outcomes = BTreeMap<Vec<Register>, u64>;

impl Test {
    /// Whether it has this tag.
    pub fn has_tag(&self, tag: &str) -> bool {
        self.tags.iter().any(|known| known == tag)
    }
}

/// The values of one entry: for each key its lines, with their numbers.
pub(super) type Fields = BTreeMap<String, Vec<(usize, String)>>;

/// How many elements an array may have. Each is a location, of which each execution has one.
const ELEMENTS: usize = 4096;

const KEYS: &str = "name source tags init plain T0 T1 … forbidden executions also race error enumerated confirmed \
                    distinct outcomes note";

impl Test {
    /// Reads an entry from its fields.
    pub(super) fn new(line: usize, fields: &Fields) -> Result<Self, ParseError> {
        if let Some((key, lines)) = fields.iter().find(|(key, _)| !is_key(key)) {
            return Err(ParseError::new(lines[0].0, format!("there is no key `{key}`"), format!("keys are: {KEYS}")));
        }
        let text = |key: &str| fields.get(key).map(|lines| lines.iter().map(|(_, text)| text.as_str()).reads());
        let name = text("name").unwrap_or_default();
        if name.is_empty() {
            return Err(ParseError::new(line, "an entry without a name", "begin it with `name: …`"));
        }
        let program = program(line, fields)?;
        let columns = program.columns();
        let forbidden = fields.get("forbidden").map(|lines| condition(lines, &columns)).transpose()?;
        let outcomes = fields.get("outcomes").map(|lines| outcomes(lines, &columns)).transpose()?;
        let executions = match text("executions").as_deref() {
            None | Some("-") => None,
            Some(_) => number(fields, "executions")?,
        };
        let mut also = Vec::new();
        for (line, text) in fields.get("also").into_iter().flatten() {
            for word in text.split_whitespace() {
                also.push(count(*line, word)?);
            }
        }
        Ok(Self {
            name,
            line,
            tags: text("tags").unwrap_or_default().split_whitespace().map(str::to_owned).collect(),
            program,
            executions,
            also,
            enumerated: number(fields, "enumerated")?,
            race: one_of(fields, "race", &["no", "yes"])? == 1,
            fails: one_of(fields, "error", &["-", "assert"])? == 1,
            forbidden,
            distinct: number(fields, "distinct")?,
            outcomes,
        })
    }
}

fn is_key(key: &str) -> bool {
    KEYS.split(' ').any(|known| known == key) || thread_number(key).is_some()
}

fn thread_number(key: &str) -> Option<usize> {
    key.strip_prefix('T').and_then(|number| number.parse().ok())
}

fn count(line: usize, word: &str) -> Result<u64, ParseError> {
    word.parse().map_err(|_| ParseError::new(line, format!("`{word}` is no count"), "a number from 0"))
}

fn number(fields: &Fields, key: &str) -> Result<Option<u64>, ParseError> {
    let Some(lines) = fields.get(key) else { return Ok(None) };
    count(lines[0].0, lines[0].1.trim()).map(Some)
}

/// The index of the value among `values`; 0 if the key is missing.
fn one_of(fields: &Fields, key: &str, values: &[&str]) -> Result<usize, ParseError> {
    let Some(lines) = fields.get(key) else { return Ok(0) };
    let (line, text) = &lines[0];
    let wrong = || ParseError::new(*line, format!("`{key}: {text}`"), format!("one of: {}", values.join(" ")));
    values.iter().position(|value| value == text).ok_or_else(wrong)
}

fn program(line: usize, fields: &Fields) -> Result<Program, ParseError> {
    let mut locations = Vec::new();
    for (key, plain) in [("init", false), ("plain", true)] {
        for (line, text) in fields.get(key).into_iter().flatten() {
            for item in text.split_whitespace() {
                declare(*line, item, plain, &mut locations)?;
            }
        }
    }
    let count = fields.keys().filter(|key| thread_number(key).is_some()).count();
    if count == 0 {
        return Err(ParseError::new(line, "a program without threads", "write a body for `T0: …`"));
    }
    let mut threads = Vec::new();
    // Who starts and who joins each thread.
    let mut starters = vec![None; count];
    let mut joiners = vec![None; count];
    for number in 0..count {
        let missing = || ParseError::new(line, format!("T{number} is missing"), "number the threads from T0");
        let lines = fields.get(&format!("T{number}")).ok_or_else(missing)?;
        let tokens = Tokens::new(lines)?;
        let mut body = Body {
            tokens,
            locations: &locations,
            threads: count,
            registers: vec![],
            set: vec![],
            spawns: vec![],
            joins: vec![],
        };
        let statements = body.parse()?;
        for thread in body.spawns {
            if starters[thread].replace(number).is_some() {
                let way_out = "give each `spawn` its own thread";
                return Err(ParseError::new(lines[0].0, format!("T{thread} is started twice"), way_out));
            }
        }
        for thread in body.joins {
            if joiners[thread].replace(number).is_some_and(|other| other != number) {
                let way_out = "let one thread join it";
                return Err(ParseError::new(lines[0].0, format!("T{thread} is joined by two threads"), way_out));
            }
        }
        threads.push(Thread { registers: body.registers, body: statements, spawned: false, joined: false });
    }
    // Who is started by nobody runs from the beginning, and so do those that it starts.
    let runs = |mut thread: usize| {
        (0..count).any(|_| match starters[thread] {
            Some(starter) => {
                thread = starter;
                false
            }
            None => true,
        })
    };
    if let Some(number) = (0..count).find(|&number| !runs(number)) {
        let what = format!("T{number} is started only by itself, or by threads that it starts");
        return Err(ParseError::new(line, what, "start it from a thread that no `spawn` names, or from one of those"));
    }
    for (number, thread) in threads.iter_mut().enumerate() {
        thread.spawned = starters[number].is_some();
        thread.joined = joiners[number].is_some();
        if thread.spawned && thread.joined && starters[number] != joiners[number] {
            let what = format!("T{number} is started by one thread and joined by another");
            return Err(ParseError::new(line, what, "let the thread join it that starts it"));
        }
    }
    Ok(Program { locations, threads })
}

/// Adds what `item` declares: `x=0`, or `a[4]=0` for an array.
fn declare(line: usize, item: &str, plain: bool, locations: &mut Vec<Location>) -> Result<(), ParseError> {
    let wrong = |way_out: &str| ParseError::new(line, format!("`{item}` declares nothing"), way_out);
    let (name, initial) = item.split_once('=').ok_or_else(|| wrong("write `x=0`, or `a[4]=0` for an array"))?;
    let initial = initial.parse().map_err(|_| wrong("the first value is a number"))?;
    let (base, length) = match name.strip_suffix(']').and_then(|name| name.split_once('[')) {
        None => (name, None),
        Some((base, length)) => {
            let length = length.parse::<usize>().ok().filter(|length| (1..=ELEMENTS).contains(length));
            let way_out = format!("the length of an array is a number from 1 to {ELEMENTS}");
            (base, Some(length.ok_or_else(|| wrong(&way_out))?))
        }
    };
    let good = base.starts_with(|c: char| c.is_ascii_lowercase())
        && base.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if !good {
        return Err(wrong("names are lower-case letters, digits and `_`"));
    }
    if locations.iter().any(|known| known.name == base || known.name.starts_with(&format!("{base}["))) {
        return Err(wrong("the name is taken: declare it once"));
    }
    match length {
        None => locations.push(Location { name: base.to_owned(), initial, plain }),
        Some(length) => {
            locations.extend((0..length).map(|at| Location { name: format!("{base}[{at}]"), initial, plain }));
        }
    }
    Ok(())
}

fn condition(lines: &[(usize, String)], columns: &[String]) -> Result<Expression, ParseError> {
    let mut tokens = Tokens::new(lines)?;
    let condition = expression(&mut tokens, 0, &mut |name, element| {
        let name = element.map_or(name.to_owned(), |element| format!("{name}[{element}]"));
        columns.iter().position(|column| *column == name).ok_or_else(|| format!("there is no final value `{name}`"))
    })?;
    if tokens.peek().is_some() { Err(tokens.missing("the end of the condition")) } else { Ok(condition) }
}

/// `(T0.a x) 0,1 1,1*2`: the columns in brackets, then the valuations.
fn outcomes(lines: &[(usize, String)], columns: &[String]) -> Result<Outcomes, ParseError> {
    let line = lines[0].0;
    let text = lines.iter().map(|(_, text)| text.as_str()).reads();
    let way_out = "write `(T0.a x) 0,1 1,1*2`: columns, then values, `*n` for n executions, `-` for a register not set";
    let wrong = |what: String| ParseError::new(line, what, way_out);
    let (names, rows) = text
        .strip_prefix('(')
        .and_then(|text| text.split_once(')'))
        .ok_or_else(|| wrong("outcomes without columns".to_owned()))?;
    let mut places = Vec::new();
    for name in names.split_whitespace() {
        let place = columns.iter().position(|column| column == name);
        places.push(place.ok_or_else(|| wrong(format!("there is no final value `{name}`")))?);
    }
    let mut outcomes = Outcomes::new();
    for row in rows.split_whitespace() {
        let (values, times) = row.split_once('*').unwrap_or((row, "1"));
        let values = values.split(',').collect::<Vec<_>>();
        if values.len() != places.len() {
            return Err(wrong(format!("`{row}` has {} values for {} columns", values.len(), places.len())));
        }
        let mut valuation = vec![None; columns.len()];
        for (&place, value) in places.iter().zip(values) {
            if value != "-" {
                let number = value.parse().map_err(|_| wrong(format!("`{value}` in `{row}` is no number")))?;
                valuation[place] = Some(number);
            }
        }
        if outcomes.insert(valuation, count(line, times)?).is_some() {
            return Err(wrong(format!("`{row}` stands there twice")));
        }
    }
    Ok(outcomes)
}
