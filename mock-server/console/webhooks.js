// Webhook endpoints: what an owner does with them, what was sent to them, and how well they check it.

import { dayAndTime } from './clock.js';
import { fill, h, icon, part, patch, words } from './dom.js';
import './deliveries.js';
import { Panel } from './panel.js';
import { at, go } from './route.js';
import { ask, attempt, badge, button, confirm, dialog, empty, EVENTS, facts, failed, reveal } from './ui.js';

class Webhooks extends Panel {
	side = h('section.pane.list-pane', { 'aria-label': 'Webhooks' });
	one = h('section.pane.one-pane', { 'aria-label': 'Webhook' });
	log = /** @type {any} */ (document.createElement('si-deliveries'));

	get heading() {
		return 'Webhooks';
	}

	async load() {
		const [hooks, users] = await Promise.all([this.api.get('/webhooks'), this.api.get('/users')]);
		return { hooks, users };
	}

	/** @param {{ hooks: any[], users: any[] }} data */
	draw({ hooks, users }) {
		if (!this.side.isConnected) {
			this.log.context = this.context;
			this.append(this.side, this.one);
		}
		const { id } = this.route;
		this.classList.toggle('has-one', Boolean(id));
		patch(this.side, [
			part('head', users, () => h('header.panel-head', {}, h('h1', {}, 'Webhooks'), h('span.gap'), button('Add', () => this.make(users), { kind: 'primary' }))),
			...(hooks.length ? hooks.map((it) => part(it.id, [it, it.id === id], () => h('a.row.hook-row', { href: at('webhooks', it.id), 'aria-current': it.id === id ? 'true' : null }, h('span.first', {}, words(it.url, 'b', { class: 'mono' })), h('span.third', {}, stateBadge(it), badge(it.livemode ? 'live' : 'test', 'kind'), badge(it.scope, 'kind'), it.lastError ? words(it.lastError, 'span', { class: 'snippet' }) : null))))
				: [part('none', 0, () => empty('hook', 'No webhook yet', 'Add the address where your app receives events. Receivers on this machine are fine.', button('Add a webhook', () => this.make(users), { kind: 'primary' })))]),
		]);
		const hook = hooks.find((it) => it.id === id);
		const { one } = this;
		if (id && !hook) fill(one, failed(new Error('There is no such webhook.'), () => this.refresh()));
		else if (!hook) fill(one, empty('hook', 'No webhook chosen', 'Choose one to see every delivery with each of its attempts.'));
		else {
			patch(one, [part('hook', hook, () => this.about(hook, users)), part(`log-${hook.id}`, 0, () => this.log)]);
			this.log.show({ ...this.route, hook });
		}
	}

	leave() {
		this.log.leave();
	}

	about(it, users) {
		const path = `/webhooks/${it.id}`;
		const owner = users.find((one) => one.id === it.owner);
		return h('div.detail.hook', {}, h('a.back', { href: at('webhooks') }, icon('back'), 'Webhooks'), h('header', {}, words(it.url, 'h1', { class: 'mono' }), stateBadge(it)),
			it.lastError ? h('p.problem', {}, `Failing since ${dayAndTime(it.failingSince)} UTC: `, words(it.lastError)) : null,
			h('div.actions', {}, button('Send a test event', () => attempt(() => this.api.post(`${path}/test`), 'The test event is on its way'), { kind: 'primary' }),
				button('Check the receiver', () => this.check(path)),
				it.state === 'on' ? button('Pause the webhook', () => attempt(() => this.api.post(`${path}/pause`), 'Paused')) : button('Resume the webhook', () => attempt(() => this.api.post(`${path}/resume`), 'Resumed')),
				button('Rotate the secret', () => confirm('Rotate the secret?', 'For 24 hours both secrets sign; after that only the new one does.', 'Rotate', async () => reveal('The new secret', (await this.api.post(`${path}/rotate`)).secret, 'This is the only time that it is shown.'))),
				button('Delete', () => confirm('Delete this webhook?', 'What is queued for it is not sent, and its log is gone.', 'Delete', async () => {
					await this.api.remove(path);
					go(at('webhooks'));
				}), { kind: 'quiet' })),
			facts([['Subscribes to', it.livemode ? 'live events' : 'sandbox events'], ['Of', it.scope === 'team' ? 'team inboxes' : 'private inboxes of its owner'], ['Owner', owner ? words(owner.name) : null], ['Events', it.events.length === EVENTS.length ? 'all' : it.events.join(', ')], ['Id', h('code', {}, it.id)]]));
	}

	make(users) {
		ask('Add a webhook', [
			{ name: 'url', label: 'Address', type: 'url', value: 'http://127.0.0.1:3000/webhooks', required: true },
			{ name: 'livemode', label: 'Subscribes to', type: 'select', options: [['live', 'live events'], ['test', 'events of the sandbox']], value: 'live', required: true },
			{ name: 'scope', label: 'Of', type: 'select', options: [['team', 'team inboxes'], ['private', 'private inboxes of its owner']], value: 'team', required: true },
			{ name: 'owner', label: 'Owner', type: 'select', options: [['', 'nobody'], ...users.map((it) => /** @type {[string, string]} */ ([it.id, it.name]))] },
			{ name: 'events', label: 'Events (none chosen: all)', type: 'checks', value: [], options: EVENTS.map((name) => [name, name]) },
		], 'Add', async ({ url, livemode, scope, owner, events }) => {
			const { id, secret } = await this.api.post('/webhooks', { url, livemode: livemode === 'live', scope, owner, events: events.length ? events : undefined });
			go(at('webhooks', id));
			reveal('The secret of the webhook', secret, 'Your receiver checks signatures with it. This is the only time that it is shown.');
		});
	}

	/** @param {string} path */
	async check(path) {
		const report = await attempt(() => this.api.post(`${path}/check`));
		if (!report) return;
		const right = report.cases.filter((it) => it.passed).length;
		dialog(report.passed ? 'The receiver passed' : `The receiver passed ${right} of ${report.cases.length}`,
			h('ul.check-report', {}, report.cases.map((it) => h(`li.${it.passed ? 'good' : 'bad'}`, {}, h('span.mark', { 'aria-label': it.passed ? 'passed' : 'failed', role: 'img' }, it.passed ? '✓' : '✗'), h('div', {}, h('b', {}, it.name), h('p', {}, `Sent ${it.sent}; expected ${it.expected}; got ${it.status ?? 'no response'}.`), it.hint ? h('p.hint', {}, it.hint) : null)))));
	}
}
customElements.define('si-webhooks', Webhooks);

/** @param {any} hook */
function stateBadge({ state, lastError }) {
	return state === 'on' && lastError ? badge('failing', 'failed') : badge(state, { on: 'sent', paused: 'waiting', off: 'failed' }[state] ?? 'kind');
}
