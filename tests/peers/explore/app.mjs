// Small apps that answer mails about orders: `app.mjs correct`, and others with one fault each.

import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const base = process.env.SHARED_INBOX_BASE_URL;
const remembered = (name) => join(process.env.SHARED_INBOX_STATE_DIR, name);

async function call(method, path, body) {
    const headers = { Authorization: `Bearer ${process.env.SHARED_INBOX_API_KEY}`, 'Content-Type': 'application/json' };
    const signal = AbortSignal.timeout(5000);
    const answer = await fetch(base + path, { method, headers, signal, body: body && JSON.stringify(body) });
    if (!answer.ok) throw Object.assign(new Error(`${method} ${path}: ${answer.status}`), { status: answer.status });
    return answer.json();
}

const orderOf = (text) => text.match(/\b10\d\d\b/)?.[0];
const forPeople = (it) => it.assignee?.type === 'user' || it.risk;
// A message about this order or about none, or a draft that a person did not want.
const dealsWith = (it, order) =>
    it.direction === 'outbound' ? [undefined, order].includes(orderOf(it.text)) : it.event === 'draft-discarded';
const draft = (id, order) => call('POST', `/conversations/${id}/replies`, { body: `Your order ${order} is on its way.` });
const status = (id, value) => call('POST', `/conversations/${id}/status`, { status: value });
const openOnes = () => call('GET', '/conversations?limit=100');

// Conversations in which a customer asks for an order, with the orders that wait for an answer.
async function* todo({ leave = forPeople } = {}) {
    for (const { id } of await openOnes()) {
        const conversation = await call('GET', `/conversations/${id}`);
        const { timeline } = conversation;
        const asked = timeline.map((it) => it.direction === 'inbound' && orderOf(it.text));
        if (!asked.some(Boolean) || leave(conversation)) continue;
        const waits = (order, n) => order && !timeline.slice(n + 1).some((it) => dealsWith(it, order));
        yield { id, orders: [...new Set(asked.filter(waits))] };
    }
}

const apps = {
    async correct() {
        for await (const { id, orders } of todo()) {
            for (const order of orders) await draft(id, order);
            await status(id, 'waiting');
        }
    },
    async retriesBlindly() {
        for await (const { id, orders } of todo()) {
            for (const order of orders) await draft(id, order).catch(() => draft(id, order));
            await status(id, 'waiting');
        }
    },
    async marksFirst() {
        for await (const { id, orders } of todo()) {
            await status(id, 'waiting');
            for (const order of orders) await draft(id, order);
        }
    },
    async swallows429() {
        for await (const { id, orders } of todo()) {
            for (const order of orders)
                await draft(id, order).catch((error) => {
                    if (error.status !== 429) throw error;
                });
            await status(id, 'closed');
        }
    },
    async doesNotAwaitTheAnswer() {
        for await (const { id, orders } of todo()) {
            for (const order of orders) draft(id, order).catch(() => {});
            await status(id, 'closed');
        }
    },
    async remembersTooEarly() {
        for await (const { id, orders } of todo()) {
            if (existsSync(remembered(id))) continue;
            writeFileSync(remembered(id), '');
            for (const order of orders) await draft(id, order);
        }
    },
    async answersHeldMail() {
        for await (const { id, orders } of todo({ leave: (it) => it.assignee?.type === 'user' })) {
            for (const order of orders) await draft(id, order);
        }
    },
};

await apps[process.argv[2]]();
