// The server dies in the second test.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'shared-inbox-mock/test';
import { test as plain } from 'node:test';

test('passes before', async () => {});

test('has an assertion of its own', async (world) => {
    process.kill(Number(execFileSync('pgrep', ['-f', process.env.SHARED_INBOX_MOCK])), 'SIGKILL');
    assert.equal(world.baseUrl, '', "the test's own words");
});

test('uses the world', async () => {});

plain('passes without it', async () => {});
