import { describe, expect, it } from 'vitest';
import type { Caller } from '../../contracts/ids.ts';
import { handlePattern } from '../../contracts/run-names.ts';
import { runInputSchema } from '../../contracts/run.ts';
import { handleFor, newHandle, requestHash } from '../../mcp-server/runs/handles.ts';

const ann = 'ann' as Caller;
const bob = 'bob' as Caller;

describe('handles', () => {
  it('have the shape of a handle, and are never the same twice', () => {
    const handles = Array.from({ length: 1_000 }, () => newHandle());
    expect(handles.filter((handle) => !handlePattern.test(handle))).toEqual([]);
    expect(new Set(handles).size).toBe(1_000);
  });

  it('use the whole alphabet in every place', () => {
    const handles = Array.from({ length: 3_000 }, () => newHandle().slice(4));
    for (let place = 0; place < 22; place += 1) {
      expect(new Set(handles.map((handle) => handle.charAt(place))).size).toBe(62);
    }
  });

  it('are the same for the same caller and request id, on every machine and in every release', () => {
    expect(handleFor(ann, 'task-1')).toBe(handleFor(ann, 'task-1'));
    // Pinned: another derivation would start a second run for a start that is repeated across a release.
    expect(handleFor(ann, 'task-1')).toBe('run_kaAjGR10wczRiO98ZTg8y0');
  });

  it('differ by caller and by request id, however the two are put together', () => {
    const handles = [
      handleFor(ann, 'task-1'),
      handleFor(bob, 'task-1'),
      handleFor(ann, 'task-2'),
      handleFor('a' as Caller, 'bc'),
      handleFor('ab' as Caller, 'c'),
    ];
    expect(new Set(handles).size).toBe(handles.length);
    expect(handles.filter((handle) => !handlePattern.test(handle))).toEqual([]);
  });
});

describe('the hash of a request', () => {
  const base = { task: 'read', caller: ann };
  const hash = (over: Record<string, unknown>) => requestHash(runInputSchema.parse({ ...base, ...over }));

  it.each([
    { task: 'write' },
    { model: 'm' },
    { class: 'batch' },
    { system: 's' },
    { system: '' },
    { tools: [] },
    { tools: ['a'] },
    { maxToolCalls: 1 },
    { maxTokens: 1 },
    { parallelToolCalls: true },
    { approveTools: ['a'] },
    { budget: { tokens: 1 } },
    { budget: { toolCalls: 1 } },
    { budget: { seconds: 1 } },
  ])('changes with what is asked for: %o', (over) => {
    expect(hash(over)).not.toBe(hash({}));
  });

  it('changes with the run that it belongs to', () => {
    const input = runInputSchema.parse(base);
    expect(requestHash(input, handleFor(ann, 'parent'))).not.toBe(requestHash(input));
  });

  it('does not change with who asks and how it is traced', () => {
    expect(hash({ caller: bob, traceparent: '00-1' })).toBe(hash({}));
  });
});
