// Fault rules in words, and the form that writes every rule there is.

/** @typedef {import('./ui.js').Field} Field */

/** @type {any} */
const PATHS = [['', 'any path'], ['/conversations', 'list conversations'], ['/conversations/*', 'read a conversation'], ...['notes', 'replies', 'document-requests', 'status', 'tags', 'assign'].map((it) => [`/conversations/*/${it}`, it]), ['/mcp', 'MCP'], ['?', 'another path']];

/** @type {[string, string][]} */
const OF_REQUESTS = [['drop-after', 'the request takes effect, then the connection closes'], ['drop-before', 'the connection closes, nothing happens'], ['status', 'an error, nothing happens'], ['status-after', 'the request takes effect, then an error'], ['delay', 'a late response'], ['truncate', 'only a part of the response'], ['body', 'another body'], ['headers', 'more headers'], ['act', 'control calls right before or after it']];

/** @type {[string, string][]} */
const OF_WEBHOOKS = [['twice', 'it arrives twice'], ['swap', 'it arrives after the one behind it'], ['late', 'it arrives late, on the world’s clock'], ['drop-before', 'nothing listens at the address'], ['drop-after', 'it arrives, and the receiver’s response is lost'], ['status', 'an error; the receiver gets nothing'], ['status-after', 'it arrives, but counts as an error'], ['truncate', 'its body is cut off'], ['delay', 'it takes long, in real time']];

const hook = (v) => v.about === 'webhooks';
const effectOf = (v) => (hook(v) ? v.hookEffect : v.effect);

/** What the form asks. @param {any[]} keys @param {any[]} webhooks @param {string[]} events @returns {Field[]} */
export function fields(keys, webhooks, events) {
	/** @param {...string} names */
	const one = (...names) => (v) => names.includes(effectOf(v));
	const request = (v) => !hook(v);
	return [
		{ name: 'about', label: 'What goes wrong', type: 'select', options: [['requests', 'requests of the app'], ['webhooks', 'deliveries of webhooks']], value: 'requests', required: true },
		{ name: 'effect', label: 'What the client sees', type: 'select', options: OF_REQUESTS, required: true, shown: request },
		{ name: 'hookEffect', label: 'What happens to a delivery', type: 'select', options: OF_WEBHOOKS, required: true, shown: hook },
		{ name: 'status', label: 'Status', means: ['effect.status'], type: 'number', value: '500', required: true, shown: one('status', 'status-after'), props: { min: 200, max: 599 } },
		{ name: 'bytes', label: 'Bytes that arrive', means: ['effect.truncate'], type: 'number', value: '20', required: true, shown: one('truncate'), props: { min: 0 } },
		{ name: 'text', label: 'Body of the response', type: 'area', value: '<html><body>Bad gateway</body></html>', required: true, shown: one('body'), props: { rows: 3 } },
		{ name: 'lateSeconds', label: 'Seconds late', means: ['effect.lateSeconds'], type: 'number', value: '60', required: true, shown: one('late'), props: { min: 0, step: 'any' } },
		{ name: 'calls', label: 'Control calls', type: 'area', value: '[{ "method": "POST", "path": "/clock", "body": { "advanceSeconds": 60 } }]', required: true, means: ['effect.act', 'effect'], shown: one('act'), hint: 'A list, as JSON; paths below /_mock', props: { rows: 4 } },
		{ name: 'when', label: 'When the calls are made', type: 'select', options: [['before', 'before the request is handled'], ['after', 'after it took effect']], required: true, shown: one('act') },
		{ name: 'path', label: 'Path', type: 'select', options: PATHS, shown: request },
		{ name: 'otherPath', label: 'The path', required: true, means: ['path'], shown: (v) => !hook(v) && v.path === '?', hint: 'Behind the base URL; * stands for one segment', props: { pattern: '/.*' } },
		{ name: 'webhook', label: 'Webhook', type: 'select', options: [['*', 'all webhooks'], ...webhooks.map((it) => /** @type {[string, string]} */ ([it.id, it.url]))], value: '*', required: true, shown: hook },
		{ name: 'event', label: 'Event', type: 'select', options: [['', 'any event'], ...events.map((it) => /** @type {[string, string]} */ ([it, it]))], shown: hook },
		{ name: 'times', label: 'How often', type: 'number', value: '1', hint: 'Leave empty for always', props: { min: 1 } },
		{ name: 'skip', label: 'Skip the first', type: 'number', value: '0', hint: 'Matches that pass before the rule fires', props: { min: 0 } },
		{ name: 'more', label: 'More conditions', type: 'check' },
		.../** @type {Field[]} */ ([
			{ name: 'method', label: 'Method', type: 'select', options: [['', 'any method'], ['GET', 'GET'], ['POST', 'POST']], shown: request },
			{ name: 'tool', label: 'MCP tool', shown: request },
			{ name: 'agentId', label: 'Key of', type: 'select', options: [['', 'any agent'], ...keys.map((it) => [it.agentId, it.name])], shown: request },
			{ name: 'query', label: 'Query', hint: 'As in an address, such as view=open&limit=*', shown: request },
			{ name: 'has', label: 'Body contains', means: ['body'], hint: 'Words, or fields as JSON', shown: request },
			{ name: 'percent', means: ['probability'], label: 'Probability in percent', type: 'number', value: '100', props: { min: 0, max: 100, step: 'any' } },
			{ name: 'seed', label: 'Random seed', hint: 'The same seed fires at the same matches', type: 'number', props: { min: 0 } },
			{ name: 'forSeconds', label: 'Active for, in seconds', type: 'number', hint: 'On the world’s clock', props: { min: 0, step: 'any' } },
		]).map((it) => ({ ...it, shown: (v) => Boolean(v.more) && (it.shown?.(v) ?? true) })),
		{ name: 'delayMs', label: 'Delay in milliseconds', means: ['effect.delayMs'], hint: 'A number, {"min": 50, "max": 900} or {"median": 80, "p99": 2000}', shown: (v) => v.more || one('delay')(v) },
		{ name: 'headers', label: 'Headers of the response', type: 'area', means: ['effect.headers'], required: one('headers'), hint: 'One a line, such as Retry-After: 2', shown: (v) => !hook(v) && (v.more || one('headers')(v)), props: { rows: 2 } },
	];
}

/** JSON, or words. @param {string | undefined} text */
function read(text) {
	try {
		return JSON.parse(text ?? '');
	} catch {
		return text;
	}
}

/** The rule that a form says. @param {Record<string, any>} v */
export function rule(v) {
	const number = (text) => (text === undefined ? undefined : Number(text));
	const effects = ({
		'drop-after': { drop: 'after' }, 'drop-before': { drop: 'before' }, status: { status: number(v.status) }, 'status-after': { status: number(v.status), when: 'after' }, delay: { delayMs: 3_000 },
		truncate: { truncate: number(v.bytes) }, body: { body: v.text ?? '' }, headers: {}, act: { act: read(v.calls), when: v.when }, twice: { twice: true }, swap: { swap: true }, late: { lateSeconds: number(v.lateSeconds) },
	});
	const headers = Object.fromEntries(String(v.headers ?? '').split('\n').filter((line) => line.includes(':')).map((line) => [line.split(':')[0].trim(), line.slice(line.indexOf(':') + 1).trim()]));
	return {
		method: v.method, path: v.path === '?' ? v.otherPath : v.path, tool: v.tool, agentId: v.agentId, query: v.query === undefined ? undefined : Object.fromEntries(new URLSearchParams(v.query)), body: read(v.has),
		webhook: hook(v) ? v.webhook : undefined, event: v.event, skip: number(v.skip) ?? 0, times: v.forSeconds !== undefined && v.times === '1' ? null : number(v.times) ?? null,
		probability: v.percent === undefined ? undefined : Number(v.percent) / 100, seed: number(v.seed), forSeconds: number(v.forSeconds),
		effect: { ...effects[effectOf(v)], ...(v.delayMs === undefined ? {} : { delayMs: read(v.delayMs) }), ...(Object.keys(headers).length ? { headers } : {}) },
	};
}

function late(ms) {
	if (typeof ms === 'number') return ms % 1_000 ? `${ms} ms` : `${ms / 1_000} s`;
	return 'min' in ms ? `${ms.min} to ${ms.max} ms` : `about ${ms.median} ms, now and then ${ms.p99} ms`;
}

/** What becomes of it. @param {any} it @param {boolean} webhook @param {boolean} several */
function happens(it, webhook, several) {
	const said = [];
	/** A verb of the third person, or its plural. */
	const v = (/** @type {string} */ verb) => (several ? ({ is: 'are', has: 'have' })[verb] ?? verb.slice(0, -1) : verb);
	const its = several ? 'their' : 'its';
	if (it.status !== undefined) said.push(it.when === 'after' ? `${v(webhook ? 'arrives' : 'takes')}${webhook ? '' : ' effect'}, then ${v('counts')} as ${it.status}` : `${v('gets')} ${it.status}, and nothing happens`);
	else if (it.drop) said.push(webhook ? (it.drop === 'after' ? `${v('arrives')}, but the receiver’s response is lost` : `${v('finds')} nobody listening`) : it.drop === 'after' ? `${v('takes')} effect, then the connection closes without a response` : `${v('finds')} the connection closed, and nothing happens`);
	else if (it.truncate !== undefined) said.push(webhook ? `${v('arrives')} with only the first ${it.truncate} bytes of ${its} body` : `${v('gets')} only the first ${it.truncate} bytes of ${its} response`);
	else if (it.body !== undefined) said.push(`${v('gets')} another body instead of ${its} response`);
	else if (it.twice) said.push(`${v('arrives')} twice`);
	else if (it.swap) said.push(`${v('arrives')} after the one behind it`);
	else if (it.lateSeconds !== undefined) said.push(`${v('arrives')} ${it.lateSeconds} s late`);
	else if (it.act) said.push(`${v('is')} ${it.when === 'after' ? 'followed' : 'preceded'} by ${it.act.map((call) => `${call.method} ${call.path}`).join(', ')}`);
	if (it.delayMs !== undefined) said.push(`${said.length ? '' : webhook ? `${v('is')} sent ` : `${v('gets')} ${its} response `}${late(it.delayMs)} late`);
	const headers = Object.entries(it.headers ?? {}).map(([name, value]) => `${name}: ${value}`);
	if (headers.length) said.push(`${said.length ? 'with' : v('gets')} ${headers.join(', ')}`);
	return said.join(', ');
}

/** A rule as a sentence. @param {any} it */
export function inWords(it) {
	const webhook = Boolean(it.webhook);
	const thing = webhook ? ['delivery', 'deliveries'] : ['request', 'requests'];
	const chance = it.probability < 1 ? `${Math.round(it.probability * 1_000) / 10} % of ` : '';
	const which = chance ? `${chance}${it.times === null ? 'all' : `the next ${it.times}`} ${thing[1]}` : it.times === null ? `every ${thing[0]}` : it.times === 1 ? `the next ${thing[0]}` : `each of the next ${it.times} ${thing[1]}`;
	const only = [
		webhook ? (it.webhook === '*' ? '' : `to ${it.webhook}`) : it.method || it.path ? `to ${[it.method, it.path].filter(Boolean).join(' ')}` : '',
		it.event ? `of ${it.event}` : '', it.tool ? `of the tool ${it.tool}` : '', it.agentId ? `of ${it.agentId}` : '',
		it.query && Object.keys(it.query).length ? `with ${Object.entries(it.query).map(([name, value]) => `${name}=${value}`).join(' and ')}` : '', it.body === undefined ? '' : `whose body has ${typeof it.body === 'string' ? `“${it.body}”` : JSON.stringify(it.body)}`,
	].filter(Boolean).join(' ');
	const ends = [it.skip ? `after the first ${it.skip}` : '', it.forSeconds ? `for ${it.forSeconds} s` : ''].filter(Boolean);
	const sentence = `${which}${only ? ` ${only}` : ''} ${happens(it.effect, webhook, Boolean(chance))}${ends.length ? `, ${ends.join(', ')}` : ''}`;
	return sentence.charAt(0).toUpperCase() + sentence.slice(1);
}
