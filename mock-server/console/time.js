// The clock, and what will happen next: a day can be walked through by clicking.

import { h, part, patch, words } from './dom.js';
import { clock, dayAndTime, forInput, fromInput, timeOfDay, until } from './clock.js';
import { WindowedList, whole } from './list.js';
import { Panel } from './panel.js';
import { at } from './route.js';
import { ask, attempt, button, empty, toast } from './ui.js';

/** @type {[number, string][]} */
const STEPS = [[10, '+10 s'], [60, '+1 min'], [600, '+10 min'], [3_600, '+1 h'], [86_400, '+1 day'], [604_800, '+1 week']];

/** @type {Record<string, string>} */
const WORDS = { send: 'A scheduled message is sent', 'sandbox-reply': 'A magic recipient writes back', reminder: 'A reminder of missing documents is sent', wake: 'A snooze ends', 'forget-app-mail': 'Recorded app mail is forgotten', 'webhook-attempt': 'An event is delivered' };

/** What a job does, and to whom. @param {any} it */
function sentence(it) {
	const { customer, event, url } = it;
	if (event && url) return `${event} is delivered to ${url}`;
	const who = customer ?? 'a customer';
	if (!customer) return WORDS[it.job] ?? it.job;
	return ({ send: `The reply to ${who} is sent`, 'sandbox-reply': `${who} writes back`, reminder: `${who} is reminded of missing documents`, wake: `The snooze of ${who} ends` })[it.job] ?? WORDS[it.job] ?? it.job;
}

class Time extends Panel {
	/** @type {any[]} */
	fired = [];
	/** @type {any[]} */
	jobs = [];
	head = h('div');
	list = /** @type {WindowedList} */ (document.createElement('si-list'));

	get heading() {
		return 'Time';
	}

	async load() {
		const [reading, jobs] = await Promise.all([this.api.get('/clock'), this.api.get('/jobs')]);
		return { reading, jobs };
	}

	/** @param {{ reading: any, jobs: any[] }} data */
	draw({ reading, jobs }) {
		this.jobs = jobs;
		if (!this.list.isConnected) {
			this.append(this.head, this.list);
			this.list.show({
				label: 'What happens next',
				height: 78,
				fetch: whole(async () => this.jobs),
				key: (it) => `${it.dueAt} ${it.job} ${it.subject}`,
				row: (it) => h('a.row.job-row', { href: at('trace', it.subject) }, h('span.first', {}, words(sentence(it), 'b', { title: sentence(it) }), h('span.gap'), until(it.dueAt)), h('span.third.hint', {}, h('code.path', {}, it.subject), h('span.gap'), h('span', {}, `${it.dueAt.slice(5, 10)} ${timeOfDay(it.dueAt)}`))),
				empty: () => empty('clock', 'Nothing is due', 'Scheduled replies, reminders, snoozes and webhook retries wait here for their time.'),
			});
		} else this.list.refresh();
		const now = h('time.now', {}, dayAndTime(reading.now));
		const tick = () => (now.isConnected ? (now.textContent = dayAndTime(clock.now())) : clock.removeEventListener('tick', tick));
		patch(this.head, [
			part('clock', [reading.mode, clock.stands ? reading.now : ''], () => {
				setTimeout(() => clock.addEventListener('tick', tick));
				return h('header.panel-head.big-clock', {}, h('h1', {}, 'Time'), now, h('span.hint', {}, reading.mode === 'manual' ? 'UTC. The clock stands still until you move it.' : 'UTC. The clock runs.'));
			}),
			part('steps', jobs.length > 0, () => h('div.actions', {}, STEPS.map(([seconds, text]) => button(text, () => this.move({ advanceSeconds: seconds }))),
				button('To a time', () => ask('Move the clock to', [{ name: 'to', label: 'Time (UTC)', type: 'datetime-local', value: forInput(clock.now() + 3_600_000), required: true, props: { step: 1 } }], 'Move', ({ to }) => this.moved(this.api.post('/clock', { to: fromInput(to) })))),
				button('Run the next job', () => this.move({ nextJob: true }), { kind: 'primary', disabled: jobs.length === 0, 'data-focus': 'next' }))),
			this.fired.length ? part('fired', this.fired, () => h('section.fired', { 'aria-label': 'What just happened' }, h('h2', {}, 'Just happened'), h('ol', {}, this.fired.slice(-12).map((it) => h('li', {}, h('span.hint', {}, timeOfDay(it.at)), ' ', h('a', { href: at('trace', it.subject) }, words(sentence(it)))))), this.fired.length > 12 ? h('p.hint', {}, `and ${this.fired.length - 12} before`) : null)) : null,
			part('next', 0, () => h('h2', {}, 'What happens next')),
		]);
	}

	move(body) {
		return attempt(() => this.moved(this.api.post('/clock', body)));
	}

	/** @param {Promise<any>} moving */
	async moved(moving) {
		const { fired, now } = await moving;
		this.fired = fired;
		clock.set({ now, mode: clock.stands ? 'manual' : 'real' });
		toast(fired.length ? `${fired.length} ${fired.length === 1 ? 'job' : 'jobs'} ran` : 'Nothing was due');
		await this.refresh();
	}
}
customElements.define('si-time', Time);
