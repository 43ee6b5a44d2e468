//! TOML files that users write: their values as JSON, and the place of each.

use std::{collections::HashMap, ops::Range};

use serde_json::{Map, Value, json};
use toml_edit::{Document, Item, TableLike};

use crate::process::excerpt::Excerpt;

/// A text that is no TOML.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {}: {message}\n{excerpt}", excerpt.line())]
#[non_exhaustive]
pub struct TomlError {
    /// What is wrong.
    pub message: String,
    /// Where.
    pub excerpt: Excerpt,
}

/// A TOML document as JSON, which knows the place of each of its values.
///
/// ```
/// use shared_inbox_explore::process::TomlDocument;
///
/// let document = TomlDocument::parse("days = 2\nmails = [\n  { text = 'Hi' },\n]\n")?;
/// assert_eq!(document.values["days"], 2);
/// let place = document.place_of("mails[0].text").expect("it is there");
/// assert_eq!(place.to_string(), "  |\n3 |   { text = 'Hi' },\n  |     ^^^^");
/// # Ok::<(), shared_inbox_explore::process::TomlError>(())
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct TomlDocument {
    /// Its values; a date is its text.
    pub values: Map<String, Value>,
    text: String,
    /// The line and the bytes of each key, or of a value in a list, by its path such as `mails[0].text`.
    places: Places,
}

type Places = HashMap<String, (usize, Range<usize>)>;

impl std::fmt::Debug for TomlDocument {
    /// Without the values, which may be the words of an email.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TomlDocument").field("keys", &self.values.len()).finish_non_exhaustive()
    }
}

impl TomlDocument {
    /// Reads a TOML text.
    ///
    /// # Errors
    ///
    /// What is wrong with it, with its place.
    pub fn parse(text: &str) -> Result<Self, TomlError> {
        let document = Document::parse(text).map_err(|error| {
            let place = error.span().unwrap_or_default();
            TomlError {
                message: error.message().lines().collect::<Vec<_>>().join("; "),
                excerpt: Excerpt::new(text, line_at(text, place.start), &place),
            }
        })?;
        let mut reader = Reader { text, places: HashMap::new(), line: (0, 1) };
        let values = reader.read_table(document.as_table(), "");
        Ok(Self { values, text: text.to_owned(), places: reader.places })
    }

    /// Returns the place of a value, by its path such as `mails[0].text`; of the nearest one around it where
    /// there is none.
    pub fn place_of(&self, path: &str) -> Option<Excerpt> {
        let mut path = path;
        loop {
            if let Some((line, place)) = self.places.get(path) {
                return Some(Excerpt::new(&self.text, *line, place));
            }
            path = &path[..path.rfind(['.', '['])?];
        }
    }
}

struct Reader<'t> {
    text: &'t str,
    places: Places,
    /// Where the last line was looked up, and which it was: the next value is mostly behind it.
    line: (usize, usize),
}

impl Reader<'_> {
    fn note_place(&mut self, path: &str, place: Option<Range<usize>>) {
        let Some(place) = place else { return };
        let (from, line) = if place.start >= self.line.0 { self.line } else { (0, 1) };
        self.line = (place.start, line + line_at(&self.text[from..], place.start - from) - 1);
        self.places.insert(path.to_owned(), (self.line.1, place));
    }

    fn read_item(&mut self, item: &Item, path: &str) -> Value {
        match item {
            Item::Value(value) => self.read_value(value, path),
            Item::Table(table) => Value::Object(self.read_table(table, path)),
            Item::ArrayOfTables(tables) => {
                let read = |(n, table): (usize, &toml_edit::Table)| {
                    let path = format!("{path}[{n}]");
                    self.note_place(&path, table.span());
                    Value::Object(self.read_table(table, &path))
                };
                tables.iter().enumerate().map(read).collect()
            }
            Item::None => Value::Null,
        }
    }

    fn read_table(&mut self, table: &dyn TableLike, path: &str) -> Map<String, Value> {
        let mut read = Map::new();
        for (name, item) in table.iter() {
            let path = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
            self.note_place(&path, table.key(name).and_then(toml_edit::Key::span));
            let value = self.read_item(item, &path);
            read.insert(name.to_owned(), value);
        }
        read
    }

    fn read_value(&mut self, value: &toml_edit::Value, path: &str) -> Value {
        use toml_edit::Value as Toml;
        match value {
            Toml::String(text) => json!(text.value()),
            Toml::Integer(number) => json!(number.value()),
            Toml::Float(number) => json!(number.value()),
            Toml::Boolean(yes) => json!(yes.value()),
            Toml::Datetime(time) => json!(time.value().to_string()),
            Toml::Array(list) => {
                let read = |(n, value): (usize, &toml_edit::Value)| {
                    let path = format!("{path}[{n}]");
                    self.note_place(&path, value.span());
                    self.read_value(value, &path)
                };
                list.iter().enumerate().map(read).collect()
            }
            Toml::InlineTable(table) => Value::Object(self.read_table(table, path)),
        }
    }
}

/// Returns the line of a place in a text, from 1.
fn line_at(text: &str, offset: usize) -> usize {
    text.as_bytes().iter().take(offset).filter(|byte| **byte == b'\n').count() + 1
}
