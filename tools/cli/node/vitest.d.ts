import type { TestAPI } from 'vitest';
import type { Server, TestWorldOptions, World } from './index.js';

/** vitest's `test` with a `world` of each test's own; `test.override({ worldOptions: { empty: true } })` says how it starts. */
export const test: TestAPI<{ worldOptions: TestWorldOptions; server: Server; world: World }>;
