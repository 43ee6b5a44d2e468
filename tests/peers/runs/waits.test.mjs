// A test that waits to be ended.

import { writeFileSync } from 'node:fs';
import { test } from 'shared-inbox-mock/test';

test('waits', async (world) => {
    await world.control.getClock();
    writeFileSync('started', '');
    await new Promise((resolve) => setTimeout(resolve, 600_000));
});
