// What a request of the journal means: its operation, what it was about, and what a test needs to make it again.

/** Names of operations by method and path. @type {Record<string, string>} */
const NAMES = {
	'GET me': 'me', 'GET mailboxes': 'list_mailboxes', 'GET tags': 'list_tags', 'GET documents': 'search_documents', 'POST app-mail': 'record_sent', 'POST sandbox/inbound': 'sandbox_inbound',
	'GET conversations': 'list_conversations', 'GET conversations/': 'get_conversation', 'POST conversations/notes': 'add_note', 'POST conversations/status': 'set_status',
	'POST conversations/tags': 'tag_conversation', 'POST conversations/assign': 'assign_conversation', 'POST conversations/replies': 'reply', 'POST conversations/document-requests': 'request_documents',
};

/** @param {unknown} value @returns {value is Record<string, any>} */
export function isObject(value) {
	return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** @param {any} request @returns {{ name: string | undefined, input: any, id: string | undefined }} */
export function operation(request) {
	if (request.transport === 'mcp') {
		const { id, ...input } = request.requestBody?.params?.arguments ?? {};
		return { name: Object.values(NAMES).find((name) => name === request.tool), input, id: typeof id === 'string' ? id : undefined };
	}
	const [, , , thing, id, what, ...more] = request.path.split('/');
	const key = thing === 'sandbox' ? `sandbox/${id}${what === undefined ? '' : '/'}` : `${thing}${id ? `/${what ?? ''}` : ''}`;
	const input = request.method === 'GET' ? Object.fromEntries(new URLSearchParams(request.query)) : request.requestBody ?? {};
	return { name: more.length ? undefined : NAMES[`${request.method} ${key}`], input, id: thing === 'conversations' ? id : undefined };
}

/** What a request is called where people read it. @param {any} request @returns {string} */
export function title(request) {
	const { name } = operation(request);
	if (name) return name.replaceAll('_', ' ');
	return request.transport === 'mcp' ? request.tool ?? request.requestBody?.method ?? 'MCP' : request.path.replace('/api/v1', '') || '/';
}

/** Who or what a request was about. @param {any} request @returns {string} */
export function topic(request) {
	const { input } = operation(request);
	const said = [request.customer, request.subject].filter(Boolean);
	if (said.length) return said.join(' · ');
	if (isObject(input)) for (const field of ['subject', 'from', 'reference', 'q', 'view']) if (typeof input[field] === 'string') return input[field];
	return request.conversationId ?? '';
}

/**
 * Everything that a test needs to make a call again and to expect the same of it.
 * @typedef {object} Description
 * @property {string} name of the operation, or `request`
 * @property {any} input
 * @property {number | null} status that was answered
 * @property {boolean} refused whether it was refused in the result of a tool, which has no status
 * @property {{ from: string, text: string, subject: string } | null} mail that began the conversation
 * @property {boolean} sandbox
 * @property {string | null} id of the conversation
 * @property {string | null} user whom it was given to
 * @property {string | null} mailbox that it asked for
 * @property {string[] | null} scopes of the key, where they decide
 * @property {boolean} unknownKey
 * @property {boolean} free whether the plan was the free one
 * @property {boolean} fault whether something went wrong on demand
 * @property {{ method: string, path: string, body: string | null }} http
 */

/**
 * @param {any} request of the journal
 * @param {any} conversation the one that it was about, or null when there is none
 * @param {any} key the one that it was made with, or null
 * @returns {Description}
 */
export function describe(request, conversation, key) {
	const { name, input, id } = operation(request);
	const { status } = request;
	const refused = request.transport === 'mcp' && request.responseBody?.result?.isError === true;
	const natural = [400, 401, 403, 404, 405, 413, 414, 415];
	const first = conversation?.timeline.find((it) => it.type === 'message' && it.direction === 'inbound');
	const sandbox = key ? !key.livemode : name === 'sandbox_inbound';
	const from = String(first?.from.email ?? conversation?.contact.email ?? 'vera@customer.example');
	const there = conversation && !(status === 404 || (refused && /no such/i.test(JSON.stringify(request.responseBody))));
	const to = isObject(input) && name === 'assign_conversation' && status < 300 && !refused ? input.to : null;
	return {
		name: name ?? 'request',
		input,
		status,
		refused,
		mail: there ? { from: sandbox && !from.endsWith('.test') ? 'vera@customer.test' : from, text: String(first?.text || 'Hello'), subject: String(conversation.subject) } : null,
		sandbox,
		id: id ?? (name === 'sandbox_inbound' && isObject(input) && typeof input.conversationId === 'string' ? input.conversationId : null),
		user: typeof to === 'string' && /^(user|agent):/.test(to) ? to : null,
		mailbox: isObject(input) && name === 'list_conversations' && status < 300 && typeof input.mailbox === 'string' ? input.mailbox : null,
		scopes: key && (status === 403 || refused) ? key.scopes : null,
		unknownKey: status === 401 && !request.faultId,
		free: status === 403 && /plan/i.test(String(request.responseBody?.error ?? '')),
		fault: status === null || (status >= 300 && (Boolean(request.faultId) || !natural.includes(status))),
		http: http(request, name, input, id),
	};
}

/** @param {any} request @param {string | undefined} name @param {any} input @param {string | undefined} id */
function http(request, name, input, id) {
	if (request.transport !== 'mcp' || !name) {
		const body = request.requestBody;
		return { method: request.method, path: request.path.replace('/api/v1', '') + (request.query ? `?${request.query}` : ''), body: body === null ? null : typeof body === 'string' ? body : JSON.stringify(body) };
	}
	// A tool does what its operation does.
	const [method, place] = String(Object.keys(NAMES).find((it) => NAMES[it] === name)).split(' ');
	const path = `/${place.replace('conversations/', `conversations/${encodeURIComponent(id ?? '')}/`).replace(/\/$/, '')}`;
	const query = new URLSearchParams(Object.entries(isObject(input) ? input : {}).map(([field, value]) => [field, String(value)]));
	return method === 'GET' ? { method, path: query.size ? `${path}?${query}` : path, body: null } : { method, path, body: JSON.stringify(input) };
}
