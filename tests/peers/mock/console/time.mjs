// A day walked through by clicking, and the trace from a request to everything that followed.

import { createServer } from 'node:http';
import { check, fillIn, get, open, post, run, same, service, until } from './kit.mjs';

const receiver = createServer((request, response) => request.resume().on('end', () => response.end()));
await new Promise((ready) => receiver.listen(0, '127.0.0.1', ready));

await run(async () => {
    const [inbox] = await get('/mailboxes');
    const hook = await post('/webhooks', { url: `http://127.0.0.1:${receiver.address().port}/`, livemode: true, scope: 'team', events: ['message.sent'] });
    const { conversationId: id } = await post('/inbound', { to: inbox.address, from: 'kim@customer.example', subject: 'Where is it?', text: 'Where is my lamp?' });
    const reply = await (await service('POST', `/conversations/${id}/replies`, { body: 'On its way.', send: true })).json();
    await post(`/conversations/${id}/snooze`, { until: new Date(Date.parse((await get('/clock')).now) + 7_200_000).toISOString() });

    // The clock, what is due, and moving it.
    const page = await open('#/time');
    const jobs = page.locator('.job-row');
    await until(async () => (await jobs.count()) === 2, 'two jobs wait');
    same(await jobs.locator('b').allInnerTexts(), ['The reply to kim@customer.example is sent', 'The snooze of kim@customer.example ends'], 'whom each concerns');
    const now = async () => Date.parse((await get('/clock')).now);
    const start = await now();
    await page.getByRole('button', { name: '+10 s' }).click();
    await until(async () => (await now()) === start + 10_000, 'ten seconds have passed');
    await page.getByRole('button', { name: 'Run the next job' }).click();
    await until(async () => (await get('/outbox')).length === 1, 'the mail has left');
    const fired = page.locator('.fired').getByRole('link', { name: 'The reply to kim@customer.example is sent' });
    same(await fired.getAttribute('href'), `#/trace/${reply.messageId}`, 'what just happened leads to what it was about');
    await until(async () => (await jobs.count()) === 1, 'one is left');
    await page.getByRole('button', { name: 'To a time' }).click();
    await fillIn(page, { Time: new Date(start + 7_260_000).toISOString().slice(0, 19) }, 'Move');
    await until(async () => !(await get(`/conversations/${id}`)).snoozedUntil, 'the snooze is over');
    await page.getByText('Nothing is due').waitFor();
    same(await page.locator('si-list li').count(), 0, 'an empty list has no row');
    check((await page.locator('.now').innerText()).includes(new Date(start + 7_260_000).toISOString().slice(11, 19)), 'the page shows the time');

    // From the request to what it made, and back.
    const [request] = (await get('/requests')).filter((it) => it.path.endsWith('/replies'));
    await page.goto(`${page.url().split('#')[0]}#/requests/${request.id}`);
    await page.getByRole('link', { name: 'What it led to' }).click();
    const steps = page.locator('.step');
    await steps.first().waitFor();
    const texts = (await steps.allInnerTexts()).map((it) => it.replaceAll('\n', ' '));
    same(texts.map((it) => it.split(' ').slice(0, 2).join(' ').toLowerCase()), ['request reply', 'message draft', 'message scheduled', 'job send', 'message sent', 'event message.sent', 'event turn.changed'], 'the line');
    const delivery = page.locator('.deliveries li');
    await until(async () => /delivered[^]*200/.test(await delivery.innerText()), 'the delivery and its try');
    same(await page.getByText('No webhook subscribes to').allInnerTexts(), ['No webhook subscribes to turn.changed.'], 'what nobody subscribes to is said once');
    const told = texts.join('\n');
    for (const words of ['POST', '201', '“On its way.”', 'kim@customer.example']) check(told.includes(words), `the trace shows ${words}`);
    await page.locator('.about').getByText('Where is it?').waitFor();

    // Back from the event.
    const [sent] = await get(`/webhooks/${hook.id}/deliveries`);
    await page.getByRole('link', { name: sent.eventId }).click();
    await page.locator('.step.this', { hasText: 'message.sent' }).waitFor();
    await page.locator('.step.k-request').getByRole('link', { name: 'Show it' }).click();
    await page.locator('.detail h1').getByText('reply').waitFor();
    same(page.url().split('#/requests/')[1].split('?')[0], request.id, 'the same request');
    await page.getByRole('link', { name: 'What it led to' }).click();
    await delivery.getByRole('link').click();
    await page.locator('.delivery h2').getByText('message.sent').waitFor();
    await page.getByRole('link', { name: 'Trace', exact: true }).click();
    await page.locator('.step.k-message').first().getByRole('link', { name: 'Show it' }).click();
    await page.locator('.message.s-sent').getByText('On its way.').waitFor();
    await page.locator('.message.s-sent').getByRole('link', { name: 'Trace' }).click();
    await page.locator('.step.this').first().waitFor();
    check(page.url().endsWith(reply.messageId), 'a message leads to its trace');

    // Where nobody listens: what is due says which event and where, and the trace says why nothing arrives.
    const dead = await post('/webhooks', { url: 'http://127.0.0.1:9/dead', livemode: true, scope: 'team' });
    const { eventId } = await post(`/webhooks/${dead.id}/test`);
    await until(async () => (await get(`/webhooks/${dead.id}/deliveries`))[0].attempts.length === 1, 'the first attempt');
    await page.goto(`${page.url().split('#')[0]}#/time`);
    await jobs.getByText('webhook.test is delivered to http://127.0.0.1:9/dead').waitFor();
    await page.goto(`${page.url().split('#')[0]}#/trace/${eventId}`);
    await delivery.getByText('1 attempt without a response: the connection was refused').waitFor();

    // A clock that shows another day says which.
    await post('/clock', { advanceSeconds: 86_400 });
    const day = new Intl.DateTimeFormat('en-US', { day: 'numeric', month: 'short', timeZone: 'UTC' }).format(await now());
    await page.locator('#clock').getByText(day).waitFor();
});
receiver.close();
