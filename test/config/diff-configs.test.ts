import { describe, expect, it } from 'vitest';
import { changeForLog, diffConfigs } from '../../config/diff-configs.ts';
import { configFileSchema, type ConfigFile } from '../../contracts/config-file.ts';

const a = { id: 'a', url: 'http://127.0.0.1:1' };
const b = { id: 'b', url: 'http://127.0.0.1:2' };
const config = (value: object): ConfigFile => configFileSchema.parse({ pool: [a], ...value });

describe('the difference of two configurations', () => {
  it('is nothing for the same, whether defaults are written or not', () => {
    const change = diffConfigs(config({}), config({ policy: { admission: 'residency', maxHeld: 100_000 } }));
    expect(change.sections).toEqual([]);
    expect(changeForLog(change)).toEqual({ changed: [] });
  });

  it('names replicas, tool servers and callers that came, changed and went', () => {
    const before = config({
      pool: [a, b],
      tools: { mcpServers: { files: { command: 'x' }, web: { url: 'http://127.0.0.1:3' } } },
      callers: { farm: { weight: 2 }, desk: {} },
    });
    const after = config({
      pool: [
        { ...a, maxConcurrent: 4 },
        { ...b, id: 'c' },
      ],
      tools: { mcpServers: { files: { command: 'y' }, wiki: { command: 'z' } } },
      callers: { farm: { weight: 2, maxRunning: 3 }, desk: {} },
    });
    expect(changeForLog(diffConfigs(before, after))).toEqual({
      changed: ['pool', 'tools', 'callers'],
      pool: { added: ['c'], changed: ['a'], removed: ['b'] },
      toolServers: { added: ['wiki'], changed: ['files'], removed: ['web'] },
      callers: { changed: ['farm'] },
    });
  });

  it('tells a pool in another order, which breaks ties of placement', () => {
    const change = diffConfigs(config({ pool: [a, b] }), config({ pool: [b, a] }));
    expect(changeForLog(change)).toEqual({ changed: ['pool'] });
  });

  it('names settings of the policy, nested ones by their first name', () => {
    const change = diffConfigs(
      config({}),
      config({ policy: { batchShare: 0.2, pauseReservationMs: { batch: 1 } } }),
    );
    expect(change.sections).toEqual(['policy']);
    expect(change.policy.toSorted()).toEqual(['batchShare', 'pauseReservationMs']);
  });

  it('takes names for names that objects have anyway', () => {
    const change = diffConfigs(config({}), config({ callers: { constructor: { weight: 3 } } }));
    expect(change.callers.added).toEqual(['constructor']);
  });
});
