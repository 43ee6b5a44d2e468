// Every text of these reports tries to be markup, a script, a link or another direction. It is shown, and nothing else happens.

import { check, expected, open, run, same, TOOLS } from './kit.mjs';

await run(async () => {
    for (const tool of TOOLS) {
        const page = await open(tool);
        for (const button of await page.locator('.switches button').all()) await button.click();
        await page.evaluate(() => document.querySelectorAll('details').forEach((it) => (it.open = true)));
        const found = await page.evaluate(() => ({
            scripts: document.querySelectorAll('script').length,
            foreign: [...document.querySelectorAll('img, svg, iframe, object, embed, link, base, form, style ~ style')].map((it) => it.outerHTML),
            links: [...document.querySelectorAll('a')].map((it) => it.getAttribute('href')),
            handlers: [...document.querySelectorAll('*')].flatMap((it) => [...it.attributes].filter((one) => one.name.startsWith('on') || /javascript:|evil/.test(one.value)).map((one) => one.name)),
            wide: document.documentElement.scrollWidth > innerWidth,
        }));
        same(found, { scripts: 2, foreign: [], links: ['#content'], handlers: [], wide: false }, tool);
        const text = await page.evaluate(() => document.body.innerText);
        check(text.includes('<img src=x onerror=alert(2)>'), `${tool}: it is shown as text`);
        check(text.includes('[U+202E]') && !text.includes('\u202e'), `${tool}: a change of direction is written out`);
        // The policy holds even where a script gets in: it does not run, and the page reaches nobody.
        expected.push('Content Security Policy');
        const blocked = await page.evaluate(async () => {
            const violated = [];
            document.addEventListener('securitypolicyviolation', (event) => violated.push(event.effectiveDirective));
            const script = document.createElement('script');
            script.textContent = 'globalThis.ran = true';
            document.body.append(script);
            await fetch('http://127.0.0.1:9/').catch(() => {});
            await new Promise((resume) => setTimeout(resume, 50));
            return [violated.sort(), 'ran' in globalThis];
        });
        same(blocked, [['connect-src', 'script-src-elem'], false], `${tool}: the policy`);
        expected.pop();
        await page.context().close();
    }
});
