//! Messages that come in bursts, and the work at both ends: what [`incast`](crate::incast) and [`outcast`](crate::outcast) send.

use std::hint::black_box;

/// Seven floats: a line of the cache, but for eight bytes.
pub type Message = [f64; 7];

/// Work for each message, in units of ten turns of an empty loop, some nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// Before a message is sent.
    pub send: u64,
    /// After one is received.
    pub receive: u64,
    /// So many messages come slowly, with `amplitude` units more each …
    pub slow: u64,
    /// … and then so many fast, with as many less.
    pub fast: u64,
    /// By how much.
    pub amplitude: u64,
}

/// As the authors' program has it: a thousand units at both ends, and no bursts.
impl Default for Work {
    fn default() -> Self {
        Self { send: 1_000, receive: 1_000, slow: 1, fast: 1, amplitude: 0 }
    }
}

impl Work {
    /// None.
    pub const NONE: Self = Self { send: 0, receive: 0, slow: 1, fast: 1, amplitude: 0 };

    /// The units before message `number` is sent.
    ///
    /// ```
    /// # use thalweg_apps::bursts::Work;
    /// let work = Work { send: 100, slow: 2, fast: 3, amplitude: 90, ..Work::NONE };
    /// assert_eq!([0, 1, 2, 3, 4, 5].map(|number| work.before(number)), [190, 190, 10, 10, 10, 190]);
    /// ```
    pub fn before(&self, number: u64) -> u64 {
        let fast = number % (self.slow + self.fast).max(1) >= self.slow;
        if fast { self.send.saturating_sub(self.amplitude) } else { self.send.saturating_add(self.amplitude) }
    }

    /// Makes message `number`, with the work before it.
    pub(crate) fn send(&self, number: u64) -> Message {
        work(self.before(number));
        std::array::from_fn(|word| (number + word as u64) as f64)
    }

    /// Takes a message, with the work behind it.
    pub(crate) fn receive(&self, message: Message, received: &mut Received) {
        received.add(&black_box(message));
        work(self.receive);
    }
}

/// Works for so many units.
pub(crate) fn work(units: u64) {
    for turn in 0..10 * units {
        black_box(turn);
    }
}

/// What came, whatever the order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// How many messages.
    pub messages: u64,
    /// A sum over all that is in them.
    pub digest: u64,
}

impl Received {
    fn add(&mut self, message: &Message) {
        self.messages += 1;
        // Each word counts by its place, and a sum that loses its carry does not depend on the order.
        for (word, place) in message.iter().zip(1_u64..) {
            let mixed = (word.to_bits() ^ place.rotate_left(7)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            self.digest = self.digest.wrapping_add(mixed ^ (mixed >> 29));
        }
    }
}
