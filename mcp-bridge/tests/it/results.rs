//! Tools that tell: unknown arguments are refused, results name what is so now, lists say that they are cut,
//! errors speak of tools, and the first result says what a model should know from the start.

use std::time::Duration;

use rmcp::model::CallToolResult;
use serde_json::{Value, json};
use shared_inbox::{Scope, Status, retry::RetryPolicy};
use shared_inbox_mock::{
    Effect, FaultRule, InboundMail,
    world::{NewMailbox, NewUser},
};

use crate::fixture::{
    Answer, Client, ERAS, Fixture, Newer, Person, assert_done, assert_lacks, assert_refused, assert_says,
    connect, in_process, is_error, items, structured, text,
};

/// Calls a tool on the fixture's conversation.
async fn call(client: &Client, fixture: &Fixture, tool: &'static str, mut input: Value) -> CallToolResult {
    input["id"] = fixture.conversation.clone().into();
    client.call(tool, input).await
}

#[tokio::test]
async fn an_unknown_argument_is_refused_with_the_nearest_name_and_nothing_is_done() {
    let (fixture, _, client) = in_process(Person::who(Answer::No), Newer, &[]).await;
    for (tool, arguments, said) in [
        ("tag_conversation", json!({ "id": "cnv_1", "tags": ["vip"] }), "`tags`; did you mean `add`?"),
        ("search_documents", json!({ "query": "invoice" }), "`query`; did you mean `q`?"),
        (
            "add_note",
            json!({ "id": fixture.conversation, "body": "x", "text": "x" }),
            "`text`; did you mean `body`?",
        ),
        (
            "request_documents",
            json!({ "id": "cnv_1", "documents": [{ "label": "x", "name": "Passport" }] }),
            "`documents[0].name`; did you mean `documents[0].label`?",
        ),
        ("add_note", json!({ "conversation_id": "cnv_1" }), "`conversation_id`; did you mean `id`?"),
        ("list_conversations", json!({ "status": "closed" }), "`status`; did you mean `view`?"),
        ("reply", json!({ "id": "cnv_1", "boddy": "x" }), "`boddy`; did you mean `body`?"),
        ("list_tags", json!({ "q": 1 }), "The tool takes no arguments."),
        (
            "tag_conversation",
            json!({ "id": "cnv_1", "tags": [], "zzz": 1 }),
            "Unknown argument `tags`; did you mean `add`? Unknown argument `zzz`. Nothing was done. The tool takes add, id, \
             remove.",
        ),
    ] {
        let result = client.call(tool, arguments).await;
        assert_refused(&result, said);
        assert_refused(&result, "Nothing was done");
    }
    assert_eq!(fixture.notes().await.len(), 0);
    // What strict modes of model vendors send for "not given".
    assert_done(&client.call("list_tags", json!({ "q": null })).await);
}

#[tokio::test]
async fn a_change_names_what_is_so_now_and_one_that_would_change_nothing_is_refused() {
    let (fixture, _, client) = in_process(Person::who(Answer::No), Newer, &[]).await;
    for nothing in [json!({}), json!({ "add": [], "remove": [] }), json!({ "add": null })] {
        assert_refused(&call(&client, &fixture, "tag_conversation", nothing).await, "`add` or `remove`");
    }
    let result = call(&client, &fixture, "tag_conversation", json!({ "add": ["vip", "needs review"] })).await;
    assert_eq!(text(&result), format!("{} has \"vip\", \"needs review\" now.", fixture.conversation));
    let tags = json!({ "add": ["late"], "remove": ["vip"] });
    let result = call(&client, &fixture, "tag_conversation", tags).await;
    let said = format!("{} has \"late\" and no longer has \"vip\" now.", fixture.conversation);
    assert_eq!(text(&result), said);
    assert_eq!(structured(&result), &json!({ "ok": true, "added": ["late"], "removed": ["vip"] }));
    assert_eq!(fixture.now().await.tags, ["needs review", "late"]);
    let result = call(&client, &fixture, "set_status", json!({ "status": "closed" })).await;
    assert_says(text(&result), &[&format!("{} is closed now.", fixture.conversation)]);
    assert_eq!(structured(&result)["status"], "closed");
}

#[tokio::test]
async fn a_conversation_is_assigned_to_whoever_is_called_so() {
    let fixture = Fixture::new().await;
    let control = fixture.mock.control();
    let anna = control.create_user(NewUser::new("Anna Berg")).await.unwrap().id;
    control.create_user(NewUser::new("Anna Lund")).await.unwrap();
    control.create_user(NewUser::new("Ben Berg")).await.unwrap();
    let client = fixture.start_in_process(&Person::who(Answer::No), Newer, &[]).await;
    let assign = async |to: Value| call(&client, &fixture, "assign_conversation", json!({ "to": to })).await;
    for (to, name) in [("Ben", "Ben Berg"), ("anna lund", "Anna Lund")] {
        let result = assign(json!(to)).await;
        let said = format!("{} is assigned to \"{name}\" now.", fixture.conversation);
        assert!(text(&result).starts_with(&said), "{to}: {}", text(&result));
        assert_eq!(structured(&result)["assignee"]["name"], name, "{to}");
        assert_eq!(fixture.now().await.assignee.unwrap().name, name, "{to}");
    }
    for to in [anna.to_string(), format!("user:{anna}")] {
        let result = assign(json!(to)).await;
        let said = format!("{} is assigned to user:{anna} now.", fixture.conversation);
        assert!(text(&result).starts_with(&said), "{to}: {}", text(&result));
    }
    let two = ["may be one of several", "\"Anna Berg\" (user:usr_", "\"Anna Lund\" (user:usr_"];
    for (to, said) in [
        (json!("Anna"), &two[..]),
        (json!("Berg"), &["\"Anna Berg\"", "\"Ben Berg\""]),
        (json!("Zoe"), &["nobody on the team is called \"Zoe\"", "\"Ben Berg\" (user:usr_"]),
        (json!(null), &["to: "]),
        (json!(""), &["to: "]),
    ] {
        let result = assign(to).await;
        assert!(is_error(&result));
        assert_says(text(&result), said);
    }
    let result = assign(json!("none")).await;
    assert!(text(&result).contains("is assigned to nobody now."), "{}", text(&result));
    assert_eq!(structured(&result)["assignee"], Value::Null);
    let result = assign(json!("me")).await;
    assert!(text(&result).contains("is assigned to you, the agent \""), "{}", text(&result));
}

/// Conversations beside the fixture's own, each newer than the one before.
async fn mails(fixture: &Fixture, n: usize) -> Vec<String> {
    let control = fixture.mock.control();
    let mut ids = Vec::new();
    for i in 0..n {
        control.advance(Duration::from_secs(60)).await.unwrap();
        let (from, text) = (format!("c{i}@customer.example"), format!("Question {i}"));
        let mut mail = InboundMail::new("orders@shop.example", from, text);
        mail.subject = Some(format!("Subject {i}"));
        ids.push(control.inbound(mail).await.unwrap().conversation_id.to_string());
    }
    ids
}

#[tokio::test]
async fn a_list_that_is_cut_says_how_many_more_there_are_and_a_whole_one_does_not() {
    let fixture = Fixture::new().await;
    mails(&fixture, 4).await;
    for arguments in [&[][..], &["--mailbox=orders@shop.example"]] {
        let client = fixture.start_in_process(&Person::who(Answer::No), Newer, arguments).await;
        for (limit, said) in [(4, "4 of at least 5 conversations. Narrow with q"), (5, "5 conversations.\n")]
        {
            let result = client.call("list_conversations", json!({ "limit": limit })).await;
            assert!(text(&result).starts_with(said), "{arguments:?}: {}", text(&result));
            let about = structured(&result)["about"].as_str().unwrap();
            assert!(limit == 5 || about.starts_with(said), "{about}");
            assert_eq!(items(&result).len(), limit);
        }
    }
}

#[tokio::test]
async fn every_status_is_listed_at_once_with_view_any() {
    let fixture = Fixture::new().await;
    let ids = mails(&fixture, 3).await;
    let service = fixture.mock.client();
    for (id, status) in [(&ids[0], Status::Closed), (&ids[1], Status::Waiting)] {
        service.conversation(&id.parse().unwrap()).set_status(status).await.unwrap();
    }
    for arguments in [&[][..], &["--mailbox=orders@shop.example"]] {
        let client = fixture.start_in_process(&Person::who(Answer::No), Newer, arguments).await;
        client.call("list_mailboxes", json!({})).await;
        fixture.mock.control().clear_requests().await;
        let result = client.call("list_conversations", json!({ "view": "any" })).await;
        let requests = fixture.mock.control().requests().await.len();
        assert!(requests == 4 || !arguments.is_empty(), "{requests}");
        let listed: Vec<_> = items(&result).iter().map(|c| c["id"].as_str().unwrap()).collect();
        assert_eq!(listed, [&*ids[2], &ids[1], &ids[0], &fixture.conversation], "newest first");
        let result =
            client.call("list_conversations", json!({ "view": "any", "q": "Question 0", "limit": 1 })).await;
        assert!(text(&result).contains(&ids[0]), "{}", text(&result));
        let referenced = json!({ "view": "any", "reference": "order-1042" });
        assert_done(&client.call("list_conversations", referenced).await);
    }
}

#[tokio::test]
async fn errors_speak_of_tools_and_never_of_paths() {
    let fixture = Fixture::new().await;
    // A 500 would be tried again for many seconds.
    let service = fixture.client().retry(RetryPolicy::never()).build().unwrap();
    let client = fixture.start_over(Some(service), &Person::who(Answer::No), Newer, &[]).await;
    let missing = client.call("add_note", json!({ "id": "cnv_0000", "body": "x" })).await;
    assert!(text(&missing).starts_with("There is no such conversation"), "{}", text(&missing));
    let control = fixture.mock.control();
    let statuses = [(500, "500"), (401, "key"), (403, "403"), (418, "418")];
    let statuses = statuses.map(|(status, said)| (Effect::status(status), said));
    for (effect, said) in statuses.into_iter().chain([(Effect::body("<html>".to_owned()), "not the JSON")]) {
        control.clear_faults().await;
        fixture.fault(FaultRule::new(effect).always()).await;
        let calls = [
            ("list_conversations", json!({})),
            ("get_conversation", json!({ "id": fixture.conversation })),
            ("set_status", json!({ "id": fixture.conversation, "status": "open" })),
            ("tag_conversation", json!({ "id": fixture.conversation, "add": ["x"] })),
            ("list_tags", json!({})),
        ];
        for (tool, arguments) in calls {
            let result = client.call(tool, arguments).await;
            let text = text(&result);
            assert!(is_error(&result) && text.contains(said), "{tool} {said}: {text}");
            assert_lacks(text, &["GET", "POST", "/conversations", "/me", "/tags", "/api"]);
        }
    }
    control.clear_faults().await;
    assert_done(&client.call("list_tags", json!({})).await);
}

#[tokio::test]
async fn the_first_result_says_what_a_model_should_know_from_the_start() {
    let fixture = Fixture::new().await;
    fixture.mock.control().create_mailbox(NewMailbox::new("help@shop.example", "Help")).await.unwrap();
    let me = fixture.mock.client().me().await.unwrap().agent.name.clone();
    let day = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC);
    for era in ERAS {
        let client = fixture.start_in_process(&Person::who(Answer::No), era, &[]).await;
        let failed = client.call("set_status", json!({})).await;
        assert_eq!(failed.content.len(), 1, "an error is no place for it");
        let first = client.call("list_tags", json!({})).await;
        let start = &first.content[1].as_text().unwrap().text;
        for known in [
            &*format!("You are the agent \"{me}\" with the scopes read, write, draft, send, record"),
            // A day may end between the two looks at the clock.
            &*day.strftime("%Y-").to_string(),
            "day, 20",
            "(UTC)",
            "on live data",
            "go out once the person who uses this client has agreed",
            "\"Orders\" orders@shop.example (mbx_",
            "\"Help\" help@shop.example (mbx_",
        ] {
            assert!(start.contains(known), "{era:?}: {known} in {start}");
        }
        assert_eq!(structured(&first)["start"], json!(start.trim()));
        let second = client.call("list_tags", json!({})).await;
        assert!(second.content.len() == 1 && structured(&second).get("start").is_none(), "{era:?}");
    }
}

#[tokio::test]
async fn instructions_and_arguments_say_what_holds_for_the_key_and_the_settings() {
    let fixture = Fixture::new().await;
    let reading = fixture.key(&[Scope::Read]).await;
    let drafting = fixture.key(&[Scope::Read, Scope::Draft]).await;
    let sending = fixture.key(&[Scope::Read, Scope::Send]).await;
    let all = fixture.mock.live_key();
    let (no, cannot, nobody) = (Answer::No, Answer::CannotBeAsked, "You cannot write to customers");
    for (key, says, argument, instructions, send) in [
        (all, no, "--send=ask", "the person who uses this client has agreed", "asks the person"),
        (all, no, "--ask=browser", "agreed on a page in their browser", "asks the person"),
        (all, no, "--send=allow", "go out without a question", "emails the customer"),
        (all, no, "--send=never", "Nothing is sent", "a draft either way"),
        (all, cannot, "--send=ask", "cannot ask a person", "a draft either way"),
        (all, no, "--read-only", nobody, ""),
        (&reading, no, "--send=ask", nobody, ""),
        (&drafting, no, "--send=ask", "You cannot send", "may not send"),
        (&sending, cannot, "--send=ask", nobody, "may not send"),
    ] {
        for era in ERAS {
            let mut command = fixture.program();
            command.arg(argument).env("SHARED_INBOX_API_KEY", key);
            println!("{era:?} {says:?} {argument}");
            let client = connect(command, &Person::who(says), era).await;
            let said = client.service.peer_info().unwrap().instructions.clone().unwrap();
            assert!(said.contains(instructions), "{said}");
            assert_eq!(said.contains("agreed"), instructions.contains("agreed"), "{said}");
            let tools = client.service.list_all_tools().await.unwrap();
            let reply = tools.iter().find(|tool| tool.name == "reply");
            let described =
                reply.map(|tool| tool.input_schema["properties"]["send"]["description"].to_string());
            assert_eq!(described.is_some(), !send.is_empty());
            assert_says(&described.unwrap_or_default(), &[send]);
        }
    }
}

#[tokio::test]
async fn the_first_result_shows_only_what_may_be_seen() {
    let fixture = Fixture::new().await;
    fixture.mock.control().create_mailbox(NewMailbox::new("boss@shop.example", "Boss")).await.unwrap();
    let first = async |arguments: &[&str]| {
        let client = fixture.start_in_process(&Person::who(Answer::No), Newer, arguments).await;
        client.call("list_tags", json!({})).await
    };
    let start = async |arguments: &[&str]| first(arguments).await.content[1].as_text().unwrap().text.clone();
    let kept = start(&["--mailbox=orders@shop.example"]).await;
    assert!(kept.contains("orders@") && !kept.contains("boss@"), "{kept}");
    let hidden = start(&["--exclude-tools=list_mailboxes"]).await;
    assert!(!hidden.contains("Inboxes"), "{hidden}");
    assert!(structured(&first(&["--structured=exact"]).await).get("start").is_none());
}
