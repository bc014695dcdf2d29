//! The hardware as a program: `hardware/routing-device/build` makes it by Verilator, and `sim/cosim.cpp` there says how one talks to it.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use thalweg_sim::vlrd::{Cycle, Injection, Packet};

use crate::Shape;
use crate::cycles::Output;
use crate::queues::Clocked;
use crate::traffic::{Input, line};

/// Bytes of what goes in for a cycle, and of what comes out.
const RECORD: usize = 80;

#[derive(Debug)]
pub(crate) struct Hardware {
    child: Child,
    words: usize,
}

impl Hardware {
    /// Builds the device, unless it is built already, and resets it.
    pub(crate) fn new(name: &str, shape: &Shape) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let to = Path::new(env!("CARGO_TARGET_TMPDIR")).join("routing-device").join(name);
        let Shape { routing, answers, line } = *shape;
        let quota = routing.quota.unwrap_or(routing.entries);
        let parameters = [
            ("ENTRIES", routing.entries.to_string()),
            ("LINKS", routing.links.to_string()),
            ("LINE", line.to_string()),
            ("RESERVE", routing.reserve.to_string()),
            ("QUOTA", quota.to_string()),
            ("ANSWERS", flag(answers)),
            ("IN_ORDER", flag(routing.in_order)),
        ];
        let built = Command::new(root.join("hardware/routing-device/build"))
            .arg(&to)
            .args(parameters.map(|(name, value)| format!("-G{name}={value}")))
            .status()
            .expect("a shell runs it");
        assert!(built.success(), "{name}: Verilator does not build it");
        let child = Command::new(to.join("cosim")).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        Self { child: child.expect("it is built"), words: line / 64 }
    }

    /// What it shows in each of these cycles.
    pub(crate) fn cycles(&mut self, inputs: &[Input]) -> Vec<Output> {
        let mut bytes = Vec::with_capacity(4 + RECORD * inputs.len());
        bytes.extend((inputs.len() as u32).to_le_bytes());
        inputs.iter().for_each(|input| bytes.extend(record(*input)));
        // It reads all before it writes.
        let stdin = self.child.stdin.as_mut().expect("it is piped");
        stdin.write_all(&bytes).and_then(|()| stdin.flush()).expect("it listens");
        let mut out = vec![0; RECORD * inputs.len()];
        self.child.stdout.as_mut().expect("it is piped").read_exact(&mut out).expect("it answers");
        out.chunks(RECORD).map(|record| self.output(record)).collect()
    }

    fn output(&self, record: &[u8]) -> Output {
        let word = |at: usize| u64::from_le_bytes(record[at..at + 8].try_into().expect("eight bytes"));
        let half = |at: usize| u16::from_le_bytes([record[at], record[at + 1]]);
        let sent = (record[1] != 0).then(|| {
            // What a narrow line does not carry follows from what it does.
            let mut data = line(word(16));
            (0..self.words).for_each(|i| data[i] = word(16 + 8 * i));
            Injection { slot: half(4), target: word(8), data }
        });
        Output { taken: record[0] != 0, sent, busy: record[2] != 0, held: half(6).into() }
    }
}

/// A parameter of one bit.
fn flag(set: bool) -> String {
    format!("1'b{}", u8::from(set))
}

fn record(input: Input) -> [u8; RECORD] {
    let mut record = [0; RECORD];
    let mut put = |at: usize, bytes: &[u8]| record[at..at + bytes.len()].copy_from_slice(bytes);
    let number = |sqi: usize| (sqi as u16).to_le_bytes();
    match input {
        Input::Nothing => put(0, &[255]),
        Input::Packet(Packet::Push { sqi, data }) => {
            put(0, &[0]);
            put(2, &number(sqi));
            data.iter().enumerate().for_each(|(i, word)| put(16 + 8 * i, &word.to_le_bytes()));
        }
        Input::Packet(Packet::Fetch { sqi, target }) => {
            put(0, &[1]);
            put(2, &number(sqi));
            put(8, &target.to_le_bytes());
        }
        Input::Packet(Packet::Answer { slot, accepted }) => {
            put(0, &[2, accepted.into()]);
            put(4, &slot.to_le_bytes());
        }
        Input::Open(sqi) => {
            put(0, &[3]);
            put(2, &number(sqi));
        }
    }
    record
}

impl Clocked for Hardware {
    fn open(&mut self, sqi: usize) -> bool {
        self.cycles(&[Input::Open(sqi)])[0].taken
    }

    fn cycle(&mut self, packet: Option<Packet<u64>>) -> Cycle<u64> {
        let Output { taken, sent, .. } = self.cycles(&[packet.map_or(Input::Nothing, Input::Packet)])[0];
        Cycle { taken, sent }
    }
}

impl Drop for Hardware {
    /// It ends with its input.
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
