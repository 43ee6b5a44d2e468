//! The MCP server: tools, resources and prompts over the SDK's client, for one person's client on this
//! machine.

mod connection;
mod context;
mod handler;
mod inboxes;
mod record;
mod results;
mod sending;
mod tools;
mod trace;
mod watch;

use std::{
    sync::{Arc, Mutex, PoisonError, atomic::AtomicBool},
    time::Duration,
};

use rmcp::{
    ErrorData, RoleServer,
    model::{CallToolResult, Tool},
    service::RequestContext,
};
use shared_inbox::{__spec::Operation, Scope};
use tokio::sync::broadcast;

use crate::{
    consent::remove_leftovers,
    outcome::Failure,
    render::{self, Fence, RenderOptions},
    settings::{ConsentChannel, Settings, Structured},
};
use connection::{Connection, Connector};
use inboxes::Inboxes;
use record::CallRecord;
use sending::Sender;
use watch::watch;

pub use connection::explain;

/// The bridge as an MCP server.
///
/// Serve it over any transport of `rmcp`; the program serves it over stdio.
///
/// ```
/// use rmcp::ServerHandler;
/// use shared_inbox_mcp::{Bridge, settings::Settings};
///
/// let bridge = Bridge::new(Settings::default());
/// assert_eq!(bridge.get_info().server_info.name, "shared-inbox-mcp");
/// ```
pub struct Bridge {
    connector: Arc<Connector>,
    sender: Arc<Sender>,
    settings: Settings,
    /// Notifies subscribers that the list of tools has changed.
    tools: broadcast::Sender<()>,
    inboxes: Inboxes,
    /// The names of the tools that were listed last.
    listed: Mutex<Option<Vec<String>>>,
    /// Whether the introduction has been added to a result.
    introduced: AtomicBool,
}

impl Bridge {
    /// Creates a bridge with these settings. Nothing is sent to the service yet.
    pub fn new(mut settings: Settings) -> Self {
        settings.filter.in_inboxes |= !settings.mailboxes.is_empty();
        let connector = Arc::new(Connector::new(settings.access.clone()));
        Self {
            sender: Arc::new(Sender::new(&settings, connector.clone())),
            connector,
            tools: broadcast::Sender::new(1),
            inboxes: Inboxes::new(settings.mailboxes.clone()),
            listed: Mutex::default(),
            introduced: AtomicBool::new(false),
            settings,
        }
    }

    /// Connects to the service, so that the first call does not wait for it, and removes what a bridge that
    /// was killed left behind. A failure is logged, and the next call tries again.
    pub async fn warm_up(&self) {
        if self.settings.ask == ConsentChannel::Browser {
            tokio::task::spawn_blocking(remove_leftovers);
        }
        if let Err(why) = self.connector.get().await {
            tracing::warn!("{why} Only reading tools are shown until this is put right.");
        }
    }

    /// Waits up to `grace` for creates in flight, and starts no more. Call it before the program exits: a
    /// create that is dropped midway may have taken effect without a record of it.
    pub async fn finish(&self, grace: Duration) {
        self.sender.finish(grace).await;
    }

    fn style(&self) -> RenderOptions {
        let style = RenderOptions::new(Fence::new(), self.settings.max_chars);
        match self.settings.structured {
            Structured::Exact => style.exact(),
            Structured::Slim => style.slim(),
            _ => style,
        }
    }

    fn done(&self, rendered: render::Rendered) -> CallToolResult {
        results::done(rendered, self.settings.max_chars)
    }

    /// Returns the tools to show. Without scopes to go by, only those that change nothing.
    fn shown(&self, scopes: Option<&[Scope]>) -> Vec<Tool> {
        let scopes = scopes.unwrap_or(&[Scope::Read]);
        let shown = |(op, _): &&(Operation, Tool)| self.settings.filter.hides(*op, scopes).is_none();
        let mut tools: Vec<_> = tools::TOOLS.iter().filter(shown).map(|(_, tool)| tool.clone()).collect();
        if self.settings.structured == Structured::None {
            tools.iter_mut().for_each(|tool| tool.output_schema = None);
        }
        tools
    }

    /// Reads something that is no tool's, and writes down how that ended. `named` is what may be the id of a
    /// conversation.
    async fn recorded<T, F: Future<Output = Result<T, Failure>>>(
        &self,
        what: &'static str,
        named: Option<&str>,
        ctx: &RequestContext<RoleServer>,
        read: impl Fn() -> F,
    ) -> Result<T, ErrorData> {
        let record = CallRecord::begin(self.settings.audit.as_ref(), &self.settings.clock, ctx, what, named);
        let read = record.scope(self.with_renewed_key(&record, ctx, read));
        let read =
            watch(ctx, &*self.settings.clock, &record, read).await.map_err(Into::into).and_then(|read| read);
        record.end_read(&read);
        Ok(read?)
    }

    /// Makes a call, and once more if the service refused the key and it was replaced meanwhile. A refused
    /// key means that nothing was done; but a person is not asked twice.
    async fn with_renewed_key<T, F: Future<Output = Result<T, Failure>>>(
        &self,
        record: &CallRecord,
        ctx: &RequestContext<RoleServer>,
        call: impl Fn() -> F,
    ) -> Result<T, Failure> {
        let connection = self.connector.made().await;
        let mut result = call().await;
        if result.as_ref().is_err_and(Failure::is_key_refused)
            && let Some(connection) = connection
            && self.connector.renew(&connection).await.is_some()
            && record.asking().is_none()
        {
            result = call().await;
        }
        self.notify_of_tools(ctx).await;
        result
    }

    /// Notifies the client when the tools are no longer those that were listed: by a notification in the
    /// older protocol, and through its subscription in the newer.
    async fn notify_of_tools(&self, ctx: &RequestContext<RoleServer>) {
        let Some(connection) = self.connector.made().await else { return };
        {
            let shown = names(&self.shown(Some(connection.scopes())));
            let mut listed = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
            if listed.as_ref().is_none_or(|listed| *listed == shown) {
                return;
            }
            *listed = Some(shown);
        }
        // An error means that there is no subscriber.
        _ = self.tools.send(());
        if ctx.protocol_version().is_some_and(|version| version.has_initialize()) {
            let peer = ctx.peer.clone();
            tokio::spawn(async move { peer.notify_tool_list_changed().await });
        }
    }
}

fn names(tools: &[Tool]) -> Vec<String> {
    tools.iter().map(|tool| tool.name.to_string()).collect()
}
