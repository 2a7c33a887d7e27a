import { describe, expect, it } from 'vitest';
import { parseConfig, readConfig } from '../../config/read-config.ts';

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
    ['pool: []', 'fermata.yaml: line 1, column 1: pool: must name at least one replica'],
    [
      'pool: [{id: a, url: localhost}]',
      'fermata.yaml: line 1, column 16: pool[0].url: must be an http:// or https:// address',
    ],
    [
      'pool:\n  - id: a\n    url: "http://a"\n    enginee: vllm\n',
      'line 4, column 5: pool[0]: Unrecognized key: "enginee"',
    ],
    ['pool:\n  - id: a\n', 'line 2, column 5: pool[0].url: '],
    ['x: &r {id: a, url: no}\npool: [*r]\n', 'line 1, column 15: pool[0].url: '],
    ['pool: [{id: a, url: "http://a"}]\npool: []\n', 'line 2, column 1: '],
    [
      `a: &a [1]\n${'bcdefghij'
        .split('')
        .map((name, index) => `${name}: &${name} [${`*${'abcdefghij'[index]},`.repeat(9)}]`)
        .join('\n')}`,
      'repeats parts of itself too often',
    ],
    [
      'pool: [{id: a, url: "http://a"}]\ntools: {mcpServers: {x: {comand: y}}}',
      'tools.mcpServers.x: must have either `command`',
    ],
    [
      'pool: [{id: a, url: "http://a"}]\ntools: {mcpServers: {x: {command: y, arg: []}}}',
      'line 2, column 38: tools.mcpServers.x: Unrecognized key: "arg"',
    ],
    [
      'pool: [{id: a, url: "http://a"}]\ntools: {mcpServers: {x: {url: y}}}',
      'tools.mcpServers.x.url: must be an http:// or https:// address',
    ],
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
    expect(lines[1]).toContain('line 2, column 10: policy.batchShare');
  });

  it('that is not YAML is not quoted: what stands in it may be a key', () => {
    expect(faultsOf('tools: {mcpServers: {}} sk-SECRET\n')).not.toContain('SECRET');
    expect(faultsOf('pool: [\n"sk-SECRET" "x"]')).not.toContain('SECRET');
  });

  it('that is not there is named', async () => {
    await expect(readConfig('/nowhere/fermata.yaml')).rejects.toThrow(
      '/nowhere/fermata.yaml: there is no such file',
    );
  });
});
