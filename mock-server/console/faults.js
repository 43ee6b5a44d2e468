// Bad luck on demand: rules that make requests go wrong, and how often they have struck.

import { h, part, patch, words } from './dom.js';
import { Panel } from './panel.js';
import { ask, attempt, badge, button, empty, table, toast } from './ui.js';

/** @type {[string, string][]} */
const PATHS = [['', 'any path'], ['/conversations', 'list conversations'], ['/conversations/*', 'read a conversation'], ['/conversations/*/notes', 'notes'], ['/conversations/*/replies', 'replies'], ['/conversations/*/document-requests', 'document requests'], ['/conversations/*/status', 'status'], ['/conversations/*/tags', 'tags'], ['/conversations/*/assign', 'assign'], ['/mcp', 'MCP']];

/** @type {[string, string][]} */
const EFFECTS = [['drop-after', 'it happens, then the connection closes without an answer'], ['drop-before', 'the connection closes, and nothing happens'], ['500-before', 'a 500, and nothing happens'], ['500-after', 'it happens, then a 500'], ['429', 'a 429'], ['delay', 'a slow answer'], ['truncate', 'half an answer'], ['body', 'a page of HTML instead of JSON']];

class Faults extends Panel {
	table = table('Rules', ['What goes wrong', 'For', 'When', 'Struck', '']);

	get heading() {
		return 'Faults';
	}

	get hearsRequests() {
		return true;
	}

	async load() {
		const [faults, bundles] = await Promise.all([this.api.get('/faults'), this.api.get('/bundles')]);
		return { faults, bundles };
	}

	/** @param {{ faults: any[], bundles: any[] }} data */
	draw({ faults, bundles }) {
		patch(this, [
			part('head', faults.length > 0, () => h('header.panel-head', {}, h('h1', {}, 'Faults'), h('span.gap'), faults.length ? button('Remove all', () => attempt(() => this.api.remove('/faults'), 'Nothing goes wrong any more')) : null, button('Add a rule', () => this.make(), { kind: 'primary' }))),
			part('bundles', bundles, () => h('section.bundles', { 'aria-label': 'Bundles' }, bundles.map((it) => h('article.card', {}, h('header', {}, h('b', {}, it.title), h('span.gap'), it.on ? badge('on', 'failed') : null, it.on ? button('Switch off', () => attempt(() => this.api.remove(`/bundles/${it.name}`), `“${it.title}” is over`), { kind: 'small', 'data-focus': `bundle-${it.name}` }) : button('Switch on', () => attempt(() => this.api.post(`/bundles/${it.name}`), `“${it.title}” has begun`), { kind: 'small', 'data-focus': `bundle-${it.name}` })), h('p.hint', {}, it.about))))),
			faults.length ? part('table', 0, () => this.table.whole) : part('none', 0, () => empty('bolt', 'Nothing goes wrong', 'Switch on a bundle above, or add a rule of your own.')),
		]);
		patch(this.table.body, faults.map((it) => part(it.id, it, () => h('tr', {}, h('td', {}, effect(it.effect)), h('td', {}, it.method ? `${it.method} ` : '', words(it.webhook ? (it.webhook === '*' ? 'every webhook' : it.webhook) : it.tool ?? it.path ?? 'every request', 'code')), h('td', {}, times(it)), h('td', {}, badge(String(it.fired), it.fired ? 'failed' : 'kind')),
			h('td.end', {}, button('Remove', () => attempt(() => this.api.remove(`/faults/${it.id}`), 'Removed'), { kind: 'small', 'data-focus': `remove-${it.id}` }))))));
	}

	make() {
		ask('Make requests go wrong', [
			{ name: 'effect', label: 'What the client sees', type: 'select', options: EFFECTS, required: true },
			{ name: 'method', label: 'Method', type: 'select', options: [['', 'any method'], ['GET', 'GET'], ['POST', 'POST']] },
			{ name: 'path', label: 'Path', type: 'select', options: PATHS },
			{ name: 'skip', label: 'Let so many pass first', type: 'number', value: '0', props: { min: 0 } },
			{ name: 'times', label: 'How often', type: 'number', value: '1', hint: 'Empty: always', props: { min: 1 } },
			{ name: 'delayMs', label: 'Delay in milliseconds', type: 'number', props: { min: 0, max: 3_600_000 } },
		], 'Add', async ({ effect: kind, method, path, skip, times: often, delayMs }) => {
			const effects = /** @type {Record<string, any>} */ ({ 'drop-after': { drop: 'after' }, 'drop-before': { drop: 'before' }, '500-before': { status: 500 }, '500-after': { status: 500, when: 'after' }, 429: { status: 429 }, delay: { delayMs: Number(delayMs ?? 3_000) }, truncate: { truncate: 20 }, body: { body: '<html><body>Bad gateway</body></html>' } });
			await this.api.post('/faults', { method, path, skip: Number(skip ?? 0), times: often === undefined ? null : Number(often), effect: { ...effects[kind], ...(delayMs ? { delayMs: Number(delayMs) } : {}) } });
			toast('The rule is on');
		});
	}
}
customElements.define('si-faults', Faults);

/** @param {any} it */
function effect(it) {
	const late = !it.delayMs ? '' : typeof it.delayMs === 'number' ? `${it.delayMs} ms late` : `late by ${Object.entries(it.delayMs).map(([name, ms]) => `${name} ${ms} ms`).join(', ')}`;
	if (it.drop) return `The connection closes ${it.drop === 'after' ? 'after it took effect' : 'before anything happens'}${late && `, ${late}`}`;
	if (it.status) return `${it.status}${it.when === 'after' ? ' after it took effect' : ''}${late && `, ${late}`}`;
	if (it.truncate !== undefined) return `Only the first ${it.truncate} bytes${late && `, ${late}`}`;
	if (it.body !== undefined) return `Another body${late && `, ${late}`}`;
	return late || JSON.stringify(it);
}

/** @param {any} it */
function times(it) {
	const often = it.times === null ? 'always' : it.times === 1 ? 'once' : `${it.times} times`;
	return `${it.skip ? `after ${it.skip}, ` : ''}${often}${it.probability < 1 ? `, with a chance of ${it.probability}` : ''}`;
}
