import { World } from './index.js';
import type { Expectation } from './control.js';

/** The world of one schedule. A run of the app gets its addresses, `check` sees how it ended. */
export class ExploreWorld extends World {
    /** A folder for what the app must remember: empty at first, kept over all runs of a schedule. */
    readonly stateDir: string;
}

/** A customer's mail; it can have every field of the control call `inbound` but `to` and `conversationId`. */
export interface ExploreMail {
    text: string;
    from?: string;
    subject?: string;
    [field: string]: unknown;
}

/** What happens around the app, what must hold, and how long to explore. */
export interface ExploreOptions {
    /** The mails that come. A text is a mail by a customer of its own. */
    mails: (string | ExploreMail)[];
    /** Called at the end of each schedule; throws where something is wrong. */
    check?: (world: ExploreWorld) => unknown;
    /** Whether people approve drafts. They do unless said. */
    people?: 'approve' | 'ignore';
    /** The scopes of the app's key; `read`, `write`, `draft` and `send` unless said. */
    scopes?: string[];
    /** What is left out when the end is compared with that of the run without trouble. */
    ignore?: ('outbox' | 'notes' | 'tags' | 'status' | 'assignee' | 'documents')[];
    /** What must hold at the end, as `control.expect` takes it. */
    expect?: Expectation[];
    /** How long to explore; 60 unless said. What is found is shrunk afterwards, which may take as long again. */
    seconds?: number;
    /** No more schedules than this are run. */
    schedules?: number;
    /** What chance starts from. */
    seed?: number;
    /** Runs the schedule of a finding, and nothing else. */
    replay?: string;
    /** How many seconds one run of the app may take; 10 unless said. */
    appTimeout?: number;
}

/** What was done and found, as `--json` writes it. */
export interface ExploreReport {
    verdict: 'held' | 'broken';
    seed: number;
    schedules: number;
    states: number;
    seconds: number;
    findings: {
        oracle: 'same-end' | 'never-twice' | 'nobody-forgotten' | 'persons-word' | 'well-behaved' | 'expect';
        summary: string;
        timeline: string[];
        steps: { kind: string; [field: string]: unknown }[];
        shrunkFrom: number;
        replay: string;
        reproduced: string;
        tests: { python: string; typescript: string; rust: string };
    }[];
}

/** The app breaks a rule. The message says which, what happened, how to run it again, and has a test to paste. */
export class Found extends Error {
    /** The report. */
    readonly report: ExploreReport;
}

/**
 * Runs `app(world)` again and again while requests are lost, runs are cut off, and people and customers act in between.
 *
 * The functions run in this process, one at a time. Give the test a timeout: vitest ends a test after five seconds.
 *
 * @throws {Found} Where the app breaks a rule.
 * @throws {TypeError} Where an option is wrong.
 */
export function explore(app: (world: ExploreWorld) => unknown, options: ExploreOptions): Promise<ExploreReport>;
