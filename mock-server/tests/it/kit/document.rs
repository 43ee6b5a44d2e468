//! Holds answers against the OpenAPI document that the server serves.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use jsonschema::Validator;
use reqwest::Method;
use serde_json::{Value, json};
use shared_inbox_mock::{MockServer, NewWorld};

use super::Reply;

/// The validators made from a document so far, by the schema's place in it.
type Validators = Arc<Mutex<HashMap<String, Arc<Validator>>>>;

/// Those of each document that a server of this process has served. Making one takes longer than most tests.
static MADE: Mutex<Vec<(Value, Validators)>> = Mutex::new(Vec::new());

/// The document, and the validators made from it so far.
#[derive(Clone)]
pub(crate) struct Document {
    value: Arc<Value>,
    /// That of the control API.
    control: Option<Arc<Document>>,
    validators: Validators,
}

impl Document {
    /// As this server serves it, read in a world of its own: it leaves no trace in the one under test.
    pub(crate) async fn served(http: &reqwest::Client, mock: &MockServer) -> Self {
        let world = mock.control().create_world(NewWorld::empty()).await.expect("a world");
        let ready = world.ready();
        let request = http.get(format!("{}/openapi.json", ready.base_url)).bearer_auth(&ready.keys.live);
        let response = request.send().await.expect("an answer");
        let value = Reply::read(response).await.expect(200);
        mock.control().delete_world(ready.id.as_deref().expect("an id")).await.expect("it was there");
        let control = serde_json::from_str(mock.control().openapi()).expect("a document");
        Self { control: Some(Arc::new(Self::new(control))), ..Self::new(value) }
    }

    fn new(value: Value) -> Self {
        // Where it is served means nothing to a schema.
        let mut anywhere = value.clone();
        anywhere["servers"] = Value::Null;
        let mut made = MADE.lock().expect("no test panics while it holds this");
        let found = made.iter().find(|(document, _)| *document == anywhere);
        let validators = found.map(|(_, validators)| Arc::clone(validators)).unwrap_or_else(|| {
            let new = Validators::default();
            made.push((anywhere, Arc::clone(&new)));
            new
        });
        Self { value: Arc::new(value), control: None, validators }
    }

    /// The document of the control API.
    pub(crate) fn control(&self) -> &Document {
        self.control.as_ref().expect("the service's document knows it")
    }

    /// Sends a request of any kind. Panics when its answer is not allowed: by the document for a path of the
    /// service, by the one shape of errors for all others.
    pub(crate) async fn ask(&self, request: reqwest::RequestBuilder) -> Reply {
        let (http, request) = request.build_split();
        let request = request.expect("a request");
        let (method, path) = (request.method().clone(), request.url().path().to_owned());
        let reply = Reply::read(http.execute(request).await.expect("an answer")).await;
        match path.strip_prefix("/api/v1") {
            Some("/openapi.json") => {}
            Some(path) => self.check(&method, path, &reply),
            None if reply.status >= 400 && !path.starts_with("/_mock/") => drop(reply.error(reply.status)),
            None => {
                let below = path.strip_prefix("/_mock").unwrap_or_default();
                let of_world =
                    below.strip_prefix("/worlds/").and_then(|rest| rest.find('/').map(|at| &rest[at..]));
                // A world that is not there answers so to every call.
                if of_world.is_some() && reply.status == 404 {
                    reply.error(404);
                } else if path.starts_with("/_mock/") {
                    self.control().check(&method, of_world.unwrap_or(below), &reply);
                }
            }
        }
        reply
    }

    fn check(&self, method: &Method, path: &str, reply: &Reply) {
        let method = method.as_str().to_lowercase();
        let Some(template) = self.template(path) else {
            let refused = [401, 403, 404].contains(&reply.status);
            assert!(refused, "{path} is not in the document, and yet answered {}", reply.status);
            reply.error(reply.status);
            return;
        };
        let operation = format!("/paths/{}/{method}", template.replace('~', "~0").replace('/', "~1"));
        if self.value.pointer(&operation).is_none() {
            assert!([401, 403, 405].contains(&reply.status), "{method} {path} is not in the document");
            reply.error(reply.status);
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
        match self.value.pointer(&format!("{response}/content")) {
            None => assert!(reply.text.is_empty(), "{method} {template} {}: {}", reply.status, reply.text),
            Some(content) if content.get("application/json").is_some() => {
                self.holds(&format!("{response}/content/application~1json/schema"), &reply.json());
            }
            Some(_) => {}
        }
    }

    /// Panics when the document does not allow this event to be sent.
    pub(crate) fn check_event(&self, event: &Value) {
        let kind = event["type"].as_str().expect("a kind");
        self.holds(&format!("/webhooks/{kind}/post/requestBody/content/application~1json/schema"), event);
    }

    pub(crate) fn value(&self) -> &Value {
        &self.value
    }

    fn holds(&self, schema: &str, body: &Value) {
        let validator = self.validator(schema);
        let wrong: Vec<String> =
            validator.iter_errors(body).map(|error| format!("{}: {error}", error.instance_path())).collect();
        assert!(wrong.is_empty(), "against the document at {schema}: {wrong:?}\n{body}");
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
        // The whole document is the root, so that its references resolve; the rest of it means nothing to a
        // schema.
        let mut root = (*self.value).clone();
        root["$ref"] = json!(format!("#{}", pointer.replace('{', "%7B").replace('}', "%7D")));
        if self.control.is_some() {
            // The mock adds no field of its own to those of the service.
            for schema in root["components"]["schemas"].as_object_mut().expect("schemas").values_mut() {
                if schema["properties"].is_object() {
                    schema["additionalProperties"] = json!(false);
                }
            }
        }
        let validator = jsonschema::options().should_validate_formats(true).build(&root);
        let validator = Arc::new(validator.unwrap_or_else(|error| panic!("{pointer}: {error}")));
        validators.insert(pointer.to_owned(), Arc::clone(&validator));
        validator
    }
}
