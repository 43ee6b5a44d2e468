//! What steps are in terms of the control API: fault rules, and the calls of people, customers and time.

use serde_json::{Value, json};
use shared_inbox_mock::faults::ControlCall;

use crate::explore::{
    plan::schedule::Schedule,
    plan::step::{Act, Place, Step, What},
    scenario::Scenario,
};

/// How much time passes between two runs of a job: more than the undo window.
pub(crate) const ROUND_SECONDS: u64 = 660;
/// How much time passes before a job that failed is run again, by its supervisor. Nobody looks at drafts
/// meanwhile.
pub(crate) const RETRY_SECONDS: u64 = 60;
/// How much time passes until a delivery that was not answered is made again, about 30 seconds later.
pub(crate) const OVERLAP_SECONDS: u64 = 45;
/// What an edited draft says.
const EDITED: &str = "We looked into it ourselves, and will write again tomorrow.";
/// What a person answers by hand.
const BY_HAND: &str = "I have taken care of it myself.";
/// What a customer writes again who does not repeat the question.
const NUDGE: &str = "Is there any news?";
/// How much time passes until the service reminds of documents: two days, and the undo window before them.
const REMINDER_SECONDS: u64 = 2 * 86_400 + ROUND_SECONDS;
const OUT_OF_OFFICE: &str = "I am out of the office until Monday.";

/// Returns the fault rules of the steps at requests and deliveries. Those who act come first, since they
/// leave the request to the others.
pub(crate) fn rules(
    schedule: &Schedule,
    slow_ms: u64,
    call: impl Fn(Act, usize) -> Option<ControlCall>,
) -> Vec<(Step, Value)> {
    let mut rules = Vec::new();
    let mut steps = schedule.steps.clone();
    steps.sort_by_key(|step| (step.act().is_none(), step.place.nth()));
    let mut failing = Vec::new();
    for step in steps {
        let mut rule = match step.place {
            Place::Before(request) | Place::After(request) => request.op.rule(),
            Place::Delivery(delivery) => delivery.rule(),
            Place::Quiet(..) => continue,
        };
        let is_after = matches!(step.place, Place::After(_));
        let effect = match step.what {
            What::Act(act, mail) => {
                let Some(call) = call(act, mail) else { continue };
                json!({ "act": [call], "when": if is_after { "after" } else { "before" } })
            }
            // The app is killed while it waits.
            What::Kill => json!({ "drop": if is_after { "after" } else { "before" }, "delayMs": 60_000 }),
            What::Fail(failure) => failure.effect(slow_ms),
        };
        let mut skip = step.place.nth() as usize;
        if step.act().is_none() {
            // A rule does not see what one before it has struck.
            skip -= failing.iter().filter(|other| **other == rule).count().min(skip);
            failing.push(rule.clone());
        }
        rule["skip"] = json!(skip);
        rule["effect"] = effect;
        rules.push((step, rule));
    }
    rules
}

/// Returns the control call of a step.
pub(crate) fn control_call(
    act: Act,
    scenario: &Scenario,
    mail: usize,
    conversation: &str,
    inbox: &str,
    person: &str,
) -> Option<ControlCall> {
    let of = scenario.mails.get(mail)?;
    let message = |what: &str, body| ControlCall::post(format!("/messages/{conversation}/{what}"), body);
    let clock = |seconds: u64| ControlCall::post("/clock", json!({ "advanceSeconds": seconds }));
    let inbound = |fields: Value| {
        let mut body = json!({ "to": inbox, "from": of.from, "text": of.text });
        if let Some(subject) = of.more.get("subject") {
            body["subject"] = subject.clone();
        }
        for (name, value) in fields.as_object().into_iter().flatten() {
            body[name] = value.clone();
        }
        ControlCall::post("/inbound", body)
    };
    Some(match act {
        Act::Approve => message("approve", json!({})),
        Act::Edit => message("approve", json!({ "body": EDITED })),
        Act::Stop => message("stop", json!({})),
        Act::Discard => message("discard", json!({})),
        Act::Assign => {
            let path = format!("/conversations/{conversation}/assign");
            ControlCall::post(path, json!({ "to": format!("user:{person}") }))
        }
        Act::Answer => {
            let path = format!("/conversations/{conversation}/replies");
            ControlCall::post(path, json!({ "body": BY_HAND }))
        }
        Act::Advance => clock(ROUND_SECONDS),
        Act::Overlap => clock(OVERLAP_SECONDS),
        Act::Reminder => clock(REMINDER_SECONDS),
        Act::Upload => {
            let body = json!({ "item": 0, "filename": "document.pdf" });
            ControlCall::post(format!("/document-requests/{conversation}/uploads"), body)
        }
        Act::Mail | Act::Nudge | Act::Other => {
            let text = Some(second_mail(act, scenario, mail)).filter(|text| !text.is_empty())?;
            inbound(json!({ "text": text, "conversationId": conversation }))
        }
        Act::AutoReply => {
            inbound(json!({ "text": OUT_OF_OFFICE, "conversationId": conversation, "autoReply": true }))
        }
        Act::NewMail => inbound(json!({ "from": another(mail) })),
        Act::Risk => inbound(json!({ "from": stranger(mail), "risk": "phishing", "held": true })),
    })
}

/// Returns what the customer of a mail writes when they write again. A follow-up of the scenario has its own
/// words.
pub(crate) fn second_mail(act: Act, scenario: &Scenario, mail: usize) -> String {
    match scenario.mails.get(mail) {
        _ if act == Act::Nudge => NUDGE.to_owned(),
        Some(_) if act == Act::Other => {
            scenario.other_mail(mail).map_or_else(String::new, |other| scenario.mails[other].text.clone())
        }
        Some(mail) if mail.follow_up => mail.text.clone(),
        Some(mail) => format!("Me again. {}", mail.text),
        None => String::new(),
    }
}

/// Returns the customer of a `new-mail` step.
pub(crate) fn another(mail: usize) -> String {
    format!("another{}@customer.example", mail + 1)
}

/// Returns the sender of a `risk` step.
fn stranger(mail: usize) -> String {
    format!("stranger{}@customer.example", mail + 1)
}

/// Returns whether a text is one that comes with a step and is no customer's question.
pub(crate) fn is_auto_reply(text: &str) -> bool {
    text == OUT_OF_OFFICE
}
