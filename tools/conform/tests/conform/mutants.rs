//! Every rule has been seen to fail: a proxy changes one thing at a time, and the rule about that thing finds
//! it.

mod by_hand;
mod from_openapi;
mod from_rules;

use std::{collections::HashSet, sync::Arc, time::Duration};

use serde_json::{Value, json};
use shared_inbox_conform::{Conform, Kind, RuleResult};
use shared_inbox_mock::MockServer;

use crate::proxy::{Changes, Proxy, ProxyRequest, ProxyResponse, Route};

/// One change, and the rule that is about what was changed.
pub(crate) struct Mutant {
    name: String,
    rule: String,
    changes: Changes,
}

fn mutant(name: impl Into<String>, rule: impl Into<String>, changes: Changes) -> Mutant {
    Mutant { name: name.into(), rule: rule.into(), changes }
}

/// Changes the JSON of successful responses to such a request.
fn edit(what: impl Into<String>, change: impl Fn(&mut Value) + Send + Sync + 'static) -> Changes {
    let what = what.into();
    after(what, move |_, response| {
        if response.status < 300 {
            let mut json = response.json();
            change(&mut json);
            response.set_json(&json);
        }
    })
}

/// Changes responses to such a request.
fn after(
    what: impl Into<String>,
    change: impl Fn(&ProxyRequest, &mut ProxyResponse) + Send + Sync + 'static,
) -> Changes {
    let what = what.into();
    let after = move |request: &ProxyRequest, response: &mut ProxyResponse| {
        if request.is(&what) {
            change(request, response);
        }
    };
    Changes { after: Some(Arc::new(after)), ..Changes::default() }
}

/// Another status instead of this one; a success has a body that looks like one.
fn status(what: impl Into<String>, from: u16, to: u16) -> Changes {
    after(what, move |_, response| {
        if response.status == from {
            *response = match to {
                200..=299 => ProxyResponse::new(to, &success()),
                _ => ProxyResponse::new(to, &serde_json::json!({ "error": "Not so: scope, body, 120." })),
            };
        }
    })
}

/// A body that passes for that of any success.
fn success() -> Value {
    serde_json::json!({ "ok": true, "messageId": "msg_1", "status": "draft", "conversationId": "cnv_1" })
}

/// Changes or stops such a request.
fn before(
    what: impl Into<String>,
    change: impl Fn(&mut ProxyRequest) -> Route + Send + Sync + 'static,
) -> Changes {
    let what = what.into();
    let before =
        move |request: &mut ProxyRequest| if request.is(&what) { change(request) } else { Route::Forward };
    Changes { before: Some(Arc::new(before)), ..Changes::default() }
}

/// Changes a webhook on its way; says how often it arrives.
fn relay(change: impl Fn(&mut ProxyRequest) -> usize + Send + Sync + 'static) -> Changes {
    Changes { relay: Some(Arc::new(change)), ..Changes::default() }
}

/// Whether the rule, tried alone, finds the change.
async fn survives(proxy: &Proxy, key: &str, mutant: &Mutant) -> Option<String> {
    proxy.change(mutant.changes.clone());
    let report = Conform::new(proxy.base_url(), key).only([mutant.rule.as_str()]).run().await;
    proxy.change(Changes::default());
    let Mutant { name, rule, .. } = mutant;
    match report {
        Err(error) => Some(format!("{name}: could not run: {error}")),
        Ok(report) if report.rules.iter().all(|rule| rule.result == RuleResult::Differs) => None,
        Ok(report) => Some(format!("{name}: {rule} says {:?}", report.rules)),
    }
}

async fn all_are_found(mutants: Vec<Mutant>) {
    let mock = MockServer::builder().manual_clock().start().await;
    let proxy = Proxy::start(mock.base_url()).await;
    let rules = Conform::rules();
    let mut surviving = Vec::new();
    for mutant in &mutants {
        assert!(rules.iter().any(|rule| rule.id == mutant.rule), "{}: no rule {}", mutant.name, mutant.rule);
        surviving.extend(survives(&proxy, mock.test_key(), mutant).await);
        // The look at the key counts, in a world whose clock stands still.
        mock.control().advance(Duration::from_secs(1)).await.expect("the clock moves");
    }
    let (left, of) = (surviving.len(), mutants.len());
    assert!(surviving.is_empty(), "{left} survive of {of}:\n{}", surviving.join("\n"));
    assert!(mutants.len() >= 40, "{} mutants", mutants.len());
}

/// Rules that no change of a proxy breaks, and why.
const UNCHANGEABLE: &[(&str, &str)] = &[
    ("me.livemode", "the suite refuses to run at all"),
    ("me.livemode.test", "the suite refuses to run at all"),
    ("me.scopes.read", "the suite refuses to run at all"),
    ("secret.once", "a list that shows the secret cannot be made without knowing it"),
    ("version.path", "it is about the address that the suite is given"),
];

async fn openapi() -> Value {
    let mock = MockServer::builder().manual_clock().start().await;
    let url = format!("{}/openapi.json", mock.base_url());
    let document =
        reqwest::Client::new().get(url).bearer_auth(mock.test_key()).send().await.expect("an answer");
    document.json().await.expect("a document")
}

/// The rules whose id starts so, with the rest of the id.
fn rules_below(prefix: &str) -> Vec<(String, String)> {
    let ids = Conform::rules().into_iter().map(|rule| rule.id);
    ids.filter_map(|id| Some((id.clone(), id.strip_prefix(prefix)?.to_owned()))).collect()
}

async fn all() -> Vec<Mutant> {
    let document = openapi().await;
    let (responses, events) = (from_openapi::responses(&document), from_openapi::events(&document));
    [responses, events, from_rules::all(), by_hand::all()].into_iter().flatten().collect()
}

#[tokio::test]
async fn every_demanded_rule_has_been_seen_to_fail() {
    let found: HashSet<String> = all().await.into_iter().map(|mutant| mutant.rule).collect();
    let demanded =
        Conform::rules().into_iter().filter(|rule| rule.kind == Kind::Demanded).map(|rule| rule.id);
    let unseen: Vec<String> = demanded
        .filter(|id| !found.contains(id) && !UNCHANGEABLE.iter().any(|(rule, _)| rule == id))
        .collect();
    assert!(unseen.is_empty(), "{} rules: {}", unseen.len(), unseen.join(" "));
}

#[tokio::test]
async fn types_take_what_the_document_names_and_nothing_else() {
    let mock = MockServer::builder().manual_clock().no_rate_limit().start().await;
    let proxy = Proxy::start(mock.base_url()).await;
    for (field, value, holds) in [
        ("lastMessageAt", json!("2026-01-02T03:04:05.678Z"), true),
        ("lastMessageAt", json!("2026-01-02T03:04:05+00:00"), true),
        ("lastMessageAt", json!("2026-01-02T03:04:05+02:00"), false),
        ("lastMessageAt", json!("2026-01-02 03:04:05Z"), false),
        ("lastMessageAt", json!("2026-01-02"), false),
        ("lastMessageAt", json!(1_767_323_045), false),
        ("id", json!("cnv_0a9"), true),
        ("id", json!("cnv_0A9"), false),
        ("id", json!("cnv_"), false),
        ("id", json!("not_1"), false),
        ("messageCount", json!(1.5), false),
        ("topic", json!(null), true),
        ("tags", json!(["a", 1]), false),
    ] {
        let given = value.clone();
        proxy.change(edit("GET /conversations", move |list| {
            for item in list.as_array_mut().into_iter().flatten() {
                item[field] = given.clone();
            }
        }));
        let rule = format!("summary.{field}");
        let report =
            Conform::new(proxy.base_url(), mock.test_key()).only([rule]).run().await.expect("it runs");
        let expected = if holds { RuleResult::Holds } else { RuleResult::Differs };
        assert_eq!(report.rules[0].result, expected, "{field}: {value}");
    }
}

/// One change in sixteen, from all over the tables; all of them, which take minutes, where `CONFORM_MUTANTS`
/// is set.
#[tokio::test]
async fn the_rule_about_what_was_changed_finds_it() {
    let step = if std::env::var_os("CONFORM_MUTANTS").is_some() { 1 } else { 16 };
    all_are_found(all().await.into_iter().step_by(step).collect()).await;
}
