//! Tests as the page copies them, kept here so that they are compiled and run.

mod me_1 {
use shared_inbox_mock::MockServer;

#[tokio::test]
async fn me_works() {
    let mock = MockServer::builder().manual_clock().empty().start().await;
    let inbox = mock.client();
    inbox.me().await.unwrap();
}
}

mod list_mailboxes_1 {
use shared_inbox_mock::MockServer;

#[tokio::test]
async fn list_mailboxes_works() {
    let mock = MockServer::builder().manual_clock().empty().start().await;
    let inbox = mock.client();
    inbox.mailboxes().await.unwrap();
}
}

mod list_tags_1 {
use shared_inbox_mock::MockServer;

#[tokio::test]
async fn list_tags_works() {
    let mock = MockServer::builder().manual_clock().empty().start().await;
    let inbox = mock.client();
    inbox.tags().await.unwrap();
}
}

mod list_conversations_1 {
use shared_inbox::{Assigned, View};
use shared_inbox_mock::MockServer;

#[tokio::test]
async fn list_conversations_works() {
    let mock = MockServer::builder().manual_clock().empty().start().await;
    let mailbox = mock.control().mailboxes().await.unwrap().into_iter().find(|it| !it.sandbox).unwrap().id;
    let inbox = mock.client();
    inbox.conversations().view(View::Open).assigned(Assigned::Unassigned).mailbox(&mailbox).search("\"); std::process::exit(0); (\"\\\"\n'\"\"\"${process.exit(0)}`").limit(5).await.unwrap();
}
}

mod search_documents_1 {
use shared_inbox::DocumentKind;
use shared_inbox_mock::MockServer;

#[tokio::test]
async fn search_documents_works() {
    let mock = MockServer::builder().manual_clock().empty().start().await;
    let inbox = mock.client();
    inbox.documents().search("\"); std::process::exit(0); (\"\\\"\n'\"\"\"${process.exit(0)}`").kind(DocumentKind::from("invoice")).limit(3).await.unwrap();
}
}

mod get_conversation_1 {
use shared_inbox_mock::{InboundMail, MockServer};

#[tokio::test]
async fn get_conversation_works() {
    let mock = MockServer::builder().manual_clock().empty().start().await;
    let address = mock.control().mailboxes().await.unwrap()[0].address.clone();
    let mail = InboundMail::new(address, "kim@customer.example", "Hello \"); std::process::exit(0); (\"\\\"\n'\"\"\"${process.exit(0)}`\u{202e}\u{7}é😀\\").subject("\"); std::process::exit(0); (\"\\\"\n'\"\"\"${process.exit(0)}`\u{202e}\u{7}é😀\\");
    let id = mock.control().inbound(mail).await.unwrap().conversation_id;
    let inbox = mock.client();
    inbox.conversation(&id).get().await.unwrap();
}
}

mod add_note_1 {
use shared_inbox_mock::{InboundMail, MockServer};

#[tokio::test]
async fn add_note_works() {
    let mock = MockServer::builder().manual_clock().empty().start().await;
    let address = mock.control().mailboxes().await.unwrap()[0].address.clone();
    let mail = InboundMail::new(address, "kim@customer.example", "Hello \"); std::process::exit(0); (\"\\\"\n'\"\"\"${process.exit(0)}`\u{202e}\u{7}é😀\\").subject("\"); std::process::exit(0); (\"\\\"\n'\"\"\"${process.exit(0)}`\u{202e}\u{7}é😀\\");
    let id = mock.control().inbound(mail).await.unwrap().conversation_id;
    let inbox = mock.client();
    inbox.conversation(&id).add_note("\"); std::process::exit(0); (\"\\\"\n'\"\"\"${process.exit(0)}`\u{202e}\u{7}é😀\\").await.unwrap();
}
}

mod set_status_1 {
use shared_inbox::Status;
use shared_inbox_mock::{InboundMail, MockServer};

#[tokio::test]
async fn set_status_works() {
    let mock = MockServer::builder().manual_clock().empty().start().await;
    let address = mock.control().mailboxes().await.unwrap()[0].address.clone();
    let mail = InboundMail::new(address, "kim@customer.example", "Hello \"); std::process::exit(0); (\"\\\"\n'\"\"\"${process.exit(0)}`\u{202e}\u{7}é😀\\").subject("\"); std::process::exit(0); (\"\\\"\n'\"\"\"${process.exit(0)}`\u{202e}\u{7}é😀\\");
    let id = mock.control().inbound(mail).await.unwrap().conversation_id;
    let inbox = mock.client();
    inbox.conversation(&id).set_status(Status::Waiting).await.unwrap();
}
}

mod tag_conversation_1 {
use shared_inbox_mock::{InboundMail, MockServer};

#[tokio::test]
async fn tag_conversation_works() {
    let mock = MockServer::builder().manual_clock().empty().start().await;
    let address = mock.control().mailboxes().await.unwrap()[0].address.clone();
    let mail = InboundMail::new(address, "kim@customer.example", "Hello \"); std::process::exit(0); (\"\\\"\n'\"\"\"${process.exit(0)}`\u{202e}\u{7}é😀\\").subject("\"); std::process::exit(0); (\"\\\"\n'\"\"\"${process.exit(0)}`\u{202e}\u{7}é😀\\");
    let id = mock.control().inbound(mail).await.unwrap().conversation_id;
    let inbox = mock.client();
    inbox.conversation(&id).edit_tags().add("\"); std::process::ex").remove("new").await.unwrap();
}
}

mod assign_conversation_1 {
use shared_inbox::AssignTo;
use shared_inbox_mock::{InboundMail, MockServer};
use shared_inbox_mock::world::NewUser;

#[tokio::test]
async fn assign_conversation_works() {
    let mock = MockServer::builder().manual_clock().empty().start().await;
    let address = mock.control().mailboxes().await.unwrap()[0].address.clone();
    let mail = InboundMail::new(address, "kim@customer.example", "Hello \"); std::process::exit(0); (\"\\\"\n'\"\"\"${process.exit(0)}`\u{202e}\u{7}é😀\\").subject("\"); std::process::exit(0); (\"\\\"\n'\"\"\"${process.exit(0)}`\u{202e}\u{7}é😀\\");
    let id = mock.control().inbound(mail).await.unwrap().conversation_id;
    let user = mock.control().create_user(NewUser::new("Anna")).await.unwrap();
    let user = format!("user:{}", user.id);
    let inbox = mock.client();
    inbox.conversation(&id).assign(user.parse::<AssignTo>().unwrap()).await.unwrap();
}
}

mod reply_1 {
use shared_inbox::input::DocumentItem;
use shared_inbox_mock::{InboundMail, MockServer};

#[tokio::test]
async fn reply_works() {
    let mock = MockServer::builder().manual_clock().empty().start().await;
    let address = mock.control().mailboxes().await.unwrap()[0].address.clone();
    let mail = InboundMail::new(address, "kim@customer.example", "Hello \"); std::process::exit(0); (\"\\\"\n'\"\"\"${process.exit(0)}`\u{202e}\u{7}é😀\\").subject("\"); std::process::exit(0); (\"\\\"\n'\"\"\"${process.exit(0)}`\u{202e}\u{7}é😀\\");
    let id = mock.control().inbound(mail).await.unwrap().conversation_id;
    let inbox = mock.client();
    inbox.conversation(&id).reply("\"); std::process::exit(0); (\"\\\"\n'\"\"\"${process.exit(0)}`\u{202e}\u{7}é😀\\").summary("\"); std::process::exit(0); (\"\\\"\n'\"\"\"${process.exit(0)}`").document(DocumentItem::new("\"); std::process::exit(0); (\"\\\"\n'\"\"\"${process.exit(0)}`").description("\"); std::process::exit(0); (\"\\\"\n'\"\"\"${process.exit(0)}`").nice_to_have()).await.unwrap();
}
}

mod request_documents_1 {
use shared_inbox::input::DocumentItem;
use shared_inbox_mock::{InboundMail, MockServer};

#[tokio::test]
async fn request_documents_works() {
    let mock = MockServer::builder().manual_clock().empty().start().await;
    let address = mock.control().mailboxes().await.unwrap()[0].address.clone();
    let mail = InboundMail::new(address, "kim@customer.example", "Hello \"); std::process::exit(0); (\"\\\"\n'\"\"\"${process.exit(0)}`\u{202e}\u{7}é😀\\").subject("\"); std::process::exit(0); (\"\\\"\n'\"\"\"${process.exit(0)}`\u{202e}\u{7}é😀\\");
    let id = mock.control().inbound(mail).await.unwrap().conversation_id;
    let inbox = mock.client();
    inbox.conversation(&id).request_documents([DocumentItem::new("Passport")]).message("\"); std::process::exit(0); (\"\\\"\n'\"\"\"${process.exit(0)}`\u{202e}\u{7}é😀\\").due_date("2027-02-28".parse().unwrap()).and_send().await.unwrap();
}
}

mod record_sent_1 {
use shared_inbox_mock::MockServer;

#[tokio::test]
async fn record_sent_works() {
    let mock = MockServer::builder().manual_clock().empty().start().await;
    let inbox = mock.client();
    inbox.record_sent("<a1@shop.example>", "order-1042".parse().unwrap(), ["kim@customer.example"], "\"); std::process::exit(0); (\"\\\"\n'\"\"\"${process.exit(0)}`").text("\"); std::process::exit(0); (\"\\\"\n'\"\"\"${process.exit(0)}`\u{202e}\u{7}é😀\\").html("<p>Hello</p>").await.unwrap();
}
}

mod sandbox_inbound_1 {
use shared_inbox::http::Method;
use shared_inbox_mock::MockServer;

#[tokio::test]
async fn sandbox_inbound_works() {
    let mock = MockServer::builder().manual_clock().empty().start().await;
    let mail = mock.test_client().sandbox_inbound("vera@customer.test", "Hello").subject("Sandbox");
    let id = mail.await.unwrap().conversation_id;
    let url = format!("{}{}", mock.base_url(), "/sandbox/inbound");
    let request = reqwest::Client::new().request("POST".parse::<Method>().unwrap(), url).bearer_auth(mock.test_key());
    let request = request.header("content-type", "application/json").body("{\"conversationId\":\"cnv_2cukxv15amtby\",\"from\":\"vera@customer.test\",\"name\":\"\\\"); std::process::exit(0); (\\\"\\\\\\\"\\n'\\\"\\\"\\\"${process.exit(0)}`\",\"text\":\"\\\"); std::process::exit(0); (\\\"\\\\\\\"\\n'\\\"\\\"\\\"${process.exit(0)}`\u{202e}\\u0007é😀\\\\\"}".replace("cnv_2cukxv15amtby", id.as_str()));
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), 201);
}
}

mod get_conversation_2 {
use shared_inbox::ConversationId;
use shared_inbox_mock::MockServer;

#[tokio::test]
async fn get_conversation_is_refused_with_404() {
    let mock = MockServer::builder().manual_clock().empty().start().await;
    let id: ConversationId = "cnv_none".parse().unwrap();
    let inbox = mock.client();
    let error = inbox.conversation(&id).get().await.unwrap_err();
    assert!(error.is_not_found(), "{error}");
}
}

mod set_status_2 {
use shared_inbox::Status;
use shared_inbox_mock::{InboundMail, MockServer};

#[tokio::test]
async fn set_status_is_refused_with_400() {
    let mock = MockServer::builder().manual_clock().empty().start().await;
    let address = mock.control().mailboxes().await.unwrap()[0].address.clone();
    let mail = InboundMail::new(address, "kim@customer.example", "Hello \"); std::process::exit(0); (\"\\\"\n'\"\"\"${process.exit(0)}`\u{202e}\u{7}é😀\\").subject("\"); std::process::exit(0); (\"\\\"\n'\"\"\"${process.exit(0)}`\u{202e}\u{7}é😀\\");
    let id = mock.control().inbound(mail).await.unwrap().conversation_id;
    let inbox = mock.client();
    let error = inbox.conversation(&id).set_status(Status::from("\"); std::process::exit(0); (\"\\\"\n'\"\"\"${process.exit(0)}`\u{202e}\u{7}é😀\\")).await.unwrap_err();
    assert!(error.is_invalid_input(), "{error}");
}
}

mod assign_conversation_2 {
use shared_inbox::http::Method;
use shared_inbox_mock::{InboundMail, MockServer};

#[tokio::test]
async fn assign_conversation_is_refused_with_400() {
    let mock = MockServer::builder().manual_clock().empty().start().await;
    let address = mock.control().mailboxes().await.unwrap()[0].address.clone();
    let mail = InboundMail::new(address, "kim@customer.example", "Hello \"); std::process::exit(0); (\"\\\"\n'\"\"\"${process.exit(0)}`\u{202e}\u{7}é😀\\").subject("\"); std::process::exit(0); (\"\\\"\n'\"\"\"${process.exit(0)}`\u{202e}\u{7}é😀\\");
    let id = mock.control().inbound(mail).await.unwrap().conversation_id;
    let url = format!("{}{}", mock.base_url(), "/conversations/cnv_140i3bxtyzru0/assign".replace("cnv_140i3bxtyzru0", id.as_str()));
    let request = reqwest::Client::new().request("POST".parse::<Method>().unwrap(), url).bearer_auth(mock.live_key());
    let request = request.header("content-type", "application/json").body("{\"to\":{\"a\":\"\\\"); std::process::exit(0); (\\\"\\\\\\\"\\n'\\\"\\\"\\\"${process.exit(0)}`\u{202e}\\u0007é😀\\\\\"}}");
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), 400);
}
}

mod list_conversations_2 {
use shared_inbox::View;
use shared_inbox_mock::MockServer;

#[tokio::test]
async fn list_conversations_is_refused_with_400() {
    let mock = MockServer::builder().manual_clock().empty().start().await;
    let inbox = mock.client();
    let error = inbox.conversations().view(View::from("\"); std::process::exit(0); (\"\\\"\n'\"\"\"${process.exit(0)}`")).await.unwrap_err();
    assert!(error.is_invalid_input(), "{error}");
}
}

mod request_1 {
use shared_inbox::http::Method;
use shared_inbox_mock::MockServer;

#[tokio::test]
async fn request_is_refused_with_404() {
    let mock = MockServer::builder().manual_clock().empty().start().await;
    let url = format!("{}{}", mock.base_url(), "/nothing/%22)%3B%20std%3A%3Aprocess%3A%3Aexit(0)%3B%20(%22%5C%22%0A'%22%22%22%24%7Bprocess.exit(0)%7D%60");
    let request = reqwest::Client::new().request("GET".parse::<Method>().unwrap(), url).bearer_auth(mock.live_key());
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), 404);
}
}

mod me_2 {
use shared_inbox::http::Method;
use shared_inbox_mock::MockServer;

#[tokio::test]
async fn me_is_refused_with_401() {
    let mock = MockServer::builder().manual_clock().empty().start().await;
    let url = format!("{}{}", mock.base_url(), "/me");
    let request = reqwest::Client::new().request("GET".parse::<Method>().unwrap(), url).bearer_auth("rk_live_unknown");
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), 401);
}
}

mod reply_2 {
use shared_inbox::Scope;
use shared_inbox_mock::{InboundMail, MockServer, NewKey};

#[tokio::test]
async fn reply_is_refused_with_403() {
    let mock = MockServer::builder().manual_clock().empty().start().await;
    let key = NewKey::live("App", [Scope::Read]);
    let key = mock.control().create_key(key).await.unwrap().key;
    let address = mock.control().mailboxes().await.unwrap()[0].address.clone();
    let mail = InboundMail::new(address, "kim@customer.example", "Hello \"); std::process::exit(0); (\"\\\"\n'\"\"\"${process.exit(0)}`\u{202e}\u{7}é😀\\").subject("\"); std::process::exit(0); (\"\\\"\n'\"\"\"${process.exit(0)}`\u{202e}\u{7}é😀\\");
    let id = mock.control().inbound(mail).await.unwrap().conversation_id;
    let inbox = mock.client_with(&key);
    let error = inbox.conversation(&id).reply("x").await.unwrap_err();
    assert!(error.is_forbidden(), "{error}");
}
}

mod add_note_4 {
use shared_inbox_mock::{InboundMail, MockServer};
use shared_inbox_mock::world::Plan;

#[tokio::test]
async fn add_note_is_refused_with_403() {
    let mock = MockServer::builder().manual_clock().empty().start().await;
    let address = mock.control().mailboxes().await.unwrap()[0].address.clone();
    let mail = InboundMail::new(address, "kim@customer.example", "Hello \"); std::process::exit(0); (\"\\\"\n'\"\"\"${process.exit(0)}`\u{202e}\u{7}é😀\\").subject("\"); std::process::exit(0); (\"\\\"\n'\"\"\"${process.exit(0)}`\u{202e}\u{7}é😀\\");
    let id = mock.control().inbound(mail).await.unwrap().conversation_id;
    mock.control().set_plan(Plan::Free).await.unwrap();
    let inbox = mock.client();
    let error = inbox.conversation(&id).add_note("x").await.unwrap_err();
    assert!(error.is_forbidden(), "{error}");
}
}

mod reply_3 {
use shared_inbox::http::Method;
use shared_inbox_mock::{Effect, FaultRule, InboundMail, MockServer};

#[tokio::test]
async fn reply_is_refused_with_429() {
    let mock = MockServer::builder().manual_clock().empty().start().await;
    let address = mock.control().mailboxes().await.unwrap()[0].address.clone();
    let mail = InboundMail::new(address, "kim@customer.example", "Hello \"); std::process::exit(0); (\"\\\"\n'\"\"\"${process.exit(0)}`\u{202e}\u{7}é😀\\").subject("\"); std::process::exit(0); (\"\\\"\n'\"\"\"${process.exit(0)}`\u{202e}\u{7}é😀\\");
    let id = mock.control().inbound(mail).await.unwrap().conversation_id;
    mock.control().add_fault(FaultRule::new(Effect::status(429)).always()).await.unwrap();
    let url = format!("{}{}", mock.base_url(), "/conversations/cnv_140i3bxtyzru0/replies".replace("cnv_140i3bxtyzru0", id.as_str()));
    let request = reqwest::Client::new().request("POST".parse::<Method>().unwrap(), url).bearer_auth(mock.live_key());
    let request = request.header("content-type", "application/json").body("{\"body\":\"\\\"); std::process::exit(0); (\\\"\\\\\\\"\\n'\\\"\\\"\\\"${process.exit(0)}`\u{202e}\\u0007é😀\\\\\"}");
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), 429);
}
}

mod reply_4 {
use shared_inbox::http::Method;
use shared_inbox_mock::{Effect, FaultRule, InboundMail, MockServer};

#[tokio::test]
async fn reply_is_refused_with_503() {
    let mock = MockServer::builder().manual_clock().empty().start().await;
    let address = mock.control().mailboxes().await.unwrap()[0].address.clone();
    let mail = InboundMail::new(address, "kim@customer.example", "Hello \"); std::process::exit(0); (\"\\\"\n'\"\"\"${process.exit(0)}`\u{202e}\u{7}é😀\\").subject("\"); std::process::exit(0); (\"\\\"\n'\"\"\"${process.exit(0)}`\u{202e}\u{7}é😀\\");
    let id = mock.control().inbound(mail).await.unwrap().conversation_id;
    mock.control().add_fault(FaultRule::new(Effect::status(503)).always()).await.unwrap();
    let url = format!("{}{}", mock.base_url(), "/conversations/cnv_140i3bxtyzru0/replies".replace("cnv_140i3bxtyzru0", id.as_str()));
    let request = reqwest::Client::new().request("POST".parse::<Method>().unwrap(), url).bearer_auth(mock.live_key());
    let request = request.header("content-type", "application/json").body("{\"body\":\"\\\"); std::process::exit(0); (\\\"\\\\\\\"\\n'\\\"\\\"\\\"${process.exit(0)}`\u{202e}\\u0007é😀\\\\\"}");
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), 503);
}
}

mod reply_5 {
use shared_inbox::http::Method;
use shared_inbox_mock::{Effect, FaultRule, InboundMail, MockServer};

#[tokio::test]
async fn reply_gets_no_answer() {
    let mock = MockServer::builder().manual_clock().empty().start().await;
    let address = mock.control().mailboxes().await.unwrap()[0].address.clone();
    let mail = InboundMail::new(address, "kim@customer.example", "Hello \"); std::process::exit(0); (\"\\\"\n'\"\"\"${process.exit(0)}`\u{202e}\u{7}é😀\\").subject("\"); std::process::exit(0); (\"\\\"\n'\"\"\"${process.exit(0)}`\u{202e}\u{7}é😀\\");
    let id = mock.control().inbound(mail).await.unwrap().conversation_id;
    mock.control().add_fault(FaultRule::new(Effect::drop_before()).always()).await.unwrap();
    let url = format!("{}{}", mock.base_url(), "/conversations/cnv_140i3bxtyzru0/replies".replace("cnv_140i3bxtyzru0", id.as_str()));
    let request = reqwest::Client::new().request("POST".parse::<Method>().unwrap(), url).bearer_auth(mock.live_key());
    let request = request.header("content-type", "application/json").body("{\"body\":\"\\\"); std::process::exit(0); (\\\"\\\\\\\"\\n'\\\"\\\"\\\"${process.exit(0)}`\u{202e}\\u0007é😀\\\\\"}");
    assert!(request.send().await.is_err());
}
}

mod set_status_4 {
use shared_inbox::{Scope, Status};
use shared_inbox_mock::{InboundMail, MockServer, NewKey};

#[tokio::test]
async fn set_status_is_refused() {
    let mock = MockServer::builder().manual_clock().empty().start().await;
    let key = NewKey::live("App", [Scope::Read, Scope::Write, Scope::Draft, Scope::Send, Scope::Record]);
    let key = mock.control().create_key(key).await.unwrap().key;
    let address = mock.control().mailboxes().await.unwrap()[0].address.clone();
    let mail = InboundMail::new(address, "kim@customer.example", "Hello \"); std::process::exit(0); (\"\\\"\n'\"\"\"${process.exit(0)}`\u{202e}\u{7}é😀\\").subject("\"); std::process::exit(0); (\"\\\"\n'\"\"\"${process.exit(0)}`\u{202e}\u{7}é😀\\");
    let id = mock.control().inbound(mail).await.unwrap().conversation_id;
    let inbox = mock.client_with(&key);
    let error = inbox.conversation(&id).set_status(Status::from("\"); std::process::exit(0); (\"\\\"\n'\"\"\"${process.exit(0)}`\u{202e}\u{7}é😀\\")).await.unwrap_err();
    assert!(error.is_invalid_input() || error.is_forbidden() || error.is_not_found(), "{error}");
}
}
