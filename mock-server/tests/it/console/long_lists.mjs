// Ten thousand conversations and a journal of ten thousand: only what is in sight is there.

import { check, open, run, same, service, until } from './kit.mjs';

await run(async () => {
    const page = await open('#/inbox?view=all');
    const rows = page.locator('.conversation-row');
    await rows.first().waitFor();
    same(await rows.first().locator('..').getAttribute('aria-setsize'), '10000', 'all are in the list');
    check((await page.locator('si-list li').count()) < 60, 'only those in sight are in the page');
    await page.locator('si-list').evaluate((list) => (list.scrollTop = list.scrollHeight));
    await until(async () => (await rows.last().locator('..').getAttribute('aria-posinset')) === '10000', 'the end can be reached');
    check((await page.locator('si-list li').count()) < 60, 'and still only those in sight');
    await rows.last().focus();
    await page.keyboard.press('Home');
    await until(async () => (await page.evaluate(() => document.activeElement?.closest('li')?.getAttribute('aria-posinset'))) === '1', 'the keyboard reaches the other end');

    await page.goto(`${page.url().split('#')[0]}#/requests`);
    const requests = page.locator('.call-row');
    await until(async () => (await requests.first().locator('..').getAttribute('aria-setsize').catch(() => '')) === '10000', 'the journal');
    check((await page.locator('si-list li').count()) < 60, 'only those in sight');
    await page.mouse.move(2, 2);
    await service('GET', '/mailboxes');
    await page.getByLabel('Search requests').fill('/mailboxes');
    await until(async () => (await requests.first().innerText()).includes('list mailboxes'), 'and it is live');
});
