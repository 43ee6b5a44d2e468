// A webhook receiver in plain Node: when a customer writes again, the team gets a note with a first look at the mail.

import { createServer } from 'node:http';
import { Webhook } from 'standardwebhooks';

/** A server that is not listening yet. @param {{ baseUrl: string, key: string, secret: string }} options */
export function receiver({ baseUrl, key, secret }) {
    const genuine = new Webhook(secret);
    const done = new Set();

    return createServer(async (request, response) => {
        const body = Buffer.concat(await request.toArray());
        let event;
        try {
            event = genuine.verify(body, request.headers);
        } catch {
            return response.writeHead(400).end();
        }
        try {
            // The service delivers at least once; the id of the event says whether it was here before.
            if (event.type === 'client.replied' && !done.has(event.id)) await note(event.data.conversation_id);
            done.add(event.id);
            response.writeHead(204).end();
        } catch {
            // The service comes again with the same event.
            response.writeHead(503).end();
        }
    });

    async function note(conversation) {
        const { timeline } = await call('GET', `/conversations/${conversation}`);
        const mail = timeline.findLast((item) => item.type === 'message' && item.direction === 'inbound');
        const urgent = /\b(urgent|today|refund)\b/i.test(mail.text);
        await call('POST', `/conversations/${conversation}/notes`, { body: urgent ? 'Sounds urgent.' : 'No hurry.' });
    }

    async function call(method, path, body) {
        const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
        const response = await fetch(baseUrl + path, { method, headers, body: body && JSON.stringify(body) });
        if (!response.ok) throw new Error(`${method} ${path}: ${response.status}`);
        return response.json();
    }
}
