//! Checks JSON against the schemas of the embedded documents: every problem at once, each with its path.
//!
//! An object may have the fields that its schema names and no others, unless the schema says otherwise: a
//! typing error must not make a test pass. Reads as much of JSON Schema as the documents use.

use serde_json::{Map, Value};
use shared_inbox::{Problems, ReplyAddress, Timestamp};

use super::{
    add_all,
    matching::text_matches,
    nearest::{did_you_mean, unknown},
};

/// How many problems are collected; a document may have millions.
const MAX_PROBLEMS: usize = 100;

/// Collects the problems of values.
pub(crate) struct Checker<'s> {
    /// What the references of schemas lead into.
    document: &'s Value,
    /// Whether values are compared with what is checked: then nothing is required, `*` in a text stands for
    /// any run of characters, and null for a field that is not there.
    pattern: bool,
    /// Where the value stands.
    path: String,
    pub(crate) problems: Problems,
}

/// Schemas that apply to a value together: an alternative, what it refers to, and what all alternatives have
/// in common.
#[derive(Clone, Copy)]
struct Shape<'s>([Option<&'s Value>; 3]);

impl<'s> Checker<'s> {
    /// Returns a checker of values at a path, which is empty for a whole body.
    pub(crate) fn new(document: &'s Value, path: impl Into<String>) -> Self {
        Self { document, pattern: false, path: path.into(), problems: Problems::default() }
    }

    pub(crate) fn of_patterns(self) -> Self {
        Self { pattern: true, ..self }
    }

    /// Adds the problems of what a part of the value leads to.
    pub(crate) fn within(&mut self, part: &str, check: impl FnOnce(&mut Self)) {
        let outer = self.path.len();
        if outer > 0 && !part.starts_with('[') {
            self.path.push('.');
        }
        self.path.push_str(part);
        check(self);
        self.path.truncate(outer);
    }

    pub(crate) fn push(&mut self, problem: impl Into<String>) {
        if self.problems.len() < MAX_PROBLEMS {
            let path = if self.path.is_empty() { "body" } else { &self.path };
            self.problems.push(path, problem);
        }
    }

    /// Returns the alternatives of a schema.
    fn shapes(&self, node: &'s Value) -> Vec<Shape<'s>> {
        let target =
            node["$ref"].as_str().and_then(|path| self.document.pointer(path.trim_start_matches('#')));
        let alternatives = node["oneOf"].as_array().or(node["anyOf"].as_array()).map(Vec::as_slice);
        let Some(alternatives) = target.map(std::slice::from_ref).or(alternatives) else {
            return vec![Shape([Some(node), None, None])];
        };
        let mut shapes: Vec<_> = alternatives.iter().flat_map(|node| self.shapes(node)).collect();
        if node["properties"].is_object() {
            shapes.iter_mut().for_each(|shape| shape.0 = [Some(node), shape.0[0], shape.0[1]]);
        }
        shapes
    }

    /// Adds the problems of a query parameter, whose value is a text or what stands in it.
    pub(crate) fn check_parameter(&mut self, node: &'s Value, text: &str) {
        let is_text = self.shapes(node).iter().any(|shape| shape.takes("string"));
        let value = serde_json::from_str(text).ok().filter(|_| !is_text);
        self.check(node, &value.unwrap_or_else(|| text.into()));
    }

    /// Adds the problems of a value.
    pub(crate) fn check(&mut self, node: &'s Value, value: &Value) {
        let mut shapes = self.shapes(node);
        let fits = |shape: &Shape<'s>| shape.takes(kind_of(value)) && shape.has_in_range(value);
        if shapes.iter().any(Shape::takes_anything) || (self.pattern && value.is_null()) {
            return;
        }
        if !shapes.iter().any(fits) {
            return self.push(demand(&shapes));
        }
        shapes.retain(fits);
        match value {
            Value::String(text) => {
                if let Some(problem) = self.problem_of_text(&shapes, text) {
                    self.push(problem);
                }
            }
            Value::Array(items) => {
                let node = shapes[0].keyword("items").unwrap_or(&Value::Null);
                for (n, item) in items.iter().enumerate() {
                    self.within(&format!("[{n}]"), |checker| checker.check(node, item));
                }
            }
            Value::Object(fields) => self.check_object(shapes, fields),
            _ => {}
        }
    }

    fn problem_of_text(&self, shapes: &[Shape<'s>], text: &str) -> Option<String> {
        let words: Vec<&str> = shapes.iter().flat_map(Shape::words).collect();
        match words.as_slice() {
            [] if self.pattern => None,
            [] => shapes[0].problem_of_text(text),
            words if words.contains(&text) => None,
            words if self.pattern && words.iter().any(|word| text_matches(text, word)) => None,
            words => Some(not_one_of(words, text)),
        }
    }

    /// Checks an object that may have one of several shapes: the one whose constant field it has, or else the
    /// nearest.
    fn check_object(&mut self, mut shapes: Vec<Shape<'s>>, fields: &Map<String, Value>) {
        let constant =
            |shape: &Shape<'s>, name: &str| shape.property(name).and_then(|node| node["const"].as_str());
        let mut names = shapes[0].properties().map(|(name, _)| name);
        let tag = names.find(|name| shapes.iter().all(|shape| constant(shape, name).is_some()));
        let given = tag.and_then(|tag| fields.get(tag)).map(|given| given.as_str().unwrap_or_default());
        let fits = |word: &str| match given {
            Some(given) if self.pattern => text_matches(given, word),
            given => given == Some(word),
        };
        // A pattern may leave the kind open.
        if let Some(tag) = tag.filter(|_| !self.pattern || given.is_some_and(|given| !given.is_empty())) {
            let words: Vec<&str> = shapes.iter().filter_map(|shape| constant(shape, tag)).collect();
            shapes.retain(|shape| constant(shape, tag).is_some_and(fits));
            if shapes.is_empty() {
                let problem = given.map_or("is required".to_owned(), |given| not_one_of(&words, given));
                return self.within(tag, |checker| checker.push(problem));
            }
        }
        let before = std::mem::take(&mut self.problems);
        let found = shapes.iter().map(|shape| {
            self.check_fields(shape, fields);
            std::mem::take(&mut self.problems)
        });
        let nearest = found.min_by_key(Problems::len).unwrap_or_default();
        self.problems = before;
        add_all(&mut self.problems, "", &nearest);
    }

    fn check_fields(&mut self, shape: &Shape<'s>, fields: &Map<String, Value>) {
        for (name, value) in fields {
            let nested = name.split_once('.').filter(|_| self.pattern);
            match (shape.property(name).or_else(|| shape.others()), nested) {
                (Some(node), _) => self.within(name, |checker| checker.check(node, value)),
                // In a pattern a dot leads into a field.
                (None, Some((outer, inner))) => {
                    let fields = Map::from_iter([(inner.to_owned(), value.clone())]);
                    self.check_fields(shape, &Map::from_iter([(outer.to_owned(), fields.into())]));
                }
                (None, None) => self.within(name, |checker| checker.push(unknown(name, shape.properties()))),
            }
        }
        let required = shape.required().filter(|name| !self.pattern && !fields.contains_key(*name));
        for name in required.collect::<Vec<_>>() {
            self.within(name, |checker| checker.push("is required"));
        }
    }
}

impl<'s> Shape<'s> {
    fn keyword(&self, name: &str) -> Option<&'s Value> {
        self.0.iter().flatten().find_map(|node| node.get(name))
    }

    /// Returns the JSON types that a value may have, if only some.
    fn kinds(&self) -> Option<Vec<&'s str>> {
        match self.keyword("type")? {
            Value::Array(kinds) => Some(kinds.iter().filter_map(Value::as_str).collect()),
            kind => Some(kind.as_str().into_iter().collect()),
        }
    }

    fn takes(&self, kind: &str) -> bool {
        let takes = |named: &&str| *named == kind || (kind == "integer" && *named == "number");
        self.kinds().is_none_or(|kinds| kinds.iter().any(takes))
    }

    fn takes_anything(&self) -> bool {
        ["type", "properties", "const", "enum"].iter().all(|name| self.keyword(name).is_none())
    }

    /// Returns whether a value is in the range of numbers, or none.
    fn has_in_range(&self, value: &Value) -> bool {
        let Some(number) = value.as_f64() else { return true };
        let bound = |name: &str| self.keyword(name).and_then(Value::as_f64);
        let (least, most) = (bound("minimum").unwrap_or(f64::MIN), bound("maximum").unwrap_or(f64::MAX));
        self.words().is_empty() && (least..=most).contains(&number)
    }

    fn property(&self, name: &str) -> Option<&'s Value> {
        self.0.iter().flatten().find_map(|node| node["properties"].get(name))
    }

    fn properties(self) -> impl Iterator<Item = (&'s str, &'s Value)> {
        let all = self.0.into_iter().flatten().filter_map(|node| node["properties"].as_object()).flatten();
        all.map(|(name, schema)| (name.as_str(), schema))
    }

    /// Returns the schema of fields that are not named, if there may be others.
    fn others(&self) -> Option<&'s Value> {
        let patterns = self.keyword("patternProperties").and_then(|all| all.as_object()?.values().next());
        patterns.or(match self.keyword("additionalProperties") {
            None => self.properties().next().is_none().then_some(&Value::Null),
            others => others.filter(|others| **others != false),
        })
    }

    fn required(self) -> impl Iterator<Item = &'s str> {
        let all = self.0.into_iter().flatten().filter_map(|node| node["required"].as_array());
        all.flatten().filter_map(Value::as_str)
    }

    /// Returns the texts that a value may be, if only these.
    fn words(&self) -> Vec<&'s str> {
        let words = self.keyword("enum").and_then(Value::as_array).into_iter().flatten();
        self.keyword("const").into_iter().chain(words).filter_map(Value::as_str).collect()
    }

    fn problem_of_text(&self, text: &str) -> Option<String> {
        match self.keyword("format").and_then(Value::as_str) {
            Some("date-time") => return Timestamp::parse(text).err().map(|error| error.to_string()),
            Some("email") if ReplyAddress::parse(text).is_err() => {
                return Some("must be an email address".to_owned());
            }
            _ => {}
        }
        // The form of an id: a prefix, and some of a class of characters. The types look at each character.
        let pattern = self.keyword("pattern")?.as_str()?;
        let (prefix, _) = pattern.strip_prefix('^')?.strip_suffix("]+$")?.split_once('[')?;
        let sound = text.strip_prefix(prefix).is_some_and(|rest| !rest.is_empty());
        (!sound).then(|| format!("must be an id that starts with `{prefix}`"))
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Says what a value must be.
fn demand(shapes: &[Shape<'_>]) -> String {
    let words: Vec<&str> = shapes.iter().flat_map(Shape::words).collect();
    if !words.is_empty() {
        return format!("must be one of {}", words.join(", "));
    }
    let demand = |shape: &Shape<'_>| {
        let kind = shape.kinds()?.into_iter().find(|kind| *kind != "null")?;
        Some(match (kind, shape.keyword("minimum"), shape.keyword("maximum")) {
            ("integer", Some(least), Some(most)) => format!("a whole number from {least} to {most}"),
            ("integer", Some(_), None) => "a whole number, 0 or more".to_owned(),
            ("integer", ..) => "a whole number".to_owned(),
            ("boolean", ..) => "true or false".to_owned(),
            ("array", ..) => "a list".to_owned(),
            ("object", ..) => "an object".to_owned(),
            (kind, ..) => format!("a {kind}"),
        })
    };
    let mut demands: Vec<String> = shapes.iter().filter_map(demand).collect();
    demands.dedup();
    format!("must be {}", demands.join(" or "))
}

/// Says that a text is none of those that it may be.
pub(crate) fn not_one_of(words: &[&str], given: &str) -> String {
    format!("must be one of {}, not {given}{}", words.join(", "), did_you_mean(given, words.iter().copied()))
}
