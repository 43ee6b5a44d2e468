// What people, customers, time and bad luck do, as typed calls. Generated from the control API's OpenAPI document; do not edit.

import type { Caller } from './http.js';

/** An approval of a draft by a person. */
export type Approval = { body?: string | null; by?: string | null };
/** The result of an approval. */
export type ApprovalResult = { sendsAt: string; status: string };
/** The person or agent that a conversation is assigned to. */
export type Assignee = { id: string; name: string; type: string };
/** An assignment of a conversation by a person. */
export type Assignment = { by?: string | null; to: string };
/** A file that came with a message. */
export type Attachment = { contentType: string; filename: string; size: number };
/** One attempt of a delivery. */
export type Attempt = { at: string; durationMs: number; error: string | null; faultId?: string | null; signed?: SignatureHeaders | null; status: number | null };
/** An attempt with its headers, and the response of the receiver. */
export type AttemptDetail = { at: string; durationMs: number; error: string | null; faultId?: string | null; headers: AttemptDetailHeaders; responseBody: string | null; responseCut: boolean; responseHeaders: AttemptDetailResponseHeaders; status: number | null };
/** Its headers, as they were sent; none for an attempt of an older document. */
export type AttemptDetailHeaders = Record<string, string> | null;
/** The headers of the response; none without a response of the receiver, or when they are no longer kept. */
export type AttemptDetailResponseHeaders = Record<string, string> | null;
/** A booking. */
export type BookingRecord = { bookingTypeId: string; cancelled: boolean; conversationId: string | null; endsAt: string; hostUserId: string; id: string; startsAt: string };
/** A set of rules with a name. */
export type Bundle = { about: string; name: string; on: boolean; rules: Array<FaultRule>; title: string };
/** One case of a receiver check. */
export type CheckCase = { expected: string; hint: string | null; name: string; passed: boolean; sent: string; status: number | null };
/** The report of a receiver check. */
export type CheckReport = { cases: Array<CheckCase>; passed: boolean };
/** The time after the clock was advanced, and the jobs that ran. */
export type ClockAdvance = { fired: Array<FiredJob>; now: string };
/** How a world's clock runs. */
export type ClockMode = "real" | "manual";
/** The time of a world's clock, and how it runs. */
export type ClockReading = { mode: ClockMode; now: string };
/** The customer of a conversation. */
export type Contact = { email: string | null; name: string | null };
/** A call of the control API that a fault rule makes. */
export type ControlCall = { body?: unknown; method: string; path: string };
/** A conversation in the list of the control API: what the service lists, and what only the team sees. */
export type ConversationEntry = { assignee: Assignee | null; contact: Contact; drafts: number; id: string; lastMessageAt: string; mailbox: string; mailboxId: string; messageCount: number; reference?: string; risk: string | null; sandbox: boolean; snippet: string; snoozedUntil: string | null; status: string; subject: string; tags: Array<string>; topic: string | null; turn: string | null; urgency: string | null };
/** A conversation as the team sees it: nothing is cut or left out. */
export type ConversationView = { assignee: Assignee | null; bookings: Array<BookingRecord>; contact: Contact; documentRequests: Array<DocumentRequestEntry>; documents: Array<Document>; id: string; lastMessageAt: string; mailbox: MailboxEntry; reference: string | null; risk: string | null; riskReasons: Array<string>; snoozedUntil: string | null; status: string; subject: string; tags: Array<string>; team: Team; timeline: Array<Item>; topic: string | null; turn: string | null; urgency: string | null };
/** A webhook to add. */
export type CreateWebhook = { events?: Array<"ask.completed" | "client.replied" | "conversation.assigned" | "turn.changed" | "draft.approved" | "message.sent" | "booking.created" | "booking.cancelled" | "scout.held" | "webhook.test"> | null; livemode: boolean; owner?: string | null; scope: WebhookScope; timestamps?: TimestampSource; url: string };
/** A booking that was created. */
export type CreatedBooking = { id: string };
/** A document that was filed. */
export type CreatedDocument = { id: string };
/** A key that was created. */
export type CreatedKey = { agentId: string; key: string };
/** A note that was written. */
export type CreatedNote = { noteId: string };
/** A webhook that was added. */
export type CreatedWebhook = { id: string; secret: string };
/** One event in the log of a webhook, with exactly what was sent. */
export type DeliveryDetail = { attempts: Array<AttemptDetail>; body: string; createdAt: string; eventId: string; nextAttemptAt: string | null; outcome: DeliveryOutcome; type: string };
/** The outcome of a delivery so far. */
export type DeliveryOutcome = "pending" | "delivered" | "failed";
/** One event in the log of a webhook. */
export type DeliveryView = { attempts: Array<Attempt>; createdAt: string; eventId: string; nextAttemptAt: string | null; outcome: DeliveryOutcome; type: string };
/** Discards a draft. */
export type DiscardDraft = { by?: string | null };
/** The result of the DMARC check of the sender's domain. */
export type Dmarc = "pass" | "fail";
/** A document in the library. */
export type Document = { conversationId: string | null; createdAt: string; fields: DocumentFields; filename: string; id: string; kind: string | null; title: string };
/** The data that was read out of a document. Each field may be missing. */
export type DocumentFields = { amount?: number | null; currency?: string | null; date?: string | null; dueDate?: string | null; reference?: string | null; vendor?: string | null };
/** The findings of the document-reading helper. A field that is left out stays as it is. */
export type DocumentReading = { fields?: DocumentFields | null; kind?: "invoice" | "receipt" | "statement" | "contract" | "id" | "tax" | "photo" | "other" | null; title?: string | null };
/** A document request in the list of the control API. */
export type DocumentRequestEntry = { completedAt: string | null; conversationId: string; customer: string | null; dueDate: string | null; id: string; items: Array<RequestedItem>; link: string; messageId: string; sentAt: string | null; subject: string };
/** What a client or a receiver gets instead of the regular response or request. */
export type Effect = { act?: Array<ControlCall> | null; body?: string | null; delayMs?: Latency | null; drop?: FaultTiming | null; headers?: EffectHeaders; lateSeconds?: number | null; status?: number | null; swap?: boolean | null; truncate?: number | null; twice?: boolean | null; when?: FaultTiming | null };
/** Headers of the response, such as `Retry-After`. */
export type EffectHeaders = Record<string, string>;
/** An empty object. */
export type EmptyObject = Record<string, unknown>;
/** Every error has this one field. */
export type Error = { error: string };
/** The clock that an expectation waits on. */
export type ExpectTime = "virtual" | "real";
/** An expectation: what must happen, how often, and within what span. */
export type Expectation = { count?: ExpectedCount; of: ExpectedKind; since?: string | null; time?: ExpectTime | null; where?: ExpectationWhere; withinSeconds?: number };
/** An expectation that was met. */
export type ExpectationMet = { count: number; matches: Array<unknown>; now: string };
/** The fields that each must have; a dot leads into one (`body.send`), `*` in a text stands for any run of characters. A path may stand without the `/api/v1` in front. */
export type ExpectationWhere = Record<string, unknown>;
/** The expected number: an exact one, or a range. */
export type ExpectedCount = number | { atLeast?: number | null; atMost?: number | null };
/** The kind of thing that is expected. */
export type ExpectedKind = "requests" | "outbox" | "deliveries" | "events";
/** A rule that was added, and how often it has fired. */
export type Fault = { acted?: Array<number>; agentId?: string | null; body?: unknown; bundle?: string | null; effect: Effect; event?: "ask.completed" | "client.replied" | "conversation.assigned" | "turn.changed" | "draft.approved" | "message.sent" | "booking.created" | "booking.cancelled" | "scout.held" | "webhook.test" | null; fired: number; forSeconds?: number | null; id: string; matched: number; method: string | null; path: string | null; probability: number; query?: FaultQuery; seed?: number | null; skip: number; times: number | null; tool?: string | null; until?: string | null; webhook?: string | null };
/** Only requests with these query parameters; `*` stands for any run of characters. */
export type FaultQuery = Record<string, string>;
/** A rule: which requests or webhooks fail, and how. */
export type FaultRule = { agentId?: string | null; body?: unknown; effect: Effect; event?: "ask.completed" | "client.replied" | "conversation.assigned" | "turn.changed" | "draft.approved" | "message.sent" | "booking.created" | "booking.cancelled" | "scout.held" | "webhook.test" | null; forSeconds?: number | null; method: string | null; path: string | null; probability: number; query?: FaultQuery; seed?: number | null; skip: number; times: number | null; tool?: string | null; webhook?: string | null };
/** A rule: which requests or webhooks fail, and how. */
export type FaultRuleInput = { agentId?: string | null; body?: unknown; effect: Effect; event?: "ask.completed" | "client.replied" | "conversation.assigned" | "turn.changed" | "draft.approved" | "message.sent" | "booking.created" | "booking.cancelled" | "scout.held" | "webhook.test" | null; forSeconds?: number | null; method?: string | null; path?: string | null; probability?: number; query?: FaultQuery; seed?: number | null; skip?: number; times?: number | null; tool?: string | null; webhook?: string | null };
/** Whether a fault applies before or after the request takes effect. */
export type FaultTiming = "before" | "after";
/** One place where two worlds differ. */
export type FieldChange = { is?: unknown; path: string; was?: unknown };
/** A job that ran, as the control API reports it. */
export type FiredJob = { at: string; conversationId?: string | null; customer?: string | null; event?: string | null; job: string; subject: string; url?: string | null };
/** The health of the server. */
export type Health = { status: string; version: string };
/** A draft of the helper that writes replies. */
export type HelperDraft = { body: string; summary?: string | null };
/** A file attached to an email, and what the document-reading helper finds in it. */
export type InboundFile = { contentType: string; fields?: DocumentFields; filename: string; kind?: "invoice" | "receipt" | "statement" | "contract" | "id" | "tax" | "photo" | "other" | null; size: number; title?: string | null };
/** A live email from a customer. */
export type InboundMail = { attachments?: Array<InboundFile>; autoReply?: boolean; conversationId?: string | null; dmarc?: Dmarc; from: string; held?: boolean; inReplyTo?: string | null; name?: string | null; risk?: string | null; riskReasons?: Array<string>; secure?: boolean; subject?: string | null; text: string; to: string; topic?: string | null; urgency?: "low" | "normal" | "high" | null };
/** The result of an incoming email. */
export type InboundResult = { conversationId: string; created: boolean; documentIds: Array<string>; messageId: string };
/** One item of a timeline. */
export type Item = { at: string; attachments: Array<Attachment>; author?: string | null; bounces?: boolean; direction: string; from: Sender; helper?: boolean; id: string; request?: string | null; secure?: boolean; sendsAt?: string | null; status: string | null; summary?: string | null; text: string; type: "message" } | Note | TimelineEvent;
/** A job in the list of the control API. */
export type JobEntry = { conversationId?: string | null; customer?: string | null; dueAt: string; event?: string | null; job: string; subject: string; url?: string | null };
/** A request of the journal. */
export type JournalEntry = { agentId: string | null; at: string; conversationId: string | null; customer: string | null; durationMs: number; faultId: string | null; id: string; method: string; path: string; query: string; requestBody: unknown; requestHeaders: JournalEntryRequestHeaders; responseBody: unknown; responseHeaders: JournalEntryResponseHeaders; status: number | null; subject: string | null; tool: string | null; traceparent: string | null; transport: Transport };
/** The headers as they came, with names in lower case; without `authorization` and cookies. */
export type JournalEntryRequestHeaders = Record<string, string>;
/** The headers of the response; null when there was no response, or when it is no longer kept. */
export type JournalEntryResponseHeaders = Record<string, string> | null;
/** A key in the list of the control API. */
export type KeyEntry = { agentId: string; createdBy: string | null; livemode: boolean; name: string; revoked: boolean; scopes: Array<string> };
/** The delay of a response. */
export type Latency = number | { max: number; min: number } | { median: number; p99: number };
/** The outcome of an email. */
export type MailOutcome = "sent" | "failed";
/** An inbox in the list of the control API. */
export type MailboxEntry = { address: string; id: string; name: string; open: number; owner: string | null; sandbox: boolean };
/** How far to move the clock: one of the three. */
export type MoveClock = { advanceSeconds?: number | null; nextJob?: boolean | null; to?: string | null };
/** A booking to create. */
export type NewBooking = { bookingTypeId?: string | null; conversationId?: string | null; endsAt: string; hostUserId: string; startsAt: string };
/** A file that a person puts into the library, without a conversation. */
export type NewDocument = { fields?: DocumentFields; filename: string; kind?: "invoice" | "receipt" | "statement" | "contract" | "id" | "tax" | "photo" | "other" | null; mailbox: string; title?: string | null };
/** A key to create. */
export type NewKey = { createdBy?: string | null; livemode: boolean; name: string; scopes: Array<"read" | "write" | "draft" | "send" | "record"> };
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
/** `{"ok": true}`. */
export type OkResponse = { ok: boolean };
/** The reason for an email. */
export type OutboxKind = "reply" | "reminder" | "notice";
/** An email that was sent or failed to send. */
export type OutboxMail = { at: string; kind: OutboxKind; messageId: string | null; outcome: MailOutcome; subject: string; text: string; to: string };
/** The plan of a workspace. */
export type Plan = "free" | "pro" | "team";
/** The whole world as one document. `shared-inbox-mock schema` prints its JSON Schema. */
export type PutStateBody = Record<string, unknown>;
/** A draft in the approval queue. */
export type QueuedDraft = { at: string; conversationId: string; customer: string | null; draftedBy: string | null; draftedByName: string | null; messageId: string; subject: string; summary: string | null; text: string };
/** Where a world can be reached, and its two keys, which hold all scopes. */
export type Ready = { base_url: string; console_url: string; control_url: string; id?: string | null; keys: ReadyKeys; mcp_url: string };
/** The two keys that a world has from its start. */
export type ReadyKeys = { live: string; test: string };
/** The result of a reply or a document request. */
export type ReplyResult = { messageId: string; note?: string; requestId?: string; sendsAt?: string; status: string };
/** One requested document. */
export type RequestedItem = { description: string | null; documents: Array<string>; label: string; required: boolean };
/** The new secret of a webhook. */
export type RotatedSecret = { secret: string };
/** The sender of a message. */
export type Sender = { email: string; name: string | null };
/** An email of the outbox as its recipient would get it. */
export type SentMail = { at: string; conversationId: string | null; headers: SentMailHeaders; kind: OutboxKind; messageId: string | null; outcome: MailOutcome; source: string; subject: string; text: string; to: string };
/** Its headers. */
export type SentMailHeaders = Record<string, string>;
/** The headers that sign one attempt. */
export type SignatureHeaders = { signature: string; timestamp: string };
/** A snapshot in the list. */
export type SnapshotEntry = { at: string; bytes: number; name: string };
/** A snooze of a conversation. */
export type Snooze = { by?: string | null; until: string | null };
/** The order of a list. */
export type SortOrder = "oldest" | "newest";
/** The findings of the sorting helper. A field that is left out stays as it is; null clears it. */
export type SortingResult = { held?: boolean; risk?: string | null; riskReasons?: Array<string> | null; topic?: string | null; urgency?: "low" | "normal" | "high" | null };
/** A status that someone on the team sets in the app. */
export type StatusChange = { by?: string | null; status: "open" | "waiting" | "closed" };
/** The kind of a trace's step. */
export type StepKind = "request" | "control" | "job" | "message" | "note" | "conversation" | "document" | "document-request" | "booking" | "app-mail" | "event" | "webhook";
/** Stops a scheduled message. */
export type StopMessage = { by?: string | null };
/** A tag. */
export type Tag = { count: number; id: string; name: string };
/** A change of tags by someone on the team. */
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
/** A test event that was sent. */
export type TestEvent = { eventId: string };
/** Something that was done to a conversation. */
export type TimelineEvent = { actor: string; at: string; data: TimelineEventData; event: string };
/** More about it; what is in it depends on the event. */
export type TimelineEventData = Record<string, unknown>;
/** Which clock the `webhook-timestamp` header is read from. */
export type TimestampSource = "mock" | "real";
/** What led to something, and what it led to. */
export type Trace = { id: string; steps: Array<TraceStep> };
/** The delivery of an event to one webhook. */
export type TraceDelivery = { attempts: Array<Attempt>; nextAttemptAt: string | null; outcome: DeliveryOutcome; url: string; webhookId: string };
/** One step of a trace. */
export type TraceStep = { at: string; cause: number | null; conversationId: string | null; customer?: string | null; deliveries?: Array<TraceDelivery> | null; dueAt?: string | null; excerpt?: string | null; faultId?: string | null; id: string; kind: StepKind; method?: string | null; number: number; path?: string | null; status?: number | null; subject?: string | null; traceparent?: string | null; what: string };
/** How a request came in. */
export type Transport = "rest" | "mcp";
/** Something that a test set up and that had no effect. */
export type Unused = { message: string; what: UnusedKind };
/** What had no effect. */
export type UnusedKind = "fault" | "expectation";
/** A file that the customer uploads. */
export type Upload = { contentType?: string | null; fields?: DocumentFields | null; filename: string; item: number; kind?: "invoice" | "receipt" | "statement" | "contract" | "id" | "tax" | "photo" | "other" | null; size?: number | null };
/** The result of an upload. */
export type UploadResult = { complete: boolean; documentId: string };
/** A person on the team. */
export type User = { id: string; name: string };
/** The inboxes whose events an endpoint receives. */
export type WebhookScope = "team" | "private";
/** Whether events are sent to an endpoint. */
export type WebhookState = "on" | "paused" | "off";
/** A webhook in the list of the control API. */
export type WebhookView = { events: Array<string>; failingSince: string | null; id: string; lastError: string | null; livemode: boolean; owner: string | null; scope: WebhookScope; state: WebhookState; timestamps: TimestampSource; url: string };
/** What the workspace pays for. */
export type WorkspacePlan = { plan: Plan };
/** The difference between two worlds. */
export type WorldDifference = { changes: Array<FieldChange>; text: string };

/** The control API of one world. */
export class Control extends Caller {
    /** The drafts that wait for a person, oldest first. */
    listApprovals(query?: { least?: number | null; wait?: number | null }): Promise<Array<QueuedDraft>>;
    /** Every booking, oldest first. */
    listBookings(query?: { least?: number | null; wait?: number | null }): Promise<Array<BookingRecord>>;
    /** Someone books a time. */
    createBooking(body: NewBooking): Promise<CreatedBooking>;
    /** A booking is cancelled. */
    cancelBooking(id: string): Promise<OkResponse>;
    /** Sets of rules to switch on by name. */
    listBundles(query?: { least?: number | null; wait?: number | null }): Promise<Array<Bundle>>;
    /** Switches a bundle off. */
    switchOff(id: string): Promise<void>;
    /** Switches a bundle on. */
    switchOn(id: string): Promise<Array<Fault>>;
    /** What the clock shows. */
    getClock(): Promise<ClockReading>;
    /** Moves the clock ahead. */
    moveClock(body?: MoveClock): Promise<ClockAdvance>;
    /** Conversations of all inboxes, newest first. */
    listConversations(query?: { mailbox?: string | null; q?: string | null; tag?: string | null; view?: "open" | "waiting" | "snoozed" | "closed" | "all" | null; limit?: number | null; offset?: number | null; least?: number | null; wait?: number | null }): Promise<Array<ConversationEntry>>;
    /** A conversation, whole. */
    getConversation(id: string): Promise<ConversationView>;
    /** Gives a conversation to someone, or to nobody. */
    assign(id: string, body: Assignment): Promise<OkResponse>;
    /** The drafting helper writes a reply. */
    draft(id: string, body: HelperDraft): Promise<ReplyResult>;
    /** Someone on the team writes a note. */
    addNote(id: string, body: TeamNote): Promise<CreatedNote>;
    /** Someone on the team replies. */
    reply(id: string, body: TeamReply): Promise<ReplyResult>;
    /** A person snoozes a conversation, or ends its snooze. */
    snooze(id: string, body: Snooze): Promise<OkResponse>;
    /** The sorting helper looks at a conversation. */
    sort(id: string, body?: SortingResult): Promise<OkResponse>;
    /** Someone on the team sets the status. */
    setStatus(id: string, body: StatusChange): Promise<OkResponse>;
    /** Someone on the team adds and removes tags. */
    editTags(id: string, body?: TagChange): Promise<OkResponse>;
    /** Every document request, oldest first. */
    listDocumentRequests(query?: { least?: number | null; wait?: number | null }): Promise<Array<DocumentRequestEntry>>;
    /** A customer uploads a requested document. */
    upload(id: string, body: Upload): Promise<UploadResult>;
    /** Documents of all inboxes, newest first. */
    listDocuments(query?: { kind?: "invoice" | "receipt" | "statement" | "contract" | "id" | "tax" | "photo" | "other" | null; q?: string | null; limit?: number | null; offset?: number | null; least?: number | null; wait?: number | null }): Promise<Array<Document>>;
    /** A person puts a file into the library. */
    fileDocument(body: NewDocument): Promise<CreatedDocument>;
    /** The document-reading helper looks at a document. */
    readDocument(id: string, body?: DocumentReading): Promise<OkResponse>;
    /** Waits until something has happened that must happen. */
    expect(body: Expectation): Promise<ExpectationMet>;
    /** Removes all rules. */
    clearFaults(): Promise<void>;
    /** The rules, and how often each has fired. */
    listFaults(query?: { least?: number | null; wait?: number | null }): Promise<Array<Fault>>;
    /** Makes requests or webhooks go wrong. */
    addFault(body: FaultRuleInput): Promise<Fault>;
    /** Removes one rule. */
    removeFault(id: string): Promise<void>;
    /** Returns whether the server is up. */
    health(): Promise<Health>;
    /** A customer's mail comes in. */
    inbound(body: InboundMail): Promise<InboundResult>;
    /** What is due and when, soonest first. */
    listJobs(query?: { least?: number | null; wait?: number | null }): Promise<Array<JobEntry>>;
    /** All keys, without what is secret about them. */
    listKeys(query?: { least?: number | null; wait?: number | null }): Promise<Array<KeyEntry>>;
    /** A new key, shown this once. */
    createKey(body: NewKey): Promise<CreatedKey>;
    /** Revokes the key of an agent. */
    revokeKey(id: string): Promise<void>;
    /** All inboxes. */
    listMailboxes(query?: { least?: number | null; wait?: number | null }): Promise<Array<MailboxEntry>>;
    /** A new inbox. */
    createMailbox(body: NewMailbox): Promise<MailboxEntry>;
    /** A person approves a draft. */
    approve(id: string, body?: Approval): Promise<ApprovalResult>;
    /** A mail comes back. */
    bounce(id: string): Promise<OkResponse>;
    /** A person throws a draft away. */
    discard(id: string, body?: DiscardDraft): Promise<OkResponse>;
    /** A person stops a message in its undo window. */
    stop(id: string, body?: StopMessage): Promise<OkResponse>;
    /** This document. */
    openapi(): Promise<Record<string, unknown>>;
    /** Every mail that left or was meant to. */
    listOutbox(query?: { least?: number | null; wait?: number | null }): Promise<Array<OutboxMail>>;
    /** One mail of the outbox. */
    getOutboxMail(number: string): Promise<SentMail>;
    /** The workspace's plan. */
    getPlan(): Promise<WorkspacePlan>;
    /** Changes the workspace's plan. */
    setPlan(body: WorkspacePlan): Promise<OkResponse>;
    /** The addresses and the two keys of this world. */
    ready(): Promise<Ready>;
    /** Forgets the requests so far. */
    clearRequests(): Promise<void>;
    /** The requests to the service so far, oldest first. */
    listRequests(query?: { agent?: string | null; fault?: string | null; livemode?: boolean | null; method?: string | null; order?: SortOrder | null; q?: string | null; responses?: boolean | null; status?: string | null; transport?: Transport | null; limit?: number | null; offset?: number | null; least?: number | null; wait?: number | null }): Promise<Array<JournalEntry>>;
    /** One request. */
    getRequest(id: string): Promise<JournalEntry>;
    /** Puts the world back to its start. */
    reset(): Promise<OkResponse>;
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
    restoreSnapshot(id: string): Promise<OkResponse>;
    /** The whole world as one document. */
    getState(): Promise<Record<string, unknown>>;
    /** Makes the world what a document says. */
    putState(body: PutStateBody): Promise<OkResponse>;
    /** All tags, counted over all inboxes. */
    listTags(query?: { least?: number | null; wait?: number | null }): Promise<Array<Tag>>;
    /** What led to something, and what it led to. */
    getTrace(id: string): Promise<Trace>;
    /** What a test set up and what had no effect. */
    listUnused(query?: { least?: number | null; wait?: number | null }): Promise<Array<Unused>>;
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
    /** Checks the receiver of a webhook. */
    checkReceiver(id: string): Promise<CheckReport>;
    /** The log of a webhook, newest first. */
    listDeliveries(id: string, query?: { outcome?: DeliveryOutcome | null; type?: "ask.completed" | "client.replied" | "conversation.assigned" | "turn.changed" | "draft.approved" | "message.sent" | "booking.created" | "booking.cancelled" | "scout.held" | "webhook.test" | null; limit?: number | null; offset?: number | null; least?: number | null; wait?: number | null }): Promise<Array<DeliveryView>>;
    /** One delivery, with the exact body and headers of each attempt. */
    getDelivery(id: string, event: string): Promise<DeliveryDetail>;
    /** Sends an event again, with the same id. */
    redeliver(id: string, event: string): Promise<EmptyObject>;
    /** Sends nothing until it is resumed. */
    pauseWebhook(id: string): Promise<OkResponse>;
    /** Sends to a webhook again. */
    resumeWebhook(id: string): Promise<OkResponse>;
    /** Gives a webhook a new secret. */
    rotateWebhook(id: string): Promise<RotatedSecret>;
    /** Sends a test event. */
    testWebhook(id: string): Promise<TestEvent>;
    /** The worlds of this server, the main one first. */
    listWorlds(query?: { least?: number | null; wait?: number | null }): Promise<Array<Ready>>;
    /** A new world beside this one. */
    createWorld(body?: NewWorld): Promise<Ready>;
    /** Ends a world. */
    deleteWorld(id: string): Promise<void>;
}
