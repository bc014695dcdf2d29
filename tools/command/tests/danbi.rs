//! DANBI's applications as a user meets them: each makes up its input, works on it, and says what it did.

use std::fs;
use std::path::Path;
use std::process::Command;

/// Runs `thalweg run` with the words of `line` in `dir`: exit status, standard output, standard error.
fn run(dir: &Path, line: &str) -> (i32, String, String) {
    let output =
        Command::new(env!("CARGO_BIN_EXE_thalweg")).arg("run").args(line.split(' ')).current_dir(dir).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn gaussian_smooths_a_folder_and_tells_what_it_could_not_read() {
    let dir = tempfile::tempdir().unwrap();
    let (status, told, _) = run(dir.path(), "gaussian --generate 3 --size 40 --output sharp");
    assert_eq!((status, told.as_str()), (0, "3 made-up pictures written to sharp\n"));
    let (status, told, report) = run(dir.path(), "gaussian --input sharp --output smooth --sigma 2");
    assert_eq!(status, 0, "{report}");
    assert!(told.starts_with("3 pictures smoothed to smooth: 0.0 million pixels in "), "{told}");
    assert!(told.contains("neighbouring pixels differ by ") && report.contains("transpose back"), "{told}{report}");
    assert_eq!(fs::read_dir(dir.path().join("smooth")).unwrap().count(), 3);

    fs::write(dir.path().join("sharp/text.png"), "text").unwrap();
    let (status, told, report) = run(dir.path(), "gaussian --input sharp --output smooth");
    assert_eq!((status, &told[..2]), (2, "3 "));
    assert!(report.contains("thalweg: sharp/text.png begins as neither PNG nor JPEG does"), "{report}");
    for (line, part) in [
        ("gaussian --input sharp --output smooth --sigma 0", "from 0.1 to 1000"),
        ("gaussian --input sharp", "--output"),
        ("gaussian --output smooth", "--input"),
        ("gaussian --input - --output smooth", "`-` is not understood"),
        ("gaussian --input sharp --output sharp", "would replace it"),
    ] {
        let (status, _, told) = run(dir.path(), line);
        assert!(status == 2 && told.contains(part), "{line}: {told}");
    }
}
