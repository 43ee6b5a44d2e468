// A person works in the inbox: every action by clicking and typing, every effect seen through the API.

import { CONSOLE, allowed, check, fillIn, get, hold, open, post, run, same, service, until } from './kit.mjs';

await run(async () => {
    const page = await open();
    const rows = page.locator('.conversation-row');
    await rows.first().waitFor();
    const all = await get('/conversations?view=open');
    same(await rows.count(), all.length, 'every open conversation is in the list');

    // A customer writes; it shows by itself.
    await page.getByRole('button', { name: 'Mail', exact: true }).click();
    await fillIn(page, { From: 'kim@customer.example', Name: 'Kim Berg', Subject: 'My lamp flickers', Text: 'It flickers since Monday.\nCan I get another one?', Attachment: 'lamp.jpg' }, 'Send it in');
    await page.getByRole('heading', { name: 'My lamp flickers' }).waitFor();
    const [made] = await get('/conversations?q=flickers');
    same([made.subject, made.contact.name, made.messageCount], ['My lamp flickers', 'Kim Berg', 1], 'the mail');
    check(page.url().includes(made.id), 'the address names the conversation');
    await page.locator('.timeline').getByText('Can I get another one?').waitFor();
    await page.locator('.attachments').getByText('lamp.jpg').waitFor();
    const view = () => get(`/conversations/${made.id}`);
    const one = page.locator('si-conversation');

    // Status, assignment, tags, snooze.
    await one.getByRole('button', { name: 'Waiting', exact: true }).click();
    await until(async () => (await view()).status === 'waiting', 'the status');
    await one.locator('[aria-pressed=true]', { hasText: 'Waiting' }).waitFor();
    const person = (await view()).team.people[0];
    await one.getByLabel('Assigned to').selectOption(person.id);
    await until(async () => (await view()).assignee?.name === person.name, 'the assignee');
    await one.getByRole('button', { name: '+ Tag' }).click();
    await fillIn(page, { Tag: 'flicker' }, 'Add');
    await until(async () => (await view()).tags.includes('flicker'), 'the tag');
    await one.getByRole('button', { name: 'Remove the tag flicker' }).click();
    await until(async () => !(await view()).tags.includes('flicker'), 'the tag is gone');
    await one.getByRole('button', { name: 'Snooze' }).click();
    await fillIn(page, {}, 'Snooze');
    await until(async () => (await view()).snoozedUntil, 'the snooze');
    await one.getByRole('button', { name: 'Wake up' }).click();
    await until(async () => !(await view()).snoozedUntil, 'it is awake');

    // A note, a reply, a countdown, a stop.
    const text = one.getByRole('textbox', { name: 'Text' });
    await one.getByRole('radio', { name: 'Note' }).check();
    await text.fill('Model L2, @Anna');
    await one.getByRole('button', { name: 'Note', exact: true }).click();
    await one.locator('.note').getByText('Model L2, @Anna').waitFor();
    await until(async () => (await text.inputValue()) === '', 'what was sent is not sent twice');
    await one.getByRole('radio', { name: 'Reply' }).check();
    await text.fill('A new lamp is on its way.');
    await one.getByRole('button', { name: 'Reply', exact: true }).click();
    const scheduled = one.locator('.s-scheduled');
    await scheduled.getByText('A new lamp is on its way.').waitFor();
    check(/leaves in (10 min|9 min)/.test(await scheduled.locator('.countdown').innerText()), 'it counts down to its time');
    await scheduled.getByRole('button', { name: 'Stop' }).click();
    await one.locator('.s-draft').getByText('A new lamp is on its way.').waitFor();
    same((await view()).timeline.filter((it) => it.type === 'message' && it.status === 'draft').length, 1, 'a draft again');

    // What is written while an answer is on its way stays.
    // The route stays to the end: one that is taken away loses what is under way.
    let answer;
    let meet = async (route) => {
        await new Promise((resume) => (answer = resume));
        await route.fallback();
    };
    await page.route('**/notes', (route) => meet(route));
    await one.getByRole('radio', { name: 'Note' }).check();
    await text.fill('The first thought');
    await one.getByRole('button', { name: 'Note', exact: true }).click();
    await until(() => answer, 'the note is on its way');
    await text.fill('The second thought');
    answer();
    await one.locator('.note').getByText('The first thought').waitFor();
    await page.locator('.toast', { hasText: 'The note is in the timeline' }).last().waitFor();
    const send = one.getByRole('button', { name: 'Note', exact: true });
    await until(() => send.isEnabled(), 'the next can be sent');
    const free = (it) => {
        const { x, y, width, height } = it.getBoundingClientRect();
        return [0.05, 0.5, 0.95].every((part) => document.elementFromPoint(x + width * part, y + height / 2) === it);
    };
    check((await page.locator('.toast').count()) > 0 && (await send.evaluate(free)), 'what is said is not in the way');
    same(await text.inputValue(), 'The second thought', 'it stays');

    // What is refused stays too.
    allowed.add(503);
    meet = (route) => route.fulfill({ status: 503, json: { error: 'Not now' } });
    await send.click();
    await page.locator('.toast.bad').waitFor();
    same(await text.inputValue(), 'The second thought', 'it can be sent again');
    meet = (route) => route.fallback();
    allowed.clear();

    // Approve it as edited; let it go out; write in as the customer again.
    await one.locator('.s-draft').getByRole('button', { name: 'Edit' }).click();
    await fillIn(page, { Text: 'A new lamp is on its way, Kim.' }, 'Approve');
    await one.locator('.s-scheduled').getByText('on its way, Kim.').waitFor();
    await post('/clock', { advanceSeconds: 600 });
    await one.locator('.s-sent').getByText('on its way, Kim.').waitFor();
    await one.getByRole('button', { name: 'Mail from customer' }).click();
    await fillIn(page, { Text: 'Thank you!' }, 'Send it in');
    await one.locator('.message.in').getByText('Thank you!').waitFor();

    // What the app drafts can be discarded; what it asks for can be uploaded.
    await service('POST', `/conversations/${made.id}/replies`, { body: 'A draft of the app', summary: 'Only a test' });
    const draft = one.locator('.s-draft');
    await draft.getByText('Only a test').waitFor();
    await draft.getByRole('button', { name: 'Discard' }).click();
    await fillIn(page, {}, 'Discard');
    await draft.waitFor({ state: 'detached' });
    await service('POST', `/conversations/${made.id}/document-requests`, { documents: [{ label: 'Receipt' }], send: true });
    await one.getByText('Documents asked for').click();
    await one.getByRole('button', { name: 'Upload Receipt' }).click();
    await fillIn(page, { File: 'receipt.pdf', 'What the reading helper': 'receipt' }, 'Upload');
    await until(async () => (await view()).documentRequests[0].completedAt, 'the request is complete');
    await one.locator('.checklist').getByText('complete').waitFor();

    // Who wrote, on which reference of the app, and what the sorting helper warns of, with its reasons.
    const box = (await get('/mailboxes')).find((it) => !it.owner && !it.sandbox).address.replace('@', '+order-7@');
    const bad = await post('/inbound', { to: box, from: 'eve@phish.example', name: 'Eve Adams', subject: 'Your account', text: 'Send me the code.', risk: 'phishing', riskReasons: ['The link leads elsewhere', 'It asks for a code'] });
    await page.goto(`${CONSOLE}#/inbox/${bad.conversationId}?view=all`);
    await one.locator('.who').getByText('order-7').waitFor();
    const who = await one.locator('.who').innerText();
    check(who.includes('Eve Adams') && who.includes('eve@phish.example'), 'the contact');
    const risk = await one.locator('.risk').innerText();
    for (const part of ['phishing', 'The link leads elsewhere', 'It asks for a code']) check(risk.includes(part), part);

    // Search, views, tags and inboxes narrow the list; the address keeps all of it.
    await page.goto(`${CONSOLE}#/inbox/${made.id}`);
    await page.getByLabel('Search mail').fill('flickers');
    await until(async () => (await rows.count()) === 1, 'the search narrows the list');
    await page.getByRole('link', { name: 'All', exact: true }).click();
    await page.reload();
    await page.getByRole('heading', { name: 'My lamp flickers' }).waitFor();
    same(await page.getByLabel('Search mail').inputValue(), 'flickers', 'the words are in the address');
    await until(async () => (await rows.count()) === 1, 'and narrow the list after a reload');
    await page.getByLabel('Search mail').fill('');
    const [inbox] = (await get('/mailboxes')).filter((it) => it.owner);
    await page.getByLabel('Inbox', { exact: true }).selectOption(inbox.id);
    const there = await get(`/conversations?mailbox=${inbox.id}`);
    await until(async () => (await rows.count()) === there.length, 'a private inbox is shown too');

    // An answer that comes late takes neither the focus from where a person has gone on to, nor the place of what is shown now.
    const none = page.getByText('No conversation chosen');
    await page.goto(`${CONSOLE}#/inbox?view=all`);
    await none.waitFor();
    const late = await hold(page, '/conversations/cnv_');
    await rows.nth(1).click();
    await late.asked();
    await page.getByLabel('Search mail').click();
    await late.answer();
    await page.locator('si-conversation h1').waitFor();
    await page.keyboard.type('x');
    same(await page.getByLabel('Search mail').inputValue(), 'x', 'what is typed meanwhile');
    await page.waitForURL(/q=x/);
    await page.goto(`${CONSOLE}#/inbox?view=all`);
    await none.waitFor();
    await until(async () => (await rows.count()) > 2, 'all are listed again');
    const later = await hold(page, '/conversations/cnv_');
    await rows.nth(2).click();
    await later.asked();
    await page.goto(`${CONSOLE}#/inbox?view=all`);
    await none.waitFor();
    await later.answer();
    await page.waitForTimeout(300);
    check(await none.isVisible(), 'what was left does not come back');
});
