// A browser with a report open, and everything that must never happen in it: an error, a request, a script that is not ours.

import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

export const TOOLS = ['conform', 'redteam', 'explore'];

const problems = [];

/** Words on the page's console that a script means to see. */
export const expected = [];
let browser;

/** The report of a tool, in a window of its own. */
export async function open(tool, options = {}) {
    browser ??= await createRequire(`${process.env.MODULES}/`)('playwright-core').chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox', '--disable-gpu'] });
    const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, reducedMotion: 'reduce', ...options });
    context.setDefaultTimeout(20_000);
    const page = await context.newPage();
    const url = pathToFileURL(`${process.env.PAGES}/${tool}.html`).href;
    page.on('pageerror', (error) => problems.push(`${tool}: error on the page: ${error.message}`));
    page.on('console', (message) => expected.some((words) => message.text().includes(words)) || problems.push(`${tool}: on the page's console: ${message.text()}`));
    page.on('request', (request) => request.url().split('#')[0] === url || problems.push(`${tool}: a request: ${request.url()}`));
    page.on('dialog', (dialog) => {
        problems.push(`${tool}: a script spoke: ${dialog.message()}`);
        dialog.dismiss();
    });
    await page.goto(url);
    await page.locator('h1').first().waitFor();
    return page;
}

export function check(holds, what) {
    if (!holds) throw new Error(`does not hold: ${what}`);
}

export function same(left, right, what) {
    const [a, b] = [JSON.stringify(left), JSON.stringify(right)];
    if (a !== b) throw new Error(`${what}: ${a} is not ${b}`);
}

/** Runs a script to its end. */
export async function run(script) {
    try {
        await script();
        if (problems.length) throw new Error(problems.join('\n'));
    } catch (error) {
        console.error(error.stack, problems.join('\n'));
        process.exitCode = 1;
    } finally {
        await browser?.close();
        if (process.exitCode) process.exit();
    }
}
