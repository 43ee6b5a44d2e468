// A person at a browser: looks at the page of one mail, sees what other pages can do to it, and presses a button.
import http from 'node:http';
import { createRequire } from 'node:module';
const require = createRequire(`${process.env.MODULES}/`);
const { chromium } = require('playwright-core');

const [file, answer, shots] = process.argv.slice(2);
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM, args: ['--no-sandbox', '--disable-gpu'],
});
const context = await browser.newContext({ viewport: { width: 900, height: 900 } });
const page = await context.newPage();
const errors = [];
page.on('pageerror', (error) => errors.push(String(error)));
page.on('console', (message) => { if (message.type() === 'error') errors.push(message.text()); });
page.on('request', (request) => {
  if (request.resourceType() !== 'document' && !request.url().endsWith('/favicon.ico')) errors.push(`loads ${request.url()}`);
});
// The private file takes the browser to the page.
await page.goto(file);
await page.waitForURL('http://127.0.0.1:*/**');
await page.locator('button[value=send]').waitFor();
const url = page.url();
const still = (page) => page.locator('form').evaluate((form) => Promise.all(form.getAnimations().map((one) => one.finished)));
await still(page);
const lines = await page.locator('.text p').allTextContents();

for (const scheme of ['light', 'dark']) {
  await page.emulateMedia({ colorScheme: scheme });
  await page.screenshot({ path: `${shots}/page-${scheme}.png`, fullPage: true });
}
await page.emulateMedia({ colorScheme: 'light' });
// The page forbids scripts, so the rules run on a copy of it that does not.
const copy = await browser.newContext({ bypassCSP: true });
const checked = await copy.newPage();
await checked.setContent(await page.content());
await still(checked);
await checked.addScriptTag({ path: require.resolve('axe-core') });
const axe = await checked.evaluate(async () => (await globalThis.axe.run()).violations.map((one) => one.id));
await copy.close();

// Another site in another tab of the same browser, which knows the address.
const evil = http.createServer((_, reply) => { reply.setHeader('content-type', 'text/html'); reply.end('<h1>Evil</h1>'); });
await new Promise((listening) => evil.listen(0, '127.0.0.1', listening));
const other = await context.newPage();
await other.goto(`http://localhost:${evil.address().port}/`);
const token = await page.locator('input[name=token]').inputValue();
const attacks = {};
attacks.frame = await other.evaluate(async (url) => {
  const frame = document.createElement('iframe');
  frame.src = url;
  document.body.append(frame);
  await new Promise((loaded) => { frame.onload = loaded; });
  try { return frame.contentDocument ? 'shown' : 'refused'; } catch { return 'refused'; }
}, url);
const framed = other.frames().find((frame) => frame !== other.mainFrame());
if (framed && await framed.locator('button').count()) attacks.frame = 'shown';
attacks.fetch = await other.evaluate(async ([url, token]) => {
  const body = new URLSearchParams({ token, answer: 'send' });
  try {
    const got = await fetch(url, { method: 'POST', body, credentials: 'include', mode: 'no-cors' });
    return got.type === 'opaque' ? 'refused' : 'read';
  } catch { return 'refused'; }
}, [url, token]);
const answered = await Promise.all([
  other.waitForNavigation(),
  other.evaluate(([url, token]) => {
    const form = document.createElement('form');
    form.method = 'post';
    form.action = url;
    form.innerHTML = `<input name="token" value="${token}"><input name="answer" value="send">`;
    document.body.append(form);
    form.submit();
  }, [url, token]),
]);
attacks.form = answered[0].status() === 403 ? 'refused' : 'taken';
evil.close();
evil.closeAllConnections();

// The same question in a second tab, which is loaded before it is answered.
const second = await context.newPage();
await second.goto(url);
await still(second);

// The question is still open, and the person answers it.
await page.bringToFront();
await Promise.all([page.waitForNavigation(), page.locator(`button[value=${answer}]`).click()]);
const end = await page.locator('main').textContent();
await Promise.all([
  second.waitForNavigation(),
  second.locator(`button[value=${answer === 'send' ? 'refuse' : 'send'}]`).click(),
]);
const after = await second.locator('main').textContent();
await page.locator('main').screenshot({ path: `${shots}/page-${answer}.png` });
await browser.close();
const unloaded = errors.filter((error) => !error.includes('favicon'));
console.log(JSON.stringify({ text: lines.join('\n'), errors: unloaded, axe, attacks, end, other: after }));
