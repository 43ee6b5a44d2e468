//! The rules of inputs as data: one table for each operation.
//!
//! The client checks a call against the table before it sends it, a server checks raw JSON against the same
//! table, and the JSON Schemas are written from it. A limit changes in one place.

use serde_json::{Map, Value};

use crate::Problems;

/// A field of an input and what it may hold.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Field {
    /// Its name in JSON.
    pub name: &'static str,
    /// Whether it must be there.
    pub required: bool,
    /// What it may hold.
    pub rule: Rule,
    /// What it is for, in a sentence.
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

/// What a field may hold.
///
/// ```
/// use shared_inbox::input::{Input, ListConversations, Rule};
/// let limit = ListConversations::FIELDS.iter().find(|f| f.name == "limit").unwrap();
/// assert!(matches!(limit.rule, Rule::Integer { min: 1, max: 100, default: 25, .. }));
/// ```
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Rule {
    /// A text of so many characters, of a certain form if one is given.
    #[non_exhaustive]
    Text {
        /// The fewest characters.
        min: usize,
        /// The most characters.
        max: Option<usize>,
        /// What the text must look like.
        form: Option<&'static Form>,
    },
    /// One of these words.
    #[non_exhaustive]
    OneOf {
        /// The words.
        words: &'static [&'static str],
        /// What it is when nothing is said.
        default: Option<&'static str>,
    },
    /// A whole number within borders.
    #[non_exhaustive]
    Integer {
        /// The smallest.
        min: u32,
        /// The largest.
        max: u32,
        /// What it is when nothing is said.
        default: u32,
    },
    /// True or false.
    #[non_exhaustive]
    Flag {
        /// What it is when nothing is said.
        default: bool,
    },
    /// A list.
    #[non_exhaustive]
    List {
        /// The fewest items.
        min: usize,
        /// The most items.
        max: Option<usize>,
        /// What each item may hold.
        of: &'static Rule,
    },
    /// An object with these fields.
    Object(&'static [Field]),
}

/// What a text must look like.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Form {
    /// What to say when it does not look like that, behind "must be ".
    pub what: &'static str,
    /// A regular expression that every good text matches, for schemas.
    pub pattern: &'static str,
    /// The name that JSON Schema has for it, if it has one.
    pub format: Option<&'static str>,
    /// Whether a text is good.
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

/// Notes everything that is wrong with `object`; fields that no rule names are passed over.
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
