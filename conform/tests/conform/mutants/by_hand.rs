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
use crate::proxy::{Answered, Changes, Way};

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

/// Such a request is answered and does nothing.
fn swallowed(what: &'static str) -> Changes {
    before(what, |_| Way::Not(Answered::new(201, &success())))
}

/// A request comes without this parameter.
fn ignoring(what: &'static str, parameter: &'static str) -> Changes {
    before(what, move |asked| {
        asked.drop_parameter(parameter);
        Way::On
    })
}

/// Events of this kind are changed.
fn events(kind: &'static str, change: impl Fn(&mut Value) + Send + Sync + 'static) -> Changes {
    relay(move |asked| {
        let mut event = asked.json();
        if kind.is_empty() || event["type"] == kind {
            change(&mut event);
            asked.set_json(&event);
        }
        1
    })
}

/// Events of this kind arrive so often.
fn arriving(kind: &'static str, times: usize) -> Changes {
    relay(move |asked| if asked.json()["type"] == kind { times } else { 1 })
}

/// The mock hears another answer than the receiver gave.
fn heard(change: impl Fn(u16) -> u16 + Send + Sync + 'static) -> Changes {
    Changes { heard: Some(Arc::new(change)), ..Changes::default() }
}

fn header(name: &'static str, change: impl Fn(&str) -> String + Send + Sync + 'static) -> Changes {
    relay(move |asked| {
        let value = asked.headers.get(name).and_then(|it| it.to_str().ok()).unwrap_or_default().to_owned();
        asked.headers.insert(name, change(&value).parse().expect("a header"));
        1
    })
}

/// What the control API shows of mails that left.
fn outbox(change: impl Fn(&mut Vec<Value>) + Send + Sync + 'static) -> Changes {
    edit("GET /_mock/worlds/*/outbox", move |json| change(json.as_array_mut().expect("a list")))
}

fn reminder() -> Value {
    json!({ "kind": "reminder", "at": "2036-01-01T00:00:00.000Z", "to": "kim@customer.example" })
}

pub(super) fn all() -> Vec<Mutant> {
    let mut mutants = Vec::new();
    for (group, list) in [
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
        let named = list.into_iter().map(|(rule, changes)| mutant(format!("{group}: {rule}"), rule, changes));
        mutants.extend(named);
    }
    mutants
}

type Named = Vec<(String, Changes)>;

fn named<const N: usize>(list: [(&str, Changes); N]) -> Named {
    list.into_iter().map(|(rule, changes)| (rule.to_owned(), changes)).collect()
}

/// A media type that is not JSON's.
fn as_text(what: &'static str) -> Changes {
    after(what, |_, answered| {
        drop(answered.headers.insert("content-type", "text/plain".parse().expect("a type")))
    })
}

fn status_only(what: &'static str, to: u16) -> Changes {
    after(what, move |_, answered| {
        if answered.status < 300 {
            answered.status = to;
        }
    })
}

/// Every response is another.
fn counting(what: &'static str) -> Changes {
    let count = AtomicU32::new(0);
    edit(what, move |it| it["changed"] = json!(count.fetch_add(1, Ordering::Relaxed)))
}
