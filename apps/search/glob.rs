//! Names of files by a pattern, as shells have them.

/// Whether `name` fits `glob`: `*` is any text, `?` one byte, `[a-z]` one of these and `[!a-z]` one of the others, `\` takes the next byte as it is.
///
/// ```
/// # use thalweg_apps::search::fits;
/// assert!(fits(b"*.[ch]", b"main.c") && !fits(b"*.[!ch]", b"main.c"));
/// ```
pub fn fits(glob: &[u8], name: &[u8]) -> bool {
    let (mut pattern, mut text) = (0, 0);
    // Where the last star is, and how far the text it stands for goes. Only this star is ever tried again: what is
    // between two stars fits best where it fits first.
    let mut star: Option<(usize, usize)> = None;
    while text < name.len() {
        let step = match glob.get(pattern) {
            Some(b'*') => {
                star = Some((pattern + 1, text));
                pattern += 1;
                continue;
            }
            Some(_) => one(&glob[pattern..], name[text]),
            None => None,
        };
        match (step, star) {
            (Some(length), _) => {
                pattern += length;
                text += 1;
            }
            (None, Some((behind, taken))) => {
                (pattern, text) = (behind, taken + 1);
                star = Some((behind, taken + 1));
            }
            (None, None) => return false,
        }
    }
    glob[pattern..].iter().all(|&byte| byte == b'*')
}

/// How long the pattern for one byte at the start of `glob` is, if `byte` fits it. A bracket that nothing closes is itself.
fn one(glob: &[u8], byte: u8) -> Option<usize> {
    match glob {
        [b'?', ..] => Some(1),
        [b'\\', escaped, ..] => (*escaped == byte).then_some(2),
        [b'[', rest @ ..] => {
            let negated = matches!(rest.first(), Some(b'!' | b'^'));
            let set = &rest[usize::from(negated)..];
            // A closing bracket that comes first is one of the set.
            let Some(end) = set.iter().skip(1).position(|&byte| byte == b']').map(|at| at + 1) else {
                return (byte == b'[').then_some(1);
            };
            let (mut at, mut within) = (0, false);
            while at < end {
                let is_range = at + 2 < end && set[at + 1] == b'-';
                let last = if is_range { set[at + 2] } else { set[at] };
                within |= (set[at]..=last).contains(&byte);
                at += if is_range { 3 } else { 1 };
            }
            (within != negated).then_some(1 + usize::from(negated) + end + 1)
        }
        [same, ..] => (*same == byte).then_some(1),
        [] => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_as_in_a_shell() {
        for (glob, name, expected) in [
            ("", "", true),
            ("", "a", false),
            ("*", "", true),
            ("*.rs", "main.rs", true),
            ("*.rs", "main.rs.bak", false),
            ("*a*b*", "xxaxxabx", true),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("[a-c]x", "bx", true),
            ("[!a-c]x", "bx", false),
            ("[^a-c]x", "dx", true),
            ("[]]", "]", true),
            ("[a-]", "-", true),
            ("[ab", "[ab", true),
            ("\\*", "*", true),
            ("\\*", "a", false),
            ("*.tar.*", "a.tar.tar.gz", true),
        ] {
            assert_eq!(fits(glob.as_bytes(), name.as_bytes()), expected, "{glob} {name}");
        }
    }

    #[test]
    fn many_stars_take_no_long_time() {
        assert!(!fits(&b"*a".repeat(50), &b"a".repeat(49)));
        assert!(!fits(&[&b"*a".repeat(200)[..], b"b"].concat(), &b"a".repeat(10_000)));
    }
}
