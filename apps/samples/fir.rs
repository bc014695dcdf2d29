//! The sum that all filters with taps are made of.

/// The sum of the products of a window and taps, as many of each.
///
/// Eight sums that do not wait for each other, in an order that does not depend on the machine.
#[inline]
pub(crate) fn dot(window: &[f32], taps: &[f32]) -> f32 {
    const LANES: usize = 8;
    let ((windows, rest), (groups, last)) = (window.as_chunks::<LANES>(), taps.as_chunks::<LANES>());
    let mut lanes = [0.0; LANES];
    for (samples, taps) in windows.iter().zip(groups) {
        for lane in 0..LANES {
            lanes[lane] += samples[lane] * taps[lane];
        }
    }
    let sum: f32 = lanes.iter().sum();
    rest.iter().zip(last).fold(sum, |sum, (sample, tap)| sum + sample * tap)
}
