//! The part of the control API that the suite uses: which rule takes which calls, and the page for those who
//! offer it.

use std::{collections::BTreeMap, fmt::Write, fs, path::PathBuf, sync::Arc};

use serde_json::{Value, json};
use shared_inbox_conform::{Conform, Profile, RuleInfo, Verdict};
use shared_inbox_mock::MockServer;
use shared_inbox_tests::generated::assert_up_to_date;

use crate::proxy::{Changes, Proxy, ProxyRequest, Route};

/// What every run with a control API takes: to find it, and to make and end worlds.
const CORE: [&str; 5] = ["GET /health", "GET /clock", "POST /clock", "POST /worlds", "DELETE /worlds/{id}"];

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// The rule about a late receiver takes seconds; its calls are those of the rules beside it.
const LATE: &str = "delivered.late";

#[tokio::test]
async fn every_rule_names_the_control_calls_that_it_makes() {
    let mock = MockServer::start().await;
    let conform = Conform::new(mock.base_url(), mock.test_key()).skip([LATE]);
    let report = conform.run().await.expect("it runs");
    assert_eq!(report.verdict, Verdict::Conforms, "{report}");
    let mut calls: BTreeMap<&str, String> =
        report.rules.iter().map(|rule| (rule.id.as_str(), rule.control_calls.join(", "))).collect();
    let retried = calls["retried.500"].clone();
    calls.insert(LATE, retried);
    let mut table = String::new();
    for (id, calls) in calls.iter().filter(|(_, calls)| !calls.is_empty()) {
        writeln!(table, "{id}: {calls}").expect("written");
    }
    assert_up_to_date(path("src/rules/control-calls.txt"), &table);
}

/// Returns the rules that need each call, the most needed first.
fn needed(rules: &[RuleInfo]) -> Vec<(String, usize)> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for call in rules.iter().flat_map(|rule| &rule.control_calls) {
        *counts.entry(call).or_default() += 1;
    }
    let mut counts: Vec<(String, usize)> = counts
        .into_iter()
        .filter(|(call, _)| !CORE.contains(call))
        .map(|(call, count)| (call.to_owned(), count))
        .collect();
    counts.sort_by(|(one, many), (other, more)| more.cmp(many).then(one.cmp(other)));
    counts
}

/// The mock's own document of the control API, of which the page is a part.
fn document() -> Value {
    let text = fs::read_to_string(path("../../mock-server/documents/control.json")).expect("there");
    serde_json::from_str(&text).expect("JSON")
}

/// Returns the path of the document that a call is to, and its operation.
fn operation<'d>(document: &'d Value, call: &str) -> (&'d str, &'d Value) {
    let (method, path) = call.split_once(' ').expect("a method and a path");
    let is_same = |template: &str| {
        let parts = template.trim_start_matches("/_mock").split('/');
        let parts: Vec<&str> = parts.map(|part| if part.starts_with('{') { "{id}" } else { part }).collect();
        parts.join("/") == path
    };
    let paths = document["paths"].as_object().expect("paths");
    let (template, item) =
        paths.iter().find(|(template, _)| is_same(template)).unwrap_or_else(|| panic!("no {call}"));
    (template, &item[method.to_lowercase()])
}

/// Copies what a schema refers to, and what that refers to.
fn copy_referred(document: &Value, value: &Value, into: &mut Value) {
    match value {
        Value::Object(fields) => {
            if let Some(pointer) =
                fields.get("$ref").and_then(Value::as_str).and_then(|it| it.strip_prefix("#/components/"))
            {
                let (kind, name) = pointer.split_once('/').expect("a kind and a name");
                if into[kind].get(name).is_none() {
                    let target = document.pointer(&format!("/components/{pointer}")).expect("there").clone();
                    into[kind][name] = target.clone();
                    copy_referred(document, &target, into);
                }
            }
            fields.values().for_each(|field| copy_referred(document, field, into));
        }
        Value::Array(items) => items.iter().for_each(|item| copy_referred(document, item, into)),
        _ => {}
    }
}

/// The part of the mock's document that has these calls and nothing else.
fn schema(document: &Value, calls: &[String]) -> Value {
    let mut paths = json!({});
    let mut components = json!({});
    for call in calls {
        let (template, operation) = operation(document, call);
        let method = call.split(' ').next().expect("a method").to_lowercase();
        paths[template][method.as_str()] = operation.clone();
        let parameters = &document["paths"][template]["parameters"];
        if !parameters.is_null() {
            paths[template]["parameters"] = parameters.clone();
        }
        copy_referred(document, operation, &mut components);
        copy_referred(document, parameters, &mut components);
    }
    json!({
        "openapi": document["openapi"],
        "info": { "title": "The control API that shared-inbox-mock conform uses", "version": document["info"]["version"] },
        "paths": paths,
        "components": components,
    })
}

fn rows(document: &Value, calls: &[(String, usize)], page: &mut String) {
    writeln!(page, "\n| call | what it does | rules that take it |\n|---|---|---|").expect("written");
    for (call, rules) in calls {
        let (_, operation) = operation(document, call);
        let summary = operation["summary"].as_str().unwrap_or_default().replace('|', "\\|");
        writeln!(page, "| `{call}` | {summary} | {rules} |").expect("written");
    }
}

#[test]
fn the_page_about_the_control_api_is_up_to_date() {
    let document = document();
    let rules: Vec<RuleInfo> = Conform::rules();
    let with_control: Vec<RuleInfo> = rules.iter().filter(|rule| rule.needs == "control").cloned().collect();
    let of_webhooks = |rule: &RuleInfo| Profile::Webhooks.sections().contains(&rule.section.as_str());
    let (webhooks, others): (Vec<_>, Vec<_>) = with_control.iter().cloned().partition(of_webhooks);
    let core: Vec<(String, usize)> =
        CORE.iter().map(|call| ((*call).to_owned(), with_control.len())).collect();
    let webhook_calls = needed(&webhooks);
    let other_calls: Vec<(String, usize)> = needed(&others)
        .into_iter()
        .filter(|(call, _)| !webhook_calls.iter().any(|(it, _)| it == call))
        .collect();

    let mut page = format!(
        "# A control API for your own service\n\n\
         Much of what the API's document demands happens in the app, by people, or as time passes: a person approves a draft, a webhook \
         is added, a day of retries goes by. [`conform`](conform.md) tries those rules ({} of {}) where your service offers, in its test \
         environment, a small part of the mock's [control API](control-api.md). This page names that part. \
         [`conform-control-api.json`](conform-control-api.json) has its schema, as OpenAPI 3.1.\n\n\
         Offer it below any address, and name that address with `--control-url`; `SHARED_INBOX_CONTROL_TOKEN` is sent as a Bearer token. \
         A call that you do not offer leaves its rules untried: the verdict is `incomplete` then, so leave those rules out by `--skip` \
         or allow their number by `--max-not-tried`. `shared-inbox-mock conform --list` says which rule takes which calls.\n\n\
         This page is written by a test that watches a run of the suite.\n\n\
         ## What every rule takes\n\n\
         Each rule that needs the control API works in a world of its own: an empty workspace with a team inbox, a person, a live key \
         and a test key, whose clock stands still until it is moved. Everything below, but the first and the two calls of worlds, is below the \
         world's address (`/worlds/{{id}}`).\n",
        with_control.len(),
        rules.len(),
    );
    rows(&document, &core, &mut page);
    write!(
        page,
        "\n## Webhooks\n\n`--profile webhooks` tries {} rules with these calls. Receivers listen on the machine that `conform` runs on, at \
         `http://127.0.0.1`.\n",
        webhooks.len()
    )
    .expect("written");
    rows(&document, &webhook_calls, &mut page);
    write!(
        page,
        "\n## People, keys and mail\n\nThe other {} rules take these calls as well.\n",
        others.len()
    )
    .expect("written");
    rows(&document, &other_calls, &mut page);
    assert_up_to_date(path("../../docs/conform-control-api.md"), &page);

    let calls: Vec<String> =
        [core, webhook_calls, other_calls].concat().into_iter().map(|(call, _)| call).collect();
    let schema = serde_json::to_string_pretty(&schema(&document, &calls)).expect("JSON") + "\n";
    assert_up_to_date(path("../../docs/conform-control-api.json"), &schema);
}

/// A control API of these calls alone.
#[tokio::test]
async fn the_calls_of_the_page_are_all_that_the_rules_take() {
    let page = fs::read_to_string(path("../../docs/conform-control-api.md")).expect("there");
    let offered: Vec<String> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once('`').map(|(call, _)| call.to_owned()))
        .collect();
    assert!(offered.len() > CORE.len(), "{offered:?}");
    let mock = MockServer::start().await;
    let proxy = Proxy::start(mock.base_url()).await;
    let before = move |request: &mut ProxyRequest| {
        let called = request.path.split('?').next().unwrap_or_default();
        let Some(called) = called.strip_prefix("/_mock") else { return Route::Forward };
        let below_world = called
            .strip_prefix("/worlds/")
            .and_then(|it| it.split_once('/'))
            .map(|(_, rest)| format!("/{rest}"));
        let called = below_world.unwrap_or_else(|| called.to_owned());
        let is_offered = offered.iter().any(|call| {
            let (method, path) = call.split_once(' ').expect("a call");
            let same = |(one, other): (&str, &str)| one == "{id}" || one == other;
            method == request.method.as_str()
                && path.split('/').count() == called.split('/').count()
                && path.split('/').zip(called.split('/')).all(same)
        });
        if is_offered { Route::Forward } else { Route::respond(404, &json!({ "error": "Nothing here." })) }
    };
    proxy.change(Changes { before: Some(Arc::new(before)), ..Changes::default() });
    // Between them these sections take most calls; the rest of the page is what the test above saw.
    let conform = Conform::new(proxy.base_url(), mock.test_key()).only(["3.1", "3.3", "6.1"]).skip([LATE]);
    let report = conform.run().await.expect("it runs");
    assert_eq!((report.verdict, report.tried), (Verdict::Conforms, report.rules.len()), "{report}");
}

#[test]
fn profiles_are_sections_that_have_rules_and_the_largest_has_them_all() {
    let rules = Conform::rules();
    for profile in Profile::ALL {
        for section in profile.sections() {
            assert!(rules.iter().any(|rule| rule.section == *section), "{profile}: no rule of {section}");
        }
        assert_eq!(profile.name().parse(), Ok(profile));
    }
    let left_out: Vec<&RuleInfo> =
        rules.iter().filter(|rule| !Profile::Full.sections().contains(&rule.section.as_str())).collect();
    assert!(left_out.is_empty(), "{left_out:?}");
    assert!(Profile::Read.sections().iter().all(|section| Profile::Write.sections().contains(section)));
    assert!("everything".parse::<Profile>().is_err());
}
