// A test that waits to be ended.

import { writeFileSync } from 'node:fs';
import { test } from 'shared-inbox-mock/vitest';

const MINUTES = 600_000;

test('waits', async ({ world }) => {
    await world.control.getClock();
    writeFileSync('started', '');
    await new Promise((resolve) => setTimeout(resolve, MINUTES));
}, MINUTES);
