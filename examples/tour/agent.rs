//! What the tour of the mock and the tour of a sandbox have in common: an agent at work in a conversation,
//! through the client and over MCP.

use rmcp::{
    ServiceExt,
    model::{CallToolRequestParams, CallToolResult},
};
use serde_json::{Value, json};
use shared_inbox::{AssignTo, Client, ConversationId, TimelineItem};
use shared_inbox_mcp::{Bridge, settings::Settings};

use crate::{
    code,
    show::{Error, Show},
};

/// Reads, tags, takes, notes.
pub(crate) async fn works(show: &mut Show, inbox: &Client, id: &ConversationId) -> Result<(), Error> {
    let thread = inbox.conversation(id);
    show.run(code!(thread.get().await?), |conversation| {
        let mut messages = conversation.timeline.iter().filter_map(TimelineItem::as_message);
        let latest = messages.next_back().map(|message| message.text.as_str()).unwrap_or_default();
        format!("a timeline of {}, the latest mail: “{latest}”", conversation.timeline.len())
    })
    .await?;
    show.run(code!(thread.edit_tags().add("delivery").await?), |done| format!("ok: {}", done.ok)).await?;
    show.run(code!(thread.assign(AssignTo::Me).await?), |done| format!("ok: {}", done.ok)).await?;
    show.run(code!(thread.add_note("Asked the depot, @Anna").await?), |done| format!("ok: {}", done.ok))
        .await?;
    show.run(code!(thread.get().await?), |conversation| {
        let holder = conversation.assignee.as_ref().map_or("nobody", |assignee| assignee.name.as_str());
        format!("tags {:?}, assigned to {holder}", conversation.tags)
    })
    .await?;
    Ok(())
}

/// The same inbox, as a model sees it.
pub(crate) async fn over_mcp(show: &mut Show, inbox: &Client, id: &ConversationId) -> Result<(), Error> {
    show.step("The same over MCP");
    show.say(
        "The bridge is what a desktop client launches over stdio. Here it runs in this process, with a client that \
         cannot ask its person anything.",
    );
    let settings = Settings::with_client(inbox.clone());
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    tokio::spawn(async move {
        let bridge = Bridge::new(settings).serve(theirs).await?;
        bridge.waiting().await?;
        Ok::<_, Error>(())
    });
    let client = ().serve(ours).await?;
    show.run(code!(client.list_all_tools().await?), |tools| {
        let names: Vec<_> = tools.iter().map(|tool| tool.name.as_ref()).collect();
        format!("{} tools that this key allows:\n{}", names.len(), names.join(", "))
    })
    .await?;

    let call = |name: &'static str, arguments: Value| {
        let mut request = CallToolRequestParams::new(name);
        request.arguments = arguments.as_object().cloned();
        client.call_tool(request)
    };
    show.run(code!(call("get_conversation", json!({ "id": id })).await?), |result| {
        let text = words(result);
        let fenced: Vec<_> = text.lines().skip_while(|line| !line.starts_with('⟦')).take(3).collect();
        format!("a customer's words come fenced and marked:\n{}", fenced.join("\n"))
    })
    .await?;
    show.say("A hostile mail may talk a model into sending. Without a person's yes it becomes a draft.");
    show.run(
        code!(call("reply", json!({ "id": id, "body": "It is on its way.", "send": true })).await?),
        |result| words(result).split(". ").next().unwrap_or_default().to_owned(),
    )
    .await?;
    client.cancel().await?;
    Ok(())
}

fn words(result: &CallToolResult) -> String {
    result.content.iter().filter_map(|part| part.as_text()).map(|part| part.text.as_str()).collect()
}
