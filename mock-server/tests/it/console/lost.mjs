// The server goes away and another comes in its place: the page says so, and shows nothing old afterwards.

import { check, forget, open, run, until } from './kit.mjs';

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
    await please('stop');
    await page.locator('.sign.lost').waitFor();
    await page.locator('.lost-note').getByText('What you see is from before').waitFor();
    await please('start');
    await page.locator('.sign.live').waitFor();
    await page.getByText('All done').waitFor();
    check((await page.locator('.conversation-row').count()) === 0, 'nothing of the old world is shown');
    check((await page.locator('.lost-note').count()) === 0, 'nothing says that it is lost');
    // While nobody answered, requests failed: that was the point.
    forget();
    await until(async () => true, 'done');
});
process.exit();
