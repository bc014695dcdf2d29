//! The header in the repository is the one that the sources make.

use std::path::Path;

#[test]
fn is_up_to_date() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = root.join("include/thalweg_queue.h");
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml")).unwrap();
    // Files one by one, in the order in which a reader wants them: the generator is not to ask Cargo for anything.
    let sources = ["status", "build", "spsc", "bbq", "records", "bwos"];
    let builder = sources.iter().fold(cbindgen::Builder::new().with_config(config), |builder, name| {
        builder.with_src(root.join(format!("src/{name}.rs")))
    });
    let mut generated = Vec::new();
    builder.generate().unwrap().write(&mut generated);
    if std::env::var_os("UPDATE_HEADER").is_some() {
        std::fs::write(&path, &generated).unwrap();
    }
    let checked_in = std::fs::read(&path).unwrap_or_default();
    assert!(
        checked_in == generated,
        "include/thalweg_queue.h is stale: UPDATE_HEADER=1 cargo test -p thalweg-queue-c --test header",
    );
}
