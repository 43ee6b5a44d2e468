// Documents that a customer was asked for, and uploading them in the customer's place.

import { h, words } from './dom.js';
import { ask, badge, button, traceLink, toast } from './ui.js';

/** @type {[string, string][]} */
export const KINDS = ['invoice', 'receipt', 'statement', 'contract', 'id', 'tax', 'photo', 'other'].map((kind) => [kind, kind]);

/** @param {import('./api.js').Api} api @param {any} request @param {any[]} documents those that are known */
export function checklist(api, request, documents) {
	const title = (id) => documents.find((it) => it.id === id)?.filename ?? id;
	const state = request.completedAt ? 'complete' : request.sentAt ? 'sent' : 'draft';
	return h('section.checklist', { 'aria-label': 'Documents asked for' },
		h('header', {}, h('b', {}, 'Documents asked of ', words(request.customer ?? 'the customer')), words(request.subject, 'span', { class: 'topic' }), badge(state === 'sent' ? 'waiting' : state, { complete: 'sent', sent: 'waiting' }[state] ?? state), request.dueDate ? h('span.hint', {}, `by ${request.dueDate}`) : null, h('span.gap'), traceLink(request.id)),
		h('ul', {}, request.items.map((item, i) => h(`li${item.documents.length ? '.in' : ''}`, {},
			h('span.mark', { 'aria-hidden': 'true' }, item.documents.length ? '✓' : '○'), h('span', {}, words(item.label), item.required ? null : h('span.hint', {}, ' nice to have'), item.documents.length ? h('span.hint', {}, ' ', words(item.documents.map(title).join(', '))) : null),
			button('Upload', () => upload(api, request.id, i, item.label), { kind: 'small', 'data-focus': `upload-${request.id}-${i}`, 'aria-label': `Upload ${item.label}` })))));
}

/** @param {import('./api.js').Api} api @param {string} id @param {number} item @param {string} label */
function upload(api, id, item, label) {
	ask('Upload as the customer', [
		{ name: 'filename', label: 'File', value: `${label.toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '') || 'document'}.pdf`, required: true },
		{ name: 'kind', label: 'What the reading helper takes it for', type: 'select', options: [['', 'nothing'], ...KINDS] },
	], 'Upload', async ({ filename, kind }) => {
		const { complete } = await api.post(`/document-requests/${id}/uploads`, { item, filename, kind, contentType: 'application/pdf', size: 120_000 });
		toast(complete ? 'Everything that was asked for is in' : 'Uploaded');
	});
}
