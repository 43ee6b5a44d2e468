//! Reads JSON, and explains to its author why it could not be read: which field, and what is wrong with it.

use serde::de::DeserializeOwned;
use serde_json::Value;

/// A JSON text that could not be read.
pub(crate) struct ReadError {
    /// Where the problem is, as in `conversations[3].mailbox`; empty for the whole text.
    path: String,
    /// The field that is missing there, if that is the problem.
    missing: Option<String>,
    /// What is wrong.
    pub(crate) reason: String,
    pub(crate) line: usize,
    pub(crate) column: usize,
}

impl ReadError {
    /// Returns a problem of the whole text.
    pub(crate) fn whole(reason: &str) -> Self {
        Self { path: String::new(), missing: None, reason: reason.to_owned(), line: 1, column: 1 }
    }

    /// Returns the path of the field; empty for the whole text.
    pub(crate) fn field(&self) -> String {
        match &self.missing {
            Some(missing) if self.path.is_empty() => missing.clone(),
            Some(missing) => format!("{}.{missing}", self.path),
            None => self.path.clone(),
        }
    }

    /// Returns whether a field is missing: the schema says so too, for all of them.
    pub(crate) fn is_missing(&self) -> bool {
        self.missing.is_some()
    }
}

/// Reads a JSON text. The field of an error is searched for only when there is one, and without another
/// reader for each type.
pub(crate) fn read<T: DeserializeOwned>(text: &[u8]) -> Result<T, ReadError> {
    serde_json::from_slice(text)
        .map_err(|error| explain(text, &error, &|part| serde_json::from_slice::<T>(part).err()))
}

/// Reads the body of a request. A number beyond the range of a double is read as the largest one, as in other
/// languages: it may stand in a field that nobody reads.
pub(crate) fn read_body(text: &[u8]) -> serde_json::Result<Value> {
    serde_json::from_slice(text).or_else(|error| match clamp_numbers(text) {
        Some(clamped) => serde_json::from_slice(&clamped),
        None => Err(error),
    })
}

/// Returns a JSON text with its numbers in the range of a double; `None` if they are.
pub(crate) fn clamp_numbers(text: &[u8]) -> Option<Vec<u8>> {
    let (mut clamped, mut rest, mut changed) = (Vec::with_capacity(text.len()), text, false);
    while let Some(&first) = rest.first() {
        let length = match first {
            b'"' => 1 + string_length(&rest[1..]),
            b'-' | b'0'..=b'9' => rest.iter().take_while(|byte| is_part_of_number(**byte)).count(),
            _ => 1,
        };
        let (part, after) = rest.split_at(length.min(rest.len()));
        let number = std::str::from_utf8(part).ok().and_then(|part| part.parse::<f64>().ok());
        match number.filter(|number| number.is_infinite()) {
            Some(number) => clamped.extend(format!("{:e}", number.clamp(f64::MIN, f64::MAX)).bytes()),
            None => clamped.extend(part),
        }
        changed |= number.is_some_and(f64::is_infinite);
        rest = after;
    }
    changed.then_some(clamped)
}

fn is_part_of_number(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E')
}

/// Returns the length of a string behind its opening quote, with the closing one.
fn string_length(text: &[u8]) -> usize {
    let mut escaped = false;
    let closing = text.iter().position(|byte| {
        let closes = *byte == b'"' && !escaped;
        escaped = *byte == b'\\' && !escaped;
        closes
    });
    closing.map_or(text.len(), |at| at + 1)
}

fn explain(
    text: &[u8],
    error: &serde_json::Error,
    read: &dyn Fn(&[u8]) -> Option<serde_json::Error>,
) -> ReadError {
    let reason = without_position(error);
    let mut before = &text[..offset(text, error)];
    if reason == "expected value" {
        // It was found by looking at the next byte.
        before = &before[..before.len().saturating_sub(1)];
    }
    // A value that breaks a rule of its own is reported behind the bracket that follows it. Such an error
    // comes without the bracket too; one that is about the whole object or list does not.
    if let [inside @ .., b'}' | b']'] = before
        && read(inside).is_some_and(|error| without_position(&error) == reason)
    {
        before = inside;
    }
    let missing = reason.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`'));
    ReadError {
        path: path(before),
        missing: missing.map(str::to_owned),
        reason: match reason.as_str() {
            _ if missing.is_some() => "is required".to_owned(),
            "trailing characters" => "is followed by something else".to_owned(),
            _ if !error.is_data() => format!("is not JSON: {reason}"),
            _ => reason,
        },
        line: error.line(),
        column: error.column(),
    }
}

/// Returns the message of an error. Its position is reported apart, or does not help: the body of a request
/// is often one line.
fn without_position(error: &serde_json::Error) -> String {
    let message = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    message.strip_suffix(&position).unwrap_or(&message).to_owned()
}

/// Returns how much of the text was read before an error.
fn offset(text: &[u8], error: &serde_json::Error) -> usize {
    let lines = text.split_inclusive(|byte| *byte == b'\n').take(error.line().saturating_sub(1));
    (lines.map(<[u8]>::len).sum::<usize>() + error.column()).min(text.len())
}

/// Returns the path of the value that is being read where a JSON text ends.
fn path(text: &[u8]) -> String {
    enum Open {
        /// With the key of the value, once it has been read.
        Object(Option<String>),
        /// With the index of the value.
        List(usize),
    }
    let mut open = Vec::new();
    let mut at = 0;
    while at < text.len() {
        match (text[at], open.last_mut()) {
            (b'{', _) => open.push(Open::Object(None)),
            (b'[', _) => open.push(Open::List(0)),
            (b'}' | b']', _) => drop(open.pop()),
            (b',', Some(Open::Object(key))) => *key = None,
            (b',', Some(Open::List(index))) => *index += 1,
            (b'"', inside) => {
                let start = at;
                at += 1;
                while at < text.len() && text[at] != b'"' {
                    at += if text[at] == b'\\' { 2 } else { 1 };
                }
                if let Some(Open::Object(key @ None)) = inside {
                    *key = text.get(start..=at).and_then(|key| serde_json::from_slice(key).ok());
                }
            }
            _ => {}
        }
        at += 1;
    }
    let mut path = String::new();
    for part in open {
        match part {
            Open::Object(Some(key)) if path.is_empty() => path = key,
            Open::Object(Some(key)) => path.extend([".", &key]),
            Open::Object(None) => {}
            Open::List(index) => path.push_str(&format!("[{index}]")),
        }
    }
    path
}
