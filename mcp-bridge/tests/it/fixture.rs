//! Shared by the tests of the bridge: a mock with one email in it, a person at a client, and the program.

use std::{
    path::{Path, PathBuf},
    process::{self, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use clap::ValueEnum;
use rmcp::{
    ClientHandler, ErrorData, RoleClient, ServiceExt,
    model::{
        ArgumentInfo, CallToolRequest, CallToolRequestParams, CallToolResponse, CallToolResult,
        ClientCapabilities, ClientConfig, ClientRequest, CompleteRequestParams, ElicitRequestParams,
        ElicitResult, ElicitationAction, GetPromptRequestParams, Implementation, ProgressNotificationParam,
        ProtocolVersion, ReadResourceRequestParams, Reference, ResourceContents,
    },
    service::{
        ClientLifecycleMode, ClientServiceExt, NotificationContext, PeerRequestOptions, RequestContext,
        RequestHandle, RunningService, ServiceError,
    },
};
use serde_json::{Map, Value, json};
use shared_inbox::{
    Conversation, Scope,
    clock::{BoxFuture, Clock},
};
use shared_inbox_mcp::{
    Bridge,
    settings::{Audit, ConsentChannel, SendPolicy, Settings, Structured},
};
use shared_inbox_mock::{Effect, FaultRule, InboundMail, MockServer, NewKey, world::NewMailbox};
use tokio::{
    io::AsyncWriteExt,
    process::{Child, Command},
    sync::{Semaphore, watch},
};

pub(crate) use Era::{Newer, Older};

/// The two ways in which clients speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// With `initialize`.
    Older,
    /// Without, since 2026-07-28.
    Newer,
}

pub(crate) const ERAS: [Era; 2] = [Older, Newer];

impl Era {
    pub(crate) fn lifecycle(self) -> ClientLifecycleMode {
        match self {
            Older => ClientLifecycleMode::Initialize,
            Newer => {
                ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] }
            }
        }
    }
}

/// How the person at the client answers a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Yes,
    /// Accepts the form without ticking the box.
    YesWithoutTick,
    No,
    Nothing,
    /// The client says that it can ask, and fails.
    Fails,
    /// The client has no way to ask.
    CannotBeAsked,
}

/// A clock that only a test moves.
#[derive(Debug)]
pub(crate) struct ManualClock(watch::Sender<Instant>);

impl ManualClock {
    pub(crate) fn forward(&self, by: Duration) {
        self.0.send_modify(|now| *now += by);
    }

    /// How many wait for it to move.
    pub(crate) fn waiting(&self) -> usize {
        self.0.receiver_count()
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Instant {
        *self.0.borrow()
    }

    fn sleep(&self, wait: Duration) -> BoxFuture<'_, ()> {
        let (until, mut moved) = (self.now() + wait, self.0.subscribe());
        Box::pin(async move { _ = moved.wait_for(|now| *now >= until).await })
    }
}

/// A clock that waits by moving its own hands, so that the client's retries and looks take no time.
#[derive(Debug)]
pub(crate) struct LeapingClock(Arc<ManualClock>);

impl LeapingClock {
    pub(crate) fn new() -> Self {
        Self::over(&Arc::new(ManualClock(watch::Sender::new(Instant::now()))))
    }

    /// A clock whose hands are those of another, so that what waits by that one is late by as much.
    pub(crate) fn over(clock: &Arc<ManualClock>) -> Self {
        Self(clock.clone())
    }
}

impl Clock for LeapingClock {
    fn now(&self) -> Instant {
        self.0.now()
    }

    fn sleep(&self, wait: Duration) -> BoxFuture<'_, ()> {
        Box::pin(async move { self.0.forward(wait) })
    }
}

/// A client with a person at it.
#[derive(Clone)]
pub(crate) struct Person {
    /// The name of the client.
    pub(crate) client: &'static str,
    pub(crate) says: Answer,
    /// How the client can ask.
    pub(crate) modes: Value,
    /// How long they think before they answer.
    pub(crate) thinks: Duration,
    /// The clock of the bridge in the same process.
    pub(crate) clock: Arc<ManualClock>,
    /// The questions that were taken back.
    pub(crate) withdrawn: Arc<AtomicUsize>,
    /// How many questions they may answer now.
    pub(crate) answers: Arc<Semaphore>,
    pub(crate) asked: Arc<Mutex<Vec<String>>>,
    pub(crate) progress: Arc<AtomicUsize>,
    pub(crate) progress_messages: Arc<Mutex<Vec<String>>>,
    pub(crate) tools_changed: Arc<AtomicUsize>,
}

impl Person {
    pub(crate) fn who(says: Answer) -> Self {
        Self {
            client: "test",
            says,
            modes: json!({ "form": {} }),
            thinks: Duration::from_secs(2),
            clock: Arc::new(ManualClock(watch::Sender::new(Instant::now()))),
            withdrawn: Arc::default(),
            answers: Arc::new(Semaphore::new(Semaphore::MAX_PERMITS)),
            asked: Arc::default(),
            progress: Arc::default(),
            progress_messages: Arc::default(),
            tools_changed: Arc::default(),
        }
    }

    /// Someone whose client can only show links.
    pub(crate) fn who_follows_links(says: Answer) -> Self {
        Self { modes: json!({ "url": {} }), ..Self::who(says) }
    }

    /// Someone who answers only as often as the test adds permits to `answers`.
    pub(crate) fn who_takes_time(says: Answer) -> Self {
        Self { answers: Arc::new(Semaphore::new(0)), ..Self::who(says) }
    }

    pub(crate) fn questions(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

impl ClientHandler for Person {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        if self.says != Answer::CannotBeAsked {
            capabilities.elicitation = serde_json::from_value(self.modes.clone()).unwrap();
        }
        ClientConfig::new(capabilities, Implementation::new(self.client, "1"))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        // Of a link, the address is what the test needs.
        self.asked.lock().unwrap().push(match request {
            ElicitRequestParams::FormElicitationParams { message, .. } => message,
            ElicitRequestParams::UrlElicitationParams { url, .. } => url,
            other => panic!("a question, not {other:?}"),
        });
        tokio::select! {
            permit = self.answers.acquire() => permit.unwrap().forget(),
            () = context.ct.cancelled() => {
                self.withdrawn.fetch_add(1, Ordering::SeqCst);
                std::future::pending().await
            }
        }
        self.clock.forward(self.thinks);
        let accept =
            |send: bool| ElicitResult::new(ElicitationAction::Accept).with_content(json!({ "send": send }));
        Ok(match self.says {
            Answer::Yes => accept(true),
            Answer::YesWithoutTick => accept(false),
            Answer::No => ElicitResult::new(ElicitationAction::Decline),
            Answer::Nothing => ElicitResult::new(ElicitationAction::Cancel),
            Answer::Fails => return Err(ErrorData::internal_error("no window", None)),
            Answer::CannotBeAsked => panic!("a client that cannot ask was asked"),
        })
    }

    async fn on_progress(&self, progress: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.progress_messages.lock().unwrap().extend(progress.message);
        self.progress.fetch_add(1, Ordering::SeqCst);
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.tools_changed.fetch_add(1, Ordering::SeqCst);
    }
}

/// The program, which knows nothing of an inbox.
pub(crate) fn program() -> process::Command {
    let mut command = process::Command::new(shared_inbox_tests::program("shared-inbox-mcp"));
    let ours = std::env::vars_os().map(|(name, _)| name);
    for name in ours.filter(|name| name.to_string_lossy().starts_with("SHARED_INBOX_") || name == "RUST_LOG")
    {
        command.env_remove(name);
    }
    let state = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("state-{}", std::process::id()));
    command.env("XDG_STATE_HOME", state);
    command
}

/// What a program wrote to stdout and stderr.
pub(crate) fn out(output: &process::Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

/// A mock whose live inbox holds one mail.
pub(crate) struct Fixture {
    pub(crate) mock: MockServer,
    pub(crate) conversation: String,
}

impl Fixture {
    pub(crate) async fn new() -> Self {
        Self::with(|_| ()).await
    }

    pub(crate) async fn with(change: impl FnOnce(&mut InboundMail)) -> Self {
        let mock = MockServer::builder().manual_clock().empty().start().await;
        let control = mock.control();
        control.create_mailbox(NewMailbox::new("orders@shop.example", "Orders")).await.unwrap();
        let mut mail = InboundMail::new("orders@shop.example", "kim@customer.example", "Where is my order?");
        mail.name = Some("Kim".into());
        mail.subject = Some("Order 1042".into());
        change(&mut mail);
        let received = control.inbound(mail).await.unwrap();
        Self { conversation: received.conversation_id.to_string(), mock }
    }

    pub(crate) async fn key(&self, scopes: &[Scope]) -> String {
        self.mock.control().create_key(NewKey::live("Bridge", scopes.to_vec())).await.unwrap().key
    }

    /// The program, told where this mock is.
    pub(crate) fn program(&self) -> Command {
        let mut command = Command::from(program());
        command.env("SHARED_INBOX_BASE_URL", self.mock.base_url());
        command.env("XDG_STATE_HOME", self.state_home());
        command.env("SHARED_INBOX_API_KEY", self.mock.live_key());
        command.kill_on_drop(true).stderr(Stdio::inherit());
        command
    }

    /// The folder for the state of programs, which belongs to this mock alone.
    pub(crate) fn state_home(&self) -> PathBuf {
        let port = self.mock.base_url().chars().filter(char::is_ascii_digit).collect::<String>();
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("state-{}-{port}", std::process::id()))
    }

    /// The program with this key.
    pub(crate) async fn start_with_key(&self, key: &str, person: &Person, era: Era) -> Client {
        let mut command = self.program();
        command.env("SHARED_INBOX_API_KEY", key);
        connect(command, person, era).await
    }

    /// The arguments of a reply that is to be sent.
    pub(crate) fn reply(&self, body: &str) -> Value {
        json!({ "id": self.conversation, "body": body, "send": true })
    }

    /// The program, with this person at the client.
    pub(crate) async fn start_program(&self, person: &Person, era: Era, arguments: &[&str]) -> Client {
        let mut command = self.program();
        command.args(arguments);
        connect(command, person, era).await
    }

    /// The bridge in this process with these arguments, by the person's clock, over a client that gives a
    /// create no time to show.
    pub(crate) async fn start_in_process(&self, person: &Person, era: Era, arguments: &[&str]) -> Client {
        let client = self.client().visibility_timeout(Duration::ZERO).build().unwrap();
        self.start_over(Some(client), person, era, arguments).await
    }

    /// A client of the service, to be built.
    pub(crate) fn client(&self) -> shared_inbox::ClientBuilder {
        shared_inbox::Client::builder(self.mock.base_url(), self.mock.live_key())
    }

    /// The bridge in this process over this client, or over one that the arguments describe.
    pub(crate) async fn start_over(
        &self,
        client: Option<shared_inbox::Client>,
        person: &Person,
        era: Era,
        arguments: &[&str],
    ) -> Client {
        let mut settings = settings(arguments);
        settings.access.client = client;
        settings.clock = person.clock.clone();
        let bridge = Bridge::new(settings);
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        // A client may go before it has said anything.
        tokio::spawn(async move {
            if let Ok(running) = bridge.serve(theirs).await {
                _ = running.waiting().await;
            }
        });
        let service = person.clone().serve_with_lifecycle(ours, era.lifecycle()).await.unwrap();
        Client { service, _program: None }
    }

    /// Lets requests meet this.
    pub(crate) async fn fault(&self, rule: FaultRule) {
        self.mock.control().add_fault(rule).await.unwrap();
    }

    /// The customer writes again.
    pub(crate) async fn write_again(&self) {
        let mut mail = InboundMail::new("orders@shop.example", "kim@customer.example", "And?");
        mail.conversation_id = Some(self.conversation.clone());
        self.mock.control().inbound(mail).await.unwrap();
    }

    /// The conversation as it is now.
    pub(crate) async fn now(&self) -> Conversation {
        self.mock.client().conversation(&self.conversation.parse().unwrap()).get().await.unwrap()
    }

    /// Everything that waits for approval or went out, after the undo window.
    pub(crate) async fn mails(&self) -> Mails {
        let control = self.mock.control();
        control.advance(shared_inbox::__spec::limits::UNDO_WINDOW).await.unwrap();
        Mails {
            drafts: control.approvals().await.into_iter().map(|waiting| waiting.text).collect(),
            sent: control.outbox().await.into_iter().map(|mail| mail.text).collect(),
        }
    }

    pub(crate) async fn notes(&self) -> Vec<String> {
        self.now().await.timeline.iter().filter_map(|item| Some(item.as_note()?.body.clone())).collect()
    }
}

/// A person at a client of the bridge in this process, over a mock of its own.
pub(crate) async fn in_process(person: Person, era: Era, arguments: &[&str]) -> (Fixture, Person, Client) {
    let fixture = Fixture::new().await;
    let client = fixture.start_in_process(&person, era, arguments).await;
    (fixture, person, client)
}

/// The same over a client that waits by moving its own hands.
pub(crate) async fn leaping(person: Person, era: Era, arguments: &[&str]) -> (Fixture, Person, Client) {
    let fixture = Fixture::new().await;
    let service = fixture.client().clock(LeapingClock::new()).build().unwrap();
    let client = fixture.start_over(Some(service), &person, era, arguments).await;
    (fixture, person, client)
}

/// Waits until a person is asked, and lets the time pass for which a call waits for them.
pub(crate) async fn call_gives_up(person: &Person) {
    until(async || person.clock.waiting() == 4).await;
    person.clock.forward(Duration::from_secs(45));
}

/// What befalls the next request that creates something in a conversation.
pub(crate) fn creates(effect: Effect) -> FaultRule {
    FaultRule::new(effect).method("POST").path("/conversations/*/*")
}

/// What befalls every read of a conversation.
pub(crate) fn reads(effect: Effect) -> FaultRule {
    FaultRule::new(effect).method("GET").path("/conversations/*").always()
}

/// The service carries a request out, and its response never comes.
pub(crate) fn hanging() -> Effect {
    Effect::delay(Duration::ZERO).delayed(Duration::from_secs(60))
}

/// The settings that these arguments of the program stand for.
fn settings(arguments: &[&str]) -> Settings {
    fn choice<T: ValueEnum>(value: &str) -> T {
        T::from_str(value, false).unwrap()
    }
    let mut settings = Settings::default();
    for argument in arguments {
        let (name, value) = argument.split_once('=').unwrap_or((argument, ""));
        match name {
            "--send" => settings.send = choice::<SendPolicy>(value),
            "--ask" => settings.ask = choice::<ConsentChannel>(value),
            "--structured" => settings.structured = choice::<Structured>(value),
            "--read-only" => settings.filter.read_only = true,
            "--exclude-tools" => settings.filter.except = vec![value.into()],
            "--max-chars" => settings.max_chars = value.parse().unwrap(),
            "--mailbox" => settings.mailboxes.push(value.into()),
            "--audit" => settings.audit = Some(Audit::open(value.as_ref()).unwrap().into()),
            "--base-url" => settings.access.base_url = Some(value.into()),
            "--api-key-file" => settings.access.key_file = Some(value.into()),
            other => panic!("the fixture does not know {other}"),
        }
    }
    settings
}

/// What became of the mails.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Mails {
    pub(crate) drafts: Vec<String>,
    pub(crate) sent: Vec<String>,
}

impl Mails {
    pub(crate) fn none() -> Self {
        Self { drafts: Vec::new(), sent: Vec::new() }
    }

    pub(crate) fn draft(text: &str) -> Self {
        Self { drafts: vec![text.into()], sent: Vec::new() }
    }

    pub(crate) fn sent(text: &str) -> Self {
        Self { drafts: Vec::new(), sent: vec![text.into()] }
    }
}

pub(crate) async fn connect(mut command: Command, person: &Person, era: Era) -> Client {
    let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
    let mut program = pipes.spawn().unwrap();
    let stdio = (program.stdout.take().unwrap(), program.stdin.take().unwrap());
    let service = person.clone().serve_with_lifecycle(stdio, era.lifecycle()).await.unwrap();
    Client { service, _program: Some(program) }
}

/// The other end of the program's stdio.
pub(crate) struct Client {
    pub(crate) service: RunningService<RoleClient, Person>,
    /// If there is one apart from the tests, it ends with this.
    _program: Option<Child>,
}

impl Client {
    pub(crate) async fn call(&self, tool: &'static str, arguments: Value) -> CallToolResult {
        self.service.call_tool(params(tool, arguments)).await.unwrap()
    }

    /// A call whose result comes without a question.
    pub(crate) async fn call_once(&self, params: CallToolRequestParams) -> CallToolResult {
        match self.service.call_tool_once(params).await.unwrap() {
            CallToolResponse::Complete(result) => result,
            other => panic!("expected a result, got {other:?}"),
        }
    }

    /// The same call again, with the answer to its question.
    pub(crate) async fn answer(
        &self,
        call: CallToolRequestParams,
        state: &str,
        answer: Value,
    ) -> CallToolResult {
        let answers = [("consent".to_owned(), answer)].into();
        self.call_once(call.with_request_state(state).with_input_responses(answers)).await
    }

    /// A call that asks by a form; gives the handle of its question.
    pub(crate) async fn ask(&self, call: CallToolRequestParams) -> String {
        match self.service.call_tool_once(call).await.unwrap() {
            CallToolResponse::InputRequired(question) => question.request_state.unwrap(),
            other => panic!("expected a question, got {other:?}"),
        }
    }

    /// A call that can be cancelled.
    pub(crate) async fn start(&self, params: CallToolRequestParams) -> RequestHandle<RoleClient> {
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        self.service.send_cancellable_request(request, PeerRequestOptions::no_options()).await.unwrap()
    }

    /// Ends the program as a crash would.
    pub(crate) async fn kill(mut self) {
        self._program.take().expect("a program of its own").kill().await.unwrap();
    }

    /// Ends the program by SIGTERM, and waits until it is gone.
    pub(crate) async fn terminate(mut self) {
        let mut program = self._program.take().expect("a program of its own");
        let pid = program.id().expect("it runs").to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().await.unwrap().success());
        program.wait().await.unwrap();
    }

    /// The text of a resource.
    pub(crate) async fn read(&self, uri: &str) -> Result<String, ServiceError> {
        let mut read = self.service.read_resource(ReadResourceRequestParams::new(uri)).await?;
        match read.contents.remove(0) {
            ResourceContents::TextResourceContents { text, .. } => Ok(text),
            other => panic!("text, not {other:?}"),
        }
    }

    /// The messages of a prompt, as JSON.
    pub(crate) async fn prompt(&self, name: &str, arguments: Value) -> Result<String, ServiceError> {
        let request = GetPromptRequestParams::new(name).with_arguments(object(arguments));
        Ok(serde_json::to_string(&self.service.get_prompt(request).await?.messages).unwrap())
    }

    pub(crate) async fn complete(&self, to: Reference, name: &str, typed: &str) -> Vec<String> {
        let argument: ArgumentInfo = serde_json::from_value(json!({ "name": name, "value": typed })).unwrap();
        self.service.complete(CompleteRequestParams::new(to, argument)).await.unwrap().completion.values
    }

    pub(crate) async fn tools(&self) -> Vec<String> {
        let tools = self.service.list_all_tools().await.unwrap();
        tools.into_iter().map(|tool| tool.name.into_owned()).collect()
    }
}

/// Runs a command of the program with this text on its standard input: its status, and what it said.
pub(crate) async fn run(command: &mut Command, input: &str) -> (Option<i32>, String) {
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().unwrap();
    // A program that refuses at once does not read.
    _ = child.stdin.take().unwrap().write_all(input.as_bytes()).await;
    let output = child.wait_with_output().await.unwrap();
    let (stdout, stderr) = out(&output);
    (output.status.code(), stdout + &stderr)
}

/// The answer of a client whose person ticked the box.
pub(crate) fn yes() -> Value {
    json!({ "action": "accept", "content": { "send": true } })
}

pub(crate) fn object(value: Value) -> Map<String, Value> {
    let Value::Object(fields) = value else { panic!("an object, not {value}") };
    fields
}

pub(crate) fn params(tool: &'static str, arguments: Value) -> CallToolRequestParams {
    CallToolRequestParams::new(tool).with_arguments(object(arguments))
}

pub(crate) fn text(result: &CallToolResult) -> &str {
    &result.content[0].as_text().expect("text").text
}

pub(crate) fn structured(result: &CallToolResult) -> &Value {
    result.structured_content.as_ref().expect("a structured result")
}

/// The items of a list.
pub(crate) fn items(result: &CallToolResult) -> &[Value] {
    structured(result)["items"].as_array().expect("a list")
}

pub(crate) fn is_error(result: &CallToolResult) -> bool {
    result.is_error == Some(true)
}

#[track_caller]
pub(crate) fn assert_done(result: &CallToolResult) {
    assert!(!is_error(result), "{}", text(result));
}

#[track_caller]
pub(crate) fn assert_refused(result: &CallToolResult, why: &str) {
    assert!(is_error(result) && text(result).contains(why), "{why} in {}", text(result));
}

#[track_caller]
pub(crate) fn assert_says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[track_caller]
pub(crate) fn assert_lacks(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(!text.contains(part), "{part} in {text}");
    }
}

/// Waits until it is so, and fails when it does not become so.
pub(crate) async fn until(so: impl AsyncFnMut() -> bool) {
    shared_inbox_tests::until("what the bridge is to do next", so).await;
}
