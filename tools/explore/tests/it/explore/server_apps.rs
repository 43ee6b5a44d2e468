//! Servers that receive webhooks: correct ones, and ones with one fault each.

use std::{collections::HashSet, fs, path::PathBuf, sync::Arc, time::Duration};

use axum::{
    Router,
    extract::{FromRef, State},
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::post,
};
use serde_json::{Value, json};
use shared_inbox::{Client, ConversationId, Error, Status};
use shared_inbox_explore::explore::AppContext;
use shared_inbox_webhooks::{
    Event, EventKind, Receiver, Secret, Verifier, Webhook,
    replay::{Handlers, MemoryGuard},
};
use tokio::{net::TcpListener, sync::Mutex, sync::Notify};

use crate::explore::{
    apps::{
        Api, AppFuture, AppResult, TIMEOUT, answer, asked_orders, id, is_for_people, items, open_orders,
        order,
    },
    correct::LeapingClock,
    varying::vary,
};

/// What a server is told, as a function or as a program.
#[derive(Clone)]
pub(crate) struct Settings {
    base_url: String,
    key: String,
    state_dir: PathBuf,
    port: u16,
    secret: String,
    /// How long it waits for the service.
    timeout: Duration,
}

impl Settings {
    pub(crate) fn api(&self) -> Api {
        Api::with_timeout(self.base_url.clone(), self.key.clone(), self.state_dir.clone(), self.timeout)
    }

    fn receiver(&self) -> AppResult<Receiver> {
        let secret = Secret::parse(&self.secret).map_err(|error| error.to_string())?;
        Ok(Receiver::new(Verifier::new([secret])))
    }
}

impl From<AppContext> for Settings {
    fn from(context: AppContext) -> Self {
        let AppContext { base_url, key, state_dir, port, webhook_secret, .. } = context;
        let (port, secret) = (port.expect("a port"), webhook_secret.expect("a secret"));
        Self { base_url, key, state_dir, port, secret, timeout: TIMEOUT }
    }
}

/// An app by its name.
pub(crate) fn run(name: &str, mut settings: Settings) -> AppFuture {
    match name {
        "sdk" => return Box::pin(with_the_sdk(settings)),
        "queue" => return Box::pin(with_a_queue(settings)),
        _ => {}
    }
    let handler: Handler = match name {
        "correct" => |app, event| Box::pin(correct(app, event)),
        "no_dedupe" => |app, event| Box::pin(no_dedupe(app, event, str::to_owned)),
        "no_dedupe_varied" => |app, event| Box::pin(no_dedupe(app, event, vary)),
        "by_message_id" => |app, event| Box::pin(notes_and_tags(app, event, "message_id")),
        "by_event_id" => |app, event| Box::pin(notes_and_tags(app, event, "id")),
        "in_memory" => |app, event| Box::pin(in_memory(app, event)),
        "believes_the_event" => |app, event| Box::pin(believes_the_event(app, event)),
        "answers_before_the_work" => |app, event| {
            tokio::spawn(correct(app, event));
            Box::pin(async { Ok(()) })
        },
        "older_wins" => |app, event| Box::pin(mirrors_who_has_it(app, event, false)),
        "newest_wins" => |app, event| Box::pin(mirrors_who_has_it(app, event, true)),
        "marks_first" => |app, event| Box::pin(marks_first(app, event)),
        "exits" => |app, event| Box::pin(exits(app, event)),
        "marks_after_the_read" => |app, event| {
            tokio::spawn(marks_events(app, event, false));
            Box::pin(async { Ok(()) })
        },
        "marks_after_the_read_and_answers_last" => {
            // The service gives a delivery up after 10 seconds, and this app waits longer.
            settings.timeout = 3 * TIMEOUT;
            |app, event| {
                let work = tokio::spawn(marks_events(app, event, false));
                Box::pin(async { work.await.map_err(|error| error.to_string())? })
            }
        }
        "marks_before_the_read" => |app, event| {
            tokio::spawn(marks_events(app, event, true));
            Box::pin(async { Ok(()) })
        },
        other => panic!("there is no app {other}"),
    };
    Box::pin(serve(settings, handler))
}

type Handler = fn(App, Value) -> AppFuture;

#[derive(Clone)]
struct App {
    api: Arc<Api>,
    /// Events that it knows, until it is restarted.
    seen: Arc<Mutex<HashSet<String>>>,
    /// One at a time.
    turn: Arc<Mutex<()>>,
    exit: Arc<Notify>,
    receiver: Receiver,
    handler: Handler,
}

impl FromRef<App> for Receiver {
    fn from_ref(app: &App) -> Self {
        app.receiver.clone()
    }
}

async fn listen(settings: &Settings, router: Router) -> AppResult {
    let listener =
        TcpListener::bind(("127.0.0.1", settings.port)).await.map_err(|error| error.to_string())?;
    axum::serve(listener, router).await.map_err(|error| error.to_string())
}

/// Answers 200 when the handler has done its work, else 500, so that the event comes again.
async fn serve(settings: Settings, handler: Handler) -> AppResult {
    let exit = Arc::new(Notify::new());
    let app = App {
        api: Arc::new(settings.api()),
        seen: Arc::default(),
        turn: Arc::default(),
        exit: Arc::clone(&exit),
        receiver: settings.receiver()?,
        handler,
    };
    let receive = async |State(app): State<App>, Webhook(event): Webhook<Value>| {
        let handler = app.handler;
        match handler(app, (*event).clone()).await {
            Ok(()) => StatusCode::OK,
            Err(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    };
    let router = Router::new().route("/webhooks", post(receive)).with_state(app);
    tokio::select! {
        ended = listen(&settings, router) => ended,
        () = exit.notified() => Err("it does not know this event".to_owned()),
    }
}

fn conversation_of(event: &Value) -> Option<String> {
    event["data"]["conversation_id"].as_str().map(str::to_owned)
}

/// Reads the conversation that the event is about, and does what is left to do there.
async fn correct(app: App, event: Value) -> AppResult {
    let _permit = app.turn.lock().await;
    if let Some(conversation) = conversation_of(&event) {
        look_after(&app.api, &conversation).await?;
    }
    Ok(())
}

pub(crate) async fn look_after(api: &Api, conversation: &str) -> AppResult {
    let view = api.read(conversation).await?;
    if asked_orders(&view).is_empty() || is_for_people(&view) {
        return Ok(());
    }
    for order in open_orders(&view) {
        api.draft(conversation, &answer(order)).await?;
    }
    if view["status"] == "open" {
        api.set_status(conversation, "waiting").await?;
    }
    Ok(())
}

/// The client, and the verifier with its guard: an event that is being handled is not handled beside itself.
async fn with_the_sdk(settings: Settings) -> AppResult {
    #[derive(Clone)]
    struct Sdk {
        inbox: Client,
        receiver: Receiver,
        handlers: Handlers<MemoryGuard>,
        turn: Arc<Mutex<()>>,
    }
    impl FromRef<Sdk> for Receiver {
        fn from_ref(app: &Sdk) -> Self {
            app.receiver.clone()
        }
    }
    async fn receive(State(app): State<Sdk>, Webhook(event): Webhook<Event>) -> Response {
        let delivery = event.delivery("inbox");
        let (inbox, turn) = (app.inbox.clone(), Arc::clone(&app.turn));
        let handle = async move |_| {
            let _permit = turn.lock().await;
            match &event.kind {
                EventKind::TurnChanged(changed) => {
                    look_after_with_sdk(&inbox, &changed.conversation_id).await
                }
                EventKind::ClientReplied(reply) => look_after_with_sdk(&inbox, &reply.conversation_id).await,
                _ => Ok(()),
            }
        };
        app.handlers.once(delivery, handle).await.into_response()
    }
    let builder = Client::builder(&settings.base_url, &settings.key).clock(LeapingClock::new());
    let inbox = builder.build().map_err(|error| error.to_string())?;
    let app = Sdk {
        inbox,
        receiver: settings.receiver()?,
        handlers: Handlers::new(MemoryGuard::new()),
        turn: Arc::default(),
    };
    listen(&settings, Router::new().route("/webhooks", post(receive)).with_state(app)).await
}

pub(crate) async fn look_after_with_sdk(inbox: &Client, conversation: &ConversationId) -> Result<(), Error> {
    let handle = inbox.conversation(conversation);
    let view = handle.get().await?;
    let person = view.assignee.as_ref().is_some_and(|it| it.id.to_string().starts_with("usr_"));
    let json = json!({ "timeline": view.timeline });
    if asked_orders(&json).is_empty() || person || view.risk.is_some() {
        return Ok(());
    }
    for order in open_orders(&json) {
        handle.reply(answer(order)).await?;
    }
    if view.status == Status::Open {
        handle.set_status(Status::Waiting).await?;
    }
    Ok(())
}

/// Writes each event to a file, answers, and does the work behind: what is in a file is done after a restart
/// too.
async fn with_a_queue(settings: Settings) -> AppResult {
    #[derive(Clone)]
    struct Queue {
        folder: PathBuf,
        receiver: Receiver,
        added: Arc<Notify>,
    }
    impl FromRef<Queue> for Receiver {
        fn from_ref(app: &Queue) -> Self {
            app.receiver.clone()
        }
    }
    let receive = async |State(app): State<Queue>, Webhook(event): Webhook<Value>| {
        let name = format!("{}.json", event["id"].as_str().expect("an id"));
        let (new, file) = (app.folder.join(format!("new-{name}")), app.folder.join(name));
        fs::write(&new, event.to_string()).expect("written");
        fs::rename(new, file).expect("renamed");
        app.added.notify_one();
        StatusCode::ACCEPTED
    };
    let api = settings.api();
    let queue =
        Queue { folder: settings.state_dir.clone(), receiver: settings.receiver()?, added: Arc::default() };
    let (folder, added) = (queue.folder.clone(), Arc::clone(&queue.added));
    let work = async move {
        loop {
            let files = fs::read_dir(&folder).expect("a folder").map(|file| file.expect("a file").path());
            let mut files: Vec<PathBuf> =
                files.filter(|file| !file.to_string_lossy().contains("new-")).collect();
            files.sort();
            let Some(file) = files.first() else {
                added.notified().await;
                continue;
            };
            let event: Value = serde_json::from_slice(&fs::read(file).expect("read")).expect("JSON");
            let conversation = conversation_of(&event).unwrap_or_default();
            match look_after(&api, &conversation).await {
                Ok(()) => fs::remove_file(file).expect("removed"),
                Err(_) => tokio::time::sleep(std::time::Duration::from_millis(5)).await,
            }
        }
    };
    let router = Router::new().route("/webhooks", post(receive)).with_state(queue);
    tokio::select! {
        ended = listen(&settings, router) => ended,
        () = work => Ok(()),
    }
}

/// A conversation in which the customer waits for the team, and what it shows.
async fn read_when_asked(app: &App, event: &Value) -> AppResult<Option<(String, Value)>> {
    let is_asked = event["data"]["turn"] == "ours" || event["type"] == "client.replied";
    let Some(conversation) = conversation_of(event).filter(|_| is_asked) else { return Ok(None) };
    let view = app.api.read(&conversation).await?;
    Ok(Some((conversation, view)))
}

/// Looks at what has left, and not at the drafts that wait.
async fn no_dedupe(app: App, event: Value, words: fn(&str) -> String) -> AppResult {
    let _permit = app.turn.lock().await;
    let Some((conversation, mut view)) = read_when_asked(&app, &event).await? else { return Ok(()) };
    if let Some(timeline) = view["timeline"].as_array_mut() {
        timeline.retain(|item| item["status"] != "draft");
    }
    for order in open_orders(&view).into_iter().filter(|_| !is_for_people(&view)) {
        app.api.draft(&conversation, &words(&answer(order))).await?;
    }
    Ok(())
}

/// The emails of the customer that name an order and that no person has dealt with, with that order.
fn left_to_app(view: &Value) -> Vec<(&str, &str)> {
    let timeline = items(&view["timeline"]);
    let is_by_person = |item: &Value| {
        let answers = item["direction"] == "outbound" && order(&item["text"]).is_none();
        answers || item["event"] == "draft-discarded"
    };
    let mails = timeline.iter().enumerate().filter(|(_, item)| item["direction"] == "inbound");
    let mails = mails.filter(|(n, _)| !timeline[n + 1..].iter().any(is_by_person));
    mails.filter_map(|(_, mail)| Some((id(mail), order(&mail["text"])?))).collect()
}

/// Remembers until it is restarted which emails it has answered; looks only after a failure.
async fn in_memory(app: App, event: Value) -> AppResult {
    let _permit = app.turn.lock().await;
    let Some((conversation, view)) = read_when_asked(&app, &event).await? else { return Ok(()) };
    for (mail, order) in left_to_app(&view).into_iter().filter(|_| !is_for_people(&view)) {
        if app.seen.lock().await.contains(mail) {
            continue;
        }
        if let Err(failed) = app.api.draft(&conversation, &answer(order)).await
            && open_orders(&app.api.read(&conversation).await?).contains(&order)
        {
            return Err(failed.into());
        }
        app.seen.lock().await.insert(mail.to_owned());
        app.api.set_status(&conversation, "waiting").await?;
    }
    Ok(())
}

/// Believes what the event says of who has the conversation.
async fn believes_the_event(app: App, event: Value) -> AppResult {
    let _permit = app.turn.lock().await;
    let Some((conversation, view)) = read_when_asked(&app, &event).await? else { return Ok(()) };
    let theirs = event["data"]["assignee"]["type"] == "user" || !view["risk"].is_null();
    for order in open_orders(&view).into_iter().filter(|_| !theirs) {
        app.api.draft(&conversation, &answer(order)).await?;
    }
    Ok(())
}

/// A note when a draft is approved, a tag when it is sent; `key` tells an event that was handled.
async fn notes_and_tags(app: App, event: Value, key: &str) -> AppResult {
    const NOTE: &str = "A person approved the answer.";
    let _permit = app.turn.lock().await;
    let Some(conversation) = conversation_of(&event) else { return Ok(()) };
    look_after(&app.api, &conversation).await?;
    let kind = event["type"].as_str().unwrap_or_default();
    if !matches!(kind, "draft.approved" | "message.sent") {
        return Ok(());
    }
    let key = if key == "id" { &event["id"] } else { &event["data"][key] };
    let mark = app.api.file(key.as_str().expect("an id"));
    if mark.exists() {
        return Ok(());
    }
    if kind == "draft.approved" {
        let view = app.api.read(&conversation).await?;
        if !items(&view["timeline"]).iter().any(|item| item["body"] == NOTE) {
            app.api.note(&conversation, NOTE).await?;
        }
    } else {
        app.api.tag(&conversation, "answered").await?;
    }
    fs::write(mark, "").map_err(|error| error.to_string())
}

/// Keeps a tag on conversations that it has: as the event says, or as the conversation does.
async fn mirrors_who_has_it(app: App, event: Value, reads: bool) -> AppResult {
    let _permit = app.turn.lock().await;
    let Some(conversation) = conversation_of(&event) else { return Ok(()) };
    let path = |what: &str| format!("/conversations/{conversation}/{what}");
    match event["type"].as_str() {
        Some("turn.changed") if event["data"]["turn"] == "ours" => {
            let view = app.api.read(&conversation).await?;
            // A late event says how it was: by now the reply may have left, and nobody would give the
            // conversation up.
            if view["status"] == "open" && !is_for_people(&view) && view["assignee"].is_null() {
                app.api.post(&path("assign"), json!({ "to": "me" })).await?;
            }
            look_after(&app.api, &conversation).await?;
        }
        Some("client.replied") => look_after(&app.api, &conversation).await?,
        Some("message.sent") => {
            let view = app.api.read(&conversation).await?;
            if view["assignee"]["type"] == "agent" {
                app.api.post(&path("assign"), json!({ "to": "none" })).await?;
            }
        }
        Some("conversation.assigned") => {
            let view = if reads { app.api.read(&conversation).await? } else { event["data"].clone() };
            let change = if view["assignee"]["type"] == "agent" { "add" } else { "remove" };
            app.api.post(&path("tags"), json!({ change: ["taken"] })).await?;
        }
        _ => {}
    }
    Ok(())
}

async fn marks_first(app: App, event: Value) -> AppResult {
    let _permit = app.turn.lock().await;
    let mark = app.api.file(id(&event));
    if mark.exists() {
        return Ok(());
    }
    fs::write(mark, "").map_err(|error| error.to_string())?;
    let Some(conversation) = conversation_of(&event) else { return Ok(()) };
    look_after(&app.api, &conversation).await
}

/// Works on several events at once, and marks in memory which ones: before it reads the conversation if
/// `first`, else after. It does its work until that is done.
async fn marks_events(app: App, event: Value, first: bool) -> AppResult {
    let mark = async || app.seen.lock().await.insert(id(&event).to_owned());
    let is_new = if first { mark().await } else { !app.seen.lock().await.contains(id(&event)) };
    if !is_new {
        return Ok(());
    }
    let Some(conversation) = conversation_of(&event) else { return Ok(()) };
    loop {
        let Ok(view) = app.api.read(&conversation).await else { continue };
        if !first {
            mark().await;
        }
        let open = open_orders(&view);
        if open.is_empty() || is_for_people(&view) {
            return Ok(());
        }
        for order in open {
            // What became of it shows when it reads again.
            _ = app.api.draft(&conversation, &answer(order)).await;
        }
    }
}

/// Knows the events of the day it was written.
async fn exits(app: App, event: Value) -> AppResult {
    match event["type"].as_str() {
        Some("turn.changed" | "draft.approved" | "message.sent" | "client.replied") => {
            correct(app, event).await
        }
        _ => {
            app.exit.notify_one();
            Err("it does not know this event".to_owned())
        }
    }
}
