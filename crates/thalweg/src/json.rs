//! JSON as it is written here: objects and lists, on one line, without spaces.

use std::fmt::{self, Display, Write};

/// A JSON string; Graphviz reads it too.
pub(crate) struct Quoted<'a>(pub(crate) &'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for c in self.0.chars() {
            match c {
                '"' => f.write_str("\\\"")?,
                '\\' => f.write_str("\\\\")?,
                '\n' => f.write_str("\\n")?,
                c if c < ' ' => write!(f, "\\u{:04x}", c as u32)?,
                c => f.write_char(c)?,
            }
        }
        f.write_char('"')
    }
}

/// An object that is being written: its fields, in the order in which they come.
#[derive(Debug)]
pub(crate) struct Object<'a> {
    out: &'a mut String,
    is_first: bool,
}

/// An object with what `fields` writes.
pub(crate) fn object(fields: impl FnOnce(&mut Object<'_>)) -> String {
    let mut out = String::new();
    Object::write(&mut out, fields);
    out
}

impl Object<'_> {
    fn write(out: &mut String, fields: impl FnOnce(&mut Object<'_>)) {
        out.push('{');
        fields(&mut Object { out, is_first: true });
        out.push('}');
    }

    /// A field whose value is written as it is: a number, `null`, or what else is JSON already.
    pub(crate) fn raw(&mut self, key: &str, value: impl Display) -> &mut Self {
        let comma = if std::mem::take(&mut self.is_first) { "" } else { "," };
        write!(self.out, "{comma}{}:{value}", Quoted(key)).expect("writing to a string does not fail");
        self
    }

    /// A string.
    pub(crate) fn text(&mut self, key: &str, value: &str) -> &mut Self {
        self.raw(key, Quoted(value))
    }

    /// A number, or `null`.
    pub(crate) fn maybe(&mut self, key: &str, value: Option<u64>) -> &mut Self {
        match value {
            Some(value) => self.raw(key, value),
            None => self.raw(key, "null"),
        }
    }

    /// A list of objects.
    pub(crate) fn list<T>(&mut self, key: &str, items: &[T], fields: impl Fn(&T, &mut Object<'_>)) -> &mut Self {
        self.raw(key, '[');
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                self.out.push(',');
            }
            Object::write(self.out, |object| fields(item, object));
        }
        self.out.push(']');
        self
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn fields_lists_and_strings() {
        let json = object(|object| {
            object.text("a \"b\"", "c\\\n\u{7}").raw("n", 1.5).maybe("m", None);
            object.list("l", &[1, 2], |item, object| _ = object.maybe("i", Some(*item)));
            object.list("none", &[0; 0], |_, _| ());
        });
        assert_eq!(json, r#"{"a \"b\"":"c\\\n\u0007","n":1.5,"m":null,"l":[{"i":1},{"i":2}],"none":[]}"#);
    }
}
