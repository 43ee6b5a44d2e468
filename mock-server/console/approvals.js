// Drafts that wait for a person.

import { h, part, patch, words } from './dom.js';
import { when } from './clock.js';
import { WindowedList, whole } from './list.js';
import { Panel } from './panel.js';
import { at } from './route.js';
import { attempt, button, empty, lineLink } from './ui.js';
import { discard, edit } from './timeline.js';

class Approvals extends Panel {
	/** @type {any[]} */
	queue = [];
	head = h('div');
	list = /** @type {WindowedList} */ (document.createElement('si-list'));

	get heading() {
		return 'Approvals';
	}

	async load() {
		return this.api.get('/approvals');
	}

	draw(queue) {
		this.queue = queue;
		if (!this.list.isConnected) {
			this.append(this.head, this.list);
			this.list.show({
				label: 'Drafts',
				height: 212,
				fetch: whole(async () => this.queue),
				key: (it) => it.messageId,
				row: (it) => this.card(it),
				empty: () => empty('check', 'No draft waits', 'When your app writes a reply without send: true, it waits here.'),
			});
		} else this.list.refresh();
		patch(this.head, [part('head', queue.length > 0, () => h('header.panel-head', {}, h('h1', {}, 'Approvals'), h('p', {}, queue.length ? 'Nothing of this reaches a customer before a person has said yes. You are that person.' : '')))]);
	}

	card(it) {
		const now = () => this.queue.find((one) => one.messageId === it.messageId) ?? it;
		return h('article.card.draft', { 'aria-label': `Draft for ${it.customer ?? 'a customer'}` },
			h('header', {}, h('span', {}, 'To ', words(it.customer ?? 'a customer', 'b')), words(it.subject || '(no subject)', 'span', { class: 'topic' }), h('span.gap'), lineLink(it.messageId)),
			h('p.hint', {}, words(it.draftedByName ?? 'The drafting helper'), ' drafted it ', when(it.at)),
			it.summary ? h('p.summary', {}, words(it.summary)) : null,
			words(it.text, 'p', { class: 'text' }),
			h('footer', {}, button('Approve', () => attempt(() => this.api.post(`/messages/${it.messageId}/approve`), 'Approved: it leaves when the undo window has passed'), { kind: 'primary' }),
				button('Edit', () => edit(this.api, now())), button('Discard', () => discard(this.api, it.messageId), { kind: 'quiet' }), h('span.gap'), h('a', { href: at('inbox', it.conversationId, { view: 'all' }) }, 'Open the conversation')));
	}
}
customElements.define('si-approvals', Approvals);
