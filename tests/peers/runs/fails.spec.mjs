// Failures that must lead the reader to a line of this file.

import { test } from 'shared-inbox-mock/vitest';

const ask = (world) => fetch(`${world.baseUrl}/me`, { headers: { Authorization: `Bearer ${world.liveKey}` } });

test('an expectation', async ({ world }) => {
    await world.control.expect({ of: 'outbox', where: { text: 'never' } }); // line 8
});

const mine = test.extend({
    mine: async ({ world }, use) => {
        await ask(world);
        await world.control.getConversation('cnv_1'); // line 14
        await use(1);
    },
});
mine('a fixture of the app', async ({ mine }) => void mine);

const wrong = test.extend({ worldOptions: { emtpy: true } });
wrong('an option', async ({ world }) => void world);
