//! A support worker on axum: it reads what customers write, leaves a note for the team, drafts an answer and
//! tags the conversation. It can be killed at any point, and webhooks may come twice, late or at the same
//! time: each note and each draft is made once.
//!
//!     cargo run --example support_worker
//!
//! starts a mock that sends it an event, twice. With `SHARED_INBOX_BASE_URL`, `SHARED_INBOX_API_KEY` and
//! `SHARED_INBOX_WEBHOOK_SECRET` it serves webhooks on `PORT`. Look for a schedule that breaks it, with `mode
//! = "server"` and `mails = ["Where is my order 1042?"]` in `scenario.toml`:
//!
//!     shared-inbox-mock explore --scenario scenario.toml -- target/debug/examples/support_worker

use std::sync::Arc;

use axum::{
    Router,
    extract::{FromRef, State},
    response::IntoResponse,
    routing::post,
};
use shared_inbox::{ActorType, Client, Conversation, Direction, Message, Status, Turn};
use shared_inbox_webhooks::{
    Event, EventKind, Receiver, Webhook,
    replay::{Handlers, MemoryGuard},
};
use tokio::sync::Mutex;

type Error = Box<dyn std::error::Error + Send + Sync>;

#[derive(Clone)]
struct App {
    /// Has a store for `once` keys.
    inbox: Client,
    receiver: Receiver,
    handlers: Handlers<MemoryGuard>,
    /// One event at a time: a handler goes by what it has read, and must not write what another has read not
    /// to.
    at_work: Arc<Mutex<()>>,
}

impl FromRef<App> for Receiver {
    fn from_ref(app: &App) -> Self {
        app.receiver.clone()
    }
}

pub(crate) fn router(inbox: Client, receiver: Receiver) -> Router {
    let handlers = Handlers::new(MemoryGuard::new());
    let app = App { inbox, receiver, handlers, at_work: Arc::default() };
    Router::new().route("/webhooks", post(receive)).with_state(app)
}

/// `Handlers` run an event once at a time and remember it until the process ends. When the handler fails, or
/// is killed, the service sends the event again.
async fn receive(State(app): State<App>, Webhook(event): Webhook<Event>) -> impl IntoResponse {
    let (inbox, at_work, delivery) = (app.inbox.clone(), app.at_work.clone(), event.delivery("inbox"));
    let work = async move |_| {
        let _turn = at_work.lock().await;
        handle(&inbox, &event).await
    };
    app.handlers.once(delivery, work).await
}

/// Handles an event. It may run again after any of its steps: tags and status can be repeated, and each
/// create has a key.
async fn handle(inbox: &Client, event: &Event) -> Result<(), Error> {
    let id = match &event.kind {
        EventKind::ClientReplied(replied) => &replied.conversation_id,
        EventKind::TurnChanged(changed) if changed.turn == Turn::Ours => &changed.conversation_id,
        _ => return Ok(()),
    };
    let thread = inbox.conversation(id);
    let conversation = thread.get().await?;
    let questions = questions(&conversation);
    if questions.is_empty() {
        return Ok(());
    }
    for (question, order) in questions {
        if is_answered(&conversation, question, order) {
            continue;
        }
        // One note about an order: after a kill, two keys whose notes have the same words could not be told
        // apart.
        let note = thread.add_note(format!("Looked up order {order}: it left on Monday."));
        note.once(format!("{id}/{order}/note")).await?;
        thread.edit_tags().add("order").await?;
        let answer =
            thread.reply(format!("Your order {order} is on its way.")).summary("Says where the order is");
        // Two events can be about one message, so the key is the message's.
        answer.once(format!("{}/answer", question.id)).await?;
    }
    if conversation.status == Status::Open {
        thread.set_status(Status::Waiting).await?;
    }
    Ok(())
}

/// Returns the customer's latest message about each order, the newest first; none when a person has the
/// conversation.
fn questions(conversation: &Conversation) -> Vec<(&Message, &str)> {
    let is_for_people =
        conversation.assignee.as_ref().is_some_and(|assignee| assignee.kind == ActorType::User);
    if is_for_people || conversation.risk.is_some() {
        return Vec::new();
    }
    let messages = conversation.timeline.iter().rev().filter_map(|item| item.as_message());
    let mut questions: Vec<(&Message, &str)> = Vec::new();
    for message in messages.filter(|message| message.direction == Direction::Inbound) {
        let mut numbers = message.text.split(|c: char| !c.is_ascii_digit());
        let order = numbers.find(|number| number.len() == 4);
        if let Some(order) = order.filter(|order| questions.iter().all(|(_, other)| other != order)) {
            questions.push((message, order));
        }
    }
    questions
}

/// Returns whether a message after the question is about its order, or is a person's. An answer to an earlier
/// question may stand there too: the customer can write while it is being made.
fn is_answered(conversation: &Conversation, question: &Message, order: &str) -> bool {
    let messages = conversation.timeline.iter().filter_map(|item| item.as_message());
    let later = messages.skip_while(|message| message.id != question.id).skip(1);
    let mut answers = later.filter(|message| message.direction == Direction::Outbound);
    answers.any(|message| message.text.contains(order) || !message.text.starts_with("Your order "))
}

#[cfg(not(test))]
#[tokio::main]
async fn main() -> Result<(), Error> {
    use shared_inbox::{ClientBuilder, once::FileStore};
    use shared_inbox_webhooks::Secret;
    use std::env;
    use tokio::net::TcpListener;

    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    let home = env::var("SHARED_INBOX_STATE_DIR").unwrap_or_else(|_| "var".to_owned());
    if env::var_os("SHARED_INBOX_WEBHOOK_SECRET").is_some() {
        let inbox =
            ClientBuilder::from_env()?.once_store(FileStore::open(format!("{home}/once"))?).build()?;
        let receiver = Receiver::builder().secrets_from_env()?.build();
        let port = env::var("PORT").ok().and_then(|port| port.parse().ok()).unwrap_or(8080);
        let listener = TcpListener::bind(("127.0.0.1", port)).await?;
        return Ok(axum::serve(listener, router(inbox, receiver)).await?);
    }

    // Without a secret: a mock whose events come here, the same one twice.
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let sender =
        shared_inbox_examples::Sender::to(format!("http://{}/webhooks", listener.local_addr()?)).await?;
    let directory = env::temp_dir().join(format!("support-worker-{}", std::process::id()));
    let inbox = sender.client().once_store(FileStore::open(&directory)?).build()?;
    let receiver = Receiver::builder().secrets([Secret::parse(sender.secret())?]).build();
    tokio::spawn(async { axum::serve(listener, router(inbox, receiver)).await });
    sender.send_twice().await?;
    std::fs::remove_dir_all(directory)?;
    Ok(())
}
