//! Faults in what an app remembers, reads and repeats.

use std::fs;

use serde_json::{Value, json};
use shared_inbox_explore::explore::Oracle;

use super::{Planted, orders};
use crate::explore::apps::{
    RequestError, answer, id, is_dealt_with, is_for_people, items, open_orders, order, since_last_mail,
};

pub(super) const PLANTED: &[Planted] = &[
    Planted(
        "a tag that is forgotten once the answer is there",
        Oracle::SameEnd,
        "1_1_lost-after@reply.0",
        |api| {
            Box::pin(async move {
                for (id, order, done) in orders(&api).await? {
                    if !done {
                        api.draft(&id, &answer(&order)).await?;
                        api.tag(&id, "answered").await?;
                    }
                }
                Ok(())
            })
        },
    ),
    Planted("a lock that a killed run leaves behind", Oracle::WellBehaved, "1_1_kill@reply.0", |api| {
        Box::pin(async move {
            let lock = api.file("lock");
            if lock.exists() {
                return Err("another run is under way".to_owned());
            }
            fs::write(&lock, "").map_err(|error| error.to_string())?;
            let done = async {
                for (id, order, done) in orders(&api).await? {
                    if !done {
                        api.draft(&id, &answer(&order)).await?;
                    }
                }
                Ok(())
            }
            .await;
            fs::remove_file(&lock).map_err(|error| error.to_string())?;
            done
        })
    }),
    Planted(
        "a page that is full of what people have",
        Oracle::NobodyForgotten,
        "1_0.1_assign:1@run.0",
        |api| {
            Box::pin(async move {
                for entry in items(&api.get("/conversations?limit=1").await?) {
                    let conversation = api.read(id(entry)).await?;
                    let (mail, since) = since_last_mail(&conversation);
                    let order = mail.and_then(|mail| order(&mail["text"]));
                    if let Some(order) = order.filter(|_| !is_for_people(&conversation)) {
                        if !is_dealt_with(since) {
                            api.draft(id(entry), &answer(order)).await?;
                        }
                        api.set_status(id(entry), "waiting").await?;
                    }
                }
                Ok(())
            })
        },
    ),
    Planted(
        "a close that overlooks a mail that it has read",
        Oracle::NobodyForgotten,
        "1_1_mail:1@list_conversations.1",
        |api| {
            Box::pin(async move {
                for (id, order, done) in orders(&api).await? {
                    if !done {
                        api.draft(&id, &answer(&order)).await?;
                    }
                }
                for entry in api.open().await? {
                    let conversation = api.read(id(&entry)).await?;
                    if items(&conversation["timeline"]).iter().any(|item| item["direction"] == "outbound") {
                        api.set_status(id(&entry), "closed").await?;
                    }
                }
                Ok(())
            })
        },
    ),
    Planted(
        "a draft in place of a send that seems to have failed",
        Oracle::NeverTwice,
        "1_1_lost-after@reply.0",
        |api| {
            Box::pin(async move {
                for (id, order, done) in orders(&api).await? {
                    if !done && api.send(&id, &answer(&order)).await.is_err() {
                        api.draft(&id, &answer(&order)).await?;
                    }
                }
                Ok(())
            })
        },
    ),
    Planted(
        "a look for drafts alone after a lost response",
        Oracle::NeverTwice,
        "1_1_lost-after@reply.0_approve:1@get_conversation.1",
        |api| {
            Box::pin(async move {
                for (id, order, done) in orders(&api).await? {
                    if !done && api.draft(&id, &answer(&order)).await.is_err() {
                        let conversation = api.read(&id).await?;
                        let is_draft =
                            |item: &Value| item["status"] == "draft" || item["event"] == "draft-discarded";
                        if !since_last_mail(&conversation).1.iter().any(is_draft) {
                            api.draft(&id, &answer(&order)).await?;
                        }
                    }
                }
                Ok(())
            })
        },
    ),
    Planted(
        "a mail that is put aside when it failed once",
        Oracle::NobodyForgotten,
        "1_1_lost-before@reply.0",
        |api| {
            Box::pin(async move {
                for (id, order, done) in orders(&api).await? {
                    let failed = api.file(&id);
                    if done || failed.exists() {
                        continue;
                    }
                    if api.draft(&id, &answer(&order)).await.is_err() {
                        fs::write(failed, "").map_err(|error| error.to_string())?;
                    }
                }
                Ok(())
            })
        },
    ),
    Planted(
        "a read that failed, taken for a conversation without answers",
        Oracle::NeverTwice,
        "1_1_lost-after@reply.0_lost-before@get_conversation.1",
        |api| {
            Box::pin(async move {
                for entry in api.open().await? {
                    let conversation = api.read(id(&entry)).await;
                    let leave = is_for_people(&entry) || conversation.as_ref().is_ok_and(is_for_people);
                    let open = match &conversation {
                        Ok(conversation) => open_orders(conversation),
                        Err(_) => order(&entry["snippet"]).into_iter().collect(),
                    };
                    for order in open.into_iter().filter(|_| !leave) {
                        api.draft(id(&entry), &answer(order)).await?;
                    }
                }
                Ok(())
            })
        },
    ),
    Planted(
        "a request for documents that is repeated without looking",
        Oracle::NeverTwice,
        "1_1_lost-after@request_documents.0",
        |api| {
            Box::pin(async move {
                for (id, _, done) in orders(&api).await? {
                    let path = format!("/conversations/{id}/document-requests");
                    let body = json!({ "documents": [{ "label": "Receipt" }], "message": "Please send us the receipt." });
                    if !done && api.post(&path, body.clone()).await == Err(RequestError::Lost) {
                        api.post(&path, body).await?;
                    }
                }
                Ok(())
            })
        },
    ),
    Planted(
        "a conversation that the app takes and then takes for done",
        Oracle::NobodyForgotten,
        "1_1_lost-before@reply.0",
        |api| {
            Box::pin(async move {
                for entry in api.open().await? {
                    let order = order(&entry["snippet"]).filter(|_| entry["risk"].is_null());
                    if let Some(order) = order.filter(|_| entry["assignee"].is_null()) {
                        let path = format!("/conversations/{}/assign", id(&entry));
                        api.post(&path, json!({ "to": "me" })).await?;
                        api.draft(id(&entry), &answer(order)).await?;
                    }
                }
                Ok(())
            })
        },
    ),
    Planted("times that are compared as text", Oracle::NobodyForgotten, "1_0.1_lost-before@reply.1", |api| {
        Box::pin(async move {
            // The last mail that was answered, in the time of the office, and the service writes UTC.
            let seen = fs::read_to_string(api.file("seen")).unwrap_or_default();
            for entry in api.open().await?.iter().rev() {
                let conversation = api.read(id(entry)).await?;
                let (Some(mail), since) = since_last_mail(&conversation) else { continue };
                let (Some(order), Some(at)) = (order(&mail["text"]), mail["at"].as_str()) else {
                    continue;
                };
                if is_for_people(&conversation) || is_dealt_with(since) || at <= seen.as_str() {
                    continue;
                }
                api.draft(id(entry), &answer(order)).await?;
                let time: jiff::Timestamp = at.parse().map_err(|error| format!("{error}"))?;
                let office = time.to_zoned(jiff::tz::TimeZone::fixed(jiff::tz::offset(1)));
                let office = office.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string();
                fs::write(api.file("seen"), office).map_err(|error| error.to_string())?;
            }
            Ok(())
        })
    }),
];
