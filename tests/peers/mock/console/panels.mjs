// Everything beside the inbox that people do at their desk: approvals, documents, bookings, faults, keys, worlds.

import { readFile } from 'node:fs/promises';
import { check, fillIn, get, open, post, run, same, service, until } from './kit.mjs';

await run(async () => {
    const [inbox] = await get('/mailboxes');
    const { conversationId: id } = await post('/inbound', { to: inbox.address, from: 'kim@customer.example', subject: 'Lamp', text: 'Hello', attachments: [{ filename: 'bill.pdf', contentType: 'application/pdf', size: 10 }] });
    const draft = async (body) => (await service('POST', `/conversations/${id}/replies`, { body, summary: `About ${body.slice(0, 100)}` })).json();
    await draft(`the first draft\n\n${'It goes on. '.repeat(80)}\n\nand its last words`);
    await draft('the second draft');

    // Approvals: the number beside the word, then yes, changed, no.
    const page = await open('#/approvals');
    const cards = page.locator('article.draft');
    await until(async () => (await cards.count()) === 2, 'both drafts wait');
    await page.locator('#waiting').getByText('2').waitFor();
    const card = (await cards.first().innerText()).replaceAll('\n', ' ');
    check(await cards.first().locator('.text').evaluate((it) => it.scrollHeight <= it.clientHeight && it.getBoundingClientRect().bottom <= it.closest('article').getBoundingClientRect().bottom), 'nothing of a draft is cut off');
    for (const words of ['and its last words', 'kim@customer.example', 'Lamp', 'Drafted by', 'the first draft']) check(card.includes(words), `a draft shows ${words}`);
    await cards.first().getByRole('button', { name: 'Approve' }).click();
    await until(async () => (await cards.count()) === 1, 'one is left');
    await cards.first().getByRole('button', { name: 'Edit' }).click();
    await fillIn(page, { Text: 'the second draft, better' }, 'Approve');
    await page.getByText('No draft waits').waitFor();
    await draft('the third draft');
    await cards.first().getByRole('button', { name: 'Discard' }).click();
    await fillIn(page, {}, 'Discard');
    await page.getByText('No draft waits').waitFor();
    const messages = (await get(`/conversations/${id}`)).timeline.filter((it) => it.direction === 'outbound');
    same(messages.filter((it) => it.status === 'scheduled').map((it) => it.text.split('\n')[0]), ['the first draft', 'the second draft, better'], 'what was approved');

    // The outbox fills as time passes.
    await page.getByRole('link', { name: 'Outbox' }).click();
    await page.getByText('No email was sent yet').waitFor();
    await post('/clock', { advanceSeconds: 600 });
    await until(async () => (await page.locator('.row').count()) === 2, 'both have left');

    // A mail opens as its recipient would get it, and leads to what led to it.
    await page.locator('.row').last().click();
    await page.getByRole('heading', { name: 'Re: Lamp' }).waitFor();
    await page.getByText('Headers and source').click();
    const source = await page.locator('.detail pre').innerText();
    check(source.includes('To: kim@customer.example') && source.includes('the first draft'), source);
    await page.getByRole('link', { name: 'What led to it' }).click();
    await page.locator('.step.k-message').first().getByText('the first draft').waitFor();

    // Documents: found by their words, uploaded for a request.
    await service('POST', `/conversations/${id}/document-requests`, { documents: [{ label: 'Passport' }, { label: 'Photo', required: false }], send: true });
    await page.getByRole('link', { name: 'Documents' }).click();
    await page.locator('.row').getByText('bill.pdf').first().waitFor();
    await page.getByLabel('Search documents').fill('passport');
    await page.getByText('Nothing fits').waitFor();
    await page.locator('.checklist').getByText('kim@customer.example').waitFor();
    await page.getByRole('button', { name: 'Upload Passport' }).click();
    await fillIn(page, { File: 'passport.jpg', 'What the reading helper': 'id' }, 'Upload');
    await page.locator('.row').getByText('passport.jpg').waitFor();
    same((await get('/documents?kind=id')).map((it) => it.filename), ['passport.jpg'], 'it is in the library');

    // Bookings.
    await page.getByRole('link', { name: 'Bookings' }).click();
    await page.getByRole('button', { name: 'Book a time' }).first().click();
    await fillIn(page, { Conversation: id }, 'Book');
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.locator('.badge', { hasText: 'cancelled' }).waitFor();
    same((await get('/bookings')).map((it) => [it.conversationId, it.cancelled]), [[id, true]], 'made and cancelled');

    // Faults: a rule strikes, and says so; a bundle brings several.
    await page.getByRole('link', { name: 'Faults' }).click();
    await page.getByRole('button', { name: 'Add a rule' }).click();
    await fillIn(page, { 'What the client sees': 'status-after', Path: '/conversations/*/notes' }, 'Add');
    const rules = page.locator('tbody tr');
    await until(async () => (await rows(rules)).includes('The next request to /conversations/*/notes takes effect, then counts as 500'), 'the rule is listed in words');
    await rules.getByText('nothing matched it').waitFor();
    same((await service('POST', `/conversations/${id}/notes`, { body: 'Struck' })).status, 500, 'it strikes');
    await rules.getByText('used up').waitFor();
    await rules.getByRole('button', { name: 'Remove' }).click();
    await page.getByText('No rules').waitFor();
    await page.getByRole('button', { name: 'Switch on' }).first().click();
    await until(async () => (await get('/faults')).length > 0, 'a bundle brings several');
    const [{ title }] = await get('/bundles');
    await until(async () => (await rules.getByText(`part of “${title}”`).count()) === (await get('/faults')).length, 'each rule names its bundle');
    await page.getByRole('button', { name: 'Switch off' }).click();
    await until(async () => (await get('/faults')).length === 0, 'and takes them away');

    // Keys: shown once, then revoked.
    await page.getByRole('link', { name: 'Team and keys' }).click();
    await page.getByRole('button', { name: 'Make a key' }).click();
    await fillIn(page, { 'Name of its agent': 'Night shift' }, 'Make');
    const key = await page.getByRole('textbox', { name: 'The new key' }).inputValue();
    same((await service('GET', '/me', undefined, key)).status, 200, 'the key works');
    await page.getByRole('button', { name: 'Done' }).click();
    check(!(await page.locator('body').innerText()).includes(key), 'the key is not shown again');
    await page.getByRole('button', { name: 'Revoke the key of Night shift' }).click();
    await fillIn(page, {}, 'Revoke');
    await until(async () => (await service('GET', '/me', undefined, key)).status === 401, 'the key is worth nothing');
    await page.locator('.badge', { hasText: 'revoked' }).waitFor();
    await page.getByRole('button', { name: 'Add a person' }).click();
    await fillIn(page, { Name: 'Ida' }, 'Add');
    await until(async () => (await get('/users')).some((it) => it.name === 'Ida'), 'a person');
    await page.locator('.people').getByText('Ida').waitFor();
    await page.getByRole('button', { name: 'Add an inbox' }).click();
    await fillIn(page, { Address: 'ida@acme.example', Name: 'Ida', 'Private to': { label: 'Ida' } }, 'Add');
    await until(async () => (await get('/mailboxes')).some((it) => it.name === 'Ida' && it.owner), 'a private inbox');
    same(await page.getByRole('combobox', { name: 'Plan' }).inputValue(), 'team', 'the plan is shown');
    await page.getByRole('combobox', { name: 'Plan' }).selectOption('free');
    await until(async () => (await service('GET', '/me')).status === 403, 'the free plan');
    await page.locator('section', { hasText: 'Plan' }).locator('.badge', { hasText: 'free' }).waitFor();
    await page.getByRole('combobox', { name: 'Plan' }).selectOption('team');
    await until(async () => (await service('GET', '/me')).status === 200, 'the team plan');

    // Worlds: save, make, switch, load, reset, delete.
    await page.getByRole('link', { name: 'Worlds', exact: true }).last().click();
    const [saving] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Download' }).click()]);
    const file = await saving.path();
    same(JSON.parse(await readFile(file, 'utf8')).conversations.length, 1, 'the document');
    await page.getByRole('button', { name: 'Take a snapshot' }).click();
    await fillIn(page, {}, 'Take');
    await page.getByRole('button', { name: 'Compare' }).click();
    await fillIn(page, {}, 'Compare');
    await page.getByText('Nothing has changed.').waitFor();
    await page.keyboard.press('Escape');
    await post(`/conversations/${id}/notes`, { body: 'After the snapshot' });
    await page.getByRole('button', { name: 'Compare' }).click();
    await fillIn(page, {}, 'Compare');
    await page.locator('.differences .new').getByText('note: “After the snapshot”').waitFor();
    same(await page.locator('.differences h3').allInnerTexts(), ['kim@customer.example · Lamp'], 'one group, which is the conversation');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Take a snapshot' }).click();
    await fillIn(page, { Name: 'noted' }, 'Take');
    await post(`/conversations/${id}/notes`, { body: 'After both' });
    const before = page.getByRole('row').filter({ hasText: 'before' });
    await before.getByRole('button', { name: 'Compare' }).click();
    await fillIn(page, { With: 'noted' }, 'Compare');
    await page.getByText('Between “before” and “noted”').waitFor();
    const between = await page.locator('.differences').innerText();
    check(between.includes('After the snapshot') && !between.includes('After both'), 'the difference of two snapshots');
    await page.keyboard.press('Escape');
    const noted = page.getByRole('row').filter({ hasText: 'noted' });
    await noted.getByRole('button', { name: 'Delete' }).click();
    await noted.waitFor({ state: 'detached' });
    same((await get('/snapshots')).map((it) => it.name), ['before'], 'one snapshot is left');
    await page.getByRole('button', { name: 'Restore' }).click();
    await fillIn(page, {}, 'Restore');
    await until(async () => !(await get(`/conversations/${id}`)).timeline.some((it) => it.body === 'After the snapshot'), 'it is as it was');
    await page.getByRole('button', { name: 'Delete before' }).click();
    await until(async () => (await get('/snapshots')).length === 0, 'the snapshot is forgotten');
    await page.getByRole('button', { name: 'Make a world' }).click();
    await fillIn(page, { 'Starts with': 'demo' }, 'Make');
    await page.getByRole('link', { name: 'Switch to wld_1' }).click();
    await page.locator('.world').getByText('wld_1').waitFor();
    await page.locator('.conversation-row').first().waitFor();
    check(page.url().includes('?world=wld_1'), 'the address names the world');
    const other = async () => (await get('/worlds/wld_1/conversations')).length;
    check((await other()) > 1, 'the demo');
    await page.getByRole('link', { name: 'Worlds', exact: true }).last().click();
    await page.getByRole('button', { name: 'Upload' }).click();
    await page.locator('dialog input[type=file]').setInputFiles(file);
    await fillIn(page, {}, 'Load');
    await until(async () => (await other()) === 1, 'it is what the document says');
    await page.getByRole('button', { name: 'Reset' }).click();
    await fillIn(page, {}, 'Reset');
    await until(async () => (await other()) > 1, 'it is the demo again');
    await page.getByRole('link', { name: 'Switch to the main world' }).click();
    await page.locator('.world').getByText('main world').waitFor();
    await page.getByRole('link', { name: 'Worlds', exact: true }).last().click();
    await page.getByRole('button', { name: 'Delete wld_1' }).click();
    await fillIn(page, {}, 'Delete');
    await until(async () => (await get('/worlds')).length === 1, 'it is gone');
});

async function rows(rules) {
    return (await rules.allInnerTexts()).join('\n');
}
