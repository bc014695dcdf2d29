//! What becomes of a paper's number: one rule, for the figures as they run and for the tables of the pages.

/// A number that a paper has of a figure.
#[cfg(any(feature = "machines", feature = "native"))]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claim {
    /// The experiment's name.
    pub(crate) figure: &'static str,
    /// What the number is of.
    pub(crate) what: &'static str,
    pub(crate) paper: f64,
    /// The paper gives a bound: less comes out, too.
    pub(crate) at_most: bool,
    /// Ours comes out if it is off by no more than this share of the paper's.
    pub(crate) within: f64,
}

#[cfg(any(feature = "machines", feature = "native"))]
impl Claim {
    pub(crate) const fn new(figure: &'static str, what: &'static str, paper: f64, within: f64) -> Self {
        Self { figure, what, paper, at_most: false, within }
    }

    pub(crate) const fn at_most(self) -> Self {
        Self { at_most: true, ..self }
    }

    /// What becomes of it beside our number, if there is one.
    pub(crate) const fn verdict(self, here: Option<f64>) -> Verdict {
        Verdict::Of { claim: self, here }
    }
}

/// What becomes of what a paper says of a figure. As text, the line below the figure.
#[cfg(any(feature = "machines", feature = "native"))]
#[derive(Clone, Debug)]
pub(crate) enum Verdict {
    /// A number, and ours.
    Of { claim: Claim, here: Option<f64> },
    /// The paper has no number.
    Words(String),
}

#[cfg(any(feature = "machines", feature = "native"))]
impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (claim, here) = match self {
            Self::Of { claim, here } => (claim, here),
            Self::Words(words) => return f.write_str(words),
        };
        let Claim { figure, what, paper, at_most, within } = *claim;
        let (who, bound) = (who(figure), if at_most { "at most " } else { "" });
        // Without a number of ours it was not run.
        let Some(here) = here.filter(|here| here.is_finite()) else {
            return writeln!(f, "{figure}: {what}, {who} {bound}{paper}: not run");
        };
        let is_below = at_most && here <= paper;
        let word = if is_below || comes_out(paper, here, within) { "comes out" } else { "differs" };
        let (here, off) = (number(here), share(within));
        writeln!(f, "{figure}: {what} {here}, {who} {bound}{paper}: {word} ({off} off at most comes out)")
    }
}

/// Three digits, or all of the integer part, as a number.
#[cfg(feature = "machines")]
pub(crate) fn rounded(value: f64) -> f64 {
    number(value).parse().unwrap_or(value)
}

/// Whether ours is off by no more than that share of the paper's.
pub(crate) fn comes_out(paper: f64, here: f64, within: f64) -> bool {
    (here - paper).abs() <= within * paper.abs()
}

/// The line below a figure of which the paper has no number.
#[cfg(any(feature = "machines", feature = "native"))]
pub(crate) fn shown(figure: &str, what: &str, says: &str) -> Verdict {
    let what = if what.is_empty() { String::new() } else { format!("{what}, ") };
    let (who, says) = (who(figure), says.replace('\n', " "));
    Verdict::Words(format!("{figure}: {what}no number to compare in {who}: {says}\n"))
}

#[cfg(any(feature = "machines", feature = "native"))]
fn who(figure: &str) -> &'static str {
    if figure.starts_with("thesis/") { "the thesis" } else { "the paper" }
}

/// Three digits, or all of the integer part.
pub(crate) fn number(value: f64) -> String {
    match value.abs() {
        most if most >= 99.95 => format!("{value:.0}"),
        most if most >= 9.995 => format!("{value:.1}"),
        most if most >= 0.9995 || most == 0.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

#[cfg(any(feature = "machines", feature = "native"))]
fn share(within: f64) -> String {
    if within == 1.0 / 3.0 { "a third".to_owned() } else { format!("{} %", number(100.0 * within)) }
}

#[cfg(all(test, any(feature = "machines", feature = "native")))]
mod tests {
    use super::*;

    const CLAIM: Claim = Claim::new("thesis/0.0", "simple", 3.0, 1.0 / 3.0);

    /// The word of a line.
    fn word(claim: Claim, here: f64) -> &'static str {
        let line = claim.verdict(Some(here)).to_string();
        ["comes out", "differs", "not run"].into_iter().find(|word| line.contains(&format!(": {word}"))).unwrap()
    }

    #[test]
    fn what_is_off_by_the_tolerance_comes_out_and_what_is_off_by_more_differs() {
        for (here, expected) in [(1.99, "differs"), (2.0, "comes out"), (4.0, "comes out"), (4.01, "differs")] {
            assert_eq!(word(CLAIM, here), expected, "{here}");
            assert_eq!(word(Claim { paper: -3.0, ..CLAIM }, -here), expected, "-{here}");
        }
        assert_eq!(word(Claim { within: 0.0, ..CLAIM }, 3.0), "comes out");
        assert_eq!(word(CLAIM, -3.0), "differs");
    }

    #[test]
    fn of_a_bound_all_that_is_less_comes_out() {
        let bound = CLAIM.at_most();
        for (here, expected) in [(-9.0, "comes out"), (0.0, "comes out"), (4.0, "comes out"), (4.01, "differs")] {
            assert_eq!(word(bound, here), expected, "{here}");
        }
    }

    #[test]
    fn a_line_has_both_numbers_and_the_tolerance() {
        let claim = Claim { paper: 11.3, ..CLAIM };
        let line = "thesis/0.0: simple 5.80, the thesis 11.3: differs (a third off at most comes out)\n";
        assert_eq!(claim.verdict(Some(5.8)).to_string(), line);
        let paper = Claim { figure: "ff/figure8", paper: 120.0, within: 0.01, ..CLAIM }.at_most();
        let line = "ff/figure8: simple 120, the paper at most 120: comes out (1.00 % off at most comes out)\n";
        assert_eq!(paper.verdict(Some(119.96)).to_string(), line);
    }

    #[test]
    fn without_a_number_of_ours_nothing_was_run() {
        for here in [None, Some(f64::NAN), Some(f64::INFINITY)] {
            assert_eq!(CLAIM.verdict(here).to_string(), "thesis/0.0: simple, the thesis 3: not run\n");
        }
        let words = shown("thesis/0.0", "NP1C", "more\nwith larger k");
        assert_eq!(words.to_string(), "thesis/0.0: NP1C, no number to compare in the thesis: more with larger k\n");
    }
}
