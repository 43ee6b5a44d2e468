// Mails that try everything, in every field that they reach: nothing of it is ever more than text.

import { check, get, open, post, run, same, service, shown, until } from './kit.mjs';

const MARKUP = '<script>alert(1)</script><img src=x onerror=alert(2)><style>*{display:none}</style><a href="javascript:alert(3)">x</a><svg/onload=alert(4)>"\'`--><iframe src=//evil.example></iframe>';
const TRICKS = '\u202Egpj.exe\u202C\u2066\u200Bzero\u200C\u200D\u200E\u200F\uFE0F\uFEFF\u{E0041}\u2028';
const HOSTILE = `${MARKUP}${TRICKS}`;

await run(async () => {
    const [inbox, ...others] = await get('/mailboxes');
    check(others.length > 0, 'the sandbox');
    const mail = { to: inbox.address, from: '"<b>x</b>"@evil.example', name: HOSTILE, subject: HOSTILE, text: `${HOSTILE}\njavascript:alert(5)`, attachments: [{ filename: HOSTILE, contentType: 'text/html', size: 3 }], risk: MARKUP.slice(0, 60), riskReasons: [HOSTILE], topic: HOSTILE };
    const { conversationId: id } = await post('/inbound', { ...mail, from: 'x@evil.example' });
    await post('/users', { name: HOSTILE });
    await post('/mailboxes', { address: 'odd@acme.example', name: HOSTILE });
    const { key } = await post('/keys', { name: HOSTILE, scopes: ['send', 'draft', 'write'], livemode: true });
    await service('POST', `/conversations/${id}/notes`, { body: HOSTILE }, key);
    await service('POST', `/conversations/${id}/tags`, { add: [MARKUP.slice(0, 40), '\u202Eevil'] }, key);
    await service('POST', `/conversations/${id}/replies`, { body: HOSTILE, summary: HOSTILE.slice(0, 400) }, key);
    await service('POST', `/conversations/${id}/document-requests`, { documents: [{ label: MARKUP.slice(0, 100), description: TRICKS }], send: true }, key);
    await service('GET', `/conversations?q=${encodeURIComponent(MARKUP.slice(0, 100))}`, undefined, key);
    const { id: hook } = await post('/webhooks', { url: `http://127.0.0.1:9/${encodeURIComponent(MARKUP)}`, livemode: true, scope: 'team' });
    const { id: fault } = await post('/faults', { path: '/me', query: { q: HOSTILE }, body: MARKUP, effect: { status: 500, headers: { 'x-note': MARKUP } } });
    await post('/bookings', { hostUserId: (await get('/users')).at(-1).id, startsAt: '2027-01-01T09:00:00Z', endsAt: '2027-01-01T10:00:00Z', conversationId: id });
    await post('/clock', { advanceSeconds: 700 });
    const [request] = await get('/requests');

    const page = await open();
    const places = [`inbox/${id}?view=all`, 'approvals', `inbox?q=${encodeURIComponent(HOSTILE)}`, 'documents', 'bookings', 'outbox', 'requests', `requests/${request.id}`, 'webhooks', `webhooks/${hook}`, 'time', `trace/${id}`, 'faults', 'keys', 'worlds', `trace/${encodeURIComponent(HOSTILE)}`];
    for (const place of places) {
        await page.goto(`${page.url().split('#')[0]}#/${place}`);
        await shown(page, place);
        const foreign = await page.evaluate(() => ({
            elements: [...document.querySelectorAll('main script, main iframe, main style, main img, main object, main embed, main form, main [onerror], main [onload], main [style*="display"]')].map((it) => it.outerHTML.slice(0, 80)),
            links: [...document.querySelectorAll('a')].map((it) => it.getAttribute('href') ?? '').filter((href) => !/^(#|\/)/.test(href)),
            raw: /[\u202a-\u202e\u2066-\u2069\u200b\ufeff\u2028]/.test(document.body.innerText),
        }));
        same(foreign, { elements: [], links: [], raw: false }, place);
    }
    // The hostile words of the fault did reach its panel.
    await page.goto(`${page.url().split('#')[0]}#/faults/${fault}`);
    await page.locator('tr.this').getByText(MARKUP.slice(0, 25)).first().waitFor();
    // The name of a panel in the address does not become the path of a script: a request for one would be refused.
    const strange = await open('#/..%2Fapi%2Fv1%2Fme');
    await strange.waitForURL(/#\/inbox$/);
    await strange.close();
    // It is there to be read, with what hides in it made visible.
    await page.goto(`${page.url().split('#')[0]}#/inbox/${id}?view=all`);
    const text = await until(async () => {
        const shown = await page.locator('.message.in .text').first().innerText().catch(() => '');
        return shown.includes('<script>alert(1)</script>') && shown;
    }, 'the mail is shown as it was written');
    check(text.includes('[U+202E]gpj.exe') && text.includes('[U+200B]'), 'turned directions and hidden characters are named');
    for (const hidden of ['[U+200C]', '[U+200D]', '[U+200E]', '[U+200F]', '[U+FE0F]', '[U+E0041]']) check(text.includes(hidden), `${hidden} is named`);
});
