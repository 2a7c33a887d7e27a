import { ApplicationFailure } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { describe, expect, it } from 'vitest';
import type { ModelTurnInput } from '../../../activities/activity-types.ts';
import { createModelTurn } from '../../../activities/model-turn/model-turn.ts';
import type { ModelClient } from '../../../activities/model-turn/model-client.ts';
import { ModelTurnError } from '../../../activities/model-turn/model-turn-error.ts';
import { createWeightedCache } from '../../../activities/weighted-cache.ts';

const input: ModelTurnInput = {
  turn: 2,
  class: 'interactive',
  caller: 'api',
  model: null,
  maxTokens: 64,
  offerTools: false,
  toolsDigest: '',
  transcript: { length: 1, digest: 'd' },
};

interface Attempt {
  readonly attempt: number;
  /** What the attempt before has left. */
  readonly details: unknown;
  /** Whether the engine begins to answer before it fails. */
  readonly begins?: boolean;
}

/** One attempt of a turn that finds its proxy gone: what it says of the next, and what it leaves for it. */
async function failOnce({ attempt, details, begins = false }: Attempt) {
  const environment = new MockActivityEnvironment({ attempt, heartbeatDetails: details });
  let left: unknown = details;
  environment.on('heartbeat', (value: unknown) => {
    left = value;
  });
  const models: Pick<ModelClient, 'stream'> = {
    stream: async (_request, _signal, progress) => {
      if (begins) progress?.begun(() => ({ content: 'I', calls: [] }));
      throw new ModelTurnError({ kind: 'connection', message: 'the proxy could not be reached' });
    },
  };
  const modelTurn = createModelTurn({
    models: models as ModelClient,
    transcripts: { find: () => [{ role: 'user', content: 'say' }], replied: () => undefined } as never,
    toolLists: createWeightedCache(1),
    validate: () => null as never,
    nowMs: () => 0,
  });
  const failure = await environment.run(modelTurn, input).then(
    () => null,
    (error: unknown) => error,
  );
  if (!(failure instanceof ApplicationFailure)) throw failure;
  return { waitMs: Number(failure.nextRetryDelay), left };
}

describe('the wait before a turn is tried again', () => {
  it('grows with the failures in a row', async () => {
    const waits: number[] = [];
    let details: unknown = null;
    for (const attempt of [1, 2, 3, 4, 5, 6, 7]) {
      const { waitMs, left } = await failOnce({ attempt, details });
      waits.push(waitMs);
      details = left;
    }
    expect(waits).toEqual([1_000, 2_000, 4_000, 5_000, 5_000, 5_000, 5_000]);
  });

  it('does not grow with attempts that were lost with their worker', async () => {
    expect((await failOnce({ attempt: 12, details: null })).waitMs).toBe(1_000);
  });

  it('begins anew once an engine has begun to answer', async () => {
    const before = await failOnce({ attempt: 5, details: { boundedFailures: 0, failuresInRow: 1 } });
    expect(before.waitMs).toBe(2_000);
    const after = await failOnce({ attempt: 6, details: before.left, begins: true });
    expect(after).toEqual({ waitMs: 1_000, left: { boundedFailures: 0, failuresInRow: 1 } });
  });

  it('keeps the count of the tries that are few', async () => {
    const { left } = await failOnce({ attempt: 3, details: { boundedFailures: 2 } });
    expect(left).toEqual({ boundedFailures: 2, failuresInRow: 1 });
  });
});
