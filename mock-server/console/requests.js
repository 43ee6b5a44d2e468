// What the app under test asked of the service, and what it was answered, as it happens.

import { fill, h, icon, part, patch, shown, words } from './dom.js';
import { describe, title, topic } from './calls.js';
import { dayAndTime, timeOfDay } from './clock.js';
import { curl, pytest, rustTest, vitest } from './copy.js';
import { WindowedList } from './list.js';
import { Panel } from './panel.js';
import { at, go, refined, replace } from './route.js';
import { attempt, body, button, choose, copier, empty, facts, failed, ident, lineLink, pauser, searchField } from './ui.js';

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
		const { q = '', transport = '', method = '', status = '' } = this.route.query;
		return { q, transport, method, status };
	}

	async load() {
		const { id } = this.route;
		if (!id) return { one: null };
		try {
			return { one: await this.api.get(`/requests/${encodeURIComponent(id)}`), keys: await this.api.get('/keys') };
		} catch (error) {
			return { error };
		}
	}

	/** @param {{ one?: any, keys?: any[], error?: unknown }} data */
	draw({ one, keys, error }) {
		if (!this.list.isConnected) this.append(h('section.pane.list-pane', { 'aria-label': 'Requests' }, this.bar, this.list), this.detail);
		const { filters } = this;
		const { transport, method, status, q } = filters;
		this.classList.toggle('has-one', Boolean(this.route.id));
		patch(this.bar, [
			part('search', [], () => h('div.search', {}, searchField('Search requests', 'Path or words', (words) => replace(refined({ q: words }))), this.pause, button('Clear', () => attempt(() => this.api.remove('/requests'), 'The journal is empty')))),
			part('selects', [this.filters, this.route.id], () => h('div.selects', {},
				choose('Way', [['', 'REST + MCP'], ['rest', 'REST'], ['mcp', 'MCP']], transport, (value) => go(refined({ transport: value }))),
				choose('Method', [['', 'Any method'], ['GET', 'GET'], ['POST', 'POST']], method, (value) => go(refined({ method: value }))),
				choose('Status', [['', 'Any status'], ['2xx', '2xx'], ['4xx', '4xx'], ['5xx', '5xx'], ['none', 'No answer']], status, (value) => go(refined({ status: value }))))),
		]);
		searchField.show(this.bar, q);
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
					h('span.first', {}, statusBadge(it.status), words(title(it), 'b'), words(topic(it), 'span', { class: 'topic' })),
					h('span.third.hint', {}, words(`${it.transport === 'mcp' ? 'MCP' : it.method} ${it.path.replace('/api/v1', '')}`, 'span', { class: 'path mono', title: it.path }), h('span.gap'), h('span.time', {}, `${it.durationMs} ms · ${timeOfDay(it.at)}`))),
				empty: () => q || transport || method || status ? empty('list', 'Nothing fits', 'No request fits these filters.', h('a.button', { href: at('requests') }, 'Show all'))
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
			patch(detail, [part(one.id, one, () => this.one(one, keys ?? []))]);
			this.opened(detail);
		}
	}

	back() {
		return h('a.back', { href: at('requests', null, this.filters) }, icon('back'), 'Requests');
	}

	one(it, keys) {
		const key = keys.find((one) => one.agentId === it.agentId);
		const root = new URL(this.context.ready.base_url).origin;
		const test = (/** @type {(it: import('./calls.js').Description) => string} */ write) => async () => {
			return write(describe(it, it.subject === null ? null : await this.api.get(`/conversations/${it.conversationId}`), key ?? null));
		};
		const gone = it.status === null ? 'None: it closed first.' : it.responseHeaders ? '' : 'No longer kept: newer ones took its room.';
		return h('div.detail', {}, this.back(),
			h('header', {}, h('h1', {}, statusBadge(it.status), ' ', words(title(it))), words(topic(it), 'span', { class: 'hint' })),
			h('p.mono', {}, it.transport === 'mcp' ? `MCP ${shown(it.tool ?? '')}` : `${it.method} ${shown(it.path)}`),
			h('div.actions', {}, lineLink(it.id, 'What it led to'), copier('Copy as curl', () => curl(it, root)), copier('Copy as a Rust test', test(rustTest)), copier('Copy as pytest', test(pytest)), copier('Copy as vitest', test(vitest))),
			facts([['At', `${dayAndTime(it.at)} UTC`], ['Took', `${it.durationMs} ms`], ['Key of', key ? words(key.name) : it.agentId ?? 'no valid key'], ['Conversation', it.conversationId ? ident(it.conversationId) : null], ['Trace', it.traceparent && h('a', { href: at('requests', null, { q: it.traceparent }) }, shown(it.traceparent))], ['Id', h('code', {}, it.id)]]),
			h('div.both', {},
				h('section', { 'aria-label': 'Request sent' }, h('h2', {}, 'Request'), it.query ? facts([...new URLSearchParams(it.query)].map(([name, value]) => [shown(name), words(value)])) : null, it.requestBody === null ? h('p.hint', {}, 'No body.') : body('request', it.requestBody)),
				h('section', { 'aria-label': 'Response received' }, h('h2', {}, 'Response'), gone ? h('p.hint', {}, gone) : [h('details', {}, h('summary', {}, `${it.status} and its headers`), facts(Object.entries(it.responseHeaders).map(([name, value]) => [shown(name), words(value)]))), it.responseBody === null ? h('p.hint', {}, 'No body.') : body('response', it.responseBody)])));
	}
}
customElements.define('si-requests', Requests);

/** @param {number | null} status */
export function statusBadge(status) {
	const kind = status === null ? 'failed' : status < 300 ? 'sent' : status < 500 ? 'waiting' : 'failed';
	return h(`span.badge.b-${kind}`, {}, status ?? 'none');
}
