import type { TestContext, TestOptions } from 'node:test';
import type { World, WorldOptions } from './index.js';

/** A test of node's own runner that has a world of its own; a failure shows what the app asked for. */
export function test(name: string, body: (world: World, context: TestContext) => unknown): Promise<void>;
export function test(name: string, options: TestOptions & { world?: WorldOptions }, body: (world: World, context: TestContext) => unknown): Promise<void>;
