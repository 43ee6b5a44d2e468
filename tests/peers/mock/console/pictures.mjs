// The pictures of the README: a demo workspace in which an app has just done something.

import { createServer } from 'node:http';
import { get, open, post, run, service, shown } from './kit.mjs';

let attempts = 0;
const receiver = createServer((request, response) => request.resume().on('end', () => ((attempts += 1) === 1 ? response.writeHead(503, { 'content-type': 'application/json' }).end('{"error":"a new version is being rolled out"}') : response.end())));
await new Promise((ready) => receiver.listen(Number(process.env.RECEIVER_PORT ?? 0), '127.0.0.1', ready));

await run(async () => {
    const hook = await post('/webhooks', { url: `http://127.0.0.1:${receiver.address().port}/webhooks`, livemode: true, scope: 'team', events: ['message.sent', 'client.replied', 'draft.approved'] });
    const one = (await get('/conversations?view=open')).find((it) => it.subject === 'Shade arrived broken');
    for (const path of ['/me', '/conversations?view=open&limit=25', `/conversations/${one.id}`]) await service('GET', path);
    await service('POST', `/conversations/${one.id}/tags`, { add: ['refund'] });
    const reply = await (await service('POST', `/conversations/${one.id}/replies`, { body: 'Dear Mara, a new shade leaves today by courier and is with you on Friday. You need not send the broken one back.', summary: 'Promises a new shade by courier' })).json();
    await post(`/messages/${reply.messageId}/approve`);
    await post('/clock', { advanceSeconds: 660 });
    await post('/faults', { method: 'POST', path: '/conversations/*/notes', effect: { status: 500, when: 'after' } });
    await service('POST', `/conversations/${one.id}/notes`, { body: 'Courier is booked, @Tom. Tracking follows.' });
    await service('POST', `/conversations/${one.id}/replies`, { body: 'Your tracking number is 7Q-1042.', send: true });
    const requests = await get('/requests');
    const [request, faulty] = ['/replies', '/notes'].map((end) => requests.find((it) => it.path.endsWith(end)));
    const [delivery] = await get(`/webhooks/${hook.id}/deliveries?type=draft.approved`);
    const places = [
        ['inbox', `inbox/${one.id}?view=all`, [['light', 1366], ['dark', 1366], ['light', 390], ['dark', 390]]],
        ['approvals', 'approvals', [['light', 1366], ['dark', 390]]],
        ['trace', `trace/${request.id}`, [['light', 1366], ['dark', 1366]]],
        ['requests', `requests/${faulty.id}`, [['light', 1366], ['dark', 390]]],
        ['webhooks', `webhooks/${hook.id}/${delivery.eventId}`, [['dark', 1366], ['light', 390]]],
        ['time', 'time', [['light', 1366]]],
        ['faults', 'faults', [['light', 1366]]],
    ];
    for (const [name, place, kinds] of places) {
        for (const [colorScheme, width] of kinds) {
            const page = await open(`#/${place}`, { quiet: true, colorScheme, viewport: { width, height: width < 800 ? 844 : 768 }, reducedMotion: 'reduce' });
            await page.locator('.sign.live').waitFor();
            await shown(page, place);
            await page.waitForTimeout(300);
            await page.screenshot({ path: `${process.env.PICTURES}/${name}-${colorScheme}${width < 800 ? '-narrow' : ''}.png` });
            await page.context().close();
        }
    }
});
receiver.close();
