// How long it takes from asking for the page to the first row of its list, in a browser that has never seen it.

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
await browser.close();
console.log(JSON.stringify(took.map((times) => times.sort((a, b) => a - b)[3])));
