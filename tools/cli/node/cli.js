#!/usr/bin/env node
// `npx shared-inbox-mock`: the program itself, with the flags, the streams and the status of this call. It ends with this process.

import { spawn } from 'node:child_process';
import { program } from './index.js';

const flags = process.argv.slice(2);
const named = '--exit-with-parent';
// A command such as `schema` serves nothing, and takes no flags of a server.
const serves = flags.length === 0 || flags[0].startsWith('-');
const watch = serves && !flags.includes(named);

const fail = (error) => {
    console.error(`shared-inbox-mock: ${error.message}`);
    process.exit(2);
};
try {
    const child = spawn(program(), watch ? [...flags, named] : flags, { stdio: [watch ? 'pipe' : 'inherit', 'inherit', 'inherit'] });
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill('SIGTERM'));
    child.on('error', fail);
    child.on('exit', (status) => process.exit(status ?? 1));
} catch (error) {
    fail(error);
}
