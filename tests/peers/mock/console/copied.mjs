// Calls each operation, and has each kind of failure happen once, with hostile values. Prints each request of the journal as the
// tests that the page copies: Rust, pytest and vitest. No browser is needed: the page's own modules write them.

import { api, get, post, service } from './kit.mjs';
import { describe } from '../../../../mock-server/console/calls.js';
import { pytest, rustTest, vitest } from '../../../../mock-server/console/copy.js';

const HOSTILE = '"); std::process::exit(0); ("\\"\n\'"""${process.exit(0)}`\u202e\u0007é😀\\';
const ready = await get('/ready');
const address = (await get('/mailboxes'))[0].address;
const { conversationId: id } = await post('/inbound', { to: address, from: 'kim@customer.example', subject: HOSTILE, text: `Hello ${HOSTILE}` });
const { conversationId: sandbox } = await (await service('POST', '/sandbox/inbound', { from: 'vera@customer.test', subject: 'Sandbox', text: 'Hello' }, ready.keys.test)).json();
const { id: user } = await post('/users', { name: 'Anna' });
const mailbox = (await get('/mailboxes'))[0].id;
const calls = [];
const call = async (...request) => {
    await service(...request).then((answer) => answer.arrayBuffer()).catch(() => {});
    calls.push((await get('/requests?order=newest&limit=1'))[0]);
};

// Each operation as it works.
const words = [...HOSTILE].slice(0, 55).join('');
await call('GET', '/me');
await call('GET', '/mailboxes');
await call('GET', '/tags');
await call('GET', `/conversations?mailbox=${mailbox}&view=open&assigned=unassigned&limit=5&q=${encodeURIComponent(words)}`);
await call('GET', `/documents?kind=invoice&limit=3&q=${encodeURIComponent(words)}`);
await call('GET', `/conversations/${id}`);
await call('POST', `/conversations/${id}/notes`, { body: HOSTILE });
await call('POST', `/conversations/${id}/status`, { status: 'waiting' });
await call('POST', `/conversations/${id}/tags`, { add: [words.slice(0, 20)], remove: ['new'] });
await call('POST', `/conversations/${id}/assign`, { to: `user:${user}` });
await call('POST', `/conversations/${id}/replies`, { body: HOSTILE, summary: words, documents: [{ label: words, description: words, required: false }] });
await call('POST', `/conversations/${id}/document-requests`, { documents: [{ label: 'Passport' }], message: HOSTILE, dueDate: '2027-02-28', send: true });
await call('POST', '/app-mail', { messageId: '<a1@shop.example>', reference: 'order-1042', to: ['kim@customer.example'], subject: words, text: HOSTILE, html: '<p>Hello</p>' });
await call('POST', '/sandbox/inbound', { from: 'vera@customer.test', name: words, text: HOSTILE, conversationId: sandbox }, ready.keys.test);

// Each way to be refused: not there, a wrong value in the path, the query or the body, a body that is no JSON, no such path.
await call('GET', '/conversations/cnv_none');
await call('POST', `/conversations/${id}/status`, { status: HOSTILE });
await call('POST', `/conversations/${id}/assign`, { to: { a: HOSTILE } });
await call('POST', `/conversations/${id}/notes`, { body: 'Half a letter: \ud83d' });
await call('GET', `/conversations?view=${encodeURIComponent(words)}`);
await fetch(`${ready.base_url}/conversations/${id}/notes`, { method: 'POST', headers: { Authorization: `Bearer ${ready.keys.live}` }, body: `no JSON ${words}` });
calls.push((await get('/requests?order=newest&limit=1'))[0]);
await call('GET', `/nothing/${encodeURIComponent(words)}`);

// Without a key that is known, without the scope, on the free plan.
await call('GET', '/me', undefined, 'rk_live_unknown');
const { key } = await post('/keys', { name: 'Reader', scopes: ['read'], livemode: true });
await call('POST', `/conversations/${id}/replies`, { body: 'x' }, key);
await api('PUT', '/plan', { plan: 'free' });
await call('POST', `/conversations/${id}/notes`, { body: 'x' });
await api('PUT', '/plan', { plan: 'team' });

// Faults: a limit, a failure of the service that took effect, no response at all.
for (const effect of [{ status: 429 }, { status: 503, when: 'after' }, { drop: 'after' }]) {
    await post('/faults', { effect });
    await call('POST', `/conversations/${id}/replies`, { body: HOSTILE });
}

// A tool of MCP, as it works and as it is refused.
const tool = async (name, input) => {
    await fetch(ready.mcp_url, { method: 'POST', headers: { Authorization: `Bearer ${ready.keys.live}`, 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', 'MCP-Protocol-Version': '2025-06-18' }, body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: input } }) });
    calls.push((await get('/requests?order=newest&limit=1'))[0]);
};
await tool('set_status', { id, status: 'waiting' });
await tool('set_status', { id, status: HOSTILE });

const keys = await get('/keys');
const seen = new Map();
const tests = [];
for (const request of calls) {
    const conversation = request.subject === null ? null : await get(`/conversations/${request.conversationId}`);
    const description = describe(request, conversation, keys.find((it) => it.agentId === request.agentId) ?? null);
    // The same name twice would not compile in one file.
    const number = (seen.get(description.name) ?? 0) + 1;
    seen.set(description.name, number);
    tests.push({ name: `${description.name}_${number}`, rust: rustTest(description), python: pytest(description), script: vitest(description) });
}
process.stdout.write(JSON.stringify(tests));
