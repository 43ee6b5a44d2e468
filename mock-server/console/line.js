// A trace: from a request to everything that it led to, and back.

import { title } from './calls.js';
import { h, icon, part, patch, words } from './dom.js';
import { dayAndTime, timeOfDay, until } from './clock.js';
import { Panel } from './panel.js';
import { at } from './route.js';
import { badge, empty } from './ui.js';
import { statusBadge } from './requests.js';

/** @type {Record<string, string>} */
const SIGNS = { request: 'list', control: 'people', job: 'clock', message: 'inbox', note: 'file', conversation: 'inbox', event: 'bolt', document: 'file', booking: 'calendar', 'document-request': 'file', webhook: 'hook' };

class Trace extends Panel {
	get heading() {
		return 'Trace';
	}

	get hearsRequests() {
		return true;
	}

	async load() {
		const { id } = this.route;
		return id ? this.api.get(`/traces/${encodeURIComponent(id)}`) : { id: null, steps: [] };
	}

	/** @param {{ id: string | null, steps: any[] }} data */
	draw({ id, steps }) {
		const unheard = [...new Set(steps.filter((it) => it.kind === 'event' && !it.deliveries?.length).map((it) => it.what))].join(', ');
		const { customer, subject } = steps.find((it) => it.subject) ?? {};
		patch(this, [
			part('head', [id, customer, subject], () => h('header.panel-head', {}, h('h1', {}, 'What led to what'), subject === undefined ? null : h('span.about', {}, words(customer ?? 'Somebody', 'b'), ' · ', words(subject || '(no subject)')), h('p', {}, id ? ['The trace of ', h('code', {}, id), ', oldest first.'] : 'Open a trace from a request, a message, an event or a job.'))),
			unheard ? part('unheard', unheard, () => h('p.hint.nobody', {}, icon('hook'), `No webhook subscribes to ${unheard}.`)) : null,
			steps.length ? part('tree', [steps, id], () => this.tree(steps, id)) : part('none', id, () => empty('line', 'There is no trace', id ? 'It was there from the start of this world, or is older than what the server remembers.' : '')),
		]);
	}

	/** @param {any[]} steps @param {string | null} id */
	tree(steps, id) {
		/** @type {Map<number | null, any[]>} */
		const under = new Map();
		const there = new Set(steps.map((it) => it.number));
		for (const step of steps) {
			const cause = there.has(step.cause) ? step.cause : null;
			under.set(cause, [...(under.get(cause) ?? []), step]);
		}
		/** @type {(cause: number | null) => any} */
		const level = (cause) => h(cause === null ? 'ol.line' : 'ol', {}, (under.get(cause) ?? []).map((step) => h('li', {}, this.step(step, id), under.has(step.number) ? level(step.number) : null)));
		return level(null);
	}

	/** @param {any} it @param {string | null} id */
	step(it, id) {
		const said = it.excerpt ? `“${it.excerpt}”` : it.kind === 'conversation' || it.kind === 'event' ? [it.customer, it.subject].filter(Boolean).join(' · ') : '';
		const box = h(`div.step.k-${it.kind}${it.id === id ? '.this' : ''}`, {},
			icon(SIGNS[it.kind] ?? 'line'),
			h('span.what', {}, h('b', {}, it.kind.replace('-', ' ')), ' ', words(it.kind === 'request' && it.path ? title({ ...it, transport: it.path === '/mcp' ? 'mcp' : 'rest', query: '', tool: it.what }) : it.what)),
			it.kind === 'request' && it.method ? [h('span.mono', {}, it.method), words(it.path.replace('/api/v1', ''), 'span', { class: 'mono path' }), statusBadge(it.status ?? null)] : null,
			said ? words(said, 'span', { class: 'excerpt' }) : null,
			it.id ? (it.id === id ? h('code.id', {}, it.id) : h('a.id', { href: at('line', it.id) }, it.id)) : null,
			it.kind === 'request' ? h('a', { href: at('requests', it.id) }, 'Show it') : null,
			it.traceparent ? words(it.traceparent, 'code', { class: 'hint', title: 'traceparent' }) : null,
			it.conversationId && it.kind !== 'event' ? h('a', { href: at('inbox', it.conversationId, { view: 'all' }) }, 'Show it') : null,
			it.dueAt ? badge('waits', 'waiting') : null,
			h('span.gap'), it.dueAt ? until(it.dueAt) : h('span.hint', { title: `${dayAndTime(it.at)} UTC` }, timeOfDay(it.at)));
		if (!it.deliveries?.length) return box;
		return h('div', {}, box, h('ul.deliveries', {}, it.deliveries.map((to) => h('li', {}, icon('hook'), h('a', { href: at('webhooks', `${to.webhookId}/${it.id}`) }, words(to.url, 'span', { class: 'mono' })), badge(to.outcome, { pending: 'waiting', delivered: 'sent' }[/** @type {'pending'} */ (to.outcome)] ?? 'failed'),
			h('span.tries-line', {}, to.attempts.map((made) => statusBadge(made.status))), to.nextAttemptAt ? h('span.hint', {}, 'next ', until(to.nextAttemptAt)) : null))));
	}
}
customElements.define('si-line', Trace);
