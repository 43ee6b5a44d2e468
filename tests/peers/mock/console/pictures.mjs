// The pictures of the README: a demo workspace in which an app has just done something.

import { createServer } from 'node:http';
import { get, open, post, run, service, shown } from './kit.mjs';

let attempts = 0;
const receiver = createServer((request, response) => request.resume().on('end', () => ((attempts += 1) === 1 ? response.writeHead(503, { 'content-type': 'application/json' }).end('{"error":"a new version is being rolled out"}') : response.end())));
await new Promise((ready) => receiver.listen(Number(process.env.RECEIVER_PORT ?? 0), '127.0.0.1', ready));

await run(async () => {
    await post('/webhooks', { url: `http://127.0.0.1:${receiver.address().port}/webhooks`, livemode: true, scope: 'team', events: ['message.sent', 'client.replied', 'draft.approved'] });
    const one = (await get('/conversations?view=open')).find((it) => it.subject === 'Shade arrived broken');
    for (const path of ['/me', '/conversations?view=open&limit=25', `/conversations/${one.id}`]) await service('GET', path);
    await service('POST', `/conversations/${one.id}/tags`, { add: ['refund'] });
    const reply = await (await service('POST', `/conversations/${one.id}/replies`, { body: 'Dear Mara, a new shade leaves today by courier and is with you on Friday. You need not send the broken one back.', summary: 'Promises a new shade by courier' })).json();
    await post(`/messages/${reply.messageId}/approve`);
    await post('/clock', { advanceSeconds: 660 });
    await post('/faults', { method: 'POST', path: '/conversations/*/notes', effect: { status: 500, when: 'after' } });
    await service('POST', `/conversations/${one.id}/notes`, { body: 'Courier is booked, @Tom. Tracking follows.' });
    await service('POST', `/conversations/${one.id}/replies`, { body: 'Your tracking number is 7Q-1042.', send: true });
    const request = (await get('/requests')).find((it) => it.path.endsWith('/replies'));
    for (const [name, place, colorScheme] of [['inbox', `inbox/${one.id}?view=all`, 'light'], ['trace', `trace/${request.id}`, 'dark']]) {
        const page = await open(`#/${place}`, { quiet: true, colorScheme, viewport: { width: 1366, height: 768 }, reducedMotion: 'reduce' });
        await page.locator('.sign.live').waitFor();
        await shown(page, place);
        await page.waitForTimeout(300);
        await page.screenshot({ path: `${process.env.PICTURES}/${name}-${colorScheme}.png` });
        await page.context().close();
    }
});
receiver.close();
