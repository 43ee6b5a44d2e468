//! Holds answers against the OpenAPI document that the server serves.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use jsonschema::Validator;
use reqwest::Method;
use serde_json::{Value, json};

use super::Reply;

/// The document, and the validators made from it so far.
#[derive(Clone)]
pub(crate) struct Document {
    value: Arc<Value>,
    validators: Arc<Mutex<HashMap<String, Arc<Validator>>>>,
}

impl Document {
    pub(crate) async fn served(http: &reqwest::Client, base_url: &str, key: &str) -> Self {
        let request = http.get(format!("{base_url}/openapi.json")).bearer_auth(key);
        let response = request.send().await.expect("an answer");
        let value = Reply::of(response).await.expect(200);
        Self { value: Arc::new(value), validators: Arc::default() }
    }

    /// Panics when the document does not allow this answer to this request.
    pub(crate) fn check(&self, method: &Method, path: &str, reply: &Reply) {
        let path = path.split('?').next().unwrap_or_default();
        let method = method.as_str().to_lowercase();
        let Some(template) = self.template(path) else {
            assert!(reply.status == 404, "{path} is not in the document, and yet answered {}", reply.status);
            return;
        };
        let operation = format!("/paths/{}/{method}", template.replace('~', "~0").replace('/', "~1"));
        if self.value.pointer(&operation).is_none() {
            assert_eq!(reply.status, 405, "{method} {path} is not in the document");
            return;
        }
        let mut response = format!("{operation}/responses/{}", reply.status);
        let described = self
            .value
            .pointer(&response)
            .unwrap_or_else(|| panic!("{method} {template} must not answer {}", reply.status));
        if let Some(reference) = described["$ref"].as_str() {
            response = reference.trim_start_matches('#').to_owned();
        }
        let schema = format!("{response}/content/application~1json/schema");
        let validator = self.validator(&schema);
        let body = reply.json();
        let wrong: Vec<String> =
            validator.iter_errors(&body).map(|error| format!("{}: {error}", error.instance_path())).collect();
        assert!(
            wrong.is_empty(),
            "{method} {template} answered {} against the document: {wrong:?}\n{body}",
            reply.status
        );
    }

    fn template(&self, path: &str) -> Option<String> {
        let fits = |template: &&String| {
            let (mut wanted, mut given) = (template.split('/'), path.split('/'));
            loop {
                match (wanted.next(), given.next()) {
                    (None, None) => return true,
                    (Some(wanted), Some(given))
                        if wanted == given || (wanted.starts_with('{') && !given.is_empty()) => {}
                    _ => return false,
                }
            }
        };
        self.value["paths"].as_object().expect("paths").keys().find(fits).cloned()
    }

    fn validator(&self, pointer: &str) -> Arc<Validator> {
        let mut validators = self.validators.lock().expect("no test panics while it holds this");
        if let Some(validator) = validators.get(pointer) {
            return Arc::clone(validator);
        }
        // The whole document is the root, so that its references resolve; the rest of it means nothing to a schema.
        let mut root = (*self.value).clone();
        root["$ref"] = json!(format!("#{}", pointer.replace('{', "%7B").replace('}', "%7D")));
        let validator = jsonschema::options().should_validate_formats(true).build(&root);
        let validator = Arc::new(validator.unwrap_or_else(|error| panic!("{pointer}: {error}")));
        validators.insert(pointer.to_owned(), Arc::clone(&validator));
        validator
    }
}
