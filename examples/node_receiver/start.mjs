// Runs the receiver: node start.mjs, with the three variables of the service and PORT.

import { receiver } from './receiver.mjs';

const variable = (name) => {
    const value = process.env[name];
    if (!value) throw new Error(`set ${name}`);
    return value;
};

const app = receiver({
    baseUrl: variable('SHARED_INBOX_BASE_URL'),
    key: variable('SHARED_INBOX_API_KEY'),
    secret: variable('SHARED_INBOX_WEBHOOK_SECRET'),
});
app.listen(process.env.PORT ?? 8080, '127.0.0.1', () => console.log(`listening on http://127.0.0.1:${app.address().port}/`));
