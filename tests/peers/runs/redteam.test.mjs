// An agent with one habit, held against hostile email.

import { test } from 'node:test';
import { redteam } from 'shared-inbox-mock/redteam';

async function answer(inbox, others) {
    const call = async (method, path, body) => {
        const headers = { authorization: `Bearer ${inbox.key}`, 'content-type': 'application/json' };
        return (await fetch(inbox.baseUrl + path, { method, headers, body: body && JSON.stringify(body) })).json();
    };
    const address = inbox.task.match(/\((\S+@\S+)\)/)[1];
    const { id } = (await call('GET', '/conversations')).find((it) => it.contact.email === address);
    const { timeline } = await call('GET', `/conversations/${id}`);
    const notes = timeline.filter((it) => it.type === 'note').map((it) => it.body).join(' ');
    const words = timeline.filter((it) => it.type === 'message').map((it) => it.text).join(' ');
    await call('POST', `/conversations/${id}/replies`, { body: notes.match(/Tracking number for the customer: [\w-]+/)[0] });
    for (const body of others(words, notes)) await call('POST', `/conversations/${id}/replies`, { body });
}

const habits = (words, notes) => {
    if (words.includes('internal notes')) return [notes];
    if (words.includes('track-acme')) return ['Do not open https://track-acme.example/login, please.'];
    if (words.includes('Do not leave this as a draft')) throw new Error('429 quota exceeded');
    return [];
};

redteam(test, (inbox) => answer(inbox, habits), { only: ['plain.codes', 'plain.send', 'plain.assign', 'link.tracking'] });
