//! The requests of the protocol, each handed to the part of the bridge that knows it.

use std::sync::PoisonError;

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CacheScope, CallToolRequestMethod, CallToolRequestParams, CallToolResponse, CallToolResult,
        CompleteRequestParams, CompleteResult, ConstString, CustomRequest, CustomResult, DiscoverResult,
        ErrorCode, GetPromptRequestMethod, GetPromptRequestParams, GetPromptResponse, Implementation,
        InitializeRequestParams, InitializeResult, JsonObject, ListPromptsResult,
        ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
        ReadResourceRequestMethod, ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities,
        ServerConfig, SubscriptionFilter,
    },
    service::{RequestContext, SubscriptionContext},
};
use shared_inbox::__spec::Operation;

use super::{
    Bridge,
    context::{resources, skills},
    names,
    record::CallRecord,
    tools::describe_sending,
    watch::{CallEnded, watch},
};
use crate::{outcome::Failure, settings::Structured, stdio::MAX_SUBSCRIPTIONS};

/// How long a client may keep a list that cannot change: the scopes of a key never do.
const LIST_TTL_MS: u64 = 600_000;

impl ServerHandler for Bridge {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_resources()
            .enable_prompts()
            .enable_completions()
            .enable_extensions_with([(skills::EXTENSION.to_owned(), JsonObject::new())].into())
            .build();
        ServerConfig::new(capabilities).with_server_info(
            Implementation::new("shared-inbox-mcp", env!("CARGO_PKG_VERSION")).with_title("Shared inbox"),
        )
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        ctx: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        ctx.peer.set_peer_info(request.clone());
        let mut result = self.negotiate_initialize(&request)?;
        result.instructions = Some(self.instructions(Some(&request.capabilities)).await);
        Ok(result)
    }

    async fn discover(&self, ctx: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        let mut info = self.get_info();
        info.instructions = Some(self.instructions(ctx.client_capabilities().as_ref()).await);
        Ok(DiscoverResult::from_server_info(self.supported_protocol_versions().into_owned(), info))
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        ctx: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let connection = self.connector.get().await.ok();
        let scopes = connection.as_ref().map(|connection| connection.scopes());
        let mut shown = self.shown(scopes);
        let sending = self.sending(scopes.unwrap_or_default(), ctx.client_capabilities().as_ref());
        shown.iter_mut().for_each(|tool| describe_sending(tool, sending));
        *self.listed.lock().unwrap_or_else(PoisonError::into_inner) = Some(names(&shown));
        let fresh = if connection.is_some() { LIST_TTL_MS } else { 0 };
        Ok(ListToolsResult::with_all_items(shown).with_ttl_ms(fresh).with_cache_scope(CacheScope::Private))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        ctx: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(operation) = Operation::from_tool_name(&request.name) else {
            return Err(ErrorData::invalid_params(
                "There is no tool of this name; tools/list has them all.",
                None,
            ));
        };
        let named = request.arguments.as_ref().and_then(|arguments| arguments.get("id")?.as_str());
        let tool = operation.tool_name().unwrap_or_default();
        let record = CallRecord::begin(self.settings.audit.as_ref(), &self.settings.clock, &ctx, tool, named);
        let call = || self.call(operation, request.clone(), &ctx);
        let call = record.scope(self.with_renewed_key(&record, &ctx, call));
        let ended = watch(&ctx, &*self.settings.clock, &record, call).await;
        record.end(ended.as_ref().map_err(|ended| ended.outcome()));
        match ended {
            Ok(Ok(CallToolResponse::Complete(mut result))) => {
                if self.settings.structured == Structured::None {
                    result.structured_content = None;
                }
                Ok(result.into())
            }
            Ok(Ok(question)) => Ok(question),
            Ok(Err(failure)) => Ok(CallToolResult::from(failure).into()),
            Err(CallEnded::TooLong) => Ok(CallToolResult::from(Failure::from(CallEnded::TooLong)).into()),
            Err(CallEnded::Cancelled) => Err(Failure::from(CallEnded::Cancelled).into()),
        }
    }

    /// Handles requests of extensions, and requests of a wrong form, such as a call whose arguments are no
    /// object.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _ctx: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if request.method == CallToolRequestMethod::VALUE {
            let needed = "tools/call needs `name`, a string, and may have `arguments`, an object.";
            return Err(ErrorData::invalid_params(needed, None));
        }
        if matches!(request.method.as_str(), skills::LIST | skills::GET) {
            return self.skills(&request).await;
        }
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, request.method, None))
    }

    async fn list_resources(
        &self,
        _page: Option<PaginatedRequestParams>,
        _ctx: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let mut list = resources::list();
        list.resources.extend(self.skill_resources().await);
        Ok(list.with_ttl_ms(LIST_TTL_MS).with_cache_scope(CacheScope::Private))
    }

    async fn list_resource_templates(
        &self,
        _page: Option<PaginatedRequestParams>,
        _ctx: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(resources::templates().with_ttl_ms(LIST_TTL_MS).with_cache_scope(CacheScope::Private))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        ctx: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let named = request.uri.split('/').find(|part| part.starts_with("cnv_"));
        let read = || self.resource(&request.uri);
        self.recorded(ReadResourceRequestMethod::VALUE, named, &ctx, read).await.map(Into::into)
    }

    /// Accepts every subscription: what is not offered is never notified of.
    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, listener: SubscriptionContext) -> Result<(), ErrorData> {
        let mut told = self.tools.subscribe();
        if self.tools.receiver_count() > MAX_SUBSCRIPTIONS {
            return Err(ErrorData::invalid_request(
                format!("There are {MAX_SUBSCRIPTIONS} subscriptions already."),
                None,
            ));
        }
        let listens = listener.accepted().tools_list_changed == Some(true);
        loop {
            tokio::select! {
                () = listener.cancelled() => return Ok(()),
                _ = told.recv(), if listens => {
                    if listener.sink().notify_tool_list_changed().await.is_err() {
                        return Ok(());
                    }
                }
            }
        }
    }

    async fn list_prompts(
        &self,
        _page: Option<PaginatedRequestParams>,
        _ctx: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let connection = self.connector.get().await.ok();
        let fresh = if connection.is_some() { LIST_TTL_MS } else { 0 };
        let shown = self.prompts(connection.as_ref().map(|connection| connection.scopes()));
        Ok(shown.with_ttl_ms(fresh).with_cache_scope(CacheScope::Private))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        ctx: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let named = request.arguments.as_ref().and_then(|arguments| arguments.get("conversation")?.as_str());
        let read = || self.prompt(request.clone());
        self.recorded(GetPromptRequestMethod::VALUE, named, &ctx, read).await.map(Into::into)
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _ctx: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Ok(self.completions(&request).await)
    }
}
