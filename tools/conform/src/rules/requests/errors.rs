//! Bodies of errors, rate limits and versioning.

use serde_json::{Value, json};

use crate::{
    check::session::{Session, text},
    rule::{READS, Table, WORLD, WRITE},
    rule_abort::{RuleAbort, must},
    shape::time,
    wire::http::{Api, Call},
    wire::reply::Reply,
};

/// More requests in one minute than a count of 120 that is only approximate lets through.
const FAR_TOO_MANY: usize = 150;
/// The fewest that it has to let through.
const CERTAINLY_ALLOWED: usize = 110;

fn one_field(reply: &Reply) -> Result<(), RuleAbort> {
    let fields = reply.json().and_then(Value::as_object);
    let sentence = fields.filter(|it| it.len() == 1).and_then(|it| it.get("error")).and_then(Value::as_str);
    match sentence {
        Some(sentence) if sentence.trim().len() > 3 => Ok(()),
        _ => Err(reply.differs("a body with exactly one field, `error`, that holds a sentence")),
    }
}

pub(crate) fn add(table: &mut Table) {
    table.section("7");
    bodies(table);
    table.section("8");
    rate(table);
    table.section("9");
    versions(table);
}

fn bodies(table: &mut Table) {
    table.demand("error.400", "A 400 has exactly one field, `error`", READS, |s| async move {
        one_field(&s.api().get("/conversations?limit=0").await?)
    });
    table.demand("error.401", "A 401 has exactly one field, `error`", READS, |s| async move {
        one_field(&s.api().with_key(None).get("/me").await?)
    });
    table.demand("error.404", "A 404 has exactly one field, `error`", READS, |s| async move {
        one_field(&s.api().get("/conversations/cnv_0").await?)
    });
    table.demand("error.403", "A 403 has exactly one field, `error`", WORLD, |s| async move {
        let id = s.live_conversation().await?;
        let api = s.scoped(&["read"], true).await?;
        let reply = api.post(format!("/conversations/{id}/notes"), &json!({ "body": "x" })).await?;
        reply.refused(403)?;
        one_field(&reply)
    });
    for (id, says, mock, path) in [
        ("error.path", "A path that is not there", "404", "/nothing-here"),
        ("error.method", "A method that a path does not have", "405", "/me"),
    ] {
        table.observe(id, says, mock, WRITE, move |s| async move {
            let call = if path == "/me" { Call::post(path, &json!({})) } else { Call::get(path) };
            Ok(s.api().send(&call).await?.status.to_string())
        });
    }
}

/// Returns how many requests are let through before the first 429.
async fn until_limited(api: &Api, call: &Call) -> Result<(usize, Option<Reply>), RuleAbort> {
    for sent in 0..FAR_TOO_MANY {
        let reply = api.burst(call).await?;
        if reply.status == 429 {
            return Ok((sent, Some(reply)));
        }
    }
    Ok((FAR_TOO_MANY, None))
}

pub(crate) async fn limited(s: &Session) -> Result<(Api, usize, Option<Reply>), RuleAbort> {
    let api = s.scoped(&["read"], true).await?;
    let (sent, reply) = until_limited(&api, &Call::get("/me")).await?;
    Ok((api, sent, reply))
}

fn of_mcp(s: &Session, method: &str, params: Value) -> Call {
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    Call::post(format!("{}/mcp", s.http().root()), &body)
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2025-06-18")
}

fn rate(table: &mut Table) {
    table.demand(
        "rate.limited",
        "More than 120 requests in a minute with one key are refused with 429",
        WORLD,
        |s| async move {
            match limited(&s).await? {
                (_, CERTAINLY_ALLOWED.., Some(_)) => Ok(()),
                (_, sent, Some(reply)) => {
                    Err(reply.differs(format!("a 429 after about 120 requests, not after {sent}")))
                }
                (_, sent, None) => Err(RuleAbort::differs(
                    "GET /me, again and again",
                    "a 429 after about 120 requests",
                    format!("none after {sent}"),
                )),
            }
        },
    );
    table.observe("rate.exact", "Requests that are let through in a minute", "120", WORLD, |s| async move {
        Ok(limited(&s).await?.1.to_string())
    });
    table.demand(
        "rate.body",
        "The body of a 429 has exactly one field, and says to slow down to 120 a minute",
        WORLD,
        |s| async move {
            let Some(reply) = limited(&s).await?.2 else {
                return Err(RuleAbort::failed("no 429 was to be had"));
            };
            one_field(&reply)?;
            reply.must(reply.refused(429)?.contains("120"), "a sentence with 120 in it")
        },
    );
    table.demand("rate.per-key", "The count is that of each key", WORLD, |s| async move {
        limited(&s).await?;
        s.scoped(&["read"], true).await?.burst(&Call::get("/me")).await?.is(200).map(drop)
    });
    table.demand("rate.minute", "After a minute requests are let through again", WORLD, |s| async move {
        let (api, ..) = limited(&s).await?;
        s.advance(61).await?;
        api.burst(&Call::get("/me")).await?.is(200).map(drop)
    });
    table.demand("rate.shared", "REST and MCP share the count", WORLD, |s| async move {
        let (api, _, refused) = limited(&s).await?;
        if refused.is_none() {
            return Err(RuleAbort::failed("no 429 was to be had"));
        }
        let reply = api.burst(&of_mcp(&s, "tools/list", json!({}))).await?;
        reply.must(reply.status == 429, "429")
    });
    table.demand("rate.shared.tools", "Calls of tools count as requests of REST do", WORLD, |s| async move {
        let api = s.scoped(&["read"], true).await?;
        let call = of_mcp(&s, "tools/call", json!({ "name": "list_tags", "arguments": {} }));
        for _ in 0..60 {
            api.burst(&call).await?.is(200)?;
        }
        let (sent, reply) = until_limited(&api, &Call::get("/me")).await?;
        let sent = sent + 60;
        match reply {
            None => Err(RuleAbort::failed("no 429 was to be had")),
            Some(_) if (CERTAINLY_ALLOWED..FAR_TOO_MANY).contains(&sent) => Ok(()),
            Some(_) => Err(RuleAbort::differs(
                "60 calls of a tool, then GET /me again and again",
                "a 429 after about 120 in all",
                format!("a 429 after {sent}"),
            )),
        }
    });
    table.demand(
        "rate.inbound",
        "Simulated mail is limited to 120 a minute across all test keys",
        WORLD,
        |s| async move {
            let mail = json!({ "from": "kim@customer.test", "text": "Hello" });
            let (one, other) = (s.scoped(&["write"], false).await?, s.scoped(&["write"], false).await?);
            let call = Call::post("/sandbox/inbound", &mail);
            for sent in 0..FAR_TOO_MANY {
                // Neither key comes near its own limit.
                let reply = if sent % 2 == 0 { &one } else { &other }.burst(&call).await?;
                if reply.status == 429 {
                    return reply.must(
                        sent >= CERTAINLY_ALLOWED,
                        format!("a 429 after about 120 mails, not after {sent}"),
                    );
                }
            }
            Err(RuleAbort::differs(
                "POST /sandbox/inbound with two keys",
                "a 429 after about 120 mails",
                format!("none after {FAR_TOO_MANY}"),
            ))
        },
    );
    table.observe("rate.retry-after", "Whether a 429 has `retry-after`", "no", WORLD, |s| async move {
        let Some(reply) = limited(&s).await?.2 else {
            return Err(RuleAbort::failed("no 429 was to be had"));
        };
        Ok(if reply.headers.contains_key("retry-after") { "yes" } else { "no" }.into())
    });
}

fn versions(table: &mut Table) {
    table.demand("version.path", "The version is in every path", READS, |s| async move {
        let base = s.http().base_url();
        must(base.ends_with("/api/v1"), "the base URL", "an address that ends in /api/v1", base)
    });
    table.demand(
        "version.unknown-parameter",
        "Unknown parameters do not change an answer's form",
        READS,
        |s| async move {
            let plain = s.api().get("/mailboxes").await?;
            let more = s.api().get("/mailboxes?cursor=conform").await?;
            match more.status {
                // Whether they are refused is left open.
                400 => Ok(()),
                _ => more.must(more.json() == plain.json(), "the same list"),
            }
        },
    );
    table.observe("time.form", "The form of a time", "milliseconds and Z", READS, |s| async move {
        let found = s.summaries().await?;
        let at = found.items.first().map(|it| text(&it["lastMessageAt"])).unwrap_or_default();
        let milliseconds =
            at.len() == 24 && at.ends_with('Z') && at.find('.') == Some(19) && time(&at).is_some();
        Ok(if milliseconds { "milliseconds and Z".into() } else { "another form".into() })
    });
}
