// The world's clock, and times as people read them. All times in the page are those of this clock.

import { h } from './dom.js';

let offset = 0;
let stands = false;
let frozen = Date.now();

export const clock = new (class extends EventTarget {
	/** @param {{ now: string, mode: string }} reading */
	set(reading) {
		stands = reading.mode === 'manual';
		frozen = Date.parse(reading.now);
		offset = frozen - Date.now();
		this.dispatchEvent(new Event('tick'));
	}

	get stands() {
		return stands;
	}

	/** In milliseconds. */
	now() {
		return stands ? frozen : Date.now() + offset;
	}
})();

setInterval(() => {
	if (!stands && !document.hidden) clock.dispatchEvent(new Event('tick'));
}, 1_000);

const DAY = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', timeZone: 'UTC' });
const YEAR = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' });

/** @param {string | number} time */
export function timeOfDay(time) {
	return new Date(time).toISOString().slice(11, 19);
}

/** The time, and the day where it is not today on this machine. @param {string | number} time */
export function timeWithDay(time) {
	const today = new Date().toISOString().slice(0, 10) === new Date(time).toISOString().slice(0, 10);
	return today ? timeOfDay(time) : `${DAY.format(new Date(time))}, ${timeOfDay(time)}`;
}

/** @param {string | number} time */
export function dayAndTime(time) {
	return `${YEAR.format(new Date(time))}, ${timeOfDay(time)}`;
}

/** @param {number} ms */
export function span(ms) {
	const s = Math.max(0, Math.round(ms / 1_000));
	if (s < 60) return `${s} s`;
	if (s < 3_600) return s % 60 && s < 900 ? `${Math.floor(s / 60)} min ${s % 60} s` : `${Math.floor(s / 60)} min`;
	if (s < 86_400) return s % 3_600 >= 60 ? `${Math.floor(s / 3_600)} h ${Math.floor((s % 3_600) / 60)} min` : `${Math.floor(s / 3_600)} h`;
	return `${Math.floor(s / 86_400)} d${s % 86_400 >= 3_600 ? ` ${Math.floor((s % 86_400) / 3_600)} h` : ''}`;
}

/** @param {number} at @param {string} behind a word behind spans: ` ago`, or none where there is little room */
function ago(at, behind) {
	const past = clock.now() - at;
	if (past < -1_000) return `in ${span(-past)}`;
	if (past < 45_000) return 'now';
	if (past < 3_600_000) return `${Math.round(past / 60_000)} min${behind}`;
	if (past < 86_400_000) return `${Math.round(past / 3_600_000)} h${behind}`;
	if (past < 6 * 86_400_000) return `${Math.round(past / 86_400_000)} d${behind}`;
	return (past < 300 * 86_400_000 ? DAY : YEAR).format(at);
}

/** A time that stays right while the clock runs. */
class Moment extends HTMLElement {
	connectedCallback() {
		this.tick = this.tick.bind(this);
		clock.addEventListener('tick', this.tick);
		this.tick();
	}

	disconnectedCallback() {
		clock.removeEventListener('tick', this.tick);
	}

	tick() {
		const at = Date.parse(this.getAttribute('at') ?? '');
		const text = this.hasAttribute('until') ? (at <= clock.now() ? 'now' : `in ${span(at - clock.now())}`) : ago(at, this.hasAttribute('ago') ? ' ago' : '');
		if (/** @type {HTMLElement} */ (this).textContent !== text) this.textContent = text;
	}
}
customElements.define('si-moment', Moment);

/** How long ago, with the whole time behind it. @param {string} at @param {'ago'} [ago] says so, in a sentence */
export function when(at, ago) {
	return h('si-moment', { at, ago: Boolean(ago), title: `${dayAndTime(at)} UTC` });
}

/** How long until then. @param {string} at */
export function until(at) {
	return h('si-moment', { at, until: true, title: `${dayAndTime(at)} UTC` });
}

/** The value of an input of the type datetime-local, which this page reads as UTC. @param {number} time */
export function forInput(time) {
	return new Date(time).toISOString().slice(0, 16);
}

/** @param {string} value */
export function fromInput(value) {
	return `${value.length === 16 ? `${value}:00` : value}.000Z`;
}
