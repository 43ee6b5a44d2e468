// Where others can reach the server, the page asks for the control token before it shows anything.

import { allowed, check, fillIn, open, post, run } from './kit.mjs';

allowed.add(401);
await run(async () => {
    const page = await open();
    await page.getByText('asks for its control token').waitFor();
    check((await page.locator('.conversation-row').count()) === 0, 'nothing is shown');
    await fillIn(page, { 'Control token': 'wrong' }, 'Unlock');
    await page.getByText('That token was not right.').waitFor();
    await fillIn(page, { 'Control token': process.env.TOKEN }, 'Unlock');
    await page.locator('.conversation-row').first().waitFor();
    await page.locator('.sign.live').waitFor();
    allowed.clear();
    await post('/inbound', { to: 'help@acme.example', from: 'kim@customer.example', subject: 'Live with a token', text: 'Hello' });
    await page.getByText('Live with a token').first().waitFor();
});
