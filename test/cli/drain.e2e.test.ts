/** SIGTERM on the whole embedded stack, while agents of others stream through its proxy. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, inject, it } from 'vitest';
import { z } from 'zod';
import { caseFile } from '../case-file.ts';
import { chatStream, finishAmid } from '../proxy/doors.ts';
import { ask, eventually } from '../proxy/real-stack.ts';
import { startScriptedEngine, type EngineCall } from '../proxy/scripted-engine.ts';
import { closeAfterTest, post, until, type TestClient } from '../proxy/stack.ts';
import { isAlive, runUp } from './run-up.ts';

const g10 = caseFile('G10');
const { drain_limit_s: caseLimitSeconds } = z.object({ drain_limit_s: z.number() }).loose().parse(g10.given);
const { exit_within_s: caseExitSeconds } = z.object({ exit_within_s: z.number() }).loose().parse(g10.expect);
const limitSeconds = 4;

describe(`${g10.id} ${g10.title}`, () => {
  it('the embedded stack: unready at once, a stream finishes, another is cut at the limit, nothing is left', async () => {
    const stateDir = await mkdtemp(join(tmpdir(), 'fermata-drain-'));
    closeAfterTest(() => rm(stateDir, { recursive: true, force: true }));
    const engine = await startScriptedEngine();
    closeAfterTest(() => engine.close());
    const config = join(stateDir, 'pool.yaml');
    await writeFile(
      config,
      JSON.stringify({ pool: [{ id: 'e', url: engine.url, models: ['m-test'], apis: ['chat'] }] }),
    );
    const up = runUp({
      stateDir,
      temporalBinary: inject('temporalBinary'),
      args: ['--config', config],
      environment: { FERMATA_DRAIN_SECONDS: String(limitSeconds) },
    });
    closeAfterTest(async () => {
      up.signal('SIGKILL');
      await up.ended;
    });
    const ready = await up.ready;
    const proxy = { url: ready.proxyUrl, port: Number(new URL(ready.proxyUrl).port) };
    const streams: { client: TestClient; call: EngineCall }[] = [];
    for (let count = 0; count < 2; count += 1) {
      const client = post(proxy, chatStream.path, chatStream.body);
      const call = await engine.next();
      call.head(200);
      call.write(chatStream.first);
      await until(() => client.text() === chatStream.first, 'the stream has begun');
      streams.push({ client, call });
    }
    const stoppedAt = performance.now();
    up.signal('SIGTERM');
    await eventually('it is unready', async () => (await ask(`${proxy.url}/readyz`)).status === 503, 2_000);
    expect((await post(proxy, chatStream.path, chatStream.body).head).statusCode).toBe(503);
    finishAmid(streams[0]?.call, chatStream, 100);
    expect((await up.ended).code).toBe(0);
    const tookMs = performance.now() - stoppedAt;
    await until(() => streams.every(({ client }) => client.ended() !== null), 'both streams have ended');
    expect(streams.map(({ client }) => client.ended())).toEqual(['whole', 'cut']);
    expect(tookMs).toBeGreaterThanOrEqual(limitSeconds * 1_000);
    expect(tookMs).toBeLessThan((limitSeconds + caseExitSeconds - caseLimitSeconds) * 1_000);
    expect(Object.entries(ready.pids).filter(([, pid]) => isAlive(pid))).toEqual([]);
  });
});
