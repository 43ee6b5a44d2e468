// The pictures of the reports in `docs/reports`.

import { mkdir } from 'node:fs/promises';
import { open, run, TOOLS } from './kit.mjs';

await run(async () => {
    await mkdir(process.env.PICTURES, { recursive: true });
    for (const tool of TOOLS) {
        for (const [colorScheme, width] of [['light', 1280], ['dark', 1280], ['dark', 390]]) {
            const page = await open(tool, { colorScheme, viewport: { width, height: width < 800 ? 844 : 800 } });
            await page.screenshot({ path: `${process.env.PICTURES}/${tool}-${colorScheme}${width < 800 ? '-narrow' : ''}.png` });
            await page.context().close();
        }
    }
});
