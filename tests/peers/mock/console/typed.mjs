// Nothing typed is lost, the sandbox has customers too, and small windows show what matters.

import { check, get, open, post, run, same, service, until } from './kit.mjs';

await run(async () => {
    const address = (await get('/mailboxes'))[0].address;
    const { conversationId: id } = await post('/inbound', { to: address, from: 'kim@customer.example', name: 'Kim of the Northern Lamp and Lantern Society', subject: 'A long one, about lamps that flicker since Monday in each of our rooms', text: 'The first of many.' });
    for (let i = 0; i < 12; i += 1) await post('/inbound', { to: address, from: 'kim@customer.example', text: `Mail number ${i}\n\nwith some lines\n\nof text.`, conversationId: id });
    const page = await open(`#/inbox/${id}?view=all`);
    const root = page.url().split('#')[0];
    const at = (hash) => page.goto(`${root}#/${hash}`);
    const area = page.getByRole('textbox', { name: 'Text', exact: true });

    // Drafts: across panels, reloads, other conversations and changes of the team.
    await page.getByLabel('Note', { exact: true }).check();
    await area.fill('Half a thought');
    await at('time');
    await page.getByRole('heading', { name: 'Time' }).waitFor();
    await at(`inbox/${id}?view=all`);
    await until(async () => (await area.inputValue()) === 'Half a thought', 'after another panel');
    await page.reload();
    await until(async () => (await area.inputValue()) === 'Half a thought', 'after a reload');
    check(await page.getByLabel('Note', { exact: true }).isChecked(), 'it is still a note');
    await post('/users', { name: 'Ida New' });
    await page.getByLabel('As', { exact: true }).locator('option', { hasText: 'Ida New' }).waitFor({ state: 'attached' });
    same(await area.inputValue(), 'Half a thought', 'after the team has changed');
    const [other] = (await get('/conversations?view=open')).filter((it) => it.id !== id);
    await at(`inbox/${other.id}?view=all`);
    await until(async () => (await area.inputValue()) === '', 'another conversation has another draft');
    await at(`inbox/${id}?view=all`);
    await until(async () => (await area.inputValue()) === 'Half a thought', 'and this one its own');
    await page.getByRole('button', { name: 'Note', exact: true }).click();
    await until(async () => (await get(`/conversations/${id}`)).timeline.some((it) => it.body === 'Half a thought'), 'it is written');
    await until(async () => (await area.inputValue()) === '', 'the field is free');
    await page.reload();
    await page.locator('.note').getByText('Half a thought').waitFor();
    same(await area.inputValue(), '', 'and not there twice');

    // What is typed into the search right after a switch to the inbox is all there, in the field and in the address.
    for (const pause of [20, 90, 160, 240]) {
        const fresh = await open('#/time', { beside: page.context() });
        await fresh.getByRole('heading', { name: 'Time' }).waitFor();
        await fresh.getByRole('link', { name: 'Inbox', exact: true }).click();
        await fresh.getByLabel('Search mail').pressSequentially('flicker', { delay: pause });
        await until(async () => fresh.url().includes('q=flicker'), `with ${pause} ms between two letters`);
        same(await fresh.getByLabel('Search mail').inputValue(), 'flicker', 'the field');
        await fresh.close();
    }

    // A large email opens at its beginning, cut; the whole is one click away.
    const large = await post('/inbound', { to: address, from: 'max@customer.example', subject: 'Large', text: `It begins here. ${'0123456789 '.repeat(95_000)} It ends here.` });
    await at(`inbox/${large.conversationId}?view=all`);
    const email = page.locator('.message.in');
    await email.getByText('It begins here.').waitFor();
    check(await email.locator('header').isVisible() && (await email.locator('header').evaluate((it) => it.getBoundingClientRect().top >= it.closest('.timeline').getBoundingClientRect().top - 1)), 'its head is in sight');
    check(!(await email.innerText()).includes('It ends here.'), 'it is cut');
    await page.getByRole('button', { name: 'Show all of it (1.0 MB)' }).click();
    check((await email.innerText()).includes('It ends here.'), 'and whole on demand');
    await at(`inbox/${id}?view=all`);
    await page.locator('.note').getByText('Half a thought').waitFor();

    // A clock that stands says so.
    check((await page.locator('#clock').innerText()).includes('paused'), 'the clock is paused');

    // A countdown is not read out every second.
    await service('POST', `/conversations/${id}/replies`, { body: 'Soon', send: true });
    await page.locator('.countdown').first().waitFor();
    same(await page.locator('[role=log] .countdown, [aria-live] .countdown, [role=status] .countdown').count(), 0, 'a countdown is not in a log');

    // A customer writes in the sandbox, through the sandbox.
    const sandbox = (await get('/conversations')).find((it) => it.sandbox);
    await at(`inbox/${sandbox.id}?view=all`);
    await page.locator('.who .b-sandbox').waitFor();
    await page.getByRole('button', { name: 'Mail from customer' }).click();
    await page.getByRole('textbox', { name: 'Text' }).last().fill('Written by hand');
    await page.getByRole('button', { name: 'Send it in' }).click();
    await page.locator('.message.in').getByText('Written by hand').waitFor();
    await page.locator('dialog').waitFor({ state: 'detached' });

    // The skip link leads to the content, and not elsewhere.
    const before = page.url();
    await page.locator('.skip').focus();
    await page.keyboard.press('Enter');
    same([await page.evaluate(() => document.activeElement?.id), page.url()], ['main', before], 'the skip link');

    // At 768 pixels of height every dialog shows its main button.
    await page.setViewportSize({ width: 1366, height: 768 });
    const { id: hook } = await post('/webhooks', { url: 'http://127.0.0.1:9/hook', livemode: true, scope: 'team' });
    const dialogs = [['inbox', 'Mail', 'Send it in'], [`inbox/${id}?view=all`, 'Mail from customer', 'Send it in'], [`inbox/${id}?view=all`, 'Snooze', 'Snooze'], ['webhooks', 'Add', 'Add'], [`webhooks/${hook}`, 'Rotate the secret', 'Rotate'], ['faults', 'Add a rule', 'Add'], ['keys', 'Make a key', 'Make'], ['bookings', 'Book a time', 'Book'], ['worlds', 'Make a world', 'Make'], ['time', 'To a time', 'Move']];
    for (const [place, opener, main] of dialogs) {
        await at(place);
        await page.getByRole('button', { name: opener, exact: true }).first().click();
        const button = page.locator('dialog').getByRole('button', { name: main, exact: true });
        await button.waitFor();
        const { bottom } = await button.evaluate((it) => it.getBoundingClientRect().toJSON());
        check(bottom <= 768, `${opener}: its button ends at ${bottom}`);
        await page.keyboard.press('Escape');
        await page.locator('dialog').waitFor({ state: 'detached' });
    }

    // A request row shows its operation whole, and what it was about as far as there is room, at 1366 pixels and on a phone.
    await service('POST', `/conversations/${id}/status`, { status: 'open' });
    for (const width of [1366, 390]) {
        await page.setViewportSize({ width, height: 768 });
        await at('requests?method=POST');
        const row = page.locator('.call-row', { hasText: 'set status' }).first();
        await row.waitFor();
        const [title, about] = await Promise.all([row.locator('.first b'), row.locator('.first .topic')].map((it) => it.evaluate((part) => [part.scrollWidth - part.clientWidth, part.getBoundingClientRect().right, part.closest('a').getBoundingClientRect().right])));
        check(title[0] <= 1, `the operation is whole at ${width}`);
        const cut = () => page.locator('.row .badge').evaluateAll((badges) => badges.filter((it) => it.scrollWidth > it.clientWidth + 1 || it.getBoundingClientRect().right > it.closest('.row').getBoundingClientRect().right).map((it) => it.textContent));
        same(await cut(), [], `no status of a request is cut at ${width}`);
        await at('outbox');
        await page.locator('si-outbox .row .badge').first().waitFor();
        same(await cut(), [], `no outcome of an email is cut at ${width}`);
        check(about[0] <= 1 || about[2] - about[1] < 20, `nothing but the edge cuts off what it was about at ${width}`);
    }

    // Phone: a conversation opens at its newest message, the panels beyond the edge are hinted at, nothing on Time is cut.
    const request = (await get('/requests')).find((it) => it.path.endsWith('/replies'));
    const phone = await open(`#/inbox/${id}?view=all`, { viewport: { width: 390, height: 844 } });
    await phone.locator('.message').getByText('Mail number 11').waitFor();
    await until(() => phone.locator('.item').last().evaluate((it) => it.getBoundingClientRect().top < innerHeight && it.getBoundingClientRect().bottom > 0), 'the newest is in sight');
    await phone.goto(`${root}#/inbox/${large.conversationId}?view=all`);
    const start = phone.locator('.message.in');
    await start.getByText('It begins here.').waitFor();
    await until(() => start.locator('header').evaluate((it) => it.getBoundingClientRect().top >= it.closest('si-conversation').getBoundingClientRect().top - 1 && it.getBoundingClientRect().bottom < innerHeight), 'a large email begins in sight');
    check(await phone.locator('#nav').evaluate((it) => it.scrollWidth > it.clientWidth && getComputedStyle(it).maskImage !== 'none'), 'what continues fades out');
    await phone.goto(`${root}#/time`);
    await phone.locator('.job-row').first().waitFor();
    const wide = await phone.evaluate(() => [...document.querySelectorAll('si-time *')].filter((it) => it.getBoundingClientRect().right > innerWidth + 1 || (it.matches('.job-row b') && it.scrollWidth > it.clientWidth + 1)).map((it) => it.className || it.localName));
    same(wide, [], 'everything on Time fits');

    // The place is marked in sight, a trace and its errors stay within the window, and what was opened is in sight.
    const inside = (locator) => locator.evaluate((it) => it.getBoundingClientRect().left >= 0 && it.getBoundingClientRect().right <= innerWidth && it.getBoundingClientRect().top >= 0 && it.getBoundingClientRect().top < innerHeight);
    for (const place of ['worlds', 'inbox', 'keys']) {
        await phone.goto(`${root}#/${place}`);
        await until(() => inside(phone.locator(`#nav [aria-current][href="#/${place}"]`)), `the panel ${place} is marked in sight`);
    }
    const wider = () => phone.evaluate(() => [...document.querySelectorAll('main *')].filter((it) => it.getBoundingClientRect().right > innerWidth + 1).map((it) => it.className || it.localName));
    const { eventId } = await post(`/webhooks/${hook}/test`);
    await until(async () => (await get(`/webhooks/${hook}/deliveries`)).some((it) => it.eventId === eventId && it.attempts.length), 'the attempt');
    for (const id of [request.id, eventId]) {
        await phone.goto(`${root}#/trace/${id}`);
        await phone.locator('.step.this', { hasText: id }).first().waitFor();
        same(await wider(), [], 'a trace fits');
    }
    await phone.goto(`${root}#/webhooks/${hook}`);
    await phone.locator('si-deliveries .call-row').first().click();
    await until(() => inside(phone.locator('.delivery h2')), 'an opened delivery is in sight');
    await post('/snapshots', { name: 'before' });
    await phone.goto(`${root}#/worlds`);
    await phone.getByRole('button', { name: 'Delete before' }).waitFor();
    same(await wider(), [], 'every button of a snapshot is in sight');

    // The head of a conversation leaves most of the room to what was said, with everything that it can show.
    await service('POST', `/conversations/${id}/document-requests`, { documents: [{ label: 'Passport' }, { label: 'Photo' }], send: true });
    await page.setViewportSize({ width: 1366, height: 768 });
    await at(`inbox/${id}?view=all`);
    await page.getByText('Documents asked for: 0 of 2 uploaded').waitFor();
    const { height } = await page.locator('.one-head').evaluate((it) => it.getBoundingClientRect().toJSON());
    check(height < 200, `the head takes ${height} pixels`);
});
