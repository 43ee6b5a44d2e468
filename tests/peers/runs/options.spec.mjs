// How worlds start, in the two ways that vitest has to say so.

import { describe, expect } from 'vitest';
import { test } from 'shared-inbox-mock/vitest';

const conversations = (world) => world.control.listConversations();

test('without options a world is the demo', async ({ world }) => expect(await conversations(world)).not.toHaveLength(0));

const extended = test.extend({ worldOptions: { empty: true } });
extended('extend', async ({ world }) => expect(await conversations(world)).toHaveLength(0));

describe('of a suite', () => {
    const overridden = test.override({ worldOptions: { empty: true } });
    overridden('override', async ({ world }) => expect(await conversations(world)).toHaveLength(0));
});
