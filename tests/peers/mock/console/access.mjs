// axe finds nothing on any panel, light or dark, wide or narrow; and the page can be used by the keyboard alone.

import { readFile } from 'node:fs/promises';
import { check, get, open, post, run, same, service, shown, until } from './kit.mjs';

const axe = await readFile(`${process.env.MODULES}/axe-core/axe.min.js`, 'utf8');

await run(async () => {
    const [first] = await get('/conversations?view=open');
    const { id: hook } = await post('/webhooks', { url: 'http://127.0.0.1:9/hook', livemode: true, scope: 'team' });
    const { eventId } = await post(`/webhooks/${hook}/test`);
    await service('POST', `/conversations/${first.id}/notes`, { body: 'A note' });
    await post('/faults', { effect: { status: 500 }, path: '/tags' });
    const [request] = await get('/requests');
    const places = ['inbox', `inbox/${first.id}`, 'approvals', 'documents', 'bookings', 'outbox', 'requests', `requests/${request.id}`, 'webhooks', `webhooks/${hook}/${eventId}`, 'time', 'faults', 'keys', 'worlds', `trace/${request.id}`];
    for (const [colorScheme, width] of [['light', 1360], ['dark', 1360], ['light', 400], ['dark', 400]]) {
        const page = await open('', { colorScheme, viewport: { width, height: 860 }, reducedMotion: 'reduce', bypassCSP: true });
        for (const place of places) {
            await page.goto(`${page.url().split('#')[0]}#/${place}`);
            await shown(page, place);
            await page.evaluate(axe);
            const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
            const violations = found.violations.map((it) => `${it.id}: ${it.nodes.map((node) => `${node.target} ${node.failureSummary}`).slice(0, 3).join(' | ')}`);
            same(violations, [], `${place}, ${colorScheme}, ${width} pixels`);
            const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
            check(!wide, `${place} fits into ${width} pixels`);
        }
        await page.context().close();
    }

    // Every link has a name before anything was heard of the server.
    const early = await open();
    await early.route('**/_mock/**', () => {});
    await early.reload();
    await early.locator('#clock').waitFor();
    same(await early.locator('a').evaluateAll((links) => links.filter((it) => !it.innerText.trim()).map((it) => it.outerHTML)), [], 'links without a name');
    await early.context().close();

    // By the keyboard alone: into the list, down, open, into a dialog and out of it.
    const page = await open();
    await page.locator('.conversation-row').first().waitFor();
    await page.keyboard.press('Tab');
    same(await page.evaluate(() => document.activeElement?.textContent), 'Skip to content', 'the first stop');
    await page.locator('.conversation-row').first().focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    same(await page.evaluate(() => document.activeElement?.closest('li')?.getAttribute('aria-posinset')), '3', 'arrows move through the list');
    await page.keyboard.press('Enter');
    await page.locator('si-conversation h1').waitFor();
    const ids = (await get('/conversations?view=open')).map((it) => it.id);
    check(page.url().includes(ids[2]), 'Enter opens');
    await page.getByRole('button', { name: 'Snooze' }).focus();
    await page.keyboard.press('Enter');
    await page.locator('dialog').waitFor();
    same(await page.evaluate(() => document.activeElement?.closest('dialog') !== null), true, 'the dialog has the focus');
    await page.keyboard.press('Escape');
    await page.locator('dialog').waitFor({ state: 'detached' });
    same(await page.evaluate(() => document.activeElement?.textContent), 'Snooze', 'and gives it back');
    // A change from elsewhere takes neither the focus nor what was typed.
    const area = page.getByRole('textbox', { name: 'Text' });
    await area.fill('Half a sent');
    await post(`/conversations/${ids[2]}/notes`, { body: 'From elsewhere' });
    await page.locator('.note').getByText('From elsewhere').waitFor();
    same([await area.inputValue(), await page.evaluate(() => document.activeElement?.localName)], ['Half a sent', 'textarea'], 'what was typed stays');
    await until(async () => true, 'done');
});
