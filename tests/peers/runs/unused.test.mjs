// What a test set up and what had no effect: a warning, or a failure where the test is strict.
import { test } from 'shared-inbox-mock/test';

const arm = (world) => world.control.addFault({ path: '/conversations/*/replies', effect: { drop: 'after' } });

test('warned', arm);
test('strict', { world: { strict: true } }, arm);
test('fired', { world: { strict: true } }, async (world) => {
    await world.control.addFault({ path: '/me', effect: { delayMs: 1 } });
    await fetch(`${world.baseUrl}/me`, { headers: { Authorization: `Bearer ${world.liveKey}` } });
});
