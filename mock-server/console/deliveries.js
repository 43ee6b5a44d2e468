// The delivery log of a webhook: every event, every attempt, with exactly what was sent.

import { fill, h, icon, part, patch, words } from './dom.js';
import { dayAndTime, timeWithDay, until, when } from './clock.js';
import { curlAttempt } from './copy.js';
import { WindowedList } from './list.js';
import { Panel } from './panel.js';
import { at, go, refined } from './route.js';
import { attempt, badge, body, button, choose, copier, empty, facts, failed, faultLink, json, traceLink, pauser } from './ui.js';
import { statusBadge } from './requests.js';

const OUTCOMES = ({ pending: 'waiting', delivered: 'sent', failed: 'failed' });

class Deliveries extends Panel {
	listed = '';
	bar = h('div.filters.wide');
	detail = h('div.detail.delivery');
	list = /** @type {WindowedList} */ (document.createElement('si-list'));
	pause = pauser(this.list, ' the list');

	/** @param {import('./route.js').Route & { hook: any }} route */
	async show(route) {
		this.hook = route.hook;
		return super.show(route);
	}

	get filters() {
		const { outcome = '', type = '' } = this.route.query;
		return { outcome, type };
	}

	async load() {
		const { id, more } = this.route;
		if (!more) return {};
		try {
			return { one: await this.api.get(`/webhooks/${id}/deliveries/${encodeURIComponent(more)}`) };
		} catch (error) {
			return { error };
		}
	}

	/** @param {{ one?: any, error?: unknown }} data */
	draw({ one, error }) {
		const hook = this.hook;
		if (!this.list.isConnected) this.append(this.bar, this.list, this.detail);
		const { outcome, type } = this.filters;
		const id = /** @type {string} */ (this.route.id);
		patch(this.bar, [part('bar', [this.filters, this.route.more], () => h('div.selects', {}, h('h2', {}, 'Deliveries'), this.pause, h('span.gap'),
			choose('Outcome', [['', 'All'], ['pending', 'Pending'], ['delivered', 'Delivered'], ['failed', 'Failed']], outcome, (value) => go(refined({ outcome: value }))),
			choose('Event', [['', 'Any event'], ...hook.events.map((name) => [name, name])], type, (value) => go(refined({ type: value })))))]);
		const wanted = JSON.stringify([id, this.filters]);
		this.list.chosen = this.route.more ?? '';
		if (wanted !== this.listed) {
			this.listed = wanted;
			this.list.show({
				label: 'Deliveries',
				height: 58,
				fetch: (offset, limit, signal) => this.api.page(`/webhooks/${id}/deliveries`, { ...this.filters, offset, limit }, signal),
				key: (it) => it.eventId,
				row: (it) => h('a.row.call-row', { href: at('webhooks', `${id}/${it.eventId}`, this.filters) },
					h('span.first', {}, badge(it.outcome, OUTCOMES[it.outcome]), words(it.type, 'b'), h('span.gap'), h('span.hint.time', {}, timeWithDay(it.createdAt))),
					h('span.third.hint', {}, h('span.fixed', {}, it.attempts.length === 1 ? '1 attempt' : `${it.attempts.length} attempts`), it.nextAttemptAt && it.attempts.length ? h('span.fixed', {}, 'next ', until(it.nextAttemptAt)) : null, it.outcome === 'delivered' ? null : words(problem(it.attempts.at(-1)), 'span', { class: 'snippet' }))),
				empty: () => empty('hook', outcome || type ? 'Nothing fits' : 'Nothing was sent yet', 'Send a test event, or let something happen that this webhook subscribes to.'),
			});
		} else {
			this.list.choose(this.route.more ?? '');
			this.list.refresh();
		}
		const { detail } = this;
		this.classList.toggle('has-one', Boolean(this.route.more));
		if (error) fill(detail, failed(error, () => this.refresh()));
		else if (!one) fill(detail);
		else {
			const other = detail.firstElementChild?.getAttribute('data-event') !== one.eventId;
			patch(detail, [part(one.eventId, one, () => this.one(one))]);
			if (other) detail.scrollIntoView({ block: 'nearest' });
			this.opened(detail);
		}
	}

	one(it) {
		const { url, id } = this.hook;
		return h('div', { 'data-event': it.eventId }, h('a.back', { href: at('webhooks', id, this.filters) }, icon('back'), 'All deliveries'),
			h('header', {}, h('h2', {}, it.type, ' ', badge(it.outcome, OUTCOMES[it.outcome])), h('span.gap'), traceLink(it.eventId), button('Redeliver', () => attempt(() => this.api.post(`/webhooks/${id}/deliveries/${it.eventId}/redeliver`), 'It is sent again'), { kind: 'small' })),
			facts([['Event', h('code', {}, it.eventId)], ['Happened', `${dayAndTime(it.createdAt)} UTC`], ['Next attempt', it.nextAttemptAt ? until(it.nextAttemptAt) : null]]),
			h('ol.attempts', {}, it.attempts.map((made, i) => h('li', {}, h('div.first', {}, statusBadge(made.status), made.faultId ? faultLink(made.faultId) : null, h('b', {}, `Attempt ${i + 1}`), when(made.at, 'ago'), h('span.hint', {}, `${made.durationMs} ms`), h('span.gap'), made.headers ? copier('Copy as curl', () => curlAttempt(url, made.headers, it.body)) : null),
				made.error ? h('p.problem', {}, made.error) : null,
				made.responseBody ? h('div.answer', {}, h('h3', {}, 'Response of the receiver'), body('response', pretty(made.responseBody)), made.responseCut ? h('p.hint', {}, 'Only the first 4 KiB are kept.') : null) : made.responseHeaders ? h('p.hint', {}, 'The receiver’s response has no body.') : null,
				made.responseHeaders ? h('details', {}, h('summary', {}, 'Headers of the response'), json(lines(made.responseHeaders))) : null,
				made.headers ? h('details', {}, h('summary', {}, 'Headers'), json(lines(made.headers))) : null))),
			h('h3', {}, 'Body'), body('body', pretty(it.body)));
	}
}
customElements.define('si-deliveries', Deliveries);

/** Why an attempt failed. @param {any} made */
function problem(made) {
	return made ? made.error ?? `the response was ${made.status}` : '';
}

/** @param {Record<string, string>} headers */
function lines(headers) {
	return Object.entries(headers).map(([name, value]) => `${name}: ${value}`).join('\n');
}

/** @param {string} text */
function pretty(text) {
	try {
		return JSON.parse(text);
	} catch {
		return text;
	}
}
