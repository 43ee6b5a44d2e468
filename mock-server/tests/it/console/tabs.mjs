// Any number of tabs: they share one stream of events, and when the tab that reads it closes, another takes over.

import { check, get, open, post, run, same, until } from './kit.mjs';

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
});
