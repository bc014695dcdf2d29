#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| thalweg_apps::fuzz::filters(data));
