// Ten thousand conversations and a journal of ten thousand: only what is in sight is there.

import { check, open, run, same, service, until } from './kit.mjs';

await run(async () => {
    const page = await open('#/inbox?view=all');
    const rows = page.locator('.conversation-row');
    await rows.first().waitFor();
    same(await rows.first().locator('..').getAttribute('aria-setsize'), '10000', 'all are in the list');
    check((await page.locator('si-list li').count()) < 60, 'only those in sight are in the page');
    await rows.first().focus();
    await page.keyboard.press('End');
    await until(async () => (await rows.last().locator('..').getAttribute('aria-posinset')) === '10000', 'the end is read');
    await until(() => page.evaluate(() => document.activeElement?.matches('.conversation-row') && document.activeElement.closest('li')?.getAttribute('aria-posinset') === '10000'), 'the row that was read has the focus');
    await page.keyboard.press('Home');
    await until(async () => (await page.locator('si-list').evaluate((list) => list.scrollTop)) === 0, 'and back');
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

    // Whoever has scrolled down reads on undisturbed, also where what is new pushes as much out at the other end.
    const list = page.locator('si-list');
    await list.evaluate((it) => (it.scrollTop = 300));
    const top = () => list.evaluate((it) => document.elementFromPoint(it.getBoundingClientRect().x + 20, it.getBoundingClientRect().y + 60)?.closest('a')?.getAttribute('href'));
    const read = await until(top, 'rows are in sight');
    for (let i = 0; i < 120; i += 1) await service('GET', '/me').then((it) => it.arrayBuffer());
    await until(async () => (await page.locator('.news button').innerText()).startsWith('100+'), 'all are counted');
    same(await top(), read, 'the row under the reader');
    await list.evaluate((it) => (it.scrollTop = 0));
    await page.mouse.move(2, 2);
    await service('GET', '/mailboxes');
    await page.getByLabel('Search requests').fill('/mailboxes');
    await until(async () => (await requests.first().innerText()).includes('list mailboxes'), 'and it is live');
});
