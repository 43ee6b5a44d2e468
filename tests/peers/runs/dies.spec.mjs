// The server dies in the second test.

import { execFileSync } from 'node:child_process';
import { expect } from 'vitest';
import { test } from 'shared-inbox-mock/vitest';

test('passes before', async ({ world }) => void world);

test('has an assertion of its own', async ({ world }) => {
    process.kill(Number(execFileSync('pgrep', ['-f', process.env.SHARED_INBOX_MOCK])), 'SIGKILL');
    expect(world.baseUrl, "the test's own words").toBe('');
});

test('uses the world', async ({ world }) => void world);

test('passes without it', async () => {});
