/**
 * `npm start`: installs what is missing, then becomes `fermata up`. Signals go to the one child, which
 * stops everything in order; this process ends when that one has.
 */
import { spawn } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensurePackages } from './ensure-packages.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
ensurePackages(root);

const child = spawn(
  process.execPath,
  [
    // Short-lived objects of many turns at once fit in: fewer of them are moved, and fewer times.
    '--max-semi-space-size=64',
    '--min-semi-space-size=32',
    '--import',
    'tsx',
    join(root, 'cli', 'main.ts'),
    'up',
    ...process.argv.slice(2),
  ],
  {
    cwd: root,
    stdio: 'inherit',
  },
);
// A terminal sends Ctrl-C to the whole group, npm passes SIGTERM on to this process only.
process.on('SIGINT', () => {});
process.on('SIGTERM', () => child.kill('SIGTERM'));
process.on('SIGHUP', () => child.kill('SIGTERM'));
child.on('exit', (code, signal) => process.exit(code ?? (signal === null ? 1 : 128 + 15)));
