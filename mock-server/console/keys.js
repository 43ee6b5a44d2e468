// Who there is: keys of agents, people, inboxes, and the plan.

import { h, part, patch, words } from './dom.js';
import { Panel } from './panel.js';
import { ask, attempt, badge, button, choose, confirm, reveal, table } from './ui.js';

const SCOPES = ['read', 'write', 'draft', 'send', 'record'];

class Keys extends Panel {
	keyTable = table('Keys', ['Agent', 'Scopes', 'Works on', 'Made by', 'State', '']);
	boxTable = table('Inboxes', ['Inbox', 'Address', 'Kind', 'Open']);

	get heading() {
		return 'Team and keys';
	}

	async load() {
		const [keys, users, mailboxes, { plan }] = await Promise.all([this.api.get('/keys'), this.api.get('/users'), this.api.get('/mailboxes'), this.api.get('/plan')]);
		return { keys, users, mailboxes, plan };
	}

	/** @param {{ keys: any[], users: any[], mailboxes: any[], plan: string }} data */
	draw({ keys, users, mailboxes, plan }) {
		const name = (/** @type {string | null} */ id) => users.find((it) => it.id === id)?.name ?? null;
		patch(this, [
			part('title', 0, () => h('header.panel-head', {}, h('h1', {}, 'Team and keys'))),
			part('head', users, () => h('header.panel-head', {}, h('h2', {}, 'Keys'), h('span.gap'), button('Make a key', () => this.make(users), { kind: 'primary' }))),
			part('keys', 0, () => this.keyTable.whole),
			part('inboxes', users, () => h('header.panel-head', {}, h('h2', {}, 'Inboxes'), h('span.gap'), button('Add an inbox', () => ask('Add an inbox', [{ name: 'address', label: 'Address', type: 'email', required: true }, { name: 'name', label: 'Name', required: true }, { name: 'owner', label: 'Private to', type: 'select', options: [['', 'nobody: a team inbox'], ...users.map((it) => /** @type {[string, string]} */ ([it.id, it.name]))] }], 'Add', (values) => this.api.post('/mailboxes', values))))),
			part('boxes', 0, () => this.boxTable.whole),
			part('people', users, () => h('section.card', { 'aria-label': 'People' }, h('header', {}, h('h2', {}, 'People'), h('span.gap'), button('Add a person', () => ask('Add a person', [{ name: 'name', label: 'Name', required: true }], 'Add', (values) => this.api.post('/users', values)))), h('ul.people', {}, users.map((it) => h('li', {}, words(it.name, 'b'), ' ', h('code.hint', {}, it.id)))))),
			part('plan', plan, () => h('section.card', { 'aria-label': 'Plan' }, h('header', {}, h('h2', {}, 'Plan'), badge(plan, plan === 'free' ? 'failed' : 'sent'), h('span.gap'), choose('Plan', [['free', 'free'], ['pro', 'pro'], ['team', 'team']], plan, (to) => attempt(() => this.api.put('/plan', { plan: to }), `The plan is ${to}`))), h('p.hint', {}, 'On the free plan the API responds with 403 and no webhook is sent.'))),
		]);
		this.keyTable.fill(keys.map((it) => part(it.agentId, it, () => h('tr', {}, h('td', {}, words(it.name, 'b'), h('br'), h('code.hint', {}, it.agentId)), h('td', {}, it.scopes.map((scope) => badge(scope, 'kind'))), h('td', {}, it.livemode ? 'live data' : 'the sandbox'), h('td', {}, name(it.createdBy) ? words(name(it.createdBy)) : h('span.hint', {}, 'nobody')), h('td', {}, badge(it.revoked ? 'revoked' : 'works', it.revoked ? 'failed' : 'sent')),
			h('td.end', {}, it.revoked ? null : button('Revoke', () => confirm(`Revoke the key of ${it.name}?`, 'Requests with it get 401 from now on; this cannot be undone.', 'Revoke', () => this.api.remove(`/keys/${it.agentId}`)), { kind: 'small', 'data-focus': `revoke-${it.agentId}`, 'aria-label': `Revoke the key of ${it.name}` }))))));
		this.boxTable.fill(mailboxes.map((it) => part(it.id, it, () => h('tr', {}, h('td', {}, words(it.name, 'b')), h('td', {}, words(it.address, 'span', { class: 'mono' })), h('td', {}, it.sandbox ? 'sandbox' : it.owner ? ['private to ', words(name(it.owner))] : 'team'), h('td', {}, it.open)))));
	}

	make(users) {
		ask('Make a key', [
			{ name: 'name', label: 'Name of its agent', required: true },
			{ name: 'scopes', label: 'Scopes', type: 'checks', value: ['read', 'write', 'draft'], options: SCOPES.map((scope) => [scope, scope]) },
			{ name: 'livemode', label: 'Works on', type: 'select', options: [['live', 'live data'], ['test', 'the sandbox']], value: 'live', required: true },
			{ name: 'createdBy', label: 'Made by', type: 'select', options: [['', 'nobody'], ...users.map((it) => /** @type {[string, string]} */ ([it.id, it.name]))], hint: 'The key sees this person’s private inboxes.' },
		], 'Make', async ({ livemode, ...rest }) => reveal('The new key', (await this.api.post('/keys', { ...rest, livemode: livemode === 'live' })).key, 'This is the only time that it is shown; the server keeps a hash.'));
	}
}
customElements.define('si-keys', Keys);
