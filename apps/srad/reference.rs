//! The sequential program.

use super::{Picture, image};
use crate::Result;

/// A picture without its speckle, by a sequential program: the reference for the streaming one.
///
/// # Errors
///
/// [`Error::Refused`](crate::Error::Refused) without iterations, and for a `lambda` that is not above 0 and at most 1.
pub fn reference(picture: &Picture, iterations: u32, lambda: f32) -> Result<Picture> {
    image::check(iterations, lambda)?;
    let mut result = picture.clone();
    let &Picture { width, height, channels, .. } = picture;
    for plane in 0..channels - usize::from(picture.has_opacity()) {
        let values = picture.values.iter().skip(plane).step_by(channels);
        let mut values: Vec<f32> = values.map(|&value| (f32::from(value) / 65535.0).exp()).collect();
        for _ in 0..iterations {
            step(&mut values, width, height, lambda);
        }
        for (to, value) in result.values.iter_mut().skip(plane).step_by(channels).zip(values) {
            *to = (value.ln().clamp(0.0, 1.0) * 65535.0 + 0.5) as u16;
        }
    }
    Ok(result)
}

fn step(values: &mut [f32], width: usize, height: usize, lambda: f32) {
    let (mut sum, mut squares) = (0.0_f64, 0.0_f64);
    for row in values.chunks_exact(width) {
        // Row by row, in this order: sums of floats depend on it.
        let (mut row_sum, mut row_squares) = (0.0, 0.0);
        for &value in row {
            row_sum += f64::from(value);
            row_squares += f64::from(value) * f64::from(value);
        }
        sum += row_sum;
        squares += row_squares;
    }
    let count = (width * height) as f64;
    let mean = sum / count;
    let speckle = (((squares / count - mean * mean) / (mean * mean)) as f32).max(1e-12);

    let north = |at: usize| if at < width { at } else { at - width };
    let south = |at: usize| if at + width < width * height { at + width } else { at };
    let west = |at: usize| if at.is_multiple_of(width) { at } else { at - 1 };
    let east = |at: usize| if (at + 1).is_multiple_of(width) { at } else { at + 1 };
    let differences =
        |values: &[f32], at: usize| [north(at), south(at), west(at), east(at)].map(|other| values[other] - values[at]);
    let coefficients: Vec<f32> =
        (0..values.len()).map(|at| image::coefficient(values[at], differences(values, at), speckle)).collect();
    let before = values.to_vec();
    for at in 0..values.len() {
        let [n, s, w, e] = differences(&before, at);
        let own = coefficients[at];
        let flow = own * n + coefficients[south(at)] * s + own * w + coefficients[east(at)] * e;
        values[at] = before[at] + 0.25 * lambda * flow;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::srad::speckle;

    #[test]
    fn speckle_goes_and_brightness_stays() {
        let mut random = fastrand::Rng::with_seed(9);
        let values = (0..64 * 64).map(|_| (20_000.0 * (0.9 + 0.2 * random.f64())) as u16).collect();
        let picture = Picture { width: 64, height: 64, channels: 1, values, deep: true, profile: None };
        let smooth = reference(&picture, 20, 0.5).unwrap();
        let moments = |picture: &Picture| {
            let values = picture.values.iter().map(|&value| f64::from(value));
            let mean = values.clone().sum::<f64>() / 4096.0;
            (mean, values.map(|value| (value - mean).powi(2)).sum::<f64>() / 4096.0)
        };
        let ((level, before), (now, after)) = (moments(&picture), moments(&smooth));
        assert!((level - now).abs() < 0.01 * level && after < before / 20.0, "{level} {before}, then {now} {after}");
    }

    #[test]
    fn a_plane_of_one_colour_stays_as_it_is() {
        let picture = Picture { width: 9, height: 7, channels: 1, values: vec![700; 63], deep: true, profile: None };
        assert!(reference(&picture, 50, 1.0).unwrap() == picture);
    }

    #[test]
    fn what_does_not_diffuse_is_refused() {
        let picture = speckle::picture(1, 2, 2);
        assert!(reference(&picture, 0, 0.5).unwrap_err().to_string().contains("at least one"));
        for lambda in [0.0, -1.0, 1.1, f32::NAN] {
            assert!(reference(&picture, 1, lambda).unwrap_err().to_string().contains("at most 1"));
        }
    }
}
