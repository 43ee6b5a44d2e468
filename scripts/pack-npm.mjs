// Packs a program as npm packages: one with the program for one platform, and the one that people install.
//
//     node scripts/pack-npm.mjs tools/cli/node target/release/shared-inbox-mock linux-x64 dist
//
// Version and repository are the workspace's. It prints the two files; `npm publish` takes both as they are, the platform's first.

import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';

const [folder, program, platform, into] = process.argv.slice(2);
if (!into) {
    console.error('usage: node scripts/pack-npm.mjs FOLDER PROGRAM PLATFORM-ARCH INTO');
    process.exit(2);
}
const root = join(import.meta.dirname, '..');
const [workspace] = /^\[workspace\.package\].*?(?=^\[)/ms.exec(readFileSync(join(root, 'Cargo.toml'), 'utf8'));
const [version, url] = ['version', 'repository'].map((it) => new RegExp(`^${it} = "([^"]+)"`, 'm').exec(workspace)[1]);
const main = { ...JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')), version, repository: { type: 'git', url: `git+${url}.git` } };
const { name, license, repository } = main;
const [os, cpu] = platform.split('-');
const work = mkdtempSync(join(tmpdir(), 'pack-'));
mkdirSync(into, { recursive: true });
process.on('exit', () => rmSync(work, { recursive: true }));

const carrier = join(work, 'carrier');
mkdirSync(join(carrier, 'bin'), { recursive: true });
const file = join(carrier, 'bin', basename(program));
cpSync(program, file);
chmodSync(file, 0o755);
write(carrier, { name: `${name}-${platform}`, version, description: `${name} for ${platform}`, license, repository, os: [os], cpu: [cpu], files: ['bin', 'LICENSE-*'] });

const whole = join(work, 'whole');
cpSync(folder, whole, { recursive: true });
if (!existsSync(join(whole, 'README.md'))) cpSync(join(folder, '../README.md'), join(whole, 'README.md'));
write(whole, { ...main, files: [...main.files, 'LICENSE-*'], optionalDependencies: Object.fromEntries(Object.keys(main.optionalDependencies).map((it) => [it, version])) });
for (const licence of ['LICENSE-MIT', 'LICENSE-APACHE']) for (const it of [carrier, whole]) cpSync(join(root, licence), join(it, licence));

for (const it of [carrier, whole]) {
    const packed = execFileSync('npm', ['pack', '--silent', '--pack-destination', resolve(into)], { cwd: it, encoding: 'utf8' });
    console.log(join(into, packed.trim().split('\n').at(-1)));
}

function write(at, content) {
    writeFileSync(join(at, 'package.json'), JSON.stringify(content, null, 4) + '\n');
}
