// A page of another origin, open in the same browser: it can neither drive the server, nor read it, nor frame it.

import { createServer } from 'node:http';
import { CONSOLE, CONTROL, check, forget, get, open, run, same, watch } from './kit.mjs';

const attack = `<!doctype html><title>elsewhere</title>
<form id=form method=post enctype="text/plain" action="${CONTROL}/reset" target=frame><input name='{"a":"' value='"}'></form><iframe name=frame id=frame></iframe>
<iframe id=framed src="${CONSOLE}"></iframe>`;
const elsewhere = createServer((request, response) => response.setHeader('content-type', 'text/html').end(attack));
await new Promise((ready) => elsewhere.listen(0, '127.0.0.1', ready));

await run(async () => {
    const before = await get('/state');
    const page = await open();
    await page.locator('.conversation-row').first().waitFor();
    const foreign = await page.context().newPage();
    watch(foreign);
    await foreign.goto(`http://127.0.0.1:${elsewhere.address().port}/`);
    const tried = await foreign.evaluate(async (control) => {
        const outcomes = {};
        const attempts = {
            read: [`${control}/state`, {}],
            blind: [`${control}/reset`, { method: 'POST', mode: 'no-cors' }],
            write: [`${control}/users`, { method: 'POST', body: '{"name":"Mallory"}' }],
            typed: [`${control}/users`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{"name":"Mallory"}' }],
            follow: [`${control}/events`, {}],
        };
        for (const [name, [url, options]] of Object.entries(attempts)) {
            try {
                const response = await fetch(url, options);
                outcomes[name] = response.type === 'opaque' ? 'opaque' : response.status;
            } catch {
                outcomes[name] = 'refused';
            }
        }
        const answered = new Promise((resume) => (document.getElementById('frame').onload = resume));
        document.getElementById('form').submit();
        await Promise.race([answered, new Promise((resume) => setTimeout(resume, 10_000))]);
        const framed = document.getElementById('framed');
        let inside = 'nothing';
        try {
            inside = framed.contentDocument?.title ?? 'nothing';
        } catch {
            inside = 'nothing';
        }
        return { outcomes, inside };
    }, CONTROL);
    same(tried, { outcomes: { read: 'refused', blind: 'opaque', write: 'refused', typed: 'refused', follow: 'refused' }, inside: 'nothing' }, 'what the page got');
    const after = await get('/state');
    delete before.now;
    delete after.now;
    same(after, before, 'nothing has changed');
    const framed = foreign.frames().find((frame) => frame.url().startsWith(CONSOLE) && frame !== foreign.mainFrame());
    check(!framed || (await framed.locator('#nav a').count()) === 0, 'the console is not shown in a frame');
    // Its own errors were the point.
    forget();
    await foreign.close();
    await page.reload();
    await page.locator('.conversation-row').first().waitFor();
});
elsewhere.close();
