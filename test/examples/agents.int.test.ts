/**
 * The agents of `examples/` that need no package beyond the product's own, run as they stand against proxy,
 * scheduler and simulated engines. Those of other frameworks: `npm run test:clients -- examples`.
 */
import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { configFileSchema } from '../../contracts/config-file.ts';
import { schedulerStatusSchema } from '../../contracts/scheduler-status.ts';
import { createProxy } from '../../proxy/create-proxy.ts';
import { createScheduler } from '../../scheduler/host/create-scheduler.ts';
import { startSimEngine, type SimEngine } from '../../testkit/sim-engine/host.ts';

const root = resolve(import.meta.dirname, '..', '..');
const answer = 'The Congo is the shorter one.';
const task = `Which river is longer? [[sim {"calls":["lookup","lookup"],"answer":"${answer}"}]]`;

let engines: SimEngine[] = [];
let scheduler: Awaited<ReturnType<typeof createScheduler>>;
let proxy: Awaited<ReturnType<typeof createProxy>>;
beforeAll(async () => {
  engines = await Promise.all(
    [0, 1].map(async () => await startSimEngine({ timeScale: 0.1, callIds: 'short' })),
  );
  const config = configFileSchema.parse({
    pool: engines.map((engine, index) => ({ id: `sim-${index}`, url: engine.url, engine: 'vllm' })),
  });
  const deps = { logger: pino({ level: 'silent' }), environment: {} };
  scheduler = await createScheduler({ ...config, host: '127.0.0.1', port: 0 }, deps);
  proxy = await createProxy({ host: '127.0.0.1', port: 0, schedulerUrl: scheduler.url }, deps);
});
afterAll(async () => {
  await proxy.close();
  await scheduler.close();
  await Promise.all(engines.map(async (engine) => await engine.close()));
});

describe.each([
  ['openai', 'examples'],
  ['no-headers', 'anonymous'],
])('examples/%s/agent.ts', (name, caller) => {
  it('answers, as one run of three turns with a pause for each call, on one replica', async () => {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--import', 'tsx', `examples/${name}/agent.ts`],
      { cwd: root, env: { PATH: process.env['PATH'], FERMATA_PROXY_URL: proxy.url, TASK: task } },
    );
    expect(stdout).toContain(answer);
    expect(stdout.match(/^lookup /gm)).toHaveLength(2);
    expect(stdout).toMatch(/^run \S+$/m);
    const { runs } = schedulerStatusSchema.parse(await (await fetch(`${scheduler.url}/status`)).json());
    expect(runs.filter((run) => run.caller === caller)).toMatchObject([
      { class: 'interactive', turns: 3, pauses: 2, replicas: [expect.any(String)] },
    ]);
  });
});
