// Times that customers booked.

import { h, part, patch, words } from './dom.js';
import { clock, dayAndTime, forInput, fromInput } from './clock.js';
import { Panel } from './panel.js';
import { ask, attempt, badge, button, empty, ident, traceLink, table } from './ui.js';

class Bookings extends Panel {
	table = table('Bookings', ['When', 'With', 'Conversation', 'State', '']);

	get heading() {
		return 'Bookings';
	}

	async load() {
		const [bookings, users] = await Promise.all([this.api.get('/bookings'), this.api.get('/users')]);
		return { bookings, users };
	}

	/** @param {{ bookings: any[], users: any[] }} data */
	draw({ bookings, users }) {
		const name = (id) => users.find((it) => it.id === id)?.name ?? id;
		patch(this, [
			part('head', users, () => h('header.panel-head', {}, h('h1', {}, 'Bookings'), h('span.gap'), button('Book a time', () => this.book(users), { kind: 'primary' }))),
			bookings.length ? part('table', 0, () => this.table.whole) : part('none', 0, () => empty('calendar', 'Nothing is booked', 'Book a time as a customer would; booking.created follows.')),
		]);
		this.table.fill(bookings.map((it) => part(it.id, it, () => h('tr', {}, h('td', {}, dayAndTime(it.startsAt), h('span.hint', {}, ` to ${it.endsAt.slice(11, 16)}`)), h('td', {}, words(name(it.hostUserId))), h('td', {}, it.conversationId ? ident(it.conversationId) : h('span.hint', {}, 'none')), h('td', {}, badge(it.cancelled ? 'cancelled' : 'booked', it.cancelled ? 'failed' : 'sent')),
			h('td.end', {}, traceLink(it.id), it.cancelled ? null : button('Cancel', () => attempt(() => this.api.post(`/bookings/${it.id}/cancel`), 'Cancelled'), { kind: 'small', 'data-focus': `cancel-${it.id}` }))))));
	}

	book(users) {
		const start = new Date(clock.now() + 86_400_000).setUTCHours(10, 0, 0, 0);
		ask('Book a time', [
			{ name: 'hostUserId', label: 'With', type: 'select', options: users.map((it) => [it.id, it.name]), required: true },
			{ name: 'startsAt', label: 'From (UTC)', type: 'datetime-local', value: forInput(start), required: true },
			{ name: 'endsAt', label: 'To (UTC)', type: 'datetime-local', value: forInput(start + 1_800_000), required: true },
			{ name: 'conversationId', label: 'Conversation', hint: 'The id of the conversation that it belongs to' },
		], 'Book', ({ startsAt, endsAt, ...rest }) => this.api.post('/bookings', { ...rest, startsAt: fromInput(startsAt), endsAt: fromInput(endsAt) }));
	}
}
customElements.define('si-bookings', Bookings);
