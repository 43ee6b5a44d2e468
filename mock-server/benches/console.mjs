// How long it takes from asking for the page to the first row of its list, in a browser that has never seen it; and the
// longest task while an app makes fifty calls a second for a minute and the page shows them.

import { createRequire } from 'node:module';

const { chromium } = createRequire(`${process.env.MODULES}/`)('playwright-core');
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox', '--disable-gpu'] });
const urls = process.env.CONSOLE_URLS.split(' ');
const took = urls.map(() => []);
for (let round = 0; round < 7; round += 1) {
    for (const [i, url] of urls.entries()) {
        const context = await browser.newContext({ viewport: { width: 1360, height: 860 } });
        const page = await context.newPage();
        await page.goto(`${url}#/inbox?view=all`, { waitUntil: 'commit' });
        took[i].push(await page.evaluate(() => new Promise((done) => {
            const look = () => (document.querySelector('.conversation-row') ? done(performance.now()) : requestAnimationFrame(look));
            look();
        })));
        await context.close();
    }
}
const page = await browser.newPage({ viewport: { width: 1360, height: 860 } });
await page.goto(`${urls[0]}#/requests`);
await page.evaluate(() => {
    globalThis.longest = 0;
    new PerformanceObserver((seen) => seen.getEntries().forEach((it) => (globalThis.longest = Math.max(globalThis.longest, it.duration)))).observe({ type: 'longtask' });
});
const ready = await (await fetch(`${urls[0]}_mock/ready`)).json();
const app = setInterval(() => fetch(`${ready.base_url}/conversations?limit=5`, { headers: { Authorization: `Bearer ${ready.keys.live}` } }).then((answer) => answer.arrayBuffer(), () => {}), 20);
await new Promise((resume) => setTimeout(resume, 60_000));
clearInterval(app);
const { total, longest } = await page.evaluate(async () => ({ longest: globalThis.longest, total: Number((await fetch('/_mock/requests?limit=1')).headers.get('x-total-count')) }));
const embedded = await page.evaluate(async () => {
    const names = [...new Set(performance.getEntriesByType('resource').map((it) => it.name).filter((name) => name.includes('/console/'))), '/'];
    return (await Promise.all(names.map(async (name) => (await (await fetch(name)).arrayBuffer()).byteLength))).reduce((sum, bytes) => sum + bytes, 0);
});
await browser.close();
console.log(JSON.stringify({ embedded, first: took.map((times) => times.sort((a, b) => a - b)[3]), calls: total, longest }));
