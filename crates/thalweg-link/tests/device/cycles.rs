//! Every output in every cycle: the model, and the hardware behind it.

use thalweg_sim::vlrd::{Cycle, Injection, Packet, Vlrd};

use crate::Shape;
use crate::hardware::Hardware;
use crate::traffic::{Input, Seen, Traffic, line};

/// What a device shows in a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Output {
    pub(crate) taken: bool,
    pub(crate) sent: Option<Injection<u64>>,
    /// Before the cycle: a cycle would change something, and how many lines the queue at the port has.
    pub(crate) busy: bool,
    pub(crate) held: usize,
}

/// One cycle of the model.
fn step(model: &mut Vlrd<u64>, shape: &Shape, input: Input) -> Output {
    let counted = shape.routing.reserve > 0 || shape.routing.quota.is_some();
    let at_port = match input {
        Input::Packet(Packet::Push { sqi, .. } | Packet::Fetch { sqi, .. }) | Input::Open(sqi) => sqi,
        // Nobody asks, and the hardware shows what it has of queue 0.
        Input::Packet(Packet::Answer { .. }) | Input::Nothing => 0,
    };
    let held = model.holds(at_port).filter(|_| counted);
    let busy = model.is_busy();
    let (packet, open) = match input {
        Input::Nothing => (None, None),
        Input::Packet(packet) => (Some(packet), None),
        Input::Open(sqi) => (None, Some(sqi)),
    };
    let Cycle { taken, sent } = model.cycle(packet);
    // The hardware takes it at the port, as any packet: when stage 3 has written.
    let taken = taken || open.is_some_and(|sqi| model.open(sqi));
    Output { taken, sent, busy, held: held.unwrap_or(0) }
}

/// As many cycles as the hardware is asked for at once.
const BATCH: usize = 4096;

/// Random traffic for the model, and for the hardware, if it is there: the first output that differs is named.
pub(crate) fn run(name: &str, shape: &Shape, cycles: usize, mut hardware: Option<Hardware>) -> Seen {
    let mut model = shape.model();
    let mut traffic = Traffic::new(shape, 1);
    let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
    for cycle in 0..cycles {
        let input = traffic.next();
        let output = step(&mut model, shape, input);
        traffic.done(input, output.taken, Cycle { taken: output.taken, sent: output.sent });
        if let Some(hardware) = &mut hardware {
            inputs.push(input);
            outputs.push(output);
            if inputs.len() == BATCH || cycle + 1 == cycles {
                compare(name, cycle + 1 - inputs.len(), &inputs, &outputs, &hardware.cycles(&inputs));
                inputs.clear();
                outputs.clear();
            }
        }
    }
    if shape.answers {
        // What was answered last is in the pipeline.
        (0..4).for_each(|_| _ = model.cycle(None));
        (0..shape.queues())
            .for_each(|sqi| assert_eq!(model.holds(sqi).unwrap_or(0), traffic.held(sqi), "{name}, queue {sqi}"));
    }
    traffic.seen
}

fn compare(name: &str, first: usize, inputs: &[Input], model: &[Output], hardware: &[Output]) {
    for (at, (model, hardware)) in model.iter().zip(hardware).enumerate() {
        let cycle = first + at;
        let before = &inputs[at.saturating_sub(6)..=at];
        assert_eq!(
            model, hardware,
            "{name}, cycle {cycle}: model and hardware differ; the last inputs were {before:?}"
        );
    }
}

/// Directed traffic, one sequence after the other: for each a new model, while the hardware goes on from the reset that it begins with.
pub(crate) fn directed(name: &str, shape: &Shape, hardware: &mut Hardware) {
    let push = |sqi, number| Input::Packet(Packet::Push { sqi, data: line(number) });
    let fetch = |sqi, number| Input::Packet(Packet::Fetch { sqi, target: number });
    let queues = shape.routing.links.min(3);
    let opens = (0..queues).map(Input::Open);
    let entries = shape.routing.entries as u64;
    // Table I: requests of blue and orange, lines of blue, green and blue.
    let (orange, blue, green) = (0, 1, 2);
    let table = [fetch(blue, 10), fetch(orange, 20), push(blue, 1), push(green, 2), push(blue, 3)];
    // Entries of one queue directly behind each other, both kinds first.
    let behind = |first: fn(u64) -> bool| (0..12).map(move |n| if first(n) { push(0, n) } else { fetch(0, n) });
    // More than there is room for, then as much in the other direction: slots are given back and taken in the same cycle.
    let full = (0..entries + 3)
        .map(|n| push(1, n))
        .chain((0..2 * entries).map(|n| if n % 2 == 0 { fetch(1, n) } else { push(1, n) }));
    let asked = (0..entries + 3)
        .map(|n| fetch(2, n))
        .chain((0..2 * entries).map(|n| if n % 2 == 0 { push(2, n) } else { fetch(2, n) }));
    let sequences: [(&str, Vec<Input>); 5] = [
        ("table I", table.to_vec()),
        ("lines, then requests", behind(|n| n < 6).collect()),
        ("a line, a request", behind(|n| n % 2 == 0).collect()),
        ("full of lines", full.collect()),
        ("full of requests", asked.collect()),
    ];
    let mut model = shape.model();
    let mut inputs: Vec<Input> = opens.collect();
    for (_, sequence) in &sequences {
        inputs.extend(sequence);
        // A rest, for the answers to what has left.
        inputs.extend(std::iter::repeat_n(Input::Nothing, 8));
    }
    // Answers push in before what is planned; each second one rejects, once.
    let mut planned = inputs.into_iter().peekable();
    let mut due: Vec<(usize, u16)> = Vec::new();
    let mut answered = 0;
    let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
    for cycle in 0.. {
        let answer = due.iter().position(|&(when, _)| when <= cycle).map(|at| due.remove(at).1);
        let input = match answer {
            Some(slot) => {
                answered += 1;
                Input::Packet(Packet::Answer { slot, accepted: answered % 2 == 0 })
            }
            None => match planned.next() {
                Some(input) => input,
                None if due.is_empty() && !model.is_busy() => break,
                None => Input::Nothing,
            },
        };
        let output = step(&mut model, shape, input);
        if let Some(sent) = output.sent.filter(|_| shape.answers) {
            due.push((cycle + 3, sent.slot));
        }
        inputs.push(input);
        outputs.push(output);
    }
    assert!(outputs.iter().filter(|output| output.sent.is_some()).count() > 10, "{name}: hardly a line has left");
    compare(name, 0, &inputs, &outputs, &hardware.cycles(&inputs));
}
