/**
 * `npm start`: installs what is missing, then becomes `fermata up`. Signals go to the one child, which
 * stops everything in order; this process ends when that one has.
 */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensurePackages } from './ensure-packages.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
/** @type {string[]} */
const nodeFlags = JSON.parse(readFileSync(join(root, 'cli', 'node-flags.json'), 'utf8'));
ensurePackages(root);

const child = spawn(
  process.execPath,
  [...nodeFlags, '--import', 'tsx', join(root, 'cli', 'main.ts'), 'up', ...process.argv.slice(2)],
  {
    cwd: root,
    stdio: 'inherit',
  },
);
// A terminal sends Ctrl-C to the whole group. npm passes SIGTERM on to the shell that it starts, and no shell passes
// anything on: so the script of package.json is `exec`, and this process is in the shell's place.
process.on('SIGINT', () => {});
process.on('SIGTERM', () => child.kill('SIGTERM'));
process.on('SIGHUP', () => child.kill('SIGTERM'));
child.on('exit', (code, signal) => process.exit(code ?? (signal === null ? 1 : 128 + 15)));
