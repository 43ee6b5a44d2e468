// A finding of a replay that ran its schedule once: nothing was reproduced, and the page does not count as if it had been tried.

import { check, open, run } from './kit.mjs';

await run(async () => {
    const page = await open('explore');
    const said = await page.locator('.finding .hint').first().innerText();
    check(said.endsWith('; it was not run again'), said);
});
