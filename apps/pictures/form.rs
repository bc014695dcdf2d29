//! PNG and JPEG.

use std::io::{self, Cursor};

use image::codecs::png::PngEncoder;
use image::metadata::Orientation;
use image::{DynamicImage, ExtendedColorType, ImageDecoder, ImageEncoder, ImageFormat, ImageReader};

use super::Picture;

/// Bytes of pixels that a byte of a file can stand for: deflate packs 1032 into one, and JPEG, at one bit for a block, fewer than 1400.
const PACKED: u64 = 2048;
/// Bytes of pixels in the largest picture that is read.
const LARGEST: u64 = 1 << 30;

impl Picture {
    /// Reads a PNG or JPEG file, and turns it the way its camera was held.
    ///
    /// # Errors
    ///
    /// The reason, and up to which byte the file was understood.
    pub fn decode(file: &[u8]) -> Result<Self, String> {
        let format = match image::guess_format(file) {
            Ok(format @ (ImageFormat::Png | ImageFormat::Jpeg)) => format,
            _ => return Err("begins as neither PNG nor JPEG does; `convert IN OUT.png` makes a PNG of it".to_owned()),
        };
        // The end of a JPEG that is cut off is made up by the decoder. A small copy inside may have an end of its own, so it
        // has to come behind all that was scanned.
        let last = |marker: u8| file.windows(2).rposition(|pair| pair == [0xff, marker]);
        if format == ImageFormat::Jpeg && last(0xd9) <= last(0xda) {
            return Err(format!("is cut off at byte {}: no end of the picture comes", file.len()));
        }
        let mut cursor = Cursor::new(file);
        let picture = Self::from_decoder(&mut cursor, format);
        picture.map_err(|error| format!("cannot be decoded at byte {} of {}: {error}", cursor.position(), file.len()))
    }

    fn from_decoder(cursor: &mut Cursor<&[u8]>, format: ImageFormat) -> image::ImageResult<Self> {
        let room = PACKED * cursor.get_ref().len() as u64;
        let mut decoder = ImageReader::with_format(cursor, format).into_decoder()?;
        // What a header says is not believed before memory is asked for it.
        let bytes = decoder.total_bytes();
        if bytes > room.min(LARGEST) {
            let (width, height) = decoder.dimensions();
            let told = format!("a picture of {width} x {height} pixels takes {bytes} bytes");
            let told = match bytes > LARGEST {
                true => format!("{told}, and at most {LARGEST} are read; scale it down"),
                false => format!("{told}, and a file of this length has at most {room}; is its header damaged?"),
            };
            return Err(image::ImageError::IoError(io::Error::other(told)));
        }
        let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
        let profile = decoder.icc_profile().unwrap_or(None);
        let mut image = DynamicImage::from_decoder(decoder)?;
        image.apply_orientation(orientation);
        let color = image.color();
        let (width, height) = (image.width() as usize, image.height() as usize);
        let channels = usize::from(color.channel_count());
        let deep = usize::from(color.bytes_per_pixel()) > channels;
        let values = match image {
            DynamicImage::ImageLuma8(image) => widened(image.into_raw()),
            DynamicImage::ImageLumaA8(image) => widened(image.into_raw()),
            DynamicImage::ImageRgb8(image) => widened(image.into_raw()),
            DynamicImage::ImageRgba8(image) => widened(image.into_raw()),
            DynamicImage::ImageLuma16(image) => image.into_raw(),
            DynamicImage::ImageLumaA16(image) => image.into_raw(),
            DynamicImage::ImageRgb16(image) => image.into_raw(),
            image => image.into_rgba16().into_raw(),
        };
        let profile = profile.filter(|profile| says(profile, channels));
        Ok(Self { width, height, channels, values, deep, profile })
    }

    /// A PNG file of it.
    ///
    /// # Errors
    ///
    /// A picture without pixels, or with more than 2^32 in a row or column.
    pub fn encode(&self) -> Result<Vec<u8>, String> {
        let mut file = Vec::new();
        let mut encoder = PngEncoder::new(&mut file);
        if let Some(profile) = &self.profile {
            encoder.set_icc_profile(profile.clone()).map_err(|error| error.to_string())?;
        }
        let values: Vec<u8> = match self.deep {
            true => self.values.iter().flat_map(|value| value.to_ne_bytes()).collect(),
            false => self.values.iter().map(|&value| narrowed(value)).collect(),
        };
        let color = match (self.channels, self.deep) {
            (1, false) => ExtendedColorType::L8,
            (2, false) => ExtendedColorType::La8,
            (3, false) => ExtendedColorType::Rgb8,
            (_, false) => ExtendedColorType::Rgba8,
            (1, true) => ExtendedColorType::L16,
            (2, true) => ExtendedColorType::La16,
            (3, true) => ExtendedColorType::Rgb16,
            (_, true) => ExtendedColorType::Rgba16,
        };
        let side = |pixels: usize| u32::try_from(pixels).map_err(|_| format!("{pixels} pixels are too many for PNG"));
        let (width, height) = (side(self.width)?, side(self.height)?);
        encoder.write_image(&values, width, height, color).map_err(|error| error.to_string())?;
        Ok(file)
    }
}

/// Whether a profile speaks of as many colours as there are: a picture in inks was made one in light when it was read.
fn says(profile: &[u8], channels: usize) -> bool {
    profile.get(16..20) == Some(if channels < 3 { &b"GRAY"[..] } else { &b"RGB "[..] })
}

fn widened(values: Vec<u8>) -> Vec<u16> {
    values.into_iter().map(|value| u16::from(value) * 257).collect()
}

fn narrowed(value: u16) -> u8 {
    ((u32::from(value) + 128) / 257) as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pictures::synthetic;

    #[test]
    fn what_is_encoded_is_decoded() {
        for (channels, deep) in
            [(1, false), (2, false), (3, false), (4, false), (1, true), (2, true), (3, true), (4, true)]
        {
            let mut picture = synthetic::picture(7, 13, 5);
            picture.channels = channels;
            picture.deep = deep;
            picture.values.truncate(13 * 5 * channels.min(3));
            picture.values.resize(13 * 5 * channels, 0x7f7f);
            if !deep {
                picture.values.iter_mut().for_each(|value| *value = u16::from(narrowed(*value)) * 257);
            }
            let decoded = Picture::decode(&picture.encode().unwrap()).unwrap();
            assert!(decoded == picture, "{channels} channels, deep: {deep}");
        }
    }

    #[test]
    fn a_file_that_is_cut_off_is_refused_wherever_that_is() {
        let file = synthetic::picture(1, 12, 9).encode().unwrap();
        for length in 0..file.len() - 12 {
            let reason = Picture::decode(&file[..length]).unwrap_err();
            assert!(reason.contains("byte") || reason.contains("neither PNG nor JPEG"), "{length}: {reason}");
        }
    }

    #[test]
    fn a_jpeg_is_turned_as_its_camera_was_and_refused_where_it_is_cut_off() {
        let (mut file, pixels) = (Vec::new(), [10, 200, 10, 200, 10, 200].map(|grey| [grey; 4]).concat());
        image::codecs::jpeg::JpegEncoder::new(&mut file).encode(&pixels, 12, 2, ExtendedColorType::L8).unwrap();
        let upright = Picture::decode(&file).unwrap();
        assert_eq!((upright.width, upright.height, upright.channels), (12, 2, 1));
        // An EXIF header with one field, the orientation: 6, a quarter to the right. Behind it what ends a small copy.
        let exif = b"Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0\xff\xd9";
        let segment = [&[0xff, 0xe1][..], &(exif.len() as u16 + 2).to_be_bytes(), exif].concat();
        file.splice(2..2, segment);
        let turned = Picture::decode(&file).unwrap();
        assert_eq!((turned.width, turned.height), (2, 12));
        assert_eq!(turned.values[1], upright.values[0], "the left end is on top");
        assert!(Picture::decode(&file[..file.len() - 2]).unwrap_err().contains("cut off at byte"));
    }
}
