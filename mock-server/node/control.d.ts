// What people, customers, time and bad luck do, as typed calls. Generated from the control API's OpenAPI document by `clients/generate.py`; do not edit.

import type { Caller } from './http.js';

/** Where the clock stands after it was moved, and what happened on the way. */
export type Advanced = { fired: Array<FiredJob>; now: string };
/** A person approves a draft. */
export type Approval = { body?: string | null; by?: string | null };
/** The response to an approval. */
export type Approved = { sendsAt: string; status: string };
/** The person or agent that a conversation is assigned to. */
export type Assignee = { id: string; name: string; type: string };
/** A person gives a conversation to someone. */
export type Assignment = { by?: string | null; to: string };
/** A file that came with a message. */
export type Attachment = { contentType: string; filename: string; size: number };
/** A booking that was made. */
export type Booked = { id: string };
/** A booking. */
export type BookingRecord = { bookingTypeId: string; cancelled: boolean; conversationId: string | null; endsAt: string; hostUserId: string; id: string; startsAt: string };
/** A set of rules with a name. */
export type Bundle = { about: string; name: string; on: boolean; rules: Array<FaultRule>; title: string };
/** One place where two worlds differ. */
export type Changed = { is?: unknown; path: string; was?: unknown };
/** How a world's clock runs. */
export type ClockMode = "real" | "manual";
/** What the clock shows, and how it runs. */
export type ClockReading = { mode: ClockMode; now: string };
/** The customer of a conversation. */
export type Contact = { email: string | null; name: string | null };
/** A call of the control API that a fault rule makes. */
export type ControlCall = { body?: unknown; method: string; path: string };
/** A conversation in the list of the control API: what the service lists, and what only the team sees. */
export type ConversationEntry = { assignee: Assignee | null; contact: Contact; drafts: number; id: string; lastMessageAt: string; mailbox: string; mailboxId: string; messageCount: number; reference?: string; risk: string | null; sandbox: boolean; snippet: string; snoozedUntil: string | null; status: string; subject: string; tags: Array<string>; topic: string | null; turn: string | null; urgency: string | null };
/** A conversation as the team sees it: nothing is cut or left out. */
export type ConversationView = { assignee: Assignee | null; bookings: Array<BookingRecord>; contact: Contact; documentRequests: Array<RequestEntry>; documents: Array<Document>; id: string; lastMessageAt: string; mailbox: MailboxEntry; reference: string | null; risk: string | null; riskReasons: Array<string>; snoozedUntil: string | null; status: string; subject: string; tags: Array<string>; team: Team; timeline: Array<Item>; topic: string | null; turn: string | null; urgency: string | null };
/** How many are expected: so many exactly, or from so many to so many. */
export type Count = number | { atLeast?: number | null; atMost?: number | null };
/** A webhook to add. */
export type CreateWebhook = { events?: Array<string> | null; livemode: boolean; owner?: string | null; scope: HookScope; timestamps?: StampClock; url: string };
/** A webhook that was added. */
export type CreatedWebhook = { id: string; secret: string };
/** One event in the log of a webhook, with exactly what was sent. */
export type DeliveryDetail = { body: string; createdAt: string; eventId: string; nextTryAt: string | null; outcome: DeliveryOutcome; tries: Array<SentTry>; type: string };
/** How a delivery stands. */
export type DeliveryOutcome = "pending" | "delivered" | "failed";
/** One event in the log of a webhook. */
export type DeliveryView = { createdAt: string; eventId: string; nextTryAt: string | null; outcome: DeliveryOutcome; tries: Array<Try>; type: string };
/** A person throws a draft away. */
export type Discard = { by?: string | null };
/** What the check of the sender's domain says. */
export type Dmarc = "pass" | "fail";
/** A document in the library. */
export type Document = { conversationId: string | null; createdAt: string; fields: DocumentFields; filename: string; id: string; kind: string | null; title: string };
/** The data that was read out of a document. Each field may be missing. */
export type DocumentFields = { amount?: number | null; currency?: string | null; date?: string | null; dueDate?: string | null; reference?: string | null; vendor?: string | null };
/** `{"ok": true}`. */
export type Done = { ok: boolean };
/** What a client or a receiver sees instead of, or after, the proper thing. */
export type Effect = { act?: Array<ControlCall> | null; body?: string | null; delayMs?: Latency | null; drop?: When | null; headers?: EffectHeaders; lateSeconds?: number | null; status?: number | null; swap?: boolean | null; truncate?: number | null; twice?: boolean | null; when?: When | null };
/** Headers of the response, such as `Retry-After`. */
export type EffectHeaders = Record<string, string>;
/** Every error has this one field. */
export type Error = { error: string };
/** One case of an exam. */
export type ExamCase = { expected: string; hint: string | null; name: string; passed: boolean; sent: string; status: number | null };
/** What an exam found. */
export type ExamReport = { cases: Array<ExamCase>; passed: boolean };
/** Which time an expectation waits in. */
export type ExpectTime = "virtual" | "real";
/** What must happen, how often, and within what span. */
export type Expectation = { count?: Count; of: Expected; since?: string | null; time?: ExpectTime | null; where?: ExpectationWhere; withinSeconds?: number };
/** The fields that each must have; a dot leads into one (`body.send`), `*` in a text stands for any run of characters. A path may stand without the `/api/v1` in front. */
export type ExpectationWhere = Record<string, unknown>;
/** What an expectation is about. */
export type Expected = "requests" | "outbox" | "deliveries" | "events";
/** A rule that was added, and how often it has fired. */
export type Fault = { acted?: Array<number>; agentId?: string | null; body?: unknown; bundle?: string | null; effect: Effect; event?: string | null; fired: number; forSeconds?: number | null; id: string; method: string | null; path: string | null; probability: number; query?: FaultQuery; seed?: number | null; skip: number; times: number | null; tool?: string | null; until?: string | null; webhook?: string | null };
/** Only requests with these query parameters; `*` stands for any run of characters. */
export type FaultQuery = Record<string, string>;
/** A rule: which requests or webhooks go wrong, and how. */
export type FaultRule = { agentId?: string | null; body?: unknown; effect: Effect; event?: string | null; forSeconds?: number | null; method: string | null; path: string | null; probability: number; query?: FaultQuery; seed?: number | null; skip: number; times: number | null; tool?: string | null; webhook?: string | null };
/** A rule: which requests or webhooks go wrong, and how. */
export type FaultRuleInput = { agentId?: string | null; body?: unknown; effect: Effect; event?: string | null; forSeconds?: number | null; method?: string | null; path?: string | null; probability?: number; query?: FaultQuery; seed?: number | null; skip?: number; times?: number | null; tool?: string | null; webhook?: string | null };
/** A document that was filed. */
export type FiledDocument = { id: string };
/** What was done, as the control API reports it. */
export type FiredJob = { at: string; job: string; subject: string };
/** That the server is there. */
export type Health = { status: string; version: string };
/** A draft of the helper that writes replies. */
export type HelperDraft = { body: string; summary?: string | null };
/** The inboxes whose events an endpoint receives. */
export type HookScope = "team" | "private";
/** Whether an endpoint is sent anything. */
export type HookState = "on" | "paused" | "off";
/** A file that comes with a mail, and what the document-reading helper finds in it. */
export type InboundFile = { contentType: string; fields?: DocumentFields; filename: string; kind?: string | null; size: number; title?: string | null };
/** A live mail from a customer. */
export type InboundMail = { attachments?: Array<InboundFile>; autoReply?: boolean; conversationId?: string | null; dmarc?: Dmarc; from: string; held?: boolean; inReplyTo?: string | null; name?: string | null; risk?: string | null; riskReasons?: Array<string>; secure?: boolean; subject?: string | null; text: string; to: string; topic?: string | null; urgency?: string | null };
/** One item of a timeline. */
export type Item = { at: string; attachments: Array<Attachment>; author?: string | null; bounces?: boolean; direction: string; from: Sender; helper?: boolean; id: string; request?: string | null; secure?: boolean; sendsAt?: string | null; status: string | null; summary?: string | null; text: string; type: "message" } | Note | TimelineEvent;
/** A job in the list of the control API. */
export type JobEntry = { dueAt: string; job: string; subject: string };
/** A request of the journal. */
export type JournalEntry = { agentId: string | null; at: string; conversationId: string | null; customer: string | null; durationMs: number; id: string; method: string; path: string; query: string; requestBody: unknown; responseBody: unknown; responseHeaders: JournalEntryResponseHeaders; status: number | null; subject: string | null; tool: string | null; traceparent: string | null; transport: Transport };
/** The headers of the response; null when there was no response, or when it is no longer kept. */
export type JournalEntryResponseHeaders = Record<string, string> | null;
/** A key in the list of the control API. */
export type KeyEntry = { agentId: string; createdBy: string | null; livemode: boolean; name: string; revoked: boolean; scopes: Array<string> };
/** How late a response is. */
export type Latency = number | { max: number; min: number } | { median: number; p99: number };
/** What led to something, and what it led to. */
export type Line = { id: string; steps: Array<LineStep> };
/** The way of an event to one webhook. */
export type LineDelivery = { nextTryAt: string | null; outcome: DeliveryOutcome; tries: Array<Try>; url: string; webhookId: string };
/** One step of a line. */
export type LineStep = { at: string; cause: number | null; conversationId: string | null; customer?: string | null; deliveries?: Array<LineDelivery> | null; dueAt?: string | null; excerpt?: string | null; id: string; kind: StepKind; method?: string | null; number: number; path?: string | null; status?: number | null; subject?: string | null; traceparent?: string | null; what: string };
/** A key that was made. */
export type MadeKey = { agentId: string; key: string };
/** An inbox in the list of the control API. */
export type MailboxEntry = { address: string; id: string; name: string; open: number; owner: string | null; sandbox: boolean };
/** An expectation that was met. */
export type Met = { count: number; matches: Array<unknown>; now: string };
/** How far to move the clock: one of the three. */
export type MoveClock = { advanceSeconds?: number | null; nextJob?: boolean | null; to?: string | null };
/** A booking to make. */
export type NewBooking = { bookingTypeId?: string | null; conversationId?: string | null; endsAt: string; hostUserId: string; startsAt: string };
/** A file that a person puts into the library, without a conversation. */
export type NewDocument = { fields?: DocumentFields; filename: string; kind?: string | null; mailbox: string; title?: string | null };
/** A key to make. */
export type NewKey = { createdBy?: string | null; livemode: boolean; name: string; scopes: Array<string> };
/** An inbox to add. */
export type NewMailbox = { address: string; name: string; owner?: string | null };
/** A snapshot to take. */
export type NewSnapshot = { name: string };
/** A person to add. */
export type NewUser = { name: string };
/** How a new world starts. */
export type NewWorld = { clock?: ClockMode | null; empty?: boolean; seed?: unknown };
/** An internal note: seen by the team, never by the customer. */
export type Note = { at: string; author: string; body: string; id: string };
/** A note that was written. */
export type Noted = { noteId: string };
/** An object with nothing in it. */
export type Nothing = Record<string, unknown>;
/** In which order. */
export type Order = "oldest" | "newest";
/** Why a mail was sent. */
export type OutboxKind = "reply" | "reminder" | "notice";
/** A mail that left or was meant to. */
export type OutboxMail = { at: string; kind: OutboxKind; messageId: string | null; outcome: Outcome; subject: string; text: string; to: string };
/** What became of a mail. */
export type Outcome = "sent" | "failed";
/** What the workspace pays for. */
export type Plan = "free" | "pro" | "team";
/** What the workspace pays for from now on. */
export type PlanChange = { plan: Plan };
/** The whole world as one document. `shared-inbox-mock schema` prints its JSON Schema. */
export type PutStateBody = Record<string, unknown>;
/** What the document-reading helper finds; what is left out stays as it is. */
export type Reading = { fields?: DocumentFields | null; kind?: string | null; title?: string | null };
/** Where a world can be reached, and its two keys, which hold all scopes. */
export type Ready = { base_url: string; console_url: string; control_url: string; id?: string | null; keys: ReadyKeys; mcp_url: string };
/** The two keys that a world has from its start. */
export type ReadyKeys = { live: string; test: string };
/** What became of a mail that came in. */
export type Received = { conversationId: string; created: boolean; documentIds: Array<string>; messageId: string };
/** The result of a reply or a document request. */
export type ReplyResult = { messageId: string; note?: string; requestId?: string; sendsAt?: string; status: string };
/** A document request in the list of the control API. */
export type RequestEntry = { completedAt: string | null; conversationId: string; customer: string | null; dueDate: string | null; id: string; items: Array<RequestedItem>; link: string; messageId: string; sentAt: string | null; subject: string };
/** One requested document. */
export type RequestedItem = { description: string | null; documents: Array<string>; label: string; required: boolean };
/** The new secret of a webhook. */
export type RotatedSecret = { secret: string };
/** The sender of a message. */
export type Sender = { email: string; name: string | null };
/** A mail of the outbox as its recipient would get it. */
export type SentMail = { at: string; conversationId: string | null; headers: SentMailHeaders; kind: OutboxKind; messageId: string | null; outcome: Outcome; source: string; subject: string; text: string; to: string };
/** Its headers. */
export type SentMailHeaders = Record<string, string>;
/** An attempt with its headers, and the response of the receiver. */
export type SentTry = { at: string; durationMs: number; error: string | null; headers: SentTryHeaders; responseBody: string | null; responseCut: boolean; responseHeaders: SentTryResponseHeaders; status: number | null };
/** Its headers, as they were sent; none for a try of an older document. */
export type SentTryHeaders = Record<string, string> | null;
/** The headers of the response; none without a response of the receiver, or when they are no longer kept. */
export type SentTryResponseHeaders = Record<string, string> | null;
/** The headers of a try that were made for it alone. */
export type Signed = { signature: string; timestamp: string };
/** A snapshot in the list. */
export type SnapshotEntry = { at: string; bytes: number; name: string };
/** Until when to put a conversation off. */
export type Snooze = { by?: string | null; until: string };
/** What the sorting helper finds; what is left out stays as it is, and null takes it away. */
export type Sorting = { held?: boolean; risk?: string | null; riskReasons?: Array<string> | null; topic?: string | null; urgency?: string | null };
/** Which clock the `webhook-timestamp` header is read from. */
export type StampClock = "mock" | "real";
/** A status that someone on the team sets in the app. */
export type StatusChange = { by?: string | null; status: string };
/** What a step of a line is about. */
export type StepKind = "request" | "control" | "job" | "message" | "note" | "conversation" | "document" | "document-request" | "booking" | "app-mail" | "event" | "webhook";
/** A person stops a message. */
export type Stop = { by?: string | null };
/** A tag. */
export type Tag = { count: number; id: string; name: string };
/** Tags that someone on the team adds and takes away in the app. */
export type TagChange = { add?: Array<string>; by?: string | null; remove?: Array<string> };
/** The people and agents that a conversation can be assigned to. */
export type Team = { agents: Array<TeamMember>; people: Array<TeamMember> };
/** A member of the team. */
export type TeamMember = { id: string; name: string };
/** A note that someone on the team writes in the app. */
export type TeamNote = { body: string; by?: string | null };
/** A reply that someone on the team writes in the app. It goes out when the undo window has passed, unless it is kept as a draft. */
export type TeamReply = { body: string; by?: string | null; documents?: Array<TeamReplyDocument>; secure?: boolean; send?: boolean };
export type TeamReplyDocument = { description?: string; label: string; required?: boolean };
/** A test event that is on its way. */
export type TestSent = { eventId: string };
/** Something that was done to a conversation. */
export type TimelineEvent = { actor: string; at: string; data: TimelineEventData; event: string };
/** More about it; what is in it depends on the event. */
export type TimelineEventData = Record<string, unknown>;
/** How a request came in. */
export type Transport = "rest" | "mcp";
/** One try of a delivery. */
export type Try = { at: string; durationMs: number; error: string | null; signed?: Signed | null; status: number | null };
/** A file that the customer uploads. */
export type Upload = { contentType?: string | null; fields?: DocumentFields | null; filename: string; item: number; kind?: string | null; size?: number | null };
/** What became of an upload. */
export type Uploaded = { complete: boolean; documentId: string };
/** A person on the team. */
export type User = { id: string; name: string };
/** A draft in the approval queue. */
export type Waiting = { at: string; conversationId: string; customer: string | null; draftedBy: string | null; draftedByName: string | null; messageId: string; subject: string; summary: string | null; text: string };
/** A webhook in the list of the control API. */
export type WebhookView = { events: Array<string>; id: string; livemode: boolean; owner: string | null; scope: HookScope; state: HookState; timestamps: StampClock; url: string };
/** Whether the request has taken effect when it goes wrong. */
export type When = "before" | "after";
/** What is different between two worlds. */
export type WorldDifference = { changes: Array<Changed>; text: string };

/** The control API of one world. */
export class Control extends Caller {
    /** The drafts that wait for a person, oldest first. */
    listApprovals(query?: { least?: number | null; wait?: number | null }): Promise<Array<Waiting>>;
    /** Every booking, oldest first. */
    listBookings(query?: { least?: number | null; wait?: number | null }): Promise<Array<BookingRecord>>;
    /** Someone books a time. */
    createBooking(body: NewBooking): Promise<Booked>;
    /** A booking is cancelled. */
    cancelBooking(id: string): Promise<Done>;
    /** Sets of rules to switch on by name. */
    listBundles(query?: { least?: number | null; wait?: number | null }): Promise<Array<Bundle>>;
    /** Switches a bundle off. */
    switchOff(id: string): Promise<void>;
    /** Switches a bundle on. */
    switchOn(id: string): Promise<Array<Fault>>;
    /** What the clock shows. */
    getClock(): Promise<ClockReading>;
    /** Moves the clock ahead. */
    moveClock(body?: MoveClock): Promise<Advanced>;
    /** Conversations of all inboxes, newest first. */
    listConversations(query?: { mailbox?: string | null; q?: string | null; tag?: string | null; view?: string | null; limit?: number | null; offset?: number | null; least?: number | null; wait?: number | null }): Promise<Array<ConversationEntry>>;
    /** A conversation, whole. */
    getConversation(id: string): Promise<ConversationView>;
    /** Gives a conversation to someone, or to nobody. */
    assign(id: string, body: Assignment): Promise<Done>;
    /** The drafting helper writes a reply. */
    draft(id: string, body: HelperDraft): Promise<ReplyResult>;
    /** Someone on the team writes a note. */
    addNote(id: string, body: TeamNote): Promise<Noted>;
    /** Someone on the team replies. */
    reply(id: string, body: TeamReply): Promise<ReplyResult>;
    /** A person snoozes a conversation, or ends its snooze. */
    snooze(id: string, body: Snooze): Promise<Done>;
    /** The sorting helper looks at a conversation. */
    sort(id: string, body?: Sorting): Promise<Done>;
    /** Someone on the team sets the status. */
    setStatus(id: string, body: StatusChange): Promise<Done>;
    /** Someone on the team adds and removes tags. */
    editTags(id: string, body?: TagChange): Promise<Done>;
    /** Every document request, oldest first. */
    listDocumentRequests(query?: { least?: number | null; wait?: number | null }): Promise<Array<RequestEntry>>;
    /** A customer uploads a requested document. */
    upload(id: string, body: Upload): Promise<Uploaded>;
    /** Documents of all inboxes, newest first. */
    listDocuments(query?: { kind?: string | null; q?: string | null; limit?: number | null; offset?: number | null; least?: number | null; wait?: number | null }): Promise<Array<Document>>;
    /** A person puts a file into the library. */
    fileDocument(body: NewDocument): Promise<FiledDocument>;
    /** The document-reading helper looks at a document. */
    readDocument(id: string, body?: Reading): Promise<Done>;
    /** Waits until something has happened that must happen. */
    expect(body: Expectation): Promise<Met>;
    /** Removes all rules. */
    clearFaults(): Promise<void>;
    /** The rules, and how often each has fired. */
    listFaults(query?: { least?: number | null; wait?: number | null }): Promise<Array<Fault>>;
    /** Makes requests or webhooks go wrong. */
    addFault(body: FaultRuleInput): Promise<Fault>;
    /** Removes one rule. */
    removeFault(id: string): Promise<void>;
    /** Whether the server is there. */
    health(): Promise<Health>;
    /** A customer's mail comes in. */
    inbound(body: InboundMail): Promise<Received>;
    /** What is due and when, soonest first. */
    listJobs(query?: { least?: number | null; wait?: number | null }): Promise<Array<JobEntry>>;
    /** All keys, without what is secret about them. */
    listKeys(query?: { least?: number | null; wait?: number | null }): Promise<Array<KeyEntry>>;
    /** A new key, shown this once. */
    createKey(body: NewKey): Promise<MadeKey>;
    /** Revokes the key of an agent. */
    revokeKey(id: string): Promise<void>;
    /** What led to something, and what it led to. */
    getLine(id: string): Promise<Line>;
    /** All inboxes. */
    listMailboxes(query?: { least?: number | null; wait?: number | null }): Promise<Array<MailboxEntry>>;
    /** A new inbox. */
    createMailbox(body: NewMailbox): Promise<MailboxEntry>;
    /** A person approves a draft. */
    approve(id: string, body?: Approval): Promise<Approved>;
    /** A mail comes back. */
    bounce(id: string): Promise<Done>;
    /** A person throws a draft away. */
    discard(id: string, body?: Discard): Promise<Done>;
    /** A person stops a message in its undo window. */
    stop(id: string, body?: Stop): Promise<Done>;
    /** This document. */
    openapi(): Promise<Record<string, unknown>>;
    /** Every mail that left or was meant to. */
    listOutbox(query?: { least?: number | null; wait?: number | null }): Promise<Array<OutboxMail>>;
    /** One mail of the outbox. */
    getOutboxMail(number: string): Promise<SentMail>;
    /** Changes the workspace's plan. */
    setPlan(body: PlanChange): Promise<Done>;
    /** The addresses and the two keys of this world. */
    ready(): Promise<Ready>;
    /** Forgets the requests so far. */
    clearRequests(): Promise<void>;
    /** The requests to the service so far, oldest first. */
    listRequests(query?: { method?: string | null; order?: Order | null; q?: string | null; responses?: boolean | null; status?: string | null; transport?: Transport | null; limit?: number | null; offset?: number | null; least?: number | null; wait?: number | null }): Promise<Array<JournalEntry>>;
    /** One request. */
    getRequest(id: string): Promise<JournalEntry>;
    /** Puts the world back to its start. */
    reset(): Promise<Done>;
    /** The snapshots of this world. */
    listSnapshots(query?: { least?: number | null; wait?: number | null }): Promise<Array<SnapshotEntry>>;
    /** Keeps the world as it is now under a name. */
    takeSnapshot(body: NewSnapshot): Promise<SnapshotEntry>;
    /** Forgets a snapshot. */
    deleteSnapshot(id: string): Promise<void>;
    /** The world document of a snapshot. */
    getSnapshot(id: string): Promise<Record<string, unknown>>;
    /** What is different since a snapshot. */
    compareSnapshots(id: string, query?: { to?: string | null }): Promise<WorldDifference>;
    /** Makes the world what it was at a snapshot. */
    restoreSnapshot(id: string): Promise<Done>;
    /** The whole world as one document. */
    getState(): Promise<Record<string, unknown>>;
    /** Makes the world what a document says. */
    putState(body: PutStateBody): Promise<Done>;
    /** All tags, counted over all inboxes. */
    listTags(query?: { least?: number | null; wait?: number | null }): Promise<Array<Tag>>;
    /** Everyone on the team. */
    listUsers(query?: { least?: number | null; wait?: number | null }): Promise<Array<User>>;
    /** A new person on the team. */
    createUser(body: NewUser): Promise<User>;
    /** All webhooks. */
    listWebhooks(query?: { least?: number | null; wait?: number | null }): Promise<Array<WebhookView>>;
    /** Adds a webhook. */
    createWebhook(body: CreateWebhook): Promise<CreatedWebhook>;
    /** Removes a webhook. */
    deleteWebhook(id: string): Promise<void>;
    /** The log of a webhook, newest first. */
    listDeliveries(id: string, query?: { outcome?: DeliveryOutcome | null; type?: string | null; limit?: number | null; offset?: number | null; least?: number | null; wait?: number | null }): Promise<Array<DeliveryView>>;
    /** One delivery, with the exact body and headers of each try. */
    getDelivery(id: string, event: string): Promise<DeliveryDetail>;
    /** Sends an event again, with the same id. */
    redeliver(id: string, event: string): Promise<Nothing>;
    /** Examines a receiver. */
    examineWebhook(id: string): Promise<ExamReport>;
    /** Sends nothing until it is resumed. */
    pauseWebhook(id: string): Promise<Done>;
    /** Sends to a webhook again. */
    resumeWebhook(id: string): Promise<Done>;
    /** Gives a webhook a new secret. */
    rotateWebhook(id: string): Promise<RotatedSecret>;
    /** Sends a test event. */
    testWebhook(id: string): Promise<TestSent>;
    /** The worlds of this server, the main one first. */
    listWorlds(query?: { least?: number | null; wait?: number | null }): Promise<Array<Ready>>;
    /** A new world beside this one. */
    createWorld(body?: NewWorld): Promise<Ready>;
    /** Ends a world. */
    deleteWorld(id: string): Promise<void>;
}
