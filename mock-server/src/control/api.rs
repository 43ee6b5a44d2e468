//! The control API as its own OpenAPI document describes it: which calls there are, and what each takes.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};
use shared_inbox::Problems;

use crate::json::{nearest::unknown, read::read_body, schema::Checker};

/// The OpenAPI document of the control API. `examples/write_documents` writes it.
pub(crate) const OPENAPI: &str = include_str!("../../documents/control.json");
/// The same, read.
pub(crate) static DOCUMENT: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(OPENAPI).unwrap_or_default());
/// The schema of the body of a call that takes none.
static NO_FIELDS: LazyLock<Value> =
    LazyLock::new(|| json!({ "type": "object", "additionalProperties": false }));

/// A call of the control API.
pub(crate) struct DocumentedCall(&'static Value);

impl DocumentedCall {
    /// Returns the call of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let paths = DOCUMENT["paths"].as_object().into_iter().flat_map(Map::values);
        let mut calls = paths.filter_map(Value::as_object).flat_map(Map::values);
        calls.find(|call| call["operationId"] == name).map(Self)
    }

    /// Returns the call with this method at this path.
    pub(crate) fn at(method: &str, path: &str) -> Option<Self> {
        let matches = |template: &str| {
            let same = |(wanted, given): (&str, &str)| {
                wanted == given || (wanted.starts_with('{') && !given.is_empty())
            };
            template.split('/').count() == path.split('/').count()
                && template.split('/').zip(path.split('/')).all(same)
        };
        let paths = DOCUMENT["paths"].as_object().into_iter().flatten();
        let mut found = paths.filter(|(template, _)| matches(template));
        found.find_map(|(_, calls)| calls.get(method.to_ascii_lowercase())).map(Self)
    }

    /// Returns the name of the call.
    pub(crate) fn name(&self) -> &'static str {
        self.0["operationId"].as_str().unwrap_or_default()
    }

    /// Returns the methods and paths of all calls.
    pub(crate) fn all() -> impl Iterator<Item = String> {
        let paths = DOCUMENT["paths"].as_object().into_iter().flatten();
        paths.flat_map(|(path, calls)| {
            let methods = calls.as_object().into_iter().flat_map(Map::keys);
            methods.map(move |method| format!("{} {path}", method.to_uppercase()))
        })
    }

    /// Returns the schema of an item of the list that the call returns.
    pub(crate) fn item_schema(&self) -> &'static Value {
        &self.0["responses"]["200"]["content"]["application/json"]["schema"]["items"]
    }

    /// Returns the problems of a query.
    pub(crate) fn problems_of_query(&self, query: &str) -> Problems {
        let mut checker = Checker::new(&DOCUMENT, "");
        let parameters = || {
            let all = self.0["parameters"].as_array().into_iter().flatten();
            all.filter(|parameter| parameter["in"] == "query")
                .filter_map(|parameter| Some((parameter["name"].as_str()?, parameter)))
        };
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            checker.within(&name, |checker| match parameters().find(|(known, _)| *known == name) {
                None => checker.push(unknown(&name, parameters())),
                // An empty value is none.
                Some(_) if value.is_empty() => {}
                Some((_, parameter)) => checker.check_parameter(&parameter["schema"], &value),
            });
        }
        checker.problems
    }

    /// Returns the problems of a body, whose paths begin with `path`. A world document is checked when it is
    /// read.
    pub(crate) fn problems_of_body(&self, path: &str, body: &[u8]) -> Problems {
        let mut checker = Checker::new(&DOCUMENT, path);
        let schema = self.0.pointer("/requestBody/content/application~1json/schema").unwrap_or(&NO_FIELDS);
        if self.name() == "put_state" {
            return checker.problems;
        }
        match read_body(if body.is_empty() { b"{}" } else { body }) {
            Ok(body) => checker.check(schema, &body),
            Err(error) => checker.push(format!("is not JSON: {error}")),
        }
        checker.problems
    }
}
