//! The kernel that begins iterations.

use std::collections::HashMap;

use thalweg::prelude::*;
use thalweg_sync::sync::Arc;

use super::image::{Image, Job, Strip};
use super::{Spoiled, Work};

/// What goes through the two halves of an iteration.
pub(super) enum Step {
    /// A strip of an image.
    Strip(Job),
    /// An image that was iterated often enough, or no picture.
    Last(Box<Result<(Work, Image), Spoiled>>),
}

/// A strip that comes back.
pub(super) struct Diffused {
    pub(super) picture: u64,
    pub(super) strip: usize,
    pub(super) values: Strip,
}

/// A picture of which strips are away.
struct Away {
    work: Work,
    /// As large as the image, without strips.
    shape: Image,
    /// Those that are back.
    back: Vec<Strip>,
    missing: usize,
    iterations: u32,
}

/// Sends each picture round in strips, and waits for all of them before it sends it again: the statistics are of the
/// whole.
pub(super) struct Statistics {
    pub(super) iterations: u32,
    /// Pictures that go round at once.
    pub(super) most: usize,
    away: HashMap<u64, Away>,
    number: u64,
}

impl Statistics {
    pub(super) fn new(iterations: u32, most: usize) -> Self {
        Self { iterations, most, away: HashMap::new(), number: 0 }
    }

    /// Sends a picture round, or on.
    fn send(&mut self, ports: &StatisticsPorts, io: &mut Io<'_>, work: Work, image: Image, iterations: u32) {
        if iterations == 0 {
            io.push(ports.steps, Step::Last(Box::new(Ok((work, image)))));
            return;
        }
        let statistics = image.statistics();
        let count = image.strips();
        let each = count / statistics.len();
        let picture = self.number;
        self.number += 1;
        let image = Arc::new(image);
        for strip in 0..count {
            let (image, speckle) = (Arc::clone(&image), statistics[strip / each]);
            io.push(ports.steps, Step::Strip(Job { picture, image, strip, speckle, coefficients: Vec::new() }));
        }
        let mut back = Vec::new();
        back.resize_with(count, Strip::default);
        let shape = image.of(Vec::new());
        self.away.insert(picture, Away { work, shape, back, missing: count, iterations: iterations - 1 });
    }
}

/// The ports of [`Statistics`].
#[derive(Clone, Copy, Debug)]
pub(super) struct StatisticsPorts {
    pub(super) extracted: In<Result<(Work, Image), Spoiled>>,
    pub(super) diffused: In<Diffused>,
    pub(super) steps: Out<Step>,
}

impl Kernel for Statistics {
    type Ports = StatisticsPorts;

    fn ports(&mut self, bind: &mut Binder<'_>) -> StatisticsPorts {
        StatisticsPorts {
            extracted: bind.input("extracted"),
            diffused: bind.input("diffused"),
            steps: bind.output("steps"),
        }
    }

    fn run(&mut self, ports: &StatisticsPorts, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        while let Some(Diffused { picture, strip, values }) = io.pop(ports.diffused) {
            let away = self.away.get_mut(&picture).ok_or("a strip came back of a picture that was never sent")?;
            away.back[strip] = values;
            away.missing -= 1;
            if away.missing == 0
                && let Some(Away { work, shape, back, iterations, .. }) = self.away.remove(&picture)
            {
                self.send(ports, io, work, shape.of(back), iterations);
            }
        }
        while self.away.len() < self.most
            && let Some(extracted) = io.pop(ports.extracted)
        {
            match extracted {
                Ok((work, image)) => self.send(ports, io, work, image, self.iterations),
                Err(spoiled) => io.push(ports.steps, Step::Last(Box::new(Err(spoiled)))),
            }
        }
        Ok(if io.is_ended(ports.extracted) && self.away.is_empty() { Flow::Done } else { Flow::More })
    }
}
