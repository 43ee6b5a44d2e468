//! For vitest, with the fixture `world`.

use std::fmt::Write;

use serde_json::{Value, json};

use super::{Claim, Line, Test, Tested, literal, quote, template};
use crate::plan::step::Act;

pub(crate) fn write(test: &Test) -> String {
    let mut out = String::new();
    let mut line = |text: &str| {
        let _ = writeln!(out, "{text}");
    };
    line(&format!("// {}", test.summary.replace('\n', " ")));
    match &test.app {
        Tested::Command(words) => {
            line(&format!(
                "// Again: shared-inbox-mock explore --scenario FILE --replay {} -- COMMAND",
                test.token
            ));
            line("import { spawn } from 'node:child_process';");
            line(if test.webhook_path.is_some() { SERVER_HEAD } else { HEAD });
            line(&format!("const COMMAND: string[] = {};", value(&json!(words))));
        }
        Tested::Function(_) => {
            line(&format!("// Again: explore(app, {{ …, replay: '{}' }})", test.token));
            line(HEAD);
            line("import { app } from './app'; // the function that you explored");
        }
    }
    if let Some(path) = &test.webhook_path {
        line(&format!("const WEBHOOK_PATH = {};", quote(path)));
    }
    line("const test = base.override({ worldOptions: { empty: true } });\n");
    line(&format!("test('{}', async ({{ world }}) => {{", test.name.replace('_', " ")));
    line("    const { control } = world;");
    line("    const inbox = await world.inbox();");
    if test.person {
        line("    const person = (await control.listUsers())[0].id;");
    }
    let scopes = value(&json!(test.scopes));
    line(&format!(
        "    const key = await control.createKey({{ name: 'app', scopes: {scopes}, livemode: true }});"
    ));
    if let Tested::Function(_) = test.app {
        line(FUNCTION);
    } else {
        line(VARIABLES);
        line(if test.webhook_path.is_some() { SERVER } else { JOB });
    }
    line(PEOPLE);
    for item in &test.lines {
        for text in statement(item, test) {
            line(&format!("    {text}"));
        }
    }
    line("}, 120_000);");
    out.replace("TIMEOUT_MS", &format!("{:.0}", test.timeout * 1000.0))
}

const HEAD: &str = "import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { test as base } from 'shared-inbox-mock/vitest';
";

const SERVER_HEAD: &str = "import { mkdtempSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { test as base } from 'shared-inbox-mock/vitest';
";

const VARIABLES: &str = r"    const variables: Record<string, string> = {
        SHARED_INBOX_BASE_URL: world.baseUrl,
        SHARED_INBOX_API_KEY: key.key,
        SHARED_INBOX_STATE_DIR: mkdtempSync(join(tmpdir(), 'app-')),
    };
    const kills: string[] = [];
    const approved: string[] = [];
    const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
    const fired = async () => {
        const faults = kills.length ? await control.listFaults() : [];
        return faults.filter((it) => kills.includes(it.id)).reduce((sum, it) => sum + it.fired, 0);
    };";

const JOB: &str = r"    let status: number | null = null;
    const run = async () => {
        const before = await fired();
        const app = spawn(COMMAND[0], COMMAND.slice(1), { env: { ...process.env, ...variables }, stdio: 'ignore' });
        const end = Date.now() + TIMEOUT_MS;
        while (app.exitCode === null && app.signalCode === null) {
            if (Date.now() > end || (await fired()) > before) app.kill('SIGKILL');
            await sleep(5);
        }
        return app.exitCode;
    };";

/// A function cannot be killed: a rule that loses every request stands for that, until it has ended.
const FUNCTION: &str = r"    const stateDir = mkdtempSync(join(tmpdir(), 'app-'));
    const approved: string[] = [];
    let status: number | null = null;
    const run = async () => {
        try {
            await app({ baseUrl: world.baseUrl, mcpUrl: world.mcpUrl, liveKey: key.key, stateDir });
            return 0;
        } catch {
            return 1;
        } finally {
            for (const rule of await control.listFaults()) if (rule.times === null) await control.removeFault(rule.id);
        }
    };";

const SERVER: &str = r"    const port = await new Promise<number>((resolve) => {
        const free = createServer().listen(0, '127.0.0.1', () => {
            const { port } = free.address() as AddressInfo;
            free.close(() => resolve(port));
        });
    });
    const url = `http://127.0.0.1:${port}${WEBHOOK_PATH}`;
    const webhook = await control.createWebhook({ url, livemode: true, scope: 'team', timestamps: 'real' });
    Object.assign(variables, { PORT: String(port), SHARED_INBOX_WEBHOOK_SECRET: webhook.secret });
    const accepts = () =>
        new Promise<boolean>((resolve) => {
            const socket = connect(port, '127.0.0.1', () => resolve(!!socket.destroy()));
            socket.on('error', () => resolve(false));
        });
    const start = async () => {
        const app = spawn(COMMAND[0], COMMAND.slice(1), { env: { ...process.env, ...variables }, stdio: 'ignore' });
        onTestFinished(() => void app.kill('SIGKILL'));
        const end = Date.now() + TIMEOUT_MS;
        while (app.exitCode === null && Date.now() < end && !(await accepts())) await sleep(10);
        return app;
    };
    let app = await start();
    let killed = 0;
    // Meanwhile the app is killed at its request, and started again.
    const moveClock = async (how: Parameters<typeof control.moveClock>[0]) => {
        let done = false;
        const moved = control.moveClock(how).finally(() => (done = true));
        while (!done || (await fired()) > killed) {
            if ((await fired()) > killed) {
                killed += 1;
                app.kill('SIGKILL');
                while (app.exitCode === null && app.signalCode === null) await sleep(5);
                app = await start();
            }
            await sleep(5);
        }
        await moved;
    };
    // Waits until nothing is being delivered and the app makes no request any more.
    const settle = async () => {
        for (let requests = -1; requests !== (await control.listRequests()).length; ) {
            requests = (await control.listRequests()).length;
            await moveClock({ advanceSeconds: 0 });
            await sleep(100);
        }
    };
    // Time passes. The app comes to rest after each thing that falls due.
    const advance = async (seconds: number) => {
        const end = Date.parse((await control.getClock()).now) + seconds * 1000;
        for (let [job] = await control.listJobs(); job && Date.parse(job.dueAt) <= end; [job] = await control.listJobs()) {
            await moveClock({ nextJob: true });
            await settle();
        }
        await moveClock({ to: new Date(end).toISOString() });
    };";

const PEOPLE: &str = r"    const timeline = async (customer: string): Promise<any[]> => {
        const found = (await control.listConversations()).find((it) => it.contact.email === customer);
        return found ? (await control.getConversation(found.id)).timeline : [];
    };
    const messages = async (customer: string): Promise<string[]> =>
        (await timeline(customer)).filter((it) => it.type === 'message' && it.author === key.agentId).map((it) => it.text);
    const peopleApprove = async () => {
        for (const draft of await control.listApprovals()) {
            const items: any[] = (await control.getConversation(draft.conversationId)).timeline;
            const byHand = items.some((it) => it.type === 'message' && it.author?.startsWith('usr_'));
            if (byHand || approved.includes(draft.messageId)) continue;
            approved.push(draft.messageId);
            await control.approve(draft.messageId);
        }
    };
";

fn value(value: &Value) -> String {
    let text = |said: &str| template(said, &quote, "`", ["${", "}"]);
    literal(value, &text, ["null", "true", "false"])
}

fn statement(line: &Line, test: &Test) -> Vec<String> {
    match line {
        Line::Comment(text) => vec![format!("// {text}")],
        Line::Mail { name: None, body } => vec![format!("await control.inbound({});", value(body))],
        Line::Mail { name: Some(name), body } => {
            vec![format!("const {name} = (await control.inbound({})).conversationId;", value(body))]
        }
        Line::Fault { rule, kills: true } => {
            vec![format!("kills.push((await control.addFault({})).id);", value(rule))]
        }
        Line::Fault { rule, .. } => vec![format!("await control.addFault({});", value(rule))],
        Line::Call { act, conversation, body } => {
            let body = value(body);
            vec![match act {
                Act::Approve | Act::Edit => format!("await control.approve({conversation}, {body});"),
                Act::Stop => format!("await control.stop({conversation});"),
                Act::Discard => format!("await control.discard({conversation});"),
                Act::Assign => format!("await control.assign({conversation}, {body});"),
                Act::Answer => format!("await control.reply({conversation}, {body});"),
                Act::Advance | Act::Overlap => format!("await control.moveClock({body});"),
                Act::Mail | Act::NewMail | Act::Risk | Act::AutoReply => {
                    format!("await control.inbound({body});")
                }
            }]
        }
        Line::Run if test.webhook_path.is_some() => vec!["await settle();".to_owned()],
        Line::Run => vec!["status = await run();".to_owned()],
        Line::People => vec!["await peopleApprove();".to_owned()],
        Line::Advance(seconds) if test.webhook_path.is_some() => vec![format!("await advance({seconds});")],
        Line::Advance(seconds) => vec![format!("await control.moveClock({{ advanceSeconds: {seconds} }});")],
        Line::ClearFaults => vec!["await control.clearFaults();".to_owned()],
        Line::Claim(claim) => assertion(claim, test),
    }
}

fn assertion(claim: &Claim, test: &Test) -> Vec<String> {
    match claim {
        Claim::TextAtMost { customer, text, times } => vec![
            format!("const said = (await messages({})).filter((it) => it === {});", quote(customer), quote(text)),
            format!("expect(said.length).toBeLessThanOrEqual({times});"),
        ],
        Claim::NoteAtMost { customer, text, times } => vec![
            format!("const notes = (await timeline({})).filter((it) => it.type === 'note' && it.body === {});", quote(customer), quote(text)),
            format!("expect(notes.length).toBeLessThanOrEqual({times});"),
        ],
        Claim::MessagesAtMost { customer, times } => {
            vec![format!("expect((await messages({})).length).toBeLessThanOrEqual({times});", quote(customer))]
        }
        Claim::Answered { customer } => vec![
            format!("const items = (await timeline({})).filter((it) => it.type === 'message');", quote(customer)),
            "const last = items.findLastIndex((it) => it.direction === 'inbound');".to_owned(),
            "expect(items.slice(last).some((it) => it.author === key.agentId)).toBe(true);".to_owned(),
        ],
        Claim::Part { customer, part, values } => {
            let (customer, values) = (quote(customer), value(&json!(values)));
            let find = format!("const id = (await control.listConversations()).find((it) => it.contact.email === {customer})!.id;");
            let view = "const view: any = await control.getConversation(id);".to_owned();
            match *part {
                "outbox" => vec![
                    format!("const sent = (await control.listOutbox()).filter((it) => it.to === {customer} && it.outcome === 'sent').map((it) => it.text).sort();"),
                    format!("const drafts = (await timeline({customer})).filter((it) => it.status === 'draft' && it.author === key.agentId).map((it) => it.text).sort();"),
                    format!("expect([...sent, ...drafts]).toEqual({values});"),
                ],
                "notes" => vec![format!("expect((await timeline({customer})).filter((it) => it.type === 'note').map((it) => it.body).sort()).toEqual({values});")],
                "tags" => vec![find, view, format!("expect([...view.tags].sort()).toEqual({values});")],
                "status" => vec![find, view, format!("expect([view.status]).toEqual({values});")],
                "assignee" => vec![
                    find,
                    view,
                    "const named = view.assignee?.id === key.agentId ? 'app' : (view.assignee?.type ?? 'nobody');".to_owned(),
                    format!("expect([named]).toEqual({values});"),
                ],
                _ => vec![find, view, format!("expect(view.documentRequests.map((it: any) => it.items.map((of: any) => of.label).join(', ')).sort()).toEqual({values});")],
            }
        }
        Claim::NoResponse { status } => vec![format!("expect((await control.listRequests()).map((it) => it.status)).not.toContain({status});")],
        Claim::EndsWell if test.webhook_path.is_some() => vec!["expect(app.exitCode).toBe(null);".to_owned()],
        Claim::EndsWell => vec!["expect(status).toBe(0);".to_owned()],
        Claim::Settles => vec![
            "const all = async () => JSON.stringify(await Promise.all((await control.listConversations()).map((it) => control.getConversation(it.id))));".to_owned(),
            "const before = await all();".to_owned(),
            if test.webhook_path.is_some() { "await advance(660);" } else { "await run();" }.to_owned(),
            "expect(await all()).toBe(before);".to_owned(),
        ],
        Claim::Expectation(n) => vec![match test.expectations.get(*n) {
            Some(expectation) => format!("await control.expect({});", value(expectation)),
            None => "throw new Error('put your check of this world here');".to_owned(),
        }],
    }
}
