// The address says what is shown, so that every place can be reloaded and sent to a colleague.

/** @typedef {{ panel: string, id: string | null, more: string | null, query: Record<string, string> }} Route */

/** The panel, the thing in it and the filters that the address names. @returns {Route} */
export function route() {
	const [path, query = ''] = location.hash.replace(/^#\/?/, '').split('?');
	const [panel, id, more] = path.split('/').map((part) => safely(part));
	return { panel: panel || 'inbox', id: id || null, more: more || null, query: Object.fromEntries(new URLSearchParams(query)) };
}

/** @param {string} part */
function safely(part) {
	try {
		return decodeURIComponent(part);
	} catch {
		return part;
	}
}

/**
 * The address of a place.
 * @param {string} panel @param {string | null} [id] @param {Record<string, string | null | undefined>} [query]
 */
export function at(panel, id, query = {}) {
	const filters = new URLSearchParams();
	for (const [name, value] of Object.entries(query)) if (value) filters.set(name, value);
	const path = id ? `${panel}/${id.split('/').map(encodeURIComponent).join('/')}` : panel;
	return `#/${path}${filters.size ? `?${filters}` : ''}`;
}

/**
 * The address as it is now, with another filter: a second change may come before the panel has drawn the first.
 * @param {Record<string, string>} change
 */
export function refined(change) {
	const { panel, id, query } = route();
	return at(panel, id, { ...query, ...change });
}

/** @param {string} hash */
export function go(hash) {
	if (location.hash === hash) dispatchEvent(new HashChangeEvent('hashchange'));
	else location.hash = hash;
}

/** Changes the address without a step to go back to: for words that are being typed. @param {string} hash */
export function replace(hash) {
	history.replaceState(null, '', hash);
	dispatchEvent(new HashChangeEvent('hashchange'));
}

/** Where an id is shown, if there is a place for it. @param {string} id */
export function home(id) {
	const places = ({ cnv_: 'inbox', whk_: 'webhooks', call: 'requests' });
	const panel = places[id.slice(0, 4)];
	return panel ? at(panel, id) : null;
}
