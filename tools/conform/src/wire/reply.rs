//! A response, and what checks ask of it. Each question that is answered with no is a difference with its
//! request.

use reqwest::header::HeaderMap;
use serde_json::Value;

use crate::rule_abort::RuleAbort;

/// A response of the service.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) request: String,
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
    json: Option<Value>,
    private: bool,
}

impl Reply {
    pub(crate) fn new(request: String, status: u16, headers: HeaderMap, text: String, private: bool) -> Self {
        let json = serde_json::from_str(&text).ok();
        Self { request, status, headers, text, json, private }
    }

    pub(crate) fn json(&self) -> Option<&Value> {
        self.json.as_ref()
    }

    pub(crate) fn content_type(&self) -> &str {
        self.headers.get("content-type").and_then(|value| value.to_str().ok()).unwrap_or("none")
    }

    /// Returns the `date` of the response, in seconds since 1970.
    pub(crate) fn date(&self) -> Option<f64> {
        let date = self.headers.get("date")?.to_str().ok()?;
        let date = jiff::fmt::rfc2822::parse(date).ok()?;
        Some(date.timestamp().as_millisecond() as f64 / 1000.0)
    }

    /// As a report shows it.
    pub(crate) fn described(&self) -> String {
        match &self.json {
            Some(json) if self.private => format!("{} {}", self.status, outline(json)),
            None if self.private => format!("{} {}", self.status, self.content_type()),
            _ => cut(&format!("{} {}", self.status, self.text), 400),
        }
    }

    /// This response where something else was expected.
    pub(crate) fn differs(&self, expected: impl Into<String>) -> RuleAbort {
        RuleAbort::differs(&self.request, expected, self.described())
    }

    /// Returns a part of this response where something else was expected.
    pub(crate) fn differs_in(&self, expected: impl Into<String>, part: &str, value: &Value) -> RuleAbort {
        let value = if self.private { outline(value) } else { cut(&value.to_string(), 300) };
        RuleAbort::differs(&self.request, expected, format!("{part}: {value}"))
    }

    /// Holds unless `ok` is false.
    pub(crate) fn must(&self, ok: bool, expected: impl Into<String>) -> Result<(), RuleAbort> {
        if ok { Ok(()) } else { Err(self.differs(expected)) }
    }

    /// Holds unless `ok` is false; shows this part of the response.
    pub(crate) fn must_in(
        &self,
        ok: bool,
        expected: impl Into<String>,
        part: &str,
        value: &Value,
    ) -> Result<(), RuleAbort> {
        if ok { Ok(()) } else { Err(self.differs_in(expected, part, value)) }
    }

    /// Returns the JSON of a response with this status.
    pub(crate) fn is(&self, status: u16) -> Result<&Value, RuleAbort> {
        match &self.json {
            Some(json) if self.status == status => Ok(json),
            _ => Err(self.differs(format!("{status} with a JSON body"))),
        }
    }

    /// Returns the JSON of a response that says that it was done, for what comes before the check itself.
    pub(crate) fn done(&self) -> Result<&Value, RuleAbort> {
        match &self.json {
            Some(json) if (200..300).contains(&self.status) => Ok(json),
            _ => Err(self.differs("2xx with a JSON body")),
        }
    }

    /// Returns the entries of a list.
    pub(crate) fn list(&self) -> Result<&Vec<Value>, RuleAbort> {
        self.done()?.as_array().ok_or_else(|| self.differs("a JSON array"))
    }

    /// Returns the sentence of an error with this status.
    pub(crate) fn refused(&self, status: u16) -> Result<&str, RuleAbort> {
        let sentence = self.json.as_ref().and_then(|json| json["error"].as_str());
        match sentence {
            Some(sentence) if self.status == status => Ok(sentence),
            _ => Err(self.differs(format!("{status} with a sentence in `error`"))),
        }
    }

    /// Returns a 400 whose sentence names these fields, each at the start of a problem.
    pub(crate) fn names(&self, fields: &[&str]) -> Result<(), RuleAbort> {
        let sentence = self.refused(400)?;
        let named = |field: &str| sentence.split(';').any(|problem| starts_with_field(problem.trim(), field));
        match fields.iter().find(|field| !named(field)) {
            None => Ok(()),
            Some(field) => Err(self.differs(format!("400 with a problem that starts with `{field}`"))),
        }
    }

    /// Returns a value in this response.
    pub(crate) fn equals(&self, pointer: &str, expected: &Value) -> Result<(), RuleAbort> {
        let value = self.done()?.pointer(pointer).unwrap_or(&Value::Null);
        if value == expected {
            return Ok(());
        }
        Err(self.differs_in(format!("`{pointer}`: {expected}"), pointer, value))
    }

    /// Returns a string in this response.
    pub(crate) fn text_at(&self, pointer: &str) -> Result<String, RuleAbort> {
        let value = self.done()?.pointer(pointer);
        let text = value.and_then(Value::as_str);
        text.map(str::to_owned).ok_or_else(|| self.differs(format!("a string at `{pointer}`")))
    }
}

/// Returns whether a problem starts with the name of a field, or of a part of it such as `add[0]`.
fn starts_with_field(problem: &str, field: &str) -> bool {
    let rest = problem.trim_start_matches(['`', '"', '\'']).strip_prefix(field);
    rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
}

/// Returns the form of a value without its words.
pub(crate) fn outline(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(_) => "a boolean".into(),
        Value::Number(_) => "a number".into(),
        Value::String(_) => "a string".into(),
        Value::Array(items) => format!("an array of {}", items.len()),
        Value::Object(fields) => {
            let names: Vec<&str> = fields.keys().map(String::as_str).collect();
            cut(&format!("an object with {}", names.join(", ")), 300)
        }
    }
}

/// Returns a text on one line, with control characters and those that turn the direction of what follows as
/// escapes.
pub(crate) fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' | '\t' => shown.extend(c.escape_default()),
            '\u{61c}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}' => {
                shown.extend(c.escape_unicode());
            }
            c if c.is_control() => shown.extend(c.escape_unicode()),
            c => shown.push(c),
        }
    }
    shown
}

/// Cuts a text after this number of characters.
pub(crate) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}…", text.split_at(at).0),
    }
}
