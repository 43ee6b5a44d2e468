// What the app under test asked of the service, and what it was answered, as it happens.

import { fill, h, icon, part, patch, shown, words } from './dom.js';
import { describe, title, topic } from './calls.js';
import { dayAndTime, timeWithDay } from './clock.js';
import { curl, pytest, rustTest, vitest } from './copy.js';
import { sendAgain } from './again.js';
import { WindowedList } from './list.js';
import { Panel } from './panel.js';
import { at, go, refined, replace } from './route.js';
import { inWords } from './rules.js';
import { attempt, body, button, choose, copier, empty, facts, failed, faultBadge, ident, traceLink, pauser, searchField } from './ui.js';

class Requests extends Panel {
	listed = '';
	bar = h('div.filters');
	detail = h('section.pane.one-pane', { 'aria-label': 'Request' });
	list = /** @type {WindowedList} */ (document.createElement('si-list'));
	pause = pauser(this.list);

	get heading() {
		return 'Requests';
	}

	get hearsRequests() {
		return true;
	}

	get filters() {
		const { q = '', transport = '', method = '', status = '', agent = '', livemode = '', fault = '' } = this.route.query;
		return { q, transport, method, status, agent, livemode, fault };
	}

	async load() {
		const { id } = this.route;
		const [keys, faults] = await Promise.all([this.api.get('/keys'), this.api.get('/faults')]);
		if (!id) return { keys, faults };
		try {
			return { one: await this.api.get(`/requests/${encodeURIComponent(id)}`), keys, faults };
		} catch (error) {
			return { error, keys, faults };
		}
	}

	/** @param {{ one?: any, keys: any[], faults: any[], error?: unknown }} data */
	draw({ one, keys, faults, error }) {
		if (!this.list.isConnected) this.append(h('section.pane.list-pane', { 'aria-label': 'Requests' }, h('h1.unseen', {}, 'Requests'), this.bar, this.list), this.detail);
		const { filters } = this;
		const { q, ...chosen } = filters;
		const { transport, method, status, agent, livemode, fault } = chosen;
		this.classList.toggle('has-one', Boolean(this.route.id));
		patch(this.bar, [
			part('search', [], () => h('div.search', {}, searchField('Search requests', 'Path or words', (words) => replace(refined({ q: words }))), this.pause, button('Clear', () => attempt(() => this.api.remove('/requests'), 'The journal is empty')))),
			part('selects', [this.filters, this.route.id, keys, faults.map((it) => it.id)], () => h('div.selects', {},
				choose('Way', [['', 'REST + MCP'], ['rest', 'REST'], ['mcp', 'MCP']], transport, (value) => go(refined({ transport: value }))),
				choose('Method', [['', 'Any method'], ['GET', 'GET'], ['POST', 'POST']], method, (value) => go(refined({ method: value }))),
				choose('Status', [['', 'Any status'], ['2xx', '2xx'], ['4xx', '4xx'], ['5xx', '5xx'], ['none', 'No response']], status, (value) => go(refined({ status: value }))),
				choose('Mode', [['', 'Live + test'], ['true', 'Live'], ['false', 'Test']], livemode, (value) => go(refined({ livemode: value }))),
				choose('Key', [['', 'Any key'], ...keys.map((it) => /** @type {[string, string]} */ ([it.agentId, it.name]))], agent, (value) => go(refined({ agent: value }))),
				choose('Fault', [['', 'Fault or none'], ['any', 'Met a fault'], ...faults.map((it) => /** @type {[string, string]} */ ([it.id, it.id]))], fault, (value) => go(refined({ fault: value }))))),
		]);
		searchField.show(this.bar);
		const wanted = JSON.stringify(filters);
		this.list.chosen = this.route.id ?? '';
		if (wanted !== this.listed) {
			this.listed = wanted;
			this.list.show({
				label: 'Requests',
				height: 58,
				fetch: (offset, limit, signal) => this.api.page('/requests', { ...filters, order: 'newest', responses: false, offset, limit }, signal),
				key: (it) => it.id,
				row: (it) => h('a.row.call-row', { href: at('requests', it.id, filters) },
					h('span.first', {}, statusBadge(it.status), it.faultId ? faultBadge(it.faultId) : null, words(title(it), 'b'), words(topic(it), 'span', { class: 'topic' })),
					h('span.third.hint', {}, words(`${it.transport === 'mcp' ? 'MCP' : it.method} ${it.path.replace('/api/v1', '')}`, 'span', { class: 'path mono', title: it.path }), h('span.gap'), h('span.time', {}, `${it.durationMs} ms · ${timeWithDay(it.at)}`))),
				empty: () => q || Object.values(chosen).some(Boolean) ? empty('list', 'Nothing fits', 'No request fits these filters.', h('a.button', { href: at('requests') }, 'Show all'))
					: empty('list', 'Your app has not asked for anything yet', 'Each call of the REST API and of an MCP tool shows here at once. “Connect” has the addresses and keys.'),
			});
		} else {
			this.list.choose(this.route.id ?? '');
			this.list.refresh();
		}
		const { detail } = this;
		if (error) fill(detail, this.back(), failed(error, () => this.refresh()));
		else if (!one) fill(detail, empty('list', 'No request chosen', 'Choose one to see what was sent and what it led to.'));
		else {
			const rule = faults.find((it) => it.id === one.faultId);
			patch(detail, [part(one.id, [one, rule?.id], () => this.one(one, keys, rule))]);
			this.opened(detail);
		}
	}

	back() {
		return h('a.back', { href: at('requests', null, this.filters) }, icon('back'), 'Requests');
	}

	one(it, keys, rule) {
		const key = keys.find((one) => one.agentId === it.agentId);
		const root = new URL(this.context.ready.base_url).origin;
		const test = (/** @type {(it: import('./calls.js').Description) => string} */ write) => async () => {
			return write(describe(it, it.subject === null ? null : await this.api.get(`/conversations/${it.conversationId}`), key ?? null));
		};
		const gone = it.status === null ? 'No response: the connection closed first.' : it.responseHeaders ? '' : 'No longer kept: the journal has dropped it for newer ones.';
		return h('div.detail', {}, this.back(),
			h('header', {}, h('h1', {}, statusBadge(it.status), ' ', words(title(it))), words(topic(it), 'span', { class: 'hint' })),
			h('p.mono', {}, it.transport === 'mcp' ? `MCP ${shown(it.tool ?? '')}` : `${it.method} ${shown(it.path)}`),
			it.faultId ? h('p.met', {}, icon('bolt'), h('span', {}, 'The fault rule ', h('a', { href: at('faults', it.faultId) }, it.faultId), ' fired: ', rule ? words(inWords(rule)) : 'it was removed since')) : null,
			h('div.actions', {}, traceLink(it.id, 'What it led to'), button('Send again', () => sendAgain(this.context, it, key), { kind: 'small' }), copier('Copy as curl', () => curl(it, root)), copier('Copy as a Rust test', test(rustTest)), copier('Copy as pytest', test(pytest)), copier('Copy as vitest', test(vitest))),
			facts([['At', `${dayAndTime(it.at)} UTC`], ['Took', `${it.durationMs} ms`], ['Key of', key ? words(key.name) : it.agentId ?? 'no valid key'], ['Conversation', it.conversationId ? ident(it.conversationId) : null], ['Trace', it.traceparent && h('a', { href: at('requests', null, { q: it.traceparent }) }, shown(it.traceparent))], ['Id', h('code', {}, it.id)]]),
			h('div.both', {},
				h('section', { 'aria-label': 'Request sent' }, h('h2', {}, 'Request'), it.query ? facts([...new URLSearchParams(it.query)].map(([name, value]) => [shown(name), words(value)])) : null, headers(it.requestHeaders, 'Headers'), it.requestBody === null ? h('p.hint', {}, 'No body.') : body('request', it.requestBody)),
				h('section', { 'aria-label': 'Response received' }, h('h2', {}, 'Response'), gone ? h('p.hint', {}, gone) : [headers(it.responseHeaders, `${it.status} and its headers`), it.responseBody === null ? h('p.hint', {}, 'No body.') : body('response', it.responseBody)])));
	}
}
customElements.define('si-requests', Requests);

/** @param {Record<string, string>} named @param {string} title */
function headers(named, title) {
	return h('details', {}, h('summary', {}, title), facts(Object.entries(named).map(([name, value]) => [shown(name), words(value)])));
}

/** @param {number | null} status */
export function statusBadge(status) {
	const kind = status === null ? 'failed' : status < 300 ? 'sent' : status < 500 ? 'waiting' : 'failed';
	return h(`span.badge.b-${kind}`, {}, status ?? 'no response');
}
