//! What a fuzzer calls.

use std::io::Cursor;

use super::{Raw, Samples, wav};

/// Takes any bytes for a WAV file: its header is refused, or as many samples come as it says and there are.
pub(crate) fn wav(data: &[u8]) {
    let mut file = Cursor::new(data.to_vec());
    let Ok(header) = wav::header(&mut file) else { return };
    let wav::Header { rate, channels, form, start, bytes } = header;
    assert!(rate > 0 && channels > 0 && start <= data.len() as u64);
    let Ok(mut samples) = Samples::new(Box::new(file), Raw { rate, form, channels }, bytes, None) else { return };
    let there = (data.len() as u64 - start) / form.bytes() as u64;
    let expected = samples.count.unwrap_or(u64::MAX).min(there);
    assert_eq!(samples.by_ref().take_while(Result::is_ok).count() as u64, expected);
}
