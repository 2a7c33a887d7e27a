/** `npm run release -- VERSION [--dry-run] [--image NAME] [--date YYYY-MM-DD] [--branch NAME]`. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { release, ReleaseFault } from './release.ts';

const root = resolve(import.meta.dirname, '..', '..');
const serverSchema = z.object({ packages: z.array(z.object({ identifier: z.string() })).min(1) });

/** The image that server.json names, so that both stay one. */
function imageOfServer(): string {
  const server = serverSchema.parse(JSON.parse(readFileSync(join(root, 'server.json'), 'utf8')));
  return (server.packages[0]?.identifier ?? '').replace(/:[^:/]*$/, '');
}

try {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      'dry-run': { type: 'boolean', default: false },
      image: { type: 'string' },
      date: { type: 'string' },
      branch: { type: 'string', default: 'main' },
    },
  });
  const [version, ...rest] = positionals;
  if (version === undefined || rest.length > 0) {
    throw new ReleaseFault(
      'usage: npm run release -- VERSION [--dry-run] [--image NAME] [--date YYYY-MM-DD]',
    );
  }
  release(
    {
      version,
      date: values.date ?? new Date().toISOString().slice(0, 10),
      dryRun: values['dry-run'],
      image: values.image ?? imageOfServer(),
      branch: values.branch,
    },
    {
      root,
      say: (line) => console.log(line),
      run: (command, args) => {
        const done = spawnSync(command, args, { cwd: root, encoding: 'utf8', maxBuffer: 64 * 1_048_576 });
        return done.error === undefined
          ? { code: done.status ?? 1, output: `${done.stdout}${done.stderr}` }
          : null;
      },
    },
  );
} catch (error) {
  console.error(`release: ${error instanceof Error ? error.message : String(error)}`);
  process.exit(1);
}
