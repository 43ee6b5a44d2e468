// The pictures of the reports in `docs/reports`.

import { mkdir } from 'node:fs/promises';
import { open, run } from './kit.mjs';

await run(async () => {
    await mkdir(process.env.PICTURES, { recursive: true });
    for (const [tool, colorScheme] of [['conform', 'light'], ['explore', 'dark'], ['redteam', 'light']]) {
        const page = await open(tool, { colorScheme, viewport: { width: 1280, height: 800 } });
        await page.screenshot({ path: `${process.env.PICTURES}/${tool}-${colorScheme}.png` });
        await page.context().close();
    }
});
