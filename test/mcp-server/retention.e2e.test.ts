/** Runs that Temporal has forgotten: a namespace keeps ended ones for its retention, here for two seconds. */
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { startOwnTemporal, type OwnTemporal } from '../own-temporal.ts';
import { connectClient } from './mcp-clients.ts';
import { startStack, type Stack } from './stack.ts';

const retentionHours = 2 / 3_600;
const forgotten = { timeout: 60_000, interval: 250 };

let temporal: OwnTemporal;
let stack: Stack;
beforeAll(async () => {
  temporal = await startOwnTemporal({
    retentionHours,
    dynamicConfig: {
      'system.namespaceMinRetentionLocal': '"1s"',
      'history.retentionTimerJitterDuration': '"1s"',
    },
  });
  stack = await startStack({
    temporalAddress: temporal.address,
    workflowBundlePath: inject('workflowBundlePath'),
  });
});
afterAll(async () => {
  await stack?.close();
  await temporal?.close();
});

describe('a run that has ended longer ago than Temporal keeps runs', () => {
  it('is told of as gone, with how long they are kept, by every tool and the run API', async () => {
    const client = await connectClient('modern', stack.mcpUrl);
    const { structured } = await client.call('spawn', { task: stack.saying('soon gone'), requestId: 'once' });
    const handle = String(structured['handle']);
    await client.call('await', { handles: [handle] });
    await vi.waitFor(
      async () => expect((await client.call('status', { handle })).isError).toBe(true),
      forgotten,
    );
    const gone = /unknown handle .* one that ended more than 2 s ago is gone with its result \(the retention/;
    for (const [tool, args] of [
      ['status', { handle }],
      ['await', { handles: [handle] }],
      ['cancel', { handle }],
    ] as const) {
      const { isError, text } = await client.call(tool, args);
      expect([tool, isError]).toEqual([tool, true]);
      expect(text).toMatch(gone);
    }
    const shown = await fetch(`${stack.server.url}/api/runs/${handle}`);
    expect(shown.status).toBe(404);
    expect(await shown.text()).toMatch(/is gone with its result/);
    // What repeats a forgotten start is a new start.
    const again = await client.call('spawn', { task: stack.saying('soon gone'), requestId: 'once' });
    expect(again.structured).toMatchObject({ handle });
    expect(again.structured).not.toHaveProperty('existing', true);
    await client.close();
  });
});
