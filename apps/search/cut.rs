//! Where a text may be cut so that searching the parts finds what searching the whole finds.
//!
//! Matches do not overlap: each is the first one at or after the end of the one before, as in `grep -o`. So whether
//! "aa" matches at a place in "aaaa…" depends on everything to its left, and a cut in the wrong place changes the
//! count. Two kinds of cut never do:
//!
//! - next to a byte that the term does not contain (a line end, most often), because no match reaches across it;
//! - at the end of a match of the search that began at the last cut, because the search goes on from there anyway.

use memchr::memchr2;
use memchr::memmem::Finder;

/// A term, prepared for searching and for cutting.
#[derive(Clone, Debug)]
pub struct Term {
    finder: Either,
    /// Whether a text must not be cut behind a byte, by byte value: if the term contains it.
    contains: [bool; 256],
}

/// How a term is found.
#[derive(Clone, Debug)]
enum Either {
    /// Byte by byte the same.
    Exact(Box<Finder<'static>>),
    /// Letters of ASCII in either case.
    AnyCase {
        term: Box<[u8]>,
        /// Which of its bytes is looked for, in both cases: the one that texts have least often.
        rare: usize,
    },
}

/// Letters by how often English has them, the most frequent one last.
const LETTERS: &[u8] = b"zqxjkvbpygfwmucldrhsnioate";

/// How often texts have a byte, roughly: letters more often than others, but for spaces and line ends.
fn frequency(byte: u8) -> usize {
    let letter = LETTERS.iter().position(|&letter| letter == byte.to_ascii_lowercase());
    letter.map_or(if byte.is_ascii_whitespace() { LETTERS.len() } else { 0 }, |place| place + 1)
}

impl Term {
    /// Prepares `term`.
    ///
    /// # Panics
    ///
    /// If `term` is empty: it would match everywhere.
    pub fn new(term: &[u8]) -> Self {
        assert!(!term.is_empty(), "an empty term matches everywhere");
        let mut contains = [false; 256];
        for &byte in term {
            contains[usize::from(byte)] = true;
        }
        Self { finder: Either::Exact(Box::new(Finder::new(term).into_owned())), contains }
    }

    /// As [`new`](Self::new), but letters of ASCII match in either case, as with `LC_ALL=C grep -i`.
    ///
    /// ```
    /// # use thalweg_apps::search::Term;
    /// assert_eq!(Term::any_case(b"ab").count(b"AB aB \xc4b"), 2);
    /// ```
    ///
    /// # Panics
    ///
    /// If `term` is empty.
    pub fn any_case(term: &[u8]) -> Self {
        let mut contains = Self::new(term).contains;
        for &byte in term {
            contains[usize::from(byte.to_ascii_lowercase())] = true;
            contains[usize::from(byte.to_ascii_uppercase())] = true;
        }
        let rare = (0..term.len()).min_by_key(|&at| frequency(term[at])).unwrap_or_default();
        Self { finder: Either::AnyCase { term: term.into(), rare }, contains }
    }

    /// The same term, for texts that are cut at line ends if they have any.
    pub(super) fn of_lines(self) -> Self {
        let mut contains = [true; 256];
        contains[usize::from(b'\n')] = false;
        Self { contains, ..self }
    }

    /// The length of the term in bytes, at least 1.
    #[expect(clippy::len_without_is_empty, reason = "a term is never empty")]
    pub fn len(&self) -> usize {
        match &self.finder {
            Either::Exact(finder) => finder.needle().len(),
            Either::AnyCase { term, .. } => term.len(),
        }
    }

    /// Where the term is in `text` for the first time.
    #[inline]
    pub(super) fn find(&self, text: &[u8]) -> Option<usize> {
        let (term, rare) = match &self.finder {
            Either::Exact(finder) => return finder.find(text),
            Either::AnyCase { term, rare } => (term, *rare),
        };
        let (small, large) = (term[rare].to_ascii_lowercase(), term[rare].to_ascii_uppercase());
        let mut from = rare;
        loop {
            let at = from + memchr2(small, large, text.get(from..)?)?;
            if text.get(at - rare..at - rare + term.len())?.eq_ignore_ascii_case(term) {
                return Some(at - rare);
            }
            from = at + 1;
        }
    }

    /// The places of the matches in `text`, from the left and without overlaps.
    pub(super) fn matches<'a>(&'a self, text: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
        let mut from = 0;
        std::iter::from_fn(move || {
            let at = from + self.find(&text[from..])?;
            from = at + self.len();
            Some(at)
        })
    }

    /// Whether the term does not contain `byte`, so that no match reaches across it.
    #[inline]
    pub(super) fn is_foreign(&self, byte: u8) -> bool {
        !self.contains[usize::from(byte)]
    }

    /// How often the term occurs in `text`, from the left and without overlaps.
    ///
    /// ```
    /// # use thalweg_apps::search::Term;
    /// assert_eq!(Term::new(b"aa").count(b"aaaaa"), 2);
    /// ```
    pub fn count(&self, text: &[u8]) -> u64 {
        match &self.finder {
            Either::Exact(finder) => finder.find_iter(text).count() as u64,
            Either::AnyCase { .. } => self.matches(text).count() as u64,
        }
    }

    /// The length of the longest prefix of `text` that can be searched by itself, given that `text` starts at a cut
    /// or at the start of a file. What is left belongs in front of the text that follows.
    ///
    /// At least 1 if `text` is at least as long as the term. Looks at few bytes unless `text` ends in a long stretch of
    /// the term's own bytes; searches `text` if it has no others at all.
    ///
    /// ```
    /// # use thalweg_apps::search::Term;
    /// let term = Term::new(b"aa");
    /// assert_eq!(term.cut(b"banana split, aaa"), "banana split, ".len());
    /// assert_eq!(term.cut(b"aaaaa"), 4);
    /// ```
    pub fn cut(&self, text: &[u8]) -> usize {
        if let Some(foreign) = text.iter().rposition(|&byte| self.is_foreign(byte)) {
            return foreign + 1;
        }
        let end_of_last_match = self.matches(text).last().map_or(0, |start| start + self.len());
        // No further match starts before the last `len - 1` bytes, or the search had found it.
        end_of_last_match.max(text.len().saturating_sub(self.len() - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition, written as plainly as possible.
    fn naive(term: &[u8], text: &[u8]) -> u64 {
        let (mut at, mut count) = (0, 0);
        while at + term.len() <= text.len() {
            if &text[at..at + term.len()] == term {
                count += 1;
                at += term.len();
            } else {
                at += 1;
            }
        }
        count
    }

    /// All texts over the alphabet "abx" up to length 9, with all terms over "ab" up to length 3, cut at every `step`.
    #[test]
    fn counting_the_parts_equals_counting_the_whole() {
        let words = |letters: &[u8], longest: u32| {
            let letters = letters.to_vec();
            (1..=longest).flat_map(move |len| {
                let letters = letters.clone();
                (0..letters.len().pow(len)).map(move |mut index| {
                    (0..len)
                        .map(|_| {
                            let letter = letters[index % letters.len()];
                            index /= letters.len();
                            letter
                        })
                        .collect::<Vec<u8>>()
                })
            })
        };
        for word in words(b"ab", 3) {
            let term = Term::new(&word);
            for text in words(b"abx", 9) {
                let expected = naive(&word, &text);
                assert_eq!(term.count(&text), expected);
                for size in word.len()..=4 {
                    let (mut start, mut count) = (0, 0);
                    while text.len() - start > size {
                        let cut = term.cut(&text[start..start + size]);
                        assert!(cut > 0, "no progress");
                        count += term.count(&text[start..start + cut]);
                        start += cut;
                    }
                    count += term.count(&text[start..]);
                    assert_eq!(count, expected, "{word:?} in {text:?} by {size}");
                }
            }
        }
    }

    #[test]
    fn either_case_is_found_where_the_small_letters_are() {
        let mut random = fastrand::Rng::with_seed(3);
        for _ in 0..20_000 {
            let mut random_text = |len| (0..len).map(|_| *random.choice(b"abAB@`z ").unwrap()).collect::<Vec<u8>>();
            let (word, text) = (random_text(3), random_text(30));
            let small = Term::new(&word.to_ascii_lowercase());
            let expected: Vec<_> = small.matches(&text.to_ascii_lowercase()).collect();
            let term = Term::any_case(&word);
            assert_eq!(term.matches(&text).collect::<Vec<_>>(), expected, "{word:?} in {text:?}");
            assert!(word.iter().all(|&byte| !term.is_foreign(byte.to_ascii_uppercase())));
        }
    }

    #[test]
    #[should_panic(expected = "matches everywhere")]
    fn an_empty_term_is_refused() {
        Term::new(b"");
    }
}
