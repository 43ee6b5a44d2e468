//! Mutants of what operations do, one for each rule that no table gives one.

mod access;
mod reading;
mod telling;
mod writing;

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use serde_json::{Value, json};

use super::{Mutant, after, before, edit, mutant, relay, success};
use crate::proxy::{Changes, Route};

const READ: &str = "GET /conversations/*";
const LIST: &str = "GET /conversations";

/// Changes each item of a timeline that is of this type.
fn items(kind: &'static str, change: impl Fn(&mut Value) + Send + Sync + 'static) -> Changes {
    edit(READ, move |json| {
        let timeline = json["timeline"].as_array_mut().into_iter().flatten();
        timeline.filter(|it| it["type"] == kind).for_each(&change);
    })
}

/// Changes each entry of a list.
fn entries(what: &'static str, change: impl Fn(&mut Value) + Send + Sync + 'static) -> Changes {
    edit(what, move |json| json.as_array_mut().into_iter().flatten().for_each(&change))
}

/// Such a request gets a response and does nothing.
fn swallow(what: &'static str) -> Changes {
    before(what, |_| Route::respond(201, &success()))
}

/// A request comes without this parameter.
fn without_parameter(what: &'static str, parameter: &'static str) -> Changes {
    before(what, move |request| {
        request.drop_parameter(parameter);
        Route::Forward
    })
}

/// Events of this kind are changed.
pub(super) fn events(
    kind: impl Into<String>,
    change: impl Fn(&mut Value) + Send + Sync + 'static,
) -> Changes {
    let kind = kind.into();
    relay(move |request| {
        let mut event = request.json();
        if kind.is_empty() || event["type"] == kind.as_str() {
            change(&mut event);
            request.set_json(&event);
        }
        1
    })
}

/// Events of this kind arrive so often.
fn deliver_times(kind: impl Into<String>, times: usize) -> Changes {
    let kind = kind.into();
    relay(move |request| if request.json()["type"] == kind.as_str() { times } else { 1 })
}

/// The mock sees another status than the receiver gave.
fn receiver_status(change: impl Fn(u16) -> u16 + Send + Sync + 'static) -> Changes {
    Changes { receiver_status: Some(Arc::new(change)), ..Changes::default() }
}

fn header(name: &'static str, change: impl Fn(&str) -> String + Send + Sync + 'static) -> Changes {
    relay(move |request| {
        let value = request.headers.get(name).and_then(|it| it.to_str().ok()).unwrap_or_default().to_owned();
        request.headers.insert(name, change(&value).parse().expect("a header"));
        1
    })
}

/// What the control API shows of mails that left.
fn outbox(change: impl Fn(&mut Vec<Value>) + Send + Sync + 'static) -> Changes {
    edit("GET /_mock/worlds/*/outbox", move |json| change(list(json)))
}

/// The JSON of such a request is changed.
fn body(what: &'static str, change: impl Fn(&mut Value) + Send + Sync + 'static) -> Changes {
    before(what, move |request| {
        let mut json = request.json();
        change(&mut json);
        request.set_json(&json);
        Route::Forward
    })
}

/// Only the first such request arrives; the others get this response.
fn first_only(what: &'static str, status: u16, body: Value) -> Changes {
    let count = AtomicU32::new(0);
    before(what, move |_| match count.fetch_add(1, Ordering::Relaxed) {
        0 => Route::Forward,
        _ => Route::respond(status, &body),
    })
}

/// Such a request gets an empty response and does nothing.
fn ignore(what: &'static str) -> Changes {
    before(what, |_| Route::respond(200, &json!({})))
}

/// Outbound messages have this status.
fn outbound(status: &'static str) -> Changes {
    items("message", move |it| {
        if it["direction"] == "outbound" {
            it["status"] = json!(status);
        }
    })
}

/// Such a response says that the message leaves this many seconds later.
fn later(what: &'static str, seconds: i64) -> Changes {
    edit(what, move |it| {
        if let Some(at) = it["sendsAt"].as_str().and_then(|at| at.parse::<jiff::Timestamp>().ok()) {
            it["sendsAt"] = json!((at + jiff::SignedDuration::from_secs(seconds)).to_string());
        }
    })
}

fn remove(object: &mut Value, field: &str) {
    object.as_object_mut().expect("an object").remove(field);
}

fn list(value: &mut Value) -> &mut Vec<Value> {
    value.as_array_mut().expect("a list")
}

fn reminder() -> Value {
    json!({ "kind": "reminder", "at": "2036-01-01T00:00:00.000Z", "to": "kim@customer.example" })
}

pub(super) fn all() -> Vec<Mutant> {
    let mut mutants = Vec::new();
    for (group, mutants_of_group) in [
        ("form", reading::forms()),
        ("lists", reading::lists()),
        ("writes", writing::writes()),
        ("replies", writing::replies()),
        ("library", reading::library()),
        ("app mail", writing::app_mail()),
        ("sandbox", writing::sandbox()),
        ("access", access::access()),
        ("webhooks", telling::webhooks()),
        ("events", telling::occasions()),
        ("errors", access::errors()),
        ("mcp", access::mcp()),
    ] {
        for (rule, changes) in mutants_of_group {
            mutants.push(mutant(format!("{group}: {rule}"), rule, changes));
        }
    }
    mutants
}

type Named = Vec<(String, Changes)>;

fn named<const N: usize>(list: [(&str, Changes); N]) -> Named {
    list.into_iter().map(|(rule, changes)| (rule.to_owned(), changes)).collect()
}

/// A media type that is not JSON's.
fn as_text(what: &'static str) -> Changes {
    after(what, |_, response| {
        drop(response.headers.insert("content-type", "text/plain".parse().expect("a type")))
    })
}

fn status_only(what: &'static str, to: u16) -> Changes {
    after(what, move |_, response| {
        if response.status < 300 {
            response.status = to;
        }
    })
}

/// Every response is another.
fn count_responses(what: &'static str) -> Changes {
    let count = AtomicU32::new(0);
    edit(what, move |it| it["changed"] = json!(count.fetch_add(1, Ordering::Relaxed)))
}
