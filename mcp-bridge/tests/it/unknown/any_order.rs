//! Whatever happens in any order.

use std::{cell::RefCell, time::Instant};

use proptest::{
    collection::vec,
    prelude::*,
    test_runner::{RngSeed, TestRunner},
};

use super::*;

/// What may happen, in any order.
#[derive(Debug, Clone)]
enum Step {
    /// A model asks one of two bridges to send one of two emails.
    Ask {
        bridge: usize,
        email: usize,
    },
    /// A person answers a question of a bridge, after so many seconds, and the client brings it back with its
    /// email or, where it shows forms, with the other.
    Answer {
        bridge: usize,
        email: usize,
        seconds: u64,
        yes: bool,
        with_other_email: bool,
    },
    Wait(u64),
    /// The customer writes again.
    NewEmail,
    /// The next request or its response is lost, and so many reads fail after the one before it.
    Lose {
        arrives: bool,
        reads: u64,
    },
    Restart {
        bridge: usize,
    },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..2_usize, 0..2_usize).prop_map(|(bridge, email)| Step::Ask { bridge, email }),
        6 => (0..2_usize, 0..2_usize, 0..4_u64, prop::bool::weighted(0.7), prop::bool::weighted(0.2))
            .prop_map(|(bridge, email, seconds, yes, with_other_email)| {
                Step::Answer { bridge, email, seconds, yes, with_other_email }
            }),
        1 => (1..400_u64).prop_map(Step::Wait),
        1 => Just(Step::NewEmail),
        3 => (any::<bool>(), 0..4_u64).prop_map(|(arrives, reads)| Step::Lose { arrives, reads }),
        1 => (0..2_usize).prop_map(|bridge| Step::Restart { bridge }),
    ]
}

/// A question that waits for its answer.
struct Asked {
    handle: String,
    email: usize,
    /// The customer's emails when it was asked.
    state: usize,
    /// How often the email had been sent by then.
    sent: usize,
    /// When it was asked, by the clock of the bridges.
    at: Instant,
    /// The page, for the bridge whose client shows links.
    url: Option<String>,
}

/// Two bridges of one machine, each with a client of its own kind.
struct Machine {
    fixture: Fixture,
    folder: tempfile::TempDir,
    people: [Person; 2],
    bridges: Vec<Client>,
    /// The latest question of the bridge whose client shows forms.
    form: Option<Asked>,
    /// The open questions of the bridge whose client shows links, by email.
    links: [Option<Asked>; 2],
    emails: usize,
    coverage: Coverage,
}

/// What has happened, so that a run in which nothing did is no pass.
#[derive(Debug, Clone, Copy, Default)]
struct Coverage {
    sent: usize,
    /// Answers that were no yes for the email that came with them.
    refused: usize,
    unknown: usize,
}

const EMAILS: [&str; 2] = ["Hello Kim, it left today.", "Hello Kim, it leaves tomorrow."];

impl Machine {
    async fn new() -> Self {
        let (fixture, folder) = (Fixture::new().await, tempfile::tempdir().unwrap());
        let mut people = [Person::who(Answer::Yes), Person::who_follows_links(Answer::Yes)];
        people[1].clock = people[0].clock.clone();
        let mut bridges = Vec::new();
        for person in &people {
            bridges.push(remembering(&fixture, person, folder.path(), &[]).await);
        }
        Self {
            fixture,
            folder,
            people,
            bridges,
            form: None,
            links: [None, None],
            emails: 1,
            coverage: Coverage::default(),
        }
    }

    /// The call of a bridge, whose client has summaries of its own for the same emails.
    fn call(&self, bridge: usize, email: usize) -> CallToolRequestParams {
        let mut reply = self.fixture.reply(EMAILS[email]);
        reply["summary"] = format!("By the model of client {bridge}").into();
        params("reply", reply)
    }

    /// How often an email is scheduled or was sent. Not by the service, whose reads fail at times.
    async fn sent(&self, email: usize) -> usize {
        fn count(value: &Value, text: &str) -> usize {
            let is_sent = value["text"] == text
                && value["direction"] == "outbound"
                && ["scheduled", "sending", "sent"].iter().any(|status| value["status"] == *status);
            let inside: usize = match value {
                Value::Array(items) => items.iter().map(|item| count(item, text)).sum(),
                Value::Object(fields) => fields.values().map(|field| count(field, text)).sum(),
                _ => 0,
            };
            inside + usize::from(is_sent)
        }
        let state = self.fixture.mock.control().state().await.unwrap();
        count(&serde_json::from_str(&state).unwrap(), EMAILS[email])
    }

    async fn take(&mut self, step: &Step) -> Result<(), TestCaseError> {
        let before = [self.sent(0).await, self.sent(1).await];
        let mut shown = None;
        let (said, agreed) = match step {
            // The same call waits for the answer to its question, for as long as that is open.
            Step::Ask { bridge: 1, email }
                if self.links[*email].as_ref().is_some_and(|asked| {
                    self.people[0].clock.now().duration_since(asked.at) < Duration::from_secs(300)
                }) =>
            {
                return Ok(());
            }
            Step::Ask { bridge, email } => {
                let call = self.call(*bridge, *email);
                match self.bridges[*bridge].service.call_tool_once(call).await.unwrap() {
                    CallToolResponse::Complete(result) => (Some((*email, result)), None),
                    question => {
                        let (state, at) = (self.emails, self.people[0].clock.now());
                        let (email, sent) = (*email, before[*email]);
                        let (handle, url) = match question {
                            CallToolResponse::InputRequired(form) if *bridge == 0 => {
                                (form.request_state, None)
                            }
                            question => {
                                let (handle, url) = link(question);
                                (handle, Some(url))
                            }
                        };
                        let is_link = url.is_some();
                        let asked = Asked { handle: handle.unwrap(), email, state, sent, at, url };
                        *(if is_link { &mut self.links[email] } else { &mut self.form }) = Some(asked);
                        (None, None)
                    }
                }
            }
            Step::Answer { bridge, email, seconds, yes, with_other_email } => {
                let asked = if *bridge == 1 { self.links[*email].take() } else { self.form.take() };
                let Some(asked) = asked else { return Ok(()) };
                let clock = self.people[0].clock.clone();
                let mut answer = json!({ "action": "accept", "content": { "send": yes } });
                let mut counts = *yes && asked.state == self.emails;
                if let Some(url) = &asked.url {
                    let page = crate::window::http().get(url).send().await.unwrap();
                    if page.status() != 200 || !page.headers().contains_key("set-cookie") {
                        return Ok(());
                    }
                    let window = Window::open_page(url, page).await;
                    clock.forward(Duration::from_secs(*seconds));
                    window.press(if *yes { "send" } else { "refuse" }).await;
                    shown = Some((asked.email, asked.sent, window.again().await));
                    answer = json!({ "action": "accept" });
                    counts &= *seconds > 0;
                } else {
                    clock.forward(Duration::from_secs(*seconds));
                    // In a form, the time runs from the question on.
                    counts &= !with_other_email && clock.now() > asked.at;
                }
                let is_other = asked.url.is_none() && *with_other_email;
                let email = if is_other { 1 - asked.email } else { asked.email };
                self.coverage.refused += usize::from(!counts);
                let call = self.call(*bridge, email);
                let result = self.bridges[*bridge].answer(call, &asked.handle, answer).await;
                (Some((email, result)), counts.then_some(asked.email))
            }
            Step::Wait(seconds) => {
                self.people[0].clock.forward(Duration::from_secs(*seconds));
                (None, None)
            }
            Step::NewEmail => {
                self.fixture.write_again().await;
                self.emails += 1;
                (None, None)
            }
            Step::Lose { arrives, reads } => {
                self.fixture.mock.control().clear_faults().await;
                let lost = if *arrives { Effect::drop_after() } else { Effect::drop_before() };
                self.fixture.fault(creates(lost)).await;
                if *reads > 0 {
                    let failing = crate::fixture::reads(Effect::status(404)).times(*reads);
                    self.fixture.fault(failing.skip(1)).await;
                }
                (None, None)
            }
            Step::Restart { bridge } => {
                let person = &self.people[*bridge];
                self.bridges[*bridge] = remembering(&self.fixture, person, self.folder.path(), &[]).await;
                match bridge {
                    1 => self.links = [None, None],
                    _ => self.form = None,
                }
                (None, None)
            }
        };
        let after = [self.sent(0).await, self.sent(1).await];
        for email in 0..2 {
            let new = after[email] - before[email];
            prop_assert!(new <= 1, "{step:?}: sent {new} times");
            prop_assert!(new == 0 || agreed == Some(email), "{step:?}: sent without a yes for it");
        }
        if let Some((email, sent, page)) = shown {
            let denies = page.contains("The email was not sent");
            prop_assert!(after[email] == sent || !denies, "{step:?}: it was sent meanwhile: {page}");
        }
        if let Some((email, result)) = said {
            let said = text(&result);
            let is_new = after[email] > before[email];
            let unknown = said.contains("not known whether") || said.contains("not clear whether");
            self.coverage.sent += usize::from(is_new);
            self.coverage.unknown += usize::from(unknown);
            let draft = !is_error(&result) && structured(&result)["status"] == "draft";
            prop_assert!(
                !is_new || unknown || !is_error(&result),
                "{step:?}: it was sent, and this was said: {said}"
            );
            let claims = said.contains("goes out at") && !said.contains("repeats a call");
            prop_assert!(is_new || draft || !claims, "{step:?}: it was not sent, and this was said: {said}");
        }
        Ok(())
    }
}

#[test]
fn in_no_order_of_events_is_an_email_sent_without_a_yes_or_twice_or_called_unsent() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let config =
        ProptestConfig { max_shrink_iters: 20, rng_seed: RngSeed::Fixed(1), ..crate::inert::cases(24, 25) };
    let coverage = RefCell::new(Coverage::default());
    let result = TestRunner::new(config).run(&vec(step(), 8..32), |steps| {
        runtime.block_on(async {
            let mut machine = Machine::new().await;
            for step in &steps {
                let taken = tokio::time::timeout(Duration::from_secs(20), machine.take(step));
                taken.await.map_err(|_| TestCaseError::fail(format!("{step:?} hangs")))??;
            }
            let Coverage { sent, refused, unknown } = machine.coverage;
            let mut all = coverage.borrow_mut();
            (all.sent, all.refused, all.unknown) =
                (all.sent + sent, all.refused + refused, all.unknown + unknown);
            Ok(())
        })
    });
    result.unwrap();
    let Coverage { sent, refused, unknown } = coverage.into_inner();
    assert!(sent > 0 && refused > 0 && unknown > 0, "{sent} sent, {refused} refused, {unknown} unknown");
}
