//! Random small programs, as text.

use thalweg_sync::random::SplitMix;

/// A seeded source of programs.
pub(crate) struct Random(SplitMix);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(SplitMix::new(seed))
    }

    fn below(&mut self, end: u64) -> u64 {
        self.0.number() % end
    }

    fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    fn of<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len() as u64) as usize]
    }
}

/// What programs are made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// At most so many statements with an event.
    pub(crate) events: u64,
    /// With a location of plain memory, so that there are races.
    pub(crate) plain: bool,
    /// All orders are `sc` or `rlx`, which gives the condition on sc events something to do.
    pub(crate) sc: bool,
}

/// The entry of this seed, without counts.
pub(crate) fn program(seed: u64, shape: Shape) -> String {
    let mut random = Random::new(seed);
    let threads = 2 + random.below(2);
    let mut left = 4 + random.below(shape.events - 3);
    let mut bodies = vec![Body::default(); threads as usize];
    while left > 0 {
        // Each thread first has one.
        let empty = bodies.iter().position(|body| body.statements.is_empty());
        bodies[empty.unwrap_or_else(|| random.below(threads) as usize)].add_statement(&mut random, shape);
        left -= 1;
    }
    let mut text = format!("name: random-{seed}\ninit: x=0 y=0\n");
    if shape.plain {
        text += "plain: p=0\n";
    }
    for (number, body) in bodies.iter().enumerate() {
        let mut statements = body.statements.clone();
        if number + 1 == bodies.len() && random.one_in(12) {
            statements.insert(0, format!("join T{}", random.below(number as u64)));
        }
        text += &format!("T{number}: {}\n", statements.join(" ; "));
    }
    text
}

/// The entry of this seed: two or three threads of the same text, and mostly another one, before or behind them.
pub(crate) fn symmetric(seed: u64, sc: bool) -> String {
    let mut random = Random::new(seed ^ 0x5ca1_ab1e);
    let shape = Shape { events: 0, plain: false, sc };
    let mut body = |events: u64| {
        let mut body = Body::default();
        (0..events).for_each(|_| body.add_statement(&mut random, shape));
        body.statements.join(" ; ")
    };
    let copies = 2 + u64::from(seed.is_multiple_of(4));
    let (same, other) = (body(5 - copies - seed / 4 % 2), body(1 + seed / 8 % 2));
    let mut bodies = vec![same; copies as usize];
    match seed / 16 % 4 {
        0 => {}
        1 => bodies.insert(0, other),
        _ => bodies.push(other),
    }
    let threads = bodies.iter().enumerate().map(|(number, body)| format!("T{number}: {body}\n"));
    format!("name: symmetric-{seed}\ninit: x=0 y=0\n{}", threads.collect::<String>())
}

#[derive(Clone, Debug, Default)]
struct Body {
    statements: Vec<String>,
    registers: usize,
}

impl Body {
    fn add_statement(&mut self, random: &mut Random, shape: Shape) {
        // Under `if`, a register may stay unset; so it is not used as a value.
        let guard = (self.registers > 0 && random.one_in(5)).then(|| self.known(random));
        let known = self.registers;
        let statement = self.event(random, shape);
        self.statements.push(match guard {
            None => statement,
            Some(register) => {
                self.registers = known;
                let statement = statement.replacen(&format!("r{known} ="), "u =", 1);
                format!("if {register} == {} {{ {statement} }}", random.below(2))
            }
        });
        if self.registers > 0 && random.one_in(24) {
            let register = self.known(random);
            self.statements.push(format!("assume {register} {} {}", random.of(&["==", "!="]), random.below(2)));
        }
    }

    /// A register that is set.
    fn known(&self, random: &mut Random) -> String {
        format!("r{}", random.below(self.registers as u64))
    }

    fn value(&self, random: &mut Random) -> String {
        if self.registers > 0 && random.one_in(4) {
            return self.known(random);
        }
        (1 + random.below(2)).to_string()
    }

    fn event(&mut self, random: &mut Random, shape: Shape) -> String {
        let location = random.of(&["x", "x", "y"]);
        let mut order = |all: &[&'static str]| match shape.sc {
            true => random.of(&["rlx", "sc", "sc"]),
            false => random.of(all),
        };
        let load = order(&["rlx", "rlx", "acq", "sc"]);
        let store = order(&["rlx", "rlx", "rel", "sc"]);
        let modify = order(&["rlx", "acq", "rel", "acqrel", "sc"]);
        let fence = if shape.sc { "sc" } else { random.of(&["acq", "rel", "acqrel", "sc", "sc"]) };
        if shape.plain && random.one_in(3) {
            return match random.one_in(2) {
                true => format!("W p {} na", 1 + random.below(2)),
                false => format!("{} = R p na", self.fresh()),
            };
        }
        match random.below(20) {
            0..8 => format!("{} = R {location} {load}", self.fresh()),
            8..14 => format!("W {location} {} {store}", self.value(random)),
            14..16 => {
                let value = self.value(random);
                let update = random.of(&["add", "xchg", "sub"]);
                format!("{} = {update} {location} {value} {modify}", self.fresh())
            }
            16..18 => {
                let (old, new) = (random.below(2), 1 + random.below(2));
                format!("{} = cas {location} {old} {new} {modify} {modify}", self.fresh())
            }
            _ => format!("F {fence}"),
        }
    }

    /// A register that nobody has.
    fn fresh(&mut self) -> String {
        self.registers += 1;
        format!("r{}", self.registers - 1)
    }
}
