import { describe, expect, it } from 'vitest';
import { toolServerSchema } from '../../../contracts/config-file.ts';
import { caseFile } from '../../case-file.ts';
import { call, failureOf, noSignal, useScriptedServers } from './scripted-servers.ts';

const { config: scripted, open, logged, sent } = useScriptedServers();

interface TimedCall {
  readonly name: string;
  readonly progress_every_s: number | null;
  readonly result_at_s: number | null;
}

/** Real time is a sixtieth of the case's. */
const real = (seconds: number): number => Math.round((seconds * 1_000) / 60);

const m03 = caseFile('M03');
describe(`${m03.id} ${m03.title}`, () => {
  const { idle_s: idle, absolute_s: total } = m03.given['limits'] as { idle_s: number; absolute_s: number };
  const calls = m03.given['calls'] as readonly TimedCall[];
  const outcomes = m03.expect as Readonly<Record<string, { readonly error_at_s?: number }>>;

  it('has these limits unless a server is given others', () => {
    const limits = toolServerSchema.parse({ command: 'x' });
    expect([limits.idleTimeoutMs, limits.totalTimeoutMs]).toEqual([idle * 1_000, total * 1_000]);
  });

  it('lives on while progress comes, and ends at either limit with a word to the server', async () => {
    const onCall = Object.fromEntries(
      calls.map(({ name, progress_every_s: every, result_at_s: at }) => [
        name,
        {
          ...(every === null ? {} : { progressEveryMs: real(every) }),
          ...(at === null ? {} : { resultAfterMs: real(at) }),
        },
      ]),
    );
    const limits = { idleTimeoutMs: real(idle), totalTimeoutMs: real(total) };
    const registry = open({ s: scripted({ onCall }, limits) });
    const startedMs = performance.now();
    const ends = await Promise.all(
      calls.map(async ({ name }) => {
        const end = await registry.call('s', call(name), noSignal).then(
          (result) => ({ text: JSON.stringify(result.content) }),
          (error: Error) => ({ error: error.message }),
        );
        return { name, afterMs: performance.now() - startedMs, ...end };
      }),
    );
    for (const end of ends) {
      const errorAt = outcomes[end.name]?.error_at_s;
      const request = sent('tools/call').find(({ params }) => params?.name === end.name);
      expect(request?.params?._meta?.['progressToken']).toBeDefined();
      const told = (): number =>
        sent('notifications/cancelled').filter(({ params }) => params?.requestId === request?.id).length;
      const says = errorAt === undefined ? '"ok"' : 'was told to stop';
      expect(JSON.stringify(end).replaceAll('\\"', '"')).toContain(says);
      expect(end.afterMs).toBeGreaterThanOrEqual(real(errorAt ?? 0) - 20);
      await expect.poll(told).toBe(errorAt === undefined ? 0 : 1);
    }
  });

  it('gives a list a progress token and its limits too', async () => {
    const limits = { idleTimeoutMs: 300, totalTimeoutMs: 60_000 };
    const registry = open({ s: scripted({ silent: ['tools/list'] }, limits) });
    const { warnings } = await registry.list(null, noSignal);
    expect(warnings).toHaveLength(1);
    const [list] = sent('tools/list');
    expect(list?.params?._meta?.['progressToken']).toBeDefined();
    await expect
      .poll(() => sent('notifications/cancelled').map(({ params }) => params?.requestId))
      .toContain(list?.id);
  });
});

describe('a server that is stuck', () => {
  it('is replaced once it was silent under a call and does not answer a ping', async () => {
    const onCall = { stuck: { block: true }, live: { resultAfterMs: 0 } };
    const registry = open({ s: scripted({ onCall }, { idleTimeoutMs: 300 }) });
    expect(await failureOf(registry.call('s', call('stuck'), noSignal))).toMatchObject({
      outcome: 'unknown',
    });
    await expect
      .poll(
        async () =>
          await registry.call('s', call('live'), noSignal).then(
            () => 'answered',
            () => 'failed',
          ),
        { timeout: 20_000 },
      )
      .toBe('answered');
    expect(logged().filter(({ started }) => started !== undefined)).toHaveLength(2);
    expect(sent('tools/call').filter(({ params }) => params?.name === 'stuck')).toHaveLength(1);
  });

  it('that was only slow is kept', async () => {
    const registry = open({
      s: scripted({ onCall: { slow: {}, live: { resultAfterMs: 0 } } }, { idleTimeoutMs: 200 }),
    });
    await failureOf(registry.call('s', call('slow'), noSignal));
    await expect.poll(() => sent('ping')).toHaveLength(1);
    await registry.call('s', call('live'), noSignal);
    expect(logged().filter(({ started }) => started !== undefined)).toHaveLength(1);
  });
});

describe('what a server asks of its client', () => {
  it('is answered always, whatever it is, and the call goes on', async () => {
    const ask = [
      { id: 'a', method: 'ping' },
      { id: 0, method: 'roots/list' },
      { id: 1, method: 'sampling/createMessage', params: { messages: [], maxTokens: 5 } },
      {
        id: 2,
        method: 'elicitation/create',
        params: { message: 'Who?', requestedSchema: { type: 'object' } },
      },
      { id: 3, method: 'vendor/unheard-of', params: { deep: { of: ['it'] } } },
      // No request of the protocol at all, but one with an id.
      { id: 4, method: 'ping', params: 'not an object' },
    ];
    const registry = open({ s: scripted({ ask }) });
    const result = await registry.call('s', call('any'), noSignal);
    expect(result.content).toEqual([{ type: 'text', text: 'ok' }]);
    const replies = logged().filter((entry) => entry.method === undefined && entry.id !== undefined);
    expect(
      Object.fromEntries(replies.map(({ id, result: given, error }) => [id, given ?? error?.code])),
    ).toEqual({ a: {}, 0: -32_601, 1: -32_601, 2: -32_601, 3: -32_601, 4: -32_600 });
  });
});
