// Makes every operation answer in every way there is, with hostile values, and prints each request of the journal as the
// tests that the page copies: Rust, pytest and vitest. No browser is needed: the page's own modules write them.

import { api, get, post, service } from './kit.mjs';
import { describe } from '../../../console/calls.js';
import { pytest, rustTest, vitest } from '../../../console/copy.js';

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

// Each operation as it works, live and in the sandbox.
const words = [...HOSTILE].slice(0, 55).join('');
await call('GET', '/me');
await call('GET', '/mailboxes');
await call('GET', '/tags');
await call('GET', `/conversations?view=open&assigned=unassigned&limit=5&q=${encodeURIComponent(words)}`);
await call('GET', `/conversations?mailbox=${mailbox}`);
await call('GET', '/conversations?view=all&reference=order-1042');
await call('GET', `/documents?kind=invoice&limit=3&q=${encodeURIComponent(words)}`);
await call('GET', `/conversations/${id}`);
await call('POST', `/conversations/${id}/notes`, { body: HOSTILE });
await call('POST', `/conversations/${id}/status`, { status: 'waiting' });
await call('POST', `/conversations/${id}/tags`, { add: [words.slice(0, 20)], remove: ['new'] });
for (const to of ['me', `user:${user}`, 'none']) await call('POST', `/conversations/${id}/assign`, { to });
await call('POST', `/conversations/${id}/replies`, { body: HOSTILE, summary: words });
await call('POST', `/conversations/${id}/replies`, { body: 'Please send these.', documents: [{ label: words, description: words, required: false }], send: true });
await call('POST', `/conversations/${id}/document-requests`, { documents: [{ label: 'Passport' }], message: HOSTILE, dueDate: '2027-02-28', send: true });
await call('POST', '/app-mail', { messageId: '<a1@shop.example>', reference: 'order-1042', to: ['kim@customer.example'], subject: words, text: HOSTILE, html: '<p>Hello</p>' });
await call('POST', '/sandbox/inbound', { from: 'vera@customer.test', name: words, subject: words, text: HOSTILE }, ready.keys.test);
await call('POST', '/sandbox/inbound', { from: 'vera@customer.test', text: 'Again', conversationId: sandbox }, ready.keys.test);
await call('POST', `/conversations/${sandbox}/notes`, { body: 'In the sandbox' }, ready.keys.test);

// Each operation on a conversation that is not there, and refused for what it was given.
const operations = [['GET', ''], ['POST', '/notes', { body: 'x' }], ['POST', '/status', { status: 'open' }], ['POST', '/tags', { add: ['x'] }], ['POST', '/assign', { to: 'me' }], ['POST', '/replies', { body: 'x' }], ['POST', '/document-requests', { documents: [{ label: 'x' }] }]];
for (const [method, path, body] of operations) await call(method, `/conversations/cnv_none${path}`, body);
for (const value of [HOSTILE, '', 7, null, [HOSTILE], { a: HOSTILE }]) {
    await call('POST', `/conversations/${id}/status`, { status: value });
    await call('POST', `/conversations/${id}/assign`, { to: value });
}
await call('POST', `/conversations/${id}/notes`, { body: '' });
await call('POST', `/conversations/${id}/notes`, { body: 'Half a letter: \ud83d' });
await call('POST', `/conversations/${id}/notes`, { body: { [HOSTILE]: 1 } });
await call('POST', `/conversations/${id}/tags`, { add: 'x', remove: [HOSTILE.repeat(9)] });
await call('POST', `/conversations/${id}/replies`, { body: 'x', send: HOSTILE });
await call('POST', `/conversations/${id}/document-requests`, { documents: [], dueDate: '2027-02-30' });
await call('POST', '/app-mail', { messageId: HOSTILE, reference: HOSTILE, to: [], subject: 'x' });
await call('POST', '/sandbox/inbound', { from: HOSTILE, text: '' }, ready.keys.test);
for (const query of ['limit=x', 'limit=', 'limit=99999', `view=${encodeURIComponent(words)}`, 'view=all', `assigned=${encodeURIComponent(words)}`]) await call('GET', `/conversations?${query}`);
await call('GET', `/documents?kind=${encodeURIComponent(words)}`);
await fetch(`${ready.base_url}/conversations/${id}/notes`, { method: 'POST', headers: { Authorization: `Bearer ${ready.keys.live}` }, body: `no JSON ${words}` });
calls.push((await get('/requests?order=newest&limit=1'))[0]);

// Paths and methods that there are not.
await call('GET', `/nothing/${encodeURIComponent(words)}`);
await call('DELETE', '/tags');

// Without a key that is known, without the scope, on the free plan.
await call('GET', '/me', undefined, 'rk_live_unknown');
await call('POST', `/conversations/${id}/notes`, { body: HOSTILE }, 'rk_live_unknown');
const { key } = await post('/keys', { name: 'Reader', scopes: ['read'], livemode: true });
for (const [method, path, body] of operations.slice(1)) await call(method, `/conversations/${id}${path}`, body, key);
const { key: writer } = await post('/keys', { name: 'Writer', scopes: ['write'], livemode: true });
for (const path of ['/conversations', '/documents', '/tags', `/conversations/${id}`]) await call('GET', path, undefined, writer);
const { key: reader } = await post('/keys', { name: 'Reader', scopes: ['read'], livemode: false });
await call('POST', '/sandbox/inbound', { from: 'vera@customer.test', text: 'x' }, reader);
await call('POST', `/conversations/${sandbox}/notes`, { body: 'x' }, reader);
await call('POST', '/app-mail', { messageId: '<a2@shop.example>', reference: 'order-1', to: ['kim@customer.example'], subject: 'x' }, key);
await api('PUT', '/plan', { plan: 'free' });
await call('GET', '/me');
await call('POST', `/conversations/${id}/notes`, { body: 'x' });
await api('PUT', '/plan', { plan: 'team' });

// Faults: a limit, failures of the service, no answer at all.
for (const effect of [{ status: 429 }, { status: 500 }, { status: 503, when: 'after' }, { drop: 'before' }, { drop: 'after' }]) {
    for (const [method, path, body] of [['GET', '/me'], ['POST', `/conversations/${id}/replies`, { body: HOSTILE }]]) {
        await post('/faults', { effect });
        await call(method, path, body);
    }
}

// Tools of MCP, as they work and as they are refused.
const tool = async (name, input, bearer = ready.keys.live) => {
    await fetch(ready.mcp_url, { method: 'POST', headers: { Authorization: `Bearer ${bearer}`, 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', 'MCP-Protocol-Version': '2025-06-18' }, body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: input } }) });
    calls.push((await get('/requests?order=newest&limit=1'))[0]);
};
await tool('list_conversations', { view: 'open', limit: 3 });
await tool('get_conversation', { id });
await tool('set_status', { id, status: 'waiting' });
await tool('set_status', { id, status: HOSTILE });
await tool('add_note', { id: 'cnv_none', body: 'x' });
await tool('add_note', { id, body: HOSTILE }, key);

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
