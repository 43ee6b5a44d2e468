#!/usr/bin/env node
// `npx shared-inbox-mock`: the program itself, with the flags, the streams and the status of this call.

import { spawnSync } from 'node:child_process';
import { program } from './index.js';

const { status, signal, error } = spawnSync(program(), process.argv.slice(2), { stdio: 'inherit' });
if (error) throw error;
process.exit(signal ? 1 : status);
