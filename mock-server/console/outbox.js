// Every mail that left, or was meant to.

import { h, part, patch, words } from './dom.js';
import { when } from './clock.js';
import { WindowedList, whole } from './list.js';
import { Panel } from './panel.js';
import { at } from './route.js';
import { badge, empty } from './ui.js';

class Outbox extends Panel {
	/** @type {any[]} */
	mails = [];
	head = h('div');
	list = /** @type {WindowedList} */ (document.createElement('si-list'));

	get heading() {
		return 'Outbox';
	}

	async load() {
		return (await this.api.get('/outbox')).reverse();
	}

	/** @param {any[]} mails */
	draw(mails) {
		this.mails = mails;
		if (!this.list.isConnected) {
			this.append(this.head, this.list);
			this.list.show({
				label: 'Mails',
				height: 84,
				fetch: whole(async () => this.mails),
				key: (it) => it.at + it.messageId,
				row: (it) => h(it.messageId ? 'a.row' : 'div.row', it.messageId ? { href: at('line', it.messageId) } : { tabindex: 0 },
					h('span.first', {}, words(it.to, 'b'), badge(it.outcome), it.kind === 'reply' ? null : badge(it.kind, 'kind'), h('span.gap'), when(it.at)), h('span.second', {}, words(it.subject)), h('span.third', {}, words(it.text.slice(0, 200), 'span', { class: 'snippet' }))),
				empty: () => empty('out', 'Nothing has left yet', 'Replies show here when their undo window has passed; move the clock to see that at once.'),
			});
		} else this.list.refresh();
		patch(this.head, [part('head', mails.length, () => h('header.panel-head', {}, h('h1', {}, 'Outbox'), h('p', {}, mails.length ? `${mails.length} mails left or were meant to. None of them went anywhere.` : '')))]);
	}
}
customElements.define('si-outbox', Outbox);
