//! What the pages say is what was measured.
#![cfg(feature = "tables")]

use std::path::Path;

use thalweg_lab::tables::pages;

#[test]
fn every_table_is_what_the_data_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for page in pages(&root).unwrap_or_else(|error| panic!("{error}")) {
        let name = page.path.file_name().unwrap_or_default().display();
        for (at, (is, should_be)) in page.is.lines().zip(page.should_be.lines()).enumerate() {
            assert_eq!(is, should_be, "{name}, line {}: `cargo lab tables` writes it anew", at + 1);
        }
        assert!(page.is == page.should_be, "{name}: `cargo lab tables` writes it anew");
    }
}
