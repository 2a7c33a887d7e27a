/**
 * Installs the npm packages of this checkout when they are missing or older than the lock file.
 * Plain JavaScript without imports from packages: it runs before there are any.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';

const oldestNode = [20, 19];

/** @param {string} root the checkout; exits the process with one line when packages cannot be had. */
export function ensurePackages(root) {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  if (major < oldestNode[0] || (major === oldestNode[0] && minor < oldestNode[1])) {
    stop(`fermata needs Node.js ${oldestNode.join('.')} or later; this is ${process.versions.node}.`);
  }
  const installed = join(root, 'node_modules', '.package-lock.json');
  if (
    existsSync(installed) &&
    statSync(installed).mtimeMs >= statSync(join(root, 'package-lock.json')).mtimeMs
  )
    return;
  process.stderr.write('fermata: installing npm packages (about half a minute, once) ...\n');
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
  const result = spawnSync(npm, ['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'pipe'],
    encoding: 'utf8',
    env: { ...process.env, NODE_ENV: 'development' },
  });
  if (result.error !== undefined) stop(`npm could not be started: ${result.error.message}`);
  if (result.status === 0) return;
  const said = (result.stderr ?? '').split('\n').find((line) => /npm error/i.test(line)) ?? 'no reason given';
  stop(`npm packages could not be installed (${said.trim()}); check the network and run it again.`);
}

/** @param {string} line */
function stop(line) {
  process.stderr.write(`fermata: ${line}\n`);
  process.exit(1);
}
