// What node's own `test` has, ours has too; and what it says of a failure.

import { test } from 'shared-inbox-mock/test';

test.skip('skipped', async () => process.exit(1));
test.skip('skipped, with options', { world: { empty: true } }, async () => process.exit(1));
test.todo('to do');
test('without a world of the demo', { world: { empty: true } }, async (world, context) => {
    context.diagnostic(`${(await world.control.listConversations()).length} conversations`);
});
test('wrong option', { world: { clock: 'manuel' } }, async () => {});
test('an expectation', async (world) => {
    await world.control.expect({ of: 'outbox', where: { text: 'never' } }); // line 13
});
