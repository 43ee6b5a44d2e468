// The receiver on a free port, with its webhook in the world of a test, and a customer who writes.

import { once } from 'node:events';
import { createServer } from 'node:http';
import { receiver } from './receiver.mjs';

/** @param {import('shared-inbox-mock').World} world */
export async function running(world) {
    let app;
    const server = createServer((request, response) => app.emit('request', request, response));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const url = `http://127.0.0.1:${server.address().port}/`;
    const { secret } = await world.control.createWebhook({ url, livemode: true, scope: 'team', events: ['client.replied'], timestamps: 'real' });
    app = receiver({ baseUrl: world.baseUrl, key: world.liveKey, secret });
    const to = await world.inbox();
    const { conversationId } = await world.control.inbound({ to, from: 'vera@customer.example', text: 'Hello' });
    const writes = (text) => world.control.inbound({ to, from: 'vera@customer.example', text, conversationId });
    const notes = async () => (await world.control.getConversation(conversationId)).timeline.filter((item) => item.type === 'note').map((item) => item.body);
    return { url, writes, notes, close: () => server.close() };
}
