// What a test set up and what had no effect: a warning, or a failure where the tests are strict.
import { describe } from 'vitest';
import { test } from 'shared-inbox-mock/vitest';

const arm = (world) => world.control.addFault({ path: '/conversations/*/replies', effect: { drop: 'after' } });

test('warned', async ({ world }) => {
    await arm(world);
});

describe('strict', () => {
    const strict = test.override({ worldOptions: { strict: true } });
    strict('unfired', async ({ world }) => {
        await arm(world);
    });
    strict('fired', async ({ world }) => {
        await world.control.addFault({ path: '/me', effect: { delayMs: 1 } });
        await fetch(`${world.baseUrl}/me`, { headers: { Authorization: `Bearer ${world.liveKey}` } });
    });
});
