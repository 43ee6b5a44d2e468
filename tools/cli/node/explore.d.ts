import { World } from './index.js';
import type { Expectation } from './control.js';

/** The world of one schedule. A run of the app gets its addresses, `check` sees how it ended. */
export class ExploreWorld extends World {
    /** A folder for what the app must remember: empty at first, kept over all runs of a schedule. */
    readonly stateDir: string;
    /** The world's time at the start of the run, in ISO 8601. */
    readonly time: string;
}

/** A customer's mail; it can have every field of the control call `inbound` but `to` and `conversationId`. */
export interface ExploreMail {
    text: string;
    from?: string;
    subject?: string;
    /** A second mail of the same customer, in their conversation. */
    follow_up?: boolean;
    [field: string]: unknown;
}

/** What happens around the app, what must hold, and how long to explore. */
export interface ExploreOptions {
    /** The mails that come. A text is a mail by a customer of its own. */
    mails?: (string | ExploreMail)[];
    /** The file of a scenario, instead of its keys as options. */
    scenario?: string;
    /** Called at the end of each schedule; throws where something is wrong. */
    check?: (world: ExploreWorld) => unknown;
    /** Whether people approve drafts. They do unless said. */
    people?: 'approve' | 'ignore';
    /** The scopes of the app's key; `read`, `write`, `draft` and `send` unless said. */
    scopes?: string[];
    /** Days that pass, with one run of the app a day; none unless said. */
    days?: number;
    /** A command that says whether two texts are the same, for an app whose words vary: `{"a", "b"}` on stdin, status 0 yes. */
    same?: string[];
    /** Rules that are switched off, such as `{ 'persons-word': false }`. */
    rules?: Partial<Record<'same-end' | 'never-twice' | 'nobody-forgotten' | 'persons-word' | 'well-behaved' | 'expect', boolean>>;
    /** What is left out when the end is compared with that of the run without trouble. */
    ignore?: ('outbox' | 'notes' | 'tags' | 'status' | 'assignee' | 'documents')[];
    /** What must hold at the end, as `control.expect` takes it. */
    expect?: Expectation[];
    /** How long to explore; until each single step was tried unless said. What is found is shrunk afterwards, which may take as long again. */
    seconds?: number;
    /** No more schedules than this are run. */
    schedules?: number;
    /** What chance starts from. */
    seed?: number;
    /** Runs the schedule of a finding, and nothing else. */
    replay?: string;
    /** How many seconds one run of the app may take; 10 unless said. */
    appTimeout?: number;
    /** Fails when fewer single steps than this were tried. */
    minSingles?: number;
    /** Fails when something could not be judged. */
    strict?: boolean;
}

/** What was done and found, as `--json` writes it. */
export interface ExploreReport {
    verdict: 'held' | 'broken';
    seed: number;
    schedules: number;
    states: number;
    seconds: number;
    /** What differs between undisturbed runs, such as `outbox.text`. */
    varies: string[];
    /** What could not be judged. */
    notJudged: { rule: string; part: string; why: string }[];
    /** What was found, but may be chance. */
    unstable: ExploreReport['findings'];
    /** How far it looked. */
    coverage: { requests: number; singles: Tried; pairs: Tried; random: number; grid?: { place: string; kind: string; tried: number; of: number }[] };
    /** What one should know of the run without trouble. */
    note?: string;
    /** Of a replay without a finding: who did what, in order. */
    timeline?: string[];
    findings: {
        oracle: 'same-end' | 'never-twice' | 'nobody-forgotten' | 'persons-word' | 'well-behaved' | 'expect';
        summary: string;
        timeline: string[];
        steps: { kind: string; [field: string]: unknown }[];
        shrunkFrom: number;
        replay: string;
        reproduced: string;
        withoutTrouble: string;
        /** Lines of the timeline at which the trouble struck and the rule broke. */
        marks: { line: number; kind: 'trouble' | 'broken' }[];
        tests: { python: string; typescript: string; rust: string; shell: string };
    }[];
}

/** How many of the schedules that there are were run. */
export interface Tried {
    tried: number;
    of: number;
}

/** The app breaks a rule. The message says which and what happened, and has a test that replays it. */
export class Found extends Error {
    /** The report. */
    readonly report: ExploreReport;
}

/**
 * Runs `app(world)`, or a command given as a list of its words, again and again while requests are lost, runs are cut off, and people and customers act in between.
 *
 * The functions run in this process, one at a time. Give the test a timeout: vitest ends a test after five seconds.
 *
 * @throws {Found} Where the app breaks a rule.
 * @throws {TypeError} Where an option is wrong.
 */
export function explore(app: ((world: ExploreWorld) => unknown) | string[], options: ExploreOptions): Promise<ExploreReport>;
