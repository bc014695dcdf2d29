//! The stages of the chain: plain functions of blocks.

use std::f64::consts::TAU;

use crate::{Error, Result};

/// A complex number: its real and its imaginary part.
pub type Complex = [f32; 2];

/// How large a block is, and how it is delayed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size {
    /// Range gates: numbers that a pulse gives.
    pub gates: usize,
    /// Pulses in a block.
    pub pulses: usize,
    /// By how many gates, whole or not, each pulse is delayed.
    pub delay: f64,
}

impl Default for Size {
    /// The benchmark's 36 gates and 15 pulses, not delayed.
    fn default() -> Self {
        Self { gates: 36, pulses: 15, delay: 0.0 }
    }
}

impl Size {
    /// Numbers in a block.
    pub fn block(&self) -> usize {
        self.gates * self.pulses
    }

    /// Points of the transform: a power of two.
    pub fn points(&self) -> usize {
        self.gates.next_power_of_two()
    }

    /// All stages in their order, and their names. What comes out is `gain` times what went in, and later.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] if there are not 3 to 16384 gates and 1 to 1024 pulses, or the delay is more than a pulse has
    /// room for.
    pub fn stages(&self, gain: f64) -> Result<Vec<(String, Stage)>> {
        let &Self { gates, pulses, delay } = self;
        if !(3..=16_384).contains(&gates) || !(1..=1_024).contains(&pulses) {
            return Err(Error::Refused(format!(
                "{gates} gates and {pulses} pulses; take 3 to 16384 gates and 1 to 1024 pulses"
            )));
        }
        let points = self.points();
        let room = points - gates;
        if delay.is_nan() || delay.abs() > room as f64 {
            return Err(Error::Refused(format!(
                "a delay of {delay} gates; {gates} gates are transformed as {points}, so choose one from -{room} to {room}"
            )));
        }
        let mut stages = vec![
            ("transpose".to_owned(), Stage::Transpose { rows: gates, columns: pulses }),
            ("pad".to_owned(), Stage::Resize { from: gates, to: points }),
        ];
        let sizes = |from: usize| (1..).map(move |level| from << level).take_while(move |&size| size <= points);
        let transform = |stages: &mut Vec<_>, what: &str, sign: f64| {
            let reorders = sizes(2).collect::<Vec<_>>().into_iter().rev();
            stages.extend(reorders.map(|size| (format!("{what}reorder {size}"), Stage::Reorder(size))));
            stages.extend(sizes(1).map(|size| (format!("{what}combine {size}"), Stage::combine(size, sign))));
        };
        transform(&mut stages, "", -1.0);
        stages.push(("multiply".to_owned(), Stage::delay(points, delay, gain / points as f64)));
        transform(&mut stages, "inverse ", 1.0);
        stages.push(("cut".to_owned(), Stage::Resize { from: points, to: gates }));
        stages.push(("transpose back".to_owned(), Stage::Transpose { rows: pulses, columns: gates }));
        Ok(stages)
    }
}

/// One stage. It takes a block of [`input`](Self::input) numbers at a time.
#[derive(Clone, Debug)]
pub enum Stage {
    /// Turns rows into columns.
    Transpose {
        /// How many rows come.
        rows: usize,
        /// Numbers in each.
        columns: usize,
    },
    /// Puts zeros behind, or cuts off.
    Resize {
        /// Numbers that come.
        from: usize,
        /// Numbers that go.
        to: usize,
    },
    /// Numbers with even places first.
    Reorder(usize),
    /// Two transforms become one of twice the size. There is a root of one for each number of them.
    Combine(Vec<Complex>),
    /// Each number times a factor of its own.
    Multiply(Vec<Complex>),
}

impl Stage {
    fn combine(size: usize, sign: f64) -> Self {
        Self::Combine((0..size / 2).map(|number| turn(sign * number as f64 / size as f64)).collect())
    }

    fn delay(points: usize, delay: f64, gain: f64) -> Self {
        let factor = |number: usize| {
            // The upper half of frequencies are those below zero; the one in the middle is both.
            let frequency = if number > points / 2 { number as f64 - points as f64 } else { number as f64 };
            let [real, imaginary] = turn(-frequency * delay / points as f64);
            let imaginary = if 2 * number == points { 0.0 } else { imaginary };
            [real, imaginary].map(|part| part * gain as f32)
        };
        Self::Multiply((0..points).map(factor).collect())
    }

    /// How many numbers it takes at a time.
    pub fn input(&self) -> usize {
        match *self {
            Self::Transpose { rows, columns } => rows * columns,
            Self::Resize { from, .. } => from,
            Self::Reorder(size) => size,
            Self::Combine(ref roots) => 2 * roots.len(),
            Self::Multiply(ref factors) => factors.len(),
        }
    }

    /// What becomes of a block.
    pub fn apply(&self, block: &[Complex], mut give: impl FnMut(Complex)) {
        match *self {
            Self::Transpose { rows, columns } => {
                (0..columns).for_each(|column| (0..rows).for_each(|row| give(block[row * columns + column])));
            }
            Self::Resize { from, to } => (0..to).for_each(|at| give(if at < from { block[at] } else { [0.0; 2] })),
            Self::Reorder(size) => {
                (0..size).step_by(2).chain((1..size).step_by(2)).for_each(|at| give(block[at]));
            }
            Self::Combine(ref roots) => {
                let (low, high) = block.split_at(roots.len());
                let turned = || high.iter().zip(roots).map(|(&number, &root)| product(number, root));
                low.iter().zip(turned()).for_each(|(low, high)| give([low[0] + high[0], low[1] + high[1]]));
                low.iter().zip(turned()).for_each(|(low, high)| give([low[0] - high[0], low[1] - high[1]]));
            }
            Self::Multiply(ref factors) => {
                block.iter().zip(factors).for_each(|(&number, &factor)| give(product(number, factor)));
            }
        }
    }
}

fn product(left: Complex, right: Complex) -> Complex {
    [left[0] * right[0] - left[1] * right[1], left[0] * right[1] + left[1] * right[0]]
}

/// The number on the unit circle after so many turns to the left.
fn turn(turns: f64) -> Complex {
    let (sin, cos) = (TAU * turns).sin_cos();
    [cos as f32, sin as f32]
}

/// All blocks by a sequential program, stage after stage: the reference for the streaming one. Zeros fill the last block.
///
/// # Errors
///
/// As [`Size::stages`].
pub fn reference(samples: &[f32], size: Size, gain: f64) -> Result<Vec<Complex>> {
    let mut numbers: Vec<Complex> = samples.iter().map(|&sample| [sample, 0.0]).collect();
    numbers.resize(samples.len().next_multiple_of(size.block().max(1)), [0.0; 2]);
    for (_, stage) in size.stages(gain)? {
        let mut results = Vec::new();
        numbers.chunks_exact(stage.input()).for_each(|block| stage.apply(block, |number| results.push(number)));
        numbers = results;
    }
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pulses_come_later_by_so_many_gates() {
        for (gates, pulses, delay) in [(36, 15, 0), (36, 15, 3), (36, 2, -20), (5, 1, 1), (64, 3, 0)] {
            let size = Size { gates, pulses, delay: f64::from(delay) };
            let samples: Vec<f32> = (0..2 * size.block()).map(|n| ((n * n) as f32).sin()).collect();
            let numbers = reference(&samples, size, 0.5).unwrap();
            assert_eq!(numbers.len(), samples.len());
            for (at, number) in numbers.iter().enumerate() {
                let (block, gate, pulse) = (at / size.block(), at % size.block() / pulses, at % pulses);
                let from = usize::try_from(gate as i32 - delay).ok().filter(|&from| from < gates);
                let expected = from.map_or(0.0, |from| 0.5 * samples[block * size.block() + from * pulses + pulse]);
                assert!((number[0] - expected).abs() < 1e-5 && number[1].abs() < 1e-5, "{size:?}, {at}: {number:?}");
            }
        }
    }

    #[test]
    fn half_a_gate_later_is_in_between() {
        // A slow wave, far from the borders.
        let wave = |gate: f64| (-((gate - 18.0) / 5.0).powi(2)).exp();
        let samples: Vec<f32> = (0..36).map(|gate| wave(f64::from(gate)) as f32).collect();
        let size = Size { gates: 36, pulses: 1, delay: 0.5 };
        for (gate, number) in reference(&samples, size, 1.0).unwrap().into_iter().enumerate() {
            let expected = wave(gate as f64 - 0.5);
            assert!((f64::from(number[0]) - expected).abs() < 1e-4 && number[1].abs() < 1e-4, "{gate}: {number:?}");
        }
    }

    #[test]
    fn other_sizes_are_refused() {
        for (gates, pulses, delay, part) in [
            (2, 15, 0.0, "3 to 16384 gates"),
            (36, 0, 0.0, "1 to 1024 pulses"),
            (36, 15, 29.0, "from -28 to 28"),
            (36, 15, f64::NAN, "from -28 to 28"),
        ] {
            let refused = Size { gates, pulses, delay }.stages(1.0).unwrap_err().to_string();
            assert!(refused.contains(part), "{refused}");
        }
    }
}
