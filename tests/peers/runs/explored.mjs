// Functions that are explored: one that breaks a rule, and one that does not.

export const mails = ['Where is my order 1042?', 'Order 1043 is broken'];

async function call(world, method, path, body) {
    const headers = { Authorization: `Bearer ${world.liveKey}`, 'Content-Type': 'application/json' };
    const signal = AbortSignal.timeout(5000);
    const answer = await fetch(world.baseUrl + path, { method, headers, signal, body: body && JSON.stringify(body) });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status}`);
    return answer.json();
}

const orderOf = (text) => text.match(/\b10\d\d\b/)?.[0];

// A message about this order or about none, or a draft that a person did not want.
const dealsWith = (it, order) =>
    it.direction === 'outbound' ? [undefined, order].includes(orderOf(it.text)) : it.event === 'draft-discarded';

async function answer(world, id, orders) {
    for (const order of orders) await call(world, 'POST', `/conversations/${id}/replies`, { body: `Your order ${order} is on its way.` });
    await call(world, 'POST', `/conversations/${id}/status`, { status: 'waiting' });
}

export async function blind(world) {
    for (const { id, snippet } of await call(world, 'GET', '/conversations?limit=100')) {
        if (orderOf(snippet)) await answer(world, id, [orderOf(snippet)]);
    }
}

export async function correct(world) {
    for (const { id } of await call(world, 'GET', '/conversations?limit=100')) {
        const { timeline, assignee, risk } = await call(world, 'GET', `/conversations/${id}`);
        const asked = timeline.map((it) => it.direction === 'inbound' && orderOf(it.text));
        if (!asked.some(Boolean) || risk || assignee?.type === 'user') continue;
        const waits = (order, n) => order && !timeline.slice(n + 1).some((it) => dealsWith(it, order));
        await answer(world, id, new Set(asked.filter(waits)));
    }
}
