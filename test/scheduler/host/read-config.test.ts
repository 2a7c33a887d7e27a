import { describe, expect, it } from 'vitest';
import { parseConfig, readConfig } from '../../../scheduler/host/read-config.ts';

const faultsOf = (text: string): string => {
  try {
    parseConfig('fermata.yaml', text);
  } catch (error) {
    return (error as Error).message;
  }
  return 'no fault';
};

describe('a configuration file', () => {
  it('is read with its defaults filled in', () => {
    const config = parseConfig(
      'fermata.yaml',
      'pool:\n  - id: a\n    url: http://localhost:30000/\n    engine: sglang\ncallers: {farm: {weight: 2}}\n',
    );
    expect(config.pool[0]).toMatchObject({
      url: 'http://localhost:30000',
      kind: 'generative',
      healthPath: '/health',
    });
    expect(config.policy.maxHeld).toBe(100_000);
    expect(config.callers).toEqual({ farm: { weight: 2 } });
  });

  it.each([
    ['', 'fermata.yaml: pool: '],
    ['pool: []', 'fermata.yaml: pool: must name at least one replica'],
    ['pool: [{id: a, url: localhost}]', 'fermata.yaml: pool[0].url: must be an http:// or https:// address'],
    ['pool: [{id: a, url: "http://a", enginee: vllm}]', 'enginee'],
    ['pool:\n  - id: a\n   url: x\n', 'line '],
    ['pool: [{id: a, url: "http://a"}, {id: a, url: "http://b"}]', 'pool: two replicas have the same id'],
    ['- just\n- a list', 'fermata.yaml: '],
  ])('%j is refused with a line that says where', (text, expected) => {
    expect(faultsOf(text)).toContain(expected);
    expect(faultsOf(text)).not.toContain('no fault');
  });

  it('with two faults gets two lines', () => {
    const lines = faultsOf('pool: [{id: a, url: x}]\npolicy: {batchShare: 7}').split('\n');
    expect(lines).toHaveLength(2);
    expect(lines[1]).toContain('policy.batchShare');
  });

  it('that is not there is named', async () => {
    await expect(readConfig('/nowhere/fermata.yaml')).rejects.toThrow(
      '/nowhere/fermata.yaml: there is no such file',
    );
  });
});
