// An owner works with a webhook, against a receiver that is here.

import { execFile } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { createServer } from 'node:http';
import { promisify } from 'node:util';
import { check, fillIn, get, open, post, run, same, until } from './kit.mjs';

const heard = [];
let status = 200;
const receiver = createServer((request, response) => {
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
        heard.push({ headers: request.headers, body: Buffer.concat(chunks).toString() });
        response.writeHead(status, { 'x-receiver': 'orders' }).end(status === 200 ? '' : JSON.stringify({ reason: 'no such order' }));
    });
});
await new Promise((ready) => receiver.listen(0, '127.0.0.1', ready));
const address = `http://127.0.0.1:${receiver.address().port}/hook`;

await run(async () => {
    const page = await open('#/webhooks');
    await page.getByText('No webhook yet').waitFor();
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await fillIn(page, { Address: address }, 'Add');
    const secret = await page.getByRole('textbox', { name: 'The secret of the webhook' }).inputValue();
    check(secret.startsWith('whsec_'), 'the secret is shown once');
    await page.getByRole('button', { name: 'Done' }).click();
    const [hook] = await get('/webhooks');
    same([hook.url, hook.state], [address, 'on'], 'the webhook');
    const state = async () => (await get('/webhooks'))[0].state;

    // A test event arrives, signed with that secret, and its delivery shows exactly what was sent.
    await page.getByRole('button', { name: 'Send a test event' }).click();
    const row = page.locator('si-deliveries .call-row');
    await row.first().click();
    await until(() => heard.length === 1, 'the event arrives');
    const { headers, body } = heard[0];
    const mac = createHmac('sha256', Buffer.from(secret.slice(6), 'base64')).update(`${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`);
    same(headers['webhook-signature'], `v1,${mac.digest('base64')}`, 'the secret that was shown signs');
    await page.getByText('Headers', { exact: true }).click();
    const shown = await page.locator('.attempts pre').last().innerText();
    for (const name of ['content-type', 'user-agent', 'webhook-id', 'webhook-timestamp', 'webhook-signature']) check(shown.includes(`${name}: ${headers[name]}`), `${name} is shown as it was sent`);
    same(JSON.parse(await page.locator('.delivery pre').last().innerText()), JSON.parse(body), 'the body');
    check(!(await page.locator('main').innerText()).includes(secret.slice(6)), 'the secret is not');

    // The command does the same again.
    await page.getByRole('button', { name: 'Copy as curl' }).click();
    await page.getByText('Copied').waitFor();
    const command = await page.evaluate(() => navigator.clipboard.readText());
    await promisify(execFile)('sh', ['-c', command.replace('curl', 'curl -s')]);
    await until(() => heard.length === 2, 'the command sends it');
    for (const name of ['content-type', 'user-agent', 'webhook-id', 'webhook-timestamp', 'webhook-signature']) same(heard[1].headers[name], headers[name], name);
    same(heard[1].body, body, 'the body, to the byte');

    await page.getByRole('button', { name: 'Redeliver' }).click();
    await until(() => heard.length === 3, 'it is sent again');
    await page.getByText('Attempt 2').waitFor();

    // Failures and their retries, one try after the other.
    status = 500;
    const [inbox] = await get('/mailboxes');
    const { conversationId } = await post('/inbound', { to: inbox.address, from: 'vera@customer.example', text: 'Hello' });
    await post(`/conversations/${conversationId}/assign`, { to: 'none' });
    await post('/inbound', { to: inbox.address, from: 'vera@customer.example', text: 'Are you there?', conversationId });
    await page.getByRole('link', { name: 'All deliveries' }).click();
    await page.getByLabel('Outcome').selectOption('pending');
    await page.locator('si-deliveries .call-row[href*="outcome=pending"]', { hasText: 'client.replied' }).click();
    await post('/clock', { advanceSeconds: 200 });
    await page.getByText('Attempt 3').waitFor();
    // That it fails, and why, is said of the webhook and of each delivery.
    await page.locator('.hook-row .badge', { hasText: 'failing' }).waitFor();
    await page.locator('.hook .problem').getByText('the response was 500').waitFor();
    await row.filter({ hasText: 'client.replied' }).getByText('3 attempts').waitFor();
    await row.filter({ hasText: 'client.replied' }).getByText('the response was 500').waitFor();
    check((await page.locator('.attempts .badge').allInnerTexts()).every((it) => it === '500'), 'each try with its status');
    // What the receiver answered to each, with its reason.
    await page.locator('.attempts .answer').first().getByText('no such order').waitFor();
    await page.getByText('Headers of the response').first().click();
    await page.locator('.attempts pre').getByText('x-receiver: orders').first().waitFor();
    status = 200;
    await post('/clock', { advanceSeconds: 3_600 });
    await page.locator('.delivery h2').getByText('delivered').waitFor();
    await page.locator('.hook-row .badge', { hasText: 'on' }).waitFor();
    // An attempt that met a fault names the rule.
    const rule = await post('/faults', { webhook: '*', effect: { status: 503 } });
    await page.getByRole('button', { name: 'Redeliver' }).click();
    await page.locator('.attempts .first', { hasText: '503' }).getByRole('link', { name: rule.id }).waitFor();

    // Two filters in one breath: the second must not undo the first.
    await page.evaluate(() => {
        for (const [label, value] of [['Outcome', 'delivered'], ['Event', 'webhook.test']]) {
            const select = document.querySelector(`select[aria-label=${label}]`);
            select.value = value;
            select.dispatchEvent(new Event('change'));
        }
    });
    await until(async () => (await row.count()) === 1 && (await page.locator('si-deliveries .call-row[href$="?outcome=delivered&type=webhook.test"]').count()) === 1, 'the log can be narrowed');

    // Pause, resume, rotate, check the receiver, delete.
    await page.getByRole('button', { name: 'Pause the webhook' }).click();
    await until(async () => (await state()) === 'paused', 'it is paused');
    await page.getByRole('button', { name: 'Resume the webhook' }).click();
    await until(async () => (await state()) === 'on', 'it is on');
    await page.getByRole('button', { name: 'Pause the webhook' }).waitFor();
    await page.getByRole('button', { name: 'Rotate the secret' }).click();
    await fillIn(page, {}, 'Rotate');
    const next = await page.getByRole('textbox', { name: 'The new secret' }).inputValue();
    check(next.startsWith('whsec_') && next !== secret, 'another secret');
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('button', { name: 'Check the receiver' }).click();
    const report = page.locator('.check-report li');
    await report.first().waitFor();
    same(await report.count(), 11, 'every case is reported');
    check((await page.locator('.check-report .bad').count()) > 0, 'a receiver that takes everything does not pass');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Delete' }).click();
    await fillIn(page, {}, 'Delete');
    await page.getByText('No webhook yet').waitFor();
    same(await get('/webhooks'), [], 'it is gone');
});
receiver.close();
