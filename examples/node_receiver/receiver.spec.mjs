// One of the receiver's tests with vitest.

import { expect } from 'vitest';
import { test } from 'shared-inbox-mock/vitest';
import { running } from './running.mjs';

test('a mail without haste is noted as such', async ({ world }) => {
    const app = await running(world);
    await app.writes('Thank you, take your time.');
    await world.control.expect({ of: 'deliveries', where: { outcome: 'delivered' }, withinSeconds: 60 });
    expect(await app.notes()).toEqual(['No hurry.']);
    app.close();
});
