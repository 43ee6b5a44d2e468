//! What was not tried is no pass: each verdict both ways, and no report lost to a service that misbehaves.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use shared_inbox_conform::{
    Clock, Conform, Kind, NotTriedCause, Report, RuleReport, RuleResult, Verdict, diff,
};
use shared_inbox_mock::MockServer;

use crate::{
    clock::Leaping,
    proxy::{Changes, Proxy, ProxyRequest, Route},
};

/// A proxy in front of a mock that is dropped with it.
struct Fixture {
    mock: MockServer,
    proxy: Proxy,
}

impl Fixture {
    async fn new() -> Self {
        let mock = MockServer::start().await;
        let proxy = Proxy::start(mock.base_url()).await;
        Self { mock, proxy }
    }

    fn conform(&self) -> Conform {
        Conform::new(self.proxy.base_url(), self.mock.test_key())
    }

    async fn only(&self, rules: &[&str]) -> Report {
        self.conform().only(rules.iter().copied()).run().await.expect("it runs")
    }
}

/// Such a request is treated so.
fn before(what: &'static str, route: impl Fn() -> Route + Send + Sync + 'static) -> Changes {
    let before = move |request: &mut ProxyRequest| if request.is(what) { route() } else { Route::Forward };
    Changes { before: Some(Arc::new(before)), ..Changes::default() }
}

fn failing(what: &'static str) -> Changes {
    before(what, || Route::respond(500, &json!({ "error": "Out of order." })))
}

fn rule<'r>(report: &'r Report, id: &str) -> &'r RuleReport {
    report.rules.iter().find(|rule| rule.id == id).expect("it is in the report")
}

#[track_caller]
fn assert_failed(report: &Report, id: &str, why: &str) {
    let rule = rule(report, id);
    assert_eq!((rule.result, rule.cause), (RuleResult::NotTried, Some(NotTriedCause::Failed)), "{rule:#?}");
    assert!(rule.why.as_deref().is_some_and(|it| it.contains(why)), "{rule:#?}");
}

fn last_line(report: &Report) -> String {
    report.to_string().trim_end().lines().last().unwrap_or_default().to_owned()
}

const WEBHOOKS: &str = "POST /_mock/worlds/*/webhooks";

#[tokio::test]
async fn a_service_that_conforms_with_everything_tried_conforms() {
    let report = Fixture::new().await.only(&["4.4"]).await;
    assert_eq!((report.verdict, report.tried), (Verdict::Conforms, report.rules.len()));
    assert_eq!((report.not_tried.by_settings, report.not_tried.failed), (0, 0));
    let said = format!("conforms: nothing demanded differs; {0} of {0} rules tried (", report.rules.len());
    assert!(last_line(&report).contains(&said), "{report}");
}

#[tokio::test]
async fn rules_that_the_settings_leave_out_do_not_make_a_run_incomplete() {
    let fixture = Fixture::new().await;
    let report = fixture.conform().sandbox_only().only(["2.2", "secret.form"]).run().await.expect("it runs");
    assert_eq!((report.verdict, report.not_tried.by_settings), (Verdict::Conforms, 1), "{report}");
    assert_eq!(rule(&report, "secret.form").cause, Some(NotTriedCause::Settings));
    let why = rule(&report, "secret.form").why.as_deref().unwrap_or_default();
    assert!(why.contains("the control API") && why.contains("POST /webhooks"), "it names the call: {why}");
    assert!(last_line(&report).contains("1 not: needs the control API"), "{report}");
}

#[tokio::test]
async fn a_control_call_that_fails_makes_a_run_incomplete_unless_allowed() {
    let fixture = Fixture::new().await;
    fixture.proxy.change(failing(WEBHOOKS));
    let rules = ["notes.status", "secret.form", "secret.once"];
    let report = fixture.only(&rules).await;
    assert_eq!(report.verdict, Verdict::Incomplete, "{report}");
    assert_eq!((report.tried, report.not_tried.failed, report.not_tried.by_settings), (1, 2, 0));
    assert_failed(&report, "secret.form", "500 to POST /webhooks: Out of order.");
    let line = last_line(&report);
    assert!(
        line.contains("1 of 3 rules tried; 2 not: the control API answered 500 to POST /webhooks"),
        "{line}"
    );

    let allowed = fixture.conform().only(rules).max_not_tried(2).run().await.expect("it runs");
    assert_eq!((allowed.verdict, allowed.not_tried.failed), (Verdict::Conforms, 2));
    let one_less = fixture.conform().only(rules).max_not_tried(1).run().await.expect("it runs");
    assert_eq!(one_less.verdict, Verdict::Incomplete);
}

#[tokio::test]
async fn something_that_differs_counts_more_than_something_that_failed() {
    let fixture = Fixture::new().await;
    let after = |request: &ProxyRequest, response: &mut crate::proxy::ProxyResponse| {
        if request.is("POST /conversations/*/notes") {
            response.status = 200;
        }
    };
    fixture.proxy.change(Changes { after: Some(Arc::new(after)), ..failing(WEBHOOKS) });
    let report = fixture.only(&["notes.status", "secret.form"]).await;
    assert_eq!((report.verdict, report.not_tried.failed), (Verdict::Differs, 1), "{report}");
}

#[tokio::test]
async fn a_control_api_that_fails_is_never_read_as_a_refusal_or_as_nothing() {
    let fixture = Fixture::new().await;
    fixture.proxy.change(failing(WEBHOOKS));
    assert_failed(&fixture.only(&["webhook.url.private"]).await, "webhook.url.private", "POST /webhooks");
    fixture.proxy.change(failing("POST /_mock/worlds/*/messages/*/approve"));
    assert_failed(&fixture.only(&["sandbox.drafts"]).await, "sandbox.drafts", "POST /messages/{id}/approve");
    fixture.proxy.change(before("GET /_mock/worlds/*/outbox", || Route::respond(200, &json!({}))));
    assert_failed(
        &fixture.only(&["notes.never-mailed"]).await,
        "notes.never-mailed",
        "GET /outbox is no array",
    );
    fixture.proxy.change(before("POST /_mock/worlds/*/inbound", || Route::respond(201, &json!({}))));
    assert_failed(&fixture.only(&["reply.undo.live"]).await, "reply.undo.live", "POST /inbound has no");
}

/// The world's time does not move, so that nothing that a check sees later is the service's doing.
#[tokio::test]
async fn a_clock_that_fails_is_not_held_against_the_service() {
    let fixture = Fixture::new().await;
    fixture.proxy.change(failing("POST /_mock/worlds/*/clock"));
    let report = fixture.only(&["reply.undo.sandbox", "magic.reply", "magic.docs", "notes.status"]).await;
    for id in ["reply.undo.sandbox", "magic.reply", "magic.docs"] {
        assert_failed(&report, id, "500 to POST /clock");
    }
    assert_eq!((report.verdict, report.tried), (Verdict::Incomplete, 1), "{report}");
}

#[tokio::test]
async fn a_control_api_that_makes_no_worlds_leaves_a_report_that_says_so() {
    let fixture = Fixture::new().await;
    fixture.proxy.change(failing("POST /_mock/worlds"));
    let report = fixture.only(&["4.4", "secret.form", "secret.once"]).await;
    assert_eq!((report.verdict, report.tried), (Verdict::Incomplete, 0), "{report}");
    assert_eq!(report.not_tried.failed, report.rules.len());
    assert_failed(&report, "notes.status", "500 to POST /worlds");
}

/// It says that it is well, and fails at the next call.
#[tokio::test]
async fn a_control_api_that_fails_is_not_taken_for_none() {
    let fixture = Fixture::new().await;
    fixture.proxy.change(before("GET /_mock/clock", || Route::Close));
    let report = fixture.only(&["me.status", "secret.form"]).await;
    assert_eq!((report.verdict, report.tried), (Verdict::Conforms, 2), "{report}");
    fixture.proxy.change(Changes {
        before: Some(Arc::new(|request| match request.path.as_str() {
            "/_mock/clock" | "/_mock/worlds" => Route::respond(500, &json!({ "error": "Out of order." })),
            _ => Route::Forward,
        })),
        ..Changes::default()
    });
    let report = fixture.only(&["secret.form"]).await;
    assert_eq!(report.verdict, Verdict::Incomplete, "{report}");
    assert_failed(&report, "secret.form", "500 to POST /worlds");
}

#[tokio::test]
async fn a_control_api_whose_health_fails_is_warned_about() {
    let fixture = Fixture::new().await;
    fixture
        .proxy
        .change(before("GET /_mock/health", || Route::respond(503, &json!({ "error": "Not now." }))));
    let rules = ["me.status", "secret.form"];
    let prepared = fixture.conform().only(rules).prepare().await.expect("it can run");
    let warnings = prepared.plan().warnings;
    let said = "answers 503 to GET /health: the rules that need it are not tried";
    assert!(warnings.len() == 1 && warnings[0].ends_with(said), "{warnings:?}");
    let report = prepared.run(|_| ()).await.expect("it runs");
    assert_eq!((report.tried, report.not_tried.by_settings), (1, 1), "{report}");
    let url = fixture.proxy.base_url().replace("/api/v1", "/_mock");
    let refused = fixture.conform().only(rules).control_url(url).prepare().await.expect_err("it was named");
    assert!(refused.to_string().ends_with("answers 503 to GET /health"), "{refused}");
    fixture
        .proxy
        .change(before("GET /_mock/health", || Route::respond(404, &json!({ "error": "Nothing." }))));
    assert_eq!(fixture.conform().only(rules).prepare().await.expect("it can run").plan().warnings, [""; 0]);
}

#[tokio::test]
async fn what_a_service_sent_cannot_move_or_reorder_the_lines_of_a_report() {
    let fixture = Fixture::new().await;
    let after = |request: &ProxyRequest, response: &mut crate::proxy::ProxyResponse| {
        if request.is("POST /conversations/*/notes") {
            (response.status, response.body) = (500, "\u{1b}[2K\r\n\u{202e}sdloh\u{2028}\u{9b}0m".into());
        }
    };
    fixture.proxy.change(Changes { after: Some(Arc::new(after)), ..Changes::default() });
    let report = fixture.only(&["notes.status"]).await;
    let received = rule(&report, "notes.status").received.as_deref();
    assert_eq!(received, Some(r"500 \u{1b}[2K\r\n\u{202e}sdloh\u{2028}\u{9b}0m"));
    for text in [report.to_string(), report.junit()] {
        assert!(text.contains(r"\u{202e}sdloh"), "{text}");
        let odd = |c: char| (c.is_control() && c != '\n') || matches!(c, '\u{202e}' | '\u{2028}');
        assert!(!text.contains(odd), "{text:?}");
    }
    fixture.proxy.change(before("GET /me", || Route::respond(403, &json!({ "error": "\u{1b}]0;x\u{7}No" }))));
    let refused = fixture.conform().prepare().await.expect_err("the key is refused").to_string();
    assert!(refused.ends_with(r"(403): \u{1b}]0;x\u{7}No"), "{refused}");
}

#[tokio::test]
async fn a_run_that_can_try_nothing_is_none_and_one_that_lacks_the_control_token_warns() {
    let mock = MockServer::builder().control_token("control-token").start().await;
    let conform = || Conform::new(mock.base_url(), mock.test_key());
    let warnings = async |conform: Conform| conform.prepare().await.expect("it can run").plan().warnings;
    let lacking = warnings(conform().only(["secret.form", "me.status"])).await;
    assert_eq!(lacking.len(), 1, "{lacking:?}");
    assert!(lacking[0].contains("SHARED_INBOX_CONTROL_TOKEN"), "{lacking:?}");
    let refused =
        conform().only(["secret.form"]).prepare().await.expect_err("there is nothing to try").to_string();
    assert!(refused.contains("no rule can be tried here"), "{refused}");
    assert!(
        refused.contains("POST /webhooks") && refused.contains("SHARED_INBOX_CONTROL_TOKEN"),
        "{refused}"
    );
    assert_eq!(warnings(conform().control_token("control-token")).await, [""; 0]);
    assert_eq!(warnings(conform().read_only().only(["2.2"])).await, [""; 0]);
}

#[tokio::test]
async fn a_connection_that_closes_is_a_failure_and_no_difference() {
    let fixture = Fixture::new().await;
    fixture.proxy.change(before("POST /conversations/*/notes", || Route::Close));
    let report = fixture.only(&["notes.status", "me.status"]).await;
    assert_failed(&report, "notes.status", "connection closed");
    assert_eq!((report.verdict, report.tried), (Verdict::Incomplete, 1), "{report}");
}

fn assert_no_faults(report: &Report) {
    let is_fault =
        |rule: &&RuleReport| rule.why.as_deref().is_some_and(|it| it.contains("a fault of this suite"));
    let faults: Vec<&RuleReport> = report.rules.iter().filter(is_fault).collect();
    assert!(faults.is_empty(), "{faults:#?}");
}

#[tokio::test]
async fn a_service_that_delivers_no_webhook_is_told_so_in_a_whole_report() {
    let fixture = Fixture::new().await;
    fixture.proxy.change(Changes { relay: Some(Arc::new(|_| 0)), ..Changes::default() });
    let conform = fixture.conform().only(["6", "magic.bounce.event", "magic.ooo.event", "inbound.webhook"]);
    let report = conform.skip(["delivered.late"]).run().await.expect("it runs");
    assert_no_faults(&report);
    assert_eq!(report.verdict, Verdict::Differs);
    assert_eq!(rule(&report, "retry.varies").result, RuleResult::Differs);
    let holding: Vec<&str> =
        report.rules_with(Kind::Demanded, RuleResult::Holds).map(|rule| rule.id.as_str()).collect();
    assert_eq!(holding, NOT_ABOUT_DELIVERIES, "no rule about deliveries holds where there is none");
}

/// Rules about webhooks that a service without deliveries can keep: about addresses, secrets, and how long
/// the log has an event.
const NOT_ABOUT_DELIVERIES: [&str; 7] = [
    "webhook.url.private",
    "webhook.url.link-local",
    "webhook.url.http",
    "secret.form",
    "secret.once",
    "log.kept",
    "log.dropped",
];

/// The service answers everything but `GET /me` with this.
fn answering(body: Value) -> Changes {
    let after = move |request: &ProxyRequest, response: &mut crate::proxy::ProxyResponse| {
        if request.path.starts_with("/api/v1") && !request.is("GET /me") && response.status < 300 {
            response.set_json(&body);
        }
    };
    Changes { after: Some(Arc::new(after)), ..Changes::default() }
}

/// Whatever a service answers, no rule breaks: each has a result.
async fn assert_rules_stand(sections: &[&str], bodies: &[Value]) {
    for body in bodies {
        let fixture = Fixture::new().await;
        fixture.proxy.change(answering(body.clone()));
        let report = fixture.only(sections).await;
        assert_no_faults(&report);
        assert_eq!(report.verdict, Verdict::Differs, "{body}: {report}");
    }
}

/// Two sections and two bodies; all of them, which take minutes, where `CONFORM_RUNS` is set.
#[tokio::test]
async fn no_rule_breaks_on_what_a_service_answers() {
    let sections = ["2", "4.2", "4.6", "4.12", "1", "3", "4", "5", "6", "7", "8", "9"];
    let bodies = [
        json!([]),
        json!([{ "id": "cnv_1", "open": i64::MIN }]),
        json!(null),
        json!({}),
        json!(""),
        json!(-1),
        json!([null]),
        json!([[]]),
        json!({ "timeline": [], "conversationId": "cnv_1", "messageId": "msg_1" }),
        json!({ "timeline": [null, 1, { "at": "", "type": "message" }], "conversationId": "", "open": i64::MAX }),
    ];
    match std::env::var_os("CONFORM_RUNS") {
        Some(_) => assert_rules_stand(&sections, &bodies).await,
        None => assert_rules_stand(&sections[..4], &bodies[..2]).await,
    }
}

/// Breaks at the first wait, which comes in the middle of a rule, and waits without waiting from then on.
#[derive(Debug, Default)]
struct BreakingClock {
    broke: AtomicBool,
    after: Leaping,
}

impl Clock for BreakingClock {
    fn now(&self) -> Instant {
        self.after.now()
    }

    fn sleep(&self, wait: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        assert!(self.broke.swap(true, Ordering::Relaxed), "index out of bounds");
        self.after.sleep(wait)
    }
}

#[tokio::test]
async fn a_panic_in_a_rule_is_a_fault_of_the_suite_and_takes_no_other_result_with_it() {
    let mock = MockServer::builder().no_rate_limit().start().await;
    let conform = || Conform::new(mock.base_url(), mock.test_key()).sandbox_only().only(["2.3", "4.4"]);
    let whole = conform().clock(Arc::<Leaping>::default()).run().await.expect("it runs");
    assert!(whole.tried > 20 && whole.not_tried.failed == 0, "{whole}");
    // At the first request of a rule it has seen nothing yet; at a later one, what it saw is told.
    let mut told = 0;
    for budget in 18..24 {
        let broken = conform().clock(Arc::<BreakingClock>::default()).budget(budget);
        let report = broken.run().await.expect("it runs");
        assert_eq!((report.verdict, report.tried), (Verdict::Incomplete, whole.tried - 1), "{report}");
        assert_eq!(report.not_tried.failed, 1);
        let has_failed = |rule: &&RuleReport| rule.cause == Some(NotTriedCause::Failed);
        let rule = report.rules.iter().find(has_failed).expect("the rule that waited");
        assert_eq!(rule.why.as_deref(), Some("a fault of this suite: index out of bounds"));
        let request = rule.request.as_deref().map(|request| format!("\n  request   {request}\n"));
        told += usize::from(request.is_some_and(|line| report.to_string().contains(&line)));
    }
    assert!(told > 0, "none of them had seen anything");
}

#[tokio::test]
async fn ids_times_and_marks_do_not_count_as_changes() {
    let mock = MockServer::start().await;
    let report = Conform::new(mock.base_url(), mock.test_key()).only(["2.2"]).run().await.expect("it runs");
    let with = |received: &str| {
        let mut report = report.clone();
        report.rules[0].received = Some(received.to_owned());
        report
    };
    let one =
        r#"201 {"messageId":"msg_0a1b2c","sendsAt":"2026-01-02T03:04:05.678Z","from":"a@cconform12.test"}"#;
    let other =
        r#"201 {"messageId":"msg_9","sendsAt":"2027-11-12T13:14:15.000Z","from":"b@cconform77.test"}"#;
    assert_eq!(diff(&with(one), &with(other)), []);
    let changes = diff(&with(one), &with(&other.replace("201", "200")));
    assert_eq!(changes[0].new.as_deref(), Some(r#"holds: 200 {"messageId":"…","sendsAt":"…","from":"…"}"#));
    for (one, other) in [("no event", "an event"), ("not_found is a word", "not_known is a word")] {
        assert_eq!(diff(&with(one), &with(other)).len(), 1, "{one}");
    }
}
