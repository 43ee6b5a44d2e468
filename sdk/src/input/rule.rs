//! The rules of inputs as data: one table for each operation.
//!
//! The client checks a call against the table before it sends it, a server checks raw JSON against the same
//! table, and the JSON Schemas are written from it. A limit changes in one place.
#![allow(missing_docs, reason = "internal: reached through `__spec` alone")]

use serde_json::{Map, Value};

use crate::Problems;

/// A field of an input.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// Its name in JSON.
    pub name: &'static str,
    pub required: bool,
    pub rule: Rule,
    /// Its purpose, in a sentence.
    pub about: &'static str,
}

impl Field {
    pub(super) const fn required(name: &'static str, rule: Rule, about: &'static str) -> Self {
        Self { name, required: true, rule, about }
    }

    pub(super) const fn optional(name: &'static str, rule: Rule, about: &'static str) -> Self {
        Self { name, required: false, rule, about }
    }
}

/// The values that a field accepts.
#[derive(Debug, Clone, Copy)]
pub enum Rule {
    /// A text of `min` to `max` characters.
    Text {
        min: usize,
        max: Option<usize>,
        form: Option<&'static Form>,
    },
    OneOf {
        words: &'static [&'static str],
        default: Option<&'static str>,
    },
    Integer {
        min: u32,
        max: u32,
        default: u32,
    },
    Flag {
        default: bool,
    },
    List {
        min: usize,
        max: Option<usize>,
        of: &'static Rule,
    },
    Object(&'static [Field]),
}

/// The form of a text.
#[derive(Debug, Clone, Copy)]
pub struct Form {
    /// The form in words, to follow "must be ".
    pub what: &'static str,
    /// A regular expression that every good text matches, for schemas.
    pub pattern: &'static str,
    /// The name that JSON Schema has for it, if it has one.
    pub format: Option<&'static str>,
    pub accepts: fn(&str) -> bool,
}

impl Rule {
    pub(super) const fn text(min: usize, max: usize) -> Rule {
        Rule::Text { min, max: Some(max), form: None }
    }

    pub(super) const fn any_text(min: usize) -> Rule {
        Rule::Text { min, max: None, form: None }
    }

    pub(super) const fn form(form: &'static Form) -> Rule {
        Rule::Text { min: 0, max: None, form: Some(form) }
    }

    fn check(&self, path: &str, value: &Value, problems: &mut Problems) {
        match self {
            Rule::Text { min, max, form } => match value.as_str() {
                None => problems.push(path, "must be a string"),
                Some(text) => check_text(path, text, *min, *max, *form, problems),
            },
            Rule::OneOf { words, .. } => {
                if !value.as_str().is_some_and(|word| words.contains(&word)) {
                    problems.push(path, format!("must be one of {}", words.join(", ")));
                }
            }
            Rule::Integer { min, max, .. } => match value.as_i64() {
                None if !value.is_u64() => problems.push(path, "must be a whole number"),
                Some(n) if n < i64::from(*min) => problems.push(path, format!("must be at least {min}")),
                Some(n) if n <= i64::from(*max) => {}
                _ => problems.push(path, format!("must be at most {max}")),
            },
            Rule::Flag { .. } => {
                if !value.is_boolean() {
                    problems.push(path, "must be true or false");
                }
            }
            Rule::List { min, max, of } => {
                let Some(items) = value.as_array() else {
                    return problems.push(path, "must be a list");
                };
                if items.len() < *min {
                    problems.push(path, format!("must have at least {}", counted(*min, "item")));
                }
                if let Some(max) = max
                    && items.len() > *max
                {
                    // The items beyond are not looked at: a huge list gets one short error.
                    return problems.push(path, format!("must have at most {}", counted(*max, "item")));
                }
                for (i, item) in items.iter().enumerate() {
                    of.check(&format!("{path}[{i}]"), item, problems);
                }
            }
            Rule::Object(fields) => match value.as_object() {
                None => problems.push(path, "must be an object"),
                Some(object) => check_fields(fields, object, &format!("{path}."), problems),
            },
        }
    }
}

fn check_text(
    path: &str,
    text: &str,
    min: usize,
    max: Option<usize>,
    form: Option<&Form>,
    problems: &mut Problems,
) {
    let length = text.chars().count();
    if length < min {
        problems.push(path, format!("must be at least {}", counted(min, "character")));
    } else if let Some(max) = max
        && length > max
    {
        problems.push(path, format!("must be at most {}", counted(max, "character")));
    } else if let Some(form) = form
        && !(form.accepts)(text)
    {
        problems.push(path, format!("must be {}", form.what));
    }
}

fn counted(n: usize, thing: &str) -> String {
    if n == 1 { format!("1 {thing}") } else { format!("{n} {thing}s") }
}

/// Records everything that is wrong with `object`. Unknown fields are ignored.
pub(super) fn check_fields(
    fields: &[Field],
    object: &Map<String, Value>,
    prefix: &str,
    problems: &mut Problems,
) {
    for field in fields {
        let path = || format!("{prefix}{}", field.name);
        match object.get(field.name) {
            Some(value) => field.rule.check(&path(), value, problems),
            None if field.required => problems.push(path(), "is required"),
            None => {}
        }
    }
}

/// Takes away what stands for "not given", and writes whole numbers as such.
pub(super) fn relax_fields(fields: &[Field], object: &mut Map<String, Value>) {
    for field in fields {
        let Some(value) = object.get_mut(field.name) else { continue };
        let nothing = value.is_null() || (!field.required && value == "");
        if nothing {
            object.remove(field.name);
        } else {
            field.rule.relax(value);
        }
    }
}

impl Rule {
    fn relax(&self, value: &mut Value) {
        match (self, value) {
            (Rule::Integer { .. }, number) => {
                // Beyond this a float has no place for a fraction, and it is out of every border anyway.
                const EXACT: f64 = 9_007_199_254_740_992.0;
                if let Some(float) = number.as_f64().filter(|_| number.is_f64())
                    && float.fract() == 0.0
                    && float.abs() <= EXACT
                {
                    *number = (float as i64).into();
                }
            }
            (Rule::List { of, .. }, Value::Array(items)) => items.iter_mut().for_each(|item| of.relax(item)),
            (Rule::Object(fields), Value::Object(object)) => relax_fields(fields, object),
            _ => {}
        }
    }
}
