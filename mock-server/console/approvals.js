// Drafts that wait for a person.

import { h, part, patch, words } from './dom.js';
import { when } from './clock.js';
import { Panel } from './panel.js';
import { at } from './route.js';
import { attempt, button, empty, lineLink } from './ui.js';
import { discard, edit } from './timeline.js';

class Approvals extends Panel {
	get heading() {
		return 'Approvals';
	}

	async load() {
		const [queue, keys, users] = await Promise.all([this.api.get('/approvals'), this.api.get('/keys'), this.api.get('/users')]);
		const names = new Map([...keys.map((/** @type {any} */ it) => [it.agentId, it.name]), ...users.map((/** @type {any} */ it) => [it.id, it.name])]);
		return { queue, names };
	}

	/** @param {{ queue: any[], names: Map<string, string> }} data */
	draw({ queue, names }) {
		patch(this, [
			part('head', queue.length, () => h('header.panel-head', {}, h('h1', {}, 'Approvals'), h('p', {}, queue.length ? 'Nothing of this reaches a customer before a person has said yes. You are that person.' : ''))),
			...(queue.length ? queue.map((it) => part(it.messageId, it, () => this.card(it, names))) : [part('none', 0, () => empty('check', 'No draft waits', 'When your app writes a reply without send: true, it waits here.'))]),
		]);
	}

	/** @param {any} it @param {Map<string, string>} names */
	card(it, names) {
		return h('article.card', { 'aria-label': 'Draft' },
			h('header', {}, words(names.get(it.draftedBy) ?? it.draftedBy ?? 'The drafting helper', 'b'), h('span.hint', {}, 'drafted'), when(it.at), h('span.gap'), lineLink(it.messageId)),
			it.summary ? h('p.summary', {}, words(it.summary)) : null,
			words(it.text, 'p', { class: 'text' }),
			h('footer', {}, button('Approve', () => attempt(() => this.api.post(`/messages/${it.messageId}/approve`), 'Approved: it leaves when the undo window has passed'), { kind: 'primary' }),
				button('Edit', () => edit(this.api, it)), button('Discard', () => discard(this.api, it.messageId), { kind: 'quiet' }), h('span.gap'), h('a', { href: at('inbox', it.conversationId, { view: 'all' }) }, 'Open the conversation')));
	}
}
customElements.define('si-approvals', Approvals);
