// A first visitor learns what this is and what to do next; and every fault that there is can be armed by hand.

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { allowed, check, fillIn, get, open, post, run, same, service, until } from './kit.mjs';

await run(async () => {
    const page = await open('', { quiet: true });
    const start = page.locator('.start');
    await start.getByText('This is a mock of the shared inbox.').waitFor();
    same(await start.getByRole('heading').allInnerTexts(), ['Point your app here', 'Be a customer', 'Move time'], 'three things to do');
    const ready = await get('/ready');
    const copied = async (name) => {
        await page.evaluate(() => navigator.clipboard.writeText(''));
        await start.getByRole('button', { name }).click();
        return until(() => page.evaluate(() => navigator.clipboard.readText()), `${name} copies`);
    };
    same([await copied('Copy the base URL'), await copied('Copy the live key')], [ready.base_url, ready.keys.live], 'what an app needs');
    await start.getByRole('button', { name: 'Write in as a customer' }).click();
    await fillIn(page, { Text: 'Hello' }, 'Send it in');
    await page.locator('.timeline').getByText('Hello').waitFor();
    await page.goto(`${page.url().split('#')[0]}#/inbox`);
    await start.waitFor();

    // The first call of an app, made with the command that stands there, ends it.
    const { stdout } = await promisify(execFile)('sh', ['-c', (await copied('Copy the command')).replace('curl', 'curl -s')]);
    check(Array.isArray(JSON.parse(stdout)), 'the command works');
    await start.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Connect' }).click();
    await page.locator('dialog .start').waitFor();
    await page.keyboard.press('Escape');

    // Faults: each effect, for requests and for deliveries, in words.
    await post('/webhooks', { url: 'http://127.0.0.1:9/hook', livemode: true, scope: 'team' });
    await page.goto(`${page.url().split('#')[0]}#/faults`);
    const rules = page.locator('tbody tr');
    const arm = async (values, effect, words) => {
        await page.getByRole('button', { name: 'Add a rule' }).click();
        await fillIn(page, values, 'Add');
        const rule = await until(async () => (await get('/faults')).at(-1), 'the rule');
        same(rule.effect, effect, words);
        await rules.last().getByText(words, { exact: true }).waitFor();
        await rules.last().getByRole('button', { name: 'Remove' }).click();
        await until(async () => !(await get('/faults')).length, 'it is removed');
        await page.getByText('No rules').waitFor();
        return rule;
    };
    const sees = 'What the client sees';
    await arm({ [sees]: 'drop-after' }, { drop: 'after' }, 'The next request takes effect, then the connection closes without a response');
    await arm({ [sees]: 'drop-before', 'How often': '' }, { drop: 'before' }, 'Every request finds the connection closed, and nothing happens');
    await arm({ [sees]: 'status', Status: '503', 'How often': '3' }, { status: 503 }, 'Each of the next 3 requests gets 503, and nothing happens');
    await arm({ [sees]: 'delay', 'Delay in milliseconds': '2000' }, { delayMs: 2_000 }, 'The next request gets its response 2 s late');
    await arm({ [sees]: 'truncate', Bytes: '7' }, { truncate: 7 }, 'The next request gets only the first 7 bytes of its response');
    await arm({ [sees]: 'body', 'Body of the response': 'Oops' }, { body: 'Oops' }, 'The next request gets another body instead of its response');
    await arm({ [sees]: 'headers', 'Headers of the response': 'Retry-After: 2' }, { headers: { 'Retry-After': '2' } }, 'The next request gets Retry-After: 2');
    // What the server refuses is said at its field, in sight, and the field has the focus.
    await page.setViewportSize({ width: 1366, height: 500 });
    await page.getByRole('button', { name: 'Add a rule' }).click();
    const box = page.locator('dialog');
    await box.getByLabel(sees).selectOption('act');
    await box.getByLabel('Control calls').fill('');
    same(await box.locator('.field:has([name=calls]) .optional').isVisible(), false, 'control calls are not optional');
    await box.getByLabel('Control calls').fill('[{ "method": "POST", "path": "inbound" }]');
    await box.getByLabel('How often').fill('2');
    allowed.add(400);
    await box.getByRole('button', { name: 'Add', exact: true }).click();
    const refused = box.locator('.field:has([name=calls]) .problem');
    await refused.getByText('effect.act').waitFor();
    same(await page.evaluate(() => document.activeElement?.getAttribute('name')), 'calls', 'the field has the focus');
    check(await refused.evaluate((it) => it.getBoundingClientRect().top > 0 && it.getBoundingClientRect().bottom < innerHeight), 'the error is in sight');
    await page.keyboard.press('Escape');
    await page.setViewportSize({ width: 1360, height: 860 });
    const hour = [{ method: 'POST', path: '/clock', body: { advanceSeconds: 3600 } }];
    await arm({ [sees]: 'act', 'Control calls': JSON.stringify(hour), 'When the calls are made': 'after' }, { when: 'after', act: hour }, 'The next request is followed by POST /clock');
    const rule = await arm({ [sees]: 'status', 'More conditions': true, Method: 'POST', 'MCP tool': 'reply', Query: 'view=open', 'Body contains': '{"send": true}', 'Probability in percent': '50', 'Random seed': '7', 'Active for': '60', 'Skip the first': '2' }, { status: 500 }, '50 % of all requests to POST of the tool reply with view=open whose body has {"send":true} get 500, and nothing happens, after the first 2, for 60 s');
    same([rule.method, rule.tool, rule.query, rule.body, rule.probability, rule.seed, rule.forSeconds, rule.skip, rule.times], ['POST', 'reply', { view: 'open' }, { send: true }, 0.5, 7, 60, 2, null], 'every condition');
    const hooks = { 'What goes wrong': 'webhooks' };
    const happens = 'What happens to a delivery';
    await arm({ ...hooks, [happens]: 'twice' }, { twice: true }, 'The next delivery arrives twice');
    await arm({ ...hooks, [happens]: 'swap', Event: 'message.sent' }, { swap: true }, 'The next delivery of message.sent arrives after the one behind it');
    await arm({ ...hooks, [happens]: 'late', 'Seconds late': '90' }, { lateSeconds: 90 }, 'The next delivery arrives 90 s late');
    await arm({ ...hooks, [happens]: 'status-after', Status: '410' }, { status: 410, when: 'after' }, 'The next delivery arrives, then counts as 410');
    await arm({ ...hooks, [happens]: 'drop-before' }, { drop: 'before' }, 'The next delivery finds nobody listening');
    await service('GET', '/me');
});
