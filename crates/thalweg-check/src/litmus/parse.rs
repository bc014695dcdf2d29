//! Tokens to statements and expressions.

use super::ParseError;
use super::lex::{Token, Tokens};
use super::program::{Address, Expression, Location, Operator, Order, Statement, Update};
use std::sync::atomic::Ordering;

/// Operators, from those that bind least.
const LEVELS: [&[(&str, Operator)]; 5] = [
    &[("||", Operator::Or)],
    &[("&&", Operator::And)],
    &[
        ("==", Operator::Equal),
        ("!=", Operator::Unequal),
        ("<=", Operator::LessOrEqual),
        (">=", Operator::GreaterOrEqual),
        ("<", Operator::Less),
        (">", Operator::Greater),
    ],
    &[("+", Operator::Add), ("-", Operator::Subtract), ("^", Operator::Xor)],
    &[("*", Operator::Multiply), ("%", Operator::Remainder)],
];

/// The words that begin a statement, so that no register may have their names.
const WORDS: [&str; 13] =
    ["W", "R", "F", "if", "else", "repeat", "break", "return", "assume", "assert", "spawn", "join", "cas"];

/// Which accesses an ordering is for.
#[derive(Clone, Copy)]
enum Access {
    Load,
    Store,
    Modify,
    Fence,
}

impl Access {
    /// The orderings that it may have, by their names.
    fn orders(self) -> &'static [(&'static str, Order)] {
        const RLX: (&str, Order) = ("rlx", Some(Ordering::Relaxed));
        const ACQ: (&str, Order) = ("acq", Some(Ordering::Acquire));
        const REL: (&str, Order) = ("rel", Some(Ordering::Release));
        const ACQREL: (&str, Order) = ("acqrel", Some(Ordering::AcqRel));
        const SC: (&str, Order) = ("sc", Some(Ordering::SeqCst));
        match self {
            Self::Load => &[("na", None), RLX, ACQ, SC],
            Self::Store => &[("na", None), RLX, REL, SC],
            Self::Modify => &[RLX, ACQ, REL, ACQREL, SC],
            Self::Fence => &[ACQ, REL, ACQREL, SC],
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Load => "a load",
            Self::Store => "a store",
            Self::Modify => "a read-modify-write",
            Self::Fence => "a fence",
        }
    }
}

/// The body of one thread.
pub(super) struct Body<'a> {
    pub(super) tokens: Tokens,
    pub(super) locations: &'a [Location],
    /// How many threads the program has.
    pub(super) threads: usize,
    /// The names of the registers met so far.
    pub(super) registers: Vec<String>,
    /// The registers that are set somewhere.
    pub(super) set: Vec<usize>,
    /// The threads that it starts.
    pub(super) spawns: Vec<usize>,
    /// The threads that it waits for.
    pub(super) joins: Vec<usize>,
}

impl Body<'_> {
    /// All statements.
    pub(super) fn parse(&mut self) -> Result<Vec<Statement>, ParseError> {
        let line = self.tokens.line();
        let body = self.block(0)?;
        if self.tokens.peek().is_some() {
            return Err(self.tokens.missing("a statement"));
        }
        match (0..self.registers.len()).find(|register| !self.set.contains(register)) {
            None => Ok(body),
            Some(unset) => {
                let what = format!("the register `{}` is never set", self.registers[unset]);
                Err(ParseError::new(line, what, "set it, or read the location into a register first"))
            }
        }
    }

    fn block(&mut self, loops: usize) -> Result<Vec<Statement>, ParseError> {
        let mut statements = Vec::new();
        loop {
            while self.tokens.take_if(";") {}
            if matches!(self.tokens.peek(), None | Some(Token::Symbol("}"))) {
                return Ok(statements);
            }
            statements.push(self.statement(loops)?);
            if !matches!(self.tokens.peek(), None | Some(Token::Symbol(";" | "}"))) {
                return Err(self.tokens.missing("`;` or the end of the line"));
            }
        }
    }

    fn braces(&mut self, loops: usize) -> Result<Vec<Statement>, ParseError> {
        self.tokens.symbol("{")?;
        let block = self.block(loops)?;
        self.tokens.symbol("}")?;
        Ok(block)
    }

    fn statement(&mut self, loops: usize) -> Result<Statement, ParseError> {
        let line = self.tokens.line();
        let word = self.tokens.name("a statement: `W`, `r = …`, `F`, `if`, `repeat`, `assume`, …")?;
        Ok(match word.as_str() {
            "W" => {
                let address = self.address()?;
                let value = self.operand()?;
                let order = self.order(Access::Store)?;
                self.same_kind(line, &address, order)?;
                Statement::Store { address, value, order }
            }
            "F" => Statement::Fence(self.atomic_order(Access::Fence)?),
            "assume" => Statement::Assume(self.expression()?),
            "assert" => Statement::Assert(self.expression()?),
            "return" => Statement::Return,
            "break" if loops > 0 => Statement::Break,
            "break" => return Err(ParseError::new(line, "`break` outside `repeat`", "use `return` to end the thread")),
            "spawn" if loops > 0 => {
                let way_out = "give each thread a `spawn` of its own, outside: it is started once";
                return Err(ParseError::new(line, "`spawn` inside `repeat`", way_out));
            }
            "spawn" => {
                let thread = self.thread()?;
                self.spawns.push(thread);
                Statement::Spawn(thread)
            }
            "join" => {
                let thread = self.thread()?;
                self.joins.push(thread);
                Statement::Join(thread)
            }
            "if" => {
                let condition = self.expression()?;
                let then = self.braces(loops)?;
                let has_else = matches!(self.tokens.peek(), Some(Token::Name(name)) if name == "else");
                let otherwise = if has_else {
                    self.tokens.take("`else`")?;
                    self.braces(loops)?
                } else {
                    Vec::new()
                };
                Statement::If { condition, then, otherwise }
            }
            "repeat" => {
                let counted = matches!(self.tokens.peek_second(), Some(Token::Symbol("=")));
                let (register, from, to) = if counted {
                    let register = self.target()?;
                    self.tokens.symbol("=")?;
                    let from = self.operand()?;
                    self.tokens.symbol("..")?;
                    (Some(register), from, self.operand()?)
                } else {
                    (None, Expression::Number(1), self.operand()?)
                };
                let body = self.braces(loops + 1)?;
                if body.is_empty() {
                    let way_out = "write what is repeated between its brackets";
                    return Err(ParseError::new(line, "`repeat` of nothing", way_out));
                }
                Statement::Repeat { register, from, to, body }
            }
            _ => {
                self.tokens.symbol("=")?;
                return self.assignment(line, word);
            }
        })
    }

    /// What comes after `register =`.
    fn assignment(&mut self, line: usize, register: String) -> Result<Statement, ParseError> {
        let operation = match self.tokens.peek() {
            Some(Token::Name(name)) => name.clone(),
            _ => String::new(),
        };
        let update = match operation.as_str() {
            "R" => {
                self.tokens.take("`R`")?;
                let address = self.address()?;
                let order = self.order(Access::Load)?;
                self.same_kind(line, &address, order)?;
                return Ok(Statement::Load { into: self.set(line, register)?, address, order });
            }
            "cas" => {
                self.tokens.take("`cas`")?;
                let address = self.address()?;
                let (old, new) = (self.operand()?, self.operand()?);
                let success = self.atomic_order(Access::Modify)?;
                let failure = self.failure_order()?;
                self.same_kind(line, &address, Some(success))?;
                let into = self.set(line, register)?;
                return Ok(Statement::CompareExchange { into, address, old, new, success, failure });
            }
            "add" => Update::Add,
            "sub" => Update::Sub,
            "xchg" => Update::Exchange,
            _ => {
                let value = self.expression()?;
                return Ok(Statement::Set { register: self.set(line, register)?, value });
            }
        };
        self.tokens.take("an update")?;
        let address = self.address()?;
        let operand = self.operand()?;
        let order = self.atomic_order(Access::Modify)?;
        self.same_kind(line, &address, Some(order))?;
        Ok(Statement::Modify { into: self.set(line, register)?, address, update, operand, order })
    }

    fn target(&mut self) -> Result<usize, ParseError> {
        let line = self.tokens.line();
        let name = self.tokens.name("a register")?;
        self.set(line, name)
    }

    /// The register `name`, which is set here.
    fn set(&mut self, line: usize, name: String) -> Result<usize, ParseError> {
        if WORDS.contains(&name.as_str()) || name.contains('.') || name.starts_with(|c: char| c.is_ascii_uppercase()) {
            let way_out = "registers are lower-case letters, digits and `_`, and no words of the notation";
            return Err(ParseError::new(line, format!("`{name}` is no register"), way_out));
        }
        let register = numbered(&mut self.registers, &name);
        self.set.push(register);
        Ok(register)
    }

    fn thread(&mut self) -> Result<usize, ParseError> {
        let line = self.tokens.line();
        let name = self.tokens.name("a thread, such as `T1`")?;
        let number = name.strip_prefix('T').and_then(|number| number.parse().ok());
        number.filter(|&thread| thread < self.threads).ok_or_else(|| {
            let way_out = format!("threads are T0 to T{}", self.threads.saturating_sub(1));
            ParseError::new(line, format!("there is no thread `{name}`"), way_out)
        })
    }

    fn address(&mut self) -> Result<Address, ParseError> {
        let line = self.tokens.line();
        let name = self.tokens.name("a location")?;
        let index = if self.tokens.take_if("[") {
            let index = self.expression()?;
            self.tokens.symbol("]")?;
            Some(index)
        } else {
            None
        };
        let element = |location: &Location| match &index {
            None => location.name == name,
            Some(_) => location.name.strip_prefix(&name).is_some_and(|rest| rest.starts_with('[')),
        };
        let first = self.locations.iter().position(element).ok_or_else(|| {
            let what = format!("there is no {} `{name}`", if index.is_some() { "array" } else { "location" });
            ParseError::new(line, what, format!("add `{name}` to `init` (atomic) or `plain`"))
        })?;
        Ok(Address { first, length: self.locations.iter().filter(|location| element(location)).count(), index })
    }

    /// A location is plain or atomic throughout: Rust has no accesses of both kinds to one location.
    fn same_kind(&self, line: usize, address: &Address, order: Order) -> Result<(), ParseError> {
        let location = &self.locations[address.first];
        match (location.plain, order) {
            (false, Some(_)) | (true, None) => Ok(()),
            (false, None) => {
                let what = format!("a plain access to the atomic location `{}`", location.name);
                Err(ParseError::new(line, what, "move the location from `init` to `plain`, or give an ordering"))
            }
            (true, Some(_)) => {
                let what = format!("an atomic access to the plain location `{}`", location.name);
                Err(ParseError::new(line, what, "move the location from `plain` to `init`, or write `na`"))
            }
        }
    }

    fn order(&mut self, access: Access) -> Result<Order, ParseError> {
        let line = self.tokens.line();
        let names = access.orders().iter().map(|(name, _)| *name).collect::<Vec<_>>().join(" ");
        let name = self.tokens.name(&format!("the ordering of {}: {names}", access.name()))?;
        access.orders().iter().find(|(known, _)| *known == name).map(|(_, order)| *order).ok_or_else(|| {
            let what = format!("`{name}` is no ordering of {}", access.name());
            ParseError::new(line, what, format!("one of: {names}"))
        })
    }

    fn atomic_order(&mut self, access: Access) -> Result<Ordering, ParseError> {
        let line = self.tokens.line();
        let wrong = || ParseError::new(line, "`na` is no ordering of an atomic operation", "`rlx` orders nothing");
        self.order(access)?.ok_or_else(wrong)
    }

    /// The ordering of a compare-exchange that fails. It is a load, so of one that also releases, the acquire is left.
    fn failure_order(&mut self) -> Result<Ordering, ParseError> {
        Ok(match self.atomic_order(Access::Modify)? {
            Ordering::AcqRel => Ordering::Acquire,
            Ordering::Release => Ordering::Relaxed,
            order => order,
        })
    }

    fn expression(&mut self) -> Result<Expression, ParseError> {
        self.at_level(0)
    }

    /// A number, a register, or an expression in brackets.
    fn operand(&mut self) -> Result<Expression, ParseError> {
        self.at_level(LEVELS.len())
    }

    fn at_level(&mut self, level: usize) -> Result<Expression, ParseError> {
        let registers = &mut self.registers;
        expression(&mut self.tokens, level, &mut |name, element| match element {
            None => Ok(numbered(registers, name)),
            Some(_) => Err(format!("an element of `{name}` is no register: load it into one first")),
        })
    }
}

/// The number of `name`, which is added if it is new.
fn numbered(names: &mut Vec<String>, name: &str) -> usize {
    names.iter().position(|known| known == name).unwrap_or_else(|| {
        names.push(name.to_owned());
        names.len() - 1
    })
}

/// Turns a name, with the element that is asked for, into the number of a variable.
type Resolve<'a> = &'a mut dyn FnMut(&str, Option<i64>) -> Result<usize, String>;

/// An expression whose operators bind at least as `level` does.
pub(super) fn expression(tokens: &mut Tokens, level: usize, variable: Resolve<'_>) -> Result<Expression, ParseError> {
    let Some(operators) = LEVELS.get(level) else { return unary(tokens, variable) };
    let mut left = expression(tokens, level + 1, variable)?;
    while let Some(Token::Symbol(symbol)) = tokens.peek()
        && let Some((symbol, operator)) = operators.iter().find(|(known, _)| known == symbol)
    {
        tokens.symbol(symbol)?;
        left = Expression::Binary(*operator, Box::new([left, expression(tokens, level + 1, variable)?]));
    }
    Ok(left)
}

fn unary(tokens: &mut Tokens, variable: Resolve<'_>) -> Result<Expression, ParseError> {
    let line = tokens.line();
    let wanted = "a number, a register or an expression in brackets";
    if !matches!(tokens.peek(), Some(Token::Number(_) | Token::Name(_) | Token::Symbol("-" | "!" | "("))) {
        return Err(tokens.missing(wanted));
    }
    Ok(match tokens.take(wanted)? {
        Token::Number(number) => Expression::Number(number),
        Token::Symbol("-") => Expression::Negative(Box::new(unary(tokens, variable)?)),
        Token::Symbol("!") => Expression::Not(Box::new(unary(tokens, variable)?)),
        Token::Symbol(_) => {
            let inner = expression(tokens, 0, variable)?;
            tokens.symbol(")")?;
            inner
        }
        Token::Name(name) => {
            let element = match (tokens.peek(), tokens.peek_second()) {
                (Some(Token::Symbol("[")), Some(Token::Number(element))) => Some(*element),
                _ => None,
            };
            if element.is_some() {
                tokens.take("`[`")?;
                tokens.take("a number")?;
                tokens.symbol("]")?;
            }
            let found = variable(&name, element);
            Expression::Variable(found.map_err(|what| {
                ParseError::new(line, what, "final values are registers, such as `T1.a`, and locations")
            })?)
        }
    })
}
