// The page around the panels: where you are, which world it is, what time it is there, and whether the page still hears
// of what happens.

import { Api } from './api.js';
import { clock, dayAndTime, timeWithDay } from './clock.js';
import { fill, h, icon } from './dom.js';
import { Live } from './live.js';
import { at, route } from './route.js';
import { ask, dialog } from './ui.js';
import { guide } from './start.js';

/** @typedef {import('./panel.js').Panel} Panel */

/** Name in the address, text, icon. @type {[string, string, string][][]} */
const PANELS = [
	[['inbox', 'Inbox', 'inbox'], ['approvals', 'Approvals', 'check'], ['documents', 'Documents', 'file'], ['bookings', 'Bookings', 'calendar'], ['outbox', 'Outbox', 'out']],
	[['requests', 'Requests', 'list'], ['webhooks', 'Webhooks', 'hook'], ['time', 'Time', 'clock'], ['faults', 'Faults', 'bolt']],
	[['keys', 'Team and keys', 'key'], ['worlds', 'Worlds', 'globe']],
];

const NAMES = [...PANELS.flat().map(([name]) => name), 'trace'];

/** Loads a panel, which is a file of its name. The name comes from the address, and only a known one becomes a path. @param {string} name */
async function load(name) {
	if (NAMES.includes(name)) await import(`./${name}.js`);
}

const api = new Api(new URLSearchParams(location.search).get('world'));
const live = new Live(api);
/** @type {import('./panel.js').Context} */
const context = { api, live, ready: null, called: true };
const main = /** @type {HTMLElement} */ (document.getElementById('main'));
/** @type {Panel | null} */
let panel = null;

function top() {
	const sign = h('span.sign', { id: 'sign', role: 'status' });
	const time = h('a.clock', { href: at('time'), id: 'clock' }, icon('clock'), 'Time');
	const where = h('a.world', { href: at('worlds'), title: 'Worlds' }, icon('globe'), h('span', {}, api.world ?? 'main world'));
	fill(/** @type {HTMLElement} */ (document.getElementById('top')),
		h('a.brand', { href: at('inbox') }, h('img', { src: '/console/icon.svg', alt: '', width: 24, height: 24 }), h('span', {}, 'shared-inbox ', h('b', {}, 'mock'))),
		where, h('span.gap'), sign, time,
		h('button.quiet', { type: 'button', onclick: connect, title: 'What this is, addresses and keys' }, icon('plug'), h('span', {}, 'Connect')));
	const tick = () => fill(time, icon('clock'), h('span', { title: dayAndTime(clock.now()) }, timeWithDay(clock.now())), clock.stands ? h('em', {}, 'paused') : null);
	clock.addEventListener('tick', tick);
	live.addEventListener('state', connection);
	connection();
}

function connection() {
	const sign = /** @type {HTMLElement} */ (document.getElementById('sign'));
	const texts = { connecting: 'Connecting…', live: 'Live', lost: 'Connection lost', gone: 'World gone' };
	sign.className = `sign ${live.state}`;
	fill(sign, h('i'), texts[live.state]);
	document.body.classList.toggle('lost', live.state === 'lost' || live.state === 'gone');
	document.getElementById('lost')?.remove();
	const texted = ({
		lost: `The server cannot be reached since ${live.since.toTimeString().slice(0, 8)}. What you see is from before; it is read anew as soon as the server answers.`,
		gone: [`There is no world ${api.world} any more: it was deleted, or the server was started anew. `, h('a', { href: '/' }, 'Go to the main world')],
	})[live.state];
	if (texted) main.before(h('p.lost-note', { id: 'lost', role: 'alert' }, icon('alert'), h('span', {}, texted)));
}

/** @type {Map<string, HTMLElement>} */
const links = new Map();
function nav() {
	for (const group of PANELS) {
		for (const [name, text, sign] of group) links.set(name, h('a', { href: at(name) }, icon(sign), h('span', {}, text), name === 'approvals' ? h('b.count', { id: 'waiting', hidden: true }) : null));
	}
	fill(/** @type {HTMLElement} */ (document.getElementById('nav')), PANELS.map((group) => h('div', {}, group.map(([name]) => links.get(name)))));
}

/** @param {string} panel */
function here(panel) {
	for (const [name, link] of links) {
		if (name === (panel === 'trace' ? 'requests' : panel)) {
			link.setAttribute('aria-current', 'page');
			// In a narrow window the panels are a strip that scrolls.
			const strip = /** @type {HTMLElement} */ (document.getElementById('nav'));
			strip.scrollLeft += link.getBoundingClientRect().left - (strip.clientWidth - link.offsetWidth) / 2;
		} else link.removeAttribute('aria-current');
	}
}

let waiting = 0;
/** How often was asked, and the latest answer that is shown: answers may overtake each other. */
const turns = { asked: 0, shown: 0 };
function count() {
	const sign = document.getElementById('waiting');
	if (!sign) return;
	sign.hidden = waiting === 0;
	fill(sign, waiting, h('span.unseen', {}, ' waiting'));
}

async function surroundings() {
	const turn = (turns.asked += 1);
	try {
		const [reading, approvals] = await Promise.all([api.get('/clock'), api.get('/approvals')]);
		if (turn < turns.shown) return;
		turns.shown = turn;
		clock.set(reading);
		waiting = approvals.length;
		count();
	} catch {
		// The panel says what is wrong.
	}
}

async function show() {
	const to = route();
	const name = `si-${to.panel}`;
	try {
		await load(to.panel);
	} catch {
		return live.become('lost');
	}
	if (to.panel !== route().panel) return;
	if (!customElements.get(name)) {
		location.hash = at('inbox');
		return;
	}
	if (panel?.localName !== name) {
		panel = /** @type {Panel} */ (document.createElement(name));
		panel.context = context;
		fill(main, panel);
		main.scrollTop = 0;
	}
	here(to.panel);
	// What was typed while the panel was loaded is in the address by now.
	panel.show(route());
	document.title = `${panel.heading} · shared-inbox-mock`;
}

function connect() {
	const box = dialog('Connect', guide(context, () => box.close()));
}

let asking = false;
api.addEventListener('token-needed', () => {
	if (asking) return;
	asking = true;
	const wrong = api.token !== null;
	const box = ask('This server asks for its control token', [{ name: 'token', label: 'Control token', required: true, props: { type: 'password' } }], 'Unlock', async ({ token }) => {
		api.token = token;
		location.reload();
	}, { intro: h('p', {}, wrong ? 'That token was not right. ' : '', 'It is what the server was started with as --control-token. It stays in this tab until you close it.') });
	box.addEventListener('close', () => (asking = false));
});

/** Many changes in a short while are one; while nobody looks, they wait. */
let due = 0;
let missed = false;
/** @param {boolean} all whether more than the requests has changed */
function soon(all) {
	if (!all && !panel?.hearsRequests) return;
	missed ||= all;
	if (due || document.hidden) return;
	due = setTimeout(() => {
		due = 0;
		if (missed) surroundings();
		missed = false;
		if (panel?.localName === `si-${route().panel}`) panel.update();
		else show();
	}, 150);
}
live.addEventListener('change', () => soon(true));
live.addEventListener('stale', () => {
	api.get('/ready').then((ready) => (context.ready = ready), () => {});
	called().then(() => soon(true), () => {});
	soon(true);
});
live.addEventListener('request', () => {
	const first = !context.called;
	context.called = true;
	soon(first);
});
document.addEventListener('visibilitychange', () => soon(true));
addEventListener('hashchange', show);
addEventListener('keydown', (event) => {
	if (event.key === 'Escape' && !document.querySelector('dialog[open]')) panel?.leave();
});
document.querySelector('.skip')?.addEventListener('click', (event) => {
	event.preventDefault();
	main.focus();
});

/** Finds out whether an app has called yet; while the stream is opened, its first call would go unnoticed. */
async function called() {
	context.called = (await api.page('/requests', { limit: 1, responses: false })).total > 0;
}

async function start() {
	top();
	nav();
	while (!context.ready) {
		try {
			const [ready] = await Promise.all([api.get('/ready'), called(), surroundings(), load(route().panel).catch(() => {})]);
			context.ready = ready;
		} catch (error) {
			const { status, message } = error;
			if (status === 401) return;
			if (status !== 404 || !api.world) live.become('lost');
			else live.become('gone');
			fill(main, status === 0 || live.state === 'gone' ? null : h('div.empty.bad', { role: 'alert' }, icon('alert'), h('p.title', {}, 'The server does not respond as it should'), h('p', {}, message)));
			if (live.state === 'gone') return;
			await new Promise((resume) => setTimeout(resume, 2_000));
		}
	}
	live.start();
	show();
	// The other panels open at once, even while the server is away.
	setTimeout(() => NAMES.forEach((name) => load(name).catch(() => {})), 1_000);
}
start();
