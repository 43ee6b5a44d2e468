// A browser with the console open, and everything that must never happen while it is: an error on the page's
// console, a request that is refused or goes elsewhere, a script that was not ours.

import { createRequire } from 'node:module';


export const CONSOLE = process.env.CONSOLE_URL;
export const CONTROL = process.env.CONTROL_URL;
export const ORIGIN = new URL(CONSOLE).origin;

const problems = [];
let browser;

/** Statuses that a script means to see. */
export const allowed = new Set();

/**
 * The app under test is at work during every script: ten calls a second, which show in the journal and change nothing.
 * A script that looks at a server nobody has called yet says `quiet`.
 */
let working = 0;
function work() {
    let calls = 0;
    working ||= setInterval(() => {
        calls += 1;
        service('GET', ['/me', '/tags', '/conversations?limit=5'][calls % 3]).then((answer) => answer.arrayBuffer()).catch(() => {});
    }, 100);
}

/** A page in a window of its own. */
export async function open(hash = '', options = {}) {
    if (!options.quiet) work();
    // Chromium itself would keep pages of elsewhere from this machine; here the server has to do so.
    const args = ['--no-sandbox', '--disable-gpu', '--disable-features=LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests'];
    browser ??= await createRequire(`${process.env.MODULES}/`)('playwright-core').chromium.launch({ executablePath: process.env.CHROMIUM, args });
    const context = options.beside ?? (await browser.newContext({ viewport: { width: 1360, height: 860 }, permissions: ['clipboard-read', 'clipboard-write'], ...options }));
    context.setDefaultTimeout(20_000);
    const page = await context.newPage();
    watch(page);
    await slow(page);
    await page.goto(`${options.url ?? CONSOLE}${hash}`);
    return page;
}

/**
 * Waits until the panel of this place is there, and what it shows: its code is loaded when it is first shown. What is opened
 * beside a list leads back to it; the list alone is shown before.
 */
export function shown(page, place) {
    const [panel, one] = place.split('?')[0].split('/');
    const wanted = one && panel !== 'trace' ? 'a.back' : '*';
    return page.waitForFunction(([panel, wanted]) => document.querySelector(`main > si-${panel}`)?.querySelector(wanted) && !document.querySelector('.loading, .skeleton'), [panel, wanted]);
}

/**
 * What comes late is another thing on every machine: with `SLOW=1` each call of the page takes up to a third of a
 * second more, so that answers, changes and what is read afterwards come in any order.
 */
async function slow(page) {
    if (!process.env.SLOW) return;
    await page.route(`${CONTROL}/**`, async (route) => {
        if (route.request().url().includes('/events')) return route.continue();
        const pause = () => new Promise((resume) => setTimeout(resume, Math.random() * 170));
        await pause();
        const response = await route.fetch().catch(() => null);
        await pause();
        return (response ? route.fulfill({ response }) : route.abort()).catch(() => {});
    });
}

export function watch(page) {
    page.on('pageerror', (error) => problems.push(`error on the page: ${error.message}`));
    page.on('console', (message) => {
        const refused = /status of (\d+)/.exec(message.text());
        if (refused && allowed.has(Number(refused[1]))) return;
        if (message.type() === 'error' || message.type() === 'warning') problems.push(`on the page's console: ${message.text()}`);
    });
    page.on('request', (request) => {
        const url = new URL(request.url());
        if (url.origin !== ORIGIN && url.protocol !== 'blob:') problems.push(`a request to elsewhere: ${request.url()}`);
    });
    page.on('requestfailed', (request) => {
        if (request.failure()?.errorText !== 'net::ERR_ABORTED') problems.push(`${request.method()} ${request.url()}: ${request.failure()?.errorText}`);
    });
    page.on('response', (response) => {
        if (response.status() >= 400 && !allowed.has(response.status())) problems.push(`${response.status()} for ${response.request().method()} ${response.url()}`);
    });
    page.on('dialog', (dialog) => {
        problems.push(`a script spoke: ${dialog.message()}`);
        dialog.dismiss();
    });
}

/** What went wrong so far, taken away. */
export function forget() {
    return problems.splice(0);
}

/** A call of the control API, past the page. */
export async function api(method, path, body) {
    const headers = process.env.TOKEN ? { Authorization: `Bearer ${process.env.TOKEN}` } : {};
    const response = await fetch(`${CONTROL}${path}`, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text ? JSON.parse(text) : null;
}

export const get = (path) => api('GET', path);
export const post = (path, body = {}) => api('POST', path, body);

let known;
/** A call of the service, as the app under test makes it. */
export async function service(method, path, body, key) {
    const ready = (known ??= await get('/ready'));
    return fetch(`${ready.base_url}${path}`, { method, headers: { Authorization: `Bearer ${key ?? ready.keys.live}`, 'Content-Type': 'application/json' }, body: body === undefined ? undefined : JSON.stringify(body) });
}

export function check(holds, what) {
    if (!holds) throw new Error(`does not hold: ${what}`);
}

export function same(left, right, what) {
    const [a, b] = [JSON.stringify(left), JSON.stringify(right)];
    if (a !== b) throw new Error(`${what}: ${a} is not ${b}`);
}

/** Waits until something asked of the API holds; the page has done its work by then. */
export async function until(holds, what) {
    for (let i = 0; i < 400; i += 1) {
        const found = await holds();
        if (found) return found;
        await new Promise((resume) => setTimeout(resume, 50));
    }
    throw new Error(`never came true: ${what}`);
}

/** Holds the next answer of the page's own back. In the page itself: a route that is taken away loses what is under way. */
export async function hold(page, path) {
    await page.evaluate((path) => {
        const { fetch } = window;
        window.asked = new Promise((asked) => (window.fetch = async (url, how) => {
            const answer = fetch(url, how);
            if (!url.includes(path)) return answer;
            window.fetch = fetch;
            asked();
            await new Promise((resume) => (window.answer = resume));
            return answer;
        }));
    }, path);
    return { asked: () => page.evaluate(() => window.asked), answer: () => page.evaluate(() => window.answer()) };
}

/** Fills in the form of a dialog, sends it, and waits until the dialog is gone. */
export async function fillIn(page, values, action) {
    const box = page.locator('dialog').last();
    const shown = await box.elementHandle();
    for (const [label, value] of Object.entries(values)) {
        const field = box.getByLabel(label, { exact: false }).first();
        if (value === true) await field.check();
        else if ((await field.evaluate((it) => it.localName)) === 'select') await field.selectOption(value);
        else await field.fill(value);
    }
    await box.getByRole('button', { name: action, exact: true }).click();
    await until(async () => !(await shown.isVisible().catch(() => false)), `the dialog goes after ${action}`);
}

/** Runs a script to its end; a failure shows what was on the screen. */
export async function run(script) {
    try {
        await script();
        if (problems.length) throw new Error(problems.join('\n'));
    } catch (error) {
        console.error(error.stack);
        if (problems.length) console.error(`Also:\n${problems.join('\n')}`);
        const page = browser?.contexts().at(-1)?.pages().at(-1);
        if (page) console.error(`On the screen of ${page.url()}:\n${(await page.locator('body').innerText().catch(() => '')).slice(0, 2_000)}`);
        process.exitCode = 1;
    } finally {
        clearInterval(working);
        await browser?.close();
        // A timer of a script that has failed would keep the process, and its test, for ever.
        if (process.exitCode) process.exit();
    }
}
