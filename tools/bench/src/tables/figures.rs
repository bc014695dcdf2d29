//! What is published of a figure on a modelled machine: curves, each of a paper's numbers beside ours, and rows that somebody wrote.
//!
//! | line | has | becomes |
//! |---|---|---|
//! | a curve | `workload`, `contender`, `unit`, `points`, `medians` | a record for each point; `of` is its workload and its point |
//! | a number | `claim`, `paper`, `here`, `within`, and `at_most` if the paper has a bound | a line in the row that names it |
//! | a written row | `figure`, `because`, and `claims`: the numbers it is about, or `all`; without them the words of both, `paper` and `here` | a row of a list |
//!
//! The first row of a list says what runs the figure. Numbers that no row names have a row of their own.

use std::collections::BTreeSet;

use super::data::{Fields, Run};
use crate::report::verdict::{comes_out, number as digits};

/// The records for a table of cells.
pub(super) fn cells(run: &mut Run) -> Result<(), String> {
    let mut cells = Vec::new();
    for record in std::mem::take(&mut run.records) {
        if record.contains_key("claim") || record.contains_key("figure") {
            continue;
        }
        let Some(medians) = record.get("medians") else {
            cells.push(record);
            continue;
        };
        let medians: Vec<f64> =
            serde_json::from_str(medians).map_err(|error| format!("`{medians}` is no list of numbers: {error}"))?;
        let points = texts(record.get("points").ok_or("a curve has no `points`")?)?;
        let workload = record.get("workload").cloned().unwrap_or_default();
        for (point, median) in points.into_iter().zip(medians) {
            let mut cell = record.clone();
            let of = if point.is_empty() { workload.clone() } else { format!("{workload}, {point}") };
            cell.extend([("of", of), ("point", point), ("median", digits(median))].map(|(k, v)| (k.to_owned(), v)));
            cells.push(cell);
        }
    }
    run.records = cells;
    Ok(())
}

/// A paper's number and ours.
struct Number {
    claim: String,
    paper: f64,
    here: f64,
    within: f64,
    at_most: bool,
}

impl Number {
    /// What it is of, the paper's, ours, and what becomes of it.
    fn cells(&self) -> [String; 4] {
        let Self { claim, paper, here, within, at_most } = self;
        let fits = *at_most && here <= paper || comes_out(*paper, *here, *within);
        let bound = if *at_most { "at most " } else { "" };
        let word = if fits { "comes out" } else { "differs" };
        [claim.trim_end_matches(',').to_owned(), format!("{bound}{paper}"), digits(*here), word.to_owned()]
    }
}

/// The rows of a list. What is no figure stays as it is.
pub(super) fn rows(run: &mut Run) -> Result<(), String> {
    let is_of_figure = |record: &Fields| record.contains_key("claim") || record.contains_key("medians");
    if !run.records.iter().any(is_of_figure) {
        return Ok(());
    }
    let (mut numbers, mut rows) = (Vec::new(), Vec::new());
    for record in std::mem::take(&mut run.records) {
        if record.contains_key("claim") {
            let line = serde_json::to_string(&record).expect("fields are text");
            numbers.push(number(&record).map_err(|error| format!("{line}: {error}"))?);
        } else if !is_of_figure(&record) {
            rows.push(record);
        }
    }
    let mut named: BTreeSet<&str> = BTreeSet::new();
    for row in &mut rows {
        let of_row: Vec<&Number> = match row.get("claims").map(String::as_str) {
            None => Vec::new(),
            Some("all") => numbers.iter().collect(),
            Some(names) => {
                let find = |name: &String| {
                    let found = numbers.iter().find(|number| number.claim == *name);
                    found
                        .ok_or_else(|| format!("no number of the figure is `{name}`; publish it anew, or name another"))
                };
                texts(names)?.iter().map(find).collect::<Result<_, _>>()?
            }
        };
        named.extend(of_row.iter().map(|number| number.claim.as_str()));
        fill(row, &of_row);
    }
    let others: Vec<&Number> = numbers.iter().filter(|number| !named.contains(number.claim.as_str())).collect();
    if !others.is_empty() {
        let mut row = Fields::from([("figure".to_owned(), String::new())]);
        fill(&mut row, &others);
        rows.push(row);
    }
    let arguments = run.head.remove("command").unwrap_or_default();
    let arguments = arguments.trim_start_matches("cargo lab run ");
    if let Some(figure) = rows.first_mut().and_then(|row| row.get_mut("figure")) {
        *figure = if figure.is_empty() { format!("`{arguments}`") } else { format!("{figure}: `{arguments}`") };
    }
    run.records = rows;
    Ok(())
}

fn number(record: &Fields) -> Result<Number, String> {
    let of = |field: &str| record.get(field).ok_or_else(|| format!("it has no `{field}`"));
    let figure = |field: &str| of(field)?.parse().map_err(|error| format!("`{field}`: {error}"));
    let at_most = record.get("at_most").is_some_and(|word| word == "true");
    Ok(Number {
        claim: of("claim")?.clone(),
        paper: figure("paper")?,
        here: figure("here")?,
        within: figure("within")?,
        at_most,
    })
}

/// Puts the numbers into their row, a line each.
fn fill(row: &mut Fields, numbers: &[&Number]) {
    if numbers.is_empty() {
        return;
    }
    for (at, field) in ["number", "paper", "here", "verdict"].into_iter().enumerate() {
        let lines: Vec<String> = numbers.iter().map(|number| number.cells()[at].clone()).collect();
        row.insert(field.to_owned(), lines.join("<br>"));
    }
}

fn texts(list: &str) -> Result<Vec<String>, String> {
    serde_json::from_str(list).map_err(|error| format!("`{list}` is no list of texts: {error}"))
}

#[cfg(test)]
mod tests {
    use super::super::layout::table;

    fn of(lines: &[&str], mark: &str) -> Result<String, String> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("m")).unwrap();
        std::fs::write(folder.path().join("m/f.jsonl"), lines.join("\n")).unwrap();
        table(folder.path(), mark)
    }

    const HEAD: &str = r#"{"date":"2026-11-30","command":"cargo lab run f --on m"}"#;
    const NUMBERS: [&str; 3] = [
        r#"{"claim":"simple","paper":4,"here":3,"within":0.3}"#,
        r#"{"claim":"costs, %,","paper":2,"here":0.1,"within":0.1,"at_most":true}"#,
        r#"{"claim":"complex","paper":4,"here":8,"within":0.3}"#,
    ];
    const CURVE: &str = r#"{"workload":"w","contender":"c","unit":"ns","points":["1","2"],"medians":[1.5,30]}"#;
    const LIST: &str = "m/f: list figure, number, paper, here, verdict, because";

    #[test]
    fn a_row_has_the_numbers_it_names_and_the_others_have_one_of_their_own() {
        let [simple, costs, complex] = NUMBERS;
        let row = r#"{"figure":"1","claims":["simple","costs, %,"],"because":"so"}"#;
        let words = r#"{"figure":"the same","paper":"more","here":"less"}"#;
        let text = of(&[HEAD, simple, costs, complex, CURVE, row, words], LIST).unwrap();
        let expected = "2026-11-30.\n\n| figure | number | paper | here | verdict | because |\n|---|---|---|---|---|---|\n\
                        | 1: `f --on m` | simple<br>costs, % | 4<br>at most 2 | 3.00<br>0.100 | comes out<br>comes out | so |\n\
                        | the same | | more | less | |  |\n\
                        | | complex | 4 | 8.00 | differs | |\n";
        assert_eq!(text, expected);
        let alone = of(&[HEAD, complex], LIST).unwrap();
        assert!(alone.ends_with("| `f --on m` | complex | 4 | 8.00 | differs | |\n"), "{alone}");
        let all = of(&[HEAD, complex, r#"{"figure":"1","claims":"all"}"#], LIST).unwrap();
        assert!(all.ends_with("| 1: `f --on m` | complex | 4 | 8.00 | differs | |\n"), "{all}");
    }

    #[test]
    fn a_number_that_is_not_there_is_told() {
        let error = of(&[HEAD, NUMBERS[0], r#"{"figure":"1","claims":["simply"]}"#], LIST).unwrap_err();
        assert!(error.contains("no number of the figure is `simply`"), "{error}");
        let error = of(&[HEAD, r#"{"claim":"simple","paper":4}"#], LIST).unwrap_err();
        assert!(error.contains("it has no `here`"), "{error}");
    }

    #[test]
    fn points_of_curves_are_cells() {
        let row = r#"{"figure":"1"}"#;
        let table = of(&[HEAD, NUMBERS[0], CURVE, row], "m/f [unit=ns]: contender by point").unwrap();
        assert!(table.starts_with("ns; 2026-11-30; `cargo lab run f --on m`.\n"), "{table}");
        assert!(table.ends_with("| contender | 1 | 2 |\n|---|---|---|\n| c | 1.50 | 30.0 |\n"), "{table}");
        let table = of(&[HEAD, CURVE], "m/f: of by contender").unwrap();
        assert!(table.ends_with("| of | c |\n|---|---|\n| w, 1 | 1.50 |\n| w, 2 | 30.0 |\n"), "{table}");
    }
}
