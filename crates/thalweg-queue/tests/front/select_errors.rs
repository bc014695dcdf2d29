//! What the compiler says of a `select!` with an arm that is none.

use std::fs;
use std::process::Command;

/// An arm that is none, and what is said of it. Each stands behind one that is.
const WRONG: [(&str, &str); 8] = [
    ("recv(rx) -> item => {}", "`recv(rx) -> item => …` is `pop(rx) -> item => …` here"),
    ("send(tx, 1) -> sent => {}", "`send(tx, item) -> sent => …` is `push(tx, item) -> pushed => …` here"),
    ("default(time) => {}", "`default(time) => …` is `after(time) => …` here"),
    ("default => {}, pop(rx) -> item => {}", "`default => …` is the last arm"),
    ("get(rx) -> item => {}", ANY),
    ("pop(rx) => {}", ANY),
    ("pop(rx) if ready -> item => {}", ANY),
    ("after(time) -> () => {}", ANY),
];

/// What is said of an arm that has the form of no other channel's either.
const ANY: &str = "an arm is `pop(rx) -> item => …`, `push(tx, value) -> pushed => …`, `push_from(tx, slot) -> pushed => …`, \
                   `after(time) => …`, `at(instant) => …` or `default => …`; a condition stands before its `=>`: \
                   `pop(rx) -> item if ready => …`";

/// A program with each of them, behind the macros themselves: that they are wrong is seen before a name is looked up.
#[test]
#[cfg_attr(miri, ignore = "it runs the compiler")]
fn an_arm_that_is_none_is_told_with_the_right_one() {
    let mut program = include_str!("../../src/select/macros.rs").to_owned() + "fn main() {\n";
    for name in ["select", "select_async"] {
        WRONG.iter().for_each(|(arm, _)| program += &format!("{name}! {{ pop(rx) -> item => {{}} {arm} }}\n"));
    }
    let folder = std::env::temp_dir().join(format!("thalweg-select-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("arms.rs"), program + "}\n").unwrap();
    let args = ["--edition=2024", "--error-format=short", "arms.rs"];
    let rustc = Command::new("rustc").args(args).current_dir(&folder).output().expect("cargo runs the compiler, too");
    fs::remove_dir_all(&folder).unwrap();
    let said = String::from_utf8(rustc.stderr).unwrap();
    let told: Vec<_> = said.lines().filter_map(|line| line.split_once(": error: ").map(|(_, text)| text)).collect();
    let right: Vec<_> = WRONG.iter().chain(&WRONG).map(|(_, text)| *text).collect();
    assert_eq!(told, right, "{said}");
}
