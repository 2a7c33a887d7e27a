import { describe, expect, it } from 'vitest';
import { readWrkReport, wrkScript, type WrkOrder } from '../../../bench/overhead-outside/wrk-script.ts';
import { bodyMaker } from '../../../bench/overhead/request-bodies.ts';

const order: WrkOrder = {
  url: 'http://127.0.0.1:1',
  model: 'bench-burst',
  stream: true,
  maxTokens: 3,
  connections: 20,
  ratePerSecond: 200,
  seconds: 1,
  window: 7,
};

describe('the script for wrk', () => {
  it('has the body of the overhead bench around a name of its own for each request', () => {
    const script = wrkScript(order);
    const [, before = '', after = ''] =
      /local before = \[==\[(.*)\]==\]\nlocal after = \[==\[(.*)\]==\]/.exec(script) ?? [];
    const body = bodyMaker({ model: 'bench-burst', stream: true, maxTokens: 3 })('0000000070000001').toString(
      'utf8',
    );
    expect(`${before}0000000070000001${after}`).toBe(body);
    expect(script).toContain('string.format("%016d", 7 * 10000000 + sent)');
  });

  it('waits between requests only when there is a rate', () => {
    expect(wrkScript(order)).toContain(
      'delay = function() return math.floor(-math.log(1 - math.random()) * 100 + 0.5) end',
    );
    expect(wrkScript({ ...order, ratePerSecond: null })).not.toContain('delay');
  });
});

describe('the report of wrk', () => {
  it('is the last line of its kind', () => {
    const output = `Running 1s test\n{"requests": 199, "durationUs": 1000000, "p50Us": 360, "p90Us": 500, "p99Us": 2500, "failed": 1}\n`;
    expect(readWrkReport(output)).toEqual({
      requests: 199,
      failed: 1,
      requestsPerSecond: 199,
      p50Ms: 0.36,
      p90Ms: 0.5,
      p99Ms: 2.5,
    });
  });

  it('is asked for: what wrk says instead is an error', () => {
    expect(() => readWrkReport('unable to connect to 127.0.0.1:1')).toThrow('unable to connect');
  });
});
