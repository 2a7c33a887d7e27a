import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkClocks } from '../../../cli/doctor/clock-check.ts';
import { checkNode, judgeSpace } from '../../../cli/doctor/local-checks.ts';
import { wantedNode } from '../../../cli/verbs/doctor.ts';

describe('Node.js', () => {
  it('is wanted as new by the package, by doctor and by what stands before both', () => {
    const read = (name: string): string =>
      readFileSync(resolve(import.meta.dirname, '..', '..', '..', name), 'utf8');
    const [major = '', minor = ''] = wantedNode.split('.');
    expect(JSON.parse(read('package.json')).engines.node).toBe(`>=${wantedNode}`);
    expect(read('bin/fermata.mjs')).toContain(`version[0] === ${major} && version[1] < ${minor}`);
  });

  it.each(['20.19.0', '20.20.2', '22.0.0', '24.1.0'])('%s will do', (version) =>
    expect(checkNode(version, '20.19').level).toBe('ok'),
  );
  it.each(['18.20.4', '20.18.9', '8.0.0'])('%s is too old', (version) =>
    expect(checkNode(version, '20.19')).toMatchObject({
      level: 'fault',
      says: `Node.js ${version} is too old`,
      remedy: expect.stringContaining('20.19 or later'),
    }),
  );
});

describe('a disk', () => {
  const mib = 1_024 * 1_024;
  it.each([
    [0, 'fault'],
    [199, 'fault'],
    [200, 'warning'],
    [1_023, 'warning'],
    [1_024, 'ok'],
  ] as const)('with %d MiB left is a %s', (free, level) =>
    expect(judgeSpace('/data', free * mib).level).toBe(level),
  );
});

describe('clocks', () => {
  it('may differ by what a header with whole seconds cannot tell', () => {
    expect(checkClocks([{ whose: 'a', skewMs: 1_400 }])).toMatchObject([{ level: 'ok' }]);
    expect(checkClocks([])).toEqual([]);
  });

  it('are named where they do not agree, with which way and how much', () => {
    const found = checkClocks([
      { whose: 'engine a', skewMs: 90_000 },
      { whose: 'proxy', skewMs: -7_000 },
      { whose: 'engine b', skewMs: 0 },
    ]);
    expect(found.map(({ says }) => says)).toEqual([
      "the clock of engine a is 90 s ahead of this machine's",
      "the clock of proxy is 7 s behind this machine's",
    ]);
  });
});
