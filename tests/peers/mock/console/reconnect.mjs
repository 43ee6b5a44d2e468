// The server goes away and another comes in its place: the page says so, and shows nothing old afterwards.

import { CONSOLE, allowed, check, forget, open, post, run, same, until } from './kit.mjs';

const told = (await import('node:readline')).createInterface({ input: process.stdin })[Symbol.asyncIterator]();
/** Tells the test what to do, and waits until it is done. */
async function please(what) {
    console.log(what);
    await told.next();
}

await run(async () => {
    const page = await open();
    await page.locator('.sign.live').waitFor();
    await page.locator('.conversation-row').first().waitFor();
    // What the panels are made of is loaded a second later.
    await page.waitForFunction(() => ['requests', 'approvals', 'webhooks', 'keys'].every((it) => customElements.get(`si-${it}`)));
    await post('/worlds', {});
    const other = await open('', { url: `${CONSOLE}?world=wld_1` });
    await other.locator('.sign.live').waitFor();
    await please('stop');
    await page.locator('.sign.lost').waitFor();
    await other.locator('.sign.lost').waitFor();
    // Whatever is opened while the server is away, there is one message, once.
    for (const place of ['requests', 'approvals', 'webhooks', 'keys', 'inbox']) {
        await page.evaluate((hash) => (location.hash = hash), `#/${place}`);
        await until(async () => (await page.locator(`main > si-${place}`).count()) && !(await page.locator('.loading').count()), `${place} has given up`);
        same((await page.getByRole('alert').allInnerTexts()).filter((it) => !it.includes('What you see is from before')), [], `${place} says nothing more`);
    }
    allowed.add(404);
    await page.locator('.lost-note').getByText('What you see is from before').waitFor();
    await please('start');
    await page.locator('.sign.live').waitFor();
    await page.getByText('All done').waitFor();
    check((await page.locator('.conversation-row').count()) === 0, 'nothing of the old world is shown');
    check((await page.locator('.lost-note').count()) === 0, 'nothing says that it is lost');

    // The world beside the main one is gone, and the page says so, with a way out.
    await other.locator('.lost-note').getByText('There is no world wld_1 any more').waitFor();
    await other.locator('.sign.gone').waitFor();
    await other.getByRole('link', { name: 'Go to the main world' }).click();
    await other.getByText('All done').waitFor();
    // While nobody answered, requests failed: that was the point.
    forget();
    await until(async () => true, 'done');
});
process.exit();
