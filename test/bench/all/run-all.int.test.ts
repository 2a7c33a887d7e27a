/** Real processes that stand for benchmarks: one that writes a result, one that breaks, one that never ends. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Entry } from '../../../bench/all/plan.ts';
import { runAll } from '../../../bench/all/run-all.ts';

let resultsDir = '';
beforeAll(async () => {
  resultsDir = await mkdtemp(join(tmpdir(), 'fermata-all-'));
});
afterAll(async () => {
  await rm(resultsDir, { recursive: true, force: true });
});

const report = {
  bars: [{ name: 'p50 ms', value: 0.5, op: '<=', limit: 1, ok: true }],
  context: { date: '2100-01-01T00:00:00Z', node: 'v20', packages: { rival: '1.2.3' } },
};

function scriptOf(name: string): string {
  const write = (content: object): string =>
    `require('fs').writeFileSync(${JSON.stringify(join(resultsDir, `${name}.json`))}, ${JSON.stringify(JSON.stringify(content))});`;
  switch (name) {
    case 'good':
      return write(report);
    case 'old':
      return write({ ...report, context: { ...report.context, date: '2000-01-01T00:00:00Z' } });
    case 'broken':
      return `console.error('SetupFault: the rival could not be fetched'); process.exit(1)`;
    default:
      return `setInterval(() => {}, 1_000)`;
  }
}

function entry(name: string, shareSeconds: number): Entry {
  return { name, script: 'bench', words: [name], shareSeconds };
}

async function all(...entries: Entry[]): Promise<{ code: number; table: string }> {
  let table = '';
  const code = await runAll(entries, {
    environment: process.env,
    resultsDir,
    progress: () => {},
    print: (text) => {
      table += text;
    },
    processOf: ({ name }) => ({ command: process.execPath, args: ['-e', scriptOf(name)] }),
  });
  return { code, table };
}

it('goes on after benchmarks that break, hang or write nothing new, and then exits 1', async () => {
  // The one that hangs ends at its limit; the others must not need it.
  const { code, table } = await all(
    entry('hanging', 0.2),
    entry('broken', 60),
    entry('old', 60),
    entry('good', 60),
  );
  expect(code).toBe(1);
  expect(table).toMatch(/hanging gave a result \| stopped after its 0 s .*missed/);
  expect(table).toMatch(
    /broken gave a result \| ended with 1 and no result: SetupFault: the rival could not be fetched .*missed/,
  );
  expect(table).toMatch(/old gave a result \| ended with 0 and no result/);
  expect(table).toMatch(/good p50 ms \| 0\.5 \|  \| <= 1 \| ok/);
  expect(table).toContain('Measured against rival 1.2.3.');
  expect(await readFile(join(resultsDir, 'all.md'), 'utf8')).toBe(table.slice(0, -1));
});

it('exits 0 when every bar is met', async () => {
  expect((await all(entry('good', 60))).code).toBe(0);
});
