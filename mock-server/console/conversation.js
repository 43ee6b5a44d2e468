// One conversation: who it is with, what was said, what waits, and everything a person can do about it.

import { fill, h, icon, part, patch, words } from './dom.js';
import { forInput, fromInput, clock, until } from './clock.js';
import { composer, writeIn } from './compose.js';
import { Panel } from './panel.js';
import { at } from './route.js';
import { guide } from './start.js';
import { item } from './timeline.js';
import { ask, attempt, badge, button, choose, empty, failed, traceLink, loading } from './ui.js';
import { checklist } from './uploads.js';

/** Items of a timeline that are shown at first. */
const SHOWN = 200;

class Conversation extends Panel {
	chosen = '';
	length = -1;
	/** Whether the whole of a long timeline is shown. */
	all = false;
	/** Whether the checklists are open. */
	listsAsked = false;
	/** @type {{ head: HTMLElement, timeline: HTMLElement, foot: HTMLElement, said: HTMLElement } | null} */
	parts = null;

	async read() {
		const { id } = this.route;
		const turn = (this.turn += 1);
		this.className = 'pane one-pane';
		if (!id) {
			this.chosen = '';
			this.parts = null;
			if (this.context.called) fill(this, empty('inbox', 'No conversation chosen', 'Choose one from the list, or write in as a customer.'));
			else if (!this.querySelector('.start')) fill(this, h('div.detail', {}, h('h1', {}, 'Start here'), guide(this.context)));
			return;
		}
		if (id !== this.chosen) {
			this.chosen = id;
			this.parts = null;
			fill(this, loading());
		}
		try {
			const data = await this.api.get(`/conversations/${encodeURIComponent(id)}`);
			if (turn === this.turn) this.draw(data);
		} catch (error) {
			if (turn !== this.turn) return;
			const away = error.status === 0;
			if (away) this.context.live.become('lost');
			if (away && this.parts) return;
			this.parts = null;
			fill(this, this.back(), away ? null : failed(error, () => this.refresh()));
		}
	}

	back() {
		return h('a.back', { href: at('inbox', null, this.route.query) }, icon('back'), 'Conversations');
	}

	draw(it) {
		if (!this.parts) {
			this.parts = { head: h('header.one-head'), timeline: h('div.timeline', { role: 'region', 'aria-label': 'Timeline', tabindex: 0 }), foot: h('div'), said: h('p.unseen', { role: 'status' }) };
			fill(this, this.parts.head, this.parts.timeline, this.parts.foot, this.parts.said);
			this.length = -1;
			this.all = this.listsAsked = false;
		}
		const { head, timeline, foot, said } = this.parts;
		patch(head, [
			part('title', [it.subject, it.id], () => h('div.title', {}, this.back(), words(it.subject || '(no subject)', 'h1'), traceLink(it.id))),
			part('who', [it.contact, it.mailbox, it.status, it.snoozedUntil, it.topic, it.urgency, it.reference, it.tags], () => h('div.who', {},
				words(it.contact.name || it.contact.email || 'Somebody', 'b'), it.contact.name && it.contact.email ? words(`<${it.contact.email}>`) : null, h('span.to', {}, 'to ', words(it.mailbox.name)),
				it.mailbox.sandbox ? badge('sandbox', 'sandbox') : it.mailbox.owner ? badge('private', 'private') : null,
				it.snoozedUntil ? h('span.badge.b-snoozed', {}, 'wakes ', until(it.snoozedUntil)) : null,
				it.topic ? h('span.badge', {}, words(it.topic)) : null, it.urgency && it.urgency !== 'normal' ? badge(it.urgency) : null,
				it.reference ? h('span.badge', { title: 'The reference of your app' }, 'ref ', words(it.reference, 'code')) : null, this.tags(it))),
			it.risk ? part('risk', [it.risk, it.riskReasons], () => h('div.risk', { role: 'note' }, icon('alert'), h('div', {}, h('b', {}, words(it.risk)), it.riskReasons.map((why, i) => [i ? '; ' : ': ', words(why)])))) : null,
			part('actions', [it.status, it.assignee, it.team, it.snoozedUntil], () => this.actions(it)),
			it.documentRequests.length ? part('asked', [it.documentRequests, it.documents], () => this.asked(it)) : null,
		]);
		const near = timeline.scrollHeight - timeline.scrollTop - timeline.clientHeight < 120;
		const earlier = this.all ? 0 : Math.max(0, it.timeline.length - SHOWN);
		patch(timeline, [
			earlier ? part('earlier', earlier, () => button(`Show ${earlier} earlier`, () => {
				this.all = true;
				return this.refresh();
			})) : null,
			...it.timeline.slice(earlier).map((entry, i) => part(entry.id ?? `event-${earlier + i}`, entry, () => item(this.context, entry, it))),
		]);
		patch(foot, [part(`composer-${it.id}`, [it.team.people], () => composer(this.context, it.id, it))]);
		if (this.length !== it.timeline.length && (near || this.length < 0)) {
			timeline.scrollTop = timeline.scrollHeight;
			// In a narrow window the whole conversation scrolls.
			if (this.scrollHeight > this.clientHeight) this.scrollTop = Math.max(0, timeline.offsetTop + timeline.offsetHeight - this.clientHeight);
			// What does not fit is read from its beginning.
			for (const box of [timeline, this]) {
				const last = timeline.lastElementChild ?? timeline;
				box.scrollTop -= Math.max(0, box.getBoundingClientRect().top - last.getBoundingClientRect().top);
			}
		}
		if (this.length >= 0 && this.length < it.timeline.length) fill(said, `${it.timeline.length - this.length} new in the timeline`);
		this.length = it.timeline.length;
		this.opened(head);
	}

	actions(it) {
		const path = `/conversations/${it.id}`;
		const status = /** @type {[string, string][]} */ ([['open', 'Open'], ['waiting', 'Waiting'], ['closed', 'Closed']]);
		const people = /** @type {[string, string][]} */ ([['none', 'Nobody'], ...it.team.people.map((one) => [one.id, one.name]), ...it.team.agents.map((one) => [one.id, `${one.name} (agent)`])]);
		const has = it.assignee ? `${it.assignee.type}:${it.assignee.id}` : 'none';
		if (!people.some(([value]) => value === has)) people.push([has, it.assignee.name]);
		return h('div.actions', {},
			h('div.segments', { role: 'group', 'aria-label': 'Status' }, status.map(([value, text]) => button(text, () => attempt(() => this.api.post(`${path}/status`, { status: value })), { 'aria-pressed': String(it.status === value), 'data-focus': `status-${value}` }))),
			choose('Assigned to', people, has, (to) => attempt(() => this.api.post(`${path}/assign`, { to }))),
			it.snoozedUntil ? button('Wake up', () => attempt(() => this.api.post(`${path}/snooze`, { until: null }))) : button('Snooze', () => this.snooze(path)),
			button('Mail from customer', () => writeIn(this.context, it)));
	}

	tags(it) {
		const path = `/conversations/${it.id}/tags`;
		return h('span.tags', {}, it.tags.map((tag) => h('span.tag', {}, words(tag), h('button', { type: 'button', 'aria-label': `Remove the tag ${tag}`, 'data-focus': `tag-${tag}`, onclick: () => attempt(() => this.api.post(path, { remove: [tag] })) }, '×'))),
			button('+ Tag', () => ask('Add a tag', [{ name: 'tag', label: 'Tag', required: true, props: { maxlength: 40 } }], 'Add', ({ tag }) => this.api.post(path, { add: [tag] })), { kind: 'quiet.small' }));
	}

	/** Checklists take room from what was said, so they open on demand. */
	asked(it) {
		const items = it.documentRequests.flatMap((request) => request.items);
		const there = items.filter((item) => item.documents.length).length;
		return h('details.asked', { open: this.listsAsked, ontoggle: (event) => (this.listsAsked = event.target.open) },
			h('summary', {}, `Documents asked for: ${there} of ${items.length} uploaded`), it.documentRequests.map((request) => checklist(this.api, request, it.documents)));
	}

	/** @param {string} path */
	snooze(path) {
		const tomorrow = new Date(clock.now() + 86_400_000).setUTCHours(9, 0, 0, 0);
		ask('Snooze until', [{ name: 'until', label: 'Until (UTC)', type: 'datetime-local', value: forInput(tomorrow), required: true }], 'Snooze', ({ until: then }) => this.api.post(`${path}/snooze`, { until: fromInput(then) }));
	}
}
customElements.define('si-conversation', Conversation);
