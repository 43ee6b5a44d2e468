// What the app under test asked of the service, as it happens.

import { fill, h, icon, part, patch, shown, words } from './dom.js';
import { dayAndTime, timeOfDay } from './clock.js';
import { about, curl, rustTest } from './copy.js';
import { WindowedList } from './list.js';
import { Panel } from './panel.js';
import { at, go, refined, replace } from './route.js';
import { attempt, button, choose, copier, empty, facts, failed, ident, json, lineLink } from './ui.js';

class Requests extends Panel {
	listed = '';
	bar = h('div.filters');
	detail = h('section.pane.one-pane', { 'aria-label': 'Request' });
	list = /** @type {WindowedList} */ (document.createElement('si-list'));

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
		const { transport, method, status, q } = this.filters;
		this.classList.toggle('has-one', Boolean(this.route.id));
		patch(this.bar, [
			part('search', [], () => {
				const field = h('input', { type: 'search', placeholder: 'Path, tool, trace or words of the body', 'aria-label': 'Search requests', value: q, oninput: () => replace(refined({ q: field.value.slice(0, 200) })) });
				return h('div.search', {}, field, button('Clear', () => attempt(() => this.api.remove('/requests'), 'The journal is empty'), { title: 'Forget all requests so far' }));
			}),
			part('selects', [this.filters, this.route.id], () => h('div.selects', {},
				choose('Way', [['', 'REST + MCP'], ['rest', 'REST'], ['mcp', 'MCP']], transport, (value) => go(refined({ transport: value }))),
				choose('Method', [['', 'Any method'], ['GET', 'GET'], ['POST', 'POST']], method, (value) => go(refined({ method: value }))),
				choose('Status', [['', 'Any status'], ['2xx', '2xx'], ['4xx', '4xx'], ['5xx', '5xx'], ['none', 'No answer']], status, (value) => go(refined({ status: value }))))),
		]);
		const wanted = JSON.stringify(this.filters);
		this.list.chosen = this.route.id ?? '';
		if (wanted !== this.listed) {
			this.listed = wanted;
			this.list.show({
				label: 'Requests',
				height: 46,
				fetch: (offset, limit, signal) => this.api.page('/requests', { ...this.filters, order: 'newest', offset, limit }, signal),
				key: (it) => it.id,
				row: (it) => h('a.row.request-row', { href: at('requests', it.id, this.filters) }, statusBadge(it.status), h('b', {}, it.transport === 'mcp' ? 'MCP' : it.method), words(it.tool ?? it.path.replace('/api/v1', '').replace(/cnv_\w+/, '…'), 'span', { class: 'path mono', title: it.path }), h('span.gap'), h('span.hint', {}, `${it.durationMs} ms`), h('span.hint.time', {}, timeOfDay(it.at))),
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
		else patch(detail, [part(one.id, one, () => this.one(one, keys ?? []))]);
	}

	back() {
		return h('a.back', { href: at('requests', null, this.filters) }, icon('back'), 'Requests');
	}

	/** @param {any} it @param {any[]} keys */
	one(it, keys) {
		const key = keys.find((one) => one.agentId === it.agentId);
		const id = about(it);
		const root = new URL(this.context.ready.base_url).origin;
		const test = async () => {
			const conversation = id && it.status !== 404 ? await this.api.get(`/conversations/${id}`).catch(() => null) : null;
			const text = rustTest(it, conversation, key);
			if (!text) throw new Error('There is no call of the client for this request; copy it as curl.');
			return text;
		};
		return h('div.detail', {}, this.back(),
			h('header', {}, h('h1', {}, statusBadge(it.status), ' ', h('span.mono', {}, it.transport === 'mcp' ? `MCP ${shown(it.tool ?? '')}` : `${it.method} ${shown(it.path)}`))),
			h('div.actions', {}, lineLink(it.id, 'What it led to'), copier('Copy as curl', () => curl(it, root)), copier('Copy as a Rust test', test)),
			facts([['At', `${dayAndTime(it.at)} UTC`], ['Took', `${it.durationMs} ms`], ['Key of', key ? words(key.name) : it.agentId ?? 'no valid key'], ['Conversation', id ? ident(id) : null], ['Answer', it.status ?? 'none: the connection closed'], ['Trace', it.traceparent ? h('a.mono', { href: at('requests', null, { q: it.traceparent.split('-')[1] ?? it.traceparent }), title: 'All requests of this trace' }, shown(it.traceparent)) : null], ['Id', h('code', {}, it.id)]]),
			it.query ? [h('h2', {}, 'Query'), facts([...new URLSearchParams(it.query)].map(([name, value]) => [shown(name), words(value)]))] : null,
			it.requestBody === null ? null : [h('h2', {}, 'Body'), json(it.requestBody)],
			it.responseBody === null || it.responseBody === undefined ? null : [h('h2', {}, 'Answer'), json(it.responseBody)]);
	}
}
customElements.define('si-requests', Requests);

/** @param {number | null} status */
export function statusBadge(status) {
	const kind = status === null ? 'failed' : status < 300 ? 'sent' : status < 500 ? 'waiting' : 'failed';
	return h(`span.badge.b-${kind}`, {}, status ?? 'none');
}
