// Beside an app that makes ten calls a second, and changes a conversation with some of them, everything on the screen
// holds still: clicks, the focus, what is read and what is typed.

import { check, get, hold, open, post, run, same, service, until } from './kit.mjs';

const pause = (ms) => new Promise((resume) => setTimeout(resume, ms));

await run(async () => {
    const address = (await get('/mailboxes'))[0].address;
    const ids = [];
    for (let i = 0; i < 60; i += 1) ids.push((await post('/inbound', { to: address, from: `c${i}@customer.example`, subject: `Lamp ${i}`, text: 'It flickers.' })).conversationId);
    const writing = setInterval(() => service('POST', `/conversations/${ids[30]}/notes`, { body: 'At work' }).then((it) => it.arrayBuffer()).catch(() => {}), 200);
    const page = await open('#/requests');
    const rows = page.locator('.call-row');
    await until(async () => (await rows.count()) > 12, 'the journal fills');

    // A press takes a tenth of a second; every one opens the row that it began on.
    const list = page.locator('si-list');
    const at = async (place) => {
        const { x, y } = await list.evaluate((it) => it.getBoundingClientRect().toJSON());
        return [x + 30, y + 60 + place * 70];
    };
    const row = (point) => page.evaluate((at) => document.elementFromPoint(...at)?.closest('a')?.getAttribute('href'), point);
    const press = async (place, between = async (_under) => {}) => {
        const point = await at(place);
        await page.mouse.move(...point);
        await page.mouse.down();
        const under = await row(point);
        check(under, 'a row is under the pointer');
        await between(under);
        await pause(100);
        await page.mouse.up();
        await until(() => page.evaluate((href) => location.hash === href, under), `a click opens ${under}`);
    };
    // Also where the list was being read when the press began.
    const reading = await hold(page, '/requests?order=newest');
    await reading.asked();
    await press(1, reading.answer);
    for (let i = 0; i < 10; i += 1) await press(1 + (i % 5));

    // The opened request has the focus, also where one that was opened before it came in between.
    const headed = () => page.evaluate(() => document.activeElement?.localName === 'h1');
    let late;
    await press(2, async (under) => (late = await hold(page, `/requests/${under.split('/').pop()}`)));
    await late.asked();
    await press(4, async () => {
        await late.answer();
        await until(headed, 'the one before it has the focus');
    });
    await until(async () => (await headed()) && (await page.evaluate(() => document.activeElement.closest('.one-pane').innerText.includes(location.hash.split('/').pop()))), 'the heading has the focus');
    // Escape gives it back to its row.
    const opened = await page.evaluate(() => location.hash);
    await page.keyboard.press('Escape');
    const focused = () => page.evaluate(() => document.activeElement?.getAttribute('href'));
    await until(async () => (await focused()) === opened, 'Escape leads back to the row');

    // A row that has the focus keeps it, and stays where it is; what is new is counted.
    const place = () => page.evaluate(() => document.activeElement?.getBoundingClientRect().top);
    const before = await place();
    const news = page.locator('.news button');
    await until(async () => (await news.count()) && Number((await news.innerText()).split(' ')[0]) > 8, 'new rows are counted');
    same([await focused(), await place()], [opened, before], 'the row with the focus');
    await page.keyboard.press('ArrowDown');
    check((await focused()) !== opened, 'arrows move on');
    await page.keyboard.press('End');
    const total = () => page.locator('si-list li').first().getAttribute('aria-setsize').then(Number);
    await until(async () => (await page.evaluate(() => Number(document.activeElement?.closest('li')?.getAttribute('aria-posinset')))) === (await total()), 'End leads to the end');

    // One stop of the Tab key for the whole list.
    same(await page.locator('si-list [tabindex="0"]').count(), 1, 'one row can be reached with Tab');
    await page.keyboard.press('Tab');
    check(!(await page.evaluate(() => document.activeElement?.closest('si-list'))), 'Tab leaves the list');

    // Whoever has scrolled down reads on undisturbed.
    await list.evaluate((it) => (it.scrollTop = 300));
    const top = () => list.evaluate((it) => document.elementFromPoint(it.getBoundingClientRect().x + 20, it.getBoundingClientRect().y + 60)?.closest('a')?.getAttribute('href'));
    const read = await until(top, 'rows are in sight');
    await until(async () => Number((await news.innerText()).split(' ')[0]) > 15, 'and more are counted');
    same(await top(), read, 'the row under the reader');
    await news.click();
    await until(async () => (await list.evaluate((it) => it.scrollTop)) === 0 && !(await news.count()), 'the button shows them');

    // At the top the list follows by itself; paused, it does not.
    await page.mouse.move(2, 2);
    const first = () => rows.first().getAttribute('href');
    const was = await first();
    await until(async () => (await first()) !== was, 'it is live');
    await page.getByRole('button', { name: 'Pause the list' }).click();
    const stopped = await first();
    await until(async () => Number((await news.innerText().catch(() => '0')).split(' ')[0]) > 8, 'what comes is counted');
    same(await first(), stopped, 'a paused list stands');
    await page.getByRole('button', { name: 'Resume the list' }).click();
    await until(async () => (await first()) !== stopped, 'and goes on');

    // What changes ten times a second can be pressed: its button stays.
    await post('/faults', { path: '/tags', effect: { headers: { 'x-note': 'met' } }, times: null });
    await page.goto(`${page.url().split('#')[0]}#/faults`);
    const remove = await page.getByRole('button', { name: 'Remove', exact: true }).elementHandle();
    const fired = () => page.locator('tbody a').innerText();
    const times = await fired();
    await until(async () => (await fired()) !== times, 'it fires again');
    check(await remove.evaluate((it) => it.isConnected), 'its button stays');
    await remove.click();
    await page.getByText('No rules').waitFor();

    // Conversations: clicks open them, and what is typed stays.
    await page.getByRole('link', { name: 'Inbox', exact: true }).click();
    const conversations = page.locator('.conversation-row');
    await conversations.nth(8).waitFor();
    for (let i = 0; i < 10; i += 1) await press(1 + (i % 5));
    await page.goto(`${page.url().split('#')[0]}#/inbox/${ids[30]}?view=all`);
    await page.getByRole('heading', { name: 'Lamp 30', exact: true }).waitFor();
    const area = page.getByRole('textbox', { name: 'Text', exact: true });
    await area.click();
    await page.keyboard.type('Half a sentence, typed while the app is at work', { delay: 30 });
    same([await area.inputValue(), await page.evaluate(() => document.activeElement?.localName)], ['Half a sentence, typed while the app is at work', 'textarea'], 'what is typed');

    // With the keyboard it is a few stops from the list to the field, however long the list is.
    await page.goto(`${page.url().split('#')[0]}#/inbox/${ids[5]}?view=all`);
    await page.getByRole('heading', { name: 'Lamp 5', exact: true }).waitFor();
    await conversations.nth(3).focus();
    let stops = 0;
    do {
        await page.keyboard.press('Tab');
        stops += 1;
    } while (stops < 60 && !(await page.evaluate(() => document.activeElement?.localName === 'textarea')));
    check(stops < 40, `${stops} stops from a row to the field`);
    clearInterval(writing);
});
