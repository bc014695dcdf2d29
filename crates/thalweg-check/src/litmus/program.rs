//! A program: its locations, its threads, and how a thread runs on any machine.

use std::sync::atomic::Ordering;

/// How memory is accessed: by an atomic operation of this ordering, or by a plain access (`na`).
pub type Order = Option<Ordering>;

/// What a register holds; `None` as long as it was not set.
pub type Register = Option<i64>;

/// A program of threads over shared locations. Locations are numbered, the elements of an array in a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The locations.
    pub locations: Vec<Location>,
    /// The threads.
    pub threads: Vec<Thread>,
}

impl Program {
    /// The names of the final values: the registers of each thread (`T0.a`, without those called `_`), then the
    /// locations.
    pub fn columns(&self) -> Vec<String> {
        let registers = self.threads.iter().enumerate().flat_map(|(number, thread)| {
            thread.registers.iter().filter(|name| *name != "_").map(move |name| format!("T{number}.{name}"))
        });
        registers.chain(self.locations.iter().map(|location| location.name.clone())).collect()
    }

    /// The final values, in the order of [`columns`](Self::columns): `registers` by thread, `memory` by location.
    pub fn valuation(&self, registers: &[Vec<Register>], memory: &[i64]) -> Vec<Register> {
        let named = self.threads.iter().zip(registers).flat_map(|(thread, values)| {
            thread.registers.iter().zip(values).filter(|(name, _)| *name != "_").map(|(_, value)| *value)
        });
        named.chain(memory.iter().map(|value| Some(*value))).collect()
    }
}

/// A location of memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// Its name: `x`, or `a[2]` for an element of an array.
    pub name: String,
    /// Its first value.
    pub initial: i64,
    /// Plain memory: never accessed by atomic operations.
    pub plain: bool,
}

/// A thread: the names of its registers, and what it does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// The names of the registers; elsewhere a register is its index here.
    pub registers: Vec<String>,
    /// The statements.
    pub body: Vec<Statement>,
    /// Some thread starts it; otherwise it runs from the beginning.
    pub spawned: bool,
    /// Some thread waits for its end.
    pub joined: bool,
}

/// A location, or an element of an array that is known only when the program runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// The location, or the array's element 0.
    pub first: usize,
    /// How many elements the array has; 1 if it is no array.
    pub length: usize,
    /// Which element.
    pub index: Option<Expression>,
}

/// How a read-modify-write makes the new value from the old one and its operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Update {
    /// Adds.
    Add,
    /// Subtracts.
    Sub,
    /// Takes the operand.
    Exchange,
}

impl Update {
    /// The new value.
    pub fn apply(self, old: i64, operand: i64) -> i64 {
        match self {
            Self::Add => old.wrapping_add(operand),
            Self::Sub => old.wrapping_sub(operand),
            Self::Exchange => operand,
        }
    }
}

/// A statement. Registers and threads are their numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the notation's table says what each does")]
pub enum Statement {
    Store {
        address: Address,
        value: Expression,
        order: Order,
    },
    Load {
        into: usize,
        address: Address,
        order: Order,
    },
    Modify {
        into: usize,
        address: Address,
        update: Update,
        operand: Expression,
        order: Ordering,
    },
    CompareExchange {
        into: usize,
        address: Address,
        old: Expression,
        new: Expression,
        success: Ordering,
        failure: Ordering,
    },
    Fence(Ordering),
    Set {
        register: usize,
        value: Expression,
    },
    If {
        condition: Expression,
        then: Vec<Statement>,
        otherwise: Vec<Statement>,
    },
    Repeat {
        register: Option<usize>,
        from: Expression,
        to: Expression,
        body: Vec<Statement>,
    },
    Break,
    Return,
    Assume(Expression),
    Assert(Expression),
    Spawn(usize),
    Join(usize),
}

/// An expression over numbers and variables: registers in a thread, columns of the final values in a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Expression {
    Number(i64),
    Variable(usize),
    Negative(Box<Expression>),
    Not(Box<Expression>),
    Binary(Operator, Box<[Expression; 2]>),
}

/// An operator with two operands. Comparisons and logic give 0 or 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Operator {
    Or,
    And,
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Add,
    Subtract,
    Xor,
    Multiply,
    Remainder,
}

impl Expression {
    /// The value, with `variables` as they are; `None` if one of them was never set, or the divisor of `%` is 0.
    pub fn value(&self, variables: &[Register]) -> Option<i64> {
        Some(match self {
            Self::Number(number) => *number,
            Self::Variable(variable) => variables[*variable]?,
            Self::Negative(operand) => operand.value(variables)?.wrapping_neg(),
            Self::Not(operand) => i64::from(operand.value(variables)? == 0),
            Self::Binary(operator, operands) => {
                let [a, b] = [operands[0].value(variables)?, operands[1].value(variables)?];
                match operator {
                    Operator::Or => i64::from(a != 0 || b != 0),
                    Operator::And => i64::from(a != 0 && b != 0),
                    Operator::Equal => i64::from(a == b),
                    Operator::Unequal => i64::from(a != b),
                    Operator::Less => i64::from(a < b),
                    Operator::LessOrEqual => i64::from(a <= b),
                    Operator::Greater => i64::from(a > b),
                    Operator::GreaterOrEqual => i64::from(a >= b),
                    Operator::Add => a.wrapping_add(b),
                    Operator::Subtract => a.wrapping_sub(b),
                    Operator::Xor => a ^ b,
                    Operator::Multiply => a.wrapping_mul(b),
                    Operator::Remainder => a.checked_rem_euclid(b)?,
                }
            }
        })
    }
}

/// What a thread runs on. Every method is one event, or ends the thread with the machine's reason.
///
/// Locations are numbers below the number of [`Program::locations`].
pub trait Machine {
    /// Why a thread cannot go on.
    type Stop;

    /// Reads.
    fn load(&mut self, location: usize, order: Order) -> Result<i64, Self::Stop>;

    /// Writes.
    fn store(&mut self, location: usize, value: i64, order: Order) -> Result<(), Self::Stop>;

    /// Reads and writes. Returns the value read.
    fn modify(&mut self, location: usize, update: Update, operand: i64, order: Ordering) -> Result<i64, Self::Stop>;

    /// Reads, and writes `new` if it read `old`. Returns the value read.
    fn compare_exchange(
        &mut self,
        location: usize,
        values: [i64; 2],
        success: Ordering,
        failure: Ordering,
    ) -> Result<i64, Self::Stop>;

    /// A fence.
    fn fence(&mut self, order: Ordering) -> Result<(), Self::Stop>;

    /// Starts a thread of the program.
    fn spawn(&mut self, thread: usize) -> Result<(), Self::Stop>;

    /// Waits until a thread has finished.
    fn join(&mut self, thread: usize) -> Result<(), Self::Stop>;

    /// Blocks the thread for ever if `holds` is false.
    fn assume(&mut self, holds: bool) -> Result<(), Self::Stop>;

    /// An error if `holds` is false.
    fn assert(&mut self, holds: bool) -> Result<(), Self::Stop>;
}

/// How a statement ended.
enum Flow {
    Next,
    Break,
    Return,
}

impl Thread {
    /// Runs the thread on `machine`. `registers` are one for each name in [`registers`](Self::registers).
    ///
    /// # Panics
    ///
    /// If a register is read that was never set, an index is outside its array, `%` divides by 0, or its loops have more than a
    /// million rounds together: what has no events in them, no machine sees.
    pub fn run<M: Machine>(&self, registers: &mut [Register], machine: &mut M) -> Result<(), M::Stop> {
        Run { names: &self.registers, registers, machine, rounds: 0 }.block(&self.body).map(drop)
    }
}

/// How many rounds a thread may do, of all its loops together.
const ROUNDS: u32 = 1_000_000;

/// A thread that runs.
struct Run<'a, M> {
    names: &'a [String],
    registers: &'a mut [Register],
    machine: &'a mut M,
    rounds: u32,
}

impl<M: Machine> Run<'_, M> {
    fn block(&mut self, statements: &[Statement]) -> Result<Flow, M::Stop> {
        for statement in statements {
            match self.statement(statement)? {
                Flow::Next => {}
                ended => return Ok(ended),
            }
        }
        Ok(Flow::Next)
    }

    fn statement(&mut self, statement: &Statement) -> Result<Flow, M::Stop> {
        match statement {
            Statement::Store { address, value, order } => {
                self.machine.store(self.location(address), self.value(value), *order)?;
            }
            Statement::Load { into, address, order } => {
                self.registers[*into] = Some(self.machine.load(self.location(address), *order)?);
            }
            Statement::Modify { into, address, update, operand, order } => {
                let (location, operand) = (self.location(address), self.value(operand));
                self.registers[*into] = Some(self.machine.modify(location, *update, operand, *order)?);
            }
            Statement::CompareExchange { into, address, old, new, success, failure } => {
                let (location, values) = (self.location(address), [self.value(old), self.value(new)]);
                let read = self.machine.compare_exchange(location, values, *success, *failure)?;
                self.registers[*into] = Some(read);
            }
            Statement::Fence(order) => self.machine.fence(*order)?,
            Statement::Set { register, value } => self.registers[*register] = Some(self.value(value)),
            Statement::If { condition, then, otherwise } => {
                return self.block(if self.value(condition) != 0 { then } else { otherwise });
            }
            Statement::Repeat { register, from, to, body } => {
                for turn in self.value(from)..=self.value(to) {
                    self.rounds += 1;
                    assert!(self.rounds <= ROUNDS, "more than {ROUNDS} rounds of `repeat`: write a loop with fewer");
                    if let Some(register) = register {
                        self.registers[*register] = Some(turn);
                    }
                    match self.block(body)? {
                        Flow::Next => {}
                        Flow::Break => break,
                        Flow::Return => return Ok(Flow::Return),
                    }
                }
            }
            Statement::Break => return Ok(Flow::Break),
            Statement::Return => return Ok(Flow::Return),
            Statement::Assume(condition) => self.machine.assume(self.value(condition) != 0)?,
            Statement::Assert(condition) => self.machine.assert(self.value(condition) != 0)?,
            Statement::Spawn(thread) => self.machine.spawn(*thread)?,
            Statement::Join(thread) => self.machine.join(*thread)?,
        }
        Ok(Flow::Next)
    }

    fn value(&self, expression: &Expression) -> i64 {
        expression.value(self.registers).unwrap_or_else(|| {
            panic!("{expression:?} has no value: a register is read before it is set, or `%` divides by 0")
        })
    }

    fn location(&self, address: &Address) -> usize {
        let Some(index) = &address.index else { return address.first };
        let element = self.value(index);
        match usize::try_from(element).ok().filter(|&element| element < address.length) {
            Some(element) => address.first + element,
            None => panic!("element {element} of an array of {}; registers are {:?}", address.length, self.names),
        }
    }
}
