"""What people, customers, time and bad luck do, as typed calls.

Generated from the control API's OpenAPI document; do not edit.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict

from ._http import Caller, in_thread

__tracebackhide__ = True


class Approval(TypedDict):
    """An approval of a draft by a person."""

    body: NotRequired[str | None]
    by: NotRequired[str | None]

class ApprovalResult(TypedDict):
    """The result of an approval."""

    sendsAt: str
    status: str

class Assignee(TypedDict):
    """The person or agent that a conversation is assigned to."""

    id: str
    name: str
    type: str

class Assignment(TypedDict):
    """An assignment of a conversation by a person."""

    by: NotRequired[str | None]
    to: str

class Attachment(TypedDict):
    """A file that came with a message."""

    contentType: str
    filename: str
    size: int

class Attempt(TypedDict):
    """One attempt of a delivery."""

    at: str
    durationMs: int
    error: str | None
    faultId: NotRequired[str | None]
    signed: NotRequired[SignatureHeaders | None]
    status: int | None

class AttemptDetail(TypedDict):
    """An attempt with its headers, and the response of the receiver."""

    at: str
    durationMs: int
    error: str | None
    faultId: NotRequired[str | None]
    headers: AttemptDetailHeaders
    responseBody: str | None
    responseCut: bool
    responseHeaders: AttemptDetailResponseHeaders
    status: int | None

# Its headers, as they were sent; none for an attempt of an older document.
AttemptDetailHeaders: TypeAlias = 'dict[str, str] | None'

# The headers of the response; none without a response of the receiver, or when they are no longer kept.
AttemptDetailResponseHeaders: TypeAlias = 'dict[str, str] | None'

class BookingRecord(TypedDict):
    """A booking."""

    bookingTypeId: str
    cancelled: bool
    conversationId: str | None
    endsAt: str
    hostUserId: str
    id: str
    startsAt: str

class Bundle(TypedDict):
    """A set of rules with a name."""

    about: str
    name: str
    on: bool
    rules: list[FaultRule]
    title: str

class CheckCase(TypedDict):
    """One case of a receiver check."""

    expected: str
    hint: str | None
    name: str
    passed: bool
    sent: str
    status: int | None

class CheckReport(TypedDict):
    """The report of a receiver check."""

    cases: list[CheckCase]
    passed: bool

class ClockAdvance(TypedDict):
    """The time after the clock was advanced, and the jobs that ran."""

    fired: list[FiredJob]
    now: str

# How a world's clock runs.
ClockMode: TypeAlias = "Literal['real'] | Literal['manual']"

class ClockReading(TypedDict):
    """The time of a world's clock, and how it runs."""

    mode: ClockMode
    now: str

class Contact(TypedDict):
    """The customer of a conversation."""

    email: str | None
    name: str | None

class ControlCall(TypedDict):
    """A call of the control API that a fault rule makes."""

    body: NotRequired[Any]
    method: str
    path: str

class ConversationEntry(TypedDict):
    """A conversation in the list of the control API: what the service lists, and what only the team sees."""

    assignee: Assignee | None
    contact: Contact
    drafts: int
    id: str
    lastMessageAt: str
    mailbox: str
    mailboxId: str
    messageCount: int
    reference: NotRequired[str]
    risk: str | None
    sandbox: bool
    snippet: str
    snoozedUntil: str | None
    status: str
    subject: str
    tags: list[str]
    topic: str | None
    turn: str | None
    urgency: str | None

class ConversationView(TypedDict):
    """A conversation as the team sees it: nothing is cut or left out."""

    assignee: Assignee | None
    bookings: list[BookingRecord]
    contact: Contact
    documentRequests: list[DocumentRequestEntry]
    documents: list[Document]
    id: str
    lastMessageAt: str
    mailbox: MailboxEntry
    reference: str | None
    risk: str | None
    riskReasons: list[str]
    snoozedUntil: str | None
    status: str
    subject: str
    tags: list[str]
    team: Team
    timeline: list[Item]
    topic: str | None
    turn: str | None
    urgency: str | None

class CreateWebhook(TypedDict):
    """A webhook to add."""

    events: NotRequired[list[Literal['ask.completed', 'client.replied', 'conversation.assigned', 'turn.changed', 'draft.approved', 'message.sent', 'booking.created', 'booking.cancelled', 'scout.held', 'webhook.test']] | None]
    livemode: bool
    owner: NotRequired[str | None]
    scope: WebhookScope
    timestamps: NotRequired[TimestampSource]
    url: str

class CreatedBooking(TypedDict):
    """A booking that was created."""

    id: str

class CreatedDocument(TypedDict):
    """A document that was filed."""

    id: str

class CreatedKey(TypedDict):
    """A key that was created."""

    agentId: str
    key: str

class CreatedNote(TypedDict):
    """A note that was written."""

    noteId: str

class CreatedWebhook(TypedDict):
    """A webhook that was added."""

    id: str
    secret: str

class DeliveryDetail(TypedDict):
    """One event in the log of a webhook, with exactly what was sent."""

    attempts: list[AttemptDetail]
    body: str
    createdAt: str
    eventId: str
    nextAttemptAt: str | None
    outcome: DeliveryOutcome
    type: str

# The outcome of a delivery so far.
DeliveryOutcome: TypeAlias = "Literal['pending'] | Literal['delivered'] | Literal['failed']"

class DeliveryView(TypedDict):
    """One event in the log of a webhook."""

    attempts: list[Attempt]
    createdAt: str
    eventId: str
    nextAttemptAt: str | None
    outcome: DeliveryOutcome
    type: str

class DiscardDraft(TypedDict):
    """Discards a draft."""

    by: NotRequired[str | None]

# The result of the DMARC check of the sender's domain.
Dmarc: TypeAlias = "Literal['pass'] | Literal['fail']"

class Document(TypedDict):
    """A document in the library."""

    conversationId: str | None
    createdAt: str
    fields: DocumentFields
    filename: str
    id: str
    kind: str | None
    title: str

class DocumentFields(TypedDict):
    """The data that was read out of a document. Each field may be missing."""

    amount: NotRequired[float | None]
    currency: NotRequired[str | None]
    date: NotRequired[str | None]
    dueDate: NotRequired[str | None]
    reference: NotRequired[str | None]
    vendor: NotRequired[str | None]

class DocumentReading(TypedDict):
    """The findings of the document-reading helper. A field that is left out stays as it is."""

    fields: NotRequired[DocumentFields | None]
    kind: NotRequired[Literal['invoice', 'receipt', 'statement', 'contract', 'id', 'tax', 'photo', 'other', None]]
    title: NotRequired[str | None]

class DocumentRequestEntry(TypedDict):
    """A document request in the list of the control API."""

    completedAt: str | None
    conversationId: str
    customer: str | None
    dueDate: str | None
    id: str
    items: list[RequestedItem]
    link: str
    messageId: str
    sentAt: str | None
    subject: str

class Effect(TypedDict):
    """What a client or a receiver gets instead of the regular response or request."""

    act: NotRequired[list[ControlCall] | None]
    body: NotRequired[str | None]
    delayMs: NotRequired[Latency | None]
    drop: NotRequired[FaultTiming | None]
    headers: NotRequired[EffectHeaders]
    lateSeconds: NotRequired[float | None]
    status: NotRequired[int | None]
    swap: NotRequired[bool | None]
    truncate: NotRequired[int | None]
    twice: NotRequired[bool | None]
    when: NotRequired[FaultTiming | None]

# Headers of the response, such as `Retry-After`.
EffectHeaders: TypeAlias = 'dict[str, str]'

# An empty object.
EmptyObject: TypeAlias = 'dict[str, Any]'

class Error(TypedDict):
    """Every error has this one field."""

    error: str

# The clock that an expectation waits on.
ExpectTime: TypeAlias = "Literal['virtual'] | Literal['real']"

class Expectation(TypedDict):
    """An expectation: what must happen, how often, and within what span."""

    count: NotRequired[ExpectedCount]
    of: ExpectedKind
    since: NotRequired[str | None]
    time: NotRequired[ExpectTime | None]
    where: NotRequired[ExpectationWhere]
    withinSeconds: NotRequired[float]

class ExpectationMet(TypedDict):
    """An expectation that was met."""

    count: int
    matches: list[Any]
    now: str

# The fields that each must have; a dot leads into one (`body.send`), `*` in a text stands for any run of characters. A path may stand without the `/api/v1` in front.
ExpectationWhere: TypeAlias = 'dict[str, Any]'

# The expected number: an exact one, or a range.
ExpectedCount: TypeAlias = 'int | dict[str, Any]'

# The kind of thing that is expected.
ExpectedKind: TypeAlias = "Literal['requests'] | Literal['outbox'] | Literal['deliveries'] | Literal['events']"

class Fault(TypedDict):
    """A rule that was added, and how often it has fired."""

    acted: NotRequired[list[int]]
    agentId: NotRequired[str | None]
    body: NotRequired[Any]
    bundle: NotRequired[str | None]
    effect: Effect
    event: NotRequired[Literal['ask.completed', 'client.replied', 'conversation.assigned', 'turn.changed', 'draft.approved', 'message.sent', 'booking.created', 'booking.cancelled', 'scout.held', 'webhook.test', None]]
    fired: int
    forSeconds: NotRequired[float | None]
    id: str
    matched: int
    method: str | None
    path: str | None
    probability: float
    query: NotRequired[FaultQuery]
    seed: NotRequired[int | None]
    skip: int
    times: int | None
    tool: NotRequired[str | None]
    until: NotRequired[str | None]
    webhook: NotRequired[str | None]

# Only requests with these query parameters; `*` stands for any run of characters.
FaultQuery: TypeAlias = 'dict[str, str]'

class FaultRule(TypedDict):
    """A rule: which requests or webhooks fail, and how."""

    agentId: NotRequired[str | None]
    body: NotRequired[Any]
    effect: Effect
    event: NotRequired[Literal['ask.completed', 'client.replied', 'conversation.assigned', 'turn.changed', 'draft.approved', 'message.sent', 'booking.created', 'booking.cancelled', 'scout.held', 'webhook.test', None]]
    forSeconds: NotRequired[float | None]
    method: str | None
    path: str | None
    probability: float
    query: NotRequired[FaultQuery]
    seed: NotRequired[int | None]
    skip: int
    times: int | None
    tool: NotRequired[str | None]
    webhook: NotRequired[str | None]

class FaultRuleInput(TypedDict):
    """A rule: which requests or webhooks fail, and how."""

    agentId: NotRequired[str | None]
    body: NotRequired[Any]
    effect: Effect
    event: NotRequired[Literal['ask.completed', 'client.replied', 'conversation.assigned', 'turn.changed', 'draft.approved', 'message.sent', 'booking.created', 'booking.cancelled', 'scout.held', 'webhook.test', None]]
    forSeconds: NotRequired[float | None]
    method: NotRequired[str | None]
    path: NotRequired[str | None]
    probability: NotRequired[float]
    query: NotRequired[FaultQuery]
    seed: NotRequired[int | None]
    skip: NotRequired[int]
    times: NotRequired[int | None]
    tool: NotRequired[str | None]
    webhook: NotRequired[str | None]

# Whether a fault applies before or after the request takes effect.
FaultTiming: TypeAlias = "Literal['before', 'after']"

# One place where two worlds differ.
FieldChange = TypedDict('FieldChange', {'is': 'NotRequired[Any]', 'path': 'str', 'was': 'NotRequired[Any]'})

class FiredJob(TypedDict):
    """A job that ran, as the control API reports it."""

    at: str
    conversationId: NotRequired[str | None]
    customer: NotRequired[str | None]
    event: NotRequired[str | None]
    job: str
    subject: str
    url: NotRequired[str | None]

class Health(TypedDict):
    """The health of the server."""

    status: str
    version: str

class HelperDraft(TypedDict):
    """A draft of the helper that writes replies."""

    body: str
    summary: NotRequired[str | None]

class InboundFile(TypedDict):
    """A file attached to an email, and what the document-reading helper finds in it."""

    contentType: str
    fields: NotRequired[DocumentFields]
    filename: str
    kind: NotRequired[Literal['invoice', 'receipt', 'statement', 'contract', 'id', 'tax', 'photo', 'other', None]]
    size: int
    title: NotRequired[str | None]

# A live email from a customer.
InboundMail = TypedDict('InboundMail', {'attachments': 'NotRequired[list[InboundFile]]', 'autoReply': 'NotRequired[bool]', 'conversationId': 'NotRequired[str | None]', 'dmarc': 'NotRequired[Dmarc]', 'from': 'str', 'held': 'NotRequired[bool]', 'inReplyTo': 'NotRequired[str | None]', 'name': 'NotRequired[str | None]', 'risk': 'NotRequired[str | None]', 'riskReasons': 'NotRequired[list[str]]', 'secure': 'NotRequired[bool]', 'subject': 'NotRequired[str | None]', 'text': 'str', 'to': 'str', 'topic': 'NotRequired[str | None]', 'urgency': "NotRequired[Literal['low', 'normal', 'high', None]]"})

class InboundResult(TypedDict):
    """The result of an incoming email."""

    conversationId: str
    created: bool
    documentIds: list[str]
    messageId: str

# One item of a timeline.
Item: TypeAlias = 'dict[str, Any] | Note | TimelineEvent'

class JobEntry(TypedDict):
    """A job in the list of the control API."""

    conversationId: NotRequired[str | None]
    customer: NotRequired[str | None]
    dueAt: str
    event: NotRequired[str | None]
    job: str
    subject: str
    url: NotRequired[str | None]

class JournalEntry(TypedDict):
    """A request of the journal."""

    agentId: str | None
    at: str
    conversationId: str | None
    customer: str | None
    durationMs: int
    faultId: str | None
    id: str
    method: str
    path: str
    query: str
    requestBody: Any
    requestHeaders: JournalEntryRequestHeaders
    responseBody: Any
    responseHeaders: JournalEntryResponseHeaders
    status: int | None
    subject: str | None
    tool: str | None
    traceparent: str | None
    transport: Transport

# The headers as they came, with names in lower case; without `authorization` and cookies.
JournalEntryRequestHeaders: TypeAlias = 'dict[str, str]'

# The headers of the response; null when there was no response, or when it is no longer kept.
JournalEntryResponseHeaders: TypeAlias = 'dict[str, str] | None'

class KeyEntry(TypedDict):
    """A key in the list of the control API."""

    agentId: str
    createdBy: str | None
    livemode: bool
    name: str
    revoked: bool
    scopes: list[str]

# The delay of a response.
Latency: TypeAlias = 'int | dict[str, Any]'

# The outcome of an email.
MailOutcome: TypeAlias = "Literal['sent'] | Literal['failed']"

class MailboxEntry(TypedDict):
    """An inbox in the list of the control API."""

    address: str
    id: str
    name: str
    open: int
    owner: str | None
    sandbox: bool

class MoveClock(TypedDict):
    """How far to move the clock: one of the three."""

    advanceSeconds: NotRequired[float | None]
    nextJob: NotRequired[bool | None]
    to: NotRequired[str | None]

class NewBooking(TypedDict):
    """A booking to create."""

    bookingTypeId: NotRequired[str | None]
    conversationId: NotRequired[str | None]
    endsAt: str
    hostUserId: str
    startsAt: str

class NewDocument(TypedDict):
    """A file that a person puts into the library, without a conversation."""

    fields: NotRequired[DocumentFields]
    filename: str
    kind: NotRequired[Literal['invoice', 'receipt', 'statement', 'contract', 'id', 'tax', 'photo', 'other', None]]
    mailbox: str
    title: NotRequired[str | None]

class NewKey(TypedDict):
    """A key to create."""

    createdBy: NotRequired[str | None]
    livemode: bool
    name: str
    scopes: list[Literal['read', 'write', 'draft', 'send', 'record']]

class NewMailbox(TypedDict):
    """An inbox to add."""

    address: str
    name: str
    owner: NotRequired[str | None]

class NewSnapshot(TypedDict):
    """A snapshot to take."""

    name: str

class NewUser(TypedDict):
    """A person to add."""

    name: str

class NewWorld(TypedDict):
    """How a new world starts."""

    clock: NotRequired[ClockMode | None]
    empty: NotRequired[bool]
    seed: NotRequired[Any]

class Note(TypedDict):
    """An internal note: seen by the team, never by the customer."""

    at: str
    author: str
    body: str
    id: str

class OkResponse(TypedDict):
    """`{"ok": true}`."""

    ok: bool

# The reason for an email.
OutboxKind: TypeAlias = "Literal['reply'] | Literal['reminder'] | Literal['notice']"

class OutboxMail(TypedDict):
    """An email that was sent or failed to send."""

    at: str
    kind: OutboxKind
    messageId: str | None
    outcome: MailOutcome
    subject: str
    text: str
    to: str

# The plan of a workspace.
Plan: TypeAlias = "Literal['free'] | Literal['pro'] | Literal['team']"

# The whole world as one document. `shared-inbox-mock schema` prints its JSON Schema.
PutStateBody: TypeAlias = 'dict[str, Any]'

class QueuedDraft(TypedDict):
    """A draft in the approval queue."""

    at: str
    conversationId: str
    customer: str | None
    draftedBy: str | None
    draftedByName: str | None
    messageId: str
    subject: str
    summary: str | None
    text: str

class Ready(TypedDict):
    """Where a world can be reached, and its two keys, which hold all scopes."""

    base_url: str
    console_url: str
    control_url: str
    id: NotRequired[str | None]
    keys: ReadyKeys
    mcp_url: str

class ReadyKeys(TypedDict):
    """The two keys that a world has from its start."""

    live: str
    test: str

class ReplyResult(TypedDict):
    """The result of a reply or a document request."""

    messageId: str
    note: NotRequired[str]
    requestId: NotRequired[str]
    sendsAt: NotRequired[str]
    status: str

class RequestedItem(TypedDict):
    """One requested document."""

    description: str | None
    documents: list[str]
    label: str
    required: bool

class RotatedSecret(TypedDict):
    """The new secret of a webhook."""

    secret: str

class Sender(TypedDict):
    """The sender of a message."""

    email: str
    name: str | None

class SentMail(TypedDict):
    """An email of the outbox as its recipient would get it."""

    at: str
    conversationId: str | None
    headers: SentMailHeaders
    kind: OutboxKind
    messageId: str | None
    outcome: MailOutcome
    source: str
    subject: str
    text: str
    to: str

# Its headers.
SentMailHeaders: TypeAlias = 'dict[str, str]'

class SignatureHeaders(TypedDict):
    """The headers that sign one attempt."""

    signature: str
    timestamp: str

class SnapshotEntry(TypedDict):
    """A snapshot in the list."""

    at: str
    bytes: int
    name: str

class Snooze(TypedDict):
    """A snooze of a conversation."""

    by: NotRequired[str | None]
    until: str | None

# The order of a list.
SortOrder: TypeAlias = "Literal['oldest'] | Literal['newest']"

class SortingResult(TypedDict):
    """The findings of the sorting helper. A field that is left out stays as it is; null clears it."""

    held: NotRequired[bool]
    risk: NotRequired[str | None]
    riskReasons: NotRequired[list[str] | None]
    topic: NotRequired[str | None]
    urgency: NotRequired[Literal['low', 'normal', 'high', None]]

class StatusChange(TypedDict):
    """A status that someone on the team sets in the app."""

    by: NotRequired[str | None]
    status: Literal['open', 'waiting', 'closed']

# The kind of a trace's step.
StepKind: TypeAlias = "Literal['request'] | Literal['control'] | Literal['job'] | Literal['message'] | Literal['note'] | Literal['conversation'] | Literal['document'] | Literal['document-request'] | Literal['booking'] | Literal['app-mail'] | Literal['event'] | Literal['webhook']"

class StopMessage(TypedDict):
    """Stops a scheduled message."""

    by: NotRequired[str | None]

class Tag(TypedDict):
    """A tag."""

    count: int
    id: str
    name: str

class TagChange(TypedDict):
    """A change of tags by someone on the team."""

    add: NotRequired[list[str]]
    by: NotRequired[str | None]
    remove: NotRequired[list[str]]

class Team(TypedDict):
    """The people and agents that a conversation can be assigned to."""

    agents: list[TeamMember]
    people: list[TeamMember]

class TeamMember(TypedDict):
    """A member of the team."""

    id: str
    name: str

class TeamNote(TypedDict):
    """A note that someone on the team writes in the app."""

    body: str
    by: NotRequired[str | None]

class TeamReply(TypedDict):
    """A reply that someone on the team writes in the app. It goes out when the undo window has passed, unless it is kept as a draft."""

    body: str
    by: NotRequired[str | None]
    documents: NotRequired[list[TeamReplyDocument]]
    secure: NotRequired[bool]
    send: NotRequired[bool]

class TeamReplyDocument(TypedDict):
    """TeamReplyDocument"""

    description: NotRequired[str]
    label: str
    required: NotRequired[bool]

class TestEvent(TypedDict):
    """A test event that was sent."""

    eventId: str

class TimelineEvent(TypedDict):
    """Something that was done to a conversation."""

    actor: str
    at: str
    data: TimelineEventData
    event: str

# More about it; what is in it depends on the event.
TimelineEventData: TypeAlias = 'dict[str, Any]'

# Which clock the `webhook-timestamp` header is read from.
TimestampSource: TypeAlias = "Literal['mock'] | Literal['real']"

class Trace(TypedDict):
    """What led to something, and what it led to."""

    id: str
    steps: list[TraceStep]

class TraceDelivery(TypedDict):
    """The delivery of an event to one webhook."""

    attempts: list[Attempt]
    nextAttemptAt: str | None
    outcome: DeliveryOutcome
    url: str
    webhookId: str

class TraceStep(TypedDict):
    """One step of a trace."""

    at: str
    cause: int | None
    conversationId: str | None
    customer: NotRequired[str | None]
    deliveries: NotRequired[list[TraceDelivery] | None]
    dueAt: NotRequired[str | None]
    excerpt: NotRequired[str | None]
    faultId: NotRequired[str | None]
    id: str
    kind: StepKind
    method: NotRequired[str | None]
    number: int
    path: NotRequired[str | None]
    status: NotRequired[int | None]
    subject: NotRequired[str | None]
    traceparent: NotRequired[str | None]
    what: str

# How a request came in.
Transport: TypeAlias = "Literal['rest'] | Literal['mcp']"

class Unused(TypedDict):
    """Something that a test set up and that had no effect."""

    message: str
    what: UnusedKind

# What had no effect.
UnusedKind: TypeAlias = "Literal['fault'] | Literal['expectation']"

class Upload(TypedDict):
    """A file that the customer uploads."""

    contentType: NotRequired[str | None]
    fields: NotRequired[DocumentFields | None]
    filename: str
    item: int
    kind: NotRequired[Literal['invoice', 'receipt', 'statement', 'contract', 'id', 'tax', 'photo', 'other', None]]
    size: NotRequired[int | None]

class UploadResult(TypedDict):
    """The result of an upload."""

    complete: bool
    documentId: str

class User(TypedDict):
    """A person on the team."""

    id: str
    name: str

# The inboxes whose events an endpoint receives.
WebhookScope: TypeAlias = "Literal['team'] | Literal['private']"

# Whether events are sent to an endpoint.
WebhookState: TypeAlias = "Literal['on'] | Literal['paused'] | Literal['off']"

class WebhookView(TypedDict):
    """A webhook in the list of the control API."""

    events: list[str]
    failingSince: str | None
    id: str
    lastError: str | None
    livemode: bool
    owner: str | None
    scope: WebhookScope
    state: WebhookState
    timestamps: TimestampSource
    url: str

class WorkspacePlan(TypedDict):
    """What the workspace pays for."""

    plan: Plan

class WorldDifference(TypedDict):
    """The difference between two worlds."""

    changes: list[FieldChange]
    text: str


class Control(Caller):
    """The control API of one world."""

    def list_approvals(self, *, least: int | None = None, wait: float | None = None) -> list[QueuedDraft]:
        """The drafts that wait for a person, oldest first."""
        response: list[QueuedDraft] = self._call("GET", "/approvals", query={"least": least, "wait": wait})
        return response

    def list_bookings(self, *, least: int | None = None, wait: float | None = None) -> list[BookingRecord]:
        """Every booking, oldest first."""
        response: list[BookingRecord] = self._call("GET", "/bookings", query={"least": least, "wait": wait})
        return response

    def create_booking(self, body: NewBooking) -> CreatedBooking:
        """Someone books a time."""
        response: CreatedBooking = self._call("POST", "/bookings", body=body)
        return response

    def cancel_booking(self, id: str) -> OkResponse:
        """A booking is cancelled."""
        response: OkResponse = self._call("POST", "/bookings/{}/cancel", id)
        return response

    def list_bundles(self, *, least: int | None = None, wait: float | None = None) -> list[Bundle]:
        """Sets of rules to switch on by name."""
        response: list[Bundle] = self._call("GET", "/bundles", query={"least": least, "wait": wait})
        return response

    def switch_off(self, id: str) -> None:
        """Switches a bundle off."""
        self._call("DELETE", "/bundles/{}", id)

    def switch_on(self, id: str) -> list[Fault]:
        """Switches a bundle on."""
        response: list[Fault] = self._call("POST", "/bundles/{}", id)
        return response

    def get_clock(self) -> ClockReading:
        """What the clock shows."""
        response: ClockReading = self._call("GET", "/clock")
        return response

    def move_clock(self, body: MoveClock | None = None) -> ClockAdvance:
        """Moves the clock ahead."""
        response: ClockAdvance = self._call("POST", "/clock", body=body)
        return response

    def list_conversations(self, *, mailbox: str | None = None, q: str | None = None, tag: str | None = None, view: Literal['open', 'waiting', 'snoozed', 'closed', 'all', None] = None, limit: int | None = None, offset: int | None = None, least: int | None = None, wait: float | None = None) -> list[ConversationEntry]:
        """Conversations of all inboxes, newest first."""
        response: list[ConversationEntry] = self._call("GET", "/conversations", query={"mailbox": mailbox, "q": q, "tag": tag, "view": view, "limit": limit, "offset": offset, "least": least, "wait": wait})
        return response

    def get_conversation(self, id: str) -> ConversationView:
        """A conversation, whole."""
        response: ConversationView = self._call("GET", "/conversations/{}", id)
        return response

    def assign(self, id: str, body: Assignment) -> OkResponse:
        """Gives a conversation to someone, or to nobody."""
        response: OkResponse = self._call("POST", "/conversations/{}/assign", id, body=body)
        return response

    def draft(self, id: str, body: HelperDraft) -> ReplyResult:
        """The drafting helper writes a reply."""
        response: ReplyResult = self._call("POST", "/conversations/{}/drafts", id, body=body)
        return response

    def add_note(self, id: str, body: TeamNote) -> CreatedNote:
        """Someone on the team writes a note."""
        response: CreatedNote = self._call("POST", "/conversations/{}/notes", id, body=body)
        return response

    def reply(self, id: str, body: TeamReply) -> ReplyResult:
        """Someone on the team replies."""
        response: ReplyResult = self._call("POST", "/conversations/{}/replies", id, body=body)
        return response

    def snooze(self, id: str, body: Snooze) -> OkResponse:
        """A person snoozes a conversation, or ends its snooze."""
        response: OkResponse = self._call("POST", "/conversations/{}/snooze", id, body=body)
        return response

    def sort(self, id: str, body: SortingResult | None = None) -> OkResponse:
        """The sorting helper looks at a conversation."""
        response: OkResponse = self._call("POST", "/conversations/{}/sorting", id, body=body)
        return response

    def set_status(self, id: str, body: StatusChange) -> OkResponse:
        """Someone on the team sets the status."""
        response: OkResponse = self._call("POST", "/conversations/{}/status", id, body=body)
        return response

    def edit_tags(self, id: str, body: TagChange | None = None) -> OkResponse:
        """Someone on the team adds and removes tags."""
        response: OkResponse = self._call("POST", "/conversations/{}/tags", id, body=body)
        return response

    def list_document_requests(self, *, least: int | None = None, wait: float | None = None) -> list[DocumentRequestEntry]:
        """Every document request, oldest first."""
        response: list[DocumentRequestEntry] = self._call("GET", "/document-requests", query={"least": least, "wait": wait})
        return response

    def upload(self, id: str, body: Upload) -> UploadResult:
        """A customer uploads a requested document."""
        response: UploadResult = self._call("POST", "/document-requests/{}/uploads", id, body=body)
        return response

    def list_documents(self, *, kind: Literal['invoice', 'receipt', 'statement', 'contract', 'id', 'tax', 'photo', 'other', None] = None, q: str | None = None, limit: int | None = None, offset: int | None = None, least: int | None = None, wait: float | None = None) -> list[Document]:
        """Documents of all inboxes, newest first."""
        response: list[Document] = self._call("GET", "/documents", query={"kind": kind, "q": q, "limit": limit, "offset": offset, "least": least, "wait": wait})
        return response

    def file_document(self, body: NewDocument) -> CreatedDocument:
        """A person puts a file into the library."""
        response: CreatedDocument = self._call("POST", "/documents", body=body)
        return response

    def read_document(self, id: str, body: DocumentReading | None = None) -> OkResponse:
        """The document-reading helper looks at a document."""
        response: OkResponse = self._call("POST", "/documents/{}/reading", id, body=body)
        return response

    def expect(self, body: Expectation) -> ExpectationMet:
        """Waits until something has happened that must happen."""
        response: ExpectationMet = self._call("POST", "/expect", body=body)
        return response

    def clear_faults(self) -> None:
        """Removes all rules."""
        self._call("DELETE", "/faults")

    def list_faults(self, *, least: int | None = None, wait: float | None = None) -> list[Fault]:
        """The rules, and how often each has fired."""
        response: list[Fault] = self._call("GET", "/faults", query={"least": least, "wait": wait})
        return response

    def add_fault(self, body: FaultRuleInput) -> Fault:
        """Makes requests or webhooks go wrong."""
        response: Fault = self._call("POST", "/faults", body=body)
        return response

    def remove_fault(self, id: str) -> None:
        """Removes one rule."""
        self._call("DELETE", "/faults/{}", id)

    def health(self) -> Health:
        """Returns whether the server is up."""
        response: Health = self._call("GET", "/health")
        return response

    def inbound(self, body: InboundMail) -> InboundResult:
        """A customer's mail comes in."""
        response: InboundResult = self._call("POST", "/inbound", body=body)
        return response

    def list_jobs(self, *, least: int | None = None, wait: float | None = None) -> list[JobEntry]:
        """What is due and when, soonest first."""
        response: list[JobEntry] = self._call("GET", "/jobs", query={"least": least, "wait": wait})
        return response

    def list_keys(self, *, least: int | None = None, wait: float | None = None) -> list[KeyEntry]:
        """All keys, without what is secret about them."""
        response: list[KeyEntry] = self._call("GET", "/keys", query={"least": least, "wait": wait})
        return response

    def create_key(self, body: NewKey) -> CreatedKey:
        """A new key, shown this once."""
        response: CreatedKey = self._call("POST", "/keys", body=body)
        return response

    def revoke_key(self, id: str) -> None:
        """Revokes the key of an agent."""
        self._call("DELETE", "/keys/{}", id)

    def list_mailboxes(self, *, least: int | None = None, wait: float | None = None) -> list[MailboxEntry]:
        """All inboxes."""
        response: list[MailboxEntry] = self._call("GET", "/mailboxes", query={"least": least, "wait": wait})
        return response

    def create_mailbox(self, body: NewMailbox) -> MailboxEntry:
        """A new inbox."""
        response: MailboxEntry = self._call("POST", "/mailboxes", body=body)
        return response

    def approve(self, id: str, body: Approval | None = None) -> ApprovalResult:
        """A person approves a draft."""
        response: ApprovalResult = self._call("POST", "/messages/{}/approve", id, body=body)
        return response

    def bounce(self, id: str) -> OkResponse:
        """A mail comes back."""
        response: OkResponse = self._call("POST", "/messages/{}/bounce", id)
        return response

    def discard(self, id: str, body: DiscardDraft | None = None) -> OkResponse:
        """A person throws a draft away."""
        response: OkResponse = self._call("POST", "/messages/{}/discard", id, body=body)
        return response

    def stop(self, id: str, body: StopMessage | None = None) -> OkResponse:
        """A person stops a message in its undo window."""
        response: OkResponse = self._call("POST", "/messages/{}/stop", id, body=body)
        return response

    def openapi(self) -> dict[str, Any]:
        """This document."""
        response: dict[str, Any] = self._call("GET", "/openapi.json")
        return response

    def list_outbox(self, *, least: int | None = None, wait: float | None = None) -> list[OutboxMail]:
        """Every mail that left or was meant to."""
        response: list[OutboxMail] = self._call("GET", "/outbox", query={"least": least, "wait": wait})
        return response

    def get_outbox_mail(self, number: str) -> SentMail:
        """One mail of the outbox."""
        response: SentMail = self._call("GET", "/outbox/{}", number)
        return response

    def get_plan(self) -> WorkspacePlan:
        """The workspace's plan."""
        response: WorkspacePlan = self._call("GET", "/plan")
        return response

    def set_plan(self, body: WorkspacePlan) -> OkResponse:
        """Changes the workspace's plan."""
        response: OkResponse = self._call("PUT", "/plan", body=body)
        return response

    def ready(self) -> Ready:
        """The addresses and the two keys of this world."""
        response: Ready = self._call("GET", "/ready")
        return response

    def clear_requests(self) -> None:
        """Forgets the requests so far."""
        self._call("DELETE", "/requests")

    def list_requests(self, *, agent: str | None = None, fault: str | None = None, livemode: bool | None = None, method: str | None = None, order: SortOrder | None = None, q: str | None = None, responses: bool | None = None, status: str | None = None, transport: Transport | None = None, limit: int | None = None, offset: int | None = None, least: int | None = None, wait: float | None = None) -> list[JournalEntry]:
        """The requests to the service so far, oldest first."""
        response: list[JournalEntry] = self._call("GET", "/requests", query={"agent": agent, "fault": fault, "livemode": livemode, "method": method, "order": order, "q": q, "responses": responses, "status": status, "transport": transport, "limit": limit, "offset": offset, "least": least, "wait": wait})
        return response

    def get_request(self, id: str) -> JournalEntry:
        """One request."""
        response: JournalEntry = self._call("GET", "/requests/{}", id)
        return response

    def reset(self) -> OkResponse:
        """Puts the world back to its start."""
        response: OkResponse = self._call("POST", "/reset")
        return response

    def list_snapshots(self, *, least: int | None = None, wait: float | None = None) -> list[SnapshotEntry]:
        """The snapshots of this world."""
        response: list[SnapshotEntry] = self._call("GET", "/snapshots", query={"least": least, "wait": wait})
        return response

    def take_snapshot(self, body: NewSnapshot) -> SnapshotEntry:
        """Keeps the world as it is now under a name."""
        response: SnapshotEntry = self._call("POST", "/snapshots", body=body)
        return response

    def delete_snapshot(self, id: str) -> None:
        """Forgets a snapshot."""
        self._call("DELETE", "/snapshots/{}", id)

    def get_snapshot(self, id: str) -> dict[str, Any]:
        """The world document of a snapshot."""
        response: dict[str, Any] = self._call("GET", "/snapshots/{}", id)
        return response

    def compare_snapshots(self, id: str, *, to: str | None = None) -> WorldDifference:
        """What is different since a snapshot."""
        response: WorldDifference = self._call("GET", "/snapshots/{}/diff", id, query={"to": to})
        return response

    def restore_snapshot(self, id: str) -> OkResponse:
        """Makes the world what it was at a snapshot."""
        response: OkResponse = self._call("POST", "/snapshots/{}/restore", id)
        return response

    def get_state(self) -> dict[str, Any]:
        """The whole world as one document."""
        response: dict[str, Any] = self._call("GET", "/state")
        return response

    def put_state(self, body: PutStateBody) -> OkResponse:
        """Makes the world what a document says."""
        response: OkResponse = self._call("PUT", "/state", body=body)
        return response

    def list_tags(self, *, least: int | None = None, wait: float | None = None) -> list[Tag]:
        """All tags, counted over all inboxes."""
        response: list[Tag] = self._call("GET", "/tags", query={"least": least, "wait": wait})
        return response

    def get_trace(self, id: str) -> Trace:
        """What led to something, and what it led to."""
        response: Trace = self._call("GET", "/traces/{}", id)
        return response

    def list_unused(self, *, least: int | None = None, wait: float | None = None) -> list[Unused]:
        """What a test set up and what had no effect."""
        response: list[Unused] = self._call("GET", "/unused", query={"least": least, "wait": wait})
        return response

    def list_users(self, *, least: int | None = None, wait: float | None = None) -> list[User]:
        """Everyone on the team."""
        response: list[User] = self._call("GET", "/users", query={"least": least, "wait": wait})
        return response

    def create_user(self, body: NewUser) -> User:
        """A new person on the team."""
        response: User = self._call("POST", "/users", body=body)
        return response

    def list_webhooks(self, *, least: int | None = None, wait: float | None = None) -> list[WebhookView]:
        """All webhooks."""
        response: list[WebhookView] = self._call("GET", "/webhooks", query={"least": least, "wait": wait})
        return response

    def create_webhook(self, body: CreateWebhook) -> CreatedWebhook:
        """Adds a webhook."""
        response: CreatedWebhook = self._call("POST", "/webhooks", body=body)
        return response

    def delete_webhook(self, id: str) -> None:
        """Removes a webhook."""
        self._call("DELETE", "/webhooks/{}", id)

    def check_receiver(self, id: str) -> CheckReport:
        """Checks the receiver of a webhook."""
        response: CheckReport = self._call("POST", "/webhooks/{}/check", id)
        return response

    def list_deliveries(self, id: str, *, outcome: DeliveryOutcome | None = None, type: Literal['ask.completed', 'client.replied', 'conversation.assigned', 'turn.changed', 'draft.approved', 'message.sent', 'booking.created', 'booking.cancelled', 'scout.held', 'webhook.test', None] = None, limit: int | None = None, offset: int | None = None, least: int | None = None, wait: float | None = None) -> list[DeliveryView]:
        """The log of a webhook, newest first."""
        response: list[DeliveryView] = self._call("GET", "/webhooks/{}/deliveries", id, query={"outcome": outcome, "type": type, "limit": limit, "offset": offset, "least": least, "wait": wait})
        return response

    def get_delivery(self, id: str, event: str) -> DeliveryDetail:
        """One delivery, with the exact body and headers of each attempt."""
        response: DeliveryDetail = self._call("GET", "/webhooks/{}/deliveries/{}", id, event)
        return response

    def redeliver(self, id: str, event: str) -> EmptyObject:
        """Sends an event again, with the same id."""
        response: EmptyObject = self._call("POST", "/webhooks/{}/deliveries/{}/redeliver", id, event)
        return response

    def pause_webhook(self, id: str) -> OkResponse:
        """Sends nothing until it is resumed."""
        response: OkResponse = self._call("POST", "/webhooks/{}/pause", id)
        return response

    def resume_webhook(self, id: str) -> OkResponse:
        """Sends to a webhook again."""
        response: OkResponse = self._call("POST", "/webhooks/{}/resume", id)
        return response

    def rotate_webhook(self, id: str) -> RotatedSecret:
        """Gives a webhook a new secret."""
        response: RotatedSecret = self._call("POST", "/webhooks/{}/rotate", id)
        return response

    def test_webhook(self, id: str) -> TestEvent:
        """Sends a test event."""
        response: TestEvent = self._call("POST", "/webhooks/{}/test", id)
        return response

    def list_worlds(self, *, least: int | None = None, wait: float | None = None) -> list[Ready]:
        """The worlds of this server, the main one first."""
        response: list[Ready] = self._call("GET", "/worlds", query={"least": least, "wait": wait})
        return response

    def create_world(self, body: NewWorld | None = None) -> Ready:
        """A new world beside this one."""
        response: Ready = self._call("POST", "/worlds", body=body)
        return response

    def delete_world(self, id: str) -> None:
        """Ends a world."""
        self._call("DELETE", "/worlds/{}", id)


class AsyncControl:
    """The control API of one world, for tests whose app runs in their own event loop."""

    def __init__(self, control: Control) -> None:
        self._control = control

    async def list_approvals(self, *, least: int | None = None, wait: float | None = None) -> list[QueuedDraft]:
        """The drafts that wait for a person, oldest first."""
        return await in_thread(self._control.list_approvals, least=least, wait=wait)

    async def list_bookings(self, *, least: int | None = None, wait: float | None = None) -> list[BookingRecord]:
        """Every booking, oldest first."""
        return await in_thread(self._control.list_bookings, least=least, wait=wait)

    async def create_booking(self, body: NewBooking) -> CreatedBooking:
        """Someone books a time."""
        return await in_thread(self._control.create_booking, body)

    async def cancel_booking(self, id: str) -> OkResponse:
        """A booking is cancelled."""
        return await in_thread(self._control.cancel_booking, id)

    async def list_bundles(self, *, least: int | None = None, wait: float | None = None) -> list[Bundle]:
        """Sets of rules to switch on by name."""
        return await in_thread(self._control.list_bundles, least=least, wait=wait)

    async def switch_off(self, id: str) -> None:
        """Switches a bundle off."""
        await in_thread(self._control.switch_off, id)

    async def switch_on(self, id: str) -> list[Fault]:
        """Switches a bundle on."""
        return await in_thread(self._control.switch_on, id)

    async def get_clock(self) -> ClockReading:
        """What the clock shows."""
        return await in_thread(self._control.get_clock)

    async def move_clock(self, body: MoveClock | None = None) -> ClockAdvance:
        """Moves the clock ahead."""
        return await in_thread(self._control.move_clock, body)

    async def list_conversations(self, *, mailbox: str | None = None, q: str | None = None, tag: str | None = None, view: Literal['open', 'waiting', 'snoozed', 'closed', 'all', None] = None, limit: int | None = None, offset: int | None = None, least: int | None = None, wait: float | None = None) -> list[ConversationEntry]:
        """Conversations of all inboxes, newest first."""
        return await in_thread(self._control.list_conversations, mailbox=mailbox, q=q, tag=tag, view=view, limit=limit, offset=offset, least=least, wait=wait)

    async def get_conversation(self, id: str) -> ConversationView:
        """A conversation, whole."""
        return await in_thread(self._control.get_conversation, id)

    async def assign(self, id: str, body: Assignment) -> OkResponse:
        """Gives a conversation to someone, or to nobody."""
        return await in_thread(self._control.assign, id, body)

    async def draft(self, id: str, body: HelperDraft) -> ReplyResult:
        """The drafting helper writes a reply."""
        return await in_thread(self._control.draft, id, body)

    async def add_note(self, id: str, body: TeamNote) -> CreatedNote:
        """Someone on the team writes a note."""
        return await in_thread(self._control.add_note, id, body)

    async def reply(self, id: str, body: TeamReply) -> ReplyResult:
        """Someone on the team replies."""
        return await in_thread(self._control.reply, id, body)

    async def snooze(self, id: str, body: Snooze) -> OkResponse:
        """A person snoozes a conversation, or ends its snooze."""
        return await in_thread(self._control.snooze, id, body)

    async def sort(self, id: str, body: SortingResult | None = None) -> OkResponse:
        """The sorting helper looks at a conversation."""
        return await in_thread(self._control.sort, id, body)

    async def set_status(self, id: str, body: StatusChange) -> OkResponse:
        """Someone on the team sets the status."""
        return await in_thread(self._control.set_status, id, body)

    async def edit_tags(self, id: str, body: TagChange | None = None) -> OkResponse:
        """Someone on the team adds and removes tags."""
        return await in_thread(self._control.edit_tags, id, body)

    async def list_document_requests(self, *, least: int | None = None, wait: float | None = None) -> list[DocumentRequestEntry]:
        """Every document request, oldest first."""
        return await in_thread(self._control.list_document_requests, least=least, wait=wait)

    async def upload(self, id: str, body: Upload) -> UploadResult:
        """A customer uploads a requested document."""
        return await in_thread(self._control.upload, id, body)

    async def list_documents(self, *, kind: Literal['invoice', 'receipt', 'statement', 'contract', 'id', 'tax', 'photo', 'other', None] = None, q: str | None = None, limit: int | None = None, offset: int | None = None, least: int | None = None, wait: float | None = None) -> list[Document]:
        """Documents of all inboxes, newest first."""
        return await in_thread(self._control.list_documents, kind=kind, q=q, limit=limit, offset=offset, least=least, wait=wait)

    async def file_document(self, body: NewDocument) -> CreatedDocument:
        """A person puts a file into the library."""
        return await in_thread(self._control.file_document, body)

    async def read_document(self, id: str, body: DocumentReading | None = None) -> OkResponse:
        """The document-reading helper looks at a document."""
        return await in_thread(self._control.read_document, id, body)

    async def expect(self, body: Expectation) -> ExpectationMet:
        """Waits until something has happened that must happen."""
        return await in_thread(self._control.expect, body)

    async def clear_faults(self) -> None:
        """Removes all rules."""
        await in_thread(self._control.clear_faults)

    async def list_faults(self, *, least: int | None = None, wait: float | None = None) -> list[Fault]:
        """The rules, and how often each has fired."""
        return await in_thread(self._control.list_faults, least=least, wait=wait)

    async def add_fault(self, body: FaultRuleInput) -> Fault:
        """Makes requests or webhooks go wrong."""
        return await in_thread(self._control.add_fault, body)

    async def remove_fault(self, id: str) -> None:
        """Removes one rule."""
        await in_thread(self._control.remove_fault, id)

    async def health(self) -> Health:
        """Returns whether the server is up."""
        return await in_thread(self._control.health)

    async def inbound(self, body: InboundMail) -> InboundResult:
        """A customer's mail comes in."""
        return await in_thread(self._control.inbound, body)

    async def list_jobs(self, *, least: int | None = None, wait: float | None = None) -> list[JobEntry]:
        """What is due and when, soonest first."""
        return await in_thread(self._control.list_jobs, least=least, wait=wait)

    async def list_keys(self, *, least: int | None = None, wait: float | None = None) -> list[KeyEntry]:
        """All keys, without what is secret about them."""
        return await in_thread(self._control.list_keys, least=least, wait=wait)

    async def create_key(self, body: NewKey) -> CreatedKey:
        """A new key, shown this once."""
        return await in_thread(self._control.create_key, body)

    async def revoke_key(self, id: str) -> None:
        """Revokes the key of an agent."""
        await in_thread(self._control.revoke_key, id)

    async def list_mailboxes(self, *, least: int | None = None, wait: float | None = None) -> list[MailboxEntry]:
        """All inboxes."""
        return await in_thread(self._control.list_mailboxes, least=least, wait=wait)

    async def create_mailbox(self, body: NewMailbox) -> MailboxEntry:
        """A new inbox."""
        return await in_thread(self._control.create_mailbox, body)

    async def approve(self, id: str, body: Approval | None = None) -> ApprovalResult:
        """A person approves a draft."""
        return await in_thread(self._control.approve, id, body)

    async def bounce(self, id: str) -> OkResponse:
        """A mail comes back."""
        return await in_thread(self._control.bounce, id)

    async def discard(self, id: str, body: DiscardDraft | None = None) -> OkResponse:
        """A person throws a draft away."""
        return await in_thread(self._control.discard, id, body)

    async def stop(self, id: str, body: StopMessage | None = None) -> OkResponse:
        """A person stops a message in its undo window."""
        return await in_thread(self._control.stop, id, body)

    async def openapi(self) -> dict[str, Any]:
        """This document."""
        return await in_thread(self._control.openapi)

    async def list_outbox(self, *, least: int | None = None, wait: float | None = None) -> list[OutboxMail]:
        """Every mail that left or was meant to."""
        return await in_thread(self._control.list_outbox, least=least, wait=wait)

    async def get_outbox_mail(self, number: str) -> SentMail:
        """One mail of the outbox."""
        return await in_thread(self._control.get_outbox_mail, number)

    async def get_plan(self) -> WorkspacePlan:
        """The workspace's plan."""
        return await in_thread(self._control.get_plan)

    async def set_plan(self, body: WorkspacePlan) -> OkResponse:
        """Changes the workspace's plan."""
        return await in_thread(self._control.set_plan, body)

    async def ready(self) -> Ready:
        """The addresses and the two keys of this world."""
        return await in_thread(self._control.ready)

    async def clear_requests(self) -> None:
        """Forgets the requests so far."""
        await in_thread(self._control.clear_requests)

    async def list_requests(self, *, agent: str | None = None, fault: str | None = None, livemode: bool | None = None, method: str | None = None, order: SortOrder | None = None, q: str | None = None, responses: bool | None = None, status: str | None = None, transport: Transport | None = None, limit: int | None = None, offset: int | None = None, least: int | None = None, wait: float | None = None) -> list[JournalEntry]:
        """The requests to the service so far, oldest first."""
        return await in_thread(self._control.list_requests, agent=agent, fault=fault, livemode=livemode, method=method, order=order, q=q, responses=responses, status=status, transport=transport, limit=limit, offset=offset, least=least, wait=wait)

    async def get_request(self, id: str) -> JournalEntry:
        """One request."""
        return await in_thread(self._control.get_request, id)

    async def reset(self) -> OkResponse:
        """Puts the world back to its start."""
        return await in_thread(self._control.reset)

    async def list_snapshots(self, *, least: int | None = None, wait: float | None = None) -> list[SnapshotEntry]:
        """The snapshots of this world."""
        return await in_thread(self._control.list_snapshots, least=least, wait=wait)

    async def take_snapshot(self, body: NewSnapshot) -> SnapshotEntry:
        """Keeps the world as it is now under a name."""
        return await in_thread(self._control.take_snapshot, body)

    async def delete_snapshot(self, id: str) -> None:
        """Forgets a snapshot."""
        await in_thread(self._control.delete_snapshot, id)

    async def get_snapshot(self, id: str) -> dict[str, Any]:
        """The world document of a snapshot."""
        return await in_thread(self._control.get_snapshot, id)

    async def compare_snapshots(self, id: str, *, to: str | None = None) -> WorldDifference:
        """What is different since a snapshot."""
        return await in_thread(self._control.compare_snapshots, id, to=to)

    async def restore_snapshot(self, id: str) -> OkResponse:
        """Makes the world what it was at a snapshot."""
        return await in_thread(self._control.restore_snapshot, id)

    async def get_state(self) -> dict[str, Any]:
        """The whole world as one document."""
        return await in_thread(self._control.get_state)

    async def put_state(self, body: PutStateBody) -> OkResponse:
        """Makes the world what a document says."""
        return await in_thread(self._control.put_state, body)

    async def list_tags(self, *, least: int | None = None, wait: float | None = None) -> list[Tag]:
        """All tags, counted over all inboxes."""
        return await in_thread(self._control.list_tags, least=least, wait=wait)

    async def get_trace(self, id: str) -> Trace:
        """What led to something, and what it led to."""
        return await in_thread(self._control.get_trace, id)

    async def list_unused(self, *, least: int | None = None, wait: float | None = None) -> list[Unused]:
        """What a test set up and what had no effect."""
        return await in_thread(self._control.list_unused, least=least, wait=wait)

    async def list_users(self, *, least: int | None = None, wait: float | None = None) -> list[User]:
        """Everyone on the team."""
        return await in_thread(self._control.list_users, least=least, wait=wait)

    async def create_user(self, body: NewUser) -> User:
        """A new person on the team."""
        return await in_thread(self._control.create_user, body)

    async def list_webhooks(self, *, least: int | None = None, wait: float | None = None) -> list[WebhookView]:
        """All webhooks."""
        return await in_thread(self._control.list_webhooks, least=least, wait=wait)

    async def create_webhook(self, body: CreateWebhook) -> CreatedWebhook:
        """Adds a webhook."""
        return await in_thread(self._control.create_webhook, body)

    async def delete_webhook(self, id: str) -> None:
        """Removes a webhook."""
        await in_thread(self._control.delete_webhook, id)

    async def check_receiver(self, id: str) -> CheckReport:
        """Checks the receiver of a webhook."""
        return await in_thread(self._control.check_receiver, id)

    async def list_deliveries(self, id: str, *, outcome: DeliveryOutcome | None = None, type: Literal['ask.completed', 'client.replied', 'conversation.assigned', 'turn.changed', 'draft.approved', 'message.sent', 'booking.created', 'booking.cancelled', 'scout.held', 'webhook.test', None] = None, limit: int | None = None, offset: int | None = None, least: int | None = None, wait: float | None = None) -> list[DeliveryView]:
        """The log of a webhook, newest first."""
        return await in_thread(self._control.list_deliveries, id, outcome=outcome, type=type, limit=limit, offset=offset, least=least, wait=wait)

    async def get_delivery(self, id: str, event: str) -> DeliveryDetail:
        """One delivery, with the exact body and headers of each attempt."""
        return await in_thread(self._control.get_delivery, id, event)

    async def redeliver(self, id: str, event: str) -> EmptyObject:
        """Sends an event again, with the same id."""
        return await in_thread(self._control.redeliver, id, event)

    async def pause_webhook(self, id: str) -> OkResponse:
        """Sends nothing until it is resumed."""
        return await in_thread(self._control.pause_webhook, id)

    async def resume_webhook(self, id: str) -> OkResponse:
        """Sends to a webhook again."""
        return await in_thread(self._control.resume_webhook, id)

    async def rotate_webhook(self, id: str) -> RotatedSecret:
        """Gives a webhook a new secret."""
        return await in_thread(self._control.rotate_webhook, id)

    async def test_webhook(self, id: str) -> TestEvent:
        """Sends a test event."""
        return await in_thread(self._control.test_webhook, id)

    async def list_worlds(self, *, least: int | None = None, wait: float | None = None) -> list[Ready]:
        """The worlds of this server, the main one first."""
        return await in_thread(self._control.list_worlds, least=least, wait=wait)

    async def create_world(self, body: NewWorld | None = None) -> Ready:
        """A new world beside this one."""
        return await in_thread(self._control.create_world, body)

    async def delete_world(self, id: str) -> None:
        """Ends a world."""
        await in_thread(self._control.delete_world, id)
