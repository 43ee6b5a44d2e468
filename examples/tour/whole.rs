//! The tour of everything, with the mock server inside this process.

use std::time::Duration;

use shared_inbox::{
    Client, ConversationId, Reference, ReplyAddress, ReplyResult, TimelineItem, View, input::DocumentItem,
    new_message_id,
};
use shared_inbox_mock::{
    Approval, Control, CreateWebhook, Effect, FaultRule, InboundMail, MockServer,
    webhooks::{Attempt, DeliveryFilter, TimestampSource},
    world::{StopMessage, Upload},
};
use shared_inbox_webhooks::{EventKind, Secret, Signer};
use tokio::net::TcpListener;

use crate::{
    agent, code,
    receiver::{self, Hooks},
    show::{Error, Show},
};

const KIM: &str = "kim@example.com";
const DAY: Duration = Duration::from_secs(24 * 3600);
const UNDO_WINDOW: Duration = Duration::from_secs(600);

/// Runs against a mock that it starts and ends.
pub(crate) async fn tour(show: &mut Show) -> Result<(), Error> {
    show.say("A mock of the whole service runs in this process. Nothing leaves your machine.");

    show.step("The service starts, empty, with a clock that stands still until we move it");
    let mock = show
        .run(code!(MockServer::builder().empty().manual_clock().start().await), |mock| {
            mock.base_url().to_owned()
        })
        .await?;
    let (inbox, control) = (mock.client(), mock.control());
    let inboxes = show
        .run(code!(inbox.mailboxes().await?), |inboxes| {
            let lines: Vec<_> =
                inboxes.iter().map(|inbox| format!("{}, {} open", inbox.address, inbox.open)).collect();
            lines.join("\n")
        })
        .await?;
    let address = inboxes.first().ok_or("every workspace has an inbox")?.address.as_str();

    show.step("An app asks for webhooks");
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/webhooks", listener.local_addr()?);
    // The receiver looks at its own clock, which does not move with the mock's.
    let real = TimestampSource::Real;
    let webhook = show
        .run(code!(control.create_webhook(CreateWebhook::new(url).timestamps(real)).await?), |webhook| {
            format!("{}, and a secret, shown once", webhook.id)
        })
        .await?;
    let secret = Secret::parse(&webhook.secret)?;
    let mut hooks = receiver::serve(listener, secret);

    show.step("A customer writes");
    let mail = show
        .run(
            code!(
                control
                    .inbound(InboundMail::new(address, KIM, "Where is my order?").subject("My order"))
                    .await?
            ),
            |mail| format!("{}, a new conversation: {}", mail.conversation_id, mail.created),
        )
        .await?;
    let id = mail.conversation_id;

    a_webhook(show, control, &mut hooks, address, &id).await?;

    show.step("An agent reads, tags, takes it, leaves a note");
    agent::works(show, &inbox, &id).await?;

    a_reply(show, &inbox, control, &mut hooks, &id).await?;
    documents(show, &inbox, control, &mut hooks, &id).await?;
    app_mail(show, &inbox, control, &mut hooks, address).await?;
    a_lost_answer(show, &inbox, control, &id).await?;
    agent::over_mcp(show, &inbox, &id).await?;
    a_day_of_retries(show, control, &hooks, webhook.id.as_str()).await
}

async fn a_webhook(
    show: &mut Show,
    control: &Control,
    hooks: &mut Hooks,
    address: &str,
    id: &ConversationId,
) -> Result<(), Error> {
    show.step("She writes again; a signed webhook arrives and is verified");
    show.run(
        code!(control.inbound(InboundMail::new(address, KIM, "It was order 1042.").on(id)).await?),
        |mail| format!("{} joins {}", mail.message_id, mail.conversation_id),
    )
    .await?;
    let event = show
        .run(code!(hooks.next("client.replied").await?), |event| {
            format!("{} {}: “{}”", event.kind.event_type(), event.id, event.summary)
        })
        .await?;
    show.say("The same event, signed by someone who does not have the secret:");
    let verifier = hooks.verifier();
    let body = serde_json::to_vec(&*event)?;
    let forger = Signer::new([Secret::from_bytes(b"not the secret that was shown")?]);
    let headers = forger.sign(event.id.as_str(), event.matched_signature().timestamp(), &body);
    show.run(code!(verifier.verify(&headers, &body).err()), |error| {
        error.map(|error| error.to_string()).unwrap_or_default()
    })
    .await?;
    Ok(())
}

async fn a_reply(
    show: &mut Show,
    inbox: &Client,
    control: &Control,
    hooks: &mut Hooks,
    id: &ConversationId,
) -> Result<(), Error> {
    show.step("A reply is drafted, approved, undone, approved again, sent");
    let thread = inbox.conversation(id);
    let draft = show
        .run(code!(thread.reply("It is on its way.").summary("Says where it is").await?), |r| state(r))
        .await?;
    let message = &draft.message_id;
    show.run(code!(control.approve(message.as_str(), Approval::new()).await?), |approved| {
        format!("{}, leaves at {}", approved.status, approved.sends_at)
    })
    .await?;
    show.run(
        code!(control.stop(message.as_str(), StopMessage::default()).await?),
        |()| "stopped inside the undo window",
    )
    .await?;
    let waiting = show
        .run(code!(control.approvals().await), |queue| format!("{} draft waits for a person", queue.len()))
        .await?;
    let edited = Approval::new().body(format!("{} Sorry for the wait.", waiting[0].text));
    show.run(code!(control.approve(message.as_str(), edited).await?), |approved| approved.status.to_string())
        .await?;
    show.run(code!(control.advance(UNDO_WINDOW).await?), |clock| format!("it is {} now", clock.now)).await?;
    show.run(code!(hooks.next("message.sent").await?), |event| {
        let EventKind::MessageSent(sent) = &event.kind else { return "something else".to_owned() };
        format!("{} went out", sent.message_id)
    })
    .await?;
    Ok(())
}

fn state(reply: &ReplyResult) -> String {
    format!("{} {}", reply.status, reply.message_id)
}

async fn documents(
    show: &mut Show,
    inbox: &Client,
    control: &Control,
    hooks: &mut Hooks,
    id: &ConversationId,
) -> Result<(), Error> {
    show.step("Documents are asked for and arrive");
    let thread = inbox.conversation(id);
    let wanted = [DocumentItem::new("Invoice"), DocumentItem::new("Photo of the parcel").nice_to_have()];
    let asked = show
        .run(
            code!(thread.request_documents(wanted).message("To go on we need:").and_send().await?),
            |asked| {
                let request = asked.request_id.as_ref().map(ToString::to_string).unwrap_or_default();
                format!("{}, {request}", state(asked))
            },
        )
        .await?;
    let request = asked.request_id.clone().ok_or("a document request has an id")?;
    show.run(code!(control.advance(UNDO_WINDOW + DAY * 2).await?), |clock| {
        format!("it is {} now", clock.now)
    })
    .await?;
    show.run(code!(control.outbox().await), |mails| {
        let latest =
            mails.last().map(|mail| format!("{:?}: {}", mail.kind, mail.subject)).unwrap_or_default();
        format!("{} mails went out, the latest a {latest}", mails.len())
    })
    .await?;
    show.run(code!(control.upload(request.as_str(), Upload::new(0, "invoice-1042.pdf")).await?), |upload| {
        format!("{}, everything required is in: {}", upload.document_id, upload.complete)
    })
    .await?;
    show.run(code!(hooks.next("ask.completed").await?), |event| format!("“{}”", event.summary)).await?;
    show.run(code!(inbox.documents().search("invoice-1042").await?), |found| {
        found
            .iter()
            .map(|document| format!("{} {}", document.id, document.filename))
            .collect::<Vec<_>>()
            .join("\n")
    })
    .await?;
    Ok(())
}

async fn app_mail(
    show: &mut Show,
    inbox: &Client,
    control: &Control,
    hooks: &mut Hooks,
    address: &str,
) -> Result<(), Error> {
    show.step("An app mails its customer; the reply comes back with the app's reference");
    let reference = Reference::parse("order-1042")?;
    let reply_to = show
        .run(code!(ReplyAddress::new(address, reference.clone())?), |address| format!("Reply-To: {address}"))
        .await?;
    let message_id = new_message_id("shop.example")?;
    show.run(
        code!(inbox.record_sent(&message_id, reference, ["lee@example.com"], "Your order").await?),
        |done| format!("ok: {}", done.ok),
    )
    .await?;
    let reply =
        InboundMail::new(reply_to.to_string(), "lee@example.com", "It came broken.").in_reply_to(message_id);
    show.run(code!(control.inbound(reply).await?), |mail| mail.conversation_id.to_string()).await?;
    show.run(code!(hooks.next("client.replied").await?), |event| {
        let EventKind::ClientReplied(reply) = &event.kind else { return "something else".to_owned() };
        format!("{} is about {}", reply.conversation_id, reply.reference.as_deref().unwrap_or("nothing"))
    })
    .await?;
    show.run(code!(inbox.conversations().view(View::All).reference("order-1042").await?), |found| {
        format!("{} conversation with that reference", found.len())
    })
    .await?;
    Ok(())
}

async fn a_lost_answer(
    show: &mut Show,
    inbox: &Client,
    control: &Control,
    id: &ConversationId,
) -> Result<(), Error> {
    show.step("A response is lost on the wire, and nothing happens twice");
    show.say("The note is accepted, and the connection closes before the client hears of it.");
    show.run(
        code!(control.add_fault(FaultRule::new(Effect::drop_after()).path("/conversations/*/notes")).await?),
        |fault| format!("{} is armed", fault.id),
    )
    .await?;
    let thread = inbox.conversation(id);
    show.run(code!(thread.add_note("Refund is approved.").await?), |note| {
        format!("ok: {}, recovered by reading the conversation: {}", note.ok, note.recovered())
    })
    .await?;
    show.run(code!(thread.get().await?), |conversation| {
        let notes = conversation.timeline.iter().filter_map(TimelineItem::as_note);
        format!("{} such note", notes.filter(|note| note.body == "Refund is approved.").count())
    })
    .await?;
    Ok(())
}

async fn a_day_of_retries(
    show: &mut Show,
    control: &Control,
    hooks: &Hooks,
    webhook: &str,
) -> Result<(), Error> {
    show.step("A day of webhook retries passes in a blink");
    show.say("The app's receiver breaks down and answers 500 to everything.");
    hooks.break_down();
    show.run(code!(control.test_webhook(webhook).await?), |sent| sent.event_id.to_string()).await?;
    show.run(code!(control.advance(DAY + DAY / 4).await?), |clock| {
        format!("it is {} now; {} things happened on the way", clock.now, clock.fired.len())
    })
    .await?;
    let filter = DeliveryFilter::default().event_type("webhook.test");
    show.run(code!(control.deliveries(webhook, filter).await?), |log| {
        let delivery = &log[0];
        let line = |attempt: &Attempt| {
            let status = attempt.status.map_or("no response".to_owned(), |status| status.to_string());
            format!("{:>7} {status}", after(attempt.at.duration_since(delivery.created_at)))
        };
        let attempts: Vec<_> = delivery.attempts.iter().map(line).collect();
        format!("{:?} after {} attempts\n{}", delivery.outcome, attempts.len(), attempts.join("\n"))
    })
    .await?;
    Ok(())
}

/// A long time in a unit that suits it.
fn after(time: Duration) -> String {
    match time.as_secs() {
        0 => "at once".to_owned(),
        s @ 1..120 => format!("{s} s"),
        s @ 120..9000 => format!("{} min", s / 60),
        s => format!("{:.1} h", s as f64 / 3600.0),
    }
}
