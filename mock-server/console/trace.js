// A trace: from a request to everything that it led to, and back.

import { title } from './calls.js';
import { h, icon, part, patch, words } from './dom.js';
import { dayAndTime, timeWithDay, until } from './clock.js';
import { Panel } from './panel.js';
import { at } from './route.js';
import { inWords } from './rules.js';
import { badge, empty, faultLink } from './ui.js';
import { statusBadge } from './requests.js';

/** @type {Record<string, string>} */
const SIGNS = { request: 'list', control: 'people', job: 'clock', message: 'inbox', note: 'file', conversation: 'inbox', event: 'bolt', document: 'file', booking: 'calendar', 'document-request': 'file', webhook: 'hook' };

class Trace extends Panel {
	/** @type {Map<string, any>} */
	rules = new Map();

	get heading() {
		return 'Trace';
	}

	get hearsRequests() {
		return true;
	}

	async load() {
		const { id } = this.route;
		const [trace, faults] = await Promise.all([id ? this.api.get(`/traces/${encodeURIComponent(id)}`) : { id: null, steps: [] }, this.api.get('/faults')]);
		return { ...trace, faults };
	}

	/** @param {{ id: string | null, steps: any[], faults: any[] }} data */
	draw({ id, steps, faults }) {
		this.rules = new Map(faults.map((it) => [it.id, it]));
		const unheard = [...new Set(steps.filter((it) => it.kind === 'event' && !it.deliveries?.length).map((it) => it.what))].join(', ');
		const { customer, subject } = steps.find((it) => it.subject) ?? {};
		patch(this, [
			part('head', [id, customer, subject], () => h('header.panel-head', {}, h('h1', {}, 'What led to what'), subject === undefined ? null : h('span.about', {}, words(customer ?? 'Somebody', 'b'), ' · ', words(subject || '(no subject)')), h('p', {}, id ? ['The trace of ', h('code', {}, id), ', oldest first.'] : 'Open a trace from a request, a message, an event or a job.'))),
			unheard ? part('unheard', unheard, () => h('p.hint.nobody', {}, icon('hook'), `No webhook subscribes to ${unheard}.`)) : null,
			steps.length ? part('tree', [steps, id, [...this.rules.keys()]], () => this.tree(steps, id)) : part('none', id, () => empty('trace', 'There is no trace', id ? 'It was there from the start of this world, or is older than what the server remembers.' : '')),
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
		const level = (cause) => h(cause === null ? 'ol.trace' : 'ol', {}, (under.get(cause) ?? []).map((step) => h('li', {}, this.step(step, id), under.has(step.number) ? level(step.number) : null)));
		return level(null);
	}

	/** @param {any} it @param {string | null} id */
	step(it, id) {
		const said = it.excerpt ? `“${it.excerpt}”` : it.kind === 'conversation' || it.kind === 'event' ? [it.customer, it.subject].filter(Boolean).join(' · ') : '';
		const box = h(`div.step.k-${it.kind}${it.id === id ? '.this' : ''}`, {},
			icon(SIGNS[it.kind] ?? 'trace'),
			h('span.what', {}, h('b', {}, it.kind.replace('-', ' ')), ' ', words(it.kind === 'request' && it.path ? title({ ...it, transport: it.path === '/mcp' ? 'mcp' : 'rest', query: '', tool: it.what }) : it.what)),
			it.kind === 'request' && it.method ? [h('span.mono', {}, it.method), words(it.path.replace('/api/v1', ''), 'span', { class: 'mono path' })] : null,
			it.method || it.status ? statusBadge(it.status ?? null) : null,
			it.faultId ? faultLink(it.faultId) : null,
			said ? words(said, 'span', { class: 'excerpt' }) : null,
			it.id ? (it.id === id ? h('code.id', {}, it.id) : h('a.id', { href: at('trace', it.id) }, it.id)) : null,
			it.kind === 'request' ? h('a', { href: at('requests', it.id) }, 'Show it') : null,
			it.traceparent ? words(it.traceparent, 'code', { class: 'hint', title: 'traceparent' }) : null,
			it.conversationId && it.kind !== 'event' ? h('a', { href: at('inbox', it.conversationId, { view: 'all' }) }, 'Show it') : null,
			it.dueAt ? badge('waits', 'waiting') : null,
			h('span.gap'), it.dueAt ? until(it.dueAt) : h('span.hint', { title: `${dayAndTime(it.at)} UTC` }, timeWithDay(it.at)),
			it.faultId && it.kind === 'request' ? h('p.rule', {}, 'Fault rule: ', this.rules.has(it.faultId) ? words(inWords(this.rules.get(it.faultId))) : 'it was removed since') : null);
		if (!it.deliveries?.length) return box;
		return h('div', {}, box, h('ul.deliveries', {}, it.deliveries.map((to) => h('li', {}, icon('hook'), h('a', { href: at('webhooks', `${to.webhookId}/${it.id}`) }, words(to.url, 'span', { class: 'mono' })), badge(to.outcome, { pending: 'waiting', delivered: 'sent' }[/** @type {'pending'} */ (to.outcome)] ?? 'failed'),
			attempts(to.attempts), to.nextAttemptAt ? h('span.hint', {}, 'next ', until(to.nextAttemptAt)) : null))));
	}
}
customElements.define('si-trace', Trace);

/** The statuses of attempts, and why the last one without a response has none. @param {any[]} made */
function attempts(made) {
	const statuses = made.filter((it) => it.status !== null).map((it) => statusBadge(it.status));
	const without = made.filter((it) => it.status === null);
	const faults = [...new Set(made.map((it) => it.faultId).filter(Boolean))].map(faultLink);
	return h('span.attempts', {}, statuses, faults, without.length ? h('span.hint', {}, `${without.length === 1 ? '1 attempt' : `${without.length} attempts`} without a response: ${without.at(-1).error ?? 'unknown'}`) : null);
}
