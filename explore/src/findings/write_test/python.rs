//! For pytest, with the fixture `shared_inbox`.

use std::fmt::Write;

use serde_json::{Value, json};

use super::{Claim, Line, Test, Tested, literal, quote, template};
use crate::plan::step::Act;

pub(crate) fn write(test: &Test) -> String {
    let mut out = String::new();
    let mut line = |text: &str| {
        let _ = writeln!(out, "{text}");
    };
    line(&format!("# {}", test.summary.replace('\n', " ")));
    match &test.app {
        Tested::Command(words) => {
            line(&format!(
                "# Again: shared-inbox-mock explore --scenario FILE --replay {} -- COMMAND",
                test.token
            ));
            line(if test.webhook_path.is_some() { SERVER_HEAD } else { HEAD });
            line(&format!("COMMAND = {}", value(&json!(words))));
        }
        Tested::Function(at) => {
            line(&format!("# Again: shared_inbox_explore(app, …, replay=\"{}\")", test.token));
            line("import asyncio\nimport inspect\nimport types\n\nimport pytest\n");
            line(&at.as_ref().map_or_else(
                || {
                    "def app(world):\n    raise SystemExit(\"put the function here that you explored\")"
                        .to_owned()
                },
                |(module, name)| format!("from {module} import {name} as app"),
            ));
        }
    }
    if let Some(path) = &test.webhook_path {
        line(&format!("WEBHOOK_PATH = {}", quote(path)));
    }
    line("\n\n@pytest.mark.shared_inbox(empty=True)");
    let needs = if test.webhook_path.is_some() { "tmp_path, request" } else { "tmp_path" };
    line(&format!("def test_{}(shared_inbox, {needs}):", test.name));
    line("    control, inbox = shared_inbox.control, shared_inbox.inbox()");
    if test.person {
        line("    person = control.list_users()[0][\"id\"]");
    }
    line(&format!(
        "    key = control.create_key({{\"name\": \"app\", \"scopes\": {}, \"livemode\": True}})",
        value(&json!(test.scopes))
    ));
    if let Tested::Function(_) = test.app {
        line(FUNCTION);
    } else {
        line(VARIABLES);
        let app = if test.webhook_path.is_some() { SERVER } else { JOB };
        line(&app.replace("TIMEOUT", &test.timeout.to_string()));
    }
    line(PEOPLE);
    for item in &test.lines {
        for text in statement(item, test) {
            line(&format!("    {text}"));
        }
    }
    out
}

const HEAD: &str = "import os\nimport subprocess\nimport time\n\nimport pytest\n";

/// A function cannot be killed: a rule that loses every request stands for that, until it has ended.
const FUNCTION: &str = r#"    approved = []
    world = types.SimpleNamespace(base_url=shared_inbox.base_url, mcp_url=shared_inbox.mcp_url, live_key=key["key"], state_dir=tmp_path)

    def run():
        try:
            asyncio.run(app(world)) if inspect.iscoroutinefunction(app) else app(world)
        except Exception:
            return 1
        finally:
            for rule in control.list_faults():
                if rule["times"] is None:
                    control.remove_fault(rule["id"])
        return 0
"#;

const SERVER_HEAD: &str = "import os\nimport socket\nimport subprocess\nimport time\nfrom concurrent.futures import ThreadPoolExecutor\nfrom datetime import datetime, timedelta\n\nimport pytest\n";

const VARIABLES: &str = r#"    variables = {
        "SHARED_INBOX_BASE_URL": shared_inbox.base_url,
        "SHARED_INBOX_API_KEY": key["key"],
        "SHARED_INBOX_STATE_DIR": str(tmp_path),
    }
    kills, approved = [], []

    def fired():
        return sum(it["fired"] for it in control.list_faults() if it["id"] in kills)
"#;

const JOB: &str = r#"    def run():
        before, process = fired(), subprocess.Popen(COMMAND, env={**os.environ, **variables})
        end = time.monotonic() + TIMEOUT
        while process.poll() is None:
            if time.monotonic() > end or fired() > before:
                process.kill()
            time.sleep(0.005)
        return process.returncode
"#;

const SERVER: &str = r#"    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}{WEBHOOK_PATH}"
    webhook = control.create_webhook({"url": url, "livemode": True, "scope": "team", "timestamps": "real"})
    variables.update({"PORT": str(port), "SHARED_INBOX_WEBHOOK_SECRET": webhook["secret"]})
    killed, pool = 0, ThreadPoolExecutor(1)

    def start():
        app = subprocess.Popen(COMMAND, env={**os.environ, **variables})
        request.addfinalizer(app.kill)
        end = time.monotonic() + TIMEOUT
        while app.poll() is None and time.monotonic() < end:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                time.sleep(0.01)
        return app

    def move_clock(how):
        """Meanwhile the app is killed at its request, and started again."""
        nonlocal app, killed
        moved = pool.submit(control.move_clock, how)
        while not moved.done() or fired() > killed:
            if fired() > killed:
                killed += 1
                app.kill()
                app.wait()
                app = start()
            time.sleep(0.005)
        moved.result()

    def settle():
        """Waits until nothing is being delivered and the app makes no request any more."""
        requests = None
        while requests != len(control.list_requests()):
            requests = len(control.list_requests())
            move_clock({"advanceSeconds": 0})
            time.sleep(0.1)

    def advance(seconds):
        """Time passes. The app comes to rest after each thing that falls due."""
        read = lambda time: datetime.fromisoformat(time.replace("Z", "+00:00"))
        end = read(control.get_clock()["now"]) + timedelta(seconds=seconds)
        while (jobs := control.list_jobs()) and read(jobs[0]["dueAt"]) <= end:
            move_clock({"nextJob": True})
            settle()
        move_clock({"to": end.isoformat()})

    app = start()
"#;

const PEOPLE: &str = r#"    def people_approve():
        for draft in control.list_approvals():
            view = control.get_conversation(draft["conversationId"])
            by_hand = [it for it in view["timeline"] if it.get("author", "").startswith("usr_") and it["type"] == "message"]
            if draft["messageId"] not in approved and not by_hand:
                approved.append(draft["messageId"])
                control.approve(draft["messageId"])

    def timeline(customer):
        for it in control.list_conversations():
            if it["contact"]["email"] == customer:
                return control.get_conversation(it["id"])["timeline"]
        return []

    def messages(customer):
        return [it["text"] for it in timeline(customer) if it["type"] == "message" and it.get("author") == key["agentId"]]
"#;

fn value(value: &Value) -> String {
    let text = |said: &str| template(said, &quote, "f\"", ["{", "}"]);
    literal(value, &text, ["None", "True", "False"])
}

fn statement(line: &Line, test: &Test) -> Vec<String> {
    match line {
        Line::Comment(text) => vec![format!("# {text}")],
        Line::Mail { name: Some(name), body } => {
            vec![format!("{name} = control.inbound({})[\"conversationId\"]", value(body))]
        }
        Line::Mail { name: None, body } => vec![format!("control.inbound({})", value(body))],
        Line::Fault { rule, kills: true } => {
            vec![format!("kills.append(control.add_fault({})[\"id\"])", value(rule))]
        }
        Line::Fault { rule, .. } => vec![format!("control.add_fault({})", value(rule))],
        Line::Call { act, conversation, body } => {
            let body = value(body);
            vec![match act {
                Act::Approve | Act::Edit => format!("control.approve({conversation}, {body})"),
                Act::Stop => format!("control.stop({conversation})"),
                Act::Discard => format!("control.discard({conversation})"),
                Act::Assign => format!("control.assign({conversation}, {body})"),
                Act::Answer => format!("control.reply({conversation}, {body})"),
                Act::Advance | Act::Overlap => format!("control.move_clock({body})"),
                Act::Mail | Act::NewMail | Act::Risk | Act::AutoReply => format!("control.inbound({body})"),
            }]
        }
        Line::Run if test.webhook_path.is_some() => vec!["settle()".to_owned()],
        Line::Run => vec!["status = run()".to_owned()],
        Line::People => vec!["people_approve()".to_owned()],
        Line::Advance(seconds) if test.webhook_path.is_some() => vec![format!("advance({seconds})")],
        Line::Advance(seconds) => vec![format!("control.move_clock({{\"advanceSeconds\": {seconds}}})")],
        Line::ClearFaults => vec!["control.clear_faults()".to_owned()],
        Line::Claim(claim) => assertion(claim, test),
    }
}

fn assertion(claim: &Claim, test: &Test) -> Vec<String> {
    match claim {
        Claim::TextAtMost { customer, text, times } => {
            vec![format!("assert messages({}).count({}) <= {times}", quote(customer), quote(text))]
        }
        Claim::NoteAtMost { customer, text, times } => vec![
            format!(
                "notes = [it[\"body\"] for it in timeline({}) if it[\"type\"] == \"note\"]",
                quote(customer)
            ),
            format!("assert notes.count({}) <= {times}", quote(text)),
        ],
        Claim::MessagesAtMost { customer, times } => {
            vec![format!("assert len(messages({})) <= {times}", quote(customer))]
        }
        Claim::Answered { customer } => vec![
            format!("items = [it for it in timeline({}) if it[\"type\"] == \"message\"]", quote(customer)),
            "last = max(n for n, it in enumerate(items) if it[\"direction\"] == \"inbound\")".to_owned(),
            "assert any(it.get(\"author\") == key[\"agentId\"] for it in items[last:])".to_owned(),
        ],
        Claim::Part { customer, part, values } => {
            let (customer, values) = (quote(customer), value(&json!(values)));
            let find = format!(
                "[view] = [control.get_conversation(it[\"id\"]) for it in control.list_conversations() if it[\"contact\"][\"email\"] == {customer}]"
            );
            match *part {
                "outbox" => vec![
                    format!(
                        "sent = sorted(it[\"text\"] for it in control.list_outbox() if it[\"to\"] == {customer} and it[\"outcome\"] == \"sent\")"
                    ),
                    format!(
                        "drafts = sorted(it[\"text\"] for it in timeline({customer}) if it.get(\"status\") == \"draft\" and it[\"author\"] == key[\"agentId\"])"
                    ),
                    format!("assert sent + drafts == {values}"),
                ],
                "notes" => vec![format!(
                    "assert sorted(it[\"body\"] for it in timeline({customer}) if it[\"type\"] == \"note\") == {values}"
                )],
                "tags" => vec![find, format!("assert sorted(view[\"tags\"]) == {values}")],
                "status" => vec![find, format!("assert [view[\"status\"]] == {values}")],
                "assignee" => vec![
                    find,
                    "assignee = view[\"assignee\"] or {\"type\": \"nobody\", \"id\": None}".to_owned(),
                    "named = \"app\" if assignee[\"id\"] == key[\"agentId\"] else assignee[\"type\"]"
                        .to_owned(),
                    format!("assert [named] == {values}"),
                ],
                _ => vec![
                    find,
                    format!(
                        "assert sorted(\", \".join(item[\"label\"] for item in it[\"items\"]) for it in view[\"documentRequests\"]) == {values}"
                    ),
                ],
            }
        }
        Claim::NoResponse { status } => {
            vec![format!("assert all(it[\"status\"] != {status} for it in control.list_requests())")]
        }
        Claim::EndsWell if test.webhook_path.is_some() => vec!["assert app.poll() is None".to_owned()],
        Claim::EndsWell => vec!["assert status == 0".to_owned()],
        Claim::Settles => vec![
            "before = [control.get_conversation(it[\"id\"]) for it in control.list_conversations()]"
                .to_owned(),
            if test.webhook_path.is_some() { "advance(660)" } else { "run()" }.to_owned(),
            "assert [control.get_conversation(it[\"id\"]) for it in control.list_conversations()] == before"
                .to_owned(),
        ],
        Claim::Expectation(n) => vec![match test.expectations.get(*n) {
            Some(expectation) => format!("control.expect({})", value(expectation)),
            None => "raise SystemExit(\"put your check of this world here\")".to_owned(),
        }],
    }
}
