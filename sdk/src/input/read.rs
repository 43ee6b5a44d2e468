//! Reads inputs as a server gets them, and writes queries.

use serde_json::{Map, Value};

use super::rule::{Rule, relax_fields};
use super::{Input, check_value, from_checked};
use crate::Problems;

/// Reads the arguments of a tool, as a model writes them: an optional field that is `null` or an empty text
/// is not given, and `10.0` is a whole number. Strict modes of model vendors send exactly these.
pub fn read_arguments<I: Input>(mut value: Value) -> Result<I, Problems> {
    if let Value::Object(fields) = &mut value {
        relax_fields(I::FIELDS, fields);
    }
    I::read(value)
}

/// Reads the pairs of a query string. A parameter that is named twice or empty is a problem.
pub fn read_query<I: Input>(pairs: &[(impl AsRef<str>, impl AsRef<str>)]) -> Result<I, Problems> {
    let mut fields = Map::new();
    let mut problems = Problems::default();
    for field in I::FIELDS {
        let mut values = pairs.iter().filter(|(key, _)| key.as_ref() == field.name).map(|(_, v)| v.as_ref());
        match (values.next(), values.next()) {
            (Some(""), None) => problems.push(field.name, "must not be empty"),
            (Some(text), None) => {
                let number = matches!(field.rule, Rule::Integer { .. }).then(|| whole_number(text)).flatten();
                fields.insert(field.name.to_owned(), number.unwrap_or_else(|| text.into()));
            }
            (Some(_), Some(_)) => problems.push(field.name, "must be given only once"),
            (None, _) => {}
        }
    }
    let value = Value::Object(fields);
    if let Err(more) = check_value::<I>(&value) {
        more.iter().for_each(|problem| problems.push(&problem.field, &problem.message));
    }
    problems.or(())?;
    from_checked(value)
}

/// Returns an input as the pairs of a query string.
pub fn query(input: &impl Input) -> Vec<(String, String)> {
    let Ok(Value::Object(fields)) = serde_json::to_value(input) else { return Vec::new() };
    let text = |value: Value| if let Value::String(text) = value { text } else { value.to_string() };
    fields.into_iter().map(|(name, value)| (name, text(value))).collect()
}

/// Reads digits alone: `+5`, `5.0` and ` 5` are not numbers here.
fn whole_number(text: &str) -> Option<Value> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    // Beyond 64 bits it is a number all the same, and too large or too small in any case.
    Some(
        text.parse::<i64>()
            .map_or(if text.starts_with('-') { i64::MIN } else { i64::MAX }.into(), Value::from),
    )
}
