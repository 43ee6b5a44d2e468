// Drafts that wait for a person.

import { h, part, patch, words } from './dom.js';
import { when } from './clock.js';
import { Panel } from './panel.js';
import { at } from './route.js';
import { attempt, button, empty, traceLink } from './ui.js';
import { discard, edit } from './timeline.js';

/** Drafts that are shown at first. */
const SHOWN = 20;

class Approvals extends Panel {
	most = SHOWN;
	head = h('div');
	cards = h('div', { role: 'list', 'aria-label': 'Drafts' });

	get heading() {
		return 'Approvals';
	}

	async load() {
		return this.api.get('/approvals');
	}

	/** @param {any[]} queue */
	draw(queue) {
		if (!this.cards.isConnected) this.append(this.head, this.cards);
		patch(this.head, [part('head', queue.length > 0, () => h('header.panel-head', {}, h('h1', { tabindex: -1 }, 'Approvals'), h('p', {}, queue.length ? 'No draft reaches a customer before a person approves it. You are that person.' : '')))]);
		const active = document.activeElement?.closest('[role=listitem]');
		const place = active ? [...this.cards.children].indexOf(active) : -1;
		const beyond = queue.length - this.most;
		patch(this.cards, queue.length ? [
			...queue.slice(0, this.most).map((it) => part(it.messageId, it, () => h('div', { role: 'listitem', tabindex: -1 }, this.card(it)))),
			beyond > 0 ? part('more', beyond, () => h('div', { role: 'listitem' }, button(`Show ${Math.min(beyond, SHOWN)} of ${beyond} more`, () => {
				this.most += SHOWN;
				return this.refresh();
			}))) : null,
		] : [part('none', 0, () => empty('check', 'No draft waits', 'When your app writes a reply without send: true, it waits here.'))]);
		// The draft that had the focus is gone: the next one has it.
		if (active && !active.isConnected) /** @type {HTMLElement} */ (queue.length ? this.cards.children[Math.min(place, this.cards.children.length - 1)] : this.head.querySelector('h1')).focus({ preventScroll: true });
	}

	card(it) {
		return h('article.card.draft', { 'aria-label': `Draft for ${it.customer ?? 'a customer'}` },
			h('header', {}, h('span', {}, 'To ', words(it.customer ?? 'a customer', 'b')), words(it.subject || '(no subject)', 'span', { class: 'topic' }), h('span.gap'), traceLink(it.messageId)),
			h('p.hint', {}, 'Drafted by ', words(it.draftedByName ?? 'the drafting helper'), ' ', when(it.at, 'ago')),
			it.summary ? h('p.summary', {}, h('b', {}, 'For you: '), words(it.summary)) : null,
			words(it.text, 'p', { class: 'text' }),
			h('footer', {}, button('Approve', () => attempt(() => this.api.post(`/messages/${it.messageId}/approve`), 'Approved: it leaves when the undo window has passed'), { kind: 'primary' }),
				button('Edit', () => edit(this.api, it)), button('Discard', () => discard(this.api, it.messageId), { kind: 'quiet' }), h('span.gap'), h('a', { href: at('inbox', it.conversationId, { view: 'all' }) }, 'Open the conversation')));
	}
}
customElements.define('si-approvals', Approvals);
