import { test } from 'shared-inbox-mock/test';

test('left out', async () => process.exit(1));
test.only('run', async (world) => void (await world.control.getClock()));
