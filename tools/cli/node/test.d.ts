import type { TestContext, TestOptions } from 'node:test';
import type { TestWorldOptions, World } from './index.js';

type Body = (world: World, context: TestContext) => unknown;
type Options = TestOptions & { world?: TestWorldOptions };

interface Define {
    (name: string, body: Body): Promise<void>;
    (name: string, options: Options, body: Body): Promise<void>;
}

interface Todo extends Define {
    (name: string, options?: Options): Promise<void>;
}

/** A test of node's own runner that has a world of its own; a failure shows what the app asked for. */
export const test: Define & {
    /** A test that is not run. */
    skip: Todo;
    /** With `node --test-only`, the tests that are run. */
    only: Define;
    /** A test that is yet to be written, or not expected to pass yet. */
    todo: Todo;
};
