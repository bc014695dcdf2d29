//! Text to tokens.

use super::ParseError;
use std::fmt;

/// A word of the notation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Number(i64),
    /// A name, also `T1.a`.
    Name(String),
    Symbol(&'static str),
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "`{number}`"),
            Self::Name(name) => write!(f, "`{name}`"),
            Self::Symbol(";") => write!(f, "the end of the statement"),
            Self::Symbol(symbol) => write!(f, "`{symbol}`"),
        }
    }
}

/// Longer symbols first, so that `<=` is not read as `<`.
const SYMBOLS: [&str; 24] = [
    "..", "==", "!=", "<=", ">=", "&&", "||", "-", "+", "*", "%", "^", "<", ">", "!", "(", ")", "[", "]", "{", "}",
    ";", "=", ",",
];

/// The tokens of a value that may go over several lines; the end of a line is a `;`.
#[derive(Debug)]
pub(super) struct Tokens {
    /// With the line of each.
    items: Vec<(Token, usize)>,
    next: usize,
    last_line: usize,
}

impl Tokens {
    /// Splits `lines`, each with its number.
    pub(super) fn new(lines: &[(usize, String)]) -> Result<Self, ParseError> {
        let mut items = Vec::new();
        for (line, text) in lines {
            let mut rest = text.trim_start();
            while let Some(first) = rest.chars().next() {
                let (token, length) = if first.is_ascii_digit() {
                    let length = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
                    let number = rest[..length].parse().map_err(|_| {
                        ParseError::new(*line, format!("`{}` is too large", &rest[..length]), "numbers have 63 bits")
                    })?;
                    (Token::Number(number), length)
                } else if first.is_ascii_alphabetic() || first == '_' {
                    let end = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
                    let mut length = rest.find(end).unwrap_or(rest.len());
                    // `T1.a` is one name, `0..n` and `a..b` are three tokens.
                    if let Some(member) = rest[length..].strip_prefix('.')
                        && member.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                    {
                        length += 1 + member.find(end).unwrap_or(member.len());
                    }
                    (Token::Name(rest[..length].to_owned()), length)
                } else if let Some(symbol) = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
                    (Token::Symbol(symbol), symbol.len())
                } else {
                    let way_out = "the notation has names, numbers and the symbols of its statements";
                    return Err(ParseError::new(*line, format!("`{first}` means nothing here"), way_out));
                };
                items.push((token, *line));
                rest = rest[length..].trim_start();
            }
            items.push((Token::Symbol(";"), *line));
        }
        items.pop();
        Ok(Self { items, next: 0, last_line: lines.last().map_or(0, |(line, _)| *line) })
    }

    pub(super) fn peek(&self) -> Option<&Token> {
        self.items.get(self.next).map(|(token, _)| token)
    }

    /// The token after the next.
    pub(super) fn peek_second(&self) -> Option<&Token> {
        self.items.get(self.next + 1).map(|(token, _)| token)
    }

    /// The line of the next token.
    pub(super) fn line(&self) -> usize {
        self.items.get(self.next).map_or(self.last_line, |(_, line)| *line)
    }

    /// Takes the next token, which is to be `wanted`.
    pub(super) fn take(&mut self, wanted: &str) -> Result<Token, ParseError> {
        let token = self.peek().cloned().ok_or_else(|| self.missing(wanted))?;
        self.next += 1;
        Ok(token)
    }

    /// Takes `symbol` if it is next.
    pub(super) fn take_if(&mut self, symbol: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Symbol(next)) if *next == symbol);
        self.next += usize::from(found);
        found
    }

    pub(super) fn symbol(&mut self, symbol: &str) -> Result<(), ParseError> {
        if self.take_if(symbol) { Ok(()) } else { Err(self.missing(&format!("`{symbol}`"))) }
    }

    pub(super) fn name(&mut self, wanted: &str) -> Result<String, ParseError> {
        match self.peek() {
            Some(Token::Name(name)) => {
                let name = name.clone();
                self.next += 1;
                Ok(name)
            }
            _ => Err(self.missing(wanted)),
        }
    }

    /// The error of finding something else than `wanted`.
    pub(super) fn missing(&self, wanted: &str) -> ParseError {
        let found = self.peek().map_or("the end".to_owned(), Token::to_string);
        ParseError::new(self.line(), format!("found {found}"), format!("here comes {wanted}"))
    }
}
