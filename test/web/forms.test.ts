import { describe, expect, it } from 'vitest';
import { spawnRequestSchema } from '../../mcp-server/runs/spawn-request.ts';
import { faultsOf } from '../../web/model/config-faults.ts';
import { joined } from '../../web/model/live-text.ts';
import { emptyForm, newRequestId, spawnBody } from '../../web/model/spawn-form.ts';

describe('the form that starts a run', () => {
  it('sends what is filled in, in the words of the server, and leaves the rest to its defaults', () => {
    expect(spawnBody({ ...emptyForm, task: 'Go.' }, null, 'r1')).toEqual({
      task: 'Go.',
      requestId: 'r1',
      serviceClass: 'interactive',
    });
    const body = spawnBody(
      {
        task: 'Go.',
        system: 'Be brief.',
        model: 'm',
        serviceClass: 'batch',
        tools: [],
        approveTools: ['a'],
        maxToolCalls: '0',
        maxTokens: '9',
        budgetTokens: '100',
        budgetToolCalls: '3',
        budgetSeconds: '60',
        parallelToolCalls: true,
      },
      'run_0000000000000000000000',
      'r2',
    );
    expect(spawnRequestSchema.parse(body)).toEqual({
      task: 'Go.',
      requestId: 'r2',
      system: 'Be brief.',
      model: 'm',
      serviceClass: 'batch',
      tools: [],
      approveTools: ['a'],
      maxToolCalls: 0,
      maxTokens: 9,
      budgetTokens: 100,
      budgetToolCalls: 3,
      budgetSeconds: 60,
      parallelToolCalls: true,
      parent: 'run_0000000000000000000000',
    });
  });

  it('has another id for each request', () => {
    const ids = Array.from({ length: 50 }, newRequestId);
    expect(new Set(ids).size).toBe(50);
    expect(ids[0]).toMatch(/^page-[0-9a-f]{32}$/);
  });
});

describe('the text of a turn at work', () => {
  const live = { turn: 1, phase: 'writing' as const, offset: 0, text: 'He', calls: [] };

  it('grows by what comes after it', () => {
    const first = joined(null, live);
    expect(joined(first, { ...live, offset: 2, text: 'ron' })).toMatchObject({ turn: 1, text: 'Heron' });
  });

  it('begins anew with another turn, and when the same one is tried again', () => {
    const first = joined(null, live);
    expect(joined(first, { ...live, turn: 2, text: 'Egret' }).text).toBe('Egret');
    expect(joined(first, { ...live, text: 'Stork' }).text).toBe('Stork');
  });

  it('keeps the end of what is longer than a page can hold', () => {
    const long = joined(null, { ...live, text: 'x'.repeat(199_999) });
    const { text } = joined(long, { ...live, offset: 199_999, text: 'END' });
    expect([text.length, text.endsWith('xEND')]).toEqual([200_000, true]);
  });
});

describe('what is wrong with the configuration', () => {
  const loadedAt = '2026-01-01T00:00:00Z';
  const fault = { since: loadedAt, lines: ['line 1: pool: bad'] };

  it('is shown once, however many services read the same file', () => {
    const config = { source: 'fermata.yaml', loadedAt, fault };
    const services = [
      { service: 'scheduler' as const, config },
      { service: 'mcp-server' as const, config: { ...config } },
    ];
    expect(faultsOf({ services })).toEqual([{ file: 'fermata.yaml', lines: fault.lines }]);
  });

  it('is nothing when all is well or nobody tells', () => {
    const config = { source: null, loadedAt, fault: null };
    expect(
      faultsOf({
        services: [
          { service: 'scheduler', config: null },
          { service: 'mcp-server', config },
        ],
      }),
    ).toEqual([]);
  });
});
