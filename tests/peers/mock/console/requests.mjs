// What the app asked for shows as it happens, and can be taken along as a command and as a test.

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { allowed, check, fillIn, get, open, post, run, same, service, until } from './kit.mjs';

await run(async () => {
    const page = await open('#/requests');
    await page.getByLabel('Method').selectOption('POST');
    await page.getByText('No request fits these filters').waitFor();
    const ready = await get('/ready');
    const [inbox] = await get('/mailboxes');
    const { conversationId: id } = await post('/inbound', { to: inbox.address, from: 'kim@customer.example', subject: 'My lamp flickers', text: 'It flickers since Monday.' });

    await service('POST', `/conversations/${id}/notes`, { body: 'It\'s the "L2" model,\nsays Zoë' });
    await service('POST', '/conversations/cnv_none/notes', { body: 'Where?' });
    await fetch(ready.mcp_url, { method: 'POST', headers: { Authorization: `Bearer ${ready.keys.live}`, 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', 'MCP-Protocol-Version': '2025-06-18' }, body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'set_status', arguments: { id, status: 'waiting' } } }) });
    const rows = page.locator('.call-row');
    await until(async () => (await rows.count()) === 3, 'the requests show by themselves');
    same((await rows.allInnerTexts()).map((it) => it.split('\n').slice(0, 3)), [['200', 'set status', 'kim@customer.example · My lamp flickers'], ['404', 'add note', 'cnv_none'], ['201', 'add note', 'kim@customer.example · My lamp flickers']], 'newest first, each by its operation and what it was about');

    // Filters.
    await page.getByLabel('Way').selectOption('mcp');
    await until(async () => (await rows.count()) === 1, 'MCP alone');
    await page.getByLabel('Way').selectOption('');
    await page.getByLabel('Status').selectOption('4xx');
    await until(async () => (await rows.count()) === 1 && (await page.locator('.call-row[href*="status=4xx"]').count()) === 1, 'those that were refused');
    await page.getByLabel('Status').selectOption('');
    // A row leads to its request with the words that its list was made by.
    const search = async (words) => {
        await page.getByLabel('Search requests').fill(words);
        const found = page.locator(`.call-row[href*="q=${encodeURIComponent(words).replace('%3F', '')}"]`);
        await found.first().waitFor();
        return found;
    };
    same(await (await search('zoë')).count(), 1, 'by a word of the body');

    // Details, and the same request again by the command.
    await rows.first().click();
    await page.locator('.detail').getByText('Copy as curl').waitFor();
    check((await page.locator('.detail pre').first().innerText()).includes('says Zoë'), 'the body is shown');
    const copied = async (name) => {
        await page.evaluate(() => navigator.clipboard.writeText(''));
        await page.getByRole('button', { name }).click();
        return until(() => page.evaluate(() => navigator.clipboard.readText()), `${name} copies`);
    };
    const command = await copied('Copy as curl');
    await promisify(execFile)('sh', ['-c', command.replace('curl', 'curl -s')], { env: { ...process.env, SHARED_INBOX_API_KEY: ready.keys.live } });
    const notes = (await get(`/conversations/${id}`)).timeline.filter((it) => it.type === 'note').map((it) => it.body);
    same(notes, [notes[0], notes[0]], 'the command writes the same note');

    // A command has no characters that a terminal acts on, whatever the body, and still sends the same.
    const control = 'Bell\u0007 delete\u007f next\u0085 turned\u202e back\\slash it\'s 100 %d';
    await service('POST', `/conversations/${id}/notes`, { body: control });
    await (await search('delete')).first().click();
    await page.locator('.detail pre').first().getByText('[U+007F]').waitFor();
    const plain = await copied('Copy as curl');
    check(!/[^\P{C}\n]/u.test(plain), 'no control characters');
    await promisify(execFile)('sh', ['-c', plain.replace('curl', 'curl -s')], { env: { ...process.env, SHARED_INBOX_API_KEY: ready.keys.live } });
    same((await get(`/conversations/${id}`)).timeline.filter((it) => it.body === control).length, 2, 'the same note again');
    await (await search('zoë')).first().click();
    await page.locator('.detail pre').first().getByText('says Zoë').waitFor();

    // As tests.
    check((await copied('Copy as a Rust test')).includes('.add_note("It\'s the \\"L2\\" model,\\nsays Zoë")'), 'Rust');
    check((await copied('Copy as pytest')).includes('def test_add_note_works(shared_inbox):'), 'pytest');
    check((await copied('Copy as vitest')).includes("test('add note works', async ({ world }) => {"), 'vitest');

    // The answer that the app received, with its sentence and its headers.
    await (await search('Where?')).click();
    const answer = page.getByRole('region', { name: 'Response received' });
    await answer.getByText('There is no such conversation.').waitFor();
    await answer.getByText('404 and its headers').click();
    await answer.getByText('application/json').waitFor();
    check((await copied('Copy the response')).includes('"error": "There is no such conversation."'), 'the answer is copied');
    check((await copied('Copy as a Rust test')).includes('assert!(error.is_not_found(), "{error}");'), 'a refusal is expected');

    // The headers of the request are there, and its key is not.
    const request = page.getByRole('region', { name: 'Request sent' });
    await request.getByText('Headers', { exact: true }).click();
    await request.getByText('user-agent').waitFor();
    check(!(await request.innerText()).toLowerCase().includes('authorization'), 'the key is in no header');

    // What a fault did is said in the row, in the request and in its trace, each with the rule.
    const calls = [{ method: 'POST', path: `/conversations/${id}/assign`, body: { to: 'none' } }];
    const act = await post('/faults', { path: '/conversations/*/notes', effect: { act: calls } });
    const fault = await post('/faults', { path: '/conversations/*/notes', effect: { status: 500 } });
    await service('POST', `/conversations/${id}/notes`, { body: 'Struck down' });
    const struck = (await search('Struck')).first();
    await struck.locator('.badge', { hasText: fault.id }).waitFor();
    await struck.click();
    await page.locator('.met').getByText('gets 500, and nothing happens').waitFor();
    const time = (await struck.locator('.time').innerText()).split('· ')[1];
    await page.getByRole('link', { name: 'What it led to' }).click();
    const step = page.locator('.step.k-request');
    await step.locator('.badge', { hasText: fault.id }).waitFor();
    check((await step.innerText()).includes(time), 'both show the same time');
    const called = page.locator('.step.k-control');
    same([await called.locator('.what bdi').innerText(), await called.locator('.badge').allInnerTexts()], [`POST ${calls[0].path}`, ['200', act.id]], 'the control call of a rule');
    await page.getByRole('link', { name: fault.id }).click();
    await page.locator('tr.this').getByText('used up').waitFor();
    await page.getByRole('row').filter({ hasText: fault.id }).getByRole('link', { name: 'once' }).click();
    await until(async () => (await rows.count()) === 1 && page.url().includes(`fault=${fault.id}`), 'the requests of a rule');

    // Again, changed, with the key of the world; the request that comes of it is shown.
    await rows.first().click();
    await page.getByRole('button', { name: 'Send again' }).click();
    check((await page.locator('dialog').getByLabel('Body').inputValue()).includes('Struck down'), 'as it was');
    await fillIn(page, { Body: '{"body": "Sent by hand"}' }, 'Send');
    await page.locator('.detail h1 .badge', { hasText: '201' }).waitFor();
    check((await get(`/conversations/${id}`)).timeline.some((it) => it.body === 'Sent by hand'), 'the note is written');

    await page.getByRole('button', { name: 'Send again' }).click();
    await page.locator('dialog').getByLabel('Path').fill('/api/v1/../../_mock/reset');
    await page.locator('dialog').getByRole('button', { name: 'Send', exact: true }).click();
    await page.locator('dialog .problem').getByText('must stay below /api/v1').waitFor();
    await page.keyboard.press('Escape');

    // By key, and by live or test.
    await service('GET', '/tags', undefined, ready.keys.test);
    await page.goto(`${page.url().split('#')[0]}#/requests?q=tags`);
    await page.getByLabel('Mode').selectOption('false');
    await until(async () => (await rows.count()) === 1, 'those with a test key');
    const { key, agentId } = await post('/keys', { name: 'Night shift', scopes: ['read'], livemode: true });
    await service('GET', '/mailboxes', undefined, key);
    await page.goto(`${page.url().split('#')[0]}#/requests`);
    await page.getByLabel('Key').locator(`option[value=${agentId}]`).waitFor({ state: 'attached' });
    await page.getByLabel('Key').selectOption(agentId);
    await until(async () => (await rows.allInnerTexts()).join() .includes('list mailboxes') && (await rows.count()) === 1, 'those of one key');
    await page.goto(`${page.url().split('#')[0]}#/requests?method=POST&q=Where%3F`);

    // The field shows the words that the list was made by, however they got into the address.
    await page.goto(`${page.url().split('#')[0]}#/requests?q=zo%C3%AB`);
    await until(async () => (await page.getByLabel('Search requests').inputValue()) === 'zoë', 'the words of the address');
    await page.goBack();
    await until(async () => (await page.getByLabel('Search requests').inputValue()) === 'Where?', 'and those before');

    // The journal can be emptied; what is open is gone then too.
    allowed.add(404);
    await page.getByLabel('Search requests').fill('');
    await page.getByRole('button', { name: 'Clear', exact: true }).click();
    await until(async () => !(await get('/requests?method=POST')).length, 'what was asked before is forgotten');
});
