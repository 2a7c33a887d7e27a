import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { renderResult } from '../../../activities/tool-calls/render-result.ts';
import type { ToolServers } from '../../../contracts/config-file.ts';
import { caseFile } from '../../case-file.ts';
import { call, noSignal, tool, useScriptedServers } from './scripted-servers.ts';

const { config: scripted, open, sent, worker } = useScriptedServers();
type Pair = readonly [server: string, tool: string];

/** A server for each name, in the order of the pairs, each with its tools. */
function serversOf(pairs: readonly Pair[]): ToolServers {
  const names = [...new Set(pairs.map(([server]) => server))];
  return Object.fromEntries(
    names.map((server) => {
      const tools = pairs.filter(([owner]) => owner === server).map(([, name]) => tool(name));
      const onCall = Object.fromEntries(tools.map(({ name }) => [name, { resultAfterMs: 0 }]));
      return [server, scripted({ tools, onCall })];
    }),
  );
}

/** Which pair each name stands for, as a worker with these servers lists them. */
async function namesOf(pairs: readonly Pair[]): Promise<Record<string, string>> {
  const registry = open(serversOf(pairs));
  const { tools, warnings } = await registry.list(null, noSignal);
  expect(warnings).toEqual([]);
  await registry.close();
  return Object.fromEntries(
    tools.map(({ name, server, serverTool }) => [name, JSON.stringify([server, serverTool])]),
  );
}

const m09 = caseFile('M09');
describe(`${m09.id} ${m09.title}`, () => {
  const pairs = m09.given['pairs'] as readonly Pair[];
  const pattern = new RegExp(m09.expect['pattern'] as string);

  it('names the tools of real servers alike in every order, and calls the right one by each name', async () => {
    const listed = await namesOf(pairs);
    expect(Object.keys(listed)).toHaveLength(m09.expect['count'] as number);
    for (const name of Object.keys(listed)) expect(name).toMatch(pattern);
    expect(await namesOf(pairs.toReversed())).toEqual(listed);
    expect(await namesOf(pairs.toSorted((a, b) => (a.join() < b.join() ? -1 : 1)))).toEqual(listed);
    const registry = open(serversOf(pairs));
    const { tools } = await registry.list(null, noSignal);
    for (const { server, serverTool } of tools) await registry.call(server, call(serverTool), noSignal);
    const called = sent('tools/call').map(({ params }) => params?.name);
    expect(new Set(called)).toEqual(new Set(pairs.map(([, name]) => name)));
    expect(called).toHaveLength(pairs.length);
  });

  it('does so for any servers and tools', async () => {
    const server = fc.stringMatching(/^[A-Za-z0-9_.-]{1,64}$/).filter((name) => name !== '__proto__');
    const name = fc.oneof(
      fc.string({ unit: 'grapheme', minLength: 1, maxLength: 80 }),
      fc.stringMatching(/^[a_]{1,6}$/),
    );
    const tools = fc.uniqueArray(name, { minLength: 1, maxLength: 6 });
    const generated = fc.uniqueArray(fc.tuple(server, tools), {
      selector: ([owner]) => owner,
      minLength: 2,
      maxLength: 3,
    });
    for (const owners of fc.sample(generated, { numRuns: 5, seed: 9 })) {
      const some = owners.flatMap(([owner, names]) => names.map((one): Pair => [owner, one]));
      const listed = await namesOf(some);
      expect(Object.keys(listed)).toHaveLength(some.length);
      for (const one of Object.keys(listed)) expect(one).toMatch(pattern);
      expect(await namesOf(some.toReversed())).toEqual(listed);
    }
  });
});

interface Expected {
  readonly model_sees?: string;
  readonly model_sees_once?: string;
  readonly tool_error?: boolean;
  readonly warning?: boolean;
}

const m10 = caseFile('M10');
describe(`${m10.id} ${m10.title}`, () => {
  const outputSchema = m10.given['outputSchema'];
  const results = m10.given['results'] as Readonly<Record<string, object>>;
  const expected = m10.expect as Readonly<Record<string, Expected>>;
  const faults = (): string[] =>
    worker()
      .filter(({ msg }) => msg === 'a tool breaks its own output schema')
      .map((line) => String(line['tool']));

  it.each(Object.keys(results))('%s', async (name) => {
    const registry = open({
      s: scripted({
        tools: [tool(name, { outputSchema })],
        onCall: { [name]: { result: results[name] } },
      }),
    });
    await registry.list(null, noSignal);
    const { content, failed } = renderResult(await registry.call('s', call(name), noSignal));
    const { model_sees: sees, model_sees_once: once, tool_error: isError, warning } = expected[name] ?? {};
    expect(content).toContain(sees ?? once);
    expect(content.split(once ?? content)).toHaveLength(2);
    expect(failed).toBe(isError === true);
    expect(faults()).toEqual(warning === true ? [name] : []);
  });

  it('holds whatever the structured output is, and is told once a tool', async () => {
    const values = fc.oneof(
      fc.record({ temp: fc.double({ noNaN: true, noDefaultInfinity: true }) }),
      fc.dictionary(fc.string({ maxLength: 8 }), fc.jsonValue({ maxDepth: 1 }), { maxKeys: 3 }),
    );
    const some = fc.sample(values, { numRuns: 20, seed: 10 });
    const fits = (value: object): boolean =>
      Object.keys(value).join() === 'temp' && typeof (value as { temp: unknown }).temp === 'number';
    const tools = some.map((_value, index) => tool(`t${index}`, { outputSchema }));
    const onCall = Object.fromEntries(
      some.map((structuredContent, index) => [
        `t${index}`,
        { result: { content: [{ type: 'text', text: 'as text' }], structuredContent } },
      ]),
    );
    const registry = open({ s: scripted({ tools, onCall, declaresChanges: true }) });
    await registry.list(null, noSignal);
    for (const { name } of [...tools, ...tools]) {
      const result = renderResult(await registry.call('s', call(name), noSignal));
      expect(result).toEqual({ content: 'as text', failed: false });
    }
    expect(faults()).toEqual(some.flatMap((value, index) => (fits(value) ? [] : [`t${index}`])));
  });
});
