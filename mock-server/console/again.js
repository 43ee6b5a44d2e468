// A request of the journal, sent once more: as it was, or changed.

import { title } from './calls.js';
import { at, go } from './route.js';
import { ask, toast } from './ui.js';

/** Headers that a request keeps; the browser and the key decide on the others. */
const KEPT = /^(accept|content-type|mcp-.*|x-.*)$/;

/** Random hexadecimal digits. @param {number} bytes */
const random = (bytes) => [...crypto.getRandomValues(new Uint8Array(bytes))].map((byte) => byte.toString(16).padStart(2, '0')).join('');

/**
 * Asks what to change and with which key, sends it, and shows the new request. The page knows the two keys of its world;
 * of others the server keeps a hash, so theirs must be typed in.
 * @param {import('./panel.js').Context} context @param {any} request @param {any} key the one that it was made with, if it is known
 */
export function sendAgain({ api, ready }, request, key) {
	const text = request.requestBody === null ? '' : typeof request.requestBody === 'string' ? request.requestBody : JSON.stringify(request.requestBody, null, 2);
	ask(`Send ${title(request)} again`, [
		{ name: 'key', label: 'With', type: 'select', options: [['live', 'the live key of this world'], ['test', 'the test key of this world'], ['other', 'another key']], value: key && !key.livemode ? 'test' : 'live', required: true, hint: key ? `It was sent with the key of ${key.name}.` : 'It was sent without a valid key.' },
		{ name: 'other', label: 'The key', required: true, shown: (v) => v.key === 'other', props: { type: 'password' } },
		{ name: 'method', label: 'Method', type: 'select', options: [...new Set([request.method, 'GET', 'POST'])].map((it) => [it, it]), value: request.method, required: true },
		{ name: 'path', label: 'Path and query', value: request.path + (request.query ? `?${request.query}` : ''), required: true, props: { pattern: '/(api/v1(/.*)?|mcp)' } },
		{ name: 'body', label: 'Body', type: 'area', value: text, shown: (v) => v.method !== 'GET', props: { rows: 8 } },
	], 'Send', async ({ key: which, other, method, path, body }) => {
		// What `..` leads to is not the service's.
		if (!/^\/(api\/v1(\/|$)|mcp$)/.test(new URL(path, location.href).pathname)) throw new Error('path: must stay below /api/v1, or be /mcp');
		const headers = Object.fromEntries(Object.entries(request.requestHeaders).filter(([name]) => KEPT.test(name)));
		// It is found in the journal by its trace, also when it gets no response.
		const trace = random(16);
		const sent = fetch(path, { method, body, cache: 'no-store', headers: { ...headers, traceparent: `00-${trace}-${random(8)}-01`, authorization: `Bearer ${other ?? ready.keys[which]}` } });
		const status = await sent.then((response) => `The response is ${response.status}`, () => 'There was no response');
		const [made] = await api.get('/requests', { q: trace, responses: false, wait: 2 });
		toast(status);
		if (made) go(at('requests', made.id));
	});
}
