//! Which pictures there are, and where their results go.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use walkdir::WalkDir;

use crate::{Error, Result};

/// A picture to work on.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    /// The file.
    pub(crate) input: PathBuf,
    /// The file to write.
    pub(crate) output: PathBuf,
}

/// All pictures in `inputs`, files and folders, with names in the folder `output` of which no two are alike.
///
/// In a folder these are the files that end as PNG and JPEG files do, in the order of their names, but not what is in
/// `output`.
///
/// # Errors
///
/// [`Error::Refused`] if there is none, or if a result would replace one of them; [`Error::File`] if an input is not
/// there.
pub(crate) fn list(inputs: &[PathBuf], output: &Path) -> Result<Vec<Job>> {
    let results = fs::canonicalize(output).ok();
    let (mut jobs, mut names) = (Vec::new(), HashSet::new());
    for input in inputs {
        let metadata = input.metadata().map_err(|error| Error::file("open", input, error))?;
        let top = if metadata.is_dir() { input.as_path() } else { input.parent().unwrap_or(Path::new("")) };
        let walk = WalkDir::new(input).follow_root_links(true).sort_by_file_name().into_iter();
        let is_result = |path: &Path| path != input && results.is_some() && fs::canonicalize(path).ok() == results;
        for entry in walk.filter_entry(|entry| !(entry.file_type().is_dir() && is_result(entry.path()))) {
            let entry = entry.map_err(|error| {
                let path = error.path().unwrap_or(input).to_owned();
                Error::file("open", &path, error.into())
            })?;
            let path = entry.path();
            if path == input && !metadata.is_dir() || entry.file_type().is_file() && is_picture(path) {
                let name = free_name(path.strip_prefix(top).unwrap_or(path), &mut names);
                jobs.push(Job { input: path.to_owned(), output: output.join(name) });
            }
        }
    }
    if jobs.is_empty() {
        let inputs: Vec<_> = inputs.iter().map(|input| input.display().to_string()).collect();
        let inputs = inputs.join(", ");
        return Err(Error::Refused(format!("there is no .png, .jpg or .jpeg in {inputs}; name a file to take it")));
    }
    let sources: HashSet<_> = jobs.iter().filter_map(|job| fs::canonicalize(&job.input).ok()).collect();
    let replaced = jobs.iter().find(|job| fs::canonicalize(&job.output).is_ok_and(|path| sources.contains(&path)));
    match replaced {
        Some(job) => Err(Error::Refused(format!(
            "{} is an input, and a result would replace it; choose another output folder",
            job.output.display()
        ))),
        None => Ok(jobs),
    }
}

fn is_picture(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    ["png", "jpg", "jpeg"].iter().any(|known| known.eq_ignore_ascii_case(ending))
}

/// The name of the PNG file for a picture: `a.jpg` becomes `a.png`, or `a-2.png` if there was an `a.png` already.
fn free_name(name: &Path, names: &mut HashSet<PathBuf>) -> PathBuf {
    let stem = name.file_stem().unwrap_or_default().to_owned();
    let mut number = 1;
    loop {
        let mut file = stem.clone();
        if number > 1 {
            file.push(format!("-{number}"));
        }
        file.push(".png");
        let name = name.with_file_name(file);
        if names.insert(name.clone()) {
            return name;
        }
        number += 1;
    }
}

/// Writes a file, and the folders it is in. One that could not be written whole is taken away.
pub(crate) fn store(path: &Path, bytes: &[u8]) -> Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|error| Error::file("create", folder, error))?;
    }
    fs::write(path, bytes).map_err(|error| {
        if path.is_file() {
            let _ = fs::remove_file(path);
        }
        Error::file("write", path, error)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_have_names_of_their_own_and_replace_no_input() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::create_dir_all(path("in/deep")).unwrap();
        fs::create_dir_all(path("in/out")).unwrap();
        for name in ["in/a.jpg", "in/a.PNG", "in/notes.txt", "in/deep/a.jpeg", "in/out/old.png"] {
            fs::write(path(name), "").unwrap();
        }
        let names = |inputs: &[PathBuf], output: &str| -> Vec<String> {
            let jobs = list(inputs, &path(output)).unwrap();
            jobs.iter().map(|job| job.output.strip_prefix(path(output)).unwrap().display().to_string()).collect()
        };
        assert_eq!(names(&[path("in")], "in/out"), ["a.png", "a-2.png", "deep/a.png"]);
        assert_eq!(names(&[path("in/notes.txt"), path("in/deep")], "out"), ["notes.png", "a.png"]);
        let refused = |inputs: &[PathBuf], output: &str| list(inputs, &path(output)).unwrap_err().to_string();
        assert!(refused(&[path("in/out")], "in/out").contains("would replace it"));
        fs::create_dir(path("empty")).unwrap();
        assert!(refused(&[path("empty")], "out").contains("there is no .png"));
        assert!(refused(&[path("missing")], "out").starts_with("cannot open"));
    }
}
