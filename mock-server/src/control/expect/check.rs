//! Whether an expectation can be met at all: the names in `where`, and what there is in the world that could
//! match.

use std::sync::LazyLock;

use serde_json::{Value, json};
use shared_inbox::Problems;
use shared_inbox_webhooks::EventKind;

use super::{ExpectTime, Expectation, ExpectedKind};
use crate::{
    control::{
        Control,
        api::{DOCUMENT, DocumentedCall},
    },
    faults::routes,
    json::{matching::text_matches, nearest::did_you_mean, schema::Checker},
    runtime::clock::ClockMode,
    world::World,
};

/// The OpenAPI document of the service, whose webhooks are the events.
static SERVICE: LazyLock<Value> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../../documents/openapi.json")).unwrap_or_default()
});

/// An event of any kind.
static EVENT: LazyLock<Value> = LazyLock::new(|| {
    let kinds = SERVICE["webhooks"].as_object().into_iter().flatten();
    let schemas =
        kinds.map(|(_, kind)| &kind["post"]["requestBody"]["content"]["application/json"]["schema"]);
    json!({ "anyOf": schemas.collect::<Vec<_>>() })
});

/// A request as the journal shows it, and its body whichever way it came.
static REQUEST: LazyLock<Value> = LazyLock::new(|| with_fields("list_requests", json!({ "body": {} })));

static MAIL: LazyLock<Value> = LazyLock::new(|| with_fields("list_outbox", json!({})));

/// A delivery, with the webhook that it goes to.
static DELIVERY: LazyLock<Value> = LazyLock::new(|| {
    let kind = json!({ "type": "string", "enum": EventKind::TYPES });
    with_fields("list_deliveries", json!({ "webhookId": { "type": "string" }, "type": kind }))
});

/// Returns the schema of an item of a list, with further fields.
fn with_fields(list: &str, fields: Value) -> Value {
    let item = DocumentedCall::named(list).map(|call| call.item_schema());
    json!({ "type": "object", "properties": fields, "oneOf": [item] })
}

impl Expectation {
    /// Returns the problems of the expectation in a world whose clock runs like this: in `where`, names that
    /// no such thing has, and values that none could have.
    pub(in crate::control) fn problems(&self, mode: ClockMode) -> Problems {
        let (document, schema) = match self.of {
            ExpectedKind::Requests => (&DOCUMENT, &REQUEST),
            ExpectedKind::Outbox => (&DOCUMENT, &MAIL),
            ExpectedKind::Deliveries => (&DOCUMENT, &DELIVERY),
            ExpectedKind::Events => (&SERVICE, &EVENT),
        };
        let mut checker = Checker::new(document, "where").of_patterns();
        checker.check(schema, &Value::Object(self.fields.clone()));
        let mut problems = checker.problems;
        let (least, most) = self.range();
        if least > most {
            problems.push("count", "`atLeast` must not be more than `atMost`");
        }
        // In real seconds; a hundred years of the world's.
        let (longest, clock) = match self.time_of(mode) {
            ExpectTime::Real => (300.0, "real"),
            ExpectTime::Virtual => (3_155_760_000.0, "virtual"),
        };
        if !(0.0..=longest).contains(&self.within_seconds) {
            problems.push("withinSeconds", format!("must be from 0 to {longest} in {clock} time"));
        }
        problems
    }

    /// Returns why nothing could have met an expectation of none, if so.
    pub(super) fn why_vacuous(&self, control: &Control) -> Option<String> {
        let why = (self.range().1 == 0).then(|| control.read(|world, _| self.why_impossible(world)))??;
        let (of, wanted) = (json!(self.of), Value::Object(self.fields.clone()));
        Some(format!("expected none of {} with {wanted}, and there could be none: {why}", of.as_str()?))
    }

    fn why_impossible(&self, world: &World) -> Option<String> {
        let wanted = |name: &str| self.fields.get(name).and_then(Value::as_str);
        match self.of {
            ExpectedKind::Requests => match (wanted("tool"), wanted("method"), wanted("path")) {
                (Some(tool), ..) if !routes::tools().any(|known| text_matches(tool, known)) => {
                    Some(format!("there is no MCP tool {tool}{}", did_you_mean(tool, routes::tools())))
                }
                (tool, method, path) if !routes::can_match(method, path, tool.is_some()) => {
                    let at: Vec<&str> = [method, path].into_iter().flatten().collect();
                    let (what, hint) = match tool {
                        Some(_) => ("tool", String::new()),
                        None => ("route", routes::did_you_mean_route(method, path)),
                    };
                    Some(format!("the service has no {what} at {}{hint}", at.join(" ")))
                }
                _ => None,
            },
            ExpectedKind::Outbox => {
                let to = wanted("to").filter(|_| wanted("kind") != Some("notice"))?;
                let mut customers =
                    world.conversations.iter().filter_map(|thread| thread.contact.email.as_deref());
                let known = customers.any(|address| text_matches(to, address))
                    || world.notice_addresses().any(|address| text_matches(to, &address));
                (!known).then(|| format!("nobody in a conversation has the address {to}"))
            }
            ExpectedKind::Deliveries => {
                let known = world.webhooks().iter().any(|webhook| {
                    // A test event is sent whatever it subscribes to.
                    let mut sent = webhook.events.iter().map(String::as_str).chain(["webhook.test"]);
                    let wants = |kind: &str| sent.any(|one| text_matches(kind, one));
                    wanted("webhookId").is_none_or(|id| text_matches(id, webhook.id.as_str()))
                        && wanted("type").is_none_or(wants)
                });
                (!known).then(|| "there is no webhook that wants it".to_owned())
            }
            ExpectedKind::Events => None,
        }
    }
}
