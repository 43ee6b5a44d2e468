//! The ten kinds of event: their envelope and their fields.

use serde_json::Value;

use crate::{
    rule::{SHARED, Table},
    rule_abort::RuleAbort,
    shape::{
        Field,
        Type::{Bool, Id, Integer, Nullable, Object, OneOf, Text, Time},
        field, optional,
    },
};

const ENVELOPE: &[Field] = &[
    field("id", Id("evt_")),
    field("type", Text),
    field("version", Integer),
    field("created_at", Time),
    field("workspace", Id("wsp_")),
    field("livemode", Bool),
    field("data", Object),
];

const WHO: &[&str] = &["user", "agent"];

const WHO_OR_SYSTEM: &[&str] = &["user", "agent", "system"];

const TURN: &[&str] = &["ours", "theirs", "done"];

const BOOKING: &[Field] = &[
    field("booking_id", Id("bkg_")),
    field("booking_type_id", Id("bkt_")),
    field("host_user_id", Id("usr_")),
    field("conversation_id", Nullable(&Id("cnv_"))),
    field("starts_at", Time),
    field("ends_at", Time),
];

/// The fields of `data` beside `summary` and `url`.
const DATA: &[(&str, &[Field])] = &[
    (
        "ask.completed",
        &[field("ask_id", Id("req_")), field("kind", Text), field("conversation_id", Id("cnv_"))],
    ),
    (
        "client.replied",
        &[
            field("conversation_id", Id("cnv_")),
            field("message_id", Id("msg_")),
            field("mailbox_id", Id("mbx_")),
            field("secure", Bool),
            optional("reference", Text),
        ],
    ),
    (
        "conversation.assigned",
        &[
            field("conversation_id", Id("cnv_")),
            field("assignee", Nullable(&Object)),
            field("assignee.type", OneOf(WHO)),
            field("assignee.id", Text),
            field("assignee.name", Nullable(&Text)),
            field("assigned_by", Object),
            field("assigned_by.type", OneOf(WHO_OR_SYSTEM)),
            field("assigned_by.id", Nullable(&Text)),
            field("assigned_by.name", Text),
        ],
    ),
    (
        "turn.changed",
        &[
            field("conversation_id", Id("cnv_")),
            field("turn", OneOf(TURN)),
            field("previous", Nullable(&OneOf(TURN))),
            field("assignee", Nullable(&Object)),
        ],
    ),
    (
        "draft.approved",
        &[
            field("conversation_id", Id("cnv_")),
            field("message_id", Id("msg_")),
            field("drafted_by", Object),
            field("drafted_by.type", Nullable(&OneOf(WHO))),
            field("drafted_by.id", Nullable(&Text)),
            field("approved_by", Object),
            field("approved_by.type", OneOf(WHO_OR_SYSTEM)),
            field("approved_by.id", Nullable(&Text)),
            field("approved_by.name", Text),
            field("edited", Bool),
        ],
    ),
    (
        "message.sent",
        &[
            field("conversation_id", Id("cnv_")),
            field("message_id", Id("msg_")),
            field("mailbox_id", Id("mbx_")),
            field("author", Nullable(&Object)),
            field("author.type", OneOf(WHO)),
            field("author.id", Nullable(&Text)),
            field("secure", Bool),
        ],
    ),
    ("booking.created", BOOKING),
    ("booking.cancelled", BOOKING),
    ("scout.held", &[field("conversation_id", Id("cnv_"))]),
    ("webhook.test", &[field("endpoint_id", Id("whk_"))]),
];

pub(crate) fn add(table: &mut Table) {
    table.section("6.1");
    table.fields("envelope", ENVELOPE, SHARED, |s| s.events_of("", ""));
    table.demand("envelope.version.one", "`version` is 1 for all events", SHARED, |s| async move {
        let found = s.events_of("", "version").await?;
        match found.items.iter().find(|it| **it != 1) {
            None => Ok(()),
            Some(other) => Err(found.reply.differs_in("`version`: 1", "version", other)),
        }
    });
    table.demand("envelope.livemode.live", "`livemode` is true for live events", SHARED, |s| async move {
        let found = s.events_of("", "livemode").await?;
        match found.items.iter().find(|it| **it != true) {
            None => Ok(()),
            Some(other) => Err(found.reply.differs_in("`livemode`: true", "livemode", other)),
        }
    });
    table.demand(
        "data.thin",
        "`data` never has an email's words, a note, a file or an attachment",
        SHARED,
        |s| async move {
            let scenario = s.webhook_scenario().await?;
            if scenario.got.is_empty() {
                return Err(RuleAbort::differs("what webhooks tell of", "a delivery", "none"));
            }
            for delivery in &scenario.got {
                let data = delivery.event()["data"].to_string();
                if let Some(word) = scenario.words.iter().find(|word| data.contains(word.as_str())) {
                    return Err(RuleAbort::differs(
                        delivery.described(),
                        "no words of a mail, a note or a file",
                        format!("the words of a {word}"),
                    ));
                }
            }
            Ok(())
        },
    );

    table.section("6.2");
    for (kind, fields) in DATA {
        table.demand(
            format!("{kind}.told"),
            format!("`{kind}` is told when it happens"),
            SHARED,
            move |s| async move { s.events_of(kind, "").await.map(drop) },
        );
        table.fields(kind, fields, SHARED, move |s| s.events_of(kind, "data"));
        table.demand(
            format!("{kind}.summary"),
            "`summary` is a string of at most 200 characters",
            SHARED,
            move |s| async move {
                let found = s.events_of(kind, "data").await?;
                let fits = |it: &Value| {
                    it["summary"].as_str().is_some_and(|it| it.chars().count() <= 200 && !it.is_empty())
                };
                match found.items.iter().find(|it| !fits(it)) {
                    None => Ok(()),
                    Some(data) => Err(found.reply.differs_in(
                        "a `summary` of at most 200 characters",
                        "summary",
                        &data["summary"],
                    )),
                }
            },
        );
        table.demand(
            format!("{kind}.url"),
            "`url` is a link, when it is there",
            SHARED,
            move |s| async move {
                let found = s.events_of(kind, "data").await?;
                let fits = |it: &Value| {
                    it.get("url").is_none_or(|it| it.as_str().is_some_and(|it| it.contains("://")))
                };
                match found.items.iter().find(|it| !fits(it)) {
                    None => Ok(()),
                    Some(data) => Err(found.reply.differs_in("`url`: a link", "url", &data["url"])),
                }
            },
        );
    }
}
