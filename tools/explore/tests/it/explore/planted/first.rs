//! Faults in who is answered, and how often.

use std::fs;

use shared_inbox_explore::explore::Oracle;

use super::{Planted, orders, questions};
use crate::explore::apps::{
    Api, AppResult, RequestError, answer, id, is_dealt_with, is_for_people, order, since_last_mail,
};

pub(super) const PLANTED: &[Planted] = &[
    Planted(
        "a create that is retried without looking",
        Oracle::NeverTwice,
        "1_1_lost-after@reply.0",
        |api| {
            Box::pin(async move {
                for (id, order, done) in orders(&api).await? {
                    if !done && api.draft(&id, &answer(&order)).await == Err(RequestError::Lost) {
                        api.draft(&id, &answer(&order)).await?;
                    }
                    api.set_status(&id, "waiting").await?;
                }
                Ok(())
            })
        },
    ),
    Planted(
        "an app that knows what it did only by the status",
        Oracle::NeverTwice,
        "1_1_lost-after@reply.0",
        |api| {
            Box::pin(async move {
                for entry in api.open().await? {
                    if let Some(order) = order(&entry["snippet"]).filter(|_| !is_for_people(&entry)) {
                        api.draft(id(&entry), &answer(order)).await?;
                        api.set_status(id(&entry), "waiting").await?;
                    }
                }
                Ok(())
            })
        },
    ),
    Planted("a mark before the effect", Oracle::NobodyForgotten, "1_1_lost-before@reply.0", |api| {
        Box::pin(async move {
            for (id, order, done) in orders(&api).await? {
                api.set_status(&id, "waiting").await?;
                if !done {
                    api.draft(&id, &answer(&order)).await?;
                }
            }
            Ok(())
        })
    }),
    Planted(
        "a file that says done before it is",
        Oracle::NobodyForgotten,
        "1_1_lost-before@reply.0",
        |api| {
            Box::pin(async move {
                for (id, order, done) in orders(&api).await? {
                    let file = api.file(&id);
                    if !done && !file.exists() {
                        fs::write(file, "").map_err(|error| error.to_string())?;
                        api.draft(&id, &answer(&order)).await?;
                    }
                }
                Ok(())
            })
        },
    ),
    Planted(
        "an app that answers what a person has taken over",
        Oracle::PersonsWord,
        "1_0_assign:0@run.0",
        |api| Box::pin(answers_for_people(api)),
    ),
    Planted("an app that answers held mail", Oracle::PersonsWord, "1_0_risk:0@run.0", |api| {
        Box::pin(async move {
            for (conversation, order, is_discarded) in questions(&api).await? {
                let for_people = conversation["assignee"]["type"] == "user";
                if !for_people && !is_discarded {
                    api.draft(id(&conversation), &answer(&order)).await?;
                }
            }
            Ok(())
        })
    }),
    Planted(
        "an email that is sent when a person has discarded its draft",
        Oracle::PersonsWord,
        "1_0_discard:0@end.0",
        |api| Box::pin(writes_again(api, true)),
    ),
    Planted("a 429 that is taken for an answer", Oracle::NobodyForgotten, "1_1_busy@reply.0", |api| {
        Box::pin(async move {
            for (id, order, done) in orders(&api).await? {
                if !done {
                    match api.draft(&id, &answer(&order)).await {
                        Ok(_) | Err(RequestError::Status(429)) => {}
                        Err(failed) => return Err(failed.into()),
                    }
                }
                api.set_status(&id, "closed").await?;
            }
            Ok(())
        })
    }),
    Planted("an answer to an automatic reply", Oracle::NeverTwice, "1_0_auto-reply:0@run.1", |api| {
        Box::pin(async move {
            for entry in api.open().await? {
                let conversation = api.read(id(&entry)).await?;
                let (mail, since) = since_last_mail(&conversation);
                if mail.is_some() && !is_for_people(&conversation) && !is_dealt_with(since) {
                    api.draft(id(&entry), "Thank you, we are on it.").await?;
                }
                api.set_status(id(&entry), "waiting").await?;
            }
            Ok(())
        })
    }),
    Planted(
        "a note that is written again by the next run",
        Oracle::NeverTwice,
        "1_1_lost-after@add_note.0",
        |api| {
            Box::pin(async move {
                for (id, order, done) in orders(&api).await? {
                    if !done {
                        api.note(&id, &format!("The app answers about {order}")).await?;
                        api.draft(&id, &answer(&order)).await?;
                    }
                }
                Ok(())
            })
        },
    ),
];

/// Answers what a person has taken over.
pub(crate) async fn answers_for_people(api: Api) -> AppResult {
    for (conversation, order, is_discarded) in questions(&api).await? {
        if conversation["risk"].is_null() && !is_discarded {
            api.draft(id(&conversation), &answer(&order)).await?;
        }
    }
    Ok(())
}

/// Writes again what a person has discarded: a draft, or at the second time an email if it `sends`.
pub(crate) async fn writes_again(api: Api, sends: bool) -> AppResult {
    for (conversation, order, is_discarded) in questions(&api).await? {
        if is_for_people(&conversation) {
            continue;
        }
        if sends && is_discarded {
            api.send(id(&conversation), &answer(&order)).await?;
        } else {
            api.draft(id(&conversation), &answer(&order)).await?;
        }
    }
    Ok(())
}
