import { describe, expect, it } from 'vitest';
import type { Caller, Handle } from '../../contracts/ids.ts';
import { runMemoSchema } from '../../contracts/run.ts';
import {
  initialMemo,
  maxPromptBytes,
  spawnRequestSchema,
  summaryOf,
  toRunInput,
} from '../../mcp-server/runs/spawn-request.ts';
import { UserFault } from '../../mcp-server/runs/user-fault.ts';

const ann = { caller: 'ann' as Caller, classCeiling: null };

describe('a request to spawn', () => {
  it('becomes the input of a run, with the documented defaults', () => {
    expect(toRunInput(spawnRequestSchema.parse({ task: 'read' }), ann)).toEqual({
      task: 'read',
      model: null,
      class: 'interactive',
      tools: null,
      maxToolCalls: 8,
      maxTokens: 256,
      parallelToolCalls: false,
      approveTools: [],
      caller: 'ann',
    });
  });

  it.each(['interactive', 'batch', undefined] as const)(
    'of a caller that may only have batch runs is one, also when it asks for %s',
    (serviceClass) => {
      const request = spawnRequestSchema.parse({ task: 'read', serviceClass });
      expect(toRunInput(request, { ...ann, classCeiling: 'batch' }).class).toBe('batch');
    },
  );

  it('keeps all that is asked for', () => {
    const request = spawnRequestSchema.parse({
      task: 'read',
      model: 'm',
      serviceClass: 'batch',
      system: 's',
      maxToolCalls: 0,
      tools: [],
      maxTokens: 0,
      parallelToolCalls: true,
      approveTools: ['kit__lookup'],
      budgetTokens: 1_000,
      budgetSeconds: 60,
      requestId: 'r',
    });
    expect(toRunInput(request, ann, '00-ab')).toEqual({
      task: 'read',
      model: 'm',
      class: 'batch',
      system: 's',
      tools: [],
      maxToolCalls: 0,
      maxTokens: 0,
      parallelToolCalls: true,
      approveTools: ['kit__lookup'],
      budget: { tokens: 1_000, seconds: 60 },
      caller: 'ann',
      traceparent: '00-ab',
    });
  });

  it('is read as models write it', () => {
    const request = spawnRequestSchema.parse({
      task: 'read',
      maxToolCalls: '3',
      maxTokens: ' 64 ',
      parallelToolCalls: 'True',
      tools: '["a","b"]',
    });
    expect(request).toMatchObject({
      maxToolCalls: 3,
      maxTokens: 64,
      parallelToolCalls: true,
      tools: ['a', 'b'],
    });
    expect(spawnRequestSchema.parse({ task: 'read', tools: 'a' }).tools).toEqual(['a']);
  });

  it.each([
    { task: '' },
    {},
    { task: 'x', budget: 1 },
    { task: 'x', maxToolCalls: -1 },
    { task: 'x', maxTokens: 1.5 },
    { task: 'x', maxTokens: 'many' },
    { task: 'x', serviceClass: 'fast' },
    { task: 'x', requestId: '' },
  ])('is refused when it cannot be meant: %o', (request) => {
    expect(spawnRequestSchema.safeParse(request).success).toBe(false);
  });

  it('is refused in words when it is too large to be kept, counted in bytes', () => {
    const request = spawnRequestSchema.parse({ task: 'é'.repeat(maxPromptBytes / 2), system: 'x' });
    expect(() => toRunInput(request, ann)).toThrow(UserFault);
    expect(() => toRunInput(request, ann)).toThrow(/1048577 bytes/);
    // What Temporal keeps is JSON, in which such a character takes six bytes.
    const control = spawnRequestSchema.parse({ task: '\u0001'.repeat(200_000) });
    expect(() => toRunInput(control, ann)).toThrow(/1200000 bytes/);
  });
});

describe('the summary of a task', () => {
  it.each([
    ['read it', 'read it'],
    ['\n\n  first line \nsecond', 'first line'],
    ['x'.repeat(300), `${'x'.repeat(199)}…`],
    ['\u{1f600}'.repeat(201), `${'\u{1f600}'.repeat(199)}…`],
  ])('is its first line, cut at whole characters', (task, summary) => {
    expect(summaryOf(task)).toBe(summary);
  });
});

describe('the first memo of a run', () => {
  it('can be read before a worker has touched the run', () => {
    const handle = 'run_0123456789abcdefghijAB' as Handle;
    const memo = initialMemo(toRunInput({ task: 'read\nmore' }, ann), handle);
    expect(runMemoSchema.parse(memo)).toMatchObject({
      status: 'Running',
      summary: 'read',
      root: handle,
      caller: 'ann',
    });
  });
});
