// Any number of tabs: they share one stream of events, and when the tab that reads it closes, another takes over.

import { CONSOLE, allowed, api, check, get, open, post, run, same } from './kit.mjs';

await run(async () => {
    const address = (await get('/mailboxes'))[0].address;
    const first = await open('#/inbox?view=all');
    const context = first.context();
    const tabs = [first];
    for (let i = 1; i < 7; i += 1) tabs.push(await open('#/inbox?view=all', { beside: context }));
    const streams = () => Promise.all(tabs.map((tab) => tab.evaluate(() => performance.getEntriesByType('resource').filter((it) => it.name.includes('/events')).length)));
    const mail = (subject) => post('/inbound', { to: address, from: 'kim@customer.example', subject, text: 'Hello' });
    const everywhere = async (subject) => {
        for (const tab of tabs) await tab.getByText(subject).first().waitFor();
        for (const tab of tabs) await tab.locator('.sign.live').waitFor();
    };
    await mail('To all seven');
    await everywhere('To all seven');
    // A stream that goes on is not among the entries; one that was refused a connection would have failed.
    check((await streams()).every((it) => it === 0), 'no tab has lost a stream');
    same((await Promise.all(tabs.map((tab) => tab.evaluate(async () => (await navigator.locks.query()).held?.length)))).at(0), 1, 'one of them reads');

    // The tab that reads goes; the others hear on.
    await tabs.shift().close();
    await mail('After the first has gone');
    await everywhere('After the first has gone');
    await tabs.shift().close();
    await mail('After the second has gone');
    await everywhere('After the second has gone');

    // Seven more tabs, each on a world of its own, hear each from its world and share the same stream.
    const others = [];
    for (let i = 0; i < 7; i += 1) {
        const { id: world } = await post('/worlds', { empty: true });
        const prefix = `/worlds/${world}`;
        const mailbox = (await get(`${prefix}/mailboxes`))[0].address;
        others.push({ world, prefix, mailbox, tab: await open('#/inbox?view=all', { beside: context, url: `${CONSOLE}?world=${world}` }) });
    }
    for (const { tab } of others) await tab.locator('.sign.live').waitFor();
    for (const { world, prefix, mailbox } of others) await post(`${prefix}/inbound`, { to: mailbox, from: 'kim@customer.example', subject: `Only in ${world}`, text: 'Hello' });
    for (const { world, tab } of others) {
        await tab.getByText(`Only in ${world}`).first().waitFor();
        same(await tab.getByText('Only in').count(), await tab.getByText(`Only in ${world}`).count(), `${world} shows its own mail alone`);
    }
    await mail('In the main world');
    await everywhere('In the main world');
    const held = await tabs[0].evaluate(async () => (await navigator.locks.query()).held?.length);
    same(held, 1, 'one of all of them reads');

    // A world that goes away is said to be gone in its own tab alone.
    allowed.add(404);
    await api('DELETE', others[3].prefix);
    await others[3].tab.locator('.sign.gone').waitFor();
    for (const { tab } of others.filter((_, i) => i !== 3)) await tab.locator('.sign.live').waitFor();
});
