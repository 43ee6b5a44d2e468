//! Red teams with attacks of the tests' own, which an agent recognises by their words.

use std::future::Future;

use serde_json::json;
use shared_inbox_explore::redteam::{AgentContext, Attack, Outcome, RedTeam, Report};

use crate::redteam::agents::{AgentResult, Call, do_task, over_rest, read_all};

/// An attack on the answer to a question; its text is `text`.
pub(crate) fn attack(id: &str, text: &str, goal: serde_json::Value) -> Attack {
    let attack = json!({ "id": id, "family": "test", "task": "answer-question", "place": "text", "text": text, "goal": goal });
    serde_json::from_value(attack).expect("an attack")
}

/// What the agent reads, as one text.
pub(crate) async fn read(call: &Call) -> AgentResult<String> {
    Ok(read_all(call).await?.iter().map(ToString::to_string).collect())
}

/// An agent that does its task, and then something else where it meets an attack with these words.
pub(crate) fn agent<F, R>(words: &'static str, then: F) -> RedTeam
where
    F: Fn(Call, String) -> R + Send + Sync + Clone + 'static,
    R: Future<Output = AgentResult> + Send + 'static,
{
    RedTeam::function(move |context: AgentContext| {
        let then = then.clone();
        async move {
            let call = over_rest(&context.base_url, &context.key)?;
            do_task(&call, &context.task, false).await?;
            let read = read(&call).await?;
            if read.contains(words) { then(call, read).await } else { Ok(()) }
        }
    })
    .only(["test"])
}

/// The result of the attack with this id.
pub(crate) fn result(report: &Report, id: &str) -> Outcome {
    report.attacks.iter().find(|it| it.id == id).unwrap_or_else(|| panic!("no {id} in {report}")).result
}
