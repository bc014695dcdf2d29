//! One program, so that what all of these use is compiled and linked once. What counts the memory of its process is alone in a program:
//! `claims.rs`, `frames_memory.rs`.

mod casts;
mod edges;
mod fft;
mod filterbank;
mod fir;
mod fm;
mod frames;
mod fuzz;
mod gaussian;
mod inputs;
mod live;
mod mergesort;
mod networks;
mod packets;
mod search;
mod srad;
mod tde;
mod watch;

/// A file that nothing names would be left out without a word.
#[test]
fn every_file_is_run() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests");
    let (modules, programs) = (include_str!("main.rs"), include_str!("../Cargo.toml"));
    for file in std::fs::read_dir(folder).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        let name = name.trim_end_matches(".rs");
        let named = modules.contains(&format!("\nmod {name};")) || programs.contains(&format!("\nname = \"{name}\""));
        assert!(name == "main" || named, "{folder}/main.rs lacks `mod {name};`");
    }
}
