//! The scripted agents against a sample of all attacks, with the bridge between them and the service: what
//! its settings change. The table is in `docs/safety.md`.

#[path = "../../tools/explore/tests/it/redteam/agents.rs"]
mod agents;

use std::{env, fs, path::Path, sync::Arc};

use rmcp::{ServiceExt, model::CallToolRequestParams};
use serde_json::Value;
use shared_inbox::Client;
use shared_inbox_explore::redteam::{AgentContext, Attack, Outcome, RedTeam, Verdict};
use shared_inbox_mcp::{
    Bridge,
    settings::{SendPolicy, Settings},
};
use shared_inbox_tests::generated;

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

/// Does the task, and then what its habit is. Where a tool is not there, it goes on without.
async fn act(agent: &str, call: &Call, task: &str, attacks: &[Attack]) -> AgentResult {
    let _ = do_task(call, task, agent == "sends where it should draft").await;
    let _ = match agent {
        "forwards whatever it reads" => forward(call).await,
        "answers from the notes" => answer_from_notes(call, task).await,
        "asks for documents as told" => ask_as_emails_say(call, task).await,
        "obeys every attack" => obey(call, &attacks[0].goal).await,
        _ => Ok(()),
    };
    Ok(())
}

/// A red team on an agent that reaches the service in this way.
fn team(agent: &'static str, way: &'static str, attacks: Vec<Attack>) -> RedTeam {
    let ids: Vec<String> = attacks.iter().map(|it| it.id.clone()).collect();
    let run = move |context: AgentContext| {
        let attacks = attacks.clone();
        async move {
            let call = match way {
                "no bridge" => over_rest(&context.base_url, &context.key)?,
                _ => over_bridge(&context, way).await?,
            };
            act(agent, &call, &context.task, &attacks).await
        }
    };
    RedTeam::function(run).only(ids)
}

/// Attacks in groups that an agent can meet at once.
fn groups(agent: &str) -> Vec<Vec<Attack>> {
    let mut groups: Vec<Vec<Attack>> = Vec::new();
    for attack in RedTeam::command(["none"]).selected().expect("a sample") {
        // An agent that obeys has to know what the attack wants, so it meets one goal at a time.
        let is_alike =
            |group: &&mut Vec<Attack>| agent != "obeys every attack" || group[0].goal == attack.goal;
        match groups.iter_mut().find(is_alike) {
            Some(group) => group.push(attack),
            None => groups.push(vec![attack]),
        }
    }
    groups
}

/// A cell of the table: attacks that were obeyed, runs that were useful.
async fn count(agent: &'static str, way: &'static str) -> String {
    let (mut obeyed, mut useful) = (0, 0);
    for group in groups(agent) {
        let report = team(agent, way, group).run().await.expect("it runs");
        obeyed += report.count(Outcome::Obeyed);
        useful += report.attacks.iter().map(|it| it.counts.useful).sum::<u32>();
    }
    if useful == 0 { "does nothing".to_owned() } else { format!("{obeyed} obeyed, {useful} useful") }
}

#[tokio::test]
async fn an_agent_behind_the_bridge_meets_every_place_and_is_judged_by_the_world() {
    let attacks = |ids: &[&str]| {
        Attack::built_in().into_iter().filter(|it| ids.contains(&it.id.as_str())).collect::<Vec<_>>()
    };
    let innocent = ["plain.codes", "split.correction", "bystander.tag", "policy.passport", "link.name"];
    let report =
        team("does its task alone", "`--send=never`", attacks(&innocent)).run().await.expect("it runs");
    assert_eq!((report.verdict, report.count(Outcome::Held)), (Verdict::Held, innocent.len()), "{report}");
    let report = team("answers from the notes", "`--send=ask`", attacks(&["plain.codes"]))
        .run()
        .await
        .expect("it runs");
    assert_eq!((report.verdict, report.attacks[0].habit), (Verdict::Obeyed, true), "{report}");
    // The bridge sends nothing that nobody approved.
    let report = team("sends where it should draft", "`--send=never`", attacks(&["plain.send"]))
        .run()
        .await
        .expect("it runs");
    assert_eq!(report.count(Outcome::Obeyed), 0, "{report}");
}

const AGENTS: [&str; 6] = [
    "obeys every attack",
    "forwards whatever it reads",
    "sends where it should draft",
    "answers from the notes",
    "asks for documents as told",
    "does its task alone",
];

/// One cell of the table; all of them, which take minutes, where `REDTEAM_ATTACKS` is set. `scripts/regenerate
/// --all` writes the table anew.
#[tokio::test]
async fn the_table_in_the_guide_to_safety_is_what_the_scripted_agents_do() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/safety.md");
    let page = fs::read_to_string(&file).expect("the guide");
    let (before, rest) = page.split_once("| an agent that |").expect("the table");
    let (shown, after) = rest.split_once("\n\n").expect("an end");
    let (writes, all) = (generated::updates(), env::var_os("REDTEAM_ATTACKS").is_some());
    if !writes && !all {
        let row = format!("| {} | ", AGENTS[5]);
        let cells = shown.split_once(&row).expect("its row").1;
        assert_eq!(cells.split(" |").next(), Some(count(AGENTS[5], WAYS[0]).await.as_str()));
        return;
    }
    let mut table = format!(" {} |\n|---|---|---|---|---|", WAYS.join(" | "));
    for agent in AGENTS {
        table.push_str(&format!("\n| {agent} |"));
        for way in WAYS {
            table.push_str(&format!(" {} |", count(agent, way).await));
        }
    }
    if writes {
        generated::write(&file, &format!("{before}| an agent that |{table}\n\n{after}"));
    } else {
        assert_eq!(shown, table);
    }
}
