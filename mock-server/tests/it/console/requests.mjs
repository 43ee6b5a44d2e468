// What the app asked for shows as it happens, and can be taken along as a command and as a test.

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { check, get, open, post, run, same, service, until } from './kit.mjs';

await run(async () => {
    const page = await open('#/requests');
    await page.getByText('has not asked for anything yet').waitFor();
    const ready = await get('/ready');
    const [inbox] = await get('/mailboxes');
    const { conversationId: id } = await post('/inbound', { to: inbox.address, from: 'kim@customer.example', subject: 'My lamp flickers', text: 'It flickers since Monday.' });

    await service('GET', '/me');
    await service('POST', `/conversations/${id}/notes`, { body: 'It\'s the "L2" model,\nsays Zoë' });
    await service('POST', '/conversations/cnv_none/notes', { body: 'Where?' });
    await fetch(ready.mcp_url, { method: 'POST', headers: { Authorization: `Bearer ${ready.keys.live}`, 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', 'MCP-Protocol-Version': '2025-06-18' }, body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'set_status', arguments: { id, status: 'waiting' } } }) });
    const rows = page.locator('.request-row');
    await until(async () => (await rows.count()) === 4, 'the requests show by themselves');
    check((await rows.first().innerText()).includes('set_status'), 'newest first, an MCP call by its tool');

    // Filters.
    await page.getByLabel('Way').selectOption('mcp');
    await until(async () => (await rows.count()) === 1, 'MCP alone');
    await page.getByLabel('Way').selectOption('');
    await page.getByLabel('Status').selectOption('4xx');
    await until(async () => (await rows.count()) === 1, 'those that were refused');
    await page.getByLabel('Status').selectOption('');
    await page.getByLabel('Search requests').fill('zoë');
    await until(async () => (await rows.count()) === 1, 'by a word of the body');

    // Details, and the same request again by the command.
    await rows.first().click();
    await page.locator('.detail').getByText('Copy as curl').waitFor();
    check((await page.locator('.detail pre').innerText()).includes('says Zoë'), 'the body is shown');
    const copied = async (name) => {
        await page.evaluate(() => navigator.clipboard.writeText(''));
        await page.getByRole('button', { name }).click();
        return until(() => page.evaluate(() => navigator.clipboard.readText()), `${name} copies`);
    };
    const command = await copied('Copy as curl');
    await promisify(execFile)('sh', ['-c', command.replace('curl', 'curl -s')], { env: { ...process.env, SHARED_INBOX_API_KEY: ready.keys.live } });
    const notes = (await get(`/conversations/${id}`)).timeline.filter((it) => it.type === 'note').map((it) => it.body);
    same(notes, [notes[0], notes[0]], 'the command writes the same note');

    // As tests, which are compiled and run beside this one.
    const tests = [await copied('Copy as a Rust test')];
    await page.getByLabel('Search requests').fill('Where?');
    await until(async () => (await rows.count()) === 1, 'the refused one');
    await rows.first().click();
    await page.locator('.detail h1').getByText('cnv_none').waitFor();
    tests.push(await copied('Copy as a Rust test'));
    await page.getByLabel('Search requests').fill('');
    await page.getByLabel('Way').selectOption('mcp');
    await until(async () => (await rows.count()) === 1, 'the tool');
    await rows.first().click();
    await page.locator('.detail h1').getByText('MCP set_status').waitFor();
    tests.push(await copied('Copy as a Rust test'));
    process.stdout.write(tests.join('\0'));

    // The journal can be emptied.
    await page.getByLabel('Way').selectOption('');
    await page.getByRole('button', { name: 'Clear' }).click();
    await until(async () => (await get('/requests')).length === 0, 'it is empty');
});
