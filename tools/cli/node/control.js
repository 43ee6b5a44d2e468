// What people, customers, time and bad luck do. Generated from the control API's OpenAPI document; do not edit.

import { Caller } from './http.js';

export class Control extends Caller {
    listApprovals(query) { return this.call('GET', '/approvals', undefined, query); }
    listBookings(query) { return this.call('GET', '/bookings', undefined, query); }
    createBooking(body) { return this.call('POST', '/bookings', body); }
    cancelBooking(id) { return this.call('POST', `/bookings/${encodeURIComponent(id)}/cancel`); }
    listBundles(query) { return this.call('GET', '/bundles', undefined, query); }
    switchOff(id) { return this.call('DELETE', `/bundles/${encodeURIComponent(id)}`); }
    switchOn(id) { return this.call('POST', `/bundles/${encodeURIComponent(id)}`); }
    getClock() { return this.call('GET', '/clock'); }
    moveClock(body) { return this.call('POST', '/clock', body); }
    listConversations(query) { return this.call('GET', '/conversations', undefined, query); }
    getConversation(id) { return this.call('GET', `/conversations/${encodeURIComponent(id)}`); }
    assign(id, body) { return this.call('POST', `/conversations/${encodeURIComponent(id)}/assign`, body); }
    draft(id, body) { return this.call('POST', `/conversations/${encodeURIComponent(id)}/drafts`, body); }
    addNote(id, body) { return this.call('POST', `/conversations/${encodeURIComponent(id)}/notes`, body); }
    reply(id, body) { return this.call('POST', `/conversations/${encodeURIComponent(id)}/replies`, body); }
    snooze(id, body) { return this.call('POST', `/conversations/${encodeURIComponent(id)}/snooze`, body); }
    sort(id, body) { return this.call('POST', `/conversations/${encodeURIComponent(id)}/sorting`, body); }
    setStatus(id, body) { return this.call('POST', `/conversations/${encodeURIComponent(id)}/status`, body); }
    editTags(id, body) { return this.call('POST', `/conversations/${encodeURIComponent(id)}/tags`, body); }
    listDocumentRequests(query) { return this.call('GET', '/document-requests', undefined, query); }
    upload(id, body) { return this.call('POST', `/document-requests/${encodeURIComponent(id)}/uploads`, body); }
    listDocuments(query) { return this.call('GET', '/documents', undefined, query); }
    fileDocument(body) { return this.call('POST', '/documents', body); }
    readDocument(id, body) { return this.call('POST', `/documents/${encodeURIComponent(id)}/reading`, body); }
    expect(body) { return this.call('POST', '/expect', body); }
    clearFaults() { return this.call('DELETE', '/faults'); }
    listFaults(query) { return this.call('GET', '/faults', undefined, query); }
    addFault(body) { return this.call('POST', '/faults', body); }
    removeFault(id) { return this.call('DELETE', `/faults/${encodeURIComponent(id)}`); }
    health() { return this.call('GET', '/health'); }
    inbound(body) { return this.call('POST', '/inbound', body); }
    listJobs(query) { return this.call('GET', '/jobs', undefined, query); }
    listKeys(query) { return this.call('GET', '/keys', undefined, query); }
    createKey(body) { return this.call('POST', '/keys', body); }
    revokeKey(id) { return this.call('DELETE', `/keys/${encodeURIComponent(id)}`); }
    listMailboxes(query) { return this.call('GET', '/mailboxes', undefined, query); }
    createMailbox(body) { return this.call('POST', '/mailboxes', body); }
    approve(id, body) { return this.call('POST', `/messages/${encodeURIComponent(id)}/approve`, body); }
    bounce(id) { return this.call('POST', `/messages/${encodeURIComponent(id)}/bounce`); }
    discard(id, body) { return this.call('POST', `/messages/${encodeURIComponent(id)}/discard`, body); }
    stop(id, body) { return this.call('POST', `/messages/${encodeURIComponent(id)}/stop`, body); }
    openapi() { return this.call('GET', '/openapi.json'); }
    listOutbox(query) { return this.call('GET', '/outbox', undefined, query); }
    getOutboxMail(number) { return this.call('GET', `/outbox/${encodeURIComponent(number)}`); }
    getPlan() { return this.call('GET', '/plan'); }
    setPlan(body) { return this.call('PUT', '/plan', body); }
    ready() { return this.call('GET', '/ready'); }
    clearRequests() { return this.call('DELETE', '/requests'); }
    listRequests(query) { return this.call('GET', '/requests', undefined, query); }
    getRequest(id) { return this.call('GET', `/requests/${encodeURIComponent(id)}`); }
    reset() { return this.call('POST', '/reset'); }
    listSnapshots(query) { return this.call('GET', '/snapshots', undefined, query); }
    takeSnapshot(body) { return this.call('POST', '/snapshots', body); }
    deleteSnapshot(id) { return this.call('DELETE', `/snapshots/${encodeURIComponent(id)}`); }
    getSnapshot(id) { return this.call('GET', `/snapshots/${encodeURIComponent(id)}`); }
    compareSnapshots(id, query) { return this.call('GET', `/snapshots/${encodeURIComponent(id)}/diff`, undefined, query); }
    restoreSnapshot(id) { return this.call('POST', `/snapshots/${encodeURIComponent(id)}/restore`); }
    getState() { return this.call('GET', '/state'); }
    putState(body) { return this.call('PUT', '/state', body); }
    listTags(query) { return this.call('GET', '/tags', undefined, query); }
    getTrace(id) { return this.call('GET', `/traces/${encodeURIComponent(id)}`); }
    listUnused(query) { return this.call('GET', '/unused', undefined, query); }
    listUsers(query) { return this.call('GET', '/users', undefined, query); }
    createUser(body) { return this.call('POST', '/users', body); }
    listWebhooks(query) { return this.call('GET', '/webhooks', undefined, query); }
    createWebhook(body) { return this.call('POST', '/webhooks', body); }
    deleteWebhook(id) { return this.call('DELETE', `/webhooks/${encodeURIComponent(id)}`); }
    checkReceiver(id) { return this.call('POST', `/webhooks/${encodeURIComponent(id)}/check`); }
    listDeliveries(id, query) { return this.call('GET', `/webhooks/${encodeURIComponent(id)}/deliveries`, undefined, query); }
    getDelivery(id, event) { return this.call('GET', `/webhooks/${encodeURIComponent(id)}/deliveries/${encodeURIComponent(event)}`); }
    redeliver(id, event) { return this.call('POST', `/webhooks/${encodeURIComponent(id)}/deliveries/${encodeURIComponent(event)}/redeliver`); }
    pauseWebhook(id) { return this.call('POST', `/webhooks/${encodeURIComponent(id)}/pause`); }
    resumeWebhook(id) { return this.call('POST', `/webhooks/${encodeURIComponent(id)}/resume`); }
    rotateWebhook(id) { return this.call('POST', `/webhooks/${encodeURIComponent(id)}/rotate`); }
    testWebhook(id) { return this.call('POST', `/webhooks/${encodeURIComponent(id)}/test`); }
    listWorlds(query) { return this.call('GET', '/worlds', undefined, query); }
    createWorld(body) { return this.call('POST', '/worlds', body); }
    deleteWorld(id) { return this.call('DELETE', `/worlds/${encodeURIComponent(id)}`); }
}
