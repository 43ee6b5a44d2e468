//! The words of the control API's document: families of calls, and what each call is for.

/// Calls that belong together.
pub(crate) struct Family {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) calls: &'static [CallText],
}

/// What a reader learns about a call.
pub(crate) struct CallText {
    /// The operation id.
    pub(crate) name: &'static str,
    /// Its purpose in one line.
    pub(crate) summary: &'static str,
    /// More about it, or nothing.
    pub(crate) about: &'static str,
    /// When it responds with 409.
    pub(crate) conflict: Option<&'static str>,
}

const fn call(name: &'static str, summary: &'static str) -> CallText {
    CallText { name, summary, about: "", conflict: None }
}

impl CallText {
    const fn about(self, about: &'static str) -> Self {
        Self { about, ..self }
    }

    const fn conflict(self, when: &'static str) -> Self {
        Self { conflict: Some(when), ..self }
    }
}

/// Every call, in the order in which a reader meets them.
pub(crate) const FAMILIES: &[Family] = &[
    Family {
        name: "World",
        about: "The world as a whole: its document, its clock, its journal, and worlds beside it.",
        calls: &[
            call("reset", "Puts the world back to its start").about(
                "The world as it was at the start, the same keys, the clock too; faults and \
                     journal are cleared.",
            ),
            call("list_requests", "The requests to the service so far, oldest first")
                .about("The last 10,000, or a part of them. Keys never appear."),
            call("get_request", "One request"),
            call("list_jobs", "What is due and when, soonest first"),
            call("list_worlds", "The worlds of this server, the main one first"),
            call("delete_world", "Ends a world").about("Requests with its keys get 401 from now on."),
            call("health", "Returns whether the server is up")
                .about("The one call that needs no token, so that a container can be probed."),
            call("openapi", "This document"),
            call("get_state", "The whole world as one document"),
            call("put_state", "Makes the world what a document says"),
            call("get_trace", "What led to something, and what it led to").about(
                "For the id of a request, a message, a note, an event, a document request, a \
                     booking or a conversation: the request or control call that began it, what it \
                     made, the jobs that it left behind, the events that they caused, and each \
                     attempt to deliver them. Empty for what was there from the start of the world.",
            ),
            call("list_unused", "What a test set up and what had no effect").about(
                "Faults that never fired or whose control calls were all refused, removed since or not, and expectations of none that \
                     nothing could have met. The fixtures for pytest, vitest and node report them at \
                     the end of a test.",
            ),
            call("ready", "The addresses and the two keys of this world"),
            call("clear_requests", "Forgets the requests so far"),
            call("follow", "Follows the world's changes")
                .about("Server-sent events, one for each change, for pages and tools that follow the world."),
            call("create_world", "A new world beside this one")
                .about(
                    "With its own keys, data, clock, faults, journal and rate limits. The service API \
                     stays at the same address, the key says which world is meant; its control API is \
                     at its own `control_url`.",
                )
                .conflict("There are 10,000 worlds already."),
            call("get_clock", "What the clock shows"),
            call("move_clock", "Moves the clock ahead")
                .about(
                    "By `advanceSeconds`, `to` a time, or to the `nextJob`: one of the three. \
                     Everything that falls due on the way happens in order, each at its own time, \
                     webhook attempts included; the response comes when every attempt that fell due \
                     or was under way has ended. A real clock runs on from the later time.",
                )
                .conflict("The world was replaced or reset meanwhile."),
        ],
    },
    Family {
        name: "People",
        about: "People, inboxes, keys and the plan.",
        calls: &[
            call("list_users", "Everyone on the team"),
            call("create_user", "A new person on the team"),
            call("create_mailbox", "A new inbox")
                .about("With an `owner` it is that person's private inbox.")
                .conflict("There is an inbox with this address already."),
            call("list_keys", "All keys, without what is secret about them"),
            call("create_key", "A new key, shown this once"),
            call("revoke_key", "Revokes the key of an agent"),
            call("list_mailboxes", "All inboxes").about("Private ones and the sandbox included."),
            call("get_plan", "The workspace's plan"),
            call("set_plan", "Changes the workspace's plan")
                .about("On `free` the service API returns 403 and webhooks are not sent."),
        ],
    },
    Family {
        name: "Actions",
        about: "What people do in the app, what its helpers do, and what customers do. For the id of a \
             conversation, the address of a customer stands for their newest one.",
        calls: &[
            call("inbound", "A customer's mail comes in").about(
                "`to` is an inbox's address, with or without a plus tag. It joins a conversation \
                     of that inbox, or starts one. `held` is the sorting helper holding it as a \
                     likely scam.",
            ),
            call("list_approvals", "The drafts that wait for a person, oldest first"),
            call("approve", "A person approves a draft")
                .about("The id of a conversation stands for its newest draft.")
                .conflict("It is not a draft, or one of the sandbox, where nobody approves."),
            call("stop", "A person stops a message in its undo window")
                .about(
                    "It is a draft again. The id of a conversation stands for its newest message in \
                     the undo window.",
                )
                .conflict("It is not waiting to go out."),
            call("discard", "A person throws a draft away")
                .about(
                    "It is gone from the timeline, with its document request; a `draft-discarded` \
                     event stays. The id of a conversation stands for its newest draft.",
                )
                .conflict("It is not a draft."),
            call("bounce", "A mail comes back")
                .about(
                    "One in its undo window fails when it leaves. One that was sent fails now: a \
                     `bounced` event is recorded, and it is the team's turn again.",
                )
                .conflict("It was not sent and is not about to be."),
            call("add_note", "Someone on the team writes a note"),
            call("set_status", "Someone on the team sets the status"),
            call("edit_tags", "Someone on the team adds and removes tags"),
            call("reply", "Someone on the team replies").about(
                "It goes out when the undo window has passed; with `send` false it is a draft of \
                     theirs.",
            ),
            call("draft", "The drafting helper writes a reply")
                .about("It waits for a person's approval.")
                .conflict("The helpers do not run in the sandbox."),
            call("sort", "The sorting helper looks at a conversation")
                .about("What is left out stays as it is; null takes it away.")
                .conflict("The helpers do not run in the sandbox."),
            call("read_document", "The document-reading helper looks at a document")
                .about("What is left out stays as it is; a kind of null takes it away.")
                .conflict("The helpers do not run in the sandbox."),
            call("snooze", "A person snoozes a conversation, or ends its snooze"),
            call("assign", "Gives a conversation to someone, or to nobody"),
            call("upload", "A customer uploads a requested document")
                .conflict("The request is a draft: the customer has no upload link yet."),
            call("file_document", "A person puts a file into the library")
                .about("Without a conversation, for those who see the inbox."),
            call("list_document_requests", "Every document request, oldest first"),
            call("list_bookings", "Every booking, oldest first"),
            call("create_booking", "Someone books a time"),
            call("cancel_booking", "A booking is cancelled").conflict("It is cancelled already."),
            call("list_outbox", "Every mail that left or was meant to"),
            call("get_outbox_mail", "One mail of the outbox")
                .about("By its number in the outbox, from 1, with its headers and its source."),
        ],
    },
    Family {
        name: "Browse",
        about: "Everything there is, whoever it belongs to.",
        calls: &[
            call("list_conversations", "Conversations of all inboxes, newest first")
                .about("Private ones and the sandbox included, in every view unless one is named."),
            call("get_conversation", "A conversation, whole").about(
                "With uncut texts, what only the service knows of a message, its documents, \
                     requests and bookings. The address of a customer stands for their newest one.",
            ),
            call("list_documents", "Documents of all inboxes, newest first"),
            call("list_tags", "All tags, counted over all inboxes"),
        ],
    },
    Family {
        name: "Webhooks",
        about: "What an owner does with a webhook.",
        calls: &[
            call("list_webhooks", "All webhooks"),
            call("create_webhook", "Adds a webhook")
                .about("Its secret is shown this once. A forbidden address is a 400."),
            call("delete_webhook", "Removes a webhook"),
            call("rotate_webhook", "Gives a webhook a new secret").about("For 24 hours both sign."),
            call("test_webhook", "Sends a test event").conflict(
                "Nothing is sent to this webhook at present: it is paused or off, or the plan is \
                     `free`.",
            ),
            call("pause_webhook", "Sends nothing until it is resumed")
                .conflict("The receiver turned this webhook off."),
            call("resume_webhook", "Sends to a webhook again"),
            call("list_deliveries", "The log of a webhook, newest first"),
            call("get_delivery", "One delivery, with the exact body and headers of each attempt")
                .about("Signatures are there; the secret is not."),
            call("check_receiver", "Checks the receiver of a webhook").about(
                "Sends a fixed series of good and bad requests, and reports how the receiver \
                     responded to each.",
            ),
            call("redeliver", "Sends an event again, with the same id").conflict(
                "Nothing is sent to this webhook at present: it is paused or off, or the plan is \
                     `free`.",
            ),
        ],
    },
    Family {
        name: "Failures",
        about: "Failures on demand.",
        calls: &[
            call("list_faults", "The rules, and how often each has fired"),
            call("add_fault", "Makes requests or webhooks go wrong").about(
                "The first rule that fires counts. One effect a rule, and `delayMs` may go with \
                     any of them: a number, `{min, max}`, or `{median, p99}`. Without `times` it \
                     fires once, with `forSeconds` always; `probability` is the share of those that \
                     match. With `webhook` it strikes webhooks: `drop` before (a dead address) or \
                     after (the answer is lost), `truncate`, `twice`, `swap` (after the next one), \
                     `lateSeconds`, `status`. With `act` it makes control calls, by their paths \
                     behind `/_mock`, in this world: right before the request is handled, or with \
                     `when` `after` once it took effect and before the response. It leaves the \
                     request as it is, so the rules after it count too; `acted` shows the statuses of \
                     the calls.",
            ),
            call("remove_fault", "Removes one rule"),
            call("list_bundles", "Sets of rules to switch on by name"),
            call("switch_on", "Switches a bundle on")
                .about("`bad-day`, `flaky-network` or `deploy`. One that is on already begins anew."),
            call("switch_off", "Switches a bundle off"),
            call("clear_faults", "Removes all rules"),
        ],
    },
    Family {
        name: "Expecting",
        about: "Saying what must happen, and snapshots to come back to and to compare.",
        calls: &[
            call("expect", "Waits until something has happened that must happen")
                .about(
                    "Looks at what there is since the world began, and waits as long as it may. In \
                     virtual time the clock is moved on from job to job, no further than it takes. \
                     Answers when it is met; an exact number or an upper limit is decided when the \
                     span is over.",
                )
                .conflict(
                    "It did not happen, or too often; the sentence says what came nearest, for a bug \
                     report.",
                ),
            call("list_snapshots", "The snapshots of this world"),
            call("restore_snapshot", "Makes the world what it was at a snapshot"),
            call("delete_snapshot", "Forgets a snapshot"),
            call("take_snapshot", "Keeps the world as it is now under a name")
                .about("An older one of this name is replaced. Snapshots outlive a reset.")
                .conflict(
                    "There are 100 snapshots already, or the snapshots of all worlds would take more \
                     than three quarters of the server's memory limit.",
                ),
            call("get_snapshot", "The world document of a snapshot"),
            call("compare_snapshots", "What is different since a snapshot"),
        ],
    },
];
