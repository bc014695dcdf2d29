//! Large messages: packets of 1500 bytes are changed where they are, and read as slices, without a copy for each kernel.
//!
//! `cargo run --example packets` prints how many packets were forwarded, how many had come to the end of their life, and how many bytes were read. The
//! edge between the kernels has a bound in bytes; the report says how much of it was used.

use thalweg::prelude::*;

#[derive(Clone, Copy)]
struct Packet {
    bytes: [u8; 1500],
}

/// Where a packet keeps the hops it has left, and the sum of its header.
const HOPS: usize = 8;
const SUM: usize = 9;
const HEADER: usize = 20;

impl Packet {
    fn new(number: u32) -> Self {
        let mut bytes = [0; 1500];
        bytes[..4].copy_from_slice(&number.to_be_bytes());
        bytes[HOPS] = (number % 64) as u8;
        bytes[SUM] = bytes[..SUM].iter().fold(0, |sum, byte| sum ^ byte);
        Self { bytes }
    }

    fn is_sound(&self) -> bool {
        self.bytes[..HEADER].iter().fold(0, |sum, byte| sum ^ byte) == 0
    }
}

/// Looks at packets in the block that they came in.
struct Meter<'a>(&'a mut Totals);

#[derive(Default)]
struct Totals {
    forwarded: u64,
    expired: u64,
    broken: u64,
    bytes: usize,
}

impl Kernel for Meter<'_> {
    type Ports = In<Packet>;

    fn ports(&mut self, bind: &mut Binder<'_>) -> Self::Ports {
        bind.input("packets")
    }

    fn run(&mut self, &packets: &Self::Ports, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        loop {
            let some = io.slice(packets);
            if some.is_empty() {
                return Ok(Flow::More);
            }
            for packet in some {
                match packet {
                    packet if !packet.is_sound() => self.0.broken += 1,
                    packet if packet.bytes[HOPS] == 0 => self.0.expired += 1,
                    _ => self.0.forwarded += 1,
                }
                self.0.bytes += packet.bytes.len();
            }
            let count = some.len();
            io.skip(packets, count);
        }
    }
}

fn main() -> Result<(), thalweg::Error> {
    let mut totals = Totals::default();
    let mut graph = Graph::new();
    let arrive = graph.source((0..6400).map(Packet::new));
    // On many cores; each packet stays in its block.
    let hop = graph.parallel_update(|packet: &mut Packet| {
        let hops = packet.bytes[HOPS];
        packet.bytes[HOPS] = hops.saturating_sub(1);
        packet.bytes[SUM] ^= hops ^ packet.bytes[HOPS];
    });
    let meter = graph.add(Meter(&mut totals));
    graph += arrive.fixed_bytes(96_000) >> hop;
    graph += hop.fixed_bytes(96_000) >> meter;
    let report = graph.run(Scheme::default())?;
    drop(graph);

    let Totals { forwarded, expired, broken, bytes } = totals;
    println!("{forwarded} packets forwarded, {expired} expired, {broken} broken, {bytes} bytes read in place");
    for edge in &report.edges {
        println!("{} to {}: at most {} packets at once", edge.from, edge.to, edge.peak);
    }
    Ok(())
}
