//! `streams/build`: how long one waits after changing a kernel.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use serde_json::json;

use crate::harness::{BoxError, Contender, Effort, Experiment, Group, Role::*, Sample};

/// The entry for the registry.
pub const EXPERIMENT: Experiment = Experiment { name: "streams/build", plan };

const KERNELS: usize = 30;

fn plan(_effort: &Effort) -> Result<Vec<Group>, BoxError> {
    let scratch = Arc::new(Scratch::new()?);
    let mut contenders = Vec::new();
    for (name, profile) in [("thalweg, debug", "dev"), ("thalweg, release", "release")] {
        // Everything the program depends on is built here, before the clock.
        scratch.build(profile)?;
        let scratch = Arc::clone(&scratch);
        let mut changes = 0;
        let params = json!({ "kernels": KERNELS, "profile": profile, "change": "a constant in one kernel" });
        contenders.push(Contender::new(Ours, name, params, move || {
            changes += 1;
            scratch.write_program(changes)?;
            let start = Instant::now();
            scratch.build(profile)?;
            Ok(Sample { figures: vec![start.elapsed().as_secs_f64()], cpus: None })
        }));
    }
    Ok(vec![Group::new("30 kernels, one changed", &["s"], contenders)])
}

/// A package of its own in a temporary directory, removed in the end.
struct Scratch {
    folder: PathBuf,
}

impl Scratch {
    fn new() -> Result<Self, BoxError> {
        let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/thalweg");
        let library = library.canonicalize().map_err(|error| {
            format!("the sources of thalweg are not where this lab was built from, {}: {error}", library.display())
        })?;
        let folder = std::env::temp_dir().join(format!("thalweg-lab-build-{}", std::process::id()));
        let scratch = Self { folder };
        std::fs::create_dir_all(scratch.folder.join("src"))?;
        std::fs::write(
            scratch.folder.join("Cargo.toml"),
            format!(
                "[package]\nname = \"scratch\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\nthalweg = {{ path = {library:?} }}\n"
            ),
        )?;
        // The versions that the workspace uses: they are on this machine already.
        let lock = library.join("../../Cargo.lock");
        if lock.exists() {
            std::fs::copy(lock, scratch.folder.join("Cargo.lock"))?;
        }
        scratch.write_program(0)?;
        Ok(scratch)
    }

    fn write_program(&self, change: u64) -> Result<(), BoxError> {
        Ok(std::fs::write(self.folder.join("src/main.rs"), program(change))?)
    }

    fn build(&self, profile: &str) -> Result<(), BoxError> {
        let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
        let output = Command::new(cargo)
            .args(["build", "--offline", "--quiet", "--profile", profile])
            .current_dir(&self.folder)
            .env("CARGO_TARGET_DIR", self.folder.join("target"))
            .env_remove("RUSTFLAGS")
            .output()?;
        match output.status.success() {
            true => Ok(()),
            false => Err(format!("the program does not compile: {}", String::from_utf8_lossy(&output.stderr)).into()),
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A folder that stays behind in the temporary directory harms nobody.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A chain of kernels in which every kernel differs from the others, one of them by `change`.
fn program(change: u64) -> String {
    let mut text = String::from(
        "use thalweg::prelude::*;\n\nfn main() -> Result<(), Box<dyn std::error::Error>> {\n    let mut sum = 0_u64;\n    let mut graph = Graph::new();\n    let k0 = graph.source(0..1000_u64);\n",
    );
    for kernel in 1..KERNELS - 1 {
        let constant = if kernel == KERNELS / 2 { change } else { kernel as u64 };
        let before = kernel - 1;
        writeln!(
            text,
            "    let k{kernel} = graph.sequential(|v: u64, out: &mut Output<u64>| {{\n        if v % {} != 1 {{\n            out.push(v.wrapping_mul({kernel}).wrapping_add({constant}));\n        }}\n    }});\n    graph += k{before} >> k{kernel};",
            kernel + 2,
        )
        .expect("a String takes everything");
    }
    let last = KERNELS - 2;
    writeln!(
        text,
        "    let sink = graph.sink(|v: u64| sum = sum.wrapping_add(v));\n    graph += k{last} >> sink;\n    graph.run(Scheme::default())?;\n    drop(graph);\n    println!(\"{{sum}}\");\n    Ok(())\n}}"
    )
    .expect("a String takes everything");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_in_one_line() {
        let (before, after) = (program(1), program(1_000_000));
        let changed = before.lines().zip(after.lines()).filter(|(before, after)| before != after).count();
        assert_eq!(changed, 1);
        assert_eq!(before.matches("graph.s").count(), KERNELS);
    }
}
