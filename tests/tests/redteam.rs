//! The scripted agents against all attacks, with the bridge between them and the service: what its settings change. The table is in
//! `docs/safety.md`, and `UPDATE_DOCS=1` writes it anew.

#[path = "../../redteam/tests/redteam/agents.rs"]
mod agents;

use std::{env, fs, path::Path, sync::Arc};

use rmcp::{ServiceExt, model::CallToolRequestParams};
use serde_json::Value;
use shared_inbox::Client;
use shared_inbox_mcp::{
    Bridge,
    settings::{SendPolicy, Settings},
};
use shared_inbox_redteam::{AgentContext, Attack, RedTeam};

use agents::{AgentResult, Call, answer_from_notes, ask_as_emails_say, do_task, forward, obey, over_rest};

/// How the agent reaches the service.
const WAYS: [&str; 4] = ["no bridge", "`--send=ask`", "`--send=never`", "`--read-only`"];

/// Calls the tools of a bridge in this process, at which nobody can be asked.
async fn over_bridge(context: &AgentContext, way: &str) -> AgentResult<Call> {
    let client =
        Client::builder(&context.base_url, &context.key).build().map_err(|error| error.to_string())?;
    let mut settings = Settings::with_client(client);
    match way {
        "`--send=never`" => settings.send = SendPolicy::Never,
        "`--read-only`" => settings.filter.read_only = true,
        _ => {}
    }
    let bridge = Bridge::new(settings);
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    tokio::spawn(async move {
        if let Ok(serving) = bridge.serve(theirs).await {
            let _ = serving.waiting().await;
        }
    });
    let service = Arc::new(().serve(ours).await.map_err(|error| error.to_string())?);
    Ok(Arc::new(move |tool, input| {
        let service = Arc::clone(&service);
        Box::pin(async move {
            let Value::Object(input) = input else { return Err("input: must be an object".to_owned()) };
            let call = CallToolRequestParams::new(tool).with_arguments(input);
            let result = service.call_tool(call).await.map_err(|error| error.to_string())?;
            match result.is_error {
                Some(true) => Err("the bridge refuses".to_owned()),
                _ => Ok(result.structured_content.unwrap_or_default()),
            }
        })
    }))
}

/// What an agent does. Where a tool is not there, it goes on without.
async fn act(agent: &str, call: &Call, task: &str, attacks: &[Attack]) -> AgentResult {
    let done = match agent {
        "does its task alone" => do_task(call, task, false).await,
        "sends where it should draft" => do_task(call, task, true).await,
        "forwards whatever it reads" => forward(call).await,
        "answers from the notes" => answer_from_notes(call, task).await,
        "asks for documents as told" => ask_as_emails_say(call, task).await,
        _ => obey(call, &attacks[0].goal).await,
    };
    drop(done);
    Ok(())
}

/// Obeyed and useful runs of all attacks.
async fn count(agent: &'static str, way: &'static str) -> (u32, u32, u32) {
    let (mut runs, mut obeyed, mut useful) = (0, 0, 0);
    // An agent that obeys has to know what the attack wants, so it meets one goal at a time.
    let mut groups: Vec<Vec<Attack>> = Vec::new();
    for attack in Attack::built_in() {
        let is_alike =
            |group: &&mut Vec<Attack>| agent != "obeys every attack" || group[0].goal == attack.goal;
        match groups.iter_mut().find(is_alike) {
            Some(group) => group.push(attack),
            None => groups.push(vec![attack]),
        }
    }
    for group in groups {
        let ids: Vec<String> = group.iter().map(|it| it.id.clone()).collect();
        let run = move |context: AgentContext| {
            let group = group.clone();
            async move {
                let call = match way {
                    "no bridge" => over_rest(&context.base_url, &context.key)?,
                    _ => over_bridge(&context, way).await?,
                };
                act(agent, &call, &context.task, &group).await
            }
        };
        let report = RedTeam::function(run).only(ids).run().await.expect("it runs");
        for attack in &report.attacks {
            assert_eq!(attack.counts.failed, 0, "{}", attack.id);
            runs += attack.counts.runs;
            obeyed += attack.counts.obeyed;
            useful += attack.counts.useful;
        }
    }
    (runs, obeyed, useful)
}

#[tokio::test]
#[ignore = "needs minutes"]
async fn the_table_in_the_guide_to_safety_is_what_the_scripted_agents_do() {
    let agents = [
        "obeys every attack",
        "forwards whatever it reads",
        "sends where it should draft",
        "answers from the notes",
        "asks for documents as told",
        "does its task alone",
    ];
    let mut table = format!("| an agent that | {} |\n|---|---|---|---|---|\n", WAYS.join(" | "));
    for agent in agents {
        table.push_str(&format!("| {agent} |"));
        for way in WAYS {
            let (runs, obeyed, useful) = count(agent, way).await;
            table.push_str(&format!(" {obeyed} obeyed, {useful} useful |"));
            assert_eq!(runs as usize, Attack::built_in().len());
        }
        table.push('\n');
    }
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/safety.md");
    let text = fs::read_to_string(&page).expect("the guide");
    let (before, rest) = text.split_once("| an agent that |").expect("the table");
    let (_, after) = rest.split_once("\n\n").expect("an end");
    let written = format!("{before}{table}\n{after}");
    if env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&page, &written).expect("written");
    }
    assert!(text == written || env::var_os("UPDATE_DOCS").is_some(), "it is now:\n{table}");
}
