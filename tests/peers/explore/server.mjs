// Small servers that answer mails about orders when a webhook says so: `server.mjs correct`, and one with a fault.
// Nothing but the standard library; the signature is checked by hand.

import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';

const { SHARED_INBOX_BASE_URL: base, SHARED_INBOX_API_KEY: key, PORT: port } = process.env;
const secret = Buffer.from(process.env.SHARED_INBOX_WEBHOOK_SECRET.replace('whsec_', ''), 'base64');
const looks = process.argv[2] === 'correct';

async function call(method, path, body) {
    const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
    const signal = AbortSignal.timeout(5000);
    const answer = await fetch(base + path, { method, headers, signal, body: body && JSON.stringify(body) });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status}`);
    return answer.json();
}

function genuine(headers, body) {
    const stamp = headers['webhook-timestamp'];
    const signed = Buffer.concat([Buffer.from(`${headers['webhook-id']}.${stamp}.`), body]);
    const wanted = Buffer.from(`v1,${createHmac('sha256', secret).update(signed).digest('base64')}`);
    const given = (headers['webhook-signature'] ?? '').split(' ').map((one) => Buffer.from(one));
    const same = (one) => one.length === wanted.length && timingSafeEqual(one, wanted);
    return Math.abs(Date.now() / 1000 - Number(stamp)) < 300 && given.some(same);
}

const orderOf = (text) => text.match(/\b10\d\d\b/)?.[0];
// A message about this order or about none, or a draft that a person did not want.
const dealsWith = (it, order) =>
    it.direction === 'outbound' ? [undefined, order].includes(orderOf(it.text)) : it.event === 'draft-discarded';

async function handle({ data }) {
    const id = data.conversation_id;
    if (!id || (!looks && data.turn !== 'ours')) return;
    const view = await call('GET', `/conversations/${id}`);
    const asked = view.timeline.map((it) => it.direction === 'inbound' && orderOf(it.text));
    if (!asked.some(Boolean) || view.assignee?.type === 'user' || view.risk) return;
    const waits = (order, n) => order && !(looks && view.timeline.slice(n + 1).some((it) => dealsWith(it, order)));
    for (const order of new Set(asked.filter(waits)))
        await call('POST', `/conversations/${id}/replies`, { body: `Your order ${order} is on its way.` });
    if (view.status === 'open') await call('POST', `/conversations/${id}/status`, { status: 'waiting' });
}

// One at a time.
let turn = Promise.resolve();

createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    if (!genuine(request.headers, body)) return response.writeHead(401).end();
    const work = turn.then(() => handle(JSON.parse(body)));
    turn = work.catch(() => {});
    const status = await work.then(() => 200, () => 500);
    response.writeHead(status).end();
}).listen(Number(port), '127.0.0.1');
