#!/usr/bin/env node
// Starts the program for this platform, which comes in a package of its own.
'use strict';

const { spawn } = require('node:child_process');

const { platform, arch } = process;
const name = `shared-inbox-mcp-${platform}-${arch}`;
let program;
try {
  program = require.resolve(`${name}/bin/shared-inbox-mcp${platform === 'win32' ? '.exe' : ''}`);
} catch {
  console.error(
    `error: the package ${name} is not there. Install with optional dependencies (npm install --include=optional); ` +
      'where there is no such package, build the program: cargo install shared-inbox-mcp',
  );
  process.exit(2);
}

const child = spawn(program, process.argv.slice(2), { stdio: 'inherit' });
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
for (const signal of signals) process.on(signal, () => child.kill(signal));
child.on('error', (error) => {
  console.error(`error: ${program}: ${error.message}`);
  process.exit(2);
});
child.on('exit', (code, signal) => {
  for (const one of signals) process.removeAllListeners(one);
  if (signal) process.kill(process.pid, signal);
  else process.exit(code);
});
