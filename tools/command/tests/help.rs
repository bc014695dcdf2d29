//! What the command says to `--help`: it fits the terminal, and `cargo lab --help`, which builds nothing, says the same.

use std::fs;
use std::path::Path;
use std::process::Command;

/// What `thalweg LINE --help` prints on so many columns.
fn help(line: &str, columns: usize) -> String {
    let words = line.split(' ').filter(|word| !word.is_empty());
    let output = Command::new(env!("CARGO_BIN_EXE_thalweg"))
        .args(words)
        .arg("--help")
        .env("COLUMNS", columns.to_string())
        .output()
        .unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The subcommands that a help text lists.
fn listed(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help").map(str::to_owned).collect()
}

/// A command and all below it.
fn all(line: &str, found: &mut Vec<String>) {
    found.push(line.to_owned());
    for name in listed(&help(line, 100)) {
        all(format!("{line} {name}").trim(), found);
    }
}

#[test]
fn help_fits_the_terminal_and_wraps_at_words() {
    let mut commands = Vec::new();
    all("", &mut commands);
    for line in ["run frames", "daemon status", "lab run", "sim run", "proof", "top", "report"] {
        assert!(
            cfg!(not(target_os = "linux")) || commands.iter().any(|command| command == line),
            "{line}: {commands:?}"
        );
    }
    for (command, columns) in commands.iter().flat_map(|command| [(command, 80), (command, 100)]) {
        let text = help(command, columns);
        let lines: Vec<_> = text.lines().collect();
        for pair in lines.windows(2) {
            let [line, next] = pair else { unreachable!("two of them") };
            let width = |text: &str| text.chars().count();
            assert!(width(line) <= columns || line.starts_with("Usage: "), "{command}, {columns} columns: {line}");
            // A paragraph: a word that had room stands where it had room.
            let prose = |line: &str| line.chars().next().is_some_and(|first| first != ' ') && !line.ends_with(':');
            if prose(line) && prose(next) {
                let word = next.split(' ').next().unwrap_or_default();
                assert!(width(line) + 1 + width(word) > columns, "{command}, {columns} columns: {line}\n{next}");
            }
        }
    }
}

/// With THALWEG_BLESS=1 it writes the file.
#[test]
fn the_help_that_needs_no_build_is_that_of_the_command() {
    let mut commands = Vec::new();
    ["lab", "proof", "sim"].into_iter().for_each(|tool| all(tool, &mut commands));
    let mut text = String::new();
    for command in &commands {
        // Lines that clap leaves empty have its indentation.
        let lines: Vec<_> = help(command, 80).lines().map(|line| line.trim_end().to_owned()).collect();
        text += &format!("# {command}\n{}\n\n", lines.join("\n"));
    }
    let text = text.trim_end().to_owned() + "\n";
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bench/src/catalogue/help.txt");
    if std::env::var_os("THALWEG_BLESS").is_some() {
        fs::write(&file, &text).unwrap();
    }
    let kept = fs::read_to_string(&file).unwrap();
    for (kept, text) in kept.lines().zip(text.lines()) {
        assert_eq!(kept, text, "{}: THALWEG_BLESS=1 writes it anew", file.display());
    }
    assert!(kept == text, "{}: THALWEG_BLESS=1 writes it anew", file.display());
}

/// The light program behind `cargo lab` answers from that file.
#[test]
fn questions_for_help_are_known_by_their_words() {
    use thalweg_lab::catalogue::help;

    for (tool, words, usage) in [
        ("lab", &["--help"][..], "Usage: thalweg lab <COMMAND>"),
        ("lab", &["help"], "Usage: thalweg lab <COMMAND>"),
        ("lab", &["run", "--help"], "Usage: thalweg lab run [OPTIONS] <NAME>..."),
        ("lab", &["run", "streams/pipe3", "-h"], "Usage: thalweg lab run [OPTIONS] <NAME>..."),
        ("lab", &["help", "tables"], "Usage: thalweg lab tables [OPTIONS]"),
        ("lab", &["nothing", "--help"], "Usage: thalweg lab <COMMAND>"),
        ("sim", &["run", "--help"], "Usage: thalweg sim run [OPTIONS] --on <MACHINE[:THREADS]> <NAME>..."),
        ("proof", &["bbq", "--help"], "Usage: thalweg proof [OPTIONS] [NAME]..."),
    ] {
        let text = help(tool, words).unwrap_or_else(|| panic!("{tool} {words:?}"));
        assert!(text.lines().any(|line| line == usage), "{tool} {words:?}: {text}");
    }
    for (tool, words) in
        [("lab", &["run", "streams/pipe3"][..]), ("lab", &[]), ("sim", &["list"]), ("make", &["--help"])]
    {
        assert_eq!(help(tool, words), None, "{tool} {words:?}");
    }
}
