//! Made-up pictures, for trying things out and for tests.

use std::path::Path;

use super::{Picture, store};
use crate::Result;

/// Picture number `seed`: coloured discs on a sky that fades, 8 bits for each of three channels.
pub fn picture(seed: u64, width: usize, height: usize) -> Picture {
    let mut random = fastrand::Rng::with_seed(seed);
    let discs: Vec<([f64; 3], [f64; 3])> = (0..12)
        .map(|_| {
            let radius = 0.03 + 0.15 * random.f64();
            ([random.f64(), random.f64(), radius], [random.f64(), random.f64(), random.f64()])
        })
        .collect();
    let side = width.min(height).max(1) as f64;
    let mut values = Vec::with_capacity(width * height * 3);
    for row in 0..height {
        for column in 0..width {
            let (x, y) = (column as f64 / side, row as f64 / side);
            let sky = [0.25 + 0.5 * y, 0.45 + 0.35 * y, 0.85];
            let inside =
                discs.iter().rfind(|([left, top, radius], _)| (x - left).powi(2) + (y - top).powi(2) < radius * radius);
            let color = inside.map_or(sky, |(_, color)| *color);
            values.extend(color.map(|value| (value.clamp(0.0, 1.0) * 255.0).round() as u16 * 257));
        }
    }
    Picture { width, height, channels: 3, values, deep: false, profile: None }
}

/// Writes pictures number 0 to `count - 1`, squares of `side` pixels, as PNG files to a folder.
///
/// # Errors
///
/// [`Error::File`](crate::Error::File) if one cannot be written.
pub fn pictures(count: u64, side: usize, folder: &Path) -> Result<()> {
    (0..count).try_for_each(|seed| {
        let file = picture(seed, side, side).encode().map_err(crate::Error::Refused)?;
        store(&folder.join(format!("picture-{seed:04}.png")), &file)
    })
}
