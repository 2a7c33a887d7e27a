import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ToolRegistry } from '../../../activities/tool-servers/tool-registry.ts';
import { caseFile } from '../../case-file.ts';
import { call, failureOf, noSignal, tool, useScriptedServers } from './scripted-servers.ts';

const { config: scripted, open, sent } = useScriptedServers();
const version = (name: string, number: number) => tool(name, { description: `v${number}` });
const shown = async (registry: ToolRegistry): Promise<string[]> => {
  const { tools } = await registry.list(null, noSignal);
  return tools.map(({ serverTool, description }) => `${serverTool} ${description}`.trim());
};

/** Lists again and again until the server was asked `times` times; resolves with what every listing gave. */
async function listUntilAsked(registry: ToolRegistry, times: number): Promise<string[][]> {
  const listings: Promise<string[]>[] = [];
  await expect
    .poll(
      () => {
        listings.push(shown(registry));
        return sent('tools/list').length;
      },
      { timeout: 10_000, interval: 20 },
    )
    .toBeGreaterThanOrEqual(times);
  return await Promise.all(listings);
}

const m08 = caseFile('M08');
describe(`${m08.id} ${m08.title}`, () => {
  const { tools_after: after, list_requests_for_burst_max: most } = m08.expect as {
    tools_after: string[];
    list_requests_for_burst_max: number;
  };
  const lists = [
    { tools: [version('alpha', 1)], notices: 10 },
    { tools: [version('alpha', 1), tool('gone')], hold: true, notices: 1 },
    { tools: [version('alpha', 2), tool('beta')], release: true },
  ];

  it('shows the newest list, asks at most twice for a burst, and refuses a tool that is gone', async () => {
    const registry = open({ s: scripted({ lists, declaresChanges: true }) });
    const listings = await listUntilAsked(registry, 3);
    expect(await shown(registry)).toEqual(after);
    expect(listings.flat()).not.toContain('gone');
    expect(sent('tools/list').length - 1).toBeLessThanOrEqual(most);
    const failure = await failureOf(registry.call('s', call('gone'), noSignal));
    expect(failure).toMatchObject({ outcome: 'refused' });
    for (const name of ['alpha', 'beta']) expect(failure.message).toContain(name);
    expect(sent('tools/call')).toHaveLength(0);
  });

  it('never shows an older list after a newer one, whatever is held back and announced', async () => {
    const step = fc.record({ hold: fc.boolean(), notices: fc.integer({ min: 1, max: 6 }) });
    const scripts = fc.sample(fc.array(step, { minLength: 2, maxLength: 5 }), { numRuns: 6, seed: 8 });
    for (const steps of scripts) {
      const asked = sent('tools/list').length;
      const script = [
        ...steps.map(({ hold, notices }, index) => ({
          tools: [version('t', index)],
          hold,
          release: !hold,
          notices,
        })),
        { tools: [version('t', steps.length)], release: true },
      ];
      const registry = open({ s: scripted({ lists: script, declaresChanges: true }) });
      const listings = await listUntilAsked(registry, asked + script.length);
      const numbers = listings.map(([only]) => Number(only?.slice('t v'.length)));
      expect(await shown(registry)).toEqual([`t v${steps.length}`]);
      expect(numbers.at(-1)).toBe(steps.length);
      expect(sent('tools/list')).toHaveLength(asked + script.length);
    }
  });

  it('is asked for by all who need it at the same time in one request', async () => {
    const registry = open({ s: scripted({ tools: [tool('a')] }) });
    const listings = await Promise.all(Array.from({ length: 16 }, async () => await shown(registry)));
    expect(listings).toEqual(listings.map(() => ['a']));
    expect(sent('tools/list')).toHaveLength(1);
  });

  it('is read again after the server was started anew', async () => {
    const script = { tools: [tool('a')], declaresChanges: true, onCall: { a: { exit: true } } };
    const registry = open({ s: scripted(script) });
    await shown(registry);
    await failureOf(registry.call('s', call('a'), noSignal));
    await shown(registry);
    expect(sent('initialize')).toHaveLength(2);
    expect(sent('tools/list')).toHaveLength(2);
  });
});

const m06 = caseFile('M06');
describe(`${m06.id} ${m06.title}`, () => {
  const pages = m06.given['pages_by_cursor'] as Readonly<Record<string, object>>;

  it('reads every page once', async () => {
    const { tools, warnings } = await open({ s: scripted({ pages }) }).list(null, noSignal);
    expect(tools).toHaveLength(m06.expect['tool_count'] as number);
    expect(tools.at(-1)?.serverTool).toBe(m06.expect['last_tool']);
    expect(sent('tools/list')).toHaveLength(m06.expect['requests'] as number);
    expect(warnings).toEqual([]);
  });

  it('reads pages of any sizes under any cursors', async () => {
    const cursor = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 30 });
    const sizes = fc.array(fc.tuple(cursor, fc.nat({ max: 4 })), { minLength: 1, maxLength: 8 });
    for (const given of fc.sample(sizes, { numRuns: 6, seed: 6 })) {
      const before = sent('tools/list').length;
      const unique = [...new Map(given)];
      const names = unique.map(([, size], page) =>
        Array.from({ length: size }, (_u, at) => `t${page}_${at}`),
      );
      const script = Object.fromEntries(
        unique.map(([, _size], page) => [
          page === 0 ? '' : (unique[page]?.[0] ?? ''),
          { tools: names[page]?.map((name) => tool(name)), nextCursor: unique[page + 1]?.[0] ?? null },
        ]),
      );
      const { tools, warnings } = await open({ s: scripted({ pages: script }) }).list(null, noSignal);
      expect(tools.map(({ serverTool }) => serverTool)).toEqual(names.flat());
      expect(warnings).toEqual([]);
      expect(sent('tools/list')).toHaveLength(before + unique.length);
    }
  });

  it.each([
    ['pages that never end', { endlessPages: true }, 100, 100, 'more than 100 pages'],
    ['more tools than any run can use', { manyTools: 2_500 }, 2_000, 1, 'more than 2000 tools'],
  ])('stops with a warning at %s', async (_what, script, count, requests, warning) => {
    const { tools, warnings } = await open({ s: scripted(script) }).list(null, noSignal);
    expect(tools).toHaveLength(count);
    expect(warnings).toEqual([expect.stringContaining(warning)]);
    expect(sent('tools/list')).toHaveLength(requests);
  });

  it('leaves out only the tools that cannot be read', async () => {
    const tools = [
      { name: 'no-schema' },
      { name: 'odd-hints', inputSchema: { type: 'object' }, annotations: { readOnlyHint: 'yes' } },
      { inputSchema: {} },
      'nothing',
    ];
    const listing = await open({ s: scripted({ tools }) }).list(null, noSignal);
    expect(
      listing.tools.map(({ serverTool, inputSchema, annotations }) => [serverTool, inputSchema, annotations]),
    ).toEqual([
      ['no-schema', { type: 'object' }, {}],
      ['odd-hints', { type: 'object' }, {}],
    ]);
    expect(listing.warnings).toEqual([expect.stringContaining('2 of its tools')]);
  });
});
