// A request as a command, and as a test to keep.

/** A word of a shell. @param {string} text */
function quoted(text) {
	return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** @param {string} base @param {string} key */
export function curlList(base, key) {
	return `curl -H 'Authorization: Bearer ${key}' ${quoted(`${base}/conversations?limit=3`)}`;
}

/** A request of the journal; its key is not in there. @param {any} request @param {string} root */
export function curl(request, root) {
	const lines = [`curl${request.method === 'GET' ? '' : ` -X ${request.method}`} ${quoted(`${root}${request.path}${request.query ? `?${request.query}` : ''}`)}`, `-H "Authorization: Bearer $SHARED_INBOX_API_KEY"`];
	if (request.requestBody !== null) {
		const text = typeof request.requestBody === 'string' ? request.requestBody : JSON.stringify(request.requestBody);
		lines.push(`-H 'Content-Type: application/json'`);
		if (request.transport === 'mcp') lines.push(`-H 'Accept: application/json, text/event-stream'`);
		lines.push(`--data-raw ${quoted(text)}`);
	}
	return lines.join(' \\\n  ');
}

/** A try of a webhook, as it went over the wire. @param {string} url @param {Record<string, string>} headers @param {string} body */
export function curlTry(url, headers, body) {
	return [`curl -X POST ${quoted(url)}`, ...Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`), `--data-raw ${quoted(body)}`].join(' \\\n  ');
}

/** A string of Rust. @param {unknown} text */
function string(text) {
	const escaped = String(text).replace(/[\\"\n\r\t\0]|[^\u0020-\u007e]/gu, (c) => /** @type {Record<string, string>} */ ({ '\\': '\\\\', '"': '\\"', '\n': '\\n', '\r': '\\r', '\t': '\\t', '\0': '\\0' })[c] ?? (/\p{L}|\p{N}|\p{P}|\p{S}/u.test(c) ? c : `\\u{${/** @type {number} */ (c.codePointAt(0)).toString(16)}}`));
	return `"${escaped}"`;
}

/** @param {string} word */
function variant(word) {
	return word.charAt(0).toUpperCase() + word.slice(1);
}

/** @typedef {{ call: string, uses?: string[], about?: boolean }} Call */

/** @param {any} item */
function documentItem(item) {
	return `DocumentItem::new(${string(item.label)})${item.description ? `.description(${string(item.description)})` : ''}${item.required === false ? '.nice_to_have()' : ''}`;
}

/** How the client makes each operation. @type {Record<string, (input: any) => Call>} */
const CALLS = {
	me: () => ({ call: '.me()' }),
	list_mailboxes: () => ({ call: '.mailboxes()' }),
	list_tags: () => ({ call: '.tags()' }),
	list_conversations: ({ view, q, assigned, limit, reference }) => ({
		call: `.conversations()${view ? `.view(View::${variant(view)})` : ''}${assigned ? `.assigned(Assigned::${variant(assigned)})` : ''}${q ? `.q(${string(q)})` : ''}${reference ? `.reference(${string(reference)})` : ''}${limit ? `.limit(${Number(limit)})` : ''}`,
		uses: [view && 'shared_inbox::View', assigned && 'shared_inbox::Assigned'].filter(Boolean),
	}),
	search_documents: ({ q, kind, limit }) => ({ call: `.documents()${q ? `.q(${string(q)})` : ''}${kind ? `.kind(DocumentKind::${variant(kind)})` : ''}${limit ? `.limit(${Number(limit)})` : ''}`, uses: kind ? ['shared_inbox::DocumentKind'] : [] }),
	get_conversation: () => ({ call: '.get()', about: true }),
	add_note: ({ body }) => ({ call: `.add_note(${string(body)})`, about: true }),
	set_status: ({ status }) => ({ call: `.set_status(Status::${variant(status)})`, uses: ['shared_inbox::Status'], about: true }),
	tag_conversation: ({ add = [], remove = [] }) => ({ call: `.tags()${add.map((/** @type {string} */ tag) => `.add(${string(tag)})`).join('')}${remove.map((/** @type {string} */ tag) => `.remove(${string(tag)})`).join('')}`, about: true }),
	assign_conversation: ({ to }) => ({ call: to === 'me' ? '.assign(AssignTo::Me)' : to === 'none' ? '.assign(AssignTo::Nobody)' : `.assign(${string(to)}.parse::<AssignTo>().unwrap())`, uses: ['shared_inbox::AssignTo'], about: true }),
	reply: ({ body, send, summary, documents = [] }) => ({ call: `.reply(${string(body)})${summary ? `.summary(${string(summary)})` : ''}${documents.map((/** @type {any} */ it) => `.document(${documentItem(it)})`).join('')}${send ? '.and_send()' : ''}`, uses: documents.length ? ['shared_inbox::DocumentItem'] : [], about: true }),
	request_documents: ({ documents = [], message, dueDate, send }) => ({ call: `.request_documents([${documents.map(documentItem).join(', ')}])${message ? `.message(${string(message)})` : ''}${dueDate ? `.due_date(${string(dueDate)}.parse().unwrap())` : ''}${send ? '.and_send()' : ''}`, uses: ['shared_inbox::DocumentItem'], about: true }),
	record_sent: ({ messageId, reference, to = [], subject, text, html }) => ({ call: `.record_sent(${string(messageId)}, ${string(reference)}.parse().unwrap(), [${to.map(string).join(', ')}], ${string(subject)})${text ? `.text(${string(text)})` : ''}${html ? `.html(${string(html)})` : ''}` }),
	sandbox_inbound: ({ from, text, name, subject }) => ({ call: `.sandbox_inbound(${string(from)}, ${string(text)})${name ? `.name(${string(name)})` : ''}${subject ? `.subject(${string(subject)})` : ''}` }),
};

/** Which operation a request of the journal means, and on which conversation. @param {any} request */
function operation(request) {
	if (request.transport === 'mcp') {
		const { id, ...input } = request.requestBody?.params?.arguments ?? {};
		return { name: request.tool, input, id };
	}
	const [, , , thing, id, what] = request.path.split('/');
	const input = request.method === 'GET' ? Object.fromEntries(new URLSearchParams(request.query)) : request.requestBody ?? {};
	const names = /** @type {Record<string, string>} */ ({
		'GET me': 'me', 'GET mailboxes': 'list_mailboxes', 'GET tags': 'list_tags', 'GET documents': 'search_documents', 'POST app-mail': 'record_sent', 'POST sandbox/inbound': 'sandbox_inbound',
		'GET conversations': 'list_conversations', 'GET conversations/': 'get_conversation', 'POST conversations/notes': 'add_note', 'POST conversations/status': 'set_status',
		'POST conversations/tags': 'tag_conversation', 'POST conversations/assign': 'assign_conversation', 'POST conversations/replies': 'reply', 'POST conversations/document-requests': 'request_documents',
	});
	const key = thing === 'sandbox' ? `${request.method} sandbox/${id}` : `${request.method} ${thing}${id ? `/${what ?? ''}` : ''}`;
	return { name: names[key], input, id };
}

/** Which conversation a request of the journal is about. @param {any} request @returns {string | null} */
export function about(request) {
	const { id } = operation(request);
	return typeof id === 'string' && id.startsWith('cnv_') ? id : null;
}

/**
 * A test that makes the same call against a server of its own.
 * @param {any} request of the journal
 * @param {any} conversation the one that it was about, or null when there is none
 * @param {any} key the one that it was made with, or null
 */
export function rustTest(request, conversation, key) {
	const { name, input } = operation(request);
	const made = name && typeof input === 'object' ? CALLS[name]?.(input) : undefined;
	if (!made) return null;
	const { call, uses = [], about: isAbout } = made;
	const sandbox = key ? !key.livemode : false;
	const status = request.status;
	const missing = isAbout && !conversation;
	const mail = conversation?.timeline.find((/** @type {any} */ it) => it.type === 'message' && it.direction === 'inbound');
	const from = mail?.from.email ?? conversation?.contact.email ?? 'vera@customer.example';
	const lines = [];
	const imports = [...uses];
	if (isAbout && missing) {
		imports.push('shared_inbox::ConversationId');
		lines.push('let id: ConversationId = "cnv_none".parse().unwrap();');
	} else if (isAbout && sandbox) {
		lines.push(`let mail = inbox.sandbox_inbound(${string(from.endsWith('.test') ? from : 'vera@customer.test')}, ${string(mail?.text ?? 'Hello')}).subject(${string(conversation.subject)});`, 'let id = mail.await.unwrap().conversation_id;');
	} else if (isAbout) {
		imports.push('shared_inbox_mock::InboundMail');
		lines.push('let address = mock.control().mailboxes().await.unwrap()[0].address.clone();', `let mail = InboundMail::new(address, ${string(from)}, ${string(mail?.text ?? 'Hello')}).subject(${string(conversation.subject)});`, 'let id = mock.control().inbound(mail).await.unwrap().conversation_id;');
	}
	const whole = `inbox${isAbout ? '.conversation(&id)' : ''}${call}.await`;
	const ends = /** @type {Record<number, string>} */ ({ 400: 'is_invalid_input', 404: 'is_not_found' });
	if (ends[status]) lines.push(`let error = ${whole}.unwrap_err();`, `assert!(error.${ends[status]}(), "{error}");`);
	else {
		if (!(status < 300)) lines.push(`// There it was answered with ${status ?? 'nothing: the connection closed'}.`);
		lines.push(`${whole}.unwrap();`);
	}
	imports.push('shared_inbox_mock::MockServer');
	const groups = /** @type {Record<string, string[]>} */ ({});
	for (const path of imports) (groups[path.split('::')[0]] ??= []).push(path.split('::')[1]);
	const use = Object.keys(groups).sort().map((crate) => `use ${crate}::${groups[crate].length > 1 ? `{${groups[crate].sort().join(', ')}}` : groups[crate][0]};`);
	const outcome = ends[status] ? `is_refused_with_${status}` : 'works';
	return [...use, '', '#[tokio::test]', `async fn ${name}_${outcome}() {`, '    let mock = MockServer::builder().manual_clock().empty().start().await;', `    let inbox = mock.${sandbox ? 'test_client' : 'client'}();`, ...lines.map((line) => `    ${line}`), '}', ''].join('\n');
}
