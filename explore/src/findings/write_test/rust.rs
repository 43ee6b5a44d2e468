//! For `cargo test`, with `serde`, `serde_json` and `tokio` beside the mock.

use std::fmt::Write;

use serde_json::{Value, json};

use super::rust_helpers::{HEAD, HELPERS, JOB, SERVER};
use super::{Claim, Line, Test, literal, quote, template};
use crate::plan::step::Act;

pub(crate) fn write(test: &Test) -> String {
    let mut out = String::new();
    let mut line = |text: &str| {
        let _ = writeln!(out, "{text}");
    };
    line(&format!("// {}", test.summary.replace('\n', " ")));
    line(&format!("// Again: shared-inbox-mock explore --scenario FILE --replay {} -- COMMAND", test.token));
    line(HEAD);
    line(&format!("const COMMAND: &[&str] = &{};", value(&test.app.command())));
    if let Some(path) = &test.webhook_path {
        line(&format!("const WEBHOOK_PATH: &str = {};", quote(path)));
    }
    line("");
    line(HELPERS);
    line(if test.webhook_path.is_some() { SERVER } else { JOB });
    line("#[tokio::test]\n#[allow(unused_variables, unused_mut)]");
    line(&format!("async fn {}() {{", test.name));
    line("    let mock = MockServer::builder().empty().manual_clock().start().await;");
    line("    let control = mock.control();");
    line("    let inbox = control.mailboxes().await.expect(\"inboxes\")[0].address.clone();");
    if test.person {
        line("    let person = control.users().await[0].id.clone();");
    }
    let scopes = value(&json!(test.scopes));
    line(&format!(
        "    let key = from(json!({{ \"name\": \"app\", \"scopes\": {scopes}, \"livemode\": true }}));"
    ));
    line("    let key = control.create_key(key).await.expect(\"a key\");");
    line("    let now = std::time::UNIX_EPOCH.elapsed().expect(\"a time\").as_nanos();");
    line("    let state = std::env::temp_dir().join(format!(\"app-{}-{now}\", std::process::id()));");
    line("    std::fs::create_dir_all(&state).expect(\"a folder\");");
    line("    let app = App { mock: &mock, key: key.key.clone(), agent: key.agent_id.to_string(), state };");
    if test.webhook_path.is_some() {
        line("    let mut server = Server::start(&app).await;");
    }
    line("    let (mut kills, mut approved) = (Vec::<String>::new(), Vec::new());");
    for item in &test.lines {
        for text in statement(item, test) {
            line(&format!("    {text}"));
        }
    }
    line("}");
    out.replace("TIMEOUT_MS", &format!("{:.0}", test.timeout * 1000.0))
}

fn value(value: &Value) -> String {
    let text = |said: &str| {
        let written = template(said, &quote, "\"", ["{", "}"]);
        if written.contains('{') && said.contains(super::MARK) {
            format!("format!({written})")
        } else {
            written
        }
    };
    literal(value, &text, ["null", "true", "false"])
}

fn statement(line: &Line, test: &Test) -> Vec<String> {
    match line {
        Line::Comment(text) => vec![format!("// {text}")],
        Line::Mail { name: None, body } => {
            vec![format!("control.inbound(from(json!({}))).await.expect(\"a mail\");", value(body))]
        }
        Line::Mail { name: Some(name), body } => vec![format!(
            "let {name} = control.inbound(from(json!({}))).await.expect(\"a mail\").conversation_id;",
            value(body)
        )],
        Line::Fault { rule, kills } => {
            let add = format!("control.add_fault(from(json!({}))).await.expect(\"a rule\")", value(rule));
            vec![if *kills { format!("kills.push({add}.id);") } else { format!("{add};") }]
        }
        Line::Call { act, conversation, body } => {
            let body = format!("from(json!({}))", value(body));
            let target = match test.webhook_path {
                Some(_) => conversation.clone(),
                None => format!("{conversation}.as_str()"),
            };
            let of = |call: &str| format!("let _ = control.{call}({target}, {body}).await;");
            vec![match act {
                Act::Approve | Act::Edit => of("approve"),
                Act::Stop => of("stop"),
                Act::Discard => of("discard"),
                Act::Assign => of("assign"),
                Act::Answer => of("reply"),
                Act::Advance => advance(super::ROUND_SECONDS),
                Act::Overlap => advance(crate::run::calls::OVERLAP_SECONDS),
                Act::Mail | Act::NewMail | Act::Risk | Act::AutoReply => {
                    format!("control.inbound({body}).await.expect(\"a mail\");")
                }
            }]
        }
        Line::Run if test.webhook_path.is_some() => vec!["server.settle(&kills).await;".to_owned()],
        Line::Run => vec!["let status = app.run(&kills).await;".to_owned()],
        Line::People => vec!["app.people_approve(&mut approved).await;".to_owned()],
        Line::Advance(seconds) if test.webhook_path.is_some() => {
            vec![format!("server.advance(&kills, {seconds}).await;")]
        }
        Line::Advance(seconds) => vec![advance(*seconds)],
        Line::ClearFaults => vec!["control.clear_faults().await;".to_owned()],
        Line::Claim(claim) => assertion(claim, test),
    }
}

fn advance(seconds: u64) -> String {
    format!("control.advance(Duration::from_secs({seconds})).await.expect(\"time passes\");")
}

fn assertion(claim: &Claim, test: &Test) -> Vec<String> {
    let values_of = |values: &[String]| value(&json!(values));
    let sorted = |list: &str, values: &str| {
        vec![
            format!("let mut is: Vec<Value> = {list}.collect();"),
            "is.sort_by_key(Value::to_string);".to_owned(),
            format!("assert_eq!(json!(is), json!({values}));"),
        ]
    };
    match claim {
        Claim::TextAtMost { customer, text, times } => vec![
            format!(
                "let said = app.messages({}).await.iter().filter(|it| it[\"text\"] == {}).count();",
                quote(customer),
                quote(text)
            ),
            format!("assert!(said <= {times}, \"{{said}} times\");"),
        ],
        Claim::NoteAtMost { customer, text, times } => vec![
            format!(
                "let notes = app.timeline({}).await.iter().filter(|it| it[\"body\"] == {}).count();",
                quote(customer),
                quote(text)
            ),
            format!("assert!(notes <= {times}, \"{{notes}} times\");"),
        ],
        Claim::MessagesAtMost { customer, times } => {
            vec![format!("assert!(app.messages({}).await.len() <= {times});", quote(customer))]
        }
        Claim::Answered { customer } => vec![
            format!("let items = app.timeline({}).await;", quote(customer)),
            "let last = items.iter().rposition(|it| it[\"direction\"] == \"inbound\").expect(\"a mail\");"
                .to_owned(),
            "assert!(items[last..].iter().any(|it| it[\"author\"] == app.agent.as_str()));".to_owned(),
        ],
        Claim::Part { customer, part, values } => {
            let (customer, values) = (quote(customer), values_of(values));
            match *part {
                "outbox" => vec![
                    format!("let mut sent: Vec<_> = control.outbox().await.into_iter().filter(|it| it.to == {customer}).map(|it| it.text).collect();"),
                    "sent.sort();".to_owned(),
                    format!("let mut drafts: Vec<_> = app.messages({customer}).await.iter().filter(|it| it[\"status\"] == \"draft\").map(|it| it[\"text\"].as_str().unwrap_or_default().to_owned()).collect();"),
                    "drafts.sort();".to_owned(),
                    "sent.extend(drafts);".to_owned(),
                    format!("assert_eq!(json!(sent), json!({values}));"),
                ],
                "notes" => sorted(&format!("app.timeline({customer}).await.iter().filter(|it| it[\"type\"] == \"note\").map(|it| it[\"body\"].clone())"), &values),
                "tags" => sorted(&format!("app.view({customer}).await[\"tags\"].as_array().expect(\"tags\").iter().cloned()"), &values),
                "status" => vec![format!("assert_eq!(json!([app.view({customer}).await[\"status\"]]), json!({values}));")],
                "assignee" => vec![
                    format!("let assignee = app.view({customer}).await[\"assignee\"].clone();"),
                    "let named = if assignee[\"id\"] == app.agent.as_str() { \"app\" } else { assignee[\"type\"].as_str().unwrap_or(\"nobody\") };".to_owned(),
                    format!("assert_eq!(json!([named]), json!({values}));"),
                ],
                _ => vec![
                    format!("let view = app.view({customer}).await;"),
                    "let labels = |it: &Value| it[\"items\"].as_array().expect(\"items\").iter().map(|of| of[\"label\"].as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>().join(\", \");".to_owned(),
                    "let mut is: Vec<String> = view[\"documentRequests\"].as_array().expect(\"requests\").iter().map(labels).collect();".to_owned(),
                    "is.sort();".to_owned(),
                    format!("assert_eq!(json!(is), json!({values}));"),
                ],
            }
        }
        Claim::NoResponse { status } => {
            vec![format!("assert!(control.requests().await.iter().all(|it| it.status != Some({status})));")]
        }
        Claim::EndsWell if test.webhook_path.is_some() => {
            vec!["assert_eq!(server.process.try_wait().expect(\"a status\"), None);".to_owned()]
        }
        Claim::EndsWell => vec!["assert_eq!(status, Some(0));".to_owned()],
        Claim::Settles => vec![
            "let before = control.state().await.expect(\"a world\");".to_owned(),
            if test.webhook_path.is_some() {
                "server.advance(&kills, 660).await;"
            } else {
                "app.run(&kills).await;"
            }
            .to_owned(),
            "assert_eq!(control.state().await.expect(\"a world\"), before);".to_owned(),
        ],
        Claim::Expectation(n) => vec![format!(
            "control.expect(from(json!({}))).await.expect(\"it holds\");",
            test.expectations.get(*n).map(value).unwrap_or_default()
        )],
    }
}
