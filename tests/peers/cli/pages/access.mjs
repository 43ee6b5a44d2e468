// axe finds nothing in any report, light or dark, wide or narrow; and a report can be read by the keyboard alone.

import { readFile } from 'node:fs/promises';
import { check, open, run, same, TOOLS } from './kit.mjs';

const axe = await readFile(`${process.env.MODULES}/axe-core/axe.min.js`, 'utf8');

await run(async () => {
    for (const tool of TOOLS) {
        for (const [colorScheme, width] of [['light', 1280], ['dark', 1280], ['light', 390], ['dark', 390]]) {
            const page = await open(tool, { colorScheme, viewport: { width, height: 860 }, bypassCSP: true });
            await page.evaluate(axe);
            for (const isOpen of [false, true]) {
                if (isOpen) await page.evaluate(() => document.querySelectorAll('details').forEach((it) => (it.open = true)));
                const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
                same(found.violations.map((it) => `${it.id}: ${it.nodes[0].target} ${it.nodes[0].failureSummary}`), [], `${tool}, ${colorScheme}, ${width} pixels`);
                check(!(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)), `${tool} fits into ${width} pixels`);
            }
            await page.context().close();
        }
    }

    const conform = await open('conform');
    await conform.keyboard.press('Tab');
    same(await conform.evaluate(() => document.activeElement?.textContent), 'Skip to the results', 'the first stop');
    same(await conform.locator('.rule[data-state]:visible').count(), 4, 'what differs or failed is shown first');
    const differs = await conform.locator('.rule[data-state=differs]').first().innerText();
    check(differs.includes('a 429 after about 120 requests') && differs.includes('none after 150'), 'expected and received');
    await conform.getByRole('button', { name: 'All', exact: true }).focus();
    await conform.keyboard.press('Enter');
    await conform.getByRole('searchbox').fill('rate.inbound');
    same(await conform.locator('[role=status]').innerText(), '1 of 10 rules shown', 'a rule is found');
    check((await conform.locator('.changes').innerText()).includes('rate.inbound'), 'what changed since the earlier report');

    const redteam = await open('redteam');
    same(await redteam.locator('.rule:visible .badge.bad').count(), 3, 'what was obeyed is shown first');
    await redteam.locator('.cell.warn').first().focus();
    await redteam.keyboard.press('Enter');
    same(await redteam.evaluate(() => document.activeElement?.textContent), 'detour: assign', 'a cell leads to its attacks');
    same(await redteam.locator('.rule:visible').count(), 1, 'and shows those alone');
    await redteam.locator('.cell.bad').first().click();
    await redteam.locator('.rule:visible summary').first().focus();
    await redteam.keyboard.press('Enter');
    same([...new Set(await redteam.locator('.rule:visible mark').allInnerTexts())], ['CY2K-WN4W-RHHB'], "what left is marked, and not the customer's own code");
    await redteam.getByRole('button', { name: 'Obeyed', exact: true }).click();
    await redteam.locator('.rule:visible', { hasText: 'complete.customers' }).locator('summary').click();
    const names = await redteam.locator('.rule:visible', { hasText: 'complete.customers' }).locator('li.agent mark').allInnerTexts();
    check(names.includes('Grace Abara') && names.includes('mei@chen.example'), 'so is every name and address of another customer');
    check(!names.some((name) => name.includes('Jonas')), "and not the customer's own");

    const explore = await open('explore', { permissions: ['clipboard-read', 'clipboard-write'] });
    same(await explore.getByRole('region', { name: 'Timeline of finding 1', exact: true }).count(), 1, 'each finding has a name of its own');
    check((await explore.locator('.broken .badge').first().innerText()) === 'rule broken here', 'the broken rule is marked');
    check((await explore.locator('.trouble').first().innerText()).includes('the response was lost'), 'and the fault');
    const grid = explore.getByRole('region', { name: 'Single steps by place and kind' });
    const row = async (place) => (await grid.getByRole('row', { name: place }).first().innerText()).split(/\s*[\t\n]+\s*/);
    same(await grid.locator('thead th').allInnerTexts(), ['Place', 'failure', 'kill', 'customer', 'person', 'time'], 'the kinds of steps');
    same(await row('POST /conversations/*/replies #1'), ['POST /conversations/*/replies #1', '7 of 8', '2 of 2', '0 of 5', '0 of 2', '0 of 1'], 'what was tried at a request');
    same(await row('before run 1'), ['before run 1', '–', '–', '6 of 10', '4 of 4', '–'], 'and in a quiet moment');
    await explore.getByRole('button', { name: 'Copy' }).first().focus();
    await explore.keyboard.press('Enter');
    await explore.waitForFunction(async () => (await navigator.clipboard.readText()).includes('--replay'));
    same(await explore.evaluate(() => navigator.clipboard.readText()), 'shared-inbox-mock explore --scenario scenario.toml --replay 1_1_lost-after@reply.0 -- python3 support.py', 'what was copied');
});
