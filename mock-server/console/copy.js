// A request as a command, and as a test to keep. Nothing that came with a request ever stands outside a string.

import { isObject } from './calls.js';

/** @typedef {import('./calls.js').Description} Description */

/** A word of a shell. @param {string} text */
function quoted(text) {
	return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** A command that sends a body to the byte, without characters that a terminal would act on. @param {string[]} lines @param {string} text */
function sending(lines, text) {
	if (!/\p{C}/u.test(text)) return [...lines, `--data-raw ${quoted(text)}`].join(' \\\n  ');
	const octal = (c) => [...new TextEncoder().encode(c)].map((byte) => `\\0${byte.toString(8).padStart(3, '0')}`).join('');
	return `printf '%b' ${quoted(text.replaceAll('\\', '\\\\').replace(/\p{C}/gu, octal))} |\n  ${[...lines, '--data-binary @-'].join(' \\\n  ')}`;
}

/** @param {string} base @param {string} key */
export function curlList(base, key) {
	return `curl -H 'Authorization: Bearer ${key}' ${quoted(`${base}/conversations?limit=3`)}`;
}

/** A request of the journal; its key is not in there. @param {any} request @param {string} root */
export function curl(request, root) {
	const lines = [`curl${request.method === 'GET' ? '' : ` -X ${request.method}`} ${quoted(`${root}${request.path}${request.query ? `?${request.query}` : ''}`)}`, `-H "Authorization: Bearer $SHARED_INBOX_API_KEY"`];
	if (request.requestBody === null) return lines.join(' \\\n  ');
	lines.push(`-H 'Content-Type: application/json'`);
	if (request.transport === 'mcp') lines.push(`-H 'Accept: application/json, text/event-stream'`);
	return sending(lines, typeof request.requestBody === 'string' ? request.requestBody : JSON.stringify(request.requestBody));
}

/** An attempt of a webhook, as it went over the wire. @param {string} url @param {Record<string, string>} headers @param {string} body */
export function curlAttempt(url, headers, body) {
	return sending([`curl -X POST ${quoted(url)}`, ...Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`)], body);
}

/** A string of a language, which writes a code point with `escape`. @param {unknown} text @param {(hex: string) => string} escape */
function literal(text, escape) {
	const short = ({ '\\': '\\\\', '"': '\\"', '\n': '\\n', '\r': '\\r', '\t': '\\t' });
	const plain = /[\p{L}\p{N}\p{P}\p{S} ]/u;
	return `"${String(text).replace(/[^]/gu, (c) => short[c] ?? (plain.test(c) && !/\p{Cs}/u.test(c) ? c : escape(/\p{Cs}/u.test(c) ? 'fffd' : /** @type {number} */ (c.codePointAt(0)).toString(16))))}"`;
}
/** Rust and JavaScript write strings in the same way. */
const rust = (text) => literal(text, (hex) => `\\u{${hex}}`);
const python = (text) => literal(text, (hex) => `\\U${hex.padStart(8, '0')}`);

/** What comes of it, for the name of a test. @param {Description} it */
function outcome({ status, refused }) {
	return refused ? 'is_refused' : status === null ? 'gets_no_answer' : status < 300 ? 'works' : `is_refused_with_${status}`;
}

/** A word of an open list of words; one that is not known is kept as a text. @param {string} type @param {string[]} known @param {string} word */
function word(type, known, word) {
	return known.includes(word) ? `${type}::${word.charAt(0).toUpperCase()}${word.slice(1)}` : `${type}::from(${rust(word)})`;
}

const text = (value) => typeof value === 'string' && value !== '';
const texts = (value) => Array.isArray(value) && value.every((it) => typeof it === 'string');
const flag = (value) => typeof value === 'boolean';
const whole = (value) => /^[1-9]\d{0,8}$/.test(String(value)) && !Array.isArray(value);
const date = (value) => typeof value === 'string' && /^[12]\d{3}-\d\d-\d\d$/.test(value) && new Date(`${value}T00:00:00Z`).toJSON()?.slice(0, 10) === value;
const items = (value) => Array.isArray(value) && value.every((it) => isObject(it) && text(it.label) && (it.description === undefined || text(it.description)) && (it.required === undefined || flag(it.required)));

/** What the fields of each operation must be for the client to take them; `!` marks those that it needs. @type {Record<string, Record<string, (value: any) => boolean>>} */
const SHAPES = {
	me: {}, list_mailboxes: {}, list_tags: {}, get_conversation: {},
	list_conversations: { view: text, q: text, assigned: text, limit: whole, reference: text, mailbox: text },
	search_documents: { q: text, kind: text, limit: whole },
	add_note: { 'body!': text },
	set_status: { 'status!': text },
	tag_conversation: { add: texts, remove: texts },
	assign_conversation: { 'to!': (to) => /^(me|none|user:.+|agent:.+)$/s.test(to) },
	reply: { 'body!': text, send: flag, summary: text, documents: items },
	request_documents: { 'documents!': items, message: text, dueDate: date, send: flag },
	record_sent: { 'messageId!': text, 'reference!': (it) => text(it) && /^[a-z0-9][a-z0-9._-]*$/i.test(it) && /\d/.test(it), 'to!': texts, 'subject!': (it) => typeof it === 'string', text, html: text },
	sandbox_inbound: { 'from!': text, 'text!': text, name: text, subject: text },
};

/** Whether the client can be told to make this call. @param {Description} it */
function isTyped({ name, input, fault, unknownKey, status, id }) {
	const shape = SHAPES[name];
	if (!shape || !isObject(input) || fault || unknownKey || status === 405 || (name === 'sandbox_inbound' && id)) return false;
	return Object.entries(shape).every(([field, fits]) => {
		const value = input[field.replace('!', '')];
		return value === undefined ? !field.endsWith('!') : fits(value);
	});
}

function documentItem(item) {
	return `DocumentItem::new(${rust(item.label)})${item.description ? `.description(${rust(item.description)})` : ''}${item.required === false ? '.nice_to_have()' : ''}`;
}

const STATUSES = ['open', 'waiting', 'closed'];
const each = (/** @type {string} */ method, /** @type {any[]} */ values) => values.map((value) => `.${method}(${rust(value)})`).join('');
const when = (/** @type {string} */ method, /** @type {any} */ value) => (value ? `.${method}(${rust(value)})` : '');
/** How the client makes each operation. @type {Record<string, (input: any, it: Description) => string>} */
const CALLS = {
	me: () => '.me()',
	list_mailboxes: () => '.mailboxes()',
	list_tags: () => '.tags()',
	list_conversations: ({ view, q, assigned, limit, reference }, { mailbox }) => `.conversations()${view ? `.view(${word('View', [...STATUSES, 'snoozed', 'all'], view)})` : ''}${assigned ? `.assigned(${word('Assigned', ['me', 'unassigned'], assigned)})` : ''}${mailbox ? '.mailbox(&mailbox)' : ''}${when('search', q)}${when('reference', reference)}${limit ? `.limit(${Number(limit)})` : ''}`,
	search_documents: ({ q, kind, limit }) => `.documents()${when('search', q)}${kind ? `.kind(DocumentKind::from(${rust(kind)}))` : ''}${limit ? `.limit(${Number(limit)})` : ''}`,
	get_conversation: () => '.get()',
	add_note: ({ body }) => `.add_note(${rust(body)})`,
	set_status: ({ status }) => `.set_status(${word('Status', STATUSES, status)})`,
	tag_conversation: ({ add = [], remove = [] }) => `.edit_tags()${each('add', add)}${each('remove', remove)}`,
	assign_conversation: ({ to }, { user }) => `.assign(${to === 'me' ? 'AssignTo::Me' : to === 'none' ? 'AssignTo::Nobody' : user ? 'user.parse::<AssignTo>().unwrap()' : `AssignTo::Unknown(${rust(to)}.into())`})`,
	reply: ({ body, send, summary, documents = [] }) => `.reply(${rust(body)})${when('summary', summary)}${documents.map((it) => `.document(${documentItem(it)})`).join('')}${send ? '.and_send()' : ''}`,
	request_documents: ({ documents, message, dueDate, send }) => `.request_documents([${documents.map(documentItem).join(', ')}])${when('message', message)}${dueDate ? `.due_date(${rust(dueDate)}.parse().unwrap())` : ''}${send ? '.and_send()' : ''}`,
	record_sent: ({ messageId, reference, to, subject, text: plain, html }) => `.record_sent(${rust(messageId)}, ${rust(reference)}.parse().unwrap(), [${to.map(rust).join(', ')}]${to.length ? '' : ' as [&str; 0]'}, ${rust(subject)})${when('text', plain)}${when('html', html)}`,
	sandbox_inbound: ({ from, text: plain, name, subject }) => `.sandbox_inbound(${rust(from)}, ${rust(plain)})${when('name', name)}${when('subject', subject)}`,
};

/** Types that a test names, and where they are. @type {[RegExp, string][]} */
const IMPORTS = [
	[/\b(AssignTo|Assigned|ConversationId|DocumentKind|Scope|Status|View)\b/, 'shared_inbox'],
	[/\b(DocumentItem)\b/, 'shared_inbox::input'],
	[/\b(Method)\b/, 'shared_inbox::http'],
	[/\b(Effect|FaultRule|InboundMail|MockServer|NewKey)\b/, 'shared_inbox_mock'],
	[/\b(NewUser|Plan)\b/, 'shared_inbox_mock::world'],
];

/** A test that makes the same call against a server of its own. @param {Description} it */
export function rustTest(it) {
	const { mail, sandbox, id, http, status } = it;
	const typed = isTyped(it);
	const lines = ['let mock = MockServer::builder().manual_clock().empty().start().await;'];
	if (it.scopes && !it.free) {
		lines.push(`let key = NewKey::${sandbox ? 'test' : 'live'}("App", [${it.scopes.map((scope) => word('Scope', ['read', 'write', 'draft', 'send', 'record'], scope)).join(', ')}]${it.scopes.length ? '' : ' as [Scope; 0]'});`, 'let key = mock.control().create_key(key).await.unwrap().key;');
	}
	if (mail && sandbox) lines.push(`let mail = mock.test_client().sandbox_inbound(${rust(mail.from)}, ${rust(mail.text)}).subject(${rust(mail.subject)});`, 'let id = mail.await.unwrap().conversation_id;');
	else if (mail) lines.push('let address = mock.control().mailboxes().await.unwrap()[0].address.clone();', `let mail = InboundMail::new(address, ${rust(mail.from)}, ${rust(mail.text)}).subject(${rust(mail.subject)});`, 'let id = mock.control().inbound(mail).await.unwrap().conversation_id;');
	else if (typed && id) lines.push('let id: ConversationId = "cnv_none".parse().unwrap();');
	if (it.user) lines.push('let user = mock.control().create_user(NewUser::new("Anna")).await.unwrap();', 'let user = format!("user:{}", user.id);');
	if (it.mailbox) lines.push(`let mailbox = mock.control().mailboxes().await.unwrap().into_iter().find(|it| ${sandbox ? '' : '!'}it.sandbox).unwrap().id;`);
	if (it.free) lines.push('mock.control().set_plan(Plan::Free).await.unwrap();');
	const key = it.unknownKey ? '"rk_live_unknown"' : it.scopes && !it.free ? '&key' : sandbox ? 'mock.test_key()' : 'mock.live_key()';
	if (typed) {
		lines.push(`let inbox = mock.${it.scopes && !it.free ? 'client_with(&key)' : sandbox ? 'test_client()' : 'client()'};`);
		const call = `inbox${id ? '.conversation(&id)' : ''}${CALLS[it.name](it.input, it)}.await`;
		const fails = /** @type {Record<number, string>} */ ({ 400: 'is_invalid_input', 403: 'is_forbidden', 404: 'is_not_found' });
		const asserted = fails[/** @type {number} */ (status)];
		if (asserted) lines.push(`let error = ${call}.unwrap_err();`, `assert!(error.${asserted}(), "{error}");`);
		else if (it.refused) lines.push(`let error = ${call}.unwrap_err();`, 'assert!(error.is_invalid_input() || error.is_forbidden() || error.is_not_found(), "{error}");');
		else lines.push(`${call}.unwrap();`);
	} else {
		const placed = (plain) => changes(it, rust(plain), plain, (old, by) => `.replace(${rust(old)}, ${by})`, { id: 'id.as_str()', user: '&user', mailbox: 'mailbox.as_str()' });
		if (it.fault) lines.push(`mock.control().add_fault(FaultRule::new(${status === null ? 'Effect::drop_before()' : `Effect::status(${Number(status)})`}).always()).await.unwrap();`);
		lines.push(`let url = format!("{}{}", mock.base_url(), ${placed(http.path)});`, `let request = reqwest::Client::new().request(${rust(http.method)}.parse::<Method>().unwrap(), url).bearer_auth(${key});`);
		if (http.body !== null) lines.push(`let request = request.header("content-type", "application/json").body(${placed(http.body)});`);
		if (status === null) lines.push('assert!(request.send().await.is_err());');
		else lines.push('let response = request.send().await.unwrap();', it.refused ? 'assert!(response.status().is_client_error());' : `assert_eq!(response.status(), ${Number(status)});`);
	}
	const plain = lines.join('\n').replace(/"(\\[^]|[^"\\])*"/g, '""');
	/** @type {Record<string, Set<string>>} */
	const used = {};
	for (const [pattern, crate] of IMPORTS) for (const found of plain.matchAll(new RegExp(pattern, 'g'))) (used[crate] ??= new Set()).add(found[1]);
	const uses = Object.entries(used).sort(([a], [b]) => (a < b ? -1 : 1)).map(([crate, names]) => `use ${crate}::${names.size > 1 ? `{${[...names].sort().join(', ')}}` : [...names][0]};`);
	return [...uses, '', '#[tokio::test]', `async fn ${it.name}_${outcome(it)}() {`, ...lines.map((line) => `    ${line}`), '}', ''].join('\n');
}

/**
 * A string in which the ids of the world that a request was made in become those of the test's.
 * @param {Description} it @param {string} code @param {string} plain @param {(old: string, by: string) => string} replace @param {{ id: string, user: string, mailbox: string }} names
 */
function changes(it, code, plain, replace, names) {
	if (it.mail && it.id && plain.includes(it.id)) code += replace(it.id, names.id);
	if (it.user && plain.includes(it.user)) code += replace(it.user, names.user);
	if (it.mailbox && plain.includes(it.mailbox)) code += replace(it.mailbox, names.mailbox);
	return code;
}

/** What is done before the call, for languages that use the control API by its names. @param {Description} it */
function before(it) {
	const { mail, sandbox } = it;
	/** @type {[string, any][]} */
	const rest = [];
	if (it.scopes && !it.free) rest.push(['key', { name: 'App', scopes: it.scopes, livemode: !sandbox }]);
	if (it.free) rest.push(['plan', { plan: 'free' }]);
	if (it.fault) rest.push(['fault', { effect: it.status === null ? { drop: 'before' } : { status: Number(it.status) }, times: null }]);
	return { mail: mail && { from: mail.from, subject: mail.subject, text: mail.text }, rest };
}

/** JSON as a language writes it. @param {any} value @param {(text: unknown) => string} string @param {boolean} snake @returns {string} */
function data(value, string, snake) {
	if (typeof value === 'string') return string(value);
	if (Array.isArray(value)) return `[${value.map((it) => data(it, string, snake)).join(', ')}]`;
	if (isObject(value)) return snake ? `{${Object.entries(value).map(([name, it]) => `${string(name)}: ${data(it, string, snake)}`).join(', ')}}` : `{ ${Object.entries(value).map(([name, it]) => `${name}: ${data(it, string, snake)}`).join(', ')} }`;
	if (snake) return value === null ? 'None' : value === true ? 'True' : value === false ? 'False' : String(Number(value));
	return value === null ? 'null' : typeof value === 'boolean' ? String(value) : String(Number(value));
}

/** A test for pytest, with the fixture of the package. @param {Description} it */
export function pytest(it) {
	const { http, sandbox, status } = it;
	const lines = ['world = shared_inbox'];
	const { mail, rest } = before(it);
	const placed = (plain) => changes(it, python(plain), plain, (old, by) => `.replace(${python(old)}, ${by})`, { id: 'conversation', user: 'user', mailbox: 'mailbox' });
	if (mail && sandbox) lines.push('headers = {"Authorization": f"Bearer {world.test_key}", "Content-Type": "application/json"}', `mail = urllib.request.Request(world.base_url + "/sandbox/inbound", ${python(JSON.stringify(mail))}.encode(), headers)`, 'conversation = json.load(urllib.request.urlopen(mail))["conversationId"]');
	else if (mail) lines.push(`conversation = world.control.inbound({"to": world.inbox(), ${data(mail, python, true).slice(1)})["conversationId"]`);
	if (it.user) lines.push('user = "user:" + world.control.create_user({"name": "Anna"})["id"]');
	if (it.mailbox) lines.push(`mailbox = next(it["id"] for it in world.control.list_mailboxes() if it["sandbox"] is ${sandbox ? 'True' : 'False'} and not it["owner"])`);
	const calls = ({ key: 'create_key', plan: 'set_plan', fault: 'add_fault' });
	for (const [kind, body] of rest) lines.push(`${kind === 'key' ? 'key = ' : ''}world.control.${calls[kind]}(${data(body, python, true)})${kind === 'key' ? '["key"]' : ''}`);
	const key = it.unknownKey ? '"rk_live_unknown"' : rest.some(([kind]) => kind === 'key') ? 'key' : sandbox ? 'world.test_key' : 'world.live_key';
	lines.push(`headers = {"Authorization": f"Bearer {${key.replaceAll('"', "'")}}", "Content-Type": "application/json"}`, `request = urllib.request.Request(world.base_url + ${placed(http.path)}, method=${python(http.method)}, headers=headers)`);
	if (http.body !== null) lines.push(`request.data = ${placed(http.body)}.encode()`);
	if (status === null) lines.push('with pytest.raises(OSError):', '    urllib.request.urlopen(request)');
	else if (status < 300 && !it.refused) lines.push(`assert urllib.request.urlopen(request).status == ${Number(status)}`);
	else lines.push('with pytest.raises(urllib.error.HTTPError) as error:', '    urllib.request.urlopen(request)', it.refused ? 'assert 400 <= error.value.code < 500' : `assert error.value.code == ${Number(status)}`);
	const fails = status === null || status >= 300 || it.refused;
	return [...(mail && sandbox ? ['import json'] : []), ...(fails && status !== null ? ['import urllib.error'] : []), 'import urllib.request', ...(fails ? ['', 'import pytest'] : []), '', '', `def test_${it.name}_${outcome(it)}(shared_inbox):`, ...lines.map((line) => `    ${line}`), ''].join('\n');
}

/** A test for vitest, with the fixture of the package. @param {Description} it */
export function vitest(it) {
	const { http, sandbox, status } = it;
	const lines = [];
	const { mail, rest } = before(it);
	const placed = (plain) => changes(it, rust(plain), plain, (old, by) => `.replaceAll(${rust(old)}, () => ${by})`, { id: 'conversationId', user: 'user', mailbox: 'mailbox' });
	if (mail && sandbox) lines.push(`const mail = { method: 'POST', headers: { Authorization: \`Bearer \${world.testKey}\`, 'Content-Type': 'application/json' }, body: ${rust(JSON.stringify(mail))} };`, "const { conversationId } = await (await fetch(world.baseUrl + '/sandbox/inbound', mail)).json();");
	else if (mail) lines.push(`const { conversationId } = await world.control.inbound({ to: await world.inbox(), ${data(mail, rust, false).slice(2)});`);
	if (it.user) lines.push("const user = `user:${(await world.control.createUser({ name: 'Anna' })).id}`;");
	if (it.mailbox) lines.push(`const mailbox = (await world.control.listMailboxes()).find((it) => it.sandbox === ${sandbox} && !it.owner).id;`);
	const calls = ({ key: 'createKey', plan: 'setPlan', fault: 'addFault' });
	for (const [kind, body] of rest) lines.push(`${kind === 'key' ? 'const { key } = ' : ''}await world.control.${calls[kind]}(${data(body, rust, false)});`);
	const key = it.unknownKey ? "'rk_live_unknown'" : rest.some(([kind]) => kind === 'key') ? 'key' : sandbox ? 'world.testKey' : 'world.liveKey';
	lines.push(`const headers = { Authorization: \`Bearer \${${key}}\`, 'Content-Type': 'application/json' };`, `const call = fetch(world.baseUrl + ${placed(http.path)}, { method: ${rust(http.method)}, headers${http.body === null ? '' : `, body: ${placed(http.body)}`} });`);
	if (status === null) lines.push('await expect(call).rejects.toThrow();');
	else if (it.refused) lines.push('expect(Math.floor((await call).status / 100)).toBe(4);');
	else lines.push(`expect((await call).status).toBe(${Number(status)});`);
	return ["import { expect } from 'vitest';", "import { test } from 'shared-inbox-mock/vitest';", '', `test('${it.name.replaceAll('_', ' ')} ${outcome(it).replaceAll('_', ' ')}', async ({ world }) => {`, ...lines.map((line) => `    ${line}`), '});', ''].join('\n');
}
